//! One segment of the log on disk: `BASE.out` holds the raw bytes from that offset on, `BASE.idx` a header and one row
//! of 32 bytes per record. A segment's bytes have no gaps. Rows are written after their bytes, so the bytes of a row
//! always exist; bytes without a row come from a torn write and are ignored.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::record::{Counts, Record, Stream};

const MAGIC: &[u8; 8] = b"HOBLOG1\n";
pub(crate) const HEADER: u64 = 64;
pub(crate) const ROW: u64 = 32;
/// The value in a row for "no evaluation was running".
const NO_EVAL: u64 = u64::MAX;

/// The description of a segment for readers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) base: u64,
    pub(crate) len: u64,
    pub(crate) rows: u64,
    /// Counts per stream of the bytes appended to the log before `base`, and before the segment's end.
    pub(crate) before: Counts,
    pub(crate) after: Counts,
}

impl Segment {
    pub(crate) fn end(&self) -> u64 {
        self.base + self.len
    }

    /// Returns the disk space the segment takes.
    pub(crate) fn on_disk(&self) -> u64 {
        self.len + HEADER + self.rows * ROW
    }

    fn data(&self, directory: &Path) -> PathBuf {
        directory.join(format!("{:020}.out", self.base))
    }

    fn index(&self, directory: &Path) -> PathBuf {
        directory.join(format!("{:020}.idx", self.base))
    }

    pub(crate) fn remove(&self, directory: &Path) -> io::Result<()> {
        std::fs::remove_file(self.index(directory)).and(std::fs::remove_file(self.data(directory)))
    }

    /// Opens the segment for reading.
    pub(crate) fn open(&self, directory: &Path) -> io::Result<Reader> {
        let (data, index) = (File::open(self.data(directory))?, File::open(self.index(directory))?);
        Ok(Reader { data, index, rows: self.rows })
    }

    /// Returns all valid segments of a directory, oldest first; and the number of invalid files.
    pub(crate) fn find_all(directory: &Path) -> io::Result<(Vec<Segment>, usize)> {
        let mut found = Vec::new();
        let mut damaged = 0;
        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "idx") {
                continue;
            }
            let base = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
            match base.map(|base| Segment::read(directory, base)) {
                Some(Ok(segment)) => found.push(segment),
                _ => damaged += 1,
            }
        }
        found.sort_by_key(|segment| segment.base);
        // Overlapping segments mean that a file was copied or renamed: the first one counts.
        let mut end = 0;
        let all = found.len();
        found.retain(|segment| {
            let follows = segment.base >= end;
            end = if follows { segment.end() } else { end };
            follows
        });
        damaged += all - found.len();
        Ok((found, damaged))
    }

    /// Removes the files of segments that begin at `offset` or later.
    pub(crate) fn clear_from(directory: &Path, offset: u64) -> io::Result<()> {
        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            let segment = path.extension().is_some_and(|extension| extension == "idx" || extension == "out");
            let base = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok());
            if segment && base.is_some_and(|base| base >= offset) {
                std::fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    fn read(directory: &Path, base: u64) -> io::Result<Segment> {
        let mut segment = Segment { base, len: 0, rows: 0, before: Counts::default(), after: Counts::default() };
        let mut reader = segment.open(directory)?;
        let mut header = [0u8; HEADER as usize];
        reader.index.read_exact_at(&mut header, 0)?;
        let word = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"));
        if &header[..8] != MAGIC || word(8) != base {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not the index of this segment"));
        }
        segment.before = Counts { note: word(16), stdout: word(24), stderr: word(32) };
        segment.after = segment.before;
        let bytes = reader.data.metadata()?.len();
        reader.rows = (reader.index.metadata()?.len() - HEADER) / ROW;
        let rows = reader.each_from(0, |record| {
            let fits = record.offset == segment.end() && record.end() <= base + bytes && record.len > 0;
            if fits {
                segment.len += record.len;
                segment.rows += 1;
                segment.after += record.counts();
            }
            fits
        });
        match rows {
            // Everything before a damaged row is intact.
            Err(error) if error.kind() != io::ErrorKind::InvalidData => Err(error),
            _ => Ok(segment),
        }
    }
}

/// A segment being read.
pub(crate) struct Reader {
    data: File,
    index: File,
    rows: u64,
}

