//! Starting sessions: one start at a time for a name, none of which holds up any other name.

use std::collections::VecDeque;
use std::future::{pending, poll_fn};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};

use crate::journal::Record;
use process::output::{OutputLog, Query, Stream};
use project::Caller;
use tokio::sync::OwnedMutexGuard;

use super::{Entry, HOB_ENDS, Journal, Key, Plan, Repl, StartRequest, Started};
use crate::error::ReplError;
use crate::load::LoadRecord;
use crate::resolve::{self, Wanted};
use crate::result::{EvalResult, Status};
use crate::session::{
    EvalRequest, Handle, SessionError, SessionEvent, SessionInfo, SessionState, Setup, Witness, start,
};

/// Who holds it is the only one to start or end the session of a name. Fair: first come, first served.
pub(super) type Gate = Arc<tokio::sync::Mutex<()>>;
type Turn = OwnedMutexGuard<()>;

/// How many processes of one name before the present one are asked for their evaluations.
const FORMER: usize = 2;
/// What is said of a session that an earlier daemon had.
const EARLIER: &str = "The session of that name before it ended with its daemon: what it had defined is gone, what it \
                       printed can be read with repl_read.";
/// How long what is known of a session may lag behind what it answers.
const LAG: Duration = Duration::from_secs(1);
/// How many sessions that have ended are remembered; of all others the output is still kept.
const ENDED: usize = 32;

impl Repl {
    /// Starts a session, or finds the running one of that name. Does not wait for its first prompt.
    pub async fn start(self: &Arc<Self>, caller: &Caller, request: StartRequest) -> Result<Started, ReplError> {
        let key = self.key(caller, request.session.as_deref())?;
        let turn = self.turn(&key).await;
        let mut notes = Vec::new();
        if let Some(handle) = self.look(&key) {
            let info = handle.info();
            if info.state.is_alive() {
                let asked = request.profile.as_ref().is_some_and(|profile| *profile != info.profile)
                    || request.command.as_ref().is_some_and(|command| *command != info.command);
                if asked {
                    return Err(ReplError::OtherRuns { session: key.name, profile: info.profile });
                }
                notes.extend(self.elsewhere(caller, &key, &request));
                return Ok(Started { handle, fresh: false, notes });
            }
            notes.push(died(&info));
        }
        let plan = self.plan(caller, &key, request)?;
        let (handle, _turn) = self.launch(key, plan, turn).await?;
        Ok(Started { handle, fresh: true, notes })
    }

    /// The session of that name, started with what the project suggests if it is not there. One that has died comes
    /// back as it was started, not as its directory would suggest.
    pub async fn ensure(self: &Arc<Self>, caller: &Caller, session: Option<&str>) -> Result<Started, ReplError> {
        let key = self.key(caller, session)?;
        let turn = self.turn(&key).await;
        self.ensured(caller, key, turn).await.map(|(started, _)| started)
    }

    /// Evaluates in the session of that name, which is started if need be. Calls that come one after the other are
    /// evaluated in that order, also if the first of them has to start the session. `request.wait` covers all of it.
    /// Gives the notes about the session too.
    pub async fn eval(
        self: &Arc<Self>,
        caller: &Caller,
        session: Option<&str>,
        mut request: EvalRequest,
    ) -> Result<(EvalResult, Vec<String>), ReplError> {
        let key = self.key(caller, session)?;
        let begun = Instant::now();
        let turn = match self.gate(&key).try_lock_owned() {
            Ok(turn) => turn,
            Err(_) => {
                let turn = tokio::time::timeout(request.wait, self.turn(&key)).await;
                turn.map_err(|_| ReplError::Busy { session: key.name.clone() })?
            }
        };
        let (mut started, turn) = self.ensured(caller, key, turn).await?;
        if started.fresh {
            request.wait = request.wait.saturating_sub(begun.elapsed());
            if started.notes.is_empty() {
                started.notes.push(new(&started.handle.info()));
                if started.handle.begun() > 0 {
                    started.notes.push(EARLIER.to_owned());
                }
            }
        }
        let is_command = request.code.trim_start().starts_with(':');
        let mut answer = pin!(started.handle.eval(request));
        // The first poll puts it in the session's queue; only then may the next caller go on.
        let first = poll_fn(|cx| Poll::Ready(answer.as_mut().poll(cx))).await;
        drop(turn);
        let answer = match first {
            Poll::Ready(answer) => answer,
            Poll::Pending => answer.await,
        };
        let result = ran(&started.handle, answer).await?;
        if started.fresh && !is_command {
            started.notes.extend(not_loaded(&started.handle.loads().borrow()));
        }
        Ok((result, started.notes))
    }

