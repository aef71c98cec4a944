//! Reading the log: by cursor, by evaluation, by stream, from the end, and by search.

use std::io;
use std::ops::Range;

use super::record::{Record, Stream};
use super::segment::Segment;
use super::text;
use super::{OutputLog, State};

/// The parameters of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Absolute offsets; the range may reach beyond the log's end.
    pub range: Range<u64>,
    /// Only these streams.
    pub streams: Vec<Stream>,
    /// Only this evaluation; `Some(None)` selects output while none was running. A number narrows the range to between
    /// the evaluation's first and last byte.
    pub eval: Option<Option<u64>>,
    /// Maximum number of bytes.
    pub max_bytes: usize,
    /// The part to return if more bytes match.
    pub take: Take,
}

/// The part of the matching bytes to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// The first bytes; continue at [`Slice::next`].
    First,
    /// The last bytes.
    Last,
}

impl Default for Query {
    /// Selects everything a program printed, at most 64 KiB of it, from the start.
    fn default() -> Query {
        let streams = vec![Stream::Stdout, Stream::Stderr];
        Query { range: 0..u64::MAX, streams, eval: None, max_bytes: 64 << 10, take: Take::First }
    }
}

impl Query {
    /// Selects everything from a cursor on.
    pub fn since(cursor: u64) -> Query {
        Query { range: cursor..u64::MAX, ..Query::default() }
    }

    /// Narrows the query to one stream.
    pub fn only_stream(self, stream: Stream) -> Query {
        Query { streams: vec![stream], ..self }
    }

    /// Includes the log keeper's notes, such as the start of another process.
    pub fn with_notes(mut self) -> Query {
        self.streams.push(Stream::Note);
        self
    }

    pub fn at_most(self, max_bytes: usize) -> Query {
        Query { max_bytes, ..self }
    }

    /// Takes the end instead of the beginning.
    pub fn from_the_end(self) -> Query {
        Query { take: Take::Last, ..self }
    }

    fn is_selected(&self, record: &Record) -> bool {
        self.streams.contains(&record.stream) && self.eval.is_none_or(|eval| eval == record.eval)
    }
}

/// The result of a read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Slice {
    /// In printing order; adjacent bytes of the same stream and evaluation form one piece.
    pub pieces: Vec<Piece>,
    /// The cursor to continue from: everything before it was returned, did not match, or is lost.
    pub next: u64,
    /// Bytes of the range, of any stream, that are no longer kept.
    pub missing: u64,
    /// True if the limit on bytes was reached before the end of the range.
    pub cut: bool,
}

/// A run of bytes of one stream within one evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Position and time of the bytes; its length is theirs.
    pub record: Record,
    /// The bytes as printed.
    pub bytes: Vec<u8>,
}

impl Slice {
    pub fn bytes_of(&self, stream: Stream) -> Vec<u8> {
        let pieces = self.pieces.iter().filter(|piece| piece.record.stream == stream);
        pieces.flat_map(|piece| piece.bytes.iter().copied()).collect()
    }

    /// Returns all bytes, in printing order.
    pub fn bytes(&self) -> Vec<u8> {
        self.pieces.iter().flat_map(|piece| piece.bytes.iter().copied()).collect()
    }

    fn push(&mut self, record: Record, bytes: &[u8]) {
        match self.pieces.last_mut() {
            Some(last)
                if last.record.end() == record.offset
                    && (last.record.stream, last.record.eval) == (record.stream, record.eval) =>
            {
                last.record.len += record.len;
                last.bytes.extend_from_slice(bytes);
            }
            _ => self.pieces.push(Piece { record, bytes: bytes.to_vec() }),
        }
    }
}

/// A line that a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLine {
    /// The offset of its first byte.
    pub offset: u64,
    /// The stream it was printed on.
    pub stream: Stream,
    /// The evaluation in which it began.
    pub eval: Option<u64>,
    /// The line without its newline, at most 64 KiB of it.
    pub line: Vec<u8>,
}

/// The point where a search stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The offset to continue the search from.
    pub next: u64,
    /// Bytes before `next`, of any stream, that are no longer kept and were not searched.
    pub missing: u64,
    /// True if the search stopped at the limit on matches.
    pub more: bool,
}

/// The searched part of a long line, in bytes.
const LINE: usize = 64 << 10;
/// The amount read at once while searching.
const WINDOW: usize = 1 << 20;

impl OutputLog {
    /// Reads immediately. Data that is no longer in memory is read from files, which blocks: see [`OutputLog::read`].
    pub fn read_blocking(&self, query: &Query) -> Slice {
        let query = self.narrowed(query);
        match query.take {
            Take::First => self.first(&query),
            Take::Last => self.last(&query),
        }
    }

