//! Type variables keep what values say: a variable under no class takes the conditions and lengths of the values that flow
//! into it, if they all have them.
//!
//! A variable is first solved by the base type of its first value. When all values that flow into it are known, it is
//! narrowed to the type of one of them, and all are checked again. If one does not fit, the base type stays. Earlier
//! checks against the base type remain valid, because only incoming values depend on it.

use std::sync::Arc;

use super::body::{Body, Term, Val};
use super::literals::joined;
use crate::diagnostic::Span;
use crate::ir::ty::{Len, Ty};
use crate::syntax::ast::{Expr, ExprKind};

/// A value that flows into a type.
pub(super) struct Flow {
    /// The type that it has.
    pub ty: Ty,
    pub term: Term,
    /// The type that it was checked against.
    pub into: Ty,
    pub span: Span,
}

impl Flow {
    /// A value that was checked against a type, if anything flows from it: an empty list and a constructor without fields
    /// hold nothing.
    pub(super) fn new(body: &Body<'_>, val: &Val, expr: &Expr, into: &Ty) -> Option<Flow> {
        let nothing = match &expr.kind {
            ExprKind::List(elements, None) | ExprKind::Vector(elements) => elements.is_empty(),
            _ => matches!(&val.term, Term::Data(_, parts) if parts.is_empty()),
        };
        let (ty, term) = (body.with_literals(&val.ty, &val.term), val.term.clone());
        (!nothing).then(|| Flow { ty, term, into: into.clone(), span: expr.span })
    }
}

