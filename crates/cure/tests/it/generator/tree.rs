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
    /// A parameter that stands for a type constructor, with its element type.
    Applied(&'static str, Box<Type>),
    /// The top type.
    Any,
}

/// A refinement of Int.
pub(crate) struct Refinement {
    pub name: &'static str,
    /// The condition on x; `None` for a refinement built into the language.
    pub condition: Option<&'static str>,
    /// Numbers that satisfy it.
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
    /// A record of a type, with its fields by index in the definition, in written order.
    Record(usize, Vec<(usize, Expr)>),
    Update(usize, Box<Expr>, Vec<(usize, Expr)>),
    Field(usize, usize, Box<Expr>),
    /// A function of the program, the types for its parameters, its arguments.
    Call(usize, Vec<Type>, Vec<Expr>),
    /// A function of the library or of [`super::templates`], by name.
    Native(&'static str, Vec<Expr>),
    Apply(Box<Expr>, Vec<Expr>),
    Lambda(Vec<(String, Option<Type>)>, Rc<Expr>),
    /// A function whose parameters are taken apart.
    Taking(Vec<(Pattern, Option<Type>)>, Rc<Expr>),
    /// A function of the program as a value.
    FunctionValue(usize),
    /// A constructor as a value.
    ConstructorValue(String),
    /// A method of the program's class, by index (2 is that of the superclass, 3 returns the type itself) and type.
    Method(usize, Type, Vec<Expr>),
    /// A method of the program's class as a value, or `show`.
    MethodValue(usize, Type),
    ShowValue(Type),
    /// A method of a class of type constructors, by type.
    Contained(&'static str, Type, Vec<Expr>),
    /// A function over all type constructors of a class, by index and type.
    Lift(usize, Type, Box<Expr>),
    /// `Zero`, `Succ` and `Pred`.
    Natural(&'static str, Vec<Expr>),
    /// A function that a machine adds: `spawn`, `send`, `state`, `stop`, `definition`.
    Machine(usize, &'static str, Vec<Expr>),
    /// `show`, `eq` and `compare` of the library's classes.
    Show(Type, Box<Expr>),
    Equal(Box<Expr>, Box<Expr>),
    Compare(Type, Box<Expr>, Box<Expr>),
    Interpolation(Vec<Piece>),
    /// A value and a function; for a Result, whether the function's result is wrapped in `Ok`.
    Pipe(Box<Expr>, Box<Expr>, Option<bool>),
    /// A call whose first argument is written in front of it: `x |> f(a)`.
    Piped(Box<Expr>),
    As(Box<Expr>, Type),
    /// Text without a value, for ill-typed programs.
    Raw(String),
    /// The fault of an ill-typed program.
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
    /// Fields by index in the definition.
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
    /// True if its type parameter must implement the program's class, Show or [`BOTH`].
    pub wants: Option<&'static str>,
    pub params: Vec<(String, Type)>,
    pub result: Type,
    /// Guard and body of each clause.
    pub clauses: Vec<(Option<Expr>, Expr)>,
    /// True if callers must prove the guard of the only clause.
    pub condition: bool,
    /// Written with `do … end`.
    pub in_block: bool,
    /// True if it calls itself.
    pub recursive: bool,
    /// The refinement of its only parameter that its condition requires.
    pub given: Option<usize>,
}

/// A constraint on a type parameter: the program's class and Show.
pub(crate) const BOTH: &str = "Score, Show";

/// True if a constraint includes this class.
pub(super) fn has_class(wants: Option<&str>, class: &str) -> bool {
    wants.is_some_and(|wants| wants.split(", ").any(|one| one == class))
}

impl Function {
    /// A plain function.
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

/// A class with one parameter: `score(x: T): Int`, `twice`, which has a default, and `step(x: T): T`, whose default is
/// the value itself.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    pub instances: Vec<Instance>,
    /// The name of the methods' parameter: `x`, or `self`, which needs no type.
    pub var: &'static str,
    /// The default of the second method.
    pub default: Expr,
    pub as_trait: bool,
    /// True if it has a superclass with the method `base(x: T): Int`.
    pub upon: bool,
}

/// The index of the method that returns the type itself.
pub(crate) const STEP: usize = 3;

#[derive(Debug, Clone)]
pub(crate) struct Instance {
    /// The type; for a list or an option, every `T` that implements the class.
    pub of: Type,
    /// The first method's body over `x`, and the second's, if given.
    pub score: Expr,
    pub twice: Option<Expr>,
    /// The body of the method that returns the type itself, if given.
    pub step: Option<Expr>,
    /// The method of the superclass.
    pub base: Option<Expr>,
}

/// A class of type constructors: one of the program, `over(x: F(A), f: A => B): F(B)`, or the library's Functor.
#[derive(Debug, Clone)]
pub(crate) struct Containers {
    pub own: bool,
    /// Instances that the program defines: a type over `A`, and the method's body over `x` and `f`.
    pub instances: Vec<(Type, Expr)>,
    /// Functions over all of them: name, element types of the argument `x` and of the result, body.
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
    /// The record of its data, and the initial values of its fields.
    pub data: Option<(usize, Vec<Expr>)>,
    pub states: Vec<String>,
    pub initial: usize,
    pub terminal: Vec<usize>,
    /// In written order.
    pub transitions: Vec<Edge>,
    /// Its form: `state A do … end`, or `A --> |event| B`.
    pub in_blocks: bool,
    /// True if its states are listed.
    pub listed: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Edge {
    pub from: usize,
    pub on: On,
    pub guard: Option<Expr>,
    pub to: usize,
    /// Fields by index, and their new values.
    pub actions: Vec<(usize, Expr)>,
    /// True if the actions compute with the data of the event. Anything but a whole number then ends the machine.
    pub counts: bool,
}

/// The trigger of a transition.
#[derive(Debug, Clone)]
pub(crate) enum On {
    Event(String),
    /// A timeout, this many milliseconds after entering the state.
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
    /// The output of `main`, followed by its result.
    pub prints: Vec<Expr>,
    pub main: Vec<Expr>,
    /// The number of functions in a separate module, together with the types.
    pub library: Option<usize>,
    /// A definition given as text, and the text after all modules.
    pub definition: Option<&'static str>,
    pub behind: Option<&'static str>,
    /// Selects between equivalent notations.
    pub style: u64,
    pub features: BTreeSet<&'static str>,
}
