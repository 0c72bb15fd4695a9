use super::*;
use crate::lang::diagnostic::Code;

fn typed(editor: &mut Editor, text: &str) {
    for c in text.chars() {
        editor.edit(&if c == '\n' { Edit::Newline } else { Edit::Insert(c) });
    }
}

#[test]
fn typing_a_clause_indents_it() {
    let mut editor = Editor::new("");
    typed(&mut editor, "BEGIN {\nif (1) {\nexit();\n}\n}");
    assert_eq!(editor.text(), "BEGIN {\n    if (1) {\n        exit();\n    }\n}");
    assert!(editor.at_clause_start());
}

#[test]
fn text_comes_back_as_it_was() {
    for text in ["", "\n", "a\r\nb", "a\n\n", "é\t漢"] {
        let editor = Editor::new(text);
        assert_eq!(editor.text(), text);
        assert!(!editor.differs_from(text));
        assert!(editor.differs_from(&format!("{text}x")));
    }
}

#[test]
fn problems_move_with_their_text_and_go_when_it_changes() {
    let text = "BEGIN { foo }\nEND { bar }";
    let mut editor = Editor::new(text);
    let at = |word: &str| {
        let start = text.find(word).unwrap() as u32;
        Diagnostic::error(Code(1), Span::new(start, start + 3), word)
    };
    editor.diagnose(vec![at("foo"), at("bar")], text);
    assert_eq!(editor.marks()[1], Mark { line: 1, start: 6, end: 9, diagnostic: 1 });
    typed(&mut editor, "// x\n");
    assert_eq!((editor.marks()[0].line, editor.marks()[1].line), (1, 2));
    assert!(editor.next_problem());
    assert_eq!(editor.cursor(), (1, 8));
    assert_eq!(editor.problem_here().unwrap().message, "foo");
    editor.edit(&Edit::Delete);
    assert_eq!(editor.diagnostics().len(), 1);
    assert_eq!(editor.diagnostics()[0].message, "bar");
    assert_eq!(editor.marks()[0].line, 2);
}

#[test]
fn a_clause_goes_where_it_is_whole() {
    let mut editor = Editor::new("");
    editor.insert_clause("kprobe:x\n{\n    @ = count();\n}\n");
    assert_eq!(editor.text(), "kprobe:x\n{\n    @ = count();\n}\n");
    assert_eq!(editor.cursor(), (2, 4));
    editor.insert_clause("END { }");
    assert_eq!(editor.text(), "kprobe:x\n{\n    @ = count();\n}\n\nEND { }\n");
    let mut editor = Editor::new("BEGIN { }");
    editor.insert_clause("END { }");
    assert_eq!(editor.text(), "BEGIN { }\n\nEND { }\n");
}

#[test]
fn finding_goes_on_and_around_and_marks_what_it_found() {
    let mut editor = Editor::new("é Comm\ncomm x");
    assert!(editor.find("comm", Go::Right));
    assert_eq!((editor.cursor(), editor.marked_text().as_deref()), ((0, 6), Some("Comm")));
    assert!(editor.find("comm", Go::Down));
    assert_eq!((editor.cursor(), editor.offset()), ((1, 4), 12));
    assert!(editor.find("comm", Go::Down));
    assert_eq!(editor.cursor(), (0, 6));
    assert!(editor.find("comm", Go::Up));
    assert_eq!(editor.cursor(), (1, 4));
    assert!(editor.find("Comm", Go::Right), "a capital is meant");
    assert_eq!(editor.cursor(), (0, 6));
    assert!(!editor.find("nothing", Go::Down));
}

#[test]
fn fixes_are_one_replacement() {
    let mut editor = Editor::new("BEGIN { pritn(1) }");
    editor.replace(Span::new(8, 13), "print");
    assert_eq!(editor.text(), "BEGIN { print(1) }");
    editor.replace(Span::new(500, 900), "nothing");
    assert_eq!(editor.text(), "BEGIN { print(1) }");
}

#[test]
fn comments_toggle_by_line() {
    let mut editor = Editor::new("a\n  b\n\nc");
    editor.edit(&Edit::SelectAll);
    editor.edit(&Edit::ToggleComment);
    assert_eq!(editor.text(), "// a\n  // b\n\n// c");
    editor.edit(&Edit::SelectAll);
    editor.edit(&Edit::ToggleComment);
    assert_eq!(editor.text(), "a\n  b\n\nc");
}

#[test]
fn a_view_that_grows_shows_what_was_scrolled_away() {
    let mut editor = Editor::new("");
    typed(&mut editor, "a\nb\nc\nd\ne");
    editor.reveal(3, 80);
    assert_eq!(editor.top, 2);
    editor.reveal(20, 80);
    assert_eq!(editor.top, 0);
}
