//! Converts written types to types.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use num_traits::ToPrimitive;

use super::interface::{TypeInfo, TypeInfoKind};
use super::scope::Scope;
use super::suggest;
use crate::diagnostic::{Diagnostic, Span, code};
use crate::ir::ty::{Len, MOST_PARTS, NamedLen, Pred, Seq, Ty, names_in};
use crate::syntax::SyntaxKind as K;
use crate::syntax::ast::{Expr, ExprKind, Name, Type, TypeKind};

/// The types of the language itself.
pub(crate) const BUILT_IN: [&str; 13] =
    ["Int", "Float", "String", "Bool", "Atom", "Unit", "Any", "Nat", "Pos", "Charlist", "List", "Vector", "Pair"];

/// Converts the types of one definition.
pub(crate) struct Reader<'a> {
    /// The names in scope.
    pub scope: &'a Scope,
    /// The whole text, to quote types in messages.
    pub source: &'a str,
    /// The errors found.
    pub errors: &'a mut Vec<Diagnostic>,
    /// The type parameters of the definition.
    pub params: Vec<Name>,
    /// The named lengths, each with its first occurrence.
    pub lengths: Vec<(Name, Span)>,
    /// The names of these lengths.
    seen: HashSet<Name>,
    /// The names of values that conditions and lengths may mention.
    pub values: Vec<Name>,
    /// The names of other values, which conditions alone may mention.
    pub no_numbers: Vec<Name>,
    /// Names in conditions that were still unknown when they were read.
    pub pending: Vec<(Name, Span)>,
    /// The number of arguments of each type parameter, after its first use.
    kinds: HashMap<Name, usize>,
    /// Type of `Self` in the implementation of a trait.
    pub own: Option<Ty>,
    /// True if otherwise unknown single capital letters become type parameters.
    pub implicit: bool,
}

impl<'a> Reader<'a> {
    /// A converter without type parameters.
    pub(crate) fn new(scope: &'a Scope, source: &'a str, errors: &'a mut Vec<Diagnostic>) -> Reader<'a> {
        Reader {
            scope,
            source,
            errors,
            params: Vec::new(),
            lengths: Vec::new(),
            seen: HashSet::new(),
            values: Vec::new(),
            no_numbers: Vec::new(),
            pending: Vec::new(),
            kinds: HashMap::new(),
            own: None,
            implicit: false,
        }
    }

    /// Reports unknown names. Outside a function's head, types introduce no new lengths.
    pub(crate) fn finish(&mut self, no_new_lengths: bool) {
        let pending = std::mem::take(&mut self.pending);
        let values: HashSet<Name> = self.values.iter().cloned().collect();
        for (name, span) in pending {
            let length = !no_new_lengths && self.seen.contains(&name);
            if !length && !values.contains(&name) && !self.no_numbers.contains(&name) {
                let hint = "a condition speaks of the value itself, and in the head of a function of its parameters";
                self.error(code::UNKNOWN_NAME, span, format!("`{name}` is not defined here"), Some(hint));
            }
        }
        if no_new_lengths {
            let unknown: Vec<_> = self.lengths.iter().filter(|(name, _)| !values.contains(name)).cloned().collect();
            for (name, span) in unknown {
                let hint = "lengths get their names in the head of a function: `def f(v: Vector(Int, n))`";
                self.error(code::UNKNOWN_NAME, span, format!("the length `{name}` is not known here"), Some(hint));
            }
        }
    }
}

impl Reader<'_> {
    pub(crate) fn read(&mut self, ty: &Type) -> Ty {
        let read = self.read_any(ty);
        if !read.is_large(&|_| None) {
            return read;
        }
        let hint = "a record is one part, whatever it holds";
        self.error(code::LARGE_TYPE, ty.span, format!("this type has more than {MOST_PARTS} parts"), Some(hint))
    }

