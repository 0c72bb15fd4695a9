/* @x++ */
#include "common.h"
u64 x SEC(".bss");
SEC("tracepoint/syscalls/sys_enter_getppid") int prog(void *ctx)
{
	__sync_fetch_and_add(&x, 1);
	return 0;
}
