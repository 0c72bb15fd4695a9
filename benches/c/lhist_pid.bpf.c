/* @ = lhist(pid, 0, 1000, 100) */
#include "common.h"
struct { __uint(type, MAP_PERCPU_ARRAY); __uint(max_entries, 12); __type(key, u32); __type(value, u64); } buckets SEC(".maps");
SEC("tracepoint/syscalls/sys_enter_getppid") int prog(void *ctx)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32;
	u32 bucket = pid >= 1000 ? 11 : pid / 100 + 1;
	u64 *value = bpf_map_lookup_elem(&buckets, &bucket);
	if (value)
		*value += 1;
	return 0;
}
