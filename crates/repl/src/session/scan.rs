//! Finds markers in a stream as it arrives. Only the framing is handled here; the machine knows what a marker means.

use memchr::memmem::Finder;

use crate::adapter::Nonce;

/// The length above which a payload is not one of our markers.
const MAX_REST: usize = 256 * 1024;

/// One segment of a stream, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Segment<'a> {
    /// Output, exactly as written.
    Data(&'a [u8]),
    /// The end of an evaluation; see [`crate::adapter`].
    Marker { number: Option<u64>, payload: String },
}

/// Splits one stream. Holds back only the possible beginning of a marker, so output is never delayed for long.
#[derive(Debug)]
pub(super) struct Scanner {
    finder: Finder<'static>,
    held: Vec<u8>,
}

impl Scanner {
    pub(super) fn new(nonce: &Nonce) -> Scanner {
        let start = format!("{} ", nonce.as_str());
        Scanner { finder: Finder::new(start.as_bytes()).into_owned(), held: Vec::new() }
    }

    /// Adds the next bytes and passes on the completed segments.
    pub(super) fn push(&mut self, chunk: &[u8], mut sink: impl FnMut(Segment<'_>)) {
        if self.held.is_empty() {
            let rest = self.split(chunk, &mut sink);
            self.held.extend_from_slice(&chunk[chunk.len() - rest..]);
        } else {
            // Rescanning held bytes is bounded: without a complete start they are shorter than a start; with one,
            // either the rest of the marker is short or it is not a marker.
            let mut joined = std::mem::take(&mut self.held);
            joined.extend_from_slice(chunk);
            let rest = self.split(&joined, &mut sink);
            joined.drain(..joined.len() - rest);
            self.held = joined;
        }
    }

    /// Passes on the held bytes at the end of the stream.
    pub(super) fn finish(&mut self, mut sink: impl FnMut(Segment<'_>)) {
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            sink(Segment::Data(&held));
        }
    }

    /// Passes on the segments of `bytes` and returns the number of bytes at the end that must wait for more.
    fn split(&self, bytes: &[u8], sink: &mut impl FnMut(Segment<'_>)) -> usize {
        let start_len = self.finder.needle().len();
        let mut data_from = 0;
        let mut search_from = 0;
        while let Some(found) = self.finder.find(&bytes[search_from..]) {
            let start = search_from + found;
            let rest = &bytes[start + start_len..];
            let Some(end) = memchr::memchr(b'\n', rest) else {
                if rest.len() > MAX_REST {
                    search_from = start + start_len;
                    continue;
                }
                if start > data_from {
                    sink(Segment::Data(&bytes[data_from..start]));
                }
                return bytes.len() - start;
            };
            match parse(&rest[..end]) {
                Some(marker) => {
                    if start > data_from {
                        sink(Segment::Data(&bytes[data_from..start]));
                    }
                    sink(marker);
                    data_from = start + start_len + end + 1;
                    search_from = data_from;
                }
                None => search_from = start + start_len,
            }
        }
        let tail = &bytes[search_from..];
        let keep = self.possible_start(tail);
        let data_to = bytes.len() - keep;
        if data_to > data_from {
            sink(Segment::Data(&bytes[data_from..data_to]));
        }
        keep
    }

    /// Returns the number of bytes at the end of `tail` that may begin a marker.
    fn possible_start(&self, tail: &[u8]) -> usize {
        let needle = self.finder.needle();
        let longest = tail.len().min(needle.len() - 1);
        let window = &tail[tail.len() - longest..];
        memchr::memchr_iter(needle[0], window)
            .find(|&at| needle.starts_with(&window[at..]))
            .map_or(0, |at| window.len() - at)
    }
}

fn parse(line: &[u8]) -> Option<Segment<'static>> {
    let line = std::str::from_utf8(line).ok()?;
    let (number, payload) = line.split_once(' ')?;
    let number = match number {
        "-" => None,
        digits => Some(digits.parse().ok()?),
    };
    Some(Segment::Marker { number, payload: payload.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    const NONCE: &str = "0123456789abcdef0123456789abcdef";

    /// Returns the segments with neighbouring data joined, so that the result does not depend on the chunks.
    fn pieces(chunks: &[&[u8]]) -> Vec<String> {
        let mut scanner = Scanner::new(&Nonce::fixed(NONCE));
        let mut out: Vec<String> = Vec::new();
        let mut data = Vec::new();
        let mut sink = |segment: Segment<'_>| match segment {
            Segment::Data(bytes) => data.extend_from_slice(bytes),
            Segment::Marker { number, payload } => {
                out.push(format!("{:?}", String::from_utf8_lossy(&std::mem::take(&mut data))));
                out.push(format!("{number:?} {payload:?}"));
            }
        };
        for chunk in chunks {
            scanner.push(chunk, &mut sink);
        }
        scanner.finish(&mut sink);
        out.push(format!("{:?}", String::from_utf8_lossy(&data)));
        out
    }

    fn check(stream: &str, expected: Expect) {
        let stream = stream.replace('N', NONCE);
        let bytes = stream.as_bytes();
        let whole = pieces(&[bytes]);
        expected.assert_eq(&whole.join("\n").replace(NONCE, "N"));
        for cut in 0..=bytes.len() {
            assert_eq!(pieces(&[&bytes[..cut], &bytes[cut..]]), whole, "cut at {cut}");
        }
        assert_eq!(pieces(&bytes.chunks(1).collect::<Vec<_>>()), whole, "byte by byte");
        assert_eq!(pieces(&bytes.chunks(7).collect::<Vec<_>>()), whole, "by seven");
    }

    #[test]
    fn markers_are_found_wherever_the_stream_is_cut() {
        check(
            "2\nN 5 Prelude\nN 6 \nno newlineN 7 A B\n",
            expect![[r#"
            "2\n"
            Some(5) "Prelude"
            ""
            Some(6) ""
            "no newline"
            Some(7) "A B"
            """#]],
        );
        check(
            "N - \nx",
            expect![[r#"
            ""
            None ""
            "x""#]],
        );
    }

    #[test]
    fn what_looks_like_a_marker_is_output() {
        check(
            "0123456789abcdef 5 x\n0123N x 1\nN 12\nN",
            expect![[r#"
            "0123456789abcdef 5 x\n0123N x 1\nN 12\nN""#]],
        );
        check(
            "0101230123N 1 \n",
            expect![[r#"
            "0101230123"
            Some(1) ""
            """#]],
        );
    }

    #[test]
    fn nothing_but_a_possible_start_is_held() {
        let mut scanner = Scanner::new(&Nonce::fixed(NONCE));
        let mut seen = Vec::new();
        scanner.push(b"Name? 0123", |segment| match segment {
            Segment::Data(bytes) => seen.extend_from_slice(bytes),
            Segment::Marker { .. } => unreachable!("no marker"),
        });
        assert_eq!(seen, b"Name? ");
    }
}
