//! Several moves that happen as if at once, put into an order that loses nothing.

use super::super::insn::Reg;

/// Where a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// In a register.
    Reg(Reg),
    /// Nowhere yet: a constant.
    Imm(i64),
}

/// One value to one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Register that receives it.
    pub to: Reg,
    /// Where it is.
    pub from: Source,
}

/// Orders `moves`; a cycle goes through a register that is neither in a move nor in `taken`.
pub fn sequence(moves: Vec<Move>, taken: &[Reg]) -> Vec<Move> {
    let targets: Vec<Reg> = moves.iter().map(|m| m.to).collect();
    let (mut pending, constants): (Vec<Move>, Vec<Move>) =
        moves.into_iter().filter(|m| m.from != Source::Reg(m.to)).partition(|m| matches!(m.from, Source::Reg(_)));
    let mut out = Vec::with_capacity(pending.len() + constants.len() + 1);
    while !pending.is_empty() {
        let ready = pending.iter().position(|m| pending.iter().all(|other| other.from != Source::Reg(m.to)));
        if let Some(ready) = ready {
            out.push(pending.remove(ready));
            continue;
        }
        // Only cycles are left. There are at most five moves, so that one of ten registers is free; the
        // second cycle may take the register that the first one went through.
        let used = |r: Reg| pending.iter().any(|m| m.to == r || m.from == Source::Reg(r));
        let free = |r: &Reg| !used(*r) && !targets.contains(r) && !taken.contains(r);
        let Some(spare) = (0..10).map(Reg).find(free) else { break };
        let from = pending[0].from;
        out.push(Move { to: spare, from });
        for m in pending.iter_mut().filter(|m| m.from == from) {
            m.from = Source::Reg(spare);
        }
    }
    out.extend(constants);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_cycles_share_the_one_register_that_is_free() {
        let swap = |a: u8, b: u8| [(a, b), (b, a)];
        let pairs = [swap(1, 5), swap(2, 3)].concat().into_iter().chain([(4, 0)]);
        let moves = pairs.map(|(to, from)| Move { to: Reg(to), from: Source::Reg(Reg(from)) }).collect();
        let mut registers: Vec<u8> = (0..10).collect();
        for m in sequence(moves, &[Reg(6), Reg(7), Reg(8), Reg(9)]) {
            if let Source::Reg(from) = m.from {
                registers[m.to.0 as usize] = registers[from.0 as usize];
            }
        }
        assert_eq!(registers[1..6], [5, 3, 2, 0, 1]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_register_receives_its_value(sources in prop::collection::vec(0u8..10, 0..=5)) {
            let moves: Vec<Move> = sources
                .iter()
                .enumerate()
                .map(|(i, s)| Move { to: Reg(i as u8 + 1), from: Source::Reg(Reg(*s)) })
                .collect();
            let mut registers: Vec<u8> = (0..10).collect();
            for m in sequence(moves, &[Reg(6), Reg(7), Reg(8), Reg(9)]) {
                if let Source::Reg(from) = m.from {
                    registers[m.to.0 as usize] = registers[from.0 as usize];
                }
            }
            for (i, s) in sources.iter().enumerate() {
                prop_assert_eq!(registers[i + 1], *s);
            }
            prop_assert_eq!(&registers[6..], &[6, 7, 8, 9]);
        }
    }
}
