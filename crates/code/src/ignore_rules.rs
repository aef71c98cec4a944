//! The rules by which a walk leaves files out: `.gitignore` and `.ignore` of each folder, from the root down.
//!
//! The rules come from a checkout, so the path may be anything: a link to a device that never ends, or a FIFO that blocks its
//! reader. The library opens such files, and also those above the root, so they are read here. Invalid or oversized rule
//! files disable all rules from their folder down: this costs time but misses no file.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The rule files, by precedence: the first overrides the second in every folder.
const NAMES: [&str; 2] = [".ignore", ".gitignore"];
/// The size limit of a rule file.
const MOST_BYTES: u64 = 1 << 20;

/// The ignore rules of a folder.
#[derive(Debug, Clone)]
pub(crate) enum Rules {
    None,
    /// Disables all rules in this folder and below.
    Refused,
    Some(Arc<Folder>),
}

/// A folder that has rule files, and the rules around it.
#[derive(Debug)]
pub(crate) struct Folder {
    own: [Gitignore; 2],
    around: Rules,
}

impl Rules {
    /// Reads the rules of a folder within a root. Rules above the root do not count.
    pub(crate) fn for_folder(root: &Path, folder: &Path) -> Rules {
        let folders: Vec<&Path> = folder.ancestors().take_while(|folder| folder.starts_with(root)).collect();
        folders.into_iter().rev().fold(Rules::None, |around, folder| around.entered(folder))
    }

    /// Reads the rules of a direct subfolder.
    pub(crate) fn entered(&self, folder: &Path) -> Rules {
        if matches!(self, Rules::Refused) {
            return Rules::Refused;
        }
        match NAMES.map(|name| read(folder, name)) {
            [Ok(None), Ok(None)] => self.clone(),
            [Ok(first), Ok(second)] => {
                let own = [first, second].map(|rules| rules.unwrap_or_else(Gitignore::empty));
                Rules::Some(Arc::new(Folder { own, around: self.clone() }))
            }
            _ => Rules::Refused,
        }
    }

    /// True if the rules exclude a path. Hidden files are excluded unless a rule includes them.
    pub(crate) fn leave_out(&self, path: &Path, is_folder: bool) -> bool {
        for which in 0..NAMES.len() {
            let mut rules = self;
            while let Rules::Some(folder) = rules {
                match folder.own[which].matched(path, is_folder) {
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                    Match::None => rules = &folder.around,
                }
            }
        }
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
    }
}

/// Reads one rule file of a folder, if there is one. Returns `Err` if it must not be read.
fn read(folder: &Path, name: &str) -> io::Result<Option<Gitignore>> {
    let path = folder.join(name);
    match std::fs::symlink_metadata(&path) {
        // As in git, a symbolic link is not a rule file.
        Ok(what) if !what.is_file() || what.len() > MOST_BYTES => return Err(io::ErrorKind::InvalidInput.into()),
        Ok(_) => {}
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    }
    let mut text = Vec::new();
    project::regular::open(&path)?.take(MOST_BYTES).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text));
    let mut rules = GitignoreBuilder::new(folder);
    for line in text.lines() {
        // An invalid pattern excludes nothing.
        let _ = rules.add_line(None, line);
    }
    Ok(Some(rules.build().unwrap_or_else(|_| Gitignore::empty())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rule_decides_and_those_of_ignore_come_first() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let inner = root.join("in");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(root.join(".gitignore"), "\u{feff}*.log\n/only_here\nmade/\n[\n").unwrap();
        std::fs::write(inner.join(".gitignore"), b"!kept.log\n\xff\n!.shown\nsecond.ts\n").unwrap();
        std::fs::write(root.join(".ignore"), "!second.ts\n").unwrap();
        let rules = Rules::for_folder(root, &inner);
        let leaves_out = |path: &str| rules.leave_out(&root.join(path), false);
        assert!(leaves_out("in/x.log") && leaves_out("in/.hidden") && leaves_out("only_here"));
        assert!(!leaves_out("in/kept.log") && !leaves_out("in/.shown") && !leaves_out("in/second.ts"));
        assert!(!leaves_out("in/only_here") && !leaves_out("in/made") && rules.leave_out(&inner.join("made"), true));
    }
}
