//! tracefs: where it is, which events it has, and how their records are laid out.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::read;
use super::roots::Roots;
use super::{Absence, KernelError};

/// Largest list of events that is read, bytes (a full kernel has about 100 KiB).
const MAX_EVENTS: u64 = 16 << 20;

/// Category and name of an event.
pub type EventName = (Arc<str>, Arc<str>);

/// One field of a tracepoint's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name.
    pub name: Arc<str>,
    /// Type as the kernel wrote it, without array size and `__data_loc`: `const char *`, `pid_t`.
    pub ty: Arc<str>,
    /// Byte offset in the record.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// Two's complement.
    pub signed: bool,
    /// Number of elements of an array (`char comm[16]`), `Some(0)` for one without a size.
    pub array: Option<u32>,
    /// The field is a `u32` that tells where the data is in the record.
    pub dynamic: Option<Dynamic>,
    /// One of the `common_` fields that every event has.
    pub common: bool,
}

/// Where data of a variable-length field is: low 16 bits offset, high 16 bits length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dynamic {
    /// `__data_loc`: the offset counts from the start of the record.
    FromRecord,
    /// `__rel_loc`: the offset counts from the end of the field itself.
    FromField,
}

impl Field {
    /// The field as `bpftrace -lv` prints it: `char comm[16]`, `const char * filename`.
    #[must_use]
    pub fn declaration(&self) -> String {
        let place = match self.dynamic {
            Some(Dynamic::FromRecord) => "__data_loc ",
            Some(Dynamic::FromField) => "__rel_loc ",
            None => "",
        };
        match (self.dynamic, self.array) {
            (Some(_), _) => format!("{place}{}[] {}", self.ty, self.name),
            (None, Some(0)) => format!("{} {}[]", self.ty, self.name),
            (None, Some(n)) => format!("{} {}[{n}]", self.ty, self.name),
            (None, None) => format!("{} {}", self.ty, self.name),
        }
    }
}

/// Layout of a tracepoint's record, from `events/CATEGORY/EVENT/format`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracepointFormat {
    /// Category.
    pub category: Arc<str>,
    /// Event.
    pub event: Arc<str>,
    /// Number for `perf_event_attr.config`.
    pub id: u32,
    /// All fields in order of the file, `common_` ones first.
    pub fields: Arc<[Field]>,
    /// The kernel's own format for the trace file.
    pub print_fmt: Arc<str>,
}

impl TracepointFormat {
    /// Fields of this event alone.
    pub fn own_fields(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|f| !f.common)
    }

    /// A field by name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|f| &*f.name == name)
    }

    /// Where the plain fields end: those that do not tell where something else lies.
    #[must_use]
    pub fn plain_end(&self) -> u32 {
        self.fields.iter().filter(|f| f.dynamic.is_none()).map(|f| f.offset.saturating_add(f.size)).max().unwrap_or(0)
    }

    /// Bytes of the record's fixed part.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.fields.iter().map(|f| f.offset.saturating_add(f.size)).max().unwrap_or(0)
    }

    /// Reads the text of a `format` file.
    ///
    /// # Errors
    /// With the part that makes no sense.
    pub fn parse(category: &str, event: &str, text: &str) -> Result<Self, String> {
        let mut id = None;
        let mut print_fmt = "";
        let mut fields = Vec::new();
        for line in text.lines() {
            if let Some(number) = line.strip_prefix("ID:") {
                id = number.trim().parse().ok();
            } else if let Some(format) = line.strip_prefix("print fmt:") {
                print_fmt = format.trim();
            } else if let Some(field) = line.trim_start().strip_prefix("field:") {
                fields.push(parse_field(field).ok_or_else(|| format!("field `{}`", field.trim()))?);
            }
        }
        Ok(Self {
            category: category.into(),
            event: event.into(),
            id: id.ok_or("it has no ID")?,
            fields: fields.into(),
            print_fmt: print_fmt.into(),
        })
    }
}

