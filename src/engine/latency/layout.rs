//! Where things are in the memory that the meter's programs share (`bpf/latency.h`).

/// Frames of a stack that are kept.
pub const FRAMES: usize = 32;
/// Buckets of a source's histogram: 2^n ns to 2^(n+1).
pub const BUCKETS: usize = 32;

/// Keep the flight recorder.
pub const RECORD: u64 = 1;
/// Keep stacks of blockers.
pub const STACKS: u64 = 2;
/// Keep stacks of senders of interrupts; without it only the call site of each.
pub const SENDERS: u64 = 4;

/// A measuring thread's timer was late.
pub const HIT_IRQ: u64 = 1;
/// A measuring thread ran late.
pub const HIT_THREAD: u64 = 2;

/// Vectors have numbers above those of all interrupt lines.
const VECTOR: u64 = 1 << 32;
/// Their names, in the order of the programs.
const VECTORS: [&str; 12] = [
    "local_timer",
    "reschedule",
    "call_function",
    "call_function_single",
    "irq_work",
    "thermal_apic",
    "threshold_apic",
    "deferred_error_apic",
    "error_apic",
    "spurious_apic",
    "x86_platform_ipi",
    "ipi",
];
/// Names of softirqs, as the kernel prints them.
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// `struct cpu_slot`.
#[allow(missing_docs, reason = "each is described in bpf/latency.h")]
pub mod slot {
    pub const N_NMI: usize = 0;
    pub const N_IRQ: usize = 8;
    pub const N_SOFT: usize = 16;
    pub const N_THR: usize = 24;
    pub const T_NMI: usize = 32;
    pub const T_IRQ: usize = 40;
    pub const T_SOFT: usize = 48;
    pub const T_THR: usize = 56;
    pub const IRQ_UNMATCHED: usize = 80;
    pub const N_TIMER: usize = 88;
    pub const SOFT_UNMATCHED: usize = 120;
    pub const THR_START: usize = 128;
    pub const THR_NMI: usize = 136;
    pub const THR_IRQ: usize = 144;
    pub const THR_SOFT: usize = 152;
    pub const RUNNING: usize = 160;
    pub const WORK_PID: usize = 168;
    pub const WORK: usize = 176;
    pub const TORN: usize = 184;
    pub const ME: usize = 256;
    pub const EXPECTED: usize = 264;
    pub const IRQ_THRESHOLD: usize = 272;
    pub const THREAD_THRESHOLD: usize = 280;
    pub const PASSIVE_THRESHOLD: usize = 288;
    pub const FLAGS: usize = 296;
    pub const FROZEN_USER: usize = 304;
    pub const FROZEN_IRQ: usize = 320;
    pub const FROZEN_THR: usize = 328;
    pub const NOW: usize = 384;
    pub const HIT: usize = 480;
    pub const LATE: usize = 576;
    pub const CYCLE_WORDS: usize = (LATE - HIT) / 8;
    pub const KERNEL_FRAMES: usize = 672;
    pub const USER_FRAMES: usize = 680;
    pub const KERNEL_STACK: usize = 688;
    pub const USER_STACK: usize = 944;
    pub const BYTES: usize = 1216;
}

/// `struct cpu_rings`.
#[allow(missing_docs, reason = "each is described in bpf/latency.h")]
pub mod rings {
    pub const SENT_HEAD: usize = 32;
    pub const NMI: usize = 64;
    pub const IRQ: usize = 1088;
    pub const SOFT: usize = 9280;
    pub const THR: usize = 13376;
    pub const SENT: usize = 17472;
    pub const SENT_RECORDS: usize = 32;
    pub const BYTES: usize = 23616;
}

/// `struct record`.
pub const RECORD_BYTES: usize = 64;
/// `struct sent`.
pub const SENT_BYTES: usize = 192;
/// `struct source`.
pub const SOURCE_BYTES: usize = 192;
/// `struct cpu_sources`.
pub const SOURCES_BYTES: usize = 69120;

/// A ring of the flight recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the contexts that write them")]
pub enum Ring {
    Nmi,
    Irq,
    Softirq,
    Thread,
}

