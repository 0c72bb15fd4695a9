//! Code that is there for the verifier alone, one file a habit: what it learns of values that it compares states by
//! is hidden from it ([`widen`]), dead words of the stack are made zero ([`scrub_stack`]), and loops are unrolled
//! only as far as it can afford ([`cost`]). What nobody needs in registers and spill slots is made zero behind the
//! register allocator, in `codegen::backend::scrub_dead`.

pub mod cost;
pub mod scrub_stack;
pub mod widen;
