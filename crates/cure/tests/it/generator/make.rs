//! Makes well-typed programs: types first, then functions that call earlier ones, then a `main` that uses them all.
//! Expressions are in [`super::expressions`], matches in [`super::matches`].

use std::collections::BTreeSet;
use std::rc::Rc;

use testkit::Random;

use super::faults::{ANYWHERE, Kind, UNPROVED};
use super::tree::*;
use super::write::WRONG;
use super::wrong::{BEHIND, DEFINITIONS};

/// The maker of one program.
pub(crate) struct Maker {
    pub random: Random,
    pub program: Program,
    /// The number of generated names.
    pub names: usize,
    /// The remaining number of expressions for the current definition.
    pub budget: i32,
    /// True if `Zero` and `Succ` are numbers, not constructors of a type of the program.
    pub naturals: bool,
    /// The fault, and the index of the number that it replaces.
    pub fault: Option<(usize, Kind)>,
}

/// Names that an expression may use.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope {
    /// Variables with their types; later ones shadow earlier ones of the same name.
    pub vars: Vec<(String, Type)>,
    /// The number of functions that may be called.
    pub functions: usize,
    /// The constraint on the type parameter of the current function.
    pub wants: Option<&'static str>,
    /// True if methods of the program's class may be called.
    pub class: bool,
}

impl Scope {
    pub(crate) fn with(&self, name: &str, ty: &Type) -> Scope {
        let mut scope = self.clone();
        scope.vars.retain(|(known, _)| known != name);
        scope.vars.push((name.to_owned(), ty.clone()));
        scope
    }
}

/// The well-typed program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    let mut maker = Maker::new(seed);
    maker.make();
    maker.program
}

/// The number of kinds of ill-typed programs.
pub(crate) const KINDS: usize = UNPROVED.len() + ANYWHERE.len() + DEFINITIONS.len() + BEHIND.len();

/// An ill-typed program and its kind; `None` if this seed has no place for its kind.
pub(crate) fn faulty(seed: u64) -> Option<(&'static str, Program)> {
    let mut maker = Maker::new(seed);
    let mut at = seed as usize % KINDS;
    if let Some(kind) = UNPROVED.get(at) {
        maker.make();
        let function = maker.reached(*kind)?;
        maker.program.functions.push(function);
        return Some((kind.0, maker.program));
    }
    at -= UNPROVED.len();
    if let Some(kind) = ANYWHERE.get(at) {
        // Occasionally far on: in a machine or in a conversation.
        let reach = if maker.random.chance(20) { 150 } else { 25 };
        let place = maker.random.below(reach);
        maker.fault = Some((place, *kind));
        maker.make();
        // Generated expressions are not always used.
        return maker.program.text().1.contains(WRONG).then_some((kind.0, maker.program));
    }
    at -= ANYWHERE.len();
    maker.make();
    let (kind, text) = DEFINITIONS.get(at).unwrap_or_else(|| &BEHIND[at - DEFINITIONS.len()]);
    let place = if at < DEFINITIONS.len() { &mut maker.program.definition } else { &mut maker.program.behind };
    *place = Some(text);
    Some((kind, maker.program))
}

impl Maker {
    fn new(seed: u64) -> Maker {
        let mut random = Random::new(seed);
        let program = Program {
            name: format!("G{seed}"),
            data: Vec::new(),
            functions: Vec::new(),
            class: None,
            containers: None,
            machines: Vec::new(),
            templates: BTreeSet::new(),
            prints: Vec::new(),
            main: Vec::new(),
            library: None,
            definition: None,
            behind: None,
            style: random.below(1 << 40) as u64,
            features: BTreeSet::new(),
        };
        let naturals = !random.chance(6);
        Maker { naturals, random, program, names: 0, budget: 0, fault: None }
    }

