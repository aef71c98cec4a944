//! Types, and how messages print them.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use crate::fuel;
use crate::solver::{Linear, Sym};
use crate::syntax::ast::{Expr, ExprKind, Name};

/// The maximal number of parts of a type. Types repeat shared parts in full, so a few lines could produce one larger
/// than any memory.
pub(crate) const MOST_PARTS: usize = 500;

#[derive(Debug)]
pub(crate) enum Ty {
    /// A named type with its arguments. Types of a module carry its name: `T.Color`.
    Con(Name, Vec<Ty>),
    /// A list or a vector with its length.
    Seq(Seq, Arc<Ty>, Len),
    Tuple(Vec<Ty>),
    Fn(Vec<Ty>, Arc<Ty>),
    /// A type parameter of the current function or type.
    Param(Name),
    /// A type constructor without arguments, as the subject of classes over type constructors.
    Ctor(Name),
    /// A type parameter, or an unsolved type, with arguments: `F(A)`.
    App(Arc<Ty>, Vec<Ty>),
    /// An unsolved type.
    Meta(u32),
    /// Values of the type for which the predicate holds.
    Refined(Arc<Ty>, Arc<Pred>),
    /// The top type.
    Any,
    /// The type of an invalid expression; it matches everything, so that one mistake is one error.
    Wrong,
}

/// Lists and vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seq {
    /// `List`
    List,
    /// `Vector`
    Vector,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Len {
    /// An unspecified length.
    Unknown,
    /// A term over integers.
    Term(Linear),
    /// In a signature: an expression over its length parameters and integer parameters.
    Named(Arc<NamedLen>),
}

/// `constant + Σ factor · name`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct NamedLen {
    pub constant: i64,
    /// The names with their factors.
    pub factors: Vec<(Name, i64)>,
}

/// A predicate over a value.
#[derive(Debug)]
pub(crate) struct Pred {
    /// The value's name in the condition.
    pub var: Name,
    pub condition: Expr,
    /// The terms of the other names, after instantiation.
    pub names: HashMap<Name, Linear>,
    /// How the refined type was written.
    pub text: String,
}

/// The name of the value in conditions that literals say, which no program can write.
pub(crate) const LITERAL: &str = "the literal";

impl Pred {
    /// True if it is what literals say, and not the program.
    pub(crate) fn is_of_literals(&self) -> bool {
        &*self.var == LITERAL
    }

    /// True if the condition mentions the value alone.
    pub(crate) fn is_closed(&self) -> bool {
        fn closed(expr: &Expr, var: &str) -> bool {
            match &expr.kind {
                ExprKind::Name(name) => &**name == var,
                ExprKind::Unary(_, inner) => closed(inner, var),
                ExprKind::Binary(_, _, left, right) => closed(left, var) && closed(right, var),
                kind => matches!(kind, ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_)),
            }
        }
        closed(&self.condition, &self.var)
    }
}

impl Clone for Ty {
    fn clone(&self) -> Ty {
        fuel::spend(1);
        match self {
            Ty::Con(name, args) => Ty::Con(name.clone(), args.clone()),
            Ty::Seq(seq, element, len) => Ty::Seq(*seq, element.clone(), len.clone()),
            Ty::Tuple(parts) => Ty::Tuple(parts.clone()),
            Ty::Fn(params, result) => Ty::Fn(params.clone(), result.clone()),
            Ty::Param(name) => Ty::Param(name.clone()),
            Ty::Ctor(name) => Ty::Ctor(name.clone()),
            Ty::App(head, args) => Ty::App(head.clone(), args.clone()),
            Ty::Meta(meta) => Ty::Meta(*meta),
            Ty::Refined(base, pred) => Ty::Refined(base.clone(), pred.clone()),
            Ty::Any => Ty::Any,
            Ty::Wrong => Ty::Wrong,
        }
    }
}

/// The names of the built-in types, made once.
static BUILT_IN: LazyLock<[Name; 6]> =
    LazyLock::new(|| ["Int", "Float", "Bool", "String", "Atom", "Unit"].map(Name::from));

impl Ty {
    pub(crate) fn con(name: &str) -> Ty {
        Ty::Con(Name::from(name), Vec::new())
    }

    fn built_in(at: usize) -> Ty {
        Ty::Con(BUILT_IN[at].clone(), Vec::new())
    }

    pub(crate) fn int() -> Ty {
        Ty::built_in(0)
    }

    pub(crate) fn float() -> Ty {
        Ty::built_in(1)
    }

    pub(crate) fn bool() -> Ty {
        Ty::built_in(2)
    }

    pub(crate) fn string() -> Ty {
        Ty::built_in(3)
    }

    pub(crate) fn atom() -> Ty {
        Ty::built_in(4)
    }

