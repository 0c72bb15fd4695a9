use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::*;
use crate::tui::data::document::File;
use crate::tui::desk::state::State;
use crate::tui::desk::{keys, update};

/// A workbench in vi's mode on this text, the cursor on the first `|` of it.
fn workbench(text: &str) -> State {
    let at = text.find('|').unwrap_or(0);
    let mut state = State::new(&text.replacen('|', "", 1), File::default(), Vec::new(), (80, 24));
    turn(&mut state.data.vi);
    state.document.editor.go_to_offset(at as u32);
    state
}

/// Presses keys as a terminal sends them: `~` of `<Esc>`, `<CR>`, `<BS>`, `<C-r>` by their names.
fn press(state: &mut State, typed: &str) {
    let mut rest = typed;
    while !rest.is_empty() {
        let named =
            [("<Esc>", KeyCode::Esc), ("<CR>", KeyCode::Enter), ("<BS>", KeyCode::Backspace), ("<Tab>", KeyCode::Tab)];
        let found = named.iter().find(|(name, _)| rest.starts_with(name));
        let (code, modifiers, length) = if let Some((name, code)) = found {
            (*code, KeyModifiers::NONE, name.len())
        } else if rest.starts_with("<C-") {
            (KeyCode::Char(rest.as_bytes()[3] as char), KeyModifiers::CONTROL, 5)
        } else {
            let c = rest.chars().next().unwrap();
            (KeyCode::Char(c), KeyModifiers::NONE, c.len_utf8())
        };
        rest = &rest[length..];
        if let Some(action) = keys::action(state, KeyEvent::new(code, modifiers)) {
            update::act(state, &action);
        }
    }
}

/// The text with a `|` at the cursor.
fn shown(state: &State) -> String {
    let mut text = state.document.editor.text();
    text.insert(state.document.editor.offset() as usize, '|');
    text
}

#[track_caller]
fn becomes(before: &str, typed: &str, after: &str) {
    let mut state = workbench(before);
    press(&mut state, typed);
    assert_eq!(shown(&state), after, "{typed} on {before}");
}

#[test]
fn motions_go_where_vim_goes() {
    let text = "|kprobe:vfs_read /pid/\n{\n    @a[comm] = count();\n}\n";
    for (keys, after) in [
        ("w", "kprobe|:vfs_read /pid/\n{\n    @a[comm] = count();\n}\n"),
        ("W", "kprobe:vfs_read |/pid/\n{\n    @a[comm] = count();\n}\n"),
        ("e", "kprob|e:vfs_read /pid/\n{\n    @a[comm] = count();\n}\n"),
        ("2e", "kprobe|:vfs_read /pid/\n{\n    @a[comm] = count();\n}\n"),
        ("$", "kprobe:vfs_read /pid|/\n{\n    @a[comm] = count();\n}\n"),
        ("$b", "kprobe:vfs_read /|pid/\n{\n    @a[comm] = count();\n}\n"),
        ("2jl", "kprobe:vfs_read /pid/\n{\n |   @a[comm] = count();\n}\n"),
        ("2j^", "kprobe:vfs_read /pid/\n{\n    |@a[comm] = count();\n}\n"),
        ("$2jk", "kprobe:vfs_read /pid/\n|{\n    @a[comm] = count();\n}\n"),
        ("jj$k", "kprobe:vfs_read /pid/\n|{\n    @a[comm] = count();\n}\n"),
        ("fp", "k|probe:vfs_read /pid/\n{\n    @a[comm] = count();\n}\n"),
        ("fp;", "kprobe:vfs_read /|pid/\n{\n    @a[comm] = count();\n}\n"),
        ("t:", "kprob|e:vfs_read /pid/\n{\n    @a[comm] = count();\n}\n"),
        ("j%", "kprobe:vfs_read /pid/\n{\n    @a[comm] = count();\n|}\n"),
        ("3Gf(%", "kprobe:vfs_read /pid/\n{\n    @a[comm] = count(|);\n}\n"),
        ("Gkk^ma0gg`a", "kprobe:vfs_read /pid/\n{\n    |@a[comm] = count();\n}\n"),
        ("99l", "kprobe:vfs_read /pid|/\n{\n    @a[comm] = count();\n}\n"),
    ] {
        becomes(text, keys, after);
    }
    becomes("one two\n|one three one\n", "*", "one two\none three |one\n");
    becomes("one two\n|one three one\n", "*n", "|one two\none three one\n");
    becomes("one two\n|one three one\n", "#", "|one two\none three one\n");
}

