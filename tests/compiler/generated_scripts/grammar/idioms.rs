//! What people write with this language, as whole statements: times between two events, states by thread,
//! lists followed from link to link, tables of names. Each brings its maps, whose types are the same wherever it stands.

use super::Writer;
use crate::generated_scripts::tree::{Kind, Node};

/// `§` stands for a number, `¶` for letters that make the names of variables new ones.
const PLAIN: &[&str] = &[
    "@i_start[tid] = nsecs;",
    "if (@i_start[tid]) { @i_us = hist((nsecs - @i_start[tid]) / 1000); delete(@i_start, tid); }",
    "let $t¶ = @i_start[tid]; if ($t¶ == 0) { return; } @i_lat[comm] = lhist((nsecs - $t¶) / 1e6, 0, 1000, 50);",
    "if (delete(@i_start, tid)) { @i_gone = count(); } else { @i_never[comm, §] = count(); }",
    "if (has_key(@i_start, tid) && !has_key(@i_never, (comm, 1))) { @i_busy = sum(1); }",
    "@i_state[tid] = @i_state[tid] == 0 ? 1 : @i_state[tid] == 1 ? 2 : 0;",
    "if (@i_state[tid] == 2) { @i_done[comm] = count(); printf(\"%-16s %d\\n\", comm, @i_state[tid]); }",
    "let $n¶ = (1, (comm, (pid, \"x\"))); @i_nested[$n¶.1.1] = count(); print($n¶.1.0); print($n¶);",
    "let $r¶ = (a = (int64)§, b = (c = comm, d = pid)); printf(\"%s %d %d\\n\", $r¶.b.c, $r¶.b.d, $r¶.a); @i_rec = $r¶;",
    "@i_stack[kstack(5), comm] = count(); @i_both[ustack(3), kstack(3)] = sum(§);",
    "@i_keep[cpu, pid] = (nsecs, comm, kstack(3)); print(@i_keep[cpu, pid].2);",
    "let $p¶ = (uint8*)curtask; $p¶ += 8; @i_byte = *$p¶; @i_bytes[$p¶[3], $p¶[§ & 63]] = count();",
    "let $l¶ = @i_last[tid]; if ($l¶ != comm) { @i_last[tid] = comm; @i_changes[$l¶, comm] = count(); }",
    "@i_seen += 1; if (@i_seen % 100 == 0) { print(@i_seen); clear(@i_done2); } @i_done2[comm] = avg(§);",
    "@i_mean = avg(§); if (@i_mean > 10) { print(@i_mean); clear(@i_mean); }",
    "let $ms¶ = nsecs / 1e6; printf(\"%d.%03d %s\\n\", $ms¶ / 1000, $ms¶ % 1000, strftime(\"%H:%M:%S.%f\", nsecs));",
    "if (!strcontains(comm, \"x\") && strlen(comm) > 3) { return; }",
    "if (strncmp(comm, \"ssh\", 3) == 0 || comm == \"bash\") { @i_shell[str_concat(comm, \"-\"), uid] = count(); }",
    "@i_sys[syscall_name(§)] = count(); @i_sig[signal_name(§), comm] = count(); @i_err[strerror(§)] = count();",
    "let $x¶ : uint32 = (uint32)§; $x¶ = ~$x¶; $x¶ <<= 3; if ($x¶ & 0x80) { @i_bit = count(); }",
    "@i_min[cpu] = min(§); @i_max[cpu] = max(§); @i_stats[comm] = stats(§); @i_sum[usermode] = sum(§);",
    "@i_ts[comm] = tseries(§, 10ms, 5); @i_ts2 = tseries(§, 1s, 20, \"sum\");",
    "let $k¶ = (pid, comm); @i_a[$k¶] = nsecs; @i_b[$k¶] = §; if (has_key(@i_a, $k¶) && has_key(@i_b, $k¶)) { @i_c = hist(@i_b[$k¶], 3); delete(@i_a, $k¶); delete(@i_b, $k¶); }",
    "let $e¶ = container_of(curtask.group_leader, struct task_struct, group_leader); printf(\"%p\\n\", $e¶);",
    "let $c¶ = curtask.comm; if ($c¶ == \"swapper/0\" || $c¶ == curtask.real_parent.comm) { @i_same = count(); }",
    "@i_addr[ntop((uint32)§), ntop(2, (uint32)§)] = count(); @i_mac[macaddr(curtask.comm)] = sum(§);",
    "let $w¶ = § < 1000 ? \"us\" : § < 1000000 ? \"ms\" : \"s\"; @i_unit[$w¶] = count(); printf(\"%5s\\n\", $w¶);",
    "if (§ == 0) { @i_case[\"none\"] = count(); } else if (§ == 1) { @i_case[\"one\"] = count(); } else if (§ < 0) { @i_case[strerror(-(§))] = count(); } else { @i_case[\"more\"] = count(); }",
    "let $old¶ = (int64)0; if (find(@i_start, tid, $old¶)) { @i_found = hist($old¶); }",
    "@i_big[(comm, pid, (tid, cpu)), probe] = (1, (\"text\", nsecs)); print(@i_big[(comm, pid, (tid, cpu)), probe].1.0);",
    "let $a¶ = (uint8[8])(uint64)nsecs; @i_octet[$a¶[7], $a¶[§ & 7]] = count();",
    "@i_gauge++; @i_gauge--; @i_gauge += §; @i_in[comm]++; @i_in[comm] -= §; if (@i_in[comm] <= 0) { delete(@i_in[comm]); }",
    "@i_note[tid] = str_concat(comm, str_concat(\":\", § > 5 ? \"a\" : \"b\"));",
    "print((comm, pid, (1, \"x\"))); print(@i_start, 5); print(@i_us); zero(@i_us);",
    "@i_bufs[buf(curtask, 8)] = count(); printf(\"%r %rx\\n\", buf(curtask, 16), buf(curtask, § & 15));",
    "let $s¶ = (struct task_struct *)curtask; let $m¶ = $s¶.mm; if ($m¶ != 0) { @i_mm[$s¶.comm] = max($m¶.total_vm); }",
    "@i_who[username, ppid, curtask.real_parent.comm] = count(); @i_cg[cgroup_path(cgroup)] = count();",
];

