//! P0200 to P0699: names, types, probes and what the checker warns about.

use super::{Entry, codes};
use crate::lang::diagnostic::Code;

codes! {
    UNKNOWN_NAME = 200, "a name that means nothing",
        "A bare word is a builtin variable (pid, comm, nsecs), an enumerator of the kernel or of the script, or the name of something that a function takes. Constants that C headers give by #define are not in the kernel's type information: define them at the top of the script.";
    UNKNOWN_FUNCTION = 201, "no such function",
        "The language has no function of this name and the script defines none.";
    ARGUMENT_COUNT = 202, "the wrong number of arguments",
        "The function takes fewer or more values. For printf the format decides: one value for each conversion.";
    ARGUMENT_TYPE = 203, "an argument of the wrong type",
        "The function works on another type of value. An address becomes text by str(), an integer becomes an address by a cast.";
    UNDEFINED_VARIABLE = 204, "a variable without a value",
        "A scratch variable ($x) has a value from its first assignment to the end of the block that holds it. It is not shared between probes: values that outlive one firing belong in a map (@x).";
    UNDEFINED_MAP = 205, "a map that nothing writes",
        "A map is known by what the script assigns to it, anywhere in the script. This one is only read, which often is a misspelt name.";
    TYPE_MISMATCH = 206, "values of different types in one place",
        "A variable or map holds values of one type. Integers of any width and strings of any length mix; text, numbers, tuples and stacks do not.";
    KEY_MISMATCH = 207, "different keys of one map",
        "All uses of a map have the same number and types of keys.";
    OPERAND_TYPE = 208, "an operator on the wrong type",
        "Arithmetic works on integers, and on pointers as in C. Text can be compared by == and != only.";
    NO_FIELD = 209, "no such field",
        "The struct, record or probe has no field of this name on this kernel. Fields differ between kernel versions: `probescope list -v` shows them.";
    NOT_A_STRUCT = 210, "a field of something that has none",
        "Only structs, unions, records and pointers to them have fields. A number can be cast to a pointer: ((struct sock *)arg0).sk_family.";
    UNKNOWN_TYPE = 211, "no such type",
        "Types come from the script, from the kernel's BTF and from C: int32, uint64, struct task_struct.";
    BAD_CAST = 212, "a cast that makes no sense",
        "Integers, pointers and enums can be cast to one another, arrays of 1, 2, 4 and 8 bytes to integers and back, places to other types of the same size.";
    NOT_IN_PROBE = 213, "something that this kind of probe does not have",
        "What a probe can tell depends on where it sits: a function's return has retval and no arguments, a timer has neither.";
    NEEDS_LITERAL = 214, "a value that must be known before the script runs",
        "The compiler needs this value to lay out memory or to parse a format, so it can't come from the traced system.";
    NEEDS_UNSAFE = 215, "a function that changes what it observes",
        "system, signal, override and write_user act on the machine. They work when the trace is started with --unsafe.";
    NOT_OF_PROCESS = 240, "a probe that no process can be told of",
        "`-p` limits a trace to events that are about a process. Interrupts, softirqs, timers and packets that arrive happen in whatever process runs, and the kernel does not tell for whom: the one that runs would be a random one. The message says what to trace in its place. Of a pattern's probes such ones are left out.";
    OUT_OF_RANGE = 216, "a number out of its range",
        "The message names the range that is possible here.";
    BAD_FORMAT = 217, "a format and a value that do not match",
        "%d, %u and %x print numbers, %s text and everything that has a text form, %p addresses, %r bytes.";
    NOT_A_CONDITION = 218, "neither true nor false",
        "Conditions are numbers, addresses or comparisons.";
    OUTSIDE_LOOP = 219, "break or continue outside a loop",
        "There is no loop to leave here. A probe ends by return.";
    AGGREGATION = 220, "an aggregation used as a plain value, or the reverse",
        "count, sum, min, max, avg, stats, hist, lhist and tseries are assigned to maps and collected on each CPU by itself. The first five can be read as a number, histograms can only be printed.";
    DUPLICATE = 221, "something defined twice",
        "The name is taken: rename one of the two.";
    UNKNOWN_SETTING = 222, "no such setting",
        "The config block has no setting of this name.";
    BAD_SETTING = 223, "a setting with an impossible value",
        "The message names what is possible.";
    NO_SUCH_PROBE = 224, "a probe that does not exist here",
        "Either the name is wrong, or this kernel or binary has no such place, or it can't attach probes of this kind. Set missing_probes to warn or ignore in the config block to go on without.";
    NOT_SUPPORTED = 225, "not supported",
        "This part of the language is not implemented; the message says why and what to do instead.";
    NOT_ASSIGNABLE = 226, "an assignment to something fixed",
        "Variables and maps can be assigned to. The memory of the kernel and of traced programs is read-only.";
    NO_VALUE = 227, "something without a value used as one",
        "Functions like printf and clear are called for their effect and give nothing back.";
    NOT_INDEXABLE = 228, "an index into something without elements",
        "Arrays, pointers, strings, tuples and maps have elements.";
    BAD_DEFINITION = 229, "a definition that makes no sense",
        "A struct or enum of the script can't be laid out.";
    UNSETTLED = 230, "types that never settle",
        "The types of the script's maps and variables depend on one another in a circle that widens forever. Declare the type of one variable: let $x: int64 = ...";
    NO_ARGUMENTS = 231, "arguments that are not known",
        "The names and types of a probe's arguments come from the kernel's BTF and tracefs, or from a program's debug information, which lacks them here.";
    NO_PROBES = 232, "a script without a probe",
        "A script does something when a probe fires, so it needs at least one.";
    ASSERTION = 233, "the script's own assertion does not hold",
        "The script asked for this check, and its condition is false for the types at hand.";
    TOO_MANY_PROBES = 234, "more probes than the script's limit",
        "The script or its user set max_probes or max_bpf_progs, and the script's patterns stand for more than that. Name fewer places, or raise the limit. Under bpftrace's name max_bpf_progs is 1024, as it is there.";
    TOO_LARGE = 235, "a probe that is too large once its loops are unrolled",
        "`unroll(n) { ... }` writes its body out n times, and calls of functions stand for their bodies, so nested ones multiply. The compiler's budget is half a million steps a probe: a program of the kernel has a million instructions at most. Use a `for` or `while` loop, or fewer levels.";
    UNUSED_VARIABLE = 400, "a variable that is never read",
        "The value is computed for nothing. Often the name is misspelt where it should be read. A name that begins with $_ says that it is meant.";
    UNUSED_MAP = 401, "a map that is declared and never used",
        "The declaration makes a map that takes kernel memory for nothing.";
    CONSTANT_CONDITION = 402, "a comparison that is always the same",
        "The type of the value does not hold the number that it is compared with, so the answer is known beforehand. Unsigned values are never below 0: cast the value, as in (int64)retval < 0.";
    DISCARDED_VALUE = 403, "a value that is not used",
        "The expression has no effect. Perhaps an assignment or a print is missing.";
    OUTER_SCOPE = 405, "a variable used outside the block that assigns it",
        "Variables belong to the block that first assigns them. Older scripts rely on the opposite, so this works: the variable belongs to the whole probe and is 0 or empty until assigned.";
    MISSING_PROBE = 406, "a probe that this kernel lacks",
        "The trace goes on without it, and the probe is left out: its other points are there, or `missing_probes` (in the config block, or by the user) is set to warn. The message says what is absent, and why.";
    HOT_PROBE = 409, "a probe that fires very often",
        "Every firing costs the traced machine time: from some hundred thousand a second on it shows. The script runs all the same. Name fewer places, sample with profile:hz:99, or count in maps instead of printing. The workbench shows how often each probe fires and what it costs.";
    CUT_NUMBER = 414, "a number that its place may cut",
        "The variable was declared with a type that is narrower than the value, or has another sign. An explicit cast says that this is meant: (uint16)pid.";
    UNREACHABLE = 415, "a statement that never runs",
        "The statement before it ends the probe, the loop's round or the loop: return, exit(), break or continue.";
    ADDRESS_AS_TEXT = 416, "an address is printed where its text was probably meant",
        "`%s` prints a pointer as the address that it is. The text at that address is read by str(): printf(\"%s\", str(args.filename)). To print the address, `%p` says so.";
    SIGNED_DIVISION = 417, "a division of numbers that may be negative",
        "BPF's division knows no sign, so bpftrace's results are wrong for negative numbers; probescope divides the amounts and sets the sign after. As in C the result is rounded towards zero: -7 / 2 is -3 and -7 % 3 is -1, where bpftrace gives -4 and 0. Casting both operands to uint64 silences it.";
    UNNECESSARY_CAST = 418, "a cast to the type that the value has",
        "The cast changes nothing. This is told when probescope runs under bpftrace's name.";
    DEPRECATED = 419, "something that bpftrace gives up",
        "It works here as before. This is told when probescope runs under bpftrace's name, so that scripts can be kept fit for both.";
    NEVER_ASSIGNED = 420, "a variable that is declared and never assigned",
        "Nothing gives the variable a value, so it is 0 or empty wherever it is read. Often the assignment names another variable.";
    PRINTED_IN_LOOP = 421, "a map printed in a loop",
        "print(@m) asks the tracer to read the map, which it does once the program has ended: each round's line shows the map as it is after the loop. Print values (print(@m[key])) or print the map behind the loop.";
    WITHOUT_EFFECT = 422, "something that changes nothing",
        "What is written here makes no difference to what the script does. The message says why.";
    DISTINCT_POINTERS = 423, "pointers to different types are compared",
        "The addresses are compared. That one points to another type than the other often says that the wrong field was taken.";
    NO_PARAMETER = 424, "a parameter that was not given",
        "$1 is the first argument behind the script's name; one that was not given is 0 as a number and empty as text. A script can ask how many there are with $#.";
    FOR_DEBUGGING = 425, "a call that is meant for debugging",
        "debugf writes into the one trace_pipe that everybody shares, three values at most, and takes long. printf goes through the trace's own buffers. This is told when probescope runs under bpftrace's name.";
    READ_UNASSIGNED = 426, "a variable that is read before it has a value",
        "It is 0 or empty there. This is told when probescope runs under bpftrace's name, as long as something assigns the variable later.";
    EMPTY_TEXT = 427, "a text that is always empty",
        "A number added to a text takes that many bytes off its front, and here none are left.";
    DOUBTFUL_PROBE = 428, "a function that the kernel lets nobody trace, by its own list",
        "The kernel lists the functions that it can be traced at (available_filter_functions), and this one is not among them: its name is misspelt, the compiler has put its code into its callers (inlined), or the kernel keeps tracers out (notrace). The warning stands beside the error of a probe that was refused, or alone where --unsafe takes the name at its word.";
    LEFT_OUT = 429, "what a pattern of functions leaves out",
        "Uprobes can't be at every instruction: the kernel refuses some, and takes others, most of AVX, for what they are not. A function that begins so is probed behind them, where its arguments are still in their places. Where there is no such place, a pattern leaves it out: results are of the other functions, and the exit code is 3. `missing_probes` set to warn or ignore says that this is meant.";
    NEVER_WRITTEN = 408, "a map that is only read",
        "Nothing in the script writes this map, so it is always empty.";
}
