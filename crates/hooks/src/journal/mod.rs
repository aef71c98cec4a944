//! The journal of hook events in `hooks.jsonl`: one line for each event, its decision with the reason, and the answer.
//!
//! A line is written before its answer is sent. The journal is bounded in bytes and days. A partial line after a crash is
//! removed when the file is next opened. [`Log`] writes, [`lines`] reads.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::agents::{Rendered, Verdict};
use crate::event::Kind;
use crate::policy::{Facts, Matched};

/// The name of the file in the project's log directory.
pub const FILE: &str = "hooks.jsonl";
const PREVIOUS: &str = "hooks.previous.jsonl";

/// The maximum size of both files together in bytes, and the time after which a new file is started.
const BYTES_MAX: u64 = 256 * 1024 * 1024;
const SPAN_MS: u64 = 7 * 24 * 3600 * 1000;

/// A recorded event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The number, which continues after a restart of the daemon.
    pub number: u64,
    /// The time in milliseconds since 1970.
    pub at_ms: u64,
    pub agent: String,
    /// The event's own name.
    pub event: String,
    pub kind: Kind,
    /// The event of the command line.
    pub named: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The working directory of the hook. The next field is its worktree.
    pub cwd: PathBuf,
    pub worktree: PathBuf,
    /// The payload.
    pub raw: Raw,
    #[serde(default, skip_serializing_if = "Facts::is_empty")]
    pub facts: Facts,
    /// The hash of the rules in force.
    pub policy: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matched: Vec<Matched>,
    pub verdict: Verdict,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    pub answer: Rendered,
    /// The sources that added to the agent's context.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    /// The outcome of holding an agent at its turn's end, or of a question to a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// The reason why no daemon decided on it, if so: the hook failed open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<String>,
    /// The time from the event's arrival to this line, in microseconds.
    pub micros: u64,
}

/// A payload in its exact bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Raw {
    /// A line of JSON, which nearly all payloads are. It is copied into the journal's line.
    Json(Box<RawValue>),
    /// A line of JSON with a line break at its end, as Claude Code sends it.
    JsonLine(Box<RawValue>),
    /// Another UTF-8 text.
    Text(String),
    /// Bytes that are not UTF-8.
    Hex(String),
    /// The SHA-256 of a payload that is not stored.
    Digest(String),
}

impl Raw {
    /// Creates the payload from its bytes.
    pub fn new(bytes: Vec<u8>) -> Raw {
        match String::from_utf8(bytes) {
            Ok(text) => match project::json_line(&text) {
                Some((json, false)) => Raw::Json(json.to_owned()),
                Some((json, true)) => Raw::JsonLine(json.to_owned()),
                None => Raw::Text(text),
            },
            Err(error) => Raw::Hex(hex::encode(error.as_bytes())),
        }
    }

    /// Creates the hash of these bytes.
    pub fn digest_of(bytes: &[u8]) -> Raw {
        Raw::Digest(hex::encode(Sha256::digest(bytes)))
    }

    /// Returns the approximate number of stored bytes.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        match self {
            Raw::Json(json) | Raw::JsonLine(json) => json.get().len(),
            Raw::Text(text) | Raw::Hex(text) | Raw::Digest(text) => text.len(),
        }
    }

    /// Returns the bytes without the line break of [`Raw::JsonLine`], if they are stored. Copies only [`Raw::Hex`].
    pub fn content(&self) -> Option<Cow<'_, [u8]>> {
        match self {
            Raw::JsonLine(json) => Some(json.get().as_bytes().into()),
            raw => raw.bytes(),
        }
    }

    /// Returns the bytes, if they are stored.
    pub fn bytes(&self) -> Option<Cow<'_, [u8]>> {
        match self {
            Raw::Json(json) => Some(json.get().as_bytes().into()),
            Raw::JsonLine(json) => Some([json.get().as_bytes(), b"\n"].concat().into()),
            Raw::Text(text) => Some(text.as_bytes().into()),
            Raw::Hex(hex) => hex::decode(hex).ok().map(Cow::from),
            Raw::Digest(_) => None,
        }
    }
}

