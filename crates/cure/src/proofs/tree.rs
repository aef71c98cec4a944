//! The programs that are made, as a tree of their own: nothing here is shared with the compiler. [`super::write`] makes
//! text of it, [`super::evaluate`] says what it is worth.

use std::collections::BTreeSet;
use std::rc::Rc;

use num_bigint::BigInt;

/// A type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Type {
    Int,
    Float,
    Bool,
    Text,
    Atom,
    Unit,
    Ordering,
    List(Box<Type>),
    Vector(Box<Type>, usize),
    Tuple(Vec<Type>),
    Option(Box<Type>),
    Result(Box<Type>, Box<Type>),
    /// A record or sum type of the program with its arguments.
    Named(usize, Vec<Type>),
    Fn(Vec<Type>, Box<Type>),
    /// One of [`REFINEMENTS`].
    Refined(usize),
    Param(&'static str),
}

/// A refinement of Int.
pub(crate) struct Refinement {
    pub name: &'static str,
    /// Its definition; none for one that the language has.
    pub definition: Option<&'static str>,
    /// Numbers for which it holds.
    pub samples: &'static [i64],
}

/// The refinements that programs use.
pub(crate) const REFINEMENTS: &[Refinement] = &[
    Refinement { name: "Above", definition: Some("{x: Int | x > 0}"), samples: &[1, 2, 7, 1000] },
    Refinement { name: "NonZero", definition: Some("{x: Int | x != 0}"), samples: &[-9, -1, 1, 3] },
    Refinement { name: "Small", definition: Some("{x: Int | x >= 0 and x < 10}"), samples: &[0, 1, 4, 9] },
    Refinement { name: "Nat", definition: None, samples: &[0, 1, 12, 99] },
    Refinement { name: "Far", definition: Some("{x: Int | x > 9 or x < 0 - 9}"), samples: &[-100, -10, 10, 31] },
    Refinement { name: "Even", definition: Some("{x: Int | x % 2 == 0}"), samples: &[-4, 0, 2, 28] },
];

pub(crate) const ABOVE: usize = 0;
pub(crate) const NONZERO: usize = 1;
pub(crate) const SMALL: usize = 2;
pub(crate) const NAT: usize = 3;

/// An expression.
#[derive(Debug, Clone)]
pub(crate) enum Expr {
    Int(BigInt),
    Float(f64),
    Bool(bool),
    Text(String),
    Atom(String),
    Unit,
    Var(String),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    Let(Vec<(Pattern, Option<Type>, Expr)>, Box<Expr>),
    Match(Box<Expr>, Vec<Clause>),
    List(Vec<Expr>, Option<Box<Expr>>),
    Vector(Vec<Expr>),
    Tuple(Vec<Expr>),
    /// A constructor; whether a nullary one has parentheses.
    Construct(String, Vec<Expr>, bool),
    /// A record of a type, the fields by their place in its definition, in the order in which they are written.
    Record(usize, Vec<(usize, Expr)>),
    Update(usize, Box<Expr>, Vec<(usize, Expr)>),
    Field(usize, usize, Box<Expr>),
    /// A function of the program, the types for its parameters, its arguments.
    Call(usize, Vec<Type>, Vec<Expr>),
    /// A function of the library or of [`super::templates`], by name.
    Native(&'static str, Vec<Expr>),
    Apply(Box<Expr>, Vec<Expr>),
    Lambda(Vec<(String, Option<Type>)>, Rc<Expr>),
    /// A function of the program as a value.
    FunctionValue(usize),
    /// A method of the program's class: which, at which type.
    Method(usize, Type, Vec<Expr>),
    /// `show`, `eq` and `compare` of the library's classes.
    Show(Type, Box<Expr>),
    Equal(Box<Expr>, Box<Expr>),
    Compare(Type, Box<Expr>, Box<Expr>),
    Interpolation(Vec<Piece>),
    /// A value, a function, and whether the value is a Result.
    Pipe(Box<Expr>, Box<Expr>, bool),
    As(Box<Expr>, Type),
    /// Text that has no value; for programs that are wrong.
    Raw(String),
}

#[derive(Debug, Clone)]
pub(crate) enum Piece {
    Text(String),
    Value(Type, Expr),
}

#[derive(Debug, Clone)]
pub(crate) struct Clause {
    pub pattern: Pattern,
    pub guard: Option<Expr>,
    pub body: Expr,
}

#[derive(Debug, Clone)]
pub(crate) enum Pattern {
    Any,
    Var(String),
    Int(BigInt),
    Bool(bool),
    Text(String),
    Atom(String),
    List(Vec<Pattern>, Option<Box<Pattern>>),
    Tuple(Vec<Pattern>),
    Construct(String, Vec<Pattern>, bool),
    /// Fields by their place in the definition.
    Record(usize, Vec<(usize, Pattern)>),
}

/// A record or a sum type.
#[derive(Debug, Clone)]
pub(crate) struct Data {
    pub name: String,
    pub params: Vec<&'static str>,
    pub shape: Shape,
    pub derives: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Shape {
    Record(Vec<(String, Type)>),
    Sum(Vec<(String, Vec<Type>)>),
}

/// A function.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    pub name: String,
    pub type_params: Vec<&'static str>,
    /// Whether its type parameter has to be of the program's class, or of Show.
    pub wants: Option<&'static str>,
    pub params: Vec<(String, Type)>,
    pub result: Type,
    /// Guard and body of each clause.
    pub clauses: Vec<(Option<Expr>, Expr)>,
    /// Whether the guard of the only clause is for callers to prove.
    pub condition: bool,
    /// Written with `do … end`.
    pub in_block: bool,
}

impl Function {
    /// A plain one.
    pub(super) fn new(
        name: String,
        params: Vec<(String, Type)>,
        result: Type,
        clauses: Vec<(Option<Expr>, Expr)>,
    ) -> Function {
        let (type_params, wants) = (Vec::new(), None);
        Function { name, type_params, wants, params, result, clauses, condition: false, in_block: false }
    }
}

/// A class with one parameter: `score(x: T): Int`, and `twice`, which has a default.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    pub instances: Vec<Instance>,
    /// The default of the second method, over `x`.
    pub default: Expr,
    pub as_trait: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Instance {
    /// The type; for a list or an option, of every `T` that is of the class.
    pub of: Type,
    /// The first method's body over `x`, and the second's where it is given.
    pub score: Expr,
    pub twice: Option<Expr>,
}

/// A program.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub name: String,
    pub data: Vec<Data>,
    pub functions: Vec<Function>,
    pub class: Option<Class>,
    pub templates: BTreeSet<&'static str>,
    /// What `main` prints, then what it returns.
    pub prints: Vec<Expr>,
    pub main: Vec<Expr>,
    /// How many of the functions stand in a module of their own, with the types.
    pub library: Option<usize>,
    /// A definition that stands as text.
    pub definition: Option<&'static str>,
    pub features: BTreeSet<&'static str>,
}
