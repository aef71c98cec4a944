//! The words of a text, for search: the same in every store, so that the same query finds the same messages.

use std::collections::BTreeSet;

/// The searched part of a text, in bytes.
const SEARCHED: usize = 256 << 10;
/// A longer word is cut.
const LONGEST: usize = 64;
/// Characters of a snippet.
const SNIPPET: usize = 160;

/// Returns the words of a text: runs of letters and digits, in lower case, each once.
pub fn split_words(text: &str) -> BTreeSet<String> {
    let text = cut(text, SEARCHED);
    let runs = text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty());
    runs.map(|run| run.chars().flat_map(char::to_lowercase).take(LONGEST).collect()).collect()
}

/// Returns the part of a text around the first of the words that it holds.
pub fn snippet(text: &str, wanted: &BTreeSet<String>) -> String {
    let hit = wanted.iter().filter_map(|word| find_word(text, word)).min().unwrap_or(0);
    let before = text[..hit].char_indices().rev().nth(SNIPPET / 3).map_or(0, |(at, _)| at);
    let mut part: String = text[before..].chars().take(SNIPPET).collect();
    if before + part.len() < text.len() {
        part.push('…');
    }
    if before > 0 {
        part.insert(0, '…');
    }
    part
}

fn find_word(text: &str, word: &str) -> Option<usize> {
    let mut at = 0;
    for run in text.split(|c: char| !c.is_alphanumeric()) {
        let lower: String = run.chars().flat_map(char::to_lowercase).take(LONGEST).collect();
        if lower == word {
            return Some(at);
        }
        at += run.len();
        at += text[at..].chars().next().map_or(0, char::len_utf8);
    }
    None
}

/// Returns the longest beginning of at most `bytes` bytes that ends between characters.
pub fn cut(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_letters_and_digits_in_lower_case() {
        let found: Vec<_> = split_words("The build-log of Straße, v2.0: FAILED failed\u{1b}[31m").into_iter().collect();
        assert_eq!(found, ["0", "31m", "build", "failed", "log", "of", "straße", "the", "v2"]);
        assert!(split_words("").is_empty());
    }

    #[test]
    fn a_snippet_shows_the_hit() {
        let text = format!("{} Needle here, and {}", "straw ".repeat(50), "more ".repeat(80));
        let part = snippet(&text, &split_words("needle"));
        assert!(part.starts_with('…') && part.ends_with('…') && part.contains("Needle here"), "{part}");
        assert_eq!(snippet("short", &split_words("other")), "short");
        assert_eq!(snippet("ääää needle", &split_words("needle")), "ääää needle");
    }
}
