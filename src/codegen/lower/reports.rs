//! Reports to user space through the ring buffer.
//!
//! A record is reserved at its exact size and filled in place. Records of more than
//! [`LARGE_RECORD`] bytes that end with a string or buffer are built in working memory and sent with
//! the bytes in use only, so that a short path does not cost its largest length. What finds no room
//! is counted at its site: delivered and lost add up to produced.

pub mod per_cpu_ring;
pub mod ring_plan;

use crate::codegen::artifact::{ACTION_BITS, FAILURE_RECORD, FAILURE_RECORD_BYTES, RECORD_HEADER};
use crate::codegen::error::CodegenError;
use crate::codegen::ir::{Alu, BlockId, Cond, Operand, Vreg};
use crate::codegen::lower::place;
use crate::lang::source::Span;
use crate::lang::typed::{Action, ActionId, ActionKind, Expr, ExprKind, Intrinsic, PrintfSink, Program, tuple_layout};
use crate::lang::types::Type;
use crate::model::bytes::bytes_of;
use crate::model::format::{ConversionKind, Format, Piece};
use crate::model::stats::LossCause;

use crate::codegen::lower::addr::{Addr, Base};
use crate::codegen::lower::function::{Lowerer, ON_STACK_LIMIT};
use crate::codegen::lower::helpers as h;
use crate::codegen::lower::layout::{CONSTANTS, SHARED};
use crate::codegen::lower::object::{EXITING, WAKE_UPS};
use crate::codegen::lower::value::Tail;
use crate::codegen::lower::walk;

/// Records over this many bytes are cut after their last string.
const LARGE_RECORD: u32 = RECORD_HEADER as u32 + 248;

/// Records up to this many bytes are built on the stack, if that has room, and copied into the ring: a copy
/// that short costs less than the second call that a reserved record takes.
const SMALL_RECORD: u32 = RECORD_HEADER as u32 + 56;

/// Where a record has its time.
const TIME_AT: u32 = 8;

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