    /// Ends a session and starts it anew; gives the definitions of the one before, if wished.
    pub(super) async fn anew(
        self: &Arc<Self>,
        caller: &Caller,
        session: Option<&str>,
        definitions: bool,
    ) -> Result<(Handle, Vec<String>), ReplError> {
        let key = self.key(caller, session)?;
        let turn = self.turn(&key).await;
        let old = self.find(caller, session)?;
        let code = if definitions { old.definitions().await } else { Vec::new() };
        old.stop("it was restarted").await;
        let plan = self.again(caller, &key)?;
        let (handle, _turn) = self.launch(key, plan, turn).await?;
        Ok((handle, code))
    }

    /// Waits until it is our turn to start or end the session of a name.
    pub(super) async fn turn(&self, key: &Key) -> Turn {
        self.gate(key).lock_owned().await
    }

    fn gate(&self, key: &Key) -> Gate {
        let mut sessions = self.lock();
        match sessions.slots.get(key) {
            Some(slot) => slot.gate.clone(),
            None => sessions.slots.entry(key.clone()).or_default().gate.clone(),
        }
    }

    async fn ensured(self: &Arc<Self>, caller: &Caller, key: Key, turn: Turn) -> Result<(Started, Turn), ReplError> {
        let known = self.look(&key);
        if let Some(handle) = known.as_ref().filter(|handle| handle.is_alive()) {
            let notes = self.elsewhere(caller, &key, &StartRequest::default()).into_iter().collect();
            return Ok((Started { handle: handle.clone(), fresh: false, notes }, turn));
        }
        let notes = known.map(|handle| died(&handle.info())).into_iter().collect();
        let plan = self.again(caller, &key)?;
        let (handle, turn) = self.launch(key, plan, turn).await?;
        Ok((Started { handle, fresh: true, notes }, turn))
    }

    /// How to start the session of that name, perhaps once more: as it was started. What never came to its first prompt
    /// is looked at anew, with the environment of this caller, who may have mended it meanwhile.
    fn again(&self, caller: &Caller, key: &Key) -> Result<Plan, ReplError> {
        let request = {
            let sessions = self.lock();
            match sessions.slots.get(key).and_then(|slot| slot.entry.as_ref()) {
                Some(entry) if entry.handle.info().prompted => return Ok(entry.plan.clone()),
                Some(entry) => entry.plan.request.clone(),
                None => StartRequest::default(),
            }
        };
        self.plan(caller, key, request)
    }

    fn plan(&self, caller: &Caller, key: &Key, request: StartRequest) -> Result<Plan, ReplError> {
        let setup = self.setup(caller, key, request.clone())?;
        Ok(Plan { request, from: caller.cwd.clone(), setup })
    }

    pub(super) fn setup(&self, caller: &Caller, key: &Key, request: StartRequest) -> Result<Setup, ReplError> {
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
            idle: self.options.idle.duration(),
            records: self.options.records_dir.clone(),
            guard: self.options.guard.clone(),
            witness: Some(witness(self.options.journal.clone(), self.me.clone(), key.clone())),
            numbers: self.numbers.clone(),
        })
    }

    /// Starts the process and remembers it, on a thread for blocking work: two forks, and a look at the disk. Goes on
    /// if nobody waits for it any more.
    async fn launch(self: &Arc<Self>, key: Key, plan: Plan, turn: Turn) -> Result<(Handle, Turn), ReplError> {
        let place = Place::taken(self, &key)?;
        let launched = tokio::task::spawn_blocking(move || {
            let handle = place.0.launch_blocking(key, plan)?;
            Ok((handle, turn))
        });
        match launched.await {
            Ok(launched) => launched,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The runtime ends, and this task with it.
            Err(_) => pending().await,
        }
    }

    fn launch_blocking(&self, key: Key, plan: Plan) -> Result<Handle, ReplError> {
        let failed = |source| {
            let hint = plan.setup.launch.install_hint.clone();
            ReplError::Start { session: key.name.clone(), source, hint }
        };
        let old = self.look(&key);
        let log = match &old {
            Some(old) => old.output().clone(),
            None => {
                self.forget_old();
                self.archive.open(&key.worktree, &key.name).map_err(failed)?
            }
        };
        let end = *log.end().borrow();
        if end > 0 {
            note_new_process(&log, end, old.as_ref());
        }
        let handle = start(plan.setup.clone(), log).map_err(failed)?;
        if let Some(me) = self.me.upgrade() {
            me.shelve(&key);
        }
        if let Some(journal) = &self.options.journal {
            journal(Record::SessionStarted {
                session: key.name.clone(),
                worktree: key.worktree.clone(),
                profile: plan.setup.launch.profile.clone(),
                pid: handle.info().pid.unwrap_or(0),
            });
        }
        let mut sessions = self.lock();
        let slot = sessions.slots.entry(key).or_default();
        let mut former = slot.entry.take().map_or_else(VecDeque::new, |mut entry| {
            entry.former.push_back(entry.handle);
            entry.former
        });
        if former.len() > FORMER {
            former.pop_front();
        }
        slot.entry = Some(Entry { handle: handle.clone(), former, plan });
        drop(sessions);
        self.started.send_modify(|started| *started += 1);
        Ok(handle)
    }

    /// Forgets sessions that ended long ago, and what the archive has no room for.
    fn forget_old(&self) {
        let mut ended: Vec<(Instant, Key, PathBuf)> = {
            let sessions = self.lock();
            let ended = |(key, slot): (&Key, &super::Slot)| {
                let entry = slot.entry.as_ref()?;
                let place = entry.handle.output().directory().map(PathBuf::from).unwrap_or_default();
                Some((entry.handle.ended()?, key.clone(), place))
            };
            sessions.slots.iter().filter_map(ended).collect()
        };
        ended.sort();
        let places: Vec<PathBuf> = ended.iter().map(|(_, _, place)| place.clone()).collect();
        let removed = self.archive.make_room(&places);
        let many = ended.len().saturating_sub(ENDED);
        let mut sessions = self.lock();
        for (n, (_, key, place)) in ended.iter().enumerate() {
            if let Some(slot) = sessions.slots.get_mut(key)
                && (n < many || removed.contains(place))
            {
                // Unless somebody has it in hand just now.
                let forgotten = slot.entry.take_if(|entry| !entry.is_alive() && Arc::strong_count(&slot.gate) == 1);
                if forgotten.is_some() {
                    self.unshelve(key);
                }
            }
        }
        sessions.slots.retain(|_, slot| slot.entry.is_some() || Arc::strong_count(&slot.gate) > 1);
    }
}

