//! Serves the hooks of a daemon: the method `hook` decides on an event, asks other parts and persons, and handles the
//! delivery of the answer. `host` has the interfaces to the daemon; `agent` finds the agent of an event.

mod agent;
mod host;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mcp::tool::Context;
use mcp::wire::build::RpcError;
use mcp::wire::code::{INTERNAL, INVALID_PARAMS};
use project::{Caller, Project};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use self::agent::Agents;
pub use self::host::{
    AgentContext, AgentEvent, Connection, Host, HostFuture, PersonAnswering, PersonQuestion, PersonResult,
};
use crate::agents::{Agent, Verdict};
use crate::context::{Memory, Piece};
use crate::decision::{Added, Decided, Decider, IncomingEvent};
use crate::files::ActivePolicies;
use crate::journal::Raw;
use crate::person_questions::Asking;
use crate::settings::HooksSettings;

/// The maximum time until a line of the journal is on disk.
const SYNC_WITHIN: Duration = Duration::from_secs(1);

/// The maximum number of concurrent decisions, in all and on events of more bytes than `LARGE`.
const DECISIONS_MAX: usize = 16;
const LARGE_DECISIONS_MAX: usize = 2;
const LARGE: usize = 16 * 1024;

/// The hooks of a project.
pub struct Hooks {
    decider: Decider,
    agents: Agents,
    host: Arc<dyn Host>,
    /// The permits for concurrent decisions: on events of ordinary size, and on large ones.
    deciding: [Arc<Semaphore>; 2],
    /// True if a task waits to sync the journal to disk.
    is_syncing: AtomicBool,
}

impl Hooks {
    /// Creates the hooks. Files are opened on first use.
    pub fn new(project: &Project, settings: HooksSettings, host: Arc<dyn Host>) -> Arc<Hooks> {
        let agents = Agents::new(host.clone(), &settings);
        let source = host.clone();
        // Decisions run on a thread that may block.
        let fact = move |name: &str, worktree: &Path| Handle::try_current().ok()?.block_on(source.fact(name, worktree));
        let facts = move |names: &[&str], worktree: &Path| {
            names.iter().filter_map(|name| Some(((*name).to_owned(), fact(name, worktree)?))).collect()
        };
        let decider = Decider::new(project, settings, Box::new(facts));
        let deciding = [DECISIONS_MAX, LARGE_DECISIONS_MAX].map(|most| Arc::new(Semaphore::new(most)));
        Arc::new(Hooks { decider, agents, host, deciding, is_syncing: AtomicBool::new(false) })
    }

    /// Returns the rules in force.
    pub fn active(&self) -> Arc<ActivePolicies> {
        self.decider.active()
    }

    /// Flushes the journal to disk.
    pub async fn sync(self: Arc<Self>) {
        let synced = tokio::task::spawn_blocking(move || self.decider.sync()).await;
        if let Ok(Err(error)) = synced {
            tracing::error!(%error, "the journal of hooks is not on disk");
        }
    }
}

/// The parameters of an event from `hob hook`.
#[derive(Debug, Deserialize)]
struct Params {
    agent: String,
    event: String,
    /// The payload, if it is a line of JSON, unchanged.
    #[serde(default)]
    json: Option<Box<RawValue>>,
    /// The same, followed by a line end.
    #[serde(default)]
    json_line: Option<Box<RawValue>>,
    /// A payload of any other text.
    #[serde(default)]
    raw: String,
    /// A payload that is not UTF-8.
    #[serde(default)]
    raw_hex: Option<String>,
    /// The client's timeout for the answer.
    #[serde(default = "default_within")]
    within_ms: u64,
    /// Its timeout if it is told that a person is asked; the same as for the answer if absent.
    #[serde(default)]
    person_ms: Option<u64>,
}

fn default_within() -> u64 {
    5000
}

/// The notification that tells the client that a person is asked.
const ASKING: &str = "hook/asking";
/// The time reserved before the client's timeout for the answer to arrive.
const MARGIN: Duration = Duration::from_millis(250);

