//! Argument specifications: `-4@%eax`, `8@-16(%rbp)`, `8@[sp, 24]`.

use crate::model::target::{UsdtArgument, UsdtPlace};

/// Most arguments of one probe (`STAP_PROBE12`).
const MAX_ARGUMENTS: usize = 12;

/// An argument that a probe can't read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the argument `{0}` is in a place that probes can't read")]
pub struct ArgumentError(pub String);

/// Size (negative for signed) and operand of `-4@%eax`.
fn parse_one(text: &str, place: impl Fn(&str) -> Option<UsdtPlace>) -> Result<UsdtArgument, ArgumentError> {
    let parse = || {
        let (size, operand) = text.split_once('@').unwrap_or(("-8", text));
        let size: i32 = size.parse().ok()?;
        let bytes = u8::try_from(size.unsigned_abs()).ok().filter(|b| matches!(b, 1 | 2 | 4 | 8))?;
        Some(UsdtArgument { size: bytes, signed: size < 0, place: place(operand.trim())? })
    };
    parse().ok_or_else(|| ArgumentError(text.to_owned()))
}

/// A decimal or hexadecimal number with a sign.
fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()? as i64,
        None => digits.parse::<u64>().ok()? as i64,
    };
    Some(if negative { value.wrapping_neg() } else { value })
}

/// Arguments of an x86-64 site.
#[must_use]
pub fn arguments_x86_64(specification: &str) -> Vec<Result<UsdtArgument, ArgumentError>> {
    specification.split_whitespace().take(MAX_ARGUMENTS).map(|t| parse_one(t, place_x86_64)).collect()
}

fn place_x86_64(operand: &str) -> Option<UsdtPlace> {
    if let Some(constant) = operand.strip_prefix('$') {
        return number(constant).map(UsdtPlace::Constant);
    }
    if let Some(register) = operand.strip_prefix('%') {
        return register_x86_64(register).map(UsdtPlace::Register);
    }
    let (displacement, inside) = operand.strip_suffix(')')?.split_once('(')?;
    let displacement = if displacement.is_empty() { 0 } else { number(displacement)? };
    let mut parts = inside.split(',').map(str::trim);
    let base = register_x86_64(parts.next()?.strip_prefix('%')?)?;
    let index = match parts.next() {
        None => None,
        Some(register) => {
            let scale = parts.next().map_or(Some(1), |s| s.parse().ok())?;
            Some((register_x86_64(register.strip_prefix('%')?)?, scale))
        }
    };
    Some(UsdtPlace::Memory { base, index, displacement })
}

/// Byte offset in `struct pt_regs` (`arch/x86/include/asm/ptrace.h`) of a register by any of its names.
/// The high byte registers (`%ah`) are not at a register's start and are refused.
fn register_x86_64(name: &str) -> Option<u16> {
    const CLASSIC: [(&str, u16); 8] =
        [("bp", 32), ("bx", 40), ("ax", 80), ("cx", 88), ("dx", 96), ("si", 104), ("di", 112), ("sp", 152)];
    if let Some(numbered) = name.strip_prefix('r').filter(|r| r.starts_with(|c: char| c.is_ascii_digit())) {
        let offset = match numbered.trim_end_matches(['d', 'w', 'b']) {
            "8" => 72,
            "9" => 64,
            "10" => 56,
            "11" => 48,
            "12" => 24,
            "13" => 16,
            "14" => 8,
            "15" => 0,
            _ => return None,
        };
        return Some(offset);
    }
    if name == "rip" {
        return Some(128);
    }
    CLASSIC.into_iter().find_map(|(word, offset)| {
        let low = if matches!(word, "bp" | "si" | "di" | "sp") { format!("{word}l") } else { word.replace('x', "l") };
        let names = [format!("r{word}"), format!("e{word}"), word.to_owned(), low];
        names.iter().any(|n| n == name).then_some(offset)
    })
}

