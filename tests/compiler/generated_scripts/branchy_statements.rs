//! Statements with more than one path through them, for bodies of loops: the verifier must not follow all their
//! paths in all their combinations.

use super::random::Random;

/// Statements of a body; `§` stands for a number that is another one in each copy.
const INSIDE: &[&str] = &[
    "if (pid == §) { @a§ = 1; }",
    "if (pid == §) { @a§ = 1; } else { @b§ = 2; }",
    "if (pid > § && tid < 1§) { @a§ = tid; }",
    "if (pid > § || tid < 1§ || uid == §) { @a§ = tid; }",
    "if (comm == \"bash§\") { @a§ = count(); }",
    "if (comm != \"a§\") { @a§[comm] = count(); }",
    "if (pid == §) { @a§[pid, tid] = count(); } else { @a§[tid, pid] = count(); }",
    "if (strncmp(comm, \"ba§\", 3) == 0) { @a§ = 1; }",
    "if (strcontains(comm, \"x§\")) { @a§ = 1; }",
    "if (has_key(@m, (uint64)§)) { @a§ = 1; }",
    "if (@m[§] > 5) { @a§ = 1; }",
    "if (@m[pid] > @m[tid]) { @m[§] = 7; }",
    "if (@n > §) { @n = 0; }",
    "if (delete(@m, (uint64)§)) { @a§ = 1; }",
    "if (find(@m, (uint64)§, $f§)) { @a§ = $f§; }",
    "find(@m, (uint64)pid, $f§); @a§ = $f§;",
    "if (pid == §) { printf(\"%d\\n\", tid); }",
    "if (pid == §) { printf(\"%s %s\\n\", comm, str(curtask.comm)); }",
    "if (pid == §) { print((pid, comm)); } else { print((1, \"x\")); }",
    "let $x§ = pid == § ? 1 : 2; @a§ = $x§;",
    "let $x§ = pid == § ? tid : 2; let $y§ = $x§ > 5 ? $x§ : 7; @a§ = $y§;",
    "let $x§ = pid == § ? comm : \"other\"; @a§[$x§] = count();",
    "let $x§ = pid == § ? (1, 2) : (3, 4); @a§[$x§] = count();",
    "let $x§ = (pid, tid); if ($x§.0 == §) { $x§ = (tid, pid); } @a§[$x§] = count();",
    "let $x§ = (pid, comm); if ($x§.1 == \"a§\") { @a§ = $x§.0; }",
    "let $x§ = 0; if (pid == §) { $x§ = 5; } @a§ = $x§;",
    "let $x§ = 0; if (pid == §) { $x§ = tid; } else { $x§ = uid; } if ($x§ > 3) { @a§ = $x§; }",
    "let $x§ = \"\"; if (pid == §) { $x§ = \"abc\"; } @a§[$x§] = count();",
    "let $x§ = @m[§]; if ($x§ == 0) { $x§ = 9; } @m[§] = $x§ - 1;",
    "let $x§ = $i + §; if ($x§ % 3 == 1) { $x§ += 2; } @a§ = $x§;",
    "let $x§ = pid; if ($x§ == §) { continue; } @a§ = $x§;",
    "let $x§ = (pid, tid); if ($x§.0 == §) { continue; } @a§[$x§] = count();",
    "let $x§ = (pid, tid); if ($x§.0 == §) { break; } @a§[$x§] = count();",
    "if (pid == §) { break; }",
    "if (pid == §) { continue; }",
    "if (pid == §) { if (tid == §) { @a§ = 1; continue; } @a§ = 2; }",
    "if (pid == §) { let $z§ = (pid, comm); print($z§); break; }",
    "if (pid == §) { return; }",
    "if ($i == §) { @a§ = 1; }",
    "if ($i > § && $i < 5§) { @a§ = $i; }",
    "if ($i & 1) { @a§++; } else { @a§--; }",
    "@a§ = count(); @b§ = sum($i); @c§ = avg($i);",
    "@a§ = min($i); @b§ = max($i); @c§ = stats($i);",
    "@a§ = hist($i);",
    "@a§ = lhist($i, 0, 1000, 100);",
    "@a§[pid] = hist($i); @b§[comm] = lhist($i, 0, 10, 1);",
    "@a§[comm] = stats(pid);",
    "@a§ = tseries($i, 1ms, 10);",
    "@m[$i]++; @m[§]--;",
    "@a§[pid, comm] = $i;",
    "@a§[(pid, (tid, uid))] = comm;",
    "@s[§] = comm; if (@s[§] == \"x\") { @a§ = 1; }",
    "@s[§] = str(curtask.comm, 8);",
    "@t[§] = (pid, tid); if (@t[§].0 == 1) { delete(@t[§]); }",
    "delete(@m[§]); @m[§] = pid;",
    "@a§ = pid == 1 && tid == 2;",
    "@a§ = pid == 1 || tid == 2 || uid;",
    "@a§ = !pid; @b§ = !(tid > §);",
    "@a§ = pid / (tid + §); @b§ = pid % (uid + §);",
    "@a§ = (int64)pid / ((int64)tid - §);",
    "@a§ = pid << (tid & 7); @b§ = pid >> $i;",
    "@a§ = (int8)pid; @b§ = (uint16)tid * §;",
    "@a§ = curtask.pid; @b§ = curtask.parent.pid;",
    "if (curtask.parent.pid == §) { @a§ = str(curtask.parent.comm); }",
    "@a§ = strerror(pid % 50);",
    "@a§ = kstack(3); @b§[ustack(3)] = count();",
    "@a§[kstack(2), pid] = count();",
    "@a§ = ntop(pid); @b§ = macaddr(curtask.comm);",
    "@a§ = buf(curtask.comm, 8);",
    "@a§ = ksym(curtask.stack); @b§ = nsecs;",
    "@a§ = str_concat(comm, \"§\");",
    "@a§ = strlen(comm); if (strlen(str(curtask.comm)) > §) { @b§ = 1; }",
    "@a§ = strstr(comm, \"sh§\"); @b§ = strstr(comm, str(curtask.comm));",
    "@a§ = memcmp(comm, \"abc§\", 3);",
    "printf(\"%s\\n\", strftime(\"%H\", nsecs)); if (uid == §) { @a§ = 1; }",
    "printf(\"%d %s %x\\n\", $i, comm, pid);",
    "print(@m[§]); print($i);",
    "clear(@k); zero(@k);",
    "unroll(3) { if (pid == §) { @a§++; } }",
    "unroll(2) { let $x§ = pid ? 1 : 2; if ($x§ == tid) { break; } @a§ = $x§; }",
    "for $j§ : 0..3 { if (pid == §) { @a§ = $j§; } }",
    "for $j§ : 0..100 { if (pid == §) { @a§ = $j§; } }",
    "for $j§ : 0..100 { if (pid == §) { break; } @a§ = $j§; }",
    "for $j§ : 0..1 { if (pid == §) { continue; } @a§ = $j§; }",
    "for $j§ : 0..tid { let $x§ = (pid, $j§); if ($x§.0 == 3) { continue; } @a§[$x§] = count(); }",
    "let $w§ = 0; while ($w§ < 5) { $w§++; if (pid == §) { @a§ = $w§; } }",
    "let $w§ = 0; while ($w§ < tid) { $w§++; if (pid == §) { break; } @a§ = $w§; }",
    "let $w§ = 9; while ($w§ > 0) { $w§--; if (pid == $w§) { continue; } @a§ = $w§; }",
    "let $x§ = 0; for $j§ : 0..32 { if (pid == $j§ * §) { continue; } $x§ += 1; } @a§ = $x§;",
    "let $x§ = 0; for $j§ : 0..20 { if ($j§ > tid) { break; } $x§ += 2; } @a§ = $x§;",
    "let $x§ = 0; unroll(12) { if ((pid >> $x§) & 1) { continue; } $x§ += 1; } @a§ = $x§;",
    "let $x§ = 0; let $w§ = 0; while ($w§ < 24) { $w§++; if (pid & $w§) { break; } $x§ += $w§; } @a§ = $x§;",
    "let $x§ = (0, pid); for $j§ : 0..20 { if (tid & $j§) { continue; } $x§ = ($x§.1, $j§); } @a§[$x§] = 1;",
    "let $x§ = 0; for $j§ : 0..24 { if (pid & $j§) { $x§ += 3; } if ($x§ > 5) { @a§[$x§] = count(); } }
    @b§ = ((uint8[8])(uint64)tid)[$x§];",
    "@a§ = five(pid, §);",
    "@a§ = chosen(pid, comm);",
    "let $x§ = pair(pid, §); @a§[$x§] = count();",
    "if (five(pid, tid) == §) { @a§ = 1; }",
    "@a§ = looped(tid);",
    "@a§ = sought(tid, comm);",
    "let $x§ = { let $y§ = pid; if ($y§ == §) { $y§ = 4; } $y§ }; @a§ = $x§;",
    "let $x§ = (f = pid, g = comm); if ($x§.f == §) { @a§ = $x§.g; }",
    "let $x§ = comm; if ($x§ == \"a§\") { @a§ = 1; } @b§[$x§] = count();",
    "let $x§ = str(curtask.comm, 16); if ($x§ == comm) { @a§[$x§] = 1; }",
    "let $x§ = (pid, (tid, comm)); if ($x§.1.0 > §) { @a§ = $x§.1.1; }",
    "let $x§ = (uint8)pid; $x§++; if ($x§ == §) { @a§ = $x§; }",
    "let $x§ = pid ?: §; @a§ = $x§ ?: 4;",
    "let $x§ = pid; let $y§ = $x§ + 1; if ($y§ == §) { @a§ = $x§; }",
    "let $x§ = pid; let $y§ = $x§; if ($x§ == 1) { $y§ = 2; } if ($y§ == 3) { @a§ = $x§; }",
];