    fn read_any(&mut self, ty: &Type) -> Ty {
        match &ty.kind {
            TypeKind::Name(name, args) => self.named(name, args, ty.span),
            TypeKind::Fn(params, result) => {
                let params = params.iter().map(|param| self.read(param)).collect();
                Ty::Fn(params, Arc::new(self.read(result)))
            }
            TypeKind::Tuple(parts) => Ty::Tuple(parts.iter().map(|part| self.read(part)).collect()),
            TypeKind::Refined(var, base, condition) => {
                let base = self.read(base);
                self.condition(condition, &var.name, &base);
                Ty::Refined(Arc::new(base), self.predicate(var.name.clone(), condition, ty.span))
            }
            TypeKind::Union(_) => {
                let hint = "define it: `type Name = A | B`, and write its name here";
                self.error(code::TYPE_FORM, ty.span, "a choice of types needs a name", Some(hint))
            }
            TypeKind::Len(_) => self.error(
                code::TYPE_FORM,
                ty.span,
                "a number is not a type",
                Some("lengths stand in `List(T, n)` and `Vector(T, n)`"),
            ),
            TypeKind::Missing => Ty::Wrong,
        }
    }

    pub(crate) fn predicate(&self, var: Name, condition: &Expr, span: Span) -> Arc<Pred> {
        let text = span.text(self.source).to_owned();
        Arc::new(Pred { var, condition: condition.clone(), names: HashMap::new(), text })
    }

    pub(super) fn error(
        &mut self,
        code: crate::diagnostic::Code,
        span: Span,
        message: impl Into<String>,
        hint: Option<&str>,
    ) -> Ty {
        let error = Diagnostic::error(code, span, message);
        self.errors.push(match hint {
            Some(hint) => error.hint(hint),
            None => error,
        });
        Ty::Wrong
    }

    fn named(&mut self, name: &Name, args: &[Type], span: Span) -> Ty {
        if self.params.contains(name) {
            return self.param(name, args, span);
        }
        if &**name == "Self"
            && let Some(own) = self.own.clone()
        {
            return self.convert_self(own, args, span);
        }
        if let Some(info) = self.scope.ty(name).cloned() {
            return self.applied(&info, args, span);
        }
        if let Some(ty) = self.builtin(name, args, span) {
            return ty;
        }
        if self.implicit && name.len() == 1 && name.chars().all(|c| c.is_ascii_uppercase()) {
            self.params.push(name.clone());
            return self.param(name, args, span);
        }
        if self.scope.constructor(name).is_some() {
            let of = self.scope.constructor(name).map(|found| found.of.clone()).unwrap_or_else(|| name.clone());
            let of = of.rsplit('.').next().unwrap_or(&of).to_owned();
            let hint = format!("write the type `{of}`");
            return self.error(code::TYPE_FORM, span, format!("`{name}` is a constructor, not a type"), Some(&hint));
        }
        let message = format!("there is no type `{name}`");
        self.error(code::UNKNOWN_TYPE, span, message, self.suggest_type(name).as_deref())
    }

    /// `Self`, which takes arguments if the class is over type constructors.
    fn convert_self(&mut self, own: Ty, args: &[Type], span: Span) -> Ty {
        if args.is_empty() != matches!(own, Ty::Ctor(_)) {
            let args = args.iter().map(|arg| self.read(arg)).collect::<Vec<_>>();
            return if args.is_empty() { own } else { Ty::applied(own, args) };
        }
        let message = if args.is_empty() { "`Self` takes arguments here" } else { "`Self` takes no arguments here" };
        let hint = "it is the type that the implementation is for, with the arguments that stand there";
        self.error(code::TYPE_FORM, span, message, Some(hint))
    }

    /// A hint about the type that is meant by an unknown name.
    fn suggest_type(&self, name: &str) -> Option<String> {
        let near = || self.scope.nearest_type(name).map(|near| format!("did you mean `{near}`?"));
        suggest::usual_type(name).or_else(|| suggest::import_of_type(name)).or_else(near)
    }

