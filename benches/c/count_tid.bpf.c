/* @[tid] = count() */
#include "common.h"
struct { __uint(type, MAP_PERCPU_HASH); __uint(max_entries, 4096); __type(key, u32); __type(value, u64); } counts SEC(".maps");
SEC("tracepoint/syscalls/sys_enter_getppid") int prog(void *ctx)
{
	u32 key = bpf_get_current_pid_tgid();
	u64 one = 1, *value;
	value = bpf_map_lookup_elem(&counts, &key);
	if (value)
		*value += 1;
	else
		bpf_map_update_elem(&counts, &key, &one, 1);
	return 0;
}
