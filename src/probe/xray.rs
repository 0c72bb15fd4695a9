//! The X-ray of many functions: a script that tells of each how often it is called, how long it takes, and with what.

use std::fmt::Write as _;

pub mod typed;

use super::expand::{ExpandError, ExpandOptions, expand};
use super::name::target_name;
use super::point::{self, Provider};
use crate::kernel::{Feature, Kernel};
use crate::model::target::Target;

/// Functions that are attached one by one, where the kernel has no links to many: each takes it milliseconds.
const MOST_ALONE: usize = 300;
/// From so many functions of the kernel on, those are left out that programs run in.
const MANY: usize = 1000;
/// Keys of maps in scripts that don't say how many.
const USUAL_KEYS: usize = 4096;

/// A preset for a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Xray {
    /// What runs, in bpftrace's language.
    pub script: String,
    /// How many functions it is on.
    pub functions: usize,
    /// What is left out, and why.
    pub note: Option<String>,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum XrayError {
    /// Not a pattern of functions.
    #[error("an X-ray is of functions: `tcp_*`, `kprobe:vfs_*`, `uprobe:libc:str*`; `{0}` is something else")]
    NotFunctions(String),
    /// Nothing is there, or nothing can be attached.
    #[error(transparent)]
    Expand(#[from] ExpandError),
}

impl XrayError {
    /// What is wrong, and what may help.
    #[must_use]
    pub fn in_full(&self) -> String {
        let hint = match self {
            Self::Expand(error) => error.hint(),
            Self::NotFunctions(_) => None,
        };
        hint.map_or_else(|| self.to_string(), |hint| format!("{self} {hint}"))
    }
}

/// The X-ray of the functions that a pattern stands for: a function's name with `*` for any text, or an attach point.
///
/// # Errors
/// When the pattern is not of functions, or they can't be traced here.
pub fn xray(pattern: &str, kernel: &Kernel) -> Result<Xray, XrayError> {
    let pattern = pattern.trim();
    let (provider, rest) = pattern.split_once(':').unwrap_or(("kprobe", pattern));
    let refused = || XrayError::NotFunctions(pattern.to_owned());
    let (entry, exit) = match Provider::find(provider).map(|p| p.name) {
        Some("kprobe" | "kretprobe" | "fentry" | "fexit") => ("kprobe", "kretprobe"),
        Some("uprobe" | "uretprobe") => ("uprobe", "uretprobe"),
        _ => return Err(refused()),
    };
    // The trampolines' names have the module that a function is in.
    let rest = rest.strip_prefix("vmlinux:").unwrap_or(rest);
    let parsed = point::parse(&format!("{entry}:{rest}")).map_err(|_| refused())?;
    let targets = expand(&parsed, kernel, &ExpandOptions::default())?;
    let functions = targets.len();
    // Functions in Go go on on other threads, and those that return twice have no one time.
    let timeless = entry == "uprobe"
        && point::parse(&format!("{exit}:{rest}")).is_ok_and(|parsed| {
            let of = |target: &Target| matches!(target, Target::Uprobe { exits, .. } if !exits.is_empty());
            expand(&parsed, kernel, &ExpandOptions::default()).map_or(true, |all| all.iter().any(of))
        });
    if timeless {
        let note = "calls alone: how long functions take can't be told where a goroutine goes on on another thread, or \
                    where a function returns twice";
        let points = [format!("{entry}:{rest}"), String::new()];
        return Ok(Xray { script: script(pattern, points, functions), functions, note: Some(note.to_owned()) });
    }
    let has_links = kernel.features().has(if entry == "kprobe" { Feature::KprobeMulti } else { Feature::UprobeMulti });
    let (points, functions, note) = if has_links || functions <= MOST_ALONE {
        ([format!("{entry}:{rest}"), format!("{exit}:{rest}")], functions, None)
    } else {
        let names: Vec<String> = targets.iter().take(MOST_ALONE).map(target_name).collect();
        let of = |provider: &str| {
            let named = |name: &String| format!("{provider}:{}", name.split_once(':').map_or("", |(_, rest)| rest));
            names.iter().map(named).collect::<Vec<_>>().join(",\n")
        };
        let note = format!(
            "the first {MOST_ALONE} of {functions} functions: this kernel attaches functions one by one, which takes it \
             milliseconds each"
        );
        ([of(entry), of(exit)], MOST_ALONE, Some(note))
    };
    Ok(Xray { script: script(pattern, points, functions), functions, note })
}

/// Bits by which histograms split each power of two: as fine as their memory allows.
const fn fineness(functions: usize) -> u8 {
    match functions {
        0..=1000 => 3,
        1001..=8000 => 1,
        _ => 0,
    }
}

fn script(pattern: &str, [entry, exit]: [String; 2], functions: usize) -> String {
    // Each CPU has a histogram for each of them. Calls that are open are kept beside the functions.
    let keys = if functions < USUAL_KEYS / 2 { USUAL_KEYS } else { functions + USUAL_KEYS };
    let mut settings = String::new();
    if keys > USUAL_KEYS {
        let _ = writeln!(settings, "    max_map_keys = {keys};");
    }
    if functions > MANY && entry.starts_with("kprobe:") {
        settings.push_str("    skip_program_functions = true;\n");
    }
    let config = if settings.is_empty() { settings } else { format!("config = {{\n{settings}}}\n\n") };
    let bits = fineness(functions);
    if exit.is_empty() {
        return format!(
            "// X-ray of {pattern}: how often each function is called, and its last arguments.\n\
             {config}{entry}\n{{\n    @calls[func] = count();\n    @arguments[func] = (arg0, arg1, arg2);\n}}\n"
        );
    }
    format!(
        "// X-ray of {pattern}: how often each function is called, how long it takes, its last arguments and result.\n\
         {config}{entry}\n{{\n    \
         @calls[func] = count();\n    \
         @arguments[func] = (arg0, arg1, arg2);\n\
         }}\n\n\
         {exit}\n{{\n    \
         @ns[func] = hist(latency, {bits});\n    \
         @longest[func] = max(latency);\n    \
         @result[func] = retval;\n\
         }}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Roots;

    fn kernel() -> Kernel {
        Kernel::new(Roots::fixture(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/kernel")))
    }

    #[test]
    fn a_pattern_becomes_a_script() {
        let xray = xray("vfs_*", &kernel()).unwrap();
        assert!(xray.functions > 0 && xray.note.is_none());
        assert!(xray.script.contains("\nkprobe:vfs_*\n{\n    @calls[func] = count();\n"), "{}", xray.script);
        assert!(xray.script.contains("\nkretprobe:vfs_*\n{\n    @ns[func] = hist(latency, 3);\n"), "{}", xray.script);
        assert_eq!(super::xray("fentry:vmlinux:vfs_*", &kernel()).unwrap().functions, xray.functions);
    }

    #[test]
    fn other_probes_have_no_xray() {
        let refusal = |pattern: &str| xray(pattern, &kernel()).unwrap_err().to_string();
        assert!(refusal("tracepoint:sched:*").contains("an X-ray is of functions"));
        assert!(refusal("kprobe:no_such_function_*").contains("no_such_function"));
    }

    #[test]
    fn many_functions_have_coarser_histograms_and_room_for_all() {
        let many = script("*", ["kprobe:*".to_owned(), "kretprobe:*".to_owned()], 46_000);
        assert!(many.contains("max_map_keys = 50096;") && many.contains("hist(latency, 0)"), "{many}");
        assert!(many.contains("skip_program_functions = true;"), "{many}");
    }
}
