//! Renders an answer in the format of an agent: the output and exit status of `hob hook`. A pass without context is empty.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Agent, Deny, Row};
use crate::event::Kind;

/// The decision about an event's subject.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No answer: the agent continues as without hob.
    #[default]
    Pass,
    /// The agent continues without asking.
    Allow,
    /// The agent asks its user.
    Ask,
    /// A person is asked through hob. Without an answer, the agent asks its user.
    Person,
    Deny,
}

impl Verdict {
    /// Returns the name in rules.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Person => "person",
            Verdict::Deny => "deny",
        }
    }
}

/// An answer to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub verdict: Verdict,
    /// The reason for a person and the model. Empty for a pass.
    pub reason: String,
    /// Text for the model's context.
    pub context: Option<String>,
    /// A message for the user, in addition to the verdict.
    pub notice: Option<String>,
    /// For an allowed tool: a replacement of its input. The next field has the agent's suggestions that the person accepted for
    /// future events.
    pub input: Option<Value>,
    pub permissions: Vec<Value>,
}

impl Answer {
    /// Creates an empty answer.
    pub fn pass() -> Answer {
        Answer::new(Verdict::Pass, String::new())
    }

    /// Creates an answer from a verdict and its reason.
    pub fn new(verdict: Verdict, reason: String) -> Answer {
        Answer { verdict, reason, context: None, notice: None, input: None, permissions: Vec::new() }
    }
}

/// The output and the exit status of `hob hook`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rendered {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    pub exit: u8,
    /// The parts of the answer that the event does not support.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<Loss>,
}

/// A part of an answer that the event does not support, with its replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// The event cannot ask: it was denied, with the advice to ask the user.
    AskBecameDeny,
    /// The event cannot deny: the reason was added to the context.
    DenyBecameContext,
    /// The event cannot deny and takes no context: the reason was printed for the user.
    DenyWasLost,
    /// The event takes no context: the context waits for the next event that does.
    #[serde(alias = "context_was_lost")]
    ContextWasKept,
    /// The event cannot allow: the agent asks as it would without hob.
    AllowWasLost,
}

/// The maximum lengths of a reason and a context in characters. Agents truncate longer texts, or write them to a file.
const REASON_MAX: usize = 2000;
const CONTEXT_MAX: usize = 9500;

