//! Options and control lines.

use super::Checker;
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{ItemKind, Pragma, Script};
use crate::lang::source::Span;

/// What options say.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as the options are")]
pub struct Options {
    pub quiet: bool,
    pub flowindent: bool,
    pub destructive: bool,
    pub defaultargs: bool,
    pub argref: bool,
    pub strsize: u32,
    pub stackframes: u16,
    pub ustackframes: u16,
    pub aggsortkey: bool,
    pub aggsortrev: bool,
    pub aggsortpos: u32,
    pub aggsortkeypos: u32,
    pub most_keys: u32,
    pub zdefs: bool,
    pub errtags: bool,
    pub cpp: bool,
    pub empty: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            quiet: false,
            flowindent: false,
            destructive: false,
            defaultargs: false,
            argref: false,
            strsize: 256,
            stackframes: 20,
            ustackframes: 100,
            aggsortkey: false,
            aggsortrev: false,
            aggsortpos: 0,
            aggsortkeypos: 0,
            most_keys: 8192,
            zdefs: false,
            errtags: false,
            cpp: false,
            empty: false,
        }
    }
}

/// Options without a value, or with one that has no meaning here; the name alone is checked.
const TAKEN: &[&str] = &[
    "aggpercpu",
    "aggrate",
    "aggsize",
    "amin",
    "bpflog",
    "bpflogsize",
    "bufpolicy",
    "bufresize",
    "bufsize",
    "cleanrate",
    "core",
    "cppargs",
    "cpphdrs",
    "cpppath",
    "cpu",
    "ctfpath",
    "ctypes",
    "debug",
    "debugassert",
    "define",
    "disasm",
    "dofstashpath",
    "droptags",
    "dtypes",
    "dynvarsize",
    "evaltime",
    "grabanon",
    "incdir",
    "iregs",
    "jstackframes",
    "jstackstrsize",
    "kdefs",
    "knodefs",
    "late",
    "lazyload",
    "ldpath",
    "libdir",
    "linkmode",
    "linknommap",
    "linktype",
    "lockmem",
    "maxframes",
    "modpath",
    "nolibs",
    "noresolve",
    "nspec",
    "nusdtprobes",
    "pcapsize",
    "pgmax",
    "preallocate",
    "printsize",
    "procfspath",
    "pspec",
    "quietresize",
    "rawbytes",
    "scratchsize",
    "specsize",
    "stackindent",
    "statusrate",
    "stdc",
    "strip",
    "switchrate",
    "syslibdir",
    "sysslice",
    "tree",
    "tregs",
    "udefs",
    "undef",
    "unodefs",
    "useruid",
    "verbose",
    "version",
    "temporal",
    "nojtanalysis",
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
    digits.parse::<u64>().ok()?.checked_shl(shift)
}

/// A rate or a time: a number with a unit.
fn is_rate(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    const UNITS: &[&str] =
        &["", "ns", "nsec", "us", "usec", "ms", "msec", "s", "sec", "m", "min", "h", "hour", "d", "day", "hz"];
    digits > 0 && UNITS.contains(&&*text.get(digits..).unwrap_or("?").to_ascii_lowercase())
}

