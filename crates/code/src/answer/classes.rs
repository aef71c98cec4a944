//! Corrections of sites that need the definitions: their classes, the exclusion of other languages, and local variables that
//! may shadow a name.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use syntax::{C_AND_CPP, Class, Kind, Language, family, has_bound_methods, is_word, last_word};

use super::{Candidates, Site, Texts, concerns, files_of};
use crate::definition::Definition;
use crate::search::{Skipped, Why};

/// Corrects the classes of sites: calling a class constructs it, and reading a function is not a field access.
pub(super) fn reclassify(found: &mut Candidates) {
    let mut sites = std::mem::take(&mut found.sites);
    for site in &mut sites {
        site.class = corrected_class(found, &found.texts, site);
    }
    let at: BTreeSet<(&Path, usize)> = found.definitions.iter().map(|one| (&*one.path, one.line)).collect();
    let is_declared = |site: &Site| found.definitions.iter().any(|one| (&one.path, one.at) == (&site.path, site.at));
    sites.retain(|site| match site.class {
        Class::Binding | Class::Signature => !at.contains(&(&*site.path, site.line)),
        _ => !site.embeds || !is_declared(site),
    });
    found.sites = sites;
}

/// Returns the class of a site, corrected by the kinds of the definitions.
pub(super) fn corrected_class(found: &Candidates, texts: &Texts, site: &Site) -> Class {
    let (definitions, name) = (&found.definitions, &found.question.name);
    let are = |fits: &dyn Fn(&Definition) -> bool| !definitions.is_empty() && definitions.iter().all(fits);
    let is_field = |one: &Definition| one.kind == Kind::Field;
    // A static field in C++ is also defined as a variable outside of its class.
    let may_be_field = |one: &Definition| is_field(one) || one.language == Language::Cpp && one.kind == Kind::Variable;
    let are_fields = are(&may_be_field) && definitions.iter().any(is_field);
    let is_function = |one: &Definition| {
        matches!(one.kind, Kind::Function | Kind::Method) && family(one.language) == family(site.language)
    };
    let has_functions = definitions.iter().any(is_function);
    let is_constructor = |one: &Definition| one.is_constructor(name);
    let construct = || are(&|one| one.kind == Kind::Constructor || one.kind.is_type() || is_constructor(one));
    let are_values = || are(&|one| matches!(one.kind, Kind::Variable | Kind::Constant | Kind::Function));
    let are_types = || are(&|one| one.kind.is_type());
    let are_bare = || are(&|one| one.kind == Kind::Constructor && one.is_bare);
    let have_no_types = || {
        are(&|one| {
            matches!(one.kind, Kind::Variable | Kind::Constant | Kind::Function | Kind::Method | Kind::Field)
                && !is_constructor(one)
        })
    };
    let is_declared = || definitions.iter().any(|one| (&one.path, one.at) == (&site.path, site.at));
    let is_bound = has_bound_methods(site.language);
    match site.class {
        Class::Call | Class::Value if are_fields && site.language == Language::Haskell => Class::FieldRead,
        // A C++ method accesses fields without a receiver.
        Class::Value if are_fields && site.language == Language::Cpp => {
            if is_counted(texts, site) {
                Class::FieldWrite
            } else {
                Class::FieldRead
            }
        }
        Class::Binding if are_fields && !is_declared() && is_assigned(texts, site) => Class::FieldWrite,
        // In other languages, an uncalled member is never a function. A variable or a class after a dot belongs to a module.
        Class::FieldRead if is_bound && (has_functions || are_values()) => Class::Value,
        // In Go this is an embedded field.
        Class::FieldRead if is_bound && site.language != Language::Go && are_types() => Class::Value,
        Class::Binding if has_functions && destructures(texts, site) => Class::Value,
        Class::Binding if are_fields && destructures(texts, site) => Class::FieldRead,
        Class::Call if construct() => Class::Construct,
        // A base class in the initializer list of a constructor.
        Class::FieldWrite if site.language == Language::Cpp && construct() => Class::Construct,
        Class::Value if are_bare() => Class::Construct,
        // The index in `all[number](1)` looks like a type.
        Class::Type if site.language == Language::Go && are_values() => Class::Value,
        // `std::thread t(worker)` and `Opts o(limit())` look like function declarations.
        Class::Type if family(site.language) == C_AND_CPP && have_no_types() => {
            match surrounding_text(texts, site).1.first() {
                Some(b'(') => Class::Call,
                _ if are_fields => Class::FieldRead,
                _ => Class::Value,
            }
        }
        other => other,
    }
}