const LOOPS: &[&str] = &[
    "for ($kv¶ : @i_start) { if (nsecs - $kv¶.1 > 1s) { delete(@i_start, $kv¶.0); continue; } if ($kv¶.0 == §) { break; } }",
    "for ($kv¶ : @i_never) { printf(\"%s %d: %d\\n\", $kv¶.0.0, $kv¶.0.1, (int64)$kv¶.1); }",
    "for ($kv¶ : @i_state) { if ($kv¶.1 == 1) { @i_waiting++; } @i_state[$kv¶.0] = 0; }",
    "let $d¶ = curtask.fs.pwd.dentry; for $i¶ : 0..20 { printf(\"/%s\", str($d¶.d_name.name)); if ($d¶ == $d¶.d_parent) { break; } $d¶ = $d¶.d_parent; }",
    "let $d¶ = curtask.fs.pwd.dentry; let $n¶ = 0; while ($d¶ != $d¶.d_parent) { $d¶ = $d¶.d_parent; $n¶++; if ($n¶ > 30) { break; } } @i_deep = lhist($n¶, 0, 30, 1);",
    "let $t¶ = curtask; let $g¶ = 0; while ($t¶.pid != 0 && $g¶ < 10) { $t¶ = $t¶.real_parent; $g¶++; @i_kin[$t¶.comm, $g¶] = count(); }",
    "let $i¶ = 10; while ($i¶ > 0) { $i¶--; if ($i¶ == 3) { continue; } @i_w[$i¶] = sum(§); }",
    "let $a¶ = (uint8[8])(uint64)nsecs; for $i¶ : 0..8 { @i_each[$a¶[$i¶]] = count(); }",
    "let $c¶ = curtask.comm; let $j¶ = 0; for $i¶ : 0..16 { if (curtask.comm[$i¶] == 47) { $j¶ = $i¶; } } @i_slash[$c¶] = max($j¶);",
    "let $n¶ = 0; unroll(5) { @i_u[$n¶] = sum($n¶ * §); $n¶++; }",
    "for $i¶ : 0..4 { let $f¶ = curtask.files.fdt.fd[$i¶]; if ($f¶ != 0) { @i_files[str($f¶.f_path.dentry.d_name.name)] = count(); } }",
    "let $f¶ = -1; for $i¶ : 0..64 { if ((§ >> $i¶) & 1) { $f¶ = $i¶; break; } } @i_first[$f¶] = count();",
    "for $i¶ : 0..(§ & 31) { @i_range[$i¶, comm] = sum($i¶); if ($i¶ > 20) { return; } }",
];

/// Writes the maps that several of them share.
pub const WRITES: &str = "  @i_start[tid] = nsecs; @i_never[comm, 1] = count(); @i_state[tid] = 0; @i_us = hist(1); \
    @i_done2[comm] = avg(1);\n";

impl Writer {
    pub(super) fn idiom(&mut self) -> Node {
        let loops = self.loops == 0 && !self.old && self.random.once_in(3);
        let text = self.random.pick(if loops { LOOPS } else { PLAIN });
        self.names += 1;
        self.idioms |= !self.in_function;
        let text = text.replace('¶', &format!("_{}", self.names));
        let text = if self.in_function { "_ = §;".to_owned() } else { text };
        let children = (0..text.matches('§').count()).map(|_| self.int(1)).collect();
        Node::new(Kind::Statement, &format!("  {}\n", text.replace('§', "(¤)")), children)
    }
}
