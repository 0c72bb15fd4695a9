//! What typing does: probes found and inserted, errors, completions, saving, and the way between panes.

use probescope::lang::diagnostic::{Code, Diagnostic, Severity};
use probescope::lang::service::{Completion, CompletionKind};
use probescope::lang::source::Span;
use probescope::session::update::{CompileFigures, Ending, TraceId, Update};
use probescope::tui::base::theme::Slot;
use probescope::tui::data::effect::{Detail, Effect, Field, Found, Hit, Message};
use probescope::tui::desk::state::State;
use probescope::tui::desk::update;
use probescope::tui::layers::browser::Browser;
use probescope::tui::layers::help::Help;
use probescope::tui::panes::{editor, events, maps, probes, system};
use ratatui::style::Modifier;

use crate::pressing::{empty, focus, openat, press, rows, screen, shown};

#[test]
fn a_slash_finds_a_probe_and_enter_inserts_it() {
    let mut state = empty();
    let asked = press(&mut state, "/openat");
    let generation = state.search;
    assert_eq!(asked.last(), Some(&Effect::Search { query: "openat".into(), generation }));
    let (found, detail) = openat(generation);
    let asked = update::receive(&mut state, Message::Found(found));
    assert_eq!(asked, [Effect::Describe("tracepoint:syscalls:sys_enter_openat".into())]);
    press(&mut state, "<enter>");
    assert!(state.document.editor.is_blank(), "nothing is known of the probe yet");
    update::receive(&mut state, Message::Described(detail));
    assert!(state.layers.is_empty());
    assert!(shown(&state, "tracepoint:syscalls:sys_enter_openat"));
    let effects = press(&mut state, "<c-s>");
    assert!(
        matches!(effects.as_slice(), [Effect::Save { .. }, Effect::Submit { trace: TraceId(1), .. }]),
        "{effects:?}"
    );
}

#[test]
fn the_best_probe_is_selected_while_the_catalogue_grows_unless_another_was_chosen() {
    let mut state = empty();
    press(&mut state, "/openat");
    let generation = state.search;
    let hits = |names: &[&str]| {
        let hit = |n: &&str| Hit { name: (*n).into(), ..Hit::default() };
        Message::Found(Found { generation, hits: names.iter().map(hit).collect(), ..Found::default() })
    };
    let selected = |state: &State| state.layer::<Browser>().unwrap().hit().unwrap().name.to_string();
    update::receive(&mut state, hits(&["kprobe:io_openat", "kprobe:openat"]));
    update::receive(&mut state, hits(&["tracepoint:openat", "kprobe:io_openat", "kprobe:openat"]));
    assert_eq!(selected(&state), "tracepoint:openat");
    press(&mut state, "<down>");
    update::receive(&mut state, hits(&["usdt:openat", "tracepoint:openat", "kprobe:io_openat"]));
    assert_eq!(selected(&state), "kprobe:io_openat");
}

#[test]
fn enter_means_what_is_typed_and_not_what_an_older_query_found() {
    let mut state = empty();
    press(&mut state, "/o");
    let lead = |name: &str| Hit { name: name.into(), leads: true, ..Hit::default() };
    let absent = |name: &str| Hit { name: name.into(), absent: Some("not here".into()), ..Hit::default() };
    let hits = |state: &State, hits| Message::Found(Found { generation: state.search, hits, ..Found::default() });
    let query = |state: &State| state.layer::<Browser>().unwrap().input.text().to_owned();
    let answer = hits(&state, vec![lead("uprobe:/bin/old:")]);
    update::receive(&mut state, answer);
    press(&mut state, "p<enter>");
    assert_eq!(query(&state), "op", "the old lead is not followed");
    assert!(shown(&state, "searching…"));
    let answer = hits(&state, vec![lead("uprobe:/bin/new:")]);
    update::receive(&mut state, answer);
    assert_eq!(query(&state), "uprobe:/bin/new:", "and the new one is, when it is there");
    let answer = hits(&state, vec![absent("kprobe:old")]);
    update::receive(&mut state, answer);
    press(&mut state, "x<enter>");
    let answer = hits(&state, vec![lead("uprobe:/bin/third:")]);
    update::receive(&mut state, answer);
    assert_eq!(query(&state), "uprobe:/bin/third:", "nor is an old one refused");
    let answer = hits(&state, vec![lead("uprobe:/bin/old:")]);
    update::receive(&mut state, answer);
    press(&mut state, "y<enter>z");
    let answer = hits(&state, vec![lead("uprobe:/bin/fourth:")]);
    update::receive(&mut state, answer);
    assert_eq!(query(&state), "uprobe:/bin/third:yz", "another letter takes Enter back");
}

