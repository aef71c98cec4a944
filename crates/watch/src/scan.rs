//! Scanning of a directory tree: each directory is opened and watched, then listed, then compared with the known tree.
//!
//! The scan is iterative, opens one directory at a time relative to the root's descriptor, and stops at the limits of
//! the options.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::event_loop::EventLoop;
use crate::files::{self, Failure, Stamp};
use crate::mode::PollReason;

impl EventLoop {
    /// Scans a known directory. Its entry stays even if it was removed meanwhile; the scan of its parent reports that.
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
                    tracing::warn!(?dir, %errno, "cannot read a directory; hob will retry");
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

    /// Checks for a mount below the root whose file system other machines can change.
    fn look_for_others(&mut self, root: BorrowedFd<'_>, path: &Path, stamp: Stamp) {
        if self.source.is_none() || self.is_on_device(stamp.device) {
            return;
        }
        let opened = files::open_directory(root, path, files::LOOK_UP).ok();
        if let Some(name) = opened.and_then(|opened| files::shared_file_system(opened.as_fd())) {
            self.failed = Some(PollReason::FileSystem { name, path: path.to_path_buf() });
            self.source = None;
        }
    }

    /// Records the current stamp of a path. Returns true if the path is new or replaced.
    pub(crate) fn take_down(&mut self, path: &Path, stamp: Stamp, written: bool) -> bool {
        if self.tree.len() >= self.options.max_entries && !self.tree.contains(path) {
            self.is_truncated = true;
            return false;
        }
        let update = self.tree.set(path, stamp, written);
        if update.replaces_directory {
            let mut gone = self.tree.forget_below(path);
            gone.push(path.to_path_buf());
            self.let_go(&gone);
        }
        update.is_other
    }

    /// Removes a deleted or ignored path and everything below it.
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
