//! The verifier's common complaints.

/// Kinds of complaints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Frames take more than 512 bytes.
    Stack,
    /// A loop without a known end, on a kernel or in a form that allows none.
    Loop,
    /// Too many paths through the program.
    Complexity,
    /// A pointer that may be null is read.
    NullPointer,
    /// Memory outside of what a pointer covers, or through something that is no pointer.
    Memory,
    /// A helper that this kernel or this program type does not have.
    Helper,
    /// A right that the user does not have.
    Permission,
    /// Something taken and not given back.
    Reference,
    /// A register or stack bytes that were never written.
    Uninitialised,
    /// An address that is not a multiple of the access's size.
    Alignment,
    /// A field of the probe's context that may not be read.
    Context,
    /// A function that the trampoline can't enter.
    Entry,
    /// None of these.
    Other,
}

/// Where each complaint is known by, what it means, and what helps. The first match counts.
const KNOWN: &[(&[&str], Cause, &str, Option<&str>)] = &[
    (
        &["combined stack size", "exceeds the stack", "invalid write to stack", "invalid stack"],
        Cause::Stack,
        "the values of this probe do not fit the kernel's stack of 512 bytes",
        Some("use shorter strings or fewer variables, or keep large values in a map"),
    ),
    (
        &["back-edge", "infinite loop"],
        Cause::Loop,
        "the kernel can't see that this loop ends",
        Some(
            "loop over a range with constant bounds, or leave the loop by a counter; kernels before 5.3 need unroll()",
        ),
    ),
    (
        &["program is too large", "too complex", "too many instructions", "too many states"],
        Cause::Complexity,
        "there are too many paths through this probe for the kernel to check them all",
        Some("make loops shorter, use fewer branches inside loops, or split the work over several probes"),
    ),
    (
        &["_or_null", "Possibly NULL", "possibly NULL", "trusted_ptr_or_null"],
        Cause::NullPointer,
        "a pointer that may be null is used without a check",
        Some("test it before use: if (p != 0) { ... }"),
    ),
    (
        &["The address of function"],
        Cause::Entry,
        "No matches for this function: its type is known, but the compiler left only parts of it, under other names",
        Some("use a kprobe on the part: `kprobe:NAME.*`; `-l 'kprobe:NAME*'` lists them"),
    ),
    (
        &["unknown func", "invalid func", "cannot use helper", "calling kernel function", "kernel function"],
        Cause::Helper,
        "this kernel does not offer a helper function that this line needs, or not for this kind of probe",
        Some("`probescope doctor` lists what this kernel can do; another kind of probe at the same place may work"),
    ),
    (
        &["not permitted", "prohibited for !root", "GPL-restricted", "operation not allowed"],
        Cause::Permission,
        "the kernel does not allow this to this user",
        Some("run as root, or with the capabilities CAP_BPF and CAP_PERFMON"),
    ),
    (
        &["Unreleased reference", "reference leak", "release reference"],
        Cause::Reference,
        "something that was taken from the kernel is not given back on every path through the probe",
        Some("this is a bug in probescope: please report it with the script"),
    ),
    (
        &["!read_ok", "invalid read from stack", "invalid indirect read from stack", "indirect read from stack"],
        Cause::Uninitialised,
        "a value is read that was never written",
        Some("this is a bug in probescope: please report it with the script"),
    ),
    (
        &["misaligned"],
        Cause::Alignment,
        "memory is read at an address that is not a multiple of the value's size",
        None,
    ),
    (
        &["invalid bpf_context access", "dereference of modified ctx"],
        Cause::Context,
        "this field of the probe's arguments can't be read here",
        Some("another kind of probe at the same place may give it: `probescope list -v` shows the fields of each"),
    ),
    (
        &[
            "invalid mem access",
            "invalid access to",
            "outside of the allowed memory range",
            "unbounded memory access",
            "unbounded min value",
            "min value is negative",
            "type=scalar expected",
            "type=inv expected",
            "pointer arithmetic",
        ],
        Cause::Memory,
        "memory is used outside of what the kernel knows to be valid",
        Some(
            "kernel and user memory is read with str(), buf() or by dereferencing a typed pointer; an index needs a bound",
        ),
    ),
];

/// Kind, plain words and hint of a complaint.
pub fn classify(reason: &str) -> (Cause, String, Option<&'static str>) {
    for (needles, cause, words, hint) in KNOWN {
        if needles.iter().any(|needle| reason.contains(needle)) {
            return (*cause, (*words).to_owned(), *hint);
        }
    }
    (Cause::Other, format!("the kernel's verifier refused it: {reason}"), None)
}

/// The instruction that a complaint names itself.
pub fn instruction(reason: &str) -> Option<u32> {
    let after = ["back-edge from insn ", "infinite loop detected at insn ", "unreachable insn "]
        .iter()
        .find_map(|start| reason.split_once(start).map(|(_, rest)| rest))?;
    after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
