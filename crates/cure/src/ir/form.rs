//! The core form: a checked program as the interpreter and the writer of BEAM files read it.
//!
//! A program in it has no types, classes, patterns or nested expressions left. Each function is a [`Block`]: steps
//! that each compute one value into a variable, then an [`End`]. Arguments are variables or literals only, so the
//! single place where something waits for a value is a [`Step`]. Closures are lifted: a [`Value::Closure`] names a
//! function of the same module and the variables it takes along.
//!
//! Values are those of the BEAM: records are tuples `{'Name', F1, …}`, constructors `{tag, …}` with the first letter
//! of the name lowered (a constructor without fields is the tuple `{tag}`), unit is the atom `unit`, strings are UTF-8
//! binaries, dictionaries of classes are tuples of functions.

use std::sync::Arc;

use num_bigint::BigInt;

use crate::diagnostic::Span;
use crate::syntax::ast::Name;

#[derive(Debug, Clone)]
pub struct Module {
    /// Its name, which is also the name of the BEAM module.
    pub name: Name,
    /// The exported functions: name and arity, including dictionary parameters.
    pub exports: Vec<(Name, u32)>,
    /// All functions, including those lifted from closures.
    pub functions: Vec<Function>,
    /// The state machines.
    pub machines: Vec<Machine>,
}

#[derive(Debug, Clone)]
pub struct Function {
    /// Its name; those of closures hold a `$` and cannot be written in Cure.
    pub name: Name,
    /// How many parameters it has: variables `0..arity`. For a closure's function the captured ones come last.
    pub arity: u32,
    /// The number of parameters that are captured variables.
    pub captured: u32,
    /// The total number of variables.
    pub variables: u32,
    /// The compiled body.
    pub body: Block,
    /// Where it is defined.
    pub span: Span,
}

/// A variable of a function, assigned once on each path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var(pub u32);

#[derive(Debug, Clone)]
pub enum Operand {
    Var(Var),
    Literal(Literal),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// An integer of any size.
    Int(BigInt),
    Float(f64),
    /// An atom; booleans and unit are atoms.
    Atom(Name),
    Binary(Arc<[u8]>),
    List(Vec<Literal>),
    Tuple(Vec<Literal>),
}

impl Literal {
    pub fn atom(name: &str) -> Literal {
        Literal::Atom(Name::from(name))
    }

    pub fn string(text: &str) -> Literal {
        Literal::Binary(text.as_bytes().into())
    }
}

/// Steps, then an end.
#[derive(Debug, Clone)]
pub struct Block {
    /// Run in order.
    pub steps: Vec<Step>,
    /// The end of the block.
    pub end: End,
}

/// One value into one variable.
#[derive(Debug, Clone)]
pub struct Step {
    /// Where the value goes.
    pub var: Var,
    pub value: Value,
    /// Its place in the source.
    pub span: Span,
}

/// The value that a step computes.
#[derive(Debug, Clone)]
pub enum Value {
    /// The value that a call returns.
    Call(Call),
    /// A function of this module with captured variables. Called with its own arguments, they come after those.
    Closure {
        function: Name,
        /// Its own parameters.
        arity: u32,
        /// The captured variables.
        captured: Vec<Var>,
    },
    /// A function of another module as a value.
    External {
        module: Name,
        function: Name,
        arity: u32,
    },
    Tuple(Vec<Operand>),
    /// A list cell: head and tail.
    Cons(Operand, Operand),
    /// The element of a tuple, counted from 0. The tuple is known to be long enough.
    Element(Operand, u32),
    /// A tuple with some elements (counted from 0) replaced.
    SetElements(Operand, Vec<(u32, Operand)>),
    /// The head of a list that is known to be a cell.
    Head(Operand),
    /// The tail of a list that is known to be a cell.
    Tail(Operand),
    /// An operation of the machine, without side effects.
    Operation(Operation, Vec<Operand>),
    /// The value of a block, whose variables live in the same function. No tail call and no `Fail` leaves it.
    Nested(Box<Block>),
}

#[derive(Debug, Clone)]
pub enum Call {
    /// A function of this module.
    Local { function: Name, args: Vec<Operand> },
    /// A function of another module: of Cure or of Erlang.
    Remote { module: Name, function: Name, args: Vec<Operand> },
    /// A function value.
    Apply {
        /// The function value.
        function: Operand,
        args: Vec<Operand>,
    },
}

