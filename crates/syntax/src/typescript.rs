//! Rewrites TypeScript that the compiler accepts but the grammar does not, without moving any text.

use super::rules::is_word;

/// Words unknown to the grammar, with their context. Without them, the rest means the same to a search by name.
const UNKNOWN_WORDS: &[(&str, &str)] =
    &[("export type *", "type"), ("import defer *", "defer"), ("static accessor ", "accessor"), ("static [", "static")];

/// Limits for reading the type parameters of a call signature and the comments before it, in bytes and lines.
const MOST_BYTES: usize = 10_000;
const MOST_LINES: usize = 200;

/// Replaces unknown words by blanks, and inserts `;` before call signatures that would otherwise continue the type
/// before them. `None` if nothing changes.
pub(super) fn adapt_for_grammar(text: &[u8]) -> Option<Vec<u8>> {
    let mut respaced = text.to_vec();
    for (whole, word) in UNKNOWN_WORDS {
        let within = whole.find(word).unwrap_or_default();
        for at in memchr::memmem::find_iter(text, whole) {
            respaced[at + within..at + within + word.len()].fill(b' ');
        }
    }
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'<' if is_call_signature(text, at) => respaced[at - 1] = b';',
            b'i' | b'o' => {
                let length = variance(text, at);
                respaced[at..at + length].fill(b' ');
            }
            _ => {}
        }
    }
    (respaced != text).then_some(respaced)
}

/// True if a line begins with the type parameters of a call signature, after a member without `;`.
fn is_call_signature(text: &[u8], at: usize) -> bool {
    let line = text[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let is_first = line < at && text[line..at].iter().all(|byte| b" \t".contains(byte));
    if !is_first {
        return false;
    }
    let before = last_line(&text[..line]);
    let ends_member = before.last().is_some_and(|last| is_word(*last) || b"$>)]}'\"`".contains(last));
    ends_member && !before.ends_with(b"=>") && has_parameters(&text[at..])
}

/// True if a text begins with type parameters followed by a parenthesis.
fn has_parameters(text: &[u8]) -> bool {
    let text = &text[..text.len().min(MOST_BYTES)];
    let mut depth = 0usize;
    let end = text.iter().enumerate().position(|(at, byte)| {
        match byte {
            b'<' => depth += 1,
            b'>' if at > 0 && text[at - 1] != b'=' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    end.is_some_and(|end| text[end + 1..].trim_ascii_start().starts_with(b"("))
}

/// Returns the length of the variance words before a type parameter: `in`, `out`, `in out`; 0 if there are none.
fn variance(text: &[u8], at: usize) -> usize {
    let is_apart = at.checked_sub(1).is_some_and(|before| b"<, \t\n".contains(&text[before]));
    if !is_apart {
        return 0;
    }
    let mut rest = &text[at..];
    for word in [&b"in"[..], b"out"] {
        let after = rest.strip_prefix(word).filter(|after| after.first().is_some_and(u8::is_ascii_whitespace));
        rest = after.map_or(rest, <[u8]>::trim_ascii_start);
    }
    let length = text.len() - at - rest.len();
    let is_parameter =
        rest.first().is_some_and(|byte| is_word(*byte) || *byte == b'$') && !rest.starts_with(b"extends ");
    let follows = || last_line(&text[..at]).last().is_some_and(|last| b"<,".contains(last));
    if length > 0 && is_parameter && follows() { length } else { 0 }
}

/// Returns the last line that is neither empty nor a comment, trimmed.
fn last_line(text: &[u8]) -> &[u8] {
    let is_comment = |line: &[u8]| line.starts_with(b"//") || line.starts_with(b"*") || line.starts_with(b"/*");
    let mut lines = text.rsplit(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).take(MOST_LINES);
    lines.find(|line| !line.is_empty() && !is_comment(line)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let respaced = adapt_for_grammar(text.as_bytes()).map(|text| String::from_utf8(text).unwrap());
        assert!(respaced.as_ref().is_none_or(|respaced| respaced.len() == text.len()));
        expected.assert_eq(respaced.as_deref().unwrap_or("as it was"));
    }

    #[test]
    fn words_that_the_grammar_does_not_know() {
        check("export type * from './a';", expect!["export      * from './a';"]);
        check("export type { A } from './a';", expect!["as it was"]);
        check("import defer * as a from './a';", expect!["import       * as a from './a';"]);
    }

    #[test]
    fn variance_of_type_parameters() {
        check("class A<in T, out U, in out V> {}", expect!["class A<   T,     U,        V> {}"]);
        check(
            "type A<\n  // What comes in.\n  in T,\n> = T;",
            expect!["type A<\n  // What comes in.\n     T,\n> = T;"],
        );
        check("type A<out, out extends string> = { [K in T]: out };", expect!["as it was"]);
        check("for (const a of [b, inner, out]) {}", expect!["as it was"]);
    }

    #[test]
    fn call_signatures_after_each_other() {
        check(
            "interface A {\n  <T>(a: T): B\n  // Another one.\n  <U extends () => void>(\n    b: U\n  ): U\n}",
            expect!["interface A {\n  <T>(a: T): B\n  // Another one.\n ;<U extends () => void>(\n    b: U\n  ): U\n}"],
        );
        check("const f = (a) =>\n  <T>(b: T) => b;\ng(\n  <T>(c)\n);\nif (a\n  < b) {}", expect!["as it was"]);
    }
}
