//! A user's BPF program for `rtla timerlat --bpf-action`, run when a threshold is passed.
//!
//! rtla calls it from the kernel's `timerlat_sample` event by a tail call. Here it is a program of its own that
//! `BPF_PROG_RUN` runs on the CPU that was late, with the record of that event as its context: as a raw tracepoint's,
//! since the kernel runs no classic tracepoint's program on request (a raw one reads its context in the same way).

use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::Path;

use libbpf_rs::{Object, ObjectBuilder, ProgramInput, ProgramType};
use rustix::fs::MemfdFlags;

use crate::engine::error::EngineError;
use crate::engine::load;
use crate::engine::sys::bpf::{self, LogLevel};
use crate::kernel::Kernel;

/// rtla's name for the program.
const NAME: &str = "action_handler";
/// `BPF_F_TEST_RUN_ON_CPU`.
const ON_CPU: u32 = 1;
/// Room for the verifier's complaint.
const LOG_BYTES: usize = 16 << 10;
/// Objects are small: a larger file is none.
const MOST_BYTES: u64 = 16 << 20;

/// Where a sample was taken, as the event tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Context {
    /// The timer's interrupt.
    Irq = 0,
    /// The thread.
    Thread = 1,
    /// Back in user space.
    User = 2,
}

/// A loaded action. Its maps live as long.
pub struct Action {
    object: Object,
}

impl std::fmt::Debug for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Action").finish_non_exhaustive()
    }
}

impl Action {
    /// Loads an object file.
    ///
    /// # Errors
    /// When it cannot be read, has no program `action_handler`, or the kernel refuses it.
    pub fn load(kernel: &Kernel, path: &Path) -> Result<Self, EngineError> {
        let open = |reason: String| EngineError::Open { reason: format!("{}: {reason}", path.display()) };
        let size = std::fs::metadata(path).map_err(|e| open(e.to_string()))?;
        if !size.is_file() || size.len() > MOST_BYTES {
            return Err(open("it is no object file".to_owned()));
        }
        let bytes = std::fs::read(path).map_err(|e| open(e.to_string()))?;
        load::listen();
        let types = event_types(kernel);
        let mut builder = ObjectBuilder::default();
        if let Some(types) = &types {
            let place = format!("/proc/self/fd/{}", types.as_raw_fd());
            builder.btf_custom_path(place).map_err(|e| open(format!("{e:#}")))?;
        }
        let mut object = builder.open_memory(&bytes).map_err(|e| open(format!("{e:#} {}", load::talk().trim())))?;
        let mut found = false;
        for mut program in object.progs_mut() {
            let wanted = program.name() == NAME;
            found |= wanted;
            program.set_autoload(wanted);
            if wanted {
                program.set_prog_type(ProgramType::RawTracepoint);
            }
        }
        if !found {
            return Err(open(format!(
                "it has no program `{NAME}` (a function in a section such as tp/timerlat_action)"
            )));
        }
        let object = bpf::load_with_logs(object, LogLevel::Complaint, LOG_BYTES).map_err(super::refused)?;
        Ok(Self { object })
    }

    /// Runs it as if the kernel had raised the event on this CPU.
    ///
    /// # Errors
    /// When the kernel does not run it.
    pub fn run(&self, cpu: u32, latency_ns: u64, sequence: u32, context: Context) -> Result<(), EngineError> {
        let missing = || EngineError::Missing { what: format!("program {NAME}") };
        let program = self.object.progs_mut().find(|program| program.name() == NAME).ok_or_else(missing)?;
        let mut record = [0; RECORD_BYTES];
        record[8..16].copy_from_slice(&latency_ns.to_ne_bytes());
        record[16..20].copy_from_slice(&sequence.to_ne_bytes());
        record[20..24].copy_from_slice(&(context as u32).to_ne_bytes());
        let input = ProgramInput { context_in: Some(&mut record), cpu, flags: ON_CPU, ..ProgramInput::default() };
        let ran = program.test_run(input);
        ran.map(|_| ()).map_err(|e| EngineError::Run { probe: NAME.to_owned(), source: std::io::Error::other(e) })
    }
}

