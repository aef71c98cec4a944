//! Programs that need inference: conditions preserved by library functions, functions of a `let` used at several types,
//! and chains of operands longer than the maximum depth of trees.

use std::rc::Rc;

use super::make::{Maker, Scope, binary};
use super::refinements::condition;
use super::tree::*;

impl Maker {
    /// Returns a number from a list of divisors, passed through library functions that preserve what is known.
    pub(super) fn conditions_through_library(&mut self, depth: usize, scope: &Scope) -> Expr {
        self.note("conditions through the library");
        let at = [ABOVE, NONZERO][self.random.below(2)];
        let list = Type::List(Box::new(Type::Refined(at)));
        let (all, dividend) = (self.name("v"), self.name("v"));
        let var = |name: &str| Expr::Var(name.to_owned());
        let items = self.random.below(2);
        // A written list determines the type of its elements; any other list is declared.
        let (declared, value) = match items {
            0 => {
                let samples = REFINEMENTS[at].samples;
                let count = 1 + self.random.below(4);
                let items = (0..count).map(|_| Expr::Int((*self.random.pick(samples)).into())).collect();
                self.note("conditions of literals");
                (None, Expr::List(items, None))
            }
            _ => (Some(list.clone()), *self.boxed(&list, depth, scope)),
        };
        let mut kept = var(&all);
        for _ in 0..self.random.below(4) {
            kept = match self.random.below(5) {
                0 => {
                    let name = self.name("v");
                    let by = [ABOVE, SMALL, NAT][self.random.below(3)];
                    let test = Expr::Lambda(vec![(name.clone(), None)], Rc::new(condition(by, &name)));
                    Expr::Native("Std.List.filter", vec![kept, test])
                }
                1 => Expr::Native("Std.List.reverse", vec![kept]),
                2 => Expr::Native("Std.List.take", vec![kept, Expr::Int(self.random.below(4).into())]),
                3 => Expr::Native("Std.List.tail", vec![kept]),
                _ => binary("++", kept, var(&all)),
            };
        }
        let name = self.name("v");
        let operator = ["/", "%"][self.random.below(2)];
        let divided = |name: &str| binary(operator, var(&dividend), var(name));
        let result = match self.random.below(3) {
            0 => {
                let function = Expr::Lambda(vec![(name.clone(), None)], Rc::new(divided(&name)));
                Expr::Native("Std.List.sum", vec![Expr::Native("Std.List.map", vec![kept, function])])
            }
            1 => {
                let sum = self.name("v");
                let inner = binary("+", divided(&name), var(&sum));
                let inner = Expr::Lambda(vec![(sum, None)], Rc::new(inner));
                let function = Expr::Lambda(vec![(name, None)], Rc::new(inner));
                Expr::Native("Std.List.fold", vec![kept, Expr::Int(self.random.below(9).into()), function])
            }
            _ => {
                let value = Expr::Native("Std.List.head", vec![kept, Expr::Int([1, 7][self.random.below(2)].into())]);
                let body = divided(&name);
                let function = || Expr::Lambda(vec![(name.clone(), None)], Rc::new(body.clone()));
                match self.random.below(3) {
                    0 => {
                        self.note("conditions behind pipes");
                        Expr::Pipe(Box::new(value), Box::new(function()), None)
                    }
                    1 => Expr::Apply(Box::new(function()), vec![value]),
                    _ => Expr::Let(vec![(Pattern::Var(name.clone()), None, value)], Box::new(body)),
                }
            }
        };
        let first = (Pattern::Var(dividend), Some(Type::Int), *self.boxed(&Type::Int, depth, scope));
        Expr::Let(vec![first, (Pattern::Var(all), declared, value)], Box::new(result))
    }

    /// A function of a `let` that is used at two types.
    pub(super) fn used_at_two_types(&mut self, depth: usize, scope: &Scope) -> Expr {
        self.note("functions of `let` at two types");
        let (function, x) = (self.name("v"), self.name("v"));
        let var = |name: &str| Expr::Var(name.to_owned());
        let call = |arg: Expr| Expr::Apply(Box::new(var(&function)), vec![arg]);
        let (test, then) = (*self.boxed(&Type::Bool, depth, scope), *self.boxed(&Type::Int, depth, scope));
        let (written, first, second) = match self.random.below(3) {
            0 => (var(&x), call(test), call(then)),
            1 => {
                let list = Expr::List(vec![var(&x), var(&x)], None);
                let head = |list: Expr, default: Expr| Expr::Native("Std.List.head", vec![list, default]);
                (list, head(call(test), Expr::Bool(false)), head(call(then), Expr::Int(0.into())))
            }
            _ => {
                let some = Expr::Construct("Some".to_owned(), vec![var(&x)], true);
                let or = |option: Expr, default: Expr| Expr::Native("Std.Core.option_or", vec![option, default]);
                (some, or(call(test), Expr::Bool(true)), or(call(then), Expr::Int(1.into())))
            }
        };
        let written = Expr::Lambda(vec![(x, None)], Rc::new(written));
        let chosen = Expr::If(Box::new(first), Box::new(second), self.boxed(&Type::Int, depth, scope));
        Expr::Let(vec![(Pattern::Var(function), None, written)], Box::new(chosen))
    }

    /// A chain of operands that is longer than trees are deep.
    pub(super) fn chain(&mut self, ty: &Type, scope: &Scope) -> Expr {
        self.note("chains of operands");
        let count = 40 + self.random.below(160);
        let mut leaves = (0..count).map(|_| self.leaf(ty, scope)).collect::<Vec<_>>();
        if matches!(ty, Type::Text) {
            let last = leaves.pop().expect("there are some");
            return leaves.into_iter().rev().fold(last, |right, left| binary("<>", left, right));
        }
        let operators: &[&'static str] = if matches!(ty, Type::Int) { &["+", "-"] } else { &["and", "or"] };
        let mut leaves = leaves.into_iter();
        let first = leaves.next().expect("there are some");
        // One operator for the whole chain, or any of one precedence.
        let one = *self.random.pick(operators);
        leaves.fold(first, |left, right| {
            let operator = if matches!(ty, Type::Int) { *self.random.pick(operators) } else { one };
            binary(operator, left, right)
        })
    }
}
