//! The servers of a project: started on the first question about a language in a worktree, shared by all callers, and
//! stopped when they exceed the memory budget.

mod budget;
mod chosen_server;
mod readiness;
mod revision;
mod toolchain;
mod trials;

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use lsp::server::profile::{self, Profile};
use lsp::server::{Journal, Server, Start, State, TRIED_EVERY, Timing};
use mcp::tool::Context;
use parking_lot::Mutex;
use process::{Guard, Spec, programs};
use project::Caller;
use tokio::sync::Semaphore;

use crate::haskell::{self, Projects};
use crate::judgement::{Code, Revision};
use crate::settings::CodeSettings;
use crate::target::KnownTargets;
use crate::verdict_store::VerdictStore;
use revision::Worktrees;

/// Returns true if the person trusts the code of a worktree. Blocks.
pub type Trusts = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// Options for running servers.
#[derive(Clone)]
pub struct Options {
    pub settings: CodeSettings,
    /// Servers whose configured command needs a grant.
    pub withheld: Vec<String>,
    /// Decides whether code of a worktree may run.
    pub trusts: Trusts,
    /// Creates the directory that contains [`Options::state_dir`].
    pub prepare: Arc<dyn Fn() -> std::io::Result<()> + Send + Sync>,
    /// Directory for servers' own files, outside the worktrees.
    pub state_dir: PathBuf,
    /// Directory for verdicts that are reused when no server is available; `None` disables it.
    pub kept_dir: Option<PathBuf>,
    /// Directory for records of running servers, for [`process::records::sweep`] after a crash.
    pub records_dir: Option<PathBuf>,
    pub guard: Guard,
    pub timing: Timing,
    pub journal: Option<Journal>,
}

pub use chosen_server::{Checked, checked, runner_of_code};
pub use trials::{Tried, tries};

impl Options {
    /// Returns the memory budget of the servers in bytes.
    pub(crate) fn memory(&self) -> u64 {
        self.settings.memory.map_or_else(budget::default_budget, |mib| mib << 20)
    }

    /// Returns options for describing what would be started.
    fn unstarted(settings: CodeSettings, withheld: Vec<String>, trusts: Trusts) -> Options {
        Options {
            settings,
            withheld,
            trusts,
            prepare: Arc::new(|| Ok(())),
            state_dir: PathBuf::new(),
            kept_dir: None,
            records_dir: None,
            guard: Guard::Without,
            timing: Timing::default(),
            journal: None,
        }
    }
}

/// All servers of a project.
pub(crate) struct Pool {
    /// `None` if no server may be started.
    options: Option<Options>,
    servers: Arc<Servers>,
    /// One server starts at a time.
    starting: Arc<Semaphore>,
    worktrees: Worktrees,
    kept: Option<Arc<VerdictStore>>,
    /// Versions printed by programs, cached while their files are unchanged.
    versions: Mutex<HashMap<PathBuf, Version>>,
    haskell: Projects,
    pub(crate) known_targets: KnownTargets,
}

/// The version printed by a program.
struct Version {
    /// Modification time of its file.
    written: Option<SystemTime>,
    asked: Instant,
    said: Result<Option<u32>, String>,
}

type Servers = Mutex<StartedServers>;

#[derive(Default)]
struct StartedServers {
    all: BTreeMap<Key, Server>,
    /// True if a task keeps them within their budget.
    is_kept: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    family: &'static str,
    root: PathBuf,
    worktree: PathBuf,
}

/// The reason why no language server runs.
#[derive(Debug)]
pub(crate) struct Unavailable {
    /// The configured command, if that is what cannot run.
    pub named: Option<String>,
    pub state: State,
    pub code: Code,
    pub text: String,
}

impl Unavailable {
    pub(crate) fn new(state: State, code: Code, text: String) -> Unavailable {
        Unavailable { named: None, state, code, text }
    }
}

