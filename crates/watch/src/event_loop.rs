//! The watching thread: it waits for reported paths, examines them and publishes the differences.
//!
//! An event only tells where to look; the change reported is the difference between the disk and the known tree. A file
//! is examined alone. A directory that was created, removed or moved is first watched and then scanned recursively, so
//! that no change is lost in between. Where events are unavailable or lost, the whole tree is scanned
//! ([`crate::scan`]).

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::files::{self, Failure, Stamp};
use crate::inbox::{Dirty, EventDetail, Inbox, Reply, Schedule, Work};
use crate::mode::{Mode, PollReason, Status};
use crate::rules::{self, Rules};
use crate::source::Source;
use crate::subscription::Publisher;
use crate::tree::Tree;
use crate::{Options, SyncError};

/// Timeout of a cookie, after which the tree is scanned instead.
const COOKIE: Duration = Duration::from_secs(3);
/// Delay before inotify is retried after a failure.
const RETRY: Duration = Duration::from_secs(60);
/// Scanning takes at most one part in this many of the time.
const SCAN_SHARE: u32 = 20;

pub(crate) struct EventLoop {
    pub(crate) root: PathBuf,
    pub(crate) options: Options,
    pub(crate) inbox: Arc<Inbox>,
    publisher: Arc<Publisher>,
    pub(crate) tree: Tree,
    pub(crate) rules: Rules,
    /// Set only while inotify is used.
    pub(crate) source: Option<Source>,
    mode: Mode,
    /// Stamp of the watched root.
    root_stamp: Option<Stamp>,
    /// Callers that wait for the cookie that was sent.
    waiting: Vec<Reply>,
    cookie_until: Option<Instant>,
    scans: u64,
    rescan_at: Instant,
    poll_at: Instant,
    retry_at: Instant,
    /// Reason found during a scan why inotify is no longer sufficient.
    pub(crate) failed: Option<PollReason>,
    /// The last scan was incomplete for a temporary reason.
    pub(crate) is_unfinished: bool,
    pub(crate) is_truncated: bool,
    pub(crate) unreadable: BTreeSet<PathBuf>,
}

impl EventLoop {
    pub(crate) fn new(root: PathBuf, options: Options, inbox: Arc<Inbox>, publisher: Arc<Publisher>) -> Self {
        let now = Instant::now();
        Self {
            rules: Rules::new(&options.ignored),
            root,
            options,
            inbox,
            publisher,
            tree: Tree::default(),
            source: None,
            mode: Mode::Inotify,
            root_stamp: None,
            waiting: Vec::new(),
            cookie_until: None,
            scans: 0,
            rescan_at: now,
            poll_at: now,
            retry_at: now,
            failed: None,
            is_unfinished: false,
            is_truncated: false,
            unreadable: BTreeSet::new(),
        }
    }

    /// Runs until the last handle is dropped. Calls `ready` after the first scan.
    pub(crate) fn run(mut self, ready: impl FnOnce()) {
        self.rebuild();
        ready();
        loop {
            match self.inbox.wait(&self.schedule()) {
                Work::Stop => return,
                Work::Rescan => self.rebuild(),
                Work::Look(dirty, has_cookie) => self.examine(dirty, has_cookie),
                Work::Sync => self.sync(),
                Work::Poll => self.poll(),
            }
        }
    }

    fn schedule(&self) -> Schedule {
        Schedule {
            quiet: self.options.quiet,
            max_delay: self.options.max_delay,
            cookie_until: self.cookie_until,
            poll_at: (self.mode != Mode::Inotify || self.is_unfinished).then_some(self.poll_at),
            rescan_at: self.rescan_at,
        }
    }

    /// Serves the waiting callers with a cookie, or else with a full scan.
    fn sync(&mut self) {
        if !self.is_unfinished && self.source.as_ref().is_some_and(Source::send_cookie) {
            self.waiting = self.inbox.take_syncs();
            self.cookie_until = Some(Instant::now() + COOKIE);
        } else if self.source.is_some() {
            self.rebuild();
        } else {
            self.poll();
        }
    }

