//! The definitions that a called name can refer to, by name: narrowed by qualifier, receiver and file. All that remain are given.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use syntax::{C_AND_CPP, Kind, Language, SCRIPTS, bare_name, family, is_word, parsed_at, word_ranges};

use super::CallForm;
use crate::definition::{Definition, add_definition, definition, functions};
use crate::line_column::Lines;
use crate::search::{Hit, Scope, Skipped, search_by};

/// The definitions that a walk has looked up, by name. A file that changes during the walk is not read again.
#[derive(Debug, Clone, Default)]
pub struct KnownDefinitions(Arc<Mutex<BTreeMap<String, Vec<Definition>>>>);

impl KnownDefinitions {
    /// Returns all definitions of some names, and searches only those that are not known.
    pub(crate) fn declared(
        &self,
        scope: &Scope,
        names: &HashSet<&str>,
    ) -> (BTreeMap<String, Vec<Definition>>, usize, Vec<Skipped>) {
        let mut known = self.0.lock();
        let new: HashSet<&str> = names.iter().copied().filter(|name| !known.contains_key(*name)).collect();
        let (mut all, files, skipped) = if new.is_empty() { Default::default() } else { declared(scope, &new) };
        // A search that was cut off is made again.
        if !scope.is_over() {
            known.extend(new.into_iter().map(|name| (name.to_owned(), all.get(name).cloned().unwrap_or_default())));
        }
        all.extend(names.iter().filter_map(|name| Some(((*name).to_owned(), known.get(*name)?.clone()))));
        (all, files, skipped)
    }
}

/// The definitions of the names that were searched.
#[derive(Debug, Default)]
pub(super) struct ByName {
    declared: BTreeMap<String, Vec<Definition>>,
    pub files: usize,
    pub skipped: Vec<Skipped>,
}

impl ByName {
    /// Searches for the definitions of some names.
    pub(super) fn search<'a>(
        &mut self,
        scope: &Scope,
        known: &KnownDefinitions,
        names: impl Iterator<Item = &'a CallForm>,
    ) {
        let names: HashSet<&str> = names.map(|called| called.name.as_str()).collect();
        if names.is_empty() {
            return;
        }
        let (declared, files, skipped) = known.declared(scope, &names);
        self.declared.extend(names.into_iter().map(|name| (name.to_owned(), Vec::new())));
        self.declared.extend(declared);
        self.files = self.files.max(files);
        self.skipped.extend(skipped);
    }

    /// Returns the definitions that a name can refer to; none for a name that was not searched. `None` if it calls and passes on
    /// nothing: it constructs data, or no function has the name of the value.
    pub(super) fn candidates(&self, called: &CallForm) -> Option<Vec<Definition>> {
        let Some(of_name) = self.declared.get(&called.name) else { return Some(Vec::new()) };
        let definitions = resolve(called, of_name);
        let of = family(called.site.language);
        let is_function = |one: &Definition| {
            matches!(one.kind, Kind::Function | Kind::Method | Kind::Macro) && family(one.language) == of
        };
        // If the body binds a local of that name, only the language server can tell.
        let may_be = if called.is_bound { of_name } else { &definitions[..] };
        let is_data = !definitions.is_empty() && definitions.iter().all(|one| one.kind == Kind::Constructor);
        (!is_data && (!called.is_value || may_be.iter().any(is_function))).then_some(definitions)
    }

    /// Returns the labels of the functions that C++ declares in namespaces.
    pub(super) fn functions(&self) -> BTreeSet<String> {
        functions(self.declared.values().flatten())
    }
}

