//! Checks records: construction, update and field access.

use std::collections::HashMap;
use std::sync::Arc;

use super::body::{Body, Term, Val};
use super::exprs::{short, tree};
use super::subtype::instantiate;
use super::value_conditions::Flow;
use crate::diagnostic::{Span, code};
use crate::ir::form::Literal;
use crate::ir::tree::{Shape, Tree, TreeKind};
use crate::ir::ty::Ty;
use crate::resolve::interface::{TypeInfo, TypeInfoKind};
use crate::syntax::ast::{Expr, ExprKind, Ident, Name};

impl Body<'_> {
    fn record_info(&mut self, name: &Ident) -> Option<Arc<TypeInfo>> {
        match self.scope.ty(&name.name) {
            Some(info) if matches!(info.kind, TypeInfoKind::Record(_)) => Some(info.clone()),
            _ => {
                let near = self.scope.nearest_type(&name.name).map(|near| format!("did you mean `{near}`?"));
                let error = self.error(code::UNKNOWN_RECORD, name.span, format!("there is no record `{}`", name.name));
                error.hints.extend(near);
                None
            }
        }
    }

    /// The fields of a record type with these arguments.
    pub(super) fn fields_of(&self, info: &TypeInfo, args: &[Ty]) -> Vec<(Name, Ty)> {
        let TypeInfoKind::Record(fields) = &info.kind else { return Vec::new() };
        let types = info.params.iter().cloned().zip(args.iter().cloned()).collect();
        fields.iter().map(|(name, ty)| (name.clone(), instantiate(ty, &types, &HashMap::new()))).collect()
    }

    pub(super) fn record(&mut self, name: &Ident, given: &[(Ident, Expr)], hint: Option<&Ty>, span: Span) -> Val {
        let Some(info) = self.record_info(name) else { return self.wrong(span) };
        let (errors, first) = (self.errors.len(), self.count_metas());
        let args: Vec<Ty> = info.params.iter().map(|_| self.meta()).collect();
        let ty = Ty::Con(info.full.clone(), args.clone());
        let (mut flows, keeps) = (Vec::new(), !args.is_empty() && info.covariant);
        if let Some(hint) = hint {
            self.expect_result(&ty, hint);
        }
        let fields = self.fields_of(&info, &args);
        let mut trees: Vec<Option<Tree>> = vec![None; fields.len()];
        let mut terms = vec![Term::Opaque; fields.len()];
        let mut lets = Vec::new();
        for (field, value) in given {
            let Some(at) = self.field_place(&fields, field, &name.name) else {
                self.infer(value);
                continue;
            };
            let val = self.check(value, &fields[at].1);
            if keeps {
                flows.extend(Flow::new(self, &val, value, &fields[at].1));
            }
            if trees[at].is_some() {
                self.error(code::DUPLICATE, field.span, format!("the field `{}` is given twice", field.name));
            }
            // Values are computed in the order in which they are written.
            let var = self.fresh_var();
            lets.push((Shape::Bind(var), val.tree));
            trees[at] = Some(tree(TreeKind::Var(var), value.span));
            terms[at] = val.term;
        }
        if self.errors.len() == errors {
            self.keep(first, &flows, &[]);
        }
        let missing: Vec<_> = fields
            .iter()
            .zip(&trees)
            .filter(|(_, tree)| tree.is_none())
            .map(|((name, _), _)| format!("`{name}`"))
            .collect();
        if !missing.is_empty() {
            let message = format!("`{}` needs {} too", name.name, missing.join(", "));
            let known = |at: usize| format!("`{}: {}`", fields[at].0, self.show(&fields[at].1));
            let needed: Vec<_> = (0..fields.len()).filter(|at| trees[*at].is_none()).map(known).collect();
            self.error(code::MISSING_FIELD, span, message).hints.push(format!("add {}", needed.join(", ")));
            return Val { ty, ..self.wrong(span) };
        }
        let mut elements = vec![tree(TreeKind::Literal(Literal::Atom(short(&info.full))), span)];
        elements.extend(trees.into_iter().flatten());
        let value = tree(TreeKind::Tuple(elements), span);
        let term = Term::Data(short(&info.full), terms);
        Val { tree: tree(TreeKind::Block(lets, Box::new(value)), span), ty, term }
    }

    pub(super) fn field_place(&mut self, fields: &[(Name, Ty)], field: &Ident, record: &str) -> Option<usize> {
        let found = fields.iter().position(|(name, _)| *name == field.name);
        if found.is_none() {
            let names: Vec<_> = fields.iter().map(|(name, _)| format!("`{name}`")).collect();
            let message = format!("`{}` has no field `{}`", short(record), field.name);
            let near = self.scope.most_similar(&field.name, fields.iter().map(|(name, _)| &**name));
            let error = self.error(code::UNKNOWN_FIELD, field.span, message);
            error.hints.extend(near.map(|near| format!("did you mean `{near}`?")));
            error.hints.push(format!("it has {}", names.join(", ")));
        }
        found
    }

    pub(super) fn update(&mut self, name: &Ident, base: &Expr, given: &[(Ident, Expr)], span: Span) -> Val {
        let Some(info) = self.record_info(name) else { return self.wrong(span) };
        let (errors, first) = (self.errors.len(), self.count_metas());
        let args: Vec<Ty> = info.params.iter().map(|_| self.meta()).collect();
        let ty = Ty::Con(info.full.clone(), args.clone());
        let keeps = !args.is_empty() && info.covariant;
        let from = base;
        let base = self.check(from, &ty);
        let mut flows = Vec::new();
        if keeps {
            flows.extend(Flow::new(self, &base, from, &ty));
        }
        let fields = self.fields_of(&info, &args);
        let mut changes: Vec<(u32, Tree)> = Vec::new();
        // Knowledge about the other fields carries over to the new record.
        let mut terms = match base.term {
            Term::Data(_, terms) if terms.len() == fields.len() => terms,
            _ => vec![Term::Opaque; fields.len()],
        };
        if let Some(path) = access(&base.tree) {
            for (at, (name, ty)) in fields.iter().enumerate() {
                if matches!(terms[at], Term::Opaque) && !given.iter().any(|(field, _)| field.name == *name) {
                    let sym = self.opaque_symbol(&of_field(at, &path));
                    let mut facts = Vec::new();
                    terms[at] = self.term_at(ty, sym, &mut facts);
                    self.facts.extend(facts);
                }
            }
        }
        for (field, value) in given {
            let Some(at) = self.field_place(&fields, field, &name.name) else { continue };
            if changes.iter().any(|(known, _)| *known == at as u32 + 1) {
                self.error(code::DUPLICATE, field.span, format!("the field `{}` is given twice", field.name));
            }
            let val = self.check(value, &fields[at].1);
            if keeps {
                flows.extend(Flow::new(self, &val, value, &fields[at].1));
            }
            terms[at] = val.term;
            changes.push((at as u32 + 1, val.tree));
        }
        if self.errors.len() == errors {
            self.keep(first, &flows, &[]);
        }
        let term = Term::Data(short(&info.full), terms);
        Val { tree: tree(TreeKind::SetElements(Box::new(base.tree), changes), span), ty, term }
    }

    /// The type of a variable, or of a field of one; `None` for other expressions.
    pub(super) fn type_of_place(&self, expr: &Expr) -> Option<Ty> {
        match &expr.kind {
            ExprKind::Name(name) => Some(self.base(&self.local(name)?.ty)),
            ExprKind::Field(base, field) => {
                let Ty::Con(name, args) = self.type_of_place(base)? else { return None };
                let fields = self.fields_of(self.scope.type_by_full(&name)?, &args);
                let found = fields.iter().find(|(name, _)| *name == field.name)?;
                Some(self.base(&found.1))
            }
            _ => None,
        }
    }

    pub(super) fn field(&mut self, whole: &Expr, base: &Expr, field: &Ident) -> Val {
        if let Some((module, function)) = self.qualified(whole) {
            return self.qualified_value(whole, &module, &function, None);
        }
        let val = self.infer(base);
        let ty = self.base(&val.ty);
        let info = match &ty {
            Ty::Con(name, _) => {
                self.scope.type_by_full(name).filter(|info| matches!(info.kind, TypeInfoKind::Record(_)))
            }
            _ => None,
        };
        let (Some(info), Ty::Con(_, args)) = (info.cloned(), &ty) else {
            if !matches!(ty, Ty::Wrong) {
                let message = format!("`.{}` needs a record, this is {}", field.name, self.show(&ty));
                let error = self.error(code::MISMATCH, base.span, message);
                if matches!(ty, Ty::Meta(_)) {
                    error.hints.push("say the type of the parameter: `fn(p: P) -> … end`".to_owned());
                }
            }
            return self.wrong(whole.span);
        };
        let fields = self.fields_of(&info, args);
        let Some(at) = self.field_place(&fields, field, &info.full) else { return self.wrong(whole.span) };
        let ty = fields[at].1.clone();
        // The same field of the same value is the same number; a call may return a different value each time.
        let known = match val.term {
            Term::Data(_, terms) => terms.into_iter().nth(at),
            _ => None,
        };
        let term = match known {
            None | Some(Term::Opaque) => {
                let sym = match access(&val.tree) {
                    Some(path) => {
                        let sym = self.opaque_symbol(&of_field(at, &path));
                        self.name_symbol(sym, whole.span.text(self.checker.source));
                        sym
                    }
                    None => self.symbol(None),
                };
                let mut facts = Vec::new();
                let term = self.term_at(&ty, sym, &mut facts);
                self.facts.extend(facts);
                term
            }
            Some(known) => {
                self.both_fit(&ty, &known);
                known
            }
        };
        Val { tree: tree(TreeKind::Element(Box::new(val.tree), at as u32 + 1), whole.span), ty, term }
    }
}

/// The key of the value of a field.
fn of_field(at: usize, path: &str) -> String {
    format!("field {at} of {path}")
}

/// The field path from a variable, if the expression is nothing else.
fn access(tree: &Tree) -> Option<String> {
    match &tree.kind {
        TreeKind::Var(var) => Some(format!("{var}")),
        TreeKind::Element(of, at) => Some(format!("{}.{at}", access(of)?)),
        _ => None,
    }
}