    /// Starts again, with a new inotify instance if possible, and compares the whole tree.
    fn rebuild(&mut self) {
        let begun = Instant::now();
        self.source = None;
        self.retry_at = begun + RETRY;
        let epoch = self.begin();
        let Some(root) = self.open_root() else { return self.finish(begun) };
        let why = match files::shared_file_system(root.as_fd()) {
            _ if self.options.polling => Some(PollReason::Requested),
            Some(name) => Some(PollReason::FileSystem { name, path: PathBuf::new() }),
            None => None,
        };
        self.failed = why.or_else(|| {
            let source = Source::start(self.options.max_watches, &self.inbox, epoch);
            source.map(|source| self.source = Some(source)).err()
        });
        self.scan_all(root.as_fd());
        if self.failed.is_some() {
            self.source = None;
            self.inbox.begin_epoch();
        }
        self.finish(begun);
    }

    /// Compares the whole tree without inotify, and returns to inotify if the reason for polling is gone.
    fn poll(&mut self) {
        let begun = Instant::now();
        let before = self.root_stamp.map(|stamp| stamp.identity());
        self.begin();
        let root = self.open_root();
        if self.source.is_some() || (root.is_some() && self.root_stamp.map(|stamp| stamp.identity()) != before) {
            return self.rebuild();
        }
        if let (Some(root), Mode::Polling { why }) = (root, self.mode.clone()) {
            if why != PollReason::NoRoot {
                self.failed = Some(why.clone());
                self.scan_all(root.as_fd());
            }
            let is_over = match why {
                PollReason::Requested | PollReason::System | PollReason::FileSystem { .. } => false,
                PollReason::NoRoot => true,
                PollReason::MaxWatches { limit } => self.tree.directories() <= limit,
                PollReason::MaxEntries { .. } => !self.is_truncated,
                PollReason::KernelWatches | PollReason::Inotify { .. } => begun >= self.retry_at,
            };
            if is_over {
                return self.rebuild();
            }
        }
        self.finish(begun);
    }

    fn scan_all(&mut self, root: BorrowedFd<'_>) {
        self.scan(root, Path::new(""));
        if self.is_truncated && self.tree.len() < self.options.max_entries {
            // Removed paths made room.
            self.is_truncated = false;
            self.scan(root, Path::new(""));
        }
    }

    /// Begins a full scan, which sees every earlier change. It answers all callers that wait now.
    fn begin(&mut self) -> u64 {
        self.cookie_until = None;
        self.waiting.extend(self.inbox.take_syncs());
        (self.failed, self.is_unfinished, self.is_truncated) = (None, false, false);
        self.tree.in_doubt = true;
        self.inbox.begin_epoch()
    }

    fn finish(&mut self, begun: Instant) {
        self.tree.in_doubt = false;
        let took = begun.elapsed();
        let mode = match self.failed.take() {
            _ if self.is_truncated => {
                self.source = None;
                Mode::Polling { why: PollReason::MaxEntries { limit: self.options.max_entries } }
            }
            Some(why) => Mode::Polling { why },
            None => Mode::Inotify,
        };
        if mode != self.mode {
            tracing::info!(root = ?self.root, %mode, "how the tree is watched");
        }
        self.mode = mode;
        let now = Instant::now();
        self.rescan_at = now + self.options.max_delay.max(took);
        self.poll_at = now + self.options.poll_every.max(took * SCAN_SHARE);
        self.scans += 1;
        self.publish();
        self.answer();
    }

    /// Opens the current root. If that fails, the tree becomes empty.
    fn open_root(&mut self) -> Option<OwnedFd> {
        match files::open_root(&self.root) {
            Ok((root, stamp)) => {
                self.root_stamp = Some(stamp);
                Some(root)
            }
            Err(Failure::Unknown(errno)) => {
                tracing::warn!(root = ?self.root, %errno, "the root cannot be opened");
                self.is_unfinished = true;
                self.failed = Some(PollReason::NoRoot);
                None
            }
            Err(_) => {
                self.root_stamp = None;
                self.failed = Some(PollReason::NoRoot);
                self.forget(Path::new(""));
                self.rules.forget(Path::new(""));
                None
            }
        }
    }

