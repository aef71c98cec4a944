//! Resolves names in a body: variables, functions and constructors; and types, which may mention variables.

use std::collections::HashMap;

use super::body::{Binding, Body, Local, Term, Val};
use super::exprs::tree;
use super::subtype::instantiate;
use crate::diagnostic::{Span, code};
use crate::fuel;
use crate::ir::tree::TreeKind;
use crate::ir::ty::{Ty, names_in};
use crate::resolve::suggest;
use crate::resolve::written_types::Reader;
use crate::solver::Linear;
use crate::syntax::ast::{Name, Type};

impl Body<'_> {
    /// A type written inside a body.
    pub(super) fn written(&mut self, ty: &Type) -> Ty {
        fuel::spend(16 * (self.locals.len() + self.head_names.len()));
        let mut names = self.head_names.clone();
        let mut others: HashMap<Name, Term> = HashMap::new();
        for (name, local) in &self.locals {
            names.remove(name);
            others.remove(name);
            match &local.known {
                Binding::Term(Term::Int(term)) => {
                    names.insert(name.clone(), term.clone());
                }
                Binding::Term(term @ (Term::Float(_) | Term::Word(_) | Term::Bool(_))) => {
                    others.insert(name.clone(), term.clone());
                }
                _ => {}
            }
        }
        let mut errors = Vec::new();
        let mut reader = Reader::new(self.scope, self.checker.source, &mut errors);
        reader.params = self.type_params.iter().chain(self.renamed.keys()).cloned().collect();
        reader.own = self.own.clone();
        reader.values = names.keys().cloned().collect();
        reader.no_numbers = others.keys().cloned().collect();
        let read = reader.read(ty);
        reader.finish(true);
        if !errors.is_empty() {
            self.errors.extend(errors);
            return Ty::Wrong;
        }
        // Other values than numbers get symbols only where a condition speaks of them.
        read.any(&mut |part| {
            if let Ty::Refined(_, pred) = part {
                names_in(&pred.condition, &mut |name| {
                    if let Some((name, term)) = others.remove_entry(name) {
                        let sym = self.symbol(Some(&name));
                        self.record_value(sym, &term);
                        names.insert(name, Linear::symbol(sym));
                    }
                });
            }
            false
        });
        let types = self.renamed.iter().map(|(from, to)| (from.clone(), Ty::Param(to.clone()))).collect();
        instantiate(&read, &types, &names)
    }

    pub(super) fn name(&mut self, name: &Name, hint: Option<&Ty>, span: Span) -> Val {
        if let Some(local) = self.local(name).cloned() {
            return self.variable(&local, span);
        }
        if self.scope.constructor(name).is_some() || matches!(&**name, "Zero") {
            return self.construct(name, &[], hint, span);
        }
        self.function_value(name, None, span)
    }

    pub(super) fn variable(&mut self, local: &Local, span: Span) -> Val {
        let mut ty = local.ty.clone();
        let term = match &local.known {
            Binding::Term(term) => term.clone(),
            Binding::Function(metas) => {
                ty = self.fresh(&ty, metas);
                Term::Opaque
            }
            Binding::Later(sym) => {
                let mut facts = Vec::new();
                let term = self.term_at(&local.ty, *sym, &mut facts);
                self.facts.extend(facts);
                term
            }
        };
        if let Some(used) = self.lengths_used.get_mut(&local.var) {
            *used = true;
        }
        Val { tree: tree(TreeKind::Var(local.var), span), ty, term }
    }

    /// Reports a name that is not defined; `arity` is the number of arguments of its call.
    pub(super) fn unknown_name(&mut self, name: &str, arity: Option<u32>, span: Span) -> Val {
        let message = format!("`{name}` is not defined");
        // A missing name is reported once per function, not at each use.
        let said = self.errors.iter().any(|error| error.code == code::UNKNOWN_NAME && error.message == message);
        if said || self.scope.missing.contains(name) {
            return self.wrong(span);
        }
        let locals = self.locals.iter().map(|(name, _)| &**name);
        let near = self.scope.most_similar(name, locals).or_else(|| self.scope.nearest(name));
        let hint = match name {
            "case" | "elif" | "cond" => Some("choose with `match … do … end` or `if … then … else …`".to_owned()),
            _ => suggest::import_of_function(name, arity, self.scope.own_method(name).as_deref())
                .or_else(|| suggest::usual_name(name))
                .or_else(|| near.map(|near| format!("did you mean `{near}`?"))),
        };
        let error = self.error(code::UNKNOWN_NAME, span, message);
        error.hints.extend(hint);
        self.wrong(span)
    }
}
