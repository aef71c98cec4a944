//! Instruction selection for a flattened function ([`super::flat`]) whose variables have registers
//! ([`super::registers`]).
//!
//! The BEAM does not check code: when it collects garbage, it treats every X register below the live count as a value.
//! So the emitter tracks which registers hold a value ([`Emitter::valid`]) and initializes the other registers below
//! the count.

use std::collections::HashMap;

use super::encode::Table;
use super::flat::{Flat, Op, Tuple, Work};
use super::instruction::{After, Function, Instruction, Label, Register, Source, constant, operator};
use super::registers::{Places, Valid, position};
use crate::diagnostic::Span;
use crate::ir::form::{self, Call, Operand, Operation, Var};

/// State that the functions of a module share during emission.
pub(super) struct Surroundings<'m> {
    pub module: &'m str,
    /// Where each function begins.
    pub entries: HashMap<(&'m str, u32), Label>,
    /// The functions that are used as values.
    pub lambdas: Table<Lambda<'m>>,
    /// The maximal number of arguments of a call.
    pub most_arguments: usize,
    /// The next free label.
    pub labels: Label,
    /// Returns the line of a source position; 0 if unknown.
    pub line: &'m dyn Fn(Span) -> u32,
}

/// A function that is used as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Lambda<'m> {
    pub name: &'m str,
    /// The number of parameters, captured variables included.
    pub arity: u32,
    /// The number of captured variables.
    pub captured: u32,
    pub entry: Label,
}

/// Writes one function's instructions.
pub(super) fn emit<'m>(
    function: &'m form::Function,
    flat: &Flat<'m>,
    places: &Places,
    around: &mut Surroundings<'m>,
    out: &mut Vec<Instruction<'m>>,
) {
    let mut emitter = Emitter {
        places,
        around,
        out,
        valid: Valid::first_registers(function.arity),
        open: Vec::new(),
        now: 0,
        reserved: 0,
        line: 0,
        span: function.span,
    };
    emitter.enter(function.arity);
    for (at, op) in flat.ops.iter().enumerate() {
        emitter.now = position(at);
        let now = emitter.now;
        emitter.open.retain(|(last, _)| *last >= now);
        if at >= emitter.reserved {
            emitter.reserve(&flat.ops[at..], at);
        }
        emitter.op(op);
        if let Some(var) = op.defines() {
            emitter.opens(var);
        }
    }
}

pub(super) struct Emitter<'m, 'e> {
    places: &'e Places,
    pub(super) around: &'e mut Surroundings<'m>,
    out: &'e mut Vec<Instruction<'m>>,
    /// The X registers that hold a value here.
    valid: Valid,
    /// The X registers of live variables, and the ends of their lives.
    open: Vec<(u32, u32)>,
    now: u32,
    /// The operation up to which heap space is already allocated.
    reserved: usize,
    /// The line of the last line instruction.
    line: u32,
    span: Span,
}

