//! Where the script's maps, loss counters and global variables live, decided before any code is made.

use std::sync::Arc;

use crate::codegen::artifact::{CellsSpec, Storage};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::BpfMap;
use crate::kernel::target::TargetFacts;
use crate::lang::typed::{Map, MapStorage, Program, size_align, tuple_layout};
use crate::lang::types::{Aggregation, Type};

use crate::codegen::lower::helpers::{BPF_F_NO_PREALLOC, map_type};
use crate::codegen::lower::maps::usage;

/// Name of the section with scalars that all CPUs share.
pub const SHARED: &str = ".bss.shared";
/// Name of the section with scalar aggregations, one copy a CPU.
pub const PER_CPU: &str = ".bss.percpu";
/// Name of the section with the loss counters.
pub const LOSSES: &str = ".bss.losses";
/// Name of the section with the number of the next report, see [`crate::codegen::lower::reports::per_cpu_ring`].
pub const ORDER: &str = ".bss.order";
/// Name of the section with programs' working memory, one copy a CPU.
pub const SCRATCH: &str = ".bss.scratch";
/// Name of the section with what brakes remember, see [`crate::codegen::lower::programs::brake`].
pub const BRAKE: &str = ".bss.brake";
/// Name of the section with the budget's words, see [`crate::codegen::lower::programs::budget`].
pub const BUDGET: &str = ".bss.budget";
/// `kernel.perf_event_max_stack`'s default: `bpf_get_stack` refuses nothing above it but returns no more.
pub const MOST_FRAMES: u32 = 127;
/// Name of the section with ids of stacks that are in the stack map.
pub const KNOWN_STACKS: &str = ".bss.stacks";
/// How many ids it holds.
pub const KNOWN_STACK_IDS: u32 = 256;
/// Name of the section with the rows that user stacks are unwound by.
pub const UNWIND: &str = ".bss.unwind";
/// Name of the section with constants.
pub const CONSTANTS: &str = ".rodata.const";

/// Per-CPU copies start on lines of their own.
pub const CACHE_LINE: u32 = 64;

/// Per-CPU copies up to this size are rounded up to a power of two.
const LARGEST_SHIFTED: u32 = 16 << 10;

/// Largest value of a per-CPU map: `PCPU_MIN_UNIT_SIZE` (`include/linux/percpu.h`), checked in
/// `htab_map_alloc_check` (`kernel/bpf/hashtab.c`).
const LARGEST_PER_CPU_VALUE: u32 = 32 << 10;

/// Most bytes of a key before Linux 5.11.
const OLD_KEY_LIMIT: u32 = 512;

/// Entries of a CPU's memory of the keys that it saw last, see [`crate::codegen::lower::maps::per_cpu_key_cache`]; a power of two.
pub const MEMO_SLOTS: u32 = 128;
/// Keys of more words are looked up each time, unless they end with a text.
const MEMO_WORDS: u32 = 8;
/// Words that are remembered of keys that end with a longer text; with a tag they fill two cache lines.
const TEXT_WORDS: u32 = 15;
/// Most bytes of such a key.
const LARGEST_TEXT_KEY: u32 = 4096;
/// Verifiers of before (seen on 6.12) do not come to an end with the branches of a few searches in one loop.
const CELLS_IN_LOOPS: u32 = 6 << 16 | 18 << 8;
/// Most statements of a script that update cells: each is about 90 instructions more for the compiler and the
/// verifier than a hash map's update.
const CELL_UPDATES: usize = 8;
/// Most bytes that the cells of all maps take on all CPUs.
const LARGEST_CELLS: u64 = 16 << 20;

/// Most bytes of one section that holds the scalars: a bound of ours, far above real scripts.
const LARGEST_SECTION: u64 = 64 << 20;

/// The elements of all maps are allocated in advance up to this part of the machine's memory, and at least up to so
/// many bytes. The kernel has only a few free elements at hand for a map that allocates as keys come, and can't
/// fetch more while interrupts are off (`bpf_mem_alloc` refills by `irq_work`): a program in an interrupt would lose
/// most of what it inserts in one firing. What is per CPU is lost in any context where keys come fast, since memory
/// per CPU is filled up by a worker thread.
const PREALLOCATED_PART: u64 = 16;
const LEAST_PREALLOCATION: u64 = 16 << 20;

