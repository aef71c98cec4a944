//! [`Work`]: what the daemon keeps for this part, and how what is known of a worktree is gathered for the brief.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp::tool::Context;
use project::{Caller, journal};

use crate::around::{Agent, Around, NoOthers, Waiting};
use crate::brief::{self, Known, Since};
use crate::changed::LastCalls;
use crate::for_rules::Facts;
use crate::git::Git;
use crate::kept::Wish;
use crate::looks::Looks;
use crate::notes::{Note, Notes, Place};
use crate::pull::Pulls;
use crate::run::Asked;
use crate::settings::WorkSettings;
use crate::sources::Source;
use crate::standing::{Sections, Wanted};
use crate::sync::Syncs;
use crate::tracker::{Issue, Trackers};

/// How many commits of the base are named.
const NAMED: &str = "--max-count=3";
/// How long a brief waits for GitHub: an agent's start waits for the brief.
const BRIEF_WAIT: Duration = Duration::from_millis(1500);

/// What this part of the daemon keeps.
pub struct Work {
    pub(crate) notes: Arc<Notes>,
    pub(crate) around: Arc<dyn Around>,
    pub(crate) settings: WorkSettings,
    pub(crate) looks: Looks,
    pub(crate) trackers: Trackers,
    pub(crate) pulls: Pulls,
    pub(crate) last_calls: LastCalls,
    pub(crate) facts: Facts,
    pub(crate) syncs: Syncs,
}

/// What [`Work`] is made from.
pub struct WorkOptions {
    /// Where notes are kept: in the project's state directory.
    pub notes: PathBuf,
    /// Makes the directory above it.
    pub prepare: Box<dyn Fn() -> io::Result<()> + Send + Sync>,
    pub around: Arc<dyn Around>,
    pub settings: WorkSettings,
}

/// Which brief is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// A run begins: it is shown the last note, if that has not reached it yet.
    Begin,
    /// Somebody asks, or a run has lost its memory: the note is shown whether or not it was before.
    Again,
    End,
}

/// A brief, and what it was made of.
#[derive(Debug)]
pub struct Brief {
    /// At most [`brief::MOST`] characters.
    pub text: String,
    pub git: Result<Git, Source>,
    pub note: Option<Note>,
    pub issue: Option<Issue>,
    pub waiting: Vec<Waiting>,
    pub agents: Vec<Agent>,
}

impl Work {
    pub fn new(options: WorkOptions) -> Arc<Work> {
        let WorkOptions { notes, prepare, around, settings } = options;
        Arc::new(Work {
            notes: Arc::new(Notes::new(notes, prepare)),
            around,
            settings,
            looks: Looks::default(),
            trackers: Trackers::default(),
            pulls: Pulls::default(),
            last_calls: LastCalls::default(),
            facts: Facts::default(),
            syncs: Syncs::default(),
        })
    }

    /// Without a project: its tools are only declared.
    pub fn declared() -> Arc<Work> {
        let prepare = Box::new(|| Err(io::Error::other("the tools are only declared here")));
        let settings = WorkSettings::default();
        Work::new(WorkOptions { notes: PathBuf::new(), prepare, around: Arc::new(NoOthers), settings })
    }

    /// The brief for this caller. The note in it is leased to the caller's run; see [`Work::heard_of`].
    pub async fn brief(&self, cx: &Context, caller: &Caller, moment: Moment) -> Brief {
        let sections = Sections { pull: true, issue: true, worktrees: false };
        let wish = Wish { fresh: false, wait: BRIEF_WAIT };
        let wanted = Wanted { sections, issue: None, wish, is_a_call: moment != Moment::End };
        let (standing, waiting) = tokio::join!(self.standing(caller, wanted), self.around.waiting(cx));
        let git = standing.git;
        let place = place_of(&git, caller);
        let note = match moment {
            Moment::End => None,
            moment => self.last_note(&place).filter(|note| moment == Moment::Again || !reached(note, caller)),
        };
        let since = match (&git, &note) {
            (Ok(git), Some(Note { base: Some(then), .. })) => since(git, then, caller).await,
            _ => None,
        };
        let mut agents = self.around.agents(&caller.worktree);
        agents.retain(|agent| agent.pid != caller.pid && (agent.run.is_none() || agent.run != caller.run));
        let (issue, pull, ready, changed) = (standing.issue, standing.pull, standing.ready, standing.changed);
        let now_ms = journal::now();
        let known = Known { git, note, since, issue, pull, changed, ready, waiting, agents, now_ms };
        let text = match moment {
            Moment::End => brief::end(&known),
            Moment::Begin | Moment::Again => brief::start(&known),
        };
        if let Some(note) = &known.note {
            self.notes.shows(cx, caller, &place, note);
        }
        let Known { git, note, issue, waiting, agents, .. } = known;
        Brief { text, git, note, issue, waiting, agents }
    }