#[test]
fn operators_take_what_vim_takes() {
    for (before, keys, after) in [
        ("a |bc d\n", "x", "a |c d\n"),
        ("a |bc d\n", "dw", "a |d\n"),
        ("a |bc d\n", "D", "a| \n"),
        ("a |bc\nd\n", "dw", "a| \nd\n"),
        ("a |bc d\n", "cwx<Esc>", "a |x d\n"),
        ("|a bc d\n", "c2wx<Esc>", "|x d\n"),
        ("a\n|b\nc\n", "dd", "a\n|c\n"),
        ("a\nb\n|c", "dd", "a\n|b"),
        ("|a\nb\nc\n", "2dd", "|c\n"),
        ("|a\nb\nc\n", "dj", "|c\n"),
        ("a\nb\n|c\nd", "dgg", "|d"),
        ("a(|b, c)\n", "ci(x<Esc>", "a(|x)\n"),
        ("a(|b, c)\n", "da(", "|a\n"),
        ("f(\"|b c\", d)\n", "ci\"x<Esc>", "f(\"|x\", d)\n"),
        ("x {\n    |a;\n    b;\n}\n", "di{", "x {\n|}\n"),
        ("a |bc d\n", "diw", "a | d\n"),
        ("a |bc d\n", "daw", "a |d\n"),
        ("a |bc\n", "daw", "|a\n"),
        ("abc |def.ghi\n", "dt.", "abc |.ghi\n"),
        ("abc.d|ef\n", "dF.", "abc|ef\n"),
        ("|ab cd\n", "gUw", "|AB cd\n"),
        ("|ab\ncd\n", "~~", "A|B\ncd\n"),
        ("|ab\ncd\n", ">j", "    |ab\n    cd\n"),
        ("    |ab\n", "<<", "|ab\n"),
        ("|ab\n  cd\n", "J", "ab| cd\n"),
        ("a|bc\n", "rx", "a|xc\n"),
        ("|abc\n", "2rx", "x|xc\n"),
        ("a |bc\n", "yiwPa,<Esc>", "a bc|,bc\n"),
        ("|a\nb\n", "yyp", "a\n|a\nb\n"),
        ("|a\nb\n", "yyjp", "a\nb\n|a\n"),
        ("|a\nb\n", "ddp", "b\n|a\n"),
        ("|a b\n", "\"qyw\"_dw\"qP", "a| b\n"),
        ("|abc\n", "xp", "b|ac\n"),
    ] {
        becomes(before, keys, after);
    }
}

#[test]
fn text_is_inserted_and_selected() {
    for (before, keys, after) in [
        ("a|b\n", "ix<Esc>", "a|xb\n"),
        ("a|b\n", "Ix<Esc>", "|xab\n"),
        ("|ab\n", "Ax<Esc>", "ab|x\n"),
        ("|ab\n", "3ax<Esc>", "axx|xb\n"),
        ("  |a {\n", "ox<Esc>", "  a {\n      |x\n"),
        ("  |a\n", "Ox<Esc>", "  |x\n  a\n"),
        ("|abc d\n", "vld", "|c d\n"),
        ("|abc d\n", "vey", "|abc d\n"),
        ("a\n|b\nc\nd\n", "Vjd", "a\n|d\n"),
        ("|a b\n", "vwohd", "|\n"),
        ("f(|a)\n", "vi(cb<Esc>", "f(|b)\n"),
        ("|a b\n", "yww viwp".split(' ').collect::<String>().as_str(), "a |a \n"),
        ("|ab\n", "vU", "|Ab\n"),
        ("|a\nb\n", "Vj>", "    |a\n    b\n"),
    ] {
        becomes(before, keys, after);
    }
}

