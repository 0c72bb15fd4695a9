/* @s[tid] = nsecs */
#include "common.h"
struct { __uint(type, MAP_HASH); __uint(max_entries, 4096); __type(key, u32); __type(value, u64); } start SEC(".maps");
SEC("tracepoint/syscalls/sys_enter_getppid") int prog(void *ctx)
{
	u32 tid = bpf_get_current_pid_tgid();
	u64 now = bpf_ktime_get_boot_ns();
	bpf_map_update_elem(&start, &tid, &now, 0);
	return 0;
}
