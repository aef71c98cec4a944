//! Request ids, kept as the JSON text in which they were written.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// The longest id that is accepted, in bytes of JSON text: ids are kept while their call runs, and echoed.
pub const MAX_ID: usize = 1024;

/// The longest id that is kept without an allocation: fits any 64-bit number, and short names.
const SHORT: usize = 22;

/// The id of a request exactly as the peer wrote it, so that numbers beyond 64 bits and odd escapes are echoed
/// unchanged.
#[derive(Clone)]
pub struct Id(Text);

#[derive(Clone)]
enum Text {
    Short(u8, [u8; SHORT]),
    Long(Box<str>),
}

impl Id {
    /// Returns the id in this JSON text, if it is legal: a string or an integer of at most [`MAX_ID`] bytes.
    pub fn from_json(text: &str) -> Option<Id> {
        let legal = match text.as_bytes() {
            [b'"', ..] => true,
            // JSON-RPC forbids fractional numbers; a fraction or an exponent counts as one, whatever the value.
            [b'-' | b'0'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
            _ => false,
        };
        (legal && text.len() <= MAX_ID).then(|| Id::keep(text))
    }

    /// Returns an integer id.
    pub fn number(number: u64) -> Id {
        Id::keep(&number.to_string())
    }

    fn keep(text: &str) -> Id {
        let mut short = [0; SHORT];
        Id(match short.get_mut(..text.len()) {
            Some(bytes) => {
                bytes.copy_from_slice(text.as_bytes());
                Text::Short(text.len() as u8, short)
            }
            None => Text::Long(text.into()),
        })
    }

    /// Returns the JSON text.
    pub fn as_json(&self) -> &str {
        match &self.0 {
            Text::Short(len, bytes) => {
                std::str::from_utf8(&bytes[..usize::from(*len)]).expect("it was copied from a whole text")
            }
            Text::Long(text) => text,
        }
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Id) -> bool {
        self.as_json() == other.as_json()
    }
}

impl Eq for Id {}

impl Hash for Id {
    // Hashed like a `str`, because tables are searched by either.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_json().hash(state);
    }
}

impl PartialOrd for Id {
    fn partial_cmp(&self, other: &Id) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Id {
    fn cmp(&self, other: &Id) -> Ordering {
        self.as_json().cmp(other.as_json())
    }
}

impl std::borrow::Borrow<str> for Id {
    fn borrow(&self) -> &str {
        self.as_json()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_json())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_json())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_integers_of_any_size_are_ids() {
        for text in [
            "0",
            "-1",
            "7",
            "123456789012345678901234567890",
            r#""a""#,
            r#""\u0061""#,
            r#""""#,
            r#""äöüäöüäöüäöüäöüäöü""#,
        ] {
            assert_eq!(Id::from_json(text).map(|id| id.to_string()).as_deref(), Some(text));
        }
        let long = format!("\"{}\"", "x".repeat(MAX_ID));
        for text in ["null", "1.0", "1e3", "true", "[]", "{}", "", long.as_str()] {
            assert_eq!(Id::from_json(text), None, "{text}");
        }
    }
}
