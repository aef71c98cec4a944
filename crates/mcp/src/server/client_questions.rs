//! Questions of calls to the client, and their answers. There are three ways: a request by the server, if the client
//! declared support in the handshake; a result that asks for another request (2026-07-28); and otherwise a plain result
//! that tells how to answer by the argument `resume`. The last two suspend the call (`suspended_calls.rs`), which another
//! request resumes (`resumption.rs`).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::announcements::json_text;
use super::calls::{AskContext, Key, State, Target};
use super::connection_state::ConnectionState;
use super::fault_id;
use super::methods::Request;
use super::peer::Route;
use super::resumption::{responses, split_answered};
use super::side_channel::PendingAsk;
use super::suspended_calls::{self, AbortOnDrop, ResumeBy, SuspendedCall};
use crate::era::ask::{self, ClientCapabilities};
use crate::era::{Era, ResultForm};
use crate::tool::{ANSWER_TIMEOUT, Answers, Ask, AskError, Asks, NamedAsk, Outcome, Resumed};
use crate::wire::build::{self, RpcError};
use crate::wire::{Id, Json};

/// Questions that the client received as requests.
#[derive(Default)]
pub(super) struct OpenQuestions {
    requests: HashMap<Id, (Key, String)>,
    open: HashMap<Key, OpenAsk>,
    /// The random prefix of their ids: a late answer to an earlier connection must not answer a question here.
    prefix: String,
    last: u64,
}

struct OpenAsk {
    asks: BTreeMap<String, Ask>,
    given: Answers,
    answer: oneshot::Sender<Result<Answers, AskError>>,
}

/// The parameters of `notifications/cancelled`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Cancelled<'a> {
    request_id: &'a RawValue,
    reason: &'static str,
}

#[cfg(feature = "http")]
impl OpenQuestions {
    /// Sets the prefix of question ids, which then begin with `ask-PREFIX-`.
    pub(super) fn set_prefix(&mut self, prefix: String) {
        self.prefix = prefix;
    }
}

impl ConnectionState {
    /// Returns the context for questions of a request's call.
    pub(super) fn ask_context(
        &self,
        request: &Request<'_>,
        method: &str,
        resumed: Option<Arc<Resumed>>,
    ) -> Result<Box<AskContext>, RpcError> {
        let modern = request.era.is_modern();
        let can = if modern { request.meta.client_capabilities() } else { self.can };
        let early_answers = if modern && resumed.is_none() { responses(request)? } else { Map::new() };
        let early_answer_bytes = request.params.input_responses.filter(|_| modern).map_or(0, |raw| raw.get().len());
        let digest = suspended_calls::digest(method, request.params);
        Ok(Box::new(AskContext { digest, can, missing: None, resumed, early_answers, early_answer_bytes }))
    }

    /// Sends a call's questions to the client, in the way that the client supports.
    pub(super) fn ask_client(&mut self, key: Key, asking: PendingAsk) {
        let PendingAsk { asks, named, answer } = asking;
        if answer.is_closed() {
            return;
        }
        if self.questions.open.get(&key).is_some_and(|open| !open.answer.is_closed()) {
            let _ = answer.send(Err(AskError::Busy));
            return;
        }
        // The call has dropped its earlier questions.
        self.withdraw_questions(key);
        self.resume_with_timeout(key);
        let Some(call) = self.calls.get_mut(key) else { return };
        if let Some(job) = call.peer.job() {
            return job.ask(PendingAsk { asks, named, answer });
        }
        let (State::Running(Some(_)), Some(_), Some(ask_context)) = (&call.state, &call.id, &mut call.ask_context)
        else {
            let is_undeclared = matches!(&call.target, Target::Tool(tool) if tool.declaration().asks == Asks::Never);
            let _ = answer.send(Err(if is_undeclared { AskError::Undeclared } else { AskError::Unsupported }));
            return;
        };
        let (era, can) = (call.era, ask_context.can);
        let by_argument = matches!(&call.target, Target::Tool(tool) if tool.declaration().asks == Asks::Person);
        let for_a_person = |ask: &Ask| matches!(ask, Ask::Form { .. } | Ask::Url { .. });
        if asks.iter().all(|(_, ask)| can.cover(era, ask)) {
            if !era.is_modern() {
                return self.send_requests(key, asks, answer);
            }
            let (given, asks) = split_answered(&mut ask_context.early_answers, asks);
            if asks.is_empty() {
                drop(answer.send(Ok(given)))
            } else {
                self.suspend(key, PendingAsk { asks, named, answer }, given, ResumeBy::Ticket)
            }
        } else if by_argument && asks.iter().all(|(_, ask)| for_a_person(ask)) {
            self.suspend(key, PendingAsk { asks, named, answer }, Answers::new(), ResumeBy::Argument);
        } else {
            let missing = asks.iter().map(|(_, ask)| ask).filter(|ask| !can.cover(era, ask));
            ask_context.missing = Some(ClientCapabilities::required(missing));
            let _ = answer.send(Err(AskError::Unsupported));
        }
    }

