use super::*;
use crate::lang::service::{Class, NoKnowledge};

const PROGRAM: &str = "#pragma D option quiet
int seen;
syscall::read:entry, syscall::write:entry
/pid != $target && seen / 2 == 0/
{
\tself->began = timestamp; /* when */
\t@calls[probefunc, \"x\"] = count();
}
";

fn source() -> SourceText {
    SourceText::new("x.d", PROGRAM)
}

fn at(what: &str) -> u32 {
    PROGRAM.find(what).unwrap() as u32 + 1
}

#[test]
fn pieces_have_their_classes() {
    let pieces = D.pieces(PROGRAM);
    let found = pieces.within(0..PROGRAM.len() as u32, PROGRAM);
    let class = |what: &str| {
        let start = PROGRAM.find(what).unwrap() as u32;
        found.iter().find(|(range, _)| range.start == start).map(|(_, class)| *class)
    };
    assert_eq!(class("#pragma"), Some(Class::Directive));
    assert_eq!(class("int"), Some(Class::Type));
    assert_eq!(class("syscall::read"), Some(Class::Probe));
    assert_eq!(class("syscall::write"), Some(Class::Probe));
    assert_eq!(class("pid"), Some(Class::Builtin));
    assert_eq!(class("$target"), Some(Class::Variable));
    assert_eq!(class("began"), Some(Class::Variable));
    assert_eq!(class("/* when"), Some(Class::Comment));
    assert_eq!(class("@calls"), Some(Class::Map));
    assert_eq!(class("\"x\""), Some(Class::Str));
    assert_eq!(class("count"), Some(Class::Function));
    assert_eq!((pieces.depth(at("self")), pieces.depth(0)), (1, 0));
    assert!(pieces.in_definition(at("seen")) && !pieces.in_definition(at("self")));
    assert!(pieces.between_items(PROGRAM.len() as u32, PROGRAM));
}

#[test]
fn half_typed_text_is_taken_apart_too() {
    for end in 0..PROGRAM.len() {
        let text = &PROGRAM[..end];
        let _ = D.pieces(text).within(0..end as u32, text);
        let half = SourceText::new("x.d", text);
        let _ = D.completions(&half, end as u32, &ServiceEnv { knowledge: &NoKnowledge });
        let _ = D.signature_help(&half, end as u32);
    }
}

#[test]
fn completion_knows_words_and_names_of_the_program() {
    let labels = |text: &str| {
        let source = SourceText::new("x.d", text);
        let env = ServiceEnv { knowledge: &NoKnowledge };
        D.completions(&source, text.len() as u32, &env).into_iter().map(|c| c.label).collect::<Vec<_>>()
    };
    assert!(labels("BEGIN { quan").contains(&"quantize".to_owned()));
    assert!(labels("BEGIN { time").contains(&"timestamp".to_owned()));
    assert!(labels("BEGIN { self->when = 1; self->w").contains(&"when".to_owned()));
    assert!(labels("BEGIN { @sizes = count(); printa(@s").contains(&"@sizes".to_owned()));
    assert!(labels("EN").contains(&"END".to_owned()));
    assert!(labels("BEGIN { /* quan").is_empty());
}

#[test]
fn help_and_names() {
    let source = source();
    assert!(D.hover(&source, at("count"), &ServiceEnv { knowledge: &NoKnowledge }).unwrap().code.contains("count()"));
    let call = SourceText::new("x.d", "BEGIN { @ = lquantize(a[1, 2], 0, ");
    let help = D.signature_help(&call, call.text.len() as u32).unwrap();
    assert_eq!(help.active, 2);
    assert_eq!(D.symbols(&source)[0].name, "syscall::read:entry, syscall::write:entry");
    let changed = D.rename(&source, at("seen"), "count_seen").unwrap();
    assert_eq!(changed.len(), 2);
    assert!(D.rename(&source, at("seen"), "if").is_err());
    assert_eq!(D.references(&source, at("@calls")).len(), 1);
}
