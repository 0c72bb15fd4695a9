//! Calls and returns, as the script reports them, to trees of the system calls that failed.

use std::collections::HashMap;
use std::sync::Arc;

use super::shapes::Shapes;
use crate::kernel::syscalls::{self, Machine};
use crate::model::failure::{Call, Failure, MAX_ERRNO, Outcome};
use crate::model::format::{Format, Piece};
use crate::model::value::Value;

/// System calls that are put together at the same time; of more, those that began first are forgotten.
const MOST_THREADS: usize = 8192;
/// Calls that are kept of one system call.
const MOST_CALLS: usize = 20_000;
/// Deepest nesting that is kept.
const MOST_DEPTH: usize = 200;
/// Longest text that is kept, bytes.
const LONGEST_TEXT: usize = 256;

/// A call that has not returned, or that is kept until its caller returns.
#[derive(Debug)]
struct Open {
    function: Arc<str>,
    words: [u64; 6],
    names: Vec<(usize, String)>,
    began_ns: u64,
    calls: Vec<Call>,
}

/// A system call under way.
#[derive(Debug)]
struct Entered {
    pid: u32,
    comm: Arc<str>,
    number: u64,
    words: Vec<u64>,
    texts: Vec<String>,
    began_ns: u64,
    open: Vec<Open>,
    calls: Vec<Call>,
    /// Names of objects that were reported before the call they were given to.
    early: Vec<(Arc<str>, usize, String)>,
    count: usize,
    incomplete: bool,
}

/// Puts reports together.
#[derive(Debug)]
pub struct Assembler {
    shapes: Shapes,
    threads: HashMap<u32, Entered>,
}

impl Assembler {
    /// With what is known of the kernel's functions.
    #[must_use]
    pub fn new(shapes: Shapes) -> Self {
        Self { shapes, threads: HashMap::new() }
    }

    /// Reports were lost: every tree that is open may have gaps.
    pub fn lost(&mut self) {
        self.threads.values_mut().for_each(|entered| entered.incomplete = true);
    }

    /// Takes one report; gives a failure when it ends a system call that failed.
    pub fn take(&mut self, at_ns: u64, format: &Format, values: &[Value]) -> Option<Failure> {
        let Some(Piece::Literal(head)) = format.pieces.first() else { return None };
        let (tid, rest) = values.split_first()?;
        let tid = bits(tid) as u32;
        match head.trim_end() {
            "enter" => self.enter(at_ns, tid, rest),
            "call" => self.call(at_ns, tid, rest),
            "name" => self.name(tid, rest, format),
            "return" => self.returned(at_ns, tid, rest),
            "leave" => return self.leave(at_ns, tid, rest),
            _ => None,
        };
        None
    }

    fn enter(&mut self, at_ns: u64, tid: u32, values: &[Value]) -> Option<()> {
        if self.threads.len() >= MOST_THREADS {
            let oldest = self.threads.iter().min_by_key(|(_, entered)| entered.began_ns).map(|(tid, _)| *tid)?;
            self.threads.remove(&oldest);
        }
        let [pid, comm, number, rest @ ..] = values else { return None };
        let (words, texts) = rest.split_at_checked(6)?;
        let entered = Entered {
            pid: bits(pid) as u32,
            comm: text(comm).into(),
            number: bits(number),
            words: words.iter().map(bits).collect(),
            texts: texts.iter().map(text).collect(),
            began_ns: at_ns,
            open: Vec::new(),
            calls: Vec::new(),
            early: Vec::new(),
            count: 0,
            incomplete: false,
        };
        self.threads.insert(tid, entered);
        Some(())
    }

