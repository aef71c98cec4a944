//! The daemon's log: JSON lines under the project's log directory, bounded in size.
//!
//! At most two files: `daemon.jsonl` and its predecessor. A line that cannot be written (full disk) is dropped; the
//! daemon never fails because of its log.

use parking_lot::Mutex;
use std::fmt;
use std::fs::{File, OpenOptions, Permissions, rename};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::registry::LookupSpan;

/// The name of the current file.
pub(crate) const FILE_NAME: &str = "daemon.jsonl";

/// Sends `tracing` to the log directory. `HOB_LOG` holds a filter such as `debug` or `repl=trace`; the default is
/// `info`. A file holds at most `limit` bytes, the log twice that. Later calls in the same process have no effect.
pub(crate) fn start(log_dir: &Path, limit: u64) -> io::Result<()> {
    let file = CappedFile::open(log_dir.join(FILE_NAME), limit)?;
    let filter = EnvFilter::try_from_env("HOB_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    // An error means that a subscriber is already set, which continues to work.
    let _ = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_env_filter(filter)
        .with_writer(Shared(Arc::new(Mutex::new(file))))
        // They would be printed, and a print that fails on the same full disk panics.
        .log_internal_errors(false)
        .try_init();
    Ok(())
}

/// Sends warnings to stderr, one sentence each: for a server without a daemon, whose agent keeps its stderr.
pub(crate) fn start_on_stderr() {
    let filter = EnvFilter::try_from_env("HOB_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    // As above, an earlier subscriber continues to work.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .log_internal_errors(false)
        .event_format(Sentence)
        .try_init();
}

/// The format of an event for a person: the event, its cause, and the details.
struct Sentence;

impl<S, N> FormatEvent<S, N> for Sentence
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut out: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let Fields { message, error, details } = fields;
        let details = if details.is_empty() { details } else { format!(" ({details})") };
        writeln!(out, "hob mcp: {}", project::visible(&format!("{message}{error}{details}")))
    }
}

/// The fields of an event, as text.
#[derive(Default)]
struct Fields {
    message: String,
    error: String,
    details: String,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            "error" => self.error = format!(": {value:?}"),
            name => {
                let comma = if self.details.is_empty() { "" } else { ", " };
                self.details.push_str(&format!("{comma}{name} {value:?}"));
            }
        }
    }
}

/// A file of whole lines that is rotated when it reaches its limit.
pub(crate) struct CappedFile {
    path: PathBuf,
    file: File,
    written: u64,
    limit: u64,
}

impl CappedFile {
    pub(crate) fn open(path: PathBuf, limit: u64) -> io::Result<CappedFile> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        let written = file.metadata()?.len();
        Ok(CappedFile { path, file, written, limit })
    }

    pub(crate) fn write_lines(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.written > 0 && self.written + lines.len() as u64 > self.limit {
            rename(&self.path, self.path.with_extension("previous.jsonl"))?;
            *self = CappedFile::open(self.path.clone(), self.limit)?;
        }
        self.file.write_all(lines)?;
        self.written += lines.len() as u64;
        Ok(())
    }
}

struct Shared(Arc<Mutex<CappedFile>>);

impl<'a> MakeWriter<'a> for Shared {
    type Writer = Line;
    fn make_writer(&'a self) -> Line {
        Line(Arc::clone(&self.0))
    }
}

struct Line(Arc<Mutex<CappedFile>>);

impl Write for Line {
    /// Writes one line: the JSON formatter passes one whole line per call.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write_lines(bytes)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_two_files_of_bounded_size() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join(FILE_NAME);
        let mut file = CappedFile::open(path.clone(), 100).expect("opens");
        for number in 0..50 {
            file.write_lines(format!("line number {number:03}\n").as_bytes()).expect("writes");
        }
        let sizes: Vec<u64> = [path.clone(), path.with_extension("previous.jsonl")]
            .iter()
            .map(|path| path.metadata().expect("exists").len())
            .collect();
        assert!(sizes.iter().all(|size| *size <= 100), "{sizes:?}");
        assert!(std::fs::read_to_string(&path).expect("text").ends_with("line number 049\n"));
    }
}
