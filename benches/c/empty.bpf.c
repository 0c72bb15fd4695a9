/* The floor: what an empty program costs by the kernel's own statistics. */
#include "common.h"
SEC("tracepoint/syscalls/sys_enter_getppid") int prog(void *ctx) { return 0; }