impl Ring {
    /// Where the number of records ever written is.
    pub(super) const fn head(self) -> usize {
        self as usize * 8
    }

    /// Where the first record is.
    pub(super) const fn start(self) -> usize {
        [rings::NMI, rings::IRQ, rings::SOFT, rings::THR][self as usize]
    }

    /// How many records it keeps.
    #[must_use]
    pub const fn entries(self) -> usize {
        [16, 128, 64, 64][self as usize]
    }
}

/// A table of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "what they are sources of")]
pub enum Table {
    Nmi,
    Vector,
    Irq,
    Softirq,
    Thread,
    Timer,
}

impl Table {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Nmi, Self::Vector, Self::Irq, Self::Softirq, Self::Thread, Self::Timer];

    /// Where its first entry is.
    pub(super) const fn start(self) -> usize {
        [0, 1536, 4608, 10752, 13824, 62976][self as usize]
    }

    /// How many entries it has.
    pub(super) const fn entries(self) -> usize {
        [8, 16, 32, 16, 256, 32][self as usize]
    }
}

/// A text of the kernel, up to its first NUL, with control characters replaced.
pub(crate) fn text(words: [u64; 2]) -> String {
    let mut bytes = [0_u8; 16];
    bytes[..8].copy_from_slice(&words[0].to_ne_bytes());
    bytes[8..].copy_from_slice(&words[1].to_ne_bytes());
    let end = memchr::memchr(0, &bytes).unwrap_or(bytes.len());
    let readable = |c: char| if c.is_control() { '?' } else { c };
    String::from_utf8_lossy(&bytes[..end]).chars().map(readable).collect()
}

/// Reads one word of a struct, by its number.
type Words<'a> = dyn FnMut(usize) -> u64 + 'a;

/// One run of something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// When it began.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// How long it ran itself, ns.
    pub net: u64,
    /// What it was: see [`irq_name`] and [`softirq_name`]; a thread's id; an NMI handler's address.
    pub id: u64,
    /// A kworker's function.
    pub aux: u64,
    /// A thread's name.
    pub name: String,
}

impl Record {
    pub(super) fn read(word: &mut Words<'_>) -> Self {
        Self { start: word(0), end: word(1), net: word(2), id: word(3), aux: word(4), name: text([word(6), word(7)]) }
    }
}

/// A timer that expired, and what it met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cycle {
    /// The time that was set; 0 for none.
    pub expected: u64,
    /// When its interrupt began.
    pub irq_start: u64,
    /// When its function was about to run.
    pub expired: u64,
    /// When its thread got the CPU; 0 for not yet.
    pub switched: u64,
    /// Its function.
    pub function: u64,
    /// Who had the CPU.
    pub pid: u32,
    /// That thread's name.
    pub comm: String,
    /// The idle state that was left.
    pub idle_state: Option<u32>,
    /// When it was entered.
    pub idle_entered: u64,
    /// Which threshold was passed: [`HIT_IRQ`], [`HIT_THREAD`].
    pub kind: u64,
}

impl Cycle {
    pub(super) fn read(word: &mut Words<'_>) -> Self {
        Self {
            expected: word(0),
            irq_start: word(1),
            expired: word(2),
            switched: word(3),
            function: word(4),
            pid: word(5) as u32,
            comm: text([word(6), word(7)]),
            idle_state: word(8).checked_sub(1).map(|state| state as u32),
            idle_entered: word(9),
            kind: word(10),
        }
    }
}

/// An interrupt sent to other CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// When.
    pub at: u64,
    target: u64,
    mask: u64,
    /// The function to be called there; 0 for none.
    pub callback: u64,
    /// Who sent it.
    pub pid: u32,
    /// That thread's name.
    pub comm: String,
    /// From where, innermost first.
    pub stack: Vec<u64>,
}

impl Sent {
    pub(super) fn read(word: &mut Words<'_>) -> Self {
        Self {
            at: word(0),
            target: word(1),
            mask: word(2),
            callback: word(4),
            pid: word(5) as u32,
            comm: text([word(6), word(7)]),
            stack: (8..24).map(word).take_while(|address| *address != 0).collect(),
        }
    }

