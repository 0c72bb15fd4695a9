//! vi's command line: what is typed after a colon.

use regex::RegexBuilder;

use super::changes;
use super::commands::{BACKSPACE, ESCAPE};
use super::motions::Text;
use super::{Vi, Wanted};
use crate::lang::diagnostic::Severity;
use crate::tui::base::action::{App, Edit};
use crate::tui::data::text::Editor;

/// Longest line; nobody types more.
const LONGEST: usize = 4096;

impl Vi {
    pub(super) fn type_ex(&mut self, key: char, editor: &mut Editor) -> Option<Wanted> {
        let mut line = self.ex.take()?;
        match key {
            ESCAPE => return None,
            '\n' => {
                let selected = self.marked(editor).map(|(from, to)| (from.0, to.0));
                self.mode = super::Mode::Normal;
                return run(line.trim(), selected, editor);
            }
            BACKSPACE if line.pop().is_none() => return None,
            BACKSPACE => {}
            c if line.len() < LONGEST && !c.is_control() => line.push(c),
            _ => {}
        }
        self.ex = Some(line);
        None
    }
}

pub(super) fn run(line: &str, selected: Option<(usize, usize)>, editor: &mut Editor) -> Option<Wanted> {
    if let Ok(number) = line.parse::<usize>() {
        editor.go_to((number.saturating_sub(1), 0), false);
        return None;
    }
    let (word, rest) = line.split_once(' ').map_or((line, ""), |(word, rest)| (word, rest.trim()));
    match (word, rest) {
        ("", _) | ("noh" | "nohlsearch", "") => None,
        ("w" | "write" | "w!", "") => Some(Wanted::App(App::Run)),
        ("q" | "quit" | "qa", "") => Some(Wanted::App(App::AskQuit)),
        ("q!" | "quit!" | "qa!", "") => Some(Wanted::App(App::QuitAnyway)),
        ("wq" | "x" | "wqa" | "xa", "") => Some(Wanted::App(App::SaveAndQuit)),
        ("u" | "undo", "") => stepped(editor, &Edit::Undo),
        ("red" | "redo", "") => stepped(editor, &Edit::Redo),
        ("$", "") => {
            let last = editor.lines().len();
            editor.go_to((last.saturating_sub(1), 0), false);
            None
        }
        ("e" | "edit" | "tabnew", name) if !name.is_empty() => Some(Wanted::Open(name.to_owned())),
        _ => {
            let told = match Substitution::read(line) {
                Some(Ok(substitution)) => substitution.apply(editor, selected),
                Some(Err(why)) => Err(why),
                None => {
                    Err(format!("`:{line}` is no command here: w, q, wq, e FILE, a line, s/old/new/g, %s/old/new/g"))
                }
            };
            Some(match told {
                Ok(text) => Wanted::Tell(Severity::Info, text),
                Err(why) => Wanted::Tell(Severity::Warning, why),
            })
        }
    }
}

fn stepped(editor: &mut Editor, edit: &Edit) -> Option<Wanted> {
    editor.edit(edit);
    None
}

/// `s/old/new/` of some lines.
struct Substitution {
    all_lines: bool,
    pattern: regex::Regex,
    new: String,
    all: bool,
}

impl Substitution {
    /// What a line asks for, if it is one.
    fn read(line: &str) -> Option<Result<Self, String>> {
        let line = line.strip_prefix("'<,'>").unwrap_or(line);
        let (all_lines, rest) = line.strip_prefix('%').map_or((false, line), |rest| (true, rest));
        let rest = rest.strip_prefix('s')?;
        let sign = rest.chars().next().filter(|c| c.is_ascii_punctuation() && *c != '\\')?;
        let parts = split(&rest[1..], sign);
        let (old, new) = (parts.first()?, parts.get(1).cloned().unwrap_or_default());
        let flags = parts.get(2).map_or("", String::as_str);
        if let Some(other) = flags.chars().find(|c| !matches!(c, 'g' | 'i' | 'I')) {
            return Some(Err(format!("s/// knows the flags g and i, not {other}")));
        }
        let pattern = RegexBuilder::new(old).case_insensitive(flags.contains('i')).size_limit(1 << 20).build();
        Some(match pattern {
            Ok(pattern) => Ok(Self { all_lines, pattern, new, all: flags.contains('g') }),
            Err(e) => Err(format!("`{old}` is no regular expression: {}", last_line(&e.to_string()))),
        })
    }

    fn apply(&self, editor: &mut Editor, selected: Option<(usize, usize)>) -> Result<String, String> {
        let text = editor.text();
        let here = editor.cursor().0;
        let lines = match (self.all_lines, selected) {
            (true, _) => 0..=usize::MAX,
            (false, Some((from, to))) => from..=to,
            (false, None) => here..=here,
        };
        let (mut count, mut last) = (0, None);
        let changed = text.split('\n').enumerate().map(|(number, line)| {
            let times = if lines.contains(&number) { self.pattern.find_iter(line).count() } else { 0 };
            if times == 0 {
                return line.to_owned();
            }
            last = Some(number);
            count += if self.all { times } else { 1 };
            let most = usize::from(!self.all);
            self.pattern.replacen(line, most, self.new.as_str()).into_owned()
        });
        let changed = changed.collect::<Vec<_>>().join("\n");
        let Some(last) = last else { return Err(format!("{} is not there", self.pattern.as_str())) };
        changes::put(editor, 0..text.len(), &changed);
        let text = editor.text();
        editor.go_to_offset(Text(&text).line(last) as u32);
        Ok(format!("{count} replaced"))
    }
}

fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or(text).trim()
}

/// The parts between signs; a backslash before one makes it text.
fn split(text: &str, sign: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let part = parts.len() - 1;
        match c {
            '\\' if chars.peek() == Some(&sign) => parts[part].extend(chars.next()),
            '\\' => {
                parts[part].push(c);
                parts[part].extend(chars.next());
            }
            c if c == sign => parts.push(String::new()),
            c => parts[part].push(c),
        }
    }
    parts
}
