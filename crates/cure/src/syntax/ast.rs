//! The abstract syntax that later stages read: owned, without punctuation, every node with its span. [`super::build`]
//! makes it from the tree; name resolution comes later.

use std::sync::Arc;

use num_bigint::BigInt;

use super::kind::SyntaxKind;
use crate::diagnostic::Span;

/// A name of anything.
pub type Name = Arc<str>;

/// A name and its span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ident {
    pub name: Name,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct Module {
    /// Its dotted name.
    pub name: Ident,
    /// The names in its export lists; `None` without a list.
    pub exports: Option<Vec<Export>>,
    /// Its items, in order.
    pub items: Vec<Item>,
    /// The span of the whole node.
    pub span: Span,
    /// The comments directly before it.
    pub doc: String,
}

/// One exported or imported name.
#[derive(Debug, Clone)]
pub struct Export {
    pub name: Ident,
    /// The number of parameters, if written.
    pub arity: Option<u32>,
    /// Its local name.
    pub alias: Option<Ident>,
}

/// An item of a module.
#[derive(Debug, Clone)]
pub enum Item {
    /// `import A.B [f/1]`
    Import(Import),
    /// `def`
    Def(Def),
    /// `curify`
    Curify(Curify),
    /// `record`
    Record(Record),
    /// `type`
    Type(TypeDef),
    /// `typeclass` and `trait`
    Class(Class),
    /// `instance` and `impl`
    Instance(Instance),
    /// `fsm`
    Fsm(Fsm),
}

/// `import A.B as C [f/1 as g]`
#[derive(Debug, Clone)]
pub struct Import {
    pub module: Ident,
    /// Its local alias.
    pub alias: Option<Ident>,
    /// The imported names; `None` for everything.
    pub names: Option<Vec<Export>>,
    /// The span of the whole node.
    pub span: Span,
}

/// One clause of a function.
#[derive(Debug, Clone)]
pub struct Def {
    /// The function's name.
    pub name: Ident,
    /// `<T: Eq + Show>`
    pub type_params: Vec<(Ident, Vec<Ident>)>,
    pub params: Vec<Param>,
    /// The result type.
    pub result: Option<Type>,
    /// `when`
    pub guard: Option<Expr>,
    /// `where`
    pub constraints: Vec<Constraint>,
    /// The body; methods of classes may have none.
    pub body: Option<Expr>,
    /// The span of the whole node.
    pub span: Span,
    /// The comments directly before it.
    pub doc: String,
}

/// `name: Type`
#[derive(Debug, Clone)]
pub struct Param {
    pub name: Ident,
    /// The type, if written.
    pub ty: Option<Type>,
}

/// `Eq(T)`
#[derive(Debug, Clone)]
pub struct Constraint {
    pub class: Ident,
    /// The constrained type.
    pub args: Vec<Type>,
    /// The span of the whole node.
    pub span: Span,
}

/// `curify f(l: List(Int)): Int = {erlang, length, 1}`
#[derive(Debug, Clone)]
pub struct Curify {
    /// The head, without a body.
    pub head: Def,
    /// The Erlang module.
    pub module: Name,
    /// The Erlang function.
    pub function: Name,
    pub arity: u32,
    /// The span of the target.
    pub target: Span,
}

/// `record P(T) do … end derive …`
#[derive(Debug, Clone)]
pub struct Record {
    pub name: Ident,
    /// Its type parameters.
    pub params: Vec<Ident>,
    pub fields: Vec<(Ident, Type)>,
    /// The classes it derives.
    pub derive: Vec<Ident>,
    /// The span of the whole node.
    pub span: Span,
    /// The comments directly before it.
    pub doc: String,
}

/// `type T(A) = …`
#[derive(Debug, Clone)]
pub struct TypeDef {
    pub name: Ident,
    /// Its type parameters.
    pub params: Vec<Ident>,
    /// Its definition.
    pub body: Type,
    /// A predicate over its values.
    pub guard: Option<Expr>,
    /// The classes it derives.
    pub derive: Vec<Ident>,
    /// The span of the whole node.
    pub span: Span,
    /// The comments directly before it.
    pub doc: String,
}

/// A class of types.
#[derive(Debug, Clone)]
pub struct Class {
    pub name: Ident,
    /// Its parameter: `Self` for a trait.
    pub params: Vec<Ident>,
    /// Its superclasses.
    pub supers: Vec<Constraint>,
    /// Its methods, some with a default.
    pub methods: Vec<Def>,
    /// The span of the whole node.
    pub span: Span,
    /// The comments directly before it.
    pub doc: String,
}

/// An instance of a class.
#[derive(Debug, Clone)]
pub struct Instance {
    /// The class and the type.
    pub head: Constraint,
    /// The constraints on the type's parameters.
    pub context: Vec<Constraint>,
    pub methods: Vec<Def>,
    /// The span of the whole node.
    pub span: Span,
}

/// A state machine.
#[derive(Debug, Clone)]
pub struct Fsm {
    pub name: Ident,
    /// Its data and their initial values.
    pub payload: Option<Vec<(Ident, Expr)>>,
    /// The states, if they are listed.
    pub states: Option<Vec<Ident>>,
    /// The initial state, if written.
    pub initial: Option<Ident>,
    /// The terminal states.
    pub terminal: Vec<Ident>,
    /// The states that have a block.
    pub blocks: Vec<Ident>,
    /// All transitions, in order.
    pub transitions: Vec<Transition>,
    /// The span of the whole node.
    pub span: Span,
    /// The comments directly before it.
    pub doc: String,
}

