//! Makes lists and vectors.

use super::make::{Maker, Scope};
use super::tree::*;
use super::types::{has_param, is_exact};

impl Maker {
    pub(super) fn list(&mut self, of: &Type, depth: usize, scope: &Scope) -> Option<Expr> {
        self.note("lists");
        let list = Type::List(Box::new(of.clone()));
        let exact = is_exact(of);
        Some(match self.random.below(17) {
            14 if matches!(of, Type::Int | Type::Text) => {
                self.note("sorting");
                Expr::Native("Std.List.sort", vec![*self.boxed(&list, depth, scope)])
            }
            15 if !exact && !has_param(of) => {
                self.note("the library");
                let of = self.plain(1);
                if Type::List(Box::new(of.clone())) != list {
                    return None;
                }
                Expr::Native("Std.List.unique", vec![Expr::As(self.boxed(&list, depth, scope), list)])
            }
            16 if !exact => {
                self.note("the library");
                Expr::Native("Std.List.reverse", vec![*self.boxed(&list, depth, scope)])
            }
            12 if !exact && !has_param(of) => {
                self.note("functions of Erlang");
                self.program.templates.insert("turned");
                Expr::Native("turned", vec![Expr::As(self.boxed(&list, depth, scope), list)])
            }
            13 if *of == Type::Int => {
                Expr::List(self.word().chars().map(|c| Expr::Int(u32::from(c).into())).collect(), None)
            }
            0..=3 => Expr::List((0..self.random.below(4)).map(|_| self.expr(of, depth - 1, scope)).collect(), None),
            4 => {
                let heads = (0..1 + self.random.below(2)).map(|_| self.expr(of, depth - 1, scope)).collect();
                Expr::List(heads, Some(self.boxed(&list, depth, scope)))
            }
            5 if !exact => {
                let operator = ["++", "++", "--"][self.random.below(3)];
                Expr::Binary(operator, self.boxed(&list, depth, scope), self.boxed(&list, depth, scope))
            }
            6 if !exact => {
                self.note("closures");
                let from = self.inexact(1);
                let items = Type::List(Box::new(from.clone()));
                let items = Expr::As(self.boxed(&items, depth, scope), items);
                let function = self.function_literal(&[from], of, depth - 1, scope);
                Expr::Native("Std.List.map", vec![items, function])
            }
            7 if !exact => {
                self.note("closures");
                let items = *self.boxed(&list, depth, scope);
                let test = self.function_literal(std::slice::from_ref(of), &Type::Bool, depth - 1, scope);
                Expr::Native("Std.List.filter", vec![items, test])
            }
            8 if !exact => {
                let count = self.expr(&Type::Refined(NAT), depth - 1, scope);
                let name = ["Std.List.take", "Std.List.drop"][self.random.below(2)];
                Expr::Native(name, vec![*self.boxed(&list, depth, scope), count])
            }
            9 if !exact => Expr::Native(
                "Std.List.reverse",
                vec![*self.boxed(&list, depth, scope), *self.boxed(&list, depth, scope)],
            ),
            10 if !exact && matches!(of, Type::Int) => {
                self.note("lengths");
                self.program.templates.insert("joined");
                // Variables have one length, known or not; the branches of a choice may have several.
                let (one, other) = (self.name("v"), self.name("v"));
                let values = [self.boxed(&list, depth, scope), self.boxed(&list, depth, scope)];
                let bindings = [&one, &other].into_iter().zip(values);
                let bindings =
                    bindings.map(|(name, value)| (Pattern::Var(name.clone()), Some(list.clone()), *value)).collect();
                let call = Expr::Native("joined", vec![Expr::Var(one), Expr::Var(other)]);
                Expr::Let(bindings, Box::new(call))
            }
            _ => return None,
        })
    }

    pub(super) fn vector(&mut self, of: &Type, length: usize, depth: usize, scope: &Scope) -> Expr {
        self.note("vectors");
        let shorter = |length: usize| Type::Vector(Box::new(of.clone()), length - 1);
        match self.random.below(5) {
            0 if length > 0 => {
                self.note("lengths");
                let rest = self.boxed(&shorter(length), depth, scope);
                Expr::List(vec![self.expr(of, depth - 1, scope)], Some(rest))
            }
            1 if length > 0 && !is_exact(of) => {
                self.note("lengths");
                self.program.templates.insert("longer");
                let rest = *self.boxed(&shorter(length), depth, scope);
                Expr::Native("longer", vec![rest, self.expr(of, depth - 1, scope)])
            }
            2 if *of == Type::Int => {
                self.note("lengths");
                self.program.templates.insert("plus_each");
                let same = Type::Vector(Box::new(of.clone()), length);
                Expr::Native("plus_each", vec![*self.boxed(&same, depth, scope), *self.boxed(&same, depth, scope)])
            }
            3 => {
                self.note("vectors written as lists");
                let items = (0..length).map(|_| self.expr(of, depth - 1, scope)).collect();
                Expr::As(Box::new(Expr::List(items, None)), Type::Vector(Box::new(of.clone()), length))
            }
            _ => Expr::Vector((0..length).map(|_| self.expr(of, depth - 1, scope)).collect()),
        }
    }
}
