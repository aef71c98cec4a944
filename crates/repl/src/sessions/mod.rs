//! All sessions of a project: names, limits, lookup.
//!
//! A name belongs to a worktree. A session belongs to no connection: it lives until its program exits, it is stopped,
//! or the daemon exits, and stays readable until its name is reused. Start with [`Repl::eval`] in `eval.rs`; `start.rs`
//! and `restart.rs` start processes. A single session is [`crate::session`].

mod eval;
mod evaluators;
mod loaded;
mod restart;
mod sources;
mod start;
mod start_difference;

use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch;

use crate::journal::Record;
use process::Guard;
use process::output::OutputLog;
use project::config::Limit;
use project::{Caller, Limits};

use crate::adapter::python::PythonShell;
use crate::archive::Archive;
pub use crate::default_session::DEFAULT_SESSION;
use crate::error::ReplError;
use crate::numbers::EvalNumbers;
use crate::profile::{DriverKind, Profiles};
use crate::resources::Published;
use crate::sandboxed::SandboxMode;
use crate::session::{HOB_ENDS, Handle, SessionError, SessionInfo, SessionSpec};
use crate::settings::ReplSettings;
pub(crate) use eval::check_started;
use evaluators::Evaluators;
pub use restart::Replayed;
pub(crate) use sources::load_hint;
use start::StartLock;

/// The time limit for writing the last output to disk at shutdown.
const FLUSH: Duration = Duration::from_millis(500);

/// Receives the events of sessions.
pub type Journal = Arc<dyn Fn(Record) + Send + Sync>;

/// The options of all sessions of a project.
pub struct ReplOptions {
    /// The directory for output, as long as its session is remembered; `None` keeps output in memory only.
    pub output_dir: Option<PathBuf>,
    /// The directory for records of running sessions, for [`process::records::sweep`] after a crash.
    pub records_dir: Option<PathBuf>,
    pub limits: Limits,
    /// The available profiles.
    pub profiles: Profiles,
    /// The profile of sessions that name none, instead of the detected one.
    pub default_profile: Option<String>,
    /// The limit after which an unused session is ended.
    pub idle: Limit,
    /// Returns the sandbox of all sessions that start now.
    pub sandbox: Arc<dyn Fn() -> Option<SandboxMode> + Send + Sync>,
    /// The shell of Python sessions.
    pub python: PythonShell,
    /// Ends the sessions of a daemon that was killed.
    pub guard: Guard,
    /// Receives the events, if they are recorded.
    pub journal: Option<Journal>,
    /// The worktree whose sessions have resource addresses without a worktree.
    pub root: Option<PathBuf>,
}

impl Default for ReplOptions {
    /// Returns built-in profiles, default limits, output in memory, and this program as the guardian.
    fn default() -> ReplOptions {
        ReplOptions {
            output_dir: None,
            records_dir: None,
            limits: Limits::default(),
            profiles: Profiles::builtin(),
            default_profile: None,
            idle: ReplSettings::default().idle,
            sandbox: Arc::new(|| None),
            python: PythonShell::Python,
            guard: Guard::SelfExe,
            journal: None,
            root: None,
        }
    }
}

/// The sessions of a project.
pub struct Repl {
    options: ReplOptions,
    sessions: Mutex<SessionTable>,
    archive: Archive,
    numbers: Arc<EvalNumbers>,
    /// True once a session with a sandbox was started.
    has_sandboxed: AtomicBool,
    /// Counts starts, for callers that wait for one.
    started: watch::Sender<u64>,
    /// The resources of the sessions.
    pub(crate) published: Published,
    me: Weak<Repl>,
}

/// The data under the lock. The lock is only held for short lookups.
#[derive(Default)]
struct SessionTable {
    slots: HashMap<SessionKey, Slot>,
    /// The number of sessions being started.
    starting: usize,
    /// Set by shutdown: no more sessions are started.
    closing: bool,
}

/// The full name of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SessionKey {
    pub(crate) worktree: PathBuf,
    pub(crate) name: String,
}

/// The state of one name.
#[derive(Default)]
struct Slot {
    start_lock: StartLock,
    evaluators: Evaluators,
    /// `None` until the first start.
    entry: Option<Entry>,
}

struct Entry {
    handle: Handle,
    /// Former processes whose evaluations are still available, the newest last.
    former: VecDeque<Handle>,
    /// The parameters of the next start.
    plan: StartPlan,
}

