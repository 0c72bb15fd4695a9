/* @[kstack(8)] = count() */
#include "common.h"
struct key { u64 frames[8]; };
struct { __uint(type, MAP_PERCPU_HASH); __uint(max_entries, 4096); __type(key, struct key); __type(value, u64); } counts SEC(".maps");
SEC("tracepoint/syscalls/sys_enter_getppid") int prog(void *ctx)
{
	struct key key = {};
	u64 one = 1, *value;
	bpf_get_stack(ctx, &key, sizeof(key), 0);
	value = bpf_map_lookup_elem(&counts, &key);
	if (value)
		*value += 1;
	else
		bpf_map_update_elem(&counts, &key, &one, 1);
	return 0;
}