impl Agent {
    /// Renders the answer to an event in this agent's format.
    pub fn render(self, row: Option<&Row>, answer: &Answer) -> Rendered {
        let Some(row) = row else {
            // The capabilities of this event are unknown.
            let losses = match (answer.verdict, &answer.context) {
                (Verdict::Deny | Verdict::Ask, _) => vec![Loss::DenyWasLost],
                (_, Some(_)) => vec![Loss::ContextWasKept],
                _ => Vec::new(),
            };
            return Rendered { losses, ..Rendered::default() };
        };
        let mut losses = Vec::new();
        // An agent that continues after its turn's end reads only the reason.
        let mut reason = cut(&answer.reason, if row.holds() { CONTEXT_MAX } else { REASON_MAX });
        let mut context = answer.context.as_deref().map(|context| cut(context, CONTEXT_MAX));
        let mut verdict = answer.verdict;
        if verdict == Verdict::Person {
            // No person was available, or none answered.
            verdict = Verdict::Ask;
        }
        if verdict == Verdict::Ask {
            verdict = match (row.asks, row.deny) {
                (true, Deny::Request) => Verdict::Pass,
                (true, _) => Verdict::Ask,
                (false, Deny::Never) => Verdict::Deny,
                (false, _) => {
                    losses.push(Loss::AskBecameDeny);
                    reason = format!("{reason} (this agent cannot ask here: ask your user, who can do it)");
                    Verdict::Deny
                }
            };
        }
        let mut stderr = String::new();
        if verdict == Verdict::Deny && row.deny == Deny::Never {
            verdict = Verdict::Pass;
            if row.takes_context {
                losses.push(Loss::DenyBecameContext);
                let said = format!("The policy of hob forbids this, which cannot be stopped here: {reason}");
                context = Some(context.map_or(said.clone(), |context| format!("{said}\n\n{context}")));
            } else {
                losses.push(Loss::DenyWasLost);
                stderr = format!("hob: the policy forbids this, and {} cannot be stopped here: {reason}\n", row.name);
            }
        }
        if context.is_some() && !row.takes_context {
            losses.push(Loss::ContextWasKept);
            context = None;
        }
        let takes_allow = match row.deny {
            // Codex treats it as a permission request only.
            Deny::Tool => self != Agent::Codex,
            deny => deny == Deny::Request,
        };
        if verdict == Verdict::Allow && !takes_allow {
            losses.push(Loss::AllowWasLost);
            verdict = Verdict::Pass;
        }
        let notice = answer.notice.as_deref().map(|notice| cut(notice, REASON_MAX));
        if let Some(notice) = notice.as_deref().filter(|_| !self.takes_notice()) {
            stderr.push_str(&format!("{notice}\n"));
        }
        let notice = notice.filter(|_| self.takes_notice());
        if verdict == Verdict::Pass && context.is_none() && notice.is_none() {
            return Rendered { stdout: String::new(), stderr, exit: 0, losses };
        }
        if verdict == Verdict::Deny && row.deny == Deny::Exit {
            return Rendered { stdout: String::new(), stderr: format!("{reason}\n"), exit: 2, losses };
        }
        let mut value = match self {
            Agent::Claude | Agent::Codex => {
                let more = Answer { verdict, reason, context, ..answer.clone() };
                of_claude(row, &more, self == Agent::Claude)
            }
            Agent::Gemini => of_gemini(row, verdict, &reason, context.as_deref()),
            Agent::Cursor => of_cursor(row, verdict, &reason, context.as_deref()),
            Agent::Copilot => of_copilot(row, verdict, &reason, context.as_deref()),
            Agent::Opencode => of_opencode(verdict, &reason, context.as_deref()),
        };
        if let Some(notice) = notice {
            value["systemMessage"] = json!(notice);
        }
        Rendered { stdout: format!("{value}\n"), stderr, exit: 0, losses }
    }

    /// Returns true if an answer can contain a message for the user.
    fn takes_notice(self) -> bool {
        matches!(self, Agent::Claude | Agent::Codex | Agent::Gemini)
    }
}

/// Renders Claude Code's format. `takes_updates` is false for Codex, which fails on updates.
fn of_claude(row: &Row, answer: &Answer, takes_updates: bool) -> Value {
    let Answer { verdict, reason, context, .. } = answer;
    let mut all = Map::new();
    let mut own = Map::from_iter([("hookEventName".to_owned(), json!(row.name))]);
    let input = answer.input.as_ref().filter(|_| takes_updates && *verdict == Verdict::Allow);
    match (verdict, row.deny) {
        (Verdict::Pass, _) => {}
        (_, Deny::Tool) => {
            own.insert("permissionDecision".to_owned(), json!(verdict.as_str()));
            own.insert("permissionDecisionReason".to_owned(), json!(reason));
            input.map(|input| own.insert("updatedInput".to_owned(), input.clone()));
        }
        (Verdict::Allow, _) => {
            let mut decision = json!({"behavior": "allow"});
            if let Some(input) = input {
                decision["updatedInput"] = input.clone();
            }
            if takes_updates && !answer.permissions.is_empty() {
                decision["updatedPermissions"] = json!(answer.permissions);
            }
            own.insert("decision".to_owned(), decision);
        }
        (_, Deny::Request) => {
            own.insert("decision".to_owned(), json!({"behavior": "deny", "message": reason}));
        }
        (_, Deny::Stop) => {
            all.insert("continue".to_owned(), json!(false));
            all.insert("stopReason".to_owned(), json!(reason));
        }
        (_, Deny::Decline) => {
            own.insert("action".to_owned(), json!("decline"));
        }
        _ => {
            all.insert("decision".to_owned(), json!("block"));
            all.insert("reason".to_owned(), json!(reason));
        }
    }
    if let Some(context) = context {
        own.insert("additionalContext".to_owned(), json!(context));
    }
    if own.len() > 1 {
        all.insert("hookSpecificOutput".to_owned(), own.into());
    }
    all.into()
}

