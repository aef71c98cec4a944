//! Calls that take longer than their client would wait: each continues as a job under an id, independent of any
//! connection, until its result is fetched. For clients with the extension `io.modelcontextprotocol/tasks` a job is a
//! task (`tasks.rs`); others reach it by the tools of `job_tools.rs`.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde_json::{Map, Value};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::answers::failed_outcome;
use super::calls::Reply;
use super::side_channel::{PendingAsk, SideChannel};
use super::suspended_calls::{AbortOnDrop, random_name};
use super::{fault, fault_id};
use crate::era::Era;
use crate::era::ask::{self, ClientCapabilities};
use crate::tool::{Answers, Ask, AskError, Outcome, Progress};
use crate::wire::build::RpcError;
use crate::wire::code;

/// The limit of jobs, ended ones included; beyond it a call stays a call.
const MAX_JOBS: usize = 256;

/// The time for which a result is kept.
const RESULT_TTL: Duration = Duration::from_secs(60 * 60);

/// The time for which a cancelled job may continue before it is aborted.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(super) struct Jobs(Mutex<HashMap<String, Arc<Job>>>);

pub(super) struct Job {
    pub id: String,
    pub tool: String,
    /// The principal that owns the job.
    pub principal: Arc<str>,
    /// The kinds of questions that the client supports, if the job was given to it as a task.
    pub task: Option<ClientCapabilities>,
    /// The start of its call.
    pub began: Instant,
    /// The time at which it became a job, by the wall clock and the monotonic one.
    pub created: SystemTime,
    born: Instant,
    state: Mutex<Inner>,
    changed: watch::Sender<u64>,
    /// Connections to notify when its stage changes.
    watchers: Mutex<Vec<Weak<SideChannel>>>,
}

struct Inner {
    stage: Stage,
    updated: SystemTime,
    progress: Option<Progress>,
    running: Option<AbortOnDrop>,
    /// Questions asked so far: names on the wire are never reused.
    questions: u64,
}

enum Stage {
    Working,
    Asking(OpenQuestions),
    Done(Arc<Outcome>, Instant),
    Failed(RpcError, Instant),
    Cancelled(Instant),
}

struct OpenQuestions {
    /// By the name on the wire: the name that the call gave, and the question.
    asks: HashMap<String, (String, Ask)>,
    given: Answers,
    answer: oneshot::Sender<Result<Answers, AskError>>,
}

/// The state of a job, for clients.
pub(super) enum Status {
    Working(Option<Progress>),
    /// Questions by their name on the wire.
    Asking(Map<String, Value>),
    Done(Arc<Outcome>),
    Failed(RpcError),
    Cancelled,
}

impl Jobs {
    /// Adds a job; gives `running` back if there are too many.
    pub(super) fn add(
        &self,
        tool: &str,
        principal: Arc<str>,
        task: Option<ClientCapabilities>,
        began: Instant,
        running: AbortOnDrop,
    ) -> Result<Arc<Job>, AbortOnDrop> {
        let now = Instant::now();
        let mut jobs = self.lock();
        jobs.retain(|_, job| job.ended().is_none_or(|ended| ended + RESULT_TTL > now));
        if jobs.len() >= MAX_JOBS {
            return Err(running);
        }
        let created = SystemTime::now();
        let inner =
            Inner { stage: Stage::Working, updated: created, progress: None, running: Some(running), questions: 0 };
        let job = Arc::new(Job {
            id: random_name(),
            tool: tool.to_owned(),
            principal,
            task,
            began,
            created,
            born: now,
            state: Mutex::new(inner),
            changed: watch::channel(0).0,
            watchers: Mutex::default(),
        });
        jobs.insert(job.id.clone(), job.clone());
        Ok(job)
    }

    /// Returns the job with this id, if it belongs to this principal.
    pub(super) fn get(&self, id: &str, principal: &str) -> Option<Arc<Job>> {
        self.lock().get(id).filter(|job| &*job.principal == principal).cloned()
    }

    pub(super) fn remove(&self, id: &str) -> Option<Arc<Job>> {
        self.lock().remove(id)
    }