/// Bytes of an element beside its key and its value (`struct htab_elem`).
const ELEMENT_BYTES: u64 = 48;

/// Allocation at insertion is safe inside tracing programs since the BPF allocator of 6.1 (`bpf_mem_alloc`,
/// commit fba1a1c6c912); before, maps of tracing programs must be allocated in advance
/// (`check_map_prog_compatibility` in `kernel/bpf/verifier.c`).
const ALLOCATION_IN_PROGRAMS: u32 = 6 << 16 | 1 << 8;

/// A map's home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Home {
    /// Value at an offset in [`SHARED`], presence byte at another.
    Shared { offset: u32, present: u32 },
    /// Value at an offset in [`PER_CPU`]'s copy of one CPU, presence byte at another. With `keyed`, the map's
    /// key is the number of the CPU, see [`crate::codegen::lower::maps::usage::by_cpu`].
    PerCpu { offset: u32, present: u32, keyed: bool },
    /// A BPF map: index into the module's.
    Hash { map: u32, per_cpu: bool, lru: bool },
    /// Values in numbered cells of [`PER_CPU`]'s copy of each CPU, numbers in a BPF map.
    Cells(Cells),
}

/// Where the elements of a map lie that the script only updates, see [`crate::codegen::lower::maps::per_cpu_key_cache`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    /// The BPF map from keys to the numbers of cells: index into the module's.
    pub map: u32,
    /// Offset in [`SHARED`] of the map's four words: epoch, next number of either half, spare number.
    pub words: u32,
    /// Offset in a CPU's copy of its memory of the last keys.
    pub memo: u32,
    /// Offset in a CPU's copy of the first cell.
    pub first: u32,
    /// Cells of one half: as many as the map takes keys.
    pub capacity: u32,
    /// Bytes of a cell.
    pub value_size: u32,
    /// How a key is laid out.
    pub key: CellKey,
}

/// A key of a map in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellKey {
    pub words: u32,
    /// Its first words, which CPUs remember. With fewer than all of them, only keys whose text ends in these are
    /// remembered.
    pub memo_words: u32,
    /// Where the text begins that a key of more than [`MEMO_WORDS`] words ends with. Behind its end are zeros.
    pub text_at: Option<u32>,
}

impl CellKey {
    /// The layout of a type's keys, if they can be remembered.
    fn of(key: &Type, program: &Program) -> Option<Self> {
        let size = size_align(key, &program.structs).0;
        let words = size.div_ceil(8);
        if (1..=MEMO_WORDS).contains(&words) {
            // What is padded to words has zeros there.
            let whole = padded(key, size).is_multiple_of(8) || matches!(key, Type::Str { .. });
            return whole.then_some(Self { words, memo_words: words, text_at: None });
        }
        let text_at = match key {
            Type::Str { .. } => 0,
            Type::Tuple(items) if matches!(items.last(), Some(Type::Str { .. })) => {
                tuple_layout(items.iter(), &program.structs).1.last().copied()?
            }
            _ => return None,
        };
        let fits = words > 0 && size <= LARGEST_TEXT_KEY && text_at <= MEMO_WORDS * 8;
        fits.then_some(Self { words, memo_words: words.min(TEXT_WORDS), text_at: Some(text_at) })
    }

    /// Whether the word's last byte belongs to the text: zero means that the text has ended there.
    pub fn ends_in(&self, word: u32) -> bool {
        self.text_at.is_some_and(|at| word * 8 + 7 >= at)
    }

    /// Bytes of keys in the BPF map, with the epoch before them.
    fn bytes(&self, capacity: u32) -> u64 {
        (ELEMENT_BYTES + u64::from(8 + self.words * 8) + 8) * u64::from(capacity) * 2
    }
}

impl Cells {
    /// Bytes of an entry in the memory of keys: a tag and the key's words.
    pub const fn entry_bytes(&self) -> u32 {
        ((1 + self.key.memo_words) * 8).next_power_of_two()
    }
}

