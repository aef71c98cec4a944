//! A project and where its things are. Paths only; [`crate::Lock`] and [`crate::socket`] use them.

use std::env;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::root::{CONFIG_FILE, FindError, FoundBy, HOB_DIR, find};
use crate::{git, origin, owner, runtime};

/// The longest path a Unix socket can have: `sun_path` is 108 bytes, the last one a NUL.
const SOCKET_PATH_MAX: usize = 107;

/// A path that is not there, or not as it has to be.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum PathError {
    #[error("create {path}: {source}; check that the directory above it is writable and the disk not full")]
    Create { path: PathBuf, source: io::Error },
    #[error(
        "{path} is not a private directory of this user (a link, another owner, or open to others); move it away, or set XDG_RUNTIME_DIR to a directory of your own"
    )]
    NotPrivate { path: PathBuf },
    #[error("{path} is not a directory of this user; move it away, then run the command again")]
    NotMine { path: PathBuf },
    #[error("the socket path {path} has {} bytes and at most {SOCKET_PATH_MAX} fit; set XDG_RUNTIME_DIR (or TMPDIR) to a shorter directory of your own", path.as_os_str().len())]
    TooLong { path: PathBuf },
}

/// A project: its root and what derives from it.
#[derive(Debug, Clone)]
pub struct Project {
    root: PathBuf,
    found_by: FoundBy,
    hash: String,
    hob_dir: PathBuf,
    read_only: bool,
}

impl Project {
    /// Finds the project: `explicit` (`--project`), else `HOB_PROJECT`, else by looking around `cwd`.
    pub fn find(explicit: Option<&Path>, cwd: &Path) -> Result<Project, FindError> {
        let variable = env::var_os("HOB_PROJECT").map(PathBuf::from);
        let (root, found_by) = find(explicit, variable.as_deref(), cwd)?;
        let hash = hash_of(&root);
        let (hob_dir, read_only) = hob_dir_of(&root, &hash);
        Ok(Project { root, found_by, hash, hob_dir, read_only })
    }

    /// The root: absolute, without links, valid UTF-8, owned by this user.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What made it the root.
    pub fn found_by(&self) -> FoundBy {
        self.found_by
    }

    /// The worktree of this project in which `cwd` lies, else the root.
    pub fn worktree(&self, cwd: &Path) -> PathBuf {
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        match git::worktree(&cwd) {
            Some(worktree) if worktree.main == self.root => worktree.top,
            _ => self.root.clone(),
        }
    }

    /// The repository that this one is a clone of, the same for all clones of it; `None` without a remote `origin`.
    pub fn origin(&self) -> Option<String> {
        origin::origin(&self.root)
    }

    /// 16 hexadecimal digits that name the root where a path is too long.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// `hob.toml` at the root, whether it exists or not.
    pub fn config_path(&self) -> PathBuf {
        self.root.join(CONFIG_FILE)
    }

    /// Where the project's state is: `.hob` at the root; for a read-only project a directory under the user's state
    /// directory. It may not exist yet: [`Project::create_hob_dir`].
    pub fn hob_dir(&self) -> &Path {
        &self.hob_dir
    }

    /// Whether the state is kept outside the project because the project cannot be written to.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Where secrets of the project are: under the user's state directory, never inside the project. It may not exist
    /// yet.
    pub fn private_dir(&self) -> PathBuf {
        state_dir().join(&self.hash)
    }

    /// The lock of the project's daemon.
    pub fn lock_path(&self) -> PathBuf {
        self.hob_dir.join("lock")
    }

    /// The daemon's logs.
    pub fn log_dir(&self) -> PathBuf {
        self.hob_dir.join("log")
    }

    /// What sessions print.
    pub fn output_dir(&self) -> PathBuf {
        self.hob_dir.join("output")
    }

    /// Where the daemon's socket belongs in this environment; makes the runtime directory.
    pub fn socket_path(&self) -> Result<PathBuf, PathError> {
        let path = runtime::directory()?.join(self.socket_name());
        match path.as_os_str().len() <= SOCKET_PATH_MAX {
            true => Ok(path),
            false => Err(PathError::TooLong { path }),
        }
    }

    /// The file that says where the socket of the running daemon really is (its environment may differ from ours).
    pub fn socket_note_path(&self) -> PathBuf {
        self.hob_dir.join("socket")
    }

    pub(crate) fn socket_name(&self) -> String {
        format!("{}.sock", self.hash)
    }

