//! Places of the protocol and bytes of a text: lines end with a line feed, a carriage return or both, and characters are
//! counted in UTF-16 unless the client takes UTF-8.

use super::messages::{Position, Range};
use crate::diagnostic::Span;

/// The units in which characters are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Encoding {
    Utf8,
    #[default]
    Utf16,
}

impl Encoding {
    /// The name in the protocol.
    pub(super) fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "utf-8",
            Encoding::Utf16 => "utf-16",
        }
    }

    fn units(self, letter: char) -> usize {
        match self {
            Encoding::Utf8 => letter.len_utf8(),
            Encoding::Utf16 => letter.len_utf16(),
        }
    }
}

/// Where the lines of a text begin.
#[derive(Debug, Clone, Default)]
pub(super) struct LineStarts {
    starts: Vec<u32>,
}

impl LineStarts {
    pub(super) fn new(text: &str) -> LineStarts {
        let bytes = text.as_bytes();
        let ends = (0..bytes.len())
            .filter(|at| bytes[*at] == b'\n' || (bytes[*at] == b'\r' && bytes.get(at + 1) != Some(&b'\n')));
        LineStarts { starts: std::iter::once(0).chain(ends.map(|at| at as u32 + 1)).collect() }
    }

    /// The byte of a place; a place behind the end of its line is that end, a line behind the last is the end of the text.
    pub(super) fn byte(&self, text: &str, at: Position, encoding: Encoding) -> usize {
        let Some(start) = self.starts.get(at.line as usize) else { return text.len() };
        let end = self.starts.get(at.line as usize + 1).map_or(text.len(), |next| *next as usize);
        let line = text[*start as usize..end].trim_end_matches(['\n', '\r']);
        let mut left = at.character as usize;
        for (at, letter) in line.char_indices() {
            let units = encoding.units(letter);
            // A place inside of a character is before it.
            if left < units {
                return *start as usize + at;
            }
            left -= units;
        }
        *start as usize + line.len()
    }

    /// The place of a byte.
    pub(super) fn position(&self, text: &str, at: usize, encoding: Encoding) -> Position {
        let mut at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let line = self.starts.partition_point(|start| *start as usize <= at) - 1;
        let before = &text[self.starts[line] as usize..at];
        let character = match encoding {
            Encoding::Utf8 => before.len(),
            Encoding::Utf16 => before.chars().map(char::len_utf16).sum(),
        };
        Position { line: line as u32, character: character as u32 }
    }

    /// The range of a span.
    pub(super) fn range(&self, text: &str, span: Span, encoding: Encoding) -> Range {
        let start = self.position(text, span.start as usize, encoding);
        Range { start, end: self.position(text, span.end.max(span.start) as usize, encoding) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_place_in_both_encodings() {
        let text = "až😀b\r\n\rž\n\n😀";
        let lines = LineStarts::new(text);
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            for (at, _) in text.char_indices().chain([(text.len(), ' ')]) {
                let place = lines.position(text, at, encoding);
                // The position between a carriage return and its line feed does not exist.
                let expected = if text[..at].ends_with('\r') && text[at..].starts_with('\n') { at - 1 } else { at };
                assert_eq!(lines.byte(text, place, encoding), expected, "{at} {place:?} {encoding:?}");
            }
        }
        let at = |line, character| lines.byte(text, Position { line, character }, Encoding::Utf16);
        assert_eq!((at(0, 2), at(0, 3), at(0, 4), at(0, 99)), (3, 3, 7, 8), "inside of a pair, behind the line");
        assert_eq!((at(2, 1), at(4, 2), at(9, 0)), (13, text.len(), text.len()));
        assert_eq!(lines.position(text, 5, Encoding::Utf8), Position { line: 0, character: 3 });
    }
}
