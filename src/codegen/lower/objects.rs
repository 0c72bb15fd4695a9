//! Objects of the kernel that helpers take by their type: the verifier follows the pointers itself.

use crate::codegen::artifact::ProgramKind;
use crate::codegen::builder::FunctionBuilder;
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{BlockId, Cond, Operand};
use crate::lang::source::Span;
use crate::lang::typed::walk::Node;
use crate::lang::typed::{Builtin, Expr, ExprKind, LocalId, Statement, StatementKind};
use crate::lang::types::Type;
use crate::model::stats::LossCause;
use crate::model::target::Target;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::helpers as h;

/// Functions that may be traced with `bpf_d_path` (`btf_allowlist_d_path`, kernel/trace/bpf_trace.c).
const PATH_FUNCTIONS: [&str; 9] = [
    "security_file_permission",
    "security_inode_getattr",
    "security_file_open",
    "security_path_truncate",
    "vfs_truncate",
    "vfs_fallocate",
    "dentry_open",
    "vfs_getattr",
    "filp_close",
];
/// Iterators may, too, since Linux 5.12 (`bpf_d_path_allowed`).
const ITERATORS_SINCE: u32 = 5 << 16 | 12 << 8;
/// Since when tracing programs may ask for a socket's cookie.
const COOKIES_SINCE: u32 = 5 << 16 | 12 << 8;

/// What is wanted of a kernel's object.
#[derive(Clone, Copy)]
struct Object {
    span: Span,
    /// The function, in the script's words.
    what: &'static str,
    /// Where a pointer that is null leads to.
    absent: BlockId,
}

/// `path()`: the text of a `struct path`, empty and counted where there is none.
pub fn path<'a>(
    l: &mut Lowerer<'_, 'a>,
    path: &'a Expr,
    e: &'a Expr,
    dst: Addr,
    ty: &Type,
) -> Result<(), CodegenError> {
    if !l.object.facts.features().d_path {
        return Err(CodegenError::unsupported(e.span, "path()", "bpf_d_path (Linux 5.10)"));
    }
    path_is_allowed(l, e.span)?;
    let size = l.object.size(ty);
    // Always, for the kernel leaves in it what it had found before the place was too small: a path's end.
    memory::zero(&mut l.function.builder, dst, size);
    let [failed, done] = l.function.builder.new_blocks();
    let object = kernel_object(l, path, &Object { span: e.span, what: "path()", absent: failed })?;
    let b = &mut l.function.builder;
    let to = memory::pointer(b, dst);
    let result = b.call(h::D_PATH, &[object, to.into(), i64::from(size).into()]);
    b.branch(Cond::SLt, result, 0, failed, done);
    b.switch_to(failed);
    l.count_loss(LossCause::HelperFailed, None, e.span);
    l.function.builder.jump(done);
    l.function.builder.switch_to(done);
    Ok(())
}

/// The kernel allows `bpf_d_path` in iterators and in a list of functions (`bpf_d_path_allowed`).
fn path_is_allowed(l: &Lowerer<'_, '_>, span: Span) -> Result<(), CodegenError> {
    if l.kind == ProgramKind::Iter && l.object.facts.version < ITERATORS_SINCE {
        return Err(CodegenError::unsupported(span, "path() in an iter probe", "bpf_d_path in iterators (Linux 5.12)"));
    }
    let outside =
        |target: &Target| matches!(target, Target::Fentry { function, .. } if !PATH_FUNCTIONS.contains(&&**function));
    if !l.probe.targets.iter().any(outside) {
        return Ok(());
    }
    Err(CodegenError::Refused {
        span,
        what: "helper bpf_d_path not allowed in probe".into(),
        hint: format!("the kernel allows path() in iter probes and in {}", PATH_FUNCTIONS.join(", ")),
    })
}

