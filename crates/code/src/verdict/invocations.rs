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
        let mut statements = Statements::of(&hit.text);
        for start in &hit.starts {
            // What is given may be nested, each in the next.
            if scope.is_over() {
                return None;
            }
            let (before, after) = (&hit.text[..*start], hit.text[start + name.len()..].trim_ascii_start());
            let is_definition = before.trim_ascii_end().ends_with(b"macro_rules!");
            let is_exported = is_definition && memchr::memmem::find(&hit.text, b"macro_export").is_some();
            // Others may use what is exported, what has another name, and what is handed on.
            let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
            let is_comment = line.trim_ascii_start().starts_with(b"//");
            let is_brought = matches!(after.first(), Some(b';' | b',' | b'}')) && statements.is_use_at(*start);
            if is_exported || !is_definition && !is_comment && !is_brought && !after.starts_with(b"!") {
                return None;
            }
            if is_comment {
                continue;
            }
            if let Some(arguments) = after.strip_prefix(b"!").filter(|rest| !rest.starts_with(b"=")) {
                let arguments = in_brackets(arguments.trim_ascii_start())?;
                let has_self = arguments.split(|byte| !is_word(*byte)).any(|word| word == b"Self");
                if arguments.contains(&b'$') || has_self {
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

/// The statements of a text. It is gone through once, however many places are asked about, in their order.
pub(super) struct Statements<'a> {
    text: &'a [u8],
    at: usize,
    is_use: bool,
    is_comment: bool,
}

impl<'a> Statements<'a> {
    pub(super) fn of(text: &'a [u8]) -> Statements<'a> {
        Statements { text, at: 0, is_use: false, is_comment: false }
    }

    /// Whether the statement that a place stands in is a `use`, or an `extern crate`, by what stands before the place. Comments
    /// do not count.
    pub(super) fn is_use_at(&mut self, at: usize) -> bool {
        while self.at < at {
            let rest = &self.text[self.at..at];
            let mut length = 1;
            match rest[0] {
                b'\n' => self.is_comment = false,
                _ if self.is_comment => {}
                b'/' if rest.starts_with(b"//") => self.is_comment = true,
                b';' => self.is_use = false,
                byte if is_word(byte) => {
                    length = rest.iter().take_while(|byte| is_word(**byte)).count();
                    self.is_use |= matches!(&rest[..length], b"use" | b"extern");
                }
                _ => {}
            }
            self.at += length;
        }
        self.is_use
    }
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
        check("macro_rules! m { () => {} } impl A { fn a() { m!(Self) } }", None);
        check("macro_rules! m { () => {} } each!(m); m!(A);", None);
        check("macro_rules! m { () => {} }\n// m is one\nm!(A);", Some(&["A"]));
    }
}
