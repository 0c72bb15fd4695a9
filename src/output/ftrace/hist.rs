//! Histograms of the kernel as tables.

use crate::model::render::neutralise;
use crate::output::json;
use crate::tracer::ftrace::hist::HistTable;

/// Cells of a bar.
const BAR: usize = 30;
/// Widest key.
const WIDEST: usize = 60;

/// Adds a table with aligned columns, numbers to the right, and a bar of the hit count.
pub fn table(found: &HistTable, out: &mut Vec<u8>) {
    let columns: Vec<&str> = found.keys.iter().chain(&found.values).map(String::as_str).collect();
    let cells: Vec<Vec<String>> =
        found.rows.iter().map(|(keys, values)| keys.iter().chain(values).map(|cell| tidy(cell)).collect()).collect();
    let width = |at: usize| {
        let widest =
            cells.iter().filter_map(|row| row.get(at)).flat_map(|cell| cell.lines()).map(|l| l.chars().count()).max();
        widest.unwrap_or(0).max(columns.get(at).map_or(0, |name| name.chars().count())).min(WIDEST)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    // Text stands at the left, numbers at the right.
    let number = |at: usize| {
        let mut all = cells.iter().filter_map(|row| row.get(at)).peekable();
        all.peek().is_some()
            && all.all(|cell| !cell.is_empty() && cell.bytes().all(|b| b.is_ascii_digit() || b == b'-'))
    };
    let right: Vec<bool> = (0..columns.len()).map(number).collect();
    let put = |row: &[String], bar: &str, out: &mut Vec<u8>| {
        let lines = row.iter().map(|cell| cell.lines().count()).max().unwrap_or(1).max(1);
        for line in 0..lines {
            let mut text = String::new();
            for (at, cell) in row.iter().enumerate() {
                // Of a stack the numbers stand beside its first line.
                let part = cell.lines().nth(line).unwrap_or("");
                let pad = widths.get(at).copied().unwrap_or(0);
                if at > 0 {
                    text.push_str("  ");
                }
                if right.get(at) == Some(&true) {
                    text.push_str(&format!("{part:>pad$}"));
                } else {
                    text.push_str(&format!("{part:<pad$}"));
                }
            }
            if line == 0 {
                text.push_str("  ");
                text.push_str(bar);
            }
            out.extend_from_slice(text.trim_end().as_bytes());
            out.push(b'\n');
        }
    };
    let heading: Vec<String> = columns.iter().map(|name| neutralise(name).into_owned()).collect();
    put(&heading, "", out);
    let count = |row: &[String]| row.get(found.keys.len()).and_then(|cell| cell.parse::<u64>().ok()).unwrap_or(0);
    let most = cells.iter().map(|row| count(row)).max().unwrap_or(0).max(1);
    for row in &cells {
        let bar = "#".repeat((count(row) as usize).saturating_mul(BAR).div_ceil(most as usize).min(BAR));
        put(row, &bar, out);
    }
    let dropped = if found.dropped > 0 { format!(", {} in no row", found.dropped) } else { String::new() };
    out.extend_from_slice(format!("{} events in {} rows{dropped}\n", found.hits, found.entries).as_bytes());
}

/// A cell without the blanks that the kernel aligns by.
fn tidy(cell: &str) -> String {
    let lines: Vec<String> = cell
        .lines()
        .map(|line| neutralise(&line.split_whitespace().collect::<Vec<_>>().join(" ")).replace("[ ", "["))
        .collect();
    lines.join("\n")
}

/// Adds it as one JSON object: rows by name.
pub fn table_json(found: &HistTable, out: &mut Vec<u8>) {
    let rows = found.rows.iter().map(|(keys, values)| {
        let value = |text: &String| text.parse::<u64>().map_or_else(|_| tidy(text).into(), serde_json::Value::from);
        let of = |names: &[String], cells: &[String]| -> serde_json::Map<String, serde_json::Value> {
            names.iter().zip(cells).map(|(name, cell)| (name.clone(), value(cell))).collect()
        };
        serde_json::json!({ "keys": of(&found.keys, keys), "values": of(&found.values, values) })
    });
    let rows: Vec<serde_json::Value> = rows.collect();
    let all =
        serde_json::json!({ "rows": rows, "hits": found.hits, "entries": found.entries, "dropped": found.dropped });
    json::record("hist", &all, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let row = |a: &str, b: &str, n: &str| (vec![a.to_owned(), b.to_owned()], vec![n.to_owned()]);
        let found = HistTable {
            keys: vec!["comm".into(), "pid".into()],
            values: vec!["hitcount".into()],
            rows: vec![row("a\x1b", "5", "10"), row("longer name", "1234", "20")],
            hits: 30,
            entries: 2,
            dropped: 0,
        };
        let mut out = Vec::new();
        table(&found, &mut out);
        let text = String::from_utf8(out).unwrap();
        let wanted = "comm          pid  hitcount\na\\x1b           5        10  ###############\nlonger name  1234        20  ##############################\n30 events in 2 rows\n";
        assert_eq!(text, wanted);
    }
}