    /// A type parameter, with its arguments if it stands for a type constructor.
    fn param(&mut self, name: &Name, args: &[Type], span: Span) -> Ty {
        let kind = *self.kinds.entry(name.clone()).or_insert(args.len());
        if kind != args.len() {
            let message = format!("`{name}` takes {kind} type argument(s) elsewhere, here {}", args.len());
            return self.error(code::TYPE_FORM, span, message, None);
        }
        let args = args.iter().map(|arg| self.read(arg)).collect::<Vec<_>>();
        let param = Ty::Param(name.clone());
        if args.is_empty() { param } else { Ty::applied(param, args) }
    }

    /// The subject of a class constraint: a type, or the name of a type constructor.
    pub(crate) fn subject_of_class(&mut self, ty: &Type) -> Ty {
        match &ty.kind {
            TypeKind::Name(name, args) if args.is_empty() && self.params.contains(name) => Ty::Param(name.clone()),
            _ => self.read(ty),
        }
    }

    /// A type constructor that takes this many arguments.
    pub(crate) fn constructor(&mut self, ty: &Type, count: usize) -> Ty {
        let hint = "write the name of a type alone: `instance Functor(List)`";
        let TypeKind::Name(name, args) = &ty.kind else {
            return self.error(code::INSTANCE, ty.span, "this class is over type constructors", Some(hint));
        };
        if !args.is_empty() {
            return self.error(code::INSTANCE, ty.span, "this class is over type constructors", Some(hint));
        }
        let (full, takes) = match (self.scope.ty(name), &**name) {
            (Some(info), _) if matches!(info.kind, TypeInfoKind::Alias(_)) => {
                let message = format!("`{name}` is another name for a type; an instance is for the type itself");
                return self.error(code::INSTANCE, ty.span, message, None);
            }
            (Some(info), _) => (info.full.clone(), info.params.len()),
            (None, "List" | "Vector") => (name.clone(), 1),
            (None, "Pair") => (Name::from("Tuple2"), 2),
            (None, _) => {
                let message = format!("there is no type `{name}`");
                return self.error(code::UNKNOWN_TYPE, ty.span, message, self.suggest_type(name).as_deref());
            }
        };
        if takes != count {
            let message = format!("this class is over types with {count} argument(s), `{name}` takes {takes}");
            return self.error(code::INSTANCE, ty.span, message, None);
        }
        Ty::Ctor(full)
    }

    fn applied(&mut self, info: &Arc<TypeInfo>, args: &[Type], span: Span) -> Ty {
        if info.params.len() != args.len() {
            let name = info.full.rsplit('.').next().unwrap_or(&info.full).to_owned();
            let message = format!("`{name}` takes {} type argument(s), not {}", info.params.len(), args.len());
            let form = if info.params.is_empty() { name } else { format!("{name}({})", info.params.join(", ")) };
            return self.error(code::TYPE_FORM, span, message, Some(&format!("it is written `{form}`")));
        }
        let TypeInfoKind::Alias(ty) = &info.kind else {
            return Ty::Con(info.full.clone(), args.iter().map(|arg| self.read(arg)).collect());
        };
        let mut types = Vec::new();
        let mut lengths: HashMap<Name, (NamedLen, Expr)> = HashMap::new();
        for (param, arg) in info.params.iter().zip(args) {
            if !counts(ty, param) {
                types.push(self.read(arg));
                continue;
            }
            types.push(Ty::Wrong);
            if let (Len::Named(length), Some(expr)) = (self.length(arg), length_expr(arg)) {
                lengths.insert(param.clone(), ((*length).clone(), expr));
            }
        }
        let ty = substitute(ty, &info.params, &types);
        if lengths.is_empty() {
            return ty;
        }
        match with_lengths(&ty, &lengths) {
            // Messages show the condition as it is written here.
            Ty::Refined(base, pred) => {
                let (var, condition) = (pred.var.clone(), pred.condition.clone());
                let text = span.text(self.source).to_owned();
                Ty::Refined(base, Arc::new(Pred { var, condition, names: HashMap::new(), text }))
            }
            other => other,
        }
    }