impl Reader {
    /// Reads bytes from a position within the segment.
    pub(crate) fn bytes(&self, position: u64, into: &mut [u8]) -> io::Result<()> {
        self.data.read_exact_at(into, position)
    }

    /// Calls `enough` with the records in the range, clipped to it, until it returns true.
    pub(crate) fn visit_records(&self, range: &Range<u64>, mut enough: impl FnMut(Record) -> bool) -> io::Result<()> {
        let (mut low, mut high) = (0, self.rows);
        while low < high {
            let middle = low + (high - low) / 2;
            let mut row = [0u8; ROW as usize];
            self.index.read_exact_at(&mut row, HEADER + middle * ROW)?;
            if row_of(&row)?.end() <= range.start { low = middle + 1 } else { high = middle }
        }
        self.each_from(low, |record| record.clipped(range).is_some_and(|part| !enough(part)))
    }

    /// Calls `more` with the rows from `number` on, until it returns false.
    pub(crate) fn each_from(&self, mut number: u64, mut more: impl FnMut(Record) -> bool) -> io::Result<()> {
        const AT_ONCE: u64 = 512;
        let mut rows = vec![0u8; (AT_ONCE * ROW) as usize];
        while number < self.rows {
            let count = AT_ONCE.min(self.rows - number);
            let rows = &mut rows[..(count * ROW) as usize];
            self.index.read_exact_at(rows, HEADER + number * ROW)?;
            for row in rows.chunks_exact(ROW as usize) {
                if !more(row_of(row)?) {
                    return Ok(());
                }
            }
            number += count;
        }
        Ok(())
    }
}

/// A segment being written. After an error it must not be written to again.
pub(crate) struct Writer {
    data: File,
    index: File,
}

impl Writer {
    pub(crate) fn create(directory: &Path, segment: &Segment) -> io::Result<Writer> {
        let file = |path: PathBuf| OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let data = file(segment.data(directory))?;
        let started = file(segment.index(directory)).and_then(|mut index| {
            let mut header = Vec::with_capacity(HEADER as usize);
            header.extend_from_slice(MAGIC);
            let counts = segment.before;
            for word in [segment.base, counts.note, counts.stdout, counts.stderr, 0, 0, 0] {
                header.extend_from_slice(&word.to_le_bytes());
            }
            index.write_all(&header)?;
            Ok(index)
        });
        match started {
            Ok(index) => Ok(Writer { data, index }),
            Err(error) => {
                // A full disk leaves empty files behind, which would later count as damage.
                let _ = segment.remove(directory);
                let _ = std::fs::remove_file(segment.data(directory));
                Err(error)
            }
        }
    }

    /// Adds bytes and their records. On an error, the files are truncated to their earlier length if possible.
    pub(crate) fn add(&mut self, segment: &Segment, bytes: &[u8], records: &[Record]) -> io::Result<()> {
        let mut rows = Vec::with_capacity(records.len() * ROW as usize);
        for record in records {
            rows.extend_from_slice(&record.offset.to_le_bytes());
            rows.extend_from_slice(&record.at.to_le_bytes());
            rows.extend_from_slice(&record.eval.unwrap_or(NO_EVAL).to_le_bytes());
            let len = u32::try_from(record.len).expect("records are cut to the chunk that is written");
            rows.extend_from_slice(&len.to_le_bytes());
            rows.extend_from_slice(&[record.stream.number(), 0, 0, 0]);
        }
        self.data.write_all(bytes).and_then(|()| self.index.write_all(&rows)).inspect_err(|_| {
            let _ = self.index.set_len(HEADER + segment.rows * ROW);
            let _ = self.data.set_len(segment.len);
        })
    }
}

fn row_of(row: &[u8]) -> io::Result<Record> {
    let word = |at: usize| u64::from_le_bytes(row[at..at + 8].try_into().expect("eight bytes"));
    let len = u32::from_le_bytes(row[24..28].try_into().expect("four bytes"));
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "damaged row in an index of output");
    let stream = Stream::of_number(row[28]).ok_or_else(damaged)?;
    let eval = Some(word(16)).filter(|&eval| eval != NO_EVAL);
    word(0).checked_add(len.into()).ok_or_else(damaged)?;
    Ok(Record { offset: word(0), at: word(8), eval, len: len.into(), stream })
}
