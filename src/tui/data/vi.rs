//! The script edited by vi's keys, for those who want that: `--vi`, `vi = true`, or the palette.
//!
//! Letters are commands until one of them begins to insert; Escape ends inserting. Keys with Ctrl, Alt and function keys
//! stay what they are everywhere, but for those that vi has and the script's table has not. The text, its steps of undo
//! and what the compiler says of it are the editor's own: vi's commands are changes of byte ranges like any other.

use super::text::Editor;
use super::text::steps::Mark;
use crate::lang::diagnostic::Severity;
use crate::tui::base::action::{App, Edit};
use crate::tui::base::key::Key;

mod changes;
mod commands;
mod ex;
mod motions;
mod objects;
mod ranges;

use changes::Registers;
use commands::{BACKSPACE, Command, ESCAPE, Operator, Place, Stop, Target, Verb};
use motions::{Find, Text};

/// What letters are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// Commands.
    #[default]
    Normal,
    /// Text.
    Insert,
    /// Commands for what is selected, maybe whole lines.
    Select { lines: bool },
}

/// A change that `.` does again.
#[derive(Clone, Debug)]
struct Change {
    command: Command,
    inserted: String,
}

/// Text that is being inserted.
#[derive(Clone, Debug)]
struct Inserting {
    from: usize,
    length: usize,
    command: Command,
    /// The text before the command: it and what is inserted are one step of undo.
    mark: Mark,
}

/// Where the user of vi's keys is.
#[derive(Clone, Debug, Default)]
pub struct Vi {
    mode: Mode,
    /// The keys of a command that is not complete.
    keys: String,
    /// A command line that is being typed.
    ex: Option<String>,
    /// The other end of the selection: a byte of the text.
    anchor: usize,
    /// The column that lines up and down keep to.
    column: Option<usize>,
    found: Option<Find>,
    query: Option<String>,
    marks: Vec<(char, usize)>,
    registers: Registers,
    inserting: Option<Inserting>,
    last: Option<Change>,
}

/// What is wanted besides a change of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// An intent for the whole program.
    App(App),
    /// Text on the terminal's clipboard.
    Copy(String),
    /// The file of this name in a tab.
    Open(String),
    /// A passing message.
    Tell(Severity, String),
}

/// The character that a key is to vi, if it is one of its keys.
fn character(key: Key) -> Option<char> {
    use crossterm::event::{KeyCode, KeyModifiers};
    match key.code {
        KeyCode::Esc if key.modifiers.is_empty() => Some(ESCAPE),
        KeyCode::Tab if key.modifiers.is_empty() => Some('\t'),
        KeyCode::Enter if key.modifiers.is_empty() => Some('\n'),
        KeyCode::Backspace if key.modifiers.is_empty() => Some(BACKSPACE),
        KeyCode::Char(c) if key.modifiers.is_empty() => Some(c),
        KeyCode::Char('[') if key.modifiers == KeyModifiers::CONTROL => Some(ESCAPE),
        KeyCode::Char(c @ ('d' | 'r' | 'u')) if key.modifiers == KeyModifiers::CONTROL => {
            Some(char::from(c as u8 - b'a' + 1))
        }
        _ => None,
    }
}

impl Vi {
    /// What a key is to vi where it is now; nothing where it is text, or somebody else's.
    #[must_use]
    pub fn own(&self, key: Key) -> Option<char> {
        let c = character(key)?;
        let is_own = match self.mode {
            Mode::Insert => c == ESCAPE,
            Mode::Normal | Mode::Select { .. } => true,
        };
        is_own.then_some(c)
    }

    /// Whether letters are text.
    #[must_use]
    pub fn is_inserting(&self) -> bool {
        self.mode == Mode::Insert
    }

    /// What is shown of it beside the place of the cursor.
    #[must_use]
    pub fn label(&self) -> String {
        let mode = match self.mode {
            Mode::Normal => "NORMAL",
            Mode::Insert => "INSERT",
            Mode::Select { lines: false } => "VISUAL",
            Mode::Select { lines: true } => "V-LINE",
        };
        if self.keys.is_empty() { mode.to_owned() } else { format!("{mode} {}", self.keys) }
    }

