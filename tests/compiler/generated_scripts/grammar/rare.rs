//! What few scripts have and each takes a path of its own through the compiler: loops over maps in loops over
//! maps, functions with loops, arrays and records as elements, and the functions that act on the system.

use super::{Shape, Writer};
use crate::generated_scripts::tree::{Kind, Node};

/// `§` stands for a number, `§§` for a text, `¶` for letters that make the names of variables new ones.
const PLAIN: &[&str] = &[
    "let $p¶ = (uint64 *)percpu_kaddr(\"runqueues\"); if ($p¶ != 0) { @r_run[cpu] = *$p¶; printf(\"%d\\n\", $p¶[§ & 15]); }",
    "if comptime (1 + 1 == 2) { @r_comptime = sum(§); } else { @r_comptime = sum(nothing_of_this); }",
    "print((comptime (1 + 2 * sizeof(struct task_struct)), §));",
    "let $a¶ = (uint8[8])(uint64)§; @r_array[tid] = $a¶; @r_octet[$a¶[§ & 7], comm] = count();",
    "let $a¶ = (int32[2])(uint64)§; print($a¶); print(((int16[4])(uint64)§)[§ & 3]); @r_sum = sum($a¶[1]);",
    "@r_record[tid] = (a = (int64)§, b = (comm, (uint32)§)); print(@r_record[tid].b.1); print(@r_record[pid]);",
    "@r_pair[comm] = ((int64)§, §§); if (@r_pair[comm].1 == §§) { @r_record[tid] = (a = (int64)1, b = (comm, (uint32)2)); }",
    "print(f_search(§, tid)); @r_sum = sum(f_search(1, 2));",
    "@r_steps = max(f_steps(§)); if (f_steps(5) > f_steps(§ & 7)) { print(§§); }",
    "print(s_name(§)); @r_names[s_name(pid), s_name(§)] = count();",
    "let $m¶ = §§; let $n¶ = str_concat($m¶, str_concat(\"/\", §§)); if ($n¶ != $m¶ && strstr($n¶, \"/\") > 2) { print($n¶); }",
    "if (buf(curtask, 8) == buf(curtask.real_parent, 8)) { @r_sum = sum(§); }",
];

const LOOPS: &[&str] = &[
    "for ($k¶ : @r_record) { for ($l¶ : @r_pair) { printf(\"%d %s %s\\n\", $k¶.1.a, $k¶.1.b.0, $l¶.1.1); } }",
    "for ($k¶ : @r_record) { if ($k¶.1.b.0 == §§) { print($k¶); break; } for ($l¶ : @r_record) { if ($l¶.0 == $k¶.0) { continue; } print(($l¶.1.a, $k¶.1.b.1)); } }",
    "for ($k¶ : @r_pair) { @r_pair[str_concat($k¶.0, \"!\")] = ($k¶.1.0 + §, $k¶.1.1); }",
    "for ($k¶ : @r_array) { for $i¶ : 0..8 { @r_sum = sum($k¶.1[$i¶]); if ($k¶.1[$i¶] == §) { break; } } }",
    "for ($k¶ : @r_pair) { let $t¶ = $k¶.1.1; let $i¶ = 0; while ($i¶ < 4) { $i¶++; $t¶ = str_concat(\"-\", comm); if ($t¶ == $k¶.0) { break; } } @r_names[$t¶, $k¶.0] = count(); }",
    "let $i¶ = 0; while ($i¶ < 1000) { $i¶++; if ($i¶ % 100 == §) { printf(\"%d %s\\n\", $i¶, §§); } }",
    "let $i¶ = 5000; let $s¶ = (int64)0; while ($i¶ > 0) { $i¶ -= 3; $s¶ += $i¶ & §; if ($s¶ > 10000) { break; } } print($s¶);",
    "let $c¶ = (uint64)§; let $i¶ = 0; while ($c¶ != 1) { $c¶ = $c¶ % 2 == 0 ? $c¶ / 2 : $c¶ * 3 + 1; $i¶++; if ($i¶ >= 200) { break; } } @r_steps = max($i¶);",
    "for $i¶ : 0..(§ & 63) { if (strncmp(§§, comm, 3) == 0) { @r_pair[§§] = ((int64)$i¶, comm); continue; } @r_record[$i¶] = (a = (int64)$i¶, b = (§§, (uint32)§)); }",
    "for $i¶ : 0..(§ & 15) { for $j¶ : 0..($i¶ & 15) { if (f_search($i¶, $j¶) == 3) { return; } @r_octet[(uint8)$j¶, comm] = count(); } }",
    "for $i¶ : 0..200 { let $p¶ = percpu_kaddr(\"runqueues\", $i¶); if ($p¶ == 0) { break; } @r_run[$i¶] = *(uint64 *)$p¶; }",
    "let $t¶ = curtask; for $i¶ : 0..(§ & 31) { if ($t¶.comm == §§ || $t¶.pid <= 1) { break; } @r_pair[$t¶.comm] = ((int64)$t¶.pid, str_concat($t¶.comm, comm)); $t¶ = $t¶.real_parent; }",
    "let $a¶ = (uint8[8])(uint64)§; let $h¶ = (uint64)0; for $i¶ : 0..8 { $h¶ = $h¶ * 31 + $a¶[$i¶]; } @r_run[§ & 7] = $h¶;",
    "for ($k¶ : @r_names) { if (strcontains($k¶.0.0, \"ab\") || $k¶.0.1 == §§) { delete(@r_names, $k¶.0); } }",
    "let $n¶ = 0; let $w¶ = §§; for $i¶ : 0..(§ & 7) { if ($w¶ == comm) { $w¶ = str_concat($w¶, \".\"); $n¶++; } else { $w¶ = §§; } } print(($w¶, $n¶));",
];

