//! Makes expressions of a given type. Where the language requires a proof, the expression has a provable form: a test
//! before a division, a guard before a call.

use num_bigint::BigInt;

use super::make::{Maker, Scope, binary, lambda};
use super::tree::*;
use super::types::{has_param, is_exact, with_param};

impl Maker {
    /// An integer: mostly small, sometimes far beyond a machine word.
    pub(crate) fn number(&mut self) -> BigInt {
        match self.random.below(20) {
            0 => {
                self.note("integers beyond 2^64");
                let base = BigInt::from(1) << (64 + self.random.below(70));
                let near: BigInt = base + self.random.below(1000);
                if self.random.chance(30) { -near } else { near }
            }
            1 => {
                let edges =
                    [i64::MAX, i64::MIN, i64::from(i32::MAX), 1 << 59, (1 << 59) - 1, -(1 << 59), 2047, 2048, 256];
                BigInt::from(*self.random.pick(&edges))
            }
            2..=5 => BigInt::from(self.random.below(2000) as i64 - 1000),
            _ => BigInt::from(self.random.below(20) as i64 - 4),
        }
    }

    pub(crate) fn word(&mut self) -> String {
        const WORDS: &[&str] =
            &["", "a", "ab", "hob", "žluť", "日本", "x y", "q\"uote", "back\\slash", "#{no}", "line\nbreak", "end"];
        (*self.random.pick(WORDS)).to_owned()
    }

    /// A new name, or occasionally one that shadows another.
    pub(crate) fn fresh(&mut self, scope: &Scope) -> String {
        if self.random.chance(12) {
            let old: Vec<_> =
                scope.vars.iter().filter(|(_, ty)| !has_param(ty)).map(|(name, _)| name.clone()).collect();
            if !old.is_empty() {
                self.note("names that hide others");
                return self.random.pick(&old).clone();
            }
        }
        self.name("v")
    }

    pub(super) fn variable(&mut self, ty: &Type, scope: &Scope) -> Option<Expr> {
        let fits = |known: &Type| match ty {
            Type::Int => matches!(known, Type::Int | Type::Refined(_)),
            Type::Any => !matches!(known, Type::Fn(..)) && !has_param(known),
            ty => known == ty,
        };
        let found: Vec<_> = scope.vars.iter().filter(|(_, known)| fits(known)).map(|(name, _)| name.clone()).collect();
        let var = (!found.is_empty()).then(|| Expr::Var(self.random.pick(&found).clone()))?;
        // Expressions built from it must not be treated as more precise.
        Some(if *ty == Type::Any { Expr::As(Box::new(var), Type::Any) } else { var })
    }

    /// The simplest expression of a type.
    pub(crate) fn leaf(&mut self, ty: &Type, scope: &Scope) -> Expr {
        if self.random.chance(75)
            && let Some(var) = self.variable(ty, scope)
        {
            return var;
        }
        match ty {
            Type::Int => Expr::Int(self.number()),
            Type::Float => {
                self.note("floats");
                Expr::Float([0.5, 1.0, -2.25, 3.0, 100.125, 1e21, 2.5e-7, 0.0, -0.0][self.random.below(9)])
            }
            Type::Bool => Expr::Bool(self.random.chance(50)),
            Type::Text => Expr::Text(self.word()),
            Type::Atom => Expr::Atom(["ok", "go", "on_off", "Up", "x1", "with space"][self.random.below(6)].to_owned()),
            Type::Unit => Expr::Unit,
            Type::Ordering => {
                Expr::Construct(["Lt", "Eq", "Gt"][self.random.below(3)].to_owned(), Vec::new(), self.random.chance(20))
            }
            Type::List(_) => Expr::List(Vec::new(), None),
            Type::Vector(of, length) => Expr::Vector((0..*length).map(|_| self.leaf(of, scope)).collect()),
            Type::Tuple(parts) => Expr::Tuple(parts.iter().map(|part| self.leaf(part, scope)).collect()),
            Type::Option(_) => Expr::Construct("None".to_owned(), Vec::new(), self.random.chance(20)),
            Type::Result(_, error) => Expr::Construct("Error".to_owned(), vec![self.leaf(error, scope)], true),
            Type::Named(data, args) => self.construct(*data, args, 0, scope),
            Type::Fn(params, result) => self.function_literal(params, result, 0, scope),
            Type::Refined(at) => {
                self.note("refinements");
                Expr::Int((*self.random.pick(REFINEMENTS[*at].samples)).into())
            }
            Type::Any => self.anything(1, scope),
            Type::Param(_) | Type::Applied(..) => {
                self.variable(ty, scope).expect("a function over a type has a parameter of it")
            }
        }
    }

