/* tracepoint:syscalls:sys_exit_getppid { @ = max(args.ret); @a = avg(args.ret); } */
#include "common.h"
struct value { s64 max, sum, count; u64 set; };
struct { __uint(type, MAP_PERCPU_ARRAY); __uint(max_entries, 1); __type(key, u32); __type(value, struct value); } total SEC(".maps");
struct args { u64 common; s64 nr, ret; };
SEC("tracepoint/syscalls/sys_exit_getppid") int prog(struct args *ctx)
{
	u32 zero = 0;
	s64 ret = ctx->ret;
	struct value *v = bpf_map_lookup_elem(&total, &zero);
	if (!v)
		return 0;
	if (!v->set || ret > v->max)
		v->max = ret;
	v->set = 1;
	v->sum += ret;
	v->count += 1;
	return 0;
}
