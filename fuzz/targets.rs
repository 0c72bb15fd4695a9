//! What each fuzz target does with its input. Shared by the targets for cargo-fuzz beside this file and
//! by `tests/fuzz_corpora.rs`, which replays the corpora with mutations on every run of the tests.
#![allow(dead_code, reason = "each target uses one of them")]

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use probescope::binary::cache::LibraryCache;
use probescope::binary::dwarf::{DebugInfo, Tag};
use probescope::binary::elf::Binary;
use probescope::binary::unwind::{Frames, MOST_ROWS, Row, frames_in, rows_in};
use probescope::cli::config::Config;
use probescope::cli::{Cli, World};
use probescope::codegen::error::CodegenError;
use probescope::codegen::{compile_with_source, verifier_log};
use probescope::engine::symbols::{Of, UserSymbols};
use probescope::kernel::btf::Btf;
use probescope::kernel::cpus::CpuSet;
use probescope::kernel::functions::FunctionTable;
use probescope::kernel::record::RecordShape;
use probescope::kernel::ring::{Abi, PageLayout, Position};
use probescope::kernel::symbols::SymbolTable;
use probescope::kernel::target::TargetFacts;
use probescope::kernel::tracefs::TracepointFormat;
use probescope::kernel::version::Version;
use probescope::kernel::{Kernel, Roots};
use probescope::lang::bt::{ExpandInputs, dump, expand as expand_script, parse, pretty};
use probescope::lang::d;
use probescope::lang::diagnostic::has_errors;
use probescope::lang::front::{AbsentParameters, Checked, FrontOptions};
use probescope::lang::front_end;
use probescope::lang::service::{NoKnowledge, ServiceEnv};
use probescope::lang::source::{SourceText, Span};
use probescope::lang::typed::MissingProbes;
use probescope::lang::typed::validate::validate;
use probescope::model::render::{is_harmful, neutralise_bytes, undecided};
use probescope::output::diagnostics;
use probescope::probe::expand::{ExpandOptions, expand};
use probescope::probe::point;
use probescope::session::scopes;
use probescope::store::file::Recording;
use probescope::store::{Chunk, Direction, History, Stop, Store, TraceId};
use probescope::tracer::ftrace::hist;
use probescope::tui::base::text;
use probescope::tui::base::theme::Theme;
use probescope::tui::data::baseline::Baselines;
use probescope::tui::data::used::Used;
use probescope::tui::desk::layout;

/// A kernel recorded in files, the same on every machine.
fn recorded() -> &'static Kernel {
    static KERNEL: OnceLock<Kernel> = OnceLock::new();
    const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/");
    // The fuzz targets are a package of their own, one folder below.
    let root = PathBuf::from(FOLDER.trim_end_matches("fuzz/"));
    KERNEL.get_or_init(|| Kernel::new(Roots::fixture(root.join("tests/fixtures/kernel"))))
}

fn checked(source: &SourceText) -> Checked {
    let mut options = FrontOptions::new(recorded());
    options.unsafe_allowed = true;
    options.missing_probes = MissingProbes::Ignore;
    front_end(source).compile(source, &options)
}

/// Any text as a D program: the parser never panics, and spans lie in the text.
pub fn d_parser(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let source = SourceText::new("fuzz.d", text);
    let parsed = d::parse(&source);
    for found in &parsed.diagnostics {
        let (start, end) = (found.span.start as usize, found.span.end as usize);
        assert!(start <= end && text.is_char_boundary(start) && text.is_char_boundary(end), "{found:?}");
    }
    let shown = diagnostics::render_all(&source, &parsed.diagnostics, false);
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()));
    let _ = d::dump::program(&parsed);
}

/// Any text: the lexer, the parser, the expander, the formatter and the language service never
/// panic, spans lie in the text, and formatting keeps the tree and is done after once.
pub fn lexer_parser(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let source = SourceText::new("fuzz", text);
    let parsed = parse(&source);
    for d in &parsed.diagnostics {
        let (start, end) = (d.span.start as usize, d.span.end as usize);
        assert!(start <= end && text.is_char_boundary(start) && text.is_char_boundary(end), "{d:?}");
    }
    let shown = diagnostics::render_all(&source, &parsed.diagnostics, false);
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()));
    if let Some(once) = pretty::format(&source) {
        let formatted = SourceText::new("fuzz", &once);
        assert_eq!(dump::script(&parse(&formatted).script), dump::script(&parsed.script));
        assert_eq!(pretty::format(&formatted).as_deref(), Some(once.as_str()));
    }
    let env = ServiceEnv { knowledge: &NoKnowledge };
    let middle = (text.len() / 2) as u32;
    let _ = front_end(&source).completions(&source, middle, &env);
    let _ = front_end(&source).hover(&source, middle, &env);
    let _ = front_end(&source).signature_help(&source, middle);
    let _ = front_end(&source).definition(&source, middle);
    let params = ["7".to_owned(), "x".to_owned()];
    let inputs = ExpandInputs {
        params: &params,
        named: &[],
        load: &|_| Err("no files here".to_owned()),
        absent: AbsentParameters::All,
    };
    let _ = expand_script(parsed.script, &inputs);
}