#[test]
fn why_a_save_failed_stays_in_sight_while_the_script_runs() {
    let mut state = empty();
    let effects = press(&mut state, "BEGIN { exit(); }<c-s>");
    let Some(Effect::Save { path, text, .. }) = effects.into_iter().next() else { panic!("nothing is saved") };
    update::receive(&mut state, Message::Saved { path, text, error: Some("cannot save: no space".into()) });
    let trace = state.document.submitted_as;
    let ended = Update::Ended { trace, ending: Ending::Done(0) };
    for update in [Update::Attached { trace, probes: 1, elapsed_ns: 1 }, ended] {
        update::receive(&mut state, Message::Session(update));
    }
    assert!(shown(&state, "cannot save: no space"));
    press(&mut state, "<left>");
    assert!(!shown(&state, "cannot save: no space"), "until the next key");
}

#[test]
fn why_a_save_failed_stays_in_sight_when_the_script_is_refused() {
    let mut state = empty();
    let effects = press(&mut state, "x<c-s>");
    let Some(Effect::Save { path, text, .. }) = effects.into_iter().next() else { panic!("nothing is saved") };
    update::receive(&mut state, Message::Saved { path, text, error: Some("cannot save: no space".into()) });
    let trace = state.document.submitted_as;
    let wrong = Diagnostic::error(Code(224), Span::new(0, 1), "Invalid probe type: x");
    update::receive(&mut state, Message::Session(Update::Compiled { trace, diagnostics: vec![wrong], figures: None }));
    assert!(shown(&state, "cannot save: no space"));
    assert_eq!(state.document.editor.diagnostics().len(), 1);
}

#[test]
fn stale_results_never_replace_newer_ones() {
    let mut state = empty();
    press(&mut state, "/o");
    let old = state.search;
    press(&mut state, "p");
    let (found, _) = openat(old);
    assert!(update::receive(&mut state, Message::Found(found)).is_empty());
    assert!(!shown(&state, "sys_enter_openat"));
}

#[test]
fn a_slash_is_still_a_slash_in_a_predicate_and_a_comment() {
    let mut state = empty();
    press(&mut state, "// note<enter>BEGIN<enter>/pid/ { $x = 4 / 2; }");
    assert_eq!(state.document.editor.text(), "// note\nBEGIN\n/pid/ { $x = 4 / 2; }");
    assert!(state.layers.is_empty());
    press(&mut state, "<enter>/*");
    assert!(state.document.editor.text().ends_with("/*"));
}

#[test]
fn an_error_is_underlined_explained_and_mended_by_a_key() {
    let mut state = empty();
    press(&mut state, "BEGIN { pritn(1) }<c-s>");
    let problem =
        Diagnostic::error(Code(203), Span::new(8, 13), "there is no function pritn").fix(Span::new(8, 13), "print");
    let compiled =
        |trace, diagnostics| Message::Session(Update::Compiled { trace: TraceId(trace), diagnostics, figures: None });
    update::receive(&mut state, compiled(1, vec![problem]));
    let buffer = screen(&state);
    let all = rows(&buffer);
    let y = all.iter().position(|r| r.contains("pritn(1)")).unwrap();
    let x =
        all[y].chars().collect::<Vec<_>>().windows(5).position(|w| w.iter().collect::<String>() == "pritn").unwrap();
    let cell = &buffer[(x as u16, y as u16)];
    assert!(cell.modifier.contains(Modifier::UNDERLINED));
    assert_eq!(Some(cell.underline_color), state.theme[Slot::Error].fg);
    assert!(!buffer[(x as u16 - 2, y as u16)].modifier.contains(Modifier::UNDERLINED));
    assert!(all[y + 1].contains("there is no function pritn [P0203]"), "{}", all[y + 1]);
    press(&mut state, "<a-f>");
    assert_eq!(state.document.editor.text(), "BEGIN { print(1) }");
    assert!(state.document.editor.diagnostics().is_empty());
}

