//! Loops that count: in some iterations, until something, up and down, one in another; and what is done with the count
//! afterwards. To the verifier each count may be a state of its own.

use super::random::Random;

/// Loops of `¤` iterations around `§`.
const LOOPS: [&str; 9] = [
    "for $i : 0..¤ { § }",
    "let $i = 0; while ($i < ¤) { $i++; § }",
    "unroll(¤) { let $i = 3; § }",
    "let $i = ¤; while ($i > 0) { § $i--; }",
    "for $g : 0..4 { for $i : 0..¤ { § } }",
    "for $kv : @m { for $i : 0..¤ { § } }",
    "for $g : 0..@k { for $i : 0..¤ { § } }",
    "let $i = 0; while (1) { $i++; if ($i > ¤) { break; } § }",
    "for $i : 0..¤ { for $j : 0..$i { § } }",
];

const COUNTS: [&str; 8] = ["6", "12", "20", "24", "32", "40", "60", "100"];

/// Statements with paths through them: `?` is a condition, `!` a change, `‽` a question mark.
const STATEMENTS: [&str; 9] = [
    "if (?) { ! }",
    "if (?) { continue; } !",
    "if (?) { ! break; }",
    "if (?) { ! } else { ! }",
    "! if (?) { ! continue; } !",
    "if (?) { if (?) { ! } ! }",
    "$s = (?) ‽ $i : $s;",
    "if (?) { ! } if (?) { ! }",
    "if (?) { @z[$s] = count(); ! } else if (?) { ! break; }",
];

const CONDITIONS: [&str; 10] = [
    "rand & 1",
    "pid > $i",
    "@m[$i] > 3",
    "comm == \"x\"",
    "rand > 1000 && pid < $i",
    "$s % 3 == 1",
    "$s > 7",
    "(nsecs >> $i) & 1",
    "$s == $p",
    "$p > $s",
];

const CHANGES: [&str; 12] = [
    "$s += 3;",
    "$s = $i;",
    "$s = $s * 2 + 1;",
    "$s++;",
    "$s = 0;",
    "$p = $s; $s = $i;",
    "$s = rand % 10;",
    "$s |= 1 << ($i & 7);",
    "$s -= 1;",
    "$t = ($i, $s);",
    "$c = comm;",
    "$s = $t.0 + 1;",
];

/// What is done with the count.
const USES: [&str; 11] = [
    "@r = $s;",
    "@r[$s] = count();",
    "@h = hist($s);",
    "@l = lhist($s, 0, 100, 5);",
    "@x = ((uint8[8])(uint64)pid)[$s];",
    "if ($s > 4) { @r = 1; } if ($p == 2) { @q = $s; }",
    "printf(\"%d %d\\n\", $s, $p);",
    "@st[str(curtask.comm, $s)] = 1;",
    "@y[$t, $c] = $s;",
    "for $e : 0..$s { @e = $e; }",
    "@u = substr($c, $s, 3);",
];

/// A script with one such loop.
pub fn script(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut inside = String::new();
    for _ in 0..=random.below(2) {
        for c in random.pick(&STATEMENTS).chars() {
            match c {
                '?' => inside.push_str(random.pick(&CONDITIONS)),
                '‽' => inside.push('?'),
                '!' => inside.push_str(random.pick(&CHANGES)),
                c => inside.push(c),
            }
        }
        inside.push(' ');
    }
    let around = random.pick(&LOOPS).replace('¤', random.pick(&COUNTS)).replace('§', &inside);
    format!(
        "begin {{ @m[(int64)1] = (int64)1; @k = (int64)5; @z[1] = count(); clear(@z); }}
tracepoint:syscalls:sys_enter_getppid {{
  let $s = 0; let $p = 1; let $t = ((int64)1, (int64)2); let $c = comm;
  {around}
  {}
}}
",
        random.pick(&USES)
    )
}
