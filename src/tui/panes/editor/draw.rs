//! The script: numbers, colours, underlined problems, the message under the cursor's line.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use crate::lang::codes;
use crate::lang::diagnostic::Severity;
use crate::tui::base::paint::{add_mark, clear, note, put, style_row};
use crate::tui::base::text::{counted, fit, neutralise, wrap};
use crate::tui::base::theme::Slot;
use crate::tui::data::Data;
use crate::tui::data::document::Document;
use crate::tui::data::text::{advance, columns, marked_in_line};
use crate::tui::pane::{Context, Typed};
use crate::tui::widgets::frame::pane_frame;

/// Height and width of the text in a frame of this size.
#[must_use]
pub fn text_size(data: &Data, doc: &Document, area: Rect) -> (usize, usize) {
    let inner = (usize::from(area.height).saturating_sub(2), usize::from(area.width).saturating_sub(2));
    let below = problem_rows(doc, inner.0) + message(data, doc, inner.1).len().min(inner.0 / 3);
    (inner.0.saturating_sub(below).max(1), inner.1.saturating_sub(gutter(data, doc)).max(1))
}

/// Columns of line numbers and marks.
pub(super) fn gutter(data: &Data, doc: &Document) -> usize {
    let digits = doc.editor.lines().len().to_string().len().max(2);
    if data.size.0 < 40 { 0 } else { digits + 3 }
}

/// Rows of the list of problems, its rule included; the list is left out when it says nothing new.
fn problem_rows(doc: &Document, height: usize) -> usize {
    let count = doc.editor.diagnostics().len();
    if count < 2 || height < 9 { 0 } else { count.min(height / 4).max(2) + 1 }
}

/// The message for the cursor's line, in lines of the pane's width.
fn message(data: &Data, doc: &Document, width: usize) -> Vec<(String, Slot)> {
    let Some(problem) = doc.editor.problem_here() else { return Vec::new() };
    let slot = slot_of(problem.severity);
    let room = width.saturating_sub(gutter(data, doc) + 3).max(12);
    let text = neutralise(&problem.message).into_owned();
    let mut lines: Vec<(String, Slot)> =
        wrap(&format!("{text} [{}]", codes::shown(problem.code)), room).into_iter().map(|l| (l, slot)).collect();
    if let Some(help) = &problem.help {
        lines.extend(wrap(&neutralise(help), room).into_iter().map(|l| (l, Slot::Dim)));
    }
    if let Some(fix) = &problem.fix {
        let fix = format!("Alt-F writes {}", neutralise(&fix.replacement));
        lines.push((fit(&fix, room).into_owned(), Slot::Dim));
    }
    lines
}

const fn slot_of(severity: Severity) -> Slot {
    match severity {
        Severity::Error => Slot::Error,
        Severity::Warning => Slot::Warning,
        Severity::Info => Slot::Info,
    }
}

/// Paints the pane.
pub fn draw(ctx: &Context<'_>, doc: &Document, buf: &mut Buffer, area: Rect) {
    let data = ctx.data;
    let theme = &data.theme;
    let focused = ctx.focused && ctx.is_first;
    let (inside, taken) = pane_frame(ctx, buf, area);
    let (line, column) = doc.editor.cursor();
    let vi = data.vi.as_ref().map(|vi| format!("{}  ", vi.label())).unwrap_or_default();
    note(buf, area, &format!("{vi}{}:{}", line + 1, column + 1), theme[Slot::Faint], taken);
    lower_edge(ctx, doc, buf, area);
    let here = Here::of(data, doc, focused);
    let height = usize::from(inside.height);
    let list = problem_rows(doc, height);
    let text_rows = height - list;
    let mut y = 0;
    let mut index = doc.editor.top;
    while y < text_rows && index < doc.editor.lines().len() {
        draw_line(data, doc, buf, inside, index, y, &here);
        y += 1;
        if index == line {
            let shown = message(data, doc, usize::from(inside.width));
            let indent = gutter(data, doc);
            for (i, (text, slot)) in shown.iter().take(height / 3).enumerate().take_while(|(i, _)| y + i < text_rows) {
                let lead = if i == 0 { "╰ " } else { "  " };
                let x = put(buf, inside, indent, y + i, lead, theme[*slot]);
                put(buf, inside, x, y + i, text, theme[*slot]);
            }
            y += shown.len().min(height / 3);
        }
        index += 1;
    }
    if doc.editor.is_blank() {
        ghost(data, doc, buf, inside);
    }
    if list > 0 {
        problems(data, doc, buf, inside, text_rows, list);
    }
}

