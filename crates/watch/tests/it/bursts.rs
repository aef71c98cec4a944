//! Random bursts of typical changes by agents, editors and git. After each burst, the view, the batches and two independent full
//! scans (ripgrep's walker and git) must agree. `HOB_WATCH_BURSTS` and `HOB_WATCH_SEED` select other runs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use watch::{FileKind, Mode, Options};

use crate::fixture::{IGNORED, Random, Watched, assert_same, git, number, options};

const BURSTS: u64 = 200;
const DIRS: [&str; 9] = ["a", "b", "c", "d", "deep", "out", "ignored", "target", "dist-newstyle"];
const FILES: [&[u8]; 9] = [b"f", b"g", b"main.hs", b"lib.rs", b"x.log", b"y.log", b"keep.log", b"n\xff\xfe", b"out"];
const RULES: [&str; 10] =
    ["*.log", "!keep.log", "ignored/", "/out", "out/", "a/b", "**/deep/*", "!f", "# nothing", "[gx]*"];

/// A worktree, a directory next to it, and an empty repository for git's ignore rules.
struct Playground {
    root: PathBuf,
    beside: PathBuf,
    empty: PathBuf,
    random: Random,
}

impl Playground {
    fn new(dir: &Path, seed: u64) -> Self {
        let [root, beside, empty] = ["root", "beside", "empty"].map(|name| dir.join(name));
        for dir in [&root, &beside, &empty] {
            std::fs::create_dir(dir).unwrap();
        }
        git(&root, &["init", "-q", "-b", "main"]);
        git(&empty, &["init", "-q", "--bare"]);
        let mut place = Self { root, beside, empty, random: Random(seed) };
        for branch in ["main", "other", "third"] {
            git(&place.root, &["checkout", "-q", "--orphan", &format!("{branch}-new")]);
            git(&place.root, &["rm", "-rfq", "--ignore-unmatch", "."]);
            for _ in 0..40 {
                place.act();
            }
            git(&place.root, &["add", "-A"]);
            git(&place.root, &["commit", "-q", "--allow-empty", "-m", "a tree"]);
        }
        place
    }

    fn dir(&mut self) -> PathBuf {
        let depth = self.random.below(4);
        (0..depth).fold(self.root.clone(), |dir, _| dir.join(self.random.pick(&DIRS)))
    }

    fn path(&mut self) -> PathBuf {
        let dir = self.dir();
        match self.random.below(4) {
            0 => dir.join(self.random.pick(&DIRS)),
            _ => dir.join(OsStr::from_bytes(self.random.pick::<&[u8]>(&FILES))),
        }
    }

    /// True if no component of the path is a link. Through a link, an action would leave the worktree.
    fn is_reached_without_links(&self, path: &Path) -> bool {
        let above = path.ancestors().skip(1).take_while(|above| *above != self.root);
        above.into_iter().all(|above| !above.is_symlink())
    }

    /// Performs one random action. It is skipped if a different kind of file is in the way or the path leads through a link.
    fn act(&mut self) {
        let path = self.path();
        if !self.is_reached_without_links(&path) {
            return;
        }
        let parent = path.parent().unwrap().to_path_buf();
        let _ = match self.random.below(16) {
            0..4 => {
                std::fs::create_dir_all(&parent).and_then(|()| std::fs::write(&path, vec![b'x'; self.random.below(5)]))
            }
            4 | 5 => append(&path),
            6 => std::fs::remove_file(&path),
            7 => std::fs::create_dir_all(&path),
            8 => {
                let dir = self.dir();
                let stays = dir == self.root || !self.is_reached_without_links(&dir);
                if stays { Ok(()) } else { std::fs::remove_dir_all(dir) }
            }
            9 | 10 => {
                let to = self.path();
                if self.is_reached_without_links(&to) { std::fs::rename(&path, to) } else { Ok(()) }
            }
            11 | 12 => {
                let (from, to) = (self.dir(), self.dir().join(self.random.pick(&DIRS)));
                let stays = from == self.root || ![&from, &to].iter().all(|path| self.is_reached_without_links(path));
                if stays { Ok(()) } else { std::fs::rename(from, to) }
            }
            13 => {
                let outside = self.empty.clone();
                let to = *self.random.pick(&[Path::new(".."), &outside, Path::new("a"), Path::new("gone")]);
                std::os::unix::fs::symlink(to, &path)
            }
            14 => {
                let rules: Vec<&str> = (0..self.random.below(4)).map(|_| *self.random.pick(&RULES)).collect();
                std::fs::write(parent.join(".gitignore"), rules.join("\n"))
            }
            _ => std::fs::remove_file(parent.join(".gitignore")),
        };
    }

