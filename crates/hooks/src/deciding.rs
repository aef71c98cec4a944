//! Where a daemon's hook events are decided, answered and journalled. No async.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use project::Project;

use crate::agents::{Agent, Answer, Loss, Rendered};
use crate::event::Event;
use crate::files::{Files, Standing};
use crate::journal::{Line, Log, Raw};
use crate::policy::{Decision, FACTS, Facts, Subject, decide};
use crate::spool;

/// An event as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    pub agent: Agent,
    /// The event that the command line says.
    pub named: String,
    pub raw: Vec<u8>,
    /// Where the hook runs, and the worktree around it.
    pub cwd: PathBuf,
    pub worktree: PathBuf,
}

/// An event that is decided and not answered yet.
#[derive(Debug)]
pub struct Decided {
    pub asked: Asked,
    pub event: Event,
    pub decision: Decision,
    pub standing: Standing,
    facts: Facts,
    begun: Instant,
}

/// What was answered.
#[derive(Debug)]
pub struct Answered {
    pub rendered: Rendered,
    /// The line of the journal, without its payload.
    pub line: Line,
    /// Why the line is not in the file, if so.
    pub unwritten: Option<std::io::Error>,
}

/// What other parts know of a worktree: the value of a fact.
pub type FactSource = Box<dyn Fn(&str, &Path) -> Option<String> + Send + Sync>;

/// Decides for a project.
pub struct Decider {
    project: Project,
    files: Mutex<Files>,
    /// `None` until the first event.
    log: Mutex<Option<Log>>,
    fact: FactSource,
}

impl Decider {
    /// Opens nothing yet.
    pub fn new(project: &Project, fact: FactSource) -> Decider {
        let files = Mutex::new(Files::new(project));
        Decider { project: project.clone(), files, log: Mutex::default(), fact }
    }

    /// What holds now.
    pub fn standing(&self) -> Standing {
        self.files.lock().unwrap_or_else(std::sync::PoisonError::into_inner).standing(true)
    }

    /// Decides on an event. Blocks on files.
    pub fn decide(&self, asked: Asked, begun: Instant) -> Decided {
        let event = crate::read(asked.agent, &asked.named, &asked.raw);
        let standing = self.standing();
        let (decision, facts) =
            decided(&standing, &event, &asked.worktree, &asked.cwd, |name| (self.fact)(name, &asked.worktree));
        Decided { asked, event, decision, standing, facts, begun }
    }

    /// Renders the answer and writes it down. `context` is what others add. Blocks on files.
    pub fn answer(&self, decided: Decided, answer: Answer) -> Answered {
        let Decided { asked, event, decision, standing, facts, begun } = decided;
        let rendered = asked.agent.render(asked.agent.row(&event.name), &answer);
        let mut line = Line {
            number: 0,
            at_ms: project::journal::now(),
            agent: event.agent.to_owned(),
            event: event.name,
            kind: event.kind,
            named: asked.named,
            session: event.session,
            cwd: asked.cwd,
            worktree: asked.worktree,
            raw: Raw::of(asked.raw),
            facts,
            policy: standing.digest,
            matched: decision.matched,
            verdict: decision.verdict,
            rule: decision.rule,
            answer: rendered.clone(),
            missed: None,
            micros: u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
        };
        let unwritten = self.write(&mut line).err();
        line.raw = Raw::Text(String::new());
        Answered { rendered, line, unwritten }
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

    /// Has the journal's bytes on disk.
    pub fn sync(&self) -> std::io::Result<()> {
        let handle = {
            let log = self.log.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            log.as_ref().map(Log::handle).transpose()?
        };
        handle.map_or(Ok(()), |file| file.sync_data())
    }
}

/// Decides on an event by what holds. Facts are looked up if a rule names them.
pub fn decided(
    standing: &Standing,
    event: &Event,
    worktree: &Path,
    cwd: &Path,
    fact: impl Fn(&str) -> Option<String>,
) -> (Decision, Facts) {
    let names = |name: &str| {
        standing.policies.iter().flat_map(|policy| &policy.rules).any(|rule| rule.table.when.contains_key(name))
    };
    let wanted = FACTS.iter().filter(|name| names(name));
    let facts: Facts = wanted.filter_map(|name| Some(((*name).to_owned(), fact(name)?))).collect::<BTreeMap<_, _>>();
    let subject = Subject::of(event, worktree, cwd);
    (decide(&standing.policies, event, &subject, &facts), facts)
}

impl Decision {
    /// What is said of it to the agent.
    pub fn answer(&self) -> Answer {
        let context = (!self.context.is_empty()).then(|| {
            let facts = self.context.iter().map(|text| format!("- {text}")).collect::<Vec<_>>().join("\n");
            format!("From the policy of this project, as facts:\n{facts}")
        });
        Answer { verdict: self.verdict, reason: self.reason.clone(), context }
    }
}

impl Loss {
    /// In words, for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Loss::AskBecameDeny => "this event cannot ask, so it was denied",
            Loss::DenyBecameContext => "this event cannot be kept from happening, so the reason went into the context",
            Loss::DenyWasLost => "this event cannot be kept from happening",
            Loss::ContextWasLost => "this event takes no context",
            Loss::AllowWasLost => "this event cannot allow",
        }
    }
}