impl<'m> Emitter<'m, '_> {
    pub(super) fn push(&mut self, instruction: Instruction<'m>) {
        self.out.push(instruction);
    }

    fn opens(&mut self, var: Var) {
        if let Some(Register::X(x)) = self.places.home(var) {
            self.open.push((self.places.last(var), x));
        }
    }

    /// Allocates the frame and moves the parameters that live in it.
    fn enter(&mut self, arity: u32) {
        let mut given = Vec::new();
        if let Some(slots) = self.places.frame {
            self.push(Instruction::Allocate { slots, live: arity });
            for param in 0..arity {
                if let Some(Register::Y(slot)) = self.places.home(Var(param)) {
                    self.push(Instruction::Move(Source::Register(Register::X(param)), Register::Y(slot)));
                    given.push(slot);
                }
            }
            let rest: Vec<u32> = (0..slots).filter(|slot| !given.contains(slot)).collect();
            if !rest.is_empty() {
                self.push(Instruction::Initialise(rest));
            }
        }
        (0..arity).for_each(|param| self.opens(Var(param)));
    }

    /// The live count for this instruction; makes all registers below it valid.
    fn live(&mut self) -> u32 {
        let live = self.open.iter().map(|(_, x)| x + 1).max().unwrap_or(0);
        for x in 0..live {
            if !self.valid.has(x) {
                self.push(Instruction::Move(Source::Nil, Register::X(x)));
                self.valid.add(x);
            }
        }
        self.valid = self.valid.up_to(live);
        live
    }

    /// Allocates heap space for a run of operations that cannot collect garbage themselves.
    fn reserve(&mut self, ops: &[Op<'m>], at: usize) {
        let (mut words, mut functions) = (0, 0);
        for (ahead, op) in ops.iter().enumerate() {
            match op {
                Op::Step { value: Work::Tuple(parts), .. } if !parts.is_empty() => words += parts.len() as u32 + 1,
                Op::Step { value: Work::Cons(..), .. } => words += 2,
                Op::Step { value: Work::Closure { captured, .. }, .. } => {
                    words += captured.len() as u32;
                    functions += 1;
                }
                Op::Step { value: Work::Tuple(_) | Work::External { .. }, .. } | Op::Nothing => {}
                _ => break,
            }
            self.reserved = at + ahead + 1;
        }
        if words + functions > 0 {
            let live = self.live();
            self.push(Instruction::Heap { words, functions, live });
        }
    }

    pub(super) fn source(&self, operand: &'m Operand) -> Source<'m> {
        match operand {
            Operand::Var(var) => Source::Register(self.register(*var)),
            Operand::Literal(literal) => constant(literal),
        }
    }

    fn register(&self, var: Var) -> Register {
        self.places.home(var).expect("a variable that is read has a place")
    }

    fn sources(&self, operands: &'m [Operand]) -> Vec<Source<'m>> {
        operands.iter().map(|operand| self.source(operand)).collect()
    }

    /// The operand in a register; a constant is moved to one.
    pub(super) fn in_register(&mut self, operand: &'m Operand) -> Register {
        match self.source(operand) {
            Source::Register(register) => register,
            constant => {
                let register = Register::X(self.places.above);
                self.push(Instruction::Move(constant, register));
                register
            }
        }
    }

    /// The register for this step's value; an unused value goes to a register that is not live.
    fn result_register(&mut self, var: Var) -> Register {
        let home = self.places.home(var).unwrap_or(Register::X(self.places.above));
        if let Register::X(x) = home {
            self.valid.add(x);
        }
        home
    }

    fn line(&mut self, span: Span) {
        let span = if span == Span::default() { self.span } else { span };
        let line = (self.around.line)(span);
        if line != self.line {
            self.line = line;
            self.push(Instruction::Line(line));
        }
    }

    fn op(&mut self, op: &Op<'m>) {
        match op {
            Op::Step { var, value, span } => self.step(*var, *value, *span),
            Op::Give { var, from, to } => {
                let from = self.source(from);
                if let Some(home) = self.places.home(*var) {
                    self.put(from, home);
                }
                self.push(Instruction::Jump(*to));
            }
            Op::Bind(var) => {
                if let Some(Register::X(x)) = self.places.home(*var) {
                    self.valid.add(x);
                }
            }
            Op::Label(label) => {
                if matches!(self.out.last(), Some(Instruction::Jump(to)) if to == label) {
                    self.out.pop();
                }
                self.push(Instruction::Label(*label));
                self.valid = Valid::default();
                for (_, x) in &self.open {
                    self.valid.add(*x);
                }
                self.line = 0;
            }
            Op::Jump(to) => self.push(Instruction::Jump(*to)),
            Op::Test { test, otherwise } => self.test(*test, *otherwise),
            Op::Switch { on, cases, otherwise } => self.switch(on, cases, *otherwise),
            Op::Return(operand) => {
                let from = self.source(operand);
                self.put(from, Register::X(0));
                if let Some(slots) = self.places.frame {
                    self.push(Instruction::Deallocate(slots));
                }
                self.push(Instruction::Return);
            }
            Op::Tail(call, span) => {
                let after = self.places.frame.map_or(After::Return, After::FrameReturn);
                self.call(call, after, *span);
            }
            Op::Raise { reason, data, span } => self.raise(reason, *data, *span),
            Op::Nothing => {}
        }
    }

    fn put(&mut self, from: Source<'m>, to: Register) {
        if !matches!(from, Source::Register(register) if register == to) {
            self.push(Instruction::Move(from, to));
        }
    }

    fn raise(&mut self, reason: &'m str, data: Option<&'m Operand>, span: Span) {
        match data {
            None => self.push(Instruction::Move(Source::Atom(reason), Register::X(0))),
            Some(data) => {
                let data = self.source(data);
                let live = self.live();
                self.push(Instruction::Heap { words: 3, functions: 0, live });
                self.push(Instruction::PutTuple(vec![Source::Atom(reason), data], Register::X(0)));
            }
        }
        self.line(span);
        let after = if self.places.frame.is_some() { After::Next } else { After::Return };
        self.push(Instruction::CallExternal(Function::erlang("error", 1), after));
    }

    fn step(&mut self, var: Var, value: Work<'m>, span: Span) {
        match value {
            Work::Call(call) => {
                self.call(call, After::Next, span);
                self.returned(var);
            }
            Work::SetElement { of, at, value } => {
                let of = match of {
                    Tuple::Operand(of) => self.source(of),
                    Tuple::Var(of) => Source::Register(self.register(of)),
                };
                let args = vec![Source::Integer(i64::from(at) + 1), of, self.source(value)];
                self.call_erlang("setelement", args, span);
                self.returned(var);
            }
            Work::Operation(operation @ (Operation::Append | Operation::Without | Operation::Join), args) => {
                let args = self.sources(args);
                self.call_erlang(operator(operation), args, span);
                self.returned(var);
            }
            Work::Operation(operation, args) => self.operation(operation, args, var, span),
            Work::Closure { function: name, arity, captured } => {
                let captured: Vec<_> = captured.iter().map(|var| self.register(*var)).collect();
                let label = self.around.entries[&(name, arity)];
                let lambda = Lambda { name, arity, captured: captured.len() as u32, entry: label };
                let lambda = self.around.lambdas.index_of(lambda);
                let into = self.result_register(var);
                self.push(Instruction::MakeFunction { label, lambda, captured, into });
            }
            Work::External { module, function: name, arity } => {
                let into = self.result_register(var);
                self.push(Instruction::Move(Source::External(Function { module, name, arity }), into));
            }
            Work::Tuple(parts) => {
                let parts = self.sources(parts);
                let into = self.result_register(var);
                self.push(if parts.is_empty() {
                    Instruction::Move(Source::EmptyTuple, into)
                } else {
                    Instruction::PutTuple(parts, into)
                });
            }
            Work::Cons(head, tail) => {
                let (head, tail) = (self.source(head), self.source(tail));
                let into = self.result_register(var);
                self.push(Instruction::PutList(head, tail, into));
            }
            Work::Element(of, at, true) => {
                let of = self.in_register(of);
                let into = self.result_register(var);
                self.push(Instruction::Element(of, at, into));
            }
            Work::Head(of, true) => {
                let of = self.in_register(of);
                let into = self.result_register(var);
                self.push(Instruction::Head(of, into));
            }
            Work::Tail(of, true) => {
                let of = self.in_register(of);
                let into = self.result_register(var);
                self.push(Instruction::Tail(of, into));
            }
            Work::Element(of, at, false) => {
                let args = vec![Source::Integer(i64::from(at) + 1), self.source(of)];
                self.simple("element", args, var, span);
            }
            Work::Head(of, false) => self.simple("hd", vec![self.source(of)], var, span),
            Work::Tail(of, false) => self.simple("tl", vec![self.source(of)], var, span),
        }
    }

    fn simple(&mut self, name: &'static str, args: Vec<Source<'m>>, var: Var, span: Span) {
        self.line(span);
        let into = self.result_register(var);
        self.push(Instruction::Simple(name, args, into));
    }

    fn operation(&mut self, operation: Operation, args: &'m [Operand], var: Var, span: Span) {
        use Operation as O;
        let args = self.sources(args);
        let name = operator(operation);
        match operation {
            O::Equal
            | O::NotEqual
            | O::Identical
            | O::NotIdentical
            | O::Less
            | O::AtMost
            | O::Greater
            | O::AtLeast
            | O::Not => {
                self.simple(name, args, var, span);
            }
            _ => {
                let live = self.live();
                self.line(span);
                let into = self.result_register(var);
                self.push(Instruction::Collecting(name, live, args, into));
            }
        }
    }

    /// Moves the result of a call to its register.
    fn returned(&mut self, var: Var) {
        self.valid = Valid::first_registers(1);
        if let Some(home) = self.places.home(var) {
            self.put(Source::Register(Register::X(0)), home);
            if let Register::X(x) = home {
                self.valid.add(x);
            }
        }
    }

    fn call_erlang(&mut self, name: &'static str, args: Vec<Source<'m>>, span: Span) {
        let arity = args.len() as u32;
        self.arguments(args);
        self.line(span);
        self.push(Instruction::CallExternal(Function::erlang(name, arity), After::Next));
    }

    fn call(&mut self, call: &'m Call, after: After, span: Span) {
        let (module, name, args) = match call {
            Call::Local { function, args } => (self.around.module, &**function, args),
            Call::Remote { module, function, args } => (&**module, &**function, args),
            Call::Apply { function, args } => {
                let mut sources = self.sources(args);
                sources.push(self.source(function));
                self.arguments(sources);
                self.line(span);
                self.push(Instruction::CallFunction(args.len() as u32));
                if let After::FrameReturn(slots) = after {
                    self.push(Instruction::Deallocate(slots));
                    self.push(Instruction::Return);
                }
                return;
            }
        };
        let arity = args.len() as u32;
        let sources = self.sources(args);
        self.arguments(sources);
        self.line(span);
        let entry = if module == self.around.module { self.around.entries.get(&(name, arity)).copied() } else { None };
        self.push(match entry {
            Some(entry) => Instruction::Call(entry, arity, after),
            None => Instruction::CallExternal(Function { module, name, arity }, after),
        });
    }

    /// Moves arguments to the argument registers in parallel. No other value lives in X registers at this point.
    fn arguments(&mut self, sources: Vec<Source<'m>>) {
        self.around.most_arguments = self.around.most_arguments.max(sources.len());
        let spare = Register::X(self.places.above.max(sources.len() as u32));
        let places = sources.into_iter().enumerate().map(|(at, from)| (from, Register::X(at as u32)));
        let same = |from: &Source<'_>, to: Register| matches!(from, Source::Register(from) if *from == to);
        let mut open: Vec<(Source<'m>, Register)> = places.filter(|(from, to)| !same(from, *to)).collect();
        while !open.is_empty() {
            let free = |(_, to): &(Source<'_>, Register)| !open.iter().any(|(from, _)| same(from, *to));
            match open.iter().position(free) {
                Some(at) => {
                    let (from, to) = open.swap_remove(at);
                    self.push(Instruction::Move(from, to));
                }
                // The moves form a cycle: one value goes to a spare register.
                None => {
                    let (_, held) = open[0];
                    self.push(Instruction::Move(Source::Register(held), spare));
                    for (from, _) in open.iter_mut().filter(|(from, _)| same(from, held)) {
                        *from = Source::Register(spare);
                    }
                }
            }
        }
    }
}