    /// The command line that is being typed.
    #[must_use]
    pub fn command_line(&self) -> Option<&str> {
        self.ex.as_deref()
    }

    /// What is selected, as two (line, character) pairs.
    #[must_use]
    pub fn marked(&self, editor: &Editor) -> Option<((usize, usize), (usize, usize))> {
        let Mode::Select { lines } = self.mode else { return None };
        let text = editor.text();
        let range = self.selection(&text, editor.offset() as usize, lines);
        Some((editor.place_of(range.start), editor.place_of(range.end)))
    }

    /// What was searched for is what `n` looks for.
    pub fn searched(&mut self, query: &str) {
        self.query = Some(query.to_owned());
    }

    /// Takes a key, where the text has so many rows on the screen.
    pub fn press(&mut self, key: char, editor: &mut Editor, page: usize) -> Option<Wanted> {
        let wanted = self.take(key, editor, page);
        self.settle(editor);
        wanted
    }

    fn take(&mut self, key: char, editor: &mut Editor, page: usize) -> Option<Wanted> {
        if self.ex.is_some() {
            return self.type_ex(key, editor);
        }
        self.adopt_marked(editor);
        if key == ESCAPE {
            self.escape(editor);
            return None;
        }
        if key == '\t' {
            return Some(Wanted::App(App::FocusNext));
        }
        self.keys.push(key);
        match commands::read(&self.keys, matches!(self.mode, Mode::Select { .. })) {
            Ok(command) => {
                self.keys.clear();
                self.run(&command, editor, page)
            }
            Err(Stop::Partial) => None,
            Err(Stop::Unknown) => {
                self.keys.clear();
                None
            }
        }
    }

    /// What the mouse or a search has marked: the mouse selects, a search goes there.
    fn adopt_marked(&mut self, editor: &mut Editor) {
        let Some((from, to)) = editor.marked() else { return };
        let is_found = self.query.is_some() && editor.marked_text() == self.query;
        editor.go_to(from, false);
        if !is_found && from != to {
            self.anchor = editor.offset() as usize;
            editor.go_to(to, false);
            let text = editor.text();
            let at = Text(&text).before(editor.offset() as usize).unwrap_or(0);
            editor.go_to_offset(at as u32);
            self.mode = Mode::Select { lines: false };
        }
    }

    fn escape(&mut self, editor: &mut Editor) {
        self.keys.clear();
        if self.mode == Mode::Insert {
            self.end_insert(editor);
        }
        self.mode = Mode::Normal;
    }

    fn end_insert(&mut self, editor: &mut Editor) {
        let text = editor.text();
        let at = editor.offset() as usize;
        let mut begun = None;
        if let Some(Inserting { from, length, command, mark }) = self.inserting.take() {
            begun = Some(mark);
            // Where the cursor went elsewhere meanwhile, it is not known what was inserted.
            let grown = text.len().checked_sub(length);
            let inserted = text.get(from..at).filter(|new| grown == Some(new.len())).unwrap_or_default().to_owned();
            let again = command.count.unwrap_or(1).saturating_sub(1);
            if again > 0 && matches!(command.verb, Verb::Insert(_)) && inserted.len() * again < 1 << 20 {
                changes::put(editor, at..at, &inserted.repeat(again));
            }
            self.last = Some(Change { command, inserted });
        }
        editor.end_step();
        if let Some(mark) = begun {
            editor.join_steps(mark);
        }
        let text = editor.text();
        let at = editor.offset() as usize;
        let back = Text(&text).before(at).unwrap_or(0).max(Text(&text).line_start(at));
        editor.go_to_offset(back as u32);
    }

    fn begin_insert(&mut self, editor: &mut Editor, command: &Command, mark: Mark) {
        self.mode = Mode::Insert;
        let from = editor.offset() as usize;
        self.inserting = Some(Inserting { from, length: editor.text().len(), command: command.clone(), mark });
    }

