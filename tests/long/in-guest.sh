#!/bin/sh
# In a guest: CPUs that come and go, a machine that sleeps, a clock that steps. Prints `test NAME ... ok` or what was wrong.
probescope=${PROBESCOPE_UNDER_TEST:?}
monitor=${PROBESCOPE_MONITOR:?}
out=/tmp/long.out
calls='import os,time
for i in range(300):
    for _ in range(100): os.sched_yield()
    time.sleep(0.01)'

# NAME: what was printed must have all 30,000 calls, delivered or counted as lost or throttled.
verdict() {
  fired=$(grep -o '@longtest: [0-9]*' $out | grep -o '[0-9]*$')
  left_out=$(grep -oE 'throttled to keep the budget: [0-9]+' $out | grep -oE '[0-9]+$' | tail -1)
  if [ $((${fired:-0} + ${left_out:-0})) = 30000 ]; then echo "test $1 ... ok"; else
    echo "test $1 ... FAILED"; printf -- '---- %s stdout ----\n' "$1"; echo "${fired:-0} counted, ${left_out:-0} throttled of 30000"; cat $out; echo; fi
}

run() {
  "$probescope" run "$@" -e 'tracepoint:syscalls:sys_enter_sched_yield /pid == cpid/ { @longtest = count(); @c[cpu] = count(); } profile:hz:99 { @p = count(); } END { clear(@c); clear(@p); }' \
    -c "python3 -c '$calls'" >$out 2>&1 &
  for _ in $(seq 300); do grep -q Attached $out && break; sleep 0.1; done
}

run
for _ in 1 2 3 4 5; do
  echo 0 >/sys/devices/system/cpu/cpu1/online; sleep 0.3
  echo 1 >/sys/devices/system/cpu/cpu1/online; sleep 0.3
done
wait
verdict cpu_hotplug

run --budget 20%
date -s '2001-01-01 00:00:00' >/dev/null; sleep 0.5
date -s '2031-01-01 00:00:00' >/dev/null
wait
verdict clock_step

# A CPU that went and came back is sampled again, one that went is told of, and time() shows the clock that was set.
"$probescope" run -e 'profile:hz:99 { @late[cpu] = count(); } interval:s:6 { clear(@late); } interval:s:10 { time("year %Y\n"); print(@late); clear(@late); exit(); }' >$out 2>&1 &
for _ in $(seq 300); do grep -q Attached $out && break; sleep 0.1; done
echo 0 >/sys/devices/system/cpu/cpu1/online; sleep 0.2
echo 1 >/sys/devices/system/cpu/cpu1/online
date -s '2033-03-03 00:00:00' >/dev/null
wait
if grep -q '^@late\[1\]: ' $out && grep -q '^year 2033' $out && grep -q 'CPU 1 came' $out; then
  echo "test cpu_sampled_again ... ok"
else
  echo "test cpu_sampled_again ... FAILED"; echo '---- cpu_sampled_again stdout ----'; cat $out; echo
fi

if grep -q freeze /sys/power/state && grep -q s2idle /sys/power/mem_sleep; then
  run
  # The host presses a key while this sleeps; without a wake-up source nothing would ever go on.
  (sleep 1; echo system_wakeup >"$monitor") &
  if command -v rtcwake >/dev/null; then rtcwake -q -m freeze -s 3 2>/tmp/rtc || cat /tmp/rtc; else echo freeze >/sys/power/state; fi
  wait
  verdict suspend_to_idle
else
  echo "== skipped suspend_to_idle: this kernel does not sleep (s2idle)"
fi
