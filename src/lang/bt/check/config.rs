//! The `config` block and the settings that win over it.

use crate::lang::bt::{ast, constant};
use crate::lang::codes::check::{BAD_SETTING, UNKNOWN_SETTING, WITHOUT_EFFECT};
use crate::lang::source::Span;

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::setting;
use crate::lang::bt::check::setting::is_switch;

/// Applies what holds by default, then the `config` block, then what the caller sets.
pub fn read_config(c: &mut Checker<'_>, script: &ast::Script) {
    for (name, value) in c.options.config_defaults {
        setting::apply_setting(c, name, value, Span::default());
    }
    for item in &script.items {
        if let ast::Item::Config(settings, _) = item {
            for setting in settings {
                read_setting(c, setting);
            }
        }
    }
    for (name, value) in c.options.config_overrides {
        setting::apply_setting(c, &name.to_ascii_lowercase(), value, Span::default());
    }
}

fn read_setting(c: &mut Checker<'_>, setting: &ast::Setting) {
    let value = match &setting.value.kind {
        ast::ExprKind::Str(s) | ast::ExprKind::Ident(s) => s.to_string(),
        ast::ExprKind::Bool(b) => u64::from(*b).to_string(),
        ast::ExprKind::Error => return,
        _ => match constant::fold(&setting.value) {
            // A number turns a switch on unless it is 0.
            Some(v) if v != 0 && is_switch(&setting.name.text) => "1".to_owned(),
            Some(v) => v.to_string(),
            None => {
                c.error(BAD_SETTING, setting.value.span, "a setting's value must be a number, a word or a string");
                return;
            }
        },
    };
    let name = setting.name.text.to_ascii_lowercase();
    // The environment's spelling is accepted too.
    let name = name.strip_prefix("bpftrace_").unwrap_or(&name).to_owned();
    let span = setting.name.span.to(setting.value.span);
    if name == "max_type_res_iterations" && c.options.like_bpftrace {
        let message = format!("{} is deprecated and has no effect", setting.name.text);
        c.warn(WITHOUT_EFFECT, span, message, None);
    }
    match RENAMED.iter().find(|(old, _)| *old == name) {
        Some((_, new)) => {
            let message = format!("{} has been renamed, please use {new}", setting.name.text);
            c.warn(UNKNOWN_SETTING, span, message, None);
            setting::apply_setting(c, new, &value, span);
        }
        None => setting::apply_setting(c, &name, &value, span),
    }
}

/// Names that settings had, and those that they have now.
const RENAMED: &[(&str, &str)] = &[
    ("strlen", "max_strlen"),
    ("no_cpp_demangle", "cpp_demangle"),
    ("cat_bytes_max", "max_cat_bytes"),
    ("map_keys_max", "max_map_keys"),
];
