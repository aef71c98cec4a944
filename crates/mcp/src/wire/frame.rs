//! Bytes → lines, one message each: bounded, and tolerant of real peers (a byte order mark, CRLF, blank lines). The
//! content of a line is not looked at, except for the id of a line that is too long to keep.

use super::Id;
use super::scan::TopLevel;

/// The default limit of a line: 16 MiB.
pub const DEFAULT_LINE_LIMIT: usize = 16 << 20;

/// A larger buffer shrinks to this once it is empty.
const KEEP: usize = 64 << 10;

/// One line of input.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A line without its end, never blank.
    Line(&'a [u8]),
    /// A line over the limit, which was not kept.
    TooLong(TooLong),
}

/// A line over the limit, with its known properties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLong {
    /// The length in bytes.
    pub bytes: u64,
    /// The id, if it can be read.
    pub id: Option<Id>,
    /// True if it names a method. With an id it is then a request, which should be answered.
    pub method: bool,
}

/// Cuts a byte stream into lines. Bytes may arrive in pieces of any size.
#[derive(Debug)]
pub struct Framer {
    buffer: Vec<u8>,
    /// The beginning of the next line.
    start: usize,
    /// The buffer has no line end between `start` and here.
    scanned: usize,
    limit: usize,
    skipping: Option<(TopLevel, u64)>,
    /// True if the first line of the stream is still to come.
    at_start: bool,
}

impl Default for Framer {
    fn default() -> Framer {
        Framer::new(DEFAULT_LINE_LIMIT)
    }
}

impl Framer {
    /// Returns a framer for lines of at most `limit` bytes.
    pub fn new(limit: usize) -> Framer {
        Framer { buffer: Vec::new(), start: 0, scanned: 0, limit, skipping: None, at_start: true }
    }

