//! bpftrace's command line as `getopt_long` reads it: flags may stand anywhere before `--`, short
//! ones may be joined, long ones shortened to what is unique.

use std::path::PathBuf;

use super::super::face::Buffering;
use super::super::run::Format;
use super::super::script::path_of;
use crate::kernel::Feature;

/// What the command line asks for.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub struct Options {
    pub program: Option<String>,
    pub list: bool,
    pub verbose: bool,
    pub help: bool,
    pub version: bool,
    pub info: bool,
    pub command: Option<String>,
    pub pid: Option<u32>,
    pub output: Option<PathBuf>,
    pub format: Format,
    pub buffering: Buffering,
    pub quiet: bool,
    pub keen: bool,
    pub no_warnings: bool,
    pub allow_unsafe: bool,
    pub dry_run: bool,
    /// `--no-brake`, which bpftrace has not.
    pub no_brake: bool,
    pub mode: Mode,
    /// Only probes whose full name it matches.
    pub probe_filter: Option<regex::Regex>,
    /// Folders to look for separate debug files in.
    pub debug_roots: Vec<PathBuf>,
    /// The functions that can be traced, instead of tracefs's list.
    pub function_list: Option<PathBuf>,
    /// Ways to attach that are not to be used.
    pub unused: Vec<Feature>,
    pub debug: Vec<Stage>,
    /// Headers named with `--include`.
    pub includes: Vec<String>,
    /// Folders of `-I`.
    pub include_dirs: Vec<String>,
    pub emit_elf: Option<PathBuf>,
    /// What is no flag: the script's file, then its parameters.
    pub rest: Vec<String>,
    /// What stands after `--`.
    pub after: Vec<String>,
}

/// What is done with the script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It runs.
    #[default]
    Run,
    /// Its `test:` probes run, once each.
    Test,
    /// Its `bench:` probes run, many times each.
    Bench,
    /// It is written in the form of the formatter.
    Format,
    /// It is compiled and no more.
    Codegen,
}

/// Stages of the compiler that `-d` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The script as it was read.
    Ast,
    /// The script with its types.
    Types,
    /// The intermediate code.
    Codegen,
    /// The BPF instructions.
    Disassembly,
    /// What libbpf says.
    Libbpf,
    /// What the verifier says.
    Verifier,
}

/// Why a command line makes no sense.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OptionError {
    /// There is no such flag; the usage follows.
    #[error("bpftrace: {0}")]
    Flag(String),
    /// A flag has a value that it can't have.
    #[error("ERROR: {0}")]
    Value(String),
    /// Flags that exclude each other; the usage follows.
    #[error("ERROR: USAGE: {0}")]
    Usage(String),
    /// Nothing to do.
    #[error("ERROR: USAGE: filename or -e 'program' required.")]
    NoScript,
    /// No arguments at all: the usage alone.
    #[error("")]
    Nothing,
}

impl OptionError {
    /// Whether the usage follows the message.
    pub const fn shows_usage(&self) -> bool {
        !matches!(self, Self::Value(_) | Self::NoScript)
    }
}

/// Highest process id that the kernel gives.
const MAX_PID: u64 = 4_194_304;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
}

/// A flag: its short and long spellings, and whether a value follows.
struct Flag {
    short: Option<char>,
    long: &'static str,
    takes: Takes,
}

const fn flag(short: char, long: &'static str, takes: Takes) -> Flag {
    Flag { short: Some(short), long, takes }
}

const fn long(long: &'static str, takes: Takes) -> Flag {
    Flag { short: None, long, takes }
}

