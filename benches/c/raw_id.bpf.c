/* tracepoint:raw_syscalls:sys_enter /args.id == 110/ { @ = count(); } */
#include "common.h"
struct { __uint(type, MAP_PERCPU_ARRAY); __uint(max_entries, 1); __type(key, u32); __type(value, u64); } total SEC(".maps");
struct args { u64 common; s64 id; };
SEC("tracepoint/raw_syscalls/sys_enter") int prog(struct args *ctx)
{
	u32 zero = 0;
	u64 *value;
	if (ctx->id != 110)
		return 0;
	value = bpf_map_lookup_elem(&total, &zero);
	if (value)
		*value += 1;
	return 0;
}
