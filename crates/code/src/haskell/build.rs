//! Compiles worktrees in the background, once for each state of their files.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::compile::{INDEX, Workspace};
use super::index::Index;
use super::reader::Names;
use super::sources::{Sources, Stamp, stamp};
use super::toolchain::{Order, entries};

/// The reason that an index is missing.
#[derive(Debug, Clone)]
pub(crate) enum Late {
    Compiling {
        began: Instant,
        /// The progress: `, unit 2 of 3`.
        progress: String,
    },
    Failed(String),
}

/// All worktrees with questions.
#[derive(Default)]
pub(crate) struct Projects(Mutex<HashMap<PathBuf, Arc<Project>>>);

#[derive(Default)]
struct Project {
    state: Mutex<State>,
    /// The contents of `.hie` files, valid until a file changes.
    read: Mutex<HashMap<PathBuf, (Stamp, Arc<Names>)>>,
}

#[derive(Default)]
struct State {
    latest: Option<Build>,
    running: Option<Running>,
}

#[derive(Clone)]
struct Build {
    sources: Arc<Sources>,
    ghc: PathBuf,
    at: Instant,
    result: Result<Arc<Index>, String>,
}

struct Running {
    began: Instant,
    progress: Arc<Mutex<String>>,
    ended: watch::Receiver<bool>,
    task: AbortHandle,
}

/// How long a failure is cached while no file changes.
const TRIED_EVERY: Duration = Duration::from_secs(60);

impl Build {
    fn holds(&self, sources: &Sources, ghc: &Path) -> bool {
        *self.sources == *sources && self.ghc == ghc && (self.result.is_ok() || self.at.elapsed() < TRIED_EVERY)
    }
}

impl Projects {
    /// Returns the current index of a worktree. Compiles changed modules in the background, without a time limit.
    pub(crate) async fn index(&self, order: Order, until: Instant) -> Result<Arc<Index>, Late> {
        let project = self.0.lock().entry(order.root.clone()).or_default().clone();
        let mut sources = scan(&order.root).await?;
        loop {
            let (began, progress, mut ended) = {
                let mut state = project.state.lock();
                if let Some(done) = state.latest.as_ref().filter(|done| done.holds(&sources, &order.ghc)) {
                    return done.result.clone().map_err(Late::Failed);
                }
                let running = state.running.get_or_insert_with(|| start(&project, &order, sources.clone()));
                (running.began, running.progress.clone(), running.ended.clone())
            };
            let is_over = ended.wait_for(|is_over| *is_over);
            let waited = tokio::time::timeout_at(tokio::time::Instant::from_std(until), is_over).await;
            match waited.map(|over| over.is_ok()) {
                Ok(true) => {}
                Ok(false) => {
                    project.state.lock().running = None;
                    return Err(Late::Failed("the compilation was ended".to_owned()));
                }
                Err(_) => return Err(Late::Compiling { began, progress: progress.lock().clone() }),
            }
            // The build may have started with older files. It is repeated while there is time.
            let is_of_these = |done: &Build| done.holds(&sources, &order.ghc);
            let is_done = project.state.lock().latest.as_ref().is_some_and(is_of_these);
            if !is_done {
                sources = scan(&order.root).await?;
            }
        }
    }

    pub(crate) fn state(&self, root: &Path) -> &'static str {
        let Some(project) = self.0.lock().get(root).cloned() else { return "not_started" };
        let state = project.state.lock();
        match (&state.running, &state.latest) {
            (Some(_), _) => "loading",
            (None, Some(Build { result: Ok(_), .. })) => "ready",
            (None, Some(_)) => "cannot_start",
            (None, None) => "not_started",
        }
    }

    /// Forgets a worktree: the next question compiles it again.
    pub(crate) fn forget(&self, root: &Path) {
        if let Some(project) = self.0.lock().remove(root) {
            project.end();
        }
    }

    /// Stops all builds.
    pub(crate) fn end(&self) {
        self.0.lock().drain().for_each(|(_, project)| project.end());
    }
}

impl Drop for Projects {
    fn drop(&mut self) {
        self.end();
    }
}

impl Project {
    fn end(&self) {
        if let Some(running) = self.state.lock().running.take() {
            running.task.abort();
        }
    }
}