/// `char prev_comm[16];` and then `offset:8;`, `size:16;`, `signed:0;`, with tabs between them.
fn parse_field(text: &str) -> Option<Field> {
    let mut parts = text.split(';').map(str::trim);
    let declaration = parts.next()?;
    let (mut offset, mut size, mut signed) = (None, None, false);
    for (key, value) in parts.filter_map(|p| p.split_once(':')) {
        match key {
            "offset" => offset = value.trim().parse::<u32>().ok(),
            "size" => size = value.trim().parse::<u32>().ok(),
            "signed" => signed = value.trim() == "1",
            _ => {}
        }
    }
    let (offset, size) = (offset?, size?);
    // perf hands records of at most 8 KiB to programs (PERF_MAX_TRACE_SIZE).
    if offset > 1 << 16 || size > 1 << 16 {
        return None;
    }
    let (dynamic, declaration) = dynamic_place(declaration);
    let (ty, name, array) = split_declaration(declaration, size)?;
    Some(Field {
        common: name.starts_with("common_"),
        name: name.into(),
        ty: ty.into(),
        offset,
        size,
        signed,
        array: if dynamic.is_some() { None } else { array },
        dynamic,
    })
}

fn dynamic_place(declaration: &str) -> (Option<Dynamic>, &str) {
    if let Some(rest) = declaration.strip_prefix("__data_loc ") {
        (Some(Dynamic::FromRecord), rest)
    } else if let Some(rest) = declaration.strip_prefix("__rel_loc ") {
        (Some(Dynamic::FromField), rest)
    } else {
        (None, declaration)
    }
}

/// Type, name and array length of `char comm[16]`, `char[] name`, `const char * filename`.
fn split_declaration(declaration: &str, size: u32) -> Option<(&str, &str, Option<u32>)> {
    let (declaration, array) = match declaration.strip_suffix(']') {
        Some(_) => {
            let (before, lengths) = declaration.split_once('[')?;
            (before.trim_end(), Some(array_length(before, lengths, size)))
        }
        None => (declaration, None),
    };
    let at = declaration.rfind(|c: char| !(c.is_alphanumeric() || c == '_'))? + 1;
    let (ty, name) = (declaration.get(..at)?.trim_end(), declaration.get(at..)?);
    let (ty, array) = match ty.strip_suffix("[]") {
        Some(element) => (element.trim_end(), Some(0)),
        None => (ty, array),
    };
    (!name.is_empty() && !ty.is_empty()).then_some((ty, name, array))
}

/// Elements of `16]` or `2][3]`. A length may be a constant's name (`TASK_COMM_LEN`): the field's
/// size then tells, for elements of one byte.
fn array_length(before: &str, lengths: &str, size: u32) -> u32 {
    let bytes = before.starts_with("char") || before.starts_with("u8 ");
    let unknown = if bytes { size } else { 0 };
    let parts = lengths.trim_end_matches(']').split("][");
    parts.map(|n| n.trim().parse::<u32>()).try_fold(1_u32, |all, n| n.ok()?.checked_mul(all)).unwrap_or(unknown)
}

/// The mounted tracefs.
pub(super) fn find(roots: &Roots) -> Result<PathBuf, Absence> {
    let candidates = [roots.tracefs.clone(), roots.sys.join("kernel/debug/tracing")];
    if let Some(found) = candidates.iter().find(|c| c.join("events").is_dir()) {
        return Ok(found.clone());
    }
    let denied = candidates
        .iter()
        .any(|c| std::fs::metadata(c.join("events")).is_err_and(|e| e.kind() == ErrorKind::PermissionDenied));
    let absence = |reason: &str, remedy: &str| Absence::new("tracefs", reason, remedy);
    Err(if denied {
        absence(&format!("{} may not be read", roots.tracefs.display()), "run as root, or with CAP_DAC_READ_SEARCH")
    } else if roots.tracefs.is_dir() {
        let command = format!("mount -t tracefs tracefs {}", roots.tracefs.display());
        absence(&format!("it is not mounted at {}", roots.tracefs.display()), &command)
    } else {
        absence("the kernel has no such file system", "boot a kernel built with CONFIG_TRACING=y (CONFIG_FTRACE)")
    })
}

/// Mounts tracefs at its place when it is not mounted yet.
///
/// # Errors
/// When it is missing and may not be mounted, with what to do.
pub fn mount_tracefs(roots: &Roots) -> Result<PathBuf, Absence> {
    let absence = match find(roots) {
        Ok(found) => return Ok(found),
        Err(absence) => absence,
    };
    // Where it is there but closed, mounting it again helps nobody.
    let closed =
        std::fs::metadata(roots.tracefs.join("events")).is_err_and(|e| e.kind() == ErrorKind::PermissionDenied);
    if closed || !roots.tracefs.is_dir() {
        return Err(absence);
    }
    let flags =
        rustix::mount::MountFlags::NOSUID | rustix::mount::MountFlags::NODEV | rustix::mount::MountFlags::NOEXEC;
    rustix::mount::mount("tracefs", &roots.tracefs, "tracefs", flags, None).map_err(|e| {
        let reason = format!("{}; mounting it was refused: {e}", absence.reason);
        Absence::new("tracefs", &reason, &format!("as root: {}", absence.remedy))
    })?;
    find(roots)
}

