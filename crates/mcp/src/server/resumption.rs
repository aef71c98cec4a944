//! Requests with answers: with a sealed ticket (2026-07-28), or by the argument `resume`. Each resumes the call that
//! asked (`client_questions.rs`), which waits among the suspended calls (`suspended_calls.rs`).

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::calls::{AskContext, State};
use super::connection_state::ConnectionState;
use super::methods::Request;
use super::peer::LogPolicy;
use super::suspended_calls::{self, ResumeBy, SuspendedCall};
use crate::era::params::{self, invalid};
use crate::tool::{Answers, AnyTool, Ask, AskResponse, Outcome, Resumed};
use crate::wire::Json;
use crate::wire::build::{self, RpcError};

/// The outcome of a request that may contain answers.
pub(super) enum Resumption {
    /// The request contains no answers, and is a new call.
    New,
    /// The request is served.
    Served,
    /// The request answers a named question whose call no longer waits, and is a new call with that answer.
    Anew(Arc<Resumed>),
}

impl ConnectionState {
    /// Serves a request that brings answers with a sealed ticket.
    pub(super) fn resume_sealed(&mut self, request: &Request<'_>, method: &str) -> Result<Resumption, RpcError> {
        let Some(state) = request.params.request_state.filter(|_| request.era.is_modern()) else {
            return Ok(Resumption::New);
        };
        let sealed = params::string(Some(state), "requestState")?;
        let mut responses = responses(request)?;
        request.meta.level()?;
        let digest = suspended_calls::digest(method, request.params);
        let ticket = self.shared.suspended.open(&sealed, &self.principal, &digest).ok_or_else(|| {
            invalid("invalid requestState for this call and caller: send the one that came with the question")
        })?;
        let name = ticket.name.as_str();
        let suspended = self.shared.suspended.take(name, ResumeBy::Ticket, |suspended| suspended.digest == digest);
        let Some(mut suspended) = suspended.filter(|_| !ticket.expired) else {
            if let Some(named) = ticket.named {
                return Ok(Resumption::Anew(Arc::new(Resumed::new(named, responses))));
            }
            return self.question_lost(request, method, &ticket.effects, "requestState").map(|()| Resumption::Served);
        };
        let (given, asks) = split_answered(&mut responses, std::mem::take(&mut suspended.asks));
        suspended.given.extend(given);
        // Questions without a fitting answer are asked again.
        suspended.asks = asks;
        if suspended.asks.is_empty() {
            self.resume_call(request, suspended)?
        } else {
            self.ask_again(request, suspended, None)
        }
        Ok(Resumption::Served)
    }

