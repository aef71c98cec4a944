//! Removes a model's key from answers, in every way in which the server's JSON may write it.

use std::fmt::Write;

use bytes::Bytes;
use regex::bytes::{NoExpand, Regex, RegexBuilder};

/// The minimum length of a key that is removed from answers. A shorter one is not a secret.
const SHORTEST: usize = 8;
/// The maximum memory for the pattern of a key.
const PATTERN_MAX: usize = 64 * 1024 * 1024;

/// A searchable key.
#[derive(Clone)]
pub(super) struct Secret(Regex);

impl Secret {
    /// Creates the pattern of a key; `None` if the key is too short.
    pub(super) fn new(key: &str) -> Result<Option<Secret>, String> {
        if key.len() < SHORTEST {
            return Ok(None);
        }
        // A character is written literally, after a backslash, or as its code. In nested texts, backslashes are doubled.
        let pattern = key.chars().fold(String::new(), |mut pattern, c| {
            let itself = regex::escape(c.encode_utf8(&mut [0; 4]));
            let _ = write!(pattern, r"(?:\\*{itself}|\\+(?i:u{:04x}))", u32::from(c));
            pattern
        });
        let built = RegexBuilder::new(&pattern).size_limit(PATTERN_MAX).build();
        built.map(|regex| Some(Secret(regex))).map_err(|_| "its key is too long".to_owned())
    }

    /// Removes the key from the bytes.
    pub(super) fn remove_key(&self, body: Bytes) -> Bytes {
        match self.0.replace_all(&body, NoExpand(b"[key]")) {
            std::borrow::Cow::Borrowed(_) => body,
            std::borrow::Cow::Owned(without) => without.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_out_however_it_is_written() {
        let secret = Secret::new("sk-a/b\"c$1").expect("short enough").expect("long enough");
        let without = |text: &str| {
            let body = secret.remove_key(Bytes::copy_from_slice(text.as_bytes()));
            String::from_utf8(body.to_vec()).expect("it was a text")
        };
        for written in [
            r#"sk-a/b"c$1"#,
            r#"sk-a\/b\"c$1"#,
            r#"sk-a\\\/b\\\"c$1"#,
            r#"\u0073k-a\u002Fb\u0022c$1"#,
            r#"\\u0073k\\u002da/b\\\"c$1"#,
        ] {
            assert_eq!(without(&format!("<{written}>")), "<[key]>", "{written}");
        }
        assert_eq!(without(r#"sk-a/b"c$2"#), r#"sk-a/b"c$2"#);
        assert!(Secret::new("short").is_ok_and(|none| none.is_none()));
        assert!(Secret::new(&"k".repeat(16 * 1024)).is_ok_and(|some| some.is_some()), "the longest that is read");
    }
}