    pub(crate) fn expr(&mut self, ty: &Type, depth: usize, scope: &Scope) -> Expr {
        self.budget -= 1;
        if *ty == Type::Int
            && let Some((place, kind)) = self.fault.take()
        {
            if place > 0 {
                self.fault = Some((place - 1, kind));
            } else if let Some(wrong) = (kind.1)(self, scope) {
                return Expr::Wrong(Box::new(wrong));
            } else {
                // Nothing here to make it from; a deeper place may have something.
                self.fault = Some((0, kind));
            }
        }
        if depth == 0 || self.budget <= 0 || self.random.chance(12) {
            return self.leaf(ty, scope);
        }
        for _ in 0..3 {
            let made = match self.random.below(21) {
                0..=8 => self.special(ty, depth, scope),
                9 | 10 => Some(self.choice(ty, depth, scope)),
                11 | 12 => Some(self.block(ty, depth, scope)),
                13 | 14 => Some(self.match_of(ty, depth, scope)),
                15 | 16 => self.call(ty, depth, scope),
                17 => self.through_library(ty, depth, scope),
                18 if self.random.chance(70) => {
                    self.contained(ty, depth, scope).or_else(|| self.field(ty, depth, scope))
                }
                18 => self.field(ty, depth, scope),
                19 if self.is_scored(ty, scope) => {
                    self.note("methods that return their type");
                    let arg = self.for_class(ty, depth, scope);
                    Some(Expr::Method(STEP, ty.clone(), vec![arg]))
                }
                _ => self.applied(ty, depth, scope),
            };
            if let Some(made) = made {
                return made;
            }
        }
        self.leaf(ty, scope)
    }

    pub(crate) fn boxed(&mut self, ty: &Type, depth: usize, scope: &Scope) -> Box<Expr> {
        Box::new(self.expr(ty, depth - 1, scope))
    }

    fn choice(&mut self, ty: &Type, depth: usize, scope: &Scope) -> Expr {
        self.note("if");
        Expr::If(self.boxed(&Type::Bool, depth, scope), self.boxed(ty, depth, scope), self.boxed(ty, depth, scope))
    }

