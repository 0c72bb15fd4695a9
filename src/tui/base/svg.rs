//! A buffer as a picture: SVG with crisp boxes and bars, exact columns and the theme's colours.

use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use super::text::width;
use super::theme::{Slot, Theme};

/// Width of a cell in SVG units.
const CELL_W: f64 = 9.0;
/// Height of a cell.
const CELL_H: f64 = 19.0;
/// Around the screen.
const PAD: f64 = 14.0;
/// The window's title bar.
const TITLE: f64 = 34.0;

/// Draws `buffer` as a window with a title.
#[must_use]
pub fn render(buffer: &Buffer, theme: &Theme, title: &str) -> String {
    let (columns, rows) = (buffer.area.width, buffer.area.height);
    let (w, h) = (f64::from(columns) * CELL_W + 2.0 * PAD, f64::from(rows) * CELL_H + 2.0 * PAD + TITLE);
    let mut out = String::new();
    let back = hex(theme[Slot::Text].bg, "#000000");
    let fore = hex(theme[Slot::Text].fg, "#d0d0d0");
    let panel = hex(theme[Slot::Bar].bg, &back);
    let line = hex(theme[Slot::Border].fg, &fore);
    let dim = hex(theme[Slot::Dim].fg, &fore);
    let _ = write!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" shape-rendering="geometricPrecision" width="{w}" height="{h}" viewBox="0 0 {w} {h}" font-family="'JetBrains Mono','DejaVu Sans Mono','Liberation Mono',Menlo,Consolas,monospace" font-size="15">
<title>{}</title>
<rect x="0.5" y="0.5" width="{}" height="{}" rx="10" fill="{back}" stroke="{line}"/>
<path d="M0.5 {TITLE}V10.5a10 10 0 0 1 10 -10H{}a10 10 0 0 1 10 10V{TITLE}Z" fill="{panel}" stroke="{line}"/>
"#,
        escape(title),
        w - 1.0,
        h - 1.0,
        w - 10.5,
    );
    for (i, colour) in ["#ff5f57", "#febc2e", "#28c840"].iter().enumerate() {
        let _ = writeln!(out, r#"<circle cx="{}" cy="17" r="6" fill="{colour}"/>"#, 22 + 20 * i);
    }
    let _ = writeln!(
        out,
        r#"<text x="{}" y="22" text-anchor="middle" fill="{dim}" font-size="13">{}</text>"#,
        w / 2.0,
        escape(title)
    );
    let _ = writeln!(out, r#"<g transform="translate({PAD} {})">"#, PAD + TITLE);
    for y in 0..rows {
        let cells: Vec<Look> = (0..columns).map(|x| Look::of(&buffer[(x, y)], &fore, &back)).collect();
        backgrounds(&mut out, &cells, y, &back);
        glyphs(&mut out, buffer, &cells, y);
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// A cell's colours, reversal resolved.
#[derive(Clone, PartialEq)]
struct Look {
    fg: String,
    bg: String,
    modifier: Modifier,
    underline: Option<String>,
}

impl Look {
    fn of(cell: &Cell, fore: &str, back: &str) -> Self {
        let (mut fg, mut bg) = (hex(Some(cell.fg), fore), hex(Some(cell.bg), back));
        if cell.modifier.contains(Modifier::REVERSED) {
            std::mem::swap(&mut fg, &mut bg);
        }
        let underline = (cell.modifier.contains(Modifier::UNDERLINED)).then(|| hex(Some(cell.underline_color), &fg));
        Self { fg, bg, modifier: cell.modifier, underline }
    }
}

fn backgrounds(out: &mut String, cells: &[Look], y: u16, back: &str) {
    let mut x = 0;
    while x < cells.len() {
        let end = x + cells[x..].iter().take_while(|c| c.bg == cells[x].bg).count();
        if cells[x].bg != back {
            let _ = writeln!(
                out,
                r#"<rect x="{}" y="{}" width="{}" height="{CELL_H}" fill="{}"/>"#,
                x as f64 * CELL_W,
                f64::from(y) * CELL_H,
                (end - x) as f64 * CELL_W,
                cells[x].bg
            );
        }
        x = end;
    }
}

fn glyphs(out: &mut String, buffer: &Buffer, cells: &[Look], y: u16) {
    let mut x = 0;
    while x < cells.len() {
        let symbol = buffer[(x as u16, y)].symbol();
        let c = symbol.chars().next().unwrap_or(' ');
        if let Some(shape) = shape(c, x as f64 * CELL_W, f64::from(y) * CELL_H) {
            let run = if c == '█' { full_blocks(buffer, cells, x, y) } else { 1 };
            if run > 1 {
                let (left, top, w) = (x as f64 * CELL_W, f64::from(y) * CELL_H, run as f64 * CELL_W);
                let fg = &cells[x].fg;
                let _ = writeln!(out, r#"<rect x="{left}" y="{top}" width="{w}" height="{CELL_H}" fill="{fg}"/>"#);
            } else {
                out.push_str(&shape.replace("FG", &cells[x].fg));
            }
            x += run;
            continue;
        }
        let mut run = String::new();
        let start = x;
        let mut columns = 0;
        while x < cells.len() && same_text(&cells[x], &cells[start]) {
            let symbol = buffer[(x as u16, y)].symbol();
            let w = width(symbol).max(1);
            if shape(symbol.chars().next().unwrap_or(' '), 0.0, 0.0).is_some() || (w > 1 && x > start) {
                break;
            }
            run.push_str(symbol);
            columns += w;
            x += w;
            if w > 1 || !symbol.is_ascii() {
                break;
            }
        }
        text(out, &run, &cells[start], start, columns, y);
    }
}

/// How many full blocks of one colour stand in a row.
fn full_blocks(buffer: &Buffer, cells: &[Look], from: usize, y: u16) -> usize {
    let same = |x: &usize| buffer[(*x as u16, y)].symbol() == "█" && cells[*x].fg == cells[from].fg;
    (from..cells.len()).take_while(same).count()
}

fn same_text(a: &Look, b: &Look) -> bool {
    a.fg == b.fg && a.modifier == b.modifier && a.underline == b.underline
}

fn text(out: &mut String, run: &str, look: &Look, start: usize, columns: usize, y: u16) {
    let (x, top, w) = (start as f64 * CELL_W, f64::from(y) * CELL_H, columns as f64 * CELL_W);
    if let Some(colour) = &look.underline {
        underline(out, x, top + CELL_H - 2.5, w, colour, *colour != look.fg);
    }
    let shown = run.trim_end();
    if shown.is_empty() {
        return;
    }
    let lead = shown.len() - shown.trim_start().len();
    let (x, shown) = (x + lead as f64 * CELL_W, shown.trim_start());
    let mut attributes = String::new();
    for (modifier, attribute) in [
        (Modifier::BOLD, r#" font-weight="bold""#),
        (Modifier::ITALIC, r#" font-style="italic""#),
        (Modifier::DIM, r#" opacity="0.6""#),
        (Modifier::CROSSED_OUT, r#" text-decoration="line-through""#),
    ] {
        if look.modifier.contains(modifier) {
            attributes.push_str(attribute);
        }
    }
    let _ = writeln!(
        out,
        r#"<text x="{x}" y="{}" fill="{}"{attributes} textLength="{}" lengthAdjust="spacingAndGlyphs" xml:space="preserve">{}</text>"#,
        top + 14.5,
        look.fg,
        width(shown) as f64 * CELL_W,
        escape(shown)
    );
}

/// A straight line, or waves where the underline has a colour of its own: something is wrong there.
fn underline(out: &mut String, x: f64, y: f64, w: f64, colour: &str, waves: bool) {
    let mut path = format!("M{x} {y}");
    if waves {
        let step = CELL_W / 4.0;
        for i in 0..(w / (2.0 * step)).round() as usize {
            let up = if i % 2 == 0 { -2.2 } else { 2.2 };
            let _ = write!(path, "q{step} {up} {} 0", 2.0 * step);
        }
    } else {
        let _ = write!(path, "h{w}");
    }
    let _ = writeln!(out, r#"<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.3"/>"#);
}

/// Boxes, blocks and dots as shapes, so that they join without gaps whatever the font.
fn shape(c: char, x: f64, y: f64) -> Option<String> {
    let (mx, my) = (x + CELL_W / 2.0, y + (CELL_H / 2.0).round() + 0.5);
    let (right, bottom) = (x + CELL_W, y + CELL_H);
    let r = 4.0;
    let stroke = |d: String| format!("<path d=\"{d}\" fill=\"none\" stroke=\"FG\" stroke-width=\"1.2\"/>\n");
    let block = |x: f64, y: f64, w: f64, h: f64| {
        format!("<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill=\"FG\"/>\n")
    };
    Some(match c {
        '─' => stroke(format!("M{x} {my}H{right}")),
        '│' => stroke(format!("M{mx} {y}V{bottom}")),
        '╭' => stroke(format!("M{right} {my}H{}a{r} {r} 0 0 0 -{r} {r}V{bottom}", mx + r)),
        '╮' => stroke(format!("M{x} {my}H{}a{r} {r} 0 0 1 {r} {r}V{bottom}", mx - r)),
        '╰' => stroke(format!("M{mx} {y}V{}a{r} {r} 0 0 0 {r} {r}H{right}", my - r)),
        '╯' => stroke(format!("M{mx} {y}V{}a{r} {r} 0 0 1 -{r} {r}H{x}", my - r)),
        '┌' => stroke(format!("M{right} {my}H{mx}V{bottom}")),
        '┐' => stroke(format!("M{x} {my}H{mx}V{bottom}")),
        '└' => stroke(format!("M{mx} {y}V{my}H{right}")),
        '┘' => stroke(format!("M{mx} {y}V{my}H{x}")),
        '├' => stroke(format!("M{mx} {y}V{bottom}M{mx} {my}H{right}")),
        '┤' => stroke(format!("M{mx} {y}V{bottom}M{mx} {my}H{x}")),
        '┬' => stroke(format!("M{x} {my}H{right}M{mx} {my}V{bottom}")),
        '┴' => stroke(format!("M{x} {my}H{right}M{mx} {my}V{y}")),
        '┼' => stroke(format!("M{x} {my}H{right}M{mx} {y}V{bottom}")),
        '█' => block(x, y, CELL_W, CELL_H),
        '\u{2581}'..='\u{2587}' => {
            let part = f64::from(c as u32 - 0x2580) / 8.0 * CELL_H;
            block(x, bottom - part, CELL_W + 0.4, part)
        }
        '\u{2589}'..='\u{258f}' => {
            let part = f64::from(0x2590 - c as u32) / 8.0 * CELL_W;
            block(x - 0.4, y, part + 0.4, CELL_H)
        }
        '■' => block(x, y + 2.5, CELL_W, CELL_H - 5.0),
        '●' => format!("<circle cx=\"{mx}\" cy=\"{my}\" r=\"3.6\" fill=\"FG\"/>\n"),
        '▐' => block(mx, y, CELL_W / 2.0, CELL_H),
        _ => return None,
    })
}

/// A colour as `#rrggbb`; `default` for the terminal's own.
fn hex(colour: Option<Color>, default: &str) -> String {
    match colour {
        Some(Color::Rgb(r, g, b)) => format!("#{r:02x}{g:02x}{b:02x}"),
        Some(Color::Indexed(n)) => indexed(n),
        None | Some(Color::Reset) => default.to_owned(),
        Some(named) => indexed(
            [
                Color::Black,
                Color::Red,
                Color::Green,
                Color::Yellow,
                Color::Blue,
                Color::Magenta,
                Color::Cyan,
                Color::Gray,
                Color::DarkGray,
                Color::LightRed,
                Color::LightGreen,
                Color::LightYellow,
                Color::LightBlue,
                Color::LightMagenta,
                Color::LightCyan,
                Color::White,
            ]
            .iter()
            .position(|c| *c == named)
            .unwrap_or(7) as u8,
        ),
    }
}

/// xterm's 256 colours.
fn indexed(n: u8) -> String {
    const NAMED: [&str; 16] = [
        "#000000", "#cd3131", "#0dbc79", "#e5e510", "#2472c8", "#bc3fbc", "#11a8cd", "#e5e5e5", "#666666", "#f14c4c",
        "#23d18b", "#f5f543", "#3b8eea", "#d670d6", "#29b8db", "#ffffff",
    ];
    match n {
        0..=15 => NAMED[usize::from(n)].to_owned(),
        16..=231 => {
            let level = |l: u8| if l == 0 { 0 } else { 55 + 40 * l };
            let n = n - 16;
            format!("#{:02x}{:02x}{:02x}", level(n / 36), level(n / 6 % 6), level(n % 6))
        }
        _ => {
            let grey = 8 + 10 * (n - 232);
            format!("#{grey:02x}{grey:02x}{grey:02x}")
        }
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no words for the last two, not even as references.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    #[test]
    fn text_keeps_its_columns_and_is_escaped() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 8, 1));
        buffer.set_string(0, 0, "a<漢b", Style::new().fg(Color::Rgb(1, 2, 3)));
        let svg = render(&buffer, &Theme::monochrome(), "t & t");
        assert!(svg.contains("a&lt;</text>"), "{svg}");
        assert!(svg.contains(r##"x="18" y="14.5" fill="#010203" textLength="18""##), "{svg}");
        assert!(svg.contains("t &amp; t"));
    }

    #[test]
    fn boxes_are_lines_and_errors_are_waves() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 4, 1));
        let wrong = Style::new().add_modifier(Modifier::UNDERLINED).underline_color(Color::Red);
        buffer.set_string(0, 0, "─x", wrong);
        let svg = render(&buffer, &Theme::monochrome(), "");
        assert!(!svg.contains('─'));
        assert!(svg.contains("q2.25 -2.2 4.5 0"), "{svg}");
    }
}