/// One transition of a machine.
#[derive(Debug, Clone)]
pub struct Transition {
    /// The source state.
    pub from: Ident,
    /// Its trigger.
    pub trigger: Trigger,
    /// Its guard.
    pub guard: Option<Expr>,
    /// The target state.
    pub to: Ident,
    /// Its updates of the payload: field and value.
    pub actions: Vec<(Ident, Expr)>,
    /// The span of the whole node.
    pub span: Span,
}

/// The trigger of a transition.
#[derive(Debug, Clone)]
pub enum Trigger {
    /// An event of this name.
    Event(Ident),
    /// A timeout, this many milliseconds after entering the state.
    Timeout(Expr),
}

/// A type as written.
#[derive(Debug, Clone)]
pub struct Type {
    /// Its form.
    pub kind: TypeKind,
    pub span: Span,
}

/// The forms of types.
#[derive(Debug, Clone)]
pub enum TypeKind {
    /// `List(Int, n)`
    Name(Name, Vec<Type>),
    /// `fn(A, B) -> C` and `A => B`
    Fn(Vec<Type>, Box<Type>),
    /// `A | B`
    Union(Vec<Type>),
    /// `{A, B}`
    Tuple(Vec<Type>),
    /// `{x: Int | x > 0}`
    Refined(Ident, Box<Type>, Box<Expr>),
    /// `n + 1` as an argument
    Len(Box<Expr>),
    /// Unparsable text.
    Missing,
}

#[derive(Debug, Clone)]
pub struct Expr {
    /// Its form.
    pub kind: ExprKind,
    pub span: Span,
}

/// The forms of expressions.
#[derive(Debug, Clone)]
pub enum ExprKind {
    /// `42`
    Int(BigInt),
    /// `1.5`
    Float(f64),
    /// `"text"`
    Str(String),
    /// `‘text’`
    Charlist(String),
    /// `:name`
    Atom(Name),
    /// `true`
    Bool(bool),
    /// `()`
    Unit,
    /// `"a#{b}c"`
    Interpolation(Vec<Piece>),
    /// `x`
    Name(Name),
    /// `f(x)`
    Call(Box<Expr>, Vec<Expr>),
    /// `e.field`, or a part of `A.B.f`
    Field(Box<Expr>, Ident),
    /// `[a, b | rest]`
    List(Vec<Expr>, Option<Box<Expr>>),
    /// `‹a, b›`
    Vector(Vec<Expr>),
    /// `{a, b}`
    Tuple(Vec<Expr>),
    /// `P{a: 1}`
    Record(Ident, Vec<(Ident, Expr)>),
    /// `P{p | a: 1}`
    Update(Ident, Box<Expr>, Vec<(Ident, Expr)>),
    /// `-x`
    Unary(SyntaxKind, Box<Expr>),
    /// `a + b`, with the operator's place
    Binary(SyntaxKind, Span, Box<Expr>, Box<Expr>),
    /// `a ++ b ++ …`, longer than trees are deep
    Chain(SyntaxKind, Span, Vec<Expr>),
    /// `e as T`
    As(Box<Expr>, Type),
    /// Statements; the last one is the value.
    Block(Vec<Stmt>),
    /// `fn(x) -> e end`
    Lambda(Vec<Param>, Box<Expr>),
    /// `match e do … end`
    Match(Box<Expr>, Vec<Clause>),
    /// `if c then a else b`
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Unparsable text.
    Missing,
}

/// A part of a string with interpolations.
#[derive(Debug, Clone)]
pub enum Piece {
    Text(String),
    Value(Expr),
}

/// A statement of a block.
#[derive(Debug, Clone)]
pub enum Stmt {
    /// `let pattern: Type = value`
    Let(Pattern, Option<Type>, Expr),
    Expr(Expr),
}

/// A clause of a match.
#[derive(Debug, Clone)]
pub struct Clause {
    /// Its pattern.
    pub pattern: Pattern,
    /// `when`
    pub guard: Option<Expr>,
    pub body: Expr,
    /// The span of the whole node.
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct Pattern {
    /// Its form.
    pub kind: PatternKind,
    pub span: Span,
}

/// The forms of patterns.
#[derive(Debug, Clone)]
pub enum PatternKind {
    /// `_`
    Wild,
    /// A variable, or a constructor without fields.
    Name(Name),
    Int(BigInt),
    /// A float.
    Float(f64),
    Str(String),
    /// A character list.
    Charlist(String),
    Atom(Name),
    /// `true`
    Bool(bool),
    /// `()`
    Unit,
    /// `[a, b | rest]` and `‹a, b›`
    List(Vec<Pattern>, Option<Box<Pattern>>),
    /// `{a, b}`
    Tuple(Vec<Pattern>),
    /// `Circle(r)`
    Ctor(Ident, Vec<Pattern>),
    /// `P{a: x}`
    Record(Ident, Vec<(Ident, Pattern)>),
    /// Unparsable text.
    Missing,
}