/// Returns the definitions that a called name can refer to.
fn resolve(called: &CallForm, all: &[Definition]) -> Vec<Definition> {
    if called.is_bound {
        return Vec::new();
    }
    let of = family(called.site.language);
    let is_method = |one: &Definition| matches!(one.kind, Kind::Method | Kind::Field);
    let is_called = |one: &Definition| match one.kind {
        _ if called.is_type => one.kind.is_type(),
        Kind::Function | Kind::Method | Kind::Macro | Kind::Constructor => true,
        Kind::Class | Kind::Struct => called.constructs || matches!(of, "Python" | SCRIPTS | C_AND_CPP),
        // A function held by a variable, or a function pointer.
        Kind::Variable | Kind::Constant | Kind::Field => !called.is_value,
        _ => false,
    };
    let mut left: Vec<Definition> =
        all.iter().filter(|one| family(one.language) == of && is_called(one)).cloned().collect();
    let inside = |one: &Definition, name: &str| one.inside.iter().any(|names| names.iter().any(|other| other == name));
    let in_file = |one: &Definition, name: &str| {
        let mut names =
            one.path.iter().filter_map(|part| part.to_str()).map(|part| part.split('.').next().unwrap_or(part));
        names.any(|part| part == name)
    };
    let in_module = |one: &Definition, name: &str| inside(one, name) || in_file(one, name) && one.inside.is_empty();
    let by_dot = matches!(of, "Python" | SCRIPTS | "Go");
    match called.before.as_deref() {
        Some("self" | "this" | "Self" | "cls") => {
            let own = |one: &Definition| called.own.iter().any(|name| inside(one, name));
            if left.iter().any(own) {
                left.retain(own);
            } else if called.is_member {
                left.retain(is_method);
            }
        }
        Some("crate" | "super") => left.retain(|one| !is_method(one)),
        // The type of a receiver is unknown, unless it is a module or a type.
        Some(name) if called.is_member => {
            if left.iter().any(|one| in_module(one, name)) && by_dot {
                left.retain(|one| in_module(one, name));
            } else if !by_dot || !name.starts_with(char::is_uppercase) && left.iter().any(is_method) && of != "Go" {
                left.retain(is_method);
            }
        }
        // `Vec::new` cannot be the `new` of another type.
        Some(name) if !name.is_empty() && of != "Haskell" => left.retain(|one| in_module(one, name)),
        Some(_) => {}
        None => {
            // Without a receiver no method is meant, except in languages where methods are in scope.
            if of != C_AND_CPP && of != "Haskell" {
                left.retain(|one| !is_method(one));
            }
            let own: Vec<Definition> =
                left.iter().filter(|one| (one.path == called.site.path) != called.is_imported).cloned().collect();
            if !own.is_empty() {
                left = own;
            }
        }
    }
    // In C++ a constructor has the name of its class.
    let makes =
        |one: &Definition| one.kind == Kind::Method && one.inside.last().is_some_and(|of| of.contains(&called.name));
    if left.iter().any(makes) {
        left.retain(makes);
    }
    // A prototype and its definition count as one.
    if left.iter().any(|one| !one.is_signature)
        && left.iter().all(|one| matches!(one.language, Language::C | Language::Cpp | Language::Haskell))
    {
        left.retain(|one| !one.is_signature);
    }
    left
}

fn declared(scope: &Scope, names: &HashSet<&str>) -> (BTreeMap<String, Vec<Definition>>, usize, Vec<Skipped>) {
    let places = |language: Language, text: &[u8]| -> Vec<Range<usize>> {
        let is_wanted = |place: &Range<usize>| {
            let word = std::str::from_utf8(&text[place.clone()]);
            word.is_ok_and(|word| names.contains(word)) && may_declare(language, text, place.start)
        };
        word_ranges(language, text).into_iter().filter(is_wanted).collect()
    };
    let starts =
        |language: Language, text: &[u8]| places(language, text).into_iter().map(|place| place.start).collect();
    let searched = search_by(scope, starts);
    let mut skipped = searched.skipped;
    let mut found: BTreeMap<String, Vec<Definition>> = BTreeMap::new();
    let parse = |hit: &Hit| parsed_at(hit.language, &hit.text, &places(hit.language, &hit.text), scope.until);
    for (hit, parsed) in crate::answer::in_turns(&searched.hits, parse) {
        let Some(parsed) = parsed else {
            skipped.push(Skipped::new(hit.path.clone(), scope.why_not_parsed(), 0));
            continue;
        };
        let path: Arc<Path> = hit.path.as_path().into();
        let lines = Lines::new(&hit.text);
        for one in &parsed.all {
            let Some(declares) = &one.declares else { continue };
            let name = String::from_utf8_lossy(bare_name(&hit.text[one.bytes.clone()])).into_owned();
            let definition = definition(hit, &path, &lines, one, declares, &name);
            add_definition(found.entry(name).or_default(), definition, &hit.text);
        }
    }
    (found, searched.files, skipped)
}

/// The keywords before a declared name in Rust. Fields and variants have no keyword.
const RUST_DECLARING: [&[u8]; 15] = [
    b"fn", b"struct", b"enum", b"union", b"trait", b"type", b"const", b"static", b"mut", b"mod", b"macro", b"pub",
    b"crate", b"as", b"ref",
];

/// True if the text before a name in its line permits a declaration. It avoids parsing files that only call the name.
fn may_declare(language: Language, text: &[u8], start: usize) -> bool {
    // Only the adjacent text is examined, because a line may be as long as its file.
    let mut before = in_line(&text[..start]);
    if language == Language::Rust {
        before = before.strip_suffix(b"r#").map_or(before, in_line);
    }
    match (before.last(), language) {
        (None, _) => true,
        (Some(last), Language::Haskell) => is_word(*last) || b"|={,(:;".contains(last),
        (Some(b'.'), Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Python) => {
            let after = text[start..].iter().position(|byte| !is_word(*byte)).map_or(text.len(), |end| start + end);
            text[after..].trim_ascii_start().starts_with(b"=")
        }
        (Some(b':' | b'('), Language::C | Language::Cpp) => true,
        (Some(last), Language::Rust) if is_word(*last) => {
            let start = before.iter().rposition(|byte| !is_word(*byte)).map_or(0, |at| at + 1);
            RUST_DECLARING.contains(&&before[start..])
        }
        (Some(last), Language::Rust) => b")!{,;}".contains(last),
        (Some(last), _) => is_word(*last) || b"*&)!>~{,;}".contains(last),
    }
}

/// Returns the text without trailing blanks; empty if its last line is blank.
fn in_line(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !byte.is_ascii_whitespace() || *byte == b'\n');
    end.filter(|end| text[*end] != b'\n').map_or(b"", |end| &text[..=end])
}