impl<'a> Lowerer<'_, 'a> {
    /// Sends a report.
    pub fn report(&mut self, id: ActionId, values: &'a [Expr], span: Span) -> Result<(), CodegenError> {
        let action = &self.object.program.actions[id.0 as usize];
        if let ActionKind::Printf { format, sink: PrintfSink::TracePipe } = &action.kind {
            return self.trace_pipe(format, values, span);
        }
        if values.len() != action.values.len() {
            return self.internal(span, "a report with other values than its action");
        }
        if id.0 >> ACTION_BITS != 0 {
            return Err(too_many_reports(self.object.program, span));
        }
        let ((size, _), offsets) = tuple_layout(action.values.iter(), &self.object.program.structs);
        let total = RECORD_HEADER as u32 + size;
        let ready = self.make_ready(values)?;
        let cut = total > LARGE_RECORD
            && matches!(action.values.last(), Some(Type::Str { .. } | Type::Buf { .. }))
            && matches!(ready.last(), Some(Ready::InPlace(_) | Ready::Memory(..)));
        let record = Record { id, action, ready: &ready, offsets: &offsets, total, span };
        let mark = self.mark();
        if cut {
            self.send_cut(&record)?;
        } else if total <= ON_STACK_LIMIT {
            let at = self.temp(total.next_multiple_of(8));
            self.send_small(&record, at)?;
        } else if total <= SMALL_RECORD && self.roomy() {
            let at = Addr::new(Base::Slot(self.function.temp_slot(total)), 0);
            self.send_small(&record, at)?;
        } else {
            self.send_whole(&record)?;
        }
        self.release(mark);
        if matches!(action.kind, ActionKind::Exit) {
            let section = self.object.section(SHARED);
            let at = self.function.builder.global_addr(section, EXITING);
            self.store(Addr::new(Base::Reg(at), 0), 8, 1);
            if self.object.program.config.exit_leaves_probe {
                self.leave();
            }
        }
        Ok(())
    }

    /// Computes what has effects now: they must happen even when the ring is full.
    fn make_ready(&mut self, values: &'a [Expr]) -> Result<Vec<Ready<'a>>, CodegenError> {
        let mut ready = Vec::new();
        let impure = values.iter().rposition(|e| !walk::is_pure(e));
        for (i, e) in values.iter().enumerate() {
            // Earlier values too, for they may read what a later one changes.
            let now = impure.is_some_and(|last| i <= last) && !matches!(e.kind, ExprKind::Int(_) | ExprKind::Str(_));
            ready.push(if !now {
                Ready::InPlace(e)
            } else if e.ty.fits_register() {
                let value = self.scalar(e)?;
                Ready::Scalar(self.function.builder.copy(value).into())
            } else {
                let size = self.size(&e.ty);
                let temp = self.temp(size);
                self.store_value(e, temp, &e.ty, Tail::Zeroed)?;
                Ready::Memory(temp, e)
            });
        }
        Ok(ready)
    }

    /// Builds a record in the ring.
    fn send_whole(&mut self, report: &Record<'_, 'a>) -> Result<(), CodegenError> {
        if let Some(slots) = self.object.slots {
            let reserved = self.reserve_slot(slots);
            self.fill(report, report.ready.len(), reserved.record())?;
            self.commit_slot(&reserved, report.total, Some(report.id), report.span);
            return Ok(());
        }
        if self.object.facts.tells_references_apart() {
            let record = self.temp_scratch(report.total);
            return self.send_small(report, record);
        }
        let ring = self.object.ring();
        let handle = self.function.builder.map_addr(ring);
        let record =
            self.function.builder.call(h::RINGBUF_RESERVE, &[handle.into(), i64::from(report.total).into(), 0.into()]);
        let (fill, lost, done) =
            (self.function.builder.new_block(), self.function.builder.new_block(), self.function.builder.new_block());
        self.function.builder.branch(Cond::Ne, record, 0, fill, lost);
        self.count_lost_report(lost, Some(report.id), report.span);
        self.function.builder.jump(done);
        self.function.builder.switch_to(fill);
        let at = Addr::new(Base::Reg(record), 0);
        self.fill(report, report.ready.len(), at)?;
        let flags = self.wake_flags();
        self.function.builder.call_void(h::RINGBUF_SUBMIT, &[record.into(), flags]);
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
        Ok(())
    }

    /// Goes on in the block to which reports without room go, and counts one.
    pub fn count_lost_report(&mut self, lost: BlockId, action: Option<ActionId>, span: Span) {
        self.function.builder.switch_to(lost);
        self.count_loss(LossCause::RingFull, action, span);
    }

    /// Builds a record in temporary memory and sends it.
    fn send_small(&mut self, report: &Record<'_, 'a>, record: Addr) -> Result<(), CodegenError> {
        self.fill(report, report.ready.len(), record)?;
        self.send_built(record, report.total, Some(report.id), report.span);
        Ok(())
    }

    /// Sends a record as far as its last value, a text, goes.
    fn send_cut(&mut self, report: &Record<'_, 'a>) -> Result<(), CodegenError> {
        let record = self.temp_scratch(report.total);
        let before = report.ready.len() - 1;
        self.fill(report, before, record)?;
        let at = RECORD_HEADER as u32 + report.offsets[before];
        let last = record.at(at);
        let used = self.put_last(&report.ready[before], &report.action.values[before], last)?;
        let bytes = self.function.builder.add(used, i64::from(at));
        self.copy_out(record, bytes.into(), Some(report.id), report.span);
        Ok(())
    }

    /// Sends a record of so many bytes.
    fn send_built(&mut self, record: Addr, bytes: u32, action: Option<ActionId>, span: Span) {
        let Some(slots) = self.object.slots else {
            return self.copy_out(record, i64::from(bytes).into(), action, span);
        };
        let reserved = self.reserve_slot(slots);
        self.copy(reserved.record(), record, bytes);
        self.commit_slot(&reserved, bytes, action, span);
    }

    /// Copies a record into the ring; one that finds no room is counted.
    fn copy_out(&mut self, record: Addr, bytes: Operand, action: Option<ActionId>, span: Span) {
        let flags = self.wake_flags();
        let ring = self.object.ring();
        let handle = self.function.builder.map_addr(ring);
        let from = self.pointer(record);
        let result = self.function.builder.call(h::RINGBUF_OUTPUT, &[handle.into(), from.into(), bytes, flags]);
        let (lost, done) = (self.function.builder.new_block(), self.function.builder.new_block());
        self.function.builder.branch(Cond::Ne, result, 0, lost, done);
        self.count_lost_report(lost, action, span);
        self.function.builder.jump(done);
        self.function.builder.switch_to(done);
    }

    /// Writes the header and the first `count` values.
    fn fill(&mut self, report: &Record<'_, 'a>, count: usize, record: Addr) -> Result<(), CodegenError> {
        self.header(report.id, record);
        let values = record.at(RECORD_HEADER as u32);
        for ((value, ty), offset) in report.ready.iter().zip(&report.action.values).zip(report.offsets).take(count) {
            let mark = self.mark();
            self.put(value, ty, values.at(*offset))?;
            self.release(mark);
        }
        Ok(())
    }

    fn header(&mut self, id: ActionId, record: Addr) {
        self.stamp(record);
        let cpu = self.function.cpu();
        let cpu = self.function.builder.shl(cpu, i64::from(ACTION_BITS));
        let name = if self.single { self.probe.names.get(self.target).copied() } else { None };
        if name.is_none() && self.probe.needs_probe_id {
            let cookie = self.probe_id();
            let word = self.function.builder.alu(Alu::Or, cpu, i64::from(id.0));
            self.store(record, 4, word);
            self.store(record.at(4), 4, cookie);
            return;
        }
        let known = u64::from(id.0) | u64::from(name.unwrap_or(u32::MAX)) << 32;
        let known = self.function.builder.imm(known as i64);
        let word = self.function.builder.alu(Alu::Or, cpu, known);
        self.store(record, 8, word);
    }

    /// Writes the time into a record.
    fn stamp(&mut self, record: Addr) {
        let now = self.function.builder.call(h::KTIME_GET_NS, &[]);
        self.store(record.at(TIME_AT), 8, now);
    }

    /// Sends the record of a failure at a site.
    pub fn send_failure(&mut self, site: u32, helper: Option<(u32, Operand)>, span: Span) {
        let (number, code) = helper.unwrap_or((0, 0.into()));
        let bytes = FAILURE_RECORD_BYTES as u32;
        let mark = self.mark();
        let record = self.temp(bytes);
        let id = self.function.builder.imm(i64::from(FAILURE_RECORD | site));
        self.store(record, 4, id);
        self.store(record.at(4), 4, code);
        self.stamp(record);
        self.store(record.at(TIME_AT + 8), 4, i64::from(number));
        let cpu = self.function.cpu();
        self.store(record.at(TIME_AT + 12), 4, cpu);
        self.send_built(record, bytes, None, span);
        self.release(mark);
    }

    fn put(&mut self, value: &Ready<'a>, ty: &Type, at: Addr) -> Result<(), CodegenError> {
        match value {
            Ready::Scalar(operand) => {
                self.store(at, place::scalar_shape(ty).0, *operand);
                Ok(())
            }
            Ready::Memory(src, e) => {
                self.copy_value(*src, at, &e.ty, ty);
                Ok(())
            }
            Ready::InPlace(e) => self.store_value(e, at, ty, Tail::Loose),
        }
    }

    /// 1 while the reader wants to be woken.
    pub fn wake_wanted(&mut self) -> Vreg {
        let section = self.object.section(SHARED);
        let base = self.function.builder.global_addr(section, WAKE_UPS);
        self.load(Addr::new(Base::Reg(base), 0), 8, false)
    }

    /// A report wakes the reader when that asked for it, see `engine::drain`.
    fn wake_flags(&mut self) -> Operand {
        let wanted = self.wake_wanted();
        // 1 in the global gives 0 (the kernel's own rule: a wake-up when the reader has seen all
        // before), 0 gives BPF_RB_NO_WAKEUP.
        self.function.builder.alu(Alu::Xor, wanted, h::BPF_RB_NO_WAKEUP).into()
    }

    /// Writes the last value and says how many of its bytes are in use.
    fn put_last(&mut self, value: &Ready<'a>, ty: &Type, at: Addr) -> Result<Vreg, CodegenError> {
        let size = self.size(ty);
        let used = match (value, ty) {
            (Ready::InPlace(e), Type::Str { .. }) => {
                if let ExprKind::Call(Intrinsic::Str, args) = &e.kind {
                    self.read_str_call(args, e, at, ty, Tail::Loose)?
                } else {
                    let src = self.memory(e)?;
                    self.copy_string(src, at, size.min(self.size(&e.ty)), e.span)?
                }
            }
            (Ready::Memory(src, e), Type::Str { .. }) => {
                self.copy_string(*src, at, size.min(self.size(&e.ty)), e.span)?
            }
            _ => {
                self.put(value, ty, at)?;
                let length = self.load(at, 4, false);
                self.function.builder.add(length, 4)
            }
        };
        let used = self.function.builder.copy(used);
        self.when(Cond::SLt, used.into(), 1.into(), |l| {
            // Nothing could be read, or an empty string, for which older kernels return 0
            // (`strncpy_from_user_nofault`, mm/maccess.c).
            l.store(at, 1, 0);
            l.function.builder.copy_into(used, 1);
            Ok(())
        })?;
        self.at_most(used, i64::from(size))?;
        Ok(used)
    }

    /// Copies a string up to its terminator; its length with it.
    fn copy_string(&mut self, src: Addr, dst: Addr, size: u32, span: Span) -> Result<Vreg, CodegenError> {
        let from = place::Place::Memory(src);
        self.read_string(from, dst, size, i64::from(size).into(), Tail::Loose, false, span)
    }

    /// `debugf`: `bpf_trace_printk` with at most three values.
    fn trace_pipe(&mut self, format: &Format, values: &'a [Expr], span: Span) -> Result<(), CodegenError> {
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
                self.scalar(e)?
            } else {
                let at = self.memory(e)?;
                self.pointer(at).into()
            };
            args.push(value);
        }
        let mut text = bytes_of(&kernel_format(format)).into_owned();
        text.push(0);
        let at = self.object.constant(&text);
        let section = self.object.section(CONSTANTS);
        let address = self.function.builder.global_addr(section, at);
        let mut all: Vec<Operand> = vec![address.into(), (text.len() as i64).into()];
        all.extend(args);
        self.function.builder.call_void(h::TRACE_PRINTK, &all);
        Ok(())
    }
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
