//! vi's commands as they are typed: counts, registers, operators and what they take.

use super::motions::{Find, Motion};
use super::objects::Object;

/// Control characters that keys stand for.
pub const ESCAPE: char = '\u{1b}';
/// Backspace.
pub const BACKSPACE: char = '\u{8}';
const CTRL_D: char = '\u{4}';
const CTRL_R: char = '\u{12}';
const CTRL_U: char = '\u{15}';
/// Largest count; more than a script has of anything.
const MOST: usize = 100_000;

/// Changes a range of the text, or takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Operator {
    Delete,
    Change,
    Yank,
    Indent,
    Dedent,
    Upper,
    Lower,
    Swap,
    Comment,
}

/// What an operator takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Up to where a motion goes.
    Motion(Motion),
    /// As many lines as the count says.
    Lines,
    /// A text object.
    Object(Object),
    /// What is selected.
    Selection,
    /// So many characters: a selection of an earlier change.
    Chars(usize),
}

/// Where text is inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Place {
    Before,
    FirstInk,
    Behind,
    LineEnd,
    LineBelow,
    LineAbove,
}

/// What a command does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Goes somewhere, or extends the selection.
    Go(Motion),
    /// Changes, or takes.
    Operate(Operator, Target),
    /// Begins to insert.
    Insert(Place),
    /// Puts a character in place of others.
    Replace(char),
    /// Inserts what a register has.
    Put {
        /// Before the cursor rather than behind it.
        before: bool,
    },
    /// Joins lines.
    Join,
    /// The other case, and on to the right.
    SwapCase,
    /// Begins or ends a selection, of lines or of characters.
    Select {
        /// Of whole lines.
        lines: bool,
    },
    /// Selects a text object.
    SelectObject(Object),
    /// Goes to the other end of the selection.
    OtherEnd,
    /// Gives the place a name.
    Mark(char),
    /// Does the last change again.
    Repeat,
    /// Takes back; again; by time.
    Undo,
    /// Makes it again.
    Redo,
    /// The state before, across branches.
    Older,
    /// The state after it.
    Newer,
    /// Opens the search.
    Search,
    /// Begins a command line.
    Ex,
    /// Goes to the definition.
    Definition,
    /// Tells what is known of the problem here.
    Explain,
    /// Saves and leaves.
    SaveAndQuit,
    /// Leaves without saving.
    Quit,
}

/// A whole command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Where what is taken goes, and what is put comes from.
    pub register: Option<char>,
    /// How often.
    pub count: Option<usize>,
    /// What.
    pub verb: Verb,
}

/// Why keys are no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// More keys are needed.
    Partial,
    /// No command begins so.
    Unknown,
}

type Read<T> = Result<T, Stop>;

/// Keys that are read one by one.
struct Keys<'a>(std::str::Chars<'a>);

impl Keys<'_> {
    fn next(&mut self) -> Read<char> {
        self.0.next().ok_or(Stop::Partial)
    }

    fn peek(&self) -> Read<char> {
        self.0.clone().next().ok_or(Stop::Partial)
    }

    fn count(&mut self) -> Read<Option<usize>> {
        let mut count: Option<usize> = None;
        // A zero first is a motion.
        while let Some(digit) = self.peek()?.to_digit(10).filter(|d| *d > 0 || count.is_some()) {
            count = Some((count.unwrap_or(0) * 10 + digit as usize).min(MOST));
            self.next()?;
        }
        Ok(count)
    }

    fn register(&mut self) -> Read<Option<char>> {
        if self.peek()? != '"' {
            return Ok(None);
        }
        self.next()?;
        match self.next()? {
            name if name.is_ascii_alphabetic() || matches!(name, '"' | '+' | '*' | '_' | '0') => Ok(Some(name)),
            _ => Err(Stop::Unknown),
        }
    }
}

/// Reads a command; `selecting` where there is a selection.
///
/// # Errors
/// When more keys are needed, or they are no command.
pub fn read(keys: &str, selecting: bool) -> Read<Command> {
    let mut keys = Keys(keys.chars());
    let before = keys.count()?;
    let register = keys.register()?;
    let count = times(before, keys.count()?);
    let first = keys.next()?;
    let (count, verb) = if selecting { (count, selected(first, &mut keys)?) } else { normal(first, count, &mut keys)? };
    Ok(Command { register, count, verb })
}

