//! `:complete repl`: possible completions.

use schemars::JsonSchema;
use serde::Serialize;

/// The completions of the last word.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Completions {
    /// The text before the completed word.
    pub prefix: String,
    /// The total number of completions.
    pub total: usize,
    /// The first of them.
    pub candidates: Vec<String>,
}

/// Returns the command that asks for at most `limit` completions of `text`.
pub fn complete_command(text: &str, limit: usize) -> String {
    format!(":complete repl {limit} {}", quoted(text))
}

/// Parses the answer: `SHOWN TOTAL "PREFIX"`, then a string on each line.
pub fn completions(stdout: &str) -> Option<Completions> {
    let mut lines = stdout.lines();
    let mut head = lines.next()?.splitn(3, ' ');
    head.next()?.parse::<usize>().ok()?;
    let total = head.next()?.parse().ok()?;
    let prefix = unquoted(head.next()?)?;
    Some(Completions { prefix, total, candidates: lines.filter_map(unquoted).collect() })
}

/// Quotes text as a Haskell string literal.
fn quoted(text: &str) -> String {
    let mut literal = String::from('"');
    for character in text.chars() {
        match character {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            character if character.is_control() => literal.push_str(&format!("\\{}\\&", u32::from(character))),
            character => literal.push(character),
        }
    }
    literal.push('"');
    literal
}

fn unquoted(literal: &str) -> Option<String> {
    let inside = literal.trim().strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::new();
    let mut rest = inside.chars().peekable();
    while let Some(character) = rest.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        let mut number = String::new();
        while let Some(digit) = rest.next_if(char::is_ascii_digit) {
            number.push(digit);
        }
        if number.is_empty() {
            match rest.next()? {
                '&' => {}
                'n' => text.push('\n'),
                't' => text.push('\t'),
                escaped => text.push(escaped),
            }
        } else {
            text.push(char::from_u32(number.parse().ok()?)?);
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_unquoted() {
        let found = completions("2 8 \"import \"\n\"map\"\n\"\\955x\\\"\"\n").expect("an answer");
        assert_eq!((found.prefix.as_str(), found.total), ("import ", 8));
        assert_eq!(found.candidates, ["map", "λx\""]);
        assert_eq!(completions("0 0 \"\"\n").expect("an answer").total, 0);
        assert_eq!(completions("unknown command"), None);
    }

    #[test]
    fn the_question_is_one_literal() {
        assert_eq!(complete_command("a \"b\\\nλ", 5), ":complete repl 5 \"a \\\"b\\\\\\10\\&λ\"");
    }
}
