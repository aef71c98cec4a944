//! The BEAM instructions that Cure uses: [`super::emit`] selects them, [`super::encode`] (the file) and
//! [`super::assembly`] (the text) write them.
//!
//! None is newer than OTP 24 (opcode 176) and none constructs binaries, so that one file loads on OTP 24 to 28.

use num_traits::ToPrimitive;

use crate::ir::form::{Literal, Operation};

/// A label. Labels are numbered from 1 through the whole module.
pub(super) type Label = u32;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Register {
    /// A machine register; calls overwrite it.
    X(u32),
    /// A slot of the function's frame.
    Y(u32),
}

/// An operand.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'m> {
    Register(Register),
    /// An integer that is not a bignum on any machine.
    Integer(i64),
    Atom(&'m str),
    Nil,
    /// `{}`
    EmptyTuple,
    /// A constant from the module's literal table.
    Literal(&'m Literal),
    /// A function of another module, also a literal.
    External(Function<'m>),
}

/// A function by module, name and arity.
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

/// Continuation of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// The next instruction follows.
    Next,
    /// Returns to the caller without a frame.
    Return,
    /// Returns to the caller after deallocating a frame of this many slots.
    FrameReturn(u32),
}

/// Tests: fall through if they hold, else jump to a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    Less,
    AtLeast,
    Equal,
    NotEqual,
    /// Equal, including the types.
    Identical,
    NotIdentical,
    Float,
    Nil,
    Cons,
    Tuple,
    Arity,
    Tagged,
}

#[derive(Debug, Clone)]
pub(super) enum Instruction<'m> {
    Label(Label),
    /// The line of the following code; 0 for none.
    Line(u32),
    /// The start of a function, and the error when no clause matches.
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
    /// Initializes slots of the frame.
    Initialise(Vec<u32>),
    Deallocate(u32),
    Return,
    Jump(Label),
    Call(Label, u32, After),
    CallExternal(Function<'m>, After),
    /// Calls the function in the register after the arguments.
    CallFunction(u32),
    /// Reserves heap space for words and functions.
    Heap {
        words: u32,
        functions: u32,
        live: u32,
    },
    PutList(Source<'m>, Source<'m>, Register),
    PutTuple(Vec<Source<'m>>, Register),
    /// A function of this module, by its index among the functions used as values, with its captured values.
    MakeFunction {
        label: Label,
        lambda: u32,
        captured: Vec<Register>,
        into: Register,
    },
    /// From a register that is known to hold a tuple with more elements than this.
    Element(Register, u32, Register),
    /// From a register that is known to hold a list cell.
    Head(Register, Register),
    /// From a register that is known to hold a list cell.
    Tail(Register, Register),
    /// A function of `erlang` that allocates no heap; one or two arguments.
    Simple(&'static str, Vec<Source<'m>>, Register),
    /// A function of `erlang` that may collect garbage; this many X registers stay live.
    Collecting(&'static str, u32, Vec<Source<'m>>, Register),
    Test(Test, Label, Vec<Source<'m>>),
    /// Jumps to the label of an equal integer or atom, else to the first label.
    Select(Register, Label, Vec<(Source<'m>, Label)>),
}

/// The function of `erlang` that implements an operation, if there is one.
pub(super) fn operator(operation: Operation) -> &'static str {
    match operation {
        Operation::Add => "+",
        Operation::Subtract | Operation::Negate => "-",
        Operation::Multiply => "*",
        Operation::Quotient => "div",
        Operation::Remainder => "rem",
        Operation::Divide => "/",
        Operation::Equal => "==",
        Operation::NotEqual => "/=",
        Operation::Identical => "=:=",
        Operation::NotIdentical => "=/=",
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

/// A constant as an operand.
pub(super) fn constant(literal: &Literal) -> Source<'_> {
    /// The maximal size in bits of integers that are not bignums on 64-bit machines.
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
