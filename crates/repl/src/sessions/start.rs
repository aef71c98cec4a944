//! Starts sessions. Starts and ends of one name exclude each other; different names never wait for each other.

use std::collections::VecDeque;
use std::future::pending;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::journal::Record;
use process::output::{OutputLog, Query, Stream};
use project::Caller;
use tokio::sync::OwnedMutexGuard;

use super::{Entry, Journal, Repl, SessionKey, StartPlan, StartRequest, StartedSession};
use crate::archive::{Archive, Chosen};
use crate::error::ReplError;
use crate::resolve::{self, LaunchRequest};
use crate::sandboxed::SandboxMode;

use crate::session::{
    EventSink, HOB_ENDS, Handle, Launch, SessionError, SessionEvent, SessionInfo, SessionSpec, start,
};

/// A fair lock held while the session of a name is started or ended.
pub(super) type StartLock = Arc<tokio::sync::Mutex<()>>;
pub(super) type StartGuard = OwnedMutexGuard<()>;

/// The number of former processes of one name whose evaluations are still available.
const FORMER: usize = 2;
/// The number of ended sessions remembered. The output of the others is still kept.
const ENDED: usize = 32;

impl Repl {
    /// Starts a session, or returns the running one of that name. Does not wait for the first prompt.
    pub async fn start(self: &Arc<Self>, caller: &Caller, request: StartRequest) -> Result<StartedSession, ReplError> {
        let key = self.key(caller, request.session.as_deref())?;
        let profile = self.profile_name(request.profile.as_deref())?;
        let guard = self.lock_start(&key).await;
        let mut notes = Vec::new();
        if let Some(handle) = self.get(&key) {
            let info = handle.info();
            if info.state.is_alive() {
                if request.command.as_ref().is_some_and(|command| *command != info.command) {
                    return Err(ReplError::OtherRuns { session: key.name, runs: info.command.join(" ") });
                }
                is_of_profile(&info, profile.as_deref())?;
                self.is_of_component(&key, request.component.as_deref())?;
                self.is_sandboxed(&key, request.sandbox)?;
                notes.extend(self.start_difference_note(caller, &key, &request));
                return Ok(StartedSession { handle, fresh: false, notes });
            }
            notes.push(death_note(&info));
        }
        let plan = self.plan(caller, &key, request)?;
        notes.extend(plan.spec.launch.fallback.as_ref().map(|why| {
            format!(
                "The profile is `{}`, {why}; to use another profile, give `profile` with another `session`.",
                plan.spec.launch.profile
            )
        }));
        notes.extend(plan.spec.launch.notes.clone());
        let (handle, _guard) = self.launch(key, plan, guard).await?;
        Ok(StartedSession { handle, fresh: true, notes })
    }

    /// Refuses a running session of another component than the requested one.
    fn is_of_component(&self, key: &SessionKey, asked: Option<&str>) -> Result<(), ReplError> {
        let sessions = self.lock();
        let entry = sessions.slots.get(key).and_then(|slot| slot.entry.as_ref());
        let runs = entry.and_then(|entry| entry.plan.request.component.as_deref());
        match asked.filter(|asked| runs != Some(asked)) {
            None => Ok(()),
            Some(_) => {
                let runs = runs
                    .map_or("the component that its program chose".to_owned(), |runs| format!("component `{runs}`"));
                Err(ReplError::OtherRuns { session: key.name.clone(), runs })
            }
        }
    }

    /// Refuses a running session without the requested sandbox.
    fn is_sandboxed(&self, key: &SessionKey, asked: Option<SandboxMode>) -> Result<(), ReplError> {
        let sessions = self.lock();
        let entry = sessions.slots.get(key).and_then(|slot| slot.entry.as_ref());
        match asked.filter(|_| entry.is_some_and(|entry| entry.plan.spec.launch.sandbox.is_none())) {
            None => Ok(()),
            Some(_) => Err(ReplError::OtherRuns { session: key.name.clone(), runs: "no sandbox".to_owned() }),
        }
    }

