//! Corrections of sites that need the definitions: their classes, and the exclusion of other languages.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::{Candidates, Site, Texts, concerns};
use crate::definition::Definition;
use crate::search::{Skipped, Why};
use crate::syntax::{C_AND_CPP, Class, Kind, Language, family, has_bound_methods, is_word, last_word};

/// Corrects the classes of sites: calling a class constructs it, and reading a function is not a field access.
pub(super) fn reclassify(found: &mut Candidates) {
    let of = Definitions::new(found);
    for site in &mut found.sites {
        site.class = of.class(&found.texts, site);
    }
    let at: BTreeSet<(PathBuf, usize)> =
        found.definitions.iter().map(|definition| (definition.path.to_path_buf(), definition.line)).collect();
    let is_declared = |site: &Site| found.definitions.iter().any(|one| (&one.path, one.at) == (&site.path, site.at));
    found.sites.retain(|site| match site.class {
        Class::Binding | Class::Signature => !at.contains(&(site.path.to_path_buf(), site.line)),
        _ => !site.embeds || !is_declared(site),
    });
}

/// The kinds of all, or some, definitions of a name.
pub(super) struct Definitions {
    are_fields: bool,
    /// The language families in which one of the definitions is a function.
    with_functions: BTreeSet<&'static str>,
    construct: bool,
    are_values: bool,
    are_types: bool,
    have_no_types: bool,
    are_bare: bool,
    places: BTreeSet<(PathBuf, usize)>,
}

impl Definitions {
    pub(super) fn new(found: &Candidates) -> Definitions {
        let all =
            |fits: &dyn Fn(&Definition) -> bool| !found.definitions.is_empty() && found.definitions.iter().all(fits);
        let name = &found.question.name;
        let functions = found.definitions.iter().filter(|one| matches!(one.kind, Kind::Function | Kind::Method));
        Definitions {
            // A static field in C++ is also defined as a variable outside of its class.
            are_fields: all(&|one| {
                one.kind == Kind::Field || one.language == Language::Cpp && one.kind == Kind::Variable
            }) && found.definitions.iter().any(|one| one.kind == Kind::Field),
            with_functions: functions.map(|one| family(one.language)).collect(),
            construct: all(&|one| one.kind == Kind::Constructor || one.kind.is_type() || one.is_constructor(name)),
            are_values: all(&|one| matches!(one.kind, Kind::Variable | Kind::Constant | Kind::Function)),
            are_types: all(&|one| one.kind.is_type()),
            have_no_types: all(&|one| {
                matches!(one.kind, Kind::Variable | Kind::Constant | Kind::Function | Kind::Method | Kind::Field)
                    && !one.is_constructor(name)
            }),
            are_bare: all(&|one| one.kind == Kind::Constructor && one.is_bare),
            places: found.definitions.iter().map(|one| (one.path.to_path_buf(), one.at)).collect(),
        }
    }

    /// Returns the corrected class of a site.
    pub(super) fn class(&self, texts: &Texts, site: &Site) -> Class {
        let are_fields = self.are_fields;
        let has_functions = self.with_functions.contains(family(site.language));
        let is_declared = || self.places.contains(&(site.path.to_path_buf(), site.at));
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
            // In other languages, an uncalled member is never a function. A variable or a class after a dot belongs to a
            // module.
            Class::FieldRead if (has_functions || self.are_values) && has_bound_methods(site.language) => Class::Value,
            // In Go this is an embedded field.
            Class::FieldRead if self.are_types && has_bound_methods(site.language) && site.language != Language::Go => {
                Class::Value
            }
            Class::Binding if has_functions && destructures(texts, site) => Class::Value,
            Class::Binding if are_fields && destructures(texts, site) => Class::FieldRead,
            Class::Call if self.construct => Class::Construct,
            // A base class in the initializer list of a constructor.
            Class::FieldWrite if self.construct && site.language == Language::Cpp => Class::Construct,
            Class::Value if self.are_bare => Class::Construct,
            // The index in `all[number](1)` looks like a type.
            Class::Type if self.are_values && site.language == Language::Go => Class::Value,
            // `std::thread t(worker)` and `Opts o(limit())` look like function declarations.
            Class::Type if self.have_no_types && family(site.language) == C_AND_CPP => {
                match around(texts, site).1.first() {
                    Some(b'(') => Class::Call,
                    _ if are_fields => Class::FieldRead,
                    _ => Class::Value,
                }
            }
            other => other,
        }
    }
}

/// True if `++` or `--` is next to a name.
fn is_counted(texts: &Texts, site: &Site) -> bool {
    let (before, after) = around(texts, site);
    [&b"++"[..], b"--"].iter().any(|sign| before.ends_with(sign) || after.starts_with(sign))
}

/// True if a name in C++ is assigned to, and not declared.
fn is_assigned(texts: &Texts, site: &Site) -> bool {
    let (before, after) = around(texts, site);
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
fn around<'a>(texts: &'a Texts, site: &Site) -> (&'a [u8], &'a [u8]) {
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
        let before = found.texts.get(&site.path).and_then(|text| text.get(..site.at)).unwrap_or_default();
        site.language == Language::Go && before.strip_suffix(b"C.").is_some_and(|before| last_word(before).is_empty())
    };
    let mut all: Vec<Skipped> = Vec::new();
    for site in found.sites.iter().filter(is_of_c) {
        match all.iter_mut().find(|one| *one.path == *site.path) {
            Some(one) => one.mentions += 1,
            None => all.push(Skipped::new(site.path.to_path_buf(), Why::ByCgo, 1)),
        }
    }
    all
}
