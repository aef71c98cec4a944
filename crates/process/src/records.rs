//! Records of live sessions on disk, for the start after a crash in which the guardian died too.
//!
//! A process id alone is not sufficient to end a process: the machine's boot, the start time and the nonce must all agree.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::nonce::Nonce;
use crate::procfs::{Identity, Member, ProcessSet};

/// The record of a live session, written as `NONCE.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    boot: String,
    nonce: Nonce,
    pid: i32,
    start: u64,
    /// The process that started the session, and is responsible for it while it lives.
    owner: i32,
    owner_start: u64,
}

/// The result of [`sweep`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Records of sessions of this boot whose owner is gone.
    pub sessions: usize,
    /// Processes that were still running and were ended.
    pub ended: usize,
    /// Processes that could not be ended; their records stay.
    pub left: usize,
    /// Records that were kept because their owner is alive.
    pub spared: usize,
}

/// Ends the processes that an earlier daemon left running and removes its records. Call at the start, while holding the
/// project's lock. Blocks for some tens of milliseconds per orphaned session, up to 2 s for a stubborn one.
///
/// # Errors
/// When the directory exists and cannot be read. Records that cannot be read are removed; other files stay.
pub fn sweep(directory: &Path) -> io::Result<Swept> {
    let mut swept = Swept::default();
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(swept),
        other => other?,
    };
    let boot = system::boot_id();
    for entry in entries {
        let path = entry?.path();
        // Files that hob did not write must not be removed.
        if !is_record(&path) {
            continue;
        }
        let left = match Record::read(&path) {
            Some(record) if record.boot == boot && record.owner_lives() => {
                swept.spared += 1;
                continue;
            }
            Some(record) if record.boot == boot => {
                swept.sessions += 1;
                let identity =
                    Identity { nonce: record.nonce, leader: Some((record.pid, record.start)), since: record.start };
                let (ended, left) = identity.end(ProcessSet::new(), Duration::from_millis(300), Duration::from_secs(2));
                swept.ended += ended;
                left
            }
            _ => 0,
        };
        swept.left += left;
        if left == 0 {
            remove(&path);
        }
    }
    Ok(swept)
}

/// Returns true if the file's name has the form that [`Record::write`] uses.
fn is_record(path: &Path) -> bool {
    let name = path.file_stem().and_then(|stem| stem.to_str());
    path.extension().is_some_and(|extension| extension == "json")
        && name.is_some_and(|name| name.parse::<Nonce>().is_ok())
        && path.symlink_metadata().is_ok_and(|metadata| metadata.is_file())
}

impl Record {
    pub(crate) fn from_identity(identity: &Identity) -> Record {
        let me = std::process::id().cast_signed();
        let (pid, start) = identity.leader.unwrap_or_default();
        Record {
            boot: system::boot_id(),
            nonce: identity.nonce.clone(),
            pid,
            start,
            owner: me,
            owner_start: Member::read(me).map_or(0, |member| member.start),
        }
    }

    /// Writes the record atomically; returns its file.
    pub(crate) fn write(&self, directory: &Path) -> io::Result<PathBuf> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let path = directory.join(format!("{}.json", self.nonce));
        let unfinished = directory.join(format!("{}.new", self.nonce));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        options.open(&unfinished)?.write_all(&serde_json::to_vec(self)?)?;
        std::fs::rename(&unfinished, &path)?;
        Ok(path)
    }

    fn read(path: &Path) -> Option<Record> {
        let mut bytes = Vec::new();
        std::fs::File::open(path).ok()?.take(64 << 10).read_to_end(&mut bytes).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    fn owner_lives(&self) -> bool {
        let owner = Member::read(self.owner);
        owner.is_some_and(|found| found.start == self.owner_start && !found.is_zombie())
    }
}

pub(crate) fn remove(path: &Path) {
    if let Err(error) = std::fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "removing a session record failed");
    }
}
