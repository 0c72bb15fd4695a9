/* /comm == "nothing"/ { @ = count(); } */
#include "common.h"
struct { __uint(type, MAP_PERCPU_ARRAY); __uint(max_entries, 1); __type(key, u32); __type(value, u64); } total SEC(".maps");
SEC("tracepoint/syscalls/sys_enter_getppid") int prog(void *ctx)
{
	union { char text[16]; u64 words[2]; } comm, wanted = { .text = "nothing" };
	u32 zero = 0;
	u64 *value;
	bpf_get_current_comm(&comm, sizeof(comm));
	if (comm.words[0] != wanted.words[0])
		return 0;
	value = bpf_map_lookup_elem(&total, &zero);
	if (value)
		*value += 1;
	return 0;
}
