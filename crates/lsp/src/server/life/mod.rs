//! One life of a server's program, from start to end.

mod probes;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use process::Group;
use process::probe::Prober;
use serde_json::{Map, Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};

use self::probes::{ProbeOutcome, probe_outcome};
use super::actor::Actor;
use super::documents::{Changed, Documents, back_dated, caught_up, read_again};
use super::readiness::Probe;
use super::start::{copied, initialize, keep_last, make_scratch, remove_scratch, short_version, spawn, widened};
use super::state::Signals;
use super::{Canary, Certainty, Document, Order, Session, State};
use crate::journal::Record;
use crate::{Answering, Client, Encoding, Event, Failure, of_path};
use syntax::{Language, family as language_family};

/// An event in the life of a running server.
enum Happening {
    Order(Option<Order>),
    Heard(Event),
    Exited,
    Initialized(Result<Value, Failure>),
    Probed(Option<ProbeOutcome>),
    Tick,
}

pub(super) struct Life<'a> {
    actor: &'a mut Actor,
    group: Group,
    client: Client,
    settings: Map<String, Value>,
    encoding: Encoding,
    documents: Documents,
    signals: Signals,
    changes: Option<::watch::Subscription>,
    /// True if the server announces that it begins to load.
    announces: bool,
    /// True after `initialize` was answered.
    is_up: bool,
    since: Instant,
    /// Time at which the server reported that it is ready.
    says_ready_since: Option<Instant>,
    probes: Vec<Probe>,
    canary: Option<Canary>,
    probing: Option<oneshot::Receiver<Option<ProbeOutcome>>>,
    /// Time of the next probe.
    probe_at: Option<Instant>,
    pause: Duration,
    /// Replaced after each change.
    settled: Certainty,
    changed: Changed,
    caught_up: watch::Receiver<bool>,
    /// A file that it read at its start has changed: the next question restarts it.
    is_outdated: bool,
    /// It does not read its input.
    is_deaf: bool,
    quiet_since: Instant,
    prober: Prober,
    /// Permit to start, returned after `initialize`.
    starting: Option<OwnedSemaphorePermit>,
}

/// Time to wait for the remaining output and the exit status of a program that ended.
const MOMENT: Duration = Duration::from_secs(1);
/// Time without an answer to `initialize` after which the program's activity is checked.
const TICK: Duration = Duration::from_millis(250);
/// First and longest delay between probes.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// A server that announces its loading does so within this time.
const ANNOUNCES_WITHIN: Duration = Duration::from_secs(1);

