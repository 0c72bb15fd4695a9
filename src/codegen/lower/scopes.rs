//! Where the variables of a body begin and end: the innermost block around all that mentions one, and the statement or
//! block after which nothing reads it any more.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use crate::lang::typed::walk::Node;
use crate::lang::typed::{Block, Expr, ExprKind, LocalId, ScopeId, Statement, StatementKind};

/// What may have variables of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Block(ScopeId),
    /// A block's statement: those of blocks that stand for values.
    Statement(ScopeId, usize),
}

/// The variables of a body by where they end and where they belong.
#[derive(Debug, Default)]
pub struct Scopes {
    /// The variables that nothing outside of a part mentions, by the part, with the innermost one for each.
    ending: HashMap<Part, BTreeSet<LocalId>>,
    /// The innermost block around all that mentions a variable.
    declaring: HashMap<LocalId, ScopeId>,
    /// That block's first and last statements that mention one of those that end somewhere.
    between: HashMap<LocalId, (ScopeId, usize, usize)>,
}

impl Scopes {
    /// Looks through a body. What ends is noted of the variables that lie on the stack.
    pub fn of(body: &Block, on_stack: impl Fn(LocalId) -> bool) -> Self {
        let (mut this, mut paths) = (Self::default(), HashMap::new());
        cut_paths(body, &mut Vec::new(), &mut paths);
        let mut mentions = Mentions::default();
        for (id, path) in paths {
            let Some(block) = path.last() else { continue };
            this.declaring.insert(id, block.id);
            // What is read before it is assigned has its value from elsewhere: a parameter, an earlier iteration.
            if !on_stack(id) || !mentions.assigned_first(block, id) {
                continue;
            }
            if let Some((first, last)) = mentions.first_and_last(block, id) {
                this.between.insert(id, (block.id, first, last));
            }
            let part = match mentions.first(block, id) {
                Some((at, true)) => Part::Statement(block.id, at),
                _ => Part::Block(block.id),
            };
            this.ending.entry(part).or_default().insert(id);
        }
        this
    }

    /// From where to where each of the variables that end somewhere may be there, in the order of the text.
    pub fn extents(&self, body: &Block) -> HashMap<LocalId, Range<u32>> {
        let mut parts = HashMap::new();
        number_statements(body, &mut 0, &mut parts);
        let extent = |block: ScopeId, first, last| {
            let part = |at| parts.get(&(block, at));
            Some(part(first)?.start..part(last)?.end)
        };
        self.between
            .iter()
            .filter_map(|(id, (block, first, last))| Some((*id, extent(*block, *first, *last)?)))
            .collect()
    }

    /// The variables on the stack that end with a part.
    pub fn ending(&self, part: Part) -> BTreeSet<LocalId> {
        self.ending.get(&part).cloned().unwrap_or_default()
    }

    /// Those that end with a block or inside of it.
    pub fn ending_in(&self, body: &Block) -> BTreeSet<LocalId> {
        if self.ending.is_empty() {
            return BTreeSet::new();
        }
        let statements =
            |block: &Block| (0..block.statements.len()).map(|at| Part::Statement(block.id, at)).collect::<Vec<_>>();
        let mut parts = Vec::new();
        each_block(body, &mut |block| {
            parts.push(Part::Block(block.id));
            parts.extend(statements(block));
        });
        parts.iter().filter_map(|part| self.ending.get(part)).flatten().copied().collect()
    }

    /// Whether a variable is mentioned outside of these blocks.
    pub fn outlasts(&self, id: LocalId, blocks: &[ScopeId]) -> bool {
        self.declaring.get(&id).is_none_or(|block| !blocks.contains(block))
    }
}

/// Numbers statements in the order of the text: where each begins and ends.
fn number_statements(block: &Block, next: &mut u32, parts: &mut HashMap<(ScopeId, usize), Range<u32>>) {
    for (at, statement) in block.statements.iter().enumerate() {
        let start = *next;
        *next += 1;
        for inner in statement.parts().1 {
            number_statements(inner, next, parts);
        }
        parts.insert((block.id, at), start..*next);
    }
}

/// Blocks and all inside of them.
pub fn blocks_in<'b>(blocks: impl IntoIterator<Item = &'b Block>) -> Vec<ScopeId> {
    let mut found = Vec::new();
    for block in blocks {
        each_block(block, &mut |block| found.push(block.id));
    }
    found
}

/// Calls `visit` with a block and all inside of it.
fn each_block<'b>(block: &'b Block, visit: &mut dyn FnMut(&'b Block)) {
    visit(block);
    block.all_statements().flat_map(|s| s.parts().1).for_each(visit);
}

