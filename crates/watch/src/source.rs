//! One inotify instance: a watch for each directory that is not ignored, and the cookie.
//!
//! What is watched is what was opened, never what a path leads to by then: where a link to the root has taken a directory's
//! place, the path leads to the root, whose watch would answer to two names and go with the second. So a directory is
//! watched by the descriptor it is read with, through `/proc/self/fd`.
//!
//! A directory has one watch, whatever its paths: one that moved may be found at its new path before it is missed at the
//! old one, and a bind mount shows it twice. So a watch has all the paths that it was asked for, what it says is said of each
//! of them, and it goes with the last. A path that is no longer right tells nothing but where to look.
//!
//! The cookie is a file without a name in the temporary directory. The kernel queues events of one instance in the order in
//! which they happened, whatever the file system, so when the cookie's own event arrives, all earlier ones have. No file in
//! the checkout, where git, compilers and other watchers would see it; none in a directory outside, where a crash leaves it
//! behind and a cleaner of old files takes it away.

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

use crate::inbox::{Heard, Inbox};
use crate::mode::Why;

const OF_DIRECTORY: WatchFlags = WatchFlags::ATTRIB
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::MOVE_SELF);

/// How many bytes of events are read at once.
const BUFFER: usize = 64 << 10;

pub(crate) struct Source {
    instance: Arc<Instance>,
    limit: usize,
    cookie: Option<File>,
}

/// What the source and the thread that reads its events share.
struct Instance {
    inotify: OwnedFd,
    /// Written to when the source is gone.
    stop: OwnedFd,
    watches: Mutex<Watches>,
}

/// Which watch a path has, and which paths a watch has.
#[derive(Default)]
struct Watches {
    of_path: HashMap<PathBuf, i32>,
    paths: HashMap<i32, Vec<PathBuf>>,
}

impl Source {
    pub(crate) fn start(limit: usize, inbox: &Arc<Inbox>, epoch: u64) -> Result<Self, Why> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(why)?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC).map_err(why)?;
        let instance = Arc::new(Instance { inotify, stop, watches: Mutex::default() });
        let cookie = tempfile::tempfile();
        let cookie = cookie.inspect_err(|error| tracing::warn!(%error, "no cookie: each sync is a full scan")).ok();
        let of_cookie = cookie.as_ref().map(|file| instance.add(file.as_fd(), WatchFlags::MODIFY)).transpose();
        let of_cookie = of_cookie.map_err(why)?;
        let (of_thread, inbox) = (instance.clone(), inbox.clone());
        let thread = std::thread::Builder::new().name("watch-inotify".to_owned());
        let spawned = thread.spawn(move || of_thread.read(of_cookie, &inbox, epoch));
        spawned.map_err(|error| Why::Inotify { error: error.to_string() })?;
        Ok(Self { instance, limit, cookie })
    }

    /// Watches the opened directory, which is at this path; says whether it may.
    pub(crate) fn watch(&mut self, path: &Path, opened: BorrowedFd<'_>) -> Result<bool, Why> {
        // Before its first event is read the watch has its path.
        let mut watches = self.instance.watches.lock();
        if !watches.of_path.contains_key(path) && watches.of_path.len() >= self.limit {
            return Err(Why::MaxWatches { limit: self.limit });
        }
        match self.instance.add(opened, OF_DIRECTORY) {
            Ok(watch) => self.instance.remove(watches.set(path, watch)),
            Err(Errno::ACCESS) => return Ok(false),
            Err(errno) => return Err(why(errno)),
        }
        Ok(true)
    }

    /// For a directory that is ignored now, or that went.
    pub(crate) fn unwatch(&mut self, path: &Path) {
        self.instance.remove(self.instance.watches.lock().forget(path));
    }

    /// Whether a cookie is on its way.
    pub(crate) fn send_cookie(&self) -> bool {
        self.cookie.as_ref().is_some_and(|file| rustix::fs::ftruncate(file, 0).is_ok())
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.instance.stop, &1_u64.to_ne_bytes());
    }
}