const FLAGS: &[Flag] = &[
    flag('e', "", Takes::Value),
    flag('l', "list", Takes::Nothing),
    flag('v', "verbose", Takes::Nothing),
    flag('h', "help", Takes::Nothing),
    flag('V', "version", Takes::Nothing),
    flag('c', "cmd", Takes::Value),
    flag('p', "pid", Takes::Value),
    flag('o', "output", Takes::Value),
    flag('f', "", Takes::Value),
    flag('B', "", Takes::Value),
    flag('q', "quiet", Takes::Nothing),
    flag('k', "warnings", Takes::Nothing),
    flag('d', "debug", Takes::Value),
    flag('I', "", Takes::Value),
    long("include", Takes::Value),
    long("info", Takes::Nothing),
    long("unsafe", Takes::Nothing),
    long("dry-run", Takes::Nothing),
    long("no-brake", Takes::Nothing),
    long("no-warnings", Takes::Nothing),
    long("mode", Takes::Value),
    long("test", Takes::Nothing),
    long("bench", Takes::Nothing),
    long("fmt", Takes::Nothing),
    long("probe-filter", Takes::Value),
    long("emit-elf", Takes::Value),
    long("debuginfo", Takes::Value),
    long("traceable-functions", Takes::Value),
    // What only concerns LLVM or what is found without being told.
    long("emit-llvm", Takes::Value),
    long("verify-llvm-ir", Takes::Nothing),
    long("no-feature", Takes::Value),
    long("usdt-file-activation", Takes::Nothing),
    long("dwarf-pid", Takes::Value),
];

impl Default for Options {
    fn default() -> Self {
        Self {
            program: None,
            list: false,
            verbose: false,
            help: false,
            version: false,
            info: false,
            command: None,
            pid: None,
            output: None,
            format: Format::Text,
            buffering: Buffering::Line,
            quiet: false,
            keen: false,
            no_warnings: false,
            allow_unsafe: false,
            dry_run: false,
            no_brake: false,
            mode: Mode::Run,
            probe_filter: None,
            debug_roots: Vec::new(),
            function_list: None,
            unused: Vec::new(),
            debug: Vec::new(),
            includes: Vec::new(),
            include_dirs: Vec::new(),
            emit_elf: None,
            rest: Vec::new(),
            after: Vec::new(),
        }
    }
}

