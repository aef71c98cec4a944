//! Shared helpers: a watched directory whose view, batches and disk contents are compared; seeded random numbers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use watch::{Batch, ChangeKind, FileKind, Options, Subscription, Watcher};

/// Timeout of every wait. None is expected to come near it.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Paths that the caller ignores in these tests, in addition to the checkout's rules.
pub(crate) const IGNORED: [&str; 2] = ["target", "dist-newstyle"];

pub(crate) type Paths = BTreeMap<PathBuf, FileKind>;

pub(crate) fn options() -> Options {
    Options { ignored: IGNORED.map(str::to_owned).to_vec(), sync_timeout: LIMIT, ..Options::default() }
}

/// Tests nothing when run with the others. As a child process it watches a given directory. For each input line it
/// checks the view and prints the mode or the number of rescans.
#[test]
fn play() {
    let args: Vec<_> = std::env::args_os().collect();
    let Some(role) = args.iter().position(|arg| *arg == *ROLE) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut watched = Watched::start(Path::new(&args[role + 1]), options()).await;
        println!("\nsaid: watching");
        for line in std::io::stdin().lines() {
            match &*line.unwrap() {
                "check" => watched.check().await,
                other => assert_eq!(other, "status"),
            }
            let status = watched.watcher.status();
            println!("said: {} rescans, {}", status.rescans, status.mode);
        }
    });
}

const ROLE: &str = "role-watch";

/// A child process that watches, run by the given command if any. It is killed when the test ends.
pub(crate) struct Other {
    pub(crate) child: std::process::Child,
    said: std::io::Lines<std::io::BufReader<std::process::ChildStdout>>,
}

impl Other {
    pub(crate) fn start(by: &[&str], root: &Path) -> Self {
        use std::io::BufRead;
        let own = std::env::current_exe().unwrap();
        let mut words: Vec<&std::ffi::OsStr> = by.iter().map(std::ffi::OsStr::new).collect();
        words.push(own.as_os_str());
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(["--exact", "fixture::play", "--nocapture", ROLE]).arg(root);
        let mut child =
            command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let said = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        let mut other = Self { child, said };
        assert_eq!(other.read_line(), "watching");
        other
    }

    fn read_line(&mut self) -> String {
        let mut said = self.said.by_ref().map(Result::unwrap);
        said.find_map(|line| line.strip_prefix("said: ").map(str::to_owned)).expect("the other process lives")
    }

    /// Sends a request and returns the reply.
    pub(crate) fn ask(&mut self, what: &str) -> String {
        use std::io::Write;
        writeln!(self.child.stdin.as_mut().unwrap(), "{what}").unwrap();
        self.read_line()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A watched directory, and the paths according to the batches received.
pub(crate) struct Watched {
    pub(crate) root: PathBuf,
    pub(crate) watcher: Watcher,
    pub(crate) subscription: Subscription,
    pub(crate) told: Paths,
}

impl Watched {
    pub(crate) async fn start(root: &Path, options: Options) -> Self {
        let watcher = Watcher::start(root, options).await.unwrap();
        let (view, subscription) = watcher.subscribe();
        Self { root: root.to_path_buf(), told: paths(&view), watcher, subscription }
    }

    /// Asserts that after a sync the view and the batches match the disk.
    pub(crate) async fn check(&mut self) {
        self.synced().await;
        assert_same("view", &paths(&self.watcher.view()), &on_disk(&self.root));
    }

    /// Receives batches until a sync, and checks that each change applies. While files change, the view may already be
    /// newer.
    pub(crate) async fn drained(&mut self) {
        self.watcher.sync().await.unwrap();
        while let Some(batch) = self.subscription.try_next() {
            apply(&mut self.told, &batch);
        }
    }

    /// Asserts that after a sync the batches match the view.
    pub(crate) async fn synced(&mut self) {
        self.drained().await;
        assert_same("batches", &self.told, &paths(&self.watcher.view()));
    }

    pub(crate) async fn next(&mut self) -> Batch {
        let batch = tokio::time::timeout(LIMIT, self.subscription.next()).await.expect("a batch in time").unwrap();
        apply(&mut self.told, &batch);
        batch
    }
}

pub(crate) fn paths(view: &watch::View) -> Paths {
    view.iter().map(|(path, kind)| (path.to_path_buf(), kind)).collect()
}

/// Applies a batch. Asserts that each change is consistent and that the batch is not empty.
pub(crate) fn apply(told: &mut Paths, batch: &Batch) {
    assert!(!batch.changes.is_empty());
    for change in &batch.changes {
        let path = change.path.to_path_buf();
        match change.kind {
            ChangeKind::Created => assert_eq!(told.insert(path, change.file), None, "{change:?}"),
            ChangeKind::Modified => assert!(told.insert(path, change.file).is_some(), "{change:?}"),
            ChangeKind::Removed => assert!(told.remove(&path).is_some(), "{change:?}"),
        }
    }
}

/// Scans the whole tree with ripgrep's walker.
pub(crate) fn on_disk(root: &Path) -> Paths {
    let mut walk = ignore::WalkBuilder::new(root);
    walk.hidden(false).ignore(false).parents(false).git_global(false).git_exclude(false).require_git(false);
    walk.filter_entry(|entry| entry.file_name() != ".git" && IGNORED.iter().all(|name| entry.file_name() != *name));
    let entries = walk.build().filter_map(Result::ok).filter(|entry| entry.depth() > 0);
    let kind = |entry: &ignore::DirEntry| {
        use std::os::unix::fs::FileTypeExt;
        let kind = entry.file_type().unwrap();
        match () {
            () if kind.is_dir() => FileKind::Directory,
            () if kind.is_symlink() => FileKind::Symlink,
            () if kind.is_fifo() || kind.is_socket() || kind.is_char_device() => FileKind::Other,
            () => FileKind::File,
        }
    };
    entries.map(|entry| (entry.path().strip_prefix(root).unwrap().to_path_buf(), kind(&entry))).collect()
}

pub(crate) fn assert_same(what: &str, found: &Paths, expected: &Paths) {
    let missing: Vec<_> = expected.iter().filter(|(path, kind)| found.get(*path) != Some(*kind)).take(20).collect();
    let extra: Vec<_> = found.iter().filter(|(path, kind)| expected.get(*path) != Some(*kind)).take(20).collect();
    assert!(missing.is_empty() && extra.is_empty(), "{what}: missing {missing:?}, too much {extra:?}");
}

pub(crate) fn git(root: &Path, args: &[&str]) -> Vec<u8> {
    let mut git = Command::new("git");
    git.arg("-C").arg(root).args(["-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "gc.auto=0"]);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = git.args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// SplitMix64: the same seed gives the same bursts on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Reads a number from the environment, to run longer or to repeat a run.
pub(crate) fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}
