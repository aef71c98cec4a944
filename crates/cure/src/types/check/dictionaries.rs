//! Resolves the dictionary that each call needs, once the types of the whole function are known.

use super::body::{Body, Dictionaries};
use crate::diagnostic::{Span, code};
use crate::ir::tree::{Dictionary, Hole};
use crate::ir::ty::{Len, Ty};
use crate::resolve::classes::head_of;
use crate::syntax::ast::Name;

/// The maximal nesting of instances that need each other.
const DEPTH: u32 = 64;

impl Body<'_> {
    /// Requests a dictionary of this class for this type, to be found later.
    pub(super) fn request_dictionary(&mut self, class: Name, ty: Ty, span: Span) -> Hole {
        self.wanted.push(super::body::Constraint { class, ty, span });
        Hole(self.wanted.len() as u32 - 1)
    }

    /// Finds all requested dictionaries and reports missing ones.
    pub(super) fn find_dictionaries(&mut self) -> Dictionaries {
        let wanted = std::mem::take(&mut self.wanted);
        wanted
            .iter()
            .map(|wanted| {
                let ty = self.resolved(&self.widened(&wanted.ty));
                let found = self.dictionary(&wanted.class, &ty, DEPTH);
                if found.is_none() && !matches!(ty, Ty::Wrong) {
                    self.no_instance(&wanted.class, &ty, wanted.span);
                }
                found
            })
            .collect()
    }

    fn dictionary(&self, class: &Name, ty: &Ty, depth: u32) -> Option<Dictionary> {
        if depth == 0 {
            return None;
        }
        let ty = self.shallow(ty);
        // The instance would not preserve the refinements of the type, because it is that of the base type.
        if matches!(ty, Ty::Refined(..) | Ty::Seq(_, _, Len::Term(_))) {
            return None;
        }
        if let Ty::Param(_) = &ty {
            return self.given.iter().find_map(|(known, of, var)| {
                let same = matches!((of, &ty), (Ty::Param(a), Ty::Param(b)) if a == b);
                same.then(|| self.superclass_dictionary(known, class, Dictionary::Param(*var), DEPTH)).flatten()
            });
        }
        // An unconstrained type belongs to values that never exist: any instance will do.
        let ty = if let Ty::Meta(_) = ty { Ty::unit() } else { ty };
        let (head, args) = head_of(&ty)?;
        let instance = self.scope.instance(class, &head)?;
        let needed = instance.context.iter().map(|(class, at)| self.dictionary(class, args.get(*at)?, depth - 1));
        Some(Dictionary::Instance {
            module: instance.module.clone(),
            function: instance.function.clone(),
            args: needed.collect::<Option<_>>()?,
        })
    }

    /// The dictionary of a class, taken from the dictionary of a subclass.
    fn superclass_dictionary(&self, from: &Name, to: &Name, dictionary: Dictionary, depth: u32) -> Option<Dictionary> {
        if from == to {
            return Some(dictionary);
        }
        if depth == 0 {
            return None;
        }
        let info = self.scope.class_by_full(from)?;
        let methods = info.methods.len() as u32;
        info.supers.iter().enumerate().find_map(|(at, class)| {
            let part = Dictionary::Super(Box::new(dictionary.clone()), methods + at as u32);
            self.superclass_dictionary(class, to, part, depth - 1)
        })
    }

    fn no_instance(&mut self, class: &Name, ty: &Ty, span: Span) {
        let short = class.rsplit('.').next().unwrap_or(class).to_owned();
        let shown = self.show(ty);
        let known = self.scope.instances_of(class);
        let error = self.error(code::INSTANCE, span, format!("`{shown}` has no instance of `{short}`"));
        error.hints.push(match ty {
            Ty::Param(name) => format!("ask for it in the head of the function: `where {short}({name})`"),
            Ty::Any => "nothing is known of a value of type Any; give it a type first".to_owned(),
            Ty::Fn(..) => "functions have no instances".to_owned(),
            Ty::Meta(_) => "nothing says which type is meant; write it: `let x: Type = …` or `… as Type`".to_owned(),
            Ty::Con(..) if matches!(&*short, "Show" | "Eq" | "Ord") => {
                format!("write `derive {short}` behind the type, or `instance {short}({shown}) do … end`")
            }
            _ => format!("write `instance {short}({shown}) do … end`"),
        });
        let exact = |part: &Ty| matches!(part, Ty::Refined(..) | Ty::Seq(_, _, Len::Term(_)));
        if ty.any(&mut |part| exact(part)) {
            error.hints.push("an instance keeps no conditions and no lengths; use the type without them".to_owned());
        }
        if known.is_empty() {
            error.hints.push(format!("no instance of `{short}` is in sight; import the module that has them"));
        }
    }
}
