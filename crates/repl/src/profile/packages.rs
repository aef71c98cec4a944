//! The packages of a cabal project: `cabal repl` needs one of them, and fails if a project file covers several.

use std::fs::FileType;
use std::path::{Path, PathBuf};

/// The size limit of a project file.
const MAX_BYTES: u64 = 256 * 1024;
/// The maximum number of packages listed.
const MAX_PACKAGES: usize = 200;
/// The maximum number of directory entries read in all: a checkout decides where to look.
const MAX_NAMES: usize = 20_000;
/// The maximum depth of a pattern.
const MAX_DEPTH: usize = 32;

/// Returns the directories of the packages that `cabal.project` in `dir` names, relative to it, sorted; empty if there
/// is no such file or none of the packages is here.
pub(super) fn packages(dir: &Path) -> Vec<PathBuf> {
    let file = dir.join("cabal.project");
    let Ok(text) = project::regular::read(&file, MAX_BYTES) else { return Vec::new() };
    let mut search = Search { root: dir, found: Vec::new(), names_left: MAX_NAMES };
    for pattern in patterns(&text) {
        // Absolute paths, URLs and archives are third-party code.
        let local = !pattern.starts_with('/') && !pattern.contains("://") && !pattern.contains("..");
        if local && !pattern.ends_with(".tar.gz") {
            let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
            if parts.len() <= MAX_DEPTH {
                search.expand(Path::new(""), &parts);
            }
        }
    }
    search.found.sort();
    search.found.dedup();
    search.found
}

/// Returns the words of all `packages:` fields.
fn patterns(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let content = line.trim();
        if content.starts_with("--") || content.is_empty() {
            continue;
        }
        let value = match line.strip_prefix("packages:") {
            Some(value) => {
                inside = true;
                value
            }
            None if line.starts_with([' ', '\t']) => content,
            None => {
                inside = false;
                continue;
            }
        };
        if inside {
            let separated = value.split([' ', '\t', ',']).filter(|word| !word.is_empty());
            words.extend(separated.map(|word| word.trim_matches('"').to_owned()));
        }
    }
    words
}

struct Search<'a> {
    root: &'a Path,
    found: Vec<PathBuf>,
    names_left: usize,
}

impl Search<'_> {
    fn expand(&mut self, at: &Path, parts: &[&str]) {
        if self.found.len() >= MAX_PACKAGES || self.names_left == 0 {
            return;
        }
        let Some((first, rest)) = parts.split_first() else {
            return self.take(at, "*.cabal");
        };
        if first.ends_with(".cabal") {
            self.take(at, first);
        } else if first.contains('*') {
            // Links are not followed: `*/*/*` over links to `.` would not end.
            for name in self.names(at, first, |kind| kind.is_dir()) {
                self.expand(&at.join(name), rest);
            }
        } else {
            self.expand(&at.join(first), rest);
        }
    }

    fn take(&mut self, at: &Path, pattern: &str) {
        if !self.names(at, pattern, |_| true).is_empty() {
            self.found.push(at.to_owned());
        }
    }

    /// Returns the matching entries of that kind in a directory. Each directory read counts as an entry too.
    fn names(&mut self, at: &Path, pattern: &str, is_wanted: fn(FileType) -> bool) -> Vec<String> {
        self.names_left = self.names_left.saturating_sub(1);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(self.root.join(at)).into_iter().flatten().flatten().take(self.names_left) {
            self.names_left -= 1;
            let name = entry.file_name().to_string_lossy().into_owned();
            if super::pattern::matches(pattern, &name) && entry.file_type().is_ok_and(is_wanted) {
                names.push(name);
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(project: &str, files: &[&str]) -> Vec<String> {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("cabal.project"), project).expect("written");
        for file in files {
            let file = dir.path().join(file);
            std::fs::create_dir_all(file.parent().expect("inside")).expect("made");
            std::fs::write(file, "").expect("written");
        }
        packages(dir.path()).iter().map(|package| package.display().to_string()).collect()
    }

    #[test]
    fn the_ways_to_name_them() {
        let files = ["a/a.cabal", "libs/b/b.cabal", "libs/c/c.cabal", "libs/none/x.hs", "root.cabal"];
        assert_eq!(check("packages: a libs/b/", &files), ["a", "libs/b"]);
        assert_eq!(
            check("packages:\n  ./a\n  -- ./no\n  libs/*/*.cabal\ntests: True\n", &files),
            ["a", "libs/b", "libs/c"]
        );
        assert_eq!(check("packages: ./libs/*, a/a.cabal\n", &files), ["a", "libs/b", "libs/c"]);
        assert_eq!(check("packages: .\n", &files), [""]);
        assert_eq!(check("packages: nowhere ../up https://x/y.tar.gz /etc\n", &files), [""; 0]);
        assert_eq!(check("with-compiler: ghc\n", &files), [""; 0]);
    }
    #[test]
    fn a_checkout_keeps_nobody_looking() {
        let dir = tempfile::tempdir().expect("a directory");
        for n in 0..60 {
            std::os::unix::fs::symlink(".", dir.path().join(format!("l{n}"))).expect("linked");
        }
        std::fs::create_dir(dir.path().join("a")).expect("made");
        std::fs::write(dir.path().join("a/a.cabal"), "").expect("written");
        let patterns = ["*/*/*/*/*/*/*/*/*/*/*/*", &"a/".repeat(100_000), &"a ".repeat(100_000)];
        std::fs::write(dir.path().join("cabal.project"), format!("packages: {}\n", patterns.join(" ")))
            .expect("written");
        assert!(packages(dir.path()).is_empty(), "too long to be read");
        std::fs::write(dir.path().join("cabal.project"), format!("packages: {} */*.cabal\n", patterns[0]))
            .expect("written");
        assert_eq!(packages(dir.path()), [Path::new("a")]);
        let deep = format!("packages: {} a\n", &patterns[1][..200_000]);
        std::fs::write(dir.path().join("cabal.project"), deep).expect("written");
        assert_eq!(packages(dir.path()), [Path::new("a")]);
    }
}
