//! A temporary git directory for one question or one fetch: the repository's history and index, with hob's own configuration.
//!
//! Git runs programs named in its configuration: filters, hooks, monitors, helpers. No list of such names is complete,
//! and some names fit no option. So git does not read the repository's configuration. It reads a copy with [`ALLOWED`]
//! settings only, none of which names a program. Attributes may still name filters, but none is defined.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::regular;

/// The size limit of a copied HEAD.
const HEAD_MAX: u64 = 4096;

/// The copied settings: the section, true if it has a subsection, and the names.
const ALLOWED: &[(&str, bool, &[&str])] = &[
    (
        "core",
        false,
        &[
            "filemode",
            "symlinks",
            "ignorecase",
            "precomposeunicode",
            "autocrlf",
            "eol",
            "excludesfile",
            "attributesfile",
            "sparsecheckout",
            "sparsecheckoutcone",
            "trustctime",
            "checkstat",
        ],
    ),
    ("extensions", false, &["objectformat", "refstorage", "compatobjectformat", "relativeworktrees"]),
    ("status", false, &["showuntrackedfiles", "renames", "renamelimit", "aheadbehind"]),
    ("diff", false, &["renames", "renamelimit"]),
    ("i18n", false, &["commitencoding", "logoutputencoding"]),
    ("branch", true, &["remote", "merge"]),
    ("remote", true, &["url", "fetch"]),
    ("url", true, &["insteadof"]),
];

/// Settings for a fetch only: logins as `actions/checkout` leaves them, and partial clones.
const ALLOWED_TO_FETCH: &[(&str, bool, &[&str])] = &[
    ("extensions", false, &["partialclone"]),
    ("remote", true, &["promisor", "partialclonefilter"]),
    ("http", true, &["extraheader"]),
    ("credential", true, &["username", "usehttppath"]),
];

/// The use of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Answer questions. The user's own configuration is not read either.
    Question,
    /// Fetch. The user's own configuration applies, with its logins and proxies.
    Fetch,
}

/// The directories of a repository, as `git rev-parse` names them.
#[derive(Debug, Clone, Copy)]
pub struct GitPlaces<'a> {
    pub git_dir: &'a Path,
    pub common_dir: &'a Path,
    pub work_tree: &'a Path,
}

/// A git directory that is removed when this is dropped.
#[derive(Debug)]
pub struct GitView {
    directory: tempfile::TempDir,
    work_tree: PathBuf,
    is_linked: bool,
    purpose: Purpose,
}

impl GitView {
    /// Creates a view. `config` is the output of `git config --list --show-scope -z`.
    ///
    /// # Errors
    /// If the directory cannot be created, or HEAD cannot be read.
    pub fn new(places: GitPlaces<'_>, config: &[u8], purpose: Purpose) -> io::Result<GitView> {
        let directory = tempfile::Builder::new().prefix("hob-git-").tempdir()?;
        let is_linked = places.git_dir != places.common_dir;
        let view = GitView { directory, work_tree: places.work_tree.to_owned(), is_linked, purpose };
        let common = view.common_dir();
        std::fs::create_dir(&common)?;
        link(places.common_dir, &common, &["refs", "objects", "logs", "shallow", "info", "reftable"])?;
        // Git creates it if it is absent.
        symlink(places.common_dir.join("packed-refs"), common.join("packed-refs"))?;
        std::fs::write(common.join("config"), configuration(config, purpose))?;
        let git_dir = view.git_dir();
        if is_linked {
            std::fs::create_dir(&git_dir)?;
            // Git finds refs by this file, whatever GIT_COMMON_DIR says.
            std::fs::write(git_dir.join("commondir"), "../common\n")?;
            link(places.git_dir, &git_dir, &["refs", "logs", "info", "reftable"])?;
        }
        // Git accepts no HEAD that is a link to another file.
        std::fs::write(git_dir.join("HEAD"), regular::read(&places.git_dir.join("HEAD"), HEAD_MAX)?)?;
        link(places.git_dir, &git_dir, &["index"])?;
        for entry in std::fs::read_dir(places.git_dir)?.flatten() {
            let name = entry.file_name();
            if name.as_bytes().starts_with(b"sharedindex.") {
                symlink(entry.path(), git_dir.join(name))?;
            }
        }
        Ok(view)
    }

    /// Returns the environment in which git uses the view. The caller's own `GIT_` variables must be removed.
    pub fn env(&self) -> Vec<(&'static str, OsString)> {
        let mut env = vec![
            ("GIT_DIR", self.git_dir().into_os_string()),
            ("GIT_WORK_TREE", self.work_tree.clone().into_os_string()),
            // Objects missing from a partial clone are not fetched.
            ("GIT_NO_LAZY_FETCH", "1".into()),
            ("GIT_TERMINAL_PROMPT", "0".into()),
            ("GIT_OPTIONAL_LOCKS", "0".into()),
            ("LC_ALL", "C".into()),
        ];
        if self.purpose == Purpose::Question {
            env.extend([
                ("GIT_CONFIG_GLOBAL", OsString::from("/dev/null")),
                ("GIT_CONFIG_NOSYSTEM", "1".into()),
                // Questions need no network.
                ("GIT_ALLOW_PROTOCOL", OsString::new()),
            ]);
        }
        env
    }

    fn common_dir(&self) -> PathBuf {
        self.directory.path().join("common")
    }

    fn git_dir(&self) -> PathBuf {
        if self.is_linked { self.directory.path().join("worktree") } else { self.common_dir() }
    }
}

