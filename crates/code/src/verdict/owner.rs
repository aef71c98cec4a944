//! Tells the type or module of a name by the words before it: `String::new` is not a method of `Arg`. It decides sites on
//! which the server is silent, if the project does not rename the type.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use super::Call;
use crate::answer::{Candidates, Site};
use crate::definition::Definition;
use crate::search::{Scope, search_by};
use crate::syntax::{Class, Kind, Language, is_word, last_word};

/// The owner of a name, as a site writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Owner {
    Named(String),
    /// `crate::name`, which excludes other crates.
    OfCrate(String),
    /// The type of the literal or pattern around a field.
    OfFields(String),
}

/// Other names in the project for the words that name owners.
#[derive(Debug, Default)]
pub(super) struct OwnerAliases {
    /// How often each word is an alias: `type Shape = Circle`, `use geo::Circle as Shape`.
    types: BTreeMap<String, usize>,
    modules: BTreeMap<String, usize>,
    /// True if all files were read, and true if all modules are known: a module may re-export a variant.
    is_known: bool,
    has_unknown_modules: bool,
}

impl OwnerAliases {
    /// Searches for aliases of these owners.
    pub(super) async fn find(call: &Call<'_>, owners: Vec<Owner>) -> OwnerAliases {
        if owners.is_empty() || Instant::now() >= call.until {
            return OwnerAliases::default();
        }
        // The search for the name is over. This search has its own time limit, within that of the call.
        let whole = Scope::for_root(&call.scope.root, WITHIN);
        let whole = Scope { until: whole.until.min(call.until), beyond: call.scope.beyond.clone(), ..whole };
        tokio::task::spawn_blocking(move || OwnerAliases::search(&whole, owners)).await.unwrap_or_default()
    }

    fn search(scope: &Scope, owners: Vec<Owner>) -> OwnerAliases {
        let names: BTreeSet<String> = owners
            .into_iter()
            .map(|owner| match owner {
                Owner::Named(name) | Owner::OfCrate(name) | Owner::OfFields(name) => name,
            })
            .collect();
        let is_meant = |(_, other): &(usize, Other<'_>)| match other {
            Other::Type(name) | Other::Module(name) => names.contains(*name),
            Other::UnknownType | Other::UnknownModule => true,
        };
        let searched = search_by(scope, |language, text| match language {
            Language::Rust => others(text).filter(is_meant).map(|(at, _)| at).collect(),
            _ => Vec::new(),
        });
        let mut renamed = OwnerAliases { is_known: searched.skipped.is_empty(), ..OwnerAliases::default() };
        for (_, other) in searched.hits.iter().flat_map(|hit| others(&hit.text)).filter(is_meant) {
            match other {
                Other::Type(name) => *renamed.types.entry(name.to_owned()).or_default() += 1,
                Other::Module(name) => *renamed.modules.entry(name.to_owned()).or_default() += 1,
                // It may rename any type.
                Other::UnknownType => renamed.is_known = false,
                Other::UnknownModule => renamed.has_unknown_modules = true,
            }
        }
        renamed
    }

    /// True if a word names a type without aliases that is not in this list.
    fn is_other_type(&self, word: &str, types: &[String]) -> bool {
        !self.types.contains_key(word) && types.iter().all(|one| one != word)
    }
}

/// The time limit of each search.
const WITHIN: Duration = Duration::from_secs(3);

/// An alias in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Other<'a> {
    Type(&'a str),
    Module(&'a str),
    /// A macro defines the name.
    UnknownType,
    UnknownModule,
}

/// Returns the aliases in a text: names after `type`, `mod` and `as`.
fn others(text: &[u8]) -> impl Iterator<Item = (usize, Other<'_>)> {
    let after = |word: &'static [u8]| {
        memchr::memmem::find_iter(text, word).filter_map(move |at| Some((at, other(text, word, at)?)))
    };
    after(b"type").chain(after(b"mod")).chain(after(b"as"))
}

/// The maximum number of bytes read of a statement.
const LONGEST: usize = 2_000;

/// True if the statement around an offset imports names, or is too long to tell.
fn brings_names(text: &[u8], at: usize) -> bool {
    let before = &text[at.saturating_sub(LONGEST)..at];
    let mut end = before.len();
    let start = loop {
        let Some(semicolon) = memchr::memrchr(b';', &before[..end]) else { break None };
        let line = memchr::memrchr(b'\n', &before[..semicolon]).map_or(0, |line| line + 1);
        // A semicolon in a comment does not end a statement.
        match memchr::memmem::find(&before[line..semicolon], b"//") {
            Some(comment) => end = line + comment,
            None => break Some(semicolon + 1),
        }
    };
    let has = |word: &[u8]| {
        let is_whole = |at: usize| at == 0 || !is_word(before[at - 1]);
        memchr::memmem::find_iter(&before[start.unwrap_or(0)..], word).any(|at| is_whole(start.unwrap_or(0) + at))
    };
    start.is_none() && at > LONGEST || has(b"use ") || has(b"extern ")
}

