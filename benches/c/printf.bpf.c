/* printf("%d %s %d\n", pid, comm, nsecs) */
#include "common.h"
struct event { u32 id, pid; char comm[16]; u64 nsecs, pad; };
struct { __uint(type, MAP_RINGBUF); __uint(max_entries, 64 << 20); } ring SEC(".maps");
SEC("tracepoint/syscalls/sys_enter_getppid") int prog(void *ctx)
{
	struct event *e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
	if (!e)
		return 0;
	e->id = 0;
	e->pid = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	e->nsecs = bpf_ktime_get_boot_ns();
	bpf_ringbuf_submit(e, 1);
	return 0;
}
