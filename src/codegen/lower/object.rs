//! What all programs of one object share: sections, maps, loss counters, constants.

use std::cell::OnceCell;
use std::collections::HashMap;

use crate::codegen::artifact::{BrakeSpec, ProgramSpec, SiteSpec, UNWIND_ROW, UNWIND_ROWS};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{BpfMap, BpfMapId, FuncId, Function, Section, SectionId};
use crate::kernel::target::TargetFacts;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::source::Span;
use crate::lang::typed::walk::Node;
use crate::lang::typed::{ActionId, ExprKind, MapId, Program, size_align};
use crate::lang::types::Type;
use crate::model::stats::LossCause;
use crate::model::target::Target;

use crate::codegen::lower::function::state::Draft;
use crate::codegen::lower::helpers::map_type;
use crate::codegen::lower::layout;
use crate::codegen::lower::layout::{
    BRAKE, BUDGET, CACHE_LINE, CONSTANTS, Cells, Home, KNOWN_STACK_IDS, KNOWN_STACKS, LOSSES, Layout, ORDER, PER_CPU,
    SCRATCH, SHARED, UNWIND,
};
use crate::codegen::lower::loops::cost::CostContext;
use crate::codegen::lower::loops::steps;
use crate::codegen::lower::loops::strategy::MOST_ITERATIONS;
use crate::codegen::lower::programs::multi::MANY_UPROBES;
use crate::codegen::lower::programs::raw;
use crate::codegen::lower::reports::ring_plan;
use crate::codegen::lower::reports::ring_plan::{SlotMaps, Slots};
use crate::codegen::lower::stack::unwind::maps::UnwindMaps;

/// Offset in the shared section of the start of the trace.
pub const START_BOOT_NS: u32 = 0;
/// Offset in the shared section of the "exit was called" word.
pub const EXITING: u32 = 8;
/// Offset in the shared section of the "wake the reader on every report" word.
pub const WAKE_UPS: u32 = 16;
/// Offset in the shared section of what a `test:` probe returned.
pub const RESULT: u32 = 24;
/// Offset in the shared section of wall clock minus boot clock.
pub const WALL_MINUS_BOOT_NS: u32 = 32;
/// Offset in the shared section of a word that stays zero, which the verifier does not know.
pub const NOTHING: u32 = 40;
/// First byte of the shared section for maps.
pub const FIRST_FREE: u32 = 64;

/// Ring buffer when the script names no size: room for about 200,000 short reports.
const DEFAULT_RING_BYTES: u32 = 16 << 20;
/// Stacks kept, at least.
const STACK_ENTRIES: u32 = 16 << 10;
/// Most memory for stacks, where the script's maps have room for more keys than that many stacks.
const LARGEST_STACKS: u32 = 64 << 20;

/// Calls of functions inside each other that weighing follows.
const DEEPEST_CALLS: u32 = 8;

/// Most working memory on all CPUs: a bound of ours, far above real scripts.
const LARGEST_SCRATCH: u64 = 256 << 20;

/// How a program's working memory is kept from being used twice at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The kernel never runs two programs of the region on one CPU at once.
    None,
    /// Firings nest strictly (interrupts); the inner one is skipped and counted.
    Word,
    /// Programs may be preempted: each firing claims one of [`CLAIM_SLOTS`] slots.
    Claim,
}

/// What a claimed slot's first word holds, and a free one's does not: a bit above the numbers of slots.
pub const CLAIMED: i64 = 4;
/// Slots of a region with [`Guard::Claim`].
pub const CLAIM_SLOTS: u32 = 4;
/// Bytes before the working memory of a guarded slot, for its claim word.
pub const GUARD_BYTES: u32 = 8;
/// Bytes behind it for the words of a brake, where a program has one.
const BRAKE_BYTES: u32 = 32;

/// A piece of the scratch section: for each CPU, one or more slots of working memory.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// How it is protected.
    pub guard: Guard,
    /// Bytes of one slot, guard included; the largest of its programs.
    pub bytes: u32,
}

impl Region {
    /// Bytes of one slot as laid out.
    pub const fn slot_stride(self) -> u32 {
        // Programs take its address even where nothing of theirs is in it: it must not be the section's end.
        let bytes = if self.bytes == 0 { 1 } else { self.bytes };
        bytes.next_multiple_of(CACHE_LINE)
    }

    /// Bytes between two CPUs.
    pub const fn cpu_stride(self) -> u32 {
        match self.guard {
            Guard::Claim => self.slot_stride() * CLAIM_SLOTS,
            _ => self.slot_stride(),
        }
    }
}

/// What the sections take that limit programs.
pub struct LimitSections {
    pub brake_bytes: u32,
    pub budget_bytes: u32,
    /// Counters of throttled firings.
    pub sites: Vec<SiteSpec>,
}