    /// Examines the reported paths.
    fn examine(&mut self, dirty: Dirty, has_cookie: bool) {
        if self.source.is_none() {
            return;
        }
        let root_moved = dirty.get(Path::new("")).is_some_and(|detail| detail.moved);
        let same = |stamp: &Stamp| self.root_stamp.filter(|before| before.identity() == stamp.identity());
        let opened = files::open_root(&self.root).ok().filter(|_| !root_moved);
        let opened = opened.and_then(|(root, stamp)| same(&stamp).map(|before| (root, stamp, before)));
        let Some((root, stamp, before)) = opened else { return self.rebuild() };
        if stamp.has_other_access(&before) {
            self.root_stamp = Some(stamp);
            self.scan(root.as_fd(), Path::new(""));
        }
        self.read_rules_again(root.as_fd(), &dirty);
        let mut scanned = None;
        let mut parent: Option<(&Path, OwnedFd)> = None;
        for (path, detail) in &dirty {
            let Some((dir, name)) = path.parent().zip(path.file_name()) else { continue };
            if !self.tree.is_directory(dir) {
                continue;
            }
            if parent.as_ref().is_none_or(|(opened, _)| *opened != dir) {
                parent = match files::open_directory(root.as_fd(), dir, files::LOOK_UP) {
                    Ok(opened) => Some((dir, opened)),
                    Err(Failure::Unknown(_)) => {
                        self.is_unfinished = true;
                        continue;
                    }
                    // Events of the directory itself follow.
                    Err(_) => continue,
                };
            }
            let (_, opened) = parent.as_ref().expect("it was opened just now");
            if self.look_at(opened.as_fd(), path, Path::new(name), *detail) && !is_below(path, scanned) {
                self.scan(root.as_fd(), path);
                scanned = Some(path.as_path());
            }
        }
        if self.failed.is_some() || self.is_truncated {
            // Directories without a watch may have changed already.
            self.rebuild_without_source();
            return;
        }
        if self.is_unfinished {
            self.poll_at = Instant::now() + self.options.poll_every;
        }
        self.publish();
        if has_cookie {
            self.cookie_until = None;
            self.answer();
        }
    }

    /// Rescans directories whose ignore rules changed.
    fn read_rules_again(&mut self, root: BorrowedFd<'_>, dirty: &Dirty) {
        let changed = dirty.keys().filter(|path| path.file_name().is_some_and(|name| name == rules::FILE));
        let dirs: Vec<&Path> = changed.filter_map(|path| path.parent()).collect();
        for dir in &dirs {
            self.rules.forget(dir);
        }
        let mut scanned = None;
        for dir in dirs {
            if self.tree.is_directory(dir) && !is_below(dir, scanned) {
                self.scan(root, dir);
                scanned = Some(dir);
            }
        }
    }

    /// Examines one path. Returns true if it is a directory to scan.
    fn look_at(&mut self, parent: BorrowedFd<'_>, path: &Path, name: &Path, detail: EventDetail) -> bool {
        let stamp = match files::stat(parent, name) {
            Ok(stamp) => stamp,
            Err(Failure::Gone) => {
                self.forget(path);
                return false;
            }
            // The parent can no longer be searched. Its own event causes a scan.
            Err(Failure::Denied) => return false,
            Err(Failure::Unknown(_)) => {
                self.is_unfinished = true;
                return false;
            }
        };
        if self.rules.is_ignored(path, stamp.is_directory()) {
            self.forget(path);
            return false;
        }
        let is_other = self.take_down(path, stamp, detail.written || detail.moved);
        stamp.is_directory() && self.tree.contains(path) && (is_other || detail.moved || self.unreadable.contains(path))
    }

    fn rebuild_without_source(&mut self) {
        let why = self.failed.take();
        self.source = None;
        let why = why.unwrap_or(PollReason::MaxEntries { limit: self.options.max_entries });
        self.mode = Mode::Polling { why };
        self.poll();
    }

    pub(crate) fn is_on_device(&self, device: u64) -> bool {
        self.root_stamp.is_some_and(|of_root| of_root.device == device)
    }

    fn publish(&mut self) {
        let status = Status {
            mode: self.mode.clone(),
            directories: if self.root_stamp.is_some() { self.tree.directories() } else { 0 },
            entries: self.tree.len(),
            rescans: self.scans.saturating_sub(1),
            unreadable: self.unreadable.iter().cloned().collect(),
            rules_refused: self.rules.refused(),
        };
        self.publisher.publish(&mut self.tree.changes, status);
    }

    fn answer(&mut self) {
        for reply in self.waiting.drain(..) {
            let answer = match &self.mode {
                Mode::Polling { why: PollReason::MaxEntries { limit } } => Err(SyncError::MaxEntries { limit: *limit }),
                _ if self.is_unfinished => Err(SyncError::Unfinished),
                _ => Ok(()),
            };
            // The caller may have stopped waiting.
            let _ = reply.send(answer);
        }
    }
}

fn is_below(path: &Path, scanned: Option<&Path>) -> bool {
    scanned.is_some_and(|scanned| path.starts_with(scanned))
}
