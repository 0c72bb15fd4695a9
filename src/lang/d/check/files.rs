//! Files of the process that runs: `fds[n]`, `cwd`, `root` and `d_path`. The kernel keeps no paths: they are put together
//! from its directory entries, from the last one to the first, across mounts.

use super::checker::Checker;
use super::code::{
    binary, block, byte_pointer, cast, choose, constant_text, copy_into, each, either, equal, int, int64, is, leave,
    plus, put, read, read_as, set, sub, when,
};
use super::text_bytes;
use super::value::{Value, error_value, is_int, word};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Expr as Ast, ExprKind as Kind, Name};
use crate::lang::source::Span;
use crate::lang::typed::{BinaryOp, Expr, LocalId, Statement};
use crate::lang::types::Type;

/// Most parts of a path, mounts among them.
const MOST_PARTS: i64 = 32;

/// What is known of no file.
const NONE: &str = "<none>";
/// A file of a file system that has no paths.
const UNKNOWN: &str = "<unknown>";

const FILE: &str = "(unsigned int)__fd < curthread->files->fdt->max_fds ? \
                    (unsigned long)curthread->files->fdt->fd[(unsigned int)__fd] : 0";

/// Where a walk begins.
#[derive(Clone, Copy)]
struct Start {
    dentry: LocalId,
    mount: LocalId,
    /// The walk ends at the root of the process, too.
    in_root: bool,
}

/// `fds[n].member`
pub fn of_open_file(c: &mut Checker<'_>, items: &[Ast], member: &Name, span: Span) -> Value {
    let [item] = items else {
        return c.wrong(tags::D_PROTO_LEN, span, "fds[ ] takes one index");
    };
    let descriptor = c.expr(item);
    if descriptor.is_error() {
        return descriptor;
    }
    if !is_int(descriptor.ty()) {
        let text = c.type_text(descriptor.ty());
        c.error(tags::D_PROTO_ARG, item.span, format!("fds[ ] is indexed by a file descriptor, not by {text}"));
        return error_value(span);
    }
    let mut out = Vec::new();
    let descriptor = cast(word(descriptor.e), &Type::U64);
    let descriptor = c.kept(descriptor, &mut out);
    let file = c.local("%file", Type::U64);
    let found = c.snippet("uintptr_t", FILE, &[("__fd", descriptor)], span).e;
    out.push(set(file, found));
    member_of_file(c, file, member, span, out)
}

/// `cwd` and `root`
pub fn directory_of_process(c: &mut Checker<'_>, name: &str, span: Span) -> Value {
    let (texts, in_root) = if name == "cwd" {
        (["(unsigned long)curthread->fs->pwd.dentry", "(unsigned long)curthread->fs->pwd.mnt"], true)
    } else {
        (["(unsigned long)curthread->fs->root.dentry", "(unsigned long)curthread->fs->root.mnt"], false)
    };
    let mut out = Vec::new();
    let nothing = ("__none", int(0, Type::U64, span));
    let start = start(c, texts, nothing, in_root, span, &mut out);
    let path = walked(c, start, span, &mut out);
    Value::new(block(out, path))
}

/// `d_path(path)`: the path of a `struct path`.
pub fn path_of_entry(c: &mut Checker<'_>, path: Value, span: Span) -> Value {
    let mut out = Vec::new();
    let path = c.kept(cast(word(path.e), &Type::U64), &mut out);
    let texts = ["(unsigned long)((struct path *)__path)->dentry", "(unsigned long)((struct path *)__path)->mnt"];
    let start = start(c, texts, ("__path", path), true, span, &mut out);
    let path = walked(c, start, span, &mut out);
    Value::new(block(out, path))
}

fn member_of_file(c: &mut Checker<'_>, file: LocalId, member: &Name, span: Span, mut out: Vec<Statement>) -> Value {
    let (string, text) = match &*member.text {
        "fi_name" => (true, "str(((struct file *)__file)->f_path.dentry->d_name.name)"),
        "fi_fs" => (true, "str(((struct file *)__file)->f_path.dentry->d_sb->s_type->name)"),
        "fi_offset" => (false, "((struct file *)__file)->f_pos"),
        "fi_oflags" => (false, "((struct file *)__file)->f_flags"),
        "fi_pathname" | "fi_dirname" | "fi_mount" => (true, ""),
        _ => {
            let known = "fi_name, fi_dirname, fi_pathname, fi_offset, fi_fs, fi_mount, fi_oflags";
            let message = format!("{} is not a member of fileinfo_t, which has {known}", member.text);
            c.error(tags::D_TYPE_MEMBER, member.span, message);
            return error_value(span);
        }
    };
    let ty = if string { c.string() } else { Type::I64 };
    let kept = c.local("%of_file", ty.clone());
    let none = if string { constant_text(NONE, ty.clone(), span) } else { int64(0, span) };
    let mut there = Vec::new();
    let value = if text.is_empty() {
        path_of_file(c, file, &member.text, span, &mut there)
    } else {
        let name = if string { "string" } else { "int64_t" };
        c.snippet(name, text, &[("__file", read_as(file, Type::U64, span))], span).e
    };
    if value.ty == Type::Error {
        return error_value(span);
    }
    there.push(set(kept, value));
    let absent = is(read_as(file, Type::U64, span), 0);
    out.push(either(absent, vec![set(kept, none)], there));
    let value = read_as(kept, ty, span);
    let value = if &*member.text == "fi_oflags" { cast(value, &Type::I32) } else { value };
    Value::new(block(out, value))
}

