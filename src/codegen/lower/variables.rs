//! The variables of a body: their types, where each lives, where each begins and ends.

use crate::codegen::ir::{Operand, Slot, Vreg};
use crate::lang::typed::{Local, LocalId};
use crate::lang::types::Type;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::state::{FRAME_LOCALS, FunctionState, Role};
use crate::codegen::lower::place::scalar_shape;
use crate::codegen::lower::scopes::Scopes;

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalHome {
    /// In a register.
    Reg(Vreg),
    /// In a stack slot.
    Slot(Slot),
    /// In working memory, at this offset.
    Scratch(u32),
    /// In the frame shared with loop callbacks, at this offset.
    Frame(u32),
}

/// The variables of the probe's body, or of the function that is lowered in place.
pub struct Variables<'a> {
    locals: &'a [Local],
    homes: Vec<LocalHome>,
    scopes: Scopes,
    /// Bytes of the frame that callbacks share with their program: of all bodies of the program together.
    frame_bytes: u32,
}

impl<'a> Variables<'a> {
    /// Those of a program's body, not placed yet.
    pub fn new(locals: &'a [Local]) -> Self {
        Self { locals, homes: Vec::new(), scopes: Scopes::default(), frame_bytes: FRAME_LOCALS }
    }

    /// Begins the body of a function that is lowered in place; gives the caller's, for [`Self::leave`].
    pub fn enter(&mut self, locals: &'a [Local]) -> Self {
        let callee = Self { frame_bytes: self.frame_bytes, ..Self::new(locals) };
        std::mem::replace(self, callee)
    }

    /// Goes on in the caller.
    pub fn leave(&mut self, caller: Self) {
        *self = Self { frame_bytes: self.frame_bytes, ..caller };
    }

    /// Says where they live, in the order of [`Self::ids`].
    pub fn place(&mut self, homes: Vec<LocalHome>, scopes: Scopes) {
        (self.homes, self.scopes) = (homes, scopes);
    }

    /// Room in the frame.
    pub fn reserve_in_frame(&mut self, bytes: u32) -> u32 {
        let at = self.frame_bytes.next_multiple_of(8);
        self.frame_bytes = at + bytes.next_multiple_of(8).max(8);
        at
    }

    pub fn ids(&self) -> impl Iterator<Item = LocalId> + use<> {
        (0..self.locals.len() as u32).map(LocalId)
    }

    pub fn ty(&self, id: LocalId) -> &'a Type {
        &self.locals[id.0 as usize].ty
    }

    pub fn home(&self, id: LocalId) -> LocalHome {
        self.homes[id.0 as usize]
    }

    /// Where they begin and end.
    pub const fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    /// The value of one that fits a register.
    pub fn read(&self, f: &mut FunctionState, id: LocalId) -> Operand {
        let (size, signed) = scalar_shape(self.ty(id));
        match (self.home(id), self.memory(f, id)) {
            (LocalHome::Reg(vreg), _) => vreg.into(),
            // Frames hold scalars in 8 bytes each, already extended.
            (LocalHome::Frame(_), Some(at)) => memory::load(&mut f.builder, at, 8, false).into(),
            (_, Some(at)) => memory::load(&mut f.builder, at, size, signed).into(),
            (_, None) => 0.into(),
        }
    }

    /// Assigns one that fits a register.
    pub fn write(&self, f: &mut FunctionState, id: LocalId, value: Operand) {
        let (size, _) = scalar_shape(self.ty(id));
        match (self.home(id), self.memory(f, id)) {
            (LocalHome::Reg(vreg), _) => f.builder.copy_into(vreg, value),
            (LocalHome::Frame(_), Some(at)) => memory::store(&mut f.builder, at, 8, value),
            (_, Some(at)) => memory::store(&mut f.builder, at, size, value),
            (_, None) => {}
        }
    }

    /// Memory of one that is not in a register.
    pub fn memory(&self, f: &mut FunctionState, id: LocalId) -> Option<Addr> {
        Some(match self.home(id) {
            LocalHome::Reg(_) => return None,
            LocalHome::Frame(at) => self.frame(f, at),
            LocalHome::Slot(slot) => Addr::new(Base::Slot(slot), 0),
            LocalHome::Scratch(at) => Addr::new(Base::Reg(f.scratch()), at as i32),
        })
    }

    /// A place in the frame that callbacks share with their program.
    pub fn frame(&self, f: &mut FunctionState, at: u32) -> Addr {
        match (f.role, f.frame) {
            (Role::Callback(pointer), _) => Addr::new(Base::Reg(pointer), at as i32),
            (Role::Program, Some(slot)) => {
                // Functions with loops of their own add to it.
                f.builder.function_mut().grow_slot(slot, self.frame_bytes);
                Addr::new(Base::Slot(slot), at as i32)
            }
            (Role::Program, None) => {
                let slot = f.builder.new_slot(self.frame_bytes);
                f.frame = Some(slot);
                Addr::new(Base::Slot(slot), at as i32)
            }
        }
    }
}
