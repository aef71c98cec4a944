//! Instructions for branches: tests and jump tables.

use super::emit::Emitter;
use super::flat::Question;
use super::instruction::{Instruction, Label, Source, Test, constant};
use crate::ir::form::{self, Literal, Operand, Operation};

impl<'m> Emitter<'m, '_> {
    pub(super) fn test(&mut self, test: Question<'m>, otherwise: Label) {
        use form::Test as T;
        let (kind, args) = match test {
            Question::Compare(operation, a, b) => {
                let (a, b) = (self.in_register(a), self.source(b));
                let a = Source::Register(a);
                match operation {
                    Operation::Equal => (Test::Equal, vec![a, b]),
                    Operation::NotEqual => (Test::NotEqual, vec![a, b]),
                    Operation::NotIdentical => (Test::NotIdentical, vec![a, b]),
                    Operation::Less => (Test::Less, vec![a, b]),
                    Operation::AtMost => (Test::AtLeast, vec![b, a]),
                    Operation::Greater => (Test::Less, vec![b, a]),
                    Operation::AtLeast => (Test::AtLeast, vec![a, b]),
                    _ => (Test::Identical, vec![a, b]),
                }
            }
            Question::Form(T::IsTrue(of)) => (Test::Identical, vec![self.source(of), Source::Atom("true")]),
            Question::Form(T::Identical(a @ Operand::Literal(_), b)) => {
                (Test::Identical, vec![self.source(b), self.source(a)])
            }
            Question::Form(T::Identical(a, b)) => (Test::Identical, vec![self.source(a), self.source(b)]),
            Question::Form(T::Equal(a, b)) => {
                let a = self.in_register(a);
                (Test::Equal, vec![Source::Register(a), self.source(b)])
            }
            Question::Form(T::IsFloat(of)) => (Test::Float, vec![self.source(of)]),
            Question::Form(T::IsTuple(of, size)) => {
                let of = self.source(of);
                self.push(Instruction::Test(Test::Tuple, otherwise, vec![of]));
                (Test::Arity, vec![of, Source::Integer(i64::from(*size))])
            }
            Question::Form(T::IsTagged(of, size, tag)) => {
                let of = self.source(of);
                (Test::Tagged, vec![of, Source::Integer(i64::from(*size)), Source::Atom(tag)])
            }
            Question::Form(T::IsNil(of)) => (Test::Nil, vec![self.source(of)]),
            Question::Form(T::IsCons(of)) => (Test::Cons, vec![self.source(of)]),
        };
        self.push(Instruction::Test(kind, otherwise, args));
    }

    pub(super) fn switch(&mut self, on: &'m Operand, cases: &[(&'m Literal, Label)], otherwise: Label) {
        let on = self.in_register(on);
        let (mut numbers, mut atoms) = (Vec::new(), Vec::new());
        for (literal, label) in cases {
            match constant(literal) {
                number @ Source::Integer(_) => numbers.push((number, *label)),
                atom @ Source::Atom(_) => atoms.push((atom, *label)),
                // On to the case when they do not differ.
                other => self.push(Instruction::Test(Test::NotIdentical, *label, vec![Source::Register(on), other])),
            }
        }
        match (numbers.is_empty(), atoms.is_empty()) {
            (true, true) => self.push(Instruction::Jump(otherwise)),
            (false, true) => self.push(Instruction::Select(on, otherwise, numbers)),
            (true, false) => self.push(Instruction::Select(on, otherwise, atoms)),
            (false, false) => {
                let next = self.around.labels;
                self.around.labels += 1;
                self.push(Instruction::Select(on, next, numbers));
                self.push(Instruction::Label(next));
                self.push(Instruction::Select(on, otherwise, atoms));
            }
        }
    }
}