    /// Makes the state directory, with an ignore file of its own so that git never sees it.
    pub fn create_hob_dir(&self) -> Result<&Path, PathError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| PathError::Create { path, source }
        };
        if let Some(above) = self.hob_dir.parent().filter(|_| self.is_read_only()) {
            DirBuilder::new().recursive(true).mode(0o700).create(above).map_err(failed(above))?;
        }
        match DirBuilder::new().mode(0o700).create(&self.hob_dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(&self.hob_dir)(error)),
            _ => {}
        }
        // A repository may hold a link of this name.
        let metadata = fs::symlink_metadata(&self.hob_dir).map_err(failed(&self.hob_dir))?;
        if !metadata.is_dir() || metadata.uid() != owner::me() {
            return Err(PathError::NotMine { path: self.hob_dir.clone() });
        }
        let ignore = self.hob_dir.join(".gitignore");
        if ignore.symlink_metadata().is_err() {
            fs::write(&ignore, "*\n").map_err(|error| {
                // A full disk leaves an empty file, which would ignore nothing and be taken for ours next time.
                let _ = fs::remove_file(&ignore);
                failed(&ignore)(error)
            })?;
        }
        Ok(&self.hob_dir)
    }
}

pub(crate) fn hash_of(root: &Path) -> String {
    let digest = Sha256::digest(root.as_os_str().as_encoded_bytes());
    digest.iter().take(8).fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The state directory, and whether it had to be put outside because the project cannot be written to.
fn hob_dir_of(root: &Path, hash: &str) -> (PathBuf, bool) {
    let inside = root.join(HOB_DIR);
    let above = if inside.symlink_metadata().is_ok() { &inside } else { root };
    match accessat(CWD, above, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS) {
        Err(Errno::ACCESS | Errno::ROFS | Errno::PERM) => (state_dir().join(hash), true),
        _ => (inside, false),
    }
}

/// The user's state directory (XDG base directories), else a private place in the temp directory.
fn state_dir() -> PathBuf {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").filter(|home| owner::is_mine(home)).map(|home| home.join(".local/state")))
        .map(|state| state.join("hob"))
        .unwrap_or_else(|| runtime::temporary().join(format!("hob-{}", owner::me())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_derive_from_the_root() {
        let temp = tempfile::tempdir().unwrap();
        let project = Project::find(Some(temp.path()), Path::new("/")).unwrap();
        let root = temp.path().canonicalize().unwrap();
        assert_eq!(project.root(), root);
        assert_eq!(project.hob_dir(), root.join(".hob"));
        assert_eq!(project.worktree(&root), root);
        assert!(!project.is_read_only());
        assert_eq!(project.hash().len(), 16);
        assert!(project.socket_path().unwrap().ends_with(format!("{}.sock", project.hash())));
    }

    #[test]
    fn worktrees_of_a_repository_share_the_project_and_differ() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let (main, linked) = (top.join("main"), top.join("linked"));
        let git_dir = main.join(".git/worktrees/linked");
        fs::create_dir_all(&git_dir).unwrap();
        fs::create_dir_all(linked.join("src")).unwrap();
        fs::write(main.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(linked.join(".git"), format!("gitdir: {}\n", git_dir.display())).unwrap();
        fs::write(git_dir.join("gitdir"), format!("{}\n", linked.join(".git").display())).unwrap();
        fs::write(git_dir.join("commondir"), "../..\n").unwrap();
        // A copy of its own changes nothing.
        fs::write(linked.join("hob.toml"), "").unwrap();
        let (one, two) = (find(None, None, &main).unwrap(), find(None, None, &linked.join("src")).unwrap());
        assert_eq!(one, (main.clone(), FoundBy::Git));
        assert_eq!(two, one);
        let project = Project::find(Some(&main), Path::new("/")).unwrap();
        assert_eq!(project.worktree(&linked.join("src")), linked);
        assert_eq!(project.worktree(&main), main);
        assert_eq!(project.worktree(&top), main);
    }

    #[test]
    fn the_state_directory_hides_itself_from_git_and_is_no_link() {
        let temp = tempfile::tempdir().unwrap();
        let project = Project::find(Some(temp.path()), Path::new("/")).unwrap();
        project.create_hob_dir().unwrap();
        project.create_hob_dir().unwrap();
        assert_eq!(fs::read_to_string(temp.path().join(".hob/.gitignore")).unwrap(), "*\n");
        fs::remove_dir_all(temp.path().join(".hob")).unwrap();
        std::os::unix::fs::symlink("/tmp", temp.path().join(".hob")).unwrap();
        assert!(matches!(project.create_hob_dir(), Err(PathError::NotMine { .. })));
    }
}