/// Functions that some of them call.
pub const FUNCTIONS: &str = "fn f_search($n: int64, $m: int64): int64 {
  for ($kv : @r_record) {
    if ($kv.1.a == $n) { return 3; }
    if ($kv.1.b.0 == comm && $kv.0 == $m) { break; }
  }
  return $n & $m;
}
fn f_steps($n: int64): int64 {
  let $i = 0;
  while ($i < $n) { $i++; if ($i == 300) { return -1; } }
  for $j : 0..($n & 7) { if ($j == $i) { return $j; } }
  return $i;
}
fn s_name($n: int64): string {
  for ($kv : @r_pair) { if ($kv.1.0 == $n) { return $kv.1.1; } }
  return $n > 100 ? comm : \"few\";
}
";

/// Writes the maps that they share.
pub const WRITES: &str = "  @r_record[1] = (a = (int64)1, b = (comm, (uint32)2)); @r_pair[comm] = ((int64)1, comm); \
    @r_array[1] = (uint8[8])(uint64)1; @r_names[comm, comm] = count(); @r_run[1] = (uint64)0; \
    @r_octet[(uint8)1, comm] = count();\n";

impl Writer {
    /// One of them: in a probe, outside of other loops when it is a loop.
    pub(super) fn rare(&mut self) -> Node {
        if self.in_function {
            return self.let_variable();
        }
        let own = self.probe.acts;
        let text = if !own.is_empty() && self.random.once_in(2) {
            self.random.pick(own)
        } else {
            let loops = self.loops == 0 && !self.old && self.random.once_in(2);
            let texts = if loops { LOOPS } else { PLAIN };
            let text = self.random.pick(texts);
            // The functions that some call have loops over maps.
            if self.old && (text.contains("f_s") || text.contains("s_name")) { PLAIN[0] } else { text }
        };
        self.rarities = true;
        self.filled(text)
    }

    /// A statement by its text: `§` stands for a number, `§§` for a text, `¶` for letters of its own.
    pub(super) fn filled(&mut self, text: &str) -> Node {
        self.names += 1;
        let text = text.replace('¶', &format!("_{}", self.names)).replace("§§", "¢");
        let mut children = Vec::new();
        for sign in text.chars().filter(|c| matches!(c, '§' | '¢')) {
            children.push(if sign == '§' { self.int(1) } else { self.value(&Shape::Str, 1) });
        }
        let text = text.replace('§', "(¤)").replace('¢', "¤");
        Node::new(Kind::Statement, &format!("  {text}\n"), children)
    }
}
