//! Scripts made of real ones: two in one, bodies in loops, in macros, twice over. People change the scripts
//! that they find, and put them together.

use std::collections::BTreeSet;
use std::path::Path;

use super::random::Random;
use super::tree::{Kind, Node};

/// A script in its pieces.
#[derive(Clone, Debug)]
pub struct Real {
    name: String,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
enum Piece {
    /// What stands at the start of a script at most once: settings.
    Config(String),
    /// Definitions.
    Other(String),
    /// Attach points with their filter, and the statements.
    Clause(String, String),
}

/// What is put around each body of a script; `¤` stands for it.
const AROUND: [&str; 12] = [
    "  unroll(2) {\n¤  }\n",
    "  for $step : 0..4 {\n¤  }\n",
    "  for $step : 0..16 {\n¤  }\n",
    "  for $step : 0..100 {\n¤  }\n",
    "  for $step : 0..(pid & 15) {\n¤  }\n",
    "  let $step = 0;\n  while ($step < 5) {\n    $step++;\n¤  }\n",
    "  let $step = 0;\n  while ($step < 50) {\n    $step++;\n    if ($step == 7) { continue; }\n¤  }\n",
    "  if (comm != \"swapper\" && pid != 1) {\n¤  } else {\n    @others[comm] = count();\n  }\n",
    "  for $step : 0..3 {\n    for $inner : 0..3 {\n¤    }\n  }\n",
    "  let $now = nsecs;\n  {\n¤  }\n  @spent = hist(nsecs - $now);\n",
    "  @seen[tid] = nsecs;\n  for ($kv : @seen) {\n¤  }\n",
    "  let $task = curtask;\n  for $step : 0..8 {\n    if ($task.pid == 0) { break; }\n¤    $task = $task.real_parent;\n  }\n",
];

const CONFIGS: [&str; 4] = [
    "config = { max_strlen = 200 }\n",
    "config = { max_strlen = 16 }\n",
    "config = { on_stack_limit = 256 }\n",
    "config = { max_map_keys = 10; stack_mode = perf }\n",
];

/// The scripts of a folder, by their names.
pub fn read(folder: &str) -> Vec<Real> {
    let mut paths: Vec<_> = std::fs::read_dir(Path::new(folder))
        .unwrap()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "bt"))
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| Real {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            pieces: pieces(&without_comments(&std::fs::read_to_string(path).unwrap())),
        })
        .collect()
}

/// A script by its number, and how it was made. The first are the scripts as they are.
pub fn made_of(scripts: &[Real], seed: u64) -> (String, Node) {
    if let Some(script) = scripts.get(seed as usize) {
        return (script.name.clone(), Node::list(Kind::Top, script.tops(&mut |_, body| statements(body))));
    }
    let mut random = Random::new(seed);
    let first = &scripts[random.below(scripts.len())];
    let (mut name, mut tops) = first.changed(&mut random);
    if random.once_in(2) {
        let second = scripts[random.below(scripts.len())].renamed();
        let (other, more) = second.changed(&mut random);
        name = format!("{name} and {other}");
        tops.extend(more);
    }
    if !first.pieces.iter().any(|p| matches!(p, Piece::Config(_))) && random.once_in(2) {
        tops.insert(0, Node::leaf(Kind::Top, random.pick(&CONFIGS)));
    }
    (name, Node::list(Kind::Top, tops))
}

impl Real {
    fn tops(&self, body: &mut dyn FnMut(&str, &str) -> Node) -> Vec<Node> {
        self.pieces
            .iter()
            .map(|piece| match piece {
                Piece::Config(text) | Piece::Other(text) => Node::leaf(Kind::Top, text.clone()),
                Piece::Clause(head, text) => Node::new(Kind::Top, &format!("{head}{{\n¤}}\n"), vec![body(head, text)]),
            })
            .collect()
    }

    /// Its bodies in something else.
    fn changed(&self, random: &mut Random) -> (String, Vec<Node>) {
        let around = random.pick(&AROUND);
        let mut macros = Vec::new();
        let form = random.below(4);
        let mut tops = self.tops(&mut |head, body| {
            // What begins and ends a script runs once.
            let once = head.trim_start().to_ascii_lowercase();
            if once.starts_with("begin") || once.starts_with("end") {
                return statements(body);
            }
            match form {
                0 => statements(body),
                1 => Node::new(Kind::Body, around, vec![statements(body)]),
                2 => Node::new(Kind::Body, "  {\n¤  }\n  {\n¤  }\n", vec![statements(body), statements(body)]),
                _ => {
                    let name = format!("body_{}_{}", self.name.replace(['-', '.'], "_"), macros.len());
                    let maps: Vec<String> = names(body, '@').into_iter().collect();
                    let maps = maps.join(", ");
                    macros.push(Node::new(
                        Kind::Top,
                        &format!("macro {name}({maps}) {{\n¤}}\n"),
                        vec![statements(body)],
                    ));
                    let call = Node::leaf(Kind::Statement, format!("  {name}({maps});\n"));
                    if random.once_in(2) { call } else { Node::new(Kind::Body, around, vec![call]) }
                }
            }
        });
        let definitions = self.pieces.iter().take_while(|p| !matches!(p, Piece::Clause(..))).count();
        tops.splice(definitions..definitions, macros);
        let form = ["as it is", "around", "twice", "by macros"][form];
        (format!("{} {form}", self.name), tops)
    }

