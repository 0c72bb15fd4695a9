//! Functions that move bytes between memories: network addresses, packets, lists of texts, the process.

use crate::codegen::builder::flow;
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, BlockId, Cond, Operand, Size, Vreg, Width};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind};
use crate::lang::types::{AddressSpace, Type};

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::numbers::constant;
use crate::codegen::lower::place::{Place, part, read};
use crate::codegen::lower::value::canonical::Tail;
use crate::codegen::lower::{helpers as h, numbers};

/// Address families of `Inet` values (`include/linux/socket.h`).
const AF_INET: i64 = 2;
const AF_INET6: i64 = 10;

/// Strings that `join` collects.
const JOIN_STRINGS: u32 = 16;
/// Bytes of what marks that there are more of them.
const LONGEST_TRAILER: usize = 64;
/// Most bytes that `write_user` takes from behind a pointer.
const MOST_WRITTEN: u64 = 4096;

/// The linear part of a packet: `length` bytes from `offset` behind `skb->data`.
pub fn store_packet<'a>(
    l: &mut Lowerer<'_, 'a>,
    skb: &'a Expr,
    length: &'a Expr,
    offset: &'a Expr,
    dst: Addr,
    ty: &Type,
    span: Span,
) -> Result<(), CodegenError> {
    let Type::Buf { size: capacity } = ty else { return l.internal(span, "a packet of another type") };
    let data = match &skb.ty {
        Type::Ptr { to, .. } => match **to {
            Type::Struct(id) => l.object.program.structs.get(id.0 as usize),
            _ => None,
        },
        _ => None,
    };
    let Some(field) = data.and_then(|s| s.fields.iter().find(|f| &*f.name == "data")) else {
        return Err(CodegenError::unsupported(span, "skboutput()", "the kernel's BTF of `struct sk_buff`"));
    };
    let base = l.scalar(skb)?;
    let place = Place::Remote { base, offset: i64::from(field.offset), space: AddressSpace::Kernel };
    let start = read::load(l, place, &Type::U64, None, span)?;
    let from = l.scalar(offset)?;
    let start = l.function.builder.add(start, from);
    let wanted = l.scalar(length)?;
    let b = &mut l.function.builder;
    let wanted = numbers::copy_at_most(b, wanted, i64::from(*capacity));
    memory::store(b, dst, 4, wanted);
    if *capacity == 0 {
        return Ok(());
    }
    let place = Place::Remote { base: start.into(), offset: 0, space: AddressSpace::Kernel };
    read::sized(l, place, dst.at(4), wanted.into(), span)
}

pub fn write_user<'a>(
    l: &mut Lowerer<'_, 'a>,
    dst: &'a Expr,
    src: &'a Expr,
    n: &'a Expr,
    span: Span,
) -> Result<Operand, CodegenError> {
    let Some(n) = constant(n) else {
        return Err(CodegenError::unsupported(span, "write_user() with a length that is not constant", "a constant"));
    };
    let pointer = matches!(src.ty, Type::Ptr { .. });
    let limit = if pointer { MOST_WRITTEN } else { u64::from(l.object.size(&src.ty)) };
    if n > limit {
        let what = "what write_user() writes, in bytes,".to_owned();
        return Err(CodegenError::TooLarge { span, what, size: n, limit, hint: None });
    }
    if !l.object.facts.offers().probe_write_user {
        let hint = "locked-down kernels give it to no program: boot without lockdown, or without Secure Boot";
        return Err(CodegenError::unsupported(span, "write_user()", "the helper bpf_probe_write_user").with_hint(hint));
    }
    let to = l.scalar(dst)?;
    if n == 0 {
        l.effect(src)?;
        return Ok(0.into());
    }
    let from = if src.ty.fits_register() && !pointer {
        let temp = l.temp(8);
        l.store_value(src, temp, &src.ty, Tail::Zeroed)?;
        temp
    } else {
        let temp = l.temp(n as u32);
        let place = if pointer { l.pointee(src)? } else { l.place(src)? };
        read::copy(l, place, temp, n as u32, span)?;
        temp
    };
    let from = memory::pointer(&mut l.function.builder, from);
    let result = l.function.builder.call(h::PROBE_WRITE_USER, &[to, from.into(), (n as i64).into()]);
    read::helper_failed(l, result, span)?;
    Ok(result.into())
}

/// Reads bytes through a pointer into a place inside of a local, which has as much room behind it as half of it.
pub fn read_into<'a>(
    l: &mut Lowerer<'_, 'a>,
    dst: &'a Expr,
    src: &'a Expr,
    n: &'a Expr,
    span: Span,
) -> Result<Operand, CodegenError> {
    let ExprKind::Within { local, offset } = &dst.kind else {
        return l.internal(span, "a copy to what is no place inside of a variable");
    };
    let half = part::half_of(l, *local, span)?;
    let from = l.pointee(src)?;
    let wanted = l.scalar(n)?;
    let wanted = numbers::copy_at_most(&mut l.function.builder, wanted, i64::from(half));
    let at = part::within(l, *local, offset, 1)?;
    read::sized(l, from, at, wanted.into(), span)?;
    Ok(0.into())
}

