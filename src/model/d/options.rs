//! Options of `-x` and `#pragma D option`.
//!
//! Each option has an effect, is met in any case, is about what programs are refused for, or is refused with the reason.

use super::{Policy, Style};
use crate::model::render::d::Order;

/// The largest `strsize`, bytes.
const LONGEST_TEXT: u64 = 16_384;

/// What options say.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as the options are")]
pub struct Options {
    pub quiet: bool,
    pub flowindent: bool,
    pub destructive: bool,
    /// The program's own `#pragma D option destructive` is no leave: only the user's flag is.
    pub by_flag_alone: bool,
    pub defaultargs: bool,
    pub argref: bool,
    pub strsize: u32,
    /// Bytes that a clause may have by `alloca` and `copyin`.
    pub scratchsize: u32,
    pub stackframes: u16,
    pub ustackframes: u16,
    pub jstackframes: u16,
    pub maxframes: Option<u16>,
    pub stackindent: u16,
    pub aggsortkey: bool,
    pub aggsortrev: bool,
    /// Texts print as bytes.
    pub rawbytes: bool,
    pub aggsortpos: u32,
    pub aggsortkeypos: u32,
    pub bufsize: u64,
    pub bufpolicy: Kept,
    /// How many speculations may be in use at once.
    pub nspec: u32,
    pub dynvarsize: u64,
    pub aggsize: u64,
    /// Only firings on this processor.
    pub cpu: Option<u32>,
    /// Clauses that match no probe are left out (`-Z`).
    pub zdefs: bool,
    pub errtags: bool,
    pub empty: bool,
    /// The text goes through the C preprocessor first.
    pub cpp: bool,
    pub cpppath: String,
    /// Arguments of the preprocessor, in order.
    pub cpparguments: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            quiet: false,
            flowindent: false,
            destructive: false,
            by_flag_alone: false,
            defaultargs: false,
            argref: false,
            strsize: 256,
            scratchsize: 256,
            stackframes: 20,
            ustackframes: 100,
            jstackframes: 50,
            maxframes: None,
            stackindent: 14,
            aggsortkey: false,
            aggsortrev: false,
            rawbytes: false,
            aggsortpos: 0,
            aggsortkeypos: 0,
            bufsize: 0,
            bufpolicy: Kept::All,
            nspec: 1,
            dynvarsize: 1 << 20,
            aggsize: 4 << 20,
            cpu: None,
            zdefs: false,
            errtags: false,
            empty: false,
            cpp: false,
            cpppath: "cpp".into(),
            cpparguments: Vec::new(),
        }
    }
}

/// Which records are kept for the end of the run, of those that its buffers have room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "named as what is kept")]
pub enum Kept {
    #[default]
    All,
    Last,
    First,
}

/// How often DTrace does what is done here as soon as there is something to do.
const MET_RATES: &[&str] = &["switchrate", "aggrate", "statusrate", "cleanrate"];

/// Options that a program can set while it runs.
const DYNAMIC: &[&str] = &[
    "aggrate",
    "aggsortkey",
    "aggsortkeypos",
    "aggsortpos",
    "aggsortrev",
    "flowindent",
    "quiet",
    "rawbytes",
    "stackindent",
    "switchrate",
];

/// Options that are refused, by the reason.
const REFUSED: &[(&str, &[&str])] = &[
    (
        "it is about DTrace's own libraries and object files, which have no part here",
        &[
            "amin",
            "ctfpath",
            "ctypes",
            "dofstashpath",
            "dtypes",
            "iregs",
            "kdefs",
            "knodefs",
            "late",
            "lazyload",
            "ldpath",
            "libdir",
            "linkmode",
            "linknommap",
            "linktype",
            "modpath",
            "nolibs",
            "pgmax",
            "preallocate",
            "procfspath",
            "strip",
            "syslibdir",
            "sysslice",
            "tregs",
            "udefs",
            "unodefs",
            "useruid",
        ],
    ),
    (
        "it shows how DTrace itself works; `probescope compile` shows what becomes of a program here",
        &["core", "debug", "debugassert", "disasm", "tree", "verbose"],
    ),
    ("what the kernel's verifier refuses is told with its line in any case", &["bpflog", "bpflogsize"]),
    ("aggregations are kept for all processors together", &["aggpercpu"]),
    ("losses are told by their place in the program in any case", &["droptags"]),
    ("there is no anonymous tracing", &["grabanon"]),
    ("memory is charged to the control group, and there is no limit of its own", &["lockmem"]),
    ("symbols are always looked up", &["noresolve", "nojtanalysis"]),
    ("there is no such limit", &["nusdtprobes", "pcapsize", "printsize"]),
    ("fields of a description are told apart by their colons", &["pspec"]),
    ("buffers keep the size that they began with", &["quietresize"]),
];

/// Sizes: bytes with a unit.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text.get(digits.len()..)?.to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Nanoseconds of a unit of time, by D's words for them.
#[must_use]
pub fn unit_ns(word: &str) -> Option<u64> {
    Some(match word {
        "ns" | "nsec" => 1,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" | "hour" => 3_600_000_000_000,
        "d" | "day" => 86_400_000_000_000,
        _ => return None,
    })
}

