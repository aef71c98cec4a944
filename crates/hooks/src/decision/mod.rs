//! Decides, answers and records the hook events of a daemon. This module is synchronous. Context sources and questions to
//! persons run between [`Decider::decide`] and [`Decider::answer`].

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use project::Project;

use crate::agents::{Agent, Answer, Loss, Rendered, Row, Verdict};
use crate::context::{At, Memory, Piece, Receipts, Sessions, TurnEnd, compose, moment};
use crate::event::{Event, Kind};
use crate::files::{ActivePolicies, Files};
use crate::journal::{Line, Log, Raw};
use crate::person_questions::{self, Asking};
use crate::policy::{Decision, FACTS, Facts, Subject, decide};
use crate::record::Record;
use crate::settings::{HooksSettings, Keep};
use crate::spool;

/// An incoming event.
#[derive(Debug, Clone)]
pub struct IncomingEvent {
    pub agent: Agent,
    /// The event of the command line.
    pub named: String,
    /// The payload. It may be large, so it is shared.
    pub raw: Arc<Raw>,
    /// The working directory of the hook. The next field is its worktree.
    pub cwd: PathBuf,
    pub worktree: PathBuf,
    /// The agent's process, if known. An event can claim any session name, so sessions are separate for each process.
    pub process: Option<String>,
}

/// A decided event without an answer.
#[derive(Debug)]
pub struct Decided {
    pub asked: IncomingEvent,
    pub event: Event,
    pub decision: Decision,
    pub standing: Arc<ActivePolicies>,
    /// The key of the agent's session.
    pub key: String,
    /// The moment, if text can be added.
    pub at: Option<At>,
    facts: Facts,
    begun: Instant,
}

/// The additions to an answer, besides those of rules.
#[derive(Default)]
pub struct Added {
    pub pieces: Vec<Piece>,
    /// A person's answer, which takes precedence over the decision to ask one.
    pub person: Option<Answer>,
    /// The outcome of the question to a person.
    pub outcome: Option<String>,
}

/// An answered event.
pub struct AnsweredEvent {
    pub rendered: Rendered,
    /// The journal line, without its payload.
    pub line: Line,
    /// The daemon's records of the event.
    pub records: Vec<Record>,
    /// The callbacks that need to know whether the answer was sent.
    pub receipts: Receipts,
    /// The error if the line could not be written.
    pub unwritten: Option<std::io::Error>,
}

/// A callback that returns the known facts of these names about a worktree.
pub type FactSource = Box<dyn Fn(&[&str], &Path) -> Facts + Send + Sync>;

/// The decider of a project.
pub struct Decider {
    project: Project,
    settings: HooksSettings,
    files: Mutex<Files>,
    /// The journal; `None` until the first event.
    log: Mutex<Option<Log>>,
    facts: FactSource,
    sessions: Arc<Sessions>,
}

impl Decider {
    /// Creates the decider. Files are opened on first use.
    pub fn new(project: &Project, settings: HooksSettings, facts: FactSource) -> Decider {
        let files = Mutex::new(Files::new(project));
        let (log, sessions) = (Mutex::default(), Arc::default());
        Decider { project: project.clone(), settings, files, log, facts, sessions }
    }

    /// Returns the rules in force.
    pub fn active(&self) -> Arc<ActivePolicies> {
        self.files.lock().unwrap_or_else(std::sync::PoisonError::into_inner).active(true)
    }

    /// Decides on an event. Blocks on files.
    pub fn decide(&self, asked: IncomingEvent, begun: Instant) -> Decided {
        let event = crate::read(asked.agent, &asked.named, &asked.raw.content().unwrap_or_default());
        let standing = self.active();
        let (decision, facts) =
            decided(&standing, &event, &asked.worktree, &asked.cwd, |names| (self.facts)(names, &asked.worktree));
        self.record_decision(asked, event, decision, standing, facts, begun)
    }

    /// Decides on an event without an evaluation, because time is up. If a rule may forbid it, it does not pass.
    pub fn give_up(&self, asked: IncomingEvent, begun: Instant) -> Decided {
        let event = crate::read(asked.agent, &asked.named, &asked.raw.content().unwrap_or_default());
        let standing = self.active();
        let why =
            "hob could not decide on this in time, and a rule of the project's policy may forbid it: make it shorter";
        let decision = undecided(&standing, &event, why);
        self.record_decision(asked, event, decision, standing, Facts::new(), begun)
    }

