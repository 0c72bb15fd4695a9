//! Rows of types.

use std::collections::BTreeSet;

use super::{MOST_ROWS, Row, matches};
use crate::probe::lens::{Composite, LensField, Plain};

/// The members that are in sight, or all that are known by now and match.
pub(super) fn rows(roots: &[Composite], plain: &[Plain], open: &BTreeSet<String>, filter: &str) -> Vec<Row> {
    let mut out: Vec<Row> = plain
        .iter()
        .filter(|argument| filter.is_empty() || matches(&argument.access, filter))
        .map(|Plain { access, ty }| Row {
            key: access.clone(),
            name: access.clone(),
            what: ty.clone(),
            ..Row::default()
        })
        .collect();
    for root in roots {
        let is_open = open.contains(root.access());
        if filter.is_empty() {
            out.push(Row {
                key: root.access().to_owned(),
                depth: 0,
                opens: Some(is_open),
                name: root.access().to_owned(),
                what: format!("{}, {} bytes", root.type_text(), root.size()),
                ..Row::default()
            });
            if is_open {
                add(&mut out, root, 1, open);
            }
        } else {
            search(&mut out, root, open, filter);
        }
    }
    if !filter.is_empty() {
        // Names that are what was typed come first, then those that begin so.
        out.sort_by_key(|row| rank(&row.name, filter));
    }
    out
}

fn add(out: &mut Vec<Row>, whole: &Composite, depth: usize, open: &BTreeSet<String>) {
    for field in whole.fields() {
        if out.len() >= MOST_ROWS {
            return;
        }
        let (inside, is_open) = (depth + field.depth, open.contains(&field.access));
        let name = if field.name.is_empty() { "(anonymous)".to_owned() } else { field.name.clone() };
        out.push(row(&field, name, inside, is_open));
        if let Some(inner) = field.inner.filter(|_| is_open) {
            add(out, &inner, inside + 1, open);
        }
    }
}

/// Members at every depth, and those behind pointers that are open.
fn search(out: &mut Vec<Row>, whole: &Composite, open: &BTreeSet<String>, filter: &str) {
    for field in whole.all_fields() {
        if out.len() >= MOST_ROWS {
            return;
        }
        let is_open = open.contains(&field.access);
        if !field.name.is_empty() && matches(&field.access, filter) {
            out.push(row(&field, field.access.clone(), 0, is_open));
        }
        if let Some(inner) = field.inner.filter(|inner| is_open && inner.is_behind_pointer()) {
            search(out, &inner, open, filter);
        }
    }
}

fn rank(path: &str, filter: &str) -> u8 {
    let name = path.rsplit(['.', '>']).next().unwrap_or(path).to_lowercase();
    u8::from(name != filter) + u8::from(!name.starts_with(filter))
}

fn row(field: &LensField, name: String, depth: usize, is_open: bool) -> Row {
    let offset = field.bit_offset / 8;
    let place =
        if field.bits == 0 { format!("{offset}") } else { format!("{offset}.{}:{}", field.bit_offset % 8, field.bits) };
    Row {
        key: field.access.clone(),
        depth,
        opens: field.inner.as_ref().map(|_| is_open),
        name,
        what: field.ty.clone(),
        before: None,
        place,
    }
}
