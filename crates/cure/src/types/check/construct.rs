//! Checks values of constructors.

use std::collections::HashMap;

use super::body::{Body, Term, Val};
use super::exprs::tree;
use super::subtype::instantiate;
use super::value_conditions::Flow;
use crate::diagnostic::{Span, code};
use crate::ir::form::Literal;
use crate::ir::tree::TreeKind;
use crate::ir::ty::Ty;
use crate::resolve::interface::Constructor;
use crate::syntax::ast::{Expr, Name};

impl Body<'_> {
    /// A value of a constructor.
    pub(super) fn construct(&mut self, name: &Name, args: &[Expr], hint: Option<&Ty>, span: Span) -> Val {
        if let Some(val) = self.natural(name, args, span) {
            return val;
        }
        match self.scope.constructor(name).cloned() {
            Some(constructor) => self.construct_as(&constructor, args, hint, span),
            None => self.unknown_name(name, Some(args.len() as u32), span),
        }
    }

    pub(super) fn construct_as(
        &mut self,
        constructor: &Constructor,
        args: &[Expr],
        hint: Option<&Ty>,
        span: Span,
    ) -> Val {
        let name = &constructor.name;
        if constructor.fields.len() != args.len() {
            let message = format!("`{name}` takes {} argument(s), not {}", constructor.fields.len(), args.len());
            self.error(code::ARITY, span, message);
            self.infer_all(args);
            return self.wrong(span);
        }
        let (errors, first) = (self.errors.len(), self.count_metas());
        let types: HashMap<Name, Ty> = constructor.params.iter().map(|param| (param.clone(), self.meta())).collect();
        let ty = Ty::Con(constructor.of.clone(), constructor.params.iter().map(|param| types[param].clone()).collect());
        if let Some(hint) = hint {
            self.expect_result(&ty, hint);
        }
        let empty = HashMap::new();
        let mut elements = vec![tree(TreeKind::Literal(Literal::Atom(constructor.tag.clone())), span)];
        let (mut terms, mut flows) = (Vec::new(), Vec::new());
        let keeps = !types.is_empty() && self.is_covariant(&constructor.of);
        for (arg, field) in args.iter().zip(&constructor.fields) {
            let field = instantiate(field, &types, &empty);
            let val = self.check(arg, &field);
            if keeps {
                flows.extend(Flow::new(self, &val, arg, &field));
            }
            elements.push(val.tree);
            terms.push(val.term);
        }
        if self.errors.len() == errors {
            self.keep(first, &flows, &[]);
        }
        Val { tree: tree(TreeKind::Tuple(elements), span), ty, term: Term::Data(constructor.tag.clone(), terms) }
    }
}
