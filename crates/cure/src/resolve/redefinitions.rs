//! Warns about redefinitions of well-known types and classes: from there on the name differs from the library's.

use super::collect::Collector;
use crate::diagnostic::{Diagnostic, code};
use crate::resolve::interface::TypeInfoKind;
use crate::standard;
use crate::syntax::ast::{Ident, Name, TypeDef, TypeKind};

impl Collector<'_, '_> {
    /// Warns about a type. `def` is its definition if it may equal the library's.
    pub(super) fn warn_redefined_type(&mut self, name: &Ident, def: Option<&TypeDef>) {
        let Some(known) = self.scope.ty(&name.name).filter(|known| self.is_of_prelude(&known.full, &name.name)) else {
            return;
        };
        let (full, TypeInfoKind::Sum(all)) = (&known.full, &known.kind) else { return };
        let own = def.map_or(Vec::new(), constructors);
        let is_same = own.len() == all.len() && all.iter().all(|one| own.contains(&(&one.name, one.fields.len())));
        let what = if is_same {
            let names: Vec<String> = all.iter().map(|one| format!("`{}`", one.name)).collect();
            let (last, others) = names.split_last().expect("a type of the library has constructors");
            format!("remove the definition: {} and {last} are there without it", others.join(", "))
        } else {
            format!("choose another name, such as `My{}`", name.name)
        };
        let message =
            format!("this is another type than `{full}`, which is known everywhere and which the library takes");
        self.errors.push(Diagnostic::warning(code::ANEW, name.span, message).hint(what));
    }

    /// Warns about a class.
    pub(super) fn warn_redefined_class(&mut self, name: &Ident) {
        let Some(known) = self.scope.class(&name.name).filter(|known| self.is_of_prelude(&known.full, &name.name))
        else {
            return;
        };
        let known = &known.full;
        let message =
            format!("this is another class than `{known}`, which is known everywhere and which the library asks for");
        let hint = format!("write `instance {}(…)` for the library's, or choose another name", name.name);
        self.errors.push(Diagnostic::warning(code::ANEW, name.span, message).hint(hint));
    }

    fn is_of_prelude(&self, full: &str, name: &str) -> bool {
        let of = |module: &&str| full.strip_prefix(*module).and_then(|rest| rest.strip_prefix('.')) == Some(name);
        *full != *self.full(name) && standard::PRELUDE.iter().any(of)
    }
}

/// The constructors that a definition writes, with the numbers of their fields.
fn constructors(def: &TypeDef) -> Vec<(&Name, usize)> {
    let all = match &def.body.kind {
        TypeKind::Union(all) => &all[..],
        _ => std::slice::from_ref(&def.body),
    };
    let named = all.iter().filter_map(|one| match &one.kind {
        TypeKind::Name(name, fields) => Some((name, fields.len())),
        _ => None,
    });
    named.collect()
}
