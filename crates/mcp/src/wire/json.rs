//! JSON text that is checked once and then taken apart as slices: the way from a line to a method's arguments looks at
//! each byte few times and copies nothing.
//!
//! It accepts exactly what serde_json accepts, at any nesting; a test compares them.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The text of one JSON value, known to be valid, without surrounding blanks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Json<'a>(&'a str);

impl<'a> Json<'a> {
    pub(super) const NULL: Json<'static> = Json("null");

    /// Checks a text, which must be one JSON value with nothing but blanks around it.
    pub fn check(text: &'a str) -> Option<Json<'a>> {
        let mut reader = Reader::new(text);
        let value = reader.value()?;
        reader.ends().then_some(value)
    }

    /// The text.
    pub fn get(self) -> &'a str {
        self.0
    }

    /// Whether it is an object.
    pub fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    /// Whether it is null.
    pub fn is_null(self) -> bool {
        self.0 == "null"
    }

    /// The string, if this is one; borrowed unless it has escapes. `None` if an escape is not a character.
    pub fn text(self) -> Option<Cow<'a, str>> {
        let inner = self.0.strip_prefix('"')?.strip_suffix('"')?;
        // Most strings are short names, for which a simple loop beats memchr's setup.
        let has_escapes = match inner.len() {
            0..32 => inner.bytes().any(|byte| byte == b'\\'),
            _ => memchr::memchr(b'\\', inner.as_bytes()).is_some(),
        };
        match has_escapes {
            false => Some(Cow::Borrowed(inner)),
            true => serde_json::from_str(self.0).ok().map(Cow::Owned),
        }
    }

    /// The members in order, if this is an object; else empty. A name may occur twice.
    pub fn members(self) -> Members<'a> {
        Members(Items::new(self.0, '{'))
    }

    /// The first member of this name.
    pub fn member(self, name: &str) -> Option<Json<'a>> {
        self.members().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The elements, if this is an array; else empty.
    pub fn items(self) -> Items<'a> {
        Items::new(self.0, '[')
    }

    /// Deserializes the value.
    pub fn read<T: Deserialize<'a>>(self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.0)
    }

    /// The value for serde, which checks it once more.
    pub fn raw(self) -> &'a RawValue {
        serde_json::from_str(self.0).unwrap_or(RawValue::NULL)
    }
}

impl fmt::Debug for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The members of an object. Names that are not text (half a surrogate pair) are skipped.
pub struct Members<'a>(Items<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (Cow<'a, str>, Json<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let key = self.0.next()?;
            let value = self.0.next()?;
            if let Some(key) = key.text() {
                return Some((key, value));
            }
        }
    }
}

/// The values in checked text: the elements of an array, or the names and values of an object in turn.
pub struct Items<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Items<'a> {
    fn new(text: &'a str, open: char) -> Items<'a> {
        let at = if text.starts_with(open) { 1 } else { text.len() };
        Items { text, at }
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Json<'a>;

    fn next(&mut self) -> Option<Json<'a>> {
        let bytes = self.text.as_bytes();
        // In checked text only these can stand between two values.
        while matches!(bytes.get(self.at)?, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':') {
            self.at += 1;
        }
        let from = self.at;
        let mut depth = 0_usize;
        loop {
            match bytes.get(self.at)? {
                b'"' => self.at = past_string(bytes, self.at + 1),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' if depth == 0 => return None,
                b'}' | b']' => {
                    depth -= 1;
                    self.at += 1;
                }
                b'-' | b'0'..=b'9' | b'a'..=b'z' if depth == 0 => {
                    let more = bytes[self.at..]
                        .iter()
                        .position(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b'}' | b']'));
                    self.at += more.unwrap_or(bytes.len() - self.at);
                }
                _ => self.at += 1,
            }
            if depth == 0 {
                return Some(Json(&self.text[from..self.at]));
            }
        }
    }
}

/// The position after the closing quote of a checked string whose opening quote is before `at`.
fn past_string(bytes: &[u8], mut at: usize) -> usize {
    loop {
        at += plain_len(&bytes[at..]);
        match bytes.get(at) {
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            _ => return bytes.len(),
        }
    }
}

