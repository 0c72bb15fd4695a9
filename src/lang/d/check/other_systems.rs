//! What scripts of another system name of its kernel, by what this one has for it: variables, and members of threads,
//! processes and files. A process is its first thread here, an open file has its path, and what is open is in an array.

use std::sync::Arc;

use super::checker::Checker;
use super::code::{cast, int};
use super::files;
use super::value::Value;
use crate::lang::facts::CKind;
use crate::lang::facts::table::TypeTable;
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind};
use crate::lang::types::{AddressSpace, StructId, Type};

/// A member of another system: the struct that stands for its own, its name, its type and how it is had of `__r`.
type Member = (&'static str, &'static str, &'static str, &'static str);

/// The type of what is a part of the object itself.
const PART: &str = "";

const MEMBERS: &[Member] = &[
    ("task_struct", "t_procp", "struct task_struct *", "(unsigned long)((struct task_struct *)__r)->group_leader"),
    // What runs where nothing does has the lowest priority there: scripts ask for it to leave that out.
    ("task_struct", "t_pri", "int", "((struct task_struct *)__r)->pid == 0 ? -1 : ((struct task_struct *)__r)->prio"),
    ("task_struct", "p_parent", "struct task_struct *", "(unsigned long)((struct task_struct *)__r)->real_parent"),
    ("task_struct", "p_ppid", "int", "((struct task_struct *)__r)->real_parent->tgid"),
    ("task_struct", "p_mstart", "uint64_t", "((struct task_struct *)__r)->start_time"),
    ("task_struct", "p_lwpcnt", "int", "((struct task_struct *)__r)->signal->nr_threads"),
    ("task_struct", "p_user", PART, ""),
    ("task_struct", "u_comm", "string", "str(((struct task_struct *)__r)->comm)"),
    ("task_struct", "u_cdir", "struct path *", "(unsigned long)&((struct task_struct *)__r)->fs->pwd"),
    ("task_struct", "u_finfo", PART, ""),
    ("file", "f_vnode", "struct path *", "(unsigned long)&((struct file *)__r)->f_path"),
    ("file", "f_offset", "int64_t", "((struct file *)__r)->f_pos"),
    (
        "path",
        "v_type",
        "int",
        "(((struct path *)__r)->dentry->d_inode->i_mode >> 12) == 8 ? 1 : \
         (((struct path *)__r)->dentry->d_inode->i_mode >> 12) == 4 ? 2 : \
         (((struct path *)__r)->dentry->d_inode->i_mode >> 12) == 6 ? 3 : \
         (((struct path *)__r)->dentry->d_inode->i_mode >> 12) == 2 ? 4 : \
         (((struct path *)__r)->dentry->d_inode->i_mode >> 12) == 10 ? 5 : \
         (((struct path *)__r)->dentry->d_inode->i_mode >> 12) == 1 ? 6 : 9",
    ),
];

/// Variables of another system's kernel that this one keeps under other names.
pub fn symbol_of_other_system(c: &mut Checker<'_>, name: &str, span: Span) -> Option<Value> {
    let at = |symbol: &str| {
        let address = c.facts.symbol_address(symbol)?;
        Some(int(address as i64, Type::U64, span))
    };
    match name {
        "ncpus" | "ncpus_online" => {
            let at = at("__num_online_cpus")?;
            Some(c.snippet("int", "*((int *)__at)", &[("__at", at)], span))
        }
        "architecture" | "platform" => {
            let of = symbol_of_other_system(c, "utsname", span)?;
            let at = cast(address_of_struct(&of, span), &Type::U64);
            Some(c.snippet("string", "stringof(((struct new_utsname *)__at)->machine)", &[("__at", at)], span))
        }
        "utsname" => {
            // Without a table of the kernel's data: the names that the process at hand sees.
            let own =
                |c: &mut Checker<'_>| c.snippet("uintptr_t", "(unsigned long)curthread->nsproxy->uts_ns", &[], span).e;
            let at = at("init_uts_ns").unwrap_or_else(|| own(c));
            let of_names = "__at + offsetof(struct uts_namespace, name)";
            let address = c.snippet("uintptr_t", of_names, &[("__at", at)], span).e;
            let names = c.types.tagged(CKind::Struct, "new_utsname")?;
            let to = Type::Ptr { to: Arc::new(names.clone()), space: AddressSpace::Kernel };
            Some(Value::new(Expr::new(ExprKind::Deref(Box::new(cast(address, &to))), names, span)))
        }
        _ => None,
    }
}

/// `` `hp_avenrun[n] ``: the averages of load, in parts of 65,536, where this kernel has parts of 2,048.
pub fn average_of_load(c: &mut Checker<'_>, items: &[crate::lang::d::ast::Expr], span: Span) -> Option<Value> {
    let [item] = items else { return None };
    let address = c.facts.symbol_address("avenrun")?;
    let number = c.expr(item);
    if !super::value::is_int(number.ty()) {
        return None;
    }
    let named = [("__at", int(address as i64, Type::U64, span)), ("__n", cast(number.e, &Type::U64))];
    Some(c.snippet("uint64_t", "((unsigned long *)__at)[__n % 3] * 32", &named, span))
}

/// A member that the struct has under this name in another system.
pub fn member_of_other_system(
    c: &mut Checker<'_>,
    value: &Value,
    id: StructId,
    name: &str,
    span: Span,
) -> Option<Value> {
    let of = c.types.struct_name(id);
    let of = of.rsplit(' ').next().unwrap_or("").to_owned();
    let named = [("__r", address_of_struct(value, span))];
    match (&*of, name) {
        ("task_struct", "fi_list") => {
            let files = "(unsigned long)((struct task_struct *)__r)->files->fdt->fd";
            let at = c.snippet("uintptr_t", files, &named, span).e;
            let entry = open_file_entry(&mut c.types)?;
            return Some(Value::new(cast(at, &Type::Ptr { to: Arc::new(entry), space: AddressSpace::Kernel })));
        }
        ("path", "v_path") => {
            let [(_, at)] = named;
            return Some(files::path_of_entry(c, Value::new(at), span));
        }
        _ => {}
    }
    let (.., ty, text) = MEMBERS.iter().find(|(tag, member, ..)| *tag == of && *member == name)?;
    if *ty == PART {
        return Some(value.clone());
    }
    Some(c.snippet(ty, text, &named, span))
}

/// `uf_file` of what `fi_list` has: the file itself.
pub fn file_of_entry(c: &mut Checker<'_>, value: &Value, name: &str, span: Span) -> Option<Value> {
    if name != "uf_file" {
        return None;
    }
    let entry = open_file_entry(&mut c.types)?;
    match value.ty() {
        ty if *ty == entry => Some(value.clone()),
        Type::Ptr { to, .. } if **to == entry => Some(c.deref(value.clone(), span)),
        _ => None,
    }
}

/// The type of an entry of what a process has open.
pub fn open_file_entry(types: &mut TypeTable<'_>) -> Option<Type> {
    let file = types.tagged(CKind::Struct, "file")?;
    Some(Type::Ptr { to: Arc::new(file), space: AddressSpace::Kernel })
}

/// The address of a struct of the kernel that a value is.
fn address_of_struct(value: &Value, span: Span) -> Expr {
    let pointer = match &value.e.kind {
        ExprKind::Deref(pointer) => (**pointer).clone(),
        _ => {
            let to = Type::Ptr { to: Arc::new(value.ty().clone()), space: AddressSpace::Kernel };
            Expr::new(ExprKind::AddressOf(Box::new(value.e.clone())), to, span)
        }
    };
    cast(pointer, &Type::U64)
}
