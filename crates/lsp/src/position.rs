//! Conversion between byte offsets and protocol positions. A line ends with a line feed. A carriage return before it
//! belongs to the line, because servers that treat `\r\n` as the line end never point at it.

use memchr::memchr_iter;
use serde_json::{Value, json};

use super::locations::Position;

/// Unit of `character`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Utf16,
    Utf32,
}

impl Encoding {
    /// Encodings offered to a server, the most expensive last.
    pub const OFFERED: [&str; 3] = ["utf-8", "utf-32", "utf-16"];

    /// Returns the server's choice; UTF-16 by default.
    pub fn chosen(capabilities: &Value) -> Encoding {
        match capabilities["positionEncoding"].as_str() {
            Some("utf-8") => Encoding::Utf8,
            Some("utf-32") => Encoding::Utf32,
            _ => Encoding::Utf16,
        }
    }

    fn units(self, c: char) -> usize {
        match self {
            Encoding::Utf8 => c.len_utf8(),
            Encoding::Utf16 => c.len_utf16(),
            Encoding::Utf32 => 1,
        }
    }
}

/// The line index of a text.
pub struct Positions<'a> {
    text: &'a str,
    starts: Vec<usize>,
    encoding: Encoding,
}

impl<'a> Positions<'a> {
    pub fn new(text: &'a str, encoding: Encoding) -> Positions<'a> {
        let starts = std::iter::once(0).chain(memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1)).collect();
        Positions { text, starts, encoding }
    }

    /// Returns the position of an offset for a request.
    pub fn at(&self, offset: usize) -> Value {
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let before = self.text.get(self.starts[line]..offset).unwrap_or_default();
        let character: usize = before.chars().map(|c| self.encoding.units(c)).sum();
        json!({"line": line, "character": character})
    }

    /// Returns the offset of a position; `None` if the text has no such position.
    pub fn offset(&self, position: Position) -> Option<usize> {
        let line = position.line as usize;
        let start = *self.starts.get(line)?;
        let end = self.starts.get(line + 1).map_or(self.text.len(), |next| next - 1);
        let mut left = position.character as usize;
        for (at, c) in self.text[start..end].char_indices() {
            if left == 0 {
                return Some(start + at);
            }
            left = left.checked_sub(self.encoding.units(c))?;
        }
        (left == 0).then_some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_come_back_in_every_encoding() {
        let text = "a\n  🦀é = x\r\n\nlast";
        for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
            let positions = Positions::new(text, encoding);
            for (offset, _) in text.char_indices().filter(|(_, c)| *c != '\n') {
                let at: Position = serde_json::from_value(positions.at(offset)).unwrap();
                assert_eq!(positions.offset(at), Some(offset), "{encoding:?}");
            }
            assert_eq!(positions.offset(Position { line: 9, character: 0 }), None);
            assert_eq!(positions.offset(Position { line: 0, character: 9 }), None);
        }
        let after_crab = text.find('é').unwrap();
        let character = |encoding| Positions::new(text, encoding).at(after_crab)["character"].clone();
        assert_eq!((character(Encoding::Utf8), character(Encoding::Utf16)), (json!(6), json!(4)));
        assert_eq!(character(Encoding::Utf32), json!(3));
        // A position inside a character is invalid.
        assert_eq!(Positions::new(text, Encoding::Utf16).offset(Position { line: 1, character: 3 }), None);
    }
}