    /// Reads; disk access runs on a blocking thread.
    pub async fn read(&self, query: Query) -> Slice {
        let in_memory = query.range.start >= self.shared.state().ring.start();
        if in_memory {
            return self.read_blocking(&query);
        }
        let log = self.clone();
        let read = tokio::task::spawn_blocking(move || log.read_blocking(&query));
        // This fails only when the runtime is shutting down.
        read.await.unwrap_or_default()
    }

    /// Returns the lines for which `matches` is true, at most `limit` of them. A line is the output of one stream between two newlines, regardless of other
    /// streams' output meanwhile. Blocks. Ignores [`Query::max_bytes`] and [`Query::take`].
    pub fn search_blocking(
        &self,
        query: &Query,
        limit: usize,
        matches: &dyn Fn(&[u8]) -> bool,
    ) -> (Vec<FoundLine>, Cut) {
        let mut found: Vec<FoundLine> = Vec::new();
        let mut partial: [Option<FoundLine>; 3] = [None, None, None];
        let mut query = Query { max_bytes: WINDOW, take: Take::First, ..self.narrowed(query) };
        let mut missing = 0;
        loop {
            let slice = self.first(&query);
            missing += slice.missing;
            for piece in &slice.pieces {
                let pending = &mut partial[usize::from(piece.record.stream.number())];
                let mut offset = piece.record.offset;
                for part in piece.bytes.split_inclusive(|&byte| byte == b'\n') {
                    let ended = part.ends_with(b"\n");
                    let text = if ended { &part[..part.len() - 1] } else { part };
                    let (stream, eval) = (piece.record.stream, piece.record.eval);
                    let line = pending.get_or_insert_with(|| FoundLine { offset, stream, eval, line: Vec::new() });
                    line.line.extend_from_slice(&text[..text.len().min(LINE - line.line.len())]);
                    offset += part.len() as u64;
                    if let Some(line) = pending.take_if(|line| ended && matches(&line.line)) {
                        found.push(line);
                        if found.len() == limit {
                            return (found, Cut { next: offset, missing, more: true });
                        }
                    } else if ended {
                        *pending = None;
                    }
                }
            }
            query.range.start = slice.next;
            if !slice.cut {
                // An unfinished line is a line too.
                let unfinished = partial.into_iter().flatten().filter(|line| matches(&line.line));
                found.extend(unfinished.take(limit - found.len()));
                found.sort_by_key(|line| line.offset);
                return (found, Cut { next: slice.next, missing, more: false });
            }
        }
    }

    /// Returns the query, with its range narrowed to the possible range of its evaluation.
    fn narrowed(&self, query: &Query) -> Query {
        let mut query = query.clone();
        if let Some(Some(eval)) = query.eval {
            let state = self.shared.state();
            let end = state.ring.end();
            let too_old = state.evals_forgotten && state.evals.keys().next().is_some_and(|&first| eval < first);
            let (from, to) = match state.evals.get(&eval) {
                // It may be anywhere.
                _ if too_old || state.evals_partial => (0, end),
                Some(printed) => (printed.from, printed.to),
                None => (end, end),
            };
            let start = query.range.start.max(from).min(end);
            query.range = start..query.range.end.min(to).max(start);
        }
        query
    }

    /// Returns the number of matching bytes.
    fn count(&self, query: &Query) -> u64 {
        let mut total = 0;
        self.visit(&query.range, &mut |part| {
            if query.is_selected(&part.record) {
                total += part.record.len;
            }
            Ok(true)
        });
        total
    }

    fn first(&self, query: &Query) -> Slice {
        let mut slice = Slice::default();
        let mut left = query.max_bytes;
        let mut buffer = Vec::new();
        let (next, missing) = self.visit(&query.range, &mut |part| {
            if !query.is_selected(&part.record) {
                return Ok(true);
            }
            if left == 0 {
                slice.cut = true;
                slice.next = part.record.offset;
                return Ok(false);
            }
            let len = usize::try_from(part.record.len).unwrap_or(usize::MAX).min(left);
            buffer.clear();
            part.read(len, &mut buffer)?;
            let fits = len as u64 == part.record.len;
            if !fits {
                // Cut at a character boundary, unless that would leave nothing.
                let whole = text::whole_characters(&buffer);
                if whole > 0 || left < query.max_bytes {
                    buffer.truncate(whole);
                }
                slice.cut = true;
                slice.next = part.record.offset + buffer.len() as u64;
            }
            left -= buffer.len();
            if !buffer.is_empty() {
                slice.push(Record { len: buffer.len() as u64, ..part.record }, &buffer);
            }
            Ok(fits)
        });
        slice.missing = missing;
        if !slice.cut {
            slice.next = next;
        }
        slice
    }

