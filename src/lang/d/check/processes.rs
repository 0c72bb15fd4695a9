//! What is asked of processes and locks of the kernel.

use super::checker::Checker;
use super::code::{block, cast, each, equal, int64, leave, read, set, when};
use super::value::{Value, word};
use crate::lang::source::Span;
use crate::lang::types::Type;

/// Parents that are looked at before a process is said to descend from none.
const MOST_PARENTS: i64 = 256;

/// `progenyof(pid)`: whether the process that runs is that one or descends from it.
pub fn progenyof(c: &mut Checker<'_>, pid: Value, span: Span) -> Value {
    let mut out = Vec::new();
    let pid = c.kept(cast(cast(pid.e, &Type::I32), &Type::I64), &mut out);
    let found = c.local("%found", Type::I64);
    let (task, next, step) = (c.local("%task", Type::I64), c.local("%next", Type::I64), c.local("%step", Type::I64));
    out.push(set(found, int64(0, span)));
    let own = c.of_row("uint64_t", "(unsigned long)curthread", span).e;
    out.push(set(task, cast(own, &Type::I64)));
    let of_task = [("__task", cast(read(task, span), &Type::U64))];
    let id = c.snippet("int", "((struct task_struct *)__task)->tgid", &of_task, span).e;
    let parent = "(unsigned long)((struct task_struct *)__task)->real_parent";
    let parent = c.snippet("uint64_t", parent, &of_task, span).e;
    let same = equal(cast(id, &Type::I64), pid);
    let body = vec![
        when(same, vec![set(found, int64(1, span)), leave(span)]),
        set(next, cast(parent, &Type::I64)),
        when(equal(read(next, span), read(task, span)), vec![leave(span)]),
        set(task, read(next, span)),
    ];
    out.push(each(step, MOST_PARENTS, span, body));
    Value::new(cast(block(out, read(found, span)), &Type::I32))
}

/// What is asked of a mutex or a lock of readers and writers.
pub fn lock(c: &mut Checker<'_>, name: &str, lock: Value, span: Span) -> Value {
    let (ty, text) = match name {
        "mutex_owned" => ("int", "(((struct mutex *)__lock)->owner.counter & ~7) == (long)curthread"),
        "mutex_owner" => ("uint64_t", "((struct mutex *)__lock)->owner.counter & ~7"),
        // All mutexes of Linux are adaptive.
        "mutex_type_adaptive" => ("int", "1"),
        "mutex_type_spin" => ("int", "0"),
        // Both kinds of such locks begin with one word: readers count from bit 9 on, a writer fills the lowest byte.
        "rw_read_held" => ("int", "(*(unsigned int *)__lock & ~0x1ff) != 0"),
        "rw_write_held" => ("int", "(*(unsigned int *)__lock & 0xff) == 0xff"),
        _ => ("int", "(*(unsigned int *)__lock & 0x1ff) != 0"),
    };
    let lock = cast(word(lock.e), &Type::U64);
    c.snippet(ty, text, &[("__lock", lock)], span)
}
