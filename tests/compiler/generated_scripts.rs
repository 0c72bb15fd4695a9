//! Scripts made from the grammar: whatever compiles is accepted by the running kernel's verifier, and
//! nothing on the path there panics.
//!
//! `PROBESCOPE_GENERATED=5000` makes more of them, `PROBESCOPE_GENERATED_FROM=100` other ones;
//! `PROBESCOPE_GENERATED_SCRIPTS=DIR` takes apart the scripts of a folder instead of the bundled ones;
//! `PROBESCOPE_GENERATED_LOOPS=4` tries each statement in all loops instead of in one.

mod branchy_statements;
mod counts;
mod grammar;
mod helper_matrix;
mod loop_equivalence;
mod probes;
pub mod random;
mod real;
mod structures;
mod tree;

use std::os::fd::{AsFd, AsRawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::root;
use probescope::codegen::error::CodegenError;
use probescope::engine;
use probescope::kernel::{Kernel, Roots};
use probescope::lang::codes::run::FOLLOWED;
use probescope::lang::compile as compile_front;
use probescope::lang::diagnostic::{Severity, has_errors};
use probescope::lang::front::FrontOptions;
use probescope::lang::source::SourceText;
use probescope::lang::typed::MissingProbes;

/// Attempts to make a script smaller that fails.
const ATTEMPTS: u32 = 200;
/// Time for that, for one script.
const PATIENCE: Duration = Duration::from_secs(60);
/// Failures after which the rest is not tried.
const ENOUGH: usize = 20;
/// Instructions that the verifier follows after which a script that it accepts is profitable a word: a quarter
/// of what it is willing to.
const HEAVY: u64 = 250_000;
/// No script here is long; an emulated machine that is busy with others takes its time all the same.
const SLOW: Duration = Duration::from_secs(240);

/// How a script fared.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// With the most instructions that the verifier followed in one of its programs (5.16).
    Loaded(u64),
    /// The checker or the compiler said why it can't be had.
    Declined(String),
    Failed(String),
}

impl Outcome {
    /// What a smaller script must have in common: the first words of the failure.
    fn sort(&self) -> Option<String> {
        match self {
            Self::Failed(why) => Some(why.split_whitespace().take(2).collect::<Vec<_>>().join(" ")),
            _ => None,
        }
    }
}

fn try_script(text: &str, kernel: &Arc<Kernel>) -> Outcome {
    let began = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| compile_and_load(text, kernel)));
    let took = began.elapsed();
    match outcome {
        Ok(Outcome::Loaded(_)) if took > SLOW => Outcome::Failed(format!("slow: {} s", took.as_secs())),
        Ok(outcome) => outcome,
        Err(why) => {
            let said = why.downcast_ref::<String>().cloned();
            Outcome::Failed(format!("panic: {}", said.unwrap_or_else(|| "without words".into())))
        }
    }
}

fn compile_and_load(text: &str, kernel: &Arc<Kernel>) -> Outcome {
    let source = SourceText::new("generated", text);
    let mut options = FrontOptions::new(kernel);
    options.unsafe_allowed = true;
    options.missing_probes = MissingProbes::Ignore;
    let checked = compile_front(&source, &options);
    if has_errors(&checked.diagnostics) {
        let errors = checked.diagnostics.iter().filter(|d| d.severity == Severity::Error);
        return Outcome::Declined(errors.map(|d| d.message.clone()).take(1).collect());
    }
    let facts = kernel.target_facts(None, 0);
    let artifact = match probescope::codegen::compile_with_source(&checked.program, &facts, &source) {
        Ok(artifact) => artifact,
        Err(e) if !matches!(e, CodegenError::Internal { .. }) => return Outcome::Declined(e.to_string()),
        Err(e) => return Outcome::Failed(format!("compiler: {e}")),
    };
    if artifact.programs.is_empty() {
        return Outcome::Declined("none of its probes is here".into());
    }
    match engine::load::load(&checked.program, &artifact) {
        Ok(object) => Outcome::Loaded(object.progs().map(|program| followed(&program)).max().unwrap_or(0)),
        Err(engine::EngineError::Rejected { .. }) if artifact.warnings.iter().any(|w| w.code == FOLLOWED) => {
            Outcome::Declined("refused, as was foretold".into())
        }
        Err(e) => Outcome::Failed(format!("refused: {e}\n{}", details(&e))),
    }
}

