//! Compiles worktrees in the background, once for each state of their files.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use process::Guard;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::compile::{INDEX, Places, compile, register};
use super::index::Index;
use super::reader::{Names, Reader, hash};
use super::sources::{Sources, Stamp, stamp};
use super::toolchain::{Runner, Toolchain};
use super::units::{Unit, Units};

/// The worktree to compile, and the programs and limits to use.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    pub root: PathBuf,
    /// The GHC for projects that name none.
    pub ghc: PathBuf,
    pub env: Vec<(String, String)>,
    /// The directory for the output of GHC.
    pub directory: PathBuf,
    pub guard: Guard,
    pub records: Option<PathBuf>,
    /// The heap limit of GHC, in MiB.
    pub memory: u64,
}

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
    let root = root.to_owned();
    let scanned = tokio::task::spawn_blocking(move || Sources::scan(&root)).await;
    scanned.map(Arc::new).map_err(|error| Late::Failed(error.to_string()))
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

/// A worktree that is ready to be compiled.
pub(super) struct Workspace {
    pub runner: Runner,
    pub toolchain: Toolchain,
    pub places: Places,
    pub reader: Reader,
    pub units: Units,
}

impl Workspace {
    /// Finds the toolchain and the units of a worktree. The output of GHC goes to the folder `name` of the worktree.
    pub(super) async fn new(order: &Order, sources: &Sources, name: &str) -> Result<Workspace, String> {
        let Order { root, env, guard, records, memory, .. } = order;
        let mut of = DefaultHasher::new();
        root.hash(&mut of);
        let own = order.directory.join(format!("{:016x}", of.finish())).join(name);
        let scratch = own.join("tmp");
        // Leftovers of a GHC that was killed.
        _ = std::fs::remove_dir_all(&scratch);
        std::fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
        let runner = Runner { env: env.clone(), guard: guard.clone(), records: records.clone(), scratch };
        let toolchain = Toolchain::new(&runner, root, order.ghc.clone()).await?;
        let mut of = DefaultHasher::new();
        (&toolchain.ghc, &toolchain.version).hash(&mut of);
        let places = Places { own: own.join(format!("{:016x}", of.finish())), memory: *memory };
        std::fs::create_dir_all(&places.own).map_err(|error| format!("{}: {error}", places.own.display()))?;
        let reader = Reader::new(&runner, &toolchain, &order.directory).await?;
        let packages: Vec<&Path> = sources.with_extension(&["cabal"]).collect();
        let components = reader.components(&runner, &toolchain, &packages).await?;
        let units = Units::new(root, sources, &components, &toolchain);
        register(&runner, &toolchain, &places, &units).await?;
        Ok(Workspace { runner, toolchain, places, reader, units })
    }

    /// Compiles a unit. Returns its files that do not compile, with the reason.
    pub(super) async fn compile(&self, unit: &Unit, root: &Path, options: &[&str]) -> BTreeMap<PathBuf, String> {
        compile(&self.runner, &self.toolchain, &self.places, unit, root, options).await
    }
}

impl Project {
    async fn build(&self, order: &Order, sources: &Sources, progress: &Mutex<String>) -> Result<Arc<Index>, String> {
        let root = &order.root;
        let workspace = Workspace::new(order, sources, "index").await?;
        let Workspace { runner, reader, places, units, .. } = &workspace;
        let mut open = units.open.clone();
        let mut modules = Vec::new();
        for (number, unit) in units.all.iter().enumerate() {
            *progress.lock() = format!(", unit {} of {}", number + 1, units.all.len());
            let mut failed = workspace.compile(unit, root, INDEX).await;
            let mut names = self.names(reader, runner, &places.hie(unit)).await?;
            // GHC compares modification times, and a new text may have an older time than the text before.
            let stale: Vec<PathBuf> = names
                .iter()
                .filter(|names| !is_current(&unit.directory, names))
                .map(|names| names.hie.clone())
                .collect();
            if !stale.is_empty() {
                let hie = places.hie(unit);
                for file in &stale {
                    let below = file.strip_prefix(&hie).unwrap_or(file);
                    _ = std::fs::remove_file(file);
                    _ = std::fs::remove_file(places.unit(unit).join("hi").join(below).with_extension("hi"));
                }
                failed = workspace.compile(unit, root, INDEX).await;
                names = self.names(reader, runner, &hie).await?;
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
        let below = |file: PathBuf| file.strip_prefix(root).map(Path::to_owned).unwrap_or(file);
        let open = open.into_iter().map(|(file, why)| (below(file), why)).collect();
        let root = root.clone();
        let index = tokio::task::spawn_blocking(move || Index::new(&root, &modules, open)).await;
        index.map(Arc::new).map_err(|error| error.to_string())
    }

    /// Reads the names in all `.hie` files below a folder. Reads only changed files.
    async fn names(&self, reader: &Reader, runner: &Runner, folder: &Path) -> Result<Vec<Arc<Names>>, String> {
        let mut files: BTreeMap<PathBuf, Stamp> = BTreeMap::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(next) = folders.pop() {
            for entry in std::fs::read_dir(next).into_iter().flatten().flatten() {
                let path = entry.path();
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
        let read = reader.names(runner, &changed, folder.with_extension("list")).await?;
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
    let text = crate::search::read(&directory.join(&names.file)).unwrap_or_default();
    text.len() == names.length && hash(&text).to_string() == names.hash
}
