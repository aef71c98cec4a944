//! The files around the open documents: a workspace for each directory of the editor, in which the open texts stand for
//! their files.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Folder;
use crate::workspace::{Index, Workspace};

/// How long the files may go without a look while the editor says nothing of them, and how many times as long as a look
/// takes.
const PATIENCE: (Duration, u32) = (Duration::from_secs(2), 20);

/// The workspaces.
#[derive(Debug)]
pub(super) struct Projects {
    all: Vec<Project>,
    /// For what belongs to no directory: only the open texts and the library are known there.
    outside: Project,
}

#[derive(Debug)]
struct Project {
    folder: Folder,
    workspace: Workspace,
    /// When the files were looked at, and how long that took; `None` if they have to be looked at now.
    looked: Option<(Instant, Duration)>,
}

impl Project {
    fn new(folder: Folder) -> Project {
        let workspace = Workspace::new(folder.roots.clone());
        Project { folder, workspace, looked: None }
    }

    fn index(&mut self) -> Arc<Index> {
        let fresh = self.looked.is_some_and(|(at, took)| at.elapsed() < PATIENCE.0.max(took * PATIENCE.1));
        if fresh {
            return self.workspace.renew();
        }
        let begun = Instant::now();
        let index = self.workspace.refresh();
        self.looked = Some((Instant::now(), begun.elapsed()));
        index
    }
}

impl Default for Projects {
    fn default() -> Projects {
        let nowhere = Folder { worktree: Default::default(), roots: Vec::new() };
        Projects { all: Vec::new(), outside: Project::new(nowhere) }
    }
}

impl Projects {
    pub(super) fn add(&mut self, folder: Folder) {
        if self.all.iter().all(|known| known.folder.worktree != folder.worktree) {
            self.all.push(Project::new(folder));
        }
    }

    /// Returns the project of a file. A text without a file belongs to the first project.
    fn project_of(&mut self, path: Option<&Path>) -> &mut Project {
        let Projects { all, outside } = self;
        let found = match path {
            Some(path) => {
                let around = all.iter_mut().filter(|one| path.starts_with(&one.folder.worktree));
                around.max_by_key(|one| one.folder.worktree.as_os_str().len())
            }
            None => all.first_mut(),
        };
        found.unwrap_or(outside)
    }

    /// Lets a text stand for a file, or the file itself again.
    pub(super) fn hold(&mut self, path: &Path, text: Option<Arc<str>>) {
        self.project_of(Some(path)).workspace.hold(path, text);
    }

    /// The modules around a file, as they are now.
    pub(super) fn index(&mut self, path: Option<&Path>) -> Arc<Index> {
        self.project_of(path).index()
    }

    /// The files may have changed: they are looked at when they are needed next.
    pub(super) fn look_again(&mut self) {
        self.all.iter_mut().for_each(|one| one.looked = None);
        self.outside.looked = None;
    }
}
