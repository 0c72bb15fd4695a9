/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs need of the kernel: helpers by number, which are ABI, and the few members of
 * its types that they read. Each access to a member is relocated by the running kernel's BTF
 * (CO-RE), so only names and types count here, not places.
 */
#ifndef PROBESCOPE_KERNEL_H
#define PROBESCOPE_KERNEL_H

typedef unsigned char u8;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define __always_inline inline __attribute__((always_inline))
#define __uint(name, val) int (*name)[val]
#define __type(name, val) typeof(val) *name
#define barrier() asm volatile("" ::: "memory")
#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile typeof(x) *)&(x) = (v))

#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_STACK_TRACE 7
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_NOEXIST 1
#define BPF_F_MMAPABLE (1U << 10)
#define BPF_F_USER_STACK (1ULL << 8)

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*bpf_get_smp_processor_id)(void) = (void *)8;
static u64 (*bpf_get_current_pid_tgid)(void) = (void *)14;
static long (*bpf_get_current_comm)(void *buf, u32 size) = (void *)16;
static long (*bpf_get_stackid)(void *ctx, void *map, u64 flags) = (void *)27;
static long (*bpf_get_stack)(void *ctx, void *buf, u32 size, u64 flags) = (void *)67;
static long (*bpf_probe_read_kernel)(void *dst, u32 size, const void *from) = (void *)113;
static long (*bpf_probe_read_kernel_str)(void *dst, u32 size, const void *from) = (void *)115;
static void *(*bpf_ringbuf_reserve)(void *ringbuf, u64 size, u64 flags) = (void *)131;
static void (*bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct cgroup_subsys_state {
	struct cgroup_subsys_state *parent;
};

struct kernfs_node {
	u64 id;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct cfs_rq {
	s32 throttle_count;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
};

struct task_struct {
	s32 pid;
	s32 tgid;
	char comm[16];
	u32 __state;
	struct sched_entity se;
	struct css_set *cgroups;
	u32 in_iowait : 1;
	u8 throttled; /* from 6.18 on */
};

/* Before 5.14. */
struct task_struct___old {
	s64 state;
};

struct timer_list {
	void *function;
};

struct irqaction {
	const char *name;
};

struct work_struct {
	void *func;
};

struct cpumask {
	unsigned long bits[1];
};

struct hrtimer_clock_base {
	s32 clockid;
};

struct timerqueue_node {
	s64 expires;
};

/* In 7.2 the node is of another type, with the same member. */
struct hrtimer {
	struct timerqueue_node node;
	s64 _softexpires;
	void *function;
	struct hrtimer_clock_base *base;
	u8 is_soft;
};

struct hrtimer_sleeper {
	struct hrtimer timer;
	struct task_struct *task;
};

#pragma clang attribute pop

/* A member of some bits; little-endian, as all that this is loaded on. */
#define read_bits(p, field)                                                                        \
	({                                                                                         \
		u64 v_ = 0;                                                                        \
		bpf_probe_read_kernel(&v_, __builtin_preserve_field_info((p)->field, 1),           \
				      (const char *)(p) + __builtin_preserve_field_info((p)->field, 0)); \
		v_ <<= __builtin_preserve_field_info((p)->field, 4);                               \
		v_ >> __builtin_preserve_field_info((p)->field, 5);                                \
	})
/* The name of a thread that the kernel vouches for, in two loads: a helper costs as much as all the rest of a switch. */
#define copy_comm(dst, task)                                      \
	do {                                                      \
		const u64 *from_ = (const u64 *)(task)->comm;     \
		u64 *to_ = (u64 *)(dst);                          \
		to_[0] = from_[0];                                \
		to_[1] = from_[1];                                \
	} while (0)
#define member_exists(x) __builtin_preserve_field_info(x, 2)
/* The member's address is relocated; the read itself never faults. */
#define read_member(dst, x) bpf_probe_read_kernel(&(dst), sizeof(dst), __builtin_preserve_access_index(&(x)))

#endif
