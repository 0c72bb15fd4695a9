//! The clause that the probe browser inserts: it compiles as it is and prints something useful.

use super::effect::Field;

/// Most fields printed.
const MOST: usize = 2;

/// A clause for a probe with these fields (`args.name` and C type).
#[must_use]
pub fn clause(name: &str, fields: &[Field]) -> String {
    let kind = name.split(':').next().unwrap_or(name);
    let body = match kind {
        "BEGIN" | "begin" => "printf(\"tracing, Ctrl-C ends\\n\");".to_owned(),
        "END" | "end" => "printf(\"done\\n\");".to_owned(),
        "interval" => "printf(\"%s\\n\", strftime(\"%H:%M:%S\", nsecs));".to_owned(),
        "profile" => "@[kstack] = count();".to_owned(),
        "software" | "hardware" => "@[comm] = count();".to_owned(),
        "kretprobe" | "uretprobe" => "@ = hist(retval);".to_owned(),
        _ => print(fields),
    };
    format!("{name}\n{{\n    {body}\n}}\n")
}

fn print(fields: &[Field]) -> String {
    let mut shown: Vec<(&str, String)> = fields.iter().filter_map(conversion).collect();
    if shown.iter().any(|(c, _)| *c == "%s") {
        shown.retain(|(c, _)| *c == "%s");
    }
    shown.truncate(MOST);
    let mut format = "%d %s".to_owned();
    let mut values = "pid, comm".to_owned();
    for (conversion, value) in shown {
        format.push(' ');
        format.push_str(conversion);
        values.push_str(", ");
        values.push_str(&value);
    }
    format!("printf(\"{format}\\n\", {values});")
}

/// How a field prints; none for what needs thought first (structs, buffers, padding).
fn conversion(field: &Field) -> Option<(&'static str, String)> {
    let (name, ty) = (field.name.as_str(), field.ty.trim());
    let last = name.rsplit('.').next().unwrap_or(name);
    if last.starts_with("__") || last == "mode" || !name.starts_with("args.") {
        return None;
    }
    if ty.ends_with('*') {
        let to_text = ty.contains("char") && !ty.contains("**") && !ty.contains("* const *");
        let reads = ["name", "path", "file", "str", "comm", "dev_"];
        return (to_text && reads.iter().any(|r| last.contains(r))).then(|| ("%s", format!("str({name})")));
    }
    if ty.contains("char[") || ty.contains("char [") || (ty.contains('[') && ty.contains("char")) || ty == "string" {
        return Some(("%s", name.to_owned()));
    }
    let wide = ["int", "long", "short", "_t", "u8", "u16", "u32", "u64", "s32", "s64", "bool", "char"];
    let plain = !ty.contains('[') && !ty.starts_with("struct ") && !ty.starts_with("union ");
    (plain && wide.iter().any(|w| ty.ends_with(w))).then(|| ("%d", name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_printed_as_text_and_numbers_as_numbers() {
        let field = |name: &str, ty: &str| Field { name: name.into(), ty: ty.into() };
        let fields = [
            field("args.__syscall_nr", "int"),
            field("args.dfd", "int"),
            field("args.filename", "const char *"),
            field("args.flags", "int"),
            field("args.buf", "const char *"),
        ];
        assert_eq!(
            clause("tracepoint:syscalls:sys_enter_openat", &fields),
            "tracepoint:syscalls:sys_enter_openat\n{\n    printf(\"%d %s %s\\n\", pid, comm, str(args.filename));\n}\n"
        );
        assert_eq!(clause("BEGIN", &[]).lines().count(), 4);
    }
}