    /// Performs a larger change now and then.
    fn happen(&mut self) {
        match self.random.below(12) {
            0 | 1 => {
                let branch = *self.random.pick(&["main-new", "other-new", "third-new"]);
                git(&self.root, &["checkout", "-qf", branch]);
            }
            2 => drop(git(&self.root, &["clean", "-qffd"])),
            3 => drop(git(&self.root, &["reset", "-q", "--hard"])),
            4 => {
                git(&self.root, &["add", "-A"]);
                git(&self.root, &["commit", "-q", "--allow-empty", "-m", "another"]);
            }
            5 => self.swap(),
            6 => {
                let mut dir = self.dir();
                if !self.is_reached_without_links(&dir.join("f")) {
                    return;
                }
                for depth in 0..60 {
                    dir = dir.join(format!("{depth}"));
                }
                let _ = std::fs::create_dir_all(&dir).and_then(|()| std::fs::write(dir.join("f"), ""));
            }
            7 => {
                let dir = self.dir();
                if !self.is_reached_without_links(&dir.join("f")) {
                    return;
                }
                for number in 0..80 {
                    let _ = std::fs::create_dir_all(dir.join(format!("many{number}")));
                }
            }
            8 => {
                for entry in std::fs::read_dir(&self.root).unwrap().flatten() {
                    if entry.file_name().as_bytes().starts_with(b"many") {
                        let _ = std::fs::remove_dir(entry.path());
                    }
                }
            }
            _ => {}
        }
    }

    /// Moves everything out of the worktree, and the previous contents in.
    fn swap(&mut self) {
        let between = self.beside.join("between");
        std::fs::create_dir(&between).unwrap();
        let entries = |dir: &Path| {
            let all = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
            all.filter(|name| name != ".git" && name != "between").collect::<Vec<_>>()
        };
        let carry = |from: &Path, to: &Path| {
            for name in entries(from) {
                std::fs::rename(from.join(&name), to.join(&name)).unwrap();
            }
        };
        carry(&self.beside, &between);
        carry(&self.root, &self.beside);
        carry(&between, &self.root);
        std::fs::remove_dir(&between).unwrap();
    }

    /// Lists the files that git would add to an empty repository.
    fn as_git_sees(&self) -> Vec<PathBuf> {
        let (repository, tree) = (format!("--git-dir={}", self.empty.display()), self.root.display().to_string());
        let listed =
            git(&self.root, &[&repository, "--work-tree", &tree, "ls-files", "-z", "-o", "--exclude-standard"]);
        let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(OsStr::from_bytes);
        let paths = paths.map(PathBuf::from);
        let mut paths: Vec<_> =
            paths.filter(|path| !path.iter().any(|name| IGNORED.iter().any(|ignored| name == *ignored))).collect();
        paths.sort();
        paths
    }
}

fn append(path: &Path) -> std::io::Result<()> {
    use std::io::Write;
    std::fs::OpenOptions::new().append(true).open(path)?.write_all(b"y")
}

/// Counts the watch modes after each burst.
async fn run(options: Options, bursts: u64) -> Vec<(String, u64)> {
    let seed = number("HOB_WATCH_SEED", u64::from(std::process::id()));
    let count = number("HOB_WATCH_BURSTS", bursts);
    println!("HOB_WATCH_SEED={seed} HOB_WATCH_BURSTS={count}");
    let dir = tempfile::tempdir().unwrap();
    let mut place = Playground::new(dir.path(), seed);
    let mut watched = Watched::start(&place.root, options).await;
    let mut modes = std::collections::BTreeMap::<String, u64>::new();
    for burst in 0..count {
        let acts = place.random.below(40);
        place.happen();
        for _ in 0..acts {
            place.act();
        }
        watched.check().await;
        let seen = crate::fixture::paths(&watched.watcher.view()).into_iter();
        let files: Vec<_> = seen.filter(|(_, kind)| *kind != FileKind::Directory).map(|(path, _)| path).collect();
        assert_eq!(files, place.as_git_sees(), "burst {burst}");
        assert_same("disk", &watched.told, &crate::fixture::on_disk(&place.root));
        *modes.entry(watched.watcher.mode().to_string()).or_default() += 1;
    }
    println!("{modes:?}, {} rescans", watched.watcher.status().rescans);
    modes.into_iter().collect()
}

#[tokio::test]
async fn random_bursts_are_told_as_they_are_long_run() {
    let modes = run(options(), BURSTS).await;
    assert_eq!(modes.iter().map(|(mode, _)| mode.as_str()).collect::<Vec<_>>(), [Mode::Inotify.to_string()]);
}

/// The thread examines paths while the burst continues.
#[tokio::test]
async fn random_bursts_without_a_quiet_time_long_run() {
    run(Options { quiet: Duration::ZERO, max_delay: Duration::from_millis(1), ..options() }, BURSTS).await;
}

#[tokio::test]
async fn random_bursts_around_a_limit_of_watches_long_run() {
    let modes = run(Options { max_watches: 100, quiet: Duration::from_millis(1), ..options() }, BURSTS).await;
    assert_eq!(modes.len(), 2, "both modes are met: {modes:?}");
}

#[tokio::test]
async fn random_bursts_while_polling_long_run() {
    run(Options { polling: true, poll_every: Duration::from_millis(5), ..options() }, BURSTS / 2).await;
}