/// A place among the sessions that may run at once, held while one is being started.
struct Place(Arc<Repl>);

impl Place {
    fn taken(repl: &Arc<Repl>, key: &Key) -> Result<Place, ReplError> {
        let mut sessions = repl.lock();
        if sessions.closing {
            let (session, reason) = (key.name.clone(), HOB_ENDS.to_owned());
            return Err(ReplError::Session(SessionError::Ended { session, reason }));
        }
        let limit = usize::try_from(repl.options.limits.sessions).unwrap_or(usize::MAX);
        if sessions.entries().filter(|entry| entry.is_alive()).count() + sessions.starting >= limit {
            return Err(ReplError::TooMany { limit });
        }
        sessions.starting += 1;
        Ok(Place(repl.clone()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.lock().starting -= 1;
    }
}

/// Says in the log where another process begins.
fn note_new_process(log: &OutputLog, end: u64, old: Option<&Handle>) {
    let last = log.read_blocking(&Query::since(end.saturating_sub(1)).with_notes()).bytes();
    let newline = if last.ends_with(b"\n") { "" } else { "\n" };
    let ended = match old.and_then(|old| old.info().reason) {
        Some(reason) => reason,
        None => "it ended with an earlier hob".to_owned(),
    };
    log.append(Stream::Note, None, format!("{newline}--- a new process; of the one above: {ended} ---\n").as_bytes());
}

/// What came of an evaluation. One that never ran, since its session ended instead of starting, is an error that says what
/// the program printed and what to do about it.
pub(crate) async fn ran(handle: &Handle, answer: Result<EvalResult, SessionError>) -> Result<EvalResult, ReplError> {
    let dead = match &answer {
        Ok(result) => matches!(result.status, Status::Exited | Status::Crashed | Status::Killed),
        Err(error) => matches!(error, SessionError::Ended { .. }),
    };
    if dead {
        let mut seen = handle.watch();
        // What is known of the session lags a little behind its last answers.
        let _ = tokio::time::timeout(LAG, seen.wait_for(|info| info.state != SessionState::Starting)).await;
        let info = handle.info();
        if !info.prompted && matches!(info.state, SessionState::Exited | SessionState::Crashed | SessionState::Killed) {
            return Err(ReplError::NotStarted(Box::new(info)));
        }
    }
    Ok(answer?)
}

/// For whoever did not choose: code in another language than the session's is the commonest first error.
fn new(info: &SessionInfo) -> String {
    format!("The session is new, of profile `{}`; repl_start starts one of another `profile`.", info.profile)
}

/// For whoever misses a name in a new session: the module that should bring it did not compile.
fn not_loaded(load: &LoadRecord) -> Option<String> {
    let failed = load.generation == 1 && !load.ok;
    failed.then(|| {
        format!("The project did not load ({}); repl_diagnostics says why.", load.summary.trim_end_matches('.'))
    })
}

fn died(info: &SessionInfo) -> String {
    let reason = info.reason.as_deref().unwrap_or("it ended");
    if !info.prompted {
        return format!("It had not started before ({reason}).");
    }
    format!("The session had ended ({reason}); a new process was started, and earlier definitions are gone.")
}

/// What hears of a session: the journal, and those who watch it.
fn witness(journal: Option<Journal>, repl: Weak<Repl>, key: Key) -> Witness {
    let begun = Instant::now();
    Arc::new(move |event| {
        if let Some(repl) = repl.upgrade() {
            repl.note(&key, event);
        }
        let Some(journal) = &journal else { return };
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