impl Life<'_> {
    /// Starts the program and runs until it ends. Returns the state that follows; `None` if the server ends.
    pub(super) async fn begin(actor: &mut Actor) -> Option<State> {
        let start = actor.start.clone();
        // Servers that load at the same time compete for processor and memory.
        let starting = start.starting.clone().acquire_owned().await.ok();
        let name = start.profile.name.clone();
        let settings = widened(&start).await;
        let unstarted = |problem| Some(State::CannotStart { exit: None, stderr: vec![problem] });
        if let Err(error) = make_scratch(&start.scratch).await {
            let place = start.scratch.display();
            return unstarted(format!("cannot create a directory for its temporary files in {place}: {error}"));
        }
        let copied = copied(&start).await;
        let spawned = copied.and_then(|copied| Ok((copied, spawn(&start, copied)?)));
        let (has_copies, mut child) = match spawned {
            Ok(spawned) => spawned,
            Err(problem) => {
                remove_scratch(&start.scratch).await;
                return unstarted(problem);
            }
        };
        let (group, exit) = (child.group.clone(), child.exit.clone());
        actor.record(Record::CodeServerStarted { server: name.clone(), root: start.root.clone(), pid: child.pid });
        actor.show(State::Starting, |seen| seen.pid = Some(child.pid));
        actor.show_group(Some(group.clone()));
        let stderr = Arc::new(Mutex::new(VecDeque::new()));
        let reading = child.stderr.take().map(|pipe| tokio::spawn(keep_last(pipe, stderr.clone())));
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return unstarted("it has no streams".to_owned());
        };
        let folders = json!([{"uri": of_path(&start.root), "name": "root"}]);
        let answering = Answering { settings: settings.clone(), folders };
        let (client, events) = Client::new(stdin, stdout, answering);
        let changes = start.watcher.as_ref().map(|watcher| watcher.subscribe().1);
        // Without the copied files there is no index to load.
        let has_index = has_copies || start.profile.copies.is_empty();
        let announces = has_index && matches!(start.profile.signal, super::profile::Signal::Progress(_));
        let life = Life {
            client: client.clone(),
            settings,
            encoding: Encoding::Utf16,
            documents: Documents::default(),
            signals: Signals::new(&start.profile.signal),
            changes,
            announces,
            is_up: false,
            since: Instant::now(),
            says_ready_since: None,
            probes: Vec::new(),
            canary: None,
            probing: None,
            probe_at: None,
            pause: FIRST_PAUSE,
            settled: Certainty::new(true),
            changed: Changed::default(),
            caught_up: watch::channel(true).1,
            is_outdated: false,
            is_deaf: false,
            quiet_since: Instant::now(),
            prober: Prober::new(&group),
            starting,
            group: group.clone(),
            actor,
        };
        let over = life.live(events, exit.clone()).await;
        let ended = *exit.borrow();
        let why = over.as_ref().map_or("ended", State::word);
        if !matches!(over, Some(State::CannotStart { .. } | State::Crashed { .. } | State::Hung { .. })) {
            // The server may write its cache for the next start.
            let goodbye = client.request("shutdown", &Value::Null, Duration::from_millis(300)).await;
            if goodbye.is_ok() {
                let _ = client.notify("exit", Value::Null).await;
            }
        }
        drop(client);
        actor.reap(&group).await;
        remove_scratch(&start.scratch).await;
        let exit = ended.map(|exit| exit.to_string());
        actor.record(Record::CodeServerEnded { server: name, root: start.root, why: why.to_owned(), exit });
        if let Some(reading) = reading {
            // Another process may hold the pipe open; it is not waited for.
            let _ = tokio::time::timeout(MOMENT, reading).await;
        }
        let said = || stderr.lock().iter().cloned().collect();
        match over {
            Some(State::CannotStart { exit, stderr }) if stderr.is_empty() => {
                Some(State::CannotStart { exit, stderr: said() })
            }
            Some(State::Crashed { exit, retry_in, .. }) => Some(State::Crashed { exit, stderr: said(), retry_in }),
            over => over,
        }
    }

    async fn live(
        mut self,
        mut events: mpsc::Receiver<Event>,
        mut exit: watch::Receiver<Option<process::Exit>>,
    ) -> Option<State> {
        let hello = {
            let (client, params) = (self.client.clone(), initialize(&self.actor.start, &self.settings));
            // A missing answer is detected like any other silence.
            async move { client.request("initialize", &params, Duration::from_secs(3600)).await }
        };
        tokio::pin!(hello);
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let happening = tokio::select! {
                biased;
                order = self.actor.orders.recv() => Happening::Order(order),
                Ok(_) = exit.wait_for(Option::is_some) => Happening::Exited,
                Some(event) = events.recv() => Happening::Heard(event),
                answer = &mut hello, if !self.is_up => Happening::Initialized(answer),
                outcome = probe_outcome(&mut self.probing) => Happening::Probed(outcome),
                _ = ticks.tick() => Happening::Tick,
            };
            match happening {
                Happening::Order(None | Some(Order::End)) => return None,
                Happening::Order(Some(Order::Park)) => return Some(State::Parked),
                Happening::Order(Some(Order::OverBudget)) => return Some(State::OverBudget),
                Happening::Order(Some(Order::Doubt)) => self.probe_soon(),
                Happening::Order(Some(Order::Open { documents, reply })) => {
                    let session = self.open(&documents).await;
                    let _ = reply.send(session);
                    if self.is_outdated {
                        return Some(State::Parked);
                    }
                }
                Happening::Heard(Event::Notification { method, params }) => {
                    if self.signals.process_notification(&method, &params) {
                        self.publish_state();
                    }
                }
                Happening::Exited | Happening::Heard(Event::Closed) => {
                    return Some(self.ended(&mut exit, "its output is not a language server's".to_owned()).await);
                }
                Happening::Initialized(Ok(answer)) => {
                    self.encoding = Encoding::chosen(&answer["capabilities"]);
                    let version = answer["serverInfo"]["version"].as_str().map(short_version);
                    let version = version.filter(|version| !version.is_empty());
                    self.is_up = true;
                    self.starting = None;
                    self.since = Instant::now();
                    let _ = self.send_notification("initialized", json!({})).await;
                    self.actor.show(State::Loading { percent: None }, |seen| seen.version = version);
                    if self.announces {
                        // Some servers (clangd) begin to load with the first document.
                        self.start_probe();
                    }
                    self.publish_state();
                }
                Happening::Initialized(Err(problem)) => {
                    return Some(self.ended(&mut exit, problem.to_string()).await);
                }
                Happening::Probed(outcome) => self.finish_probe(outcome).await,
                Happening::Tick => {
                    self.publish_state();
                    if self.is_hung().await {
                        return Some(State::Hung { retry_in: None });
                    }
                }
            }
            if self.is_deaf {
                return Some(State::Hung { retry_in: None });
            }
        }
    }

    /// Sends a notification, but only while the server reads its input. Otherwise a hung server would go unnoticed.
    async fn send_notification(&mut self, method: &'static str, params: Value) -> Result<(), Failure> {
        let after = self.actor.start.timing.hung_after;
        let deaf = Err(Failure::TimedOut { method, after });
        if self.is_deaf {
            return deaf;
        }
        tokio::time::timeout(after, self.client.notify(method, params)).await.unwrap_or_else(|_| {
            self.is_deaf = true;
            deaf
        })
    }

    /// Updates the published state.
    fn publish_state(&mut self) {
        if !self.is_up {
            return;
        }
        // A server that announces its loading may not have announced it yet.
        let is_early = !self.signals.has_begun() && self.since.elapsed() < ANNOUNCES_WITHIN;
        let waits = self.announces && is_early;
        if !self.signals.says_ready() || waits {
            (self.says_ready_since, self.probe_at) = (None, None);
            self.pause = FIRST_PAUSE;
            if !waits {
                self.probing = None;
            }
            self.actor.show(State::Loading { percent: self.signals.percent() }, |_| {});
            return;
        }
        let ready_since = *self.says_ready_since.get_or_insert_with(|| {
            self.probe_at = Some(Instant::now());
            // Results from before a reload or before readiness prove nothing.
            (self.canary, self.probing) = (None, None);
            Instant::now()
        });
        if self.probing.is_none() && self.probe_at.is_some_and(|at| at <= Instant::now()) {
            self.probe_at = None;
            self.start_probe();
        }
        let canary = self.canary.clone();
        let state = match &canary {
            Some(Canary::Agrees(_) | Canary::None) => State::Ready,
            Some(Canary::Lacks(_)) if ready_since.elapsed() >= self.actor.start.timing.doubtful_after => {
                State::Doubtful
            }
            Some(Canary::Lacks(_)) | None => State::Loading { percent: None },
        };
        if state == State::Ready && ready_since.elapsed() >= self.actor.start.timing.well_after {
            self.actor.is_well();
        }
        let trouble = self.signals.load_failure().map(str::to_owned);
        self.actor.show(state, |seen| (seen.canary, seen.trouble) = (canary, trouble));
    }

    /// Opens these documents after delivering all earlier changes.
    async fn open(&mut self, documents: &[Document]) -> Option<Session> {
        if !self.is_up {
            return None;
        }
        if let Some(watcher) = &self.actor.start.watcher {
            // If the sync fails, the opened texts and the check at the end of the answer still apply.
            if let Err(error) = watcher.sync().await {
                tracing::warn!(%error, "the changes of a worktree are not all known");
                self.settled = Certainty::new(false);
            }
        }
        if let Some(batch) = self.changes.as_mut().and_then(::watch::Subscription::try_next) {
            self.tell_changes(batch).await.ok()?;
        }
        if self.is_outdated {
            return None;
        }
        let told = self.documents.open_notifications(&self.changed.with(documents).await);
        let fresh = self.changed.uris_in(&told);
        for (method, params) in told {
            self.send_notification(method, params).await.ok()?;
        }
        self.caught_up = caught_up(&self.client, fresh, self.caught_up.clone());
        Some(Session {
            client: self.client.clone(),
            encoding: self.encoding,
            settled: self.settled.clone(),
            caught_up: self.caught_up.clone(),
            timing: self.actor.start.timing.clone(),
        })
    }

    async fn tell_changes(&mut self, batch: ::watch::Batch) -> Result<(), Failure> {
        let (worktree, profile) = (self.actor.start.worktree.clone(), self.actor.start.profile.clone());
        let all: Vec<PathBuf> = batch.changes.iter().map(|change| worktree.join(&change.path)).collect();
        let is_of_family =
            |path: &&PathBuf| Language::by_name(path).is_some_and(|one| language_family(one) == profile.family);
        let is_copied = |path: &PathBuf| profile.copies.iter().any(|name| *path == self.actor.start.root.join(name));
        self.is_outdated |= all.iter().any(is_copied);
        if !profile.included.is_empty() {
            self.is_outdated |= self.changed.add(all.iter().filter(is_of_family).cloned());
        }
        let files = batch.changes.iter().zip(&all).filter(|(change, _)| change.file == ::watch::FileKind::File);
        let files: Vec<(&::watch::Change, &PathBuf)> = files.collect();
        let of_family: Vec<PathBuf> = files.iter().map(|(_, path)| *path).filter(is_of_family).cloned().collect();
        if profile.keeps_by_time {
            let files = of_family.clone();
            let files = tokio::task::spawn_blocking(move || back_dated(files)).await.unwrap_or_default();
            self.is_outdated |= self.changed.add(files.into_iter());
        }
        // If the server is stopping, further work would only delay its successor.
        if self.is_outdated || files.is_empty() {
            return Ok(());
        }
        let one = |(change, path): &(&::watch::Change, &PathBuf)| {
            let kind = match change.kind {
                ::watch::ChangeKind::Created => 1,
                ::watch::ChangeKind::Modified => 2,
                ::watch::ChangeKind::Removed => 3,
            };
            json!({"uri": of_path(path), "type": kind})
        };
        if files.iter().any(|(change, _)| profile.may_read(&change.path)) {
            self.settled = Certainty::new(false);
        }
        let changes: Vec<Value> = files.iter().map(one).collect();
        self.send_notification("workspace/didChangeWatchedFiles", json!({"changes": changes})).await?;
        let unopened: Vec<PathBuf> = of_family.into_iter().filter(|path| !self.documents.has(path)).collect();
        let mut told = tokio::task::spawn_blocking(move || read_again(unopened)).await.unwrap_or_default();
        if batch.changes.iter().any(|change| profile.is_included(&change.path)) {
            told.extend(self.documents.close_all());
        }
        for (method, params) in told {
            self.send_notification(method, params).await?;
        }
        Ok(())
    }

    /// True if the server has neither answered nor used the processor for too long.
    async fn is_hung(&mut self) -> bool {
        let now = Instant::now();
        let Some(since) = self.client.silent_since() else {
            self.quiet_since = now;
            return false;
        };
        if now.duration_since(since.max(self.quiet_since)) < self.actor.start.timing.hung_after {
            return false;
        }
        // It is computing, so it is only slow. It is checked again after the same time.
        let is_computing = self.prober.is_computing().await;
        if is_computing {
            self.quiet_since = now;
        }
        !is_computing && self.group.exit().borrow().is_none()
    }

    /// Determines how a silent server ended. A program closes its output slightly before its exit status is available.
    async fn ended(&self, exit: &mut watch::Receiver<Option<process::Exit>>, otherwise: String) -> State {
        let ended = tokio::time::timeout(MOMENT, exit.wait_for(Option::is_some)).await;
        let ended = ended.ok().and_then(|ended| ended.ok().and_then(|exit| *exit));
        // A server killed by a signal may have run out of memory, and may live longer next time.
        if self.is_up || ended.is_some_and(|exit| exit.code.is_none()) {
            let exit = ended.map_or(otherwise, |exit| exit.to_string());
            return State::Crashed { exit, stderr: Vec::new(), retry_in: None };
        }
        let stderr = if ended.is_none() { vec![otherwise] } else { Vec::new() };
        State::CannotStart { exit: ended.map(|exit| exit.to_string()), stderr }
    }
}