/// The profile of a language server and its command, or why none runs.
pub(crate) type Program = Result<(&'static Profile, Vec<String>), Unavailable>;

impl Pool {
    pub(crate) fn new(options: Option<Options>) -> Pool {
        let kept = options.as_ref().and_then(|options| options.kept_dir.clone());
        Pool {
            options,
            servers: Arc::default(),
            starting: Arc::new(Semaphore::new(1)),
            worktrees: Worktrees::default(),
            kept: kept.map(|directory| Arc::new(VerdictStore::new(directory))),
            versions: Mutex::default(),
            haskell: Projects::default(),
            known_targets: KnownTargets::default(),
        }
    }

    /// Returns the server that judges a language for a file of a worktree. Starts it if necessary.
    pub(crate) async fn seek(
        &self,
        caller: &Caller,
        worktree: &Path,
        family: &'static str,
        file: &Path,
    ) -> Result<Server, Unavailable> {
        let absent = |code, text| Unavailable::new(State::Absent, code, text);
        let Some(options) = &self.options else {
            return Err(absent(Code::Absent, format!("no language server for {family}")));
        };
        if haskell::is_judged_by_ghc(family) {
            let text = "uses of names of other packages are not distinguished in Haskell".to_owned();
            return Err(absent(Code::OutsideTheRoot, text));
        }
        let mut root = worktree.to_owned();
        for profile in profile::all().iter().filter(|profile| profile.family == family) {
            root = root_of(worktree, file, profile);
        }
        let key = Key { family, root, worktree: worktree.to_owned() };
        {
            let mut servers = self.servers.lock();
            match servers.all.get(&key) {
                Some(server) if server.may_start_now() => _ = servers.all.remove(&key),
                Some(server) => return Ok(server.clone()),
                None => {}
            }
        }
        let (profile, command) = self.program(options, &caller.env, worktree, &key.root, family)?;
        (options.prepare)().map_err(|error| {
            absent(Code::Absent, format!("cannot create the output directory of {}: {error}", profile.name))
        })?;
        let watcher = self.worktrees.entry(worktree).watcher().await;
        let mut servers = self.servers.lock();
        if !std::mem::replace(&mut servers.is_kept, true) {
            let measured_every = options.timing.measured_every;
            tokio::spawn(budget::keep_within(Arc::downgrade(&self.servers), options.memory(), measured_every));
        }
        // Another question may have started it meanwhile.
        let server = servers.all.entry(key.clone()).or_insert_with(|| {
            let own_dir = options.state_dir.join(&profile.name).join(hash(&key.root));
            Server::start(Start {
                profile: Arc::new(profile.clone()),
                command,
                root: key.root.clone(),
                env: environment(options, &caller.env, worktree),
                worktree: key.worktree,
                // Socket paths must be short.
                scratch: options.state_dir.join("tmp").join(&hash(&own_dir)[..8]),
                own_dir,
                state_dir: options.state_dir.join(&profile.name),
                guard: options.guard.clone(),
                records: options.records_dir.clone(),
                timing: options.timing.clone(),
                journal: options.journal.clone(),
                watcher,
                choose_probes: readiness::choose,
                starting: self.starting.clone(),
            })
        });
        Ok(server.clone())
    }

    /// True if the server that judges a file of the caller's worktree can answer now. Starts it if necessary.
    pub(crate) async fn is_ready(&self, cx: &Context, family: &'static str, file: impl AsRef<Path>) -> bool {
        let Some(caller) = cx.caller::<Caller>() else { return false };
        let Ok(root) = caller.worktree.canonicalize() else { return false };
        let server = self.seek(caller, &root, family, file.as_ref()).await;
        server.is_ok_and(|server| server.snapshot().state == State::Ready)
    }

    /// Returns the program that would judge a language if everything that it runs is trusted. Starts no server.
    pub(crate) fn program(
        &self,
        options: &Options,
        env: &BTreeMap<String, String>,
        worktree: &Path,
        root: &Path,
        family: &'static str,
    ) -> Program {
        let (profile, command) = self.installed(options, env, worktree, root, family)?;
        let runs = match &profile.runs_code {
            Some(runs) => runs,
            None if command.first().is_some_and(|program| programs::runs_own_copy(program)) => {
                "it runs the project's own copy"
            }
            None => return Ok((profile, command)),
        };
        if (options.trusts)(worktree) {
            return Ok((profile, command));
        }
        let text =
            format!("hob does not start {} here before you trust this project ({runs}): run `hob trust`", profile.name);
        Err(Unavailable::new(State::NotTrusted, Code::NotGranted, text))
    }

    /// Returns the program that would judge a language.
    fn installed(
        &self,
        options: &Options,
        env: &BTreeMap<String, String>,
        worktree: &Path,
        root: &Path,
        family: &'static str,
    ) -> Program {
        let mut refused = None;
        let mut first = None;
        for profile in profile::all().iter().filter(|profile| profile.family == family) {
            first = first.or(Some(profile));
            let settings = options.settings.servers.get(&profile.name);
            if settings.is_some_and(|settings| settings.enabled == Some(false)) {
                let text = format!("{} is switched off by [code.servers.{}]", profile.name, profile.name);
                refused = refused.or(Some(Unavailable::new(State::Disabled, Code::Absent, text)));
                continue;
            }
            if options.withheld.contains(&profile.name) {
                let text = format!(
                    "the command of {} is hob.toml's and does not run: [code.servers.{}] command waits for `hob trust`",
                    profile.name, profile.name
                );
                refused = refused.or(Some(Unavailable::new(State::Absent, Code::NotGranted, text)));
                continue;
            }
            if let Some(command) = settings.and_then(|settings| settings.command.clone()) {
                return match unusable(options, &command, env, worktree, root) {
                    None => Ok((profile, command)),
                    Some(problem) => Err(Unavailable {
                        named: command.into_iter().next(),
                        state: State::Absent,
                        code: Code::Absent,
                        text: format!(
                            "{problem}: put it there, or correct `command` below [code.servers.{}] in hob.toml or your config.toml; \
                             without that line it is {} of PATH ({})",
                            profile.name, profile.command[0], profile.install
                        ),
                    }),
                };
            }
            let path = env.get("PATH").map(String::as_str).unwrap_or_default();
            let places = programs::program_paths(&profile.command[0], path, worktree);
            let lacks = |program: &PathBuf| toolchain::report_missing_server(profile, program, root, env);
            let executable = || places.iter().filter(|program| programs::is_executable(program));
            // As a shell would search. Like rustup, the next one is used if the toolchain lacks the program.
            let on_path =
                executable().find(|program| lacks(program).is_none()).or_else(|| executable().next()).cloned();
            if let (None, Some(program)) = (&on_path, places.first()) {
                let program = project::visible::path(program);
                let text = format!("{program} is not executable: chmod +x {program}, or {}", profile.install);
                refused = refused.or(Some(Unavailable::new(State::Absent, Code::Absent, text)));
            }
            let local = profile.local.iter().map(|place| root.join(place)).find(|program| program.is_file());
            // Returns why a program cannot judge; `None` if it can.
            let unfit = |program: &Path| {
                let least = profile.least?;
                let shown = project::visible::path(program);
                match self.version(program, env) {
                    Ok(version) if version.is_some_and(|version| version >= least) => None,
                    Ok(_) => Some(format!(
                        "{shown} is older than {least}, the first version that is a language server: {}",
                        profile.install
                    )),
                    Err(problem) => Some(format!(
                        "{shown} cannot start ({}): run `{}`",
                        project::visible(&problem),
                        profile.install
                    )),
                }
            };
            let with = |program: PathBuf| {
                let mut command = profile.command.clone();
                command[0] = program.to_string_lossy().into_owned();
                Ok((profile, command))
            };
            if let Some(program) =
                local.clone().filter(|_| options.settings.project_servers).filter(|program| unfit(program).is_none())
            {
                return with(program);
            }
            if let Some(program) = on_path {
                let Some(text) = unfit(&program).or_else(|| lacks(&program)) else {
                    return with(program);
                };
                if local.is_none() {
                    refused = refused.or(Some(Unavailable::new(State::Absent, Code::Absent, text)));
                }
            }
            if let Some(program) = local.filter(|_| !options.settings.project_servers) {
                let place = program.strip_prefix(worktree).unwrap_or(&program);
                let text = format!(
                    "{} comes with the checkout and does not run: `project_servers = true` below [code] in your own \
                     config.toml grants that, or in hob.toml with `hob trust`",
                    project::visible::path(place)
                );
                refused = refused.or(Some(Unavailable::new(State::Absent, Code::NotGranted, text)));
            }
        }
        Err(refused.unwrap_or_else(|| {
            let text = match first {
                Some(profile) => format!("{} is not installed ({})", profile.name, profile.install),
                None => format!("hob knows no language server for {family}"),
            };
            Unavailable::new(State::Absent, Code::Absent, text)
        }))
    }

    /// Returns the major version that a program prints; `Err` with the reason if it does not run.
    fn version(&self, program: &Path, env: &BTreeMap<String, String>) -> Result<Option<u32>, String> {
        let written = std::fs::metadata(program).and_then(|metadata| metadata.modified()).ok();
        if let Some(known) = self.versions.lock().get(program)
            && known.written == written
            && (known.said.is_ok() || known.asked.elapsed() < TRIED_EVERY)
        {
            return known.said.clone();
        }
        let mut command = std::process::Command::new(program);
        // Not in the checkout, whose files a version manager would read.
        command.arg("--version").env_clear().envs(env).current_dir("/");
        let said = process::capture(command).map(|said| {
            let digits = said.split(|c: char| !c.is_ascii_digit()).find(|part| !part.is_empty());
            digits.and_then(|digits| digits.parse().ok())
        });
        let version = Version { written, asked: Instant::now(), said: said.clone() };
        self.versions.lock().insert(program.to_owned(), version);
        said
    }

    /// Returns the known revision of a worktree. Without servers, no worktree is watched.
    pub(crate) async fn revision(&self, worktree: &Path) -> Revision {
        match &self.options {
            Some(_) => self.worktrees.entry(worktree).revision().await,
            None => Revision { commit: project::head_commit(worktree), stamp: None },
        }
    }

    /// Returns the verdicts confirmed earlier.
    pub(crate) fn verdict_store(&self) -> Option<&Arc<VerdictStore>> {
        self.kept.as_ref()
    }

    /// Returns the projects compiled with GHC.
    pub(crate) fn haskell(&self) -> &Projects {
        &self.haskell
    }

    /// Returns the environment of a program that judges, derived from the caller's.
    pub(crate) fn environment(&self, env: &BTreeMap<String, String>, worktree: &Path) -> Vec<(String, String)> {
        self.options.as_ref().map(|options| environment(options, env, worktree)).unwrap_or_default()
    }

    pub(crate) fn all(&self) -> Vec<Server> {
        self.servers.lock().all.values().cloned().collect()
    }

    pub(crate) fn options(&self) -> Option<&Options> {
        self.options.as_ref()
    }

    /// Restarts the servers of a worktree with this caller's environment. Returns them with their previous states.
    pub(crate) async fn restart(&self, caller: &Caller, worktree: &Path) -> Vec<(Server, State)> {
        let taken: Vec<(Key, Server)> = {
            let mut servers = self.servers.lock();
            let keys: Vec<Key> = servers.all.keys().filter(|key| key.worktree == worktree).cloned().collect();
            keys.into_iter().filter_map(|key| servers.all.remove_entry(&key)).collect()
        };
        self.haskell.forget(worktree);
        let mut were = Vec::new();
        for (key, server) in taken {
            let state = server.snapshot().state;
            server.end().await;
            // Its root is found again from any file in it.
            let file = key.root.strip_prefix(worktree).unwrap_or(Path::new("")).join("any");
            let _ = self.seek(caller, worktree, key.family, &file).await;
            were.push((server, state));
        }
        were
    }

    /// Stops all servers and waits until their processes have ended.
    pub(crate) async fn end(&self) {
        self.haskell.end();
        let servers = std::mem::take(&mut self.servers.lock().all);
        let ending: Vec<_> =
            servers.into_values().map(|server| tokio::spawn(async move { server.end().await })).collect();
        for one in ending {
            let _ = one.await;
        }
        self.worktrees.clear();
    }
}

/// Returns a file name for a directory.
fn hash(path: &Path) -> String {
    format!("{:016x}", BuildHasherDefault::<DefaultHasher>::default().hash_one(path))
}

/// Returns a server's environment. The checkout is removed from the search path unless its programs may run.
fn environment(options: &Options, env: &BTreeMap<String, String>, worktree: &Path) -> Vec<(String, String)> {
    let mut env: Vec<(String, String)> = env.clone().into_iter().collect();
    if !options.settings.project_servers {
        let path = env.iter_mut().filter(|(name, _)| name == "PATH");
        path.for_each(|(_, path)| *path = programs::exclude_worktree(path, worktree));
    }
    env
}

/// Returns why the configured command cannot be started.
fn unusable(
    options: &Options,
    command: &[String],
    env: &BTreeMap<String, String>,
    worktree: &Path,
    root: &Path,
) -> Option<String> {
    let spec = Spec::new(command.first()?, root).env(environment(options, env, worktree));
    spec.program().err().map(|error| project::visible(&error.to_string()))
}

/// Returns the outermost directory with a marker between the worktree and the file. The default is the worktree.
pub(crate) fn root_of(worktree: &Path, file: &Path, profile: &Profile) -> PathBuf {
    let mut directories: Vec<&Path> = file.parent().into_iter().flat_map(Path::ancestors).collect();
    directories.reverse();
    let is_marked = |directory: &PathBuf| profile.roots.iter().any(|mark| has_mark(directory, mark));
    let found = directories.into_iter().map(|directory| worktree.join(directory)).find(is_marked);
    found.unwrap_or_else(|| worktree.to_owned())
}

/// True if the directory contains a marker: a file with this name, or with this extension (`*.cabal`).
pub(crate) fn has_mark(directory: &Path, mark: &str) -> bool {
    let Some(end) = mark.strip_prefix('*') else { return directory.join(mark).is_file() };
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_name().to_string_lossy().ends_with(end))
}