    fn run(&mut self, command: &Command, editor: &mut Editor, page: usize) -> Option<Wanted> {
        if !matches!(command.verb, Verb::Go(_)) {
            self.column = None;
        }
        match &command.verb {
            Verb::Undo | Verb::Redo | Verb::Older | Verb::Newer => self.go_through_steps(command, editor),
            Verb::Ex => self.ex = Some(String::new()),
            Verb::Search => return Some(Wanted::App(App::Find)),
            Verb::Definition => return Some(Wanted::App(App::Definition)),
            Verb::Explain => return Some(Wanted::App(App::ExplainProblem)),
            Verb::SaveAndQuit => return Some(Wanted::App(App::SaveAndQuit)),
            Verb::Quit => return Some(Wanted::App(App::QuitAnyway)),
            Verb::Repeat => self.repeat(command.count, editor, page),
            _ => return self.apply(command, editor, page).map(Wanted::Copy),
        }
        None
    }

    fn go_through_steps(&mut self, command: &Command, editor: &mut Editor) {
        let edit = match command.verb {
            Verb::Undo => Edit::Undo,
            Verb::Redo => Edit::Redo,
            Verb::Older => Edit::Older,
            _ => Edit::Newer,
        };
        self.mode = Mode::Normal;
        for _ in 0..command.count.unwrap_or(1) {
            if !editor.edit(&edit) {
                break;
            }
        }
    }

    fn repeat(&mut self, count: Option<usize>, editor: &mut Editor, page: usize) {
        let Some(Change { mut command, inserted }) = self.last.clone() else { return };
        command.count = count.or(command.count);
        let _ = self.apply(&command, editor, page);
        if self.mode == Mode::Insert {
            let at = editor.offset() as usize;
            changes::put(editor, at..at, &inserted);
            self.end_insert(editor);
            self.mode = Mode::Normal;
        }
        self.last = Some(Change { command, inserted });
    }

    /// Moves and changes; what was taken for the terminal's clipboard comes back.
    fn apply(&mut self, command: &Command, editor: &mut Editor, page: usize) -> Option<String> {
        let at = editor.offset() as usize;
        let text = editor.text();
        let mut copied = None;
        match &command.verb {
            Verb::Go(motion) => self.go(motion, command.count, editor, page),
            Verb::Operate(operator, target) => {
                let (range, lines) = self.range(*operator, target, command.count, editor, page)?;
                copied = self.operate(*operator, range, lines, command, editor);
            }
            Verb::Insert(place) => {
                let mark = editor.mark_step();
                insert_at(editor, *place);
                self.begin_insert(editor, command, mark);
            }
            Verb::Select { lines } => {
                let again = self.mode == Mode::Select { lines: *lines };
                if !matches!(self.mode, Mode::Select { .. }) {
                    self.anchor = at;
                }
                self.mode = if again { Mode::Normal } else { Mode::Select { lines: *lines } };
            }
            Verb::SelectObject(object) => {
                let (range, lines) = object.range(Text(&text), at)?;
                self.anchor = range.start;
                self.mode = Mode::Select { lines };
                let last = Text(&text).before(range.end).unwrap_or(0).max(range.start);
                editor.go_to_offset(last as u32);
            }
            Verb::OtherEnd => {
                let other = self.anchor.min(text.len());
                self.anchor = at;
                editor.go_to_offset(other as u32);
            }
            Verb::Mark(name) => {
                self.marks.retain(|(mark, _)| mark != name);
                self.marks.push((*name, at));
            }
            _ => self.change(command, editor),
        }
        copied
    }

    fn operate(
        &mut self,
        operator: Operator,
        range: std::ops::Range<usize>,
        lines: bool,
        command: &Command,
        editor: &mut Editor,
    ) -> Option<String> {
        let was_selected = matches!(self.mode, Mode::Select { .. });
        self.mode = Mode::Normal;
        let text = editor.text();
        let taken = text.get(range.clone())?.to_owned();
        let repeatable = if was_selected {
            let target = if lines { Target::Lines } else { Target::Chars(taken.chars().count()) };
            let count = lines.then(|| taken.trim_end_matches('\n').matches('\n').count() + 1);
            Command { count, verb: Verb::Operate(operator, target), register: command.register }
        } else {
            command.clone()
        };
        let copied = match operator {
            Operator::Delete | Operator::Change | Operator::Yank => {
                self.registers.keep(command.register, &taken, lines, operator == Operator::Yank)
            }
            _ => None,
        };
        match operator {
            Operator::Yank => {
                let to = if lines && !was_selected { editor.offset() as usize } else { range.start };
                editor.go_to_offset(to.min(editor.offset() as usize) as u32);
                return copied;
            }
            Operator::Delete => changes::delete(editor, range, lines),
            Operator::Change => {
                let mark = editor.mark_step();
                changes::empty(editor, range, lines);
                self.begin_insert(editor, &repeatable, mark);
                return copied;
            }
            _ => changes::lay_over(editor, operator, range),
        }
        self.last = Some(Change { command: repeatable, inserted: String::new() });
        copied
    }