/// The plan of all maps.
#[derive(Debug, Default)]
pub struct Layout {
    /// By `MapId`.
    pub homes: Vec<Home>,
    /// BPF maps of the script's maps.
    pub maps: Vec<BpfMap>,
    /// Bytes of the shared section used by maps.
    pub shared_bytes: u32,
    /// Bytes between CPUs in the per-CPU section.
    pub percpu_stride: u32,
    /// Bytes of elements that may still be allocated in advance.
    memory_left: u64,
}

impl Layout {
    /// The flags of a map whose elements take so many bytes.
    const fn allocation(&mut self, bytes: u64, facts: &TargetFacts) -> u32 {
        if bytes > self.memory_left && facts.version >= ALLOCATION_IN_PROGRAMS {
            return BPF_F_NO_PREALLOC;
        }
        self.memory_left = self.memory_left.saturating_sub(bytes);
        0
    }
}

/// How many bytes of elements may be allocated in advance.
fn preallocation(facts: &TargetFacts) -> u64 {
    (facts.memory_bytes / PREALLOCATED_PART).max(LEAST_PREALLOCATION)
}

/// How many copies per-CPU sections have: the CPU number is masked to stay below it.
pub const fn cpu_slots(facts: &TargetFacts) -> u32 {
    let cpus = if facts.possible_cpus == 0 { 1 } else { facts.possible_cpus };
    cpus.next_power_of_two()
}

/// Plans all maps; those that are `contended` are updated by programs that can interrupt each other.
pub fn plan(
    program: &Program,
    facts: &TargetFacts,
    first_free: u32,
    contended: &[bool],
) -> Result<Layout, CodegenError> {
    let memory_left = preallocation(facts);
    let mut layout = Layout { shared_bytes: first_free, memory_left, ..Layout::default() };
    let mut percpu = 0_u32;
    let only_updated = usage::only_updated(program);
    let by_cpu = usage::by_cpu(program, facts, &only_updated);
    let in_cells = in_cells(program, facts, &only_updated, contended);
    for (index, map) in program.maps.iter().enumerate() {
        let (size, align) = size_align(&map.value, &program.structs);
        let (size, align) = (size.max(1), align.max(1));
        let home = if let Some(key) = in_cells[index]
            && !by_cpu[index]
        {
            celled(&mut layout, index, map, key, size)
        } else if map.key != Type::Void && !by_cpu[index] {
            keyed(&mut layout, program, facts, index, map, size)?
        } else if matches!(map.value, Type::Agg(_)) {
            let offset = percpu.next_multiple_of(align);
            percpu = offset.saturating_add(size).saturating_add(1);
            Home::PerCpu { offset, present: percpu.saturating_sub(1), keyed: by_cpu[index] }
        } else {
            // A value of its own cache line: counters of different maps don't disturb each other.
            let offset = layout.shared_bytes.next_multiple_of(CACHE_LINE);
            layout.shared_bytes = offset.saturating_add(size).saturating_add(1);
            Home::Shared { offset, present: layout.shared_bytes.saturating_sub(1) }
        };
        let total = (u64::from(percpu) * u64::from(cpu_slots(facts))).max(u64::from(layout.shared_bytes));
        if total > LARGEST_SECTION {
            return Err(too_large(map, total, LARGEST_SECTION));
        }
        layout.homes.push(home);
    }
    place_cells(&mut layout, &mut percpu);
    layout.percpu_stride = percpu.next_multiple_of(CACHE_LINE);
    if layout.percpu_stride <= LARGEST_SHIFTED {
        // A shift finds a CPU's copy sooner than a multiplication.
        layout.percpu_stride = layout.percpu_stride.next_power_of_two();
    }
    Ok(layout)
}

