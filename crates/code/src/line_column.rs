//! Conversion of offsets to lines and columns. Both start at 1; columns count characters.

use memchr::memchr_iter;

/// The line starts of a text.
pub(crate) struct Lines<'a> {
    text: &'a [u8],
    starts: Vec<usize>,
}

/// The maximum length of a displayed line, in characters.
const MAX_LINE: usize = 200;

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Lines<'a> {
        let starts = std::iter::once(0).chain(memchr_iter(b'\n', text).map(|end| end + 1)).collect();
        Lines { text, starts }
    }

    pub(crate) fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at)
    }

    /// Returns the column of an offset. A byte order mark does not count.
    pub(crate) fn column(&self, at: usize) -> usize {
        let start = self.starts[self.line(at) - 1];
        let before = &self.text[start..at];
        let before = if start == 0 { before.strip_prefix(b"\xef\xbb\xbf").unwrap_or(before) } else { before };
        String::from_utf8_lossy(before).chars().count() + 1
    }

    /// Returns the offset of a line and column; `None` if it is outside of the text.
    pub(crate) fn offset(&self, line: usize, column: usize) -> Option<usize> {
        let start = *self.starts.get(line.checked_sub(1)?)?;
        let end = self.starts.get(line).copied().unwrap_or(self.text.len());
        let bytes = &self.text[start..end];
        let mark = if start == 0 && bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        // As in [`Lines::column`], a continuation byte belongs to the character before it.
        let begins = bytes[mark..].iter().enumerate().filter(|(_, byte)| **byte & 0xc0 != 0x80);
        let (at, _) = begins.take(column).nth(column.checked_sub(1)?)?;
        Some(start + mark + at)
    }

    /// Returns the bytes of a line without its line break; `None` if there is no such line.
    fn bytes(&self, line: usize) -> Option<&'a [u8]> {
        let start = *self.starts.get(line.checked_sub(1)?)?;
        let end = self.starts.get(line).map_or(self.text.len(), |next| next - 1);
        (start < self.text.len() || line == 1).then(|| self.text[start..end].trim_ascii_end())
    }

    /// Returns a line for display; a long line is cut to the part around an offset.
    pub(crate) fn excerpt(&self, line: usize, around: Option<usize>) -> Option<String> {
        let bytes = self.bytes(line)?;
        if bytes.len() <= MAX_LINE {
            return Some(String::from_utf8_lossy(bytes).into_owned());
        }
        let start = self.starts[line - 1];
        let from = around.map_or(0, |at| (at - start).saturating_sub(MAX_LINE / 2));
        let part = &bytes[from..(from + MAX_LINE).min(bytes.len())];
        let before = if from > 0 { "…" } else { "" };
        Some(format!("{before}{}…", String::from_utf8_lossy(part).trim_matches('\u{fffd}')))
    }
}
