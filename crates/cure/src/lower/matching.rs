//! Lowers matches: each clause becomes tests in order; when one fails, the next clause is tried.

use super::Lowering;
use crate::diagnostic::Span;
use crate::ir::form::{Block, End, Literal, Operand, Operation, Step, Test, Value};
use crate::ir::tree::{Branch, Shape, Tree, TreeKind};
use crate::syntax::ast::Name;

/// The destination of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// The function's result: calls may be tail calls.
    Tail,
    /// The value of a nested block.
    Nested,
}

/// The minimal number of literal clauses for a jump table.
const TABLE: usize = 4;

impl Lowering<'_> {
    pub(super) fn match_block(
        &mut self,
        scrutinee: &Tree,
        branches: &[Branch],
        mut steps: Vec<Step>,
        position: Position,
        span: Span,
    ) -> Block {
        // A tuple that is destructured immediately is never built.
        let parts: Option<Vec<Operand>> = match &scrutinee.kind {
            TreeKind::Tuple(parts) if branches.iter().all(|branch| fits(&branch.shape, parts.len())) => {
                Some(parts.iter().map(|part| self.value(part, &mut steps)).collect())
            }
            _ => None,
        };
        let whole = match &parts {
            Some(_) => None,
            None => Some(self.value(scrutinee, &mut steps)),
        };
        let failed = match &parts {
            Some(_) if position == Position::Tail && steps.is_empty() => raise("function_clause", None, span),
            _ => raise("case_clause", whole.clone(), span),
        };
        let end = self.clauses(branches, whole.as_ref(), parts.as_deref(), position, failed);
        match end {
            Block { steps: more, end } if more.is_empty() => Block { steps, end },
            block => {
                steps.extend(block.steps);
                Block { steps, end: block.end }
            }
        }
    }

    fn clauses(
        &mut self,
        branches: &[Branch],
        whole: Option<&Operand>,
        parts: Option<&[Operand]>,
        position: Position,
        failed: Block,
    ) -> Block {
        let mut blocks = Vec::new();
        let mut at = 0;
        while at < branches.len() {
            let literal = |branch: &&Branch| branch.guard.is_none() && switched(&branch.shape).is_some();
            let run = branches[at..].iter().take_while(literal).count();
            if let (Some(on), true) = (whole, run >= TABLE) {
                let mut cases: Vec<(Literal, Block)> = Vec::new();
                let mut seen = std::collections::HashSet::new();
                for branch in &branches[at..at + run] {
                    let Some(literal) = switched(&branch.shape) else { continue };
                    if seen.insert(format!("{literal:?}")) {
                        cases.push((literal.clone(), self.tail(&branch.body, Vec::new(), position)));
                    }
                }
                let otherwise = Box::new(Block { steps: Vec::new(), end: End::Fail });
                blocks.push(Block { steps: Vec::new(), end: End::Switch { on: on.clone(), cases, otherwise } });
                at += run;
                continue;
            }
            let branch = &branches[at];
            let mut tests = Vec::new();
            match (parts, &branch.shape) {
                (Some(parts), Shape::Tuple(shapes)) => {
                    tests.extend(shapes.iter().zip(parts).rev().map(|(shape, part)| (shape, part.clone())));
                }
                (Some(_), _) => {}
                (None, shape) => tests.extend(whole.map(|whole| (shape, whole.clone()))),
            }
            let sure = branch.guard.is_none() && irrefutable(&branch.shape, parts.is_some());
            blocks.push(self.clause(tests, branch, position));
            at += 1;
            if sure {
                return choice(blocks);
            }
        }
        blocks.push(failed);
        choice(blocks)
    }

    fn clause(&mut self, tests: Vec<(&Shape, Operand)>, branch: &Branch, position: Position) -> Block {
        self.tests(tests, Vec::new(), &mut |lowering, mut steps| match &branch.guard {
            None => lowering.tail(&branch.body, steps, position),
            Some(guard) => {
                let test = lowering.value(guard, &mut steps);
                let then = Box::new(lowering.tail(&branch.body, Vec::new(), position));
                Block { steps, end: End::If { test: Test::IsTrue(test), then, otherwise: fail() } }
            }
        })
    }

    /// Emits the tests, starting from the end of the list, then the code for the case that all hold.
    fn tests(
        &mut self,
        mut open: Vec<(&Shape, Operand)>,
        mut steps: Vec<Step>,
        then: &mut dyn FnMut(&mut Self, Vec<Step>) -> Block,
    ) -> Block {
        let span = Span::default();
        while let Some((shape, on)) = open.pop() {
            let test = match shape {
                Shape::Any => continue,
                Shape::Bind(var) => {
                    self.env.insert(*var, on);
                    continue;
                }
                Shape::Same(var) => Test::Equal(on.clone(), self.env[var].clone()),
                // Either zero; a value of type Any may be the integer, which `==` does not tell from them.
                Shape::Literal(Literal::Float(value)) if *value == 0.0 => {
                    let zero = Test::Equal(on.clone(), Operand::Literal(Literal::Float(0.0)));
                    let then = Box::new(self.tests(open, Vec::new(), then));
                    let then =
                        Box::new(Block { steps: Vec::new(), end: End::If { test: zero, then, otherwise: fail() } });
                    return Block { steps, end: End::If { test: Test::IsFloat(on), then, otherwise: fail() } };
                }
                Shape::Literal(Literal::List(items)) if items.is_empty() => Test::IsNil(on.clone()),
                Shape::Literal(literal) => Test::Identical(on.clone(), Operand::Literal(literal.clone())),
                Shape::Nil => Test::IsNil(on.clone()),
                Shape::Succ(_) => {
                    let var = self.fresh();
                    let value = Value::Operation(Operation::AtLeast, vec![on.clone(), literal_one()]);
                    steps.push(Step { var, value, span });
                    Test::IsTrue(Operand::Var(var))
                }
                Shape::Cons(..) => Test::IsCons(on.clone()),
                Shape::Tuple(parts) => Test::IsTuple(on.clone(), parts.len() as u32),
                Shape::Tagged(tag, parts) => Test::IsTagged(on.clone(), parts.len() as u32 + 1, tag.clone()),
            };
            let mut inner = Vec::new();
            let part = |lowering: &mut Self, inner: &mut Vec<Step>, value: Value| {
                let var = lowering.fresh();
                inner.push(Step { var, value, span });
                Operand::Var(var)
            };
            match shape {
                Shape::Succ(below) if !matches!(**below, Shape::Any) => {
                    let before = Value::Operation(Operation::Subtract, vec![on.clone(), literal_one()]);
                    let value = part(self, &mut inner, before);
                    open.push((below, value));
                }
                Shape::Cons(head, tail) => {
                    if !matches!(**tail, Shape::Any) {
                        let value = part(self, &mut inner, Value::Tail(on.clone()));
                        open.push((tail, value));
                    }
                    if !matches!(**head, Shape::Any) {
                        let value = part(self, &mut inner, Value::Head(on.clone()));
                        open.push((head, value));
                    }
                }
                Shape::Tuple(parts) | Shape::Tagged(_, parts) => {
                    let first = u32::from(matches!(shape, Shape::Tagged(..)));
                    for (at, below) in parts.iter().enumerate().rev() {
                        if !matches!(below, Shape::Any) {
                            let value = part(self, &mut inner, Value::Element(on.clone(), at as u32 + first));
                            open.push((below, value));
                        }
                    }
                }
                _ => {}
            }
            let then = Box::new(self.tests(open, inner, then));
            return Block { steps, end: End::If { test, then, otherwise: fail() } };
        }
        then(self, std::mem::take(&mut steps))
    }

    /// The pattern of a `let`: it always matches, so no test is needed.
    pub(super) fn let_shape(&mut self, shape: &Shape, on: Operand, steps: &mut Vec<Step>) {
        let mut part = |lowering: &mut Self, below: &Shape, value: Value| {
            if !matches!(below, Shape::Any) {
                let var = lowering.fresh();
                steps.push(Step { var, value, span: Span::default() });
                lowering.let_shape(below, Operand::Var(var), steps);
            }
        };
        match shape {
            Shape::Bind(var) => {
                self.env.insert(*var, on);
            }
            Shape::Succ(below) => part(self, below, Value::Operation(Operation::Subtract, vec![on, literal_one()])),
            Shape::Cons(head, tail) => {
                part(self, head, Value::Head(on.clone()));
                part(self, tail, Value::Tail(on));
            }
            Shape::Tuple(parts) => {
                parts
                    .iter()
                    .enumerate()
                    .for_each(|(at, below)| part(self, below, Value::Element(on.clone(), at as u32)));
            }
            Shape::Tagged(_, parts) => {
                let parts = parts.iter().enumerate();
                parts.for_each(|(at, below)| part(self, below, Value::Element(on.clone(), at as u32 + 1)));
            }
            Shape::Any | Shape::Same(_) | Shape::Literal(_) | Shape::Nil => {}
        }
    }
}

