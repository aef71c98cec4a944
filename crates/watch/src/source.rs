//! One inotify instance, by notify: a watch for each directory that is not ignored, and the cookie.
//!
//! What notify does behind our back, and why that is right: it watches by path, so that a directory swapped for a link in
//! the right moment is watched elsewhere, and it takes the watches of a path away that moved or went, even if something new
//! stands there and is watched. Either leaves an event of that very path behind in the queue, and each event of a directory
//! that came, went or moved makes us watch and scan all of it again ([`crate::event_loop`]). What is looked at never goes
//! through a link ([`crate::files`]), so a watch elsewhere tells nothing but when to look.
//!
//! The cookie is a file without a name: made in the temporary directory, watched, and unlinked before anybody works with it.
//! The kernel queues events of one instance in the order in which they happened, whatever the file system, so when the
//! cookie's own event arrives, all earlier ones have. No file in the checkout, where git, compilers and other watchers
//! would see it; none in a directory outside, where a crash leaves it behind and a cleaner of old files takes it away.

use std::collections::HashSet;
use std::fs::File;
use std::io::ErrorKind as Io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::event::{EventKind, ModifyKind};
use notify::{ErrorKind, RecursiveMode, Watcher};

use crate::files;
use crate::inbox::{self, Inbox};
use crate::mode::Why;

pub(crate) struct Source {
    watcher: notify::INotifyWatcher,
    root: PathBuf,
    watched: HashSet<PathBuf>,
    limit: usize,
    cookie: Option<File>,
}

impl Source {
    pub(crate) fn start(root: &Path, limit: usize, inbox: &Arc<Inbox>, epoch: u64) -> Result<Self, Why> {
        let cookie = tempfile::NamedTempFile::with_prefix(format!("hob-watch-{}-", std::process::id()));
        let cookie = cookie.inspect_err(|error| tracing::warn!(%error, "no cookie: each sync is a full scan")).ok();
        let cookie_path = cookie.as_ref().map(|cookie| cookie.path().to_path_buf());
        let handler = handler(root.to_path_buf(), cookie_path.clone(), inbox.clone(), epoch);
        let watcher = notify::INotifyWatcher::new(handler, notify::Config::default()).map_err(|error| why(&error))?;
        let (root, watched) = (root.to_path_buf(), HashSet::new());
        let mut source = Self { watcher, root, watched, limit, cookie: None };
        if let Some((cookie, path)) = cookie.zip(cookie_path) {
            source.ask(|watcher| watcher.watch(&path, RecursiveMode::NonRecursive))?;
            // Dropping the path unlinks it.
            source.cookie = Some(cookie.into_file());
        }
        Ok(source)
    }

    /// Watches a directory, or watches it again. One that is gone or may not be read is left: its parent's events say when
    /// that changes.
    pub(crate) fn watch(&mut self, dir: &Path) -> Result<(), Why> {
        if !self.watched.contains(dir) && self.watched.len() >= self.limit {
            return Err(Why::MaxWatches { limit: self.limit });
        }
        let path = files::absolute(&self.root, dir);
        if self.ask(|watcher| watcher.watch(&path, RecursiveMode::NonRecursive))? {
            self.watched.insert(dir.to_path_buf());
        }
        Ok(())
    }

    /// For a directory that is ignored now, or that went: notify then knows it already.
    pub(crate) fn unwatch(&mut self, dir: &Path) {
        if self.watched.remove(dir) {
            let path = files::absolute(&self.root, dir);
            let _ = self.ask(|watcher| watcher.unwatch(&path));
        }
    }

    /// Whether a cookie is on its way. An event of its own kind: unlinking said `ATTRIB`, this says `MODIFY`.
    pub(crate) fn send_cookie(&self) -> bool {
        self.cookie.as_ref().is_some_and(|file| rustix::fs::ftruncate(file, 0).is_ok())
    }

    /// Whether notify did it; an error if it can do nothing more at all. notify panics if its thread is gone.
    fn ask(&mut self, what: impl FnOnce(&mut notify::INotifyWatcher) -> notify::Result<()>) -> Result<bool, Why> {
        let answer = catch_unwind(AssertUnwindSafe(|| what(&mut self.watcher)));
        let answer = answer.map_err(|_| Why::Inotify { error: "notify's thread ended".to_owned() })?;
        let Err(error) = answer else { return Ok(true) };
        match &error.kind {
            ErrorKind::PathNotFound | ErrorKind::WatchNotFound => Ok(false),
            ErrorKind::Io(io) if matches!(io.kind(), Io::NotFound | Io::PermissionDenied | Io::NotADirectory) => {
                Ok(false)
            }
            _ => Err(why(&error)),
        }
    }
}

fn why(error: &notify::Error) -> Why {
    match error.kind {
        ErrorKind::MaxFilesWatch => Why::KernelWatches,
        _ => Why::Inotify { error: error.to_string() },
    }
}

/// Runs on notify's thread, and so only takes notes.
fn handler(
    root: PathBuf,
    cookie: Option<PathBuf>,
    inbox: Arc<Inbox>,
    epoch: u64,
) -> impl FnMut(notify::Result<notify::Event>) + Send + 'static {
    move |event| {
        let event = match event {
            Ok(event) if !event.need_rescan() => event,
            _ => return inbox.lost(epoch),
        };
        let Some(heard) = inbox::heard(&event) else { return };
        for path in event.paths {
            if cookie.as_ref() == Some(&path) {
                if matches!(event.kind, EventKind::Modify(ModifyKind::Data(_))) {
                    inbox.cookie(epoch);
                }
            } else if let Some(path) = inbox::relative(&root, &path) {
                inbox.heard(epoch, path, heard);
            }
        }
    }
}