#[test]
fn changes_are_done_again_and_taken_back() {
    becomes("|a a a\n", "cwb<Esc>w.w.", "b b |b\n");
    becomes("|a\nb\nc\nd\n", "dd.", "|c\nd\n");
    becomes("|a\nb\nc\nd\n", "Vjd.", "|");
    becomes("|abcd\n", "x3.", "|\n");
    becomes("|a\n", "Ab<Esc>.", "ab|b\n");
    becomes("|abc\n", "xxu", "|bc\n");
    becomes("|abc\n", "xxuu<C-r>", "|bc\n");
    becomes("|a\nb\n", "gcc", "|// a\nb\n");
}

#[test]
fn the_command_line_goes_replaces_and_refuses() {
    becomes("|a\nb\nc\n", ":3<CR>", "a\nb\n|c\n");
    becomes("|aa a\naa\n", ":s/a/b/<CR>", "|ba a\naa\n");
    becomes("|aa a\naa\n", ":%s/a/b/g<CR>", "bb b\n|bb\n");
    becomes("|a/b\n", ":s/a\\/(b)/$1-/<CR>", "|b-\n");
    becomes("a\n|a\na\n", "Vj:s/a/b/<CR>", "a\nb\n|b\n");
    becomes("|abc\n", ":x<BS><BS>x", "|bc\n");
    let mut state = workbench("|abc\n");
    press(&mut state, ":nonsense<CR>");
    assert!(state.toast.as_ref().unwrap().text.contains("`:nonsense` is no command here"));
    press(&mut state, ":s/(/x/<CR>");
    assert!(state.toast.as_ref().unwrap().text.contains("is no regular expression"));
    assert_eq!(shown(&state), "|abc\n");
}

#[test]
fn letters_are_text_only_while_inserting() {
    let mut state = workbench("|abc\n");
    assert!(state.vi.as_ref().unwrap().label() == "NORMAL");
    press(&mut state, "2d");
    assert_eq!(state.vi.as_ref().unwrap().label(), "NORMAL 2d");
    press(&mut state, "<Esc>i?q<Esc>");
    assert_eq!(shown(&state), "?|qabc\n");
    press(&mut state, "v");
    assert_eq!(state.vi.as_ref().unwrap().marked(&state.document.editor), Some(((0, 1), (0, 2))));
    press(&mut state, "<Esc>");
    let focus = state.panes.focus();
    press(&mut state, "<Esc>");
    assert_eq!(state.panes.focus(), focus, "Escape is often pressed once too often");
    press(&mut state, "<Tab>");
    assert_ne!(state.panes.focus(), focus, "Tab goes to the output");
    turn(&mut state.data.vi);
    assert!(state.vi.is_none());
}

#[test]
fn what_a_command_inserts_is_one_step_of_undo() {
    for (before, typed) in [
        ("a |foo b\n", "ciwX and more words<Esc>u"),
        ("|a\nb\n", "oone two<CR>three<Esc>u"),
        ("|a\nb\n", "ccx y z<Esc>u"),
        ("|a b c\n", "cwx<Esc>w.uu"),
    ] {
        becomes(before, typed, before);
    }
    // What was undone and typed again while inserting keeps its steps.
    let mut state = workbench("|a\n");
    press(&mut state, "ione two <C-z>three<Esc>u");
    assert!(state.document.editor.text() != "one two threea\n");
}

#[test]
fn no_keys_panic() {
    // Every two and three of the keys that mean something, on awkward texts.
    let keys = "hjklwbe0$^gGfFtTxXdDcCyYpPrRsSiIaAoOuvVJ.~%{}()*#nN\"'`m>< 1;,|_+-HML:";
    for text in ["", "é\n\n\u{1F600} b\n", "\t{ (\"x\") }"] {
        for a in keys.chars() {
            let mut state = workbench("");
            for b in keys.chars() {
                state.document.editor.edit(&Edit::SelectAll);
                state.document.editor.edit(&Edit::Paste(text.to_owned()));
                press(&mut state, &format!("{a}{b}x<Esc><Esc>p"));
            }
        }
    }
}