/// State of one compilation.
pub struct ObjectBuilder<'a> {
    /// The script.
    pub program: &'a Program,
    /// The kernel.
    pub facts: &'a TargetFacts,
    /// Where maps live.
    pub layout: Layout,
    /// Maps of the object: the script's first.
    pub maps: Vec<BpfMap>,
    /// By map: true when programs that can interrupt each other update it.
    pub contended: Vec<bool>,
    /// By map: true when the script deletes elements of it.
    pub deleted: Vec<bool>,
    /// Sections in use.
    pub sections: Vec<Section>,
    /// Functions by id; absent until finished.
    pub functions: Vec<Option<Function>>,
    /// Functions whose entry waits for the sizes of regions.
    pub drafts: Vec<Draft>,
    /// Working memory.
    pub regions: Vec<Region>,
    /// Loss counters so far; stride and offsets are set at the end.
    pub sites: Vec<SiteSpec>,
    site_index: HashMap<(LossCause, Option<ActionId>, u32, Span), usize>,
    constants: Vec<u8>,
    constant_index: HashMap<Vec<u8>, u32>,
    function_ids: OnceCell<Vec<u32>>,
    /// Programs so far.
    pub programs: Vec<ProgramSpec>,
    /// Whether a probe has a brake.
    has_brakes: bool,
    /// Brakes so far.
    pub brakes: Vec<BrakeSpec>,
    /// Probes with a budget so far.
    pub budgets: Vec<u32>,
    /// The ring buffer's map.
    pub ring: Option<BpfMapId>,
    /// Slots for reports, if the script's go into some.
    pub slots: Option<Slots>,
    /// Their maps, once in use.
    pub slot_maps: Option<SlotMaps>,
    pub stacks: Option<BpfMapId>,
    /// Maps of what user stacks are unwound by, once one is.
    pub unwind: Option<UnwindMaps>,
    /// Largest stack asked for, in frames.
    pub stack_depth: u32,
    /// Largest stack type in the script: the stack map's value, known before any code is made.
    pub deepest_stack: u32,
    /// The script is on many places in binaries.
    pub many_uprobes: bool,
    /// Stacks that the keys of the script's largest map can tell apart.
    pub stacks_in_keys: u32,
    /// Whether tracepoints are hung on the raw ones where they can be.
    pub prefers_raw: bool,
    /// Values over this many bytes live in working memory, not on the stack.
    pub on_stack_limit: u32,
    /// The largest value in working memory and where it is made.
    pub largest: (Span, u32),
    /// What this kernel may refuse, each once.
    pub warnings: Vec<Diagnostic>,
}

impl<'a> ObjectBuilder<'a> {
    /// Nothing yet: what can interrupt what decides where maps live, see [`Self::plan_maps`].
    pub fn new(program: &'a Program, facts: &'a TargetFacts, on_stack_limit: u32) -> Self {
        let cost_context = cost_context(program, facts);
        Self {
            program,
            facts,
            maps: Vec::new(),
            contended: vec![false; program.maps.len()],
            deleted: deleted(program),
            layout: Layout::default(),
            sections: Vec::new(),
            functions: Vec::new(),
            drafts: Vec::new(),
            regions: vec![Region { guard: Guard::None, bytes: 0 }],
            sites: Vec::new(),
            site_index: HashMap::new(),
            constants: Vec::new(),
            constant_index: HashMap::new(),
            function_ids: OnceCell::new(),
            programs: Vec::new(),
            has_brakes: program.probes.iter().any(|probe| steps::may_be_long(cost_context, probe)),
            brakes: Vec::new(),
            budgets: Vec::new(),
            ring: None,
            slots: ring_plan::plan(program, facts),
            slot_maps: None,
            stacks: None,
            unwind: None,
            stack_depth: 0,
            deepest_stack: deepest_stack(program),
            many_uprobes: !facts.for_other_loaders && user_places(program) >= MANY_UPROBES,
            stacks_in_keys: stacks_in_keys(program),
            prefers_raw: raw::is_profitable(program),
            on_stack_limit,
            largest: (Span::default(), 0),
            warnings: Vec::new(),
        }
    }

    /// Decides where the maps live.
    pub fn plan_maps(&mut self) -> Result<(), CodegenError> {
        self.layout = layout::plan(self.program, self.facts, FIRST_FREE, &self.contended)?;
        self.maps.clone_from(&self.layout.maps);
        Ok(())
    }

