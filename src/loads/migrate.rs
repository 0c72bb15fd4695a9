//! A thread that goes from CPU to CPU.

use super::{Load, LoadError, Plan, Truth, proc};

pub const LOAD: Load = Load {
    name: "migrate",
    about: "Moves its one thread between two CPUs a known number of times.",
    truth: &[("moves", "moves that were asked for, and made"), ("from", "one of the two CPUs"), ("to", "the other")],
    run,
};

fn run(plan: &Plan) -> Result<Truth, LoadError> {
    let [from, .., to] = proc::cpus()[..] else {
        return Err(LoadError::Absent { what: "a second CPU", reason: "this process may use one only".to_owned() });
    };
    let wanted = plan.random().between(20, 60) / 2 * 2;
    proc::pin(from)?;
    let mut moves = 0_u64;
    while moves < wanted && plan.has_time() {
        proc::pin(if moves.is_multiple_of(2) { to } else { from })?;
        moves += 1;
    }
    Ok(Truth::new().with("moves", moves).with("from", from).with("to", to))
}
