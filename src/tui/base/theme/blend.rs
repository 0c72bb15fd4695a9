//! Looks that lie between those of slots.

use ratatui::style::{Color, Style};

use super::{Slot, Theme};

impl Theme {
    /// A colour between the two ends of the bars' gradient, `part` from 0 to 1.
    #[must_use]
    pub fn gradient(&self, part: f64) -> Style {
        let (low, high) = (self[Slot::BarLow], self[Slot::BarHigh]);
        match (low.fg, high.fg) {
            (Some(Color::Rgb(..)), Some(Color::Rgb(..))) => Style { fg: mixed(low.fg, high.fg, part), ..low },
            _ if part > 0.66 => high,
            _ => low,
        }
    }

    /// A look whose ground lies between those of two slots.
    #[must_use]
    pub fn between(&self, from: Slot, to: Slot, part: f64) -> Style {
        let (low, high) = (self[from], self[to]);
        match (low.bg, high.bg) {
            (Some(Color::Rgb(..)), Some(Color::Rgb(..))) => {
                let letters = if part > 0.5 { high.fg } else { low.fg };
                Style { fg: letters, bg: mixed(low.bg, high.bg, part), ..low }
            }
            _ if part > 0.1 => high,
            _ => low,
        }
    }

    /// A look whose ground is a little lighter or darker, by `step` of -2 to 2.
    #[must_use]
    pub fn tinted(&self, slot: Slot, step: i16) -> Style {
        let style = self[slot];
        let one = |v: u8| (i16::from(v) + step * 9).clamp(0, 255) as u8;
        match style.bg {
            Some(Color::Rgb(r, g, b)) => style.bg(Color::Rgb(one(r), one(g), one(b))),
            _ => style,
        }
    }

    /// The colour of a cell in a map of heat, from the ground of the screen to the hot end, `part` from 0 to 1; none
    /// on a terminal of few colours.
    #[must_use]
    pub fn heat(&self, part: f64) -> Option<Color> {
        let (ground, low, high) = (self[Slot::Text].bg, self[Slot::BarLow].fg, self[Slot::BarHigh].fg);
        let is_true = |c: Option<Color>| matches!(c, Some(Color::Rgb(..)));
        if !is_true(ground) || !is_true(low) || !is_true(high) {
            return None;
        }
        if part < 0.5 { mixed(ground, low, 0.15 + part * 1.7) } else { mixed(low, high, part * 2.0 - 1.0) }
    }
}

/// A colour between two, where both are true colours.
fn mixed(from: Option<Color>, to: Option<Color>, part: f64) -> Option<Color> {
    let (Some(Color::Rgb(r0, g0, b0)), Some(Color::Rgb(r1, g1, b1))) = (from, to) else { return from };
    let part = part.clamp(0.0, 1.0);
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part).round() as u8;
    Some(Color::Rgb(mix(r0, r1), mix(g0, g1), mix(b0, b1)))
}