    /// Asks the client by requests.
    fn send_requests(
        &mut self,
        key: Key,
        asks: Vec<(String, Ask)>,
        answer: oneshot::Sender<Result<Answers, AskError>>,
    ) {
        let Some(era) = self.calls.get_mut(key).map(|call| call.era) else { return };
        if self.questions.prefix.is_empty() {
            self.questions.prefix = fault_id() + &fault_id();
        }
        for (name, ask) in &asks {
            self.questions.last += 1;
            let id = format!("ask-{}-{}", self.questions.prefix, self.questions.last);
            let (method, params) = ask::request(era, ask, &id);
            let Some(id) = Id::from_json(&format!("\"{id}\"")) else { continue };
            build::request(self.out.bytes(), &id, method, Some(&params.to_string()));
            self.questions.requests.insert(id, (key, name.clone()));
        }
        self.calls.pause(key);
        let open = OpenAsk { asks: asks.into_iter().collect(), given: Answers::new(), answer };
        self.questions.open.insert(key, open);
    }

    /// Takes the client's answer to a request; false if there was no such request.
    pub(super) fn answered(&mut self, id: &Id, outcome: Result<Json<'_>, Json<'_>>) -> bool {
        let Some((key, name)) = self.questions.requests.remove(id) else { return false };
        let Some(open) = self.questions.open.get_mut(&key) else { return true };
        let parsed = |raw: Json<'_>| raw.read::<Value>().unwrap_or_default();
        let said = match (outcome, open.asks.get(&name)) {
            (Ok(result), Some(ask)) => ask.parse_response(parsed(result)),
            (Err(error), _) => Err(parsed(error)["message"].as_str().unwrap_or("an error").to_owned()),
            (_, None) => return true,
        };
        let result = match said {
            Ok(said) => {
                open.given.insert(name, said);
                if open.given.len() < open.asks.len() {
                    return true;
                }
                Ok(std::mem::take(&mut open.given))
            }
            Err(reason) => Err(AskError::Refused(reason)),
        };
        if let Some(open) = self.withdraw_questions(key) {
            self.resume_with_timeout(key);
            let _ = open.answer.send(result);
        }
        true
    }

    /// Cancels the open questions of a call.
    fn withdraw_questions(&mut self, key: Key) -> Option<OpenAsk> {
        let open = self.questions.open.remove(&key)?;
        let out = self.out.bytes();
        self.questions.requests.retain(|id, (call, _)| {
            if *call == key {
                let id = serde_json::from_str(id.as_json()).unwrap_or(RawValue::NULL);
                let params = json_text(&Cancelled { request_id: id, reason: "no longer needed" });
                build::notification(out, "notifications/cancelled", Some(&params));
            }
            *call != key
        });
        Some(open)
    }

    /// Drops the questions of a call that is over or cancelled.
    pub(super) fn drop_questions(&mut self, key: Key) {
        if !self.questions.open.is_empty() {
            self.withdraw_questions(key);
        }
    }

    /// Fails all open questions, because the input has ended.
    pub(super) fn fail_questions(&mut self) {
        self.questions.requests.clear();
        for (key, open) in std::mem::take(&mut self.questions.open) {
            self.resume_with_timeout(key);
            let _ = open.answer.send(Err(AskError::Unanswered));
        }
    }

    /// Answers a call's request with its questions and suspends the call until their answers come.
    fn suspend(&mut self, key: Key, asking: PendingAsk, given: Answers, resume_by: ResumeBy) {
        let PendingAsk { asks, named, answer } = asking;
        if self.shared.suspended.is_full() {
            let _ = answer.send(Err(AskError::Full));
            return;
        }
        let Some(call) = self.calls.get_mut(key) else { return };
        call.peer.suspend();
        if answer.is_closed() {
            // The call has continued meanwhile and may be finished: it is a running call again.
            let (peer, log, wants_progress) = (call.peer.clone(), call.peer.log(), call.reported.is_some());
            let can = call.ask_context.as_ref().map(|ask_context| (call.era, ask_context.can));
            if let Some(reply) = peer.reroute(Route { can, ..self.route(key, wants_progress, log) }) {
                peer.finish(reply);
            }
            return;
        }
        self.report_progress();
        self.progress.remove(&key);
        let Some(call) = self.calls.remove(key) else { return };
        let (State::Running(Some(task)), Some(id), Some(ask_context)) = (&call.state, &call.id, &call.ask_context)
        else {
            return;
        };
        let cancel = call.cancel.clone();
        let suspended = SuspendedCall {
            target: call.target.clone(),
            peer: call.peer.clone(),
            running: AbortOnDrop::new(cancel, task.clone()),
            principal: self.principal.clone(),
            digest: ask_context.digest,
            asks,
            named,
            given,
            answer,
            resume_by,
            until: Instant::now(),
        };
        let line = self.suspend_with_question(id, (call.era, call.form), suspended, None);
        self.deliver(&call, |out, _| out.extend_from_slice(&line));
    }

