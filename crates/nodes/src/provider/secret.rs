//! The key of a model as it may come back: what a server repeats of it is taken out, however the server's JSON writes it.

use std::fmt::Write;

use bytes::Bytes;
use regex::bytes::{NoExpand, Regex, RegexBuilder};

/// The shortest key that is taken out of answers: a shorter one is no secret.
const SHORTEST: usize = 8;
/// The most memory that the pattern of a key may take.
const PATTERN_MAX: usize = 64 * 1024 * 1024;

/// A key, to be found.
#[derive(Clone)]
pub(super) struct Secret(Regex);

impl Secret {
    /// None for a key that is too short to be one.
    pub(super) fn of(key: &str) -> Result<Option<Secret>, String> {
        if key.len() < SHORTEST {
            return Ok(None);
        }
        // A character stands for itself, behind a backslash, or as its code; in a text within a text backslashes are doubled.
        let pattern = key.chars().fold(String::new(), |mut pattern, c| {
            let itself = regex::escape(c.encode_utf8(&mut [0; 4]));
            let _ = write!(pattern, r"(?:\\*{itself}|\\+(?i:u{:04x}))", u32::from(c));
            pattern
        });
        let built = RegexBuilder::new(&pattern).size_limit(PATTERN_MAX).build();
        built.map(|regex| Some(Secret(regex))).map_err(|_| "its key is too long".to_owned())
    }

    /// The bytes without the key.
    pub(super) fn taken_out(&self, body: Bytes) -> Bytes {
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
        let secret = Secret::of("sk-a/b\"c$1").expect("short enough").expect("long enough");
        let without = |text: &str| {
            let body = secret.taken_out(Bytes::copy_from_slice(text.as_bytes()));
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
        assert!(Secret::of("short").is_ok_and(|none| none.is_none()));
        assert!(Secret::of(&"k".repeat(16 * 1024)).is_ok_and(|some| some.is_some()), "the longest that is read");
    }
}
