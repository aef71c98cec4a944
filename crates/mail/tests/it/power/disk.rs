//! A disk that distinguishes written from synced data, and shows its contents after a power failure.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use testkit::Random;

/// The unit that a power failure never tears: a write may survive in part, but only in whole sectors.
const SECTOR: usize = 512;

/// An event on the disk; events are kept in order.
#[derive(Clone)]
pub(super) enum Event {
    Write {
        file: PathBuf,
        at: usize,
        bytes: Vec<u8>,
    },
    Truncate {
        file: PathBuf,
        length: usize,
    },
    Sync {
        file: PathBuf,
    },
    Removed {
        file: PathBuf,
    },
    /// A send was acknowledged, with the number of its mailboxes.
    Acknowledged {
        id: String,
        recipients: usize,
    },
}

/// The events in one folder. The VFS ([`super::vfs`]) records them until the test has enough.
pub(super) struct Disk {
    pub(super) folder: PathBuf,
    /// `None` once recording has stopped.
    events: Mutex<Option<Vec<Event>>>,
    /// True if commits behave as with `PRAGMA synchronous = NORMAL`, whatever the store sets.
    pub(super) is_hasty: bool,
}

impl Disk {
    /// Returns a disk that records its events.
    pub(super) fn watched(folder: &Path, is_hasty: bool) -> Arc<Disk> {
        Arc::new(Disk { folder: folder.to_owned(), events: Mutex::new(Some(Vec::new())), is_hasty })
    }

    /// Returns a disk that only skips syncs.
    pub(super) fn unwatched(folder: &Path) -> Arc<Disk> {
        Arc::new(Disk { folder: folder.to_owned(), events: Mutex::new(None), is_hasty: false })
    }

    pub(super) fn saw(&self, event: Event) {
        if let Some(events) = &mut *self.events.lock() {
            events.push(event);
        }
    }

    /// Stops recording; returns all events.
    pub(super) fn end(&self) -> Vec<Event> {
        self.events.lock().take().unwrap_or_default()
    }
}

/// A file's synced contents, and the later writes.
#[derive(Clone, Default)]
struct File {
    /// `None` if the file is absent.
    durable: Option<Vec<u8>>,
    /// Unsynced events, in order; each survives or is lost independently.
    pending: Vec<Event>,
    /// True if the file was removed, which is not on disk yet either.
    is_removed: bool,
}

impl File {
    fn synced(&mut self) {
        let content = self.durable.get_or_insert_with(Vec::new);
        self.pending.drain(..).for_each(|event| apply(content, &event));
    }
}

fn apply(content: &mut Vec<u8>, event: &Event) {
    match event {
        Event::Write { at, bytes, .. } => {
            content.resize(content.len().max(at + bytes.len()), 0);
            content[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        Event::Truncate { length, .. } => content.resize(*length, 0),
        _ => {}
    }
}

/// The files of a folder, event by event.
#[derive(Clone, Default)]
pub(super) struct Files(BTreeMap<PathBuf, File>);

/// The files found after a power failure, by name.
pub(super) type SurvivingFiles = BTreeMap<PathBuf, Vec<u8>>;

impl Files {
    /// Returns the files after a power failure, all of them on disk.
    pub(super) fn after(left: &SurvivingFiles) -> Files {
        let file = |content: &Vec<u8>| File { durable: Some(content.clone()), ..File::default() };
        Files(left.iter().map(|(name, content)| (name.clone(), file(content))).collect())
    }

    pub(super) fn happened(&mut self, event: &Event) {
        let name = match event {
            Event::Write { file, .. }
            | Event::Truncate { file, .. }
            | Event::Sync { file }
            | Event::Removed { file } => file.file_name().map(PathBuf::from).unwrap_or_default(),
            Event::Acknowledged { .. } => return,
        };
        let file = self.0.entry(name).or_default();
        match event {
            Event::Sync { .. } => file.synced(),
            Event::Removed { .. } => (file.pending, file.is_removed) = (Vec::new(), true),
            // A new file with that name: the former one is lost permanently.
            _ if file.is_removed => *file = File { pending: vec![event.clone()], ..File::default() },
            _ => file.pending.push(event.clone()),
        }
    }

    /// Returns true if anything is unsynced.
    pub(super) fn has_pending(&self) -> bool {
        self.0.values().any(|file| !file.pending.is_empty())
    }

    /// Returns the power fails: of the unsynced events, none survive, or all, or some, as whole writes or some of their
    /// sectors.
    pub(super) fn cut(&self, random: &mut Random) -> SurvivingFiles {
        let (keep, tears) = (random.below(6), random.below(2) == 0);
        let mut survives = || random.below(5) < keep;
        let mut left = SurvivingFiles::new();
        for (name, file) in &self.0 {
            if file.is_removed && survives() {
                continue;
            }
            let mut content = file.durable.clone();
            for event in &file.pending {
                let content = content.get_or_insert_with(Vec::new);
                match event {
                    Event::Write { file, at, bytes } if tears => {
                        let (mut from, end) = (*at, at + bytes.len());
                        while from < end {
                            let to = ((from / SECTOR + 1) * SECTOR).min(end);
                            let piece = bytes[from - at..to - at].to_vec();
                            if survives() {
                                apply(content, &Event::Write { file: file.clone(), at: from, bytes: piece });
                            }
                            from = to;
                        }
                    }
                    event if survives() => apply(content, event),
                    _ => {}
                }
            }
            left.extend(content.map(|content| (name.clone(), content)));
        }
        left
    }
}
