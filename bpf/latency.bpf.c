// SPDX-License-Identifier: GPL-2.0
/*
 * Net time of NMIs, interrupts, softirqs and threads on each CPU, as osnoise accounts it, and how
 * late timers are, as timerlat tells it.
 *
 * All programs are on raw tracepoints with BTF (tp_btf): classic ones are left out when they
 * interrupt one another. The loader leaves out those whose tracepoint the kernel lacks.
 */
#include "kernel.h"
#include "latency.h"

char LICENSE[] SEC("license") = "GPL";
/* A checksum of these sources, set by `make bpf`. */
const char SOURCES[] SEC("checksum") = SOURCES_CKSUM;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct cpu_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct cpu_rings);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct cpu_sources);
} sources SEC(".maps");

#define slot_here(slot)                              \
	u32 cpu = bpf_get_smp_processor_id();        \
	struct cpu_slot *slot = bpf_map_lookup_elem(&slots, &cpu); \
	if (!slot)                                   \
		return 0

/* An index that the verifier believes; the compiler may not know that it is one. */
#define masked(index, size) ({ u64 m_ = (index); asm volatile("" : "+r"(m_)); m_ &= (size) - 1; m_; })

static __always_inline u32 log2_of(u64 v)
{
	u32 n = 0;

	if (v >> 32)
		return BUCKETS - 1;
	if (v >> 16) {
		n += 16;
		v >>= 16;
	}
	if (v >> 8) {
		n += 8;
		v >>= 8;
	}
	if (v >> 4) {
		n += 4;
		v >>= 4;
	}
	if (v >> 2) {
		n += 2;
		v >>= 2;
	}
	return n + (v >> 1);
}

static __always_inline void account(struct source *s, u64 ns)
{
	s->count++;
	s->total += ns;
	if (ns > s->max)
		s->max = ns;
	s->log2[masked(log2_of(ns), BUCKETS)]++;
}

/* The entry of an id in a hashed table; new ones keep `fresh` set. */
#define find_source(table, size, key, fresh)                                        \
	({                                                                          \
		u64 key_ = (key), at_ = (key_ * 0x9E3779B97F4A7C15ULL) >> 48;       \
		struct source *found_ = &(table)[0];                                \
		_Pragma("unroll") for (int i_ = 0; i_ < 4; i_++)                    \
		{                                                                   \
			struct source *s_ = &(table)[masked(at_ + i_, size)];       \
			if (s_ == &(table)[0])                                      \
				continue;                                           \
			if (s_->id == key_ + 1) {                                   \
				found_ = s_;                                        \
				break;                                              \
			}                                                           \
			if (!s_->id) {                                              \
				s_->id = key_ + 1;                                  \
				found_ = s_;                                        \
				(fresh) = 1;                                        \
				break;                                              \
			}                                                           \
		}                                                                   \
		found_;                                                             \
	})

static __always_inline int frozen(struct cpu_slot *slot)
{
	return !(slot->flags & RECORD) || slot->frozen_irq || slot->frozen_thr || slot->frozen_user;
}

/* The next record of a ring that only one context writes. */
#define next_record(ring, head, size)                        \
	({                                                   \
		u64 at_ = (head);                            \
		(head) = at_ + 1;                            \
		&(ring)[masked(at_, size)];                  \
	})

static __always_inline void fill(struct record *r, u64 start, u64 end, u64 net, u64 id)
{
	r->start = start;
	r->end = end;
	r->net = net;
	r->id = id;
}

/* --- NMI ---------------------------------------------------------------------------------- */

SEC("tp_btf/nmi_handler")
int nmi_handler(u64 *ctx)
{
	u64 handler = ctx[0], took = ctx[1], now = bpf_ktime_get_ns();
	slot_here(slot);
	int fresh = 0;

	slot->n_nmi++;
	slot->t_nmi += took;
	struct cpu_sources *all = bpf_map_lookup_elem(&sources, &cpu);
	if (all)
		account(find_source(all->nmi, NMI_SOURCES, handler, fresh), took);
	struct cpu_rings *ring = bpf_map_lookup_elem(&rings, &cpu);
	if (ring && !frozen(slot))
		fill(next_record(ring->nmi, ring->nmi_head, NMI_RECORDS), now - took, now, took, handler);
	return 0;
}

