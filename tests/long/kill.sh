#!/bin/sh
# In a guest with every tracer: killed at random moments while the kernel's own tracers are in use. Prints `test NAME ... ok` or what was wrong.
probescope=${PROBESCOPE_UNDER_TEST:?}

# Everything that can be set in tracefs, but for what counts, and what only shows.
tracefs_state() {
  cd /sys/kernel/tracing || return
  ls instances
  find . -maxdepth 2 -type f -perm -200 ! -name 'trace*' ! -name free_buffer ! -name snapshot ! -path './per_cpu/*' ! -path './events/*' \
    ! -path './options/*' | sort | while read -r file; do echo "$file $(timeout 2 head -c 2000 "$file" 2>/dev/null | tr '\n' ' ')"; done
  grep -H . options/* 2>/dev/null
  cat current_tracer tracing_on
  cd - >/dev/null
}

# Killed at random moments while the kernel's own tracers are in use; the next start restores what was set.
if grep -qw timerlat /sys/kernel/tracing/available_tracers 2>/dev/null; then
  before=$(tracefs_state)
  n=0
  while [ $n -lt "${GUEST_KILLS:-250}" ]; do
    "$probescope" latency timerlat top -k --backend tracefs -p $((500 + n)) -d 20s >/dev/null 2>&1 &
    # From before it has begun to well after all is set.
    sleep "$((n % 3)).$((n * 7 % 10))"
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
    n=$((n + 1))
  done
  "$probescope" latency timerlat top -k --backend tracefs -d 1s >/dev/null 2>&1
  after=$(tracefs_state)
  [ "$before" = "$after" ] && echo "$n times killed, and all of tracefs is as before"
  if [ "$before" = "$after" ]; then echo "test kill_tracefs ... ok"; else
    echo "test kill_tracefs ... FAILED"; printf -- '---- kill_tracefs stdout ----\n'
    echo "$before" >/tmp/before; echo "$after" >/tmp/after; diff /tmp/before /tmp/after; echo; fi
else
  echo "== skipped kill_tracefs: this kernel has no timerlat tracer"
fi

