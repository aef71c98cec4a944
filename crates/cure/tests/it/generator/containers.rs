//! Makes classes of type constructors (one of the program, or the library's Functor), with instances for the program's
//! own types, functions over all of them, and uses of map and bind.

use std::rc::Rc;

use super::make::{Maker, Scope};
use super::tree::*;
use super::types::is_exact;

impl Maker {
    /// A class of type constructors, or instances of the library's class.
    pub(super) fn containers(&mut self) {
        self.note("classes over type constructors");
        let own = self.random.chance(50);
        self.note(if own { "own classes over type constructors" } else { "Functor and Monad" });
        let mut instances = Vec::new();
        let (_, method) = Containers { own, instances: Vec::new(), lifts: Vec::new() }.names();
        let param = || Type::Param("A");
        if own {
            let x = || Expr::Var("x".to_owned());
            let f = || Expr::Var("f".to_owned());
            let mapped = Expr::Native("Std.List.map", vec![x(), f()]);
            let nothing = Expr::List(Vec::new(), None);
            let turned = self.random.chance(50);
            let body = if turned { Expr::Native("Std.List.reverse", vec![mapped, nothing]) } else { mapped };
            instances.push((Type::List(Box::new(param())), body));
            instances.push((Type::Option(Box::new(param())), Expr::Native("Std.Core.map_option", vec![x(), f()])));
        }
        for at in 0..self.program.data.len() {
            if !self.program.data[at].params.is_empty() {
                self.note("instances for own type constructors");
                let body = self.mapped(at, method);
                instances.push((Type::Named(at, vec![param()]), body));
            }
        }
        self.program.containers = Some(Containers { own, instances, lifts: Vec::new() });
        for _ in 0..self.random.below(3) {
            self.note("functions over type constructors");
            self.budget = 15;
            let (from, to) = (self.inexact(1), self.inexact(1));
            let name = self.name("lift");
            // Over x, which may be in any container.
            let function = self.step(&from, &to, &Scope::default());
            let ty = Type::Applied("F", Box::new(from.clone()));
            let mut body = Expr::Contained(method, ty, vec![Expr::Var("x".to_owned()), function]);
            if self.random.chance(40) {
                let again = self.step(&to, &to, &Scope::default());
                body = Expr::Contained(method, Type::Applied("F", Box::new(to.clone())), vec![body, again]);
            }
            let containers = self.program.containers.as_mut().expect("it was made");
            containers.lifts.push((name, from, to, body));
        }
    }

    /// A function whose result type is obvious.
    fn step(&mut self, from: &Type, to: &Type, scope: &Scope) -> Expr {
        let name = self.name("v");
        let body = self.expr(to, 2, &scope.with(&name, from));
        Expr::Lambda(vec![(name, Some(from.clone()))], Rc::new(Expr::As(Box::new(body), to.clone())))
    }

    /// Applies the function `f` to everything in `x` that has the parameter's type.
    fn mapped(&mut self, data: usize, method: &'static str) -> Expr {
        let shape = self.program.data[data].shape.clone();
        let f = || Expr::Var("f".to_owned());
        let changed = |name: &str, ty: &Type| {
            let var = Expr::Var(name.to_owned());
            match ty {
                Type::Param(_) => Expr::Apply(Box::new(f()), vec![var]),
                Type::Named(at, _) if *at == data => Expr::Contained(method, ty.clone(), vec![var, f()]),
                _ => var,
            }
        };
        let clauses = match &shape {
            Shape::Record(fields) => {
                let names: Vec<String> = fields.iter().map(|_| self.name("v")).collect();
                let parts = names.iter().enumerate().map(|(at, name)| (at, Pattern::Var(name.clone()))).collect();
                let made = names.iter().zip(fields).enumerate();
                let made = made.map(|(at, (name, (_, ty)))| (at, changed(name, ty))).collect();
                vec![Clause { pattern: Pattern::Record(data, parts), guard: None, body: Expr::Record(data, made) }]
            }
            Shape::Sum(all) => {
                let clause = |(constructor, fields): &(String, Vec<Type>)| {
                    let names: Vec<String> = fields.iter().map(|_| self.name("v")).collect();
                    let parts = names.iter().map(|name| Pattern::Var(name.clone())).collect();
                    let made = names.iter().zip(fields).map(|(name, ty)| changed(name, ty)).collect();
                    let pattern = Pattern::Construct(constructor.clone(), parts, false);
                    Clause { pattern, guard: None, body: Expr::Construct(constructor.clone(), made, false) }
                };
                all.iter().map(clause).collect()
            }
        };
        Expr::Match(Box::new(Expr::Var("x".to_owned())), clauses)
    }

    /// A container of a type, from a method of its class or a function over all of them.
    pub(super) fn contained(&mut self, ty: &Type, depth: usize, scope: &Scope) -> Option<Expr> {
        let containers = self.program.containers.clone()?;
        let of = match ty {
            Type::List(of) | Type::Option(of) => of,
            Type::Named(at, args) if !self.program.data[*at].params.is_empty() => args.first()?,
            _ => return None,
        };
        if is_exact(of) || !scope.class {
            return None;
        }
        let with = |of: Type| super::evaluate::with_inside(ty, of);
        let lifts: Vec<usize> = (0..containers.lifts.len()).filter(|at| containers.lifts[*at].2 == *of).collect();
        if !lifts.is_empty() && self.random.chance(60) {
            self.note("functions over type constructors called");
            let at = *self.random.pick(&lifts);
            let from = with(containers.lifts[at].1.clone());
            let arg = Expr::As(self.boxed(&from, depth, scope), from.clone());
            return Some(Expr::Lift(at, from, Box::new(arg)));
        }
        let from = self.inexact(1);
        let (_, method) = containers.names();
        if !containers.own && matches!(ty, Type::List(_) | Type::Option(_)) && self.random.chance(60) {
            self.note("bind and pure");
            if self.random.chance(30) {
                let value = Expr::As(self.boxed(of, depth, scope), of.clone());
                return Some(Expr::As(Box::new(Expr::Contained("pure", ty.clone(), vec![value])), ty.clone()));
            }
            let start = with(from.clone());
            let value = Expr::As(self.boxed(&start, depth, scope), start.clone());
            let step = self.step(&from, ty, scope);
            return Some(Expr::Contained("bind", start, vec![value, step]));
        }
        self.note("methods over type constructors");
        let start = with(from.clone());
        let value = Expr::As(self.boxed(&start, depth, scope), start.clone());
        let step = self.step(&from, of, scope);
        Some(Expr::Contained(method, start, vec![value, step]))
    }
}
