/* if (pid > 1 && cpu < 64) { @[cpu] = sum(pid); } */
#include "common.h"
struct { __uint(type, MAP_PERCPU_HASH); __uint(max_entries, 4096); __type(key, u64); __type(value, u64); } sums SEC(".maps");
SEC("tracepoint/syscalls/sys_enter_getppid") int prog(void *ctx)
{
	u64 pid = bpf_get_current_pid_tgid() >> 32, cpu = bpf_get_smp_processor_id(), *value;
	if (pid <= 1 || cpu >= 64)
		return 0;
	value = bpf_map_lookup_elem(&sums, &cpu);
	if (value)
		*value += pid;
	else
		bpf_map_update_elem(&sums, &cpu, &pid, 1);
	return 0;
}
