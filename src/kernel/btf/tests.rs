use super::*;

/// The running kernel's BTF, where it has any.
fn running() -> Option<Btf> {
    Btf::parse(std::fs::read("/sys/kernel/btf/vmlinux").ok()?, None).ok()
}

#[test]
fn the_running_kernel_s_tasks() {
    let Some(btf) = running() else { return };
    let task = btf.find_struct("task_struct").unwrap();
    assert!(btf.size_of(task).unwrap() > 1000);
    let comm = btf.member(task, "comm").unwrap();
    assert_eq!(btf.declaration(comm.ty, "comm"), "char comm[16]");
    assert!(btf.member(task, "tgid").is_some_and(|m| m.offset() > 0 && m.bits == 0));
    assert_eq!(btf.enumerator("BPF_FUNC_map_lookup_elem").map(|(_, v)| v), Some(1));
    let switch = btf.raw_tracepoint("sched_switch").unwrap();
    let names: Vec<_> = switch.params.iter().take(3).map(|p| p.name).collect();
    assert_eq!(names, ["preempt", "prev", "next"]);
    let read = btf.func("vfs_read").unwrap();
    assert_eq!(read.params.first().map(|p| btf.declaration(p.ty, p.name)).as_deref(), Some("struct file * file"));
    println!("{}", btf.definition(btf.find_struct("list_head").unwrap()).unwrap());
}