/// Any text to a typed program: never a panic; diagnostics lie in the text; a program without errors
/// keeps the rules that the compiler relies on.
pub fn check(data: &[u8]) {
    check_named("fuzz", data);
}

/// Any text as a D program to a typed program.
pub fn d_check(data: &[u8]) {
    check_named("fuzz.d", data);
}

/// Diagnostics of one text: a hundred errors, as many others, and how many errors there are besides.
const MOST_TOLD: usize = 201;

fn check_named(name: &str, data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let source = SourceText::new(name, text);
    let checked = checked(&source);
    assert!(checked.diagnostics.len() <= MOST_TOLD, "{} diagnostics", checked.diagnostics.len());
    for d in &checked.diagnostics {
        let (start, end) = (d.span.start as usize, d.span.end as usize);
        assert!(start <= end && text.is_char_boundary(start) && text.is_char_boundary(end), "{d:?}");
    }
    let shown = diagnostics::render_all(&source, &checked.diagnostics, false);
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()));
    if !has_errors(&checked.diagnostics) {
        assert_eq!(validate(&checked.program), Vec::<String>::new());
    }
}

/// Any script that checks to an object: for old and new kernels, the same bytes each time, and never a
/// mistake of the compiler's own.
pub fn codegen(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let source = SourceText::new("fuzz", text);
    let checked = checked(&source);
    if has_errors(&checked.diagnostics) {
        return;
    }
    for (major, minor, cpus) in [(5, 10, 2), (6, 1, 1), (6, 12, 64)] {
        let facts = TargetFacts::of_version(major, minor, cpus);
        let compile = || compile_with_source(&checked.program, &facts, &source);
        match (compile(), compile()) {
            (Ok(a), Ok(b)) => assert_eq!(a.object, b.object),
            (Err(a), Err(b)) => {
                assert!(!matches!(a, CodegenError::Internal { .. }), "{a}");
                assert_eq!(a, b);
            }
            _ => panic!("compiled once and once not"),
        }
    }
}

/// Any text as the verifier's log.
pub fn verifier_log(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines: Vec<(u32, Span)> = (0..20).map(|n| (n * 3, Span::new(n, n + 5))).collect();
    for lines in [&lines[..], &[]] {
        if let Some(said) = verifier_log::explain(&text, lines) {
            assert!(!said.message.is_empty() && !said.reason.is_empty());
        }
    }
}

/// Any text as an attach point, and its targets in the recorded kernel.
pub fn attach_point(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match point::parse(text) {
        Err(why) => assert!(!why.to_string().is_empty()),
        Ok(pattern) => {
            let _ = (pattern.provider(), pattern.is_wild());
            // Binaries are the machine's own: another target reads hostile ones.
            if matches!(pattern.provider(), "uprobe" | "uretprobe" | "usdt") {
                return;
            }
            let options = ExpandOptions { unsafe_allowed: true, ..ExpandOptions::default() };
            if let Ok(targets) = expand(&pattern, recorded(), &options) {
                assert!(!targets.is_empty(), "{text}");
            }
        }
    }
}

/// Rows are in the order that programs search them by, and fit the memory that there is for them.
fn can_be_searched(rows: &[Row]) {
    assert!(rows.is_sorted_by(|a, b| a.address < b.address), "programs search them");
    assert!(rows.len() <= MOST_ROWS);
}

/// Any bytes as the section that tells how frames end.
pub fn eh_frame(data: &[u8]) {
    can_be_searched(&rows_in(data));
}

/// Any bytes as a binary: its symbols, its USDT notes with their arguments, its debug information.
pub fn elf_binary(data: &[u8]) {
    if let Ok(Frames { rows, .. }) = frames_in(data) {
        can_be_searched(&rows);
    }
    let path = std::env::temp_dir().join(format!("probescope-fuzz-{}", std::process::id()));
    if std::fs::write(&path, data).is_err() {
        return;
    }
    if let Ok(binary) = Binary::open(&path, &[]) {
        for function in binary.functions().iter().take(200) {
            let _ = (binary.function(&function.name), binary.function_at(function.address));
            let _ = binary.file_offset(function.address).map(|offset| binary.address_of(offset));
        }
        for site in binary.usdt_sites().iter().take(200) {
            let _ = site.arguments();
        }
        if let Ok(info) = DebugInfo::open(&path, &[]) {
            for function in binary.functions().iter().take(50) {
                let _ = info.function(function.address, &function.name);
            }
            for tag in [Tag::Struct, Tag::Union, Tag::Enum] {
                if let Ok(Some(id)) = info.find_type(tag, "point") {
                    let _ = (info.describe(id), info.members(id), info.variants(id), info.type_text(Some(id)));
                }
            }
            let _ = (info.enumerator("RED"), info.line("seed.c", 12, None));
        }
    }
    let _ = std::fs::remove_file(&path);
}