    /// Whether a CPU was among those that it was sent to. Of many, only the first 64 are told.
    #[must_use]
    pub const fn goes_to(&self, cpu: u32) -> bool {
        if self.target != u64::MAX {
            return self.target == cpu as u64;
        }
        cpu >= 64 || self.mask & (1 << cpu) != 0
    }
}

/// A source of noise on one CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// What it is; `None` for what found no room in its table.
    pub id: Option<u64>,
    /// How often it ran.
    pub count: u64,
    /// Its net time, ns.
    pub total: u64,
    /// Its longest run, ns.
    pub max: u64,
    /// A kworker's last function.
    pub aux: u64,
    /// A thread's or an interrupt's name.
    pub name: String,
    /// How long its runs were.
    pub log2: [u32; BUCKETS],
}

impl Source {
    pub(super) fn read(word: &mut Words<'_>) -> Self {
        let mut log2 = [0; BUCKETS];
        for (n, pair) in log2.chunks_exact_mut(2).enumerate() {
            let bytes = word(8 + n).to_ne_bytes();
            for (count, half) in pair.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *count = u32::from_ne_bytes(*half);
            }
        }
        Self {
            id: word(0).checked_sub(1),
            count: word(1),
            total: word(2),
            max: word(3),
            aux: word(4),
            name: text([word(6), word(7)]),
            log2,
        }
    }
}

/// An interrupt as osnoise names it: `local_timer:236`; `line` gives the names of interrupt lines.
#[must_use]
pub fn irq_name(id: u64, line: impl Fn(u64) -> Option<String>) -> String {
    if id & VECTOR == 0 {
        return format!("{}:{id}", line(id).unwrap_or_else(|| "irq".to_owned()));
    }
    let name = VECTORS.get((id & 0xff) as usize).copied().unwrap_or("vector");
    format!("{name}:{}", (id >> 8) & 0xffff)
}

/// Whether an interrupt was sent by another CPU.
#[must_use]
pub fn is_sent(id: u64) -> bool {
    id & VECTOR != 0 && matches!(id & 0xff, 1..=4 | 11)
}