/// The parameters of a session's start.
#[derive(Clone)]
struct StartPlan {
    /// The caller's request.
    request: StartRequest,
    /// The caller, whose environment and directory the session uses.
    from: Caller,
    /// The resolved request.
    spec: SessionSpec,
}

/// A request to start a session.
#[derive(Debug, Clone, Default)]
pub struct StartRequest {
    /// The session's name; `None` is the caller's default.
    pub session: Option<String>,
    /// The profile; `None` detects it.
    pub profile: Option<String>,
    /// The command, instead of the profile's.
    pub command: Option<Vec<String>>,
    /// The working directory, relative to the caller's.
    pub cwd: Option<PathBuf>,
    /// Variables added to the environment.
    pub env: BTreeMap<String, String>,
    /// The component of a cabal or stack project; `None` leaves the choice to the program.
    pub component: Option<String>,
    /// The sandbox, if the settings have none.
    pub sandbox: Option<SandboxMode>,
}

/// A running session.
#[derive(Debug, Clone)]
pub struct StartedSession {
    pub handle: Handle,
    /// True if it was started by this call.
    pub fresh: bool,
    /// Notes for the caller.
    pub notes: Vec<String>,
}

/// The output of a session.
#[derive(Debug, Clone)]
pub struct SessionOutput {
    pub session: String,
    pub log: OutputLog,
    /// The start of the current or last process's output; the end of the log if an earlier daemon ran it.
    pub begun: u64,
}

impl Repl {
    /// Returns the profiles that sessions may use.
    pub(crate) fn profiles(&self) -> &Profiles {
        &self.options.profiles
    }

    /// Creates the sessions of a project, none of them started.
    pub fn new(options: ReplOptions) -> Arc<Repl> {
        let limits = process::output::Limits {
            memory: usize::try_from(options.limits.output_memory).unwrap_or(usize::MAX),
            disk: options.limits.output_file,
            ..Default::default()
        };
        let archive = Archive::new(options.output_dir.clone(), limits);
        let numbers = Arc::new(EvalNumbers::open(options.output_dir.as_deref(), || archive.last_eval()));
        let started = watch::Sender::new(0);
        Arc::new_cyclic(|me| {
            let (sessions, published, me) = (Mutex::default(), Published::default(), me.clone());
            let has_sandboxed = AtomicBool::new(false);
            Repl { options, sessions, archive, numbers, has_sandboxed, started, published, me }
        })
    }

    /// Returns the session of that name, running or ended.
    pub fn find(&self, caller: &Caller, session: Option<&str>) -> Result<Handle, ReplError> {
        let key = self.key(caller, session)?;
        self.get(&key).ok_or_else(|| {
            let sessions = self.lock();
            let started = sessions.slots.iter().filter(|(_, slot)| slot.entry.is_some()).map(|(key, _)| key);
            let here = started.filter(|other| other.worktree == key.worktree);
            let mut known: Vec<String> = here.map(|key| key.name.clone()).collect();
            known.sort();
            ReplError::Unknown { session: key.name.clone(), known }
        })
    }

    /// Returns the session of the caller's worktree that remembers an evaluation; `session` limits the search to that name.
    pub async fn find_eval(&self, caller: &Caller, session: Option<&str>, eval: u64) -> Result<Handle, ReplError> {
        let key = session.map(|session| self.key(caller, Some(session))).transpose()?;
        let handles: Vec<Handle> = {
            let sessions = self.lock();
            let here = sessions.slots.iter().filter(|(other, _)| match &key {
                Some(key) => *other == key,
                None => other.worktree == caller.worktree,
            });
            here.filter_map(|(_, slot)| slot.entry.as_ref())
                .flat_map(|entry| entry.former.iter().chain([&entry.handle]).cloned())
                .collect()
        };
        for handle in handles {
            if handle.has_evaluation(eval).await {
                return Ok(handle);
            }
        }
        if self.numbers.is_from_earlier_daemon(eval) {
            return Err(self.earlier_daemon_error(caller, eval));
        }
        match session {
            Some(session) => Err(self.find(caller, Some(session)).err().unwrap_or_else(|| {
                let session = session.to_owned();
                ReplError::Session(SessionError::UnknownEval { session, eval })
            })),
            None => Err(ReplError::UnknownEval { eval }),
        }
    }

    /// Refuses a number that no evaluation has had, also under an earlier daemon.
    pub(crate) fn check_assigned(&self, eval: u64) -> Result<(), ReplError> {
        if self.numbers.is_assigned(eval) { Ok(()) } else { Err(ReplError::UnknownEval { eval }) }
    }

