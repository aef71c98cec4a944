//! Calls that become jobs, and the methods of the tasks extension, by which its clients poll the same jobs.

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::announcements::subscription_params;
use super::calls::{Call, Key, State, Target};
use super::connection_state::ConnectionState;
use super::jobs::{Job, Status, timestamp};
use super::methods::Request;
use super::suspended_calls::AbortOnDrop;
use crate::era::params::{self, invalid};
use crate::era::{Era, ResultForm};
use crate::tool::{Declaration, Outcome};
use crate::wire::build::{self, RpcError};
use crate::wire::code;

/// The polling interval that clients are advised, in milliseconds.
const POLL_MS: u32 = 1000;

impl ConnectionState {
    /// Notes the time at which a call that has just started becomes a job.
    pub(super) fn schedule_job(&mut self, call: &mut Call) {
        let Target::Tool(tool) = &call.target else { return };
        let Some(after) = tool.declaration().job_after.filter(|_| self.shared.jobs_are_on() && call.id.is_some())
        else {
            return;
        };
        // An impatient client must learn of the job before it gives up.
        let after = call.budget.map_or(after, |budget| after.min(budget * 3 / 4));
        let began = Instant::now();
        let at = began + after;
        call.job_at = Some((began, at));
        self.job_at = Some(self.job_at.map_or(at, |earlier| earlier.min(at)));
    }

    /// Refuses a call whose result can only come as a task, if its client does not know tasks.
    pub(super) fn allow_task(&self, request: &Request<'_>, tool: &Declaration) -> Result<(), RpcError> {
        if tool.tasks_only && request.era.is_modern() && self.shared.jobs_are_on() && !request.meta.tasks() {
            Err(tasks_capability_missing())
        } else {
            Ok(())
        }
    }

    /// Turns the calls that are due into jobs.
    pub(super) fn make_jobs(&mut self, now: Instant) {
        self.job_at = None;
        let mut due = Vec::new();
        for (key, call) in self.calls.iter_mut() {
            match call.job_at {
                Some((_, at)) if at <= now => due.push(key),
                Some((_, at)) => self.job_at = Some(self.job_at.map_or(at, |earlier| earlier.min(at))),
                None => {}
            }
        }
        due.sort_unstable_by_key(|key| key.0);
        due.into_iter().for_each(|key| self.make_job(key));
    }

    fn make_job(&mut self, key: Key) {
        // Its earlier output comes first, and it may be done.
        self.take_inbound();
        let Some(call) = self.calls.get_mut(key) else { return };
        let Some((began, _)) = call.job_at.take() else { return };
        let (State::Running(Some(task)), Some(_)) = (&call.state, &call.id) else { return };
        let cancel = call.cancel.clone();
        let task_of = call.tasks.filter(|_| call.era.is_modern());
        let running = AbortOnDrop::new(cancel, task.clone());
        let job = match self.shared.jobs.add(call.target.name(), self.principal.clone(), task_of, began, running) {
            Ok(job) => job,
            Err(running) => {
                // The limit of jobs is reached: the call stays a call.
                running.disarm();
                return;
            }
        };
        call.peer.become_job(job.clone());
        // If the call finished at this moment, its result is the answer and the job is dropped.
        self.take_inbound();
        let Some(call) = self.calls.remove(key) else {
            if let Some(job) = self.shared.jobs.remove(&job.id) {
                job.cancel();
            }
            return;
        };
        self.progress.remove(&key);
        call.peer.end();
        let Some(id) = &call.id else { return };
        let (era, form) = (call.era, call.form);
        if job.task.is_some() {
            let members = task_members(&job);
            self.deliver(&call, |out, shared| {
                build::result_with(out, id, |out| shared.results.object(out, era, "task", &members));
            });
        } else {
            let outcome = running_outcome(&job, &call.target);
            self.deliver(&call, |out, shared| {
                build::result_with(out, id, |out| shared.results.outcome(out, era, form, &outcome));
            });
        }
    }

    /// Serves a method of the tasks extension; false if this is not one.
    pub(super) fn serve_task(&mut self, request: &Request<'_>, method: &str) -> Result<bool, RpcError> {
        let is_one = matches!(method, "tasks/get" | "tasks/update" | "tasks/cancel");
        if !is_one || !request.era.is_modern() || !self.shared.jobs_are_on() {
            return Ok(false);
        }
        if !request.meta.tasks() {
            return Err(tasks_capability_missing());
        }
        let task_id = params::string(request.params.task_id, "taskId")?;
        let job = self.shared.jobs.get(&task_id, &self.principal).filter(|job| job.task.is_some());
        let job = job.ok_or_else(|| invalid(format!("unknown or expired task {task_id:?}")))?;
        let (id, era) = (request.id, request.era);
        match method {
            "tasks/get" => {
                let members = self.detailed(&job, era, request.form);
                self.emit(request.batch, |out, shared| {
                    build::result_with(out, id, |out| shared.results.object(out, era, "complete", &members));
                });
                return Ok(true);
            }
            "tasks/update" => {
                let responses = request.params.input_responses.map(|raw| serde_json::from_str(raw.get()));
                let Some(Ok(responses)) = responses else {
                    return Err(invalid("params: `inputResponses` must be an object of answers by name"));
                };
                job.answer(responses);
            }
            _ => job.cancel(),
        }
        self.emit(request.batch, |out, shared| build::result_with(out, id, |out| shared.results.empty(out, era)));
        Ok(true)
    }

