/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs of the task tracer share with user space. src/engine/task/layout.rs has the
 * same in Rust; a unit test compares the two by the BTF of the committed object.
 */
#ifndef PROBESCOPE_TASK_H
#define PROBESCOPE_TASK_H

#define NAME_BYTES 16
#define FRAMES 32

/* Whose time is told. */
#define ONE_THREAD 1
#define ONE_PROCESS 2
#define ONE_CGROUP 3

/* Where the time of a thread goes. Each nanosecond is in one of these. */
enum part {
	UNKNOWN, /* before it was first seen to do anything */
	RUNNING,
	IRQS, /* had the CPU, and interrupts took it */
	SOFTIRQS, /* the same, softirqs */
	SLEEPING, /* waits, may be woken by signals */
	BLOCKED, /* waits, may not */
	IO, /* the same, and says that it is for I/O */
	WAKING, /* woken, not on a run queue yet */
	QUEUED, /* on a run queue since it was woken */
	PREEMPTED, /* on a run queue since it lost the CPU */
	THROTTLED, /* lost the CPU as its cgroup's quota was used up */
	STOPPED, /* by a signal or a debugger */
	PARTS,
};

/* Who woke a thread. */
#define BY_THREAD 0
#define BY_IRQ 1
#define BY_SOFTIRQ 2

/* Set by user space before anything is attached. */
struct config {
	u64 what, id;
	u64 keep_ns; /* waits at least so long are told one by one */
};

struct waker {
	u64 at;
	u64 pid; /* who ran there; 0: the idle thread */
	u64 context;
	u64 id; /* of the interrupt or softirq */
	u64 timer; /* the timer function that ran */
	u64 cpu;
	s64 stack;
	char comm[NAME_BYTES];
};

/* Somebody who had a CPU. */
struct ran {
	u64 start, end;
	u64 pid;
	u64 cgroup;
	u64 irq; /* what interrupts and softirqs took of it */
	char comm[NAME_BYTES];
};

#define RAN 64

/* One CPU. */
struct cpu_state {
	u64 irq_start, irq_id, soft_start, soft_id, soft_irq;
	u64 t_irq, t_soft; /* net totals */
	u64 timer, soft_timer; /* the timer function that runs in either */
	u64 head;
	u64 now_irq; /* the totals as `now` got the CPU */
	struct ran now; /* who has it */
	struct ran ran[RAN];
};

/* One thread. */
struct task {
	u64 pid, tgid;
	u64 first; /* when it was first seen */
	u64 since; /* when its part of now began */
	u64 part;
	u64 ended;
	u64 sum[PARTS];
	u64 count[PARTS];
	u64 max[PARTS];
	/* Its wait of now. */
	u64 off;
	u64 queued; /* when it could run again */
	u64 ready; /* the same, on the CPU where it waits now */
	u64 why;
	u64 on_irq, on_soft; /* totals of its CPU when it got it */
	u64 cpu;
	u64 moved;
	s64 kernel_stack, user_stack;
	struct waker waker;
	struct ran taken_by; /* who got the CPU after it */
	char comm[NAME_BYTES];
};

#define SHOWN 12

/* A wait that was long, from losing the CPU to having it again. */
struct wait {
	u64 pid, tgid;
	u64 off, woken, ready, on;
	u64 why; /* SLEEPING, BLOCKED, IO, STOPPED, PREEMPTED or THROTTLED */
	u64 cpu;
	u64 moved; /* times that it changed CPUs while it could run */
	u64 irq_ns; /* interrupts and softirqs on its CPU, while it could run there */
	s64 kernel_stack, user_stack;
	s64 blocker_kernel, blocker_user;
	struct waker waker;
	struct ran taken_by;
	char comm[NAME_BYTES];
	u64 shown;
	struct ran behind[SHOWN]; /* who had its CPU while it could run, the last first */
};

/* Behind whom. */
struct behind_key {
	u64 pid, cgroup, part;
};

struct behind {
	u64 ns, count, max;
	char comm[NAME_BYTES];
};

/* Where it waits. */
struct place_key {
	u64 part;
	s64 kernel_stack;
};

struct place {
	u64 ns, count, max;
};

struct lost {
	u64 tasks, waits, stacks, behind;
};

#endif
