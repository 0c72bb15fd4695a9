//! Failures: counted at their site, and sent where the reader wants them among the reports.

use crate::codegen::artifact::{FAILURE_RECORD, FAILURE_RECORD_BYTES};
use crate::codegen::ir::Operand;
use crate::lang::source::Span;
use crate::lang::typed::fault_code;
use crate::model::stats::LossCause;

use crate::codegen::lower::addr::memory;
use crate::codegen::lower::function::Lowerer;
use crate::codegen::lower::reports;
use crate::codegen::lower::reports::TIME_AT;

impl Lowerer<'_, '_> {
    /// Counts a failure, and sends it where the reader wants it among the reports: what failed is a helper (by its
    /// number) with what it returned, or the script itself.
    pub fn failed(&mut self, cause: LossCause, helper: Option<(u32, Operand)>, span: Span) {
        if leave_by_fault(self, cause, span) {
            return;
        }
        self.count_loss(cause, None, span);
        if self.object.facts.sent.includes(cause) {
            let site = self.object.site(cause, None, self.probe_index, span);
            send_failure(self, site, helper, span);
        }
    }

    /// The same by a fault's number.
    pub fn leave_by(&mut self, code: i64, span: Span) -> bool {
        let Some(local) = self.probe.fault.filter(|_| self.inline.is_empty()) else { return false };
        let Some(targets) = self.function.loops.last().copied() else { return false };
        self.variables.write(&mut self.function, local, (code | i64::from(span.start) << 8).into());
        let b = &mut self.function.builder;
        b.jump(targets.on_break);
        let unreached = b.new_block();
        b.switch_to(unreached);
        true
    }
}

/// Sends the record of a failure at a site.
fn send_failure(l: &mut Lowerer<'_, '_>, site: u32, helper: Option<(u32, Operand)>, span: Span) {
    let (number, code) = helper.unwrap_or((0, 0.into()));
    let bytes = FAILURE_RECORD_BYTES as u32;
    let mark = l.mark();
    let record = l.temp(bytes);
    let b = &mut l.function.builder;
    let id = b.copy(i64::from(FAILURE_RECORD | site));
    memory::store(b, record, 4, id);
    memory::store(b, record.at(4), 4, code);
    reports::stamp(b, record);
    memory::store(b, record.at(TIME_AT + 8), 4, i64::from(number));
    let cpu = l.function.cpu();
    memory::store(&mut l.function.builder, record.at(TIME_AT + 12), 4, cpu);
    reports::send_built(l, record, bytes, None, span);
    l.release(mark);
}

/// Leaves the innermost loop of a program that notes its faults; false of others.
fn leave_by_fault(l: &mut Lowerer<'_, '_>, cause: LossCause, span: Span) -> bool {
    fault_code(cause).is_some_and(|code| l.leave_by(code, span))
}
