//! Questions that are asked of a probe by one key: clauses that answer them.

use super::keys::Intent;
use crate::tui::data::effect::{Detail, Field};

/// Fields that are printed or counted at most.
const MOST: usize = 4;

/// What a field's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Text,
    TextPointer,
    Pointer,
    Other,
}

fn kind(field: &Field) -> Kind {
    let ty = field.ty.trim();
    let has_words = |word: &str| ty.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == word);
    match ty {
        _ if has_words("char") && ty.ends_with('*') && ty.matches('*').count() == 1 => Kind::TextPointer,
        _ if has_words("char") && ty.contains('[') => Kind::Text,
        _ if ty.contains('*') => Kind::Pointer,
        _ if ty.contains('[') || has_words("struct") || has_words("union") || ty.is_empty() => Kind::Other,
        _ => Kind::Number,
    }
}

/// The end of a name, as a part of names of maps.
fn short(name: &str) -> String {
    let last = name.rsplit(':').next().unwrap_or(name);
    last.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(40).collect()
}

/// Where what a probe stands for begins and ends, where both can be traced.
fn ends(name: &str) -> Option<(String, String)> {
    const PAIRS: [(&str, &str); 4] = [
        ("tracepoint:syscalls:sys_enter_", "tracepoint:syscalls:sys_exit_"),
        ("kprobe:", "kretprobe:"),
        ("uprobe:", "uretprobe:"),
        ("fentry:", "fexit:"),
    ];
    PAIRS.iter().find_map(|(begin, end)| {
        let rest = name.strip_prefix(begin).or_else(|| name.strip_prefix(end))?;
        Some((format!("{begin}{rest}"), format!("{end}{rest}")))
    })
}

fn clause(name: &str, body: &str) -> String {
    format!("{name}\n{{\n{body}}}\n")
}

fn arguments(detail: &Detail) -> Result<String, String> {
    let mut format = String::from("%s %d");
    let mut values = String::from("comm, pid");
    for field in detail.fields.iter().filter(|f| f.name != "args.__syscall_nr").take(2 * MOST) {
        let (shown, value) = match kind(field) {
            Kind::Number => ("%lld", field.name.clone()),
            Kind::Text => ("%s", field.name.clone()),
            Kind::TextPointer => ("%s", format!("str({})", field.name)),
            Kind::Pointer => ("%p", field.name.clone()),
            Kind::Other => continue,
        };
        format.push_str(&format!(" {}={shown}", field.name.trim_start_matches("args.")));
        values.push_str(&format!(", {value}"));
    }
    if values == "comm, pid" {
        return Err(format!("nothing is known of the arguments of {}", detail.name));
    }
    Ok(clause(&detail.name, &format!("    printf(\"{format}\\n\", {values});\n")))
}

fn distribution(detail: &Detail) -> Result<String, String> {
    let numbers = detail.fields.iter().filter(|f| kind(f) == Kind::Number && f.name != "args.__syscall_nr");
    let body: String = numbers
        .take(MOST)
        .map(|f| {
            format!("    @{}_{} = hist({});\n", short(&detail.name), short(f.name.trim_start_matches("args.")), f.name)
        })
        .collect();
    if body.is_empty() {
        return Err(format!("no argument of {} is known to be a number", detail.name));
    }
    Ok(clause(&detail.name, &body))
}

fn latency(detail: &Detail, slower: bool) -> Result<String, String> {
    let Some((begin, end)) = ends(&detail.name) else {
        return Err(format!("{} is one moment: entry and return are those of functions and system calls", detail.name));
    };
    let short = short(&detail.name).replace("sys_enter_", "").replace("sys_exit_", "");
    let (start, took) = (format!("@start_{short}[tid]"), format!("(nsecs - @start_{short}[tid]) / 1000"));
    let first = clause(&begin, &format!("    {start} = nsecs;\n"));
    let body = if slower {
        format!(
            "    $us = {took};\n    if ($us > 1000) {{\n        printf(\"%s %d %lld us\\n\", comm, tid, $us);\n    }}\n"
        )
    } else {
        format!("    @us_{short} = hist({took});\n")
    };
    let second = clause(&format!("{end}\n/{start}/"), &format!("{body}    delete({start});\n"));
    Ok(format!("{first}\n{second}"))
}

/// The clauses that answer a question, in bpftrace's language.
///
/// # Errors
/// Says why the probe has no answer to it.
pub fn clauses(question: Intent, detail: &Detail) -> Result<String, String> {
    let short = short(&detail.name);
    match question {
        Intent::Arguments => arguments(detail),
        Intent::Distribution => distribution(detail),
        Intent::Latency => latency(detail, false),
        Intent::Slower => latency(detail, true),
        Intent::Stacks => Ok(clause(&detail.name, &format!("    @stacks_{short}[comm, ustack, kstack] = count();\n"))),
        _ => Ok(clause(&detail.name, &format!("    @calls_{short}[comm] = count();\n"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detail(name: &str) -> Detail {
        let field = |name: &str, ty: &str| Field { name: name.into(), ty: ty.into() };
        let fields = vec![
            field("args.__syscall_nr", "int"),
            field("args.file", "struct file *"),
            field("args.filename", "const char *"),
            field("args.count", "size_t"),
            field("args.addr", "struct sockaddr"),
        ];
        Detail { name: name.into(), fields, ..Detail::default() }
    }

    #[test]
    fn questions_become_clauses() {
        let answer = |question: Intent, name: &str| clauses(question, &detail(name)).unwrap();
        assert_eq!(
            answer(Intent::Count, "kprobe:vfs_read"),
            "kprobe:vfs_read\n{\n    @calls_vfs_read[comm] = count();\n}\n"
        );
        assert_eq!(
            answer(Intent::Arguments, "fentry:f"),
            "fentry:f\n{\n    printf(\"%s %d file=%p filename=%s count=%lld\\n\", comm, pid, args.file, str(args.filename), args.count);\n}\n"
        );
        assert_eq!(answer(Intent::Distribution, "fentry:f"), "fentry:f\n{\n    @f_count = hist(args.count);\n}\n");
        let latency = answer(Intent::Latency, "tracepoint:syscalls:sys_exit_read");
        assert!(latency.starts_with("tracepoint:syscalls:sys_enter_read\n{\n    @start_read[tid] = nsecs;\n}\n"));
        assert!(
            latency.contains(
                "sys_exit_read\n/@start_read[tid]/\n{\n    @us_read = hist((nsecs - @start_read[tid]) / 1000);"
            )
        );
        assert!(answer(Intent::Slower, "kretprobe:vfs_read").starts_with("kprobe:vfs_read\n"));
        assert_eq!(short("uprobe:/lib/libc.so.6:ns::f<int>"), "f_int_");
        let why = clauses(Intent::Latency, &detail("tracepoint:sched:sched_switch")).unwrap_err();
        assert!(why.contains("is one moment"), "{why}");
    }
}
