//! All sessions of a project: their names, their limits, starting them and finding them again.
//!
//! A name belongs to a worktree. Sessions belong to no connection: they live until they end, are stopped, or the daemon
//! ends; dead ones stay readable until their name is used again.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use process::Guard;
use process::output::OutputLog;
use project::journal::Record;
use project::{Caller, Limits};

use crate::archive::Archive;
use crate::error::ReplError;
use crate::profile::{DriverKind, Profiles};
use crate::resolve::{self, Wanted};
use crate::session::{EvalRequest, Handle, SessionEvent, SessionInfo, Setup, Status, Witness, start};

/// The session of those who name none.
pub const DEFAULT_SESSION: &str = "main";

/// Why sessions end when the daemon does.
pub(crate) const HOB_ENDS: &str = "hob ends";
/// How long the end waits for the disk to take the last output.
const FLUSH: Duration = Duration::from_millis(500);

/// Takes what happens.
pub type Journal = Arc<dyn Fn(Record) + Send + Sync>;

/// What the sessions of a project are bounded by and made from.
pub struct ReplOptions {
    /// Where output is kept for as long as its session is remembered; in memory only without.
    pub output_dir: Option<PathBuf>,
    /// Where living sessions are recorded, for [`process::records::sweep`] after a crash.
    pub records_dir: Option<PathBuf>,
    /// The limits.
    pub limits: Limits,
    /// What can be started.
    pub profiles: Profiles,
    /// The profile of sessions that name none, instead of the detected one.
    pub default_profile: Option<String>,
    /// Who ends the sessions of a program that was killed.
    pub guard: Guard,
    /// Who hears of what happens.
    pub journal: Option<Journal>,
}

impl Default for ReplOptions {
    /// Built-in profiles, default limits, output in memory, guarded by this very program.
    fn default() -> ReplOptions {
        ReplOptions {
            output_dir: None,
            records_dir: None,
            limits: Limits::default(),
            profiles: Profiles::builtin(),
            default_profile: None,
            guard: Guard::SelfExe,
            journal: None,
        }
    }
}

/// The sessions of a project.
pub struct Repl {
    options: ReplOptions,
    sessions: Mutex<HashMap<Key, Entry>>,
    archive: Archive,
    evals: Arc<AtomicU64>,
    /// Counts starts, for those who wait for one.
    started: watch::Sender<u64>,
}

/// A session's whole name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    worktree: PathBuf,
    name: String,
}

struct Entry {
    handle: Handle,
    /// To start it again.
    setup: Setup,
}

/// What to start.
#[derive(Debug, Clone, Default)]
pub struct StartRequest {
    /// The session's name; the caller's default without.
    pub session: Option<String>,
    /// The profile; detected without.
    pub profile: Option<String>,
    /// The command, instead of the profile's.
    pub command: Option<Vec<String>>,
    /// The working directory; relative to the caller's.
    pub cwd: Option<PathBuf>,
    /// Added to the environment.
    pub env: BTreeMap<String, String>,
}

/// A session that is there now.
#[derive(Debug, Clone)]
pub struct Started {
    /// Its handle.
    pub handle: Handle,
    /// Whether it was started just now.
    pub fresh: bool,
    /// What its user should know.
    pub notes: Vec<String>,
}

/// What a restart brought back.
#[derive(Debug, Clone, Default)]
pub struct Replayed {
    /// How many pieces of code.
    pub done: usize,
    /// Those that failed now.
    pub failed: Vec<String>,
    /// Those that there was no time for.
    pub left: usize,
}

impl Repl {
    /// No session yet.
    pub fn new(options: ReplOptions) -> Arc<Repl> {
        let archive = Archive::new(options.output_dir.clone());
        Arc::new(Repl {
            options,
            sessions: Mutex::default(),
            archive,
            evals: Arc::new(AtomicU64::new(1)),
            started: watch::Sender::new(0),
        })
    }