    fn builtin(&mut self, name: &str, args: &[Type], span: Span) -> Option<Ty> {
        let (least, most) = match name {
            "Int" | "Float" | "String" | "Bool" | "Atom" | "Unit" | "Any" | "Nat" | "Pos" | "Charlist" => (0, 0),
            "List" | "Vector" => (1, 2),
            "Pair" => (2, 2),
            _ => return None,
        };
        if args.len() < least || args.len() > most {
            let message = format!("`{name}` takes {most} type argument(s), not {}", args.len());
            return Some(self.error(code::TYPE_FORM, span, message, None));
        }
        Some(match name {
            "Any" => Ty::Any,
            "Nat" => nat(span),
            "Pos" => bounded("Pos", K::Gt, span),
            "Charlist" => Ty::list(Ty::int()),
            "Pair" => Ty::Tuple(args.iter().map(|arg| self.read(arg)).collect()),
            "List" | "Vector" => {
                let seq = if name == "List" { Seq::List } else { Seq::Vector };
                let element = Arc::new(self.read(&args[0]));
                let len = args.get(1).map_or(Len::Unknown, |len| self.length(len));
                Ty::Seq(seq, element, len)
            }
            _ => Ty::con(name),
        })
    }

    fn length(&mut self, ty: &Type) -> Len {
        let mut named = NamedLen::default();
        let fits = match &ty.kind {
            TypeKind::Len(expr) => self.linear(expr, 1, &mut named),
            TypeKind::Name(name, args) if args.is_empty() => {
                self.length_name(name, ty.span);
                named.factors.push((name.clone(), 1));
                true
            }
            _ => false,
        };
        if fits {
            return Len::Named(Arc::new(named));
        }
        self.error(code::TYPE_FORM, ty.span, "a length is a number, a name, or a sum of these", None);
        Len::Unknown
    }

    fn length_name(&mut self, name: &Name, span: Span) {
        if self.seen.insert(name.clone()) {
            self.lengths.push((name.clone(), span));
        }
    }

    fn linear(&mut self, expr: &Expr, factor: i64, sum: &mut NamedLen) -> bool {
        match &expr.kind {
            ExprKind::Int(value) => match value.to_i64().and_then(|value| value.checked_mul(factor)) {
                Some(value) => {
                    let total = sum.constant.checked_add(value);
                    set(&mut sum.constant, total)
                }
                None => false,
            },
            ExprKind::Name(name) => {
                self.length_name(name, expr.span);
                match sum.factors.iter_mut().find(|(known, _)| known == name) {
                    Some((_, times)) => {
                        let total = times.checked_add(factor);
                        return set(times, total);
                    }
                    None => sum.factors.push((name.clone(), factor)),
                }
                true
            }
            ExprKind::Binary(K::Plus, _, left, right) => {
                self.linear(left, factor, sum) && self.linear(right, factor, sum)
            }
            ExprKind::Binary(K::Minus, _, left, right) => {
                self.linear(left, factor, sum) && self.linear(right, -factor, sum)
            }
            ExprKind::Binary(K::Star, _, left, right) => match (&left.kind, &right.kind) {
                (ExprKind::Int(times), _) => times
                    .to_i64()
                    .and_then(|times| times.checked_mul(factor))
                    .is_some_and(|factor| self.linear(right, factor, sum)),
                (_, ExprKind::Int(times)) => times
                    .to_i64()
                    .and_then(|times| times.checked_mul(factor))
                    .is_some_and(|factor| self.linear(left, factor, sum)),
                _ => false,
            },
            ExprKind::Unary(K::Minus, inner) => self.linear(inner, -factor, sum),
            _ => false,
        }
    }
}

/// Substitutes a number, if there is one.
fn set(place: &mut i64, value: Option<i64>) -> bool {
    value.is_some_and(|value| {
        *place = value;
        true
    })
}

/// Natural numbers.
pub(crate) fn nat(span: Span) -> Ty {
    bounded("Nat", K::GtEq, span)
}

