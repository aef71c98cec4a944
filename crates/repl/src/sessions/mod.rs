//! All sessions of a project: their names, their limits, starting them and finding them again.
//!
//! A name belongs to a worktree. Sessions belong to no connection: they live until they end, are stopped, or the daemon
//! ends; dead ones stay readable until their name is used again.

mod elsewhere;
mod starting;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;

use crate::journal::Record;
use process::Guard;
use process::output::OutputLog;
use project::config::Limit;
use project::{Caller, Limits};

use crate::archive::Archive;
use crate::error::ReplError;
use crate::numbers::Numbers;
use crate::profile::{DriverKind, Profiles};
use crate::resources::Shelf;
use crate::result::Status;
use crate::session::{EvalRequest, Handle, SessionError, SessionInfo, Setup};
use crate::settings::ReplSettings;
use starting::Gate;
pub(crate) use starting::ran;

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
    pub limits: Limits,
    /// What can be started.
    pub profiles: Profiles,
    /// The profile of sessions that name none, instead of the detected one.
    pub default_profile: Option<String>,
    /// When a session that nobody uses is ended.
    pub idle: Limit,
    /// Who ends the sessions of a program that was killed.
    pub guard: Guard,
    /// Who hears of what happens.
    pub journal: Option<Journal>,
    /// The worktree whose sessions are resources without naming it; none without.
    pub root: Option<PathBuf>,
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
            idle: ReplSettings::default().idle,
            guard: Guard::SelfExe,
            journal: None,
            root: None,
        }
    }
}

/// The sessions of a project.
pub struct Repl {
    options: ReplOptions,
    sessions: Mutex<Sessions>,
    archive: Archive,
    numbers: Arc<Numbers>,
    /// Counts starts, for those who wait for one.
    started: watch::Sender<u64>,
    /// What of them can be read as resources.
    pub(crate) shelf: Shelf,
    me: Weak<Repl>,
}

/// What the lock guards. It is never held for longer than a look.
#[derive(Default)]
struct Sessions {
    slots: HashMap<Key, Slot>,
    /// How many are being started just now.
    starting: usize,
    /// No more are.
    closing: bool,
}

/// A session's whole name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) worktree: PathBuf,
    pub(crate) name: String,
}

/// What belongs to a name.
#[derive(Default)]
struct Slot {
    gate: Gate,
    /// Absent until it has been started once.
    entry: Option<Entry>,
}

struct Entry {
    handle: Handle,
    /// Processes before it whose evaluations can still be asked for, the newest last.
    former: VecDeque<Handle>,
    /// To start it again.
    plan: Plan,
}

/// How a session is started.
#[derive(Clone)]
struct Plan {
    /// What was asked for.
    request: StartRequest,
    /// Where whoever asked stood.
    from: PathBuf,
    /// What came of it, for whoever asked.
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
    pub handle: Handle,
    /// Whether it was started just now.
    pub fresh: bool,
    /// What its user should know.
    pub notes: Vec<String>,
}

