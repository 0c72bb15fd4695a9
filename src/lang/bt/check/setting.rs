//! Settings of a script: from its `config` block and from its caller.

use std::ops::RangeInclusive;

use crate::lang::bt::{ast, settings};
use crate::lang::codes::check::{BAD_SETTING, UNKNOWN_SETTING};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, MissingProbes};
use crate::lang::types::StackMode;

use crate::lang::bt::check::checker::Checker;
use crate::lang::bt::check::literal::{boolean, constant, string};
use crate::lang::bt::check::suggest;

/// Licences with which the kernel lets programs call what is reserved to the GPL
/// (`license_is_gpl_compatible`, include/linux/license.h).
const LICENSES: &[&str] =
    &["Dual MIT/GPL", "Dual BSD/GPL", "Dual MPL/GPL", "GPL and additional rights", "GPL v2", "GPL"];

/// `config().name`: a setting as it is, a constant.
pub fn setting_value(c: &mut Checker<'_>, name: &ast::Name, span: Span) -> Expr {
    let given = c.settings.get(&*name.text).cloned();
    let default = readable().find(|s| s.name == &*name.text).map(|s| s.default.to_owned());
    let Some(value) = given.or(default) else {
        let help = suggest::did_you_mean(&name.text, readable().map(|s| s.name));
        c.error_help(UNKNOWN_SETTING, name.span, format!("{}: not a known configuration option", name.text), help);
        return Checker::error_value(span);
    };
    match value.as_str() {
        "true" => boolean(true, span),
        "false" => boolean(false, span),
        text => match text.parse::<i64>() {
            Ok(number) => constant(number, span),
            Err(_) => string(&text.into(), span),
        },
    }
}

/// Refuses a feature that the script's own settings forbid, warns of one that they say to warn of.
pub fn refuse_unstable(c: &mut Checker<'_>, feature: &str, span: Span) {
    let setting = format!("unstable_{feature}");
    match c.settings.get(setting.as_str()).map(String::as_str) {
        Some("error") => {
            let message = format!(
                "{feature} feature is not enabled by default. To enable this unstable feature, set the config flag \
                 to enable. {setting}=enable"
            );
            c.error(BAD_SETTING, span, message);
        }
        Some("warn") => {
            let message = format!(
                "Script is using an unstable feature: {feature}. To prevent this warning you must explicitly \
                 enable it in the config e.g. {setting}=enable"
            );
            // It is about the script as a whole, as bpftrace says it.
            c.warn(BAD_SETTING, Span::default(), message, None);
        }
        _ => {}
    }
}

/// Applies a setting; `span` is the whole of it, nothing for one from outside the script.
pub fn apply_setting(c: &mut Checker<'_>, name: &str, value: &str, span: Span) {
    let Some(known) = settings::find(name) else {
        if ENVIRONMENT.contains(&name) {
            let message = format!("{name}: can only be set as an environment variable");
            return c.error(UNKNOWN_SETTING, span, message);
        }
        let help = suggest::did_you_mean(name, settings::SETTINGS.iter().map(|s| s.name));
        let message = format!("{name}: not a known configuration option");
        return c.error_help(UNKNOWN_SETTING, span, message, help);
    };
    let value = &*canonical(known, value);
    c.settings.insert(name.to_owned(), value.to_owned());
    if let Some(message) = refusal(known, value) {
        return c.error(BAD_SETTING, span, message);
    }
    let on = value == "true";
    match name {
        "max_map_keys" => number(c, name, value, 1..=1 << 26, span, |c, n| c.config.max_map_keys = n as u32),
        "max_strlen" => number(c, name, value, 1..=1 << 20, span, |c, n| c.config.max_strlen = n as u32),
        "max_cat_bytes" => number(c, name, value, 1..=1 << 30, span, |c, n| c.config.max_cat_bytes = n as u32),
        "perf_rb_pages" => number(c, name, value, 0..=1 << 18, span, |c, n| {
            c.config.ring_bytes = if n == 0 { 0 } else { (n.next_power_of_two() * 4096) as u32 };
        }),
        "log_size" | "max_probes" | "max_bpf_progs" | "on_stack_limit" => {
            number(c, name, value, 0..=u64::MAX, span, |_, _| {});
        }
        "print_maps_on_exit" => c.config.print_maps_on_exit = on,
        "cpp_demangle" => c.config.demangle = on,
        "lazy_symbolication" => c.config.lazy_symbolication = on,
        "str_trunc_trailer" => c.config.str_trunc_trailer = value.into(),
        "dummy_ts_map" => c.series_clock = Some(value.into()),
        "license" => c.config.license = value.into(),
        "unwind_tables" => c.config.unwind_tables = on,
        "stack_mode" => c.config.stack_mode = stack_mode(value).unwrap_or(c.config.stack_mode),
        "missing_probes" => {
            c.config.missing_probes = match value {
                "warn" => MissingProbes::Warn,
                "ignore" => MissingProbes::Ignore,
                _ => MissingProbes::Error,
            };
        }
        _ => {}
    }
}