/// A softirq as osnoise names it: `NET_RX:3`.
#[must_use]
pub fn softirq_name(id: u64) -> String {
    format!("{}:{id}", SOFTIRQS.get(id as usize).copied().unwrap_or("softirq"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::btf::Btf;

    fn object_btf() -> Btf {
        use object::{Object as _, ObjectSection as _};
        let file = object::File::parse(super::super::OBJECT).unwrap();
        Btf::parse(file.section_by_name(".BTF").unwrap().data().unwrap().to_vec(), None).unwrap()
    }

    #[test]
    fn both_sides_have_one_layout() {
        let btf = object_btf();
        let offset = |of: &str, name: &str| {
            let id = btf.find_struct(of).unwrap();
            btf.member(id, name).unwrap_or_else(|| panic!("{of}.{name}")).bit_offset as usize / 8
        };
        let size = |of: &str| btf.size_of(btf.find_struct(of).unwrap()).unwrap() as usize;
        for (name, told) in [
            ("n_nmi", slot::N_NMI),
            ("n_irq", slot::N_IRQ),
            ("n_soft", slot::N_SOFT),
            ("n_thr", slot::N_THR),
            ("t_nmi", slot::T_NMI),
            ("t_irq", slot::T_IRQ),
            ("t_soft", slot::T_SOFT),
            ("t_thr", slot::T_THR),
            ("irq_unmatched", slot::IRQ_UNMATCHED),
            ("n_timer", slot::N_TIMER),
            ("soft_unmatched", slot::SOFT_UNMATCHED),
            ("running", slot::RUNNING),
            ("work_pid", slot::WORK_PID),
            ("work", slot::WORK),
            ("torn", slot::TORN),
            ("me", slot::ME),
            ("expected", slot::EXPECTED),
            ("irq_threshold", slot::IRQ_THRESHOLD),
            ("thread_threshold", slot::THREAD_THRESHOLD),
            ("passive_threshold", slot::PASSIVE_THRESHOLD),
            ("flags", slot::FLAGS),
            ("frozen_user", slot::FROZEN_USER),
            ("frozen_irq", slot::FROZEN_IRQ),
            ("frozen_thr", slot::FROZEN_THR),
            ("now", slot::NOW),
            ("hit", slot::HIT),
            ("late", slot::LATE),
            ("kernel_frames", slot::KERNEL_FRAMES),
            ("user_frames", slot::USER_FRAMES),
            ("kernel_stack", slot::KERNEL_STACK),
            ("user_stack", slot::USER_STACK),
        ] {
            assert_eq!(offset("cpu_slot", name), told, "cpu_slot.{name}");
        }
        for (n, name) in ["nmi_head", "irq_head", "soft_head", "thr_head"].iter().enumerate() {
            assert_eq!(offset("cpu_rings", name), n * 8);
        }
        assert_eq!(offset("cpu_rings", "sent_head"), rings::SENT_HEAD);
        for (ring, name) in [(Ring::Nmi, "nmi"), (Ring::Irq, "irq"), (Ring::Softirq, "soft"), (Ring::Thread, "thr")] {
            assert_eq!(offset("cpu_rings", name), ring.start(), "cpu_rings.{name}");
        }
        assert_eq!(offset("cpu_rings", "irq") - offset("cpu_rings", "nmi"), Ring::Nmi.entries() * RECORD_BYTES);
        assert_eq!(offset("cpu_rings", "soft") - offset("cpu_rings", "irq"), Ring::Irq.entries() * RECORD_BYTES);
        assert_eq!(offset("cpu_rings", "thr") - offset("cpu_rings", "soft"), Ring::Softirq.entries() * RECORD_BYTES);
        assert_eq!(offset("cpu_rings", "sent") - offset("cpu_rings", "thr"), Ring::Thread.entries() * RECORD_BYTES);
        assert_eq!(offset("cpu_rings", "sent"), rings::SENT);
        assert_eq!(rings::BYTES, rings::SENT + rings::SENT_RECORDS * SENT_BYTES);
        for (table, name) in Table::ALL.iter().zip(["nmi", "vector", "irq", "soft", "thr", "timer"]) {
            assert_eq!(offset("cpu_sources", name), table.start(), "cpu_sources.{name}");
        }
        for (n, table) in Table::ALL.iter().enumerate() {
            let next = Table::ALL.get(n + 1).map_or(SOURCES_BYTES, |t| t.start());
            assert_eq!(next - table.start(), table.entries() * SOURCE_BYTES, "{table:?}");
        }
        assert_eq!(
            (size("cpu_slot"), size("cpu_rings"), size("cpu_sources")),
            (slot::BYTES, rings::BYTES, SOURCES_BYTES)
        );
        assert_eq!((size("record"), size("sent"), size("source")), (RECORD_BYTES, SENT_BYTES, SOURCE_BYTES));
        for (of, name, word) in [
            ("record", "id", 3),
            ("record", "aux", 4),
            ("record", "name", 6),
            ("sent", "callback", 4),
            ("sent", "comm", 6),
            ("sent", "stack", 8),
            ("cycle", "switched", 3),
            ("cycle", "comm", 6),
            ("cycle", "kind", 10),
            ("source", "aux", 4),
            ("source", "name", 6),
            ("source", "log2", 8),
        ] {
            assert_eq!(offset(of, name), word * 8, "{of}.{name}");
        }
    }

    #[test]
    fn interrupts_are_named_as_osnoise_names_them() {
        assert_eq!(irq_name(VECTOR | (236 << 8), |_| None), "local_timer:236");
        assert_eq!(irq_name(VECTOR | 3 | (251 << 8), |_| None), "call_function_single:251");
        assert_eq!(irq_name(24, |_| Some("virtio0-input.0".to_owned())), "virtio0-input.0:24");
        assert_eq!(softirq_name(3), "NET_RX:3");
        assert!(is_sent(VECTOR | 1) && !is_sent(VECTOR) && !is_sent(1));
    }

    #[test]
    fn names_from_the_kernel_hold_no_control_characters() {
        let word = |s: &[u8; 8]| u64::from_ne_bytes(*s);
        assert_eq!(text([word(b"a\x1b[31mb\0"), word(b"ignored\0")]), "a?[31mb");
    }
}