/// Instructions that the verifier followed for a program; 0 where the kernel does not tell.
fn followed(program: &libbpf_rs::Program<'_>) -> u64 {
    let path = format!("/proc/self/fdinfo/{}", program.as_fd().as_raw_fd());
    let told = std::fs::read_to_string(path).unwrap_or_default();
    let line = told.lines().find_map(|line| line.strip_prefix("verified_insns:"));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

/// The end of the verifier's log, where it says what it does not like.
fn details(error: &engine::EngineError) -> String {
    let engine::EngineError::Rejected { log, .. } = error else { return format!("{error:?}") };
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(25)..].join("\n")
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

/// How the scripts of a test fared.
#[derive(Default)]
struct Tally {
    loaded: u64,
    failures: Vec<String>,
    heaviest: (u64, String),
}

impl Tally {
    /// Tries one; what fails is made smaller.
    fn add(&mut self, name: &str, script: &tree::Node, kernel: &Arc<Kernel>) {
        let wordy = std::env::var_os("PROBESCOPE_GENERATED_WORDY").is_some();
        let outcome = try_script(&script.to_string(), kernel);
        match &outcome {
            Outcome::Loaded(followed) => {
                self.loaded += 1;
                if wordy && *followed > HEAVY {
                    eprintln!("-- {name}\n{script}-- heavy: {followed}");
                }
                if *followed > self.heaviest.0 {
                    self.heaviest = (*followed, name.to_owned());
                }
            }
            Outcome::Declined(why) if wordy => eprintln!("-- {name}\n{script}-- declined: {why}"),
            Outcome::Declined(_) => {}
            Outcome::Failed(_) => {
                let (sort, began) = (outcome.sort(), Instant::now());
                eprintln!("{name} failed: {}", sort.as_deref().unwrap_or(""));
                let small = tree::shrink(script, ATTEMPTS, &mut |text| {
                    began.elapsed() < PATIENCE && try_script(text, kernel).sort() == sort
                });
                let text = small.to_string();
                let why = match try_script(&text, kernel) {
                    Outcome::Failed(why) => why,
                    other => format!("it failed by {sort:?}, but not a second time: {other:?}"),
                };
                self.failures.push(format!("-- {name}, made smaller:\n{text}\n{why}\n"));
                eprintln!("{}", self.failures.last().unwrap());
            }
        }
    }

    fn finish(&self, count: u64) {
        let (followed, name) = &self.heaviest;
        eprintln!("{} of {count} loaded; the heaviest is {name} with {followed} instructions", self.loaded);
        assert!(self.failures.is_empty(), "{} scripts failed:\n{}", self.failures.len(), self.failures.join("\n"));
    }
}

/// A program with debug information, for probes on its functions; where it can't be made there are none.
fn compile_shapes() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/c/shapes.c");
    let made = Command::new("cc").args(["-g", "-O1", "-o", probes::SHAPES, source]).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("no probes on functions with debug information: cc does not compile {source}");
    }
}

#[test]
fn no_script_that_compiles_is_refused_by_the_verifier() {
    if root::missing() {
        return;
    }
    compile_shapes();
    let kernel = Arc::new(Kernel::new(Roots::running()).mounting_tracefs());
    let (count, first) = (number("PROBESCOPE_GENERATED", 40), number("PROBESCOPE_GENERATED_FROM", 0));
    let old = !kernel.target_facts(None, 0).features().bpf_loop;
    let mut tally = Tally::default();
    for seed in first..first + count {
        tally.add(&format!("script {seed}"), &grammar::script(seed, old), &kernel);
        if tally.failures.len() >= ENOUGH {
            break;
        }
    }
    tally.finish(count);
    // Old kernels lack much of what the grammar has.
    let least = if old { 1 } else { count / 4 };
    assert!(tally.loaded >= least, "only {} of {count} compile: the generator has lost touch", tally.loaded);
}

