//! The rows of mail and of agents for the faces.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use project::dashboard::Rooms;

use super::Callers;

/// The rows of mail and of registered agents, read again after a change by this daemon, and regularly for other changes.
pub struct DashboardRows {
    callers: Arc<Callers>,
    /// The directory of the agents' names, which is created with the first one.
    identities: PathBuf,
    /// Counts the changes by this daemon.
    changes: Arc<AtomicU64>,
    /// The last rows, with the count and the time at which they were read.
    read: Mutex<Option<(u64, Instant, Rooms)>>,
}

impl DashboardRows {
    /// Creates the rows. `changes` counts the changes by this daemon, `identities` is the directory of the agents' names.
    pub fn new(callers: Arc<Callers>, identities: PathBuf, changes: Arc<AtomicU64>) -> DashboardRows {
        DashboardRows { callers, identities, changes, read: Mutex::default() }
    }

    /// The age up to which rows are used if nothing changed here.
    const FRESH: Duration = Duration::from_secs(2);

    /// Returns the rows. Opens a store that exists and is closed if `opens` is true.
    pub async fn read(self: Arc<Self>, opens: bool) -> Rooms {
        let mail = match self.callers.opened().await {
            None if opens && self.identities.exists() => self.callers.mail().await.ok(),
            opened => opened,
        };
        let Some(mail) = mail else { return Rooms::default() };
        let count = self.changes.load(Ordering::Relaxed);
        if let Some((_, _, rooms)) =
            self.read.lock().as_ref().filter(|(of, at, _)| *of == count && at.elapsed() < Self::FRESH)
        {
            return rooms.clone();
        }
        match mail.rows().await {
            Ok((agents, mail)) => {
                let rooms = Rooms { agents, mail, ..Rooms::default() };
                *self.read.lock() = Some((count, Instant::now(), rooms.clone()));
                rooms
            }
            // The last known rows, while the store is unavailable.
            Err(_) => self.read.lock().as_ref().map(|(.., rooms)| rooms.clone()).unwrap_or_default(),
        }
    }
}
