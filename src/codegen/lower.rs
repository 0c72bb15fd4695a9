//! Typed program to IR: one BPF program for each probe (or for each of its targets, where the kernel
//! binds a program to one), the layout of maps, records and working memory, and loss counters.
//!
//! Values over 32 bytes never live on the BPF stack: they are in per-CPU working memory in global
//! data, addressed directly. See `function` for the shape of a program and `layout` for where maps live.
//!
//! Functions take the least that they work on: a `FunctionBuilder`, a `FunctionState`, an `ObjectBuilder`, or all of a
//! program's `Lowerer`, whose methods are the recursion over typed nodes.

mod addr;
mod arith;
mod builtin;
mod expr;
mod function;
mod helpers;
mod intrinsic;
mod layout;
mod loops;
mod maps;
mod marks;
mod numbers;
mod object;
mod objects;
mod place;
mod programs;
mod reports;
mod scopes;
mod stack;
mod stmt;
mod strings;
mod transfer;
mod trusted;
mod value;
mod variables;

use std::sync::Arc;

use crate::kernel::target::TargetFacts;
use crate::lang::source::Span;
use crate::lang::typed::{MapId, Program, Session};

use super::artifact::{Artifact, GlobalKind, GlobalSpec, MapSpec, PerCpuRingSpec, RingSpec, StackMapSpec, UnwindSpec};
use super::error::CodegenError;
use super::ir::{BpfMapId, Isa, Module, SectionId};

use object::ObjectBuilder;

/// The IR of a script and what the engine must know of it.
#[derive(Clone, Debug, Default)]
pub struct Lowered {
    /// Functions, maps and sections of the object.
    pub module: Module,
    /// All else of the product: what is known when the object is made is still missing.
    pub artifact: Artifact,
}

/// Lowers a typed program for a kernel.
pub fn lower(program: &Program, facts: &TargetFacts) -> Result<Lowered, CodegenError> {
    let object = ObjectBuilder::new(program, facts, function::ON_STACK_LIMIT);
    let sessions = programs::session::of_object(&object);
    lower_with(object, &sessions)
}

/// As [`lower`], with next to nothing on the stack, and nothing of that for calls: somewhat slower, for scripts that
/// need more of it than there is.
pub fn lower_off_stack(program: &Program, facts: &TargetFacts) -> Result<Lowered, CodegenError> {
    lower_with(ObjectBuilder::new(program, facts, function::LITTLE_STACK_LIMIT), &[])
}

fn lower_with(mut object: ObjectBuilder<'_>, sessions: &[Session]) -> Result<Lowered, CodegenError> {
    let program = object.program;
    if !program.has_scopes() {
        return Err(CodegenError::internal(Span::default(), "the script", "blocks without numbers"));
    }
    programs::find_contention(&mut object);
    object.plan_maps()?;
    for (index, probe) in (0..).zip(&program.probes) {
        if let Some(session) = sessions.iter().find(|s| s.entry == index) {
            programs::session::lower(&mut object, *session)?;
        } else if sessions.iter().all(|s| s.on_return != index) {
            programs::lower_probe(&mut object, index, probe)?;
        }
    }
    object.check_scratch()?;
    programs::entry::finish(&mut object);
    object.settle(programs::limit_sections(&object));
    Ok(collect(object, program))
}

fn collect(object: ObjectBuilder<'_>, program: &Program) -> Lowered {
    let shared = object.sections.iter().position(|s| s.name == layout::SHARED);
    let homes = (0..).zip(&object.layout.homes);
    let artifact = Artifact {
        object: Arc::default(),
        budget: programs::budget::spec(&object),
        maps: homes.map(|(i, home)| MapSpec { id: MapId(i), storage: layout::storage(home, &object.layout) }).collect(),
        ring: ring_spec(&object),
        unwind: object.unwind.map(|maps| UnwindSpec {
            rows: layout::UNWIND.into(),
            processes: name(&object, maps.processes),
            wanted: name(&object, maps.wanted),
        }),
        stacks: object.stacks.map(|id| StackMapSpec { map: name(&object, id), depth: object.stack_depth }),
        globals: if shared.is_some() { globals() } else { Vec::new() },
        programs: object.programs,
        brakes: object.brakes,
        sites: object.sites,
        warnings: object.warnings,
    };
    let module = Module {
        functions: object.functions.into_iter().flatten().collect(),
        maps: object.maps,
        sections: object.sections,
        license: program.config.license.to_string(),
        isa: Isa::of(object.facts),
        unknown_zero: shared.map(|index| (SectionId(index as u32), object::NOTHING)),
    };
    Lowered { module, artifact }
}

fn name(object: &ObjectBuilder<'_>, id: BpfMapId) -> Arc<str> {
    object.maps[id.0 as usize].name.as_str().into()
}

fn ring_spec(object: &ObjectBuilder<'_>) -> Option<RingSpec> {
    let ring = object.ring?;
    let (Some(slots), Some(maps)) = (object.slots, object.slot_maps) else {
        return Some(RingSpec::Kernel { map: name(object, ring) });
    };
    Some(RingSpec::Slots(PerCpuRingSpec {
        wake: name(object, maps.wake),
        map: name(object, maps.rings),
        slot_bytes: slots.bytes,
        slots: slots.count,
        rings: object.facts.possible_cpus.max(1),
    }))
}

/// The engine's variables in the shared section.
fn globals() -> Vec<GlobalSpec> {
    let kinds = [
        (GlobalKind::StartBootNs, object::START_BOOT_NS),
        (GlobalKind::WallMinusBootNs, object::WALL_MINUS_BOOT_NS),
        (GlobalKind::Exiting, object::EXITING),
        (GlobalKind::WakeUps, object::WAKE_UPS),
        (GlobalKind::Result, object::RESULT),
    ];
    kinds.into_iter().map(|(kind, offset)| GlobalSpec { kind, area: layout::SHARED.into(), offset }).collect()
}