fn path_of_file(c: &mut Checker<'_>, file: LocalId, member: &str, span: Span, out: &mut Vec<Statement>) -> Expr {
    // A mount's own path is that of its root.
    let first = if member == "fi_mount" {
        "(unsigned long)((struct file *)__file)->f_path.mnt->mnt_root"
    } else {
        "(unsigned long)((struct file *)__file)->f_path.dentry"
    };
    let mount = "(unsigned long)((struct file *)__file)->f_path.mnt";
    let start = start(c, [first, mount], ("__file", read_as(file, Type::U64, span)), true, span, out);
    let path = walked(c, start, span, out);
    if member != "fi_dirname" {
        return path;
    }
    let directory = text_bytes::part_of_path(c, true, Value::new(path), span);
    c.text(directory.e)
}

fn start(
    c: &mut Checker<'_>,
    [dentry, mount]: [&str; 2],
    named: (&str, Expr),
    in_root: bool,
    span: Span,
    out: &mut Vec<Statement>,
) -> Start {
    let mut kept = |c: &mut Checker<'_>, name, text| {
        let value = c.snippet("uintptr_t", text, std::slice::from_ref(&named), span).e;
        let local = c.local(name, Type::U64);
        out.push(set(local, value));
        local
    };
    let dentry = kept(c, "%dentry", dentry);
    let mount = kept(c, "%mount", mount);
    // What the kernel hands out of a mount is inside of what it keeps of it.
    let whole = c.snippet(
        "uintptr_t",
        "__mount - offsetof(struct mount, mnt)",
        &[("__mount", read_as(mount, Type::U64, span))],
        span,
    );
    out.push(set(mount, whole.e));
    Start { dentry, mount, in_root }
}

/// The path from the root to where a walk begins.
fn walked(c: &mut Checker<'_>, start: Start, span: Span, out: &mut Vec<Statement>) -> Expr {
    let bytes = text_bytes::byte_array(c, "%path");
    let Type::Array { len, .. } = c.frame.locals[bytes.0 as usize].ty else { return int(0, Type::Error, span) };
    let end = i64::from(len / 2) - 1;
    let at = text_bytes::counter(c, "%begin", end, span, out);
    let (step, size) = (c.local("%step", Type::I64), c.local("%size", Type::I64));
    let parent = c.local("%parent", Type::U64);
    out.push(put(bytes, int64(end, span), int64(0, span)));
    let (dentry, mount) = (start.dentry, start.mount);
    let named = [("__dentry", read_as(dentry, Type::U64, span)), ("__mount", read_as(mount, Type::U64, span))];
    let mut of = |ty: &str, text: &str| c.snippet(ty, text, &named, span).e;
    let at_top = of("int", "(unsigned long)((struct mount *)__mount)->mnt.mnt_root == __dentry");
    let above = of("uintptr_t", "(unsigned long)((struct mount *)__mount)->mnt_parent");
    let mounted_at = of("uintptr_t", "(unsigned long)((struct mount *)__mount)->mnt_mountpoint");
    let outer = of("uintptr_t", "(unsigned long)((struct dentry *)__dentry)->d_parent");
    let length = of("int64_t", "((struct dentry *)__dentry)->d_name.len & 0xff");
    let name = of("uintptr_t", "(unsigned long)((struct dentry *)__dentry)->d_name.name");
    let in_root = of(
        "int",
        "(unsigned long)curthread->fs->root.dentry == __dentry && \
         (unsigned long)curthread->fs->root.mnt - offsetof(struct mount, mnt) == __mount",
    );
    let is_root = of("int", "((struct dentry *)__dentry)->d_name.name[0] == 47");
    let same = |local| equal(read_as(parent, Type::U64, span), read_as(local, Type::U64, span));
    let across = vec![
        set(parent, above),
        when(same(mount), vec![leave(span)]),
        set(dentry, mounted_at),
        set(mount, read_as(parent, Type::U64, span)),
    ];
    let up = vec![
        set(parent, outer),
        when(same(dentry), vec![leave(span)]),
        set(size, length),
        when(binary(BinaryOp::Le, read(at, span), read(size, span)), vec![leave(span)]),
        set(at, sub(read(at, span), plus(read(size, span), 1))),
        put(bytes, read(at, span), int64(i64::from(b'/'), span)),
        copy_into(bytes, plus(read(at, span), 1), cast(name, &byte_pointer()), read(size, span), span),
        set(dentry, read_as(parent, Type::U64, span)),
    ];
    let mut body = Vec::new();
    if start.in_root {
        body.push(when(in_root, vec![leave(span)]));
    }
    body.push(either(at_top, across, up));
    out.push(each(step, MOST_PARTS, span, body));
    let text = text_bytes::text_in(c, bytes, Some(at), span);
    let constant = |text: &str| constant_text(text, c.string(), span);
    let nothing = is(read(at, span), end);
    choose(nothing, choose(is_root, constant("/"), constant(UNKNOWN)), text)
}

/// Whether an expression is `fds[n]`.
pub fn open_file(base: &Ast) -> Option<&[Ast]> {
    match &base.kind {
        Kind::Index(array, items) if matches!(&array.kind, Kind::Ident(word) if &**word == "fds") => Some(items),
        _ => None,
    }
}
