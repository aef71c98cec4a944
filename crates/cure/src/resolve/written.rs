//! From types as written to types.

use std::collections::HashMap;
use std::sync::Arc;

use num_traits::ToPrimitive;

use super::interface::{TypeInfo, TypeInfoKind};
use super::scope::Scope;
use crate::diagnostic::{Diagnostic, Span, code};
use crate::syntax::SyntaxKind as K;
use crate::syntax::ast::{Expr, ExprKind, Name, Type, TypeKind};
use crate::types::ty::{Len, NamedLen, Pred, Seq, Ty};

/// Reads the types of one definition.
pub(crate) struct Reader<'a> {
    /// What names mean.
    pub scope: &'a Scope,
    /// The whole text, to quote types in messages.
    pub source: &'a str,
    /// What is wrong.
    pub errors: &'a mut Vec<Diagnostic>,
    /// The type parameters of the definition.
    pub params: Vec<Name>,
    /// The length parameters.
    pub lengths: Vec<Name>,
    /// Whether single capital letters that mean nothing else become type parameters.
    pub implicit: bool,
}

impl Reader<'_> {
    /// The type.
    pub(crate) fn read(&mut self, ty: &Type) -> Ty {
        match &ty.kind {
            TypeKind::Name(name, args) => self.named(name, args, ty.span),
            TypeKind::Fn(params, result) => {
                let params = params.iter().map(|param| self.read(param)).collect();
                Ty::Fn(params, Box::new(self.read(result)))
            }
            TypeKind::Tuple(parts) => Ty::Tuple(parts.iter().map(|part| self.read(part)).collect()),
            TypeKind::Refined(var, base, condition) => {
                let base = self.read(base);
                self.condition(condition);
                Ty::Refined(Box::new(base), self.predicate(var.name.clone(), condition, ty.span))
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
        let text = self.source.get(span.start as usize..span.end as usize).unwrap_or("").to_owned();
        Arc::new(Pred { var, condition: condition.clone(), names: HashMap::new(), text })
    }

    fn error(
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

    /// A condition of a refinement holds operators over names and numbers only.
    pub(crate) fn condition(&mut self, condition: &Expr) {
        match &condition.kind {
            ExprKind::Binary(
                K::PipeGt | K::PipeArrow | K::Bind | K::GtGt | K::FunctorLeft | K::FunctorRight,
                span,
                ..,
            ) => {
                self.error(code::GUARD, *span, "this operator calls functions; a condition cannot", None);
            }
            ExprKind::Binary(_, _, left, right) => {
                self.condition(left);
                self.condition(right);
            }
            ExprKind::Unary(_, inner) => self.condition(inner),
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Name(_)
            | ExprKind::Str(_)
            | ExprKind::Atom(_)
            | ExprKind::Missing => {}
            _ => {
                let hint = "use comparisons, arithmetic, `and`, `or` and `not` over names and literals";
                self.error(
                    code::GUARD,
                    condition.span,
                    "a condition can hold operators, names and literals only",
                    Some(hint),
                );
            }
        }
    }

    fn named(&mut self, name: &Name, args: &[Type], span: Span) -> Ty {
        if self.params.contains(name) {
            if !args.is_empty() {
                let message = format!("`{name}` is a type parameter; classes over type constructors are not there yet");
                return self.error(code::NOT_YET, span, message, None);
            }
            return Ty::Param(name.clone());
        }
        if let Some(info) = self.scope.ty(name).cloned() {
            return self.applied(&info, args, span);
        }
        if let Some(ty) = self.builtin(name, args, span) {
            return ty;
        }
        if self.implicit && args.is_empty() && name.len() == 1 && name.chars().all(|c| c.is_ascii_uppercase()) {
            self.params.push(name.clone());
            return Ty::Param(name.clone());
        }
        if self.scope.constructor(name).is_some() {
            let of = self.scope.constructor(name).map(|found| found.of.clone()).unwrap_or_else(|| name.clone());
            let of = of.rsplit('.').next().unwrap_or(&of).to_owned();
            let hint = format!("write the type `{of}`");
            return self.error(code::TYPE_FORM, span, format!("`{name}` is a constructor, not a type"), Some(&hint));
        }
        let near = self.scope.nearest_type(name).map(|near| format!("did you mean `{near}`?"));
        let message = format!("there is no type `{name}`");
        self.error(code::UNKNOWN_TYPE, span, message, near.as_deref())
    }

    fn applied(&mut self, info: &Arc<TypeInfo>, args: &[Type], span: Span) -> Ty {
        if info.params.len() != args.len() {
            let name = info.full.rsplit('.').next().unwrap_or(&info.full).to_owned();
            let message = format!("`{name}` takes {} type argument(s), not {}", info.params.len(), args.len());
            return self.error(code::TYPE_FORM, span, message, None);
        }
        let args: Vec<Ty> = args.iter().map(|arg| self.read(arg)).collect();
        match &info.kind {
            TypeInfoKind::Alias(ty) => substitute(ty, &info.params, &args),
            _ => Ty::Con(info.full.clone(), args),
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
            "Nat" => bounded("Nat", K::GtEq, span),
            "Pos" => bounded("Pos", K::Gt, span),
            "Charlist" => Ty::list(Ty::int()),
            "Pair" => Ty::Tuple(args.iter().map(|arg| self.read(arg)).collect()),
            "List" | "Vector" => {
                let seq = if name == "List" { Seq::List } else { Seq::Vector };
                let element = Box::new(self.read(&args[0]));
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
                self.length_name(name);
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

    fn length_name(&mut self, name: &Name) {
        if !self.lengths.contains(name) {
            self.lengths.push(name.clone());
        }
    }

    fn linear(&mut self, expr: &Expr, factor: i64, sum: &mut NamedLen) -> bool {
        match &expr.kind {
            ExprKind::Int(value) => match value.to_i64().and_then(|value| value.checked_mul(factor)) {
                Some(value) => {
                    sum.constant = sum.constant.saturating_add(value);
                    true
                }
                None => false,
            },
            ExprKind::Name(name) => {
                self.length_name(name);
                match sum.factors.iter_mut().find(|(known, _)| known == name) {
                    Some((_, times)) => *times += factor,
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

/// `Nat` and `Pos`.
fn bounded(name: &str, operator: K, span: Span) -> Ty {
    let var = Name::from("n");
    let side = |kind| Box::new(Expr { kind, span });
    let kind = ExprKind::Binary(operator, span, side(ExprKind::Name(var.clone())), side(ExprKind::Int(0.into())));
    let condition = Expr { kind, span };
    Ty::Refined(Box::new(Ty::int()), Arc::new(Pred { var, condition, names: HashMap::new(), text: name.to_owned() }))
}

/// A type with arguments in the places of parameters.
pub(crate) fn substitute(ty: &Ty, params: &[Name], args: &[Ty]) -> Ty {
    ty.map(&mut |part| match part {
        Ty::Param(name) => params.iter().position(|param| param == name).map(|at| args[at].clone()),
        _ => None,
    })
}
