//! How a directory and all below it is read: opened and watched first, listed then, compared with what is known.
//!
//! It goes down by a list of what is left and not by calling itself, opens one directory at a time from the root's
//! descriptor, and ends at the limits of the options.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::event_loop::EventLoop;
use crate::files::{self, Failure, Stamp};
use crate::mode::Why;

impl EventLoop {
    /// Scans the directory, which is known. Its entry stays, even if it is gone meanwhile: its parent says so.
    pub(crate) fn scan(&mut self, root: BorrowedFd<'_>, start: &Path) {
        self.tree.begin_scan();
        let mut left = vec![start.to_path_buf()];
        while let Some(dir) = left.pop() {
            if self.inbox.is_stopped() {
                return;
            }
            match self.scan_one(root, &dir, &mut left) {
                Ok(()) => {
                    self.unreadable.remove(&dir);
                }
                Err(Failure::Gone) => {}
                Err(Failure::Denied) => {
                    self.unreadable.insert(dir);
                }
                Err(Failure::Unknown(errno)) => {
                    tracing::warn!(?dir, %errno, "a directory cannot be read; it is tried again");
                    self.tree.keep_below(&dir);
                    self.is_unfinished = true;
                }
            }
        }
        let gone = self.tree.end_scan(start);
        self.let_go(&gone);
    }

    fn scan_one(&mut self, root: BorrowedFd<'_>, dir: &Path, left: &mut Vec<PathBuf>) -> Result<(), Failure> {
        if !files::fits(&self.root, dir) {
            return Err(Failure::Denied);
        }
        let opened = files::open_directory(root, dir, OFlags::RDONLY)?;
        self.watch(dir, opened.as_fd())?;
        let (names, has_more) = files::names(opened.as_fd(), self.options.max_entries)?;
        self.is_truncated |= has_more;
        self.rules.load(dir, opened.as_fd())?;
        for name in names {
            let path = dir.join(&name);
            let stamp = match files::stat(opened.as_fd(), Path::new(&name)) {
                Ok(stamp) => stamp,
                Err(Failure::Gone) => continue,
                Err(error) => return Err(error),
            };
            if self.rules.is_ignored(&path, stamp.is_directory()) {
                continue;
            }
            self.take_down(&path, stamp, false);
            if !stamp.is_directory() || !self.tree.contains(&path) {
                continue;
            }
            self.look_for_others(root, &path, stamp);
            left.push(path);
        }
        Ok(())
    }

    fn watch(&mut self, dir: &Path, opened: BorrowedFd<'_>) -> Result<(), Failure> {
        match self.source.as_mut().map(|source| source.watch(dir, opened)) {
            Some(Ok(false)) => return Err(Failure::Denied),
            Some(Err(why)) => {
                self.failed = Some(why);
                self.source = None;
            }
            Some(Ok(true)) | None => {}
        }
        Ok(())
    }

    /// A mount below the root may be of a file system that others write to.
    fn look_for_others(&mut self, root: BorrowedFd<'_>, path: &Path, stamp: Stamp) {
        if self.source.is_none() || self.is_on_device(stamp.device) {
            return;
        }
        let opened = files::open_directory(root, path, OFlags::PATH).ok();
        if let Some(name) = opened.and_then(|opened| files::shared_file_system(opened.as_fd())) {
            self.failed = Some(Why::FileSystem { name, path: path.to_path_buf() });
            self.source = None;
        }
    }

    /// Takes a path down as it stands now; whether it is another than before.
    pub(crate) fn take_down(&mut self, path: &Path, stamp: Stamp, written: bool) -> bool {
        if self.tree.len() >= self.options.max_entries && !self.tree.contains(path) {
            self.is_truncated = true;
            return false;
        }
        let found = self.tree.set(path, stamp, written);
        if found.replaces_directory {
            let mut gone = self.tree.forget_below(path);
            gone.push(path.to_path_buf());
            self.let_go(&gone);
        }
        found.is_other
    }

    /// Takes out a path that is gone or ignored, and everything below it.
    pub(crate) fn forget(&mut self, path: &Path) {
        let gone = self.tree.forget(path);
        self.let_go(&gone);
    }

    fn let_go(&mut self, directories: &[PathBuf]) {
        for dir in directories {
            self.rules.forget(dir);
            self.unreadable.remove(dir);
            if let Some(source) = &mut self.source {
                source.unwatch(dir);
            }
        }
    }
}
