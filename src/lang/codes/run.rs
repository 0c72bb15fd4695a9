//! P0900 to P0999: scripts that are right, and do not run all the same.

use super::{Entry, codes};
use crate::lang::diagnostic::Code;

codes! {
    LIMIT = 901, "more than BPF can do here",
        "A BPF program has 512 bytes of stack, at most a million instructions are checked, and jumps have a limited reach. Split the probe, make strings shorter (config max_strlen) or loops smaller.";
    FOLLOWED = 902, "a loop that an old kernel follows iteration by iteration",
        "Before Linux 5.17 the kernel knows no loops: its verifier follows each iteration of them before the program may run, and gives up after a million instructions, or when it sees no end. Count the iterations with a variable that only steps, a few constant iterations at most (`for $i : 0..16`), do less in each, or leave by `break` from such a loop.";
    NOT_UNWOUND = 903, "user stacks that are followed by frame pointers all the same",
        "With the setting unwind_tables the program follows user stacks by the tables that binaries have for exceptions. That takes bpf_loop (Linux 5.17), the kernel's BTF and an x86-64 machine. Without, stacks break off in functions that were built without a frame pointer, and are marked there.";
    REFUSED = 920, "a program that the kernel refuses",
        "The kernel's verifier checks every program before it runs. Scripts that compile should pass it, so this is most often a limit of an older kernel, and sometimes a bug in probescope. F7 in the workbench, or -k of `probescope run`, shows what the verifier said.";
    NOT_ATTACHED = 921, "a probe that could not be attached",
        "The kernel knows the place but did not let a program be put there; the message says which one and why. Nothing of the script stays attached.";
    NOT_RUN = 922, "a script that could not be started",
        "Something beside the script is in the way: missing rights, a limit of memory or of open files, a kernel without BPF. `probescope doctor` tells what this kernel can do.";
    FAULT = 923, "a fault of probescope itself",
        "The compiler stopped with an error of its own, and nothing was changed: the last good trace goes on. Please report the script that does this.";
    NOT_DONE = 924, "something that a running script asked for and did not get",
        "A file of `cat` could not be read, or a command of `system` failed: the message has the system's words for it. The trace goes on.";
    NOT_RECORDED = 925, "something that a recording does not have",
        "A script that runs on a recording has the values that the recorded script printed with `printf` or `print`, each event's time and CPU, and its own variables and maps. Anything else (another argument, a stack, memory behind a pointer) is gone with the traced machine. Print it in the script that records, or use one of the values that the message lists.";
    NOT_SEEN = 926, "a clause that is left out on a recording",
        "Nothing that this clause's probes reported is in the recording, so it cannot run there. Maps that it sets are not shown; values that were computed from them and printed (`nsecs - @start[tid]`) are known as they were printed.";
    FIRST_THREAD_ENDED = 941, "the first thread of the traced process has ended",
        "The kernel holds user probes of a process (`-p`) by its first thread, and takes them away once that has ended, though other threads go on. The tracer looks four times a second, and then attaches the probes to every process and asks at each call whose it is. Calls between are missing, so results are partial and the exit code is 3. A trace of a process whose first thread has ended before is attached so from its begin, and misses nothing.";
    BRAKED = 930, "a probe that was turned off because its loops took a CPU away",
        "BPF programs can't be interrupted: a loop of many iterations in a probe that fires often leaves the CPU to nobody else. A probe is turned off once one firing makes 16 million steps (iterations, and the calls in them), or when firings of over 2,000 steps take more than 90 % of a CPU's second or of what a thread got of its CPU, those of over 65,536 more than half. Time in which a thread waits for a CPU that others have is not its own: load changes nothing. Timers are bound by the time alone, and what runs once by three seconds. Its later firings are counted and change nothing, so results are partial, and the exit code is 3. Let the loop end sooner, move it to an `interval`, or trace fewer events; `--no-brake` is for those who know that the machine can take it.";
    THROTTLED = 931, "a probe that is throttled to keep the budget",
        "With a budget (`--budget 5%`; in the workbench 10 %, changed in the command palette) the programs measure what they take: each CPU times one firing in 256, and longer ones all. A probe that takes more than its share of a tenth of a second is turned off on that CPU for the rest of it: its firings are counted and do nothing. What it prints and counts is of a sample then, and the end tells of how many. Where one probe stores something that another one reads (a time at the entry and at the return), either may be missing.";
    OVER_BUDGET = 932, "a probe that was detached because it cost more than the budget",
        "Even a program that does nothing costs the kernel something at every firing: 10 to 1,000 ns. Where a probe fires so often that this alone is more than the budget, it is detached within two seconds, and results are partial from then on. Name fewer functions than `kprobe:*` does, or raise the budget.";
    ASKS_FIRST = 933, "a script that is attached to very many functions",
        "Patterns such as `kprobe:*` stand for tens of thousands of functions: attaching takes seconds to minutes, and each call of any of them costs time from then on. The workbench attaches once the same text is run a second time. With its budget, a probe that costs too much is throttled, and detached where that is not enough; Alt-X detaches everything at once.";
    CPU_CAME = 934, "a CPU that came or went while a script samples",
        "Timers (`profile`), counted events and watchpoints of all processes are on each CPU by itself, and are gone when it goes offline. The trace looks once a second which CPUs there are and attaches to those that came, or came back, also after the machine slept. What such a CPU did before it was found is not in the results.";
}