impl Options {
    /// Sets an option; what is wrong in plain words.
    ///
    /// # Errors
    /// When there is no such option, or it can't have this value.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), String> {
        let invalid = || {
            Err(format!(
                "failed to set option '{name}' to '{}': Invalid value for specified option",
                value.unwrap_or("")
            ))
        };
        let flag = |to: &mut bool| -> bool {
            match value {
                None | Some("enable" | "1" | "on" | "yes" | "true") => *to = true,
                Some("disable" | "0" | "off" | "no" | "false") => *to = false,
                _ => return false,
            }
            true
        };
        let number = || value.and_then(size);
        let fine = match name {
            "quiet" => flag(&mut self.quiet),
            "flowindent" => flag(&mut self.flowindent),
            "destructive" => flag(&mut self.destructive),
            "defaultargs" => flag(&mut self.defaultargs),
            "argref" => flag(&mut self.argref),
            "aggsortkey" => flag(&mut self.aggsortkey),
            "aggsortrev" => flag(&mut self.aggsortrev),
            "zdefs" => flag(&mut self.zdefs),
            "errtags" => flag(&mut self.errtags),
            "cpp" => flag(&mut self.cpp),
            "empty" => flag(&mut self.empty),
            "strsize" => match number() {
                Some(n @ 0..=4096) => {
                    self.strsize = n as u32;
                    true
                }
                _ => false,
            },
            "stackframes" | "ustackframes" => match number() {
                Some(n @ 1..=1024) => {
                    *(if name == "stackframes" { &mut self.stackframes } else { &mut self.ustackframes }) = n as u16;
                    true
                }
                _ => false,
            },
            "aggsortpos" | "aggsortkeypos" => match number() {
                Some(n) => {
                    *(if name == "aggsortpos" { &mut self.aggsortpos } else { &mut self.aggsortkeypos }) = n as u32;
                    true
                }
                None => false,
            },
            "aggsize" | "bufsize" | "dynvarsize" | "specsize" | "nspec" | "scratchsize" | "pcapsize" | "printsize" => {
                number().is_some()
            }
            "switchrate" | "aggrate" | "statusrate" | "cleanrate" => value.is_some_and(is_rate),
            "bufpolicy" => matches!(value, Some("ring" | "fill" | "switch")),
            "bufresize" => matches!(value, Some("auto" | "manual")),
            _ if TAKEN.contains(&name) => true,
            _ => return Err(format!("failed to set option '{name}': Invalid option name")),
        };
        if fine { Ok(()) } else { invalid() }
    }
}

impl Checker<'_> {
    pub fn pragmas(&mut self, script: &Script) {
        for item in &script.items {
            if let ItemKind::Pragma(pragma) = &item.kind {
                self.pragma(pragma, item.span);
            }
        }
    }

    fn pragma(&mut self, pragma: &Pragma, at: Span) {
        match &*pragma.control.text {
            "pragma" => {}
            "line" | "ident" => return,
            "error" => {
                let words: Vec<&str> = pragma.words.iter().map(|w| &*w.text).collect();
                self.error(tags::D_PRAGERR, at, format!("#error: {}", words.join(" ")));
                return;
            }
            text if text.parse::<u32>().is_ok() => return,
            text => {
                self.error(tags::D_PRAGCTL_INVAL, at, format!("invalid control directive: #{text}"));
                return;
            }
        }
        if !pragma.of_d {
            return;
        }
        let Some(which) = pragma.words.first() else {
            self.error(tags::D_PRAGMA_MALFORM, at, "malformed #pragma D");
            return;
        };
        match &*which.text {
            "option" => {
                let Some(option) = pragma.words.get(1) else {
                    self.error(tags::D_PRAGMA_MALFORM, at, "superfluous or missing arguments for #pragma option");
                    return;
                };
                if pragma.words.len() > 2 {
                    self.error(tags::D_PRAGMA_MALFORM, at, "superfluous arguments specified for #pragma option");
                    return;
                }
                let (name, value) = match option.text.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (&*option.text, None),
                };
                if let Err(why) = self.options.set(name, value) {
                    self.error(tags::D_PRAGMA_OPTSET, at, why);
                }
            }
            "attributes" | "binding" => {
                if pragma.words.len() < 3 {
                    self.error(tags::D_PRAGMA_MALFORM, at, format!("malformed #pragma {}", which.text));
                } else if &*which.text == "attributes" {
                    self.error(tags::D_PRAGMA_UNUSED, at, "#pragma attributes has no effect here");
                }
            }
            "depends_on" => self.error(tags::D_PRAGMA_DEPEND, at, "#pragma depends_on belongs to library files"),
            "error" => {
                let words: Vec<&str> = pragma.words.iter().skip(1).map(|w| &*w.text).collect();
                self.error(tags::D_PRAGERR, at, format!("#error: {}", words.join(" ")));
            }
            "line" => {}
            other => self.error(tags::D_PRAGMA_INVAL, at, format!("invalid D pragma: {other}")),
        }
    }

    pub fn unused_arguments(&mut self, script: &Script) {
        if self.options.argref {
            return;
        }
        if let Some(number) = script.used_arguments.iter().skip(1).position(|used| !used) {
            let message = format!("extraneous argument '${}' is not referenced", number + 1);
            self.error(tags::D_MACRO_UNUSED, Span::default(), message);
        }
    }
}