    /// Serves a call that brings answers in the argument `resume`; false if it has no such argument.
    pub(super) fn resume_by_argument(
        &mut self,
        request: &Request<'_>,
        tool: &Arc<dyn AnyTool>,
    ) -> Result<bool, RpcError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Resume {
            id: String,
            answers: Option<Map<String, Value>>,
        }
        let resume = request.params.arguments.and_then(|arguments| arguments.member("resume"));
        let Some(resume) = resume.filter(|resume| !resume.is_null()) else { return Ok(false) };
        let name = &tool.declaration().name;
        let Ok(resume) = serde_json::from_str::<Resume>(resume.get()) else {
            let text = format!("{name}: `resume` must be {{\"id\": \"…\", \"answers\": {{…}}}} as in the question");
            self.respond(request, &Outcome::error(text));
            return Ok(true);
        };
        request.meta.level()?;
        let principal = self.principal.clone();
        let allowed = |suspended: &SuspendedCall| suspended.principal == principal && suspended.target.name() == name;
        let Some(mut suspended) = self.shared.suspended.take(&resume.id, ResumeBy::Argument, allowed) else {
            return self.question_lost(request, "tools/call", "not known", "resume").map(|()| true);
        };
        let mut problem = None;
        let asks = std::mem::take(&mut suspended.asks);
        let single = asks.len() == 1 && suspended.given.is_empty();
        for (name, ask) in asks {
            let content = match &resume.answers {
                None => None,
                Some(answers) if single => Some(Value::Object(answers.clone())),
                Some(answers) => Some(answers.get(&name).cloned().unwrap_or_default()),
            };
            let said = match content {
                None => Ok(AskResponse::Declined),
                Some(content) => ask.parse_response(json!({"action": "accept", "content": content})),
            };
            match said {
                Ok(said) => {
                    suspended.given.insert(name, said);
                }
                Err(reason) => {
                    problem = Some(reason);
                    suspended.asks.push((name, ask));
                }
            }
        }
        if suspended.asks.is_empty() {
            self.resume_call(request, suspended)?
        } else {
            self.ask_again(request, suspended, problem.as_deref())
        }
        Ok(true)
    }

    fn ask_again(&mut self, request: &Request<'_>, suspended: SuspendedCall, problem: Option<&str>) {
        let line = self.suspend_with_question(request.id, (request.era, request.form), suspended, problem);
        self.emit(request.batch, |out, _| out.extend_from_slice(&line));
    }

    /// Resumes a suspended call, which belongs to this request from now on.
    fn resume_call(&mut self, request: &Request<'_>, suspended: SuspendedCall) -> Result<(), RpcError> {
        let SuspendedCall { target, peer, running, digest, given, answer, .. } = suspended;
        let (key, mut call) = self.new_call(request, target)?;
        let can = if request.era.is_modern() { request.meta.client_capabilities() } else { self.can };
        let log =
            if request.era.is_modern() { LogPolicy::Request(request.meta.level()?) } else { LogPolicy::Connection };
        let Some((cancel, task)) = running.disarm() else { return Ok(()) };
        call.cancel = cancel;
        call.state = State::Running(Some(task));
        let done = peer.reroute(self.route(key, call.reported.is_some(), log));
        call.peer = peer;
        call.may_ask(Box::new(AskContext {
            digest,
            can,
            missing: None,
            resumed: None,
            early_answers: Map::new(),
            early_answer_bytes: 0,
        }));
        match done {
            // It finished while it was suspended, after its question timed out for example.
            Some(reply) => self.answer(call, reply),
            None => {
                self.schedule_heartbeat(&call);
                self.schedule_job(&mut call);
                self.schedule_timeout(&mut call);
                self.calls.insert(key, call);
                let _ = answer.send(Ok(given));
            }
        }
        Ok(())
    }

    /// Refuses an answer to a question that does not exist (any more).
    fn question_lost(
        &mut self,
        request: &Request<'_>,
        method: &str,
        effects: &str,
        without: &str,
    ) -> Result<(), RpcError> {
        let text = format!(
            "the question was lost; effects so far: {effects}\nA question waits 15 minutes, is lost when the server \
             restarts, and takes one answer. Call again without `{without}` to get a new question."
        );
        if method == "tools/call" {
            self.respond(request, &Outcome::error(text))
        } else {
            return Err(invalid(text));
        }
        Ok(())
    }

    fn respond(&mut self, request: &Request<'_>, outcome: &Outcome) {
        let Request { id, era, form, .. } = *request;
        self.emit(request.batch, |out, shared| {
            build::result_with(out, id, |out| shared.results.outcome(out, era, form, outcome));
        });
    }
}

/// Returns the input responses of a request.
pub(super) fn responses(request: &Request<'_>) -> Result<Map<String, Value>, RpcError> {
    let read = |raw: Json<'_>| raw.read();
    let responses = request.params.input_responses.map_or_else(|| Ok(Map::new()), read);
    responses.map_err(|_| invalid("params: `inputResponses` must be an object of answers by name"))
}

/// Splits questions into those that the responses answer, and the others.
pub(super) fn split_answered(
    responses: &mut Map<String, Value>,
    asks: Vec<(String, Ask)>,
) -> (Answers, Vec<(String, Ask)>) {
    let (mut given, mut open) = (Answers::new(), Vec::new());
    for (name, ask) in asks {
        match responses.remove(&name).map(|response| ask.parse_response(response)) {
            Some(Ok(said)) => drop(given.insert(name, said)),
            Some(Err(_)) | None => open.push((name, ask)),
        }
    }
    (given, open)
}
