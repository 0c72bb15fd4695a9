/* @[comm] = hist(nsecs) */
#include "common.h"
struct key { char comm[16]; u64 bucket; };
struct { __uint(type, MAP_PERCPU_HASH); __uint(max_entries, 4096); __type(key, struct key); __type(value, u64); } counts SEC(".maps");
SEC("tracepoint/syscalls/sys_enter_getppid") int prog(void *ctx)
{
	struct key key;
	u64 one = 1, *value;
	bpf_get_current_comm(key.comm, sizeof(key.comm));
	key.bucket = log2_bucket(bpf_ktime_get_boot_ns());
	value = bpf_map_lookup_elem(&counts, &key);
	if (value)
		*value += 1;
	else
		bpf_map_update_elem(&counts, &key, &one, 1);
	return 0;
}