/// `ntop([family,] address)`.
pub fn store_address<'a>(l: &mut Lowerer<'_, 'a>, args: &'a [Expr], dst: Addr, span: Span) -> Result<(), CodegenError> {
    let (family, address) = match args {
        [address] => (None, address),
        [family, address] => (Some(family), address),
        _ => return l.internal(span, "ntop() with other arguments"),
    };
    let bytes = if address.ty.fits_register() { 4 } else { l.object.size(&address.ty).min(16) };
    let number = address.ty.fits_register() && !matches!(address.ty, Type::Ptr { .. });
    if number && dst.offset % 8 == 0 {
        return store_numeric_address(l, family, address, dst);
    }
    memory::zero(&mut l.function.builder, dst, 20);
    let data = dst.at(4);
    if number {
        let value = l.scalar(address)?;
        memory::store(&mut l.function.builder, data, 4, value);
    } else if let Type::Ptr { .. } = address.ty {
        let place = l.pointee(address)?;
        read::copy(l, place, data, 16, span)?;
    } else {
        let place = l.place(address)?;
        read::copy(l, place, data, bytes, span)?;
    }
    let family = match family {
        Some(e) => l.scalar(e)?,
        None => Operand::Imm(if bytes == 16 { AF_INET6 } else { AF_INET }),
    };
    memory::store(&mut l.function.builder, dst, 4, family);
    Ok(())
}

/// Family and address in one store, which the kernel's loads of whole words need not wait for.
fn store_numeric_address<'a>(
    l: &mut Lowerer<'_, 'a>,
    family: Option<&'a Expr>,
    address: &'a Expr,
    dst: Addr,
) -> Result<(), CodegenError> {
    let value = l.scalar(address)?;
    let value = l.function.builder.in_register(value);
    let upper = l.function.builder.shl(value, 32);
    let family = match family {
        Some(e) => {
            let family = l.scalar(e)?;
            let family = l.function.builder.in_register(family);
            l.function.builder.extend(family, 32, false).into()
        }
        None => Operand::Imm(AF_INET),
    };
    let b = &mut l.function.builder;
    let word = b.alu(Alu::Or, upper, family);
    memory::store(b, dst, 8, word);
    memory::zero(b, dst.at(8), 12);
    Ok(())
}

/// Where there are more strings than `join` collects, what marks a cut text is one of them.
fn mark_rest(
    l: &mut Lowerer<'_, '_>,
    (base, space): (Operand, AddressSpace),
    (start, used): (Vreg, Vreg),
    capacity: u32,
    done: BlockId,
    span: Span,
) -> Result<(), CodegenError> {
    let trailer = l.object.program.config.str_trunc_trailer.as_bytes();
    let trailer = &trailer[..trailer.len().min(LONGEST_TRAILER)];
    if trailer.is_empty() {
        return Ok(());
    }
    let place = Place::Remote { base, offset: i64::from(JOIN_STRINGS) * 8, space };
    let pointer = read::load(l, place, &Type::U64, None, span)?;
    let b = &mut l.function.builder;
    flow::require(b, Cond::Ne, pointer, 0, done);
    flow::require(b, Cond::Lt, used, i64::from(capacity), done);
    let to = b.add(start, used);
    for (at, byte) in (0..).zip(trailer.iter().chain([&0])) {
        b.store(to, at, Size::B1, i64::from(*byte));
    }
    b.alu_into(used, Alu::Add, Width::W64, used, trailer.len() as i64 + 1);
    Ok(())
}

/// `join`: the strings of a `char **`, each with its terminator, one after the other.
pub fn store_join<'a>(
    l: &mut Lowerer<'_, 'a>,
    argv: &'a Expr,
    dst: Addr,
    ty: &Type,
    span: Span,
) -> Result<(), CodegenError> {
    let Type::Buf { size: capacity } = ty else { return l.internal(span, "join() into another type") };
    let space = match argv.ty {
        Type::Ptr { space, .. } if space != AddressSpace::Kernel => space,
        _ => read::untyped_space(l),
    };
    let base = l.scalar(argv)?;
    let most = (*capacity).min(1024);
    // Each string may be as long as `most` wherever it starts: the room behind is for the verifier.
    let copy = l.temp_scratch(*capacity + most);
    let b = &mut l.function.builder;
    let start = memory::pointer(b, copy);
    let used = b.copy(0);
    let done = b.new_block();
    for i in 0..JOIN_STRINGS {
        let place = Place::Remote { base, offset: i64::from(i) * 8, space };
        let pointer = read::load(l, place, &Type::U64, None, span)?;
        let b = &mut l.function.builder;
        flow::require(b, Cond::Ne, pointer, 0, done);
        flow::require(b, Cond::Lt, used, i64::from(*capacity), done);
        let to = b.add(start, used);
        let source = Place::Remote { base: pointer, offset: 0, space };
        let length = read::string(
            l,
            source,
            Addr::new(Base::Reg(to), 0),
            most,
            i64::from(most).into(),
            Tail::Loose,
            false,
            span,
        )?;
        let b = &mut l.function.builder;
        flow::require(b, Cond::SGe, length, 0, done);
        b.alu_into(used, Alu::Add, Width::W64, used, length);
        // Older kernels return 0 for an empty string, without its terminator. Two paths at each string
        // would be more than the verifier follows to the end.
        let less = b.sub(length, 1);
        let missing = b.shr(less, 63);
        b.alu_into(used, Alu::Add, Width::W64, used, missing);
    }
    mark_rest(l, (base, space), (start, used), *capacity, done, span)?;
    let b = &mut l.function.builder;
    b.jump(done);
    b.switch_to(done);
    numbers::at_most(b, used, i64::from(*capacity));
    memory::store(b, dst, 4, used);
    memory::copy(b, dst.at(4), copy, *capacity);
    Ok(())
}
