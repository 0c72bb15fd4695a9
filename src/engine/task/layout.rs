//! Where things are in what the task tracer's programs share (`bpf/task.h`): words of 8 bytes all.

use crate::engine::latency::layout::text;
use crate::model::task::{PARTS, Part, Parts};

/// `struct waker`.
pub const WAKER_WORDS: usize = 9;
/// `struct ran`.
pub const RAN_WORDS: usize = 7;
/// `struct task`.
pub const TASK_WORDS: usize = 70;
/// Entries of a wait's list.
pub const SHOWN: usize = 12;
/// `struct wait`.
pub const WAIT_WORDS: usize = 33 + SHOWN * RAN_WORDS;

/// Words of what the kernel gave.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a>(pub &'a [u8]);

impl Words<'_> {
    /// One of them; 0 where there are fewer.
    #[must_use]
    pub fn get(&self, word: usize) -> u64 {
        let at = word * 8;
        self.0.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
    }

    fn stack(&self, word: usize) -> Option<u32> {
        u32::try_from(self.get(word).cast_signed()).ok()
    }

    fn name(&self, word: usize) -> String {
        text([self.get(word), self.get(word + 1)])
    }
}

/// In what context a thread was woken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Context {
    /// By a thread.
    #[default]
    Thread,
    /// By an interrupt, with its number as in [`crate::engine::latency::layout::irq_name`].
    Irq(u64),
    /// By a softirq.
    Softirq(u64),
}

/// Who woke a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waker {
    /// When.
    pub at_ns: u64,
    /// The thread that ran there; 0 for the idle thread.
    pub pid: u32,
    /// Its name.
    pub comm: String,
    /// What it was doing.
    pub context: Context,
    /// The function of the timer that ran.
    pub timer: Option<u64>,
    /// Where.
    pub cpu: u32,
    /// The number of its stack.
    pub stack: Option<u32>,
}

impl Waker {
    fn read(words: Words<'_>, at: usize) -> Option<Self> {
        let get = |word| words.get(at + word);
        (get(0) != 0).then(|| Self {
            at_ns: get(0),
            pid: get(1) as u32,
            context: match get(2) {
                1 => Context::Irq(get(3)),
                2 => Context::Softirq(get(3)),
                _ => Context::Thread,
            },
            timer: Some(get(4)).filter(|function| *function != 0),
            cpu: get(5) as u32,
            stack: words.stack(at + 6),
            comm: words.name(at + 7),
        })
    }
}

/// Somebody who had a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// From when.
    pub start_ns: u64,
    /// Until when.
    pub end_ns: u64,
    /// The thread; 0 for the idle thread.
    pub pid: u32,
    /// Its control group.
    pub cgroup: u64,
    /// Its name.
    pub comm: String,
}

impl Ran {
    fn read(words: Words<'_>, at: usize) -> Self {
        Self {
            start_ns: words.get(at),
            end_ns: words.get(at + 1),
            pid: words.get(at + 2) as u32,
            cgroup: words.get(at + 3),
            comm: words.name(at + 5),
        }
    }
}

/// A thread, as the programs know it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Its number.
    pub pid: u32,
    /// Its process.
    pub tgid: u32,
    /// Its name.
    pub comm: String,
    /// When it was first seen.
    pub first_ns: u64,
    /// When its part of now began.
    pub since_ns: u64,
    /// That part.
    pub part: Part,
    /// When it ended.
    pub ended_ns: Option<u64>,
    /// The time of each part.
    pub sums: Parts,
    /// How often it came to each.
    pub counts: Parts,
    /// The longest of each at a stretch.
    pub longest: Parts,
}

impl Thread {
    /// From its bytes.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        let words = Words(bytes);
        let parts = |from: usize| Parts(std::array::from_fn(|n| words.get(from + n)));
        Self {
            pid: words.get(0) as u32,
            tgid: words.get(1) as u32,
            first_ns: words.get(2),
            since_ns: words.get(3),
            part: Part::of(words.get(4)),
            ended_ns: Some(words.get(5)).filter(|ns| *ns != 0),
            sums: parts(6),
            counts: parts(6 + PARTS),
            longest: parts(6 + 2 * PARTS),
            comm: words.name(68),
        }
    }

    /// The bytes of a thread that sits in a part since a time, for the programs to go on with.
    #[must_use]
    pub fn seed(pid: u32, tgid: u32, comm: &str, part: Part, now_ns: u64) -> Vec<u8> {
        let mut words = [0_u64; TASK_WORDS];
        (words[0], words[1]) = (pid.into(), tgid.into());
        (words[2], words[3], words[4]) = (now_ns, now_ns, part as u64);
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let name = &comm.as_bytes()[..comm.len().min(15)];
        bytes[68 * 8..68 * 8 + name.len()].copy_from_slice(name);
        bytes
    }
}

