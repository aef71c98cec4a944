//! Makes matches: some patterns that cover a part, followed by patterns that together are exhaustive.

use super::make::{Maker, Scope, binary};
use super::tree::*;
use super::types::with_param;

/// A pattern and its bindings.
type Bound = (Pattern, Names);
type Names = Vec<(String, Type)>;

impl Maker {
    /// A match whose value has this type.
    pub(crate) fn match_of(&mut self, ty: &Type, depth: usize, scope: &Scope) -> Expr {
        self.note("match");
        let known: Vec<_> = scope.vars.iter().filter(|(_, ty)| !matches!(ty, Type::Fn(..) | Type::Param(_))).collect();
        let (scrutinee, of) = if !known.is_empty() && self.random.chance(60) {
            let (name, ty) = (*self.random.pick(&known)).clone();
            (Expr::Var(name), ty)
        } else {
            let of = self.ty(2);
            let value = self.boxed(&of, depth, scope);
            (Expr::As(value, of.clone()), of)
        };
        let mut clauses = Vec::new();
        if of == Type::Any {
            self.note("matches of Any");
        }
        for _ in 0..self.random.below(if of == Type::Any { 5 } else { 3 }) {
            let part = self.part(&of, 2);
            let inner = scope_with(scope, &part.1);
            let guard = self.random.chance(35).then(|| self.guard(&inner));
            clauses.push(Clause { pattern: part.0, guard, body: self.expr(ty, depth - 1, &inner) });
        }
        if matches!(of, Type::Int | Type::Refined(_)) && self.random.chance(25) {
            clauses.extend(self.halves(ty, &of, depth, scope));
            return Expr::Match(Box::new(scrutinee), clauses);
        }
        for (pattern, bound) in self.cover(&of, 2) {
            let inner = scope_with(scope, &bound);
            clauses.push(Clause { pattern, guard: None, body: self.expr(ty, depth - 1, &inner) });
        }
        if self.random.chance(4) {
            self.note("clauses that are never reached");
            let part = self.part(&of, 2);
            let inner = scope_with(scope, &part.1);
            clauses.push(Clause { pattern: part.0, guard: None, body: self.expr(ty, depth - 1, &inner) });
        }
        Expr::Match(Box::new(scrutinee), clauses)
    }

