//! Checks functions that are called where they are written: `x |> fn(n) -> … end`.

use super::body::{Body, Term, Val};
use super::exprs::tree;
use crate::diagnostic::Span;
use crate::ir::tree::{Shape, TreeKind};
use crate::syntax::ast::{Expr, Param};

impl Body<'_> {
    /// Such a function is called once, with these arguments: a parameter without a type is known as a name of a `let` is,
    /// and of one with a type, that type is known.
    pub(super) fn applied(&mut self, params: &[Param], body: &Expr, args: &[Expr], span: Span) -> Val {
        let locals = self.locals.len();
        // No argument sees a parameter.
        let mut given = Vec::new();
        for (param, arg) in params.iter().zip(args) {
            given.push(match &param.ty {
                Some(written) => {
                    let ty = self.written(written);
                    let val = self.check(arg, &ty);
                    Val { ty, term: Term::Opaque, ..val }
                }
                None => self.infer(arg),
            });
        }
        let mut lets = Vec::new();
        for (at, (param, val)) in params.iter().zip(given).enumerate() {
            self.report_duplicate(&param.name, params[..at].iter().map(|other| &other.name));
            let ty = self.opened(&val.ty);
            self.note(param.name.span, &ty);
            if let Term::Int(term) = &val.term
                && let Some(sym) = term.as_symbol()
            {
                self.name_symbol(sym, &param.name.name);
            }
            let known = if matches!(val.term, Term::Opaque) { None } else { Some(val.term) };
            lets.push((Shape::Bind(self.bind(&param.name.name, &ty, known)), val.tree));
        }
        let body = self.infer(body);
        self.locals.truncate(locals);
        Val { tree: tree(TreeKind::Block(lets, Box::new(body.tree)), span), ty: body.ty, term: body.term }
    }
}
