//! The same statements in loops of different forms: what they leave in maps must be the same. What a loop clears
//! and hides for the verifier's sake must change no value.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use super::branchy_statements;
use super::random::Random;

/// Iterations of each loop.
const ITERATIONS: usize = 8;

/// Loops around `¤`, each with `$i` from 1: written out, which the verifier needs no help with; and with an end
/// that the compiler does not know.
const LOOPS: [&str; 4] = [
    "let $i = 0; unroll(8) {\n$i++;\n¤}",
    "let $i = 0; while ($i < @count) {\n$i++;\n¤}",
    "for $h : 0..@count {\nlet $i = $h + 1;\n¤}",
    "let $i = 0; for $g : 0..(@count / 4) { for $h : 0..4 { $i++;\n¤} }",
];

/// What differs from run to run, says things in an order, or is about a map of its own.
const UNEVEN: [&str; 8] = ["curtask", "nsecs", "stack", "print", "tseries", "ntop", "strftime", "@k"];

/// What leaves an iteration: the last loop is two, and leaving one of them is not leaving the other.
const LEAVING: [&str; 3] = ["break", "continue", "return"];

/// A name that differs from process to process, what stands for it before a loop, and in it.
const NAMES: [(&str, &str, &str); 4] =
    [("pid", "$p", "$i"), ("tid", "$q", "($i * 5 % 7)"), ("uid", "$q", "($i & 1)"), ("comm", "$c", "$c")];

/// `text` with another name for `name`, where that stands alone.
fn renamed(text: &str, name: &str, to: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let own = |c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == '$';
        let before = rest[..at].chars().next_back().is_some_and(own);
        let after = rest[at + name.len()..].chars().next().is_some_and(own);
        out.push_str(&rest[..at]);
        out.push_str(if before || after { name } else { to });
        rest = &rest[at + name.len()..];
    }
    out + rest
}

/// One script with the loops in a probe each, the maps of the `n`-th named `@nN_…`.
pub fn script(seed: u64, count: usize) -> String {
    let mut random = Random::new(seed);
    let leaving = random.once_in(2);
    let mut chosen = Vec::new();
    while chosen.len() < count {
        let (before, inside) = branchy_statements::piece(random.below(branchy_statements::COUNT), chosen.len() + 1);
        let has = |words: &[&str]| words.iter().any(|word| before.contains(word) || inside.contains(word));
        if !has(&UNEVEN) && (leaving || !has(&LEAVING)) {
            chosen.push((before, inside));
        }
    }
    let (mut before, mut inside) = (String::new(), String::new());
    for (first, then) in &chosen {
        before.push_str(&format!("  {first}\n"));
        inside.push_str(&format!("  {then}\n"));
    }
    for (name, at_first, in_loop) in NAMES {
        before = renamed(&before, name, at_first);
        inside = renamed(&inside, name, in_loop);
    }
    let head = "let $p = @count - 5; let $q = @count - 7; let $c: string[16] = \"bash3\";
  @m[(uint64)1] = (uint64)1; @n = (uint64)1; @s[(uint64)1] = \"\"; @t[(uint64)1] = ((uint64)1, (uint64)1);";
    let turn = "  if ($i == 3) { $c = \"a3\"; } else if ($i == 5) { $c = \"x\"; }\n";
    let mut text = format!("{}begin {{ @count = {ITERATIONS}; }}\n", branchy_statements::FUNCTIONS);
    let forms = if leaving { &LOOPS[..3] } else { &LOOPS[..] };
    for (number, around) in forms.iter().enumerate() {
        let body = around.replacen('¤', &format!("{turn}{inside}"), 1);
        let own = format!("{head}\n{before}{body}").replace('@', &format!("@n{number}_"));
        let shared = own.replace(&format!("@n{number}_count"), "@count");
        text.push_str(&format!("begin {{\n  {shared}\n}}\n"));
    }
    text + "begin { exit(); }\n"
}

/// What a script leaves in the maps of each of its loops; the error says why there is nothing.
pub fn left(program: &str, text: &str) -> Result<Vec<BTreeMap<String, Value>>, String> {
    let output = Command::new(program).args(["run", "-f", "json", "-e", text]).output().map_err(|e| e.to_string())?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(errors);
    }
    let mut found = vec![BTreeMap::new(); LOOPS.len()];
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: Value = serde_json::from_str(line).map_err(|e| format!("{line}: {e}"))?;
        for (name, value) in message["data"].as_object().into_iter().flatten() {
            let parts = name.strip_prefix("@n").and_then(|n| n.split_once('_'));
            if let Some((number, name)) = parts {
                let number: usize = number.parse().map_err(|e| format!("{line}: {e}"))?;
                found[number].insert(name.to_owned(), value.clone());
            }
        }
    }
    found.retain(|maps| !maps.is_empty());
    if found.is_empty() { Err(format!("nothing came out\n{errors}")) } else { Ok(found) }
}
