//! Whether what the kernel offers works: a small script for each feature is compiled, loaded and
//! attached for a moment. Kernels list what they then refuse (a breakpoint that may not be written, a
//! trampoline that has no room), and only trying tells.

use std::sync::Arc;

use super::front::{self, FrontSettings};
use crate::engine::attach::Place;
use crate::engine::drain::Handed;
use crate::engine::{EngineError, Trace};
use crate::kernel::{Feature, Kernel};
use crate::lang::diagnostic::Severity;
use crate::lang::source::SourceText;

/// How a trial ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trial {
    /// It was loaded and attached.
    Works,
    /// The kernel offers it and refused it.
    Refused {
        /// The kernel's words.
        reason: String,
    },
    /// Here is nothing to try it on.
    Untried {
        /// Why not.
        reason: String,
    },
}

/// What is tried for a feature; the probes hardly ever fire. `None` for what needs no trial, because
/// reading the kernel's files tells.
#[must_use]
pub const fn script_for(feature: Feature) -> Option<&'static str> {
    Some(match feature {
        Feature::Tracepoint => "tracepoint:sched:sched_process_exec { @ = count(); }",
        Feature::SyscallTracepoints => "tracepoint:syscalls:sys_enter_sethostname { @ = count(); }",
        Feature::RawTracepoint => "rawtracepoint:sched_process_exec { @ = count(); }",
        Feature::Kprobe => "kprobe:vfs_fsync { @ = count(); }",
        Feature::KprobeMulti => "kprobe:vfs_fsync* { @ = count(); }",
        Feature::Fentry => "fentry:vmlinux:vfs_fsync { @ = count(); }",
        Feature::Uprobe => "uprobe:libc:sethostname { @ = count(); }",
        Feature::UprobeMulti => "uprobe:libc:sethost* { @ = count(); }",
        Feature::Usdt => "usdt:libc:memory_arena_* { @ = count(); }",
        Feature::PerfSoftware => "software:faults:1000000 { @ = count(); }",
        Feature::PerfHardware => "hardware:cpu-cycles:1000000000 { @ = count(); }",
        Feature::Iter => "iter:task { @ = count(); }",
        Feature::RingBuffer => "begin { printf(\"%d\\n\", pid); }",
        _ => return None,
    })
}

/// Tries a feature; `None` when it is absent anyway or needs no trial. Nothing stays attached.
#[must_use]
pub fn of(feature: Feature, kernel: &Arc<Kernel>) -> Option<Trial> {
    let script = script_for(feature).filter(|_| kernel.features().has(feature))?;
    let settings = FrontSettings::new(Arc::clone(kernel));
    let compilation = front::compile(&SourceText::new("trial", script), None, &settings);
    let Some(compiled) = compilation.output else {
        let mut errors = compilation.diagnostics.into_iter().filter(|d| d.severity == Severity::Error);
        let reason = match feature {
            Feature::Usdt => "the C library here has no markers to try it on".to_owned(),
            _ => errors.next().map_or_else(|| "the trial did not compile".to_owned(), |d| d.message),
        };
        return Some(Trial::Untried { reason });
    };
    let place = Place::new(kernel, None);
    let loaded = Trace::load(compiled.program, compiled.artifact, Box::new(|_, _| Handed::Taken));
    Some(match loaded.and_then(|mut trace| trace.attach(&place)) {
        Ok(()) => Trial::Works,
        Err(error) => Trial::Refused { reason: words(&error) },
    })
}

/// The reason alone: the table names the feature already.
fn words(error: &EngineError) -> String {
    match error {
        EngineError::Rejected { reason, .. } => format!("the verifier refused it: {reason}"),
        EngineError::Load { reason, .. } | EngineError::Attach { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Roots;

    #[test]
    fn what_the_kernel_lacks_is_not_tried() {
        let nowhere = std::path::PathBuf::from("/nonexistent");
        let roots = Roots { proc: nowhere.clone(), sys: nowhere.clone(), tracefs: nowhere.clone(), boot: nowhere };
        let kernel = Arc::new(Kernel::new(roots));
        assert!(Feature::ALL.into_iter().filter(|f| !kernel.features().has(*f)).all(|f| of(f, &kernel).is_none()));
        assert!(!kernel.features().has(Feature::Tracepoint));
    }

    #[test]
    fn every_trial_is_a_script_of_one_probe() {
        for script in Feature::ALL.into_iter().filter_map(script_for) {
            let source = SourceText::new("trial", script);
            let wrong = crate::lang::front_end(&source).syntax(&source);
            assert!(wrong.is_empty(), "{script}: {wrong:?}");
        }
    }
}
