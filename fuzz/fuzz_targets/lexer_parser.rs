//! Any text: the lexer, the parser, the expander, the formatter and the language service never
//! panic, spans lie in the text, and formatting keeps the tree and is done after once.
#![no_main]

use libfuzzer_sys::fuzz_target;
use probescope::lang::bt::{ExpandInputs, dump, expand, parse, pretty};
use probescope::lang::service::{self, NoKnowledge, ServiceEnv};
use probescope::lang::source::SourceText;
use probescope::output::diagnostics;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let source = SourceText::new("fuzz", text);
    let parsed = parse(&source);
    for d in &parsed.diagnostics {
        let (start, end) = (d.span.start as usize, d.span.end as usize);
        assert!(start <= end && text.is_char_boundary(start) && text.is_char_boundary(end), "{d:?}");
    }
    let shown = diagnostics::render_all(&source, &parsed.diagnostics, false);
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()));
    if let Some(once) = pretty::format(&source) {
        let formatted = SourceText::new("fuzz", &once);
        assert_eq!(dump::script(&parse(&formatted).script), dump::script(&parsed.script));
        assert_eq!(pretty::format(&formatted).as_deref(), Some(once.as_str()));
    }
    let env = ServiceEnv { knowledge: &NoKnowledge };
    let middle = (text.len() / 2) as u32;
    let _ = service::completions(&source, middle, &env);
    let _ = service::hover(&source, middle, &env);
    let _ = service::signature_help(&source, middle);
    let _ = service::definition(&source, middle);
    let params = ["7".to_owned(), "x".to_owned()];
    let inputs = ExpandInputs { params: &params, named: &[], load: &|_| Err("no files here".to_owned()) };
    let _ = expand(parsed.script, &inputs);
});