/// `socket_cookie()`: 0 and counted where there is no socket.
pub fn socket_cookie<'a>(l: &mut Lowerer<'_, 'a>, socket: &'a Expr, span: Span) -> Result<Operand, CodegenError> {
    if l.object.facts.version < COOKIES_SINCE {
        return Err(CodegenError::unsupported(
            span,
            "socket_cookie()",
            "bpf_get_socket_cookie in traced functions (Linux 5.12)",
        ));
    }
    let [failed, done] = l.function.builder.new_blocks();
    let object = kernel_object(l, socket, &Object { span, what: "socket_cookie()", absent: failed })?;
    let b = &mut l.function.builder;
    let cookie = b.new_vreg();
    let result = b.call(h::GET_SOCKET_COOKIE, &[object]);
    b.copy_into(cookie, result);
    b.jump(done);
    b.switch_to(failed);
    b.copy_into(cookie, 0);
    l.count_loss(LossCause::HelperFailed, None, span);
    l.function.builder.jump(done);
    l.function.builder.switch_to(done);
    Ok(cookie.into())
}

/// A kernel pointer as the verifier knows it, for helpers that want one with its type: pointers are
/// followed by direct loads, which only programs with typed contexts may do.
fn kernel_object<'a>(l: &mut Lowerer<'_, 'a>, e: &'a Expr, wanted: &Object) -> Result<Operand, CodegenError> {
    match &e.kind {
        ExprKind::Builtin(Builtin::Ctx) => Ok(l.function.context().into()),
        ExprKind::Builtin(Builtin::CtxField(offset)) => {
            let context = l.function.context();
            Ok(followed(&mut l.function.builder, context.into(), *offset, wanted.absent))
        }
        ExprKind::AddressOf(a) | ExprKind::Deref(a) | ExprKind::Cast(a) => kernel_object(l, a, wanted),
        ExprKind::Field { base, offset, bits: None } => {
            let base = kernel_object(l, base, wanted)?;
            if matches!(e.ty, Type::Ptr { .. }) {
                return Ok(followed(&mut l.function.builder, base, *offset, wanted.absent));
            }
            Ok(if *offset == 0 { base } else { l.function.builder.add(base, i64::from(*offset)).into() })
        }
        ExprKind::Local(id) => match only_value(l, *id) {
            Some(value) => kernel_object(l, value, wanted),
            None => no_object(wanted),
        },
        _ => no_object(wanted),
    }
}

/// The pointer at an offset behind one that the verifier knows.
fn followed(b: &mut FunctionBuilder, base: Operand, offset: u32, absent: BlockId) -> Operand {
    let register = b.in_register(base);
    let pointer = memory::load(b, Addr::new(Base::Reg(register), offset as i32), 8, false);
    let there = b.new_block();
    b.branch(Cond::Ne, pointer, 0, there, absent);
    b.switch_to(there);
    pointer.into()
}

/// The value of a variable that is given one only once.
fn only_value<'a>(l: &Lowerer<'_, 'a>, id: LocalId) -> Option<&'a Expr> {
    let changes = l.probe.body.nodes().filter_map(|node| match node {
        Node::Statement(Statement { kind: StatementKind::SetLocal(local, value), .. }) if *local == id => {
            Some(Some(value))
        }
        Node::Expr(Expr { kind: ExprKind::LocalStep { local, .. }, .. }) if *local == id => Some(None),
        _ => None,
    });
    match changes.collect::<Vec<_>>()[..] {
        [value] => value,
        _ => None,
    }
}

fn no_object<T>(object: &Object) -> Result<T, CodegenError> {
    Err(CodegenError::Refused {
        span: object.span,
        what: format!("{} takes only what the kernel itself can follow by its types", object.what),
        hint: "begin at `args` or `ctx` of a fentry, fexit or iter probe and follow fields, as in \
               `path(args.file.f_path)` or `path(ctx.file.f_path)`; a variable may be given such a pointer once"
            .to_owned(),
    })
}
