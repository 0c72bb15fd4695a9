#!/bin/busybox sh
# First process of a test guest: the host's files under a throw-away layer, then the host's run.sh.
b=/bin/busybox
say() { $b echo "init: $*"; }
off() { $b sync; $b echo o >/proc/sysrq-trigger; $b sleep 60; }

$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs dev /dev
$b echo 1 >/proc/sys/kernel/sysrq
for m in /modules/*.ko; do [ -f "$m" ] && { $b insmod "$m" || say "$m failed"; }; done
o=trans=virtio,version=9p2000.L,msize=512000
$b mount -t 9p -o $o,cache=loose,ro host /lower || { say "no host files"; off; }
$b mount -t tmpfs tmpfs /upper
$b mkdir /upper/files /upper/work
$b mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work overlay /new || { say "no overlay"; off; }
$b mount -t proc proc /new/proc
$b mount -t sysfs sysfs /new/sys
$b mount --move /dev /new/dev
$b mkdir -p /new/dev/pts /new/dev/shm
$b mount -t devpts devpts /new/dev/pts
$b mount -t tmpfs tmpfs /new/dev/shm
$b mount -t tmpfs tmpfs /new/tmp
$b mount -t tmpfs tmpfs /new/run
$b ln -sfn /proc/self/fd /new/dev/fd
$b ln -sfn /proc/self/fd/0 /new/dev/stdin
$b ln -sfn /proc/self/fd/1 /new/dev/stdout
$b ln -sfn /proc/self/fd/2 /new/dev/stderr
$b mount -t tracefs tracefs /new/sys/kernel/tracing 2>/dev/null
$b mount -t debugfs debugfs /new/sys/kernel/debug 2>/dev/null
$b mount -t bpf bpf /new/sys/fs/bpf 2>/dev/null
$b mount -t cgroup2 cgroup2 /new/sys/fs/cgroup 2>/dev/null
$b ip link set lo up
$b mkdir -p /new/run/results
$b mount -t 9p -o $o results /new/run/results || { say "no results share"; off; }
$b chroot /new /usr/bin/env -i HOME=/root TMPDIR=/tmp LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  /bin/sh /run/results/run.sh >/new/run/results/output 2>&1 </dev/null
$b echo $? >/new/run/results/exit
off