    /// What loops are weighed with.
    pub const fn cost_context(&self) -> CostContext<'a> {
        cost_context(self.program, self.facts)
    }

    /// The section of this name, made at its first use.
    pub fn section(&mut self, name: &str) -> SectionId {
        if let Some(i) = self.sections.iter().position(|s| s.name == name) {
            return SectionId(i as u32);
        }
        let read_only = name == CONSTANTS;
        self.sections.push(Section { name: name.to_owned(), size: 8, data: Vec::new(), read_only });
        SectionId(self.sections.len() as u32 - 1)
    }

    /// Tells of something that this kernel may refuse; once for each place, though a probe is compiled for each
    /// of its targets.
    pub fn warn(&mut self, warning: Diagnostic) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// A place for a function that is made later.
    pub fn reserve_function(&mut self) -> FuncId {
        self.functions.push(None);
        FuncId(self.functions.len() as u32 - 1)
    }

    /// The counter of what is lost here.
    pub fn site(&mut self, cause: LossCause, action: Option<ActionId>, probe: u32, span: Span) -> u32 {
        let sites = &mut self.sites;
        let index = *self.site_index.entry((cause, action, probe, span)).or_insert_with(|| {
            sites.push(SiteSpec { cause, action, probe, span, area: LOSSES.into(), offset: 0, stride: 0 });
            sites.len() - 1
        });
        index as u32
    }

    /// Offset of constant bytes in the section of constants, aligned to 8.
    pub fn constant(&mut self, bytes: &[u8]) -> u32 {
        if let Some(at) = self.constant_index.get(bytes) {
            return *at;
        }
        let at = self.constants.len().next_multiple_of(8);
        self.constants.resize(at, 0);
        self.constants.extend_from_slice(bytes);
        self.constant_index.insert(bytes.to_vec(), at as u32);
        at as u32
    }

    /// The number of the function in a probe's name.
    pub fn function_id(&self, name: u32) -> u32 {
        let all = self.function_ids.get_or_init(|| self.program.function_ids());
        all.get(name as usize).copied().unwrap_or(name)
    }

    /// The ring buffer.
    pub fn ring(&mut self) -> BpfMapId {
        let bytes = match self.program.config.ring_bytes {
            0 => DEFAULT_RING_BYTES,
            n => n.next_power_of_two().max(4096),
        };
        let maps = &mut self.maps;
        *self.ring.get_or_insert_with(|| {
            maps.push(BpfMap {
                name: "events".into(),
                kind: map_type::RINGBUF,
                key_size: 0,
                value_size: 0,
                max_entries: bytes,
                flags: 0,
            });
            BpfMapId(maps.len() as u32 - 1)
        })
    }

    /// The map of stacks, with values of at least `depth` frames.
    pub fn stacks(&mut self, depth: u32) -> BpfMapId {
        self.stack_depth = self.stack_depth.max(depth).max(self.deepest_stack);
        let maps = &mut self.maps;
        *self.stacks.get_or_insert_with(|| {
            maps.push(BpfMap {
                name: "stacks".into(),
                kind: map_type::HASH,
                key_size: 8,
                value_size: 8,
                max_entries: STACK_ENTRIES,
                flags: 0,
            });
            BpfMapId(maps.len() as u32 - 1)
        })
    }

    /// Refuses working memory beyond reason.
    pub fn check_scratch(&self) -> Result<(), CodegenError> {
        let cpus = u64::from(layout::cpu_slots(self.facts));
        let slots = |r: &Region| if r.guard == Guard::Claim { u64::from(CLAIM_SLOTS) } else { 1 };
        let total: u64 = self.regions.iter().map(|r| (u64::from(r.bytes) + 64) * slots(r) * cpus).sum();
        if total <= LARGEST_SCRATCH {
            return Ok(());
        }
        Err(CodegenError::TooLarge {
            span: self.largest.0,
            what: "the working memory for this script's strings and structs, in bytes on all CPUs,".into(),
            size: total,
            limit: LARGEST_SCRATCH,
            hint: Some(format!(
                "its largest value takes {} bytes: give str() or buf() a shorter length",
                self.largest.1
            )),
        })
    }

    /// Fixes sizes that depend on everything made; those of brakes and of the budget are told.
    pub fn settle(&mut self, limits: LimitSections) {
        if let Some(stacks) = self.stacks {
            let map = &mut self.maps[stacks.0 as usize];
            map.value_size = self.stack_depth * 8;
            let most = (LARGEST_STACKS / map.value_size.max(8)).max(STACK_ENTRIES);
            map.max_entries = self.stacks_in_keys.clamp(STACK_ENTRIES, most);
        }
        // Maps that no program touches are read at the end all the same: the probes that fill them may be
        // absent on this kernel.
        for home in self.layout.homes.clone() {
            match home {
                Home::Shared { .. } => self.section(SHARED),
                Home::PerCpu { .. } => self.section(PER_CPU),
                Home::Cells(_) => {
                    self.section(SHARED);
                    self.section(PER_CPU)
                }
                Home::Hash { .. } => continue,
            };
        }
        let cpus = layout::cpu_slots(self.facts);
        // One counter a site, shared by all CPUs and added to atomically: a loss needs no CPU number.
        // The other CPUs' copies stay zero, so that readers may add them all.
        let stride = (self.sites.len() as u32 * 8).next_multiple_of(CACHE_LINE);
        for (i, site) in self.sites.iter_mut().enumerate() {
            site.offset = i as u32 * 8;
            site.stride = stride;
        }
        self.sites.extend(limits.sites);
        let scratch: u32 = self.regions.iter().map(|r| r.cpu_stride() * cpus).sum();
        for section in &mut self.sections {
            let size = match section.name.as_str() {
                SHARED => self.layout.shared_bytes,
                PER_CPU => self.layout.percpu_stride * cpus,
                LOSSES => stride * cpus,
                SCRATCH => scratch,
                BRAKE => limits.brake_bytes,
                BUDGET => limits.budget_bytes,
                KNOWN_STACKS => KNOWN_STACK_IDS * 8,
                ORDER => CACHE_LINE,
                UNWIND => UNWIND_ROWS * UNWIND_ROW,
                _ => self.constants.len() as u32,
            };
            section.size = size.max(8);
            if section.read_only {
                section.data.clone_from(&self.constants);
                section.data.resize(section.size as usize, 0);
            }
        }
    }

    pub fn keyed_map(&self, map: MapId) -> Option<BpfMapId> {
        match self.layout.homes[map.0 as usize] {
            Home::Hash { map, .. } => Some(BpfMapId(map)),
            _ => None,
        }
    }

    /// Size in bytes of a value of this type.
    pub fn size(&self, ty: &Type) -> u32 {
        size_align(ty, &self.program.structs).0
    }

    /// The cells of a map that lives in some.
    pub fn cells(&self, map: MapId) -> Option<Cells> {
        match self.layout.homes[map.0 as usize] {
            Home::Cells(cells) => Some(cells),
            _ => None,
        }
    }

    /// Byte offset of a region in the scratch section.
    pub fn region_offset(&self, region: usize) -> u32 {
        let cpus = layout::cpu_slots(self.facts);
        self.regions[..region].iter().map(|r| r.cpu_stride() * cpus).sum()
    }
}

