//! Prints types: by name, by aliases with numbers and types as parameters, and as refinements in place.

use super::Writer;
use crate::generator::tree::*;

impl Writer<'_> {
    /// A type in a position where any form is allowed.
    pub(super) fn ty(&self, ty: &Type) -> String {
        match ty {
            Type::Refined(at) if *at == SMALL && self.ranges && self.chance(50) => {
                self.note("types with numbers as parameters");
                "Between(0, 9)".to_owned()
            }
            Type::Refined(at) if self.chance(15) => match REFINEMENTS[*at].condition {
                Some(condition) => {
                    self.note("refinements in place");
                    format!("{{x: Int | {condition}}}")
                }
                None => self.plain(ty),
            },
            Type::Vector(of, length) if self.sizes && self.chance(50) => {
                self.note("types with numbers as parameters");
                format!("Sized({}, {length})", self.ty(of))
            }
            Type::Int if self.short && self.chance(20) => {
                self.note("aliases of types");
                "Whole".to_owned()
            }
            Type::Tuple(parts) if self.short && parts.len() == 2 && self.chance(50) => {
                self.note("aliases of types");
                format!("Two({}, {})", self.ty(&parts[0]), self.ty(&parts[1]))
            }
            ty => self.form(ty, &|ty| self.ty(ty)),
        }
    }

    /// A type without aliases.
    pub(super) fn plain(&self, ty: &Type) -> String {
        self.form(ty, &|ty| self.plain(ty))
    }

    fn form(&self, ty: &Type, inner: &dyn Fn(&Type) -> String) -> String {
        let list = |types: &[Type]| types.iter().map(inner).collect::<Vec<_>>().join(", ");
        match ty {
            Type::Int => "Int".to_owned(),
            Type::Float => "Float".to_owned(),
            Type::Bool => "Bool".to_owned(),
            Type::Text => "String".to_owned(),
            Type::Atom => "Atom".to_owned(),
            Type::Unit => "Unit".to_owned(),
            Type::Any => "Any".to_owned(),
            Type::Ordering => "Ordering".to_owned(),
            Type::List(of) => format!("List({})", inner(of)),
            Type::Vector(of, length) => format!("Vector({}, {length})", inner(of)),
            Type::Tuple(parts) => format!("{{{}}}", list(parts)),
            Type::Option(of) => format!("Option({})", inner(of)),
            Type::Result(of, error) => format!("Result({}, {})", inner(of), inner(error)),
            Type::Named(data, args) if args.is_empty() => self.program.data[*data].name.clone(),
            Type::Named(data, args) => format!("{}({})", self.program.data[*data].name, list(args)),
            Type::Fn(params, result) => match &params[..] {
                [only] if !matches!(only, Type::Fn(..)) => format!("{} => {}", inner(only), inner(result)),
                _ => format!("fn({}) -> {}", list(params), inner(result)),
            },
            Type::Refined(at) => REFINEMENTS[*at].name.to_owned(),
            Type::Param(name) => (*name).to_owned(),
            Type::Applied(name, of) => format!("{name}({})", inner(of)),
        }
    }

    /// The type definitions that every program has.
    pub(super) fn aliases(&self) -> Vec<String> {
        let mut all = Vec::new();
        for refinement in REFINEMENTS {
            let Some(condition) = refinement.condition else { continue };
            all.push(if self.chance(30) {
                self.note("types with `when`");
                format!("  type {} = Int when {condition}\n", refinement.name)
            } else {
                format!("  type {} = {{x: Int | {condition}}}\n", refinement.name)
            });
        }
        if self.ranges {
            all.push("  type Between(a, b) = {x: Int | x >= a and x <= b}\n".to_owned());
        }
        if self.sizes {
            all.push("  type Sized(T, n: Nat) = Vector(T, n)\n".to_owned());
        }
        if self.short {
            all.push("  type Whole = Int\n".to_owned());
            all.push("  type Two(A, B) = {A, B}\n".to_owned());
        }
        all
    }
}
