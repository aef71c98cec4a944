//! From the text of an answer to a value: reasoning tags are taken off, then strict JSON, else what stands in a fence or is
//! the first balanced value, again strictly. Nothing is guessed and nothing completed.

use serde_json::Value;

/// The value in a text; `None` if there is none.
pub(crate) fn value(text: &str) -> Option<Value> {
    let text = said(text);
    let strict = |text: &str| serde_json::from_str::<Value>(text.trim()).ok();
    strict(text).or_else(|| fenced(text).and_then(strict)).or_else(|| first_value(text))
}

/// Whether the text is refused only for how deeply it is nested.
pub(super) fn is_too_deep(text: &str) -> bool {
    let error = serde_json::from_str::<Value>(said(text)).err();
    error.is_some_and(|error| error.to_string().starts_with("recursion limit exceeded"))
}

/// What a model said, without its reasoning.
pub(super) fn said(text: &str) -> &str {
    without_reasoning(text).trim()
}

/// What comes after `<think>…</think>`, which some servers leave in the text.
fn without_reasoning(text: &str) -> &str {
    let begun = text.trim_start();
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")] {
        if begun.starts_with(open) {
            return begun.split_once(close).map_or("", |(_, rest)| rest);
        }
    }
    text
}

/// What stands in the first fence.
fn fenced(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("```")?;
    let (_, rest) = rest.split_once('\n')?;
    rest.split_once("```").map(|(inside, _)| inside)
}

/// The first object or array that parses from where it begins. One that is cut hides nothing: what is inside of it is not the
/// answer.
fn first_value(text: &str) -> Option<Value> {
    let begins = text.char_indices().filter(|(_, c)| matches!(c, '{' | '[')).map(|(at, _)| at);
    // Each try may read to the end, so there are not many.
    for at in begins.take(50) {
        match serde_json::Deserializer::from_str(&text[at..]).into_iter().next()? {
            Ok(value) => return Some(value),
            Err(error) if error.is_eof() => return None,
            Err(_) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_answer_holds() {
        for (text, wanted) in [
            (r#"{"a":1}"#, r#"{"a":1}"#),
            ("\n 7 \n", "7"),
            ("```json\n{\"a\":1}\n```", r#"{"a":1}"#),
            ("Here it is:\n```\n[1, 2]\n```\nDone.", "[1,2]"),
            (r#"Sure! {"a": {"b": "}"}} I hope that helps {"a": 2}"#, r#"{"a":{"b":"}"}}"#),
            (r#"<think>{"a": 0}</think> {"a": 1}"#, r#"{"a":1}"#),
            (r#"<think>{"a": 0}"#, "-"),
            // A text that is a value already is not looked into.
            (r#"{"a":"```\n{\"b\":2}\n```"}"#, r#"{"a":"```\n{\"b\":2}\n```"}"#),
            (r#"{"a": "cut in the mid"#, "-"),
            (r#"{"a": {"b": 1}, "c": "#, "-"),
            ("Use {curly} braces: {\"a\": 1}", r#"{"a":1}"#),
            ("{'a': None}", "-"),
            ("I cannot say.", "-"),
            ("", "-"),
        ] {
            assert_eq!(value(text).map_or("-".to_owned(), |value| value.to_string()), wanted, "{text}");
        }
    }
}
