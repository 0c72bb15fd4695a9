//! Settings of a script: from its `config` block and from its caller.

use std::ops::RangeInclusive;

use crate::lang::bt::{ast, settings};
use crate::lang::codes::check::{BAD_SETTING, UNKNOWN_SETTING};
use crate::lang::diagnostic::Code;
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

/// What is wrong about a setting, wherever it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongSetting {
    code: Code,
    /// There is no setting of the name, or not here; else it is the value.
    pub is_of_name: bool,
    /// What.
    pub message: String,
    /// What may have been meant.
    pub help: Option<String>,
}

/// What is wrong about a setting's name or value; nothing where it can be applied.
#[must_use]
pub fn wrong_setting(name: &str, value: &str) -> Option<WrongSetting> {
    let Some(known) = settings::find(name) else { return Some(unknown(name)) };
    let value = canonical(known, value);
    let message = refusal(known, &value).or_else(|| number(known.name, &value)?.err())?;
    Some(WrongSetting { code: BAD_SETTING, is_of_name: false, message, help: None })
}

fn unknown(name: &str) -> WrongSetting {
    let (message, help) = if ENVIRONMENT.contains(&name) {
        (format!("{name}: can only be set as an environment variable"), None)
    } else {
        let help = suggest::did_you_mean(name, settings::SETTINGS.iter().map(|s| s.name));
        (format!("{name}: not a known configuration option"), help)
    };
    WrongSetting { code: UNKNOWN_SETTING, is_of_name: true, message, help }
}

/// Applies a setting; `span` is the whole of it, nothing for one from outside the script.
pub fn apply_setting(c: &mut Checker<'_>, name: &str, value: &str, span: Span) {
    let wrong = wrong_setting(name, value);
    if let Some(known) = settings::find(name) {
        let value = &*canonical(known, value);
        c.settings.insert(name.to_owned(), value.to_owned());
        if wrong.is_none() {
            apply(c, name, value);
        }
    }
    if let Some(wrong) = wrong {
        c.error_help(wrong.code, span, wrong.message, wrong.help);
    }
}

/// Applies a value that the setting takes.
fn apply(c: &mut Checker<'_>, name: &str, value: &str) {
    let on = value == "true";
    let n = number(name, value).and_then(Result::ok).unwrap_or(0);
    match name {
        "max_map_keys" => c.config.max_map_keys = n as u32,
        "max_strlen" => c.config.max_strlen = n as u32,
        "max_cat_bytes" => c.config.max_cat_bytes = n as u32,
        "perf_rb_pages" => c.config.ring_bytes = if n == 0 { 0 } else { (n.next_power_of_two() * 4096) as u32 },
        "print_maps_on_exit" => c.config.print_maps_on_exit = on,
        "cpp_demangle" => c.config.demangle = on,
        "lazy_symbolication" => c.config.lazy_symbolication = on,
        "str_trunc_trailer" => c.config.str_trunc_trailer = value.into(),
        "dummy_ts_map" => c.series_clock = Some(value.into()),
        "license" => c.config.license = value.into(),
        "unwind_tables" => c.config.unwind_tables = on,
        "skip_program_functions" => c.config.skip_program_functions = on,
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

/// The numbers that a setting takes; none where it takes words.
fn numbers(name: &str) -> Option<RangeInclusive<u64>> {
    Some(match name {
        "max_map_keys" => 1..=1 << 26,
        "max_strlen" => 1..=1 << 20,
        "max_cat_bytes" => 1..=1 << 30,
        "perf_rb_pages" => 0..=1 << 18,
        "log_size" | "max_probes" | "max_bpf_progs" | "on_stack_limit" => 0..=u64::MAX,
        _ => return None,
    })
}

/// The number that a setting is given, or what is wrong about it; nothing where the setting takes words.
fn number(name: &str, value: &str) -> Option<Result<u64, String>> {
    let allowed = numbers(name)?;
    let parsed: Option<u64> = match value {
        "true" => Some(1),
        "false" => Some(0),
        text => text.parse().ok(),
    };
    let range = format!("from {} to {}", allowed.start(), allowed.end());
    Some(match parsed {
        Some(n) if allowed.contains(&n) => Ok(n),
        Some(n) => Err(format!("{name}: {n} is no number {range}")),
        None => Err(format!("{name}: expecting a number {range}, got {value}")),
    })
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
