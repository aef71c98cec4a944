//! The part of a stream that answers can show: its head, its tail and an exact count. The output log has the rest.

use std::collections::VecDeque;

/// Head and tail of one evaluation's output on one stream.
#[derive(Debug, Clone)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    room: usize,
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

    /// The number of bytes pushed.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The bytes, and whether some are missing in the middle.
    pub(super) fn bytes(&self) -> (Vec<u8>, bool) {
        let mut bytes = self.head.clone();
        let (a, b) = self.tail.as_slices();
        bytes.extend_from_slice(a);
        bytes.extend_from_slice(b);
        let cut = (bytes.len() as u64) < self.total;
        (bytes, cut)
    }

    /// The bytes after the first `at`, as far as they are kept.
    pub(super) fn since(&self, at: u64) -> Vec<u8> {
        let (mut bytes, _) = self.bytes();
        let after = usize::try_from(self.total.saturating_sub(at)).unwrap_or(usize::MAX).min(bytes.len());
        bytes.split_off(bytes.len() - after)
    }

    /// The two ends, and how many bytes are missing between them.
    pub(super) fn ends(&self) -> (&[u8], Vec<u8>, u64) {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        (&self.head, tail, self.total - (self.head.len() + self.tail.len()) as u64)
    }

    /// Drops everything from the first occurrence of `text` on.
    pub(super) fn cut_at(&mut self, text: &[u8]) {
        let (bytes, cut) = self.bytes();
        if let (Some(at), false) = (memchr::memmem::find(&bytes, text), cut) {
            *self = Capture::new();
            self.push(&bytes[..at]);
        }
    }

    /// Keeps less, for an evaluation that is rarely asked for again.
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
        let (head, tail, missing) = capture.ends();
        assert_eq!(capture.total(), all.len() as u64);
        assert_eq!(missing as usize + head.len() + tail.len(), all.len());
        assert!(all.starts_with(head) && all.ends_with(&tail));
        capture.shrink();
        let (head, tail, missing) = capture.ends();
        assert_eq!(missing as usize + head.len() + tail.len(), all.len());
        assert!(all.starts_with(head) && all.ends_with(&tail));
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
}