/// Returns the alias that a word at an offset introduces.
fn other<'a>(text: &'a [u8], word: &[u8], at: usize) -> Option<Other<'a>> {
    let (before, after) = (&text[..at], &text[at + word.len()..]);
    let is_whole = !before.last().is_some_and(|byte| is_word(*byte));
    let name = after.trim_ascii_start();
    // `x as Circle` is a conversion.
    if !is_whole || name.len() == after.len() || word == b"as" && !brings_names(text, at) {
        return None;
    }
    let end = name.iter().position(|byte| !is_word(*byte)).unwrap_or(name.len());
    match (name.first(), std::str::from_utf8(&name[..end])) {
        (Some(b'$'), _) if word == b"mod" => Some(Other::UnknownModule),
        (Some(b'$'), _) => Some(Other::UnknownType),
        (_, Ok(name)) if end > 0 && word == b"mod" => Some(Other::Module(name)),
        (_, Ok(name)) if end > 0 => Some(Other::Type(name)),
        _ => None,
    }
}

/// Returns the owner that a site names; `None` if syntax cannot tell.
pub(super) fn owner(found: &Candidates, site: &Site) -> Option<Owner> {
    let text = found.texts.get(&*site.path)?;
    let before = text.get(..site.at)?.trim_ascii_end();
    if let Some(path) = before.strip_suffix(b"::") {
        return match written(without_arguments(path)?)? {
            Word::Variable => None,
            // In a macro it depends on the place where the macro is used.
            Word::Plain("Self") if site.tokens.is_some() => None,
            Word::Plain("Self") => site.self_type.clone().filter(|name| name.bytes().all(is_word)).map(Owner::Named),
            Word::Plain("self" | "super" | "crate") => None,
            Word::Plain(word) => {
                let path = without_arguments(path)?;
                let is_of_crate = path.strip_suffix(word.as_bytes()).is_some_and(|path| path.ends_with(b"crate::"));
                Some(if is_of_crate { Owner::OfCrate(word.to_owned()) } else { Owner::Named(word.to_owned()) })
            }
        };
    }
    // A field in a literal or in a pattern: `Circle { radius }`.
    let opened = site.tokens?.opened_at.filter(|_| !before.ends_with(b"."))?;
    let of = text.get(opened..)?.starts_with(b"{").then(|| text.get(..opened)).flatten()?.trim_ascii_end();
    match written(of)? {
        Word::Plain(word) if word != "Self" && word.starts_with(char::is_uppercase) => {
            Some(Owner::OfFields(word.to_owned()))
        }
        _ => None,
    }
}

/// Returns the path before `::` without type arguments: `Vec` for `Vec::<u8>`.
fn without_arguments(path: &[u8]) -> Option<&[u8]> {
    let path = path.trim_ascii_end();
    if !path.ends_with(b">") {
        return Some(path);
    }
    let mut depth = 0;
    for (at, byte) in path.iter().enumerate().rev().take(200) {
        match byte {
            b'>' if at > 0 && path[at - 1] == b'-' => return None,
            b'>' => depth += 1,
            b'<' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return path[..at].trim_ascii_end().strip_suffix(b"::").map(<[u8]>::trim_ascii_end);
        }
    }
    None
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word<'a> {
    Plain(&'a str),
    /// `$name` of a macro.
    Variable,
}

/// Returns the word at the end of a text.
fn written(text: &[u8]) -> Option<Word<'_>> {
    let word = std::str::from_utf8(last_word(text)).ok().filter(|word| !word.is_empty())?;
    // `$crate` is not a variable.
    Some(if text[..text.len() - word.len()].ends_with(b"$") && word != "crate" {
        Word::Variable
    } else {
        Word::Plain(word)
    })
}

/// True if a definition cannot belong to an owner.
pub(super) fn is_of_another(
    found: &Candidates,
    definition: &Definition,
    owner: &Owner,
    renamed: &OwnerAliases,
) -> bool {
    if !renamed.is_known {
        return false;
    }
    // Another crate may have the name of a module.
    if let (Kind::Function, Owner::OfCrate(module)) = (definition.kind, owner) {
        return is_in_another_module(found, definition, module, renamed);
    }
    let Some(types) = definition.inside.last() else { return false };
    match (definition.kind, owner) {
        (Kind::Constructor, _) if renamed.has_unknown_modules => return false,
        (kind, Owner::OfFields(_)) if kind != Kind::Field => return false,
        // A member of a trait is reached through any type that implements it.
        (Kind::Method | Kind::Field | Kind::Constructor, _) if definition.of_trait.is_none() => {}
        _ => return false,
    }
    if types.is_empty() || !types.iter().all(|name| name.bytes().all(is_word)) {
        return false;
    }
    // A module has no methods and no fields. It may re-export variants, as may a crate.
    let is_other = |word: &String| {
        renamed.is_other_type(word, types)
            && !(definition.kind == Kind::Constructor
                && (renamed.modules.contains_key(word) || !word.starts_with(char::is_uppercase)))
    };
    let (Owner::Named(word) | Owner::OfCrate(word) | Owner::OfFields(word)) = owner;
    is_other(word)
}

