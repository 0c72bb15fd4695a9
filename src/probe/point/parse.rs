//! The grammar of each provider.

use super::number::{duration_ns, integer, integer_or_duration};
use super::split::{Part, split};
use super::{PROVIDERS, PointError, PointPattern, Provider, UprobePlace};
use crate::model::target::Rate;
use crate::probe::glob::Glob;
use crate::probe::name::signal_number;
use crate::probe::signature::Signature;
use crate::probe::suggest;

type Answer = Result<PointPattern, PointError>;

/// The parts after the provider, and what to say when they are wrong.
struct Parts<'a> {
    provider: &'static Provider,
    parts: &'a [Part],
    whole: std::ops::Range<usize>,
}

pub(super) fn parse(text: &str) -> Answer {
    let all = split(text)?;
    let (first, parts) = all.split_first().ok_or_else(|| unknown_provider("", 0..0))?;
    let provider = Provider::find(&first.text).ok_or_else(|| unknown_provider(&first.text, first.range.clone()))?;
    let parts = Parts { provider, parts, whole: 0..text.len() };
    match provider.name {
        "begin" => parts.exactly(0).map(|()| PointPattern::Begin),
        "end" => parts.exactly(0).map(|()| PointPattern::End),
        "self" => parts.signal(),
        "test" => parts.one().map(|p| PointPattern::Test(p.text.as_str().into())),
        "bench" => parts.one().map(|p| PointPattern::Bench(p.text.as_str().into())),
        "interval" | "profile" => parts.timed(),
        "tracepoint" => parts.tracepoint(),
        "rawtracepoint" => parts.raw_tracepoint(),
        "kprobe" => parts.kprobe(false),
        "kretprobe" => parts.kprobe(true),
        "fentry" => parts.fentry(false),
        "fexit" => parts.fentry(true),
        "uprobe" => parts.uprobe(false),
        "uretprobe" => parts.uprobe(true),
        "usdt" => parts.usdt(),
        "software" | "hardware" => parts.perf(),
        "watchpoint" => parts.watchpoint(),
        _ => parts.iter(),
    }
}

/// Most characters of a wrong word that a message repeats.
const MOST_QUOTED: usize = 60;

fn unknown_provider(word: &str, range: std::ops::Range<usize>) -> PointError {
    let words = PROVIDERS.iter().flat_map(|p| std::iter::once(p.name).chain(p.aliases.iter().copied()));
    let near = suggest::nearest(&word.to_ascii_lowercase(), words.filter(|w| w.len() > 2), 1);
    let hint = match (&*word.to_ascii_lowercase(), near.first()) {
        // DTrace's providers, and what people call these probes.
        ("syscall" | "syscalls" | "sys", _) => {
            Some("system calls are tracepoints: `tracepoint:syscalls:sys_enter_openat`".to_owned())
        }
        ("fbt", _) => Some("functions of the kernel are `fentry:NAME` and `fexit:NAME`, or `kprobe:NAME`".to_owned()),
        ("tick", _) => Some("what fires again and again is `interval:s:1`".to_owned()),
        ("timer", _) => Some("what fires again and again is `interval:s:1`, on every CPU `profile:hz:99`".to_owned()),
        ("pid", _) => Some("functions of programs are `uprobe:PROGRAM:FUNCTION`".to_owned()),
        (_, near) => near.map(|n| format!("did you mean `{n}`?")),
    };
    // A text that is no script at all may be one endless word.
    let end = word.char_indices().nth(MOST_QUOTED).map_or(word.len(), |(at, _)| at);
    let more = if end < word.len() { "..." } else { "" };
    let message = if word.is_empty() {
        "an attach point is missing".into()
    } else {
        format!("Invalid probe type: {}{more}", &word[..end])
    };
    PointError { message, hint, range }
}

impl<'a> Parts<'a> {
    fn shape(&self) -> PointError {
        let name = self.provider.name;
        let wanted = match name {
            "begin" | "end" => "0",
            "tracepoint" | "self" => "2",
            "watchpoint" => "3",
            "usdt" => "2 or 3",
            "test" | "bench" => "",
            "uprobe" | "uretprobe" => "2",
            _ => "1 or 2",
        };
        let message = match self.parts.len() {
            _ if wanted.is_empty() => format!("{name} probes must have a name"),
            1 | 2 if matches!(name, "kprobe" | "kretprobe") => {
                "kprobes should be attached to a function or an address".into()
            }
            found if wanted.split(" or ").any(|n| n.parse() == Ok(found)) => format!("a part of this {name} is empty"),
            found => format!("{name} probe type requires {wanted} arguments, found {found}"),
        };
        PointError { message, hint: Some(self.syntax()), range: self.whole.clone() }
    }

