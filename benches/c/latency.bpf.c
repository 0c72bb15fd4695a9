/* @s[tid] = nsecs at the entry; at the exit /@s[tid]/: @ = hist(nsecs - @s[tid]); delete(@s[tid]) */
#include "common.h"
struct { __uint(type, MAP_HASH); __uint(max_entries, 4096); __type(key, u32); __type(value, u64); } start SEC(".maps");
struct { __uint(type, MAP_PERCPU_ARRAY); __uint(max_entries, 66); __type(key, u32); __type(value, u64); } buckets SEC(".maps");
SEC("tracepoint/syscalls/sys_enter_getppid") int prog(void *ctx)
{
	u32 tid = bpf_get_current_pid_tgid();
	u64 now = bpf_ktime_get_boot_ns();
	bpf_map_update_elem(&start, &tid, &now, 0);
	return 0;
}
SEC("tracepoint/syscalls/sys_exit_getppid") int done(void *ctx)
{
	u32 tid = bpf_get_current_pid_tgid(), bucket;
	u64 *began = bpf_map_lookup_elem(&start, &tid), *value;
	if (!began || !*began)
		return 0;
	bucket = log2_bucket(bpf_ktime_get_boot_ns() - *began);
	value = bpf_map_lookup_elem(&buckets, &bucket);
	if (value)
		*value += 1;
	bpf_map_delete_elem(&start, &tid);
	return 0;
}
