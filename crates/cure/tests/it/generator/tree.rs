//! The tree of generated programs, shared with nothing in the compiler. [`super::write`] prints it, [`super::evaluate`]
//! evaluates it.

use std::collections::BTreeSet;
use std::rc::Rc;

use num_bigint::BigInt;

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
    /// A parameter that stands for a type constructor, with what is in it.
    Applied(&'static str, Box<Type>),
    /// Above all types.
    Any,
}

/// A refinement of Int.
pub(crate) struct Refinement {
    pub name: &'static str,
    /// What holds of x; none for one that the language has.
    pub condition: Option<&'static str>,
    /// Numbers for which it holds.
    pub samples: &'static [i64],
}

/// The refinements that programs use.
pub(crate) const REFINEMENTS: &[Refinement] = &[
    Refinement { name: "Above", condition: Some("x > 0"), samples: &[1, 2, 7, 1000] },
    Refinement { name: "NonZero", condition: Some("x != 0"), samples: &[-9, -1, 1, 3] },
    Refinement { name: "Small", condition: Some("x >= 0 and x < 10"), samples: &[0, 1, 4, 9] },
    Refinement { name: "Nat", condition: None, samples: &[0, 1, 12, 99] },
    Refinement { name: "Far", condition: Some("x > 9 or x < 0 - 9"), samples: &[-100, -10, 10, 31] },
    Refinement { name: "Even", condition: Some("x % 2 == 0"), samples: &[-4, 0, 2, 28] },
];

