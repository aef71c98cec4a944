//! Class heads in all files of a language, which tell the subclasses of a class by name. Types are not resolved, so the
//! result may contain too many classes.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use memchr::memmem::{Finder, find_iter};
use parking_lot::Mutex;
use syntax::{Language, family, is_word, last_word};

use super::Call;
use crate::inquiry::Spot;
use crate::search::{Scope, each_file, read, word_starts};

/// A class with the names in its head after its own.
#[derive(Debug)]
pub(super) struct Head {
    pub class: Spot,
    word: String,
    words: BTreeSet<String>,
}

/// The heads of all classes of a language.
#[derive(Debug, Default)]
pub(super) struct Heads(Vec<Head>);

/// The time limit for all files.
const WITHIN: Duration = Duration::from_secs(3);
/// The maximum number of bytes of a head.
const LONGEST: usize = 8_000;

impl Heads {
    /// Reads all files of a language's family; `None` if some could not be read.
    pub(super) async fn search(call: &Call<'_>, language: Language) -> Option<Heads> {
        // The search for the name is over. This search has its own time limit, within that of the call.
        let whole = Scope::for_root(&call.scope.root, WITHIN);
        let whole = Scope { until: whole.until.min(call.until), ..whole };
        let searching = tokio::task::spawn_blocking(move || {
            let heads = Mutex::new(Some(Vec::new()));
            each_file(&whole, |path, of| {
                if !of.is_ok_and(|of| family(of) == family(language)) {
                    return;
                }
                match (read(&path), &mut *heads.lock()) {
                    (Ok(text), Some(heads)) => heads.extend(heads_of(&path, language, &text)),
                    (_, heads) => *heads = None,
                }
            });
            heads.into_inner().filter(|_| !whole.is_over()).map(Heads)
        });
        searching.await.ok().flatten()
    }

    /// Returns the name of a class and those of its subclasses.
    pub(super) fn heirs(&self, class: &str) -> BTreeSet<String> {
        let mut names = BTreeSet::from([class.to_owned()]);
        loop {
            let before = names.len();
            let more: Vec<String> = self.with_names(&names).map(|head| head.word.clone()).collect();
            names.extend(more);
            if names.len() == before {
                return names;
            }
        }
    }

    pub(super) fn with_names<'a>(&'a self, names: &'a BTreeSet<String>) -> impl Iterator<Item = &'a Head> {
        self.0.iter().filter(|head| !head.words.is_disjoint(names))
    }

    /// True if a class is a subclass of both.
    pub(super) fn share_subclass(&self, one: &str, other: &str) -> bool {
        !self.heirs(one).is_disjoint(&self.heirs(other))
    }
}

fn heads_of(path: &Path, language: Language, text: &[u8]) -> Vec<Head> {
    let keywords: &[&str] = if language == Language::Cpp { &["class", "struct"] } else { &["class"] };
    let starts = keywords
        .iter()
        .flat_map(|word| word_starts(&Finder::new(word), text, word).into_iter().map(|start| start + word.len()));
    starts.filter_map(|after| head(path, language, text, after)).collect()
}

/// Returns the head whose keyword ends at an offset; `None` if it names no other class.
fn head(path: &Path, language: Language, text: &[u8], after: usize) -> Option<Head> {
    let start = after + text[after..].iter().position(|byte| !byte.is_ascii_whitespace())?;
    let length = text[start..].iter().take_while(|byte| is_word(**byte)).count();
    let rest = &text[start + length..text.len().min(start + length + LONGEST)];
    let end = match language {
        Language::Python => end_of_arguments(rest),
        _ => rest.iter().position(|byte| b"{;".contains(byte)).unwrap_or(rest.len()),
    };
    let is_part = |byte: &u8| !is_word(*byte);
    let named: Vec<&[u8]> = rest[..end].split(is_part).filter(|word| !word.is_empty()).collect();
    if named.is_empty() {
        return None;
    }
    let mut words = BTreeSet::new();
    for word in named {
        let word = String::from_utf8_lossy(word).into_owned();
        words.extend(imported_as(text, &word));
        words.insert(word);
    }
    let word = String::from_utf8_lossy(&text[start..start + length]).into_owned();
    Some(Head { class: Spot { path: path.to_owned(), start, end: start + length }, word, words })
}

/// Returns the end of the bases in a Python class head: `(A, B[int])`, `[T: int](A)`.
fn end_of_arguments(rest: &[u8]) -> usize {
    let mut depth = 0usize;
    for (at, byte) in rest.iter().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b':' if depth == 0 => return at,
            _ => {}
        }
    }
    rest.len()
}

/// Returns the original name of an import alias: `Named` for `NamedMixin` in `from mixins import Named as NamedMixin`.
fn imported_as(text: &[u8], name: &str) -> Option<String> {
    let given = format!(" as {name}");
    let is_whole = |at: &usize| text.get(at + given.len()).is_none_or(|byte| !is_word(*byte));
    let at = find_iter(text, given.as_bytes()).find(is_whole)?;
    Some(String::from_utf8_lossy(last_word(text[..at].trim_ascii_end())).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_heads() {
        let check = |language, text: &str, wanted: &[&str]| {
            let heads = heads_of(Path::new("a"), language, text.as_bytes());
            let words: Vec<&String> = heads.iter().flat_map(|head| &head.words).collect();
            assert_eq!(words, wanted, "{text}");
            assert!(heads.iter().all(|head| head.word == "A"), "{text}");
        };
        check(Language::Python, "class A(Mixin, geo.Base[int]): x = C", &["Base", "Mixin", "geo", "int"]);
        check(Language::Python, "class A: x = f(B)", &[]);
        check(Language::Python, "from m import (\n    Named as N,\n)\nclass A(N): pass", &["N", "Named"]);
        check(
            Language::TypeScript,
            "class A extends B<C> implements D { e: F }",
            &["B", "C", "D", "extends", "implements"],
        );
        check(Language::Cpp, "struct A final : public B { C c; };", &["B", "final", "public"]);
    }

    #[test]
    fn classes_below_by_their_names() {
        let text = "class A(B): pass\nclass B(C): pass\nclass D(A, E): pass\nclass F(E): pass";
        let heads = Heads(heads_of(Path::new("a"), Language::Python, text.as_bytes()));
        assert_eq!(heads.heirs("C").into_iter().collect::<Vec<_>>(), ["A", "B", "C", "D"]);
        assert!(heads.share_subclass("C", "E") && !heads.share_subclass("A", "F"));
    }
}