async fn scan(root: &Path) -> Result<Arc<Sources>, Late> {
    Sources::scan(root).await.map(Arc::new).map_err(Late::Failed)
}

fn start(project: &Arc<Project>, order: &Order, sources: Arc<Sources>) -> Running {
    let (end, ended) = watch::channel(false);
    let progress: Arc<Mutex<String>> = Arc::default();
    let (own, order, shared) = (project.clone(), order.clone(), progress.clone());
    let task = tokio::spawn(async move {
        let result = own.build(&order, &sources, &shared).await;
        let done = Build { sources, ghc: order.ghc, at: Instant::now(), result };
        {
            let mut state = own.state.lock();
            state.latest = Some(done);
            state.running = None;
        }
        end.send_replace(true);
    });
    Running { began: Instant::now(), progress, ended, task: task.abort_handle() }
}

impl Project {
    async fn build(&self, order: &Order, sources: &Sources, progress: &Mutex<String>) -> Result<Arc<Index>, String> {
        let workspace = Workspace::new(order, sources, "index").await?;
        let units = &workspace.units;
        let mut open = units.open.clone();
        let mut modules = Vec::new();
        for (number, unit) in units.all.iter().enumerate() {
            *progress.lock() = format!(", unit {} of {}", number + 1, units.all.len());
            let mut failed = workspace.compile(unit, INDEX).await;
            let folder = workspace.folder(unit).join("hie");
            let mut names = self.names(&workspace, &folder).await?;
            // GHC compares modification times, and a new text may have an older time than the text before.
            let is_stale = |names: &&Arc<Names>| !is_current(&unit.directory, names);
            let stale: Vec<&Arc<Names>> = names.iter().filter(is_stale).collect();
            if !stale.is_empty() {
                stale.iter().for_each(|names| workspace.remove_interface(unit, &names.module));
                failed = workspace.compile(unit, INDEX).await;
                names = self.names(&workspace, &folder).await?;
            }
            for names in names {
                let file: PathBuf = unit.directory.join(&names.file).components().collect();
                if !failed.contains_key(&file) && is_current(&unit.directory, &names) {
                    modules.push((file, names));
                }
            }
            open.extend(failed);
        }
        // A file that another unit compiles is not missing.
        for (file, _) in &modules {
            open.remove(file);
        }
        let root = order.root.clone();
        let below = |file: PathBuf| file.strip_prefix(&root).map(Path::to_owned).unwrap_or(file);
        let open = open.into_iter().map(|(file, why)| (below(file), why)).collect();
        let index = tokio::task::spawn_blocking(move || Index::new(&root, &modules, open)).await;
        index.map(Arc::new).map_err(|error| error.to_string())
    }

    /// Reads the names in all `.hie` files below a folder. Reads only changed files.
    async fn names(&self, workspace: &Workspace, folder: &Path) -> Result<Vec<Arc<Names>>, String> {
        let mut files: BTreeMap<PathBuf, Stamp> = BTreeMap::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(next) = folders.pop() {
            for path in entries(&next) {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "hie") {
                    files.extend(stamp(&path).map(|stamp| (path, stamp)));
                }
            }
        }
        let is_known =
            |(path, stamp): &(&PathBuf, &Stamp)| self.read.lock().get(*path).is_some_and(|(known, _)| known == *stamp);
        let changed: Vec<PathBuf> = files.iter().filter(|one| !is_known(one)).map(|(path, _)| path.clone()).collect();
        let list = folder.with_extension("list");
        let read = workspace.reader.names(&workspace.toolchain, &changed, list).await?;
        let mut known = self.read.lock();
        for names in read {
            if let Some(problem) = &names.problem {
                tracing::warn!(hie = %names.hie.display(), problem, "names are not read");
                continue;
            }
            let stamp = files.get(&names.hie).copied();
            known.extend(stamp.map(|stamp| (names.hie.clone(), (stamp, Arc::new(names)))));
        }
        Ok(files.keys().filter_map(|path| Some(known.get(path)?.1.clone())).collect())
    }
}

/// True if names were read from the current version of their file.
fn is_current(directory: &Path, names: &Names) -> bool {
    crate::search::read(&directory.join(&names.file)).is_ok_and(|text| names.are_of(&text))
}
