//! The record of the location of a project's mail: a small file next to the identities, writable only by its owner.
//! Mail in the project's own file needs no record.

use std::io;
use std::path::Path;

use project::private;
use project::visible::cause;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;

const FILE: &str = "mail-place.json";
/// The longest record, in bytes.
const LONGEST: u64 = 16 * 1024;

/// Where the mail is, and which place was refused if a person decided that the mail stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    #[serde(flatten)]
    pub place: Location,
    /// The place that was configured when a person decided that the mail stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<Location>,
}

/// A store, and the space in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    pub store: Kind,
    /// The database's address, without a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The database's id, which is the same under any address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub space: String,
    /// The space's name for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub called: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The project's own file.
    File,
    Database,
}

impl Note {
    /// Returns true if a person decided that the mail stays here although `now` is configured.
    pub fn is_kept_from(&self, now: &Location) -> bool {
        let is_same =
            |place: &Location| (place.store, &place.address, &place.space) == (now.store, &now.address, &now.space);
        // A database that is kept must be available.
        let is_at_hand = self.place.store == Kind::File || self.place.address == now.address;
        self.instead_of.as_ref().is_some_and(is_same) && is_at_hand
    }
}

pub(super) fn read(dir: &Path) -> Result<Option<Note>, StoreError> {
    let path = dir.join(FILE);
    let strange = |what| {
        let next = "It records where this project's mail is. Restore it; or, if you know that the mail is in the \
                    configured place, delete it.";
        Err(StoreError::Strange { path: path.clone(), what, next: next.to_owned() })
    };
    let bytes = match private::read(&path, LONGEST) {
        Ok(Some(bytes)) => bytes,
        Ok(None) if path.symlink_metadata().is_err() => return Ok(None),
        Ok(None) => return strange("is not a file of yours that only you can read (chmod 600)"),
        Err(error) => {
            return Err(StoreError::Away { reason: format!("cannot read {}: {}", path.display(), cause(&error)) });
        }
    };
    match serde_json::from_slice(&bytes) {
        Ok(note) => Ok(Some(note)),
        Err(_) => strange("was not written by hob"),
    }
}

pub(super) fn write(dir: &Path, note: &Note) -> Result<(), StoreError> {
    let path = dir.join(FILE);
    let text = serde_json::to_vec_pretty(note).map_err(|error| StoreError::Failed { reason: error.to_string() })?;
    private::replace(&path, &text).map_err(|error| cannot_write(&path, &error))
}

fn cannot_write(path: &Path, error: &io::Error) -> StoreError {
    let reason = format!("cannot write {}: {}", path.display(), cause(error));
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::DiskFull,
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => StoreError::ReadOnly { reason },
        _ => StoreError::Away { reason },
    }
}