type Paths<'b> = HashMap<LocalId, Vec<&'b Block>>;

/// Cuts the path of each variable to what all blocks that mention it have in common.
fn cut_paths<'b>(block: &'b Block, path: &mut Vec<&'b Block>, paths: &mut Paths<'b>) {
    path.push(block);
    for statement in &block.statements {
        let (exprs, blocks) = statement.parts();
        let mentioned = exprs.into_iter().flat_map(Expr::nodes).filter_map(Node::local);
        for id in statement.assigned().into_iter().chain(mentioned) {
            let known = paths.entry(id).or_insert_with(|| path.clone());
            let common = known.iter().zip(path.iter()).take_while(|(a, b)| a.id == b.id).count();
            known.truncate(common);
        }
        for inner in blocks {
            cut_paths(inner, path, paths);
        }
    }
    path.pop();
}

/// What a path leaves before the end of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// The iteration, by `continue`.
    Iteration,
    /// The loop, by `break`.
    Loop,
}

/// Whether a path leaves so much before the end of an iteration of the loop with this body.
pub fn leaves(body: &Block, what: Leaving) -> bool {
    body.statements.iter().any(|s| match &s.kind {
        StatementKind::Continue => what == Leaving::Iteration,
        StatementKind::Break => what == Leaving::Loop,
        // Theirs are their own.
        _ if s.loop_body().is_some() => false,
        _ => s.parts().1.into_iter().any(|block| leaves(block, what)),
    })
}

/// Where the statements of blocks first mention each local. Made for a block when it is first asked
/// about: a long body may have as many locals as statements.
#[derive(Default)]
pub struct Mentions(HashMap<ScopeId, HashMap<LocalId, (usize, usize)>>);

impl Mentions {
    /// The place of a block's first statement that mentions a local, and whether no other one does.
    fn first(&mut self, block: &Block, id: LocalId) -> Option<(usize, bool)> {
        self.first_and_last(block, id).map(|(first, last)| (first, first == last))
    }

    /// The places of a block's first and last statements that mention a local.
    fn first_and_last(&mut self, block: &Block, id: LocalId) -> Option<(usize, usize)> {
        let known = self.0.entry(block.id).or_insert_with(|| {
            let mut known: HashMap<LocalId, (usize, usize)> = HashMap::new();
            for (at, statement) in block.statements.iter().enumerate() {
                for id in statement.nodes().filter_map(Node::local) {
                    known.entry(id).or_insert((at, at)).1 = at;
                }
            }
            known
        });
        known.get(&id).copied()
    }

    /// True when every read of the local comes after an assignment to it, as far as the shape of the
    /// block shows.
    pub fn assigned_first(&mut self, block: &Block, id: LocalId) -> bool {
        let Some((at, alone)) = self.first(block, id) else { return true };
        let first: &Statement = &block.statements[at];
        match &first.kind {
            StatementKind::SetLocal(local, e) if *local == id => !e.mentions(id),
            StatementKind::ForRange { local, start, end, .. } if *local == id => {
                !start.mentions(id) && !end.mentions(id)
            }
            StatementKind::ForMap { local, .. } if *local == id => true,
            StatementKind::If(c, a, b) => {
                alone && !c.mentions(id) && self.assigned_first(a, id) && self.assigned_first(b, id)
            }
            StatementKind::While(c, body) => alone && !c.mentions(id) && self.assigned_first(body, id),
            StatementKind::Block(body) | StatementKind::Unroll(_, body) | StatementKind::ForMap { body, .. } => {
                alone && self.assigned_first(body, id)
            }
            StatementKind::ForRange { start, end, body, .. } => {
                alone && !start.mentions(id) && !end.mentions(id) && self.assigned_first(body, id)
            }
            _ => {
                let (exprs, blocks) = first.parts();
                alone && blocks.is_empty() && self.assigned_first_in(&exprs, id)
            }
        }
    }

    /// The same for expressions: a block in one of them has all of it.
    fn assigned_first_in(&mut self, exprs: &[&Expr], id: LocalId) -> bool {
        let mut mentioning = exprs.iter().filter(|e| e.mentions(id));
        let (Some(e), None) = (mentioning.next(), mentioning.next()) else { return false };
        match &e.kind {
            ExprKind::Local(_) | ExprKind::LocalStep { .. } | ExprKind::MapFind { .. } => false,
            ExprKind::Block(block, _) if block.statements.iter().any(|s| s.mentions(id)) => {
                self.assigned_first(block, id)
            }
            _ => self.assigned_first_in(&e.children(), id),
        }
    }
}
