//! A function's blocks, flattened into one sequence: control only moves forward, all uses of a variable follow the step
//! that computes it, and the code between them is reached only through that step. So a variable is live from its step
//! to its last use in this order, which is all that [`super::registers`] needs to know.

use std::collections::HashMap;

use super::instruction::Label;
use crate::diagnostic::Span;
use crate::ir::form::{self, Block, Call, End, Literal, Operand, Operation, Value, Var};

/// One operation.
#[derive(Debug)]
pub(super) enum Op<'m> {
    /// Computes a value into a variable. `sure`: the destructured value has already been tested.
    Step {
        var: Var,
        value: Work<'m>,
        span: Span,
    },
    /// Ends a nested block with its value.
    Give {
        var: Var,
        from: &'m Operand,
        to: Label,
    },
    /// The point where a nested block's value is available.
    Bind(Var),
    Label(Label),
    Jump(Label),
    Test {
        test: Question<'m>,
        otherwise: Label,
    },
    Switch {
        on: &'m Operand,
        cases: Vec<(&'m Literal, Label)>,
        otherwise: Label,
    },
    Return(&'m Operand),
    Tail(&'m Call, Span),
    Raise {
        reason: &'m str,
        data: Option<&'m Operand>,
        span: Span,
    },
    /// An operation that was merged into the next one.
    Nothing,
}

impl Op<'_> {
    /// The variables read here.
    pub(super) fn uses(&self, found: &mut dyn FnMut(Var)) {
        let mut operand = |operand: &Operand| {
            if let Operand::Var(var) = operand {
                found(*var);
            }
        };
        match self {
            Op::Step { value, .. } => match value {
                Work::Call(call) => call_uses(call, &mut operand),
                Work::Closure { captured, .. } => captured.iter().for_each(|var| found(*var)),
                Work::External { .. } => {}
                Work::Tuple(parts) | Work::Operation(_, parts) => parts.iter().for_each(operand),
                Work::Cons(head, tail) => {
                    operand(head);
                    operand(tail);
                }
                Work::Element(of, ..) | Work::Head(of, _) | Work::Tail(of, _) => operand(of),
                Work::SetElement { of, value, .. } => {
                    operand(value);
                    match of {
                        Tuple::Operand(of) => operand(of),
                        Tuple::Var(of) => found(*of),
                    }
                }
            },
            Op::Give { from, .. } => operand(from),
            Op::Test { test: Question::Form(test), .. } => match test {
                form::Test::Equal(a, b) | form::Test::Identical(a, b) => {
                    operand(a);
                    operand(b);
                }
                form::Test::IsTrue(of)
                | form::Test::IsFloat(of)
                | form::Test::IsTuple(of, _)
                | form::Test::IsTagged(of, ..)
                | form::Test::IsNil(of)
                | form::Test::IsCons(of) => operand(of),
            },
            Op::Test { test: Question::Compare(_, a, b), .. } => {
                operand(a);
                operand(b);
            }
            Op::Switch { on, .. } => operand(on),
            Op::Return(of) => operand(of),
            Op::Tail(call, _) => call_uses(call, &mut operand),
            Op::Raise { data, .. } => data.iter().for_each(|data| operand(data)),
            Op::Bind(_) | Op::Label(_) | Op::Jump(_) | Op::Nothing => {}
        }
    }

    /// The variable that is assigned here.
    pub(super) fn defines(&self) -> Option<Var> {
        match self {
            Op::Step { var, .. } | Op::Bind(var) => Some(*var),
            _ => None,
        }
    }

    /// True if this is a call that returns: only Y registers survive it.
    pub(super) fn calls(&self) -> bool {
        matches!(
            self,
            Op::Step {
                value: Work::Call(_)
                    | Work::SetElement { .. }
                    | Work::Operation(Operation::Append | Operation::Without | Operation::Join, _),
                ..
            }
        )
    }

    /// True if this needs a frame.
    pub(super) fn needs_frame(&self) -> bool {
        self.calls() || matches!(self, Op::Tail(Call::Apply { .. }, _))
    }
}

fn call_uses(call: &Call, operand: &mut dyn FnMut(&Operand)) {
    match call {
        Call::Local { args, .. } | Call::Remote { args, .. } => args.iter().for_each(operand),
        Call::Apply { function, args } => {
            operand(function);
            args.iter().for_each(operand);
        }
    }
}

/// The value that a step computes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work<'m> {
    Call(&'m Call),
    /// Its arity includes the captured values.
    Closure {
        function: &'m str,
        arity: u32,
        captured: &'m [Var],
    },
    External {
        module: &'m str,
        function: &'m str,
        arity: u32,
    },
    Tuple(&'m [Operand]),
    Cons(&'m Operand, &'m Operand),
    /// True if the tuple is known to have the element.
    Element(&'m Operand, u32, bool),
    /// The tuple with one element replaced. The tuple may be the result of an earlier step like this.
    SetElement {
        of: Tuple<'m>,
        at: u32,
        value: &'m Operand,
    },
    /// True if this is known to be a list cell.
    Head(&'m Operand, bool),
    Tail(&'m Operand, bool),
    Operation(Operation, &'m [Operand]),
}

/// The tuple to update.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tuple<'m> {
    Operand(&'m Operand),
    Var(Var),
}

/// The condition of a branch.
#[derive(Debug, Clone, Copy)]
pub(super) enum Question<'m> {
    Form(&'m form::Test),
    Compare(Operation, &'m Operand, &'m Operand),
}

/// A function, laid out.
#[derive(Debug)]
pub(super) struct Flat<'m> {
    pub ops: Vec<Op<'m>>,
    /// The number of variables.
    pub variables: u32,
}

/// Where control goes at the end of a block.
#[derive(Debug, Clone, Copy)]
struct Ways {
    /// The next block of the enclosing choice.
    fail: Option<Label>,
    /// The variable of the nested block, and the place where control continues.
    into: Option<(Var, Label)>,
}

/// Facts about a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Tuple(u32),
    Cons,
}

/// Flattens a function. Labels are allocated from `labels` on.
pub(super) fn flatten<'m>(function: &'m form::Function, labels: &mut Label) -> Flat<'m> {
    let mut flattening = Flattening {
        ops: Vec::new(),
        labels,
        variables: function.variables.max(function.arity),
        known: HashMap::new(),
    };
    flattening.block(&function.body, Ways { fail: None, into: None });
    let mut flat = Flat { ops: flattening.ops, variables: flattening.variables };
    join_comparisons(&mut flat);
    flat
}

/// Merges a comparison into the test behind it if that test is its only use.
fn join_comparisons(flat: &mut Flat<'_>) {
    let mut uses = vec![0_u32; flat.variables as usize];
    flat.ops.iter().for_each(|op| op.uses(&mut |var| uses[var.0 as usize] += 1));
    for at in 1..flat.ops.len() {
        let Op::Test { test: Question::Form(form::Test::IsTrue(Operand::Var(tested))), otherwise } = flat.ops[at]
        else {
            continue;
        };
        let Op::Step { var, value: Work::Operation(operation, [a, b]), .. } = flat.ops[at - 1] else { continue };
        let compares = matches!(
            operation,
            Operation::Equal
                | Operation::NotEqual
                | Operation::Identical
                | Operation::NotIdentical
                | Operation::Less
                | Operation::AtMost
                | Operation::Greater
                | Operation::AtLeast
        );
        if compares && var == *tested && uses[var.0 as usize] == 1 {
            flat.ops[at] = Op::Test { test: Question::Compare(operation, a, b), otherwise };
            flat.ops[at - 1] = Op::Nothing;
        }
    }
}

struct Flattening<'m, 'l> {
    ops: Vec<Op<'m>>,
    labels: &'l mut Label,
    variables: u32,
    known: HashMap<Var, Shape>,
}

impl<'m> Flattening<'m, '_> {
    fn label(&mut self) -> Label {
        *self.labels += 1;
        *self.labels - 1
    }

    /// Iterates over the ends of blocks, so that long rows of tests need no stack.
    fn block(&mut self, mut block: &'m Block, ways: Ways) {
        let mut learned = Vec::new();
        loop {
            for step in &block.steps {
                self.step(step);
            }
            match &block.end {
                End::Return(operand) => self.ops.push(match ways.into {
                    Some((var, to)) => Op::Give { var, from: operand, to },
                    None => Op::Return(operand),
                }),
                End::Tail(call, span) => self.ops.push(Op::Tail(call, *span)),
                End::Raise { reason, data, span } => {
                    self.ops.push(Op::Raise { reason, data: data.as_ref(), span: *span });
                }
                End::Fail => self.ops.push(match ways.fail {
                    Some(next) => Op::Jump(next),
                    None => Op::Raise { reason: "no_clause", data: None, span: Span::default() },
                }),
                End::If { test, then, otherwise } => {
                    if let Some(holds) = decided(test) {
                        block = if holds { then } else { otherwise };
                        continue;
                    }
                    match (&otherwise.end, ways.fail) {
                        (End::Fail, Some(next)) if otherwise.steps.is_empty() => {
                            self.ops.push(Op::Test { test: Question::Form(test), otherwise: next });
                            learned.extend(self.learn(test));
                            block = then;
                        }
                        _ => {
                            let label = self.label();
                            self.ops.push(Op::Test { test: Question::Form(test), otherwise: label });
                            let before = self.learn(test);
                            self.block(then, ways);
                            before.into_iter().for_each(|before| self.forget(before));
                            self.ops.push(Op::Label(label));
                            block = otherwise;
                        }
                    }
                    continue;
                }
                End::Switch { on, cases, otherwise } => {
                    if let Operand::Literal(on) = on {
                        let found = cases.iter().find(|(literal, _)| literal == on);
                        block = found.map_or(otherwise, |(_, block)| block);
                        continue;
                    }
                    let labelled: Vec<_> = cases.iter().map(|(literal, _)| (literal, self.label())).collect();
                    let other = self.label();
                    let starts: Vec<_> = labelled.iter().map(|(_, label)| *label).collect();
                    self.ops.push(Op::Switch { on, cases: labelled, otherwise: other });
                    for ((_, block), label) in cases.iter().zip(starts) {
                        self.ops.push(Op::Label(label));
                        self.block(block, ways);
                    }
                    self.ops.push(Op::Label(other));
                    block = otherwise;
                    continue;
                }
                End::Choice(blocks) => {
                    let Some((last, first)) = blocks.split_last() else { break };
                    for one in first {
                        let next = self.label();
                        self.block(one, Ways { fail: Some(next), ..ways });
                        self.ops.push(Op::Label(next));
                    }
                    block = last;
                    continue;
                }
            }
            break;
        }
        learned.into_iter().rev().for_each(|before| self.forget(before));
    }

    /// Records the result of a test. Returns the previous knowledge.
    fn learn(&mut self, test: &form::Test) -> Option<(Var, Option<Shape>)> {
        let (of, known) = match test {
            form::Test::IsTuple(Operand::Var(of), size) => (*of, Shape::Tuple(*size)),
            form::Test::IsTagged(Operand::Var(of), size, _) => (*of, Shape::Tuple(*size)),
            form::Test::IsCons(Operand::Var(of)) => (*of, Shape::Cons),
            _ => return None,
        };
        Some((of, self.known.insert(of, known)))
    }

    fn forget(&mut self, (of, before): (Var, Option<Shape>)) {
        match before {
            Some(known) => self.known.insert(of, known),
            None => self.known.remove(&of),
        };
    }

    fn is_known_shape(&self, of: &Operand, what: impl Fn(Shape) -> bool) -> bool {
        matches!(of, Operand::Var(of) if self.known.get(of).is_some_and(|known| what(*known)))
    }

    fn step(&mut self, step: &'m form::Step) {
        let (var, span) = (step.var, step.span);
        let value = match &step.value {
            Value::Call(call) => Work::Call(call),
            Value::Closure { function, arity, captured } => {
                Work::Closure { function, arity: arity + captured.len() as u32, captured }
            }
            Value::External { module, function, arity } => Work::External { module, function, arity: *arity },
            Value::Tuple(parts) => Work::Tuple(parts),
            Value::Cons(head, tail) => Work::Cons(head, tail),
            Value::Element(of, at) => {
                let sure = self.is_known_shape(of, |known| matches!(known, Shape::Tuple(size) if *at < size));
                Work::Element(of, *at, sure)
            }
            Value::SetElements(of, changes) => {
                let mut tuple = Tuple::Operand(of);
                for (place, (at, value)) in changes.iter().enumerate() {
                    let last = place + 1 == changes.len();
                    let into = if last { var } else { self.fresh() };
                    let value = Work::SetElement { of: tuple, at: *at, value };
                    self.ops.push(Op::Step { var: into, value, span });
                    tuple = Tuple::Var(into);
                }
                if changes.is_empty() {
                    let to = self.label();
                    self.ops.push(Op::Give { var, from: of, to });
                    self.ops.push(Op::Label(to));
                    self.ops.push(Op::Bind(var));
                }
                return;
            }
            Value::Head(of) => Work::Head(of, self.is_known_shape(of, |known| known == Shape::Cons)),
            Value::Tail(of) => Work::Tail(of, self.is_known_shape(of, |known| known == Shape::Cons)),
            Value::Operation(operation, args) => Work::Operation(*operation, args),
            Value::Nested(block) => {
                let join = self.label();
                self.block(block, Ways { fail: None, into: Some((var, join)) });
                self.ops.push(Op::Label(join));
                self.ops.push(Op::Bind(var));
                return;
            }
        };
        self.ops.push(Op::Step { var, value, span });
    }

    fn fresh(&mut self) -> Var {
        self.variables += 1;
        Var(self.variables - 1)
    }
}

/// The outcome of a test whose operands are constants.
fn decided(test: &form::Test) -> Option<bool> {
    use form::Test::{Equal, Identical, IsCons, IsFloat, IsNil, IsTagged, IsTrue, IsTuple};
    let constant = |operand: &'_ Operand| match operand {
        Operand::Literal(literal) => Some(literal.clone()),
        Operand::Var(_) => None,
    };
    Some(match test {
        IsTrue(of) => constant(of)? == Literal::atom("true"),
        Identical(a, b) => constant(a)? == constant(b)?,
        // Different constants may be equal numbers.
        Equal(a, b) => return (constant(a)? == constant(b)?).then_some(true),
        IsFloat(of) => matches!(constant(of)?, Literal::Float(_)),
        IsTuple(of, size) => matches!(constant(of)?, Literal::Tuple(parts) if parts.len() == *size as usize),
        IsTagged(of, size, tag) => match constant(of)? {
            Literal::Tuple(parts) => {
                parts.len() == *size as usize && parts.first() == Some(&Literal::Atom(tag.clone()))
            }
            _ => false,
        },
        IsNil(of) => matches!(constant(of)?, Literal::List(items) if items.is_empty()),
        IsCons(of) => matches!(constant(of)?, Literal::List(items) if !items.is_empty()),
    })
}