/// A rate or a time: a number with a unit.
fn is_rate(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = text.get(digits..).unwrap_or("?").to_ascii_lowercase();
    digits > 0 && (matches!(&*unit, "" | "hz") || unit_ns(&unit).is_some())
}

/// Sets a number that must lie in a range.
fn within<T: TryFrom<u64>>(to: &mut T, value: Option<&str>, range: std::ops::RangeInclusive<u64>) -> bool {
    let number = value.and_then(size).filter(|n| range.contains(n)).and_then(|n| T::try_from(n).ok());
    number.map(|n| *to = n).is_some()
}

fn flag(to: &mut bool, value: Option<&str>) -> bool {
    match value.map(str::to_ascii_lowercase).as_deref() {
        None | Some("enable" | "enabled" | "1" | "on" | "yes" | "true" | "set") => *to = true,
        Some("disable" | "disabled" | "0" | "off" | "no" | "false" | "unset") => *to = false,
        _ => return false,
    }
    true
}

impl Options {
    /// Sets an option of the output while the program runs.
    ///
    /// # Errors
    /// Why it can't be set then.
    pub fn set_dynamic(&mut self, name: &str, value: Option<&str>) -> Result<(), String> {
        if !DYNAMIC.contains(&name) {
            let known = self.clone().set(name, value).map_err(|why| why.contains("Invalid option name"));
            let why =
                if known == Err(true) { "Invalid option name" } else { "Operation illegal when tracing is active" };
            return Err(why.to_owned());
        }
        self.set(name, value).map_err(|why| why.rsplit(": ").next().unwrap_or("").to_owned())
    }

    /// Sets an option; what is wrong in plain words.
    ///
    /// # Errors
    /// When there is no such option, it can't have this value, or would have no effect.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), String> {
        if let Some((why, _)) = REFUSED.iter().find(|(_, names)| names.contains(&name)) {
            return Err(format!("failed to set option '{name}': {why}"));
        }
        if let Some(why) = refused_value(name, value) {
            return Err(format!("failed to set option '{name}' to '{}': {why}", value.unwrap_or("")));
        }
        let fine = self
            .set_flag(name, value)
            .or_else(|| self.set_number(name, value))
            .or_else(|| self.set_preprocessor(name, value))
            .or_else(|| is_met(name, value));
        match fine {
            Some(true) => Ok(()),
            Some(false) => {
                let long = name == "strsize" && value.and_then(size).is_some_and(|n| n > LONGEST_TEXT);
                let most = if long { format!(" (at most {LONGEST_TEXT})") } else { String::new() };
                let value = value.unwrap_or("");
                Err(format!("failed to set option '{name}' to '{value}': Invalid value for specified option{most}"))
            }
            None => Err(format!("failed to set option '{name}': Invalid option name")),
        }
    }

    fn set_flag(&mut self, name: &str, value: Option<&str>) -> Option<bool> {
        let to = match name {
            "quiet" => &mut self.quiet,
            "flowindent" => &mut self.flowindent,
            "destructive" => &mut self.destructive,
            "defaultargs" => &mut self.defaultargs,
            "argref" => &mut self.argref,
            "aggsortkey" => &mut self.aggsortkey,
            "aggsortrev" => &mut self.aggsortrev,
            "rawbytes" => &mut self.rawbytes,
            "zdefs" => &mut self.zdefs,
            "errtags" => &mut self.errtags,
            "cpp" => &mut self.cpp,
            "empty" => &mut self.empty,
            _ => return None,
        };
        Some(flag(to, value))
    }

    fn set_number(&mut self, name: &str, value: Option<&str>) -> Option<bool> {
        const LARGEST: u64 = 1 << 32;
        Some(match name {
            "strsize" => within(&mut self.strsize, value, 2..=LONGEST_TEXT),
            "scratchsize" => within(&mut self.scratchsize, value, 0..=8192),
            "stackframes" => within(&mut self.stackframes, value, 1..=1024),
            "ustackframes" => within(&mut self.ustackframes, value, 1..=1024),
            "jstackframes" => within(&mut self.jstackframes, value, 1..=1024),
            "stackindent" => within(&mut self.stackindent, value, 0..=1024),
            "aggsortpos" => within(&mut self.aggsortpos, value, 0..=u64::from(u32::MAX)),
            "aggsortkeypos" => within(&mut self.aggsortkeypos, value, 0..=u64::from(u32::MAX)),
            "nspec" => within(&mut self.nspec, value, 1..=4096),
            "bufsize" => within(&mut self.bufsize, value, 1..=LARGEST),
            "dynvarsize" => within(&mut self.dynvarsize, value, 1..=LARGEST),
            "aggsize" => within(&mut self.aggsize, value, 1..=LARGEST),
            "bufpolicy" => {
                let kept = match value {
                    Some("switch") => Kept::All,
                    Some("ring") => Kept::Last,
                    Some("fill") => Kept::First,
                    _ => return Some(false),
                };
                self.bufpolicy = kept;
                true
            }
            "maxframes" => {
                let mut most = 0;
                let fine = within(&mut most, value, 1..=1024);
                self.maxframes = Some(most);
                fine
            }
            "cpu" => {
                let mut cpu = 0;
                let fine = within(&mut cpu, value, 0..=u64::from(u32::MAX));
                self.cpu = Some(cpu);
                fine
            }
            _ => return None,
        })
    }

    fn set_preprocessor(&mut self, name: &str, value: Option<&str>) -> Option<bool> {
        let prefix = match name {
            "define" => "-D",
            "undef" => "-U",
            "incdir" => "-I",
            "cppargs" => "",
            "cpphdrs" => {
                self.cpparguments.push("-H".into());
                return Some(value.is_none());
            }
            "cpppath" => {
                value?.clone_into(&mut self.cpppath);
                return Some(true);
            }
            "stdc" => {
                match value {
                    Some("a") => self.cpparguments.push("-std=c99".into()),
                    Some("s") => self.cpparguments.push("-traditional-cpp".into()),
                    Some("c" | "t") => {}
                    _ => return Some(false),
                }
                return Some(true);
            }
            _ => return None,
        };
        self.cpparguments.push(format!("{prefix}{}", value?));
        Some(true)
    }

    /// How records are printed by them; what they say nothing of is as in `style`.
    #[must_use]
    pub fn styled(&self, style: Style) -> Style {
        Style {
            records: true,
            quiet: self.quiet,
            flowindent: self.flowindent,
            stack_indent: self.stackindent,
            order: Order {
                by_key: self.aggsortkey,
                reversed: self.aggsortrev,
                position: self.aggsortpos as usize,
                key_position: self.aggsortkeypos as usize,
            },
            policy: self.policy(),
            raw_bytes: if self.rawbytes { self.strsize as u16 + 1 } else { 0 },
            ..style
        }
    }

    /// Which records are printed, and when.
    fn policy(&self) -> Policy {
        const BUFSIZE: u64 = 4 << 20;
        let bytes = if self.bufsize == 0 { BUFSIZE } else { self.bufsize };
        match self.bufpolicy {
            Kept::All => Policy::Switch,
            Kept::Last => Policy::Ring { bytes },
            Kept::First => Policy::Fill { bytes },
        }
    }

    /// How many keys variables of a map may have.
    #[must_use]
    pub fn most_variables(&self) -> u32 {
        u32::try_from((self.dynvarsize / 128).clamp(16, 1 << 20)).unwrap_or(1 << 20)
    }

    /// How many keys an aggregation may have.
    #[must_use]
    pub fn most_aggregated(&self) -> u32 {
        u32::try_from((self.aggsize / 512).clamp(16, 1 << 20)).unwrap_or(1 << 20)
    }
}

