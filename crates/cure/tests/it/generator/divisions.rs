//! Makes divisions whose divisors are proved by a test or by an earlier clause.

use super::make::{Maker, Scope, binary};
use super::tree::*;

impl Maker {
    /// A division by a field that an earlier clause says is not zero.
    pub(super) fn division_of_a_field(&mut self, depth: usize, scope: &Scope) -> Expr {
        self.note("fields that earlier clauses test");
        let int = Box::new(Type::Int);
        let (of, name) = match self.random.below(3) {
            0 => (Type::Result(int, Box::new(Type::Text)), "Ok"),
            1 => (Type::Option(Box::new(Type::Option(int))), "Some"),
            _ => (Type::Option(int), "Some"),
        };
        let nested = matches!(&of, Type::Option(inner) if matches!(**inner, Type::Option(_)));
        let field = |inner: Pattern| {
            let inner = if nested { Pattern::Construct("Some".to_owned(), vec![inner], true) } else { inner };
            Pattern::Construct(name.to_owned(), vec![inner], true)
        };
        let v = self.name("v");
        let value = Expr::As(self.boxed(&of, depth, scope), of);
        let divided =
            binary(["/", "%"][self.random.below(2)], *self.boxed(&Type::Int, depth, scope), Expr::Var(v.clone()));
        let mut clauses = vec![
            (field(Pattern::Int(0.into())), self.expr(&Type::Int, depth - 1, scope)),
            (field(Pattern::Var(v)), divided),
        ];
        if self.random.chance(50) {
            let other = match name {
                "Ok" => Pattern::Construct("Error".to_owned(), vec![Pattern::Any], true),
                _ => Pattern::Construct("None".to_owned(), Vec::new(), false),
            };
            let at = self.random.below(3);
            clauses.insert(at, (other, self.expr(&Type::Int, depth - 1, scope)));
        }
        clauses.push((Pattern::Any, self.expr(&Type::Int, depth - 1, scope)));
        let clauses = clauses.into_iter().map(|(pattern, body)| Clause { pattern, guard: None, body });
        Expr::Match(Box::new(value), clauses.collect())
    }

    pub(super) fn division_under_test(
        &mut self,
        depth: usize,
        scope: &Scope,
        operator: &'static str,
        dividend: Expr,
    ) -> Expr {
        self.note("conditions of the way");
        let name = self.name("v");
        let value = self.expr(&Type::Int, depth - 1, scope);
        let otherwise = self.boxed(&Type::Int, depth, scope);
        let var = Expr::Var(name.clone());
        let test = match self.random.below(4) {
            0 => binary(">", var.clone(), Expr::Int(0.into())),
            1 => binary("<", var.clone(), Expr::Int((-3).into())),
            2 => binary("and", binary("!=", var.clone(), Expr::Int(0.into())), *self.boxed(&Type::Bool, depth, scope)),
            _ => binary("!=", var.clone(), Expr::Int(0.into())),
        };
        let divided = Box::new(binary(operator, dividend, var));
        Expr::Let(vec![(Pattern::Var(name), None, value)], Box::new(Expr::If(Box::new(test), divided, otherwise)))
    }
}
