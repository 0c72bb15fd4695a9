//! Reports to user space through the ring buffer.
//!
//! A record is reserved at its exact size and filled in place. Records of more than
//! [`LARGE_RECORD`] bytes that end with a string or buffer are built in working memory and sent with
//! the bytes in use only, so that a short path does not cost its largest length. What finds no room
//! is counted at its site: delivered and lost add up to produced.

pub mod failure;

pub mod per_cpu_ring;
pub mod ring_plan;

use crate::codegen::artifact::{ACTION_BITS, RECORD_HEADER};
use crate::codegen::builder::{FunctionBuilder, flow};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, BlockId, Cond, Operand, Vreg};
use crate::lang::source::Span;
use crate::lang::typed::{Action, ActionId, ActionKind, Expr, ExprKind, Intrinsic, PrintfSink, Program, tuple_layout};
use crate::lang::types::Type;
use crate::model::bytes::bytes_of;
use crate::model::format::{ConversionKind, Format, Piece};
use crate::model::stats::LossCause;

use crate::codegen::lower::addr::{Addr, Base, memory};
use crate::codegen::lower::function::{Lowerer, ON_STACK_LIMIT};
use crate::codegen::lower::layout::{CONSTANTS, SHARED};
use crate::codegen::lower::object::{EXITING, ObjectBuilder, WAKE_UPS};
use crate::codegen::lower::place::read;
use crate::codegen::lower::strings::source;
use crate::codegen::lower::value::canonical;
use crate::codegen::lower::value::canonical::Tail;
use crate::codegen::lower::{builtin, helpers as h, numbers, place};

/// Records over this many bytes are cut after their last string.
const LARGE_RECORD: u32 = RECORD_HEADER as u32 + 248;

/// Records up to this many bytes are built on the stack, if that has room, and copied into the ring: a copy
/// that short costs less than the second call that a reserved record takes.
const SMALL_RECORD: u32 = RECORD_HEADER as u32 + 56;

/// Where a record has its time.
pub const TIME_AT: u32 = 8;

/// A value of a report: computed before the record is reserved, or in place.
enum Ready<'a> {
    Scalar(Operand),
    Memory(Addr, &'a Expr),
    InPlace(&'a Expr),
}

/// What a report sends.
struct Record<'r, 'a> {
    id: ActionId,
    action: &'a Action,
    ready: &'r [Ready<'a>],
    /// Where each value lies behind the header.
    offsets: &'r [u32],
    /// Bytes, header included.
    total: u32,
    span: Span,
}

/// Sends a report.
pub fn send<'a>(l: &mut Lowerer<'_, 'a>, id: ActionId, values: &'a [Expr], span: Span) -> Result<(), CodegenError> {
    let action = &l.object.program.actions[id.0 as usize];
    if let ActionKind::Printf { format, sink: PrintfSink::TracePipe } = &action.kind {
        return trace_pipe(l, format, values, span);
    }
    if values.len() != action.values.len() {
        return l.internal(span, "a report with other values than its action");
    }
    if id.0 >> ACTION_BITS != 0 {
        return Err(too_many_reports(l.object.program, span));
    }
    let ((size, _), offsets) = tuple_layout(action.values.iter(), &l.object.program.structs);
    let total = RECORD_HEADER as u32 + size;
    let ready = make_ready(l, values)?;
    let ends_with_text = total > LARGE_RECORD
        && matches!(action.values.last(), Some(Type::Str { .. } | Type::Buf { .. }))
        && matches!(ready.last(), Some(Ready::InPlace(_) | Ready::Memory(..)));
    let record = Record { id, action, ready: &ready, offsets: &offsets, total, span };
    let mark = l.mark();
    if ends_with_text {
        send_cut(l, &record)?;
    } else if total <= ON_STACK_LIMIT {
        let at = l.temp(total.next_multiple_of(8));
        send_small(l, &record, at)?;
    } else if total <= SMALL_RECORD && l.roomy() {
        let at = Addr::new(Base::Slot(l.function.temp_slot(total)), 0);
        send_small(l, &record, at)?;
    } else {
        send_whole(l, &record)?;
    }
    l.release(mark);
    if matches!(action.kind, ActionKind::Exit) {
        end_trace(l);
    }
    Ok(())
}

