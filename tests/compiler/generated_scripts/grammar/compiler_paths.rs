//! Paths through the compiler that the other lists leave out: counters that their loop's body changes and meets
//! constants with, sums in narrow histograms, values of maps in maps, groups in groups, variables of every width.

use super::Writer;
use crate::generated_scripts::tree::Node;

/// `§` stands for a number, `§§` for a text, `¶` for letters that make the names of variables new ones.
const PLAIN: &[&str] = &[
    "@w_one = lhist(§ + 3, 0, 10, 1); @w_ones[comm] = lhist(§ - 7, 0, 64, 1); @w_two[§] = lhist(nsecs + §, -2, 9, 1);",
    "@w_eight = lhist(§ - 5, 0, 64, 8); @w_wide[tid] = lhist(§ * 3 + 1, -1000, 1000, 10); @w_far = lhist(§, 1000000, 2000000, 1000);",
    "@w_fine[§] = hist(§ + 1, 1); @w_fines = hist(§ - 1, 4); @w_small = hist((uint16)(§ + §));",
    "@w_last[tid] = (§§, (int64)§, (comm, (uint8)§)); let $o¶ = @w_last[pid]; @w_last[cpu] = $o¶; print(($o¶, @w_last[tid].2.0));",
    "@w_copy[comm] = @w_last[tid]; if (@w_copy[comm] == @w_last[§]) { @w_one = lhist(1, 0, 10, 1); }",
    "let $r¶ = (a = (b = (c = (int8)§, d = §§), e = (1, §§)), f = (uint16)§); @w_deep[$r¶.a.e] = $r¶; print($r¶.a.b.d); print(@w_deep[$r¶.a.e].a.b.c);",
    "@w_key[((int64)§, (§§, (uint8)§)), (a = §§, b = (int16)§)] = count(); print(@w_key);",
    "let $a¶: int8 = (int8)§; let $b¶: uint16 = (uint16)§; let $c¶: int32 = (int32)§; $a¶ += 3; $b¶ <<= 2; $c¶ -= 7; $a¶--; @w_width[$a¶, $b¶, $c¶] = sum($a¶ * $b¶); printf(\"%hhd %hx %d\\n\", $a¶, $b¶, $c¶);",
    "let $a¶ = (int8)§; if ($a¶ < 0) { $a¶ = (int8)-$a¶; } @w_width[$a¶, (uint16)§, (int32)§] = sum((uint32)$a¶); print($a¶ == 3 ? (1, §§) : (2, \"\"));",
    "@w_most = @w_most > § ? @w_most : §; @w_flag = @w_flag || § > 5; if (!@w_flag) { @w_most = 0; }",
    "@w_text[tid] = @w_text[tid] == \"\" ? §§ : str_concat(@w_text[tid], §§); if (strlen(@w_text[tid]) > 20) { delete(@w_text, tid); }",
    "if (strcontains(@w_text[§], @w_text[tid])) { @w_text[§] = \"both\"; } print(strstr(@w_text[tid], §§));",
    "@w_buf[tid] = buf(curtask, 13); if (@w_buf[tid] == @w_buf[§]) { printf(\"%r %rh\\n\", @w_buf[tid], @w_buf[§]); }",
    "@w_stack[tid] = kstack(4); @w_stacks[@w_stack[tid], §§] = count(); print(@w_stack[§]); print(len(kstack(2)) + §);",
    "let $n¶ = (§) % 300; printf(\"%s %r %s %d\\n\", str(curtask.mm.arg_start, $n¶), buf(curtask, $n¶), str_concat(comm, str(curtask.mm.env_start, $n¶ + 3)), $n¶);",
    "let $a¶ = (uint16[4])(uint64)§; let $i¶ = § & 3; @w_sum += $a¶[$i¶] * $a¶[3 - $i¶]; @w_sum -= ((uint8[8])(uint64)§)[$i¶ + 1]; print($a¶[§]);",
    "let $x¶ = ((((§ + 1) * 2 + 3) ^ 5) - 1) / ((§ & 7) + 1) % 1000; let $y¶ = -$x¶ >> 3; let $z¶ = (uint32)$y¶ >> 3; @w_sum += $x¶ + $y¶ + $z¶; print($x¶ > $y¶ && $y¶ < $z¶ || !$z¶);",
    "if (§ > 3) { if (§ < 9) { if (§ == 5) { @w_most = 1; return; } else { @w_most++; } } else if (comm == §§) { @w_most--; } } else { @w_text[§] = §§; }",
    "unroll(3) { @w_sum++; for $i¶ : 0..3 { @w_width[(int8)$i¶, (uint16)§, (int32)@w_sum] = sum($i¶); } if (@w_sum > 50) { break; } }",
    "let $s¶ = §§; $s¶ = str_concat($s¶, \"1\"); $s¶ = str_concat($s¶, $s¶); $s¶ = $s¶ == comm ? §§ : $s¶; @w_text[§] = $s¶; print($s¶);",
];

