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

/// The number of worktrees whose files are kept.
const MOST_WORKSPACES: usize = 16;

/// The number of programs that may run at once; others wait.
const MOST_RUNS: usize = 4;

/// The configuration.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The directories of a worktree where modules are found, relative to it; none for all of it.
    pub roots: Vec<PathBuf>,
    /// Whether programs may be run, and how far.
    pub run: Option<RunLimits>,
}

/// How far a program may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Steps of the interpreter.
    pub steps: u64,
    /// Bytes of memory.
    pub memory: u64,
    pub time: Duration,
}

/// The part's state.
#[derive(Debug)]
pub struct Cure {
    options: Options,
    /// The most recently used is last.
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

    /// Waits until another program may run beside those that do. The turn ends when what is returned is dropped.
    pub(crate) async fn turn(&self, cx: &Context) -> Option<OwnedSemaphorePermit> {
        tokio::select! {
            turn = self.turns.clone().acquire_owned() => turn.ok(),
            () = cx.cancelled() => None,
        }
    }

    /// The directories of a worktree where modules are found. A link that leads out of the worktree is ignored.
    fn roots(&self, worktree: &Path) -> Vec<PathBuf> {
        let Ok(worktree) = worktree.canonicalize() else { return Vec::new() };
        if self.options.roots.is_empty() {
            return vec![worktree];
        }
        let real = self.options.roots.iter().filter_map(|root| worktree.join(root).canonicalize().ok());
        real.filter(|root| root.starts_with(&worktree)).collect()
    }

    /// The files below these directories, as kept from the last time.
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

    /// Checks everything at or below a path of a worktree, and again only what has changed. Where the path is no place of
    /// modules, its directory becomes one for this once.
    pub fn check(&self, worktree: &Path, below: &Path) -> Report {
        let below = below.canonicalize().unwrap_or_else(|_| below.to_owned());
        let mut roots = self.roots(worktree);
        if !roots.iter().any(|root| below.starts_with(root) || root.starts_with(&below)) {
            let directory = if below.is_dir() { Some(&*below) } else { below.parent() };
            roots.extend(directory.map(Path::to_owned));
        }
        refresh(&self.workspace(roots)).check(&below)
    }

    /// The modules that the code of a caller in this worktree may use.
    pub fn modules(&self, worktree: Option<&Path>) -> Modules {
        Modules { workspace: worktree.map(|path| self.workspace(self.roots(path))), index: OnceLock::new() }
    }
}

/// Looks at the files of a workspace.
fn refresh(workspace: &Shared) -> Arc<Index> {
    workspace.lock().refresh()
}

/// The modules of a worktree. Its files are looked at when the first module is asked for.
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
