//! Makes numbers for which a refinement is provable, and conditions from refinements.

use super::make::{Maker, Scope, binary};
use super::tree::*;

impl Maker {
    /// A number for which the refinement is provable.
    pub(super) fn refined(&mut self, at: usize, depth: usize, scope: &Scope) -> Expr {
        self.note("refinements");
        let own = Type::Refined(at);
        let var = |name: &str| Expr::Var(name.to_owned());
        // Operands declare their refinement, since the operator expects nothing of them.
        let operand = |maker: &mut Maker, at: usize| {
            let ty = Type::Refined(at);
            Expr::As(maker.boxed(&ty, depth, scope), ty)
        };
        match (self.random.below(7), at) {
            (5 | 6, NAT) if self.naturals => {
                self.note("Zero, Succ and Pred");
                match self.random.below(4) {
                    0 => Expr::Natural("Zero", Vec::new()),
                    1 => Expr::Natural("Pred", vec![operand(self, ABOVE)]),
                    _ => Expr::Natural("Succ", vec![operand(self, NAT)]),
                }
            }
            (5, ABOVE) if self.naturals => {
                self.note("Zero, Succ and Pred");
                Expr::Natural("Succ", vec![operand(self, NAT)])
            }
            (0, ABOVE) => binary("+", operand(self, ABOVE), operand(self, NAT)),
            (0, NAT) => binary("+", operand(self, NAT), operand(self, NAT)),
            (5, SMALL) => {
                self.note("results with conditions");
                self.program.templates.insert("clipped");
                Expr::Native("clipped", vec![*self.boxed(&Type::Int, depth, scope)])
            }
            (0, SMALL) => binary("%", operand(self, NAT), Expr::Int(10.into())),
            (1, ABOVE | NAT) => binary("*", Expr::Int(3.into()), operand(self, at)),
            (1, SMALL) => binary("/", operand(self, SMALL), Expr::Int(2.into())),
            (2, _) => {
                // match v do n when … -> n, _ -> a number for which it holds
                let value = *self.boxed(&Type::Int, depth, scope);
                let name = self.name("v");
                let guard = Some(condition(at, &name));
                let fits = Clause { pattern: Pattern::Var(name.clone()), guard, body: var(&name) };
                let other = Clause { pattern: Pattern::Any, guard: None, body: self.leaf(&own, &Scope::default()) };
                Expr::Match(Box::new(value), vec![fits, other])
            }
            (3, _) => {
                self.note("conditions of the way");
                let value = *self.boxed(&Type::Int, depth, scope);
                let name = self.name("v");
                let test = Box::new(condition(at, &name));
                let other = Box::new(self.leaf(&own, &Scope::default()));
                let chosen = Expr::If(test, Box::new(var(&name)), other);
                Expr::Let(vec![(Pattern::Var(name), None, value)], Box::new(chosen))
            }
            _ => self.leaf(&own, scope),
        }
    }
}

/// A refinement's condition on a variable, as an expression.
pub(crate) fn condition(at: usize, name: &str) -> Expr {
    let var = || Expr::Var(name.to_owned());
    let int = |value: i64| Expr::Int(value.into());
    match REFINEMENTS[at].name {
        "Above" => binary(">", var(), int(0)),
        "NonZero" => binary("!=", var(), int(0)),
        "Small" => binary("and", binary(">=", var(), int(0)), binary("<", var(), int(10))),
        "Nat" => binary(">=", var(), int(0)),
        "Far" => binary("or", binary(">", var(), int(9)), binary("<", var(), int(-9))),
        _ => binary("==", binary("%", var(), int(2)), int(0)),
    }
}