/// Links the existing entries of these names.
fn link(from: &Path, to: &Path, names: &[&str]) -> io::Result<()> {
    for name in names {
        let target = from.join(name);
        if target.symlink_metadata().is_ok() {
            symlink(target, to.join(name))?;
        }
    }
    Ok(())
}

/// Returns the text of the configuration.
fn configuration(listed: &[u8], purpose: Purpose) -> Vec<u8> {
    let mut text = b"[core]\n\trepositoryformatversion = 1\n\tbare = false\n".to_vec();
    let mut words = listed.split(|byte| *byte == 0);
    while let (Some(scope), Some(entry)) = (words.next(), words.next()) {
        if purpose == Purpose::Fetch && !matches!(scope, b"local" | b"worktree") {
            continue;
        }
        let end = entry.iter().position(|byte| *byte == b'\n');
        let (name, value) = end.map_or((entry, &b"true"[..]), |end| (&entry[..end], &entry[end + 1..]));
        let Some((section, subsection, key)) = split(name) else { continue };
        if !is_allowed(section, subsection.is_some(), key, purpose) {
            continue;
        }
        text.extend([b"[", section.as_bytes()].concat());
        if let Some(subsection) = subsection {
            text.extend([b" \"", &*escaped(subsection), b"\""].concat());
        }
        text.extend([b"]\n\t", key.as_bytes(), b" = \"", &*escaped(value), b"\"\n"].concat());
    }
    text
}

/// Splits a name into section, subsection and key, if it is valid in a file.
fn split(name: &[u8]) -> Option<(&str, Option<&[u8]>, &str)> {
    let first = name.iter().position(|byte| *byte == b'.')?;
    let last = name.iter().rposition(|byte| *byte == b'.')?;
    let section = std::str::from_utf8(&name[..first]).ok()?;
    let key = std::str::from_utf8(&name[last + 1..]).ok()?;
    Some((section, (first < last).then(|| &name[first + 1..last]), key))
}

fn is_allowed(section: &str, has_subsection: bool, key: &str, purpose: Purpose) -> bool {
    let more = if purpose == Purpose::Fetch { ALLOWED_TO_FETCH } else { &[] };
    ALLOWED
        .iter()
        .chain(more)
        .any(|(known, is_below, keys)| *known == section && *is_below == has_subsection && keys.contains(&key))
}

/// Escapes a value or subsection for quotes.
fn escaped(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'\n' => text.extend(b"\\n"),
            b'"' | b'\\' => text.extend([b'\\', *byte]),
            byte => text.push(*byte),
        }
    }
    text
}

/// Finds a link by which a fetch would leave the repository, or write to a branch outside `refs/remotes`. Returns its
/// path. Examines the files and directories of the repository, and follows no link.
///
/// # Errors
/// If a directory cannot be read, or holds too many files.
pub fn misleading_link(common_dir: &Path) -> io::Result<Option<PathBuf>> {
    let mut left = 1_000_000_u32;
    let mut waiting = Vec::new();
    for name in ["objects", "refs", "logs", "packed-refs", "shallow", "reftable"] {
        let path = common_dir.join(name);
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => return Ok(Some(path)),
            Ok(metadata) if metadata.is_dir() => waiting.push((path, name)),
            _ => {}
        }
    }
    while let Some((directory, part)) = waiting.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let entry = entry?;
            left = left.checked_sub(1).ok_or_else(|| io::Error::other("the repository has too many files"))?;
            let (kind, path) = (entry.file_type()?, entry.path());
            if kind.is_symlink() || part == "logs" && kind.is_file() && is_shared(&path)? {
                return Ok(Some(path));
            }
            // Objects are created under new names, and never overwritten.
            if kind.is_dir() && (part != "objects" || directory.file_name() == Some(OsStr::new("objects"))) {
                waiting.push((path, part));
            } else if part == "refs" && kind.is_file() && points_elsewhere(common_dir, &path) {
                return Ok(Some(path));
            }
        }
    }
    Ok(None)
}

/// Returns true if a file has other names, which may be outside.
fn is_shared(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    Ok(path.symlink_metadata()?.nlink() > 1)
}

/// Returns true if a ref below `refs/remotes` refers to one that is not.
fn points_elsewhere(common_dir: &Path, path: &Path) -> bool {
    if !path.starts_with(common_dir.join("refs/remotes")) {
        return false;
    }
    // Git itself will reject an unreadable file.
    let text = regular::read(path, HEAD_MAX).unwrap_or_default();
    text.strip_prefix("ref:").is_some_and(|to| !to.trim_start().starts_with("refs/remotes/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_allowed_settings_are_copied() {
        let listed = b"global\0core.excludesfile\n~/x\0local\0filter.a=b.clean\nevil\0local\0core.fsmonitor\nevil\0\
            local\0core.filemode\0local\0branch.a\"]\\x.remote\nu\n[filter \"x\"]\0local\0remote.\xff.url\n..\0";
        let expected: &[u8] = b"[core]\n\trepositoryformatversion = 1\n\tbare = false\n[core]\n\texcludesfile = \"~/x\"\n\
            [core]\n\tfilemode = \"true\"\n[branch \"a\\\"]\\\\x\"]\n\tremote = \"u\\n[filter \\\"x\\\"]\"\n[remote \"\xff\"]\n\turl = \"..\"\n";
        let found = configuration(listed, Purpose::Question);
        assert_eq!(found, expected, "{}", String::from_utf8_lossy(&found));
        assert!(!configuration(listed, Purpose::Fetch).windows(8).any(|word| word == b"excludes"));
    }
}
