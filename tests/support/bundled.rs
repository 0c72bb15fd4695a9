//! The bundled scripts as cases: each loads and attaches on every kernel that has what its header
//! says it needs. What they print is in the cases below `tests/scripts/library`.

use std::fs;
use std::path::Path;

use super::case::Case;

/// One dry run a script of `folder`.
pub fn load_all(folder: &Path) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?.flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|e| e != "bt") {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let name = format!("bundled/{}", path.file_stem().unwrap_or_default().to_string_lossy());
        let flags = vec!["--dry-run".to_owned()];
        let needs = needs(&path, &text)?;
        // A dry run's end probes and maps may print: only the exit code counts.
        cases.push(Case { name, path, text, flags, needs, loose: true, ..Case::default() });
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}

/// Makes a case run the bundled script of this name.
pub fn put_in(case: &mut Case, name: &str) -> Result<(), String> {
    case.path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").join(name).with_extension("bt");
    case.text = fs::read_to_string(&case.path).map_err(|e| format!("{}: {e}", case.path.display()))?;
    case.needs.extend(needs(&case.path, &case.text)?);
    Ok(())
}

/// What a bundled script's header says that it needs.
#[allow(dead_code, reason = "the witnesses ask")]
pub fn needs_of(name: &str) -> Result<Vec<String>, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").join(name).with_extension("bt");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    needs(&path, &text)
}

/// A header's words as needs that can be looked up: `tracepoints block and irq.`, `uprobe; libssl.`
fn needs(path: &Path, text: &str) -> Result<Vec<String>, String> {
    let line = text
        .lines()
        .find_map(|l| l.strip_prefix("// Needs: "))
        .ok_or_else(|| format!("{}: its header does not say what it needs", path.display()))?;
    let mut needs = Vec::new();
    for part in line.trim_end_matches('.').split("; ") {
        let mut words = part.split([' ', ',']).filter(|w| !w.is_empty() && *w != "and");
        match words.next() {
            Some("tracepoints" | "tracepoint") => {
                needs.extend(words.take_while(|w| !w.starts_with('(')).map(|w| format!("tracepoint:{w}")));
            }
            Some(kind @ ("kprobe" | "uprobe")) => needs.push(kind.to_owned()),
            Some("Linux") => needs.extend(words.next().map(|version| format!("linux>={version}"))),
            Some("BTF") => needs.push("btf".to_owned()),
            Some("libssl") => needs.push("library:libssl".to_owned()),
            // Programs built with probes in them: none is part of a test machine.
            Some("usdt") => needs.push(format!("program:{line}")),
            _ => {}
        }
    }
    Ok(needs)
}