fn literal_one() -> Operand {
    Operand::Literal(Literal::Int(1.into()))
}

fn fail() -> Box<Block> {
    Box::new(Block { steps: Vec::new(), end: End::Fail })
}

fn raise(reason: &str, data: Option<Operand>, span: Span) -> Block {
    Block { steps: Vec::new(), end: End::Raise { reason: Name::from(reason), data, span } }
}

fn choice(mut blocks: Vec<Block>) -> Block {
    if blocks.len() == 1
        && let Some(only) = blocks.pop()
    {
        return only;
    }
    Block { steps: Vec::new(), end: End::Choice(blocks) }
}

/// True if a shape destructures a tuple of this size or ignores it.
fn fits(shape: &Shape, count: usize) -> bool {
    matches!(shape, Shape::Any) || matches!(shape, Shape::Tuple(parts) if parts.len() == count)
}

fn irrefutable(shape: &Shape, taken_apart: bool) -> bool {
    match shape {
        Shape::Any | Shape::Bind(_) => true,
        Shape::Tuple(parts) => taken_apart && parts.iter().all(|part| irrefutable(part, false)),
        _ => false,
    }
}

/// The literal of a clause, if a jump table can hold it.
fn switched(shape: &Shape) -> Option<&Literal> {
    match shape {
        Shape::Literal(literal @ (Literal::Int(_) | Literal::Atom(_) | Literal::Binary(_))) => Some(literal),
        _ => None,
    }
}
