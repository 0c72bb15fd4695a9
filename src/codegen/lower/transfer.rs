//! Functions that move bytes between memories: network addresses, packets, lists of texts, the process.

use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, Cond, Operand, Width};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind};
use crate::lang::types::{AddressSpace, Type};

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::helpers as h;
use crate::codegen::lower::intrinsic::constant;
use crate::codegen::lower::place::Place;
use crate::codegen::lower::value::Tail;

/// Address families of `Inet` values (`include/linux/socket.h`).
const AF_INET: i64 = 2;
const AF_INET6: i64 = 10;

/// Strings that `join` collects.
const JOIN_STRINGS: u32 = 16;
/// Most bytes that `write_user` takes from behind a pointer.
const MOST_WRITTEN: u64 = 4096;

impl<'a> Lowerer<'_, 'a> {
    /// The linear part of a packet: `length` bytes from `offset` behind `skb->data`.
    pub fn store_packet(
        &mut self,
        skb: &'a Expr,
        length: &'a Expr,
        offset: &'a Expr,
        dst: Addr,
        ty: &Type,
        span: Span,
    ) -> Result<(), CodegenError> {
        let Type::Buf { size: capacity } = ty else { return self.internal(span, "a packet of another type") };
        let data = match &skb.ty {
            Type::Ptr { to, .. } => match **to {
                Type::Struct(id) => self.object.program.structs.get(id.0 as usize),
                _ => None,
            },
            _ => None,
        };
        let Some(field) = data.and_then(|s| s.fields.iter().find(|f| &*f.name == "data")) else {
            return self.unsupported(span, "skboutput()", "the kernel's BTF of `struct sk_buff`");
        };
        let base = self.scalar(skb)?;
        let place = Place::Remote { base, offset: i64::from(field.offset), space: AddressSpace::Kernel };
        let start = self.load_place(place, &Type::U64, None, span)?;
        let from = self.scalar(offset)?;
        let start = self.function.builder.add(start, from);
        let wanted = self.scalar(length)?;
        let wanted = self.function.builder.copy_to_bound(wanted);
        self.at_most(wanted, i64::from(*capacity))?;
        self.store(dst, 4, wanted);
        if *capacity == 0 {
            return Ok(());
        }
        let place = Place::Remote { base: start.into(), offset: 0, space: AddressSpace::Kernel };
        self.read_sized(place, dst.at(4), wanted.into(), span)
    }

    pub fn write_user(
        &mut self,
        dst: &'a Expr,
        src: &'a Expr,
        n: &'a Expr,
        span: Span,
    ) -> Result<Operand, CodegenError> {
        let Some(n) = constant(n) else {
            return self.unsupported(span, "write_user() with a length that is not constant", "a constant");
        };
        let pointer = matches!(src.ty, Type::Ptr { .. });
        let limit = if pointer { MOST_WRITTEN } else { u64::from(self.size(&src.ty)) };
        if n > limit {
            let what = "what write_user() writes, in bytes,".to_owned();
            return Err(CodegenError::TooLarge { span, what, size: n, limit, hint: None });
        }
        if !self.object.facts.offers().probe_write_user {
            let hint = "locked-down kernels give it to no program: boot without lockdown, or without Secure Boot";
            return Err(
                CodegenError::unsupported(span, "write_user()", "the helper bpf_probe_write_user").with_hint(hint)
            );
        }
        let to = self.scalar(dst)?;
        if n == 0 {
            self.effect(src)?;
            return Ok(0.into());
        }
        let from = if src.ty.fits_register() && !pointer {
            let temp = self.temp(8);
            self.store_value(src, temp, &src.ty, Tail::Zeroed)?;
            temp
        } else {
            let temp = self.temp(n as u32);
            let place = if pointer { self.pointee(src)? } else { self.place(src)? };
            self.read_place(place, temp, n as u32, span)?;
            temp
        };
        let from = self.pointer(from);
        let result = self.function.builder.call(h::PROBE_WRITE_USER, &[to, from.into(), (n as i64).into()]);
        self.helper_failed(result, span)?;
        Ok(result.into())
    }

    /// Reads bytes through a pointer into a place inside of a local, which has as much room behind it as half of it.
    pub fn read_into(
        &mut self,
        dst: &'a Expr,
        src: &'a Expr,
        n: &'a Expr,
        span: Span,
    ) -> Result<Operand, CodegenError> {
        let ExprKind::Within { local, offset } = &dst.kind else {
            return self.internal(span, "a copy to what is no place inside of a variable");
        };
        let half = self.half_of(*local, span)?;
        let from = self.pointee(src)?;
        let wanted = self.scalar(n)?;
        let wanted = self.function.builder.copy_to_bound(wanted);
        self.at_most(wanted, i64::from(half))?;
        let at = self.within(*local, offset, 1)?;
        self.read_sized(from, at, wanted.into(), span)?;
        Ok(0.into())
    }

    /// `ntop([family,] address)`.
    pub fn store_address(&mut self, args: &'a [Expr], dst: Addr, span: Span) -> Result<(), CodegenError> {
        let (family, address) = match args {
            [address] => (None, address),
            [family, address] => (Some(family), address),
            _ => return self.internal(span, "ntop() with other arguments"),
        };
        let bytes = if address.ty.fits_register() { 4 } else { self.size(&address.ty).min(16) };
        let number = address.ty.fits_register() && !matches!(address.ty, Type::Ptr { .. });
        if number && dst.offset % 8 == 0 {
            return self.store_numeric_address(family, address, dst);
        }
        self.zero(dst, 20);
        let data = dst.at(4);
        if number {
            let value = self.scalar(address)?;
            self.store(data, 4, value);
        } else if let Type::Ptr { .. } = address.ty {
            let place = self.pointee(address)?;
            self.read_place(place, data, 16, span)?;
        } else {
            let place = self.place(address)?;
            self.read_place(place, data, bytes, span)?;
        }
        let family = match family {
            Some(e) => self.scalar(e)?,
            None => Operand::Imm(if bytes == 16 { AF_INET6 } else { AF_INET }),
        };
        self.store(dst, 4, family);
        Ok(())
    }

    /// Family and address in one store, which the kernel's loads of whole words need not wait for.
    fn store_numeric_address(
        &mut self,
        family: Option<&'a Expr>,
        address: &'a Expr,
        dst: Addr,
    ) -> Result<(), CodegenError> {
        let value = self.scalar(address)?;
        let value = self.function.builder.in_register(value);
        let upper = self.function.builder.shl(value, 32);
        let family = match family {
            Some(e) => {
                let family = self.scalar(e)?;
                let family = self.function.builder.in_register(family);
                self.function.builder.extend(family, 32, false).into()
            }
            None => Operand::Imm(AF_INET),
        };
        let word = self.function.builder.alu(Alu::Or, upper, family);
        self.store(dst, 8, word);
        self.zero(dst.at(8), 12);
        Ok(())
    }

    /// `join`: the strings of a `char **`, each with its terminator, one after the other.
    pub fn store_join(&mut self, argv: &'a Expr, dst: Addr, ty: &Type, span: Span) -> Result<(), CodegenError> {
        let Type::Buf { size: capacity } = ty else { return self.internal(span, "join() into another type") };
        let space = match argv.ty {
            Type::Ptr { space, .. } if space != AddressSpace::Kernel => space,
            _ => self.untyped_space(),
        };
        let base = self.scalar(argv)?;
        let most = (*capacity).min(1024);
        // Each string may be as long as `most` wherever it starts: the room behind is for the verifier.
        let copy = self.temp_scratch(*capacity + most);
        let start = self.pointer(copy);
        let used = self.function.builder.imm(0);
        let done = self.function.builder.new_block();
        for i in 0..JOIN_STRINGS {
            let place = Place::Remote { base, offset: i64::from(i) * 8, space };
            let pointer = self.load_place(place, &Type::U64, None, span)?;
            self.function.builder.require(Cond::Ne, pointer, 0, done);
            self.function.builder.require(Cond::Lt, used, i64::from(*capacity), done);
            let to = self.function.builder.add(start, used);
            let source = Place::Remote { base: pointer, offset: 0, space };
            let length = self.read_string(
                source,
                Addr::new(Base::Reg(to), 0),
                most,
                i64::from(most).into(),
                Tail::Loose,
                false,
                span,
            )?;
            self.function.builder.require(Cond::SGe, length, 0, done);
            self.function.builder.alu_into(used, Alu::Add, Width::W64, used, length);
            // Older kernels return 0 for an empty string, without its terminator. Two paths at each string
            // would be more than the verifier follows to the end.
            let less = self.function.builder.sub(length, 1);
            let missing = self.function.builder.shr(less, 63);
            self.function.builder.alu_into(used, Alu::Add, Width::W64, used, missing);
        }
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        self.at_most(used, i64::from(*capacity))?;
        self.store(dst, 4, used);
        self.copy(dst.at(4), copy, *capacity);
        Ok(())
    }
}