fn number(
    c: &mut Checker<'_>,
    name: &str,
    value: &str,
    allowed: RangeInclusive<u64>,
    span: Span,
    set: impl FnOnce(&mut Checker, u64),
) {
    let parsed: Option<u64> = match value {
        "true" => Some(1),
        "false" => Some(0),
        text => text.parse().ok(),
    };
    let message = match parsed {
        Some(n) if allowed.contains(&n) => return set(c, n),
        Some(n) => format!("{name}: {n} is no number from {} to {}", allowed.start(), allowed.end()),
        None => format!("{name}: expecting a number, got {value}"),
    };
    c.error(BAD_SETTING, span, message);
}

/// Settings that `config()` can read when nothing sets them.
pub fn readable() -> impl Iterator<Item = &'static settings::Setting> {
    settings::SETTINGS.iter().filter(|s| !s.default.is_empty())
}

/// What bpftrace reads from its environment alone.
const ENVIRONMENT: &[&str] = &["btf", "kernel_build", "kernel_source", "vmlinux"];

/// Settings that are on or off, or let something in or not.
pub fn is_switch(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let known = settings::find(name.strip_prefix("bpftrace_").unwrap_or(&name));
    known.is_some_and(|s| matches!(s.words, settings::SWITCH | settings::UNSTABLE) || s.name == "cache_user_symbols")
}

/// A value in the words that the setting has for it: other words for yes and no, any case. Stack modes
/// are written in small letters.
fn canonical(setting: &settings::Setting, value: &str) -> String {
    let said = value.to_ascii_lowercase();
    match (setting.words, settings::truth(value)) {
        (settings::SWITCH, Some(truth)) => truth.to_string(),
        (settings::UNSTABLE, Some(truth)) => (if truth { "enable" } else { "error" }).to_owned(),
        _ if setting.name == "cache_user_symbols" => match &*said {
            "0" => "NONE".to_owned(),
            "1" => setting.default.to_owned(),
            _ => said.to_ascii_uppercase(),
        },
        _ if setting.name == "missing_probes" || setting.words == settings::UNSTABLE => said,
        _ => value.to_owned(),
    }
}

/// What is wrong about a value that is not among those the setting takes.
fn refusal(setting: &settings::Setting, value: &str) -> Option<String> {
    let name = setting.name;
    if name == "license" {
        let refused = !LICENSES.contains(&value);
        return refused
            .then(|| format!("Invalid value for license. Found: {value}. Valid values: {}.", LICENSES.join(", ")));
    }
    if setting.words == settings::SWITCH {
        let refused = !settings::SWITCH.contains(&value);
        return refused.then(|| format!("{name}: Invalid bool value: valid values are true, false, 1 or 0."));
    }
    let [others @ .., last] = setting.words else { return None };
    (!setting.words.contains(&value))
        .then(|| format!("{name}: Invalid value for {name}: valid values are {}, and {last}.", others.join(", ")))
}

/// A stack mode by its name.
pub fn stack_mode(name: &str) -> Option<StackMode> {
    Some(match name {
        "bpftrace" => StackMode::Bpftrace,
        "perf" => StackMode::Perf,
        "raw" => StackMode::Raw,
        "build_id" => StackMode::BuildId,
        _ => return None,
    })
}