/// Tells all programs that the trace is ending; leaves the probe where the language says so.
fn end_trace(l: &mut Lowerer<'_, '_>) {
    let section = l.object.section(SHARED);
    let at = l.function.builder.address(section.at(EXITING));
    memory::store(&mut l.function.builder, Addr::new(Base::Reg(at), 0), 8, 1);
    if l.object.program.config.exit_leaves_probe {
        l.leave();
    }
}

/// Computes what has effects now: they must happen even when the ring is full.
fn make_ready<'a>(l: &mut Lowerer<'_, 'a>, values: &'a [Expr]) -> Result<Vec<Ready<'a>>, CodegenError> {
    let mut ready = Vec::new();
    let impure = values.iter().rposition(|e| !e.is_pure());
    for (i, e) in values.iter().enumerate() {
        // Earlier values too, for they may read what a later one changes.
        let now = impure.is_some_and(|last| i <= last) && !matches!(e.kind, ExprKind::Int(_) | ExprKind::Str(_));
        ready.push(if !now {
            Ready::InPlace(e)
        } else if e.ty.fits_register() {
            let value = l.scalar(e)?;
            Ready::Scalar(l.function.builder.copy(value).into())
        } else {
            let size = l.object.size(&e.ty);
            let temp = l.temp(size);
            l.store_value(e, temp, &e.ty, Tail::Zeroed)?;
            Ready::Memory(temp, e)
        });
    }
    Ok(ready)
}

/// Builds a record in the ring.
fn send_whole<'a>(l: &mut Lowerer<'_, 'a>, report: &Record<'_, 'a>) -> Result<(), CodegenError> {
    if let Some(slots) = l.object.slots {
        let reserved = per_cpu_ring::reserve_slot(l, slots);
        write_record(l, report, report.ready.len(), reserved.record())?;
        per_cpu_ring::commit_slot(l, &reserved, report.total, Some(report.id), report.span);
        return Ok(());
    }
    if l.object.facts.tells_references_apart() {
        let record = l.temp_scratch(report.total);
        return send_small(l, report, record);
    }
    let ring = l.object.ring();
    let b = &mut l.function.builder;
    let handle = b.address(ring);
    let record = b.call(h::RINGBUF_RESERVE, &[handle.into(), i64::from(report.total).into(), 0.into()]);
    let [fill, lost, done] = b.new_blocks();
    b.branch(Cond::Ne, record, 0, fill, lost);
    count_lost_report(l, lost, Some(report.id), report.span);
    l.function.builder.jump(done);
    l.function.builder.switch_to(fill);
    let at = Addr::new(Base::Reg(record), 0);
    write_record(l, report, report.ready.len(), at)?;
    let flags = wake_flags(l.object, &mut l.function.builder);
    let b = &mut l.function.builder;
    b.call_void(h::RINGBUF_SUBMIT, &[record.into(), flags]);
    b.jump(done);
    b.switch_to(done);
    Ok(())
}

/// Goes on in the block to which reports without room go, and counts one.
pub fn count_lost_report(l: &mut Lowerer<'_, '_>, lost: BlockId, action: Option<ActionId>, span: Span) {
    l.function.builder.switch_to(lost);
    l.count_loss(LossCause::RingFull, action, span);
}

/// Builds a record in temporary memory and sends it.
fn send_small<'a>(l: &mut Lowerer<'_, 'a>, report: &Record<'_, 'a>, record: Addr) -> Result<(), CodegenError> {
    write_record(l, report, report.ready.len(), record)?;
    send_built(l, record, report.total, Some(report.id), report.span);
    Ok(())
}

/// Sends a record as far as its last value, a text, goes.
fn send_cut<'a>(l: &mut Lowerer<'_, 'a>, report: &Record<'_, 'a>) -> Result<(), CodegenError> {
    let record = l.temp_scratch(report.total);
    let before = report.ready.len() - 1;
    write_record(l, report, before, record)?;
    let at = RECORD_HEADER as u32 + report.offsets[before];
    let last = record.at(at);
    let used = put_last(l, &report.ready[before], &report.action.values[before], last)?;
    let bytes = l.function.builder.add(used, i64::from(at));
    copy_out(l, record, bytes.into(), Some(report.id), report.span);
    Ok(())
}

