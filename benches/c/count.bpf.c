/* @ = count() */
#include "common.h"
struct { __uint(type, MAP_PERCPU_ARRAY); __uint(max_entries, 1); __type(key, u32); __type(value, u64); } total SEC(".maps");
SEC("tracepoint/syscalls/sys_enter_getppid") int prog(void *ctx)
{
	u32 zero = 0;
	u64 *value = bpf_map_lookup_elem(&total, &zero);
	if (value)
		*value += 1;
	return 0;
}