/// What a session has printed.
#[derive(Debug, Clone)]
pub struct Output {
    pub session: String,
    pub log: OutputLog,
    /// Where what the present process printed begins, or the last one; the end if that was in an earlier life.
    pub begun: u64,
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
        let limits = process::output::Limits {
            memory: usize::try_from(options.limits.output_memory).unwrap_or(usize::MAX),
            disk: options.limits.output_file,
            ..Default::default()
        };
        let archive = Archive::new(options.output_dir.clone(), limits);
        let numbers = Arc::new(Numbers::open(options.output_dir.as_deref(), || archive.last_eval()));
        let started = watch::Sender::new(0);
        Arc::new_cyclic(|me| {
            let (sessions, shelf, me) = (Mutex::default(), Shelf::default(), me.clone());
            Repl { options, sessions, archive, numbers, started, shelf, me }
        })
    }

    /// The session of that name, alive or dead.
    pub fn find(&self, caller: &Caller, session: Option<&str>) -> Result<Handle, ReplError> {
        let key = self.key(caller, session)?;
        self.look(&key).ok_or_else(|| {
            let sessions = self.lock();
            let started = sessions.slots.iter().filter(|(_, slot)| slot.entry.is_some()).map(|(key, _)| key);
            let here = started.filter(|other| other.worktree == key.worktree);
            let mut known: Vec<String> = here.map(|key| key.name.clone()).collect();
            known.sort();
            ReplError::Unknown { session: key.name.clone(), known }
        })
    }

    /// The session that remembers an evaluation, in the caller's worktree: of that name, or whichever.
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
            if handle.knows(eval).await {
                return Ok(handle);
            }
        }
        if self.numbers.is_of_an_earlier_life(eval) {
            return Err(self.lost(caller, eval));
        }
        match session {
            Some(session) => Err(self.find(caller, Some(session)).err().unwrap_or_else(|| {
                let session = session.to_owned();
                ReplError::Session(SessionError::UnknownEval { session, eval })
            })),
            None => Err(ReplError::UnknownEval { eval }),
        }
    }

    /// What there is to say of an evaluation that ran before this process did.
    fn lost(&self, caller: &Caller, eval: u64) -> ReplError {
        let found = self.archive.find_eval(&caller.worktree, eval);
        // Evaluations of one session come one after the other.
        let ended = found.as_ref().is_some_and(|(_, log)| log.last_eval().is_some_and(|last| last > eval));
        ReplError::EarlierLife { eval, session: found.map(|(session, _)| session), ended }
    }

    /// Everything a session of that name ever printed, in this life or an earlier one.
    pub fn output(&self, caller: &Caller, session: Option<&str>) -> Result<Output, ReplError> {
        match self.find(caller, session) {
            Ok(handle) => {
                Ok(Output { session: handle.info().name, log: handle.output().clone(), begun: handle.begun() })
            }
            Err(ReplError::Unknown { session, known }) => match self.archive.find(&caller.worktree, &session) {
                Some(log) => Ok(Output { session, begun: *log.end().borrow(), log }),
                None => Err(ReplError::Unknown { session, known }),
            },
            Err(error) => Err(error),
        }
    }

    /// Ends a session and starts it anew, with its definitions if wished; `wait` bounds the replay.
    pub async fn restart(
        self: &Arc<Self>,
        caller: &Caller,
        session: Option<&str>,
        definitions: bool,
        wait: Duration,
    ) -> Result<(Handle, Replayed), ReplError> {
        let until = tokio::time::Instant::now() + wait;
        let (handle, code) = self.anew(caller, session, definitions).await?;
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
        let mut sessions: Vec<SessionInfo> = self.lock().entries().map(|entry| entry.handle.info()).collect();
        sessions.sort_by(|a, b| (&a.worktree, &a.name).cmp(&(&b.worktree, &b.name)));
        sessions
    }

    /// Whether a session belongs to the worktree that need not be named.
    pub(crate) fn is_at_root(&self, key: &Key) -> bool {
        self.options.root.as_ref() == Some(&key.worktree)
    }

    /// Up to where each session has printed.
    pub(crate) fn ends(&self) -> Vec<(Key, u64)> {
        let sessions = self.lock();
        let entries = sessions.slots.iter().filter_map(|(key, slot)| Some((key, slot.entry.as_ref()?)));
        entries.map(|(key, entry)| (key.clone(), *entry.handle.output().end().borrow())).collect()
    }

    /// Whether a session lives.
    pub fn busy(&self) -> bool {
        let sessions = self.lock();
        sessions.starting > 0 || sessions.entries().any(Entry::is_alive)
    }

    /// Ends all sessions, at the same time, and starts no more. Takes a few seconds at most.
    pub async fn shutdown(self: &Arc<Self>) {
        let keys: Vec<Key> = {
            let mut sessions = self.lock();
            sessions.closing = true;
            sessions.slots.keys().cloned().collect()
        };
        let ends: Vec<_> = keys.into_iter().map(|key| tokio::spawn(end(self.clone(), key))).collect();
        for end in ends {
            // A panic there has been reported by the runtime.
            let _ = end.await;
        }
        self.numbers.close();
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

    fn look(&self, key: &Key) -> Option<Handle> {
        self.lock().slots.get(key)?.entry.as_ref().map(|entry| entry.handle.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the session of a name, once it is past a start that is under way.
async fn end(repl: Arc<Repl>, key: Key) {
    let _turn = repl.turn(&key).await;
    let Some(handle) = repl.look(&key) else { return };
    handle.stop(HOB_ENDS).await;
    // The process is about to end, and the log's own thread with it.
    let log = handle.output().clone();
    let _ = tokio::task::spawn_blocking(move || log.flush(FLUSH)).await;
}

impl Sessions {
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
