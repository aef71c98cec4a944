//! Ignore rules: `.git`, the caller's patterns, and every `.gitignore` from the root down, the nearest first.
//! `.git/info/exclude` and global excludes are not read, so that agents of several users see the same tree.
//!
//! A `.gitignore` comes from a checkout: links and FIFOs are not opened, and size, lines and number of files are limited.

use std::collections::{BTreeSet, HashMap};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::files::{self, Failure, Stamp};

pub(crate) const FILE: &str = ".gitignore";

const MAX_FILE_BYTES: usize = 64 << 10;
const MAX_LINES: usize = 2_000;
const MAX_FILES: usize = 1_024;
const MAX_BYTES: usize = 1 << 20;

pub(crate) struct Rules {
    given: Gitignore,
    files: HashMap<PathBuf, Loaded>,
    bytes: usize,
    refused: BTreeSet<PathBuf>,
}

struct Loaded {
    stamp: Stamp,
    bytes: usize,
    matcher: Gitignore,
}

impl Rules {
    /// Compiles the caller's patterns. Invalid patterns are skipped, as in a `.gitignore`.
    pub(crate) fn new(given: &[String]) -> Self {
        let given = compile(given.iter().map(String::as_str)).unwrap_or_else(Gitignore::empty);
        Self { given, files: HashMap::new(), bytes: 0, refused: BTreeSet::new() }
    }

    pub(crate) fn is_ignored(&self, path: &Path, is_directory: bool) -> bool {
        if path.file_name().is_some_and(|name| name == ".git") {
            return true;
        }
        match self.given.matched(path, is_directory) {
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
            Match::None => {}
        }
        if self.files.is_empty() {
            return false;
        }
        for dir in path.ancestors().skip(1) {
            let Some(loaded) = self.files.get(dir) else { continue };
            let below = path.strip_prefix(dir).expect("an ancestor is a prefix");
            match loaded.matcher.matched(below, is_directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }

    /// Reads the `.gitignore` of the opened directory unless the cached rules are current. Fails only for temporary
    /// reasons.
    pub(crate) fn load(&mut self, dir: &Path, opened: BorrowedFd<'_>) -> Result<(), Failure> {
        let stamp = match files::stat(opened, Path::new(FILE)) {
            Ok(stamp) => stamp,
            Err(error @ Failure::Unknown(_)) => return Err(error),
            Err(_) => {
                self.forget(dir);
                return Ok(());
            }
        };
        if self.files.get(dir).is_some_and(|loaded| loaded.stamp == stamp && !loaded.stamp.is_racy()) {
            return Ok(());
        }
        let before = self.files.get(dir).map_or(0, |loaded| loaded.bytes);
        let room = MAX_FILE_BYTES.min(MAX_BYTES - self.bytes + before);
        let text = match files::read_regular(opened, Path::new(FILE), room) {
            Err(error @ Failure::Unknown(_)) => return Err(error),
            text => text.ok().flatten(),
        };
        self.forget(dir);
        let text = text.filter(|_| self.files.len() < MAX_FILES);
        let matcher = text.as_ref().and_then(|text| {
            let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
            let lines = text.split(|byte| *byte == b'\n');
            if lines.clone().count() > MAX_LINES {
                return None;
            }
            compile(lines.filter_map(|line| std::str::from_utf8(line).ok()))
        });
        let Some((text, matcher)) = text.zip(matcher) else {
            self.refused.insert(dir.join(FILE));
            return Ok(());
        };
        self.bytes += text.len();
        self.files.insert(dir.to_path_buf(), Loaded { stamp, bytes: text.len(), matcher });
        Ok(())
    }

    /// Discards the rules of a directory that has no `.gitignore` or must be read again.
    pub(crate) fn forget(&mut self, dir: &Path) {
        if let Some(loaded) = self.files.remove(dir) {
            self.bytes -= loaded.bytes;
        }
        if !self.refused.is_empty() {
            self.refused.remove(&dir.join(FILE));
        }
    }

    pub(crate) fn refused(&self) -> Vec<PathBuf> {
        self.refused.iter().cloned().collect()
    }
}

fn compile<'a>(lines: impl Iterator<Item = &'a str>) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new("");
    for line in lines {
        // An invalid line ignores nothing.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::time::Instant;

    use super::*;

    fn opened(dir: &Path) -> std::os::fd::OwnedFd {
        files::open_root(dir).unwrap().0
    }

    #[test]
    fn the_nearest_rule_decides_and_the_callers_come_first() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("a")).unwrap();
        std::fs::write(place.path().join(FILE), "\u{feff}*.log\r\n/only_here\nkept\n").unwrap();
        std::fs::write(place.path().join("a").join(FILE), b"!important.log\n\xff\xfe\n").unwrap();
        let mut rules = Rules::new(&["target".to_owned(), "!kept".to_owned()]);
        rules.load(Path::new(""), opened(place.path()).as_fd()).unwrap();
        rules.load(Path::new("a"), opened(&place.path().join("a")).as_fd()).unwrap();
        let said = |path: &str| rules.is_ignored(Path::new(path), false);
        assert!(said("x.log") && said("a/b/x.log") && said("only_here") && said("deep/target") && said("a/.git"));
        assert!(!said("a/important.log") && !said("a/only_here") && !said("kept") && !said("gitfile"));
        assert_eq!(rules.refused(), Vec::<PathBuf>::new());
    }

    #[test]
    fn what_is_no_file_or_too_much_is_refused_by_name() {
        let place = tempfile::tempdir().unwrap();
        let mut rules = Rules::new(&[]);
        let mut refused = |name: &str, make: &dyn Fn(&Path)| {
            let dir = place.path().join(name);
            std::fs::create_dir(&dir).unwrap();
            make(&dir.join(FILE));
            rules.load(Path::new(name), opened(&dir).as_fd()).unwrap();
            rules.refused().contains(&Path::new(name).join(FILE))
        };
        assert!(refused("link", &|path| std::os::unix::fs::symlink("/etc/passwd", path).unwrap()));
        assert!(refused("fifo", &|path| {
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        }));
        assert!(refused("large", &|path| std::fs::write(path, vec![b'#'; MAX_FILE_BYTES + 1]).unwrap()));
        assert!(refused("long", &|path| std::fs::write(path, "a\n".repeat(MAX_LINES + 1)).unwrap()));
        assert!(!refused("good", &|path| std::fs::write(path, "a\n").unwrap()));
    }

    #[test]
    fn the_worst_file_that_is_read_is_read_in_time() {
        let place = tempfile::tempdir().unwrap();
        let line = "*a*{b,c,d}*[e-z]?*\n";
        std::fs::write(place.path().join(FILE), line.repeat(MAX_LINES - 1)).unwrap();
        let mut rules = Rules::new(&[]);
        let begun = Instant::now();
        rules.load(Path::new(""), opened(place.path()).as_fd()).unwrap();
        rules.is_ignored(Path::new(&"ab".repeat(120)), false);
        println!("{} patterns took {:?}, refused: {:?}", MAX_LINES - 1, begun.elapsed(), rules.refused());
    }
}