    fn block(&mut self, ty: &Type, depth: usize, scope: &Scope) -> Expr {
        self.note("let");
        let mut inner = scope.clone();
        let mut bindings = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let of = self.ty(2);
            let value = self.expr(&of, depth - 1, &inner);
            let takes_apart = matches!(of, Type::Tuple(_) | Type::Named(..) | Type::Vector(..) | Type::Unit);
            let mut whole = if takes_apart && self.random.chance(60) { self.cover(&of, 2) } else { Vec::new() };
            let pattern = match whole.pop() {
                // Only an irrefutable pattern.
                Some((pattern, bound)) if whole.is_empty() => {
                    self.note("patterns of let");
                    inner = bound.iter().fold(inner, |inner, (name, ty)| inner.with(name, ty));
                    pattern
                }
                _ => {
                    let name = self.fresh(&inner);
                    inner = inner.with(&name, &of);
                    Pattern::Var(name)
                }
            };
            // A literal that does not determine its type needs an annotation.
            let written = (!matches!(value, Expr::Var(_) | Expr::Call(..)) || is_exact(&of)).then(|| of.clone());
            bindings.push((pattern, written, value));
        }
        Expr::Let(bindings, Box::new(self.expr(ty, depth - 1, &inner)))
    }

    /// `let v = … in if v != 0 then … else …`: the branches may rely on the test.
    pub(super) fn under_test(
        &mut self,
        depth: usize,
        scope: &Scope,
        made: impl FnOnce(Expr, &mut Maker) -> Expr,
    ) -> Expr {
        self.note("conditions of the way");
        let name = self.name("v");
        let value = self.expr(&Type::Int, depth - 1, scope);
        let var = Expr::Var(name.clone());
        let zero = Expr::Int(0.into());
        let used = made(var.clone(), self);
        let otherwise = self.expr(&Type::Int, depth.saturating_sub(2), scope);
        let chosen = match self.random.below(5) {
            0 => Expr::If(Box::new(binary("==", var, zero)), Box::new(otherwise), Box::new(used)),
            1 => Expr::If(Box::new(Expr::Not(Box::new(binary("==", var, zero)))), Box::new(used), Box::new(otherwise)),
            2 => {
                let nothing = Clause { pattern: Pattern::Int(0.into()), guard: None, body: otherwise };
                let rest = Clause { pattern: Pattern::Any, guard: None, body: used };
                Expr::Match(Box::new(var), vec![nothing, rest])
            }
            3 => {
                let nothing = Clause {
                    pattern: Pattern::Var("z".to_owned()),
                    guard: Some(binary("==", Expr::Var("z".to_owned()), zero)),
                    body: otherwise,
                };
                let rest = Clause { pattern: Pattern::Any, guard: None, body: used };
                Expr::Match(Box::new(var), vec![nothing, rest])
            }
            _ => Expr::If(Box::new(binary("!=", var, zero)), Box::new(used), Box::new(otherwise)),
        };
        Expr::Let(vec![(Pattern::Var(name), None, value)], Box::new(chosen))
    }

    /// Through a library function that returns its argument.
    fn through_library(&mut self, ty: &Type, depth: usize, scope: &Scope) -> Option<Expr> {
        if is_exact(ty) {
            return None;
        }
        self.note("the library");
        let list = Type::List(Box::new(ty.clone()));
        Some(match self.random.below(8) {
            0 => {
                Expr::Native("Std.List.head", vec![self.expr(&list, depth - 1, scope), self.expr(ty, depth - 1, scope)])
            }
            1 => {
                let at = self.expr(&Type::Refined(NAT), depth - 1, scope);
                Expr::Native(
                    "Std.List.nth",
                    vec![self.expr(&list, depth - 1, scope), at, self.expr(ty, depth - 1, scope)],
                )
            }
            2 => {
                let option = self.expr(&Type::Option(Box::new(ty.clone())), depth - 1, scope);
                Expr::Native("Std.Core.option_or", vec![option, self.expr(ty, depth - 1, scope)])
            }
            3 => Expr::Native("Std.Core.identity", vec![self.expr(ty, depth - 1, scope)]),
            4 if !has_param(ty) => {
                let name = ["Std.Core.minimum", "Std.Core.maximum"][self.random.below(2)];
                Expr::Native(name, vec![self.expr(ty, depth - 1, scope), self.expr(ty, depth - 1, scope)])
            }
            5 => {
                // fold(list, start, fn(x) -> fn(acc) -> … end end)
                self.note("closures");
                let of = self.ty(0);
                let items = self.list_said(&of, depth, scope);
                let start = self.expr(ty, depth - 1, scope);
                let (x, acc) = (self.name("v"), self.name("v"));
                let inner = scope.with(&x, &of).with(&acc, ty);
                let body = self.expr(ty, depth - 1, &inner);
                Expr::Native("Std.List.fold", vec![items, start, lambda(&x, lambda(&acc, body))])
            }
            6 if !matches!(ty, Type::Result(..)) => {
                self.note("pipes");
                let of = self.ty(1);
                if matches!(of, Type::Result(..)) || is_exact(&of) {
                    return None;
                }
                let value = self.expr(&of, depth - 1, scope);
                let value = Expr::As(Box::new(value), of.clone());
                let function = self.function_literal(&[of], ty, depth - 1, scope);
                Expr::Pipe(Box::new(value), Box::new(function), None)
            }
            _ => {
                self.note("closures");
                let other = self.ty(0);
                let value = self.expr(ty, depth - 1, scope);
                let unused = self.expr(&other, depth - 1, scope);
                let partial = Expr::Native("Std.Core.const", vec![value]);
                let name = self.name("v");
                let written = Type::Fn(vec![other], Box::new(ty.clone()));
                let call = Expr::Apply(Box::new(Expr::Var(name.clone())), vec![unused]);
                Expr::Let(vec![(Pattern::Var(name), Some(written), partial)], Box::new(call))
            }
        })
    }

    /// A list with an annotation of its element type.
    fn list_said(&mut self, of: &Type, depth: usize, scope: &Scope) -> Expr {
        let ty = Type::List(Box::new(of.clone()));
        let list = self.expr(&ty, depth - 1, scope);
        Expr::As(Box::new(list), ty)
    }

    /// A field of a record in scope.
    fn field(&mut self, ty: &Type, depth: usize, scope: &Scope) -> Option<Expr> {
        let mut found = Vec::new();
        for (at, data) in self.program.data.iter().enumerate() {
            let Shape::Record(fields) = &data.shape else { continue };
            for (place, (_, field)) in fields.iter().enumerate() {
                let args = match field {
                    _ if data.params.is_empty() => Vec::new(),
                    Type::Param(_) => vec![ty.clone()],
                    _ => vec![Type::Text],
                };
                if args.first().map_or_else(|| field.clone(), |of| with_param(field, of)) == *ty {
                    found.push((at, place, args));
                }
            }
        }
        if found.is_empty() {
            return None;
        }
        self.note("access of fields");
        let (data, place, args) = self.random.pick(&found).clone();
        let record = Type::Named(data, args);
        let base = match self.variable(&record, scope) {
            Some(var) => var,
            None => {
                let name = self.name("v");
                let value = self.expr(&record, depth - 1, scope);
                let var = Box::new(Expr::Var(name.clone()));
                return Some(Expr::Let(
                    vec![(Pattern::Var(name), Some(record), value)],
                    Box::new(Expr::Field(data, place, var)),
                ));
            }
        };
        Some(Expr::Field(data, place, Box::new(base)))
    }

    /// Any expression, with its type forgotten.
    pub(super) fn anything(&mut self, depth: usize, scope: &Scope) -> Expr {
        self.note("Any");
        let of = self.ty(depth.min(2) - 1);
        let value = self.expr(&of, depth - 1, scope);
        Expr::As(Box::new(Expr::As(Box::new(value), of)), Type::Any)
    }

    /// A value of a record or sum type.
    pub(crate) fn construct(&mut self, data: usize, args: &[Type], depth: usize, scope: &Scope) -> Expr {
        let of = self.program.data[data].clone();
        let ready = |ty: &Type| match args.first() {
            Some(arg) => with_param(ty, arg),
            None => ty.clone(),
        };
        match &of.shape {
            Shape::Record(fields) => {
                let mut made: Vec<(usize, Expr)> = Vec::new();
                for (at, (_, ty)) in fields.iter().enumerate() {
                    made.push((at, self.expr(&ready(ty), depth.saturating_sub(1), scope)));
                }
                if self.random.chance(40) {
                    self.random.shuffle(&mut made);
                }
                Expr::Record(data, made)
            }
            Shape::Sum(all) => {
                let simple = |fields: &[Type]| !fields.iter().any(|ty| matches!(ty, Type::Named(at, _) if *at == data));
                let open: Vec<_> = all.iter().filter(|(_, fields)| depth > 0 || fields.is_empty()).collect();
                let open =
                    if open.is_empty() { all.iter().filter(|(_, fields)| simple(fields)).collect() } else { open };
                let (name, fields) = (*self.random.pick(&open)).clone();
                let fields = fields.iter().map(|ty| self.expr(&ready(ty), depth.saturating_sub(1), scope)).collect();
                Expr::Construct(name, fields, self.random.chance(15))
            }
        }
    }

    /// A guard over the variables in scope: operators only.
    pub(crate) fn guard(&mut self, scope: &Scope) -> Expr {
        self.note("guards");
        let numbers: Vec<_> = scope
            .vars
            .iter()
            .filter(|(_, ty)| matches!(ty, Type::Int | Type::Refined(_)))
            .map(|(name, _)| Expr::Var(name.clone()))
            .collect();
        if numbers.is_empty() {
            let bools: Vec<_> = scope.vars.iter().filter(|(_, ty)| *ty == Type::Bool).collect();
            return if bools.is_empty() {
                binary("==", Expr::Int(self.number()), Expr::Int(self.number()))
            } else {
                Expr::Var(self.random.pick(&bools).0.clone())
            };
        }
        let one = self.random.pick(&numbers).clone();
        let other = if self.random.chance(40) { self.random.pick(&numbers).clone() } else { Expr::Int(self.number()) };
        let comparison = ["<", "<=", ">", ">=", "==", "!="][self.random.below(6)];
        match self.random.below(8) {
            0 => {
                let divided = binary(["/", "%"][self.random.below(2)], one.clone(), Expr::Int(3.into()));
                binary(comparison, divided, other)
            }
            1 => binary(
                "and",
                binary("!=", one.clone(), Expr::Int(0.into())),
                binary(">", binary("/", Expr::Int(100.into()), one), other),
            ),
            2 => {
                let word = ["and", "or"][self.random.below(2)];
                binary(word, binary(comparison, one.clone(), other), binary("<", one, Expr::Int(self.number())))
            }
            3 => Expr::Not(Box::new(binary(comparison, one, other))),
            4 => binary(comparison, binary("+", one.clone(), one), other),
            _ => binary(comparison, one, other),
        }
    }
}