    /// With names of its own for maps, and without settings: to stand behind another.
    fn renamed(&self) -> Self {
        let rename = |text: &str| text.replace('@', "@second_");
        let pieces = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Config(_) => None,
            Piece::Other(text) => Some(Piece::Other(rename(text))),
            Piece::Clause(head, body) => Some(Piece::Clause(rename(head), rename(body))),
        });
        Self { name: self.name.clone(), pieces: pieces.collect() }
    }
}

/// Names in a text that begin with a sign.
fn names(text: &str, sign: char) -> BTreeSet<String> {
    text.split(sign)
        .skip(1)
        .map(|rest| {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            format!("{sign}{}", &rest[..end])
        })
        .collect()
}

/// The text without comments and the interpreter's line, with what is in quotes as it is.
fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = if text.starts_with("#!") { text.split_once('\n').map_or("", |(_, rest)| rest) } else { text };
    while let Some(c) = rest.chars().next() {
        let taken = if rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
            continue;
        } else if rest.starts_with("/*") {
            rest = &rest[rest.find("*/").map_or(rest.len(), |at| at + 2)..];
            continue;
        } else if c == '"' {
            quoted(rest)
        } else {
            c.len_utf8()
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out
}

/// Length of the text in quotes that this begins with.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}

/// Ends of the pieces of a text at its outermost level: after these signs and after closing braces.
fn cut(text: &str, signs: &[char]) -> Vec<usize> {
    let (mut depth, mut at, mut ends) = (0_i32, 0, Vec::new());
    while let Some(c) = text[at..].chars().next() {
        let taken = if c == '"' { quoted(&text[at..]) } else { c.len_utf8() };
        depth += i32::from(matches!(c, '{' | '(')) - i32::from(matches!(c, '}' | ')'));
        at += taken;
        let next = text[at..].trim_start();
        let goes_on = next.starts_with(';') || next.starts_with("else") || next.starts_with(')');
        if depth == 0 && (signs.contains(&c) || c == '}' && !goes_on) {
            ends.push(at);
        }
    }
    if !text[ends.last().copied().unwrap_or(0)..].trim().is_empty() {
        ends.push(text.len());
    }
    ends
}

fn pieces(text: &str) -> Vec<Piece> {
    let (mut out, mut from) = (Vec::new(), 0);
    let lines: Vec<&str> = text.lines().collect();
    let defined: String = lines.iter().filter(|l| l.starts_with('#')).map(|l| format!("{l}\n")).collect();
    let rest: String = lines.iter().filter(|l| !l.starts_with('#')).map(|l| format!("{l}\n")).collect();
    if !defined.is_empty() {
        out.push(Piece::Other(defined));
    }
    for end in cut(&rest, &[';']) {
        let piece = rest[from..end].trim();
        from = end;
        let first = piece.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        let Some((head, body)) = piece.split_once('{').filter(|_| piece.ends_with('}')) else {
            out.push(Piece::Other(format!("{piece}\n")));
            continue;
        };
        out.push(match first {
            "config" => Piece::Config(format!("{piece}\n")),
            "macro" | "fn" | "struct" | "union" | "enum" | "import" => Piece::Other(format!("{piece}\n")),
            _ => Piece::Clause(head.trim_end().to_owned() + " ", body[..body.len() - 1].to_owned()),
        });
    }
    out
}

/// A body by its statements, each of which may be left out.
fn statements(body: &str) -> Node {
    let (mut out, mut from) = (Vec::new(), 0);
    for end in cut(body, &[';']) {
        let text = format!("  {}\n", body[from..end].trim());
        from = end;
        out.push(match text.split_once('{').filter(|_| text.trim_end().ends_with('}') && !text.contains("else")) {
            Some((head, inside)) => {
                let inside = &inside.trim_end()[..inside.trim_end().len() - 1];
                Node::new(Kind::Statement, &format!("{head}{{\n¤  }}\n"), vec![statements(inside)])
            }
            None => Node::leaf(Kind::Statement, text),
        });
    }
    Node::list(Kind::Body, out)
}
