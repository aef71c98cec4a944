//! What only the definitions tell of sites: their classes, and which of them are of another language.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::{Found, Site, Texts, concerns};
use crate::definition::Definition;
use crate::syntax::{Class, Kind, Language, family, has_bound_methods};

/// What only the definitions tell: calling a class constructs, reading a function is no access to a field.
pub(super) fn reclassify(found: &mut Found) {
    let all = |fits: &dyn Fn(&Definition) -> bool| !found.definitions.is_empty() && found.definitions.iter().all(fits);
    let are_fields = all(&|one| one.kind == Kind::Field);
    let has_functions = found.definitions.iter().any(|one| matches!(one.kind, Kind::Function | Kind::Method));
    let name = &found.question.name;
    let construct = all(&|one| one.kind == Kind::Constructor || one.kind.is_type() || one.is_constructor(name));
    let are_values = all(&|one| matches!(one.kind, Kind::Variable | Kind::Constant | Kind::Function));
    let are_bare = all(&|one| one.kind == Kind::Constructor && one.is_bare);
    for site in &mut found.sites {
        let haskell = site.language == Language::Haskell;
        site.class = match site.class {
            Class::Call | Class::Value if are_fields && haskell => Class::FieldRead,
            // In the others what is reached by a dot and not called is never a function.
            Class::FieldRead if has_functions && has_bound_methods(site.language) => Class::Value,
            Class::Binding if has_functions && destructures(&found.texts, site) => Class::Value,
            Class::Binding if are_fields && destructures(&found.texts, site) => Class::FieldRead,
            Class::Call if construct => Class::Construct,
            // A base class in the list of what a constructor initializes.
            Class::FieldWrite if construct && site.language == Language::Cpp => Class::Construct,
            Class::Value if are_bare => Class::Construct,
            // The index in `all[number](1)` looks like a type.
            Class::Type if are_values && site.language == Language::Go => Class::Value,
            other => other,
        };
    }
    let at: BTreeSet<(PathBuf, usize)> =
        found.definitions.iter().map(|definition| (definition.path.to_path_buf(), definition.line)).collect();
    let is_declared = |site: &Site| found.definitions.iter().any(|one| (&one.path, one.at) == (&site.path, site.at));
    found.sites.retain(|site| match site.class {
        Class::Binding | Class::Signature => !at.contains(&(site.path.to_path_buf(), site.line)),
        _ => !site.embeds || !is_declared(site),
    });
}

/// Whether `const { area } = shape` takes the member of that name, which is no declaration of one: `exports.area = …`.
fn destructures(texts: &Texts, site: &Site) -> bool {
    let before = texts.get(&site.path).and_then(|text| text.get(..site.at)).unwrap_or_default();
    site.is_member && !before.trim_ascii_end().ends_with(b".")
}

/// A name in Python is not the one that Rust defines, unless one is declared to the other: then both define it.
pub(super) fn leave_out_other_languages(found: &mut Found) {
    let families: BTreeSet<&str> = found.definitions.iter().map(|one| family(one.language)).collect();
    if !families.is_empty() {
        let all = found.sites.len();
        found.sites.retain(|site| families.contains(family(site.language)));
        found.elsewhere = all - found.sites.len();
        found.skipped.retain(|one| concerns(one, &families));
    }
}