    fn record_decision(
        &self,
        asked: IncomingEvent,
        event: Event,
        decision: Decision,
        standing: Arc<ActivePolicies>,
        facts: Facts,
        begun: Instant,
    ) -> Decided {
        let of = event.session.clone().unwrap_or_else(|| asked.worktree.display().to_string());
        let process = asked.process.as_deref().unwrap_or_default();
        let key = format!("{} {process} {of}", event.agent);
        let at = self.sessions.record_event(&key, &event, moment(&event, asked.agent.row(&event.name)));
        Decided { asked, event, decision, standing, key, at, facts, begun }
    }

    /// Renders the answer and writes it to the journal. Blocks on files.
    pub fn answer(&self, decided: Decided, added: Added) -> AnsweredEvent {
        let row = decided.asked.agent.row(&decided.event.name);
        let (names, mut outcome) = (added.pieces.iter().map(|piece| piece.from.to_owned()).collect(), None);
        let mut receipts = Receipts::default();
        if decided.at.is_some_and(|at| at.memory == Memory::Lost) {
            let (sessions, key) = (self.sessions.clone(), decided.key.clone());
            receipts.add(Some(Box::new(move || sessions.record_lost_memory(&key))));
        }
        let answer = self.compose_answer(&decided, row, added, &mut receipts, &mut outcome);
        let Decided { asked, event, decision, standing, facts, begun, .. } = decided;
        let rendered = asked.agent.render(row, &answer);
        let raw = match self.settings.keep {
            Keep::Payload => Arc::unwrap_or_clone(asked.raw),
            Keep::Digest => Raw::digest_of(&asked.raw.bytes().unwrap_or_default()),
        };
        let mut line = Line {
            number: 0,
            at_ms: project::journal::now(),
            agent: event.agent.to_owned(),
            event: event.name.clone(),
            kind: event.kind,
            named: asked.named,
            session: event.session.clone(),
            cwd: asked.cwd,
            worktree: asked.worktree,
            raw,
            facts,
            policy: standing.digest.clone(),
            matched: decision.matched,
            verdict: decision.verdict,
            rule: decision.rule,
            answer: rendered.clone(),
            added: names,
            outcome,
            missed: None,
            micros: u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
        };
        let unwritten = self.write(&mut line).err();
        line.raw = Raw::Text(String::new());
        let records = Record::from_event(&line, &event);
        AnsweredEvent { rendered, line, records, receipts, unwritten }
    }

    /// Combines the decision and the additions to an answer.
    fn compose_answer(
        &self,
        decided: &Decided,
        row: Option<&Row>,
        added: Added,
        receipts: &mut Receipts,
        outcome: &mut Option<String>,
    ) -> Answer {
        let (event, key) = (&decided.event, &decided.key);
        let mut answer = decided.decision.answer();
        *outcome = added.outcome;
        if let Some(person) = added.person.filter(|_| answer.verdict == Verdict::Person) {
            answer = Answer { context: answer.context, ..person };
        }
        let holds = answer.verdict >= Verdict::Ask || added.pieces.iter().any(|piece| piece.holds);
        if holds && row.is_some_and(Row::holds) {
            let breaker = event.subagent.as_ref().map_or_else(|| key.clone(), |subagent| format!("{key} {subagent}"));
            return match self.sessions.hold(&breaker, self.settings.holds, event.is_held) {
                TurnEnd::Held => {
                    *outcome = Some("held".to_owned());
                    let by_rule = (answer.verdict >= Verdict::Ask).then_some(answer.reason);
                    let mut texts: Vec<String> = by_rule.into_iter().chain(answer.context).collect();
                    for piece in added.pieces {
                        texts.push(piece.text);
                        receipts.add(piece.lost);
                    }
                    let (reason, left) = compose(texts);
                    left.into_iter().for_each(|text| self.sessions.keep(key, text));
                    Answer::new(Verdict::Deny, reason.unwrap_or_default())
                }
                TurnEnd::LetGo(why) => {
                    *outcome = Some(format!("let go: {why}"));
                    // The texts were not delivered: their sources keep them.
                    added.pieces.into_iter().filter_map(|piece| piece.lost).for_each(|lost| lost());
                    let reason = if answer.reason.is_empty() { "work is waiting".to_owned() } else { answer.reason };
                    let notice = format!("hob let the agent stop although it should continue ({reason}): {why}");
                    Answer { notice: Some(notice), ..Answer::pass() }
                }
            };
        }
        let takes = event.subagent.is_none() && row.is_some_and(|row| row.takes_context) && event.kind != Kind::TurnEnd;
        let mut texts = if takes { self.sessions.take(key) } else { Vec::new() };
        texts.extend(answer.context.take());
        for piece in added.pieces {
            texts.push(piece.text);
            receipts.add(piece.lost);
        }
        let takes_any = row.is_some_and(|row| row.takes_context);
        if !takes_any {
            texts.iter().for_each(|text| self.sessions.keep(key, text.clone()));
        }
        let (context, left) = compose(texts);
        if takes_any {
            left.into_iter().for_each(|text| self.sessions.keep(key, text));
        }
        answer.context = context;
        answer
    }