    /// Returns the full name of a requested profile.
    fn profile_name(&self, asked: Option<&str>) -> Result<Option<String>, ReplError> {
        Ok(asked.map(|name| self.options.profiles.get(name)).transpose()?.map(|profile| profile.name.clone()))
    }

    /// Returns the session of that name, started as the project suggests if it does not exist. One that has ended is
    /// started with its first parameters, not as its directory would suggest.
    pub async fn ensure(self: &Arc<Self>, caller: &Caller, session: Option<&str>) -> Result<StartedSession, ReplError> {
        let key = self.key(caller, session)?;
        let guard = self.lock_start(&key).await;
        self.ensure_locked(caller, key, None, guard).await.map(|(started, _)| started)
    }

    /// Waits until no other call starts or ends the session of that name.
    pub(super) async fn lock_start(&self, key: &SessionKey) -> StartGuard {
        self.start_lock(key).lock_owned().await
    }

    pub(super) fn start_lock(&self, key: &SessionKey) -> StartLock {
        let mut sessions = self.lock();
        match sessions.slots.get(key) {
            Some(slot) => slot.start_lock.clone(),
            None => sessions.slots.entry(key.clone()).or_default().start_lock.clone(),
        }
    }

    /// Like [`Repl::ensure`], for a caller that holds the start lock and may request a profile.
    pub(super) async fn ensure_locked(
        self: &Arc<Self>,
        caller: &Caller,
        key: SessionKey,
        profile: Option<&str>,
        guard: StartGuard,
    ) -> Result<(StartedSession, StartGuard), ReplError> {
        let profile = self.profile_name(profile)?;
        let known = self.get(&key);
        if let Some(handle) = known.as_ref().filter(|handle| handle.is_alive()) {
            is_of_profile(&handle.info(), profile.as_deref())?;
            let notes = self.start_difference_note(caller, &key, &StartRequest::default()).into_iter().collect();
            return Ok((StartedSession { handle: handle.clone(), fresh: false, notes }, guard));
        }
        let had = known.as_ref().map(|handle| handle.info().profile);
        let plan = match profile {
            Some(_) if profile != had => {
                self.plan(caller, &key, StartRequest { profile, ..StartRequest::default() })?
            }
            _ => self.restart_plan(caller, &key)?,
        };
        let mut notes: Vec<String> = known.as_ref().map(|handle| death_note(&handle.info())).into_iter().collect();
        if known.is_some_and(|known| known.info().start_notes != plan.spec.launch.notes) {
            notes.extend(plan.spec.launch.notes.clone());
        }
        let (handle, guard) = self.launch(key, plan, guard).await?;
        Ok((StartedSession { handle, fresh: true, notes }, guard))
    }

    /// Returns the parameters for starting the session of that name: the former ones, if it was started before. A program that never reached its first prompt
    /// is resolved again with this caller's environment, which may have been repaired.
    pub(super) fn restart_plan(&self, caller: &Caller, key: &SessionKey) -> Result<StartPlan, ReplError> {
        let (plan, prompted) = {
            let sessions = self.lock();
            match sessions.slots.get(key).and_then(|slot| slot.entry.as_ref()) {
                Some(entry) => (Some(entry.plan.clone()), entry.handle.info().prompted),
                None => (None, false),
            }
        };
        match plan {
            Some(plan) if prompted => Ok(self.renewed(key, plan)),
            Some(plan) => self.plan(caller, key, plan.request),
            None => self.plan_as_chosen(caller, key),
        }
    }