impl Body<'_> {
    /// Narrows the variables newer than `first` and not in `fixed` to the types of their values.
    pub(super) fn keep(&mut self, first: u32, flows: &[Flow], fixed: &[u32]) {
        let says_more = |flow: &Flow| self.resolved(&flow.ty).any(&mut |part| exact(part));
        if !flows.iter().any(says_more) {
            return;
        }
        // The types of the values before narrowing.
        let actual: Vec<Ty> = flows.iter().map(|flow| self.resolved(&flow.ty)).collect();
        let mut found: Vec<(u32, Ty)> = Vec::new();
        for (flow, actual) in flows.iter().zip(&actual) {
            self.gather(&flow.into, actual, first, &mut found);
        }
        found.retain(|(meta, ty)| !fixed.contains(meta) && ty.any(&mut |part| exact(part)));
        for (meta, ty) in found {
            let Some(before) = self.rebind(meta, ty) else { continue };
            if !self.all_fit(flows, &actual) {
                self.rebind(meta, before);
            }
        }
    }

    /// The variables in a type whose value says more than their solution does.
    fn gather(&self, into: &Ty, actual: &Ty, first: u32, found: &mut Vec<(u32, Ty)>) {
        if let Ty::Meta(_) = into {
            let Some(root) = self.root(into) else { return };
            // Any refinement in the expected type is sufficient.
            let said = self.resolved(into).any(&mut |part| exact(part));
            if !self.is_newer(root, first) || said || self.is_of_class(root) {
                return;
            }
            let kept = self.without_unnamed_lengths(actual);
            match found.iter_mut().find(|(meta, _)| *meta == root) {
                // A literal's type holds for the variable only if it covers all other values.
                Some((_, known)) => *known = joined(known, &kept),
                None => found.push((root, kept)),
            }
            return;
        }
        match (self.shallow(into), actual) {
            (Ty::Con(name, args), Ty::Con(other, parts)) if name == *other && self.is_covariant(&name) => {
                args.iter().zip(parts).for_each(|(arg, part)| self.gather(arg, part, first, found));
            }
            (Ty::Seq(_, element, _), Ty::Seq(_, part, _)) => self.gather(&element, part, first, found),
            (Ty::Tuple(args), Ty::Tuple(parts)) => {
                args.iter().zip(parts).for_each(|(arg, part)| self.gather(arg, part, first, found));
            }
            (Ty::Fn(_, result), Ty::Fn(_, part)) => self.gather(&result, part, first, found),
            (Ty::App(_, args), actual) => {
                if let Some((_, parts)) = actual.split_constructor(args.len()) {
                    args.iter().zip(&parts).for_each(|(arg, part)| self.gather(arg, part, first, found));
                }
            }
            (into, Ty::Refined(base, _)) if !matches!(into, Ty::Refined(..)) => self.gather(&into, base, first, found),
            _ => {}
        }
    }

    /// A type as a variable keeps it: without lengths that have no name, since each value has its own.
    fn without_unnamed_lengths(&self, ty: &Ty) -> Ty {
        ty.map(&mut |part| match part {
            Ty::Seq(seq, element, Len::Term(length)) => {
                let named = length.factors.keys().all(|sym| self.symbol_name(*sym).is_some());
                let length = if named { Len::Term(length.clone()) } else { Len::Unknown };
                Some(Ty::Seq(*seq, Arc::new(self.without_unnamed_lengths(element)), length))
            }
            _ => None,
        })
    }

    /// Returns the type as visible outside its scope: without conditions on values newer than `first`.
    pub(super) fn without_later(&self, ty: &Ty, first: usize) -> Ty {
        if !self.speaks_of_later(ty, first) {
            return ty.clone();
        }
        self.resolved(ty).map(&mut |part| match part {
            Ty::Fn(..) | Ty::App(..) => Some(part.clone()),
            Ty::Con(name, _) if !self.is_covariant(name) => Some(part.clone()),
            Ty::Seq(seq, element, length @ Len::Term(_)) => {
                let alone = Ty::Seq(*seq, Arc::new(Ty::Any), length.clone());
                let length = if self.speaks_of_later(&alone, first) { Len::Unknown } else { length.clone() };
                Some(Ty::Seq(*seq, Arc::new(self.without_later(element, first)), length))
            }
            Ty::Refined(base, _) if self.speaks_of_later(part, first) => Some(self.without_later(base, first)),
            _ => None,
        })
    }

    /// True if all values fit, without a word if they do not.
    fn all_fit(&mut self, flows: &[Flow], actual: &[Ty]) -> bool {
        let errors = self.errors.len();
        let lengths = (self.open_lens.clone(), self.lens.clone());
        let outer = self.trail.replace(Vec::new());
        let fit = flows.iter().zip(actual).all(|(flow, actual)| {
            self.subtype(actual, &flow.into, &flow.term, flow.span).is_ok() && self.errors.len() == errors
        });
        let solved = std::mem::replace(&mut self.trail, outer).unwrap_or_default();
        if !fit {
            self.errors.truncate(errors);
            (self.open_lens, self.lens) = lengths;
            self.unbind(&solved);
        } else if let Some(trail) = &mut self.trail {
            trail.extend(solved);
        }
        fit
    }

    /// The variables that a narrower type would not do for: those into which functions flow that were not checked yet (their
    /// results), and those that a result takes from elsewhere.
    pub(super) fn flows_in(&self, ty: &Ty, is_in: bool, found: &mut Vec<u32>) {
        if let Some(root) = self.root(ty) {
            if is_in {
                found.push(root);
            }
            return;
        }
        match self.shallow(ty) {
            Ty::Con(name, args) => {
                let covariant = self.is_covariant(&name);
                for arg in &args {
                    self.flows_in(arg, is_in, found);
                    if !covariant {
                        self.flows_in(arg, !is_in, found);
                    }
                }
            }
            Ty::Tuple(parts) => parts.iter().for_each(|part| self.flows_in(part, is_in, found)),
            Ty::Seq(_, inner, _) | Ty::Refined(inner, _) => self.flows_in(&inner, is_in, found),
            Ty::Fn(params, result) => {
                params.iter().for_each(|param| self.flows_in(param, !is_in, found));
                self.flows_in(&result, is_in, found);
            }
            Ty::App(_, args) => {
                for arg in &args {
                    self.flows_in(arg, is_in, found);
                    self.flows_in(arg, !is_in, found);
                }
            }
            _ => {}
        }
    }

    pub(super) fn is_covariant(&self, name: &str) -> bool {
        self.scope.type_by_full(name).is_none_or(|info| info.covariant)
    }
}

/// True if a type has a condition or a length at its top.
pub(super) fn exact(ty: &Ty) -> bool {
    matches!(ty, Ty::Refined(..) | Ty::Seq(_, _, Len::Term(_)))
}