    fn make(&mut self) {
        for _ in 0..self.random.below(4) {
            self.data();
        }
        if self.random.chance(45) {
            self.class();
        }
        if self.random.chance(25) {
            self.containers();
        }
        for _ in 0..2 + self.random.below(6) {
            self.budget = 40;
            match self.random.below(10) {
                0 => self.recursion_on_list(),
                1 => self.countdown(),
                2 if self.random.chance(50) => self.condition(),
                2 => self.refined_condition(),
                3 => self.generic(),
                4 => self.operator(),
                _ => self.function(),
            }
        }
        let machines = if self.random.chance(12) { 1 + self.random.below(2) } else { 0 };
        for _ in 0..machines {
            self.machine();
        }
        let scope = Scope { functions: self.program.functions.len(), class: true, ..Scope::default() };
        if self.random.chance(30) {
            self.note("printing");
            self.budget = 20;
            let line = self.expr(&Type::Text, 3, &scope);
            self.program.prints.push(line);
        }
        for _ in 0..3 + self.random.below(4) {
            self.budget = 40;
            let ty = self.ty(2);
            let part = self.expr(&ty, 5, &scope);
            // A part of `main` may have any type, so it must determine its type itself.
            self.program.main.push(if self.needs_type(&part) { Expr::As(Box::new(part), ty) } else { part });
        }
        for at in 0..machines {
            let talk = self.conversation(at, &scope);
            self.program.main.push(talk);
        }
        if self.random.chance(20) && !self.program.functions.is_empty() {
            self.note("two modules");
            self.program.library = Some(1 + self.random.below(self.program.functions.len()));
        }
    }