impl Options {
    /// Reads the arguments after the program's name.
    pub fn read(arguments: &[String]) -> Result<Self, OptionError> {
        if arguments.is_empty() {
            return Err(OptionError::Nothing);
        }
        let mut options = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if word == "--" {
                options.after.extend(words.cloned());
                break;
            }
            if let Some(name) = word.strip_prefix("--") {
                options.long(name, &mut words)?;
            } else if word.len() > 1 && word.starts_with('-') {
                options.short(&word[1..], &mut words)?;
            } else {
                options.rest.push(word.clone());
            }
        }
        options.consistent()
    }

    fn consistent(self) -> Result<Self, OptionError> {
        if self.command.is_some() && self.pid.is_some() {
            return Err(OptionError::Usage("Cannot use both -c and -p.".into()));
        }
        Ok(self)
    }

    fn long<'a>(&mut self, text: &str, words: &mut impl Iterator<Item = &'a String>) -> Result<(), OptionError> {
        let (name, value) = text.split_once('=').map_or((text, None), |(n, v)| (n, Some(v.to_owned())));
        let matching: Vec<&Flag> =
            FLAGS.iter().filter(|f| !f.long.is_empty() && !name.is_empty() && f.long.starts_with(name)).collect();
        let flag = match matching.iter().find(|f| f.long == name) {
            Some(flag) => *flag,
            None if matching.len() == 1 => matching[0],
            None if matching.is_empty() => return Err(OptionError::Flag(format!("unrecognized option '--{name}'"))),
            None => return Err(OptionError::Flag(format!("option '--{name}' is ambiguous"))),
        };
        let value = match (flag.takes, value) {
            (Takes::Nothing, Some(_)) => {
                return Err(OptionError::Flag(format!("option '--{}' doesn't allow an argument", flag.long)));
            }
            (Takes::Nothing, None) => String::new(),
            (Takes::Value, Some(value)) => value,
            (Takes::Value, None) => words
                .next()
                .cloned()
                .ok_or_else(|| OptionError::Flag(format!("option '--{}' requires an argument", flag.long)))?,
        };
        self.set(flag, value)
    }

    fn short<'a>(&mut self, text: &str, words: &mut impl Iterator<Item = &'a String>) -> Result<(), OptionError> {
        for (at, c) in text.char_indices() {
            let Some(flag) = FLAGS.iter().find(|f| f.short == Some(c)) else {
                return Err(OptionError::Flag(format!("invalid option -- '{c}'")));
            };
            if flag.takes == Takes::Nothing {
                self.set(flag, String::new())?;
                continue;
            }
            let joined = &text[at + c.len_utf8()..];
            let value = if joined.is_empty() { words.next().cloned() } else { Some(joined.to_owned()) };
            let value = value.ok_or_else(|| OptionError::Flag(format!("option requires an argument -- '{c}'")))?;
            return self.set(flag, value);
        }
        Ok(())
    }

    fn set(&mut self, flag: &Flag, value: String) -> Result<(), OptionError> {
        match (flag.short, flag.long) {
            (Some('e'), _) => self.program = Some(value),
            (_, "list") => self.list = true,
            (_, "verbose") => self.verbose = true,
            (_, "help") => self.help = true,
            (_, "version") => self.version = true,
            (_, "cmd") => self.command = Some(value).filter(|command| !command.is_empty()),
            (_, "pid") => self.pid = Some(pid(&value)?),
            (_, "output") => self.output = Some(value).filter(|path| !path.is_empty()).map(|path| path_of(&path)),
            (Some('f'), _) => self.format = format(&value)?,
            (Some('B'), _) => self.buffering = buffering(&value)?,
            (_, "quiet") => self.quiet = true,
            (_, "warnings") if self.keen => {
                let message = "USAGE: -kk has been deprecated. Use a single -k for runtime warnings for errors in \
                               map lookups and probe reads.";
                return Err(OptionError::Value(message.into()));
            }
            (_, "warnings") => self.keen = true,
            (_, "debug") => self.debug.extend(stages(&value)?),
            (Some('I'), _) => self.include_dirs.push(value),
            (_, "include") => self.includes.push(value),
            (_, "info") => self.info = true,
            (_, "unsafe") => self.allow_unsafe = true,
            (_, "dry-run") => self.dry_run = true,
            (_, "no-brake") => self.no_brake = true,
            (_, "no-warnings") => self.no_warnings = true,
            (_, "mode") => self.mode = mode(&value)?,
            (_, "test") => self.mode = Mode::Test,
            (_, "bench") => self.mode = Mode::Bench,
            (_, "fmt") => self.mode = Mode::Format,
            (_, "probe-filter") => {
                let bad = |_| OptionError::Value(format!("Invalid --probe-filter regex: {value}"));
                self.probe_filter = Some(regex::Regex::new(&value).map_err(bad)?);
            }
            (_, "debuginfo") => self.debug_roots.extend(value.split(':').map(PathBuf::from)),
            (_, "traceable-functions") => self.function_list = Some(value.into()),
            (_, "no-feature") => self.unused.extend(features(&value)?),
            (_, "emit-elf") => self.emit_elf = Some(value.into()),
            _ => {}
        }
        Ok(())
    }
}

/// What `--no-feature` turns off: ways to attach that this program chooses by itself.
fn features(list: &str) -> Result<Vec<Feature>, OptionError> {
    const KNOWN: [(&str, Feature); 3] = [
        ("kprobe_multi", Feature::KprobeMulti),
        ("kprobe_session", Feature::KprobeSession),
        ("uprobe_multi", Feature::UprobeMulti),
    ];
    let feature = |name| KNOWN.iter().find(|(known, _)| *known == name).map(|(_, feature)| *feature);
    list.split(',').map(feature).collect::<Option<Vec<_>>>().ok_or_else(|| {
        let names = KNOWN.map(|(name, _)| name).join(",");
        OptionError::Value(format!("USAGE: --no-feature can only have values '{names}'."))
    })
}

fn pid(text: &str) -> Result<u32, OptionError> {
    let failed = |why: String| OptionError::Value(format!("Failed to parse pid: {why}"));
    // As `strtoul` reads numbers, which is what scripts that pass one on are used to.
    let plain = text.trim_start();
    let plain = plain.strip_prefix('+').unwrap_or(plain);
    let (digits, radix) = match plain.strip_prefix("0x").or_else(|| plain.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (plain, 10),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (digits, trailing) = digits.split_at(end);
    if plain.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        return Err(OptionError::Value(format!("Pid out of range: {text}")));
    }
    if digits.is_empty() {
        return Err(failed(format!("invalid integer: {text}")));
    }
    if !trailing.is_empty() {
        return Err(failed(format!("invalid trailing bytes: {text}")));
    }
    match u64::from_str_radix(digits, radix) {
        // The kernel has no such process, in the words that it has for this number.
        Ok(0) => Err(OptionError::Value("Failed to attach to pid: Unable to open pidfd (Invalid argument)".into())),
        Ok(pid @ 1..=MAX_PID) => Ok(pid as u32),
        Ok(pid) => Err(OptionError::Value(format!("Pid out of range: {pid}"))),
        Err(_) => Err(failed(format!("overflow error, maximum value is {}: {text}", u64::MAX))),
    }
}