/// Line and character of the script at a place of the screen; `area` is the pane's frame. Absent
/// where no text can be: on the frame, the messages and the list of problems.
#[must_use]
pub fn place_at(data: &Data, doc: &Document, area: Rect, (column, row): (u16, u16)) -> Option<(usize, usize)> {
    let height = usize::from(area.height).saturating_sub(2);
    let wanted = usize::from(row.checked_sub(area.y + 1)?);
    if wanted >= height - problem_rows(doc, height) {
        return None;
    }
    let last = doc.editor.lines().len() - 1;
    let (cursor, _) = doc.editor.cursor();
    let below = message(data, doc, usize::from(area.width).saturating_sub(2)).len().min(height / 3);
    let mut index = doc.editor.top + wanted;
    if index > cursor {
        index = index.checked_sub(below).filter(|i| *i > cursor)?;
    }
    let line = &doc.editor.lines()[index.min(last)];
    let from_left = usize::from(column.saturating_sub(area.x + 1)).saturating_sub(gutter(data, doc));
    let wanted = if index > last { usize::MAX } else { from_left + doc.editor.left };
    let mut at = 0;
    for (nth, c) in line.chars().enumerate() {
        at += advance(c, at);
        if wanted < at {
            return Some((index.min(last), nth));
        }
    }
    Some((index.min(last), line.chars().count()))
}

/// On the frame's lower edge: the search that is typed, or what is known of the word at the cursor.
fn lower_edge(ctx: &Context<'_>, doc: &Document, buf: &mut Buffer, area: Rect) {
    let data = ctx.data;
    let theme = &data.theme;
    let (y, room) = (usize::from(area.height).saturating_sub(1), usize::from(area.width).saturating_sub(6));
    if let Some(Typed::Find(input)) = ctx.typed {
        let edge = Rect { x: area.x + 1, y: area.y + y as u16, width: area.width.saturating_sub(2), height: 1 };
        clear(buf, edge, theme[Slot::Overlay]);
        crate::tui::widgets::frame::input_line(theme, input, "find", buf, edge, 0);
    } else if let Some(line) = data.vi.as_ref().filter(|_| ctx.focused).and_then(|vi| vi.command_line()) {
        let edge = Rect { x: area.x + 1, y: area.y + y as u16, width: area.width.saturating_sub(2), height: 1 };
        clear(buf, edge, theme[Slot::Overlay]);
        let text = format!(":{}", neutralise(line));
        // Of a long line, its end.
        let from = text.chars().count().saturating_sub(room);
        let x = put(buf, edge, 0, 0, &text.chars().skip(from).collect::<String>(), theme[Slot::Overlay]);
        put(buf, edge, x, 0, " ", theme[Slot::Cursor]);
    } else if !doc.assist.hint.is_empty() && ctx.focused && room > 12 {
        let text = format!(" {} ", fit(&neutralise(&doc.assist.hint), room));
        put(buf, area, 2, y, &text, theme[Slot::Info]);
    }
}

/// A line of the text, and a character in it.
type Place = (usize, usize);

/// What is shown of the cursor and of what is selected.
struct Here {
    focused: bool,
    marked: Option<(Place, Place)>,
    brackets: Option<[Place; 2]>,
}

impl Here {
    fn of(data: &Data, doc: &Document, focused: bool) -> Self {
        let editor = &doc.editor;
        let selected = data.vi.as_ref().filter(|_| focused).and_then(|vi| vi.marked(editor));
        Self {
            focused,
            marked: selected.or_else(|| editor.marked()),
            brackets: if focused { editor.brackets() } else { None },
        }
    }
}