#[test]
fn a_refused_script_leaves_the_last_good_trace_on_the_screen() {
    let mut state = empty();
    press(&mut state, "BEGIN {}<c-s>");
    let figures = Some(CompileFigures { compile_ns: 600_000, instructions: 12, programs: 1, maps: 0, left_out: false });
    let session = |u| Message::Session(u);
    update::receive(&mut state, session(Update::Compiled { trace: TraceId(1), diagnostics: vec![], figures }));
    update::receive(&mut state, session(Update::Attached { trace: TraceId(1), probes: 1, elapsed_ns: 9_000_000 }));
    assert!(shown(&state, "running") && shown(&state, "attached 1 probe in 9.0 ms"));
    press(&mut state, "x<c-s>");
    let wrong = Diagnostic::error(Code(1), Span::new(8, 9), "a clause was expected");
    update::receive(
        &mut state,
        session(Update::Compiled { trace: TraceId(2), diagnostics: vec![wrong], figures: None }),
    );
    assert!(shown(&state, "last good trace"));
    assert!(shown(&state, "attached 1 probe"));
}

#[test]
fn checks_while_typing_never_touch_the_trace() {
    let mut state = empty();
    press(&mut state, "BEGIN { x }");
    let effects = update::receive(&mut state, Message::Tick);
    assert!(effects.iter().any(|e| matches!(e, Effect::Keep { .. })), "unsaved text is kept: {effects:?}");
    let Some(Effect::Check { script, revision, .. }) = effects.iter().find(|e| matches!(e, Effect::Check { .. }))
    else {
        panic!("{effects:?}")
    };
    let wrong = Diagnostic::error(Code(1), Span::new(8, 9), "there is no x");
    let update = Update::Checked { script: *script, revision: *revision, diagnostics: vec![wrong] };
    update::receive(&mut state, Message::Session(update));
    assert_eq!(state.document.editor.diagnostics().len(), 1);
    assert!(state.toast.is_none() && !state.document.trace.stale);
    assert!(update::receive(&mut state, Message::Tick).is_empty(), "nothing to do without a change");
    for told in [true, false] {
        state.toast = None;
        update::receive(&mut state, Message::Kept { because: None, kept: Err("HOME is not set".into()) });
        assert_eq!(shown(&state, "would be lost in a crash: HOME is not set"), told, "told once");
    }
    state.unkept = false;
    state.tell(Severity::Info, "20 recorded firings");
    update::receive(&mut state, Message::Kept { because: None, kept: Err("HOME is not set".into()) });
    assert!(shown(&state, "20 recorded firings"), "an answer is read first");
    press(&mut state, "<left>");
    assert!(shown(&state, "would be lost in a crash"));
}

#[test]
fn unsaved_text_is_asked_about_and_saved_before_leaving() {
    let mut state = empty();
    press(&mut state, "BEGIN {}");
    assert!(press(&mut state, "<c-q>").is_empty());
    assert!(shown(&state, "unsaved changes"));
    press(&mut state, "<esc>");
    assert!(state.layers.is_empty());
    let effects = press(&mut state, "<c-q>s");
    let [Effect::Save { path, text, .. }] = effects.as_slice() else { panic!("{effects:?}") };
    let saved = |error| Message::Saved { path: path.clone(), text: text.clone(), error };
    let failed = update::receive(&mut state, saved(Some("cannot save: read-only file system".into())));
    assert!(failed.iter().any(|e| matches!(e, Effect::Keep { .. })) && !failed.contains(&Effect::Quit));
    let because = failed.iter().find_map(|e| if let Effect::Keep { because, .. } = e { because.clone() } else { None });
    update::receive(&mut state, Message::Kept { because, kept: Err("no space left".into()) });
    assert!(shown(&state, "read-only file system; and no copy can be kept: no space left"));
    let effects = press(&mut state, "<c-q>s");
    assert_eq!(effects.len(), 1);
    let done = update::receive(&mut state, saved(None));
    assert!(done.contains(&Effect::Quit));
    assert_eq!(press(&mut state, "<c-q>"), [Effect::Quit], "saved text needs no question");
}

