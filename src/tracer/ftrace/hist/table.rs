//! The kernel's text of a histogram as a table.

use serde::Serialize;

/// Rows that are kept.
const MOST_ROWS: usize = 200_000;

/// A histogram.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HistTable {
    /// Names of the keys.
    pub keys: Vec<String>,
    /// Names of the values, `hitcount` first.
    pub values: Vec<String>,
    /// Keys and values of each row, as the kernel prints them. Stacks have a line a frame.
    pub rows: Vec<(Vec<String>, Vec<String>)>,
    /// Events that were counted.
    pub hits: u64,
    /// Rows that the kernel has.
    pub entries: u64,
    /// Events that found no room.
    pub dropped: u64,
}

/// The part of a file that is about a trigger: a file has one for each of the event's hist triggers.
fn section<'a>(text: &'a str, trigger: &str) -> &'a str {
    const HEAD: &str = "# event histogram";
    let starts: Vec<usize> = text.match_indices(HEAD).map(|(at, _)| at).collect();
    let parts = starts.iter().enumerate().map(|(n, at)| &text[*at..starts.get(n + 1).copied().unwrap_or(text.len())]);
    let keys = part(trigger, "keys").or_else(|| part(trigger, "key"));
    let mut parts: Vec<&str> = parts.collect();
    let same = parts.iter().rposition(|section| {
        let info = section.lines().find_map(|line| line.strip_prefix("# trigger info: ")).unwrap_or("");
        part(info, "keys") == keys
    });
    match same {
        Some(at) => parts.swap_remove(at),
        None => parts.pop().unwrap_or(""),
    }
}

/// A part of a trigger: `keys` of `hist:keys=a,b:vals=…`.
fn part<'a>(trigger: &'a str, name: &str) -> Option<&'a str> {
    let bare = trigger.split(" if ").next()?;
    bare.split(':').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
}

/// Reads the text of a `hist` file.
#[must_use]
pub fn parse(text: &str, trigger: &str) -> HistTable {
    let section = section(text, trigger);
    let info = section.lines().find_map(|line| line.strip_prefix("# trigger info: ")).unwrap_or(trigger);
    // A key's name as rows have it is without its modifier; a stack is `common_stacktrace` whatever it was called.
    let names = part(info, "keys").unwrap_or("").split(',').filter(|key| !key.is_empty());
    let keys: Vec<String> = names.map(|key| key.split('.').next().unwrap_or(key).to_owned()).collect();
    let mut table = HistTable { keys, ..HistTable::default() };
    let mut row: Option<String> = None;
    for line in section.lines() {
        if let Some(open) = &mut row {
            open.push('\n');
            open.push_str(line);
        } else if line.starts_with('{') {
            row = Some(line.to_owned());
        } else {
            total(&mut table, line);
            continue;
        }
        if let Some(whole) = row.take_if(|row| row.contains("} hitcount:") || row.contains("} ") && !row.ends_with(':'))
        {
            take(&mut table, &whole);
        }
    }
    table
}

fn total(table: &mut HistTable, line: &str) {
    let Some((name, number)) = line.trim().split_once(':') else { return };
    let Ok(number) = number.trim().parse() else { return };
    match name {
        "Hits" => table.hits = number,
        "Entries" => table.entries = number,
        "Dropped" => table.dropped = number,
        _ => {}
    }
}

fn take(table: &mut HistTable, row: &str) {
    // Names of threads may have braces: the values begin behind the last one.
    let Some(at) = row.rfind("} hitcount:").or_else(|| row.rfind("} ")) else { return };
    let (keys, values) = (&row[1..at], &row[at + 1..]);
    let mut cells = Vec::new();
    let mut rest = keys.trim();
    for (n, name) in table.keys.iter().enumerate() {
        let head = format!("{name}:");
        rest = rest.strip_prefix(head.as_str()).unwrap_or_else(|| rest.split_once(':').map_or(rest, |(_, rest)| rest));
        let next = table.keys.get(n + 1).map(|next| format!(", {next}:"));
        let end = next.and_then(|next| rest.find(&next)).unwrap_or(rest.len());
        let lines: Vec<&str> = rest[..end].lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        cells.push(lines.join("\n"));
        rest = rest.get(end + 2..).unwrap_or("");
    }
    let mut numbers = Vec::new();
    let mut names = Vec::new();
    let words: Vec<&str> = values.split_whitespace().collect();
    let mut at = 0;
    while at < words.len() {
        if let Some(name) = words[at].strip_suffix(':') {
            names.push(name.to_owned());
            numbers.push(String::new());
        } else if let Some(last) = numbers.last_mut() {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(words[at]);
        }
        at += 1;
    }
    if table.values.len() < names.len() {
        table.values = names;
    }
    if table.rows.len() < MOST_ROWS {
        table.rows.push((cells, numbers));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_every_kind_are_read() {
        let text = "# event histogram\n#\n# trigger info: hist:keys=common_pid.execname,id.syscall:vals=hitcount:sort=hitcount:size=2048 [active]\n#\n\n\
            { common_pid: a} b             [      7303], id: sys_read   [  0] } hitcount:          1\n\
            { common_pid: bash             [      2230], id: sys_write  [  1] } hitcount:         32  bytes:     100\n\
            \nTotals:\n    Hits: 33\n    Entries: 2\n    Dropped: 5\n";
        let table = parse(text, "hist:keys=common_pid.execname,id.syscall");
        assert_eq!(table.keys, ["common_pid", "id"]);
        assert_eq!(table.values, ["hitcount", "bytes"]);
        assert_eq!(table.rows[0].0[0], "a} b             [      7303]");
        assert_eq!(
            table.rows[1],
            (vec!["bash             [      2230]".into(), "sys_write  [  1]".into()], vec!["32".into(), "100".into()])
        );
        assert_eq!((table.hits, table.entries, table.dropped), (33, 2, 5));
    }

    #[test]
    fn stacks_have_lines_and_sections_are_told_apart() {
        let text = "# event histogram\n#\n# trigger info: hist:keys=common_stacktrace:vals=hitcount:sort=hitcount:size=2048 [active]\n#\n\n\
            { common_stacktrace:\n         vfs_read+0x1/0x2\n         ksys_read+0x3/0x4\n} hitcount:          9\n\nTotals:\n    Hits: 9\n    Entries: 1\n    Dropped: 0\n\n\
            # event histogram\n#\n# trigger info: hist:keys=lat.log2:vals=hitcount:sort=lat.log2:size=2048 [active]\n#\n\n\
            { lat: ~ 2^3        } hitcount:          4\n\nTotals:\n    Hits: 4\n    Entries: 1\n    Dropped: 0\n";
        let stacks = parse(text, "hist:keys=common_stacktrace");
        assert_eq!(stacks.rows[0].0[0], "vfs_read+0x1/0x2\nksys_read+0x3/0x4");
        assert_eq!(stacks.hits, 9);
        let lat = parse(text, "hist:keys=lat.log2:sort=lat");
        assert_eq!((lat.rows[0].0[0].as_str(), lat.rows[0].1[0].as_str(), lat.hits), ("~ 2^3", "4", 4));
        assert_eq!(parse("garbage\n{ x\n", "hist:keys=a").rows.len(), 0);
    }
}
