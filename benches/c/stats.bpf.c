/* @ = stats(nsecs) */
#include "common.h"
struct value { u64 sum, count; };
struct { __uint(type, MAP_PERCPU_ARRAY); __uint(max_entries, 1); __type(key, u32); __type(value, struct value); } total SEC(".maps");
SEC("tracepoint/syscalls/sys_enter_getppid") int prog(void *ctx)
{
	u32 zero = 0;
	struct value *v = bpf_map_lookup_elem(&total, &zero);
	if (v) {
		v->sum += bpf_ktime_get_boot_ns();
		v->count += 1;
	}
	return 0;
}