/// Loops that the others lists leave out.
const LOOPS: &[&str] = &[
    "let $w¶ = (int64)0; while ($w¶ < 2) { $w¶++; if ($w¶ == 2) { continue; } print($w¶ == § ? 5 : $w¶); if ($w¶ == -77) { @w_most = $w¶; } }",
    "let $i¶ = (int64)0; let $r¶ = 0; while ($i¶ < 16) { $i¶++; $r¶++; if ($r¶ == 5) { $i¶--; } if ($r¶ == § && $r¶ > 100) { $i¶ -= 3; } @w_sum += $i¶; }",
    "let $i¶ = (int64)9; while ($i¶ != 0 && $i¶ > -5) { if ($i¶ == 4) { $i¶ = 2; continue; } else if ($i¶ == §) { $i¶ -= 2; } $i¶ -= 1; @w_text[$i¶] = §§; }",
    "let $a¶ = (int64)§; let $b¶ = (int64)1; while ($b¶ != 0 && $a¶ != $b¶) { let $t¶ = $a¶ % $b¶; $a¶ = $b¶; $b¶ = $t¶; if ($b¶ == 7) { break; } } @w_most = $a¶;",
    "let $f¶ = 0; for $i¶ : 0..(§ & 63) { if ($f¶ == 0) { $f¶ = 3; } else if ($f¶ == 3) { $f¶ = -9; @w_stacks[kstack(4), §§] = count(); } else { $f¶ = $i¶ == 7 ? 0 : 1; } }",
    "for ($k¶ : @w_text) { let $j¶ = 0; while ($j¶ < 3) { $j¶++; if ($k¶.0 == 5) { @w_text[$j¶] = $k¶.1; break; } if ($j¶ == 2) { continue; } print(($k¶.1, $j¶)); } }",
    "for ($k¶ : @w_last) { if ($k¶.1.0 == §§ && $k¶.1.2.1 == 4) { @w_copy[$k¶.1.0] = $k¶.1; delete(@w_last, $k¶.0); } else { @w_most += $k¶.1.1; } }",
    "for ($k¶ : @w_key) { printf(\"%d %s %s %d\\n\", $k¶.0.0.0, $k¶.0.0.1.0, $k¶.0.1.a, (int64)$k¶.1); if ($k¶.0.1.b == 3) { break; } }",
    "for ($k¶ : @w_text) { for $i¶ : 0..(§ & 7) { if (strcontains($k¶.1, §§)) { @w_most++; break; } @w_width[(int8)$i¶, (uint16)$k¶.0, (int32)3] = sum(strlen($k¶.1)); } }",
    "for $i¶ : 0..50 { for $j¶ : $i¶..60 { if ($j¶ == $i¶ + 9) { break; } if (($i¶ ^ $j¶) == §) { @w_ones[comm] = lhist($i¶ - $j¶, 0, 64, 1); return; } } }",
    "let $n¶ = 0; for $i¶ : 0..100 { $n¶ = $n¶ == 99 ? 0 : $n¶ + 1; if ($n¶ == 50) { $n¶ = $n¶ + §; } @w_two[$n¶] = lhist($n¶ + $i¶, -2, 9, 1); }",
    "let $s¶ = §§; for $i¶ : 0..9 { $s¶ = str_concat(\"<\", $i¶ == 3 ? comm : $s¶); if ($s¶ == §§) { @w_text[$i¶] = $s¶; break; } } print($s¶);",
];

/// Writes the maps that they share.
pub const WRITES: &str = "  @w_one = lhist(1, 0, 10, 1); @w_ones[comm] = lhist(1, 0, 64, 1); @w_two[1] = lhist(1, -2, 9, 1); \
    @w_last[1] = (comm, (int64)1, (comm, (uint8)1)); @w_copy[comm] = (comm, (int64)1, (comm, (uint8)1)); @w_text[1] = comm; \
    @w_key[((int64)1, (comm, (uint8)1)), (a = comm, b = (int16)1)] = count(); @w_buf[1] = buf(curtask, 13); \
    @w_most = (int64)0; @w_flag = false; @w_sum = (int64)0; @w_stack[1] = kstack(4); @w_stacks[kstack(4), comm] = count(); \
    @w_width[(int8)1, (uint16)1, (int32)1] = sum(1);\n";

impl Writer {
    /// One of them: in a probe, outside of other loops when it is a loop.
    pub(super) fn wider(&mut self) -> Node {
        if self.in_function {
            return self.let_variable();
        }
        self.wide = true;
        let loops = self.loops == 0 && !self.old && self.random.once_in(2);
        let text = self.random.pick(if loops { LOOPS } else { PLAIN });
        self.filled(text)
    }
}