pub(crate) const ABOVE: usize = 0;
pub(crate) const NONZERO: usize = 1;
pub(crate) const SMALL: usize = 2;
pub(crate) const NAT: usize = 3;

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
    /// A constructor as a value.
    ConstructorValue(String),
    /// A method of the program's class: which, at which type.
    Method(usize, Type, Vec<Expr>),
    /// A method of the program's class as a value, or `show`.
    MethodValue(usize, Type),
    ShowValue(Type),
    /// A method of a class of type constructors, at which type.
    Contained(&'static str, Type, Vec<Expr>),
    /// A function over all type constructors of a class: which, for which type.
    Lift(usize, Type, Box<Expr>),
    /// `Zero`, `Succ` and `Pred`.
    Natural(&'static str, Vec<Expr>),
    /// A function that a machine brings with it: `spawn`, `send`, `state`, `stop`, `definition`.
    Machine(usize, &'static str, Vec<Expr>),
    /// `show`, `eq` and `compare` of the library's classes.
    Show(Type, Box<Expr>),
    Equal(Box<Expr>, Box<Expr>),
    Compare(Type, Box<Expr>, Box<Expr>),
    Interpolation(Vec<Piece>),
    /// A value and a function; where the value is a Result, whether what the function gives is to be put into `Ok`.
    Pipe(Box<Expr>, Box<Expr>, Option<bool>),
    As(Box<Expr>, Type),
    /// Text that has no value; for programs that are wrong.
    Raw(String),
    /// What is wrong with a program.
    Wrong(Box<Expr>),
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
    Float(f64),
    Unit,
    Text(String),
    Atom(String),
    List(Vec<Pattern>, Option<Box<Pattern>>),
    Tuple(Vec<Pattern>),
    Construct(String, Vec<Pattern>, bool),
    /// Fields by their place in the definition.
    Record(usize, Vec<(usize, Pattern)>),
}

impl Data {
    pub(super) fn has_constructor(&self, name: &str) -> bool {
        matches!(&self.shape, Shape::Sum(all) if all.iter().any(|(known, _)| known == name))
    }
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

#[derive(Debug, Clone)]
pub(crate) struct Function {
    pub name: String,
    pub type_params: Vec<&'static str>,
    /// Whether its type parameter has to be of the program's class, of Show or of [`BOTH`].
    pub wants: Option<&'static str>,
    pub params: Vec<(String, Type)>,
    pub result: Type,
    /// Guard and body of each clause.
    pub clauses: Vec<(Option<Expr>, Expr)>,
    /// Whether the guard of the only clause is for callers to prove.
    pub condition: bool,
    /// Written with `do … end`.
    pub in_block: bool,
    /// Whether it calls itself.
    pub recursive: bool,
    /// The refinement that its condition asks of its only parameter.
    pub given: Option<usize>,
}

/// What a type parameter has to be of: the program's class and Show.
pub(crate) const BOTH: &str = "Score, Show";

/// Whether what a type parameter has to be of has this class among it.
pub(super) fn has_class(wants: Option<&str>, class: &str) -> bool {
    wants.is_some_and(|wants| wants.split(", ").any(|one| one == class))
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
        Function {
            name,
            type_params,
            wants,
            params,
            result,
            clauses,
            condition: false,
            in_block: false,
            recursive: false,
            given: None,
        }
    }
}

/// A class with one parameter: `score(x: T): Int`, and `twice`, which has a default.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    pub instances: Vec<Instance>,
    /// What the methods' parameter is called: `x`, or `self`, which needs no type.
    pub var: &'static str,
    /// The default of the second method.
    pub default: Expr,
    pub as_trait: bool,
    /// Whether it is built upon a class with the method `base(x: T): Int`.
    pub upon: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Instance {
    /// The type; for a list or an option, of every `T` that is of the class.
    pub of: Type,
    /// The first method's body over `x`, and the second's where it is given.
    pub score: Expr,
    pub twice: Option<Expr>,
    /// The method of the class that the class is built upon.
    pub base: Option<Expr>,
}

/// A class of type constructors: one of the program, `over(x: F(A), f: A => B): F(B)`, or the library's Functor.
#[derive(Debug, Clone)]
pub(crate) struct Containers {
    pub own: bool,
    /// Instances that the program makes: of a type over `A`, and what the method gives over `x` and `f`.
    pub instances: Vec<(Type, Expr)>,
    /// Functions over all of them: name, what is in the argument `x` and in the result, body.
    pub lifts: Vec<(String, Type, Type, Expr)>,
}

impl Containers {
    /// The class and its method.
    pub(super) fn names(&self) -> (&'static str, &'static str) {
        if self.own { ("Over", "over") } else { ("Functor", "fmap") }
    }
}

/// A state machine.
#[derive(Debug, Clone)]
pub(crate) struct Fsm {
    pub name: String,
    /// The record of its data, and what its fields begin with.
    pub data: Option<(usize, Vec<Expr>)>,
    pub states: Vec<String>,
    pub initial: usize,
    pub terminal: Vec<usize>,
    /// In the order in which they are written.
    pub transitions: Vec<Edge>,
    /// Of which form it is: `state A do … end`, or `A --> |event| B`.
    pub in_blocks: bool,
    /// Whether its states are listed.
    pub listed: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Edge {
    pub from: usize,
    pub on: On,
    pub guard: Option<Expr>,
    pub to: usize,
    /// Fields by their place, and their new values.
    pub actions: Vec<(usize, Expr)>,
}

/// What fires a transition.
#[derive(Debug, Clone)]
pub(crate) enum On {
    Event(String),
    /// This many milliseconds after entering the state.
    Timeout(u64),
}

#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub name: String,
    pub data: Vec<Data>,
    pub functions: Vec<Function>,
    pub class: Option<Class>,
    pub containers: Option<Containers>,
    pub machines: Vec<Fsm>,
    pub templates: BTreeSet<&'static str>,
    /// What `main` prints, then what it returns.
    pub prints: Vec<Expr>,
    pub main: Vec<Expr>,
    /// How many of the functions stand in a module of their own, with the types.
    pub library: Option<usize>,
    /// A definition that stands as text, and what stands behind all modules.
    pub definition: Option<&'static str>,
    pub behind: Option<&'static str>,
    /// Decides how what means the same is written.
    pub style: u64,
    pub features: BTreeSet<&'static str>,
}