    /// True if an expression does not determine its type.
    fn needs_type(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Record(data, _) => !self.program.data[*data].params.is_empty(),
            _ => !matches!(expr, Expr::Int(_) | Expr::Text(_) | Expr::Bool(_) | Expr::Interpolation(_)),
        }
    }

    pub(crate) fn note(&mut self, feature: &'static str) {
        self.program.features.insert(feature);
    }

    pub(crate) fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// A type of values that can be shown, compared and ordered.
    pub(crate) fn plain(&mut self, depth: usize) -> Type {
        match self.random.below(if depth == 0 { 3 } else { 5 }) {
            0 => Type::Int,
            1 => Type::Bool,
            2 => Type::Text,
            3 => Type::List(Box::new(self.plain(depth - 1))),
            _ => self.named(depth - 1, true).unwrap_or(Type::Int),
        }
    }

    /// Any type of value that a program may have.
    pub(crate) fn ty(&mut self, depth: usize) -> Type {
        if depth == 0 {
            return [Type::Int, Type::Int, Type::Bool, Type::Text, Type::Atom, Type::Float, Type::Unit]
                [self.random.below(7)]
            .clone();
        }
        let inner = |maker: &mut Maker| Box::new(maker.ty(depth - 1));
        match self.random.below(16) {
            0 | 1 => Type::List(inner(self)),
            2 => Type::Vector(inner(self), self.random.below(4)),
            3 => Type::Tuple((0..2 + self.random.below(2)).map(|_| self.ty(depth - 1)).collect()),
            4 => Type::Option(inner(self)),
            5 => Type::Result(inner(self), Box::new(Type::Text)),
            6 | 7 => self.named(depth - 1, false).unwrap_or(Type::Int),
            8 => Type::Refined(self.random.below(REFINEMENTS.len())),
            9 => Type::Ordering,
            10 | 11 => Type::Int,
            12 => Type::Text,
            13 if self.random.chance(30) => Type::Any,
            _ => self.ty(0),
        }
    }

    /// A type that a type parameter preserves in full.
    pub(crate) fn inexact(&mut self, depth: usize) -> Type {
        let ty = self.ty(depth);
        if super::types::is_exact(&ty) { Type::Int } else { ty }
    }

    fn named(&mut self, depth: usize, derives: bool) -> Option<Type> {
        let all: Vec<_> =
            (0..self.program.data.len()).filter(|at| !derives || self.program.data[*at].derives).collect();
        if all.is_empty() {
            return None;
        }
        let at = *self.random.pick(&all);
        let params = self.program.data[at].params.len();
        let args = (0..params).map(|_| if derives { self.plain(depth) } else { self.ty(depth) }).collect();
        Some(Type::Named(at, args))
    }

    fn data(&mut self) {
        let derives = self.random.chance(70);
        let at = self.program.data.len();
        let generic = self.random.chance(25);
        let params = if generic { vec!["T"] } else { Vec::new() };
        let field = |maker: &mut Maker| {
            if generic && maker.random.chance(40) {
                return Type::Param("T");
            }
            if derives { maker.plain(1) } else { maker.ty(1) }
        };
        let (name, shape) = if self.random.chance(50) {
            self.note("records");
            let fields = 1 + self.random.below(3);
            let fields = (0..fields).map(|_| (self.name("f"), field(self))).collect();
            (self.name("Rec"), Shape::Record(fields))
        } else {
            self.note("sums");
            let name = self.name("Sum");
            let taken = self.naturals || self.program.data.iter().any(|data| data.has_constructor("Succ"));
            let (first, next) = if taken {
                (self.name("Ctor"), None)
            } else {
                self.note("own constructors Zero and Succ");
                ("Zero".to_owned(), Some("Succ".to_owned()))
            };
            let mut all = vec![(first, Vec::new())];
            all.extend(next.map(|next| (next, vec![field(self)])));
            for _ in 0..self.random.below(4) {
                let mut fields: Vec<_> = (0..self.random.below(3)).map(|_| field(self)).collect();
                if self.random.chance(20) {
                    self.note("recursive sums");
                    fields.push(Type::Named(at, params.iter().map(|param| Type::Param(param)).collect()));
                }
                all.push((self.name("Ctor"), fields));
            }
            if all.len() == 1 {
                all.push((self.name("Ctor"), vec![field(self)]));
            }
            self.random.shuffle(&mut all);
            (name, Shape::Sum(all))
        };
        if generic {
            self.note("types with parameters");
        }
        if derives {
            self.note("derive");
        }
        self.program.data.push(Data { name, params, shape, derives });
    }

    fn class(&mut self) {
        self.note("typeclasses");
        let as_trait = self.random.chance(25);
        let var = if as_trait && self.random.chance(60) { "self" } else { "x" };
        let upon = self.random.chance(35);
        if var == "self" {
            self.note("self");
        }
        if upon {
            self.note("classes built upon classes");
        }
        let mut of = vec![Type::Int];
        for ty in [Type::Bool, Type::Text] {
            if self.random.chance(60) {
                of.push(ty);
            }
        }
        for at in 0..self.program.data.len() {
            if self.program.data[at].params.is_empty() && self.random.chance(60) {
                of.push(Type::Named(at, Vec::new()));
            }
        }
        let mut instances = Vec::new();
        for ty in of {
            self.budget = 15;
            let scope = Scope::default().with(var, &ty);
            let score = self.expr(&Type::Int, 3, &scope);
            let twice = self.random.chance(30).then(|| self.expr(&Type::Int, 2, &scope));
            let step = self.random.chance(60).then(|| self.expr(&ty, 3, &scope));
            let base = upon.then(|| self.expr(&Type::Int, 2, &Scope::default().with("x", &ty)));
            instances.push(Instance { of: ty, score, twice, step, base });
        }
        if as_trait {
            self.note("traits");
        }
        {
            let param = Box::new(Type::Param("T"));
            if self.random.chance(60) {
                self.note("instances with conditions");
                let sum = Expr::Native(
                    "Std.List.fold",
                    vec![
                        Expr::Var(var.to_owned()),
                        Expr::Int(self.number()),
                        // fn(e) -> fn(acc) -> score(e) + acc end end
                        lambda(
                            "e",
                            lambda(
                                "acc",
                                binary(
                                    "+",
                                    Expr::Method(0, Type::Param("T"), vec![Expr::Var("e".to_owned())]),
                                    Expr::Var("acc".to_owned()),
                                ),
                            ),
                        ),
                    ],
                );
                let base = upon.then(|| Expr::Native("Std.List.length", vec![Expr::Var("x".to_owned())]));
                let each = Expr::Method(STEP, Type::Param("T"), vec![Expr::Var("e".to_owned())]);
                let step = Expr::Native("Std.List.map", vec![Expr::Var(var.to_owned()), lambda("e", each)]);
                let of = Type::List(param.clone());
                instances.push(Instance { of, score: sum, twice: None, step: Some(step), base });
            }
            if self.random.chance(40) {
                let some = Clause {
                    pattern: Pattern::Construct("Some".to_owned(), vec![Pattern::Var("e".to_owned())], false),
                    guard: None,
                    body: Expr::Method(1, Type::Param("T"), vec![Expr::Var("e".to_owned())]),
                };
                let none = Clause {
                    pattern: Pattern::Construct("None".to_owned(), Vec::new(), false),
                    guard: None,
                    body: Expr::Int(self.number()),
                };
                let body = Expr::Match(Box::new(Expr::Var(var.to_owned())), vec![some, none]);
                let base = upon.then(|| Expr::Int(self.number()));
                instances.push(Instance { of: Type::Option(param), score: body, twice: None, step: None, base });
            }
        }
        let method = |at: usize| Expr::Method(at, Type::Param("T"), vec![Expr::Var(var.to_owned())]);
        let other = if upon { method(2) } else { Expr::Int(self.number()) };
        let default = binary(["+", "*", "-"][self.random.below(3)], method(0), other);
        self.program.class = Some(Class { instances, var, default, as_trait, upon });
    }

    /// True if a type implements the program's class.
    pub(super) fn is_scored(&self, ty: &Type, scope: &Scope) -> bool {
        if *ty == Type::Param("T") {
            return has_class(scope.wants, "Score");
        }
        let Some(class) = self.program.class.as_ref().filter(|_| scope.class) else { return false };
        let heads = |of: &Type| match (of, ty) {
            (Type::List(_), Type::List(inner)) | (Type::Option(_), Type::Option(inner)) => self.is_scored(inner, scope),
            (of, ty) => of == ty,
        };
        class.instances.iter().any(|one| heads(&one.of))
    }

    /// A value that a class is asked for, which may be of a refinement of its type: the instance is the same.
    pub(super) fn for_class(&mut self, ty: &Type, depth: usize, scope: &Scope) -> Expr {
        let refined = |maker: &mut Maker| Type::Refined(maker.random.below(REFINEMENTS.len()));
        let exact = match ty {
            Type::Param(_) => return self.expr(ty, depth - 1, scope),
            Type::Int if self.random.chance(40) => refined(self),
            Type::List(of) if **of == Type::Int && self.random.chance(40) => Type::List(Box::new(refined(self))),
            Type::Option(of) if **of == Type::Int && self.random.chance(40) => Type::Option(Box::new(refined(self))),
            _ => ty.clone(),
        };
        if exact != *ty {
            self.note("methods at refined types");
        }
        Expr::As(self.boxed(&exact, depth, scope), exact)
    }

    /// A type that implements the program's class and can be shown.
    pub(crate) fn shown_and_scored(&mut self, scope: &Scope) -> Option<Type> {
        let class = self.program.class.as_ref().filter(|_| scope.class)?;
        let simple = |ty: &Type| matches!(ty, Type::Int | Type::Bool | Type::Text);
        let all: Vec<Type> = class.instances.iter().map(|one| one.of.clone()).filter(simple).collect();
        Some(self.random.pick(&all).clone())
    }

    /// A type that implements the program's class.
    pub(crate) fn scored(&mut self, scope: &Scope) -> Option<Type> {
        if has_class(scope.wants, "Score") && self.random.chance(60) {
            return Some(Type::Param("T"));
        }
        if !scope.class {
            return None;
        }
        let all: Vec<Type> = self.program.class.as_ref()?.instances.iter().map(|one| one.of.clone()).collect();
        let simple: Vec<&Type> = all.iter().filter(|ty| !matches!(ty, Type::List(_) | Type::Option(_))).collect();
        let first = (*self.random.pick(&simple)).clone();
        Some(match self.random.pick(&all) {
            Type::List(_) => Type::List(Box::new(first)),
            Type::Option(_) => Type::Option(Box::new(first)),
            other => other.clone(),
        })
    }
}

pub(crate) fn binary(operator: &'static str, left: Expr, right: Expr) -> Expr {
    Expr::Binary(operator, Box::new(left), Box::new(right))
}

pub(crate) fn lambda(name: &str, body: Expr) -> Expr {
    Expr::Lambda(vec![(name.to_owned(), None)], Rc::new(body))
}