/// Counts the bytes before the next quote, backslash or control character, eight at a time.
fn plain_len(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    let special = |chunk: u64| {
        let is = |byte: u8| {
            let zeroes = chunk ^ (ONES * u64::from(byte));
            zeroes.wrapping_sub(ONES) & !zeroes
        };
        // Only the lowest mark is exact; borrows may set higher ones.
        (is(b'"') | is(b'\\') | (chunk.wrapping_sub(ONES * 0x20) & !chunk)) & (ONES << 7)
    };
    let mut at = 0;
    for chunk in bytes.chunks_exact(8) {
        let marks = special(u64::from_le_bytes(chunk.try_into().expect("eight bytes")));
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = &bytes[at..];
    at + rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(rest.len())
}

/// Reads unchecked text.
pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Reader<'a> {
        Reader { text, at: 0 }
    }

    /// Whether only blanks are left.
    pub(super) fn ends(&mut self) -> bool {
        self.blanks();
        self.at == self.text.len()
    }

    /// Reads an object and calls `member` for each member; `None` if the text is not an object, or a name is not text.
    pub(super) fn object(&mut self, mut member: impl FnMut(&str, Json<'a>)) -> Option<()> {
        self.blanks();
        self.expect(b'{')?;
        self.blanks();
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            let key = self.key()?;
            let value = self.value()?;
            member(&key.text()?, value);
            self.blanks();
            match self.next()? {
                b',' => {}
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Checks one value with everything in it.
    pub(super) fn value(&mut self) -> Option<Json<'a>> {
        self.blanks();
        let from = self.at;
        let mut open = Nesting::default();
        loop {
            self.blanks();
            match self.next()? {
                b'"' => self.string()?,
                b'-' => self.number()?,
                b'0'..=b'9' => {
                    self.at -= 1;
                    self.number()?;
                }
                b't' => self.literal("rue")?,
                b'f' => self.literal("alse")?,
                b'n' => self.literal("ull")?,
                b'{' => {
                    self.blanks();
                    if self.peek()? != b'}' {
                        open.push(true);
                        self.key()?;
                        continue;
                    }
                    self.at += 1;
                }
                b'[' => {
                    self.blanks();
                    if self.peek()? != b']' {
                        open.push(false);
                        continue;
                    }
                    self.at += 1;
                }
                _ => return None,
            }
            loop {
                let Some(in_object) = open.last() else { return Some(Json(&self.text[from..self.at])) };
                self.blanks();
                match (self.next()?, in_object) {
                    (b',', true) => {
                        self.key()?;
                        break;
                    }
                    (b',', false) => break,
                    (b'}', true) | (b']', false) => open.pop(),
                    _ => return None,
                }
            }
        }
    }

    /// Reads a member's name and its colon.
    fn key(&mut self) -> Option<Json<'a>> {
        self.blanks();
        let from = self.at;
        self.expect(b'"')?;
        self.string()?;
        let key = Json(&self.text[from..self.at]);
        self.blanks();
        self.expect(b':')?;
        Some(key)
    }

    /// Reads the rest of a string after its opening quote.
    fn string(&mut self) -> Option<()> {
        loop {
            self.at += plain_len(&self.text.as_bytes()[self.at..]);
            match self.next()? {
                b'"' => return Some(()),
                b'\\' => match self.next()? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                    b'u' => {
                        let hex = self.text.as_bytes().get(self.at..self.at + 4)?;
                        if !hex.iter().all(u8::is_ascii_hexdigit) {
                            return None;
                        }
                        self.at += 4;
                    }
                    _ => return None,
                },
                _ => return None,
            }
        }
    }

    /// Reads a number after its sign.
    fn number(&mut self) -> Option<()> {
        match self.next()? {
            b'0' => {}
            b'1'..=b'9' => self.digits(),
            _ => return None,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Some(())
    }

    fn some_digits(&mut self) -> Option<()> {
        self.next().filter(u8::is_ascii_digit)?;
        self.digits();
        Some(())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn literal(&mut self, rest: &str) -> Option<()> {
        self.text.as_bytes()[self.at..].starts_with(rest.as_bytes()).then(|| self.at += rest.len())
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }
}

/// The open brackets, a bit each: 1 for an object. Avoids recursion at any depth.
#[derive(Default)]
struct Nesting {
    bits: u64,
    depth: usize,
    /// The full words below `bits`.
    below: Vec<u64>,
}

impl Nesting {
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.below.push(self.bits);
        }
        self.bits = self.bits << 1 | u64::from(object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.depth -= 1;
        self.bits >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.bits = self.below.pop().unwrap_or_default();
        }
    }

    fn last(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.bits & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    /// Asserts that serde_json judges a text alike, and finds the same parts in a valid one.
    fn agree(text: &str) {
        let known = serde_json::from_str::<IgnoredAny>(text).is_ok();
        let checked = Json::check(text);
        assert_eq!(checked.is_some(), known, "{text:?}");
        let Some(json) = checked else { return };
        assert_eq!(json.get(), text.trim_matches([' ', '\t', '\n', '\r']));
        if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text) {
            let found: Vec<&str> = json.items().map(Json::get).collect();
            assert_eq!(found, items.iter().map(|item| item.get()).collect::<Vec<_>>(), "{text:?}");
        }
        if let Ok(members) = serde_json::from_str::<std::collections::BTreeMap<String, &RawValue>>(text) {
            for (name, value) in members {
                let last = json.members().filter(|(key, _)| *key == name).last().map(|(_, value)| value.get());
                assert_eq!(last, Some(value.get()), "{text:?}");
            }
        }
    }

    #[test]
    fn odd_texts_are_judged_as_serde_json_judges_them() {
        let deep = |count: usize| format!("{}{}", "[".repeat(count), "]".repeat(count));
        let mixed = |count: usize| format!("{}1{}", "[{\"a\":".repeat(count), "}]".repeat(count));
        let texts = [
            "",
            " ",
            "{",
            "}",
            "{}",
            "{ }",
            "[]",
            "[ ]",
            "[,]",
            "[1,]",
            "[1 2]",
            "{,}",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "{\"a\":1,}",
            "{\"a\":1 \"b\":2}",
            "{\"a\":1,\"a\":2}",
            "{\"\\u0061\":1}",
            "\"",
            "\"a",
            "\"a\"",
            "\"\\",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12G4\"",
            "\"\\ud800\"",
            "\"\t\"",
            "\"\u{7f}\"",
            "\"ä\u{1F600}\"",
            "01",
            "-",
            "-0",
            "-01",
            "1.",
            "1.5",
            ".5",
            "1e",
            "1e+",
            "1e+5",
            "1E-5",
            "1.5e5x",
            "+1",
            "tru",
            "true",
            "truex",
            "nul",
            "null",
            "nullnull",
            "1 ",
            " 1",
            "1\u{b}",
            "\u{feff}1",
            "[1}",
            "{\"a\":1]",
            "[[]",
            "[]]",
            "1,2",
            "NaN",
            "Infinity",
            "[\"\\\"\",\"]\",{\"}\":\"[\"}, 1 , true,null ]",
            "{\"a\":{\"b\":[1,2,{\"c\":\"}\"}]},\"d\" : -1.5e3 }",
        ];
        texts.iter().for_each(|text| agree(text));
        for count in [1, 63, 64, 65, 127, 128, 129, 1000, 100_000] {
            agree(&deep(count));
            agree(&deep(count)[1..]);
            agree(&mixed(count));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_judged_as_serde_json_judges_it(
            text in r#"([\[\]{}:, \t"\\ntue0-9.+eE-]|"a"|"[a-c\\"]{0,12}"|\\u[0-9a-d]{4}|true|null|-1\.5|[ä\x00-\x7f]){0,24}"#,
        ) {
            agree(&text);
            agree(&format!("[{text}]"));
            agree(&format!("{{\"k\":{text}}}"));
            agree(&format!("\"{text}\""));
        }
    }
}