/// Sends a record of so many bytes.
pub fn send_built(l: &mut Lowerer<'_, '_>, record: Addr, bytes: u32, action: Option<ActionId>, span: Span) {
    let Some(slots) = l.object.slots else {
        return copy_out(l, record, i64::from(bytes).into(), action, span);
    };
    let reserved = per_cpu_ring::reserve_slot(l, slots);
    memory::copy(&mut l.function.builder, reserved.record(), record, bytes);
    per_cpu_ring::commit_slot(l, &reserved, bytes, action, span);
}

/// Copies a record into the ring; one that finds no room is counted.
fn copy_out(l: &mut Lowerer<'_, '_>, record: Addr, bytes: Operand, action: Option<ActionId>, span: Span) {
    let flags = wake_flags(l.object, &mut l.function.builder);
    let ring = l.object.ring();
    let b = &mut l.function.builder;
    let handle = b.address(ring);
    let from = memory::pointer(b, record);
    let result = b.call(h::RINGBUF_OUTPUT, &[handle.into(), from.into(), bytes, flags]);
    let [lost, done] = b.new_blocks();
    b.branch(Cond::Ne, result, 0, lost, done);
    count_lost_report(l, lost, action, span);
    l.function.builder.jump(done);
    l.function.builder.switch_to(done);
}

/// Writes the header and the first `count` values.
fn write_record<'a>(
    l: &mut Lowerer<'_, 'a>,
    report: &Record<'_, 'a>,
    count: usize,
    record: Addr,
) -> Result<(), CodegenError> {
    header(l, report.id, record);
    let values = record.at(RECORD_HEADER as u32);
    for ((value, ty), offset) in report.ready.iter().zip(&report.action.values).zip(report.offsets).take(count) {
        let mark = l.mark();
        put(l, value, ty, values.at(*offset))?;
        l.release(mark);
    }
    Ok(())
}

fn header(l: &mut Lowerer<'_, '_>, id: ActionId, record: Addr) {
    stamp(&mut l.function.builder, record);
    let cpu = l.function.cpu();
    let cpu = l.function.builder.shl(cpu, i64::from(ACTION_BITS));
    let name = if l.single { l.probe.names.get(l.target).copied() } else { None };
    if name.is_none() && l.probe.needs_probe_id {
        let cookie = builtin::probe_id(l);
        let b = &mut l.function.builder;
        let word = b.alu(Alu::Or, cpu, i64::from(id.0));
        memory::store(b, record, 4, word);
        memory::store(b, record.at(4), 4, cookie);
        return;
    }
    let known = u64::from(id.0) | u64::from(name.unwrap_or(u32::MAX)) << 32;
    let b = &mut l.function.builder;
    let known = b.copy(known as i64);
    let word = b.alu(Alu::Or, cpu, known);
    memory::store(b, record, 8, word);
}

/// Writes the time into a record.
pub fn stamp(b: &mut FunctionBuilder, record: Addr) {
    let now = b.call(h::KTIME_GET_NS, &[]);
    memory::store(b, record.at(TIME_AT), 8, now);
}

fn put<'a>(l: &mut Lowerer<'_, 'a>, value: &Ready<'a>, ty: &Type, at: Addr) -> Result<(), CodegenError> {
    match value {
        Ready::Scalar(operand) => {
            memory::store(&mut l.function.builder, at, place::scalar_shape(ty).0, *operand);
            Ok(())
        }
        Ready::Memory(src, e) => {
            canonical::copy_value(l.object, &mut l.function.builder, *src, at, &e.ty, ty);
            Ok(())
        }
        Ready::InPlace(e) => l.store_value(e, at, ty, Tail::Loose),
    }
}

/// 1 while the reader wants to be woken.
pub fn wake_wanted(object: &mut ObjectBuilder<'_>, b: &mut FunctionBuilder) -> Vreg {
    let section = object.section(SHARED);
    let base = b.address(section.at(WAKE_UPS));
    memory::load(b, Addr::new(Base::Reg(base), 0), 8, false)
}