fn recorded_btf() -> Option<Arc<Btf>> {
    let path = recorded().roots().sys.join("kernel/btf/vmlinux");
    Btf::parse(std::fs::read(path).ok()?, None).ok().map(Arc::new)
}

/// Any bytes as BTF, alone and as a module's on top of the recorded kernel's.
pub fn btf(data: &[u8]) {
    for base in [None, recorded_btf()] {
        let Ok(btf) = Btf::parse(data.to_vec(), base) else { continue };
        for id in btf.own_ids().take(2000) {
            let _ = (btf.ty(id), btf.size_of(id), btf.resolve_user(id), btf.prototype(id));
            assert!(btf.declaration(id, "x").len() < 1 << 20);
            let _ = (btf.definition(id), btf.members(id).take(100).count(), btf.enumerators(id).take(100).count());
            let name = btf.name(id);
            let _ = (btf.member(id, "comm"), btf.func(name), btf.find_struct(name), btf.find_type(name));
        }
        for name in btf.raw_tracepoint_names().take(100) {
            let _ = btf.raw_tracepoint(name);
        }
    }
}

/// Any bytes as the text files that the kernel, the dynamic linker and just-in-time compilers write.
pub fn system_files(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(format) = TracepointFormat::parse("sched", "sample", &text) {
        assert!(format.size() <= 1 << 17);
        for field in format.own_fields() {
            assert_eq!(format.field(&field.name).map(|f| &f.name), Some(&field.name));
            assert!(field.declaration().contains(&*field.name));
        }
    }
    let symbols = SymbolTable::parse(data.to_vec());
    assert!(symbols.iter().is_sorted_by_key(|s| s.address));
    for symbol in symbols.iter().take(50) {
        // A name that is no text reads as none.
        assert!(symbol.name.is_empty() || symbols.named(symbol.name).next().is_some());
    }
    let functions = FunctionTable::parse(text.clone().into_owned());
    for function in functions.iter().take(50) {
        assert!(functions.named(function.name).next().is_some());
    }
    let cache = LibraryCache::parse(data);
    for name in cache.names().take(20) {
        assert!(cache.find(name).is_some());
    }
    let _ = (CpuSet::parse(&text), Version::parse(&text), Theme::parse("fuzz", &text));
    generated_code(data);
}

/// The bytes as the map of a process's own code.
fn generated_code(data: &[u8]) {
    let proc = std::env::temp_dir().join(format!("probescope-fuzz-proc-{}", std::process::id()));
    let folder = proc.join("7/root/tmp");
    let file = folder.join("perf-7.map");
    if std::fs::create_dir_all(&folder).is_ok() && std::fs::write(file, data).is_ok() {
        let mut symbols = UserSymbols::new(proc.clone(), true);
        for address in [0, 0x1004, 0x2000, u64::MAX] {
            assert!(!symbols.frames(7, address, Of::Stack).is_empty());
        }
    }
    let _ = std::fs::remove_dir_all(proc);
}

