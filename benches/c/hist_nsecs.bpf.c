/* @ = hist(nsecs) */
#include "common.h"
struct { __uint(type, MAP_PERCPU_ARRAY); __uint(max_entries, 66); __type(key, u32); __type(value, u64); } buckets SEC(".maps");
SEC("tracepoint/syscalls/sys_enter_getppid") int prog(void *ctx)
{
	u32 bucket = log2_bucket(bpf_ktime_get_boot_ns());
	u64 *value = bpf_map_lookup_elem(&buckets, &bucket);
	if (value)
		*value += 1;
	return 0;
}