/// A report wakes the reader when that asked for it, see `engine::drain`.
fn wake_flags(object: &mut ObjectBuilder<'_>, b: &mut FunctionBuilder) -> Operand {
    let wanted = wake_wanted(object, b);
    // 1 in the global gives 0 (the kernel's own rule: a wake-up when the reader has seen all
    // before), 0 gives BPF_RB_NO_WAKEUP.
    b.alu(Alu::Xor, wanted, h::BPF_RB_NO_WAKEUP).into()
}

/// Writes the last value and says how many of its bytes are in use.
fn put_last<'a>(l: &mut Lowerer<'_, 'a>, value: &Ready<'a>, ty: &Type, at: Addr) -> Result<Vreg, CodegenError> {
    let size = l.object.size(ty);
    let used = match (value, ty) {
        (Ready::InPlace(e), Type::Str { .. }) => {
            if let ExprKind::Call(Intrinsic::Str, args) = &e.kind {
                source::str(l, args, e, at, ty, Tail::Loose)?
            } else {
                let src = l.memory(e)?;
                read::copy_string(l, src, at, size.min(l.object.size(&e.ty)), e.span)?
            }
        }
        (Ready::Memory(src, e), Type::Str { .. }) => {
            read::copy_string(l, *src, at, size.min(l.object.size(&e.ty)), e.span)?
        }
        _ => {
            put(l, value, ty, at)?;
            let length = memory::load(&mut l.function.builder, at, 4, false);
            l.function.builder.add(length, 4)
        }
    };
    let used = l.function.builder.copy(used);
    flow::when(&mut l.function.builder, Cond::SLt, used, 1, |b| {
        // Nothing could be read, or an empty string, for which older kernels return 0
        // (`strncpy_from_user_nofault`, mm/maccess.c).
        memory::store(b, at, 1, 0);
        b.copy_into(used, 1);
    });
    numbers::at_most(&mut l.function.builder, used, i64::from(size));
    Ok(used)
}

/// `debugf`: `bpf_trace_printk` with at most three values.
fn trace_pipe<'a>(
    l: &mut Lowerer<'_, 'a>,
    format: &Format,
    values: &'a [Expr],
    span: Span,
) -> Result<(), CodegenError> {
    if values.len() > 3 {
        return Err(CodegenError::TooLarge {
            span,
            what: "the number of values of this debugf()".into(),
            size: values.len() as u64,
            limit: 3,
            hint: Some("bpf_trace_printk takes three; use printf(), which takes more".into()),
        });
    }
    let mut args = Vec::new();
    for e in values {
        let value = if e.ty.fits_register() {
            l.scalar(e)?
        } else {
            let at = l.memory(e)?;
            memory::pointer(&mut l.function.builder, at).into()
        };
        args.push(value);
    }
    let mut text = bytes_of(&kernel_format(format)).into_owned();
    text.push(0);
    let at = l.object.constant(&text);
    let section = l.object.section(CONSTANTS);
    let address = l.function.builder.address(section.at(at));
    let mut all: Vec<Operand> = vec![address.into(), (text.len() as i64).into()];
    all.extend(args);
    l.function.builder.call_void(h::TRACE_PRINTK, &all);
    Ok(())
}

fn too_many_reports(program: &Program, span: Span) -> CodegenError {
    CodegenError::TooLarge {
        span,
        what: "the number of calls that print or act in user space".into(),
        size: program.actions.len() as u64,
        limit: 1 << ACTION_BITS,
        hint: None,
    }
}

/// A format that `bpf_trace_printk` takes: 64-bit conversions without flags.
fn kernel_format(format: &Format) -> String {
    let mut out = String::new();
    for piece in &format.pieces {
        match piece {
            Piece::Literal(text) => out.push_str(&text.replace('%', "%%")),
            Piece::Conversion(c) => out.push_str(match c.kind {
                ConversionKind::Signed => "%lld",
                ConversionKind::Unsigned | ConversionKind::Octal | ConversionKind::Gfp => "%llu",
                ConversionKind::HexLower | ConversionKind::HexUpper => "%llx",
                ConversionKind::Pointer => "0x%llx",
                ConversionKind::Char => "%c",
                ConversionKind::Str
                | ConversionKind::Bytes
                | ConversionKind::BytesHexEscaped
                | ConversionKind::BytesHex => "%s",
            }),
        }
    }
    out
}
