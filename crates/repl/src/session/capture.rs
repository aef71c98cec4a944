//! The part of a stream that answers can show: its head, its tail and an exact count. The output log has the rest.

use std::collections::VecDeque;

use process::output::text::whole_characters;

/// Head and tail of one evaluation's output on one stream.
#[derive(Debug, Clone)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    room: usize,
}

/// The two ends of a part of a stream; the middle may be missing.
pub(super) struct Part<'a> {
    pub(super) head: &'a [u8],
    pub(super) tail: Vec<u8>,
    /// The number of its bytes.
    pub(super) total: u64,
}

impl Part<'_> {
    /// Returns the number of bytes missing between the ends.
    pub(super) fn missing(&self) -> u64 {
        self.total.saturating_sub((self.head.len() + self.tail.len()) as u64)
    }

    /// Drops everything after the first `whole` bytes: the incomplete character at the end.
    pub(super) fn until(mut self, whole: u64) -> Self {
        let excess = usize::try_from(self.total.saturating_sub(whole)).unwrap_or(0);
        self.total -= excess as u64;
        let of_tail = excess.min(self.tail.len());
        self.tail.truncate(self.tail.len() - of_tail);
        self.head = &self.head[..self.head.len() - (excess - of_tail).min(self.head.len())];
        self
    }
}

impl Capture {
    /// Bytes kept of each end while an evaluation is recent.
    const FRESH: usize = 512 * 1024;
    /// Bytes kept of each end later.
    const OLD: usize = 16 * 1024;

    pub(super) fn new() -> Capture {
        Capture { head: Vec::new(), tail: VecDeque::new(), total: 0, room: Self::FRESH }
    }

    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        self.total += bytes.len() as u64;
        if self.tail.is_empty() && self.head.len() < self.room {
            let taken = bytes.len().min(self.room - self.head.len());
            self.head.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
        }
        if bytes.len() >= self.room {
            self.tail.clear();
            bytes = &bytes[bytes.len() - self.room..];
        }
        let excess = (self.tail.len() + bytes.len()).saturating_sub(self.room);
        self.tail.drain(..excess);
        self.tail.extend(bytes);
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the bytes, and true if some are missing in the middle.
    pub(super) fn bytes(&self) -> (Vec<u8>, bool) {
        let mut bytes = self.head.clone();
        let (a, b) = self.tail.as_slices();
        bytes.extend_from_slice(a);
        bytes.extend_from_slice(b);
        let cut = (bytes.len() as u64) < self.total;
        (bytes, cut)
    }

    /// Returns the kept bytes after the first `at`.
    pub(super) fn since(&self, at: u64) -> Vec<u8> {
        let (mut bytes, _) = self.bytes();
        let after = usize::try_from(self.total.saturating_sub(at)).unwrap_or(usize::MAX).min(bytes.len());
        bytes.split_off(bytes.len() - after)
    }

    /// Returns the two ends of the output after the first `at` bytes, and its length.
    pub(super) fn part(&self, at: u64) -> Part<'_> {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let begun = self.total - tail.len() as u64;
        let total = self.total.saturating_sub(at);
        match usize::try_from(at).ok().and_then(|at| self.head.get(at..)) {
            Some(head) => Part { head, tail, total },
            None if at < begun => Part { head: &[], tail, total },
            None => {
                let after = usize::try_from(total).unwrap_or(usize::MAX).min(tail.len());
                Part { head: &[], tail: tail[tail.len() - after..].to_vec(), total }
            }
        }
    }

    /// Returns the number of bytes, without an incomplete character at the end.
    pub(super) fn whole_length(&self) -> u64 {
        let end: Vec<u8> = if self.tail.is_empty() {
            self.head[self.head.len().saturating_sub(4)..].to_vec()
        } else {
            self.tail.range(self.tail.len().saturating_sub(4)..).copied().collect()
        };
        self.total - (end.len() - whole_characters(&end)) as u64
    }

    /// Drops everything from the first occurrence of `text` on.
    pub(super) fn cut_at(&mut self, text: &[u8]) {
        let (bytes, cut) = self.bytes();
        if let (Some(at), false) = (memchr::memmem::find(&bytes, text), cut) {
            *self = Capture::new();
            self.push(&bytes[..at]);
        }
    }

    /// Keeps less, for an evaluation that is rarely requested again.
    pub(super) fn shrink(&mut self) {
        if self.room == Self::OLD || self.head.len() + self.tail.len() <= 2 * Self::OLD {
            return;
        }
        let (bytes, _) = self.bytes();
        self.room = Self::OLD;
        self.head = bytes[..Self::OLD].to_vec();
        self.tail = bytes[bytes.len() - Self::OLD..].iter().copied().collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_both_ends_and_counts_all() {
        let mut capture = Capture::new();
        let all: Vec<u8> = (0..4_000_000u32).map(|n| (n % 251) as u8).collect();
        for chunk in all.chunks(70_001) {
            capture.push(chunk);
        }
        assert_eq!(capture.total(), all.len() as u64);
        for _ in 0..2 {
            for at in [0, 1, 100_000, 600_000, 3_000_000, 3_900_000, 3_999_999, 4_000_000] {
                let (part, rest) = (capture.part(at), &all[at as usize..]);
                assert_eq!(
                    (part.total, part.missing() as usize),
                    (rest.len() as u64, rest.len() - part.head.len() - part.tail.len())
                );
                assert!(rest.starts_with(part.head) && rest.ends_with(&part.tail), "{at}");
            }
            capture.shrink();
        }
    }

    #[test]
    fn small_output_is_kept_whole() {
        let mut capture = Capture::new();
        capture.push(b"ab");
        capture.push(b"cd");
        assert_eq!(capture.bytes(), (b"abcd".to_vec(), false));
        capture.cut_at(b"c");
        assert_eq!(capture.bytes(), (b"ab".to_vec(), false));
    }

    #[test]
    fn a_character_that_has_not_come_whole_waits() {
        let mut capture = Capture::new();
        capture.push("aλ".as_bytes());
        assert_eq!(capture.whole_length(), 3);
        capture.push(&"λb".as_bytes()[..1]);
        assert_eq!(capture.whole_length(), 3);
        let part = capture.part(1);
        let part = {
            let whole = capture.whole_length() - 1;
            part.until(whole)
        };
        assert_eq!((part.head, part.total), ("λ".as_bytes(), 2));
        // An invalid byte is not held back.
        capture.push(b"b");
        assert_eq!(capture.whole_length(), 5);
    }
}