/// Arguments of a 64-bit ARM site. Operands in brackets may hold spaces.
#[must_use]
pub fn arguments_arm64(specification: &str) -> Vec<Result<UsdtArgument, ArgumentError>> {
    let mut texts: Vec<String> = Vec::new();
    for word in specification.split_whitespace() {
        match texts.last_mut().filter(|t| t.contains('[') && !t.contains(']')) {
            Some(open) => open.push_str(word),
            None => texts.push(word.to_owned()),
        }
    }
    texts.iter().take(MAX_ARGUMENTS).map(|t| parse_one(t, place_arm64)).collect()
}

fn place_arm64(operand: &str) -> Option<UsdtPlace> {
    if let Some(inside) = operand.strip_prefix('[').and_then(|o| o.strip_suffix(']')) {
        let (base, rest) = inside.split_once(',').map_or((inside, None), |(base, rest)| (base, Some(rest.trim())));
        let base = register_arm64(base.trim())?;
        return Some(match rest {
            None => UsdtPlace::Memory { base, index: None, displacement: 0 },
            Some(rest) => match number(rest.trim_start_matches('#')) {
                Some(displacement) => UsdtPlace::Memory { base, index: None, displacement },
                None => UsdtPlace::Memory { base, index: Some((register_arm64(rest)?, 1)), displacement: 0 },
            },
        });
    }
    number(operand).map(UsdtPlace::Constant).or_else(|| register_arm64(operand).map(UsdtPlace::Register))
}

/// Byte offset in `struct user_pt_regs` (`arch/arm64/include/uapi/asm/ptrace.h`).
fn register_arm64(name: &str) -> Option<u16> {
    match name {
        "sp" | "wsp" => return Some(248),
        "pc" => return Some(256),
        "lr" => return Some(240),
        "fp" => return Some(232),
        _ => {}
    }
    let number: u16 = name.strip_prefix(['x', 'w'])?.parse().ok()?;
    (number <= 30).then_some(number * 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(base: u16, index: Option<(u16, u8)>, displacement: i64) -> UsdtPlace {
        UsdtPlace::Memory { base, index, displacement }
    }

    fn argument(size: u8, signed: bool, place: UsdtPlace) -> Result<UsdtArgument, ArgumentError> {
        Ok(UsdtArgument { size, signed, place })
    }

    #[test]
    fn x86_operands() {
        let parsed =
            arguments_x86_64("-4@%eax 8@$-5 1@%r8b 8@-16(%rbp) 4@(%rdi,%rcx,4) 8@8(%rdx,%rsi) 2@%dil 8@%ah 8f@%xmm0");
        assert_eq!(
            parsed[..7],
            [
                argument(4, true, UsdtPlace::Register(80)),
                argument(8, false, UsdtPlace::Constant(-5)),
                argument(1, false, UsdtPlace::Register(72)),
                argument(8, false, memory(32, None, -16)),
                argument(4, false, memory(112, Some((88, 4)), 0)),
                argument(8, false, memory(96, Some((104, 1)), 8)),
                argument(2, false, UsdtPlace::Register(112)),
            ]
        );
        assert!(parsed[7].is_err() && parsed[8].is_err());
    }

    #[test]
    fn arm_operands() {
        let parsed = arguments_arm64("-4@[sp, 12] 8@x0 4@w30 8@[x1] 8@-5 8@[x2, x3] 8@x31");
        assert_eq!(
            parsed[..6],
            [
                argument(4, true, memory(248, None, 12)),
                argument(8, false, UsdtPlace::Register(0)),
                argument(4, false, UsdtPlace::Register(240)),
                argument(8, false, memory(8, None, 0)),
                argument(8, false, UsdtPlace::Constant(-5)),
                argument(8, false, memory(16, Some((24, 1)), 0)),
            ]
        );
        assert!(parsed[6].is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_answered(text in "[-0-9@%$()\\[\\],a-z ]{0,60}") {
            let _ = (arguments_x86_64(&text), arguments_arm64(&text));
        }
    }
}
