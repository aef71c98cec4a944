//! An inotify instance, with a watch for each directory that is not ignored and the cookie file.
//!
//! Watches are set on an opened directory through `/proc/self/fd`, never on a path. If a link to the root replaced a
//! directory, its path would lead to the root. The root's watch would then have two names and be removed with the
//! second.
//!
//! A directory has one watch but may have several paths: a moved directory may be found at its new path before the old
//! one is missed, and a bind mount shows it twice. A watch therefore keeps every path; its events count for each, and
//! it is removed with the last. A stale path only causes an extra look.
//!
//! The cookie is an unnamed file in the temporary directory. The kernel queues the events of one instance in order,
//! whatever the file system. When the cookie's event arrives, all earlier events have arrived. A cookie in the checkout
//! would be visible to git, compilers and other watchers; one in another directory would remain after a crash.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use crate::inbox::{EventDetail, Inbox};
use crate::mode::PollReason;

const OF_DIRECTORY: WatchFlags = WatchFlags::ATTRIB
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::MOVE_SELF);

/// Size of the event buffer in bytes.
const BUFFER: usize = 64 << 10;

pub(crate) struct Source {
    instance: Arc<Instance>,
    limit: usize,
    cookie: Option<File>,
}

/// State shared by the source and the thread that reads its events.
struct Instance {
    inotify: OwnedFd,
    /// Written to when the source is dropped.
    stop: OwnedFd,
    watches: Mutex<Watches>,
}

/// Maps paths to watches and watches to paths.
#[derive(Default)]
struct Watches {
    by_path: HashMap<PathBuf, i32>,
    paths: HashMap<i32, Vec<PathBuf>>,
}

impl Source {
    pub(crate) fn start(limit: usize, inbox: &Arc<Inbox>, epoch: u64) -> Result<Self, PollReason> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(polling_reason)?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC).map_err(polling_reason)?;
        let instance = Arc::new(Instance { inotify, stop, watches: Mutex::default() });
        let cookie = tempfile::tempfile();
        let cookie = cookie.inspect_err(|error| tracing::warn!(%error, "no cookie: each sync is a full scan")).ok();
        let of_cookie = cookie.as_ref().map(|file| instance.add(file.as_fd(), WatchFlags::MODIFY)).transpose();
        let of_cookie = of_cookie.map_err(polling_reason)?;
        let (of_thread, inbox) = (instance.clone(), inbox.clone());
        let thread = std::thread::Builder::new().name("watch-inotify".to_owned());
        let spawned = thread.spawn(move || of_thread.read(of_cookie, &inbox, epoch));
        spawned.map_err(|error| PollReason::Inotify { error: error.to_string() })?;
        Ok(Self { instance, limit, cookie })
    }

    /// Watches the opened directory at this path. Returns false if it may not be read.
    pub(crate) fn watch(&mut self, path: &Path, opened: BorrowedFd<'_>) -> Result<bool, PollReason> {
        // The lock is held until the watch has its path, before its first event is read.
        let mut watches = self.instance.watches.lock();
        if !watches.by_path.contains_key(path) && watches.by_path.len() >= self.limit {
            return Err(PollReason::MaxWatches { limit: self.limit });
        }
        match self.instance.add(opened, OF_DIRECTORY) {
            Ok(watch) => self.instance.remove(watches.set(path, watch)),
            Err(Errno::ACCESS) => return Ok(false),
            Err(errno) => return Err(polling_reason(errno)),
        }
        Ok(true)
    }

    /// Removes the watch of a directory that is now ignored or was removed.
    pub(crate) fn unwatch(&mut self, path: &Path) {
        self.instance.remove(self.instance.watches.lock().forget(path));
    }

    /// Returns true if a cookie was sent.
    pub(crate) fn send_cookie(&self) -> bool {
        self.cookie.as_ref().is_some_and(|file| rustix::fs::ftruncate(file, 0).is_ok())
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.instance.stop, &1_u64.to_ne_bytes());
    }
}

fn polling_reason(errno: Errno) -> PollReason {
    match errno {
        Errno::NOSPC => PollReason::KernelWatches,
        // The directory is open, so `ENOENT` means that `/proc` is missing.
        Errno::NOENT => PollReason::Inotify { error: "there is no /proc".to_owned() },
        _ => PollReason::Inotify { error: errno.to_string() },
    }
}