#[test]
fn a_bundled_script_opens_as_a_copy_and_unsaved_text_is_asked_about_first() {
    let mut state = empty();
    press(&mut state, "<c-o>");
    assert!(shown(&state, "Open a bundled script"));
    press(&mut state, "hello<enter>");
    assert!(
        state.document.editor.text().starts_with("// hello:") && state.dirty() && state.document.file.path.is_none()
    );
    // What nobody has changed is there to be had again.
    assert!(!shown(&state, "unsaved"));
    press(&mut state, "<c-o>opensnoop<enter>");
    assert!(state.document.editor.text().starts_with("// opensnoop:"));
    press(&mut state, "<c-z>");
    assert!(state.document.editor.text().starts_with("// hello:"));
    press(&mut state, "<c-o>syscount<enter>");
    assert!(shown(&state, "unsaved changes"), "the text is no longer the copy that was opened last");
    let effects = press(&mut state, "<esc>");
    assert!(effects.is_empty() && state.document.editor.text().starts_with("// hello:"), "the text stays");
    press(&mut state, "<c-o>syscount<enter>d");
    assert!(state.document.editor.text().starts_with("// syscount:"));
    press(&mut state, "<c-z>");
    assert!(
        state.document.editor.text().starts_with("// hello:"),
        "undo brings it back: {}",
        state.document.editor.text()
    );
}

#[test]
fn completions_follow_the_typed_word_and_a_late_answer_is_ignored() {
    let mut state = empty();
    press(&mut state, "BEGIN { args.");
    let asked = state.document.assist.asked;
    let item = |label: &str| Completion {
        label: label.into(),
        insert: label.into(),
        replace: Span::new(13, 13),
        kind: CompletionKind::Field,
        detail: "int".into(),
        doc: String::new(),
    };
    let items = vec![item("dfd"), item("flags"), item("filename")];
    update::receive(&mut state, Message::Completed { generation: asked, items: items.clone() });
    assert!(shown(&state, "filename"));
    press(&mut state, "fi");
    assert!(!shown(&state, "flags"), "the popup is narrowed before the answer comes");
    press(&mut state, "<tab>");
    assert_eq!(state.document.editor.text(), "BEGIN { args.filename");
    update::receive(&mut state, Message::Completed { generation: asked, items });
    assert!(state.document.assist.popup.is_none());
}

#[test]
fn where_nothing_can_run_the_reason_is_shown_and_the_script_saved() {
    let mut state = empty();
    state.disabled = Some("CAP_BPF is missing".into());
    let effects = press(&mut state, "BEGIN {}<c-s>");
    assert!(matches!(effects.as_slice(), [Effect::Save { .. }]), "{effects:?}");
    assert!(shown(&state, "CAP_BPF is missing"));
}

#[test]
fn every_pane_is_reached_and_left_by_keys() {
    let mut state = empty();
    press(&mut state, "<esc>");
    assert_eq!(focus(&state), events::KIND);
    press(&mut state, "<tab><tab>");
    assert_eq!(focus(&state), probes::KIND);
    press(&mut state, "<backtab>z");
    assert!(state.panes.is_zoomed() && focus(&state) == maps::KIND);
    press(&mut state, "z<esc>");
    assert!(!state.panes.is_zoomed() && focus(&state) == editor::KIND);
    press(&mut state, "<f1>");
    assert_eq!(state.layer::<Help>().map(|help| help.top), Some(0));
    press(&mut state, "<esc><c-k>next theme<enter>");
    assert_eq!(&*state.theme.name, "light");
    press(&mut state, "<c-k>programs<enter>");
    assert_eq!(focus(&state), system::KIND, "of two that fit alike, the one that says it first");
}

