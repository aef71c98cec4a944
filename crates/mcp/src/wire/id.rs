//! Request ids, kept as the text they were written in.

use std::fmt;

/// The longest id that is accepted, in bytes: ids are kept while their call runs and echoed.
pub const MAX_ID: usize = 1024;

/// A request's id exactly as the peer wrote it, so that numbers beyond 64 bits and odd escapes come back unchanged.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(Box<str>);

impl Id {
    /// The id in this JSON text, if it is a legal one: a string or an integer, no longer than [`MAX_ID`].
    pub fn from_json(text: &str) -> Option<Id> {
        let legal = match text.as_bytes() {
            [b'"', ..] => true,
            // A fraction or an exponent makes it a fractional number in JSON-RPC's sense, whatever its value.
            [b'-' | b'0'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
            _ => false,
        };
        (legal && text.len() <= MAX_ID).then(|| Id(text.into()))
    }

    /// An integer id.
    pub fn number(number: u64) -> Id {
        Id(number.to_string().into())
    }

    /// The JSON text.
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for Id {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_integers_of_any_size_are_ids() {
        for text in ["0", "-1", "7", "123456789012345678901234567890", r#""a""#, r#""\u0061""#, r#""""#] {
            assert_eq!(Id::from_json(text).map(|id| id.to_string()).as_deref(), Some(text));
        }
        let long = format!("\"{}\"", "x".repeat(MAX_ID));
        for text in ["null", "1.0", "1e3", "true", "[]", "{}", "", long.as_str()] {
            assert_eq!(Id::from_json(text), None, "{text}");
        }
    }
}