    /// Subscribes to those of these tasks that the client may see, and returns them.
    pub(super) fn watch_tasks(&self, request: &Request<'_>, ids: Vec<String>) -> Result<Vec<String>, RpcError> {
        if !self.shared.jobs_are_on() || ids.is_empty() {
            return Ok(Vec::new());
        }
        if !request.meta.tasks() {
            return Err(tasks_capability_missing());
        }
        let mut watched = Vec::new();
        for id in ids.into_iter().take(self.limits.watched) {
            let job = self.shared.jobs.get(&id, &self.principal).filter(|job| job.task.is_some());
            if let Some(job) = job {
                job.watch(&self.side_channel);
                watched.push(id);
            }
        }
        Ok(watched)
    }

    /// Announces the state of a task on the subscriptions that name it.
    pub(super) fn announce_task(&mut self, id: &str) {
        let Some(job) = self.shared.jobs.get(id, &self.principal) else { return };
        let wanting = self.subscriptions.iter().filter(|subscription| subscription.tasks.iter().any(|task| task == id));
        let ids: Vec<_> = wanting.map(|subscription| subscription.id.clone()).collect();
        for subscription in ids {
            let params = subscription_params(&subscription, self.detailed(&job, Era::V2026_07_28, self.form));
            build::notification(self.out.bytes(), "notifications/tasks", Some(&params));
        }
    }

    /// Returns a task with its result, error or questions.
    fn detailed(&self, job: &Job, era: Era, form: ResultForm) -> Map<String, Value> {
        let mut members = task_members(job);
        match job.status() {
            Status::Done(outcome) => {
                let mut out = Vec::new();
                self.shared.results.outcome(&mut out, era, form, &outcome);
                members.insert("result".to_owned(), serde_json::from_slice(&out).unwrap_or_default());
            }
            Status::Failed(error) => {
                let data = error.data.as_ref().and_then(|data| serde_json::from_str::<Value>(data.get()).ok());
                let mut failure = json!({"code": error.code, "message": error.message});
                if let Some(data) = data {
                    failure["data"] = data;
                }
                members.insert("error".to_owned(), failure);
            }
            Status::Asking(questions) => {
                members.insert("inputRequests".to_owned(), questions.into());
            }
            Status::Working(_) | Status::Cancelled => {}
        }
        members
    }
}

fn task_members(job: &Job) -> Map<String, Value> {
    let (updated, kept) = job.times();
    let (status, message) = match job.status() {
        Status::Working(progress) => ("working", progress.and_then(|progress| progress.message)),
        Status::Asking(_) => ("input_required", None),
        Status::Done(_) => ("completed", None),
        Status::Failed(error) => ("failed", Some(error.message)),
        Status::Cancelled => ("cancelled", None),
    };
    let mut members = Map::new();
    members.insert("taskId".to_owned(), job.id.clone().into());
    members.insert("status".to_owned(), status.into());
    if let Some(message) = message {
        members.insert("statusMessage".to_owned(), message.into());
    }
    members.insert("createdAt".to_owned(), timestamp(job.created).into());
    members.insert("lastUpdatedAt".to_owned(), timestamp(updated).into());
    let kept = kept.and_then(|kept| u64::try_from(kept.as_millis()).ok());
    members.insert("ttlMs".to_owned(), kept.map_or(Value::Null, Value::from));
    members.insert("pollIntervalMs".to_owned(), POLL_MS.into());
    members
}

/// Returns the result that tells a client without tasks that its call is a job.
fn running_outcome(job: &Job, target: &Target) -> Outcome {
    let text = format!(
        "{} is still running, now as job {}. Continue with other work, or call job_wait {{\"id\":\"{}\"}} for its \
         result, job_cancel to end it.",
        job.tool, job.id, job.id
    );
    let declares_output = matches!(target, Target::Tool(tool) if tool.declaration().output_schema.is_some());
    let structured = json!({"state": "running", "job": {"id": job.id}});
    let structured = serde_json::value::to_raw_value(&structured).ok().filter(|_| declares_output);
    Outcome { structured, ..Outcome::text(text) }
}

/// Returns the error for a client that does not declare tasks.
fn tasks_capability_missing() -> RpcError {
    let extensions = json!({"io.modelcontextprotocol/tasks": {}});
    RpcError::new(code::MISSING_CLIENT_CAPABILITY, "the request needs a client capability that was not declared")
        .with_data(&json!({"requiredCapabilities": {"extensions": extensions}}))
}