    fn call(&mut self, at_ns: u64, tid: u32, values: &[Value]) -> Option<()> {
        let entered = self.threads.get_mut(&tid)?;
        let (function, words) = values.split_first()?;
        let function: Arc<str> = text(function).into();
        entered.count += 1;
        if entered.count > MOST_CALLS || entered.open.len() >= MOST_DEPTH {
            entered.incomplete = true;
            return None;
        }
        let early = std::mem::take(&mut entered.early);
        let names = early.into_iter().filter(|(of, ..)| *of == function).map(|(_, at, name)| (at, name)).collect();
        let mut given = [0; 6];
        given.iter_mut().zip(words).for_each(|(to, from)| *to = bits(from));
        entered.open.push(Open { function, words: given, names, began_ns: at_ns, calls: Vec::new() });
        Some(())
    }

    /// The name of an object that a function was given: reported before or after its call, as the kernel runs the
    /// probes of one function.
    fn name(&mut self, tid: u32, values: &[Value], format: &Format) -> Option<()> {
        let entered = self.threads.get_mut(&tid)?;
        let [function, name] = values else { return None };
        let place = format.pieces.iter().find_map(|piece| match piece {
            Piece::Literal(text) => text.trim().parse::<usize>().ok(),
            Piece::Conversion(_) => None,
        })?;
        let (function, name) = (text(function), text(name));
        match entered.open.last_mut() {
            Some(open) if *open.function == *function && open.names.iter().all(|(at, _)| *at != place) => {
                open.names.push((place, name));
            }
            _ if entered.early.len() < 16 => entered.early.push((function.into(), place, name)),
            _ => {}
        }
        Some(())
    }

    fn returned(&mut self, at_ns: u64, tid: u32, values: &[Value]) -> Option<()> {
        let entered = self.threads.get_mut(&tid)?;
        let [function, result] = values else { return None };
        let function = text(function);
        let at = entered.open.iter().rposition(|open| *open.function == *function)?;
        // The returns of those above it were missed.
        while entered.open.len() > at + 1 {
            entered.incomplete = true;
            entered.close(None, &mut self.shapes);
        }
        entered.close(Some((at_ns, bits(result))), &mut self.shapes);
        Some(())
    }

    fn leave(&mut self, at_ns: u64, tid: u32, values: &[Value]) -> Option<Failure> {
        let mut entered = self.threads.remove(&tid)?;
        let result = bits(values.first()?) as i64;
        if !(-MAX_ERRNO..0).contains(&result) {
            return None;
        }
        while !entered.open.is_empty() {
            entered.incomplete = true;
            entered.close(None, &mut self.shapes);
        }
        let syscall: Arc<str> = match syscalls::name(Machine::HOST, entered.number) {
            Some(name) => name.into(),
            None => format!("syscall {}", entered.number).into(),
        };
        let arguments = self.shapes.syscall_arguments(&syscall, &entered.words, &entered.texts);
        Some(Failure {
            at_ns,
            pid: entered.pid,
            tid,
            comm: entered.comm,
            syscall,
            arguments,
            errno: result.unsigned_abs() as u16,
            duration_ns: at_ns.saturating_sub(entered.began_ns),
            calls: entered.calls,
            incomplete: entered.incomplete,
        })
    }
}

impl Entered {
    /// Ends the innermost call: its time and result, where its return was seen.
    fn close(&mut self, seen: Option<(u64, u64)>, shapes: &mut Shapes) {
        let Some(open) = self.open.pop() else { return };
        let mut arguments = shapes.arguments(&open.function, &open.words);
        for (at, name) in open.names {
            if let Some(argument) = arguments.get_mut(at).filter(|_| !name.is_empty()) {
                argument.value = format!("{name:?}");
            }
        }
        let outcome = seen.map_or(Outcome::Unseen, |(_, word)| shapes.outcome(&open.function, word));
        let duration_ns = seen.map(|(at_ns, _)| at_ns.saturating_sub(open.began_ns));
        let was_given_error = matches!(outcome, Outcome::Errno(number)
            if open.words.iter().take(arguments.len()).any(|word| *word as i64 == -i64::from(number)));
        let call =
            Call { function: open.function, arguments, outcome, was_given_error, duration_ns, calls: open.calls };
        self.open.last_mut().map_or(&mut self.calls, |outer| &mut outer.calls).push(call);
    }
}

