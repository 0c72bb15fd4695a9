// SPDX-License-Identifier: GPL-2.0
/*
 * Where the time of chosen threads goes: each nanosecond is in one part (struct task), and long
 * waits are told one by one, with who woke the thread and behind whom it stood.
 *
 * All programs are on raw tracepoints with BTF (tp_btf). The loader leaves out those whose
 * tracepoint the kernel lacks.
 */
#include "kernel.h"
#include "task.h"

char LICENSE[] SEC("license") = "GPL";
/* A checksum of these sources, set by `make bpf`. */
const char SOURCES[] SEC("checksum") = SOURCES_CKSUM;

#define TASK_INTERRUPTIBLE 1
#define TASK_STOPPED_OR_TRACED 0xc
#define TASK_DEAD 0x80
#define TASK_WAKING 0x200

#define ARRAY(name, entries, flags, kind)              \
	struct {                                       \
		__uint(type, BPF_MAP_TYPE_ARRAY);      \
		__uint(max_entries, entries);          \
		__uint(map_flags, flags);              \
		__type(key, u32);                      \
		__type(value, kind);                   \
	} name SEC(".maps")

#define HASH(name, entries, key_kind, kind)            \
	struct {                                       \
		__uint(type, BPF_MAP_TYPE_HASH);       \
		__uint(max_entries, entries);          \
		__type(key, key_kind);                 \
		__type(value, kind);                   \
	} name SEC(".maps")

ARRAY(config, 1, 0, struct config);
ARRAY(lost, 1, BPF_F_MMAPABLE, struct lost);
ARRAY(empty, 1, 0, struct task);
/* As many as there are CPUs; set by the loader. */
ARRAY(cpus, 1, 0, struct cpu_state);
HASH(tasks, 4096, u32, struct task);
HASH(behind, 8192, struct behind_key, struct behind);
HASH(places, 8192, struct place_key, struct place);
/* Whether a cgroup is in the chosen one. */
HASH(cgroups, 4096, u64, u64);

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 8192);
	__uint(key_size, 4);
	__uint(value_size, FRAMES * 8);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} waits SEC(".maps");

#define masked(index, size) ({ u64 m_ = (index); asm volatile("" : "+r"(m_)); m_ &= (size) - 1; m_; })