    /// Starts a session, or finds the running one of that name. Does not wait for its first prompt.
    pub fn start(&self, caller: &Caller, request: StartRequest) -> Result<Started, ReplError> {
        let key = self.key(caller, request.session.as_deref())?;
        let mut sessions = self.lock();
        let mut notes = Vec::new();
        if let Some(entry) = sessions.get(&key) {
            let info = entry.handle.info();
            if info.state.is_alive() {
                let asked = request.profile.as_ref().is_some_and(|profile| *profile != info.profile)
                    || request.command.as_ref().is_some_and(|command| *command != info.command);
                if asked {
                    return Err(ReplError::OtherRuns { session: key.name, profile: info.profile });
                }
                return Ok(Started { handle: entry.handle.clone(), fresh: false, notes });
            }
            notes.push(died(&info));
        }
        let setup = self.setup(caller, &key, request)?;
        let handle = self.launch(&mut sessions, key, setup)?;
        Ok(Started { handle, fresh: true, notes })
    }

    /// The session of that name, started with what the project suggests if it is not there. One that has died comes
    /// back as it was started, not as its directory would suggest.
    pub fn ensure(&self, caller: &Caller, session: Option<&str>) -> Result<Started, ReplError> {
        let key = self.key(caller, session)?;
        {
            let mut sessions = self.lock();
            if let Some(entry) = sessions.get(&key) {
                let info = entry.handle.info();
                if info.state.is_alive() {
                    return Ok(Started { handle: entry.handle.clone(), fresh: false, notes: Vec::new() });
                }
                let setup = entry.setup.clone();
                let handle = self.launch(&mut sessions, key, setup)?;
                return Ok(Started { handle, fresh: true, notes: vec![died(&info)] });
            }
        }
        self.start(caller, StartRequest { session: session.map(str::to_owned), ..StartRequest::default() })
    }

    /// The session of that name, alive or dead.
    pub fn find(&self, caller: &Caller, session: Option<&str>) -> Result<Handle, ReplError> {
        let key = self.key(caller, session)?;
        let sessions = self.lock();
        match sessions.get(&key) {
            Some(entry) => Ok(entry.handle.clone()),
            None => {
                let mut known: Vec<String> = sessions
                    .keys()
                    .filter(|other| other.worktree == key.worktree)
                    .map(|key| key.name.clone())
                    .collect();
                known.sort();
                Err(ReplError::Unknown { session: key.name, known })
            }
        }
    }

    /// The session that an evaluation belongs to, in the caller's worktree.
    pub async fn find_eval(&self, caller: &Caller, eval: u64) -> Result<Handle, ReplError> {
        let handles: Vec<Handle> = {
            let sessions = self.lock();
            sessions
                .iter()
                .filter(|(key, _)| key.worktree == caller.worktree)
                .map(|(_, entry)| entry.handle.clone())
                .collect()
        };
        for handle in handles {
            if handle.knows(eval).await {
                return Ok(handle);
            }
        }
        Err(ReplError::UnknownEval { eval })
    }

    /// Everything a session of that name ever printed: the present one, or the last one of a former life.
    pub fn output(&self, caller: &Caller, session: Option<&str>) -> Result<(String, OutputLog), ReplError> {
        match self.find(caller, session) {
            Ok(handle) => Ok((handle.info().name, handle.output().clone())),
            Err(ReplError::Unknown { session, known }) => match self.archive.find(&caller.worktree, &session) {
                Some(log) => Ok((session, log)),
                None => Err(ReplError::Unknown { session, known }),
            },
            Err(error) => Err(error),
        }
    }