    /// Returns the start that was chosen for the session of that name under an earlier daemon, if it is still possible.
    fn plan_as_chosen(&self, caller: &Caller, key: &SessionKey) -> Result<StartPlan, ReplError> {
        let Some(chosen) = self.archive.chosen(&key.worktree, &key.name) else {
            return self.plan(caller, key, StartRequest::default());
        };
        if chosen.has_command {
            return Err(ReplError::CommandEnded { session: key.name.clone() });
        }
        let Chosen { profile, component, cwd, sandbox, .. } = chosen;
        let request = StartRequest { profile, component, cwd, sandbox, ..StartRequest::default() };
        let Ok(mut plan) = self.plan(caller, key, request) else {
            return self.plan(caller, key, StartRequest { sandbox, ..StartRequest::default() });
        };
        plan.spec.launch.fallback = Some("the same as under the previous daemon".to_owned());
        Ok(plan)
    }

    /// Returns the same start with the project's current virtual environment and sandbox, which may be new.
    fn renewed(&self, key: &SessionKey, mut plan: StartPlan) -> StartPlan {
        resolve::confine(&mut plan.spec.launch, (self.options.sandbox)());
        let launch = &plan.spec.launch;
        let profile = self.options.profiles.get(&launch.profile);
        if plan.request.command.is_some() || !profile.is_ok_and(|profile| profile.virtual_environments) {
            return plan;
        }
        let (profile, cwd) = (Some(launch.profile.clone()), Some(launch.cwd.clone()));
        let request = StartRequest { profile, cwd, ..plan.request.clone() };
        match self.spec(&plan.from, key, request) {
            Ok(new) => {
                let launch = Launch { fallback: plan.spec.launch.fallback, ..new.launch };
                StartPlan { spec: SessionSpec { launch, ..plan.spec }, ..plan }
            }
            Err(_) => plan,
        }
    }

    /// Returns the parameters of a session that only a check uses.
    pub(crate) fn spec_to_check(&self, caller: &Caller, profile: &str) -> Result<SessionSpec, ReplError> {
        let key = self.key(caller, Some("check"))?;
        let request = StartRequest { profile: Some(profile.to_owned()), ..StartRequest::default() };
        Ok(SessionSpec { sink: None, ..self.spec(caller, &key, request)? })
    }

    fn plan(&self, caller: &Caller, key: &SessionKey, request: StartRequest) -> Result<StartPlan, ReplError> {
        let spec = self.spec(caller, key, request.clone())?;
        Ok(StartPlan { request, from: caller.clone(), spec })
    }

    pub(super) fn spec(
        &self,
        caller: &Caller,
        key: &SessionKey,
        request: StartRequest,
    ) -> Result<SessionSpec, ReplError> {
        let request = LaunchRequest {
            profile: request.profile,
            command: request.command,
            cwd: request.cwd,
            env: request.env,
            component: request.component,
            sandbox: (self.options.sandbox)().or(request.sandbox),
            python: self.options.python,
            default_profile: self.options.default_profile.as_deref(),
            memory_limit: self.options.limits.session_memory,
        };
        let launch = resolve::launch(&self.options.profiles, caller, request)?;
        let limits = &self.options.limits;
        Ok(SessionSpec {
            name: key.name.clone(),
            worktree: key.worktree.clone(),
            owner: caller.name.clone().unwrap_or_else(|| format!("process {}", caller.pid)),
            launch,
            queue: usize::try_from(limits.queued_evaluations).unwrap_or(usize::MAX),
            idle: self.options.idle.duration(),
            records: self.options.records_dir.clone(),
            guard: self.options.guard.clone(),
            sink: Some(event_sink(self.options.journal.clone(), self.me.clone(), key.clone())),
            numbers: self.numbers.clone(),
        })
    }

    /// Starts the process and registers it, on a thread for blocking work (two forks and disk access). The start
    /// continues if its caller stops waiting.
    pub(super) async fn launch(
        self: &Arc<Self>,
        key: SessionKey,
        plan: StartPlan,
        guard: StartGuard,
    ) -> Result<(Handle, StartGuard), ReplError> {
        let reservation = Reservation::take(self, &key)?;
        let launched = tokio::task::spawn_blocking(move || {
            let handle = reservation.0.launch_blocking(key, plan)?;
            Ok((handle, guard))
        });
        match launched.await {
            Ok(launched) => launched,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The runtime is ending, and this task with it.
            Err(_) => pending().await,
        }
    }

