//! A script to start from.

use super::{DocField, Shown};

/// Most fields that a skeleton prints beside the process: a line stays readable.
const MOST: usize = 2;

/// `tracepoint:syscalls:sys_enter_openat` with a body that prints who did it and the first fields.
pub(super) fn skeleton(name: &str, fields: &[DocField]) -> String {
    let body = match name {
        "begin" | "BEGIN" => "    printf(\"Tracing... Hit Ctrl-C to end.\\n\");".to_owned(),
        "end" | "END" => "    printf(\"Done.\\n\");".to_owned(),
        _ if name.starts_with("interval:") => "    print(@);\n    clear(@);".to_owned(),
        _ if name.starts_with("profile:") || name.starts_with("hardware:") => "    @[comm] = count();".to_owned(),
        _ if name.starts_with("iter:") => "    printf(\"%s %d\\n\", ctx.task.comm, ctx.task.pid);".to_owned(),
        _ => print_fields(fields),
    };
    let before = if name.starts_with("interval:") {
        "tracepoint:raw_syscalls:sys_enter\n{\n    @[comm] = count();\n}\n\n"
    } else {
        ""
    };
    format!("{before}{name}\n{{\n{body}\n}}\n")
}

fn print_fields(fields: &[DocField]) -> String {
    let mut format = String::from("%s %d");
    let mut values = vec!["comm".to_owned(), "pid".to_owned()];
    // The best first: texts tell most. The order of the fields is kept.
    let printable: Vec<&DocField> =
        fields.iter().filter(|f| f.shown != Shown::Not && f.access != "args.__syscall_nr").collect();
    let texts = printable.iter().filter(|f| matches!(f.shown, Shown::Text | Shown::TextPointer)).count();
    let chosen: Vec<&DocField> = if texts > 0 && printable.len() > MOST {
        printable.into_iter().filter(|f| matches!(f.shown, Shown::Text | Shown::TextPointer)).take(MOST).collect()
    } else {
        printable.into_iter().take(MOST).collect()
    };
    for field in chosen {
        let (specifier, value) = match field.shown {
            Shown::Int => ("%d", field.access.clone()),
            Shown::Long => ("%lld", field.access.clone()),
            Shown::Text => ("%s", field.access.clone()),
            Shown::TextPointer => ("%s", format!("str({})", field.access)),
            Shown::Pointer | Shown::Not => ("%p", field.access.clone()),
        };
        format.push(' ');
        format.push_str(specifier);
        values.push(value);
    }
    format!("    printf(\"{format}\\n\", {});", values.join(", "))
}