/// Two counts multiply.
fn times(a: Option<usize>, b: Option<usize>) -> Option<usize> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a * b).min(MOST)),
        (a, b) => a.or(b),
    }
}

fn normal(first: char, count: Option<usize>, keys: &mut Keys<'_>) -> Read<(Option<usize>, Verb)> {
    let of = |operator, motion| Verb::Operate(operator, Target::Motion(motion));
    let verb = match first {
        'd' | 'c' | 'y' | '>' | '<' => return operated(operator(first), first, count, keys),
        'g' if matches!(keys.peek()?, 'u' | 'U' | '~' | 'c') => {
            let second = keys.next()?;
            return operated(operator_after_g(second), second, count, keys);
        }
        'x' => of(Operator::Delete, Motion::Right),
        'X' => of(Operator::Delete, Motion::Left),
        'D' => of(Operator::Delete, Motion::LineEnd),
        'C' => of(Operator::Change, Motion::LineEnd),
        's' => of(Operator::Change, Motion::Right),
        'S' => Verb::Operate(Operator::Change, Target::Lines),
        'Y' => Verb::Operate(Operator::Yank, Target::Lines),
        'i' => Verb::Insert(Place::Before),
        'I' => Verb::Insert(Place::FirstInk),
        'a' => Verb::Insert(Place::Behind),
        'A' => Verb::Insert(Place::LineEnd),
        'o' => Verb::Insert(Place::LineBelow),
        'O' => Verb::Insert(Place::LineAbove),
        'r' => Verb::Replace(keys.next().map(literal)?),
        'p' => Verb::Put { before: false },
        'P' => Verb::Put { before: true },
        'J' => Verb::Join,
        '~' => Verb::SwapCase,
        'v' => Verb::Select { lines: false },
        'V' => Verb::Select { lines: true },
        'u' => Verb::Undo,
        CTRL_R => Verb::Redo,
        '.' => Verb::Repeat,
        'K' => Verb::Explain,
        'Z' => match keys.next()? {
            'Z' => Verb::SaveAndQuit,
            'Q' => Verb::Quit,
            _ => return Err(Stop::Unknown),
        },
        'g' if matches!(keys.peek()?, '-' | '+' | 'd') => match keys.next()? {
            '-' => Verb::Older,
            '+' => Verb::Newer,
            _ => Verb::Definition,
        },
        _ => anywhere(first, keys)?,
    };
    Ok((count, verb))
}

fn selected(first: char, keys: &mut Keys<'_>) -> Read<Verb> {
    let take = |operator| Ok(Verb::Operate(operator, Target::Selection));
    match first {
        'd' | 'x' | 'X' | 'D' => take(Operator::Delete),
        'c' | 's' | 'C' | 'S' => take(Operator::Change),
        'y' | 'Y' => take(Operator::Yank),
        '>' => take(Operator::Indent),
        '<' => take(Operator::Dedent),
        '~' => take(Operator::Swap),
        'u' => take(Operator::Lower),
        'U' => take(Operator::Upper),
        'g' if matches!(keys.peek()?, 'u' | 'U' | '~' | 'c') => take(operator_after_g(keys.next()?)),
        'J' => Ok(Verb::Join),
        'p' | 'P' => Ok(Verb::Put { before: false }),
        'r' => Ok(Verb::Replace(keys.next().map(literal)?)),
        'o' | 'O' => Ok(Verb::OtherEnd),
        'v' => Ok(Verb::Select { lines: false }),
        'V' => Ok(Verb::Select { lines: true }),
        'i' | 'a' => {
            let object = Object::named(keys.next()?, first == 'a').ok_or(Stop::Unknown)?;
            Ok(Verb::SelectObject(object))
        }
        _ => anywhere(first, keys),
    }
}

/// With a selection and without.
fn anywhere(first: char, keys: &mut Keys<'_>) -> Read<Verb> {
    match first {
        '/' | '?' => Ok(Verb::Search),
        ':' => Ok(Verb::Ex),
        'm' => keys.next().map(Verb::Mark),
        _ => motion(first, keys).map(Verb::Go),
    }
}

const fn operator(first: char) -> Operator {
    match first {
        'd' => Operator::Delete,
        'c' => Operator::Change,
        'y' => Operator::Yank,
        '>' => Operator::Indent,
        _ => Operator::Dedent,
    }
}

const fn operator_after_g(second: char) -> Operator {
    match second {
        'u' => Operator::Lower,
        'U' => Operator::Upper,
        '~' => Operator::Swap,
        _ => Operator::Comment,
    }
}

