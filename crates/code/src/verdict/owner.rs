//! Tells the type of a name by the words before it: `String::new` is not a method of `Arg`. It decides sites on
//! which the server is silent, if the project does not rename the type.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::Call;
use crate::answer::{Candidates, Site};
use crate::definition::Definition;
use crate::search::{Scope, search_by};
use crate::syntax::{Kind, Language, is_word, last_word};

/// The type that owns a name, as a site writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    name: String,
    /// True for the type of the literal or pattern around a field.
    is_of_field: bool,
}

/// Other names in the project for the types that are owners.
#[derive(Debug, Default)]
pub(super) struct OwnerAliases {
    /// The words that are aliases: `type Shape = Circle`, `use geo::Circle as Shape`.
    types: BTreeSet<String>,
    /// True if all files were read, and no macro makes aliases.
    is_known: bool,
}

impl OwnerAliases {
    pub(super) async fn find(call: &Call<'_>, owners: Vec<Owner>) -> OwnerAliases {
        if owners.is_empty() || Instant::now() >= call.until {
            return OwnerAliases::default();
        }
        // The search for the name is over. This search has its own time limit, within that of the call.
        let whole = Scope::for_root(&call.scope.root, WITHIN);
        let whole = Scope { until: whole.until.min(call.until), ..whole };
        let names: BTreeSet<String> = owners.into_iter().map(|owner| owner.name).collect();
        tokio::task::spawn_blocking(move || OwnerAliases::search(&whole, &names)).await.unwrap_or_default()
    }

    fn search(scope: &Scope, names: &BTreeSet<String>) -> OwnerAliases {
        let is_meant = |(_, alias): &(usize, Option<&str>)| alias.is_none_or(|alias| names.contains(alias));
        let searched = search_by(scope, |language, text| match language {
            Language::Rust => aliases(text).filter(is_meant).map(|(at, _)| at).collect(),
            _ => Vec::new(),
        });
        let mut renamed = OwnerAliases { is_known: searched.skipped.is_empty(), ..OwnerAliases::default() };
        for (_, alias) in searched.hits.iter().flat_map(|hit| aliases(&hit.text)).filter(is_meant) {
            renamed.is_known &= alias.is_some();
            renamed.types.extend(alias.map(str::to_owned));
        }
        renamed
    }
}

/// The time limit of each search.
const WITHIN: Duration = Duration::from_secs(3);

/// Returns the aliases in a text: names after `type` and `as`. One that a macro makes has no name.
fn aliases(text: &[u8]) -> impl Iterator<Item = (usize, Option<&str>)> {
    let after = |word: &'static [u8]| {
        memchr::memmem::find_iter(text, word).filter_map(move |at| Some((at, alias(text, word, at)?)))
    };
    after(b"type").chain(after(b"as"))
}

/// The maximum number of bytes of a line that are read before an alias.
const NEAR: usize = 200;

/// Returns the alias that a word at an offset introduces, if it does.
fn alias<'a>(text: &'a [u8], word: &[u8], at: usize) -> Option<Option<&'a str>> {
    let (before, after) = (&text[..at], &text[at + word.len()..]);
    let is_whole = !before.last().is_some_and(|byte| is_word(*byte));
    let name = after.trim_ascii_start();
    if !is_whole || name.len() == after.len() {
        return None;
    }
    // `x as u8` and `x as $ty` are conversions.
    let is_of_type = name.first().is_some_and(u8::is_ascii_uppercase);
    let near = &before[before.len().saturating_sub(NEAR)..];
    let line = near.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    if word == b"as" && !is_of_type && memchr::memmem::find(line, b"use ").is_none() {
        return None;
    }
    let end = name.iter().position(|byte| !is_word(*byte)).unwrap_or(name.len());
    match std::str::from_utf8(&name[..end]) {
        _ if name.starts_with(b"$") => Some(None),
        Ok(name) if end > 0 => Some(Some(name)),
        _ => None,
    }
}

/// Returns the owner that a site names; `None` if syntax cannot tell.
pub(super) fn owner(found: &Candidates, site: &Site) -> Option<Owner> {
    let text = found.texts.get(&*site.path)?;
    let before = text.get(..site.at)?.trim_ascii_end();
    let named = |name: &str| Some(Owner { name: name.to_owned(), is_of_field: false });
    if let Some(path) = before.strip_suffix(b"::") {
        return match written(without_arguments(path)?)? {
            // In a macro it depends on the place where the macro is used.
            Word::Plain("Self") if site.tokens.is_none() => named(site.self_type.as_ref()?),
            Word::Variable | Word::Plain("Self" | "self" | "super" | "crate") => None,
            Word::Plain(word) => named(word),
        };
    }
    // A field in a literal or in a pattern: `Circle { radius }`.
    let opened = site.tokens?.opened_at.filter(|_| !before.ends_with(b"."))?;
    let of = text.get(opened..)?.starts_with(b"{").then(|| text.get(..opened)).flatten()?.trim_ascii_end();
    match written(of)? {
        Word::Plain(word) if word != "Self" && word.starts_with(char::is_uppercase) => {
            Some(Owner { name: word.to_owned(), is_of_field: true })
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
pub(super) fn is_of_another(definition: &Definition, owner: &Owner, renamed: &OwnerAliases) -> bool {
    let types = definition.inside.last().map(Vec::as_slice).unwrap_or_default();
    let is_name = |name: &String| name.bytes().all(is_word);
    // A member of a trait is reached through any type that implements it.
    let is_member = match definition.kind {
        Kind::Method => definition.of_trait.is_none() && !owner.is_of_field,
        Kind::Field => definition.of_trait.is_none(),
        _ => false,
    };
    let is_other = !renamed.types.contains(&owner.name) && !types.contains(&owner.name) && is_name(&owner.name);
    renamed.is_known && is_member && is_other && !types.is_empty() && types.iter().all(is_name)
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
            let found: Vec<&str> = aliases(text.as_bytes()).map(|(_, name)| name.unwrap_or("$")).collect();
            assert_eq!(found, wanted, "{text}");
        };
        check("type Shape = Circle;", &["Shape"]);
        check("impl A for B { type Item = Circle; }", &["Item"]);
        check("use geo::{Circle as Shape, Line};", &["Shape"]);
        check("use geo::{ // one; two\n  // three\n  Circle as Shape };", &["Shape"]);
        check("let a = b as u8; let c = b as $ty;", &[]);
        check("let a = b as Circle;", &["Circle"]);
        check("use a::{b as $c, d as E}; type $f = G;", &["$", "$", "E"]);
        check("prototype Shape; alias X", &[]);
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
            OwnerAliases::find(&call, vec![Owner { name: "Shape".to_owned(), is_of_field: false }]).await.is_known
        };
        assert!(is_known(Instant::now() + Duration::from_secs(60)).await);
        assert!(!is_known(Instant::now()).await);
    }
}
