//! A script to start from.

use super::{DocField, Shown};

/// Most fields that a skeleton prints beside the process: a line stays readable.
const MOST: usize = 2;

/// `tracepoint:syscalls:sys_enter_openat` with a body that prints who did it and the first fields.
pub(super) fn skeleton(name: &str, fields: &[DocField]) -> String {
    if let Some(buffer) = filled_later(name, fields) {
        return at_exit(name, buffer);
    }
    let body = match name {
        "begin" | "BEGIN" => "    printf(\"Tracing... Hit Ctrl-C to end.\\n\");".to_owned(),
        "end" | "END" => "    printf(\"Done.\\n\");".to_owned(),
        _ if name.starts_with("interval:") => "    print(@);\n    clear(@);".to_owned(),
        _ if name.starts_with("profile:") || name.starts_with("hardware:") => "    @[comm] = count();".to_owned(),
        _ if name.starts_with("iter:") => walk(fields),
        _ => print_fields(fields),
    };
    let before = if name.starts_with("interval:") {
        "tracepoint:raw_syscalls:sys_enter\n{\n    @[comm] = count();\n}\n\n"
    } else {
        ""
    };
    format!("{before}{name}\n{{\n{body}\n}}\n")
}

/// Names the task where the iterator has one; of other objects no two kinds have a member in common.
fn walk(fields: &[DocField]) -> String {
    let has_task = fields.iter().any(|f| f.access == "ctx.task");
    if has_task { "    printf(\"%s %d\\n\", ctx.task.comm, ctx.task.pid);" } else { "    @objects = count();" }
        .to_owned()
}

/// System calls that read texts which the kernel's authors did not declare `const`.
const TEXTS_GIVEN: [&str; 3] = ["mount", "sethostname", "setdomainname"];

/// A buffer that a system call fills: at its entry there is nothing in it yet.
fn filled_later<'f>(name: &str, fields: &'f [DocField]) -> Option<&'f DocField> {
    let call = name.strip_prefix("tracepoint:syscalls:sys_enter_").filter(|call| !TEXTS_GIVEN.contains(call));
    call.and_then(|_| fields.iter().find(|f| f.shown == Shown::TextPointer && !f.ty.contains("const")))
}

/// Remembers where the buffer is, and prints what is in it when the call returns its length.
fn at_exit(name: &str, buffer: &DocField) -> String {
    let exit = name.replacen(":sys_enter_", ":sys_exit_", 1);
    let kept = format!("@{}[tid]", buffer.access.trim_start_matches("args."));
    format!(
        "{name}\n{{\n    {kept} = {};\n}}\n\n{exit}\n/{kept}/\n{{\n    if (args.ret > 0) {{\n        \
         printf(\"%s %d %r\\n\", comm, pid, buf({kept}, args.ret));\n    }}\n    delete({kept});\n}}\n",
        buffer.access
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_iterators_with_a_task_name_it() {
        let field = |access: &str| DocField {
            declaration: String::new(),
            access: access.into(),
            ty: String::new(),
            shown: Shown::Pointer,
        };
        assert!(skeleton("iter:task_file", &[field("ctx.fd"), field("ctx.task")]).contains("ctx.task.comm"));
        assert_eq!(skeleton("iter:tcp", &[field("ctx.sk_common")]), "iter:tcp\n{\n    @objects = count();\n}\n");
    }
}