/// Statements before the loop, and those of its body that use what they declare.
const ACROSS: &[(&str, &str)] = &[
    ("let $o§ = 0;", "if (pid == §) { $o§ = 1; }"),
    ("let $o§ = 0;", "if (pid == §) { $o§++; } else { $o§ = 0; }"),
    ("let $o§ = 0;", "if ($o§ == 3) { $o§ = tid; } $o§++;"),
    ("let $o§ = (uint32)pid;", "if ($o§ > 5) { $o§ -= 5; } @a§ = $o§;"),
    ("let $o§ = pid;", "$o§ = $o§ == § ? tid : $o§ + 1;"),
    ("let $o§ = pid;", "if ($o§) { @a§ = 1; } if (!$o§) { $o§ = 5; }"),
    ("let $o§ = comm;", "if ($o§ == \"a§\") { $o§ = \"b\"; } @a§[$o§] = count();"),
    ("let $o§ = (pid, tid);", "if ($o§.0 == §) { $o§ = (1, 2); }"),
    ("let $o§ = (pid, comm);", "$o§ = pid == § ? (1, \"x\") : $o§; @a§[$o§] = count();"),
    ("let $o§ = curtask;", "if ($o§.pid == §) { break; } $o§ = $o§.parent;"),
    ("let $o§ = curtask;", "if (pid == §) { $o§ = $o§.parent; } @a§ = $o§.pid;"),
    ("let $o§ = 0;", "if (has_key(@m, (uint64)§)) { $o§ += @m[§]; }"),
    ("let $o§ = 0;", "for $j§ : 0..100 { if (pid == §) { $o§++; } }"),
    ("let $o§ = 0;", "find(@m, (uint64)§, $o§); @a§ = $o§;"),
    ("let $o§ = 0; let $n§ = (uint8[8])(uint64)pid;", "if (pid & $i) { $o§ += 3; } @a§ = $n§[$o§];"),
    ("let $o§ = 0;", "for $j§ : 0..32 { if (pid == $j§ + §) { continue; } $o§ += 1; }"),
    ("find(@t, (uint64)1, $o§);", "if ($o§.0 == 1) { @a§ = $o§.1; }"),
    ("let $o§ = (pid, tid);", "if (pid > tid) { @a§ = $o§.0; $o§ = (tid, pid); } else { @b§ = $o§.1; }"),
    ("let $o§ = comm;", "for $j§ : 0..tid { if ($o§ == \"x\") { @a§ = $j§; } $o§ = comm; }"),
    ("let $o§ = pid == § ? 1 : 2;", "if ($o§ == 1) { @a§ = tid; }"),
    ("let $o§ = 0; if (pid == §) { $o§ = 5; }", "@a§ = $o§ + $i;"),
    ("let $o§ = (1, 2); if (pid == §) { $o§ = (3, 4); }", "@a§[$o§] = count();"),
];