    /// Searches backwards in growing steps, because matches may be rare.
    fn last(&self, query: &Query) -> Slice {
        let state = self.shared.state();
        let (oldest, end) = (state.oldest(), state.ring.end());
        drop(state);
        let range = query.range.start.min(end)..query.range.end.min(end);
        let wanted = query.max_bytes as u64;
        let mut step = wanted.saturating_mul(2).max(WINDOW as u64 / 4);
        let (mut from, mut total);
        loop {
            from = range.end.saturating_sub(step).max(range.start);
            total = self.count(&Query { range: from..range.end, ..query.clone() });
            if total >= wanted || from <= range.start.max(oldest) {
                break;
            }
            step = step.saturating_mul(4);
        }
        let mut over = total.saturating_sub(wanted);
        let cut = over > 0;
        let looked = from..range.end;
        self.visit(&looked, &mut |part| {
            if query.is_selected(&part.record) {
                from = part.record.offset + over.min(part.record.len);
                over = over.saturating_sub(part.record.len);
            }
            Ok(over > 0)
        });
        let from = if cut { from } else { looked.start };
        let rest = Query { range: from..range.end, max_bytes: usize::MAX, ..query.clone() };
        let mut slice = self.first(&rest);
        if cut {
            slice.cut = true;
            begin_with_a_character(&mut slice.pieces);
        } else {
            // Data further back is lost, not cut.
            slice.missing += self.visit(&(range.start..from), &mut |_| Ok(true)).1;
        }
        slice
    }

    /// Calls `each` with all records of the range, oldest first, until it returns false. Returns the offset it reached,
    /// and the number of lost bytes before it.
    fn visit(&self, range: &Range<u64>, each: &mut dyn FnMut(&Part<'_>) -> io::Result<bool>) -> (u64, u64) {
        let mut at = range.start;
        let mut missing = 0;
        loop {
            let state = self.shared.state();
            let end = range.end.min(state.ring.end());
            if at >= end {
                // A cursor beyond the end is clamped to the log's end.
                return (at.min(state.ring.end()), missing);
            }
            if at >= state.ring.start() {
                for record in state.ring.records(at..end) {
                    let part = Part { record, source: Source::Memory(&state) };
                    match each(&part) {
                        Ok(true) => at = record.end(),
                        _ => return (at, missing),
                    }
                }
                return (end, missing);
            }
            let index = state.segments.partition_point(|segment| segment.end() <= at);
            let segment = state.segments.get(index).filter(|segment| segment.base < end).cloned();
            let memory = state.ring.start().min(end);
            drop(state);
            let Some(segment) = segment else {
                missing += memory - at;
                at = memory;
                continue;
            };
            if segment.base > at {
                let here = segment.base.min(memory);
                missing += here - at;
                at = here;
                continue;
            }
            let part = at..segment.end().min(end);
            match self.visit_segment(&segment, &part, each) {
                Ok(true) => at = part.end,
                Ok(false) => return (at, missing),
                Err(error) => {
                    // The segment was dropped for age meanwhile, or the disk is broken: the bytes are lost either way.
                    tracing::debug!(base = segment.base, %error, "a segment of output could not be read");
                    missing += part.end - part.start;
                    at = part.end;
                }
            }
        }
    }

    fn visit_segment(
        &self,
        segment: &Segment,
        range: &Range<u64>,
        each: &mut dyn FnMut(&Part<'_>) -> io::Result<bool>,
    ) -> io::Result<bool> {
        let Some(directory) = &self.shared.directory else { return Ok(true) };
        let reader = segment.open(directory)?;
        let mut outcome = Ok(true);
        reader.visit_records(range, |record| {
            outcome = each(&Part { record, source: Source::Disk(&reader, segment.base) });
            !matches!(outcome, Ok(true))
        })?;
        outcome
    }
}

/// A record, and the location of its bytes.
struct Part<'a> {
    record: Record,
    source: Source<'a>,
}

enum Source<'a> {
    Memory(&'a State),
    Disk(&'a super::segment::Reader, u64),
}

impl Part<'_> {
    /// Appends its first bytes.
    fn read(&self, len: usize, into: &mut Vec<u8>) -> io::Result<()> {
        let from = self.record.offset;
        match self.source {
            Source::Memory(state) => {
                state.ring.copy(from..from + len as u64, into);
                Ok(())
            }
            Source::Disk(reader, base) => {
                let start = into.len();
                into.resize(start + len, 0);
                reader.bytes(from - base, &mut into[start..])
            }
        }
    }
}

/// Removes the rest of a character that was cut in two.
fn begin_with_a_character(pieces: &mut [Piece]) {
    let Some(first) = pieces.first_mut() else { return };
    let rest = first.bytes.iter().take(3).take_while(|&&byte| byte & 0xC0 == 0x80).count();
    if rest < first.bytes.len() {
        first.bytes.drain(..rest);
        first.record.offset += rest as u64;
        first.record.len -= rest as u64;
    }
}
