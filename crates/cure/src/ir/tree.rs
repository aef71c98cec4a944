//! A checked program: syntax with names resolved, classes replaced by dictionaries, and types erased. The checker makes
//! it, the lowering reads it.

use crate::diagnostic::Span;
use crate::ir::form::{Literal, Operation};
use crate::syntax::ast::Name;

/// A variable of a function.
pub(crate) type VarId = u32;

/// The placeholder for a dictionary that is known only when the whole function has been checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Hole(pub u32);

/// A checked expression.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    /// Its form.
    pub kind: TreeKind,
    pub span: Span,
}

/// The forms of checked expressions.
#[derive(Debug, Clone)]
pub(crate) enum TreeKind {
    Literal(Literal),
    Var(VarId),
    Dict(Hole),
    /// A function of this module.
    Local(Name, Vec<Tree>),
    /// A function of another module.
    Remote(Name, Name, Vec<Tree>),
    /// A function value.
    Apply(Box<Tree>, Vec<Tree>),
    /// A call of a method: the element of a dictionary.
    Method(Hole, u32, Vec<Tree>),
    /// A method as a value.
    MethodValue(Hole, u32),
    /// A function of this module as a value: name, arity and the dictionaries it takes first.
    LocalValue(Name, u32, Vec<Tree>),
    /// A function of another module as a value.
    RemoteValue(Name, Name, u32, Vec<Tree>),
    /// A lambda.
    Lambda(Vec<VarId>, Box<Tree>),
    Tuple(Vec<Tree>),
    /// A list with a tail.
    List(Vec<Tree>, Option<Box<Tree>>),
    /// An operation of the machine.
    Operation(Operation, Vec<Tree>),
    /// A record's field, counted from 0 among the elements of its tuple.
    Element(Box<Tree>, u32),
    /// A tuple with elements replaced.
    SetElements(Box<Tree>, Vec<(u32, Tree)>),
    /// `if` and the short-circuit operators.
    If(Box<Tree>, Box<Tree>, Box<Tree>),
    /// `let`s, then the value.
    Block(Vec<(Shape, Tree)>, Box<Tree>),
    Match(Box<Tree>, Vec<Branch>),
}

/// A clause of a match or of a function.
#[derive(Debug, Clone)]
pub(crate) struct Branch {
    /// Its pattern.
    pub shape: Shape,
    pub guard: Option<Tree>,
    pub body: Tree,
}

/// A checked pattern.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    Any,
    /// Anything, into a variable.
    Bind(VarId),
    /// A value equal to a variable bound further left.
    Same(VarId),
    /// This constant.
    Literal(Literal),
    /// A positive integer; the shape applies to its predecessor.
    Succ(Box<Shape>),
    Tuple(Vec<Shape>),
    /// A record or constructor: the tag and the elements behind it.
    Tagged(Name, Vec<Shape>),
    /// The empty list.
    Nil,
    /// A list cell.
    Cons(Box<Shape>, Box<Shape>),
}

/// A checked function.
#[derive(Debug, Clone)]
pub(crate) struct CheckedFunction {
    /// Its name on the BEAM.
    pub name: Name,
    /// Its parameters, dictionaries first.
    pub params: Vec<VarId>,
    /// The number of variables so far.
    pub variables: u32,
    /// The function's body.
    pub body: Tree,
    /// Where it is defined.
    pub span: Span,
}

/// How a dictionary is obtained.
#[derive(Debug, Clone)]
pub(crate) enum Dictionary {
    /// A parameter of the function.
    Param(VarId),
    /// The dictionary of a superclass: an element of this one.
    Super(Box<Dictionary>, u32),
    /// An instance: the function that builds its dictionary, in this or another module, and its arguments.
    Instance { module: Name, function: Name, args: Vec<Dictionary> },
}
