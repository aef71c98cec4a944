//! Hand-over notes: messages for the next agent on the same branch. The last twenty notes of each branch are kept, one file
//! per branch, in the project's state directory.
//!
//! A note is leased to the run that it is shown to. The run's next call or event confirms delivery. If the answer was lost,
//! the note will be shown again.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mcp::tool::Context;
use parking_lot::Mutex;
use project::{Caller, Role, hash_of, journal, private};
use serde::{Deserialize, Serialize};

/// The limit of a note, in bytes.
pub const NOTE_MAX: usize = 8 * 1024;
/// The number of notes kept per branch.
const KEPT: usize = 20;
/// The number of runs remembered as readers of a note.
const READERS: usize = 50;
/// The size limit of a file: JSON escapes a byte to at most six bytes.
const FILE_MAX: u64 = (KEPT * (6 * NOTE_MAX + 64 * 1024)) as u64;
/// The minimum time between an answer and another result to the same run that confirms its delivery.
const ARRIVED: Duration = Duration::from_secs(1);

/// The branch or directory that notes belong to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteTarget {
    /// A branch of the repository, in any worktree. During a rebase or bisect, the branch on which it began.
    Branch(String),
    /// A directory, if HEAD is detached or there is no repository.
    Directory(PathBuf),
}

/// A note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub id: u64,
    pub at_ms: u64,
    /// The author's name, or a description if the name is unknown.
    pub author: String,
    /// The run of the agent that wrote the note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    pub text: String,
    /// The commit of the base branch when the note was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The runs that have received the note.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_by: Vec<String>,
}

/// The file format: the notes of one branch or directory.
#[derive(Debug, Serialize, Deserialize)]
struct File {
    place: NoteTarget,
    notes: Vec<Note>,
}

/// The notes of a project.
pub struct Notes {
    directory: PathBuf,
    prepare: Box<dyn Fn() -> io::Result<()> + Send + Sync>,
    /// Held while a file is being changed.
    changing: Mutex<()>,
    /// Notes that were shown but not confirmed, by run.
    leases: Mutex<HashMap<String, Lease>>,
}

struct Lease {
    place: NoteTarget,
    note: u64,
    connection: u64,
    cx: Context,
    since: Instant,
}

impl Notes {
    /// Opens the notes in a directory; `prepare` creates its parent.
    pub fn new(directory: PathBuf, prepare: Box<dyn Fn() -> io::Result<()> + Send + Sync>) -> Notes {
        Notes { directory, prepare, changing: Mutex::default(), leases: Mutex::default() }
    }

    /// Returns the notes of a branch or directory, oldest first.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn read(&self, place: &NoteTarget) -> io::Result<Vec<Note>> {
        let Some(bytes) = private::read(&self.path(place), FILE_MAX)? else { return Ok(Vec::new()) };
        let file: File = serde_json::from_slice(&bytes).map_err(|error| {
            let path = project::visible::path(&self.path(place));
            io::Error::new(io::ErrorKind::InvalidData, format!("{path} is corrupt ({error}); move it away"))
        })?;
        Ok(file.notes)
    }

    /// Appends a note by this caller, and returns the number of notes.
    ///
    /// # Errors
    /// Returns an error if the note cannot be written; the earlier notes are kept.
    pub fn keep(&self, place: &NoteTarget, caller: &Caller, text: &str, base: Option<String>) -> io::Result<usize> {
        let author = match (&caller.name, caller.role) {
            (Some(name), _) => name.trim_start_matches('@').to_owned(),
            (None, Role::Mcp) => "an agent without a name".to_owned(),
            (None, Role::Control) => "the command line".to_owned(),
        };
        self.change(place, |notes| {
            let id = notes.last().map_or(1, |last| last.id + 1);
            let (at_ms, run, text) = (journal::now(), caller.run.clone(), text.to_owned());
            notes.push(Note { id, at_ms, author, run, text, base, read_by: Vec::new() });
            notes.drain(..notes.len().saturating_sub(KEPT));
            notes.len()
        })
    }

    fn change<T>(&self, place: &NoteTarget, change: impl FnOnce(&mut Vec<Note>) -> T) -> io::Result<T> {
        let _changing = self.changing.lock();
        (self.prepare)()?;
        let mut notes = self.read(place)?;
        let changed = change(&mut notes);
        let bytes = serde_json::to_vec(&File { place: place.clone(), notes })?;
        private::replace(&self.path(place), &bytes)?;
        Ok(changed)
    }

    /// Records that the answer to this call shows a note to its run.
    pub fn shows(&self, cx: &Context, caller: &Caller, place: &NoteTarget, note: &Note) {
        let Some(run) = &caller.run else { return };
        if !note.read_by.contains(run) {
            let (place, connection, cx) = (place.clone(), caller.connection, cx.clone());
            let lease = Lease { place, note: note.id, connection, cx, since: Instant::now() };
            self.leases.lock().insert(run.clone(), lease);
        }
    }

    /// Confirms delivery to the caller's run, by a new call or by another result sent to it, unless the earlier answer was
    /// cancelled or lost.
    pub fn confirm_delivery(&self, caller: &Caller, by_a_new_call: bool) {
        let Some(run) = &caller.run else { return };
        let mut leases = self.leases.lock();
        let Some(lease) = leases.get(run) else { return };
        if !by_a_new_call && lease.since.elapsed() < ARRIVED {
            return;
        }
        let was_lost = lease.cx.is_cancelled() || (caller.connection != lease.connection && caller.answers_lost);
        let Some(lease) = leases.remove(run) else { return };
        drop(leases);
        if was_lost {
            return;
        }
        let marked = self.change(&lease.place, |notes| {
            if let Some(note) = notes.iter_mut().find(|note| note.id == lease.note && !note.read_by.contains(run)) {
                note.read_by.push(run.clone());
                note.read_by.drain(..note.read_by.len().saturating_sub(READERS));
            }
        });
        // The note will be shown again.
        if let Err(error) = marked {
            tracing::warn!(%error, run, "note that a hand-over note arrived");
        }
    }

    /// Records that the answer to this run was lost, so that its note is shown again.
    pub fn record_lost_answer(&self, run: &str) {
        self.leases.lock().remove(run);
    }

    /// True if there are no notes at all.
    pub fn is_empty(&self) -> bool {
        std::fs::read_dir(&self.directory).map_or(true, |mut entries| entries.next().is_none())
    }

    fn path(&self, place: &NoteTarget) -> PathBuf {
        let name = match place {
            NoteTarget::Branch(name) => hash_of(Path::new(&format!("branch {name}"))),
            NoteTarget::Directory(path) => {
                hash_of(&Path::new("directory").join(path.strip_prefix("/").unwrap_or(path)))
            }
        };
        self.directory.join(name + ".json")
    }
}