/// A folder of its own, gone when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("probescope-fuzz-{name}-{}", std::process::id()));
        let _ = std::fs::create_dir_all(&path);
        Self(path)
    }

    fn write(&self, name: &str, data: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        let _ = path.parent().map(std::fs::create_dir_all);
        let _ = std::fs::write(&path, data);
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Any text as what a user keeps: configuration, layout, themes of both forms, probes used before, baselines.
pub fn user_files(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Err(why) = Config::parse("config.toml", &text) {
        assert!(!why.to_string().is_empty());
    }
    if let Err(why) = layout::file::parse(&text) {
        assert!(!why.to_string().is_empty());
    }
    let folder = Folder::new("user");
    for name in ["a.toml", "a.tmTheme"] {
        let _ = Theme::load(&folder.write(name, data));
    }
    let used = Used::read(&folder.write("probes", data));
    assert!(used.text().len() <= 4 * text.len() + 64);
    folder.write("baselines/a.json", data);
    let _ = (Baselines::read(&folder.0), Baselines::read(&folder.0.join("baselines")));
}

/// Any text as a command line, a word a line.
pub fn command_line(data: &[u8]) {
    use clap::Parser as _;
    let text = String::from_utf8_lossy(data);
    let words = std::iter::once("probescope").chain(text.lines().take(100));
    if let Err(why) = Cli::try_parse_from(words) {
        assert!(why.use_stderr() || why.exit_code() == 0);
    }
    let world = World::default();
    assert!(world.variable("x").is_none());
}

/// Any bytes as the files of a process that means no good.
pub fn processes(data: &[u8]) {
    let folder = Folder::new("processes");
    for name in ["maps", "comm", "cmdline", "cgroup", "status", "mounts", "mountinfo", "stat"] {
        folder.write(&format!("7/{name}"), data);
        folder.write(&format!("7/task/7/{name}"), data);
    }
    folder.write("self/mountinfo", data);
    for scope in scopes::read(&folder.0) {
        assert!(!scope.name().is_empty());
    }
    let mut symbols = UserSymbols::new(folder.0.clone(), true);
    for address in [0, 0x40_1000, 0x7f00_0000_1000, u64::MAX] {
        assert!(!symbols.frames(7, address, Of::Stack).is_empty());
    }
}

/// Any bytes on their way to a terminal: none is obeyed.
pub fn terminal_text(data: &[u8]) {
    let safe = neutralise_bytes(data);
    assert!(!safe.chars().any(is_harmful));
    assert!(undecided(data) <= 3);
    let lossy = String::from_utf8_lossy(data);
    assert!(!text::neutralise(&lossy).chars().any(|c| is_harmful(c) || c == '\n'));
    let (whole, rest) = data.split_at(data.len() - undecided(data));
    let joined = format!("{}{}", neutralise_bytes(whole), neutralise_bytes(rest));
    assert_eq!(joined, safe, "what is held back changes nothing");
}

/// Any bytes as a recording: what opens is read without a fault, and memory stays bounded.
pub fn recording(data: &[u8]) {
    let path = std::env::temp_dir().join(format!("probescope-fuzz-recording-{}", std::process::id()));
    if std::fs::write(&path, data).is_err() {
        return;
    }
    match Recording::open(&path) {
        Err(why) => assert!(!why.to_string().is_empty()),
        Ok(recording) => read_history(&recording),
    }
    let _ = std::fs::remove_file(&path);
    // The same bytes as the content of a chunk, which a checksum keeps from changed files.
    if let Some(chunk) = Chunk::read(data) {
        assert_eq!(chunk.heads(0).count(), chunk.len() as usize);
        let mut store = Store::default();
        store.append(Arc::new(chunk));
        read_history(&store);
    }
}

fn read_history(history: &dyn History) {
    let (entries, lines) = (history.entries(), history.lines());
    for entry in entries.clone().take(300).chain([entries.end.saturating_sub(1)]) {
        let _ = (history.entry(entry), history.line_of(entry), history.step(entry, Stop::Trouble, Direction::Back));
    }
    for line in lines.clone().take(100).chain([lines.end.saturating_sub(1)]) {
        if let Some(row) = history.line_at(line) {
            assert!(entries.contains(&row.entry) && row.text.len() <= 64 << 10);
        }
    }
    let Some((first, last)) = history.span() else { return };
    let buckets = history.timeline(first, last, 7);
    assert!(buckets.len() == 7 && history.seek_time(last) <= entries.end);
    for id in [0, 1] {
        let _ = (history.maps_at(TraceId(id), last), history.stats_at(TraceId(id), last));
    }
}

/// A `format` file, then a NUL and a page of a ring whose records have that format; and the same as other texts.
pub fn trace_data(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let text = String::from_utf8_lossy(&data[..end]);
    let _ = PageLayout::parse(Abi::NATIVE, &text);
    let table = hist::parse(&text, "hist:keys=pid,comm:vals=hitcount");
    assert!(table.rows.iter().all(|(keys, _)| keys.len() == table.keys.len()));
    let Ok(format) = TracepointFormat::parse("sched", "sample", &text) else { return };
    let (page, mut written) = (data.get(end + 1..).unwrap_or(&[]), Vec::new());
    for abi in [Abi::NATIVE, Abi { big_endian: true, long: 4 }] {
        let (shape, layout) = (RecordShape::of(&format, abi), PageLayout::usual(abi));
        let Ok(mut position) = Position::begin(&layout, page) else { continue };
        let mut bytes = 0;
        while let Ok(Some(record)) = position.next(&layout, page) {
            bytes += record.data.len();
            written.clear();
            shape.printed.write(abi, &shape.fields, record.data, &(), &mut written);
            for field in &shape.fields {
                let _ = field.value(abi, record.data, &());
            }
        }
        assert!(bytes <= page.len());
    }
}