    /// Changes that are no operator's.
    fn change(&mut self, command: &Command, editor: &mut Editor) {
        let text = editor.text();
        let at = editor.offset() as usize;
        let (count, inside) = (command.count.unwrap_or(1), Text(&text));
        let selected = match self.mode {
            Mode::Select { lines } => Some((self.selection(&text, at, lines), lines)),
            _ => None,
        };
        match command.verb {
            Verb::Replace(c) => changes::replace(editor, c, count, selected.map(|(range, _)| range)),
            Verb::Put { before } => {
                let Some(register) = self.registers.get(command.register) else { return };
                if let Some((range, lines)) = selected {
                    let gone = text.get(range.clone()).unwrap_or_default().to_owned();
                    changes::put_over(editor, range, lines, &register);
                    let _ = self.registers.keep(None, &gone, lines, false);
                } else {
                    changes::put_register(editor, &register, before, count);
                }
            }
            Verb::Join => {
                let (first, last) = selected.map_or((at, None), |(range, _)| (range.start, inside.before(range.end)));
                let lines = |last: usize| inside.line_of(last).saturating_sub(inside.line_of(first)).max(1);
                let many = last.map_or(count.max(2) - 1, lines);
                changes::join(editor, first, many);
            }
            Verb::SwapCase => {
                let end = (0..count).fold(at, |end, _| inside.after(end).min(inside.line_end(at)));
                changes::lay_over(editor, Operator::Swap, at..end);
                editor.go_to_offset(end as u32);
            }
            _ => return,
        }
        self.mode = Mode::Normal;
        self.last = Some(Change { command: command.clone(), inserted: String::new() });
    }

    /// Outside of inserting, the cursor stands on a character.
    fn settle(&self, editor: &mut Editor) {
        if self.mode != Mode::Normal || editor.marked().is_some() {
            return;
        }
        let text = editor.text();
        let at = editor.offset() as usize;
        let last = Text(&text).last_char(at);
        if at > last {
            editor.go_to_offset(last as u32);
        }
    }
}

/// The cursor where text is to be inserted, in a new line if so.
fn insert_at(editor: &mut Editor, place: Place) {
    let text = editor.text();
    let at = editor.offset() as usize;
    let inside = Text(&text);
    let to = match place {
        Place::Before => at,
        Place::FirstInk => inside.first_ink(at),
        Place::Behind => inside.after(at).min(inside.line_end(at)),
        Place::LineEnd | Place::LineBelow => inside.line_end(at),
        Place::LineAbove => inside.line_start(at),
    };
    editor.go_to_offset(to as u32);
    match place {
        Place::LineBelow => {
            editor.edit(&Edit::Newline);
        }
        Place::LineAbove => {
            let indent = &text[to..inside.first_ink(at)];
            changes::put(editor, to..to, &format!("{indent}\n"));
            editor.go_to_offset((to + indent.len()) as u32);
        }
        _ => {}
    }
}

/// Whether a line is a command of vi's command line that means something outside of the script, too.
#[must_use]
pub fn is_command(line: &str) -> bool {
    matches!(line, "q" | "quit" | "q!" | "quit!" | "qa" | "qa!" | "w" | "write" | "w!" | "wq" | "x" | "wqa" | "xa")
}

/// Does what a line of vi's command line says.
pub fn run_command(line: &str, editor: &mut Editor) -> Option<Wanted> {
    ex::run(line, None, editor)
}

/// Turns vi's keys on or off.
pub fn turn(vi: &mut Option<Box<Vi>>) {
    *vi = if vi.is_some() { None } else { Some(Box::default()) };
}

#[cfg(test)]
mod tests;