    /// Suspends a call and returns the answer to its request: the open questions.
    pub(super) fn suspend_with_question(
        &self,
        id: &Id,
        (era, form): (Era, ResultForm),
        suspended: SuspendedCall,
        problem: Option<&str>,
    ) -> Vec<u8> {
        let mut line = Vec::new();
        let results = &self.shared.results;
        let (target, resume_by, digest) = (suspended.target.clone(), suspended.resume_by, suspended.digest);
        let (asks, effects, named) = (suspended.asks.clone(), suspended.peer.effects(), suspended.named.clone());
        match self.shared.suspended.suspend(suspended) {
            Ok(name) if resume_by == ResumeBy::Ticket => {
                let requests: Map<String, Value> = asks
                    .iter()
                    .map(|(name, ask)| {
                        let (method, params) = ask::request(era, ask, name);
                        (name.clone(), json!({"method": method, "params": params}))
                    })
                    .collect();
                let state = {
                    let named = named.as_ref().map(|named| named.name.as_str());
                    self.shared.suspended.seal(&name, &self.principal, &digest, &effects, named)
                };
                build::result_with(&mut line, id, |out| results.input_required(out, era, &requests, &state));
            }
            Ok(name) => {
                let outcome = plain_question(&target, &name, &asks, named.as_ref(), problem);
                build::result_with(&mut line, id, |out| results.outcome(out, era, form, &outcome));
            }
            Err(suspended) => {
                drop(suspended);
                let error = RpcError::new(crate::wire::code::INTERNAL, AskError::Full.to_string())
                    .with_data(&json!({"reason": "overloaded"}));
                build::error(&mut line, Some(id), &error);
            }
        }
        line
    }
}

/// Returns a question as a tool's result that says how to answer it.
fn plain_question(
    target: &Target,
    id: &str,
    asks: &[(String, Ask)],
    named: Option<&NamedAsk>,
    problem: Option<&str>,
) -> Outcome {
    let name = target.name();
    let mut text = problem.map_or_else(String::new, |problem| format!("Invalid answer: {problem}.\n"));
    let mut questions = Map::new();
    let mut answers = Map::new();
    for (key, ask) in asks {
        let (question, said) = match ask {
            Ask::Form { message, schema } => {
                text.push_str(&format!("Question for the person: {message}\n"));
                let fields = schema["properties"].as_object().into_iter().flatten();
                let fields = fields.map(|(field, schema)| (field.clone(), schema["type"].clone())).collect();
                (json!({"message": message, "schema": schema}), Value::Object(fields))
            }
            Ask::Url { message, url } => {
                text.push_str(&format!("For the person: {message}\nThe page to visit: {url}\n"));
                (json!({"message": message, "url": url}), json!({}))
            }
            Ask::Sample(_) | Ask::Roots => continue,
        };
        questions.insert(key.clone(), question);
        answers.insert(key.clone(), said);
    }
    let answers = match asks.len() {
        1 => answers.into_iter().next().map_or(Value::Null, |(_, fields)| fields),
        _ => answers.into(),
    };
    let resume = json!({"id": id, "answers": answers});
    let within = named.map_or(ANSWER_TIMEOUT, |named| named.until.saturating_duration_since(Instant::now()));
    let within = match within.as_secs() {
        seconds @ 0..120 => format!("{seconds} seconds"),
        seconds => format!("{} minutes", seconds / 60),
    };
    text.push_str(&format!(
        "Nothing more is done until it is answered, within {within}. Ask the person, then call {name} again with the \
         same arguments and `resume`: {resume}; leave out `answers` for no."
    ));
    let declares_output = match target {
        Target::Tool(tool) => tool.declaration().output_schema.is_some(),
        _ => false,
    };
    let structured = json!({"state": "asking", "ask": {"id": id, "questions": questions}});
    let structured = serde_json::value::to_raw_value(&structured).ok().filter(|_| declares_output);
    Outcome { structured, ..Outcome::text(text) }
}
