//! What a tree of stacks must be.

use super::*;
use crate::model::value::Stack;

const KERNEL: u64 = 1 << 63;

fn stack(base: u64, names: &[&str]) -> Value {
    let frame = |(at, name): (usize, &&str)| Frame {
        address: base + at as u64,
        symbol: (!name.is_empty()).then(|| (*name).into()),
        offset: 0,
        object: Some("/usr/lib/libx.so".into()),
        inlined: name.starts_with("inl"),
    };
    Value::Stack(Stack { frames: names.iter().enumerate().map(frame).collect(), ..Stack::default() })
}

fn row(key: Vec<Value>, count: u64) -> MapRow {
    MapRow { key, value: Value::Uint(count, 8) }
}

fn comm(name: &str) -> Value {
    Value::Str(name.as_bytes().into())
}

fn rows() -> Vec<MapRow> {
    vec![
        row(vec![comm("nginx"), stack(KERNEL, &["vfs_read", "sys_read"]), stack(4096, &["read", "main"])], 3),
        row(vec![comm("nginx"), stack(KERNEL, &[]), stack(4096, &["inl_parse", "serve", "main"])], 5),
        row(vec![comm("cat"), stack(KERNEL, &["vfs_read", "sys_read"]), stack(4096, &["", "main"])], 2),
    ]
}

fn tree(shape: Shape, rows: &[MapRow]) -> FlameTree {
    let mut tree = FlameTree::new(shape);
    tree.begin();
    tree.take(rows, usize::MAX);
    tree.finish(Compare::Nothing);
    tree
}

/// As folded stacks, in order.
fn folded(tree: &FlameTree) -> Vec<String> {
    let path = |node| tree.path(node).iter().map(|n| &*n.text).collect::<Vec<_>>().join(";");
    let mut lines: Vec<String> = tree.ends().map(|(node, own)| format!("{} {own}", path(node))).collect();
    lines.sort();
    lines
}

#[test]
fn user_frames_lie_under_the_kernels_and_keys_under_both() {
    let tree = tree(Shape::default(), &rows());
    assert_eq!(
        folded(&tree),
        [
            "cat;main;[libx.so];sys_read;vfs_read 2",
            "nginx;main;read;sys_read;vfs_read 3",
            "nginx;main;serve;inl_parse 5",
        ]
    );
    assert_eq!((tree.total(ROOT), tree.deepest()), (10, 5));
    let kinds: Vec<FrameKind> = tree.names().iter().map(|n| n.kind).collect();
    assert!(kinds.contains(&FrameKind::Inlined) && kinds.contains(&FrameKind::Kernel));
}

#[test]
fn frames_are_hidden_chosen_merged_and_turned_over() {
    let shape = Shape { merged: true, hidden: vec!["main".into()], ..Shape::default() };
    assert_eq!(folded(&tree(shape, &rows()))[1], "read;sys_read;vfs_read 3");
    let shape = Shape { only: Some("serve".into()), ..Shape::default() };
    assert_eq!(folded(&tree(shape, &rows())), ["nginx;main;serve;inl_parse 5"]);
    let shape = Shape { merged: true, inverted: true, ..Shape::default() };
    let tree = tree(shape, &rows());
    let shares: Vec<(&str, u64)> =
        tree.children(ROOT).map(|n| (&*tree.name_of(n).text, tree.total(n))).collect::<Vec<_>>();
    assert!(shares.contains(&("vfs_read", 5)), "{shares:?}");
}

#[test]
fn a_later_reading_keeps_the_nodes_and_a_baseline_is_taken_off() {
    let mut tree = tree(Shape::default(), &rows());
    let nodes = tree.len();
    tree.begin();
    tree.take(&[row(rows()[0].key.clone(), 9)], usize::MAX);
    assert_eq!(tree.total(ROOT), 10, "what is shown stays until the reading is complete");
    tree.take_baseline(&rows(), usize::MAX);
    tree.finish(Compare::Growth);
    assert_eq!((tree.len(), tree.total(ROOT), tree.base(ROOT)), (nodes, 6, 10));
    tree.begin();
    tree.take(&rows()[..1], usize::MAX);
    tree.take_baseline(&rows(), usize::MAX);
    tree.finish(Compare::Shares);
    let read = tree.ends().next().unwrap().0;
    assert!((tree.change(read) - 0.7).abs() < 1e-9, "all of it now, 3 of 10 before");
}

#[test]
fn values_of_every_kind_have_a_weight() {
    use super::super::value::Summary;
    let sum = Summary { total: -5, count: 2, signed: true };
    assert_eq!(weight(&Value::Stats(sum)), 0, "nothing is less than nothing");
    assert_eq!(weight(&Value::Stats(Summary { total: 900, ..sum })), 900);
    assert_eq!(weight(&Value::Int(7, 8)), 7);
    assert_eq!(weight(&Value::Str(b"x"[..].into())), 0);
}

#[test]
fn a_share_counts_each_stack_once() {
    let tree = tree(Shape::default(), &rows());
    let marked: Vec<bool> = tree.names().iter().map(|n| n.text.contains("read")).collect();
    assert_eq!(tree.share_of(&marked), 5, "read, sys_read and vfs_read are in the same stacks");
}

#[test]
fn hostile_stacks_are_bounded() {
    let deep: Vec<&str> = vec!["again"; 10_000];
    let long = "x".repeat(64 << 10);
    let tree = tree(Shape::default(), &[row(vec![stack(4096, &deep)], 1), row(vec![stack(4096, &[&long])], 1)]);
    assert_eq!((tree.total(ROOT), tree.deepest()), (2, 10_000));
    assert!(tree.names().iter().all(|n| n.text.len() < 5000));
}
