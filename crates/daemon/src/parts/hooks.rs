//! Agents' hooks in the daemon: the method `hook`, which decides on an event, and the handling of its answer.
//! `hooks_context.rs` has the contributions of other parts, and finds the agent of an event.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ::hooks::agents::Verdict;
use ::hooks::context::{Memory, Piece};
use ::hooks::deciding::{Added, Decided, Decider, IncomingEvent};
use ::hooks::journal::Raw;
use ::hooks::person::Asking;
use ::hooks::{Agent, HooksSettings};
use mcp::server::Server;
use mcp::tool::Context;
use mcp::wire::build::RpcError;
use mcp::wire::code::{INTERNAL, INVALID_PARAMS};
use project::Caller;
use project::config::Section;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::hooks_context::{Belonging, PersonSaid};
use super::{BoxFuture, Finding, Health, Part, Setup, Surface, Toolset};
use crate::journal::Journal;

/// The maximum time until a line of the journal is on disk.
const SYNC_WITHIN: Duration = Duration::from_secs(1);

/// The maximum number of concurrent decisions, in all and on events of more bytes than `LARGE`.
const DECISIONS_MAX: usize = 16;
const LARGE_DECISIONS_MAX: usize = 2;
const LARGE: usize = 16 * 1024;

/// The hooks of a project.
pub(crate) struct HooksPart {
    /// `None` without a project.
    hooks: Option<Arc<Hooks>>,
}

struct Hooks {
    decider: Decider,
    belonging: Belonging,
    journal: Arc<Journal>,
    /// The permits for concurrent decisions: on events of ordinary size, and on large ones.
    deciding: [Arc<Semaphore>; 2],
    /// True if a task waits to sync the journal to disk.
    is_syncing: AtomicBool,
}

impl Part for HooksPart {
    fn open(setup: &Setup<'_>) -> HooksPart {
        let settings = setup.config.settings::<HooksSettings>();
        let belonging = Belonging::new(setup.neighbours.clone(), &settings);
        let neighbours = setup.neighbours.clone();
        // Decisions run on a thread that may block.
        let known = move |names: &[&str], worktree: &Path| {
            let elsewhere = |name: &str| Handle::try_current().ok()?.block_on(neighbours.fact(name, worktree));
            let known = |name: &&str| Some(((*name).to_owned(), fact(name, worktree).or_else(|| elsewhere(name))?));
            names.iter().filter_map(known).collect()
        };
        let decider = Decider::new(setup.project, settings, Box::new(known));
        let (journal, is_syncing) = (setup.journal.clone(), AtomicBool::new(false));
        let deciding = [DECISIONS_MAX, LARGE_DECISIONS_MAX].map(|most| Arc::new(Semaphore::new(most)));
        let hooks = Hooks { decider, belonging, journal, deciding, is_syncing };
        HooksPart { hooks: Some(Arc::new(hooks)) }
    }

    fn declared() -> HooksPart {
        HooksPart { hooks: None }
    }

    fn toolset(&self) -> Toolset {
        Toolset::without_tools("hooks")
    }

    fn add_methods(&self, server: Server, surface: Surface) -> Server {
        match (&self.hooks, surface) {
            (Some(hooks), Surface::Control) => {
                let hooks = hooks.clone();
                server.method("hook", move |cx, params| hook(hooks.clone(), cx, params))
            }
            _ => server,
        }
    }

    fn status(&self) -> Map<String, Value> {
        let Some(hooks) = &self.hooks else { return Map::new() };
        let standing = hooks.decider.active();
        let rules: usize = standing.policies.iter().map(|policy| policy.rules.len()).sum();
        let hooks = json!({"rules": rules, "pending": standing.pending, "broken": standing.broken});
        Map::from_iter([("hooks".to_owned(), hooks)])
    }

    fn status_lines(&self) -> Vec<String> {
        let Some(hooks) = &self.hooks else { return Vec::new() };
        let standing = hooks.decider.active();
        let rules: usize = standing.policies.iter().map(|policy| policy.rules.len()).sum();
        let mut lines = Vec::new();
        if rules > 0 {
            lines.push(format!("policy: {rules} {} in force", if rules == 1 { "rule" } else { "rules" }));
        }
        if !standing.pending.is_empty() {
            lines.push(format!("policy: waits for `hob trust`: {}", standing.pending.join("; ")));
        }
        lines.extend(
            standing.broken.iter().map(|why| format!("policy: does not count, the last good one holds: {why}")),
        );
        lines
    }

