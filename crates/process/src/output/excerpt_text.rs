//! Output prepared for an excerpt: stripped, decoded, folded, with long lines cut; and, for each byte, the number of
//! printed bytes it stands for.

use std::borrow::Cow;
use std::ops::Range;

use super::text::{Shape, fold_lines, grouped, last_states, strip_escapes};

/// Text after stripping, decoding, folding and cutting of long lines.
pub(super) struct Tidied {
    pub(super) text: String,
    pub(super) folded: u64,
    /// The positions where long lines were cut, in order.
    cuts: Vec<Cut>,
    pub(super) lossy: bool,
}

/// A note that replaces the rest of a long line.
struct Cut {
    note: Range<usize>,
    /// The number of bytes the note stands for.
    left: u64,
}

impl Tidied {
    /// Returns a text from here with its placeholders as replacement characters.
    pub(super) fn presentable(text: String) -> String {
        if text.contains(BROKEN) { text.replace(BROKEN, "\u{FFFD}") } else { text }
    }

    pub(super) fn new(bytes: &[u8], shape: &Shape) -> Tidied {
        let stripped = if shape.strip { strip_escapes(bytes) } else { Cow::Borrowed(bytes) };
        let lossy = std::str::from_utf8(&stripped).is_err();
        let text = if lossy { decoded(&stripped) } else { String::from_utf8_lossy(&stripped) };
        let text = if shape.fold > 0 { last_states(&text) } else { text };
        let (text, folded) = fold_lines(&text, shape.fold);
        let mut tidied = Tidied { text: String::with_capacity(text.len()), folded, cuts: Vec::new(), lossy };
        for line in text.split_inclusive('\n') {
            let content = line.strip_suffix('\n').unwrap_or(line);
            if content.len() <= shape.max_line {
                tidied.text.push_str(line);
                continue;
            }
            let keep = floor(content, shape.max_line);
            let left = printed(&content[keep..]);
            tidied.text.push_str(&content[..keep]);
            let at = tidied.text.len();
            tidied.text.push_str(&format!("[… {} more bytes in this line]", grouped(left)));
            tidied.cuts.push(Cut { note: at..tidied.text.len(), left });
            tidied.text.push_str(&line[content.len()..]);
        }
        tidied
    }

    /// Returns the number of bytes cut out of long lines.
    pub(super) fn cut(&self) -> u64 {
        self.cut_in(0..self.text.len())
    }

    pub(super) fn cut_in(&self, range: Range<usize>) -> u64 {
        self.cuts_in(range).map(|cut| cut.left).sum()
    }

    /// Returns the cuts in a range. No range from [`Tidied::head`] and [`Tidied::tail`] begins or ends within a note.
    fn cuts_in(&self, range: Range<usize>) -> impl Iterator<Item = &Cut> {
        let from = self.cuts.partition_point(|cut| cut.note.start < range.start);
        self.cuts[from..].iter().take_while(move |cut| cut.note.end <= range.end)
    }

    /// Returns the number of printed bytes a part stands for. A note counts as the bytes it replaces.
    pub(super) fn printed(&self, range: Range<usize>) -> u64 {
        let notes: u64 = self.cuts_in(range.clone()).map(|cut| cut.note.len() as u64).sum();
        printed(&self.text[range.clone()]) - notes + self.cut_in(range)
    }

    /// Returns the end of the longest beginning of at most `max` bytes.
    pub(super) fn head(&self, max: usize) -> usize {
        let end = head_of(&self.text, max).len();
        self.note_around(end).map_or(end, |note| note.start)
    }

    /// Returns the start of the longest end of at most `max` bytes, not before `from`.
    pub(super) fn tail(&self, from: usize, max: usize) -> usize {
        let start = self.text.len() - tail_of(&self.text[from..], max).len();
        self.note_around(start).map_or(start, |note| note.end)
    }

    /// Returns the note that contains an index.
    fn note_around(&self, index: usize) -> Option<Range<usize>> {
        let after = self.cuts.partition_point(|cut| cut.note.start < index);
        let before = self.cuts[..after].last()?;
        (index < before.note.end).then(|| before.note.clone())
    }
}

/// Placeholders for one, two or three bytes of invalid UTF-8, until the text is cut and counted. Each is as long as the
/// replacement character shown instead, and none occurs in real text.
const BROKEN: [char; 3] = ['\u{FDD0}', '\u{FDD1}', '\u{FDD2}'];

/// Returns the bytes as text, with [`BROKEN`] for invalid UTF-8.
pub(super) fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        if chunk.valid().contains(BROKEN) {
            // A program that prints these itself gets a slightly wrong count.
            return String::from_utf8_lossy(bytes);
        }
        text.push_str(chunk.valid());
        let broken = chunk.invalid().len().checked_sub(1).and_then(|more| BROKEN.get(more));
        text.extend(broken);
    }
    Cow::Owned(text)
}

/// Returns the number of printed bytes a text stands for.
pub(super) fn printed(text: &str) -> u64 {
    // All three placeholders begin with these two bytes.
    let broken = memchr::memmem::find_iter(text.as_bytes(), b"\xEF\xB7");
    let more: usize = broken
        .filter_map(|at| BROKEN.iter().position(|broken| text[at..].starts_with(*broken)))
        .map(|missing| BROKEN.len() - 1 - missing)
        .sum();
    (text.len() - more) as u64
}

/// Returns the largest boundary of a character up to an index.
fn floor(text: &str, index: usize) -> usize {
    (0..=index.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// Returns the beginning, cut at the end of a line if that loses at most half.
fn head_of(text: &str, max: usize) -> &str {
    let end = floor(text, max);
    match text[..end].rfind('\n') {
        Some(newline) if newline + 1 >= end / 2 && end < text.len() => &text[..newline + 1],
        _ => &text[..end],
    }
}

/// Returns the end, cut at the beginning of a line if that loses at most half.
fn tail_of(text: &str, max: usize) -> &str {
    let want = text.len().saturating_sub(max);
    let start = (want..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    if start == 0 || text[..start].ends_with('\n') {
        return &text[start..];
    }
    match text[start..].find('\n') {
        Some(newline) if newline < (text.len() - start) / 2 => &text[start + newline + 1..],
        _ => &text[start..],
    }
}
