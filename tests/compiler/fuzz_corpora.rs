//! The fuzz targets on stable Rust: every file of their corpora, and seeded mutations of each.
//!
//! `PROBESCOPE_FUZZ_ROUNDS=1000` makes more mutations of each file, `PROBESCOPE_FUZZ_SEED=7` other ones.
//! A failing input is written to the folder for temporary files, its path printed.

use crate::generated_scripts::random;
#[path = "../../fuzz/targets.rs"]
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use random::Random;

/// Mutations of each file in the ordinary tests.
const ROUNDS: u64 = 40;
/// Inputs are small: one that takes longer than this is a failure of its own.
const SLOW: Duration = Duration::from_secs(20);

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Files of a folder, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    found.retain(|p| p.is_file());
    found.sort();
    found
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

/// Runs a target on one input; a panic or a long time names the input.
fn run(name: &str, target: fn(&[u8]), input: &[u8]) {
    let began = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| target(input)));
    let took = began.elapsed();
    if outcome.is_ok() && took < SLOW {
        return;
    }
    let path = std::env::temp_dir().join(format!("probescope-{name}-failed"));
    std::fs::write(&path, input).unwrap();
    eprintln!("{name}: {} bytes in {}, {} ms", input.len(), path.display(), took.as_millis());
    match outcome {
        Err(why) => resume_unwind(why),
        Ok(()) => panic!("{name} took {} s", took.as_secs()),
    }
}

/// One change, or a few.
fn mutate(input: &[u8], random: &mut Random) -> Vec<u8> {
    let mut out = input.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(out.len() + 1);
        let length = random.below(16).min(out.len() - at);
        match random.below(8) {
            0 => out.truncate(at),
            1 => {
                out.drain(at..at + length);
            }
            2 => {
                let copy = out[at..at + length].to_vec();
                let to = random.below(out.len() + 1);
                out.splice(to..to, copy);
            }
            3 => {
                let value = random.pick(&[0, 1, 0x7f, 0x80, 0xff, 0xffff, u32::MAX, 0x7fff_ffff]).to_le_bytes();
                let length = value.len().min(out.len() - at);
                out[at..at + length].copy_from_slice(&value[..length]);
            }
            4 => {
                let word = random.pick(&[
                    "(",
                    ")",
                    "{",
                    "}",
                    "\"",
                    "@",
                    "$",
                    "/",
                    "99999999999999999999",
                    "-",
                    ".",
                    "[",
                    ",",
                    "*",
                    "=",
                    "if",
                    "for",
                    "0x",
                    "%",
                    "\n",
                    "\\",
                ]);
                out.splice(at..at, word.bytes());
            }
            5 if at < out.len() => out[at] = random.below(256) as u8,
            _ if at < out.len() => out[at] ^= 1 << random.below(8),
            _ => out.push(random.below(256) as u8),
        }
    }
    out
}

fn replay(name: &str, target: fn(&[u8]), more: &[PathBuf]) {
    let mut seeds = files(&root().join("fuzz/corpus").join(name));
    assert!(!seeds.is_empty(), "no corpus for {name}");
    seeds.extend_from_slice(more);
    let rounds = number("PROBESCOPE_FUZZ_ROUNDS", ROUNDS);
    for (n, seed) in seeds.iter().enumerate() {
        let input = std::fs::read(seed).unwrap();
        run(name, target, &input);
        let mut random = Random::new(number("PROBESCOPE_FUZZ_SEED", 1) << 32 | n as u64);
        // What a fuzzer found is a mutation already.
        let is_found = seed.file_name().is_some_and(|name| name.to_string_lossy().starts_with("found-"));
        let rounds = if is_found { rounds / 10 } else { rounds };
        for _ in 0..rounds {
            run(name, target, &mutate(&input, &mut random));
        }
    }
}

#[test]
fn lexer_and_parser_take_any_text() {
    replay("lexer_parser", targets::lexer_parser, &[]);
}

#[test]
fn the_d_parser_takes_any_text() {
    replay("d_parser", targets::d_parser, &[]);
}

#[test]
fn the_d_checker_takes_any_text() {
    replay("d_check", targets::d_check, &[]);
}

#[test]
fn every_target_is_replayed() {
    let own = std::fs::read_to_string(root().join("tests/compiler/fuzz_corpora.rs")).unwrap();
    for target in files(&root().join("fuzz/fuzz_targets")) {
        let name = target.file_stem().unwrap().to_str().unwrap();
        assert!(own.contains(&format!("targets::{name}")), "{name} is replayed by no test");
    }
}

#[test]
fn the_checker_takes_any_text() {
    replay("check", targets::check, &[]);
}

#[test]
fn the_compiler_takes_whatever_checks() {
    replay("codegen", targets::codegen, &files(&root().join("tests/scripts/control")));
}

#[test]
fn verifier_logs_may_say_anything() {
    replay("verifier_log", targets::verifier_log, &[]);
}

#[test]
fn attach_points_may_be_any_text() {
    replay("attach_point", targets::attach_point, &[]);
}

#[test]
fn binaries_may_be_any_bytes() {
    replay("elf_binary", targets::elf_binary, &[]);
}

#[test]
fn tables_of_frames_may_be_any_bytes() {
    replay("eh_frame", targets::eh_frame, &[]);
}

#[test]
fn btf_may_be_any_bytes() {
    replay("btf", targets::btf, &[root().join("tests/fixtures/kernel/sys/kernel/btf/vmlinux")]);
}

#[test]
fn files_of_the_system_may_be_any_bytes() {
    replay("system_files", targets::system_files, &[]);
}

#[test]
fn traces_of_the_kernel_may_be_any_bytes() {
    replay("trace_data", targets::trace_data, &[]);
}

#[test]
fn recordings_may_be_any_bytes() {
    replay("recording", targets::recording, &[]);
}

#[test]
fn files_of_the_user_may_be_any_bytes() {
    let root = root();
    replay(
        "user_files",
        targets::user_files,
        &[root.join("themes/dark.toml"), root.join("src/cli/config/default.toml")],
    );
}

#[test]
fn command_lines_may_be_any_words() {
    replay("command_line", targets::command_line, &[]);
}

#[test]
fn files_of_processes_may_be_any_bytes() {
    replay("processes", targets::processes, &[]);
}

#[test]
fn no_bytes_are_obeyed_by_a_terminal() {
    replay("terminal_text", targets::terminal_text, &[]);
}