#[test]
fn only_fields_that_are_out_of_sight_are_scrolled_to() {
    let mut state = empty();
    press(&mut state, "/openat");
    let (found, detail) = openat(state.search);
    update::receive(&mut state, Message::Found(found));
    let field = |n: usize| Field { name: format!("args.field_{n}"), ty: "int".into() };
    let few = Detail { fields: (0..4).map(field).collect(), ..detail.clone() };
    update::receive(&mut state, Message::Described(few));
    press(&mut state, "<tab>");
    assert!(shown(&state, "args.field_0"), "{:#?}", rows(&screen(&state)));
    let many = Detail { fields: (0..100).map(field).collect(), ..detail };
    update::receive(&mut state, Message::Described(many));
    assert!(shown(&state, "args.field_0") && !shown(&state, "args.field_99"));
    press(&mut state, &"<tab>".repeat(40));
    assert!(!shown(&state, "args.field_0 ") && shown(&state, "args.field_99"), "{:#?}", rows(&screen(&state)));
    press(&mut state, &"<backtab>".repeat(40));
    assert!(shown(&state, "args.field_0"));
}

#[test]
fn clauses_of_a_bundled_script_are_taken_into_another_one() {
    let mut state = empty();
    press(&mut state, "BEGIN { }<c-k>snippets<enter>");
    assert!(shown(&state, "Insert clauses of a bundled script"));
    press(&mut state, "runqlat<enter>");
    let text = state.document.editor.text();
    assert!(
        text.starts_with("BEGIN { }\n\ntracepoint:sched:sched_wakeup,\ntracepoint:sched:sched_wakeup_new\n{"),
        "{text}"
    );
    assert!(text.contains("tracepoint:sched:sched_switch") && text.contains("clear(@runnable)"), "{text}");
    assert!(!text.contains("Needs:"), "the comment on the whole script stays there: {text}");
    press(&mut state, "<c-z>");
    assert_eq!(state.document.editor.text().trim_end(), "BEGIN { }");
    state.document.file.unnamed = Some("/state/untitled.d".into());
    press(&mut state, "<c-k>snippets<enter>");
    assert!(shown(&state, "The bundled scripts are bpftrace, and this one is D"));
}

#[test]
fn clauses_of_the_browser_are_limited_to_a_chosen_process() {
    use probescope::session::scopes::Scope;
    use probescope::tui::data::effect::Effect;
    use probescope::tui::data::inspect::{Inspect, Inspected};
    let mut state = empty();
    press(&mut state, "<f2>");
    let effects = press(&mut state, "<a-o>");
    assert!(effects.iter().any(|e| matches!(e, Effect::Inspect(Inspect::Scopes))));
    let process = |pid, comm: &str| Scope::Process { pid, comm: comm.into(), words: format!("/usr/sbin/{comm} -g") };
    let scopes = [process(7, "sshd"), process(9, "nginx\u{1b}[2J")];
    update::receive(&mut state, Message::Inspected(Inspected::Scopes(scopes.into())));
    assert!(shown(&state, "Limit clauses to") && shown(&state, "everything that runs"));
    assert!(shown(&state, "nginx␛[2J (9)"), "names come from programs");
    press(&mut state, "ngi<enter>");
    assert!(shown(&state, "Probes, only in nginx␛[2J (9)"));
    let (found, detail) = openat(state.search);
    update::receive(&mut state, Message::Found(found));
    update::receive(&mut state, Message::Described(detail));
    press(&mut state, "<enter>");
    let text = state.document.editor.text();
    assert!(text.starts_with("tracepoint:syscalls:sys_enter_openat\n/pid == 9/\n{"), "{text}");
    press(&mut state, "<f2><a-o>");
    update::receive(&mut state, Message::Inspected(Inspected::Scopes([].into())));
    press(&mut state, "<enter>");
    assert!(state.scope.is_none() && shown(&state, "Probes ─"));
}