#[test]
fn no_script_made_of_real_ones_is_refused_by_the_verifier() {
    if root::missing() {
        return;
    }
    let kernel = Arc::new(Kernel::new(Roots::running()).mounting_tracefs());
    let bundled = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts");
    let folder = std::env::var("PROBESCOPE_GENERATED_SCRIPTS").unwrap_or_else(|_| bundled.to_owned());
    let (count, first) = (number("PROBESCOPE_GENERATED", 30), number("PROBESCOPE_GENERATED_FROM", 0));
    let scripts = real::read(&folder);
    assert!(scripts.len() > 1, "no scripts in {folder}");
    let mut tally = Tally::default();
    for seed in first..first + count {
        let (name, script) = real::made_of(&scripts, seed);
        tally.add(&format!("script {seed}: {name}"), &script, &kernel);
        if tally.failures.len() >= ENOUGH {
            break;
        }
    }
    tally.finish(count);
    assert!(tally.loaded > 0, "none of {count} loads");
}

/// Copies of a statement in a loop, and twice as many.
const COPIES: usize = 4;
/// How much more the verifier may follow for twice as many: each may begin in a few more states than the one before.
const GROWTH: u64 = 4;
/// What it follows anyway.
const BASE: u64 = 2_000;

/// What is wrong with so many copies of a piece in a loop, if anything.
fn grows_too_fast(around: &str, piece: usize, kernel: &Arc<Kernel>) -> Option<String> {
    let text = |copies: usize| branchy_statements::script(around, &vec![piece; copies]);
    let (few, many) = (text(COPIES), text(COPIES * 2));
    match (try_script(&few, kernel), try_script(&many, kernel)) {
        (Outcome::Loaded(a), Outcome::Loaded(b)) if b > a * GROWTH + BASE => {
            Some(format!("{a} instructions became {b}:\n{}", text(1)))
        }
        (_, Outcome::Failed(why)) => Some(format!("{many}{why}")),
        _ => None,
    }
}

#[test]
fn the_paths_through_the_statements_of_a_loop_add_up() {
    if root::missing() {
        return;
    }
    let kernel = Arc::new(Kernel::new(Roots::running()).mounting_tracefs());
    // Each in one of the loops, or in so many.
    let loops = number("PROBESCOPE_GENERATED_LOOPS", 1) as usize;
    let places = (0..branchy_statements::COUNT).flat_map(|piece| (piece..piece + loops).map(move |at| (piece, at)));
    let failures: Vec<String> = places
        .filter_map(|(piece, at)| {
            grows_too_fast(branchy_statements::LOOPS[at % branchy_statements::LOOPS.len()], piece, &kernel)
        })
        .collect();
    assert!(failures.is_empty(), "{} grow too fast:\n{}", failures.len(), failures.join("\n"));
}

/// How texts fared.
#[derive(Default)]
struct Loads {
    failures: Vec<String>,
    loaded: u64,
    heaviest: u64,
}

impl Loads {
    /// Of a text for each seed.
    fn of(count: u64, text: impl Fn(u64) -> String) -> Self {
        let kernel = Arc::new(Kernel::new(Roots::running()).mounting_tracefs());
        let first = number("PROBESCOPE_GENERATED_FROM", 0);
        let mut loads = Self::default();
        for seed in first..first + count {
            let text = text(seed);
            match try_script(&text, &kernel) {
                Outcome::Loaded(followed) => {
                    loads.loaded += 1;
                    loads.heaviest = loads.heaviest.max(followed);
                }
                Outcome::Failed(why) => loads.failures.push(format!("{seed}:\n{text}{why}")),
                Outcome::Declined(_) => {}
            }
        }
        eprintln!("{} of {count} loaded; the heaviest has {} instructions", loads.loaded, loads.heaviest);
        loads
    }

