//! What a macro of the project is given: the words of all its invocations. What a name means that its body reaches through one
//! of its variables can only be what one of them says.

use std::collections::{BTreeMap, BTreeSet};

use memchr::memmem::Finder;

use crate::search::{Scope, search_by, words};
use crate::syntax::{Language, is_word};

/// The words that macros are given; `None` where not all of them are known.
pub(super) type Given = BTreeMap<String, Option<BTreeSet<String>>>;

pub(super) fn given(scope: &Scope, macros: &BTreeSet<String>) -> Given {
    macros.iter().map(|name| (name.clone(), given_to(scope, name))).collect()
}

fn given_to(scope: &Scope, name: &str) -> Option<BTreeSet<String>> {
    let finder = Finder::new(name.as_bytes());
    let searched = search_by(scope, |language, text| match language {
        Language::Rust => words(&finder, text, name),
        _ => Vec::new(),
    });
    if !searched.skipped.is_empty() {
        return None;
    }
    let mut all = BTreeSet::new();
    let mut is_used = false;
    for hit in &searched.hits {
        for start in &hit.starts {
            let (before, after) = (&hit.text[..*start], hit.text[start + name.len()..].trim_ascii_start());
            let is_definition = before.trim_ascii_end().ends_with(b"macro_rules!");
            // Others may use what is exported, and what has another name.
            let is_exported = is_definition && memchr::memmem::find(&hit.text, b"macro_export").is_some();
            if is_exported || after.starts_with(b"as") && !after.get(2).is_some_and(|byte| is_word(*byte)) {
                return None;
            }
            if let Some(arguments) = after.strip_prefix(b"!").filter(|rest| !rest.starts_with(b"=")) {
                let arguments = in_brackets(arguments.trim_ascii_start())?;
                if arguments.contains(&b'$') {
                    return None;
                }
                is_used = true;
                let words = arguments.split(|byte| !is_word(*byte)).filter(|word| !word.is_empty());
                all.extend(words.map(|word| String::from_utf8_lossy(word).into_owned()));
            }
        }
    }
    is_used.then_some(all)
}

/// What stands in the brackets that a text begins with.
fn in_brackets(text: &[u8]) -> Option<&[u8]> {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        match text[at] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b'"' => at += end_of_text(&rest[1..])?,
            b'\'' if rest.get(2) == Some(&b'\'') => at += 2,
            b'\'' if rest.get(1) == Some(&b'\\') => at += 1 + rest[2..].iter().position(|byte| *byte == b'\'')?,
            b'/' if rest.starts_with(b"//") => at += rest.iter().position(|byte| *byte == b'\n')?,
            _ => {}
        }
        if depth == 0 {
            return text.get(1..at);
        }
        at += 1;
    }
    None
}

/// How many bytes a text literal has up to its closing mark, this included.
fn end_of_text(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_stands_in_brackets() {
        let check = |text: &str, wanted: Option<&str>| {
            assert_eq!(in_brackets(text.as_bytes()), wanted.map(str::as_bytes), "{text}");
        };
        check("(A, b(c)) d", Some("A, b(c)"));
        check("{ \")\" ')' '\\'' \"\\\")\" }", Some(" \")\" ')' '\\'' \"\\\")\" "));
        check("[a // ]\n] b", Some("a // ]\n"));
        check("(a", None);
        check("a", None);
    }

    #[test]
    fn the_words_that_a_macro_is_given() {
        let folder = tempfile::tempdir().unwrap();
        let check = |text: &str, wanted: Option<&[&str]>| {
            std::fs::write(folder.path().join("a.rs"), text).unwrap();
            let scope = Scope::of(folder.path(), Duration::from_secs(5));
            let words = given_to(&scope, "m");
            let words: Option<Vec<&str>> = words.as_ref().map(|all| all.iter().map(String::as_str).collect());
            assert_eq!(words.as_deref(), wanted, "{text}");
        };
        check("macro_rules! m { () => {} } m!(Circle, 1); m! { Line }", Some(&["1", "Circle", "Line"]));
        check("macro_rules! m { () => {} }", None);
        check("macro_rules! m { () => {} } macro_rules! n { ($x:ty) => { m!($x) } } m!(A);", None);
        check("#[macro_export] macro_rules! m { () => {} } m!(A);", None);
        check("macro_rules! m { () => {} } use m as n; m!(A);", None);
        check("macro_rules! m { () => {} } m!(A", None);
        check("pub(crate) use m; m!(A);", Some(&["A"]));
    }
}
