//! A wire tap: records every message of a connection in a file, to show a client's actual behaviour. Off unless the
//! embedder enables it.

use parking_lot::Mutex;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Writes the lines of connections to a file: `>` from the client, `<` from the server, with the seconds since the tap
/// was opened. Messages may be secret, so only the owner can read the file. Writing blocks the connection for as long
/// as the file system takes: a tap is for debugging, not for production.
#[derive(Clone)]
pub struct Tap(Arc<Mutex<Inner>>);

struct Inner {
    /// Closed when the limit is reached or writing failed.
    file: Option<File>,
    left: u64,
    began: Instant,
}

impl Tap {
    /// Opens a tap that appends at most `limit` bytes to a file, and creates the file if needed.
    pub fn open(path: &Path, limit: u64) -> io::Result<Tap> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        Ok(Tap(Arc::new(Mutex::new(Inner { file: Some(file), left: limit, began: Instant::now() }))))
    }

    pub(super) fn line(&self, mark: char, line: &[u8]) {
        let mut inner = self.0.lock();
        let elapsed = inner.began.elapsed();
        if let Err(error) = inner.write(mark, line, elapsed) {
            inner.file = None;
            tracing::warn!(%error, "the wire tap failed and is closed");
        }
    }
}

impl Inner {
    fn write(&mut self, mark: char, line: &[u8], elapsed: Duration) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut text = format!("{:.3} {mark} ", elapsed.as_secs_f64()).into_bytes();
        text.extend_from_slice(line);
        text.push(b'\n');
        if text.len() as u64 > self.left {
            file.write_all(b"the limit is reached: the rest is left out\n")?;
            self.file = None;
            return Ok(());
        }
        self.left -= text.len() as u64;
        file.write_all(&text)
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tap")
    }
}

/// Cuts one connection's output, written in pieces of any size, into lines for the tap.
pub(super) struct TappedOutput {
    tap: Tap,
    /// A line that is not complete yet.
    partial: Vec<u8>,
}

impl TappedOutput {
    pub(super) fn new(tap: Tap) -> TappedOutput {
        TappedOutput { tap, partial: Vec::new() }
    }

    pub(super) fn wrote(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.partial.extend_from_slice(&bytes[..end]);
            self.tap.line('<', &self.partial);
            self.partial.clear();
            bytes = &bytes[end + 1..];
        }
        self.partial.extend_from_slice(bytes);
    }
}