/// `Nat` and `Pos`.
fn bounded(name: &str, operator: K, span: Span) -> Ty {
    let var = Name::from("n");
    let side = |kind| Box::new(Expr { kind, span });
    let kind = ExprKind::Binary(operator, span, side(ExprKind::Name(var.clone())), side(ExprKind::Int(0.into())));
    let condition = Expr { kind, span };
    Ty::Refined(Arc::new(Ty::int()), Arc::new(Pred { var, condition, names: HashMap::new(), text: name.to_owned() }))
}

/// Substitutes arguments for the parameters of a type.
pub(crate) fn substitute(ty: &Ty, params: &[Name], args: &[Ty]) -> Ty {
    ty.map(&mut |part| match part {
        Ty::Param(name) => params.iter().position(|param| param == name).map(|at| args[at].clone()),
        _ => None,
    })
}

/// True if a parameter of an alias is a number, because it occurs in a length or in a condition.
pub(super) fn counts(ty: &Ty, param: &Name) -> bool {
    ty.any(&mut |part| match part {
        Ty::Seq(_, _, Len::Named(named)) => named.factors.iter().any(|(name, _)| name == param),
        Ty::Refined(_, pred) => {
            let mut speaks = false;
            names_in(&pred.condition, &mut |name| speaks |= *name == **param && *name != *pred.var);
            speaks
        }
        _ => false,
    })
}

/// A number as the argument of a type.
fn length_expr(ty: &Type) -> Option<Expr> {
    match &ty.kind {
        TypeKind::Len(expr) => Some((**expr).clone()),
        TypeKind::Name(name, _) => Some(Expr { kind: ExprKind::Name(name.clone()), span: ty.span }),
        _ => None,
    }
}

/// Substitutes numbers for the parameters of an alias.
fn with_lengths(ty: &Ty, lengths: &HashMap<Name, (NamedLen, Expr)>) -> Ty {
    ty.map(&mut |part| match part {
        Ty::Seq(seq, element, Len::Named(named)) => {
            let mut sum = NamedLen { constant: named.constant, factors: Vec::new() };
            for (name, times) in &named.factors {
                let Some((length, _)) = lengths.get(name) else {
                    sum.factors.push((name.clone(), *times));
                    continue;
                };
                sum.constant = sum.constant.saturating_add(length.constant.saturating_mul(*times));
                for (inner, factor) in &length.factors {
                    let factor = factor.saturating_mul(*times);
                    match sum.factors.iter_mut().find(|(known, _)| known == inner) {
                        Some((_, known)) => *known = known.saturating_add(factor),
                        None => sum.factors.push((inner.clone(), factor)),
                    }
                }
            }
            Some(Ty::Seq(*seq, Arc::new(with_lengths(element, lengths)), Len::Named(Arc::new(sum))))
        }
        Ty::Refined(base, pred) => {
            // The value's own name must not capture a substituted one.
            let mut caught = false;
            for (_, value) in lengths.values() {
                names_in(value, &mut |name| caught |= *name == *pred.var);
            }
            let var = if caught { Name::from(format!("{}'", pred.var)) } else { pred.var.clone() };
            let condition = with_numbers(&pred.condition, &pred.var, &var, lengths);
            let pred = Pred { var, condition, names: pred.names.clone(), text: pred.text.clone() };
            Some(Ty::Refined(Arc::new(with_lengths(base, lengths)), Arc::new(pred)))
        }
        _ => None,
    })
}

fn with_numbers(expr: &Expr, var: &Name, new: &Name, lengths: &HashMap<Name, (NamedLen, Expr)>) -> Expr {
    let again = |inner: &Expr| Box::new(with_numbers(inner, var, new, lengths));
    let kind = match &expr.kind {
        ExprKind::Name(name) if name == var => ExprKind::Name(new.clone()),
        ExprKind::Name(name) => match lengths.get(name) {
            Some((_, value)) => return value.clone(),
            None => return expr.clone(),
        },
        ExprKind::Unary(operator, inner) => ExprKind::Unary(*operator, again(inner)),
        ExprKind::Binary(operator, at, left, right) => ExprKind::Binary(*operator, *at, again(left), again(right)),
        _ => return expr.clone(),
    };
    Expr { kind, span: expr.span }
}
