//! The newest bytes, in memory, with their records. Drops the oldest bytes beyond its limits, and counts them.

use std::collections::VecDeque;
use std::ops::Range;

use super::record::{Counts, Record, Stream};

/// A record never spans more microseconds than this, so that its time stays meaningful.
const MERGE_WITHIN: u64 = 100_000;

#[derive(Debug)]
pub(crate) struct Ring {
    bytes: VecDeque<u8>,
    records: VecDeque<Record>,
    /// The offset of the first byte held.
    start: u64,
    /// The bytes appended before `start`, per stream.
    before: Counts,
    max_bytes: usize,
    max_records: usize,
}

impl Ring {
    pub(crate) fn new(max_bytes: usize, max_records: usize) -> Ring {
        let (bytes, records) = (VecDeque::new(), VecDeque::new());
        Ring { bytes, records, start: 0, before: Counts::default(), max_bytes, max_records }
    }

    /// Returns the same ring, empty, positioned at the end of the data on disk.
    pub(crate) fn at(self, start: u64, before: Counts) -> Ring {
        Ring { start, before, ..self }
    }

    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    pub(crate) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Returns the counts of bytes before the first byte held.
    pub(crate) fn counts_before_start(&self) -> Counts {
        self.before
    }

    pub(crate) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Appends at most [`Ring::max_bytes`] bytes.
    pub(crate) fn append(&mut self, stream: Stream, eval: Option<u64>, at: u64, bytes: &[u8]) -> Record {
        debug_assert!(bytes.len() <= self.max_bytes);
        let over = (self.bytes.len() + bytes.len()).saturating_sub(self.max_bytes);
        self.drop_bytes(over);
        self.grow_for(bytes.len());
        let record = Record { offset: self.end(), len: bytes.len() as u64, stream, eval, at };
        self.bytes.extend(bytes);
        match self.records.back_mut() {
            Some(last) if (last.stream, last.eval) == (stream, eval) && at.saturating_sub(last.at) < MERGE_WITHIN => {
                last.len += record.len;
            }
            _ => self.records.push_back(record),
        }
        while self.records.len() > self.max_records {
            let oldest = self.records.front().map_or(0, |oldest| oldest.len);
            self.drop_bytes(usize::try_from(oldest).unwrap_or(usize::MAX));
        }
        record
    }

    /// Doubles the capacity like the collection itself, but never beyond the limit.
    fn grow_for(&mut self, more: usize) {
        let needed = self.bytes.len() + more;
        if needed > self.bytes.capacity() {
            let capacity = (self.bytes.capacity() * 2).clamp(needed, self.max_bytes.max(needed));
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
    }

    fn drop_bytes(&mut self, count: usize) {
        let count = count.min(self.bytes.len());
        self.bytes.drain(..count);
        self.start += count as u64;
        let dropped = 0..self.start;
        while let Some(first) = self.records.front_mut() {
            let Some(gone) = first.clipped(&dropped) else { break };
            self.before += gone.counts();
            if gone.len < first.len {
                first.offset += gone.len;
                first.len -= gone.len;
                break;
            }
            self.records.pop_front();
        }
    }

    /// Returns the records in the range, clipped to it, oldest first.
    pub(crate) fn records(&self, range: Range<u64>) -> impl Iterator<Item = Record> {
        let first = self.records.partition_point(|record| record.end() <= range.start);
        self.records.range(first..).map_while(move |record| record.clipped(&range))
    }

    /// Copies bytes of the range, which must be held.
    pub(crate) fn copy(&self, range: Range<u64>, into: &mut Vec<u8>) {
        let index = |offset: u64| usize::try_from(offset - self.start).expect("what is held is addressable");
        let (from, to) = (index(range.start), index(range.end));
        let (front, back) = self.bytes.as_slices();
        let middle = front.len();
        into.extend_from_slice(&front[from.min(middle)..to.min(middle)]);
        into.extend_from_slice(&back[from.saturating_sub(middle)..to.saturating_sub(middle)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_dropped_and_counted() {
        let mut ring = Ring::new(10, 100);
        ring.append(Stream::Stdout, Some(1), 0, b"abcdef");
        ring.append(Stream::Stderr, Some(1), 1, b"ghij");
        ring.append(Stream::Stdout, Some(2), 2, b"klmnopqr");
        assert_eq!((ring.start(), ring.end()), (8, 18));
        assert_eq!(ring.counts_before_start(), Counts { note: 0, stdout: 6, stderr: 2 });
        let mut held = Vec::new();
        ring.copy(8..18, &mut held);
        assert_eq!(held, b"ijklmnopqr");
        let records: Vec<_> = ring.records(9..12).map(|record| (record.offset, record.len, record.stream)).collect();
        assert_eq!(records, [(9, 1, Stream::Stderr), (10, 2, Stream::Stdout)]);
        assert!(ring.bytes.capacity() <= 16, "{}", ring.bytes.capacity());
    }

    #[test]
    fn many_tiny_records_are_bounded_too() {
        let mut ring = Ring::new(1000, 4);
        for eval in 0..100 {
            ring.append(Stream::Stdout, Some(eval), eval, b"x");
        }
        assert_eq!((ring.start(), ring.end(), ring.records.len()), (96, 100, 4));
    }

    #[test]
    fn neighbours_become_one_record_while_time_is_short() {
        let mut ring = Ring::new(1000, 100);
        ring.append(Stream::Stdout, None, 0, b"a");
        ring.append(Stream::Stdout, None, 99_999, b"b");
        ring.append(Stream::Stdout, None, 100_000, b"c");
        assert_eq!(ring.records(0..3).map(|record| record.len).collect::<Vec<_>>(), [2, 1]);
    }
}