fn why(errno: Errno) -> Why {
    match errno {
        Errno::NOSPC => Why::KernelWatches,
        // What is watched is open, so that is not what is missing.
        Errno::NOENT => Why::Inotify { error: "there is no /proc".to_owned() },
        _ => Why::Inotify { error: errno.to_string() },
    }
}

impl Instance {
    fn add(&self, opened: BorrowedFd<'_>, events: WatchFlags) -> Result<i32, Errno> {
        inotify::add_watch(&self.inotify, format!("/proc/self/fd/{}", opened.as_raw_fd()), events)
    }

    /// The kernel may have removed it before: what is deleted has no watch.
    fn remove(&self, watch: Option<i32>) {
        if let Some(watch) = watch {
            let _ = inotify::remove_watch(&self.inotify, watch);
        }
    }

    /// Takes notes of all events, until the source is gone.
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
                    return inbox.lost(epoch);
                }
            };
            let (watch, events) = (event.wd(), event.events());
            if events.contains(ReadFlags::QUEUE_OVERFLOW) {
                inbox.lost(epoch);
            } else if cookie == Some(watch) {
                if events.contains(ReadFlags::MODIFY) {
                    inbox.cookie(epoch);
                }
            } else {
                let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                let heard = heard(events);
                let mut watches = self.watches.lock();
                for path in watches.paths.get(&watch).into_iter().flatten() {
                    inbox.heard(epoch, name.map_or_else(|| path.clone(), |name| path.join(name)), heard);
                }
                if events.contains(ReadFlags::IGNORED) {
                    watches.end(watch);
                }
            }
        }
    }

    /// Waits for events, or for the end.
    fn is_stopped(&self) -> bool {
        let mut both = [&self.inotify, &self.stop].map(|fd| PollFd::new(fd, PollFlags::IN));
        match poll(&mut both, None) {
            Ok(_) => !both[1].revents().is_empty(),
            Err(errno) => errno != Errno::INTR,
        }
    }
}

impl Watches {
    /// Gives a path its watch; the one it had, if that has no path any longer.
    fn set(&mut self, path: &Path, watch: i32) -> Option<i32> {
        let before = self.of_path.insert(path.to_path_buf(), watch);
        if before == Some(watch) {
            return None;
        }
        self.paths.entry(watch).or_default().push(path.to_path_buf());
        before.and_then(|before| self.part(before, path))
    }

    /// The path's watch, if that has no other.
    fn forget(&mut self, path: &Path) -> Option<i32> {
        let watch = self.of_path.remove(path)?;
        self.part(watch, path)
    }

    fn part(&mut self, watch: i32, path: &Path) -> Option<i32> {
        let paths = self.paths.get_mut(&watch)?;
        paths.retain(|other| other != path);
        paths.is_empty().then(|| self.paths.remove(&watch)).map(|_| watch)
    }

    /// The kernel has removed the watch.
    fn end(&mut self, watch: i32) {
        for path in self.paths.remove(&watch).unwrap_or_default() {
            if self.of_path.get(&path) == Some(&watch) {
                self.of_path.remove(&path);
            }
        }
    }
}

fn heard(events: ReadFlags) -> Heard {
    match () {
        () if events.contains(ReadFlags::MODIFY) => Heard { written: true, moved: false },
        // After a write through a mapping there is only the end of writing.
        () if events.intersects(ReadFlags::ATTRIB | ReadFlags::CLOSE_WRITE) => Heard::default(),
        () => Heard { written: false, moved: true },
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
        // Another directory took its place.
        assert_eq!((watches.set(at("new"), 2), watches.forget(at("new"))), (Some(1), Some(2)));
        // The end of a watch is heard late.
        assert_eq!((watches.set(at("a"), 3), watches.set(at("a"), 4)), (None, Some(3)));
        watches.end(3);
        assert_eq!(watches.of_path.get(at("a")), Some(&4));
        watches.end(4);
        assert_eq!((watches.of_path.len(), watches.paths.len()), (0, 0));
    }
}
