//! The part that a daemon holds: its configuration, and each worktree's files, kept between calls.

use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcp::tool::Context;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::compile::{ModuleCache, Sources};
use crate::syntax::ast::Name;
use crate::workspace::{Index, Report, Workspace};

/// Maximum number of worktrees whose files are kept.
const MOST_WORKSPACES: usize = 16;

/// Maximum number of programs that run at once; others wait.
const MOST_RUNS: usize = 4;

/// The configuration.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The directories of a worktree where modules are found, relative to it; empty for the whole worktree.
    pub roots: Vec<PathBuf>,
    /// The limits of programs; `None` if they may not be run.
    pub run: Option<RunLimits>,
}

/// The limits of a program's run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Maximum steps of the interpreter.
    pub steps: u64,
    /// Maximum memory, in bytes.
    pub memory: u64,
    pub time: Duration,
}

/// The part's state.
#[derive(Debug)]
pub struct Cure {
    options: Options,
    /// Least recently used first.
    workspaces: Mutex<Vec<(Vec<PathBuf>, Shared)>>,
    /// Permits for running programs.
    turns: Arc<Semaphore>,
}

type Shared = Arc<Mutex<Workspace>>;

impl Cure {
    /// Creates the part. Files are read when a tool first needs them.
    pub fn new(options: Options) -> Arc<Cure> {
        Arc::new(Cure { options, workspaces: Mutex::default(), turns: Arc::new(Semaphore::new(MOST_RUNS)) })
    }

    /// The configuration.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Waits until another program may run. Dropping the permit ends the turn. `None` if the call is cancelled.
    pub(crate) async fn turn(&self, cx: &Context) -> Option<OwnedSemaphorePermit> {
        tokio::select! {
            turn = self.turns.clone().acquire_owned() => turn.ok(),
            () = cx.cancelled() => None,
        }
    }

    /// The directories of a worktree where modules are found. A link that leads out of the worktree is ignored.
    pub fn roots(&self, worktree: &Path) -> Vec<PathBuf> {
        let Ok(worktree) = worktree.canonicalize() else { return Vec::new() };
        if self.options.roots.is_empty() {
            return vec![worktree];
        }
        let real = self.options.roots.iter().filter_map(|root| worktree.join(root).canonicalize().ok());
        real.filter(|root| root.starts_with(&worktree)).collect()
    }

    /// The files below these directories, kept between calls.
    fn workspace(&self, roots: Vec<PathBuf>) -> Shared {
        let mut kept = self.workspaces.lock();
        let found = kept.iter().position(|(known, _)| *known == roots).map(|at| kept.remove(at));
        if kept.len() >= MOST_WORKSPACES {
            kept.remove(0);
        }
        let found = found.unwrap_or_else(|| (roots.clone(), Arc::new(Mutex::new(Workspace::new(roots)))));
        kept.push(found.clone());
        found.1
    }

    /// Checks everything at or below a path of a worktree, without repeating unchanged modules. If the path is outside
    /// the configured directories, its own directory is added for this check.
    pub fn check(&self, worktree: &Path, below: &Path) -> Report {
        let below = below.canonicalize().unwrap_or_else(|_| below.to_owned());
        let mut roots = self.roots(worktree);
        if !roots.iter().any(|root| below.starts_with(root) || root.starts_with(&below)) {
            let directory = if below.is_dir() { Some(&*below) } else { below.parent() };
            roots.extend(directory.map(Path::to_owned));
        }
        refresh(&self.workspace(roots)).check(&below)
    }

    /// The modules that code from this worktree may use.
    pub fn modules(&self, worktree: Option<&Path>) -> Modules {
        Modules { workspace: worktree.map(|path| self.workspace(self.roots(path))), index: OnceLock::new() }
    }
}

/// Brings a workspace up to date with its files.
fn refresh(workspace: &Shared) -> Arc<Index> {
    workspace.lock().refresh()
}

/// The modules of a worktree. Its files are read when the first module is requested.
#[derive(Debug)]
pub struct Modules {
    workspace: Option<Shared>,
    index: OnceLock<Arc<Index>>,
}

impl Modules {
    fn index(&self) -> Option<&Index> {
        let workspace = self.workspace.as_ref()?;
        Some(self.index.get_or_init(|| refresh(workspace)))
    }
}

impl Sources for Modules {
    fn source(&self, module: &str) -> Option<Arc<str>> {
        self.index()?.source(module)
    }

    fn needs(&self, module: &str) -> Vec<Name> {
        self.index().map_or_else(Vec::new, |index| index.needs(module))
    }

    fn cache(&self) -> Option<&ModuleCache> {
        self.index()?.cache()
    }
}