    fn assert_none_failed(&self) {
        assert!(self.failures.is_empty(), "{} fail:\n{}", self.failures.len(), self.failures.join("\n"));
    }
}

#[test]
fn no_medley_of_statements_in_a_loop_is_refused() {
    if root::missing() {
        return;
    }
    let script = |seed: u64| {
        let around = branchy_statements::LOOPS[seed as usize % branchy_statements::LOOPS.len()];
        branchy_statements::script(around, &branchy_statements::medley(seed, 14))
    };
    Loads::of(number("PROBESCOPE_GENERATED", 30), script).assert_none_failed();
}

#[test]
fn no_loop_that_counts_is_refused() {
    if root::missing() {
        return;
    }
    let loads = Loads::of(4 * number("PROBESCOPE_GENERATED", 30), counts::script);
    loads.assert_none_failed();
    assert!(loads.loaded > 0, "none loads");
}

/// Statements of one script of [`everywhere`].
const TOGETHER: usize = 8;

/// Those of the uses that load in a place, one by one or several together; and what is wrong with others.
fn uses_in(place: &str, uses: &[&str], kernel: &Arc<Kernel>) -> (Vec<String>, usize) {
    match (try_script(&helper_matrix::script(place, uses), kernel), uses) {
        (Outcome::Loaded(_), _) => (Vec::new(), uses.len()),
        (Outcome::Declined(_), [_]) => (Vec::new(), 0),
        (Outcome::Failed(why), [use_]) => (vec![format!("{place} {{ {use_} }}\n{why}")], 0),
        _ => {
            let (first, second) = uses.split_at(uses.len() / 2);
            let (mut failures, loaded) = uses_in(place, first, kernel);
            let (more, also) = uses_in(place, second, kernel);
            failures.extend(more);
            (failures, loaded + also)
        }
    }
}

#[test]
fn every_function_loads_in_every_kind_of_probe_or_is_declined() {
    if root::missing() {
        return;
    }
    let kernel = Arc::new(Kernel::new(Roots::running()).mounting_tracefs());
    let (mut failures, mut loaded) = (Vec::new(), 0);
    for place in helper_matrix::PLACES {
        for uses in helper_matrix::USES.chunks(TOGETHER) {
            let (failed, count) = uses_in(place, uses, &kernel);
            failures.extend(failed);
            loaded += count;
        }
    }
    eprintln!("{loaded} of {} loaded", helper_matrix::PLACES.len() * helper_matrix::USES.len());
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
    assert!(loaded > 0, "none loads");
}

/// Names another path of the program than the one that Cargo built it at.
const PROGRAM: &str = "PROBESCOPE_UNDER_TEST";

#[test]
fn loops_leave_what_their_bodies_written_out_leave() {
    if root::missing() {
        return;
    }
    let program = std::env::var(PROGRAM).unwrap_or_else(|_| env!("CARGO_BIN_EXE_probescope").to_owned());
    let (count, first) = (number("PROBESCOPE_GENERATED", 30), number("PROBESCOPE_GENERATED_FROM", 0));
    let (mut failures, mut compared) = (Vec::new(), 0);
    for seed in first..first + count {
        let text = loop_equivalence::script(seed, 8);
        match loop_equivalence::left(&program, &text) {
            Ok(maps) => {
                compared += 1;
                failures.extend(
                    maps[1..]
                        .iter()
                        .filter(|m| **m != maps[0])
                        .map(|m| format!("script {seed}:\n{text}\nwritten out: {:?}\nin a loop: {m:?}", maps[0])),
                );
            }
            Err(why) => eprintln!("script {seed}: {why}\n{text}"),
        }
    }
    eprintln!("{compared} of {count} compared");
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
    // Old kernels have no loops of unknown iterations.
    let kernel = Arc::new(Kernel::new(Roots::running()));
    let old = !kernel.target_facts(None, 0).features().bpf_loop;
    assert!(old || compared * 2 > count, "only {compared} of {count} run");
}
