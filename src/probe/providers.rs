//! Semantic probes: places that mean the same on every kernel (`io:start`, `proc:exec-success`), each a row of data.
//!
//! A row says what the probe means, what its arguments are, and where it may be had: places of this kernel with a
//! condition and a translation of what is found there, written as expressions that the script's own language parses.
//! In them `args.NAME` is an argument of the place, and in a view's members `R` is the object that is looked at. Of
//! alternatives, the first that BTF and tracefs offer is taken, never one by the kernel's version.

mod counters;
mod io;
mod lockstat;
mod net;
mod proc;
mod requirements;
mod sched;
#[cfg(test)]
mod tests;
mod views;

use std::sync::Arc;

use super::expand::{ExpandError, ExpandOptions, expand};
use super::point::{self, PointPattern};
use crate::kernel::{Absence, Feature, Kernel};
use crate::model::target::Target;

/// What a kernel object looks like to scripts, by names that stay.
#[derive(Debug)]
pub struct View {
    /// Name of the struct in D.
    pub name: &'static str,
    /// The kernel's struct that `R` points to.
    pub root: &'static str,
    /// Members, those of several lists together.
    pub members: &'static [&'static [Member]],
}

/// A member of a view.
#[derive(Debug)]
pub struct Member {
    /// Name in D.
    pub name: &'static str,
    /// Type in D: an integer type's name, or `string`.
    pub ty: &'static str,
    /// How it is had; the first alternative whose members the kernel has.
    pub texts: &'static [&'static str],
    /// What it is.
    pub about: &'static str,
}

/// A value that a source gives for an argument.
#[derive(Clone, Copy, Debug)]
pub enum Given {
    /// An object, looked at by a view.
    Object(&'static View, &'static str),
    /// A number or text: its type in D, and how it is had.
    Plain(&'static str, &'static str),
    /// Nanoseconds since something began. The place is left out where it did not begin, and ends it.
    Since(&'static Begin),
}

/// Where what a place ends has begun, in the same thread: a wait.
#[derive(Debug)]
pub struct Begin {
    /// Attach point.
    pub point: &'static str,
    /// Begins only when this holds.
    pub when: &'static str,
    /// What tells it from others that are open in the thread, as a number that both places have.
    pub key: &'static str,
}

impl Given {
    /// Its type in D: an object's name has its star.
    #[must_use]
    pub fn d_type(&self) -> String {
        match self {
            Self::Object(view, _) => format!("{} *", view.name),
            Self::Plain(ty, _) => (*ty).to_owned(),
            Self::Since(_) => "uint64_t".to_owned(),
        }
    }

    /// The texts that name arguments of the place.
    fn texts(&self) -> &'static str {
        match self {
            Self::Object(_, text) | Self::Plain(_, text) => text,
            Self::Since(begin) => begin.key,
        }
    }
}

/// A place of the kernel where a semantic probe fires.
#[derive(Debug)]
pub struct Source {
    /// Attach point.
    pub point: &'static str,
    /// Fires only when this holds; empty for always.
    pub when: &'static str,
    /// The arguments in order; those behind the documented ones are for fields only.
    pub given: &'static [Given],
}

/// An argument as scripts name it: `args.bytes`.
#[derive(Debug)]
pub struct Field {
    /// Name.
    pub name: &'static str,
    /// Which of the given values.
    pub argument: usize,
    /// Which member of it; empty for a plain value.
    pub member: &'static str,
}

/// A field that is a member of an argument, or the argument itself where the member is empty.
const fn field(name: &'static str, argument: usize, member: &'static str) -> Field {
    Field { name, argument, member }
}

/// What the time since a [`Begin`] is called in texts.
pub const SINCE: &str = "since_begin";

/// A semantic probe.
#[derive(Debug)]
pub struct Row {
    /// Provider.
    pub provider: &'static str,
    /// Name.
    pub name: &'static str,
    /// When it fires.
    pub about: &'static str,
    /// What D's `args[0]` and on are: a type and what it is of.
    pub arguments: &'static [(&'static str, &'static str)],
    /// What `args.NAME` is.
    pub fields: &'static [Field],
    /// Where it fires: of each list the first that this kernel has.
    pub places: &'static [&'static [Source]],
}