/// By map: how its keys lie if its elements live in cells, see [`crate::codegen::lower::maps::per_cpu_key_cache`].
fn in_cells(program: &Program, facts: &TargetFacts, updated: &[bool], contended: &[bool]) -> Vec<Option<CellKey>> {
    let looped = usage::updated_in_loops(program);
    let updates = usage::updates(program);
    let slots = u64::from(cpu_slots(facts));
    let (mut left, mut updates_left) = (LARGEST_CELLS, CELL_UPDATES);
    let fits = |(index, map): (usize, &Map)| {
        let (value, _) = size_align(&map.value, &program.structs);
        let key = CellKey::of(&map.key, program)?;
        // The search for a text takes about twice the instructions.
        let updates = updates[index] * if key.text_at.is_some() { 2 } else { 1 };
        let bytes = u64::from(value) * u64::from(map.max_entries.max(1)) * 2 * slots;
        let fits = facts.atomics
            && updated[index]
            && !contended[index]
            && (facts.version >= CELLS_IN_LOOPS || !looped[index])
            && map.key != Type::Void
            && matches!(map.value, Type::Agg(_))
            && map.storage == MapStorage::Auto
            && key.bytes(map.max_entries) <= preallocation(facts)
            && bytes <= left
            && updates <= updates_left;
        if fits {
            left -= bytes;
            updates_left -= updates;
        }
        fits.then_some(key)
    };
    program.maps.iter().enumerate().map(fits).collect()
}

/// A map whose values lie in cells; where in a CPU's copy is settled by [`place_cells`].
fn celled(layout: &mut Layout, index: usize, map: &Map, key: CellKey, value_size: u32) -> Home {
    let capacity = map.max_entries.max(1);
    layout.memory_left = layout.memory_left.saturating_sub(key.bytes(capacity));
    layout.maps.push(BpfMap {
        name: map_name(index, &map.name),
        kind: map_type::HASH,
        key_size: 8 + key.words * 8,
        value_size: 8,
        max_entries: capacity * 2,
        flags: 0,
    });
    let words = layout.shared_bytes.next_multiple_of(CACHE_LINE);
    layout.shared_bytes = words + 32;
    Home::Cells(Cells {
        map: layout.maps.len() as u32 - 1,
        words,
        memo: 0,
        first: 0,
        capacity,
        value_size: value_size.next_multiple_of(8),
        key,
    })
}

/// Gives the maps in cells their room in a CPU's copy: what every firing looks at comes first.
fn place_cells(layout: &mut Layout, percpu: &mut u32) {
    if !layout.homes.iter().any(|home| matches!(home, Home::Cells(_))) {
        return;
    }
    let mut next = percpu.next_multiple_of(CACHE_LINE);
    let mut take = |bytes: u32| {
        let at = next;
        next += bytes.next_multiple_of(CACHE_LINE);
        at
    };
    for home in &mut layout.homes {
        if let Home::Cells(cells) = home {
            cells.memo = take(MEMO_SLOTS * cells.entry_bytes());
        }
    }
    for home in &mut layout.homes {
        if let Home::Cells(cells) = home {
            cells.first = take(cells.capacity * 2 * cells.value_size);
        }
    }
    *percpu = next;
}

fn too_large(map: &Map, size: u64, limit: u64) -> CodegenError {
    CodegenError::TooLarge {
        span: map.span,
        what: format!("the memory of map `{}`, in bytes,", map.name),
        size,
        limit,
        hint: Some("use fewer buckets, shorter strings or fewer keys".into()),
    }
}

fn keyed(
    layout: &mut Layout,
    program: &Program,
    facts: &TargetFacts,
    index: usize,
    map: &Map,
    value_size: u32,
) -> Result<Home, CodegenError> {
    let aggregated = matches!(map.value, Type::Agg(_));
    let per_cpu = aggregated || matches!(map.storage, MapStorage::PerCpuHash | MapStorage::PerCpuLruHash);
    let lru = matches!(map.storage, MapStorage::LruHash | MapStorage::PerCpuLruHash);
    if per_cpu && value_size > LARGEST_PER_CPU_VALUE {
        return Err(too_large(map, value_size.into(), LARGEST_PER_CPU_VALUE.into()));
    }
    let key_size = key_size(program, facts, map)?;
    let kind = match (per_cpu, lru) {
        (false, false) => map_type::HASH,
        (true, false) => map_type::PERCPU_HASH,
        (false, true) => map_type::LRU_HASH,
        (true, true) => map_type::LRU_PERCPU_HASH,
    };
    let max_entries = map.max_entries.max(1);
    let copies = if per_cpu { facts.possible_cpus.max(1) } else { 1 };
    let element = ELEMENT_BYTES + u64::from(key_size) + u64::from(value_size.next_multiple_of(8)) * u64::from(copies);
    let flags = layout.allocation(element * u64::from(max_entries), facts);
    layout.maps.push(BpfMap {
        name: map_name(index, &map.name),
        kind,
        key_size: key_size.max(1),
        value_size,
        max_entries,
        // The kernel allocates the elements of these in advance at any rate.
        flags: if lru { 0 } else { flags },
    });
    Ok(Home::Hash { map: layout.maps.len() as u32 - 1, per_cpu, lru })
}