/// True if the only module of that name declares such a function itself, and does not contain the definition.
fn is_in_another_module(found: &Candidates, definition: &Definition, module: &str, renamed: &OwnerAliases) -> bool {
    let (file, folder) = (definition.path.file_stem(), definition.path.parent().and_then(Path::file_name));
    let mut around = definition
        .inside
        .iter()
        .flatten()
        .map(String::as_str)
        .chain([file, folder].into_iter().flatten().filter_map(OsStr::to_str));
    let is_one = renamed.modules.get(module) == Some(&1) && !renamed.types.contains_key(module);
    if !is_one || around.any(|name| name == module) {
        return false;
    }
    let declares = |site: &Site| {
        let before = found.texts.get(&*site.path).and_then(|text| text.get(..site.at)).unwrap_or_default();
        let is_function = before.trim_ascii_end().ends_with(b"fn") && site.class == Class::Binding;
        is_function && site.tokens.is_none() && site.enclosing.rsplit("::").next() == Some(module)
    };
    // A conditional statement may declare it or re-export it.
    let brings = |site: &Site| {
        matches!(site.class, Class::Import | Class::Export) && site.enclosing.rsplit("::").next() == Some(module)
    };
    !renamed.has_unknown_modules && found.sites.iter().any(declares) && !found.sites.iter().any(brings)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mcp::tool::Context;

    use super::*;
    use crate::pool::Pool;

    #[test]
    fn a_text_gives_other_names() {
        let check = |text: &str, wanted: &[&str]| {
            let name = |(_, other): (usize, Other<'_>)| match other {
                Other::Type(name) => name.to_owned(),
                Other::Module(name) => format!("mod {name}"),
                unknown => format!("{unknown:?}"),
            };
            let found: Vec<String> = others(text.as_bytes()).map(name).collect();
            assert_eq!(found, wanted, "{text}");
        };
        check("type Shape = Circle;", &["Shape"]);
        check("impl A for B { type Item = Circle; }", &["Item"]);
        check("use geo::{Circle as Shape, Line};", &["Shape"]);
        check("use geo::{ // one; two\n  // three\n  Circle as Shape };", &["Shape"]);
        check("let a = b as Circle; mod M {}", &["mod M"]);
        check("// used where as Circle is\nuse a;", &[]);
        check("let a = b as $ty;", &[]);
        check("use a; let b = <T as $trait>::b();", &[]);
        check(
            "use a::{b as $c, d as E}; type $f = G; mod $h {}",
            &["UnknownType", "UnknownModule", "UnknownType", "E"],
        );
        check("prototype Shape; alias X", &[]);
    }

    #[test]
    fn a_table_of_conversions_takes_no_time_of_its_square() {
        let text = format!("const A: [u16; 1] = [\n{}];\nuse a::B as C;\n", "    0x1 as u16,\n".repeat(200_000));
        let begun = Instant::now();
        assert!(others(text.as_bytes()).any(|(_, other)| other == Other::Type("C")));
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    }

    #[test]
    fn the_type_before_a_name() {
        let check = |path: &str, wanted: Option<Word<'_>>| {
            let word = without_arguments(path.as_bytes()).and_then(written);
            assert_eq!(word, wanted, "{path}");
        };
        check("String", Some(Word::Plain("String")));
        check("std::ffi::OsStr", Some(Word::Plain("OsStr")));
        check("Slim::<__m128i, $len>", Some(Word::Plain("Slim")));
        check("Slim::<Vec<u8>>", Some(Word::Plain("Slim")));
        check("$crate::Arg", Some(Word::Plain("Arg")));
        check("$crate", Some(Word::Plain("crate")));
        check("$name", Some(Word::Variable));
        check("<T as Shape>", None);
        check("<[u8]>", None);
        check("F::<fn(u8) -> u8>", None);
    }

    #[tokio::test]
    async fn nothing_is_known_where_no_time_is_left() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.rs"), "type Shape = Circle;\n").unwrap();
        let (pool, scope) = (Pool::new(None), Scope::for_root(folder.path(), WITHIN));
        let cx = Context::detached(Arc::new(testkit::caller(folder.path(), "")));
        let is_known = async |until| {
            let call = Call { pool: &pool, cx: &cx, scope: &scope, until };
            OwnerAliases::find(&call, vec![Owner::Named("Shape".to_owned())]).await.is_known
        };
        assert!(is_known(Instant::now() + Duration::from_secs(60)).await);
        assert!(!is_known(Instant::now()).await);
    }
}