/// Where a region's words of brakes are, in each slot; zero between firings.
pub fn brake_words(object: &mut ObjectBuilder<'_>, region: usize) -> u32 {
    let free = first_free_in(object, region);
    let region = &mut object.regions[region];
    region.bytes = region.bytes.max(free);
    free - BRAKE_BYTES
}

/// The first byte of a slot of the region that programs may use as they like.
pub fn first_free_in(object: &ObjectBuilder<'_>, region: usize) -> u32 {
    let guard = if object.regions[region].guard == Guard::None { 0 } else { GUARD_BYTES };
    guard + if object.has_brakes { BRAKE_BYTES } else { 0 }
}

const fn cost_context<'a>(program: &'a Program, facts: &'a TargetFacts) -> CostContext<'a> {
    CostContext { program, facts, depth: DEEPEST_CALLS, unknown: MOST_ITERATIONS as u64 }
}

/// Maps with elements that come and go.
fn deleted(program: &Program) -> Vec<bool> {
    let mut deleted = vec![false; program.maps.len()];
    for e in program.nodes().filter_map(Node::expr) {
        if let ExprKind::MapDelete { map, .. } = &e.kind {
            deleted[map.0 as usize] = true;
        }
    }
    deleted
}

/// Frames of the deepest stack that any expression of the script captures.
fn deepest_stack(program: &Program) -> u32 {
    let depths = program.nodes().filter_map(Node::expr).filter_map(|e| match e.ty {
        Type::KStack { depth, .. } | Type::UStack { depth, .. } => Some(u32::from(depth).clamp(1, layout::MOST_FRAMES)),
        _ => None,
    });
    depths.max().unwrap_or_default()
}

fn user_places(program: &Program) -> usize {
    let targets = program.probes.iter().flat_map(|probe| &probe.targets);
    targets.filter(|target| matches!(target, Target::Uprobe { .. })).count()
}

/// How many stacks the keys of the script's largest map can tell apart.
fn stacks_in_keys(program: &Program) -> u32 {
    let room = |map: &crate::lang::typed::Map| stacks_in(&map.key).saturating_mul(map.max_entries);
    program.maps.iter().map(room).max().unwrap_or_default()
}

fn stacks_in(ty: &Type) -> u32 {
    match ty {
        Type::KStack { .. } | Type::UStack { .. } => 1,
        Type::Tuple(parts) => parts.iter().map(stacks_in).sum(),
        Type::Record(fields) => fields.iter().map(|(_, ty)| stacks_in(ty)).sum(),
        _ => 0,
    }
}