/// The record and what the kernel's check of the context's size wants behind it: words that a raw tracepoint may have.
const RECORD_BYTES: usize = 96;

/// The types of this kernel with `struct trace_event_raw_timerlat_sample`, which objects for rtla are relocated by;
/// `None` where the kernel has it or tells no types.
fn event_types(kernel: &Kernel) -> Option<std::fs::File> {
    let btf = kernel.btf().ok()?;
    if btf.find_struct("trace_event_raw_timerlat_sample").is_some() {
        return None;
    }
    let bytes = std::fs::read(kernel.roots().sys.join("kernel/btf/vmlinux")).ok()?;
    let with_event = add_event(&bytes, btf.end_id())?;
    let descriptor = rustix::fs::memfd_create("btf", MemfdFlags::CLOEXEC).ok()?;
    let mut file = std::fs::File::from(descriptor);
    file.write_all(&with_event).ok()?;
    Some(file)
}

/// Adds the event's struct to the types in `btf`, whose next id is `next`.
fn add_event(btf: &[u8], next: u32) -> Option<Vec<u8>> {
    const INT: u32 = 1 << 24;
    const STRUCT: u32 = 4 << 24;
    const SIGNED: u32 = 1 << 24;
    let word = |at: usize| Some(u32::from_ne_bytes(btf.get(at..at + 4)?.try_into().ok()?));
    let [header, types_at, types_bytes, names_at, names_bytes] =
        [word(4)?, word(8)?, word(12)?, word(16)?, word(20)?].map(|n| n as usize);
    let types = btf.get(header + types_at..header + types_at + types_bytes)?;
    let names = btf.get(header + names_at..header + names_at + names_bytes)?;
    let mut text = names.to_vec();
    let mut name = |new: &str| {
        let at = text.len() as u32;
        text.extend_from_slice(new.as_bytes());
        text.push(0);
        at
    };
    // Eight bytes stand for `struct trace_entry`, which says nothing here.
    let members = [("ent", 0, 0), ("timer_latency", 0, 64), ("seqnum", 1, 128), ("context", 2, 160)];
    let mut added = vec![name("unsigned long long"), INT, 8, 64, name("unsigned int"), INT, 4, 32];
    added.extend([name("int"), INT, 4, SIGNED | 32]);
    added.extend([name("trace_event_raw_timerlat_sample"), STRUCT | members.len() as u32, 24]);
    for (member, of, bit) in members {
        added.extend([name(member), next + of, bit]);
    }
    let added_bytes = added.len() * 4;
    let mut out = btf.get(..8)?.to_vec();
    out[4..8].copy_from_slice(&24_u32.to_ne_bytes());
    for place in [0, types.len() + added_bytes, types.len() + added_bytes, text.len()] {
        out.extend_from_slice(&u32::try_from(place).ok()?.to_ne_bytes());
    }
    out.extend_from_slice(types);
    out.extend(added.iter().flat_map(|word| word.to_ne_bytes()));
    out.extend_from_slice(&text);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::btf::Btf;

    #[test]
    fn the_event_is_added_to_a_kernels_types() {
        use object::{Object as _, ObjectSection as _};
        let file = object::File::parse(super::super::OBJECT).unwrap();
        let types = file.section_by_name(".BTF").unwrap().data().unwrap().to_vec();
        let before = Btf::parse(types.clone(), None).unwrap();
        let after = Btf::parse(add_event(&types, before.end_id()).unwrap(), None).unwrap();
        assert_eq!(after.end_id(), before.end_id() + 4);
        let id = after.find_struct("trace_event_raw_timerlat_sample").unwrap();
        for (name, bit, size) in [("timer_latency", 64, 8), ("seqnum", 128, 4), ("context", 160, 4)] {
            let member = after.member(id, name).unwrap();
            assert_eq!((member.bit_offset, after.size_of(member.ty)), (bit, Some(size)), "{name}");
        }
        assert_eq!(after.find_struct("cpu_slot"), before.find_struct("cpu_slot"));
        assert!(add_event(&types[..20], 1).is_none(), "cut off");
    }
}
