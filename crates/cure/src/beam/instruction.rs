//! The BEAM instructions that Cure uses: [`super::emit`] makes them, [`super::encode`] (the file) and
//! [`super::assembly`] (the text) write them.
//!
//! None is newer than OTP 24 (opcode 176) and none constructs binaries, so that one file loads on OTP 24 to 28.

use num_traits::ToPrimitive;

use crate::ir::form::{Literal, Operation};

/// A place in the code. Numbered through the whole module, from 1.
pub(super) type Label = u32;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Register {
    /// One of the machine's; calls change them.
    X(u32),
    /// One in the function's frame.
    Y(u32),
}

/// What an instruction reads.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'m> {
    Register(Register),
    /// An integer that is no bignum on any machine.
    Integer(i64),
    Atom(&'m str),
    Nil,
    /// `{}`
    EmptyTuple,
    /// A constant of the module's table.
    Literal(&'m Literal),
    /// A function of another module, a constant too.
    External(Function<'m>),
}

/// A function by its full name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Function<'m> {
    pub module: &'m str,
    pub name: &'m str,
    pub arity: u32,
}

impl<'m> Function<'m> {
    /// A function of the module `erlang`.
    pub(super) fn erlang(name: &'static str, arity: u32) -> Function<'m> {
        Function { module: "erlang", name, arity }
    }
}

/// How a call goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// With the next instruction.
    Next,
    /// Returns to the caller; there is no frame.
    Return,
    /// Returns to the caller after removing the frame of this many slots.
    FrameReturn(u32),
}

/// Tests: on with the next instruction if they hold, else to a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    Less,
    AtLeast,
    Equal,
    NotEqual,
    Nil,
    Cons,
    Tuple,
    Arity,
    Tagged,
}

#[derive(Debug, Clone)]
pub(super) enum Instruction<'m> {
    Label(Label),
    /// The line of what follows; 0 for none.
    Line(u32),
    /// The start of a function: the error when no clause fits.
    FunctionInfo {
        name: &'m str,
        arity: u32,
    },
    Move(Source<'m>, Register),
    /// Allocates a frame; this many X registers stay live.
    Allocate {
        slots: u32,
        live: u32,
    },
    /// Slots of the frame get a value.
    Initialise(Vec<u32>),
    Deallocate(u32),
    Return,
    Jump(Label),
    Call(Label, u32, After),
    CallExternal(Function<'m>, After),
    /// The function is in the register after its arguments.
    CallFunction(u32),
    /// Room on the heap for words and functions.
    Heap {
        words: u32,
        functions: u32,
        live: u32,
    },
    PutList(Source<'m>, Source<'m>, Register),
    PutTuple(Vec<Source<'m>>, Register),
    /// A function of this module, by its place among those that are taken as values, with what it captures.
    MakeFunction {
        label: Label,
        lambda: u32,
        captured: Vec<Register>,
        into: Register,
    },
    /// From a register that is known to hold a tuple of more elements than this.
    Element(Register, u32, Register),
    /// From a register that is known to hold a list cell.
    Head(Register, Register),
    /// From a register that is known to hold a list cell.
    Tail(Register, Register),
    /// A function of `erlang` that needs no heap; one or two arguments.
    Simple(&'static str, Vec<Source<'m>>, Register),
    /// A function of `erlang` that may collect garbage; this many X registers stay live.
    Collecting(&'static str, u32, Vec<Source<'m>>, Register),
    Test(Test, Label, Vec<Source<'m>>),
    /// To the label of an equal integer or atom, else to the first one.
    Select(Register, Label, Vec<(Source<'m>, Label)>),
}

/// The function of `erlang` that an operation is, if it is one.
pub(super) fn operator(operation: Operation) -> &'static str {
    match operation {
        Operation::Add => "+",
        Operation::Subtract | Operation::Negate => "-",
        Operation::Multiply => "*",
        Operation::Quotient => "div",
        Operation::Remainder => "rem",
        Operation::Divide => "/",
        Operation::Equal => "=:=",
        Operation::NotEqual => "=/=",
        Operation::Less => "<",
        Operation::AtMost => "=<",
        Operation::Greater => ">",
        Operation::AtLeast => ">=",
        Operation::Not => "not",
        Operation::Append => "++",
        Operation::Without => "--",
        Operation::Length => "length",
        Operation::Join => "iolist_to_binary",
    }
}

/// A constant as instructions read it.
pub(super) fn constant(literal: &Literal) -> Source<'_> {
    /// Integers of up to this many bits are not bignums on 64-bit machines.
    const SMALL: u32 = 59;
    match literal {
        Literal::Int(value) => match value.to_i64() {
            Some(small) if (-(1_i64 << SMALL)..1_i64 << SMALL).contains(&small) => Source::Integer(small),
            _ => Source::Literal(literal),
        },
        Literal::Atom(name) => Source::Atom(name),
        Literal::List(items) if items.is_empty() => Source::Nil,
        Literal::Tuple(parts) if parts.is_empty() => Source::EmptyTuple,
        _ => Source::Literal(literal),
    }
}
