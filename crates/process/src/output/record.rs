//! The attributes of printed bytes: stream, evaluation, time, and counts per stream.

use std::ops::{Add, AddAssign, Range, Sub};

/// The stream that bytes went to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    /// Notes of the log's keeper, such as the start of another process.
    Note,
    /// The program's standard output.
    Stdout,
    /// The program's standard error.
    Stderr,
}

impl Stream {
    /// All streams.
    pub const ALL: [Stream; 3] = [Stream::Note, Stream::Stdout, Stream::Stderr];

    pub(crate) fn number(self) -> u8 {
        match self {
            Stream::Note => 0,
            Stream::Stdout => 1,
            Stream::Stderr => 2,
        }
    }

    pub(crate) fn of_number(number: u8) -> Option<Stream> {
        Stream::ALL.into_iter().find(|stream| stream.number() == number)
    }

    /// Returns `note`, `stdout` or `stderr`.
    pub fn name(self) -> &'static str {
        match self {
            Stream::Note => "note",
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        }
    }
}

/// A run of bytes of one stream within one evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The absolute offset of its first byte in the log.
    pub offset: u64,
    /// The number of bytes.
    pub len: u64,
    /// The stream they were printed on.
    pub stream: Stream,
    /// The evaluation that was running, if any was.
    pub eval: Option<u64>,
    /// The time of the first byte, in microseconds since 1970. Never decreases within a log.
    pub at: u64,
}

impl Record {
    /// Returns the offset after its last byte.
    pub fn end(&self) -> u64 {
        self.offset + self.len
    }

    /// Returns the part within the range, if any.
    pub(crate) fn clipped(&self, range: &Range<u64>) -> Option<Record> {
        let offset = self.offset.max(range.start);
        let end = self.end().min(range.end);
        (offset < end).then(|| Record { offset, len: end - offset, ..*self })
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        *counts.of_mut(self.stream) = self.len;
        counts
    }
}

/// Bytes per stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes of the keeper's notes.
    pub note: u64,
    /// Bytes of standard output.
    pub stdout: u64,
    /// Bytes of standard error.
    pub stderr: u64,
}

impl Counts {
    /// Returns the count of one stream.
    pub fn get(&self, stream: Stream) -> u64 {
        match stream {
            Stream::Note => self.note,
            Stream::Stdout => self.stdout,
            Stream::Stderr => self.stderr,
        }
    }

    pub(crate) fn of_mut(&mut self, stream: Stream) -> &mut u64 {
        match stream {
            Stream::Note => &mut self.note,
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }

    /// Returns the sum over all streams.
    pub fn sum(&self) -> u64 {
        self.note + self.stdout + self.stderr
    }
}

impl Add for Counts {
    type Output = Counts;

    fn add(self, other: Counts) -> Counts {
        Counts { note: self.note + other.note, stdout: self.stdout + other.stdout, stderr: self.stderr + other.stderr }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        *self = *self + other;
    }
}

impl Sub for Counts {
    type Output = Counts;

    /// Saturates: counts read from a damaged file must not panic.
    fn sub(self, other: Counts) -> Counts {
        Counts {
            note: self.note.saturating_sub(other.note),
            stdout: self.stdout.saturating_sub(other.stdout),
            stderr: self.stderr.saturating_sub(other.stderr),
        }
    }
}

/// The totals of one evaluation, whether kept or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Printed {
    /// The offset of its first byte.
    pub from: u64,
    /// The offset after its last byte. Other evaluations' bytes may lie between.
    pub to: u64,
    /// Bytes per stream.
    pub counts: Counts,
}

impl Printed {
    /// Adds a record to an evaluation's totals.
    pub(crate) fn add(into: Option<Printed>, record: &Record) -> Printed {
        let so_far = into.unwrap_or(Printed { from: record.offset, to: record.offset, counts: Counts::default() });
        Printed { to: record.end(), counts: so_far.counts + record.counts(), ..so_far }
    }
}