    pub(crate) fn unit() -> Ty {
        Ty::built_in(5)
    }

    pub(crate) fn list(element: Ty) -> Ty {
        Ty::Seq(Seq::List, Arc::new(element), Len::Unknown)
    }

    /// A type constructor with its arguments.
    pub(crate) fn applied(head: Ty, mut args: Vec<Ty>) -> Ty {
        match &head {
            Ty::Ctor(name) => match (&**name, args.len()) {
                ("List" | "Vector", 1) => {
                    let seq = if &**name == "List" { Seq::List } else { Seq::Vector };
                    Ty::Seq(seq, Arc::new(args.remove(0)), Len::Unknown)
                }
                ("Tuple2", 2) => Ty::Tuple(args),
                _ => Ty::Con(name.clone(), args),
            },
            Ty::Wrong => Ty::Wrong,
            _ => Ty::App(Arc::new(head), args),
        }
    }

    /// The type constructor of a type with this many arguments, and the arguments.
    pub(crate) fn split_constructor(&self, count: usize) -> Option<(Ty, Vec<Ty>)> {
        let (head, args) = match self {
            Ty::Con(name, args) => (Ty::Ctor(name.clone()), args.clone()),
            Ty::Seq(seq, element, _) => {
                let name = if *seq == Seq::List { "List" } else { "Vector" };
                (Ty::Ctor(Name::from(name)), vec![(**element).clone()])
            }
            Ty::Tuple(parts) if parts.len() == 2 => (Ty::Ctor(Name::from("Tuple2")), parts.clone()),
            Ty::App(head, args) => ((**head).clone(), args.clone()),
            _ => return None,
        };
        (count > 0 && args.len() == count).then_some((head, args))
    }

    /// True if it exceeds the size limit for types; `known` resolves metavariables.
    pub(crate) fn is_large<'t>(&'t self, known: &impl Fn(u32) -> Option<&'t Ty>) -> bool {
        fn count<'t>(ty: &'t Ty, known: &impl Fn(u32) -> Option<&'t Ty>, left: &mut usize) -> bool {
            if *left == 0 {
                return false;
            }
            *left -= 1;
            match ty {
                Ty::Con(_, parts) | Ty::Tuple(parts) => parts.iter().all(|part| count(part, known, left)),
                Ty::Seq(_, inner, _) | Ty::Refined(inner, _) => count(inner, known, left),
                Ty::Fn(parts, inner) | Ty::App(inner, parts) => {
                    count(inner, known, left) && parts.iter().all(|part| count(part, known, left))
                }
                Ty::Meta(meta) => known(*meta).is_none_or(|ty| count(ty, known, left)),
                Ty::Param(_) | Ty::Ctor(_) | Ty::Any | Ty::Wrong => true,
            }
        }
        !count(self, known, &mut MOST_PARTS.clone())
    }

    /// True if any part of it satisfies the test.
    pub(crate) fn any(&self, test: &mut impl FnMut(&Ty) -> bool) -> bool {
        fuel::spend(1);
        test(self)
            || match self {
                Ty::Con(_, parts) | Ty::Tuple(parts) => parts.iter().any(|part| part.any(test)),
                Ty::Seq(_, inner, _) | Ty::Refined(inner, _) => inner.any(test),
                Ty::Fn(parts, inner) | Ty::App(inner, parts) => {
                    inner.any(test) || parts.iter().any(|part| part.any(test))
                }
                Ty::Param(_) | Ty::Ctor(_) | Ty::Meta(_) | Ty::Any | Ty::Wrong => false,
            }
    }

    /// True if it is this named type without arguments.
    pub(crate) fn is_con(&self, wanted: &str) -> bool {
        matches!(self, Ty::Con(name, args) if args.is_empty() && &**name == wanted)
    }

    /// The type without the conditions on the whole.
    pub(crate) fn unrefined(&self) -> &Ty {
        match self {
            Ty::Refined(base, _) => base.unrefined(),
            other => other,
        }
    }

    /// Maps the type from the outside in. A part that `change` replaces is not descended into.
    pub(crate) fn map(&self, change: &mut impl FnMut(&Ty) -> Option<Ty>) -> Ty {
        if !fuel::spend(2) {
            return Ty::Wrong;
        }
        if let Some(changed) = change(self) {
            return changed;
        }
        match self {
            Ty::Con(name, args) => Ty::Con(name.clone(), args.iter().map(|arg| arg.map(change)).collect()),
            Ty::Seq(seq, element, len) => Ty::Seq(*seq, Arc::new(element.map(change)), len.clone()),
            Ty::Tuple(parts) => Ty::Tuple(parts.iter().map(|part| part.map(change)).collect()),
            Ty::Fn(params, result) => {
                Ty::Fn(params.iter().map(|param| param.map(change)).collect(), Arc::new(result.map(change)))
            }
            Ty::Refined(base, pred) => Ty::Refined(Arc::new(base.map(change)), pred.clone()),
            Ty::App(head, args) => Ty::applied(head.map(change), args.iter().map(|arg| arg.map(change)).collect()),
            Ty::Param(_) | Ty::Ctor(_) | Ty::Meta(_) | Ty::Any | Ty::Wrong => self.clone(),
        }
    }
}

