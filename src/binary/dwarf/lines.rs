//! Source lines to addresses, by the line number programs.

use std::path::{Component, Path, PathBuf};

use gimli::{ColumnType, Reader as _};

use super::error::DwarfError;
use super::state::{Budget, State, Unit, text};

/// Most names of files that a suggestion chooses from.
const MOST_FILES: usize = 4096;
/// Most near lines that are told.
const MOST_NEAR: usize = 4;

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// A path, or the end of one, whole components.
    pub file: &'a str,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: Option<u32>,
}

/// What a search gives.
#[derive(Debug, Default)]
pub struct Found {
    /// Address of the first instruction of the line in each unit that has it, ascending.
    pub addresses: Vec<u64>,
    /// Lines of that file that have instructions, ascending.
    pub lines: Vec<u64>,
    /// Names of other files, while none fitted.
    pub files: Vec<String>,
}

/// The statements of a line in all units.
pub fn find(state: &mut State, wanted: &Wanted<'_>, budget: &mut Budget) -> Result<Found, DwarfError> {
    let mut found = Found::default();
    for start in state.starts(0, budget)?.iter() {
        state.step(budget)?;
        let Ok(unit) = state.peek(0, *start) else { continue };
        search_unit(state, &unit, wanted, &mut found, budget)?;
    }
    found.addresses.sort_unstable();
    found.addresses.dedup();
    found.lines.sort_unstable();
    found.lines.dedup();
    Ok(found)
}

fn search_unit(
    state: &State,
    unit: &Unit,
    wanted: &Wanted<'_>,
    found: &mut Found,
    budget: &mut Budget,
) -> Result<(), DwarfError> {
    let Some(program) = unit.unit.line_program.clone() else { return Ok(()) };
    let fitting = fitting_files(unit, &program, wanted.file, found);
    if fitting.is_empty() {
        return Ok(());
    }
    let mut rows = program.rows();
    // The compiler's own mark of where a statement begins wins; some lines have no instruction with it.
    let (mut first, mut unmarked): (Option<u64>, Option<u64>) = (None, None);
    while let Some((_, row)) = rows.next_row().map_err(|e| state.damaged(e))? {
        state.spend(budget, 1)?;
        if row.end_sequence() || row.address() == 0 || !fitting.contains(&row.file_index()) {
            continue;
        }
        let Some(line) = row.line() else { continue };
        if found.lines.last() != Some(&line.get()) {
            found.lines.push(line.get());
        }
        let column = match row.column() {
            ColumnType::LeftEdge => 0,
            ColumnType::Column(column) => column.get(),
        };
        let fits = line.get() == u64::from(wanted.line) && wanted.column.is_none_or(|c| u64::from(c) == column);
        let lowest = if row.is_stmt() { &mut first } else { &mut unmarked };
        if fits && lowest.is_none_or(|known| row.address() < known) {
            *lowest = Some(row.address());
        }
    }
    found.addresses.extend(first.or(unmarked));
    Ok(())
}

/// Numbers of a program's files that a name means.
fn fitting_files(
    unit: &Unit,
    program: &gimli::IncompleteLineProgram<super::window::Window>,
    name: &str,
    found: &mut Found,
) -> Vec<u64> {
    let header = program.header();
    let wanted: Vec<Component<'_>> = Path::new(name).components().collect();
    let folder = unit.unit.comp_dir.as_ref().map(|d| PathBuf::from(text(d))).unwrap_or_default();
    let mut fitting = Vec::new();
    let first = u64::from(header.version() < 5);
    for (n, file) in header.file_names().iter().enumerate() {
        let Ok(base) = unit.dwarf.attr_string(&unit.unit, file.path_name()) else { continue };
        let mut path = folder.clone();
        if let Some(directory) = file.directory(header).and_then(|d| unit.dwarf.attr_string(&unit.unit, d).ok()) {
            path.push(text(&directory));
        }
        path.push(text(&base));
        let components: Vec<Component<'_>> = path.components().filter(|c| *c != Component::CurDir).collect();
        if components.ends_with(&wanted) {
            fitting.push(n as u64 + first);
        } else if found.files.len() < MOST_FILES && base.len() > 0 {
            let base = text(&base);
            if !found.files.contains(&base) && found.files.len() < 64 {
                found.files.push(base);
            }
        }
    }
    fitting
}

/// The lines of a sorted list that are nearest to one.
pub fn nearest(lines: &[u64], line: u64) -> Vec<u64> {
    let mut near: Vec<u64> = lines.to_vec();
    near.sort_by_key(|l| l.abs_diff(line));
    near.truncate(MOST_NEAR);
    near.sort_unstable();
    near
}