    /// A result to this caller leaves, or, if it is `by_a_new_call`, an event of its run came in: what was shown to that
    /// run before has arrived.
    pub fn heard_of(&self, caller: &Caller, by_a_new_call: bool) {
        self.notes.heard_of(caller, by_a_new_call);
    }

    /// Keeps a note for the next one on the caller's branch, and returns how many there are.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) async fn keep(&self, caller: &Caller, text: &str) -> io::Result<(Place, usize)> {
        let git = self.look(caller).await;
        let base = git.as_ref().ok().and_then(|git| git.base_commit.clone());
        let place = place_of(&git, caller);
        let (notes, caller, text) = (self.notes.clone(), caller.clone(), text.to_owned());
        let write = tokio::task::spawn_blocking(move || {
            let count = notes.keep(&place, &caller, &text, base)?;
            Ok((place, count))
        });
        write.await.map_err(io::Error::other)?
    }

    /// The notes for the caller's branch, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) async fn notes_of(&self, caller: &Caller) -> io::Result<(Place, Vec<Note>)> {
        let git = self.look(caller).await;
        let place = place_of(&git, caller);
        let notes = self.notes.of(&place)?;
        Ok((place, notes))
    }

    /// What git says of the caller's worktree.
    pub(crate) async fn look(&self, caller: &Caller) -> Result<Git, Source> {
        self.looks.look(caller.worktree.clone(), &caller.env, self.settings.base.as_deref()).await
    }

    fn last_note(&self, place: &Place) -> Option<Note> {
        let notes = self.notes.of(place);
        // A brief without its note is better than none; `hob note` says what is wrong with the file.
        let notes = notes.inspect_err(|error| tracing::warn!(%error, "read hand-over notes"));
        notes.unwrap_or_default().pop()
    }
}

/// Whether the caller's run wrote the note, or was shown it.
fn reached(note: &Note, caller: &Caller) -> bool {
    caller.run.as_ref().is_some_and(|run| note.read_by.contains(run) || note.run.as_ref() == Some(run))
}

fn place_of(git: &Result<Git, Source>, caller: &Caller) -> Place {
    match git {
        Ok(Git { branch: Some(branch), .. }) => Place::Branch(branch.clone()),
        Ok(Git { root, bare: false, .. }) => Place::Directory(root.clone()),
        _ => Place::Directory(caller.worktree.clone()),
    }
}

/// What the base has got since it was at that commit.
pub(crate) async fn since(git: &Git, then: &str, caller: &Caller) -> Option<Since> {
    // It stands in a file, and goes to a command line.
    let then = then.chars().all(|c| c.is_ascii_hexdigit()).then_some(then)?;
    let range = format!("{then}..{}", git.base_commit.as_deref()?);
    let asked = asked(caller);
    let count = ["rev-list", "--count", &range, "--"];
    let subjects = ["log", NAMED, "--no-show-signature", "--format=%s", &range, "--"];
    let (count, subjects) = tokio::join!(asked.git(&count), asked.git(&subjects));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let subjects = text(subjects.ok()?).lines().map(str::to_owned).collect();
    Some(Since { count: text(count.ok()?).trim().parse().ok()?, subjects })
}

fn asked(caller: &Caller) -> Asked<'_> {
    Asked { directory: &caller.worktree, env: &caller.env, filters: Vec::new() }
}