/// True if `++` or `--` is next to a name.
fn is_counted(texts: &Texts, site: &Site) -> bool {
    let (before, after) = surrounding_text(texts, site);
    [&b"++"[..], b"--"].iter().any(|sign| before.ends_with(sign) || after.starts_with(sign))
}

/// True if a name in C++ is assigned to, and not declared.
fn is_assigned(texts: &Texts, site: &Site) -> bool {
    let (before, after) = surrounding_text(texts, site);
    // `int area = 1`, `Shape* area = x`, `f(a, area = 1)`.
    let is_first = before.last().is_none_or(|byte| b";{}():,=".contains(byte))
        || matches!(
            last_word(before),
            b"else" | b"do" | b"return" | b"co_return" | b"co_yield" | b"throw" | b"and" | b"or"
        );
    let sign = &after[after.iter().take_while(|byte| b"+-*/%&|^<>".contains(byte)).count()..];
    site.language == Language::Cpp && is_first && sign.starts_with(b"=") && !sign.starts_with(b"==")
}

/// Returns the text before and after the name of a site.
fn surrounding_text<'a>(texts: &'a Texts, site: &Site) -> (&'a [u8], &'a [u8]) {
    let text = texts.get(&site.path).map(|text| &text[..]).unwrap_or_default();
    let (before, rest) = text.split_at(site.at.min(text.len()));
    let end = rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len());
    (before.trim_ascii_end(), rest[end..].trim_ascii_start())
}

/// True if `const { area } = shape` reads the member of that name instead of declaring one: `exports.area = …`.
fn destructures(texts: &Texts, site: &Site) -> bool {
    let before = texts.get(&site.path).and_then(|text| text.get(..site.at)).unwrap_or_default();
    site.is_member && !before.trim_ascii_end().ends_with(b".")
}

/// Removes sites in other languages. Exception: one of the definitions is declared to that language.
pub(super) fn leave_out_other_languages(found: &mut Candidates) {
    let families: BTreeSet<&str> = found.definitions.iter().map(|one| family(one.language)).collect();
    if !families.is_empty() {
        let all = found.sites.len();
        if families.contains(family(Language::C)) {
            found.skipped.extend(by_cgo(found));
        }
        found.sites.retain(|site| families.contains(family(site.language)));
        found.elsewhere = all - found.sites.len();
        found.skipped.retain(|one| concerns(one, &families));
    }
}

/// Returns the Go files that use a name of C: `C.area(1)`.
fn by_cgo(found: &Candidates) -> Vec<Skipped> {
    let is_of_c = |site: &&Site| {
        let before = found.text_before(&site.path, site.at);
        site.language == Language::Go && before.strip_suffix(b"C.").is_some_and(|before| last_word(before).is_empty())
    };
    files_of(found.sites.iter().filter(is_of_c), Why::ByCgo)
}

/// Marks sites that may mean a local binding before them in the same declaration. The sites must be sorted by place. Scopes
/// are not resolved, so this is a guess.
pub(super) fn mark_locals(sites: &mut [Site]) {
    let mut bound: BTreeSet<(Arc<Path>, String)> = BTreeSet::new();
    for site in sites {
        let place = (site.path.clone(), site.enclosing.clone());
        match site.class {
            Class::Binding if !site.enclosing.is_empty() => _ = bound.insert(place),
            Class::Call | Class::Value if !site.is_member && !site.is_qualified => {
                site.may_be_local = bound.contains(&place);
            }
            _ => {}
        }
    }
}
