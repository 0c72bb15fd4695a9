/* What the yardstick programs need of the kernel's BPF interface, without kernel headers.
 * Helper numbers are those of enum bpf_func_id in include/uapi/linux/bpf.h. */
#pragma once
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name
#define __always_inline inline __attribute__((always_inline))

enum { MAP_HASH = 1, MAP_ARRAY = 2, MAP_PERCPU_HASH = 5, MAP_PERCPU_ARRAY = 6, MAP_RINGBUF = 27 };

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u32 (*bpf_get_smp_processor_id)(void) = (void *)8;
static u64 (*bpf_get_current_pid_tgid)(void) = (void *)14;
static long (*bpf_get_current_comm)(void *buf, u32 size) = (void *)16;
static long (*bpf_get_stack)(void *ctx, void *buf, u32 size, u64 flags) = (void *)67;
static long (*bpf_get_stackid)(void *ctx, void *map, u64 flags) = (void *)27;
/* `nsecs` is the boot clock, which costs some ns more than the monotonic one. */
static u64 (*bpf_ktime_get_boot_ns)(void) = (void *)125;
static void *(*bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;

char LICENSE[] SEC("license") = "GPL";

static __always_inline u32 log2_bucket(u64 v)
{
	u32 p = 0;
	if ((s64)v < 0)
		return 0;
	if (v == 0)
		return 1;
	if (v >> 32) { p += 32; v >>= 32; }
	if (v >> 16) { p += 16; v >>= 16; }
	if (v >> 8) { p += 8; v >>= 8; }
	if (v >> 4) { p += 4; v >>= 4; }
	if (v >> 2) { p += 2; v >>= 2; }
	if (v >> 1) { p += 1; }
	return p + 2;
}
