//! Ids of the current process and thread.

use crate::codegen::ir::Vreg;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::{helpers as h, trusted};

/// Process (`true`) or thread id, in the reader's pid namespace.
pub fn pid(l: &mut Lowerer<'_, '_>, process: bool) -> Vreg {
    let Some((device, inode)) = l.object.facts.pid_namespace else {
        if let Some(id) = trusted::task_id(l, process) {
            return id;
        }
        let both = l.function.pid_tgid();
        return if process { l.function.builder.shr(both, 32) } else { l.function.builder.extend(both, 32, false) };
    };
    // `struct bpf_pidns_info { u32 pid; u32 tgid; }`; zero when the task is not in the namespace.
    let mark = l.mark();
    let info = Addr::new(Base::Slot(l.function.temp_slot(8)), 0);
    let b = &mut l.function.builder;
    memory::store(b, info, 8, 0);
    let at = memory::pointer(b, info);
    let (device, inode) = (b.copy(device as i64), b.copy(inode as i64));
    b.call_void(h::GET_NS_CURRENT_PID_TGID, &[device.into(), inode.into(), at.into(), 8.into()]);
    let value = memory::load(b, if process { info.at(4) } else { info }, 4, false);
    l.release(mark);
    value
}