/// Bytes of a map's key. Before 5.11 keys had at most `MAX_BPF_STACK` bytes (`htab_map_alloc_check`;
/// commit c6bde958a62b lifted it): a key that ends with a longer string is cut there, and readers take
/// the bytes that are not stored as zeros.
fn key_size(program: &Program, facts: &TargetFacts, map: &Map) -> Result<u32, CodegenError> {
    let size = padded(&map.key, size_align(&map.key, &program.structs).0);
    if size <= OLD_KEY_LIMIT || facts.version >= 5 << 16 | 11 << 8 {
        return Ok(size);
    }
    let tail = match &map.key {
        Type::Str { .. } => Some(0),
        Type::Tuple(items) if matches!(items.last(), Some(Type::Str { .. })) => {
            tuple_layout(items.iter(), &program.structs).1.last().copied()
        }
        _ => None,
    };
    if tail.is_some_and(|at| at <= OLD_KEY_LIMIT / 2) {
        return Ok(OLD_KEY_LIMIT);
    }
    Err(CodegenError::TooLarge {
        span: map.span,
        what: format!("the key of map `{}`, in bytes,", map.name),
        size: size.into(),
        limit: OLD_KEY_LIMIT.into(),
        hint: Some("this kernel takes shorter keys: give str() a length, such as str(x, 64)".into()),
    })
}

/// Bytes of a key in the kernel's map: numbers, tuples and addresses fill whole words, with zeros behind them.
/// The kernel compares keys by words and the rest byte by byte (`memcmp`, lib/string.c), which costs more than
/// a whole word.
pub fn padded(key: &Type, size: u32) -> u32 {
    let whole = key.fits_register() || matches!(key, Type::Tuple(_) | Type::Record(_) | Type::Inet | Type::Mac);
    if whole { size.next_multiple_of(8) } else { size }
}

/// `m3_start` for `@start`: unique by its number, at most `BPF_OBJ_NAME_LEN - 1` characters.
fn map_name(index: usize, name: &str) -> String {
    let word: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    let mut out = if word.is_empty() { format!("m{index}") } else { format!("m{index}_{word}") };
    out.truncate(15);
    out
}

/// What the engine is told of a map's home.
pub fn storage(home: &Home, layout: &Layout) -> Storage {
    match home {
        Home::Shared { offset, present } => Storage::Global { area: SHARED.into(), offset: *offset, present: *present },
        Home::PerCpu { offset, present, keyed } => Storage::GlobalPerCpu {
            area: PER_CPU.into(),
            offset: *offset,
            present: *present,
            stride: layout.percpu_stride,
            keyed: *keyed,
        },
        Home::Hash { map, per_cpu, .. } => {
            let spec = &layout.maps[*map as usize];
            Storage::Hash {
                map: Arc::from(spec.name.as_str()),
                per_cpu: *per_cpu,
                key_size: spec.key_size,
                value_size: spec.value_size,
            }
        }
        Home::Cells(cells) => {
            let spec = &layout.maps[cells.map as usize];
            Storage::Cells(CellsSpec {
                map: Arc::from(spec.name.as_str()),
                key_size: spec.key_size - 8,
                area: PER_CPU.into(),
                first: cells.first,
                stride: layout.percpu_stride,
                value_size: cells.value_size,
                capacity: cells.capacity,
                words_area: SHARED.into(),
                words: cells.words,
            })
        }
    }
}

/// The aggregation that a map holds.
pub const fn aggregation(map: &Map) -> Option<Aggregation> {
    match map.value {
        Type::Agg(agg) => Some(agg),
        _ => None,
    }
}