    /// Two clauses whose guards together are exhaustive.
    fn halves(&mut self, ty: &Type, of: &Type, depth: usize, scope: &Scope) -> Vec<Clause> {
        self.note("guards that leave nothing out");
        let limit = Expr::Int(self.number());
        let pairs = [("<", ">="), (">", "<="), ("==", "!=")];
        let (one, other) = *self.random.pick(&pairs);
        let mut half = |operator: &'static str| {
            let name = self.name("v");
            let inner = scope.with(&name, of);
            let guard = Some(binary(operator, Expr::Var(name.clone()), limit.clone()));
            Clause { pattern: Pattern::Var(name), guard, body: self.expr(ty, depth - 1, &inner) }
        };
        vec![half(one), half(other)]
    }

    fn any(&mut self, ty: &Type) -> Bound {
        if self.random.chance(35) {
            return (Pattern::Any, Vec::new());
        }
        let name = self.name("v");
        (Pattern::Var(name.clone()), vec![(name, ty.clone())])
    }

    /// Any pattern for this type.
    fn part(&mut self, ty: &Type, depth: usize) -> Bound {
        if depth == 0 || self.random.chance(15) {
            return self.any(ty);
        }
        match ty {
            Type::Int if self.naturals && self.random.chance(15) => {
                let all = self.natural_patterns(depth);
                self.random.pick(&all).clone()
            }
            Type::Int => (Pattern::Int(self.number()), Vec::new()),
            Type::Float => {
                self.note("patterns of floats");
                (Pattern::Float([0.5, 1.0, -2.25, 3.0, 0.0, -0.0][self.random.below(6)]), Vec::new())
            }
            Type::Any => {
                // The type of its parts is unknown.
                let as_if = self.ty(1);
                let (pattern, bound) = self.part(&as_if, depth);
                // For a value of unknown type, `Zero` and `Succ` would be constructors of some type.
                if counts(&pattern) {
                    return self.any(ty);
                }
                (pattern, bound.into_iter().map(|(name, _)| (name, Type::Any)).collect())
            }
            Type::Refined(NAT) if self.naturals && self.random.chance(50) => {
                let all = self.natural_patterns(depth);
                self.random.pick(&all).clone()
            }
            Type::Refined(at) => (Pattern::Int((*self.random.pick(REFINEMENTS[*at].samples)).into()), Vec::new()),
            Type::Text => (Pattern::Text(self.word()), Vec::new()),
            Type::Atom => {
                (Pattern::Atom(["ok", "go", "Up", "with space"][self.random.below(4)].to_owned()), Vec::new())
            }
            Type::List(of) if self.random.chance(40) => {
                self.note("patterns of lists");
                let heads: Vec<Bound> = (0..1 + self.random.below(3)).map(|_| self.part(of, depth - 1)).collect();
                let (heads, mut bound) = joined(heads);
                let rest = self.random.chance(40).then(|| {
                    let rest = self.any(ty);
                    bound.extend(rest.1);
                    Box::new(rest.0)
                });
                (Pattern::List(heads, rest), bound)
            }
            Type::Tuple(parts) if parts[0] == parts[1] && parts.len() == 2 && self.random.chance(20) => {
                self.note("a name twice in a pattern");
                let name = self.name("v");
                let twice = vec![Pattern::Var(name.clone()), Pattern::Var(name.clone())];
                (Pattern::Tuple(twice), vec![(name, parts[0].clone())])
            }
            _ => {
                let all = self.cover(ty, depth);
                self.random.pick(&all).clone()
            }
        }
    }

    /// Patterns that together cover the type.
    pub(super) fn cover(&mut self, ty: &Type, depth: usize) -> Vec<Bound> {
        if depth == 0 || self.random.chance(15) {
            return vec![self.any(ty)];
        }
        let construct = |name: &str, fields: Vec<Pattern>, parens| Pattern::Construct(name.to_owned(), fields, parens);
        match ty {
            Type::Bool => vec![(Pattern::Bool(true), Vec::new()), (Pattern::Bool(false), Vec::new())],
            Type::Ordering => ["Gt", "Lt", "Eq"]
                .map(|name| (construct(name, Vec::new(), self.random.chance(20)), Vec::new()))
                .to_vec(),
            Type::Unit => vec![(Pattern::Unit, Vec::new())],
            Type::Refined(NAT) if self.naturals => self.natural_patterns(depth),
            Type::Int | Type::Text => {
                let first = self.part(ty, depth);
                vec![first, self.any(ty)]
            }
            Type::Option(of) => {
                let mut all: Vec<Bound> = Vec::new();
                for (inner, bound) in self.cover(of, depth - 1) {
                    all.push((construct("Some", vec![inner], false), bound));
                }
                all.push((construct("None", Vec::new(), self.random.chance(20)), Vec::new()));
                all
            }
            Type::Result(of, error) => {
                let mut all: Vec<Bound> = Vec::new();
                for (name, of) in [("Error", error), ("Ok", of)] {
                    for (inner, bound) in self.cover(of, depth - 1) {
                        all.push((construct(name, vec![inner], false), bound));
                    }
                }
                all
            }
            Type::List(of) => {
                self.note("patterns of lists");
                let mut all = vec![(Pattern::List(Vec::new(), None), Vec::new())];
                for (head, mut bound) in self.cover(of, depth - 1) {
                    let rest = self.any(ty);
                    bound.extend(rest.1);
                    all.push((Pattern::List(vec![head], Some(Box::new(rest.0))), bound));
                }
                all
            }
            Type::Vector(of, length) => {
                self.note("patterns of vectors");
                if *length > 0 && self.random.chance(50) {
                    let (head, mut bound) = self.any(of);
                    let rest = self.any(&Type::Vector(of.clone(), length - 1));
                    bound.extend(rest.1);
                    return vec![(Pattern::List(vec![head], Some(Box::new(rest.0))), bound)];
                }
                let (all, bound) = joined((0..*length).map(|_| self.any(of)).collect());
                vec![(Pattern::List(all, None), bound)]
            }
            Type::Tuple(parts) => {
                let tuples = self.product(parts, depth);
                tuples.into_iter().map(|(parts, bound)| (Pattern::Tuple(parts), bound)).collect()
            }
            Type::Named(data, args) => {
                let ready = |ty: &Type| args.first().map_or_else(|| ty.clone(), |arg| with_param(ty, arg));
                match self.program.data[*data].shape.clone() {
                    Shape::Record(fields) => {
                        self.note("patterns of records");
                        let types: Vec<Type> = fields.iter().map(|(_, ty)| ready(ty)).collect();
                        let all = self.product(&types, depth);
                        let record = |(fields, bound): (Vec<Pattern>, _)| {
                            (Pattern::Record(*data, fields.into_iter().enumerate().collect()), bound)
                        };
                        all.into_iter().map(record).collect()
                    }
                    Shape::Sum(constructors) => {
                        self.note("patterns of constructors");
                        let mut all: Vec<Bound> = Vec::new();
                        for (name, fields) in constructors {
                            let types: Vec<Type> = fields.iter().map(ready).collect();
                            let parens = self.random.chance(20);
                            for (fields, bound) in self.product(&types, depth) {
                                all.push((construct(&name, fields, parens), bound));
                            }
                        }
                        all
                    }
                }
            }
            _ => vec![self.any(ty)],
        }
    }

    /// `Zero` and `Succ(n)`, which together cover the natural numbers.
    fn natural_patterns(&mut self, depth: usize) -> Vec<Bound> {
        self.note("patterns of Zero and Succ");
        let construct = |name: &str, parts, parens| Pattern::Construct(name.to_owned(), parts, parens);
        let mut all = vec![(construct("Zero", Vec::new(), self.random.chance(20)), Vec::new())];
        for (before, bound) in self.cover(&Type::Refined(NAT), depth - 1) {
            all.push((construct("Succ", vec![before], true), bound));
        }
        self.random.shuffle(&mut all);
        all
    }

    /// Patterns for several values in parallel: one of them is destructured.
    fn product(&mut self, types: &[Type], depth: usize) -> Vec<(Vec<Pattern>, Names)> {
        if types.is_empty() {
            return vec![(Vec::new(), Vec::new())];
        }
        let split = self.random.below(types.len());
        let cover = self.cover(&types[split], depth - 1);
        let mut all = Vec::new();
        for one in cover {
            let row = types.iter().enumerate().map(|(at, ty)| if at == split { one.clone() } else { self.any(ty) });
            all.push(joined(row.collect()));
        }
        all
    }
}

/// True if a pattern contains `Zero` or `Succ`.
fn counts(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::Construct(name, fields, _) => matches!(&**name, "Zero" | "Succ") || fields.iter().any(counts),
        Pattern::List(heads, rest) => heads.iter().any(counts) || rest.as_deref().is_some_and(counts),
        Pattern::Tuple(parts) => parts.iter().any(counts),
        Pattern::Record(_, fields) => fields.iter().any(|(_, pattern)| counts(pattern)),
        _ => false,
    }
}

fn joined(all: Vec<Bound>) -> (Vec<Pattern>, Names) {
    let mut names = Vec::new();
    let patterns = all.into_iter().map(|(pattern, bound)| {
        names.extend(bound);
        pattern
    });
    (patterns.collect(), names)
}

fn scope_with(scope: &Scope, bound: &[(String, Type)]) -> Scope {
    bound.iter().fold(scope.clone(), |scope, (name, ty)| scope.with(name, ty))
}
