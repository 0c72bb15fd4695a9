use super::*;
use crate::kernel::Roots;

fn kernel() -> Kernel {
    Kernel::new(Roots::fixture(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/kernel")))
}

#[test]
fn a_system_call_s_skeleton_prints_its_text() {
    let doc = describe("tracepoint:syscalls:sys_enter_openat", &kernel());
    let file = doc.fields.iter().find(|f| f.access == "args.filename").unwrap();
    assert_eq!((&*file.declaration, file.shown), ("const char * filename", Shown::TextPointer));
    let expected =
        "tracepoint:syscalls:sys_enter_openat\n{\n    printf(\"%s %d %s\\n\", comm, pid, str(args.filename));\n}\n";
    assert_eq!(doc.skeleton, expected);
    assert!(doc.about.contains("openat(2)"));
}

#[test]
fn a_buffer_is_printed_when_it_is_filled() {
    let doc = describe("tracepoint:syscalls:sys_enter_read", &Kernel::new(Roots::running()));
    // A kernel without this tracepoint has nothing to describe.
    if doc.fields.is_empty() {
        return;
    }
    assert!(
        doc.skeleton.starts_with("tracepoint:syscalls:sys_enter_read\n{\n    @buf[tid] = args.buf;\n}\n"),
        "{}",
        doc.skeleton
    );
    assert!(doc.skeleton.contains("tracepoint:syscalls:sys_exit_read\n/@buf[tid]/\n"), "{}", doc.skeleton);
    assert!(doc.skeleton.contains("buf(@buf[tid], args.ret)") && doc.skeleton.contains("delete(@buf[tid]);"));
    let write = describe("tracepoint:syscalls:sys_enter_write", &Kernel::new(Roots::running()));
    assert!(write.skeleton.contains("str(args.buf)"), "what a program gives is there at once: {}", write.skeleton);
}

#[test]
fn functions_have_their_parameters() {
    let kernel = kernel();
    let doc = describe("kprobe:vfs_read", &kernel);
    let declarations: Vec<_> = doc.fields.iter().map(|f| f.declaration.as_str()).collect();
    assert_eq!(declarations, ["struct file * file", "char * buf", "size_t count", "loff_t * pos"]);
    let exit = arguments("fexit:vfs_read", &kernel);
    assert_eq!(exit.last().map(String::as_str), Some("ssize_t retval"));
    assert_eq!(arguments("rawtracepoint:sched_switch", &kernel)[1], "struct task_struct * prev");
}

#[test]
fn nonsense_is_described_too() {
    assert!(describe("x:y:z", &kernel()).fields.is_empty());
    assert!(describe("tracepoint:a:b", &kernel()).fields.is_empty());
}