    /// Ends a session and starts it anew, with its definitions if wished; `wait` bounds the replay.
    pub async fn restart(
        &self,
        caller: &Caller,
        session: Option<&str>,
        definitions: bool,
        wait: Duration,
    ) -> Result<(Handle, Replayed), ReplError> {
        let until = tokio::time::Instant::now() + wait;
        let key = self.key(caller, session)?;
        let old = self.find(caller, session)?;
        let code = if definitions { old.definitions().await } else { Vec::new() };
        old.stop("it was restarted").await;
        let handle = {
            let mut sessions = self.lock();
            let Some(setup) = sessions.get(&key).map(|entry| entry.setup.clone()) else {
                return Err(ReplError::Unknown { session: key.name, known: Vec::new() });
            };
            self.launch(&mut sessions, key, setup)?
        };
        let mut replayed = Replayed::default();
        let total = code.len();
        for (done, code) in code.iter().enumerate() {
            let left = until.saturating_duration_since(tokio::time::Instant::now());
            let request = EvalRequest { wait: left, ..EvalRequest::new(code.clone()) };
            match handle.eval(request).await {
                Ok(result) if result.status == Status::Done => replayed.done += 1,
                Ok(result) if result.status.is_final() => replayed.failed.push(code.clone()),
                _ => {
                    replayed.left = total - done;
                    break;
                }
            }
        }
        Ok((handle, replayed))
    }

    /// Which code speaks to a session, as far as its profile is known.
    pub(crate) fn driver(&self, info: &SessionInfo) -> Option<DriverKind> {
        self.options.profiles.get(&info.profile).ok().map(|profile| profile.driver)
    }