    /// Returns the error for an evaluation that ran under an earlier daemon.
    fn earlier_daemon_error(&self, caller: &Caller, eval: u64) -> ReplError {
        let found = self.archive.find_eval(&caller.worktree, eval);
        // Evaluations of one session run one after the other.
        let ended = found.as_ref().is_some_and(|(_, log)| log.last_eval().is_some_and(|last| last > eval));
        ReplError::EarlierDaemon { eval, session: found.map(|(session, _)| session), ended }
    }

    /// Returns all output under that session name, including from earlier daemons.
    pub fn output(&self, caller: &Caller, session: Option<&str>) -> Result<SessionOutput, ReplError> {
        match self.find(caller, session) {
            Ok(handle) => Ok(SessionOutput {
                session: handle.info().name,
                log: handle.output().clone(),
                begun: handle.log_start(),
            }),
            Err(ReplError::Unknown { session, known }) => match self.archive.find(&caller.worktree, &session) {
                Some(log) => Ok(SessionOutput { session, begun: *log.end().borrow(), log }),
                None => Err(ReplError::Unknown { session, known }),
            },
            Err(error) => Err(error),
        }
    }

    /// Returns the output of the session that ran this evaluation, or of the caller's own if it is unknown.
    pub async fn output_of(&self, caller: &Caller, eval: u64) -> Result<SessionOutput, ReplError> {
        let session = match self.find_eval(caller, None, eval).await {
            Ok(handle) => Some(handle.info().name),
            Err(ReplError::EarlierDaemon { session, .. }) => session,
            Err(_) => self.archive.find_eval(&caller.worktree, eval).map(|(session, _)| session),
        };
        self.output(caller, session.as_deref())
    }

    /// Returns the driver of a session, if its profile is still known.
    pub(crate) fn driver(&self, info: &SessionInfo) -> Option<DriverKind> {
        self.options.profiles.get(&info.profile).ok().map(|profile| profile.driver)
    }

    /// Returns true if GHCi is known to run in the session.
    pub(crate) fn is_ghci(&self, handle: &Handle) -> bool {
        self.driver(&handle.info()) == Some(DriverKind::Ghci)
    }

    /// Wakes whenever any session has been started.
    pub(crate) fn starts(&self) -> watch::Receiver<u64> {
        self.started.subscribe()
    }

    /// Returns the profile of one driver that the caller's directory suggests, and the directory to run it in.
    pub(crate) fn detect(&self, caller: &Caller, driver: DriverKind) -> Result<(String, PathBuf), ReplError> {
        let path = caller.env.get("PATH").map_or("", String::as_str);
        let profiles = self.options.profiles.with_driver(driver);
        let configured = self.options.default_profile.as_deref().filter(|name| profiles.get(name).is_ok());
        if let Some(name) = configured {
            return Ok((name.to_owned(), caller.cwd.clone()));
        }
        if profiles.iter().next().is_none() {
            return Ok(("ghci".to_owned(), caller.cwd.clone()));
        }
        let detected = profiles.detect(&caller.cwd, &caller.worktree, path);
        if detected.packages.is_empty() {
            Ok((detected.profile.name.clone(), detected.dir))
        } else {
            Err(ReplError::Packages { dir: detected.dir, packages: detected.packages })
        }
    }

    pub fn status(&self) -> Vec<SessionInfo> {
        let mut sessions: Vec<SessionInfo> = self.lock().entries().map(|entry| entry.handle.info()).collect();
        sessions.sort_by(|a, b| (&a.worktree, &a.name).cmp(&(&b.worktree, &b.name)));
        sessions
    }

    /// Returns the sessions, each with the time of its last output in milliseconds since 1970.
    pub fn status_with_output(&self) -> Vec<(SessionInfo, Option<u64>)> {
        let sessions = self.lock();
        let entries = sessions.entries().map(|entry| (entry.handle.info(), entry.handle.output().last_append_ms()));
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by(|(a, _), (b, _)| (&a.worktree, &a.name).cmp(&(&b.worktree, &b.name)));
        entries
    }

    /// Returns the sessions of the caller's worktree that ended with an earlier daemon, each with the time since its
    /// last output, most recent first.
    pub(crate) fn former(&self, caller: &Caller) -> Vec<(String, Duration)> {
        let now = std::time::SystemTime::now();
        let mut names = self.archive.names(&caller.worktree);
        let sessions = self.lock();
        names.retain(|(name, _)| {
            let key = SessionKey { worktree: caller.worktree.clone(), name: name.clone() };
            sessions.slots.get(&key).is_none_or(|slot| slot.entry.is_none())
        });
        names.into_iter().map(|(name, used)| (name, now.duration_since(used).unwrap_or_default())).collect()
    }

