//! Records of formats that kernels have, and of formats that lie.

use std::sync::Arc;

use proptest::prelude::*;

use super::{Raw, RecordShape, Symbols};
use crate::kernel::ring::Abi;
use crate::kernel::tracefs::TracepointFormat;
use crate::model::value::Value;

const ABI: Abi = Abi { big_endian: false, long: 8 };

struct Named;

impl Symbols for Named {
    fn name(&self, address: u64) -> Option<(Arc<str>, u64)> {
        (address > 0xffff_0000).then(|| ("vfs_read".into(), address - 0xffff_0000))
    }
}

fn shape(fields: &str, print: &str) -> RecordShape {
    let common = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
                  \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
                  \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
                  \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";
    let text = format!("name: e\nID: 9\nformat:\n{common}\n{fields}\nprint fmt: {print}\n");
    RecordShape::of(&TracepointFormat::parse("s", "e", &text).unwrap(), ABI)
}

fn printed(shape: &RecordShape, record: &[u8]) -> String {
    let mut out = Vec::new();
    shape.printed.write(ABI, &shape.fields, record, &Named, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// A record with its common fields, and these bytes behind them.
fn record(bytes: &[u8]) -> Vec<u8> {
    let mut record = vec![9, 0, 3, 1];
    record.extend(77_i32.to_le_bytes());
    record.extend(bytes);
    record
}

const SWITCH: &str = "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
    \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
    \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n";
const SWITCH_PRINT: &str = r#""prev_comm=%s prev_pid=%d prev_state=%s%s ==>", REC->prev_comm, REC->prev_pid, (REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000040) + 1) << 1) - 1)) ? __print_flags(REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000040) + 1) << 1) - 1), "|", { 0x00000001, "S" }, { 0x00000002, "D" }, { 0x00000080, "I" }) : "R", REC->prev_state & (((0x00000000 | 0x00000040) + 1) << 1) ? "+" : """#;

#[test]
fn an_event_prints_as_the_kernel_prints_it() {
    let shape = shape(SWITCH, SWITCH_PRINT);
    assert!(shape.printed.is_known());
    let mut bytes = b"bash\0junk\0\0\0\0\0\0\0".to_vec();
    bytes.extend(42_i32.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(3_i64.to_le_bytes());
    assert_eq!(printed(&shape, &record(&bytes)), "prev_comm=bash prev_pid=42 prev_state=S|D+ ==>");
    bytes[24..32].copy_from_slice(&0_i64.to_le_bytes());
    assert_eq!(printed(&shape, &record(&bytes)), "prev_comm=bash prev_pid=42 prev_state=R ==>");
    assert_eq!(shape.pid(ABI, &record(&bytes)), Some(77));
    assert_eq!(shape.context(ABI, &record(&bytes)), (3, 1));
}

#[test]
fn conversions_are_those_of_the_kernel() {
    let fields = "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n\
        \tfield:int n;\toffset:16;\tsize:4;\tsigned:1;\n\
        \tfield:u8 mac[6];\toffset:20;\tsize:6;\tsigned:0;\n\
        \tfield:__u8 saddr[4];\toffset:28;\tsize:4;\tsigned:0;\n\
        \tfield:__data_loc char[] name;\toffset:32;\tsize:4;\tsigned:0;\n";
    let mut bytes = 0xffff_0010_u64.to_le_bytes().to_vec();
    bytes.extend((-5_i32).to_le_bytes());
    bytes.extend([1, 2, 3, 4, 5, 0xff, 0, 0, 10, 0, 0, 1]);
    bytes.extend((36_u32 | (4 << 16)).to_le_bytes());
    bytes.extend(b"eth\0");
    let of = |print: &str| printed(&shape(fields, print), &record(&bytes));
    assert_eq!(of(r#""%pS %ps", (void *)REC->ip, REC->ip"#), "vfs_read+0x10 vfs_read");
    assert_eq!(
        of(r#""[%5d] [%-4d] [%04x] [%u]", REC->n, REC->n, (u16)REC->n, REC->n"#),
        "[   -5] [-5  ] [fffb] [4294967291]"
    );
    assert_eq!(of(r#""%pM %pI4 %s%%", REC->mac, REC->saddr, __get_str(name)"#), "01:02:03:04:05:ff 10.0.0.1 eth%");
    assert_eq!(of(r#""%s", __print_symbolic(REC->n, { 1, "ONE" }, { -5, "MINUS" })"#), "MINUS");
    assert_eq!(of(r#""%s", __print_symbolic(REC->n, { NOBODY_TOLD, "ONE" })"#), "0xfffffffffffffffb");
    assert_eq!(
        of(r#""%s %s", __print_hex(REC->mac, 3), __print_array(REC->mac, 6, 1)"#),
        "01 02 03 {0x1,0x2,0x3,0x4,0x5,0xff}"
    );
    assert_eq!(of(r#""%.2s|%*d|%#x|%lld", __get_str(name), 6, REC->n, 255, REC->n * 2"#), "et|    -5|0xff|-10");
    assert_eq!(of(r#""%d,%d", ((unsigned int) ((REC->n) >> 20)), 7/2"#), "-1,3");
    // What is not known prints as names and values.
    let unknown = shape(fields, r#""%d", jbd2_dev(REC->n)"#);
    assert!(!unknown.printed.is_known());
    assert_eq!(
        printed(&unknown, &record(&bytes)),
        "ip=4294901776 n=-5 mac={0x1,0x2,0x3,0x4,0x5,0xff} saddr={0xa,0x0,0x0,0x1} name=eth"
    );
}

#[test]
fn data_elsewhere_is_found_and_never_outside() {
    let rel = "\tfield:__rel_loc char[] text;\toffset:8;\tsize:4;\tsigned:0;\n\
               \tfield:__data_loc unsigned long[] ips;\toffset:12;\tsize:4;\tsigned:0;\n";
    let shape = shape(rel, r#""%s", __get_rel_str(text)"#);
    let mut bytes = (4_u32 | (3 << 16)).to_le_bytes().to_vec();
    bytes.extend((20_u32 | (16 << 16)).to_le_bytes());
    bytes.extend(b"ab\0\0");
    bytes.extend(5_u64.to_le_bytes());
    bytes.extend(6_u64.to_le_bytes());
    let whole = record(&bytes);
    assert_eq!(printed(&shape, &whole), "ab");
    let ips = shape.field("ips").unwrap().value(ABI, &whole, &());
    assert_eq!(ips, Value::Array([Value::Uint(5, 8), Value::Uint(6, 8)].into()));
    let cut = &whole[..22];
    assert_eq!(shape.field("ips").unwrap().read(ABI, cut), Raw::Missing);
    assert_eq!(shape.field("ips").unwrap().value(ABI, cut, &()), Value::None);
    assert_eq!(printed(&shape, &whole[..10]), "?");
}

#[test]
fn deep_formats_are_given_up() {
    let deep = format!(r#""%d", {}1{}"#, "(".repeat(5000), ")".repeat(5000));
    assert!(!shape(SWITCH, &deep).printed.is_known());
    let minus = format!(r#""%d", {}1"#, "-".repeat(5000));
    assert!(!shape(SWITCH, &minus).printed.is_known());
}

proptest! {
    #[test]
    fn any_record_and_any_format_is_printed_or_refused(
        print in r#""[%dxspSlI46*.0-9 -z]{0,20}"(, ?(REC->prev_pid|REC->prev_comm|__get_str\(prev_comm\)|[0-9(){}?:+*/<>&|!~,"-]{1,8})){0,4}"#,
        bytes in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let shape = shape(SWITCH, &print);
        printed(&shape, &bytes);
        for field in &shape.fields {
            field.value(ABI, &bytes, &Named);
        }
    }
}

/// All formats of the machine that runs the tests; where it has none there is nothing to see.
#[test]
fn most_formats_of_this_kernel_are_known() {
    let kernel = crate::kernel::Kernel::new(crate::kernel::Roots::running());
    let Ok(events) = kernel.tracepoints() else { return };
    let known = events.iter().filter_map(|(c, e)| kernel.tracepoint(c, e).ok()).map(|f| RecordShape::of(&f, ABI));
    let known: Vec<bool> = known.map(|shape| shape.printed.is_known()).collect();
    let count = known.iter().filter(|known| **known).count();
    assert!(known.is_empty() || count * 100 >= known.len() * 95, "{count} of {}", known.len());
}