/// All rows.
const TABLES: &[&[Row]] =
    &[counters::ROWS, io::ROWS, lockstat::ROWS, net::ROWS, net::CONNECTIONS, net::COUNTED, proc::ROWS, sched::ROWS];

/// All semantic probes, in the order of listings.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// Whether there are semantic probes of this provider.
#[must_use]
pub fn is_provider(name: &str) -> bool {
    rows().any(|row| row.provider == name)
}

/// The row of an attach point `provider:name`.
#[must_use]
pub fn row(point: &str) -> Option<&'static Row> {
    let (provider, name) = point.split_once(':')?;
    rows().find(|row| row.provider == provider && row.name == name)
}

impl Row {
    /// The attach point.
    #[must_use]
    pub fn point(&self) -> String {
        format!("{}:{}", self.provider, self.name)
    }
}

/// A source that this kernel has.
#[derive(Clone, Debug)]
pub struct Found {
    /// The probe.
    pub row: &'static Row,
    /// The place.
    pub source: &'static Source,
    /// What it attaches to.
    pub targets: Vec<Target>,
    /// Where what it ends has begun.
    pub begin: Option<(&'static Begin, Vec<Target>)>,
    kernel: Arc<requirements::Members>,
}

impl Found {
    /// The same at other targets.
    #[must_use]
    pub fn at(&self, targets: Vec<Target>) -> Self {
        Self { targets, ..self.clone() }
    }

    /// The condition, unless it always holds.
    #[must_use]
    pub fn when(&self) -> Option<&'static str> {
        Some(self.source.when).filter(|when| !when.is_empty())
    }

    /// How a member of an argument is had: its type in D and the expression.
    ///
    /// # Errors
    /// When there is none, or this kernel does not have it.
    pub fn member(&self, argument: usize, name: &str) -> Result<(&'static str, String), String> {
        match self.source.given.get(argument) {
            Some(Given::Object(view, base)) => {
                let member = view.member(name).ok_or_else(|| {
                    let known: Vec<&str> = view.all().map(|m| m.name).collect();
                    format!("{name} is not a member of {}, which has {}", view.name, known.join(", "))
                })?;
                let text = self
                    .kernel
                    .first(view.root, member.texts)
                    .map_err(|missing| format!("this kernel does not tell {name}: it has no {missing}"))?;
                Ok((member.ty, requirements::with_base(text, base)))
            }
            Some(Given::Plain(..) | Given::Since(_)) => {
                Err(format!("args[{argument}] is a plain value and has no member {name}"))
            }
            None => Err(format!("there is no args[{argument}] here")),
        }
    }

    /// A plain argument.
    #[must_use]
    pub fn plain(&self, argument: usize) -> Option<(&'static str, &'static str)> {
        match self.source.given.get(argument) {
            Some(Given::Plain(ty, text)) => Some((ty, text)),
            Some(Given::Since(_)) => Some(("uint64_t", SINCE)),
            _ => None,
        }
    }

    /// The object of an argument, as an expression.
    #[must_use]
    pub fn object(&self, argument: usize) -> Option<&'static str> {
        match self.source.given.get(argument) {
            Some(Given::Object(_, base)) => Some(base),
            _ => None,
        }
    }

    /// How a field is had: its type in D and the expression.
    ///
    /// # Errors
    /// When there is none of this name, or this kernel does not have it.
    pub fn field(&self, name: &str) -> Result<(&'static str, String), String> {
        let Some(field) = self.row.fields.iter().find(|f| f.name == name) else {
            let known: Vec<&str> = self.row.fields.iter().map(|f| f.name).collect();
            let known =
                if known.is_empty() { "it has none".to_owned() } else { format!("it has: {}", known.join(", ")) };
            return Err(format!("`{}` has no argument `{name}`; {known}", self.row.point()));
        };
        match self.plain(field.argument) {
            Some((ty, text)) => Ok((ty, text.to_owned())),
            None => self.member(field.argument, field.member),
        }
    }
}