fn format(text: &str) -> Result<Format, OptionError> {
    match text {
        "" | "text" => Ok(Format::Text),
        "json" => Ok(Format::Json),
        _ => Err(OptionError::Value(format!("Invalid output format \"{text}\"\nValid formats: 'text', 'json'"))),
    }
}

fn buffering(text: &str) -> Result<Buffering, OptionError> {
    match text {
        "line" => Ok(Buffering::Line),
        "full" => Ok(Buffering::Full),
        "none" => Ok(Buffering::None),
        _ => Err(OptionError::Value("USAGE: -B must be either 'line', 'full', or 'none'.".into())),
    }
}

fn mode(text: &str) -> Result<Mode, OptionError> {
    Ok(match text {
        "codegen" | "compiler-bench" => Mode::Codegen,
        "bench" => Mode::Bench,
        "test" => Mode::Test,
        "format" => Mode::Format,
        _ => {
            let known = "USAGE: --mode can only be 'codegen', 'compiler-bench', 'bench', 'test' or 'format'.";
            return Err(OptionError::Value(known.into()));
        }
    })
}

fn stages(text: &str) -> Result<Vec<Stage>, OptionError> {
    const ALL: [Stage; 6] =
        [Stage::Ast, Stage::Types, Stage::Codegen, Stage::Disassembly, Stage::Libbpf, Stage::Verifier];
    let mut found = Vec::new();
    for name in text.split(',') {
        match name {
            "all" => found.extend(ALL),
            "ast" | "parse" => found.push(Stage::Ast),
            "types" => found.push(Stage::Types),
            "codegen" | "codegen-opt" => found.push(Stage::Codegen),
            "dis" => found.push(Stage::Disassembly),
            "libbpf" => found.push(Stage::Libbpf),
            "verifier" => found.push(Stage::Verifier),
            other => return Err(OptionError::Value(format!("USAGE: invalid option for -d: {other}"))),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Options, OptionError> {
        Options::read(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn flags_stand_anywhere_before_the_dashes() {
        let options = read(&["-lvp12", "a.bt", "7", "--no-warn", "-qf", "json", "--", "-x", "--n=1"]).expect("reads");
        assert!(options.list && options.verbose && options.no_warnings && options.quiet);
        assert_eq!((options.pid, options.format), (Some(12), Format::Json));
        assert_eq!(options.rest, ["a.bt", "7"]);
        assert_eq!(options.after, ["-x", "--n=1"]);
        assert_eq!(read(&["-"]).expect("standard input").rest, ["-"]);
    }

    #[test]
    fn mistakes_are_named() {
        let words = |w: &[&str]| read(w).expect_err("a mistake").to_string();
        assert_eq!(words(&["-5"]), "bpftrace: invalid option -- '5'");
        assert_eq!(words(&["--zz"]), "bpftrace: unrecognized option '--zz'");
        assert_eq!(words(&["-p", "1x"]), "ERROR: Failed to parse pid: invalid trailing bytes: 1x");
        assert_eq!(words(&["-p", "4194305"]), "ERROR: Pid out of range: 4194305");
        assert!(words(&["-p", "0"]).ends_with("Unable to open pidfd (Invalid argument)"));
        assert!(words(&["-kk"]).contains("-kk has been deprecated"));
        assert!(words(&["-c", "a", "-p", "1"]).contains("Cannot use both"));
        assert!(words(&["--in", "x"]).contains("ambiguous"));
        assert!(words(&["-d", "nothing"]).contains("invalid option for -d: nothing"));
    }
}
