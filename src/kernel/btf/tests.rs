use super::*;

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/kernel/sys/kernel/btf/vmlinux");

fn fixture() -> Vec<u8> {
    std::fs::read(FIXTURE).unwrap()
}

fn btf() -> Btf {
    Btf::parse(fixture(), None).unwrap()
}

/// Asks everything of every type: must end and must not panic, whatever the bytes.
fn exercise(btf: &Btf) {
    for id in (0..btf.end_id().min(2000) + 2).map(TypeId) {
        let _ = (btf.ty(id), btf.size_of(id), btf.prototype(id), btf.name(id));
        let _ = (btf.member(id, "pid"), btf.enumerators(id).take(100).count(), btf.members(id).take(100).count());
        let _ = btf.declaration(id, "x");
    }
    let task = btf.find_struct("task_struct");
    let _ = task.and_then(|t| btf.definition(t));
    let _ = (btf.enumerator("BPF_FUNC_loop"), btf.func("vfs_read"), btf.raw_tracepoint("sched_switch"));
}

#[test]
fn members_functions_and_enumerators() {
    let btf = btf();
    let task = btf.find_struct("task_struct").unwrap();
    let comm = btf.member(task, "comm").unwrap();
    assert_eq!(btf.declaration(comm.ty, "comm"), "char comm[16]");
    assert!(btf.member(task, "tgid").is_some_and(|m| m.offset() > 0 && m.bits == 0));
    assert!(btf.member(task, "in_execve").is_some_and(|m| m.bits == 1));
    assert_eq!(btf.enumerator("BPF_FUNC_map_lookup_elem").map(|(_, v)| v), Some(1));
    assert_eq!(btf.enumerator("TCP_ESTABLISHED").map(|(_, v)| v), Some(1));
    let read = btf.func("vfs_read").unwrap();
    assert_eq!(read.params.first().map(|p| btf.declaration(p.ty, p.name)).as_deref(), Some("struct file * file"));
    assert_eq!(btf.size_of(btf.find_type("unsigned int").unwrap()), Some(4));
    assert_eq!(btf.find_type("struct nothing"), None);
}

#[test]
fn raw_tracepoints_get_their_parameters_names() {
    let btf = btf();
    let switch = btf.raw_tracepoint("sched_switch").unwrap();
    let names: Vec<_> = switch.params.iter().take(3).map(|p| p.name).collect();
    assert_eq!(names, ["preempt", "prev", "next"], "without the kernel's own first parameter");
}

#[test]
fn a_member_of_an_anonymous_union_counts_from_the_outer_start() {
    let btf = btf();
    let common = btf.find_struct("sock_common").unwrap();
    let family = btf.member(common, "skc_family").unwrap();
    let address = btf.member(common, "skc_daddr").unwrap();
    assert_eq!((address.offset(), family.offset()), (0, 16));
}

#[test]
fn definitions_read_as_c() {
    let btf = btf();
    let list = btf.find_struct("list_head").unwrap();
    let text = "struct list_head {\n\tstruct list_head *next;\n\tstruct list_head *prev;\n};\n";
    assert_eq!(btf.definition(list).unwrap(), text);
}

#[test]
fn a_module_s_types_build_on_the_kernel_s() {
    let base = Arc::new(btf());
    let wanted = subset::Wanted { typedefs: &["pid_t"], ..subset::Wanted::default() };
    let small = subset::subset(&base, &wanted);
    // The header's sections are the same; only ids and strings of the base go before them.
    let module = Btf::parse(small, Some(Arc::clone(&base))).unwrap();
    assert!(module.end_id() > base.end_id() && module.own(TypeId(base.end_id())));
    assert_eq!(module.find_struct("task_struct"), base.find_struct("task_struct"));
}

#[test]
fn every_cut_is_refused() {
    let bytes = fixture();
    for cut in (0..64).chain((64..bytes.len()).step_by(997)) {
        assert!(Btf::parse(bytes[..cut].to_vec(), None).is_err(), "{cut}");
    }
    assert_eq!(
        Btf::parse(b"\x7fELF and so on, long enough to be a header".to_vec(), None).unwrap_err(),
        BtfError::Magic
    );
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(48))]
    #[test]
    fn damage_is_survived(damage in proptest::collection::vec((24_usize..53_000, 0_u8..=255), 1..200)) {
        let mut bytes = fixture();
        for (at, value) in damage {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        if let Ok(btf) = Btf::parse(bytes, None) {
            exercise(&btf);
        }
    }

    /// Types that refer to each other at random, cycles of every kind included.
    #[test]
    fn cycles_end(types in proptest::collection::vec((1_u8..20, 0_u32..3, 0_u32..40), 1..40)) {
        let mut section = Vec::new();
        for (kind, count, to) in types {
            let mut words = vec![1, u32::from(kind) << 24 | count, to];
            words.extend((0..count * 3 + 3).map(|n| (to + n) % 40));
            let extra = match kind {
                1 | 14 | 17 => 1,
                3 => 3,
                4 | 5 | 15 | 19 => count as usize * 3,
                6 | 13 => count as usize * 2,
                _ => 0,
            };
            words.truncate(3 + extra);
            section.extend(words.iter().flat_map(|w| w.to_ne_bytes()));
        }
        let length = section.len() as u32;
        let mut bytes = [&0xeb9f_u16.to_ne_bytes()[..], &[1, 0]].concat();
        for word in [24_u32, 0, length, length, 6] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(section);
        bytes.extend(b"\0name\0");
        let btf = Btf::parse(bytes, None).unwrap();
        exercise(&btf);
    }
}