impl View {
    /// All members.
    pub fn all(&self) -> impl Iterator<Item = &'static Member> {
        self.members.iter().flat_map(|list| list.iter())
    }

    /// A member by its name.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&'static Member> {
        self.all().find(|member| member.name == name)
    }
}

/// A view of what runs: `curpsinfo`, `curlwpsinfo`.
///
/// # Errors
/// When there is no such member, or this kernel does not have it.
pub fn current(kernel: &Kernel, word: &str, name: &str) -> Result<(&'static str, String), String> {
    let view = match word {
        "curpsinfo" => &views::PSINFO,
        "curlwpsinfo" => &views::LWPSINFO,
        _ => &views::CPUINFO,
    };
    let member = view.member(name).ok_or_else(|| format!("{name} is not a member of {}", view.name))?;
    let text = requirements::Members::of(kernel)
        .first(view.root, member.texts)
        .map_err(|missing| format!("this kernel does not tell {name}: it has no {missing}"))?;
    Ok((member.ty, requirements::with_base(text, "curtask")))
}

/// Where a semantic probe fires on this kernel.
///
/// # Errors
/// When it can't be had here: why, and what to do.
pub fn resolve(row: &'static Row, kernel: &Kernel) -> Result<Vec<Found>, Absence> {
    let members = Arc::new(requirements::Members::of(kernel));
    let mut found = Vec::new();
    let mut why = Vec::new();
    for alternatives in row.places {
        let mut reasons = Vec::new();
        let first = alternatives.iter().find_map(|source| match targets(source, kernel, &members) {
            Ok((targets, begin)) => Some(Found { row, source, targets, begin, kernel: Arc::clone(&members) }),
            Err(reason) => {
                reasons.push(format!("{}: {reason}", source.point));
                None
            }
        });
        match first {
            Some(source) => found.push(source),
            None => why.extend(reasons),
        }
    }
    if found.is_empty() {
        why.truncate(3);
        let reason = why.join("; ");
        let remedy = format!("look for what else tells it: `probescope list '{}:*'`", row.provider);
        return Err(Absence::new(&row.point(), &reason, &remedy));
    }
    Ok(found)
}

type Places = (Vec<Target>, Option<(&'static Begin, Vec<Target>)>);

fn targets(source: &'static Source, kernel: &Kernel, members: &requirements::Members) -> Result<Places, String> {
    let texts = std::iter::once(source.when).chain(source.given.iter().map(Given::texts));
    let targets = targets_of(source.point, texts, kernel, members)?;
    let begins =
        source.given.iter().find_map(|given| if let Given::Since(begin) = given { Some(*begin) } else { None });
    let begin = begins.map(|begin| {
        let texts = [begin.when, begin.key].into_iter();
        targets_of(begin.point, texts, kernel, members).map(|targets| (begin, targets))
    });
    Ok((targets, begin.transpose()?))
}

fn targets_of(
    point: &str,
    texts: impl Iterator<Item = &'static str>,
    kernel: &Kernel,
    members: &requirements::Members,
) -> Result<Vec<Target>, String> {
    let pattern = point::parse(point).map_err(|e| e.message)?;
    let feature = match &pattern {
        PointPattern::Fentry { .. } => Some(Feature::Fentry),
        PointPattern::Kprobe { .. } => Some(Feature::Kprobe),
        _ => None,
    };
    let absent = |absence: Absence| format!("no {} here ({})", absence.what, absence.reason);
    feature.map_or(Ok(()), |feature| kernel.features().require(feature)).map_err(absent)?;
    let targets = expand(&pattern, kernel, &ExpandOptions::default()).map_err(|e| match e {
        ExpandError::Absent(absence) => format!("no {} here ({})", absence.what, absence.reason),
        other => other.to_string().trim_end_matches('.').to_owned(),
    })?;
    let parameters = requirements::parameters(&pattern, kernel);
    for text in texts {
        members.meets(text, parameters.as_deref())?;
    }
    Ok(targets)
}
