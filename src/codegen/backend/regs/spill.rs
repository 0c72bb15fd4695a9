//! Code around the uses of values that found no register.

use crate::codegen::ir::{BlockId, Function, Inst, Operand, Size, Slot, Vreg};
use crate::lang::source::Span;

use super::super::legal::SingleDefs;
use super::lives::Lives;

/// Where a homeless value comes from.
enum Home {
    /// Made again before each use.
    Again(Inst),
    /// Kept in a stack slot.
    Slot(Slot),
}

/// Gives every homeless register a slot, or makes its value again at each use. Values that are never
/// needed at the same time share a slot: there are 512 bytes of stack. Results that nobody reads are left
/// out, since their slot may hold another value there.
pub fn rewrite(function: &mut Function, order: &[BlockId], homeless: &[Vreg], defs: &SingleDefs, lives: &Lives) {
    let mut homes: Vec<Option<Home>> = Vec::new();
    homes.resize_with(function.vregs as usize, || None);
    let mut taken: Vec<(Slot, Vec<Vreg>)> = Vec::new();
    for v in homeless {
        homes[v.0 as usize] = Some(match defs.rematerialisable(*v) {
            Some(inst) => Home::Again(inst.clone()),
            None => Home::Slot(slot_for(lives.leader(*v), lives, &mut taken, function)),
        });
    }
    let mut position = 0;
    for BlockId(at) in order {
        let at = *at as usize;
        let old = std::mem::take(&mut function.blocks[at].instructions);
        let mut out = Vec::with_capacity(old.len() + 8);
        if at == 0 {
            store_parameters(&lives.arriving, &homes, &mut out);
        }
        for (mut inst, span) in old {
            position += 1;
            if lives.dead.contains(position) {
                continue;
            }
            if let Some(moved) = slot_copy(&inst, &homes) {
                out.push((moved, span));
                continue;
            }
            let mut reload =
                Reload { homes: &homes, out: &mut out, vregs: &mut function.vregs, made: Vec::new(), span };
            inst.for_each_use_mut(|v| reload.operand(v));
            store_result(inst, span, &homes, &mut out, &mut function.vregs);
        }
        let block = &mut function.blocks[at];
        let mut reload =
            Reload { homes: &homes, out: &mut out, vregs: &mut function.vregs, made: Vec::new(), span: block.span };
        block.terminator.for_each_use_mut(|v| reload.operand(v));
        block.instructions = out;
        position += 1;
    }
}

/// A copy with one side in a slot is itself the load or the store.
fn slot_copy(inst: &Inst, homes: &[Option<Home>]) -> Option<Inst> {
    let Inst::Copy { dst, src: Operand::Reg(src) } = inst else { return None };
    match (home(homes, *dst), home(homes, *src)) {
        (None, Some(Home::Slot(slot))) => {
            Some(Inst::SlotLoad { dst: *dst, slot: *slot, offset: 0, size: Size::B8, signed: false })
        }
        (Some(Home::Slot(slot)), None) => {
            Some(Inst::SlotStore { slot: *slot, offset: 0, size: Size::B8, src: Operand::Reg(*src) })
        }
        _ => None,
    }
}

/// A slot whose other values live at other times than this one.
fn slot_for(leader: Vreg, lives: &Lives, taken: &mut Vec<(Slot, Vec<Vreg>)>, function: &mut Function) -> Slot {
    let free = |users: &[Vreg]| users.iter().all(|user| *user == leader || !lives.overlap(*user, leader));
    if let Some((slot, users)) = taken.iter_mut().find(|(_, users)| free(users)) {
        users.push(leader);
        return *slot;
    }
    let slot = new_slot(function);
    taken.push((slot, vec![leader]));
    slot
}

fn new_slot(function: &mut Function) -> Slot {
    function.slots.push(8);
    Slot(function.slots.len() as u32 - 1)
}

fn home(homes: &[Option<Home>], v: Vreg) -> Option<&Home> {
    homes.get(v.0 as usize).and_then(Option::as_ref)
}

/// A spilled parameter that is needed arrives in its register and is stored at the entry.
fn store_parameters(arriving: &[bool], homes: &[Option<Home>], out: &mut Vec<(Inst, Span)>) {
    for (v, needed) in (0..).map(Vreg).zip(arriving) {
        if let Some(Home::Slot(slot)) = home(homes, v).filter(|_| *needed) {
            let store = Inst::SlotStore { slot: *slot, offset: 0, size: Size::B8, src: Operand::Reg(v) };
            out.push((store, Span::default()));
        }
    }
}

fn store_result(mut inst: Inst, span: Span, homes: &[Option<Home>], out: &mut Vec<(Inst, Span)>, vregs: &mut u32) {
    let Some(dst) = inst.dst() else { return out.push((inst, span)) };
    match home(homes, dst) {
        None => out.push((inst, span)),
        // Its uses make it themselves.
        Some(Home::Again(_)) => {}
        Some(Home::Slot(slot)) => {
            if let Inst::Copy { src: Operand::Imm(n), .. } = inst
                && i32::try_from(n).is_ok()
            {
                let src = Operand::Imm(n);
                return out.push((Inst::SlotStore { slot: *slot, offset: 0, size: Size::B8, src }, span));
            }
            let short = Vreg(*vregs);
            *vregs += 1;
            if let Some(d) = inst.dst_mut() {
                *d = short;
            }
            out.push((inst, span));
            let src = Operand::Reg(short);
            out.push((Inst::SlotStore { slot: *slot, offset: 0, size: Size::B8, src }, span));
        }
    }
}

struct Reload<'a> {
    homes: &'a [Option<Home>],
    out: &'a mut Vec<(Inst, Span)>,
    vregs: &'a mut u32,
    /// What this instruction has loaded already.
    made: Vec<(Vreg, Vreg)>,
    span: Span,
}

impl Reload<'_> {
    fn operand(&mut self, v: &mut Vreg) {
        let Some(home) = home(self.homes, *v) else { return };
        if let Some((_, short)) = self.made.iter().find(|(old, _)| old == v) {
            *v = *short;
            return;
        }
        let short = Vreg(*self.vregs);
        *self.vregs += 1;
        self.made.push((*v, short));
        *v = short;
        let inst = match home {
            Home::Slot(slot) => Inst::SlotLoad { dst: short, slot: *slot, offset: 0, size: Size::B8, signed: false },
            Home::Again(make) => {
                let mut inst = make.clone();
                if let Some(dst) = inst.dst_mut() {
                    *dst = short;
                }
                inst
            }
        };
        self.out.push((inst, self.span));
    }
}
