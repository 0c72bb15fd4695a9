use super::*;
use crate::lang::diagnostic::Code;
use crate::tui::base::action::Edit;

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
fn comments_of_d_end_and_are_not_nested() {
    let mut editor = Editor::new("a;\n  b; /* why */\n\n  c;");
    editor.read_as(crate::lang::front_end(&crate::lang::source::SourceText::new("x.d", "")));
    editor.edit(&Edit::SelectAll);
    editor.edit(&Edit::ToggleComment);
    assert_eq!(editor.text(), "/* a; */\n  b; /* why */\n\n  /* c; */");
    editor.go_to((3, 4), false);
    editor.edit(&Edit::ToggleComment);
    assert_eq!(editor.text(), "/* a; */\n  b; /* why */\n\n  c;");
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

fn undo(editor: &mut Editor) -> String {
    assert!(editor.edit(&Edit::Undo), "there is a step before");
    editor.text()
}

#[test]
fn undo_goes_by_words_runs_and_whole_changes() {
    let mut editor = Editor::new("");
    typed(&mut editor, "BEGIN { print(1);  exit()");
    for _ in 0..6 {
        editor.edit(&Edit::Backspace);
    }
    editor.insert_clause("END\n{\n    clear(@);\n}");
    let with_clause = editor.text();
    assert_eq!(undo(&mut editor), "BEGIN { print(1);  ");
    assert_eq!(undo(&mut editor), "BEGIN { print(1);  exit()");
    assert_eq!(undo(&mut editor), "BEGIN { print(1);");
    assert_eq!(undo(&mut editor), "BEGIN {");
    assert_eq!(editor.cursor(), (0, 7));
    assert_eq!(undo(&mut editor), "BEGIN");
    assert_eq!(undo(&mut editor), "");
    assert!(!editor.edit(&Edit::Undo), "nothing is before the first step");
    for _ in 0..6 {
        assert!(editor.edit(&Edit::Redo));
    }
    assert_eq!(editor.text(), with_clause);
    assert!(!editor.edit(&Edit::Redo));
    undo(&mut editor);
    typed(&mut editor, "x");
    assert!(!editor.edit(&Edit::Redo), "redo stays on the branch of now");
}

#[test]
fn a_pause_ends_a_step() {
    let mut editor = Editor::new("");
    typed(&mut editor, "{ @ = 1; }");
    editor.end_step();
    typed(&mut editor, "}");
    assert_eq!(undo(&mut editor), "{ @ = 1; }");
    assert_eq!(undo(&mut editor), "{ @ = 1;");
}

#[test]
fn undo_takes_back_edits_of_several_places_and_of_wide_letters() {
    for (start, edits) in [
        ("aaa", vec![Edit::Insert('a'), Edit::Delete, Edit::Paste("é漢\nb".to_owned()), Edit::Backspace]),
        (
            "    x\n    y\n",
            vec![Edit::SelectAll, Edit::ToggleComment, Edit::Newline, Edit::Insert('}'), Edit::DeleteWord],
        ),
        ("é漢é", vec![Edit::Delete, Edit::Delete, Edit::Insert('漢'), Edit::Insert('è'), Edit::DeleteLineEnd]),
    ] {
        let mut editor = Editor::new(start);
        let mut texts = vec![start.to_owned()];
        for edit in edits {
            editor.edit(&edit);
            texts.push(editor.text());
        }
        let end = editor.text();
        while editor.edit(&Edit::Undo) {
            assert!(texts.contains(&editor.text()), "{:?} was never the text", editor.text());
        }
        assert_eq!(editor.text(), start);
        while editor.edit(&Edit::Redo) {}
        assert_eq!(editor.text(), end);
    }
}

#[test]
fn what_was_undone_stays_as_a_branch() {
    let mut editor = Editor::new("");
    for word in ["one", " two", " three"] {
        editor.edit(&Edit::Paste(word.to_owned()));
    }
    undo(&mut editor);
    undo(&mut editor);
    editor.edit(&Edit::Paste(" deux".to_owned()));
    assert_eq!(editor.text(), "one deux");
    let stages = editor.stages();
    let told: Vec<_> = stages.iter().map(|s| (s.number, s.from, s.put.as_str(), s.is_past, s.is_now)).collect();
    assert_eq!(
        told,
        [
            (0, None, "", true, false),
            (1, Some(0), "one", true, false),
            (2, Some(1), " two", false, false),
            (3, Some(2), " three", false, false),
            (4, Some(1), " deux", true, true),
        ]
    );
    assert!(editor.go_to_stage(3));
    assert_eq!(editor.text(), "one two three", "back to the branch point, and out on the other branch");
    assert_eq!(undo(&mut editor), "one two");
    assert!(editor.edit(&Edit::Redo));
    assert_eq!(editor.text(), "one two three", "redo goes where one came from");
    let mut seen = |edit: &Edit| {
        let mut texts = Vec::new();
        while editor.edit(edit) {
            texts.push(editor.text());
        }
        texts
    };
    assert_eq!(seen(&Edit::Older), ["one two", "one", ""], "in the order of time");
    assert_eq!(seen(&Edit::Newer), ["one", "one two", "one two three", "one deux"]);
    assert!(!editor.go_to_stage(99) && editor.text() == "one deux");
}

#[test]
fn steps_of_undo_are_bounded_and_the_newest_stay() {
    let mut editor = Editor::new("");
    for _ in 0..5_100 {
        editor.edit(&Edit::Paste("x".to_owned()));
        editor.edit(&Edit::Undo);
    }
    editor.edit(&Edit::Paste("last".to_owned()));
    assert!(editor.stages().len() <= 5_001, "{}", editor.stages().len());
    assert_eq!(undo(&mut editor), "");
    let mut editor = Editor::new("");
    for _ in 0..6_000 {
        editor.edit(&Edit::Paste("x".to_owned()));
    }
    let mut undone = 0;
    while editor.edit(&Edit::Undo) {
        undone += 1;
    }
    assert!((2_000..=5_000).contains(&undone), "{undone}");
    assert_eq!(editor.text().len(), 6_000 - undone);
    editor.edit(&Edit::Redo);
    assert_eq!(editor.text().len(), 6_001 - undone);
}
