//! The settings of the `config` block, for people.

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// Its default, as `config().name` gives it; empty where there is none.
    pub default: &'static str,
    /// The words it may be; empty for numbers and free text.
    pub words: &'static [&'static str],
    /// What it does, in a sentence.
    pub doc: &'static str,
}

const fn setting(
    name: &'static str,
    default: &'static str,
    words: &'static [&'static str],
    doc: &'static str,
) -> Setting {
    Setting { name, default, words, doc }
}

/// What a setting takes that is on or off; 0 and 1 say it too.
pub(super) const SWITCH: &[&str] = &["true", "false"];

/// What a setting takes that lets an unstable feature in.
pub(super) const UNSTABLE: &[&str] = &["enable", "warn", "error"];

/// All that do something here, and those that bpftrace's scripts have and that change nothing.
pub const SETTINGS: &[Setting] = &[
    setting("max_map_keys", "4096", &[], "Keys that a map can hold which names no size of its own."),
    setting("max_strlen", "1024", &[], "Bytes of a str() that names no length, its end included."),
    setting("missing_probes", "error", &["error", "warn", "ignore"], "What to do about probes that this kernel lacks."),
    setting(
        "skip_program_functions",
        "false",
        SWITCH,
        "Leave out of patterns what BPF programs run in themselves: the kernel skips them there, which costs as well.",
    ),
    setting("print_maps_on_exit", "true", SWITCH, "Print all maps when the script ends."),
    setting(
        "stack_mode",
        "bpftrace",
        &["bpftrace", "raw", "perf", "build_id"],
        "How kstack and ustack print their frames.",
    ),
    setting(
        "unwind_tables",
        "false",
        SWITCH,
        "Follow ustack by the unwinding tables of binaries (x86-64, Linux 5.17), where they have no frame pointers.",
    ),
    setting("str_trunc_trailer", "..", &[], "Written after strings that were cut."),
    setting("max_cat_bytes", "10240", &[], "Bytes that cat() prints of a file."),
    setting("perf_rb_pages", "0", &[], "Pages of the buffer that events pass through; 0 for the usual size."),
    setting("cpp_demangle", "true", SWITCH, "Show C++ and Rust names as they stand in the source."),
    setting(
        "lazy_symbolication",
        "false",
        SWITCH,
        "Look user addresses up when they are printed, not when they are seen.",
    ),
    setting("license", "GPL", &[], "The licence that the kernel is told."),
    setting("dummy_ts_map", "", &[], "The map whose time series give the clock of all."),
    setting("cache_user_symbols", "PER_PID", &["PER_PID", "PER_PROGRAM", "NONE"], "bpftrace's; changes nothing here."),
    setting("log_size", "1000000", &[], "bpftrace's; changes nothing here: the verifier's log is read in full."),
    setting("max_ast_nodes", "", &[], "bpftrace's; changes nothing here."),
    setting(
        "max_bpf_progs",
        "1024",
        &[],
        "Most places that bpftrace makes a program for each of: 1024 under its name, else no limit unless one is set.",
    ),
    setting("max_probes", "1024", &[], "Most probes of a script; there is no limit unless one is set."),
    setting("max_type_res_iterations", "", &[], "bpftrace's; changes nothing here."),
    setting(
        "symbol_source",
        "",
        &[],
        "bpftrace's; changes nothing here: user symbols come from debug and symbol tables.",
    ),
    setting("on_stack_limit", "32", &[], "bpftrace's; changes nothing here."),
    setting("show_debug_info", "true", SWITCH, "bpftrace's; changes nothing here."),
    setting("use_blazesym", "", SWITCH, "bpftrace's; changes nothing here."),
    setting("no_debuginfo", "", SWITCH, "bpftrace's; changes nothing here."),
    setting("unstable_dw_ustack", "", UNSTABLE, "bpftrace's; changes nothing here."),
    setting("unstable_import", "", UNSTABLE, "bpftrace's; changes nothing here."),
    setting("unstable_import_statement", "", UNSTABLE, "bpftrace's; changes nothing here."),
    setting("unstable_map_decl", "", UNSTABLE, "bpftrace's; changes nothing here."),
    setting("unstable_tseries", "", UNSTABLE, "Whether tseries() is accepted, warned of or refused."),
    setting("unstable_typeinfo", "", UNSTABLE, "Whether typeinfo() is accepted, warned of or refused."),
    setting("unstable_addr", "", UNSTABLE, "bpftrace's; changes nothing here."),
    setting("unstable_macro", "", UNSTABLE, "bpftrace's; changes nothing here."),
];

/// What bpftrace does where nothing is set, and this program only under its name.
pub const UNDER_ITS_NAME: &[(&str, &str)] =
    &[("max_bpf_progs", "1024"), ("unstable_tseries", "warn"), ("unstable_typeinfo", "error")];

/// Yes or no, in any of the words that settings and options take for it.
#[must_use]
pub fn truth(text: &str) -> Option<bool> {
    match &*text.to_ascii_lowercase() {
        "1" | "true" | "on" | "yes" => Some(true),
        "0" | "false" | "off" | "no" => Some(false),
        _ => None,
    }
}

/// The setting of this name, in any case.
#[must_use]
pub fn find(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|s| s.name.eq_ignore_ascii_case(name))
}
