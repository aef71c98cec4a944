//! A project and its paths. [`crate::Lock`] and [`crate::socket`] use them.

use std::env;
use std::path::{Path, PathBuf};

use crate::path_error::{PathError, SOCKET_PATH_MAX};
use crate::root::{CONFIG_FILE, FindError, FoundBy, find, hash_of};
use crate::{git, origin, runtime_dir, state};

/// A project: its root and derived paths.
#[derive(Debug, Clone)]
pub struct Project {
    root: PathBuf,
    found_by: FoundBy,
    hash: String,
    state_dir: PathBuf,
}

impl Project {
    /// Finds the project: `explicit` (`--project`), else `HOB_PROJECT`, else by looking around `cwd`.
    pub fn find(explicit: Option<&Path>, cwd: &Path) -> Result<Project, FindError> {
        let variable = env::var_os("HOB_PROJECT").map(PathBuf::from);
        let (root, found_by) = find(explicit, variable.as_deref(), cwd)?;
        let hash = hash_of(&root);
        let state_dir = state::directory(&hash)?;
        Ok(Project { root, found_by, hash, state_dir })
    }

    /// Returns the root: absolute, without links, valid UTF-8, owned by this user.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns how the root was identified.
    pub fn found_by(&self) -> FoundBy {
        self.found_by
    }

    /// Returns the worktree of this project that contains `cwd`, else the root.
    pub fn worktree(&self, cwd: &Path) -> PathBuf {
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        // A repository inside of a worktree belongs to that worktree.
        let own = git::worktrees(&cwd).find(|worktree| worktree.main == self.root);
        own.map_or_else(|| self.root.clone(), |worktree| worktree.top)
    }

    /// Returns the nearest directory between the root and `cwd` that has a project's file (`pyproject.toml` …), unless
    /// it is the root.
    pub fn project_below(&self, cwd: &Path) -> Option<PathBuf> {
        crate::root::project_below(&self.root, &cwd.canonicalize().ok()?)
    }

    /// Returns the repository that this one was cloned from, the same for all its clones; `None` without a remote `origin`.
    pub fn origin(&self) -> Option<String> {
        origin::origin(&self.root)
    }

    /// Returns 16 hexadecimal digits that identify the root where a path is too long.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Returns the path of `hob.toml` at the root, which may not exist.
    pub fn config_path(&self) -> PathBuf {
        self.root.join(CONFIG_FILE)
    }

    /// Returns the project's state directory: private, below the user's state directory, never inside the project. It
    /// may not exist yet: [`Project::create_state_dir`].
    pub fn state_dir(&self) -> &Path {
        &self.state_dir
    }

    /// Creates the state directory, private to this user; adopts the one that the project had before it was moved.
    pub fn create_state_dir(&self) -> Result<&Path, PathError> {
        state::create(&self.state_dir, &self.root)?;
        Ok(&self.state_dir)
    }

    /// Returns the state of other projects that used to be at this path, kept until their directories are found again.
    pub fn states_set_aside(&self) -> Vec<PathBuf> {
        state::set_aside_states(&self.state_dir)
    }

    /// Returns true if the state directory still belongs to another directory that used to be at this path: nothing in
    /// it is this project's. [`Project::create_state_dir`] sets it aside.
    pub fn state_is_of_another(&self) -> bool {
        state::is_of_another(&self.state_dir, &self.root)
    }

    /// Checks if the state directory can be used or created, without creating it.
    ///
    /// # Errors
    /// If it is in a place that is unavailable now.
    pub fn look_at_state(&self) -> Result<(), PathError> {
        state::usable(&self.state_dir)
    }

    /// Returns the lock of the project's daemon.
    pub fn lock_path(&self) -> PathBuf {
        self.state_dir.join("lock")
    }

    /// Returns the daemon's logs.
    pub fn log_dir(&self) -> PathBuf {
        self.state_dir.join("log")
    }

    /// Returns the directory of sessions' output.
    pub fn output_dir(&self) -> PathBuf {
        self.state_dir.join("output")
    }

    /// Returns the location of the daemon's socket in this environment.
    pub fn socket_path(&self) -> Result<PathBuf, PathError> {
        let path = runtime_dir::directory()?.join(self.socket_name());
        if path.as_os_str().len() <= SOCKET_PATH_MAX { Ok(path) } else { Err(PathError::TooLong { path }) }
    }

    /// Returns the file with the actual location of the running daemon's socket (its environment may differ from ours).
    pub fn socket_note_path(&self) -> PathBuf {
        self.state_dir.join("socket")
    }

    pub(crate) fn socket_name(&self) -> String {
        format!("{}.sock", self.hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn paths_derive_from_the_root() {
        let temp = tempfile::tempdir().unwrap();
        let project = Project::find(Some(temp.path()), Path::new("/")).unwrap();
        let root = temp.path().canonicalize().unwrap();
        assert_eq!(project.root(), root);
        assert!(!project.state_dir().starts_with(&root) && project.state_dir().ends_with(project.hash()));
        assert_eq!(project.worktree(&root), root);
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
        fs::create_dir(main.join(".git/objects")).unwrap();
        fs::write(linked.join(".git"), format!("gitdir: {}\n", git_dir.display())).unwrap();
        fs::write(git_dir.join("gitdir"), format!("{}\n", linked.join(".git").display())).unwrap();
        fs::write(git_dir.join("commondir"), "../..\n").unwrap();
        // A worktree's own copy changes nothing.
        fs::write(linked.join("hob.toml"), "").unwrap();
        let (one, two) = (find(None, None, &main).unwrap(), find(None, None, &linked.join("src")).unwrap());
        assert_eq!(one, (main.clone(), FoundBy::Git));
        assert_eq!(two, one);
        let project = Project::find(Some(&main), Path::new("/")).unwrap();
        assert_eq!(project.worktree(&linked.join("src")), linked);
        assert_eq!(project.worktree(&main), main);
        assert_eq!(project.worktree(&top), main);
        // A repository inside of the linked worktree.
        let inner = linked.join("src/inner");
        fs::create_dir_all(inner.join(".git")).unwrap();
        fs::write(inner.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(project.worktree(&inner), linked);
        assert_eq!(find(None, None, &inner).unwrap(), (inner.clone(), FoundBy::Git));
        let around: Vec<PathBuf> = crate::root::candidate_roots(&inner).into_iter().take(4).collect();
        assert_eq!(around, [inner, linked.join("src"), main, top]);
    }
}