impl PartialEq for Raw {
    fn eq(&self, other: &Raw) -> bool {
        match (self, other) {
            (Raw::Digest(one), Raw::Digest(other)) => one == other,
            _ => self.bytes().is_some_and(|bytes| Some(bytes) == other.bytes()),
        }
    }
}

/// The open journal.
#[derive(Debug)]
pub struct Log {
    directory: PathBuf,
    file: File,
    bytes: u64,
    /// The time of the file's first line.
    since_ms: u64,
    last: u64,
    limit: u64,
}

impl Log {
    /// Opens the journal in an existing log directory. Also returns the number of bytes of a partial line that were
    /// removed.
    pub fn open(directory: &Path) -> io::Result<(Log, u64)> {
        Log::open_with(directory, BYTES_MAX)
    }

    fn open_with(directory: &Path, limit: u64) -> io::Result<(Log, u64)> {
        let path = directory.join(FILE);
        let file = open(&path)?;
        let bytes = file.metadata()?.len();
        let whole = whole_bytes(&file, bytes)?;
        if whole < bytes {
            file.set_len(whole)?;
        }
        let mut log = Log {
            directory: directory.to_owned(),
            file,
            bytes: whole,
            since_ms: project::journal::now(),
            last: 0,
            limit,
        };
        if let Some(first) = lines_of(&path).ok().and_then(|mut lines| lines.next()) {
            log.since_ms = first.at_ms;
        }
        log.last = last_line(&path, whole)
            .or_else(|| lines_of(&directory.join(PREVIOUS)).ok()?.last())
            .map_or(0, |line| line.number);
        Ok((log, bytes - whole))
    }

    /// Writes a line and assigns its number.
    pub fn write(&mut self, line: &mut Line) -> io::Result<()> {
        line.number = self.last + 1;
        let mut text = serde_json::to_vec(&*line)?;
        text.push(b'\n');
        let is_over =
            self.bytes + text.len() as u64 > self.limit / 2 || line.at_ms.saturating_sub(self.since_ms) > SPAN_MS;
        if is_over && self.bytes > 0 {
            fs::rename(self.directory.join(FILE), self.directory.join(PREVIOUS))?;
            self.file = open(&self.directory.join(FILE))?;
            (self.bytes, self.since_ms) = (0, line.at_ms);
        }
        if let Err(error) = self.file.write_all(&text) {
            // A partial line is removed.
            let _ = self.file.set_len(self.bytes);
            return Err(error);
        }
        self.bytes += text.len() as u64;
        self.last = line.number;
        Ok(())
    }

    /// Returns a handle for flushing the file to disk.
    pub fn handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}

/// Returns the lines in a log directory, the oldest first. Invalid lines are skipped.
pub fn lines(directory: &Path) -> impl Iterator<Item = Line> {
    let files = [directory.join(PREVIOUS), directory.join(FILE)];
    files.into_iter().filter_map(|path| lines_of(&path).ok()).flatten()
}

fn lines_of(path: &Path) -> io::Result<impl Iterator<Item = Line> + use<>> {
    let lines = BufReader::new(project::regular::open(path)?).split(b'\n').map_while(Result::ok);
    Ok(lines.filter_map(|line| serde_json::from_slice(&line).ok()))
}