    /// What to write; a provider with two forms has both quoted.
    fn syntax(&self) -> String {
        format!("write `{}`", self.provider.syntax.replace(" or ", "` or `"))
    }

    fn wrong(&self, part: &Part, message: String) -> PointError {
        PointError { message, hint: Some(self.syntax()), range: part.range.clone() }
    }

    fn exactly(&self, count: usize) -> Result<(), PointError> {
        if self.parts.len() == count { Ok(()) } else { Err(self.shape()) }
    }

    fn one(&self) -> Result<&'a Part, PointError> {
        match self.parts {
            [part] if !part.text.is_empty() => Ok(part),
            _ => Err(self.shape()),
        }
    }

    /// No part may be empty.
    fn filled(&self) -> Result<&'a [Part], PointError> {
        if self.parts.iter().any(|p| p.text.is_empty()) { Err(self.shape()) } else { Ok(self.parts) }
    }

    fn number(&self, part: &Part, what: &str) -> Result<u64, PointError> {
        let message = || match (self.provider.name, what) {
            (name @ ("software" | "hardware"), "count") => format!("{name} count should be a positive integer"),
            (name @ ("interval" | "profile"), "number") => format!("{name} frequency should be a positive integer"),
            _ => format!("`{}` is no {what}", part.text),
        };
        // A duration beside a unit of time is taken as the number of its nanoseconds, as in bpftrace.
        let of_time = what == "number" || (what == "count" && self.provider.name == "software");
        let value = if of_time { integer_or_duration(&part.text) } else { integer(&part.text) };
        value.ok_or_else(|| self.wrong(part, message()))
    }

    fn signal(&self) -> Answer {
        let [kind, name] = self.filled()? else { return Err(self.shape()) };
        if kind.text != "signal" {
            return Err(self.wrong(kind, format!("{} is not a supported trigger", kind.text)));
        }
        let number = signal_number(&name.text).filter(|n| *n == 10);
        let unsupported = || self.wrong(name, format!("{} is not a supported signal", name.text));
        number.map(PointPattern::SelfSignal).ok_or_else(unsupported)
    }

    fn timed(&self) -> Answer {
        let profile = self.provider.name == "profile";
        let (rate, written) = match self.filled()? {
            [duration] => {
                let ns = duration_ns(&duration.text)
                    .ok_or_else(|| self.wrong(duration, format!("`{}` is no duration", duration.text)))?;
                (Rate::PeriodNs(ns), format!("us:{}", ns / 1000))
            }
            [unit, number] => (self.rate(unit, number)?, format!("{}:{}", unit.text, self.number(number, "number")?)),
            _ => return Err(self.shape()),
        };
        let period_ns = match rate {
            Rate::Hertz(hz) => 1_000_000_000 / hz,
            Rate::PeriodNs(ns) => ns,
        };
        if period_ns < 1000 {
            let mut message = "the time between two firings can't be shorter than 1 microsecond".to_owned();
            if matches!(rate, Rate::Hertz(_)) {
                message = format!("Unable to attach probe: {}:{written}: {message}", self.provider.name);
            }
            return Err(PointError { message, ..self.shape() });
        }
        let written = written.into();
        Ok(if profile {
            PointPattern::Profile { rate, written }
        } else {
            PointPattern::Interval { period_ns, written }
        })
    }

    fn rate(&self, unit: &Part, number: &Part) -> Result<Rate, PointError> {
        let value = self.number(number, "number")?;
        if value == 0 {
            return Err(self.wrong(number, format!("{} frequency should be a positive integer", self.provider.name)));
        }
        let size = match unit.text.as_str() {
            "hz" => return Ok(Rate::Hertz(value)),
            "s" => 1_000_000_000,
            "ms" => 1_000_000,
            "us" => 1_000,
            other => return Err(self.wrong(unit, format!("{other} is not an accepted unit of time"))),
        };
        let too_long = || self.wrong(number, format!("`{}` is too long", number.text));
        value.checked_mul(size).map(Rate::PeriodNs).ok_or_else(too_long)
    }

    fn tracepoint(&self) -> Answer {
        match self.filled()? {
            [category, event] => {
                Ok(PointPattern::Tracepoint { category: Glob::new(&category.text), event: Glob::new(&event.text) })
            }
            [event] if event.text.contains('*') => {
                Ok(PointPattern::Tracepoint { category: Glob::new("*"), event: Glob::new(&event.text) })
            }
            _ => Err(self.shape()),
        }
    }

    fn raw_tracepoint(&self) -> Answer {
        let (module, event) = self.module_and_name()?;
        Ok(PointPattern::RawTracepoint { module, event: Glob::new(&event.text) })
    }

    fn module_and_name(&self) -> Result<(Option<Glob>, &'a Part), PointError> {
        match self.filled()? {
            [name] => Ok((None, name)),
            [module, name] => Ok((Some(Glob::new(&module.text)), name)),
            _ => Err(self.shape()),
        }
    }

    fn kprobe(&self, ret: bool) -> Answer {
        let (module, place) = self.module_and_name()?;
        if module.is_none() && place.text.starts_with(|c: char| c.is_ascii_digit()) {
            let address = self.number(place, "address")?;
            return if ret {
                Err(self.wrong(place, "a return has no address".into()))
            } else {
                Ok(PointPattern::KprobeAddress(address))
            };
        }
        if let Some((function, signature)) = self.conditional(place)? {
            return Ok(PointPattern::Kprobe { module, function, signature: Some(signature), offset: 0, ret });
        }
        let (function, offset) = self.name_and_offset(place, ret)?;
        Ok(PointPattern::Kprobe { module, function, signature: None, offset, ret })
    }

    /// A pattern of functions with conditions on their types.
    fn conditional(&self, part: &Part) -> Result<Option<(Glob, Signature)>, PointError> {
        let (glob, signature) = Signature::split(&part.text).map_err(|message| self.wrong(part, message))?;
        Ok(signature.map(|signature| (glob, signature)))
    }

    fn name_and_offset(&self, part: &Part, ret: bool) -> Result<(Glob, u64), PointError> {
        // C++ and Rust names may hold a plus (`operator+`): only a number after it makes an offset.
        let Some((name, offset)) =
            part.text.rsplit_once('+').filter(|(_, n)| n.trim().starts_with(|c: char| c.is_ascii_digit()))
        else {
            return Ok((Glob::new(&part.text), 0));
        };
        let offset = integer(offset).ok_or_else(|| self.wrong(part, format!("`{offset}` is no offset")))?;
        if offset != 0 && ret {
            return Err(self.wrong(part, "Offset not allowed".into()));
        }
        if offset != 0 && name.contains('*') {
            return Err(self.wrong(part, "an offset belongs to one function, not to a pattern".into()));
        }
        Ok((Glob::new(name.trim()), offset))
    }

    fn fentry(&self, exit: bool) -> Answer {
        match self.filled()? {
            [kind, program] if kind.text == "bpf" => {
                Ok(PointPattern::FentryBpf { id: None, program: Glob::new(&program.text), exit })
            }
            [kind, id, program] if kind.text == "bpf" => {
                let id = u32::try_from(self.number(id, "program id")?).ok();
                Ok(PointPattern::FentryBpf { id, program: Glob::new(&program.text), exit })
            }
            _ => {
                let (module, function) = self.module_and_name()?;
                let (function, signature) =
                    Signature::split(&function.text).map_err(|message| self.wrong(function, message))?;
                Ok(PointPattern::Fentry { module, function, signature, exit })
            }
        }
    }

    fn uprobe(&self, ret: bool) -> Answer {
        let (binary, place) = match self.parts {
            [place] if !place.text.is_empty() => (String::new(), self.uprobe_place(place, ret)?),
            [binary, rest @ ..] if binary.text.contains('@') && !rest.is_empty() => self.line_place(binary, rest)?,
            [binary, place] if !place.text.is_empty() => (binary.text.clone(), self.uprobe_place(place, ret)?),
            [binary, language, name] if language.text == "cpp" && !name.text.is_empty() => {
                (binary.text.clone(), UprobePlace::Demangled(Glob::new(&name.text)))
            }
            // An unquoted C++ name: `uprobe:./a.out:A::b`.
            [binary, rest @ ..] if rest.len() >= 3 => {
                let name: Vec<&str> = rest.iter().map(|p| p.text.as_str()).collect();
                let name = name.join(":");
                let demangled = name.strip_prefix("cpp:").unwrap_or(&name);
                (binary.text.clone(), UprobePlace::Demangled(Glob::new(demangled)))
            }
            _ => return Err(self.shape()),
        };
        Ok(PointPattern::Uprobe { binary: Glob::new(&binary), place, ret })
    }

    fn uprobe_place(&self, part: &Part, ret: bool) -> Result<UprobePlace, PointError> {
        if part.text.starts_with(|c: char| c.is_ascii_digit()) {
            return self.number(part, "address").map(UprobePlace::Address);
        }
        let (name, offset) = self.name_and_offset(part, ret)?;
        Ok(UprobePlace::Symbol { name, offset })
    }

    /// `BINARY@FILE:LINE[:COLUMN]`.
    fn line_place(&self, binary: &Part, rest: &[Part]) -> Result<(String, UprobePlace), PointError> {
        let (path, file) = binary.text.split_once('@').ok_or_else(|| self.shape())?;
        let (line, column) = match rest {
            [line] => (line, None),
            [line, column] => (line, Some(self.number(column, "column")?)),
            _ => return Err(self.shape()),
        };
        let line = u32::try_from(self.number(line, "line")?).map_err(|_| self.shape())?;
        let column = column.map(u32::try_from).transpose().map_err(|_| self.shape())?;
        Ok((path.to_owned(), UprobePlace::Line { file: file.into(), line, column }))
    }

    fn usdt(&self) -> Answer {
        let (binary, provider, name) = match self.parts {
            [name] => ("", None, name),
            [binary, name] => (binary.text.as_str(), None, name),
            [binary, provider, name] => (binary.text.as_str(), Some(provider.text.as_str()), name),
            _ => return Err(self.shape()),
        };
        if name.text.is_empty() {
            return Err(self.shape());
        }
        let provider = provider.filter(|p| !p.is_empty()).map(Glob::new);
        Ok(PointPattern::Usdt { binary: Glob::new(binary), provider, name: Glob::new(&name.text) })
    }

    fn perf(&self) -> Answer {
        // `software:cpu:` is how listings write it.
        let (event, count) = match self.parts {
            [event] => (event, None),
            [event, count] if count.text.is_empty() => (event, None),
            // A count of 0 is the usual one.
            [event, count] => (event, Some(self.number(count, "count")?).filter(|n| *n != 0)),
            _ => return Err(self.shape()),
        };
        if event.text.is_empty() {
            return Err(self.shape());
        }
        let event = Glob::new(&event.text);
        Ok(if self.provider.name == "software" {
            PointPattern::Software { event, count }
        } else {
            PointPattern::Hardware { event, count }
        })
    }

    fn watchpoint(&self) -> Answer {
        let [address, length, mode] = self.filled()? else { return Err(self.shape()) };
        let bytes = self.number(length, "length")?;
        if !matches!(bytes, 1 | 2 | 4 | 8) {
            return Err(self.wrong(length, "watchpoint length must be one of (1,2,4,8)".into()));
        }
        let mut bits = 0_u8;
        for c in mode.text.chars() {
            let bit = match c {
                'r' => 1,
                'w' => 2,
                'x' => 4,
                _ => return Err(self.wrong(mode, format!("invalid watchpoint mode: {}", mode.text))),
            };
            if bits & bit != 0 {
                return Err(self.wrong(mode, format!("`{c}` stands there twice")));
            }
            bits |= bit;
        }
        if bits & 4 != 0 && bits != 4 {
            return Err(self.wrong(mode, "x can't be combined with r or w".into()));
        }
        let at = self.number(address, "address")?;
        if at == 0 {
            return Err(self.wrong(address, "watchpoint must be attached to a non-zero address".into()));
        }
        Ok(PointPattern::Watchpoint { address: at, length: bytes as u8, mode: bits })
    }

    fn iter(&self) -> Answer {
        let (kind, pin) = match self.filled()? {
            [kind] => (kind, None),
            [kind, pin] => (kind, Some(pin.text.as_str().into())),
            _ => return Err(self.shape()),
        };
        Ok(PointPattern::Iter { kind: kind.text.as_str().into(), pin })
    }
}
