//! Fingerprints of a module's interface: dependents are checked again only when it changes. Source positions are
//! excluded, so that editing a body does not change the fingerprint.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::interface::{ClassInfo, Constructor, InstanceInfo, Interface, Signature, TypeInfo, TypeInfoKind};
use crate::ir::ty::{Len, Pred, Ty};
use crate::syntax::ast::{Expr, ExprKind, Name};

/// The fingerprints of one module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Fingerprint {
    /// Everything visible to modules that import it or call into it.
    pub whole: u64,
    /// Everything visible to modules that only handle its values: types, classes, instances.
    pub known: u64,
}

/// The fingerprint of a module that uses these other modules.
pub(crate) fn fingerprint(interface: &Interface, uses: &[Name]) -> Fingerprint {
    let Interface { module, functions, types, constructors, classes, instances, machines } = interface;
    let mut known = DefaultHasher::new();
    module.hash(&mut known);
    uses.hash(&mut known);
    machines.hash(&mut known);
    unordered(&mut known, types.iter(), |(name, info), to| {
        name.hash(to);
        type_info(info, to);
    });
    unordered(&mut known, classes.iter(), |(name, info), to| {
        name.hash(to);
        class(info, to);
    });
    unordered(&mut known, instances.iter(), |info, to| instance(info, to));
    let known = known.finish();
    let mut whole = DefaultHasher::new();
    known.hash(&mut whole);
    let exported = functions.values().filter(|function| function.exported);
    unordered(&mut whole, exported, |function, to| signature(function, to));
    unordered(&mut whole, constructors.iter(), |(name, one), to| {
        name.hash(to);
        constructor(one, to);
    });
    Fingerprint { whole: whole.finish(), known }
}

/// Hashes a map or a list independently of its order.
fn unordered<T>(to: &mut impl Hasher, all: impl Iterator<Item = T>, one: impl Fn(T, &mut DefaultHasher)) {
    let (mut sum, mut count) = (0u64, 0u64);
    for item in all {
        let mut hasher = DefaultHasher::new();
        one(item, &mut hasher);
        sum = sum.wrapping_add(hasher.finish());
        count += 1;
    }
    (sum, count).hash(to);
}

fn signature(of: &Signature, to: &mut impl Hasher) {
    let Signature {
        module,
        name,
        type_params,
        len_params,
        params,
        result,
        precondition,
        constraints,
        exported,
        span: _,
    } = of;
    (module, name, type_params, len_params, exported, params.len(), constraints.len()).hash(to);
    for (name, of) in params.iter().chain(constraints) {
        name.hash(to);
        ty(of, to);
    }
    ty(result, to);
    precondition.is_some().hash(to);
    precondition.iter().for_each(|condition| expression(condition, to));
}

fn type_info(of: &TypeInfo, to: &mut impl Hasher) {
    let TypeInfo { full, params, kind, covariant } = of;
    (full, params, covariant).hash(to);
    match kind {
        TypeInfoKind::Alias(of) => {
            0.hash(to);
            ty(of, to);
        }
        TypeInfoKind::Sum(all) => {
            (1, all.len()).hash(to);
            all.iter().for_each(|one| constructor(one, to));
        }
        TypeInfoKind::Record(fields) => {
            (2, fields.len()).hash(to);
            for (name, of) in fields {
                name.hash(to);
                ty(of, to);
            }
        }
    }
}

fn constructor(of: &Constructor, to: &mut impl Hasher) {
    let Constructor { name, tag, of, params, fields } = of;
    (name, tag, of, params, fields.len()).hash(to);
    fields.iter().for_each(|field| ty(field, to));
}

fn class(of: &ClassInfo, to: &mut impl Hasher) {
    let ClassInfo { full, module, param, supers, methods, defaults, arity } = of;
    (full, module, param, supers, defaults, arity).hash(to);
    methods.iter().for_each(|method| signature(method, to));
}

fn instance(of: &InstanceInfo, to: &mut impl Hasher) {
    let InstanceInfo { class, head, context, module, function, span: _ } = of;
    (class, head, context, module, function).hash(to);
}

fn ty(of: &Ty, to: &mut impl Hasher) {
    std::mem::discriminant(of).hash(to);
    match of {
        Ty::Con(name, args) => {
            (name, args.len()).hash(to);
            args.iter().for_each(|arg| ty(arg, to));
        }
        Ty::Seq(seq, element, length) => {
            std::mem::discriminant(seq).hash(to);
            ty(element, to);
            std::mem::discriminant(length).hash(to);
            match length {
                Len::Unknown => {}
                Len::Term(term) => term.hash(to),
                Len::Named(named) => (named.constant, &named.factors).hash(to),
            }
        }
        Ty::Tuple(parts) => {
            parts.len().hash(to);
            parts.iter().for_each(|part| ty(part, to));
        }
        Ty::Fn(params, result) => {
            params.len().hash(to);
            params.iter().for_each(|param| ty(param, to));
            ty(result, to);
        }
        Ty::Refined(base, pred) => {
            ty(base, to);
            let Pred { var, condition, names, text } = &**pred;
            (var, text).hash(to);
            expression(condition, to);
            unordered(to, names.iter(), |pair, to| pair.hash(to));
        }
        Ty::App(head, args) => {
            ty(head, to);
            args.len().hash(to);
            args.iter().for_each(|arg| ty(arg, to));
        }
        Ty::Param(name) | Ty::Ctor(name) => name.hash(to),
        Ty::Meta(number) => number.hash(to),
        Ty::Any | Ty::Wrong => {}
    }
}

/// Hashes a condition. Forms that are invalid in a condition are hashed with their positions: they may count as changed
/// too often, but never too seldom.
fn expression(of: &Expr, to: &mut impl Hasher) {
    std::mem::discriminant(&of.kind).hash(to);
    match &of.kind {
        ExprKind::Int(value) => value.hash(to),
        ExprKind::Float(value) => value.to_bits().hash(to),
        ExprKind::Str(text) | ExprKind::Charlist(text) => text.hash(to),
        ExprKind::Atom(name) | ExprKind::Name(name) => name.hash(to),
        ExprKind::Bool(value) => value.hash(to),
        ExprKind::Unit => {}
        ExprKind::Call(function, args) => {
            expression(function, to);
            args.len().hash(to);
            args.iter().for_each(|arg| expression(arg, to));
        }
        ExprKind::Field(of, field) => {
            expression(of, to);
            field.name.hash(to);
        }
        ExprKind::Unary(operator, one) => {
            operator.hash(to);
            expression(one, to);
        }
        ExprKind::Binary(operator, _, left, right) => {
            operator.hash(to);
            expression(left, to);
            expression(right, to);
        }
        other => format!("{other:?}").hash(to),
    }
}
