//! The change and the names that a question in plain words means.

use code::{Kind, facts::Symbol};

use crate::rubric::Change;

/// Words that decide the change, in the order in which they are tried.
const CHANGES: [(Change, &[&str]); 5] = [
    (Change::Rename, &["rename", "renamed", "renaming"]),
    (Change::AddVariant, &["variant", "variants", "constructor", "constructors", "case", "alternative", "member"]),
    (Change::ChangeSignature, &["parameter", "parameters", "argument", "arguments", "signature", "returns", "return"]),
    (Change::Remove, &["remove", "removed", "removing", "delete", "deleted", "deleting", "drop"]),
    (Change::ChangeType, &["type", "types"]),
];

/// Words of a question that are rarely names. A name between backquotes is always one.
const PLAIN: &[&str] = &[
    "what", "which", "where", "who", "how", "why", "when", "if", "i", "we", "you", "a", "an", "the", "to", "of", "in",
    "on", "for", "from", "by", "with", "and", "or", "is", "are", "be", "does", "do", "will", "would", "could", "it",
    "this", "that", "my", "our", "new", "add", "added", "adding", "change", "changed", "changing", "changes", "break",
    "breaks", "broken", "use", "uses", "used", "another", "one", "more", "function", "method", "class", "struct",
    "enum", "field", "fields", "code", "its", "as", "at", "into", "there", "happens", "affected", "depends",
];

/// The maximum number of words that are looked up.
const MOST_WORDS: usize = 12;

/// Returns the change that a question describes.
pub(crate) fn change(query: &str) -> Option<Change> {
    let words: Vec<String> = split_words(query).map(str::to_lowercase).collect();
    let is_named = |all: &[&str]| words.iter().any(|word| all.contains(&word.as_str()));
    let mut named = CHANGES.iter().filter(|(_, all)| is_named(all)).map(|(change, _)| *change);
    match named.next() {
        // "Remove the variant Circle".
        Some(Change::AddVariant) if named.any(|one| one == Change::Remove) => Some(Change::Remove),
        first => first,
    }
}

/// Returns the change to assume for a definition if the question describes none.
pub(crate) fn usual(symbol: &Symbol) -> Change {
    match symbol.kind {
        Kind::Enum | Kind::Union => Change::AddVariant,
        Kind::Function | Kind::Method | Kind::Macro => Change::ChangeSignature,
        _ => Change::ChangeType,
    }
}

/// Returns the words that may be names, the likely ones first: those between backquotes, those that look like code, and
/// then all others that are not plain English.
pub(crate) fn names(query: &str) -> Vec<Vec<String>> {
    let quoted: Vec<String> = query.split('`').skip(1).step_by(2).map(|name| name.trim().to_owned()).collect();
    let quoted: Vec<String> = quoted.into_iter().filter(|name| !name.is_empty()).take(MOST_WORDS).collect();
    if !quoted.is_empty() {
        return vec![quoted];
    }
    // `Change` inside a sentence is a name, `What` at its beginning is not.
    let is_plain = |at: usize, word: &str| {
        PLAIN.contains(&word.to_lowercase().as_str()) && (at == 0 || word == "I" || !word.contains(char::is_uppercase))
    };
    let words = split_words(query).enumerate().filter(|(at, word)| !is_plain(*at, word));
    let mut words: Vec<String> = words.map(|(_, word)| word.to_owned()).collect();
    let mut seen = std::collections::BTreeSet::new();
    words.retain(|word| seen.insert(word.clone()));
    words.truncate(MOST_WORDS);
    let (code, plain): (Vec<String>, Vec<String>) = words.into_iter().partition(|word| looks_like_code(word));
    [code, plain].into_iter().filter(|words| !words.is_empty()).collect()
}

fn split_words(query: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '/' | '\'');
    let all = query.split(move |c: char| !is_of_name(c));
    all.map(|word| word.trim_matches(|c: char| matches!(c, ':' | '.' | '/' | '\''))).filter(|word| !word.is_empty())
}

fn looks_like_code(word: &str) -> bool {
    word.contains(['_', ':', '.', '/']) || word.chars().any(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_names_its_change() {
        for (query, expected) in [
            ("What breaks if I add a variant to Shape?", Some(Change::AddVariant)),
            ("What breaks if I add a variant to LLMKind?", Some(Change::AddVariant)),
            ("remove the variant Circle", Some(Change::Remove)),
            ("What if I delete `area`?", Some(Change::Remove)),
            ("may I rename total?", Some(Change::Rename)),
            ("rename the variant Circle", Some(Change::Rename)),
            ("add a parameter to area", Some(Change::ChangeSignature)),
            ("change the type of radius", Some(Change::ChangeType)),
            ("who depends on Shape?", None),
        ] {
            assert_eq!(change(query), expected, "{query}");
        }
    }

    /// The predecessor took every capitalised word for a type.
    #[test]
    fn names_are_words_that_can_be_names() {
        let named = |query: &str| names(query);
        assert_eq!(named("What breaks if I add a variant to Shape?")[0], ["Shape"]);
        assert_eq!(named("Where is `area` used by What?"), [["area"]]);
        assert_eq!(named("Does geo::Shape or total_area change?")[0], ["geo::Shape", "total_area"]);
        assert_eq!(named("may area change?"), [["may", "area"]]);
        assert_eq!(named("What breaks if I add a variant to Change?")[0], ["Change"]);
        assert!(named("what breaks if I change this?").is_empty());
    }
}