/// Loops around a body, with statements before them.
pub const LOOPS: [&str; 4] = [
    "¤ for $i : 0..1000 {\n¤}",
    "¤ let $i = 0;\nwhile ($i < nsecs) {\n$i++;\n¤}",
    "¤ for $kv : @m {\nlet $i = $kv.0;\n¤}",
    "¤ let $i = 0;\nunroll(3) {\n$i++;\n¤}",
];

/// What the statements call.
pub const FUNCTIONS: &str = "fn five($a: uint64, $b: uint64): uint64 { if ($a == $b) { return 5; } return $a; }
fn chosen($a: uint64, $b: string[16]): uint64 { let $c = $b; if ($c == \"x\") { return 1; } return $a; }
fn pair($a: uint64, $b: uint64): (uint64, uint64) { if ($a == $b) { return ((uint64)1, (uint64)2); } return ($a, $b); }
fn looped($a: uint64): uint64 { for $k : 0..$a { if ($k == 7) { return 3; } } return 1; }
fn sought($a: uint64, $b: string[16]): uint64 { for $k : 0..$a { if ($b == \"x\") { return $k + 2; } } return 1; }
";

/// What they read.
const MAPS: &str = "BEGIN { @m[(uint64)1] = (uint64)1; @n = (uint64)1; @s[(uint64)1] = \"\"; \
@t[(uint64)1] = ((uint64)1, (uint64)1); @k[1] = count(); }
";

/// How many there are.
pub const COUNT: usize = INSIDE.len() + ACROSS.len();

/// The statements before a loop and in it, of the piece with this number.
pub fn piece(number: usize, copy: usize) -> (String, String) {
    let numbered = |text: &str| text.replace('§', &copy.to_string());
    if let Some(inside) = INSIDE.get(number) {
        return (String::new(), numbered(inside));
    }
    let (before, inside) = ACROSS[number - INSIDE.len()];
    (numbered(before), numbered(inside))
}

/// A script with these pieces, one after the other in one loop.
pub fn script(around: &str, pieces: &[usize]) -> String {
    let (mut before, mut inside) = (String::new(), String::new());
    for (copy, number) in pieces.iter().enumerate() {
        let (first, then) = piece(*number, copy + 1);
        before.push_str(&format!("{first}\n"));
        inside.push_str(&format!("  {then}\n"));
    }
    let body = around.replacen('¤', &before, 1).replacen('¤', &inside, 1);
    format!("{FUNCTIONS}{MAPS}tracepoint:syscalls:sys_enter_getppid {{\n{body}\n}}\n")
}

/// Any `count` pieces.
pub fn medley(seed: u64, count: usize) -> Vec<usize> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.below(COUNT)).collect()
}