    /// Ends all jobs.
    pub(super) fn clear(&self) {
        let jobs = std::mem::take(&mut *self.lock());
        for job in jobs.values() {
            drop(job.end(Stage::Cancelled(Instant::now())));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Job>>> {
        self.0.lock()
    }
}

impl Job {
    pub(super) fn status(&self) -> Status {
        let inner = self.lock();
        match &inner.stage {
            Stage::Asking(open) if !open.answer.is_closed() => {
                let question = |(name, (_, ask)): (&String, &(String, Ask))| {
                    let (method, params) = ask::request(Era::V2026_07_28, ask, name);
                    (name.clone(), serde_json::json!({"method": method, "params": params}))
                };
                let mut questions: Vec<(String, Value)> = open.asks.iter().map(question).collect();
                questions.sort_by(|one, other| one.0.cmp(&other.0));
                Status::Asking(questions.into_iter().collect())
            }
            // An asking job whose call dropped the question is running again.
            Stage::Working | Stage::Asking(_) => Status::Working(inner.progress.clone()),
            Stage::Done(outcome, _) => Status::Done(outcome.clone()),
            Stage::Failed(error, _) => Status::Failed(error.clone()),
            Stage::Cancelled(_) => Status::Cancelled,
        }
    }

    /// Returns the time of the last change, and how long after its creation the job is kept, if known.
    pub(super) fn times(&self) -> (SystemTime, Option<Duration>) {
        let updated = self.lock().updated;
        (updated, self.ended().map(|ended| ended.duration_since(self.born) + RESULT_TTL))
    }

    /// Returns a receiver that wakes on each change.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(super) fn is_over(&self) -> bool {
        self.ended().is_some()
    }

    fn ended(&self) -> Option<Instant> {
        match self.lock().stage {
            Stage::Done(_, ended) | Stage::Failed(_, ended) | Stage::Cancelled(ended) => Some(ended),
            Stage::Working | Stage::Asking(_) => None,
        }
    }

    pub(super) fn progress(&self, progress: Progress) {
        self.change(|inner| inner.progress = Some(progress));
    }

    pub(super) fn finish(&self, reply: Reply) {
        let now = Instant::now();
        let stage = match reply {
            Reply::Tool(Ok(outcome)) => Stage::Done(Arc::new(outcome), now),
            Reply::Tool(Err(error)) => Stage::Done(Arc::new(failed_outcome(&self.tool, &error)), now),
            Reply::Panicked(panicked) => {
                let fault = fault_id();
                fault::panicked(&self.tool, "a job", &fault, &panicked.0);
                let message = format!("internal error in {} (fault {fault}): see the server's log", self.tool);
                let data = serde_json::json!({"reason": "panic", "fault": fault});
                Stage::Failed(RpcError::new(code::INTERNAL, message).with_data(&data), now)
            }
            // Only tools become jobs.
            _ => Stage::Failed(RpcError::new(code::INTERNAL, "no result of a tool"), now),
        };
        self.end(stage);
    }

    /// Ends the job. Its call is notified, and may clean up for a while; its result no longer counts.
    pub(super) fn cancel(&self) {
        if let Some((cancel, task)) = self.end(Stage::Cancelled(Instant::now())).and_then(AbortOnDrop::disarm) {
            cancel.cancel();
            tokio::spawn(async move {
                tokio::time::sleep(CANCEL_GRACE).await;
                task.abort();
                drop(cancel);
            });
        }
    }

    /// Enters a final stage, unless the job is over; returns the call if it must be ended.
    fn end(&self, stage: Stage) -> Option<AbortOnDrop> {
        let mut stage = Some(stage);
        let mut running = None;
        let mut former = None;
        if self.ended().is_none() {
            self.change(|inner| {
                if matches!(inner.stage, Stage::Working | Stage::Asking(_)) {
                    former = stage.take().map(|stage| std::mem::replace(&mut inner.stage, stage));
                    running = inner.running.take();
                }
            });
        }
        if former.is_some() {
            self.notify_watchers();
        }
        // Foreign values are dropped outside of the lock.
        drop(former);
        match running {
            Some(running) if matches!(self.lock().stage, Stage::Cancelled(_)) => Some(running),
            // The call is done: nothing to abort.
            Some(running) => {
                running.disarm();
                None
            }
            None => None,
        }
    }

    /// Returns true if the client can be asked this. Only a task has a way to answer.
    pub(super) fn can_ask(&self, ask: &Ask) -> bool {
        self.task.is_some_and(|can| can.cover(Era::V2026_07_28, ask))
    }

    /// Asks questions.
    pub(super) fn ask(&self, asking: PendingAsk) {
        let PendingAsk { asks, answer, .. } = asking;
        if !asks.iter().all(|(_, ask)| self.can_ask(ask)) {
            let _ = answer.send(Err(AskError::Unsupported));
            return;
        }
        let mut refused = None;
        self.change(|inner| match &inner.stage {
            Stage::Asking(open) if !open.answer.is_closed() => refused = Some((answer, AskError::Busy)),
            Stage::Working | Stage::Asking(_) => {
                let named = asks.into_iter().map(|(name, ask)| {
                    inner.questions += 1;
                    (format!("{name}-{}", inner.questions), (name, ask))
                });
                inner.stage = Stage::Asking(OpenQuestions { asks: named.collect(), given: Answers::new(), answer });
            }
            _ => refused = Some((answer, AskError::Unanswered)),
        });
        match refused {
            Some((answer, error)) => drop(answer.send(Err(error))),
            None => self.notify_watchers(),
        }
    }

    /// Takes answers. Answers that were not asked for, or do not fit, are ignored.
    pub(super) fn answer(&self, responses: Map<String, Value>) {
        let mut done = None;
        self.change(|inner| {
            let Stage::Asking(open) = &mut inner.stage else { return };
            for (name, response) in responses {
                if let Some((_, ask)) = open.asks.get(&name)
                    && let Ok(said) = ask.parse_response(response)
                    && let Some((name, _)) = open.asks.remove(&name)
                {
                    open.given.insert(name, said);
                }
            }
            if open.asks.is_empty() {
                done = Some(std::mem::replace(&mut inner.stage, Stage::Working));
            }
        });
        if let Some(Stage::Asking(open)) = done {
            self.notify_watchers();
            let _ = open.answer.send(Ok(open.given));
        }
    }

    /// Notifies this connection when the stage changes.
    pub(super) fn watch(&self, side_channel: &Arc<SideChannel>) {
        let watcher = Arc::downgrade(side_channel);
        let mut watchers = self.watchers.lock();
        watchers.retain(|known| known.strong_count() > 0 && !known.ptr_eq(&watcher));
        watchers.push(watcher);
    }

    fn notify_watchers(&self) {
        let watchers = self.watchers.lock().clone();
        watchers.iter().filter_map(Weak::upgrade).for_each(|side_channel| side_channel.task_changed(&self.id));
    }

    fn change(&self, change: impl FnOnce(&mut Inner)) {
        let mut inner = self.lock();
        change(&mut inner);
        inner.updated = SystemTime::now();
        drop(inner);
        self.changed.send_modify(|changes| *changes += 1);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.state.lock()
    }
}

/// Returns a time as ISO 8601, in UTC and whole seconds.
pub(super) fn timestamp(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn times_are_written_as_the_standard_says() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_785_196_800, "2026-07-28T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(timestamp(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
