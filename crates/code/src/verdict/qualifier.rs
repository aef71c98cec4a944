//! Excludes methods by the type before them: `String::new` is not a method of `Arg`. It decides places on which the server
//! is silent, unless the project gives the type another name.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use syntax::{Kind, Language, family, is_word, last_word};

use super::Call;
use super::resolve::{Candidate, Evidence};
use crate::answer::{Candidates, Site};
use crate::definition::Definition;
use crate::search::{Scope, search_by};

/// The time limit of the search for other names of types.
const WITHIN: Duration = Duration::from_secs(3);
/// The maximum number of bytes of a line that are read before an alias.
const NEAR: usize = 200;

/// Excludes the definitions at open places that name another type.
pub(super) async fn exclude_other_types(
    call: &Call<'_>,
    found: &Candidates,
    open: Vec<usize>,
    candidates: &mut [Candidate],
) {
    let named = open.into_iter().filter_map(|at| Some((at, qualifier(found, &found.sites[at])?)));
    let others: Vec<(usize, String)> = named
        .filter(|(at, word)| {
            let of = family(found.sites[*at].language);
            let mut all = found.definitions.iter().filter(|one| family(one.language) == of);
            all.all(|one| is_method_of_another(one, word))
        })
        .collect();
    if others.is_empty() || Instant::now() >= call.until {
        return;
    }
    // The search for the name is over. This search has its own time limit, within that of the call.
    let whole = Scope::for_root(&call.scope.root, WITHIN);
    let whole = Scope { until: whole.until.min(call.until), ..whole };
    let renamed = tokio::task::spawn_blocking(move || renamed(&whole)).await;
    let Ok(Some(renamed)) = renamed else { return };
    for (at, _) in others.into_iter().filter(|(_, word)| !renamed.contains(word)) {
        candidates[at].evidence = Evidence::Excluded;
    }
}

/// Returns the type or module before the name at a site; `None` if syntax cannot tell.
fn qualifier(found: &Candidates, site: &Site) -> Option<String> {
    // An unknown macro may use its tokens in any way.
    let is_code = site.tokens.is_none_or(|tokens| tokens.are_code);
    if site.language != Language::Rust || site.is_broken || site.alias.is_some() || !is_code {
        return None;
    }
    before_path(found.texts.get(&*site.path)?.get(..site.at)?).map(str::to_owned)
}

/// Returns the last word before `::`, without type arguments: `Vec` of `Vec::<u8>::`.
fn before_path(text: &[u8]) -> Option<&str> {
    let path = without_arguments(text.trim_ascii_end().strip_suffix(b"::")?.trim_ascii_end())?;
    let word = std::str::from_utf8(last_word(path)).ok()?;
    let is_variable = path[..path.len() - word.len()].ends_with(b"$");
    (!is_variable && !matches!(word, "" | "Self" | "self" | "super" | "crate")).then_some(word)
}

fn without_arguments(path: &[u8]) -> Option<&[u8]> {
    if !path.ends_with(b">") {
        return Some(path);
    }
    let mut depth = 0;
    for (at, byte) in path.iter().enumerate().rev().take(NEAR) {
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

/// True for a method whose type has another name. A member of a trait is reached through any type that implements it.
fn is_method_of_another(definition: &Definition, word: &str) -> bool {
    let types = definition.inside.last().map(Vec::as_slice).unwrap_or_default();
    let is_name = |name: &String| name.bytes().all(is_word);
    let is_method = definition.kind == Kind::Method && definition.of_trait.is_none();
    is_method && !types.is_empty() && types.iter().all(|name| is_name(name) && name != word)
}

/// Returns the words that the project gives to types; `None` if a file was not read or a macro makes such words. Blocks.
fn renamed(scope: &Scope) -> Option<BTreeSet<String>> {
    let searched = search_by(scope, |language, text| match language {
        Language::Rust => aliases(text).map(|(at, _)| at).collect(),
        _ => Vec::new(),
    });
    let all = searched.hits.iter().flat_map(|hit| aliases(&hit.text));
    let words = all.map(|(_, alias)| alias.map(str::to_owned)).collect::<Option<BTreeSet<String>>>();
    words.filter(|_| searched.skipped.is_empty())
}

/// Returns the aliases in a text: names after `type` and `as`. One that a macro makes has no name.
fn aliases(text: &[u8]) -> impl Iterator<Item = (usize, Option<&str>)> {
    let after = |word: &'static [u8]| {
        memchr::memmem::find_iter(text, word).filter_map(move |at| Some((at, alias(text, word, at)?)))
    };
    after(b"type").chain(after(b"as"))
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_gives_other_names() {
        let check = |text: &str, wanted: &[&str]| {
            let found: Vec<&str> = aliases(text.as_bytes()).map(|(_, name)| name.unwrap_or("$")).collect();
            assert_eq!(found, wanted, "{text}");
        };
        check("type Shape = Circle;", &["Shape"]);
        check("use geo::{Circle as Shape, Line};", &["Shape"]);
        check("use geo::{ // one; two\n  // three\n  Circle as Shape };", &["Shape"]);
        check("let a = b as u8; let c = b as $ty;", &[]);
        check("use a::{b as $c, d as E}; type $f = G;", &["$", "$", "E"]);
        check("prototype Shape; alias X", &[]);
    }

    #[test]
    fn the_type_before_a_name() {
        let check = |text: &str, wanted: Option<&str>| assert_eq!(before_path(text.as_bytes()), wanted, "{text}");
        check("String::", Some("String"));
        check("std::ffi::OsStr ::", Some("OsStr"));
        check("Slim::<__m128i, $len>::", Some("Slim"));
        check("Slim::<Vec<u8>>::", Some("Slim"));
        check("$crate::Arg::", Some("Arg"));
        check("$name::", None);
        check("Self::", None);
        check("<T as Shape>::", None);
        check("F::<fn(u8) -> u8>::", None);
        check("x.", None);
    }
}
