/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs share with user space, by mmap. src/engine/latency/layout.rs has the same in
 * Rust; a unit test compares the two by the BTF of the committed object.
 */
#ifndef PROBESCOPE_LATENCY_H
#define PROBESCOPE_LATENCY_H

#define NAME_BYTES 16
#define FRAMES 32
#define BUCKETS 32

/* Flags of a slot, set by user space. */
#define RECORD 1 /* keep the flight recorder */
#define STACKS 2 /* stacks of blockers */
#define SENDERS 4 /* stacks of those who send interrupts: the dearest of all, as there are many */

/* Why a CPU's recorder was frozen. */
#define HIT_IRQ 1
#define HIT_THREAD 2

/* A timer that expired, and what it met. */
struct cycle {
	u64 expected; /* 0: none */
	u64 irq_start; /* when its interrupt began */
	u64 expired; /* when its function was about to run */
	u64 switched; /* when its thread got the CPU; 0: not yet */
	u64 function;
	u64 pid; /* who had the CPU */
	char comm[NAME_BYTES];
	u64 idle_state; /* plus one; 0: the CPU was not idle */
	u64 idle_entered;
	u64 kind; /* HIT_* of the threshold that was passed */
	u64 pad;
};

/*
 * One CPU. Each member is written by one context only, which nothing of its own kind interrupts
 * on its CPU: so no atomics are needed, and whoever was interrupted sees what the interrupter
 * added. Times are totals and only grow.
 */
struct cpu_slot {
	/* Entries, counted as they begin, and net ns, added as they end. */
	u64 n_nmi, n_irq, n_soft, n_thr;
	u64 t_nmi, t_irq, t_soft, t_thr;
	/* hardirq */
	u64 irq_start, irq_nmi;
	u64 irq_unmatched; /* ends without a beginning */
	u64 n_timer; /* timers that expired in hardirq */
	/* softirq */
	u64 soft_start, soft_nmi, soft_irq;
	u64 soft_unmatched;
	/* sched_switch */
	u64 thr_start, thr_nmi, thr_irq, thr_soft;
	u64 running; /* the thread that has the CPU */
	u64 work_pid, work; /* the kworker that ran a work item last, and its function */
	u64 torn; /* clock readings that were interrupted each time */
	/* idle loop */
	u64 idle_state; /* plus one */
	u64 idle_entered, idle_left;
	u64 task; /* sched_switch: the measuring thread's struct task_struct, to tell its timer by */
	u64 pad0[4];
	/* user space */
	u64 me; /* the measuring thread; 0: passive */
	u64 expected; /* what it sleeps for; 0: it does not sleep */
	u64 irq_threshold, thread_threshold, passive_threshold; /* ns; 0: none */
	u64 flags;
	u64 frozen_user;
	u64 pad1;
	/* Set where the threshold was passed, cleared by user space once it has read the recorder. */
	u64 frozen_irq; /* hardirq */
	u64 frozen_thr; /* sched_switch */
	u64 function; /* hardirq: a pointer on its way to being a number */
	u64 pad2[5];
	struct cycle now; /* of the measuring thread */
	struct cycle hit; /* the one that froze the recorder */
	struct cycle late; /* any timer that was later than passive_threshold */
	/* Of whoever had the CPU when the timer expired. */
	s64 kernel_frames, user_frames; /* bytes, or an error */
	u64 kernel_stack[FRAMES], user_stack[FRAMES];
	u64 pad3[2];
};

/* One run of something, written as it ends. */
struct record {
	u64 start, end, net;
	u64 id; /* as in struct source */
	u64 aux; /* a kworker's function; a timer's lateness */
	u64 pad;
	char name[NAME_BYTES];
};

#define NMI_RECORDS 16
#define IRQ_RECORDS 128
#define SOFT_RECORDS 64
#define THR_RECORDS 64
#define SENT_RECORDS 32

/* An interrupt sent to other CPUs. */
struct sent {
	u64 at;
	u64 target; /* CPU, or ALL_OF */
	u64 mask; /* of the first 64, with ALL_OF */
	u64 callsite, callback;
	u64 pid;
	char comm[NAME_BYTES];
	u64 stack[16]; /* the call site only, without SENDERS */
};
#define ALL_OF ((u64)-1)

/* The flight recorder: one ring for each context, so that none waits for another. */
struct cpu_rings {
	u64 nmi_head, irq_head, soft_head, thr_head, sent_head;
	u64 pad[3];
	struct record nmi[NMI_RECORDS];
	struct record irq[IRQ_RECORDS];
	struct record soft[SOFT_RECORDS];
	struct record thr[THR_RECORDS];
	struct sent sent[SENT_RECORDS];
};

/* A source of noise on one CPU, since the programs were attached. */
struct source {
	u64 id; /* plus one; 0: free */
	u64 count, total, max;
	u64 aux; /* a kworker's last function */
	u64 pad;
	char name[NAME_BYTES];
	u32 log2[BUCKETS]; /* how long: 2^n ns to 2^(n+1) */
};

#define NMI_SOURCES 8
#define VECTOR_SOURCES 16
#define IRQ_SOURCES 32
#define SOFT_SOURCES 16
#define THR_SOURCES 256
#define TIMER_SOURCES 32

/* Entry 0 of the hashed tables is for whatever found no room. */
struct cpu_sources {
	struct source nmi[NMI_SOURCES];
	struct source vector[VECTOR_SOURCES];
	struct source irq[IRQ_SOURCES];
	struct source soft[SOFT_SOURCES];
	struct source thr[THR_SOURCES];
	struct source timer[TIMER_SOURCES];
};

#endif