/// The names in a condition.
pub(crate) fn names_in(expr: &Expr, seen: &mut impl FnMut(&str)) {
    match &expr.kind {
        ExprKind::Name(name) => seen(name),
        ExprKind::Unary(_, inner) => names_in(inner, seen),
        ExprKind::Binary(_, _, left, right) => {
            names_in(left, seen);
            names_in(right, seen);
        }
        _ => {}
    }
}

/// The type as in the source, without module names.
pub(crate) fn show(ty: &Ty, name_of: &impl Fn(Sym) -> String) -> String {
    written(ty, name_of, &|full| short(full))
}

/// Two types for comparison; with module names if they would otherwise look the same.
pub(crate) fn show_both(one: &Ty, other: &Ty, name_of: &impl Fn(Sym) -> String) -> (String, String) {
    let two_of_a_name = match (one.unrefined(), other.unrefined()) {
        (Ty::Con(one, _), Ty::Con(other, _)) => one != other && short(one) == short(other),
        _ => false,
    };
    match (show(one, name_of), show(other, name_of)) {
        (first, second) if first == second || two_of_a_name => {
            let full = |ty: &Ty| written(ty, name_of, &|full| full);
            (full(one), full(other))
        }
        both => both,
    }
}

fn short(full: &str) -> &str {
    full.rsplit('.').next().unwrap_or(full)
}

fn written(ty: &Ty, name_of: &impl Fn(Sym) -> String, of: &impl Fn(&str) -> &str) -> String {
    let show = |ty: &Ty| written(ty, name_of, of);
    let list = |types: &[Ty]| types.iter().map(show).collect::<Vec<_>>().join(", ");
    match ty {
        Ty::Con(name, args) => {
            let short = of(name);
            if args.is_empty() { short.to_owned() } else { format!("{short}({})", list(args)) }
        }
        Ty::Seq(seq, element, len) => {
            let name = if *seq == Seq::List { "List" } else { "Vector" };
            let element = show(element);
            match len {
                Len::Unknown => format!("{name}({element})"),
                Len::Term(term) => format!("{name}({element}, {})", show_linear(term, name_of)),
                Len::Named(named) => format!("{name}({element}, {})", show_named(named)),
            }
        }
        Ty::Tuple(parts) => format!("{{{}}}", list(parts)),
        Ty::Fn(params, result) => match &params[..] {
            [only] if !matches!(only, Ty::Fn(..)) => format!("{} => {}", show(only), show(result)),
            _ => format!("fn({}) -> {}", list(params), show(result)),
        },
        Ty::Param(name) => name.to_string(),
        Ty::Ctor(name) if &**name == "Tuple2" => "Pair".to_owned(),
        Ty::Ctor(name) => of(name).to_owned(),
        Ty::App(head, args) => format!("{}({})", show(head), list(args)),
        Ty::Meta(_) => "_".to_owned(),
        Ty::Refined(_, pred) => pred.text.clone(),
        Ty::Any => "Any".to_owned(),
        Ty::Wrong => "?".to_owned(),
    }
}

/// A term in readable notation.
pub(crate) fn show_linear(term: &Linear, name_of: &impl Fn(Sym) -> String) -> String {
    let factors = term.factors.iter().map(|(sym, factor)| (name_of(*sym), factor.to_string()));
    sum(factors, &term.constant.to_string())
}

fn show_named(named: &NamedLen) -> String {
    let factors = named.factors.iter().map(|(name, factor)| (name.to_string(), factor.to_string()));
    sum(factors, &named.constant.to_string())
}

fn sum(factors: impl Iterator<Item = (String, String)>, constant: &str) -> String {
    let mut text = String::new();
    let mut add = |negative: bool, part: String| {
        match (text.is_empty(), negative) {
            (true, true) => text.push('-'),
            (true, false) => {}
            (false, true) => text.push_str(" - "),
            (false, false) => text.push_str(" + "),
        }
        text.push_str(&part);
    };
    for (name, factor) in factors {
        let size = factor.trim_start_matches('-');
        add(factor.starts_with('-'), if size == "1" { name } else { format!("{size} * {name}") });
    }
    if constant != "0" {
        add(constant.starts_with('-'), constant.trim_start_matches('-').to_owned());
    }
    if text.is_empty() { "0".to_owned() } else { text }
}