    fn write(&self, line: &mut Line) -> std::io::Result<()> {
        let mut log = self.log.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if log.is_none() {
            let directory = self.project.log_dir();
            std::fs::create_dir_all(&directory)?;
            *log = Some(Log::open(&directory)?.0);
        }
        let Some(log) = log.as_mut() else { return Ok(()) };
        for missed in spool::take(&self.project) {
            log.write(&mut missed.line(&line.worktree))?;
        }
        log.write(line)
    }

    /// Flushes the journal to disk.
    pub fn sync(&self) -> std::io::Result<()> {
        let handle = {
            let log = self.log.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            log.as_ref().map(Log::handle).transpose()?
        };
        handle.map_or(Ok(()), |file| file.sync_data())
    }
}

impl Decided {
    /// Returns the question to a person, if a person must decide.
    pub fn asking(&self) -> Option<Asking> {
        let is_asked = self.decision.verdict == Verdict::Person;
        let raw = || self.asked.raw.content().unwrap_or_default();
        is_asked.then(|| person_questions::asking(&self.event, &raw(), &self.decision.reason)).flatten()
    }
}

/// Decides on an event by the rules in force. Facts are looked up only if a rule names them.
pub fn decided(
    standing: &ActivePolicies,
    event: &Event,
    worktree: &Path,
    cwd: &Path,
    facts: impl Fn(&[&str]) -> Facts,
) -> (Decision, Facts) {
    if event.is_unreadable {
        let why = "hob could not read this event, and a rule of the project's policy may forbid it";
        return (undecided(standing, event, why), Facts::new());
    }
    let names = |name: &str| {
        standing.policies.iter().flat_map(|policy| &policy.rules).any(|rule| rule.table.when.contains_key(name))
    };
    let wanted: Vec<&str> = FACTS.iter().copied().filter(|name| names(name)).collect();
    let facts = if wanted.is_empty() { Facts::new() } else { facts(&wanted) };
    let subject = Subject::from_event(event, worktree, cwd);
    (decide(&standing.policies, event, &subject, &facts), facts)
}

/// Decides on an event with insufficient information: the strictest decision that a rule could reach.
fn undecided(standing: &ActivePolicies, event: &Event, why: &str) -> Decision {
    let row = Agent::named(event.agent).and_then(|agent| agent.row(&event.name));
    let verdict = standing.policies.iter().map(|policy| policy.undecided(row)).max().unwrap_or(Verdict::Pass);
    let reason = if verdict == Verdict::Pass { String::new() } else { why.to_owned() };
    Decision { verdict, rule: None, reason, matched: Vec::new(), context: Vec::new() }
}

impl Decision {
    /// Returns the decision as an answer.
    pub fn answer(&self) -> Answer {
        let context = (!self.context.is_empty()).then(|| {
            let facts = self.context.iter().map(|text| format!("- {text}")).collect::<Vec<_>>().join("\n");
            format!("From the policy of this project, as facts:\n{facts}")
        });
        Answer { context, ..Answer::new(self.verdict, self.reason.clone()) }
    }
}

impl Loss {
    /// Returns the description for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Loss::AskBecameDeny => "this event cannot ask, so it was denied",
            Loss::DenyBecameContext => "this event cannot be prevented, so the reason went into the context",
            Loss::DenyWasLost => "this event cannot be prevented",
            Loss::ContextWasKept => "this event accepts no context, so it is kept for the next event that does",
            Loss::AllowWasLost => "this event cannot allow",
        }
    }
}

#[cfg(test)]
mod tests;