pub(super) fn read_format(tracefs: &Path, category: &str, event: &str) -> Result<TracepointFormat, KernelError> {
    let missing = || KernelError::NoTracepoint { category: category.into(), event: event.into() };
    let plain = |name: &str| !name.is_empty() && !name.contains('/') && name != "." && name != "..";
    if !plain(category) || !plain(event) {
        return Err(missing());
    }
    let path = tracefs.join("events").join(category).join(event).join("format");
    let text = match read::small_text(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == ErrorKind::NotFound => return Err(missing()),
        Err(source) => return Err(KernelError::Read { path, source }),
    };
    TracepointFormat::parse(category, event, &text).map_err(|problem| KernelError::Malformed { path, problem })
}

pub(super) fn read_available_events(tracefs: &Path) -> Result<Vec<EventName>, Absence> {
    let path = tracefs.join("available_events");
    let text = read::text(&path, MAX_EVENTS).map_err(|e| {
        Absence::new(
            "list of tracepoints",
            &format!("{}: {e}", path.display()),
            "run as root, or with CAP_DAC_READ_SEARCH",
        )
    })?;
    let mut events: Vec<(&str, &str)> = text.lines().filter_map(|l| l.trim().split_once(':')).collect();
    events.sort_unstable();
    events.dedup();
    let mut category: Arc<str> = Arc::from("");
    let intern = |(c, e): (&str, &str)| {
        if &*category != c {
            category = c.into();
        }
        (Arc::clone(&category), Arc::from(e))
    };
    Ok(events.into_iter().map(intern).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "name: sample\nID: 42\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \n\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:__data_loc char[] filename;\toffset:24;\tsize:4;\tsigned:0;\n\
        \tfield:const char * path;\toffset:32;\tsize:8;\tsigned:0;\n\
        \tfield:char name[TASK_COMM_LEN];\toffset:40;\tsize:16;\tsigned:0;\n\
        \tfield:u8 a[2][3];\toffset:56;\tsize:6;\tsigned:0;\n\
        \tfield:int ret;\toffset:64;\tsize:4;\tsigned:1;\n\
        \nprint fmt: \"%s\", REC->comm\n";

    fn format() -> TracepointFormat {
        TracepointFormat::parse("c", "sample", FORMAT).unwrap()
    }

    #[test]
    fn fields_keep_their_place_and_type() {
        let format = format();
        assert_eq!(format.id, 42);
        let comm = format.field("comm").unwrap();
        assert_eq!((&*comm.ty, comm.array, comm.offset), ("char", Some(16), 8));
        let file = format.field("filename").unwrap();
        assert_eq!((&*file.ty, file.array, file.dynamic), ("char", None, Some(Dynamic::FromRecord)));
        assert_eq!(&*format.field("path").unwrap().ty, "const char *");
        assert!(format.field("ret").unwrap().signed);
        assert_eq!(format.field("name").unwrap().array, Some(16), "a constant's name falls back on the size");
        assert_eq!(format.field("a").unwrap().array, Some(6));
        assert_eq!(format.own_fields().count(), 6);
        assert_eq!(format.size(), 68);
    }

    #[test]
    fn declarations_read_as_the_kernel_wrote_them() {
        let texts: Vec<_> = format().own_fields().map(Field::declaration).collect();
        assert_eq!(texts[..3], ["char comm[16]", "__data_loc char[] filename", "const char * path"]);
    }

    #[test]
    fn nonsense_is_refused_not_guessed() {
        assert!(TracepointFormat::parse("c", "e", "ID: x\n").is_err());
        assert!(TracepointFormat::parse("c", "e", "ID: 1\n\tfield:int a;\toffset:-1;\tsize:4;\n").is_err());
        assert!(TracepointFormat::parse("c", "e", "ID: 1\n\tfield:;\toffset:1;\tsize:4;\n").is_err());
    }
}