    fn shutdown(&self) -> BoxFuture<'_> {
        Box::pin(async {
            if let Some(hooks) = self.hooks.clone() {
                sync(hooks).await;
            }
        })
    }

    fn section() -> Option<Section> {
        Some(Section::for_settings::<HooksSettings>())
    }

    fn health(project: &project::Project, _: &project::Config) -> Option<Health> {
        let standing = ::hooks::files::Files::new(project).active(false);
        let mut findings: Vec<Finding> = Vec::new();
        let unreachable = ::hooks::files::unreachable_rules(project);
        findings.extend(unreachable.into_iter().map(|why| Finding::problem("policy", why)));
        findings.extend(standing.broken.iter().map(|why| {
            Finding::problem(
                "policy",
                format!("{why}; until it is right, the last good policy holds: `hob policy check`"),
            )
        }));
        if !standing.pending.is_empty() {
            findings.push(Finding::note("policy", format!("waits for `hob trust`: {}", standing.pending.join("; "))));
        }
        if findings.is_empty() && ::hooks::has_policy(project.root()) {
            let rules: usize = standing.policies.iter().map(|policy| policy.rules.len()).sum();
            findings
                .push(Finding::good("policy", format!("{rules} rule{} in force", if rules == 1 { "" } else { "s" })));
        }
        (!findings.is_empty()).then_some(Health { title: "Hooks", findings })
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

async fn hook(hooks: Arc<Hooks>, cx: Context, params: Option<Box<RawValue>>) -> Result<Box<RawValue>, RpcError> {
    let begun = Instant::now();
    let wrong = |why: String| RpcError::new(INVALID_PARAMS, why);
    let params = params.ok_or_else(|| wrong("the event is missing".to_owned()))?;
    let Params { agent, event, json, json_line, raw, raw_hex, within_ms, person_ms } =
        serde_json::from_str(params.get()).map_err(|error| wrong(error.to_string()))?;
    let agent = Agent::named(&agent).ok_or_else(|| wrong(format!("there is no agent {agent:?}")))?;
    let raw = match (json, json_line, raw_hex) {
        (Some(json), ..) => Raw::Json(json),
        (_, Some(json), _) => Raw::JsonLine(json),
        (.., Some(hex)) => Raw::new(hex::decode(hex).map_err(|error| wrong(error.to_string()))?),
        (None, None, None) => Raw::Text(raw),
    };
    let caller = cx.caller::<Caller>().ok_or_else(|| RpcError::new(INTERNAL, "the caller is not known"))?;
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
            let answering = hooks.belonging.asks(caller, &decided.event, &asking, agent.title(), until - MARGIN, &cx);
            if let Some(answering) = answering {
                deadline = until;
                // A disconnected client is not told, and its question is withdrawn.
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
    answered.records.into_iter().for_each(|record| hooks.journal.record(record));
    if !hooks.is_syncing.swap(true, Ordering::AcqRel) {
        tokio::spawn(async move {
            tokio::time::sleep(SYNC_WITHIN).await;
            hooks.is_syncing.store(false, Ordering::Release);
            sync(hooks).await;
        });
    }
    let is_gone = tokio::select! { biased; () = cx.disconnected() => true, () = std::future::ready(()) => false };
    if !is_gone && Instant::now() < deadline {
        answered.receipts.left();
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
            asked.process = decided_by.belonging.process(&caller);
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
    hooks.belonging.added(caller, &decided.event, at, within).await
}

/// Adds a person's answer, or the reason why it is missing.
fn by_person(added: &mut Added, asking: &Asking, said: PersonSaid) {
    match said {
        Ok((values, note, by)) => {
            added.person = asking.answer(&values, note.as_deref(), &by);
            let said = added.person.as_ref().map_or("answered nothing", |answer| match answer.verdict {
                Verdict::Deny => "refused",
                _ => "allowed",
            });
            added.outcome = Some(format!("{by} {said}"));
        }
        Err(why) => added.outcome = Some(format!("the agent asks by itself: {why}")),
    }
}

async fn sync(hooks: Arc<Hooks>) {
    let synced = tokio::task::spawn_blocking(move || hooks.decider.sync()).await;
    if let Ok(Err(error)) = synced {
        tracing::error!(%error, "the journal of hooks is not on disk");
    }
}

/// Returns a fact about a worktree that needs no daemon, by the name of a condition in rules.
pub(super) fn fact(name: &str, worktree: &Path) -> Option<String> {
    match name {
        "work.branch" => branch(worktree),
        _ => None,
    }
}

/// Reads the checked-out branch from git's own file; `None` for none.
fn branch(worktree: &Path) -> Option<String> {
    const FILE_MAX: u64 = 4096;
    let dot_git = worktree.join(".git");
    let git_dir = match project::regular::read(&dot_git, FILE_MAX) {
        // This is a linked worktree.
        Ok(text) => worktree.join(text.trim().strip_prefix("gitdir: ")?),
        Err(_) => dot_git,
    };
    let head = project::regular::read(&git_dir.join("HEAD"), FILE_MAX).ok()?;
    Some(head.trim().strip_prefix("ref: refs/heads/")?.to_owned())
}
