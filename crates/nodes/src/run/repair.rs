//! Repairs nearly valid JSON (wrong quotes, Python constants, an extra comma) with `llm_json`. Only complete values are
//! repaired: the library closes open brackets, and a truncated answer must not become a value.

use serde_json::Value;

/// The maximum length of a repaired text in bytes.
const TEXT_MAX: usize = 1024 * 1024;
/// The maximum number of open brackets.
const OPEN_MAX: usize = 4_000;
/// The stack size. The library recurses for each open bracket, and a text can make it see all of them as open.
const STACK: usize = OPEN_MAX * 8 * 1024;

/// Returns the value of a text without strict JSON. The text must contain a complete object or array, from its first bracket to
/// the matching one.
pub(super) fn value(text: &str) -> Option<Value> {
    let (whole, rest) = split_after_value(text).filter(|(whole, _)| whole.len() <= TEXT_MAX)?;
    // Of two values, neither is preferred.
    if self::split_after_value(rest).is_some() {
        return None;
    }
    if whole.bytes().filter(|byte| matches!(byte, b'{' | b'[')).count() > OPEN_MAX {
        return None;
    }
    let value = std::thread::scope(|scope| {
        let mend = || llm_json::loads(whole, &llm_json::RepairOptions::default()).ok();
        std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, mend).ok()?.join().ok()?
    })?;
    // If the library finds no value, it returns a text or an empty value.
    let is_kind = if whole.starts_with('{') { value.is_object() } else { value.is_array() };
    is_kind.then_some(value)
}

/// Splits a text after the bracket that closes its first bracket. Brackets in double-quoted texts are not counted. Brackets in
/// other quotes are, so such a text may be refused as incomplete.
fn split_after_value(text: &str) -> Option<(&str, &str)> {
    let start = text.find(['{', '['])?;
    let (mut open, mut is_text, mut is_escaped) = (Vec::new(), false, false);
    for (at, c) in text[start..].char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_text => is_escaped = true,
            '"' => is_text = !is_text,
            '{' | '[' if !is_text => open.push(c),
            '}' | ']' if !is_text => {
                let is_pair = matches!((open.pop(), c), (Some('{'), '}') | (Some('['), ']'));
                if !is_pair {
                    return None;
                }
                if open.is_empty() {
                    return Some((&text[start..=start + at], &text[start + at + 1..]));
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The library is third-party code, and its input comes from a model.
    #[test]
    fn repair_of_random_text_terminates() {
        let pieces = [
            "{", "}", "[", "]", "\"", "'", ":", ",", "\\", "\n", "true", "None", "-1.5e", "é", "//", "/*", "a b", "```",
        ];
        let mut random = 0x9E37_79B9_7F4A_7C15_u64;
        let mut below = |most: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            usize::try_from(random % most as u64).expect("small")
        };
        let mut mended = 0;
        for _ in 0..20_000 {
            let inside: String = (0..below(12)).map(|_| pieces[below(pieces.len())]).collect();
            let text = if below(2) == 0 { format!("{{{inside}}}") } else { format!("[{inside}]") };
            mended += usize::from(value(&text).is_some());
        }
        assert!(mended > 1_000, "{mended}");
        let begun = std::time::Instant::now();
        let nested = |open: &str, close: &str, depth: usize| open.repeat(depth) + &close.repeat(depth);
        for long in [
            "['a',".to_owned() + &"'b',".repeat(100_000) + "]",
            nested("[", "]", OPEN_MAX),
            nested("{'a':", "}", OPEN_MAX),
            nested("[", "]", OPEN_MAX + 1),
            // This bracket is inside a text for the library.
            format!("[{}]", "['a]',".repeat(OPEN_MAX - 1)),
            format!("[{}]", "{'a':'}',".repeat(OPEN_MAX - 1)),
        ] {
            let _ = value(&long);
        }
        println!("long texts in {:?}", begun.elapsed());
    }

    #[test]
    fn complete_values_are_repaired_and_truncated_ones_are_not() {
        for (text, wanted) in [
            ("{'a': 1, 'b': None}", r#"{"a":1,"b":null}"#),
            ("Here: {\"a\": [1, 2,],} and so on", r#"{"a":[1,2]}"#),
            ("{a: true}", r#"{"a":true}"#),
            ("{'a': 1} or {'a': 2}", "-"),
            ("[1, 2, True]", "[1,2,true]"),
            // Truncated: in a text, in an object, after an object in an array.
            ("{'a': 'cut in the mid", "-"),
            ("{\"a\": \"cut}", "-"),
            ("{\"a\": {'b': 1}", "-"),
            ("[{'a': 1}, {'a': 2}", "-"),
            ("[{'a': 1}, {'a'", "-"),
            ("I cannot say.", "-"),
            ("", "-"),
            ("{]", "-"),
        ] {
            assert_eq!(value(text).map_or("-".to_owned(), |value| value.to_string()), wanted, "{text}");
        }
    }
}