/* --- hardirq ------------------------------------------------------------------------------ */

static __always_inline int irq_begins(void)
{
	slot_here(slot);

	WRITE_ONCE(slot->n_irq, slot->n_irq + 1);
	slot->irq_nmi = READ_ONCE(slot->t_nmi);
	slot->irq_start = bpf_ktime_get_ns();
	return 0;
}

/* The clock, and what interrupted since `nmi`: read again where an NMI came in between. */
#define coherent(slot, sum, now, ...)                               \
	_Pragma("unroll") for (int try_ = 0;; try_++)               \
	{                                                           \
		u64 before_ = (sum);                                \
		barrier();                                          \
		now = bpf_ktime_get_ns();                           \
		__VA_ARGS__;                                        \
		barrier();                                          \
		if (before_ == (sum))                               \
			break;                                      \
		if (try_ == 3) {                                    \
			slot->torn++;                               \
			break;                                      \
		}                                                   \
	}

/* Vectors have numbers of their own above all interrupt numbers. */
#define VECTOR (1ULL << 32)

static __always_inline int irq_ends(u64 id, struct irqaction *action)
{
	slot_here(slot);
	u64 now, nmi, start = slot->irq_start;
	int fresh = 0;

	if (!start) {
		slot->irq_unmatched++;
		return 0;
	}
	coherent(slot, READ_ONCE(slot->n_nmi), now, nmi = READ_ONCE(slot->t_nmi));
	u64 net = now - start - (nmi - slot->irq_nmi);
	slot->irq_start = 0;
	WRITE_ONCE(slot->t_irq, slot->t_irq + net);

	struct cpu_sources *all = bpf_map_lookup_elem(&sources, &cpu);
	if (!all)
		return 0;
	struct source *s;
	if (id & VECTOR) {
		s = &all->vector[masked(id, VECTOR_SOURCES)];
		s->id = id + 1;
	} else {
		s = find_source(all->irq, IRQ_SOURCES, id, fresh);
		if (fresh) {
			const char *name = action->name;
			bpf_probe_read_kernel_str(s->name, NAME_BYTES, name);
		}
	}
	account(s, net);
	struct cpu_rings *ring = bpf_map_lookup_elem(&rings, &cpu);
	if (ring && !frozen(slot))
		fill(next_record(ring->irq, ring->irq_head, IRQ_RECORDS), start, now, net, id);
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int irq_handler_entry(u64 *ctx)
{
	return irq_begins();
}

SEC("tp_btf/irq_handler_exit")
int irq_handler_exit(u64 *ctx)
{
	return irq_ends((u32)ctx[0], (struct irqaction *)ctx[1]);
}

#define VECTOR_PROGRAMS(name, number)                 \
	SEC("tp_btf/" #name "_entry")                 \
	int name##_entry(u64 *ctx)                    \
	{                                             \
		return irq_begins();                  \
	}                                             \
	SEC("tp_btf/" #name "_exit")                  \
	int name##_exit(u64 *ctx)                     \
	{                                             \
		return irq_ends(VECTOR | (number) | ((ctx[0] & 0xffff) << 8), 0); \
	}

/* The order is that of VECTORS in src/engine/latency/layout.rs. */
VECTOR_PROGRAMS(local_timer, 0)
VECTOR_PROGRAMS(reschedule, 1)
VECTOR_PROGRAMS(call_function, 2)
VECTOR_PROGRAMS(call_function_single, 3)
VECTOR_PROGRAMS(irq_work, 4)
VECTOR_PROGRAMS(thermal_apic, 5)
VECTOR_PROGRAMS(threshold_apic, 6)
VECTOR_PROGRAMS(deferred_error_apic, 7)
VECTOR_PROGRAMS(error_apic, 8)
VECTOR_PROGRAMS(spurious_apic, 9)
VECTOR_PROGRAMS(x86_platform_ipi, 10)

/* arm64: interrupts from other CPUs, told by a constant string. */
SEC("tp_btf/ipi_entry")
int ipi_entry(u64 *ctx)
{
	return irq_begins();
}

SEC("tp_btf/ipi_exit")
int ipi_exit(u64 *ctx)
{
	return irq_ends(VECTOR | 11, 0);
}

/* --- softirq ------------------------------------------------------------------------------ */

SEC("tp_btf/softirq_entry")
int softirq_entry(u64 *ctx)
{
	slot_here(slot);
	u64 now, nmi, irq;

	WRITE_ONCE(slot->n_soft, slot->n_soft + 1);
	coherent(slot, READ_ONCE(slot->n_nmi) + READ_ONCE(slot->n_irq), now, nmi = READ_ONCE(slot->t_nmi);
		 irq = READ_ONCE(slot->t_irq));
	slot->soft_nmi = nmi;
	slot->soft_irq = irq;
	slot->soft_start = now;
	return 0;
}

SEC("tp_btf/softirq_exit")
int softirq_exit(u64 *ctx)
{
	u64 vec = (u32)ctx[0];
	slot_here(slot);
	u64 now, nmi, irq, start = slot->soft_start;

	if (!start) {
		slot->soft_unmatched++;
		return 0;
	}
	coherent(slot, READ_ONCE(slot->n_nmi) + READ_ONCE(slot->n_irq), now, nmi = READ_ONCE(slot->t_nmi);
		 irq = READ_ONCE(slot->t_irq));
	u64 net = now - start - (nmi - slot->soft_nmi) - (irq - slot->soft_irq);
	slot->soft_start = 0;
	WRITE_ONCE(slot->t_soft, slot->t_soft + net);

	struct cpu_sources *all = bpf_map_lookup_elem(&sources, &cpu);
	if (all) {
		struct source *s = &all->soft[masked(vec, SOFT_SOURCES)];
		s->id = vec + 1;
		account(s, net);
	}
	struct cpu_rings *ring = bpf_map_lookup_elem(&rings, &cpu);
	if (ring && !frozen(slot))
		fill(next_record(ring->soft, ring->soft_head, SOFT_RECORDS), start, now, net, vec);
	return 0;
}

/* --- threads ------------------------------------------------------------------------------ */

static __always_inline void thread_ends(struct cpu_slot *slot, u32 cpu, struct task_struct *prev, u64 pid, u64 now,
					u64 nmi)
{
	u64 net = now - slot->thr_start - (nmi - slot->thr_nmi) - (slot->t_irq - slot->thr_irq) -
		  (slot->t_soft - slot->thr_soft);
	u64 work = slot->work_pid == pid ? slot->work : 0;
	int fresh = 0;

	/* The idle thread takes the CPU from nobody, unless a spinning thread was kept from running. */
	if (pid || slot->me) {
		WRITE_ONCE(slot->t_thr, slot->t_thr + net);
		struct cpu_sources *all = bpf_map_lookup_elem(&sources, &cpu);
		if (all) {
			struct source *s = find_source(all->thr, THR_SOURCES, pid, fresh);
			/* Its place may have something of a run that ended while the table was forgotten. */
			if (fresh)
				s->count = s->total = s->max = 0;
			/* Names change now and then (exec). */
			if (fresh || !(s->count & 15))
				copy_comm(s->name, prev);
			account(s, net);
			if (work)
				s->aux = work;
		}
	}
	struct cpu_rings *ring = bpf_map_lookup_elem(&rings, &cpu);
	if (ring && !frozen(slot)) {
		struct record *r = next_record(ring->thr, ring->thr_head, THR_RECORDS);
		fill(r, slot->thr_start, now, net, pid);
		r->aux = work;
		copy_comm(r->name, prev);
	}
}

/* The measuring thread gets the CPU: its cycle is over, as far as the kernel knows. */
static __always_inline void thread_wakes(struct cpu_slot *slot, u64 now)
{
	u64 expected = slot->expected;

	if (!expected || slot->now.expected != expected || slot->now.switched)
		return;
	slot->now.switched = now;
	if (frozen(slot))
		return;
	u64 irq = slot->irq_threshold, thread = slot->thread_threshold;
	if (thread && now - expected >= thread)
		slot->now.kind = HIT_THREAD;
	else if (irq && slot->now.expired - expected >= irq)
		slot->now.kind = HIT_IRQ;
	else
		return;
	slot->hit = slot->now;
	barrier();
	WRITE_ONCE(slot->frozen_thr, 1);
}

/* Only the first three arguments: the fourth came with 5.18. */
SEC("tp_btf/sched_switch")
int sched_switch(u64 *ctx)
{
	struct task_struct *prev = (struct task_struct *)ctx[1], *next = (struct task_struct *)ctx[2];
	u64 from = (u32)prev->pid, to = (u32)next->pid, now, nmi;
	slot_here(slot);
	u64 me = slot->me;

	/* Interrupts are off here: only an NMI can come in between. */
	coherent(slot, READ_ONCE(slot->n_nmi), now, nmi = READ_ONCE(slot->t_nmi));
	if (me && from == me) {
		/* A pointer, until it has been in memory: see hrtimer_expire_entry. */
		slot->task = (u64)prev;
	} else if (slot->thr_start) {
		thread_ends(slot, cpu, prev, from, now, nmi);
	}
	slot->running = to;
	if (me && to == me) {
		slot->thr_start = 0;
		thread_wakes(slot, now);
		return 0;
	}
	if (to || me)
		WRITE_ONCE(slot->n_thr, slot->n_thr + 1);
	slot->thr_nmi = nmi;
	slot->thr_irq = slot->t_irq;
	slot->thr_soft = slot->t_soft;
	slot->thr_start = now;
	return 0;
}

SEC("tp_btf/workqueue_execute_start")
int workqueue_execute_start(u64 *ctx)
{
	struct work_struct *work = (struct work_struct *)ctx[0];
	slot_here(slot);


	slot->work = (u64)work->func;
	slot->work_pid = (u32)bpf_get_current_pid_tgid();
	return 0;
}

/* --- timers ------------------------------------------------------------------------------- */

static __always_inline void describe(struct cpu_slot *slot, struct cycle *c, u64 expected, u64 now, u64 function)
{
	c->irq_start = slot->irq_start;
	c->expired = now;
	c->switched = 0;
	c->function = function;
	c->pid = (u32)bpf_get_current_pid_tgid();
	c->kind = 0;
	/* Idle mostly, which has no name worth a call. */
	if (c->pid)
		bpf_get_current_comm(c->comm, NAME_BYTES);
	else
		c->comm[0] = 0;
	/* Idle still, or left after the timer should have expired. */
	int idle = slot->idle_entered > slot->idle_left || slot->idle_left > expected;
	c->idle_state = idle ? slot->idle_state : 0;
	c->idle_entered = slot->idle_entered;
	c->expected = expected;
}

static __always_inline void keep_stacks(u64 *ctx, struct cpu_slot *slot, u64 pid)
{
	slot->kernel_frames = 0;
	slot->user_frames = 0;
	if (!(slot->flags & STACKS) || !pid)
		return;
	slot->kernel_frames = bpf_get_stack(ctx, slot->kernel_stack, sizeof(slot->kernel_stack), 0);
	slot->user_frames = bpf_get_stack(ctx, slot->user_stack, sizeof(slot->user_stack), BPF_F_USER_STACK);
}

/* The timer of the measuring thread's sleep: by the time that it set, and by whom it wakes. */
static __always_inline int is_ours(struct cpu_slot *slot, struct hrtimer *timer, u64 soft)
{
	u64 task = 0;

	if (!slot->me || soft != slot->expected)
		return 0;
	read_member(task, ((struct hrtimer_sleeper *)timer)->task);
	return task == slot->task;
}

/*
 * The second argument is a pointer to the time up to 6.12 and the time itself in 7.2: it is not
 * looked at. `_softexpires` is what the sleeper asked for; the slack that it allows comes after that
 * (50 us for ordinary threads), so a timer is late from `node.expires` on.
 */
SEC("tp_btf/hrtimer_expire_entry")
int hrtimer_expire_entry(u64 *ctx)
{
	struct hrtimer *timer = (struct hrtimer *)ctx[0];
	u64 now = bpf_ktime_get_ns(), soft = timer->_softexpires, latest = timer->node.expires;
	slot_here(slot);
	int fresh = 0;

	/* Those of softirqs are late by design; other clocks than the monotonic one can't be compared. */
	if (timer->is_soft || timer->base->clockid != 1)
		return 0;
	slot->n_timer++;
	u64 late = now > latest ? now - latest : 0;
	/* To the verifier it is a pointer, and no number to hash, until it has been in memory. */
	slot->function = (u64)timer->function;
	barrier();
	u64 function = READ_ONCE(slot->function);
	struct cpu_sources *all = bpf_map_lookup_elem(&sources, &cpu);
	if (all)
		account(find_source(all->timer, TIMER_SOURCES, function, fresh), late);

	int held = frozen(slot);
	if (is_ours(slot, timer, soft)) {
		describe(slot, &slot->now, soft, now, function);
		if (!held && (slot->irq_threshold || slot->thread_threshold))
			keep_stacks(ctx, slot, slot->now.pid);
		return 0;
	}
	if (held || !slot->passive_threshold || late < slot->passive_threshold)
		return 0;
	describe(slot, &slot->late, latest, now, function);
	keep_stacks(ctx, slot, slot->late.pid);
	barrier();
	WRITE_ONCE(slot->frozen_irq, 1);
	return 0;
}

/* --- idle --------------------------------------------------------------------------------- */

SEC("tp_btf/cpu_idle")
int cpu_idle(u64 *ctx)
{
	u32 state = ctx[0];
	slot_here(slot);

	if (state == (u32)-1) {
		slot->idle_left = bpf_ktime_get_ns();
	} else {
		slot->idle_state = (u64)state + 1;
		slot->idle_entered = bpf_ktime_get_ns();
	}
	return 0;
}

/* --- senders of interrupts ---------------------------------------------------------------- */

static __always_inline int sends(u64 *ctx, u64 target, u64 mask, u64 callsite, u64 callback)
{
	slot_here(slot);

	if (!(slot->flags & RECORD))
		return 0;
	struct cpu_rings *ring = bpf_map_lookup_elem(&rings, &cpu);
	if (!ring)
		return 0;
	struct sent *s = next_record(ring->sent, ring->sent_head, SENT_RECORDS);
	s->at = bpf_ktime_get_ns();
	s->target = target;
	s->mask = mask;
	s->callsite = callsite;
	s->callback = callback;
	s->pid = (u32)bpf_get_current_pid_tgid();
	bpf_get_current_comm(s->comm, NAME_BYTES);
	if (!(slot->flags & SENDERS)) {
		s->stack[0] = callsite;
		s->stack[1] = 0;
		return 0;
	}
	long bytes = bpf_get_stack(ctx, s->stack, sizeof(s->stack), 0);
	if (bytes >= 0 && bytes < sizeof(s->stack))
		s->stack[masked(bytes / 8, 16)] = 0;
	return 0;
}

SEC("tp_btf/ipi_send_cpu")
int ipi_send_cpu(u64 *ctx)
{
	return sends(ctx, (u32)ctx[0], 0, ctx[1], ctx[2]);
}

SEC("tp_btf/ipi_send_cpumask")
int ipi_send_cpumask(u64 *ctx)
{
	struct cpumask *mask = (struct cpumask *)ctx[0];

	return sends(ctx, ALL_OF, mask->bits[0], ctx[1], ctx[2]);
}
