use std::sync::Arc;

use super::*;
use crate::model::d::Format;
use crate::model::histogram::{Linear, Log2};

fn text(run: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    run(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn columns_of_the_default_form() {
    let style = Style::default();
    assert_eq!(text(|o| header(style, o)), "CPU     ID                    FUNCTION:NAME\n");
    let row = text(|o| {
        prefix(style, &Firing { cpu: 2, id: 1, probe: "dtrace:::BEGIN" }, o);
        trace(style, &Value::Int(-1, 4), o);
        trace(style, &Value::Uint(7, 8), o);
        trace(style, &Value::Str(b"a".as_slice().into()), o);
    });
    assert_eq!(
        row,
        format!("  2      1                           :BEGIN          -1                    7  a{}", " ".repeat(32))
    );
    let quiet = Style { quiet: true, ..style };
    assert_eq!(
        text(|o| {
            header(quiet, o);
            prefix(quiet, &Firing { cpu: 0, id: 1, probe: "x" }, o);
            trace(quiet, &Value::Int(3, 1), o);
        }),
        "3"
    );
}

#[test]
fn formats_print_by_the_width_of_types() {
    let printed =
        |format: &str, values: &[Value]| text(|o| printf(Style::default(), &Format::parse(format).unwrap(), values, o));
    assert_eq!(printed("%d|%5d|%-5d|%05d|%+d", &[1, 2, 3, 4, 5].map(|n| Value::Int(n, 4))), "1|    2|3    |00004|+5");
    assert_eq!(
        printed(
            "%x %X %#x %o %u",
            &[Value::Int(-1, 2), Value::Uint(255, 1), Value::Int(255, 4), Value::Int(8, 4), Value::Int(-1, 4)]
        ),
        "ffff FF 0xff 10 4294967295"
    );
    assert_eq!(
        printed(
            "[%*s][%.2s]",
            &[Value::Int(4, 4), Value::Str(b"ab".as_slice().into()), Value::Str(b"xyz".as_slice().into())]
        ),
        "[  ab][xy]"
    );
    assert_eq!(printed("%c%S%%", &[Value::Int(65, 4), Value::Str(b"\n\"".as_slice().into())]), "A\\n\\\"%");
}

#[test]
fn aggregations_with_keys_and_norms() {
    let key = [Value::Str(b"bash".as_slice().into()), Value::Int(3, 4)];
    let value = Value::Int(7, 8);
    let rows = [Row { key: &key, values: vec![(Some(&value), 2)] }];
    assert_eq!(
        text(|o| table(Style::default(), &rows, o)),
        format!("  bash{}        3                3\n", " ".repeat(46))
    );
    let format = Format::parse("%s %d: %@d %@5d\n").unwrap();
    assert_eq!(text(|o| printa(Style::default(), &format, &rows, o)), "bash 3: 3     3\n");
}

#[test]
fn histograms_show_one_bucket_on_each_side() {
    let mut counts = vec![0; 127];
    counts[64] = 1;
    counts[66] = 3;
    let hist = Value::Hist(Arc::new(Log2 { bits: 0, counts }));
    let rows = [Row { key: &[], values: vec![(Some(&hist), 1)] }];
    let wanted = "
           value  ------------- Distribution ------------- count    
               0 |                                         0        
               1 |@@@@@@@@@@                               1        
               2 |                                         0        
               4 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@           3        
               8 |                                         0        

";
    assert_eq!(text(|o| table(Style::default(), &rows, o)), wanted);
    let linear = Value::LHist(Arc::new(Linear { min: 0, max: 20, step: 10, counts: vec![0, 0, 2, 1] }));
    let rows = [Row { key: &[], values: vec![(Some(&linear), 1)] }];
    let shown = text(|o| table(Style::default(), &rows, o));
    assert!(shown.contains("\n               0 |") && shown.contains("\n           >= 20 |@@@@@@@@@@@@@"), "{shown}");
}

#[test]
fn order_is_by_value_then_by_key() {
    let keys: Vec<[Value; 1]> = [2, 1, 3].map(|n| [Value::Int(n, 4)]).to_vec();
    let values = [5, 5, 1].map(|n| Value::Int(n, 8));
    let mut rows: Vec<Row<'_>> =
        keys.iter().zip(&values).map(|(k, v)| Row { key: k, values: vec![(Some(v), 1)] }).collect();
    let order = |rows: &[Row<'_>]| rows.iter().map(|r| r.key[0].as_number().unwrap()).collect::<Vec<_>>();
    Order::default().sort(&mut rows);
    assert_eq!(order(&rows), [3, 1, 2]);
    Order { by_key: true, reversed: true, ..Order::default() }.sort(&mut rows);
    assert_eq!(order(&rows), [3, 2, 1]);
}

#[test]
fn calls_indent_what_is_inside() {
    let style = Style { flowindent: true, short: true, ..Style::default() };
    let mut flow = Flow::default();
    let mut row = |probe, id| {
        let firing = Firing { cpu: 0, id, probe };
        text(|o| flow.prefix(style, &firing, 0, o)).trim_end().to_owned()
    };
    assert_eq!(row("syscall:vmlinux:read:entry", 4), " => read");
    assert_eq!(row("fbt:vmlinux:vfs_read:entry", 5), "   -> vfs_read");
    assert_eq!(row("profile:::tick-1s", 6), "    | :tick-1s");
    assert_eq!(row("fbt:vmlinux:vfs_read:return", 7), "   <- vfs_read");
    assert_eq!(row("syscall:vmlinux:read:return", 8), " <= read");
}