/// Operations with the meaning of Erlang's built-in functions of the same arguments. Comparisons give the atoms
/// `true` and `false`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `div`: integers, truncating
    Quotient,
    /// `rem`: the sign of the dividend
    Remainder,
    /// `/`: floats
    Divide,
    /// `-` with one argument
    Negate,
    /// `==`: numbers by value, so that 0.0 and -0.0 are equal on every OTP
    Equal,
    /// `/=`
    NotEqual,
    /// `=:=`, where no float may stand: cheaper than `==`, and from OTP 27 on it tells 0.0 from -0.0
    Identical,
    /// `=/=`
    NotIdentical,
    /// `<`
    Less,
    /// `=<`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
    /// `not`
    Not,
    /// `erlang:'++'/2`
    Append,
    /// `erlang:'--'/2`
    Without,
    /// `length/1`
    Length,
    /// `iolist_to_binary/1` over a list of binaries
    Join,
}

/// How a block ends.
#[derive(Debug, Clone)]
pub enum End {
    /// The value of the function, or of the nested block.
    Return(Operand),
    /// A call whose value is the function's.
    Tail(Call, Span),
    /// One of two ways.
    If {
        /// The condition.
        test: Test,
        /// The branch if it holds.
        then: Box<Block>,
        /// The branch if it fails.
        otherwise: Box<Block>,
    },
    /// The way of the equal literal (integers, atoms and binaries, all different), or the other one.
    Switch {
        /// The scrutinee.
        on: Operand,
        /// The ways, by literal.
        cases: Vec<(Literal, Block)>,
        /// The other way.
        otherwise: Box<Block>,
    },
    /// The first block that does not come to a `Fail`. A `Fail` in the last one belongs to the choice outside.
    Choice(Vec<Block>),
    /// Continues with the next block of the nearest enclosing choice.
    Fail,
    /// An error of the Erlang class `error` with this reason: a reason without data is an atom, one with data a tuple
    /// `{reason, data}`.
    Raise {
        reason: Name,
        data: Option<Operand>,
        /// Where in the source.
        span: Span,
    },
}

/// A test of a value.
#[derive(Debug, Clone)]
pub enum Test {
    /// The value is the atom `true`.
    IsTrue(Operand),
    /// The two values are equal (`==`).
    Equal(Operand, Operand),
    /// The two values are equal, including their types (`=:=`).
    Identical(Operand, Operand),
    /// The value is a float.
    IsFloat(Operand),
    /// The value is a tuple of this many elements.
    IsTuple(Operand, u32),
    /// The value is a tuple of this many elements, and the first is this atom.
    IsTagged(Operand, u32, Name),
    /// The value is the empty list.
    IsNil(Operand),
    /// The value is a list cell.
    IsCons(Operand),
}

/// A state machine. Its guards and actions are functions of the module.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Its name in the source. Its BEAM module is `'Module.Name'`.
    pub name: Name,
    /// All states; the first one written or declared initial is `initial`.
    pub states: Vec<Name>,
    /// Where it starts.
    pub initial: Name,
    /// The states that may end.
    pub terminal: Vec<Name>,
    /// The payload's field names; with payload the data is the record tuple `{'Name', F1, …}`, else the atom `unit`.
    pub fields: Vec<Name>,
    /// A function of the module without parameters that gives the data at the start.
    pub initial_data: Name,
    /// In the order of the source; the first that fits fires.
    pub transitions: Vec<MachineTransition>,
}

#[derive(Debug, Clone)]
pub struct MachineTransition {
    /// From which state.
    pub from: Name,
    /// To which state.
    pub to: Name,
    /// Event or timeout that fires the transition.
    pub on: MachineTrigger,
    /// A function `(Data, EventData) -> true | false` of the module.
    pub guard: Option<Name>,
    /// A function `(Data, EventData) -> Data` of the module.
    pub action: Option<Name>,
}

/// Trigger of a transition.
#[derive(Debug, Clone)]
pub enum MachineTrigger {
    /// This event.
    Event(Name),
    /// This many milliseconds after entering the state.
    Timeout(u64),
}
