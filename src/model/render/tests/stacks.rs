//! Stacks, and what traced programs may not do to a terminal.

use super::*;

fn frame(address: u64, symbol: Option<&str>, offset: u64, object: Option<&str>) -> Frame {
    Frame { address, symbol: symbol.map(Into::into), offset, object: object.map(Into::into), inlined: false }
}

#[test]
fn stacks_match_bpftrace() {
    let stack = |mode, frames: &[Frame]| Value::Stack(Stack { frames: frames.into(), mode, missing: false });
    let known = frame(0x7f53_bc51_ae89, Some("syscall"), 25, Some("/usr/lib/libc.so.6"));
    let unknown = frame(0x7f53_b422_1c88, None, 0, Some("[unknown]"));
    let plain = stack(StackStyle::Bpftrace, &[known.clone(), unknown.clone()]);
    let mut out = String::new();
    value(&plain, &mut out);
    assert_eq!(out, "\n        syscall+25\n        0x7f53b4221c88\n");
    let keyed = snapshot("@b", MapKind::Value, vec![(vec![plain, i(1)], i(2))]);
    assert_eq!(text_of(&keyed, 0, 0), "@b[\n        syscall+25\n        0x7f53b4221c88\n, 1]: 2\n");
    let perf = snapshot("@", MapKind::Value, vec![(vec![], stack(StackStyle::Perf, &[known.clone(), unknown]))]);
    assert_eq!(
        text_of(&perf, 0, 0),
        "@: \n\t7f53bc51ae89 syscall+25 (/usr/lib/libc.so.6)\n\t7f53b4221c88 0x7f53b4221c88 ([unknown])\n\n"
    );
    let module = frame(0xffff_ffff_c02e_02f2, Some("ovl_mkdir_real"), 50, Some("overlay"));
    let perf = snapshot("@", MapKind::Value, vec![(vec![], stack(StackStyle::Perf, &[module]))]);
    assert_eq!(text_of(&perf, 0, 0), "@: \n\tffffffffc02e02f2 ovl_mkdir_real+50\n\n");
    let raw = snapshot("@", MapKind::Value, vec![(vec![], stack(StackStyle::Raw, &[known]))]);
    assert_eq!(text_of(&raw, 0, 0), "@: \n7f53bc51ae89\n\n");
    let empty = snapshot("@a", MapKind::Value, vec![(vec![], stack(StackStyle::Bpftrace, &[]))]);
    assert_eq!(text_of(&empty, 0, 0), "@a: \n\n");
}

#[test]
fn control_characters_never_reach_a_terminal() {
    assert!(matches!(neutralise("plain\ttext\n"), std::borrow::Cow::Borrowed(_)));
    assert_eq!(neutralise("a\x1b[2Jb\r\x07\x7f"), "a\\x1b[2Jb\\x0d\\x07\\x7f");
    assert_eq!(neutralise("\u{9b}31m\u{202e}x"), "\\u{9b}31m\\u{202e}x");
    assert_eq!(neutralise_bytes(b"\xffok\x1b\xe2\x82\xac"), "\\xffok\\x1b€");
    for c in (0..=char::MAX as u32).filter_map(char::from_u32).filter(|c| c.is_control() && !"\n\t".contains(*c)) {
        assert!(!neutralise(&c.to_string()).contains(c), "{c:?} passed");
    }
}