    /// Appends bytes of input.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer().extend_from_slice(bytes);
    }

    /// Returns the buffer, for readers that append to one: appended bytes count as pushed. Bytes that it holds already
    /// must not be changed.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        if self.start == self.buffer.len() {
            self.reset();
        } else if self.start > 0 && self.start >= self.buffer.len() / 2 {
            self.buffer.drain(..self.start);
            self.scanned -= self.start;
            self.start = 0;
        }
        &mut self.buffer
    }

    /// Returns the next whole line, if there is one. Call it until it returns `None` before pushing more.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        loop {
            let Some(found) = memchr::memchr(b'\n', &self.buffer[self.scanned..]) else {
                self.scanned = self.buffer.len();
                self.drop_overlong();
                return None;
            };
            let end = self.scanned + found;
            let from = std::mem::replace(&mut self.start, end + 1);
            self.scanned = end + 1;
            if let Some(too_long) = self.finish_overlong(from, end) {
                return Some(Frame::TooLong(too_long));
            }
            if let Some((from, end)) = self.trimmed(from, end) {
                return Some(Frame::Line(&self.buffer[from..end]));
            }
        }
    }

    /// Returns the last line without a line end, if there is one. Call it at the end of input.
    pub fn finish(&mut self) -> Option<Frame<'_>> {
        let (from, end) = (self.start, self.buffer.len());
        self.start = end;
        self.scanned = end;
        if let Some(too_long) = self.finish_overlong(from, end) {
            return Some(Frame::TooLong(too_long));
        }
        let (from, end) = self.trimmed(from, end)?;
        Some(Frame::Line(&self.buffer[from..end]))
    }

    /// Releases a buffer larger than `keep` that is empty. For a stream that becomes idle.
    pub fn shrink(&mut self, keep: usize) {
        if self.start == self.buffer.len() && self.buffer.capacity() > keep {
            self.buffer = Vec::new();
            self.start = 0;
            self.scanned = 0;
        }
    }

    /// Bytes in the buffer that are not part of a returned frame.
    pub fn pending(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Trims a line of a byte order mark and trailing blanks; `None` if nothing is left.
    fn trimmed(&mut self, from: usize, end: usize) -> Option<(usize, usize)> {
        let mut line = &self.buffer[from..end];
        let mut from = from;
        if std::mem::take(&mut self.at_start) && line.starts_with(b"\xEF\xBB\xBF") {
            from += 3;
            line = &line[3..];
        }
        let trimmed = line.trim_ascii_end();
        (!trimmed.is_empty()).then_some((from, from + trimmed.len()))
    }

    /// `Some` if the line that ends here was too long. `from..end` is its part that is still in the buffer.
    fn finish_overlong(&mut self, from: usize, end: usize) -> Option<TooLong> {
        if self.skipping.is_none() && end - from <= self.limit {
            return None;
        }
        self.at_start = false;
        let (mut scan, skipped) = self.skipping.take().unwrap_or_default();
        scan.push(&self.buffer[from..end]);
        let (id, method) = scan.finish();
        Some(TooLong { bytes: skipped + (end - from) as u64, id, method })
    }

    /// Drops an unfinished line that is over the limit.
    fn drop_overlong(&mut self) {
        if self.skipping.is_none() && self.pending() <= self.limit {
            return;
        }
        let (scan, skipped) = self.skipping.get_or_insert_default();
        scan.push(&self.buffer[self.start..]);
        *skipped += (self.buffer.len() - self.start) as u64;
        self.start = self.buffer.len();
        self.reset();
    }

    fn reset(&mut self) {
        self.buffer.clear();
        self.start = 0;
        self.scanned = 0;
        if self.buffer.capacity() > KEEP {
            self.buffer.shrink_to(KEEP);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn drain(framer: &mut Framer, out: &mut Vec<String>) {
        while let Some(frame) = framer.next_frame() {
            out.push(show(frame));
        }
    }

    fn show(frame: Frame<'_>) -> String {
        match frame {
            Frame::Line(line) => String::from_utf8_lossy(line).into_owned(),
            Frame::TooLong(TooLong { bytes, id, method }) => format!("too long: {bytes} {id:?} {method}"),
        }
    }

    fn frames(limit: usize, pieces: &[&[u8]]) -> Vec<String> {
        let mut framer = Framer::new(limit);
        let mut out = Vec::new();
        for piece in pieces {
            framer.push(piece);
            drain(&mut framer, &mut out);
        }
        if let Some(frame) = framer.finish() {
            out.push(show(frame));
        }
        out
    }

    /// The same frames however the input is cut in two, and byte by byte.
    fn check(limit: usize, input: &[u8], expected: Expect) {
        let whole = frames(limit, &[input]);
        for at in 0..=input.len() {
            assert_eq!(frames(limit, &[&input[..at], &input[at..]]), whole, "cut at {at}");
        }
        let bytes: Vec<&[u8]> = input.chunks(1).collect();
        assert_eq!(frames(limit, &bytes), whole, "byte by byte");
        expected.assert_eq(&whole.join("\n"));
    }

    #[test]
    fn lines_are_cut_and_trimmed() {
        check(
            64,
            b"\xEF\xBB\xBF{\"a\":1}\r\n\n  \r\n{\"b\":2}\n{\"c\":3}",
            expect![[r#"
                {"a":1}
                {"b":2}
                {"c":3}"#]],
        );
        check(64, b"\n\r\n \n", expect![[""]]);
    }

    #[test]
    fn a_line_too_long_gives_its_id_wherever_it_stands() {
        check(
            24,
            br#"{"id":7,"method":"m","params":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}
{"a":1}
{"params":{"id":9,"s":"\"}{xxxxxxxxxxxxxxxxxxxxx"}, "method" : "m" , "id" : "x,}" }
{"id":1,"id":2,"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx":[]}
{"id":"\x","xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx":[]}
{"id":1.5,"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx":[]}
{"id":[1],"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx":[]}
[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[
{"b":2}
{"id":3,"result":"xxxxxxxxxxxxxxxxxxxxxxxxx"}"#,
            expect![[r#"
                too long: 63 Some(7) true
                {"a":1}
                too long: 83 Some("x,}") true
                too long: 62 None false
                too long: 58 None false
                too long: 57 None false
                too long: 57 None false
                too long: 36 None false
                {"b":2}
                too long: 45 Some(3) false"#]],
        );
    }

    #[test]
    fn a_long_line_is_not_kept() {
        let mut framer = Framer::new(1000);
        for _ in 0..1000 {
            framer.push(&[b'x'; 1000]);
            assert_eq!(framer.next_frame(), None);
            assert!(framer.pending() <= 1000);
        }
        framer.push(b"\n");
        assert_eq!(framer.next_frame(), Some(Frame::TooLong(TooLong { bytes: 1_000_000, id: None, method: false })));
    }
}