/// Handles the method `hook`: decides on an event, and returns the answer in the agent's format.
///
/// # Errors
/// If the parameters are invalid, or an internal task failed.
pub async fn hook(hooks: Arc<Hooks>, cx: Context, params: Option<Box<RawValue>>) -> Result<Box<RawValue>, RpcError> {
    let begun = Instant::now();
    let wrong = |why: String| RpcError::new(INVALID_PARAMS, why);
    let params = params.ok_or_else(|| wrong("the event is missing".to_owned()))?;
    let Params { agent, event, json, json_line, raw, raw_hex, within_ms, person_ms } =
        serde_json::from_str(params.get()).map_err(|error| wrong(error.to_string()))?;
    let agent = Agent::named(&agent).ok_or_else(|| wrong(format!("unknown agent {agent:?}")))?;
    let raw = match (json, json_line, raw_hex) {
        (Some(json), ..) => Raw::Json(json),
        (_, Some(json), _) => Raw::JsonLine(json),
        (.., Some(hex)) => Raw::new(hex::decode(hex).map_err(|error| wrong(error.to_string()))?),
        (None, None, None) => Raw::Text(raw),
    };
    let caller = cx.caller::<Caller>().ok_or_else(|| RpcError::new(INTERNAL, "unknown caller"))?;
    let (cwd, worktree) = (caller.cwd.clone(), caller.worktree.clone());
    let asked = IncomingEvent { agent, named: event, raw: Arc::new(raw), cwd, worktree, process: None };
    let mut deadline = begun + Duration::from_millis(within_ms);
    let decided = decide(&hooks, asked, caller, begun, deadline).await?;
    let (answered_by, of_caller, handle) = (hooks.clone(), caller.clone(), Handle::current());
    let answered = tokio::task::spawn_blocking(move || {
        let pieces = handle.block_on(pieces(&answered_by, &of_caller, &decided, within_ms));
        match decided.asking() {
            Some(asking) => Err(Box::new((decided, pieces, asking))),
            None => Ok(answered_by.decider.answer(decided, Added { pieces, ..Added::default() })),
        }
    });
    let answered = answered.await.map_err(|error| RpcError::new(INTERNAL, error.to_string()))?;
    let answered = match answered {
        Ok(answered) => answered,
        Err(asked) => {
            let (decided, pieces, asking) = *asked;
            let mut added = Added { pieces, ..Added::default() };
            let until = begun + Duration::from_millis(person_ms.unwrap_or(within_ms).max(within_ms));
            let answering = hooks.agents.ask(caller, &decided.event, &asking, agent.title(), until - MARGIN, &cx);
            if let Some(answering) = answering {
                deadline = until;
                // A disconnected client gets no answer, and its question is withdrawn.
                let _ = cx.notify(ASKING, &json!({}));
                by_person(&mut added, &asking, answering.await);
            }
            let answered_by = hooks.clone();
            let answered = tokio::task::spawn_blocking(move || answered_by.decider.answer(decided, added));
            answered.await.map_err(|error| RpcError::new(INTERNAL, error.to_string()))?
        }
    };
    if let Some(error) = answered.unwritten {
        tracing::error!(%error, "an event of a hook is not in the journal");
    }
    answered.records.into_iter().for_each(|record| hooks.host.record(record));
    if !hooks.is_syncing.swap(true, Ordering::AcqRel) {
        tokio::spawn(async move {
            tokio::time::sleep(SYNC_WITHIN).await;
            hooks.is_syncing.store(false, Ordering::Release);
            hooks.sync().await;
        });
    }
    let is_gone = tokio::select! { biased; () = cx.disconnected() => true, () = std::future::ready(()) => false };
    if !is_gone && Instant::now() < deadline {
        answered.receipts.record_sent();
    }
    to_raw_value(&answered.rendered).map_err(|error| RpcError::new(INTERNAL, error.to_string()))
}

/// Decides on an event off the runtime's threads. On a timeout of the decision or of the wait for a permit, the answer
/// is the one for undecidable events.
async fn decide(
    hooks: &Arc<Hooks>,
    mut asked: IncomingEvent,
    caller: &Caller,
    begun: Instant,
    deadline: Instant,
) -> Result<Decided, RpcError> {
    let failed = |error: tokio::task::JoinError| RpcError::new(INTERNAL, error.to_string());
    let of_size = usize::from(asked.raw.len() > LARGE);
    let left = deadline.saturating_duration_since(begun);
    let until = tokio::time::Instant::from_std(deadline - MARGIN.min(left / 4));
    let again = asked.clone();
    let (deciding, decided_by, caller) = (hooks.deciding[of_size].clone(), hooks.clone(), caller.clone());
    let decided = async move {
        let permit = deciding.acquire_owned().await;
        // Files may be on an unresponsive disk, which must not delay other events.
        let decided = tokio::task::spawn_blocking(move || {
            // An abandoned decision keeps its permit until it has ended.
            let _permit = permit;
            asked.process = decided_by.agents.process(&caller);
            decided_by.decider.decide(asked, begun)
        });
        decided.await.map_err(failed)
    };
    match tokio::time::timeout_at(until, decided).await {
        Ok(decided) => decided,
        Err(_) => {
            tracing::warn!(event = again.named, "a decision took too long");
            let given_up_by = hooks.clone();
            tokio::task::spawn_blocking(move || given_up_by.decider.give_up(again, begun)).await.map_err(failed)
        }
    }
}

/// Returns the contributions of other parts to this event.
async fn pieces(hooks: &Hooks, caller: &Caller, decided: &Decided, within_ms: u64) -> Vec<Piece> {
    let Some(at) = decided.at else { return Vec::new() };
    // No event waits for an unresponsive store. The work brief, which asks git, is limited to rare events.
    let within = Duration::from_millis(within_ms / if at.memory == Memory::Whole { 4 } else { 2 });
    hooks.agents.collect(caller, &decided.event, at, within).await
}

/// Adds a person's answer, or the reason why it is missing.
fn by_person(added: &mut Added, asking: &Asking, said: PersonResult) {
    match said {
        Ok((values, note, by)) => {
            added.person = asking.answer(&values, note.as_deref(), &by);
            let said = added.person.as_ref().map_or("answered nothing", |answer| match answer.verdict {
                Verdict::Deny => "refused",
                _ => "allowed",
            });
            added.outcome = Some(format!("{by} {said}"));
        }
        Err(why) => added.outcome = Some(format!("the agent itself asks: {why}")),
    }
}
