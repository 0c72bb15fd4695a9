/* @ = (pid, tid, nsecs) */
#include "common.h"
struct value { u64 pid, tid, nsecs; };
struct { __uint(type, MAP_ARRAY); __uint(max_entries, 1); __type(key, u32); __type(value, struct value); } last SEC(".maps");
SEC("tracepoint/syscalls/sys_enter_getppid") int prog(void *ctx)
{
	u64 id = bpf_get_current_pid_tgid();
	u32 zero = 0;
	struct value value = { id >> 32, (u32)id, bpf_ktime_get_boot_ns() };
	bpf_map_update_elem(&last, &zero, &value, 0);
	return 0;
}