impl Instance {
    fn add(&self, opened: BorrowedFd<'_>, events: WatchFlags) -> Result<i32, Errno> {
        inotify::add_watch(&self.inotify, format!("/proc/self/fd/{}", opened.as_raw_fd()), events)
    }

    /// The kernel may have removed the watch already, because the directory was deleted.
    fn remove(&self, watch: Option<i32>) {
        if let Some(watch) = watch {
            let _ = inotify::remove_watch(&self.inotify, watch);
        }
    }

    /// Records all events until the source is dropped.
    fn read(&self, cookie: Option<i32>, inbox: &Inbox, epoch: u64) {
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        loop {
            if reader.is_buffer_empty() && self.is_stopped() {
                return;
            }
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN | Errno::INTR) => continue,
                Err(errno) => {
                    tracing::warn!(%errno, "the events of inotify cannot be read");
                    return inbox.mark_lost(epoch);
                }
            };
            let (watch, events) = (event.wd(), event.events());
            if events.contains(ReadFlags::QUEUE_OVERFLOW) {
                inbox.mark_lost(epoch);
            } else if cookie == Some(watch) {
                if events.contains(ReadFlags::MODIFY) {
                    inbox.cookie(epoch);
                }
            } else {
                let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                let detail = classify(events);
                let mut watches = self.watches.lock();
                for path in watches.paths.get(&watch).into_iter().flatten() {
                    inbox.report(epoch, name.map_or_else(|| path.clone(), |name| path.join(name)), detail);
                }
                if events.contains(ReadFlags::IGNORED) {
                    watches.end(watch);
                }
            }
        }
    }

    /// Waits for events. Returns true if the source was dropped.
    fn is_stopped(&self) -> bool {
        let mut both = [&self.inotify, &self.stop].map(|fd| PollFd::new(fd, PollFlags::IN));
        match poll(&mut both, None) {
            Ok(_) => !both[1].revents().is_empty(),
            Err(errno) => errno != Errno::INTR,
        }
    }
}

impl Watches {
    /// Assigns a watch to a path. Returns the previous watch if no other path uses it.
    fn set(&mut self, path: &Path, watch: i32) -> Option<i32> {
        let before = self.by_path.insert(path.to_path_buf(), watch);
        if before == Some(watch) {
            return None;
        }
        self.paths.entry(watch).or_default().push(path.to_path_buf());
        before.and_then(|before| self.part(before, path))
    }

    /// Removes a path. Returns its watch if no other path uses it.
    fn forget(&mut self, path: &Path) -> Option<i32> {
        let watch = self.by_path.remove(path)?;
        self.part(watch, path)
    }

    fn part(&mut self, watch: i32, path: &Path) -> Option<i32> {
        let paths = self.paths.get_mut(&watch)?;
        paths.retain(|other| other != path);
        paths.is_empty().then(|| self.paths.remove(&watch)).map(|_| watch)
    }

    /// Handles the kernel's removal of a watch.
    fn end(&mut self, watch: i32) {
        for path in self.paths.remove(&watch).unwrap_or_default() {
            if self.by_path.get(&path) == Some(&watch) {
                self.by_path.remove(&path);
            }
        }
    }
}

fn classify(events: ReadFlags) -> EventDetail {
    match () {
        () if events.contains(ReadFlags::MODIFY) => EventDetail { written: true, moved: false },
        // A write through a memory mapping is reported only when the file is closed.
        () if events.intersects(ReadFlags::ATTRIB | ReadFlags::CLOSE_WRITE) => EventDetail::default(),
        () => EventDetail { written: false, moved: true },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_goes_with_its_last_path() {
        let mut watches = Watches::default();
        let at = Path::new;
        assert_eq!(
            (watches.set(at("old"), 1), watches.set(at("new"), 1), watches.set(at("new"), 1)),
            (None, None, None)
        );
        assert_eq!((watches.forget(at("old")), watches.forget(at("old"))), (None, None));
        // Another directory replaced it.
        assert_eq!((watches.set(at("new"), 2), watches.forget(at("new"))), (Some(1), Some(2)));
        // The event that ends a watch arrives late.
        assert_eq!((watches.set(at("a"), 3), watches.set(at("a"), 4)), (None, Some(3)));
        watches.end(3);
        assert_eq!(watches.by_path.get(at("a")), Some(&4));
        watches.end(4);
        assert_eq!((watches.by_path.len(), watches.paths.len()), (0, 0));
    }
}