    /// Wakes whenever a session has been started, whichever.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.started.subscribe()
    }

    fn announce(&self) {
        self.started.send_modify(|started| *started += 1);
    }

    /// The profile, of those of one driver, that the caller's directory suggests, and where it should run.
    pub(crate) fn detect(&self, caller: &Caller, driver: DriverKind) -> Result<(String, PathBuf), ReplError> {
        let path = caller.env.get("PATH").map_or("", String::as_str);
        let profiles = self.options.profiles.of(driver);
        let configured = self.options.default_profile.as_deref().filter(|name| profiles.get(name).is_ok());
        if let Some(name) = configured {
            return Ok((name.to_owned(), caller.cwd.clone()));
        }
        if profiles.iter().next().is_none() {
            return Ok(("ghci".to_owned(), caller.cwd.clone()));
        }
        let detected = profiles.detect(&caller.cwd, &caller.worktree, path);
        match detected.packages.is_empty() {
            true => Ok((detected.profile.name.clone(), detected.dir)),
            false => Err(ReplError::Packages { dir: detected.dir, packages: detected.packages }),
        }
    }

    /// All sessions, sorted by worktree and name.
    pub fn status(&self) -> Vec<SessionInfo> {
        let mut sessions: Vec<SessionInfo> = self.lock().values().map(|entry| entry.handle.info()).collect();
        sessions.sort_by(|a, b| (&a.worktree, &a.name).cmp(&(&b.worktree, &b.name)));
        sessions
    }

    /// Whether a session lives.
    pub fn busy(&self) -> bool {
        self.status().iter().any(|info| info.state.is_alive())
    }

    /// Ends all sessions, at the same time. Takes a few seconds at most.
    pub async fn shutdown(&self) {
        let handles: Vec<Handle> = self.lock().values().map(|entry| entry.handle.clone()).collect();
        let end = |handle: Handle| async move {
            handle.stop(HOB_ENDS).await;
            // The process is about to end, and the log's own thread with it.
            let log = handle.output().clone();
            let _ = tokio::task::spawn_blocking(move || log.flush(FLUSH)).await;
        };
        let ends: Vec<_> = handles.into_iter().map(|handle| tokio::spawn(end(handle))).collect();
        for end in ends {
            // A panic there has been reported by the runtime.
            let _ = end.await;
        }
    }

    fn setup(&self, caller: &Caller, key: &Key, request: StartRequest) -> Result<Setup, ReplError> {
        let wanted = Wanted {
            profile: request.profile,
            command: request.command,
            cwd: request.cwd,
            env: request.env,
            default_profile: self.options.default_profile.as_deref(),
            memory_limit: self.options.limits.session_memory,
        };
        let launch = resolve::launch(&self.options.profiles, caller, wanted)?;
        let limits = &self.options.limits;
        Ok(Setup {
            name: key.name.clone(),
            worktree: key.worktree.clone(),
            owner: caller.name.clone().unwrap_or_else(|| format!("process {}", caller.pid)),
            launch,
            queue: usize::try_from(limits.queued_evaluations).unwrap_or(usize::MAX),
            idle: limits.session_idle.duration(),
            output: None,
            output_limits: process::output::Limits {
                memory: usize::try_from(limits.output_memory).unwrap_or(usize::MAX),
                disk: limits.output_file,
                ..Default::default()
            },
            records: self.options.records_dir.clone(),
            guard: self.options.guard.clone(),
            witness: self.options.journal.clone().map(|journal| witness(journal, key.clone())),
            evals: self.evals.clone(),
        })
    }

    /// Starts the process and remembers it. The lock is held for the few milliseconds of two forks, so that a name is
    /// never started twice.
    fn launch(&self, sessions: &mut HashMap<Key, Entry>, key: Key, setup: Setup) -> Result<Handle, ReplError> {
        let alive = sessions.values().filter(|entry| entry.handle.info().state.is_alive()).count();
        let limit = usize::try_from(self.options.limits.sessions).unwrap_or(usize::MAX);
        if alive >= limit {
            return Err(ReplError::TooMany { limit });
        }
        let output = self.archive.place(&setup.worktree, &setup.name);
        let started = start(Setup { output, ..setup.clone() });
        let failed = |source| {
            let hint = setup.launch.install_hint.clone();
            ReplError::Start { session: key.name.clone(), source, hint }
        };
        let handle = started.map_err(failed)?;
        if let Some(journal) = &self.options.journal {
            journal(Record::SessionStarted {
                session: key.name.clone(),
                worktree: key.worktree.clone(),
                profile: setup.launch.profile.clone(),
                pid: handle.info().pid.unwrap_or(0),
            });
        }
        sessions.insert(key, Entry { handle: handle.clone(), setup });
        self.announce();
        Ok(handle)
    }

    /// The whole name. An explicit name that lives in another worktree is refused, so that nobody talks to a session of
    /// other code by accident.
    fn key(&self, caller: &Caller, session: Option<&str>) -> Result<Key, ReplError> {
        let default = caller.session.as_deref().unwrap_or(DEFAULT_SESSION);
        let name = session.unwrap_or(default);
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if name.is_empty() || name.len() > 64 || !name.chars().all(legal) {
            return Err(ReplError::Name { name: name.to_owned() });
        }
        let key = Key { worktree: caller.worktree.clone(), name: name.to_owned() };
        if session.is_none() || name == default || name == DEFAULT_SESSION {
            return Ok(key);
        }
        let sessions = self.lock();
        if sessions.contains_key(&key) {
            return Ok(key);
        }
        let elsewhere = |(other, entry): &(&Key, &Entry)| other.name == name && entry.handle.info().state.is_alive();
        match sessions.iter().find(elsewhere) {
            Some((other, _)) => {
                Err(ReplError::Elsewhere { session: name.to_owned(), worktree: other.worktree.clone() })
            }
            None => Ok(key),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Entry>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn died(info: &SessionInfo) -> String {
    let reason = info.reason.as_deref().unwrap_or("it ended");
    format!("The session had ended ({reason}); a new process was started, and earlier definitions are gone.")
}

/// What the journal hears of a session.
fn witness(journal: Journal, key: Key) -> Witness {
    let begun = std::time::Instant::now();
    Arc::new(move |event| {
        let (session, worktree) = (key.name.clone(), key.worktree.clone());
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        journal(match event {
            SessionEvent::Started => Record::SessionReady { session, worktree, duration_ms: ms(begun.elapsed()) },
            SessionEvent::EvalStarted { eval, .. } => Record::EvaluationStarted { session, worktree, eval: *eval },
            SessionEvent::EvalFinished { eval, status, duration, .. } => Record::EvaluationFinished {
                session,
                worktree,
                eval: *eval,
                status: status.name().to_owned(),
                duration_ms: ms(*duration),
            },
            SessionEvent::Ended { status, reason } => {
                let (status, detail) = (status.name().to_owned(), Some(reason.clone()));
                Record::SessionEnded { session, worktree, status, detail }
            }
            SessionEvent::Output { .. } => return,
        });
    })
}
