//! What a probe does not have.

use crate::lang::bt::builtins::argument_number;
use crate::lang::codes::check::NOT_IN_PROBE;
use crate::lang::source::Span;
use crate::lang::typed::Expr;

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::frame::Kind;

/// Reports that a name means nothing in this kind of probe.
pub fn not_here(c: &mut Checker<'_>, name: &str, span: Span, help: Option<&str>) -> Expr {
    let kind = c.frame.kind.name();
    let message = match name {
        "args" => format!(
            "The args builtin can only be used with tracepoint, rawtracepoint, fentry/fexit, and uprobe probes \
             ({kind} used here)"
        ),
        "retval" => {
            let instead = if c.frame.kind == Kind::Tracepoint { " (try to use args.ret instead)" } else { "" };
            format!("The retval builtin can only be used with 'kretprobe' and 'uretprobe' and 'fentry' probes{instead}")
        }
        "ctx" | "func" => format!("The {name} builtin can not be used with '{kind}' probes"),
        _ if argument_number(name, "arg").is_some() => {
            format!("The {name} builtin can only be used with 'kprobes', 'uprobes' and 'usdt' probes")
        }
        _ => format!("{name} can not be used with \"{kind}\" probes"),
    };
    c.error_help(NOT_IN_PROBE, span, message, help.map(str::to_owned));
    Checker::error_value(span)
}