fn of_gemini(row: &Row, verdict: Verdict, reason: &str, context: Option<&str>) -> Value {
    let mut all = Map::new();
    if verdict != Verdict::Pass {
        let decision = if verdict == Verdict::Allow { "allow" } else { "deny" };
        all.insert("decision".to_owned(), json!(decision));
        all.insert("reason".to_owned(), json!(reason));
    }
    if let Some(context) = context {
        let own = json!({"hookEventName": row.name, "additionalContext": context});
        all.insert("hookSpecificOutput".to_owned(), own);
    }
    all.into()
}

fn of_cursor(row: &Row, verdict: Verdict, reason: &str, context: Option<&str>) -> Value {
    let mut all = Map::new();
    match (verdict, row.deny) {
        (Verdict::Pass, _) => {}
        (_, Deny::Block) => _ = all.insert("followup_message".to_owned(), json!(reason)),
        (_, Deny::Stop) => {
            all.insert("continue".to_owned(), json!(false));
            all.insert("user_message".to_owned(), json!(reason));
        }
        _ => {
            all.insert("permission".to_owned(), json!(verdict.as_str()));
            all.insert("user_message".to_owned(), json!(reason));
            all.insert("agent_message".to_owned(), json!(reason));
        }
    }
    if let Some(context) = context {
        all.insert("additional_context".to_owned(), json!(context));
    }
    all.into()
}

fn of_copilot(row: &Row, verdict: Verdict, reason: &str, context: Option<&str>) -> Value {
    let mut all = Map::new();
    match (verdict, row.deny) {
        (Verdict::Pass, _) => {}
        (_, Deny::Tool) => {
            all.insert("permissionDecision".to_owned(), json!(verdict.as_str()));
            all.insert("permissionDecisionReason".to_owned(), json!(reason));
        }
        (Verdict::Allow, _) => _ = all.insert("behavior".to_owned(), json!("allow")),
        (_, Deny::Request) => {
            all.insert("behavior".to_owned(), json!("deny"));
            all.insert("message".to_owned(), json!(reason));
        }
        _ => {
            all.insert("decision".to_owned(), json!("block"));
            all.insert("reason".to_owned(), json!(reason));
        }
    }
    if let Some(context) = context {
        all.insert("additionalContext".to_owned(), json!(context));
    }
    all.into()
}

/// Renders the format of hob's opencode plugin.
fn of_opencode(verdict: Verdict, reason: &str, context: Option<&str>) -> Value {
    let mut all = Map::new();
    if verdict != Verdict::Pass {
        all.insert("decision".to_owned(), json!(verdict.as_str()));
        all.insert("reason".to_owned(), json!(reason));
    }
    if let Some(context) = context {
        all.insert("context".to_owned(), json!(context));
    }
    all.into()
}

/// The behaviour of `hob hook` if the policy could not be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fail {
    /// The agent continues as without hob.
    Open,
    /// The agent asks its user if it can, else the hook fails closed.
    Ask,
    /// The pending action is denied.
    Closed,
}

impl Fail {
    /// Returns the mode of that name.
    pub fn named(name: &str) -> Option<Fail> {
        match name {
            "open" => Some(Fail::Open),
            "ask" => Some(Fail::Ask),
            "closed" => Some(Fail::Closed),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Fail::Open => "open",
            Fail::Ask => "ask",
            Fail::Closed => "closed",
        }
    }

    /// Renders the answer to an undecided event of that name. It needs only this program.
    pub fn render(self, agent: Agent, event: &str, why: &str) -> Rendered {
        let row = agent.row(event);
        // An event that is unknown to this version cannot be prevented.
        let Some(row) = row.filter(|row| self != Fail::Open && row.is_gate()) else { return Rendered::default() };
        let reason = format!("hob could not decide, and this hook fails {}: {why}", self.as_str());
        let verdict = if self == Fail::Ask && row.asks { Verdict::Ask } else { Verdict::Deny };
        if verdict == Verdict::Ask || row.kind == Kind::PermissionRequest {
            return agent.render(Some(row), &Answer::new(verdict, reason));
        }
        Rendered { stdout: String::new(), stderr: format!("{reason}\n"), exit: 2, losses: Vec::new() }
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