/// The bits of a number.
fn bits(value: &Value) -> u64 {
    value.as_number().map_or(0, |number| number as u64)
}

fn text(value: &Value) -> String {
    let whole = match value {
        Value::Str(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Text(text, _) => text.to_string(),
        _ => String::new(),
    };
    let end = (0..=LONGEST_TEXT.min(whole.len())).rev().find(|at| whole.is_char_boundary(*at)).unwrap_or(0);
    whole.get(..end).unwrap_or("").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Kernel, Roots};

    fn format(text: &str) -> Format {
        let conversion = |_| Piece::Literal("%".into());
        let mut pieces = Vec::new();
        for (at, literal) in text.split('%').enumerate() {
            if at > 0 {
                pieces.push(conversion(at));
            }
            pieces.push(Piece::Literal(literal.into()));
        }
        Format { text: text.into(), pieces }
    }

    /// Words are numbers or texts, as the script reports them.
    fn reports(assembler: &mut Assembler, lines: &[&str]) -> Vec<Failure> {
        let mut told = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let (head, rest) = line.split_once(' ').unwrap();
            let value = |word: &str| match word.parse::<i64>() {
                Ok(number) => Value::Int(number, 8),
                Err(_) => Value::Str(word.as_bytes().into()),
            };
            let mut values: Vec<Value> = rest.split(' ').map(value).collect();
            let text = if head == "name" {
                let place = values.remove(2).as_number().unwrap();
                format!("name % % {place} %\n")
            } else {
                format!("{head} % %\n")
            };
            told.extend(assembler.take(1000 * at as u64, &format(&text), &values));
        }
        told
    }

    fn assembler() -> Assembler {
        Assembler::new(Shapes::new(&Arc::new(Kernel::new(Roots::running()))))
    }

    const ENTER: &str = "enter 7 7 cat 257 0 0 0 0 0 0 - -";

    #[test]
    fn calls_are_nested_by_their_returns_and_threads_kept_apart() {
        let mut assembler = assembler();
        let lines = [
            "call 7 vfs_read 1 2 3 4 0 0",
            ENTER,
            "call 7 do_filp_open -100 1 2 0 0 0",
            "enter 8 8 other 0 0 0 0 0 0 0 - -",
            "name 7 inode_permission 1 secret",
            "call 7 inode_permission 1 2 36 0 0 0",
            "leave 8 1",
            "return 7 inode_permission 4294967283",
            "return 7 do_filp_open -13",
            "leave 7 -13",
        ];
        let told = reports(&mut assembler, &lines);
        let [failure] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!((&*failure.syscall, failure.errno, failure.incomplete), ("openat", 13, false));
        let names: Vec<&str> = failure.chain().iter().map(|call| &*call.function).collect();
        if assembler.shapes.arguments(&"do_filp_open".into(), &[0]).is_empty() {
            return; // A machine without BTF tells nothing of results.
        }
        assert_eq!(names, ["do_filp_open", "inode_permission"]);
        let deepest = failure.chain()[1];
        assert_eq!((deepest.duration_ns, &*deepest.arguments[1].value), (Some(2000), "\"secret\""));
    }

    #[test]
    fn a_return_that_was_missed_leaves_a_gap_that_is_told() {
        let mut assembler = assembler();
        let lines = [ENTER, "call 7 f 0 0 0 0 0 0", "call 7 g 0 0 0 0 0 0", "return 7 f 0", "leave 7 -2"];
        let told = reports(&mut assembler, &lines);
        assert!(told[0].incomplete);
        assert_eq!((told[0].calls[0].calls[0].outcome, told[0].calls.len()), (Outcome::Unseen, 1));
        assembler.lost();
        assert!(reports(&mut assembler, &[ENTER, "leave 7 0", "return 7 f 0", "leave 9 -1"]).is_empty());
    }
}