static __always_inline struct cpu_state *state_of(u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

static __always_inline struct cpu_state *state_here(void)
{
	return state_of(bpf_get_smp_processor_id());
}

#define count_lost(member)                                                     \
	do {                                                                   \
		u32 zero_ = 0;                                                 \
		struct lost *lost_ = bpf_map_lookup_elem(&lost, &zero_);       \
		if (lost_)                                                     \
			__sync_fetch_and_add(&lost_->member, 1);               \
	} while (0)

/* --- whose time ---------------------------------------------------------------------------- */

/* The first member of a cgroup is its css, whose parent is that of the cgroup around it. */
static __always_inline u64 is_inside(struct cgroup *group, u64 id)
{
	struct cgroup_subsys_state *css = (struct cgroup_subsys_state *)group;

	_Pragma("unroll") for (int level = 0; level < 12; level++)
	{
		struct kernfs_node *node = 0;
		u64 here = 0;

		read_member(node, ((struct cgroup *)css)->kn);
		read_member(here, node->id);
		if (here == id)
			return 1;
		struct cgroup_subsys_state *parent = 0;
		read_member(parent, css->parent);
		if (!parent)
			return 0;
		css = parent;
	}
	return 0;
}

static __always_inline u64 cgroup_of(struct task_struct *p)
{
	return p->cgroups->dfl_cgrp->kn->id;
}

static __always_inline int is_chosen(struct task_struct *p)
{
	u32 zero = 0;
	struct config *config_ = bpf_map_lookup_elem(&config, &zero);

	if (!config_)
		return 0;
	if (config_->what == ONE_THREAD)
		return (u32)p->pid == config_->id;
	if (config_->what == ONE_PROCESS)
		return (u32)p->tgid == config_->id;
	if (!p->pid)
		return 0;
	u64 group = cgroup_of(p);
	u64 *known = bpf_map_lookup_elem(&cgroups, &group);
	if (known)
		return *known;
	u64 inside = is_inside(p->cgroups->dfl_cgrp, config_->id);
	bpf_map_update_elem(&cgroups, &group, &inside, 0);
	return inside;
}

/* What is known of a thread; 0 where it is none of those chosen. */
static __always_inline struct task *chosen(struct task_struct *p, u64 now)
{
	u32 pid = p->pid, zero = 0;

	if (!is_chosen(p))
		return 0;
	struct task *t = bpf_map_lookup_elem(&tasks, &pid);
	if (t && !t->ended)
		return t;
	struct task *fresh = bpf_map_lookup_elem(&empty, &zero);
	if (!fresh || bpf_map_update_elem(&tasks, &pid, fresh, 0)) {
		count_lost(tasks);
		return 0;
	}
	t = bpf_map_lookup_elem(&tasks, &pid);
	if (!t)
		return 0;
	t->pid = pid;
	t->tgid = (u32)p->tgid;
	t->first = now;
	t->since = now;
	read_member(t->comm, p->comm);
	return t;
}

/* --- parts ---------------------------------------------------------------------------------- */

static __always_inline void add(struct task *t, u64 part, u64 ns)
{
	u64 at = masked(part, 16);

	if (at < PARTS) {
		t->sum[at] += ns;
		if (ns > t->max[at])
			t->max[at] = ns;
	}
}

/* The part that a thread was in is over, another one begins. */
static __always_inline void go(struct task *t, u64 part, u64 now)
{
	u64 at = masked(part, 16);

	add(t, t->part, now > t->since ? now - t->since : 0);
	t->since = now;
	t->part = part;
	if (at < PARTS)
		t->count[at]++;
}

/* What it had of the CPU so far, without what interrupted it. */
static __always_inline void ran_until(struct task *t, struct cpu_state *cpu, u64 now)
{
	u64 ns = now > t->since ? now - t->since : 0;
	u64 irq = cpu->t_irq - t->on_irq, soft = cpu->t_soft - t->on_soft;

	if (irq > ns)
		irq = ns;
	if (soft > ns - irq)
		soft = ns - irq;
	add(t, IRQS, irq);
	add(t, SOFTIRQS, soft);
	add(t, RUNNING, ns - irq - soft);
	t->since = now;
	t->on_irq = cpu->t_irq;
	t->on_soft = cpu->t_soft;
}

static __always_inline u64 part_of_state(struct task_struct *p, u64 state)
{
	if (state & TASK_STOPPED_OR_TRACED)
		return STOPPED;
	if (state & TASK_INTERRUPTIBLE)
		return SLEEPING;
	return read_bits(p, in_iowait) ? IO : BLOCKED;
}

static __always_inline int is_throttled(struct task_struct *p)
{
	u8 by_task = 0;

	if (member_exists(p->throttled)) {
		read_member(by_task, p->throttled);
		return by_task;
	}
	if (member_exists(((struct cfs_rq *)0)->throttle_count)) {
		struct cfs_rq *queue = 0;
		s32 count = 0;
		read_member(queue, p->se.cfs_rq);
		read_member(count, queue->throttle_count);
		return count > 0;
	}
	return 0;
}

static __always_inline void count_place(struct task *t, u64 ns)
{
	struct place_key key = { .part = t->why, .kernel_stack = t->kernel_stack };
	struct place *place = bpf_map_lookup_elem(&places, &key);

	if (!place) {
		struct place first = { .ns = ns, .count = 1, .max = ns };
		if (bpf_map_update_elem(&places, &key, &first, BPF_NOEXIST))
			count_lost(stacks);
		return;
	}
	__sync_fetch_and_add(&place->ns, ns);
	__sync_fetch_and_add(&place->count, 1);
	if (ns > place->max)
		place->max = ns;
}

static __always_inline void count_behind(struct ran *r, u64 part, u64 ns)
{
	struct behind_key key = { .pid = r->pid, .cgroup = r->cgroup, .part = part };
	struct behind *b = bpf_map_lookup_elem(&behind, &key);

	if (!b) {
		struct behind first = { .ns = ns, .count = 1, .max = ns };
		__builtin_memcpy(first.comm, r->comm, NAME_BYTES);
		if (bpf_map_update_elem(&behind, &key, &first, BPF_NOEXIST))
			count_lost(behind);
		return;
	}
	__sync_fetch_and_add(&b->ns, ns);
	__sync_fetch_and_add(&b->count, 1);
	if (ns > b->max)
		b->max = ns;
}

/* --- switches ------------------------------------------------------------------------------- */

static __always_inline u64 task_state(struct task_struct *p)
{
	if (member_exists(p->__state))
		return p->__state;
	s64 state = 0;
	read_member(state, ((struct task_struct___old *)p)->state);
	return state;
}

/* Loses the CPU. */
static __always_inline void leaves(u64 *ctx, struct task *t, struct cpu_state *cpu, struct task_struct *p, u64 now)
{
	u64 state = task_state(p);

	ran_until(t, cpu, now);
	t->off = now;
	t->queued = now;
	t->ready = now;
	t->moved = 0;
	t->taken_by = cpu->now;
	t->kernel_stack = bpf_get_stackid(ctx, &stacks, 0);
	t->user_stack = bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
	if (t->kernel_stack == -17)
		count_lost(stacks);
	if (state & TASK_DEAD) {
		t->ended = now;
		return;
	}
	if (ctx[0] || !state) {
		t->why = is_throttled(p) ? THROTTLED : PREEMPTED;
		t->waker.at = 0;
		go(t, t->why, now);
	} else if (state & TASK_WAKING) {
		/* Woken on its way out. */
		t->why = SLEEPING;
		go(t, WAKING, now);
	} else {
		t->why = part_of_state(p, state);
		t->waker.at = 0;
		go(t, t->why, now);
	}
}

static __always_inline void keep(u64 *ctx, struct task *t, struct cpu_state *cpu, struct wait *w, u64 part, u64 now)
{
	w->pid = t->pid;
	w->tgid = t->tgid;
	w->off = t->off;
	w->woken = t->waker.at;
	w->ready = t->queued;
	w->on = now;
	w->why = t->why;
	w->cpu = bpf_get_smp_processor_id();
	w->moved = t->moved;
	w->kernel_stack = t->kernel_stack;
	w->user_stack = t->user_stack;
	w->waker = t->waker;
	w->taken_by = t->taken_by;
	__builtin_memcpy(w->comm, t->comm, NAME_BYTES);
	w->irq_ns = 0;
	w->shown = 0;
	/* Whoever is about to give the CPU up is what runs here. */
	w->blocker_kernel = bpf_get_stackid(ctx, &stacks, 0);
	w->blocker_user = bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
}

/* Who had this CPU while the thread could run, the last first; also to a wait that is told, if there is one. */
static __always_inline void count_turns(struct task *t, struct cpu_state *cpu, struct wait *w, u64 part)
{
	u64 ready = t->ready;

	if (part != QUEUED && part != PREEMPTED && part != THROTTLED)
		return;
	_Pragma("unroll") for (u64 back = 1; back <= SHOWN; back++)
	{
		struct ran *r = &cpu->ran[masked(cpu->head - back, RAN)];
		if (r->end <= ready)
			break;
		u64 from = r->start > ready ? r->start : ready, ns = r->end - from;
		count_behind(r, part, ns);
		if (w) {
			w->behind[back - 1] = *r;
			w->shown = back;
			w->irq_ns += r->irq < ns ? r->irq : ns;
		}
	}
}

/* Has the CPU again. */
static __always_inline void gets(u64 *ctx, struct task *t, struct cpu_state *cpu, u64 now)
{
	u64 part = t->part;
	u32 zero = 0;
	struct config *config_ = bpf_map_lookup_elem(&config, &zero);
	struct wait *w = 0;

	if (t->off && config_ && now - t->off >= config_->keep_ns) {
		w = bpf_ringbuf_reserve(&waits, sizeof(*w), 0);
		/* Old verifiers lose sight of it where paths join: it is given back in the same branch. */
		if (w) {
			keep(ctx, t, cpu, w, part, now);
			count_turns(t, cpu, w, part);
			bpf_ringbuf_submit(w, 0);
		} else {
			count_lost(waits);
			count_turns(t, cpu, 0, part);
		}
	} else {
		count_turns(t, cpu, 0, part);
	}
	go(t, RUNNING, now);
	t->on_irq = cpu->t_irq;
	t->on_soft = cpu->t_soft;
	t->cpu = bpf_get_smp_processor_id();
	t->off = 0;
}

SEC("tp_btf/sched_switch")
int sched_switch(u64 *ctx)
{
	struct task_struct *prev = (struct task_struct *)ctx[1], *next = (struct task_struct *)ctx[2];
	struct cpu_state *cpu = state_here();
	u64 now = bpf_ktime_get_ns();

	if (!cpu)
		return 0;
	struct ran *r = &cpu->ran[masked(cpu->head, RAN)];
	cpu->head++;
	u64 irq = cpu->t_irq + cpu->t_soft;
	*r = cpu->now;
	r->end = now;
	r->irq = irq - cpu->now_irq;
	cpu->now_irq = irq;
	cpu->now.start = now;
	cpu->now.pid = (u32)next->pid;
	cpu->now.cgroup = cgroup_of(next);
	copy_comm(cpu->now.comm, next);

	struct task *t = chosen(prev, now);
	if (t)
		leaves(ctx, t, cpu, prev, now);
	t = chosen(next, now);
	if (t)
		gets(ctx, t, cpu, now);
	return 0;
}

/* --- wake-ups ------------------------------------------------------------------------------- */

static __always_inline void describe_waker(u64 *ctx, struct waker *w, struct cpu_state *cpu, u64 now)
{
	w->at = now;
	w->pid = (u32)bpf_get_current_pid_tgid();
	w->cpu = bpf_get_smp_processor_id();
	bpf_get_current_comm(w->comm, NAME_BYTES);
	if (cpu->irq_start) {
		w->context = BY_IRQ;
		w->id = cpu->irq_id;
		w->timer = cpu->timer;
	} else if (cpu->soft_start) {
		w->context = BY_SOFTIRQ;
		w->id = cpu->soft_id;
		w->timer = cpu->soft_timer;
	} else {
		w->context = BY_THREAD;
		w->id = 0;
		w->timer = 0;
	}
	w->stack = bpf_get_stackid(ctx, &stacks, 0);
}

SEC("tp_btf/sched_waking")
int sched_waking(u64 *ctx)
{
	struct task_struct *p = (struct task_struct *)ctx[0];
	u64 now = bpf_ktime_get_ns();
	struct cpu_state *cpu = state_here();
	struct task *t = chosen(p, now);

	if (!t || !cpu)
		return 0;
	u64 part = t->part;
	describe_waker(ctx, &t->waker, cpu, now);
	/* One that runs was about to wait, and may not have to. */
	if (part == RUNNING || part == QUEUED || part == PREEMPTED || part == THROTTLED || part == WAKING)
		return 0;
	if (part != UNKNOWN && t->off)
		count_place(t, now > t->off ? now - t->off : 0);
	go(t, WAKING, now);
	t->queued = now;
	return 0;
}

static __always_inline int is_queued(struct task_struct *p)
{
	u64 now = bpf_ktime_get_ns();
	struct task *t = chosen(p, now);

	if (!t || t->part == RUNNING || t->part == QUEUED || t->part == PREEMPTED || t->part == THROTTLED)
		return 0;
	go(t, is_throttled(p) ? THROTTLED : QUEUED, now);
	t->queued = now;
	t->ready = now;
	return 0;
}

SEC("tp_btf/sched_wakeup")
int sched_wakeup(u64 *ctx)
{
	return is_queued((struct task_struct *)ctx[0]);
}

SEC("tp_btf/sched_wakeup_new")
int sched_wakeup_new(u64 *ctx)
{
	return is_queued((struct task_struct *)ctx[0]);
}

SEC("tp_btf/sched_migrate_task")
int sched_migrate_task(u64 *ctx)
{
	struct task_struct *p = (struct task_struct *)ctx[0];
	u64 now = bpf_ktime_get_ns();
	struct task *t = chosen(p, now);

	if (!t)
		return 0;
	if (t->part == QUEUED || t->part == PREEMPTED || t->part == THROTTLED) {
		struct cpu_state *left = state_of(t->cpu);
		if (left && now > t->ready)
			count_behind(&left->now, t->part, now - t->ready);
		t->ready = now;
		t->moved++;
	}
	t->cpu = (u32)ctx[1];
	return 0;
}

/* --- interrupts ----------------------------------------------------------------------------- */

static __always_inline int irq_begins(u64 id)
{
	struct cpu_state *cpu = state_here();

	if (!cpu)
		return 0;
	cpu->irq_id = id;
	cpu->irq_start = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int irq_ends(void)
{
	struct cpu_state *cpu = state_here();

	if (!cpu || !cpu->irq_start)
		return 0;
	cpu->t_irq += bpf_ktime_get_ns() - cpu->irq_start;
	cpu->irq_start = 0;
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int irq_handler_entry(u64 *ctx)
{
	return irq_begins((u32)ctx[0]);
}

SEC("tp_btf/irq_handler_exit")
int irq_handler_exit(u64 *ctx)
{
	return irq_ends();
}

/* Vectors have numbers of their own above all interrupt numbers. */
#define VECTOR (1ULL << 32)

#define VECTOR_PROGRAMS(name, number)                                              \
	SEC("tp_btf/" #name "_entry")                                              \
	int name##_entry(u64 *ctx)                                                 \
	{                                                                          \
		return irq_begins(VECTOR | (number) | ((ctx[0] & 0xffff) << 8));   \
	}                                                                          \
	SEC("tp_btf/" #name "_exit")                                               \
	int name##_exit(u64 *ctx)                                                  \
	{                                                                          \
		return irq_ends();                                                 \
	}

/* The numbers are those of VECTORS in src/engine/latency/layout.rs. */
VECTOR_PROGRAMS(reschedule, 1)
VECTOR_PROGRAMS(call_function, 2)
VECTOR_PROGRAMS(call_function_single, 3)
VECTOR_PROGRAMS(irq_work, 4)

/* Whoever has the CPU in a tick has it: threads that run from before the start are found so. */
SEC("tp_btf/local_timer_entry")
int local_timer_entry(u64 *ctx)
{
	struct cpu_state *cpu = state_here();
	u32 pid = bpf_get_current_pid_tgid();
	u64 now = bpf_ktime_get_ns();

	if (!cpu)
		return 0;
	struct task *t = bpf_map_lookup_elem(&tasks, &pid);
	if (t && !t->ended) {
		if (t->part == RUNNING) {
			ran_until(t, cpu, now);
		} else if (t->part == UNKNOWN) {
			go(t, RUNNING, now);
			t->on_irq = cpu->t_irq;
			t->on_soft = cpu->t_soft;
			t->cpu = bpf_get_smp_processor_id();
		}
	}
	return irq_begins(VECTOR | ((ctx[0] & 0xffff) << 8));
}

SEC("tp_btf/local_timer_exit")
int local_timer_exit(u64 *ctx)
{
	return irq_ends();
}

SEC("tp_btf/ipi_entry")
int ipi_entry(u64 *ctx)
{
	return irq_begins(VECTOR | 11);
}

SEC("tp_btf/ipi_exit")
int ipi_exit(u64 *ctx)
{
	return irq_ends();
}

SEC("tp_btf/softirq_entry")
int softirq_entry(u64 *ctx)
{
	struct cpu_state *cpu = state_here();

	if (!cpu)
		return 0;
	cpu->soft_id = (u32)ctx[0];
	cpu->soft_irq = cpu->t_irq;
	cpu->soft_start = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_exit")
int softirq_exit(u64 *ctx)
{
	struct cpu_state *cpu = state_here();

	if (!cpu || !cpu->soft_start)
		return 0;
	cpu->t_soft += bpf_ktime_get_ns() - cpu->soft_start - (cpu->t_irq - cpu->soft_irq);
	cpu->soft_start = 0;
	return 0;
}

/* --- timers --------------------------------------------------------------------------------- */

SEC("tp_btf/hrtimer_expire_entry")
int hrtimer_expire_entry(u64 *ctx)
{
	struct hrtimer *timer = (struct hrtimer *)ctx[0];
	struct cpu_state *cpu = state_here();

	if (!cpu)
		return 0;
	if (cpu->irq_start)
		cpu->timer = (u64)timer->function;
	else
		cpu->soft_timer = (u64)timer->function;
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int hrtimer_expire_exit(u64 *ctx)
{
	struct cpu_state *cpu = state_here();

	if (!cpu)
		return 0;
	if (cpu->irq_start)
		cpu->timer = 0;
	else
		cpu->soft_timer = 0;
	return 0;
}

SEC("tp_btf/timer_expire_entry")
int timer_expire_entry(u64 *ctx)
{
	struct timer_list *timer = (struct timer_list *)ctx[0];
	struct cpu_state *cpu = state_here();

	if (cpu)
		cpu->soft_timer = (u64)timer->function;
	return 0;
}

SEC("tp_btf/timer_expire_exit")
int timer_expire_exit(u64 *ctx)
{
	struct cpu_state *cpu = state_here();

	if (cpu)
		cpu->soft_timer = 0;
	return 0;
}