/// What stands behind an operator: itself again is for lines.
fn operated(operator: Operator, key: char, count: Option<usize>, keys: &mut Keys<'_>) -> Read<(Option<usize>, Verb)> {
    let count = times(count, keys.count()?);
    let target = match keys.next()? {
        again if again == key => Target::Lines,
        around @ ('i' | 'a') => Target::Object(Object::named(keys.next()?, around == 'a').ok_or(Stop::Unknown)?),
        other => Target::Motion(motion(other, keys)?),
    };
    Ok((count, Verb::Operate(operator, target)))
}

/// A character as it is typed into the text.
const fn literal(key: char) -> char {
    if key == '\r' { '\n' } else { key }
}

fn motion(first: char, keys: &mut Keys<'_>) -> Read<Motion> {
    Ok(match first {
        'h' | BACKSPACE => Motion::Left,
        'l' | ' ' => Motion::Right,
        'j' => Motion::Down,
        'k' => Motion::Up,
        '0' => Motion::LineStart,
        '^' => Motion::FirstInk,
        '$' => Motion::LineEnd,
        '|' => Motion::Column,
        'w' | 'W' => Motion::WordNext { big: first == 'W' },
        'e' | 'E' => Motion::WordEnd { big: first == 'E' },
        'b' | 'B' => Motion::WordBack { big: first == 'B' },
        'G' => Motion::Line { last: true },
        'f' | 'F' | 't' | 'T' => {
            let wanted = keys.next()?;
            Motion::Find(Find { wanted, till: matches!(first, 't' | 'T'), back: first.is_uppercase() })
        }
        ';' | ',' => Motion::FindAgain { reversed: first == ',' },
        '{' | '}' => Motion::Paragraph { back: first == '{' },
        '%' => Motion::Bracket,
        '+' | '\n' => Motion::LineDown,
        '-' => Motion::LineUp,
        '_' => Motion::Underscore,
        'H' => Motion::Screen(0),
        'M' => Motion::Screen(1),
        'L' => Motion::Screen(2),
        CTRL_D | CTRL_U => Motion::HalfPage { down: first == CTRL_D },
        'n' | 'N' => Motion::Again { back: first == 'N' },
        '*' | '#' => Motion::Same { back: first == '#' },
        '\'' | '`' => Motion::Mark(keys.next()?, first == '`'),
        'g' => match keys.next()? {
            'g' => Motion::Line { last: false },
            'e' => Motion::WordEndBack { big: false },
            'E' => Motion::WordEndBack { big: true },
            '_' => Motion::LineEnd,
            _ => return Err(Stop::Unknown),
        },
        _ => return Err(Stop::Unknown),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verb(keys: &str) -> Verb {
        read(keys, false).unwrap().verb
    }

    #[test]
    fn counts_registers_and_operators_are_read() {
        let command = read("\"a2d3w", false).unwrap();
        assert_eq!((command.register, command.count), (Some('a'), Some(6)));
        assert_eq!(command.verb, Verb::Operate(Operator::Delete, Target::Motion(Motion::WordNext { big: false })));
        assert_eq!(verb("0"), Verb::Go(Motion::LineStart));
        assert_eq!(read("10G", false).unwrap().count, Some(10));
        assert_eq!(verb("ci{"), verb("ciB"));
        assert_eq!(verb("gcc"), Verb::Operate(Operator::Comment, Target::Lines));
        assert_eq!(verb("g~~"), Verb::Operate(Operator::Swap, Target::Lines));
        assert_eq!(verb("dtx"), verb("dtx"));
        assert_eq!(read("99999999999999999999j", false).unwrap().count, Some(MOST));
    }

    #[test]
    fn keys_that_are_no_command_are_told_from_those_that_may_become_one() {
        for partial in ["", "2", "d", "\"", "\"a", "d2", "f", "di", "g", "Z", "r", "m"] {
            assert_eq!(read(partial, false).err(), Some(Stop::Partial), "{partial}");
        }
        for unknown in ["dq", "gz", "\"!", "dix", "Q", "ZA"] {
            assert_eq!(read(unknown, false).err(), Some(Stop::Unknown), "{unknown}");
        }
        assert_eq!(read("iw", true).unwrap().verb, Verb::SelectObject(Object { of: 'w', around: false }));
        assert_eq!(read("d", true).unwrap().verb, Verb::Operate(Operator::Delete, Target::Selection));
    }
}