/// Values that are refused with a reason of their own.
fn refused_value(name: &str, value: Option<&str>) -> Option<&'static str> {
    match (name, value) {
        ("bufresize", Some("manual")) => Some("buffers that don't fit are made smaller: only `auto` is possible"),
        ("evaltime", Some("main" | "preinit" | "postinit")) => {
            Some("the command is held before its first instruction: only `exec` is possible")
        }
        _ => None,
    }
}

/// Options that ask for what is done in any case.
fn is_met(name: &str, value: Option<&str>) -> Option<bool> {
    Some(match name {
        _ if MET_RATES.contains(&name) => value.is_some_and(is_rate),
        // Names of frames are never cut.
        "jstackstrsize" => value.is_some_and(|v| size(v).is_some()),
        // What waits for its commit is never cut.
        "specsize" => value.is_some_and(|v| size(v).is_some_and(|bytes| bytes > 0)),
        "bufresize" => value == Some("auto"),
        "evaltime" => value == Some("exec"),
        // Records come in the order of their time.
        "temporal" => value.is_none_or(|v| v == "1" || v == "on"),
        "version" => {
            let number = |part: Option<&str>| part.map_or(Some(0), |p| p.parse::<u32>().ok());
            if value.is_some_and(|v| v.split('.').next().and_then(|n| n.parse::<u32>().ok()).is_some_and(|n| n > 2)) {
                return Some(false);
            }
            let mut parts = value?.splitn(3, '.').map(Some);
            let major = number(parts.next().flatten())?;
            let minor = number(parts.next().flatten())?;
            (1..=2).contains(&major) && (major < 2 || minor == 0)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn options_have_an_effect_or_a_reason() {
        let mut options = Options::default();
        options.set("dynvarsize", Some("2m")).unwrap();
        assert_eq!(options.most_variables(), 16_384);
        options.set("switchrate", Some("10hz")).unwrap();
        assert!(options.set("aggpercpu", None).unwrap_err().contains("all processors together"));
        assert!(options.set("linkmode", Some("static")).unwrap_err().contains("no part here"));
        assert!(options.set("nothing", None).unwrap_err().contains("Invalid option name"));
        assert!(options.set("strsize", Some("x")).unwrap_err().contains("Invalid value"));
    }
}