    /// Returns true if resource addresses of this session omit the worktree.
    pub(crate) fn is_at_root(&self, key: &SessionKey) -> bool {
        self.options.root.as_ref() == Some(&key.worktree)
    }

    /// Returns the end of each session's output.
    pub(crate) fn output_ends(&self) -> Vec<(SessionKey, u64)> {
        let sessions = self.lock();
        let entries = sessions.slots.iter().filter_map(|(key, slot)| Some((key, slot.entry.as_ref()?)));
        entries.map(|(key, entry)| (key.clone(), *entry.handle.output().end().borrow())).collect()
    }

    /// Returns true if a session is running or being started.
    pub fn busy(&self) -> bool {
        let sessions = self.lock();
        sessions.starting > 0 || sessions.entries().any(Entry::is_alive)
    }

    /// Ends all sessions at once and refuses further starts. Takes a few seconds at most.
    pub async fn shutdown(self: &Arc<Self>) {
        let keys: Vec<SessionKey> = {
            let mut sessions = self.lock();
            sessions.closing = true;
            sessions.slots.keys().cloned().collect()
        };
        let ends: Vec<_> = keys.into_iter().map(|key| tokio::spawn(end(self.clone(), key))).collect();
        for end in ends {
            // The runtime has reported a panic of that task.
            let _ = end.await;
        }
        self.numbers.close();
    }

    /// Refuses a caller that is code of a session, once there was a session with a sandbox: what the daemon runs for the
    /// code is outside of the sandbox. Every process of a session descends from this one.
    ///
    /// # Errors
    /// The refusal.
    pub fn refuse_code_of_sandbox(&self, caller: &Caller) -> Result<(), ReplError> {
        // A caller over HTTP has no process here, and code in a sandbox no TCP.
        let is_code = || caller.pid != 0 && project::ancestry::descends_from(caller.pid, std::process::id());
        if self.has_sandboxed.load(Ordering::Relaxed) && is_code() { Err(ReplError::FromSandbox) } else { Ok(()) }
    }

    /// Returns the full name. An explicit name of a session in another worktree is refused, so that no agent uses a
    /// session of other code by accident.
    fn key(&self, caller: &Caller, session: Option<&str>) -> Result<SessionKey, ReplError> {
        let default = caller.session.as_deref().unwrap_or(DEFAULT_SESSION);
        let name = session.unwrap_or(default);
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if name.is_empty() || name.len() > 64 || !name.chars().all(legal) {
            return Err(ReplError::Name { name: name.to_owned() });
        }
        self.refuse_code_of_sandbox(caller)?;
        let key = SessionKey { worktree: caller.worktree.clone(), name: name.to_owned() };
        if session.is_none() || name == default || name == DEFAULT_SESSION {
            return Ok(key);
        }
        let sessions = self.lock();
        if sessions.slots.get(&key).is_some_and(|slot| slot.entry.is_some()) {
            return Ok(key);
        }
        let alive = |slot: &Slot| slot.entry.as_ref().is_some_and(Entry::is_alive);
        match sessions.slots.iter().find(|(other, slot)| other.name == name && alive(slot)) {
            Some((other, _)) => {
                Err(ReplError::Elsewhere { session: name.to_owned(), worktree: other.worktree.clone() })
            }
            None => Ok(key),
        }
    }

    fn get(&self, key: &SessionKey) -> Option<Handle> {
        self.lock().slots.get(key)?.entry.as_ref().map(|entry| entry.handle.clone())
    }

    fn lock(&self) -> MutexGuard<'_, SessionTable> {
        self.sessions.lock()
    }
}

/// Ends the session of a name, after a pending start.
async fn end(repl: Arc<Repl>, key: SessionKey) {
    let _guard = repl.lock_start(&key).await;
    let Some(handle) = repl.get(&key) else { return };
    handle.stop(HOB_ENDS).await;
    // The daemon is about to exit, and the log's writer thread with it.
    let log = handle.output().clone();
    let _ = tokio::task::spawn_blocking(move || log.flush(FLUSH)).await;
}

impl SessionTable {
    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.slots.values().filter_map(|slot| slot.entry.as_ref())
    }
}

impl Entry {
    fn is_alive(&self) -> bool {
        self.handle.info().state.is_alive()
    }
}

#[cfg(test)]
mod tests;