fn open(path: &Path) -> io::Result<File> {
    let nofollow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).custom_flags(nofollow).open(path)?;
    if !file.metadata()?.is_file() {
        // Opening a pipe without a reader would block every event.
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if file.metadata()?.mode() & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// Returns the number of bytes in complete lines.
fn whole_bytes(mut file: &File, bytes: u64) -> io::Result<u64> {
    let mut end = bytes;
    let mut block = vec![0; 64 * 1024];
    while end > 0 {
        let begin = end.saturating_sub(block.len() as u64);
        let length = usize::try_from(end - begin).unwrap_or(block.len());
        file.seek(SeekFrom::Start(begin))?;
        file.read_exact(&mut block[..length])?;
        if let Some(at) = block[..length].iter().rposition(|byte| *byte == b'\n') {
            return Ok(begin + at as u64 + 1);
        }
        end = begin;
    }
    Ok(0)
}

/// Returns the last line of a file of complete lines.
fn last_line(path: &Path, bytes: u64) -> Option<Line> {
    let mut file = project::regular::open(path).ok()?;
    let mut take = 64 * 1024;
    loop {
        let begin = bytes.saturating_sub(take);
        file.seek(SeekFrom::Start(begin)).ok()?;
        let mut text = Vec::new();
        Read::by_ref(&mut file).take(bytes - begin).read_to_end(&mut text).ok()?;
        let text = text.strip_suffix(b"\n").unwrap_or(&text);
        match text.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => return serde_json::from_slice(&text[at + 1..]).ok(),
            None if begin == 0 => return serde_json::from_slice(text).ok(),
            None => take *= 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(raw: &str) -> Line {
        Line {
            number: 0,
            at_ms: project::journal::now(),
            agent: "claude".into(),
            event: "PreToolUse".into(),
            kind: Kind::ToolBefore,
            named: "PreToolUse".into(),
            session: None,
            cwd: "/p".into(),
            worktree: "/p".into(),
            raw: Raw::new(raw.as_bytes().to_vec()),
            facts: Facts::new(),
            policy: String::new(),
            matched: Vec::new(),
            verdict: Verdict::Pass,
            rule: None,
            answer: Rendered::default(),
            added: Vec::new(),
            outcome: None,
            missed: None,
            micros: 1,
        }
    }

    #[test]
    fn cut_at_any_byte_it_is_read_up_to_its_last_whole_line() {
        let temp = tempfile::tempdir().unwrap();
        let (mut log, cut) = Log::open(temp.path()).unwrap();
        assert_eq!(cut, 0);
        for raw in ["{\"a\": \"\\n\"}\n", "", "ä"] {
            log.write(&mut line(raw)).unwrap();
        }
        let path = temp.path().join(FILE);
        let whole = fs::read(&path).unwrap();
        let ends: Vec<usize> =
            whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
        for length in 0..=whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let count = ends.iter().filter(|end| **end <= length).count();
            let (mut log, cut) = Log::open(temp.path()).unwrap();
            let kept = ends[..count].last().copied().unwrap_or(0);
            assert_eq!(cut as usize, length - kept, "{length}");
            assert_eq!(lines(temp.path()).count(), count);
            let mut next = line("x");
            log.write(&mut next).unwrap();
            assert_eq!(next.number, count as u64 + 1, "{length}");
        }
        let mode = path.metadata().unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn it_is_bounded_and_its_numbers_go_on() {
        let temp = tempfile::tempdir().unwrap();
        let (mut log, _) = Log::open_with(temp.path(), 20_000).unwrap();
        for _ in 0..200 {
            log.write(&mut line("{}")).unwrap();
        }
        let bytes: u64 = fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
        assert!(bytes <= 20_000, "{bytes}");
        let numbers: Vec<u64> = lines(temp.path()).map(|line| line.number).collect();
        assert!(numbers.len() > 20 && numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
        let (mut log, _) = Log::open_with(temp.path(), 20_000).unwrap();
        let mut next = line("{}");
        log.write(&mut next).unwrap();
        assert_eq!(next.number, 201);
    }

    #[test]
    fn payloads_are_kept_byte_for_byte() {
        let texts = [
            "{}",
            "",
            "ä\u{7f}\r\n",
            "{} ",
            "{\"a\": 1}\n",
            "{}\n\n",
            " {}",
            "{\"a\":\n1}",
            "{\"a\" : 1.0e999,\t\"a\":\"\\u0000\"}",
            "{\"a\":}",
            "[1]",
        ];
        let texts = texts.map(str::as_bytes).into_iter().chain([&b"\xff\x00"[..]]);
        for bytes in texts {
            let kept = serde_json::to_string(&Raw::new(bytes.to_vec())).unwrap();
            assert_eq!(serde_json::from_str::<Raw>(&kept).unwrap().bytes().as_deref(), Some(bytes));
        }
    }
}
