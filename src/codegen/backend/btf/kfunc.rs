//! Prototypes of the kernel functions that programs may call. libbpf compares them with the
//! kernel's own BTF before it links a call (`bpf_core_types_are_compat`): kinds of parameters and
//! results must agree, names of structs need not.

use super::{Btf, FuncLinkage, KIND_FUNC, KIND_STRUCT, TypeId, VOID};

/// A parameter or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    Void,
    Int,
    Long,
    IntPtr,
    VoidPtr,
    Struct(&'static str),
}

use Ty::{Int, IntPtr, Long, Struct, Void, VoidPtr};

/// Result and parameters.
pub type Prototype = (Ty, &'static [Ty]);

/// The kernel's prototype of a function, by `kernel/bpf/helpers.c`, `kernel/bpf/bpf_iter.c` and
/// `kernel/trace/bpf_trace.c`.
pub fn prototype(name: &str) -> Option<Prototype> {
    Some(match name {
        "bpf_iter_num_new" => (Int, &[Struct("bpf_iter_num"), Int, Int]),
        "bpf_iter_num_next" => (IntPtr, &[Struct("bpf_iter_num")]),
        "bpf_iter_num_destroy" => (Void, &[Struct("bpf_iter_num")]),
        "bpf_rcu_read_lock" | "bpf_rcu_read_unlock" | "bpf_preempt_disable" | "bpf_preempt_enable" => (Void, &[]),
        "bpf_session_is_return" => (Int, &[]),
        // libbpf takes what follows three underscores for no part of the name.
        "bpf_session_is_return___of_context" => (Int, &[VoidPtr]),
        "bpf_session_cookie" => (Long, &[]),
        "bpf_session_cookie___of_context" => (Long, &[VoidPtr]),
        "bpf_task_from_pid" => (Struct("task_struct"), &[Int]),
        "bpf_task_acquire" => (Struct("task_struct"), &[Struct("task_struct")]),
        "bpf_task_release" => (Void, &[Struct("task_struct")]),
        "bpf_cast_to_kern_ctx" => (VoidPtr, &[VoidPtr]),
        "bpf_rdonly_cast" => (VoidPtr, &[VoidPtr, Int]),
        _ => return None,
    })
}

/// Writes the types of a function.
pub fn declare(btf: &mut Btf, name: &str, (result, params): Prototype) -> TypeId {
    let result = ty(btf, result);
    let params: Vec<(&str, TypeId)> =
        ["a", "b", "c", "d", "e"].into_iter().zip(params.iter().map(|p| ty(btf, *p))).collect();
    let proto = btf.proto(result, &params);
    btf.header(name, KIND_FUNC, FuncLinkage::Extern as u32, proto.0)
}

fn ty(btf: &mut Btf, ty: Ty) -> TypeId {
    match ty {
        Void => VOID,
        Int => btf.int(4, true),
        Long | IntPtr => {
            let target = if ty == Long { btf.int(8, false) } else { btf.int(4, true) };
            btf.ptr(target)
        }
        VoidPtr => btf.ptr(VOID),
        // Without members: libbpf compares kinds only.
        Struct(name) => {
            let target = btf.header(name, KIND_STRUCT, 0, 1);
            btf.ptr(target)
        }
    }
}