    fn launch_blocking(&self, key: SessionKey, plan: StartPlan) -> Result<Handle, ReplError> {
        let failed = |source| {
            let hint = plan.spec.launch.install_hint.clone();
            ReplError::Start { session: key.name.clone(), source, hint }
        };
        let old = self.get(&key);
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
        if let Some(place) = log.directory() {
            let StartRequest { profile, component, cwd, command, sandbox, .. } = plan.request.clone();
            let cwd = cwd.map(|_| plan.spec.launch.cwd.clone());
            // A custom command and its environment belong to the caller alone.
            let chosen = match command {
                Some(_) => Chosen { sandbox, has_command: true, ..Chosen::default() },
                None => Chosen { profile, component, cwd, sandbox, has_command: false },
            };
            Archive::note(place, &chosen);
        }
        if plan.spec.launch.sandbox.is_some() {
            self.has_sandboxed.store(true, Ordering::Relaxed);
        }
        let handle = start(plan.spec.clone(), log).map_err(failed)?;
        if let Some(me) = self.me.upgrade() {
            me.publish(&key);
        }
        if let Some(journal) = &self.options.journal {
            journal(Record::SessionStarted {
                session: key.name.clone(),
                worktree: key.worktree.clone(),
                profile: plan.spec.launch.profile.clone(),
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

    /// Forgets sessions that ended long ago, and those that the archive has no room for.
    fn forget_old(&self) {
        let mut ended: Vec<(Instant, SessionKey, PathBuf)> = {
            let sessions = self.lock();
            let ended = |(key, slot): (&SessionKey, &super::Slot)| {
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
                // Skip a session that another call is starting or ending.
                let forgotten =
                    slot.entry.take_if(|entry| !entry.is_alive() && Arc::strong_count(&slot.start_lock) == 1);
                if forgotten.is_some() {
                    self.unpublish(key);
                }
            }
        }
        sessions.slots.retain(|_, slot| slot.entry.is_some() || Arc::strong_count(&slot.start_lock) > 1);
    }
}

/// Counts a session that is being started against the limit of running sessions.
struct Reservation(Arc<Repl>);

impl Reservation {
    fn take(repl: &Arc<Repl>, key: &SessionKey) -> Result<Reservation, ReplError> {
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
        Ok(Reservation(repl.clone()))
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.0.lock().starting -= 1;
    }
}

/// Marks in the log where the output of a new process begins.
fn note_new_process(log: &OutputLog, end: u64, old: Option<&Handle>) {
    let last = log.read_blocking(&Query::since(end.saturating_sub(1)).with_notes()).bytes();
    let newline = if last.ends_with(b"\n") { "" } else { "\n" };
    let ended = match old.and_then(|old| old.info().reason) {
        Some(reason) => reason,
        None => "it ended with an earlier daemon".to_owned(),
    };
    log.append(Stream::Note, None, format!("{newline}--- a new process; the previous one: {ended} ---\n").as_bytes());
}

/// Refuses a running session of another profile than the requested one.
fn is_of_profile(info: &SessionInfo, asked: Option<&str>) -> Result<(), ReplError> {
    match asked {
        Some(asked) if asked != info.profile => {
            Err(ReplError::OtherRuns { session: info.name.clone(), runs: format!("profile `{}`", info.profile) })
        }
        _ => Ok(()),
    }
}

fn death_note(info: &SessionInfo) -> String {
    let reason = info.reason.as_deref().unwrap_or("it ended");
    if !info.prompted {
        return format!("It had not started before ({reason}).");
    }
    format!("The session had ended ({reason}); a new process was started, and earlier definitions are gone.")
}

/// Passes the events of a session to the journal and to the resources.
fn event_sink(journal: Option<Journal>, repl: Weak<Repl>, key: SessionKey) -> EventSink {
    let begun = Instant::now();
    Arc::new(move |event| {
        if let Some(repl) = repl.upgrade() {
            repl.on_event(&key, event);
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