/// A wait that was long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wait {
    /// Whose.
    pub pid: u32,
    /// Its process.
    pub tgid: u32,
    /// Its name.
    pub comm: String,
    /// When it lost the CPU.
    pub off_ns: u64,
    /// When it could run again, on the CPU that it ran on then.
    pub ready_ns: u64,
    /// When it had a CPU again.
    pub on_ns: u64,
    /// Why it lost it.
    pub why: Part,
    /// Where it ran then.
    pub cpu: u32,
    /// How often it changed CPUs while it could run.
    pub moved: u64,
    /// What interrupts and softirqs took while it could run.
    pub irq_ns: u64,
    /// Where it waited.
    pub kernel_stack: Option<u32>,
    /// The same in user space.
    pub user_stack: Option<u32>,
    /// Where whoever ran before it was.
    pub blocker_kernel: Option<u32>,
    /// The same in user space.
    pub blocker_user: Option<u32>,
    /// Who woke it.
    pub waker: Option<Waker>,
    /// Who got the CPU after it.
    pub taken_by: Ran,
    /// Who had its CPU while it could run, the last first.
    pub behind: Vec<Ran>,
}

impl Wait {
    /// From its bytes.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        let words = Words(bytes);
        let shown = (words.get(32) as usize).min(SHOWN);
        Self {
            pid: words.get(0) as u32,
            tgid: words.get(1) as u32,
            off_ns: words.get(2),
            ready_ns: words.get(4),
            on_ns: words.get(5),
            why: Part::of(words.get(6)),
            cpu: words.get(7) as u32,
            moved: words.get(8),
            irq_ns: words.get(9),
            kernel_stack: words.stack(10),
            user_stack: words.stack(11),
            blocker_kernel: words.stack(12),
            blocker_user: words.stack(13),
            waker: Waker::read(words, 14),
            taken_by: Ran::read(words, 23),
            comm: words.name(30),
            behind: (0..shown).map(|n| Ran::read(words, 33 + n * RAN_WORDS)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_have_one_layout() {
        use crate::kernel::btf::Btf;
        use object::{Object as _, ObjectSection as _};
        let file = object::File::parse(super::super::OBJECT).unwrap();
        let btf = Btf::parse(file.section_by_name(".BTF").unwrap().data().unwrap().to_vec(), None).unwrap();
        let word = |of: &str, name: &str| {
            let id = btf.find_struct(of).unwrap();
            btf.member(id, name).unwrap_or_else(|| panic!("{of}.{name}")).bit_offset as usize / 64
        };
        let words = |of: &str| btf.size_of(btf.find_struct(of).unwrap()).unwrap() as usize / 8;
        assert_eq!((words("waker"), words("ran"), words("task")), (WAKER_WORDS, RAN_WORDS, TASK_WORDS));
        for (name, told) in [
            ("tgid", 1),
            ("first", 2),
            ("since", 3),
            ("part", 4),
            ("ended", 5),
            ("sum", 6),
            ("count", 6 + PARTS),
            ("max", 6 + 2 * PARTS),
            ("comm", 68),
        ] {
            assert_eq!(word("task", name), told, "task.{name}");
        }
        for (name, told) in [("pid", 1), ("context", 2), ("id", 3), ("timer", 4), ("cpu", 5), ("stack", 6), ("comm", 7)]
        {
            assert_eq!(word("waker", name), told, "waker.{name}");
        }
        for (name, told) in [("start", 0), ("end", 1), ("pid", 2), ("cgroup", 3), ("comm", 5)] {
            assert_eq!(word("ran", name), told, "ran.{name}");
        }
        for (n, name) in ["ns", "count", "max", "comm"].into_iter().enumerate() {
            assert_eq!(word("behind", name), n);
        }
        for (n, name) in ["tasks", "waits", "stacks", "behind"].into_iter().enumerate() {
            assert_eq!(word("lost", name), n);
        }
    }

    #[test]
    fn a_thread_is_read_as_it_is_written() {
        let bytes = Thread::seed(7, 5, "a-name-of-sixteen-and-more", Part::Sleeping, 1234);
        let thread = Thread::read(&bytes);
        assert_eq!((thread.pid, thread.tgid, thread.part, thread.since_ns), (7, 5, Part::Sleeping, 1234));
        assert_eq!(thread.comm, "a-name-of-sixte");
        let short = Wait::read(&[1; 3]);
        assert_eq!((short.pid, short.on_ns, short.waker, short.behind.len()), (0, 0, None, 0));
    }
}