fn draw_line(data: &Data, doc: &Document, buf: &mut Buffer, area: Rect, index: usize, y: usize, here: &Here) {
    let theme = &data.theme;
    let editor = &doc.editor;
    let Some(line) = editor.lines().get(index) else { return };
    let (cursor_line, cursor_column) = editor.cursor();
    if index == cursor_line {
        style_row(buf, area, y, theme[Slot::CursorLine]);
    }
    let gutter = gutter(data, doc);
    if gutter > 0 {
        let (mark, slot) = match editor.severity_at(index) {
            Some(Severity::Error) => ("✗", Slot::Error),
            Some(Severity::Warning) => ("▲", Slot::Warning),
            Some(Severity::Info) => ("›", Slot::Info),
            None => (" ", Slot::Faint),
        };
        let number = if index == cursor_line { Slot::Dim } else { Slot::Faint };
        put(buf, area, 0, y, mark, theme[slot]);
        put(buf, area, 1, y, &format!("{:>1$}", index + 1, gutter - 3), theme[number]);
    }
    let text = Rect { x: area.x + gutter as u16, width: area.width.saturating_sub(gutter as u16), ..area };
    let parts = editor.parts(index);
    let marked = here.marked.and_then(|m| marked_in_line(m, index));
    let mut part = parts.iter().peekable();
    let (mut at, mut letter, mut last) = (0, [0_u8; 4], None);
    for (nth, (byte, c)) in line.char_indices().enumerate() {
        while part.peek().is_some_and(|(r, _)| r.end <= byte) {
            part.next();
        }
        let slot = part.peek().filter(|(r, _)| r.contains(&byte)).map(|(_, s)| *s);
        let mut style = slot.map_or_else(Style::new, |s| Style { bg: None, ..theme[s] });
        style = underlined(data, doc, style, index, byte);
        if marked.as_ref().is_some_and(|m| m.contains(&nth)) {
            style = style.patch(theme[Slot::Marked]);
        }
        if here.brackets.is_some_and(|pair| pair.contains(&(index, nth))) {
            style = style.patch(theme[Slot::Matched]);
        }
        if here.focused && index == cursor_line && nth == cursor_column {
            style = style.patch(theme[Slot::Cursor]);
        }
        let columns = advance(c, at);
        if let Some(x) = last.filter(|_| columns == 0) {
            add_mark(buf, text, x, y, c);
        } else if let Some(x) = at.checked_sub(editor.left) {
            last = Some(x);
            let shown =
                if c == '\t' { " ".repeat(columns) } else { neutralise(c.encode_utf8(&mut letter)).into_owned() };
            put(buf, text, x, y, &shown, style);
        }
        at += columns;
        if at >= editor.left + usize::from(text.width) {
            break;
        }
    }
    let room = usize::from(text.width);
    let (shown, cursor) = (editor.left + room, columns(line, cursor_column));
    // The cursor's own character is never hidden.
    if columns(line, usize::MAX) > shown && room > 1 && !(index == cursor_line && cursor + 1 == shown) {
        put(buf, text, room - 1, y, "…", theme[Slot::Faint]);
    }
    after_end(data, doc, buf, text, index, y, here.focused);
}

/// The cursor and problems may lie just past the end of a line.
fn after_end(data: &Data, doc: &Document, buf: &mut Buffer, area: Rect, index: usize, y: usize, focused: bool) {
    let editor = &doc.editor;
    let line = &editor.lines()[index];
    let Some(x) = columns(line, usize::MAX).checked_sub(editor.left) else { return };
    let mut style = underlined(data, doc, Style::new(), index, line.len());
    if focused && editor.cursor() == (index, line.chars().count()) {
        style = style.patch(data.theme[Slot::Cursor]);
    }
    if style != Style::new() {
        put(buf, area, x, y, " ", style);
    }
}

fn underlined(data: &Data, doc: &Document, style: Style, line: usize, byte: usize) -> Style {
    let on = doc.editor.marks().iter().filter(|m| m.line == line && (m.start..m.end).contains(&byte));
    let worst = on.filter_map(|m| doc.editor.diagnostics().get(m.diagnostic)).map(|d| d.severity).max();
    worst.map_or(style, |severity| {
        let colour = data.theme[slot_of(severity)].fg;
        let style = style.add_modifier(Modifier::UNDERLINED);
        colour.map_or(style, |c| style.underline_color(c))
    })
}

/// What to do with an empty script.
fn ghost(data: &Data, doc: &Document, buf: &mut Buffer, area: Rect) {
    let theme = &data.theme;
    let x = gutter(data, doc) + 2;
    put(buf, area, x, 0, "type / to choose a probe", theme[Slot::Faint]);
}

fn problems(data: &Data, doc: &Document, buf: &mut Buffer, area: Rect, from: usize, rows: usize) {
    let theme = &data.theme;
    let width = usize::from(area.width);
    put(buf, area, 0, from, &"─".repeat(width), theme[Slot::Border]);
    let all = doc.editor.diagnostics();
    let more = all.len().saturating_sub(rows - 1);
    let title = if more > 0 {
        format!(" {}, {more} more below ", counted(all.len() as u64, "problem"))
    } else {
        format!(" {} ", counted(all.len() as u64, "problem"))
    };
    put(buf, area, 1, from, &title, theme[Slot::Title]);
    let current = doc.editor.problem_here();
    for (i, problem) in all.iter().enumerate().take(rows - 1) {
        let y = from + 1 + i;
        let slot = slot_of(problem.severity);
        let place = format!("{:>4} ", doc.editor.line_of(i) + 1);
        let x = put(buf, area, 0, y, &place, theme[Slot::Faint]);
        let x = put(buf, area, x, y, if slot == Slot::Error { "✗ " } else { "▲ " }, theme[slot]);
        put(buf, area, x, y, &fit(&neutralise(&problem.message), width.saturating_sub(x)), theme[Slot::Text]);
        if current == Some(problem) {
            style_row(buf, area, y, theme[Slot::Selected]);
        }
    }
}
