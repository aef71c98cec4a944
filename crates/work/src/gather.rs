//! [`Work`]: what the daemon keeps for this part, and how what is known of a worktree is gathered for the brief.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use mcp::tool::{Context, nearest};
use project::{Caller, journal};

use crate::around::{Agent, Around, NoOthers, Waiting};
use crate::brief::{self, Known, Since};
use crate::git::{self, Git};
use crate::notes::{Note, Notes, Place};
use crate::run::Asked;
use crate::sources::{Source, State};
use crate::tracker::{Issue, beads, of_branch};

/// How many commits of the base are named.
const NAMED: &str = "--max-count=3";

/// What this part of the daemon keeps.
pub struct Work {
    pub(crate) notes: Arc<Notes>,
    around: Arc<dyn Around>,
    beads: Arc<beads::Cache>,
}

/// The issue of a branch, if there is one.
#[derive(Debug)]
pub struct OfBranch {
    pub issue: Option<Issue>,
    /// What could be begun, where the branch names no issue.
    pub ready: Vec<Issue>,
    pub source: Source,
}

/// How many issues that are ready are named.
const READY: usize = 3;

/// What [`Work`] is made from.
pub struct WorkOptions {
    /// Where notes are kept: in the project's state directory.
    pub notes: PathBuf,
    /// Makes the directory above it.
    pub prepare: Box<dyn Fn() -> io::Result<()> + Send + Sync>,
    pub around: Arc<dyn Around>,
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
        let notes = Arc::new(Notes::new(options.notes, options.prepare));
        Arc::new(Work { notes, around: options.around, beads: Arc::default() })
    }

    /// Without a project: its tools are only declared.
    pub fn declared() -> Arc<Work> {
        let prepare = Box::new(|| Err(io::Error::other("the tools are only declared here")));
        Work::new(WorkOptions { notes: PathBuf::new(), prepare, around: Arc::new(NoOthers) })
    }

    /// The brief for this caller. The note in it is leased to the caller's run; see [`Work::heard_of`].
    pub async fn brief(&self, cx: &Context, caller: &Caller, moment: Moment) -> Brief {
        let (git, waiting) = tokio::join!(git::look(&caller.worktree, &caller.env), self.around.waiting(cx));
        let place = place_of(&git, caller);
        let OfBranch { issue, ready, source: _ } = self.issue(caller, &git, None).await;
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
        let known = Known { git, note, since, issue, ready, waiting, agents, now_ms: journal::now() };
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

    /// The brief for a run that begins, or has lost its memory, to be told unasked. With `needed`, only if there is a note
    /// for it or something waits.
    pub async fn brief_unasked(&self, cx: &Context, caller: &Caller, moment: Moment, needed: bool) -> Option<String> {
        if needed && self.notes.is_empty() && self.around.waiting(cx).await.is_empty() {
            return None;
        }
        let brief = self.brief(cx, caller, moment).await;
        let is_needed = brief.note.is_some() || !brief.waiting.is_empty();
        ((is_needed || !needed) && !brief.text.is_empty()).then_some(brief.text)
    }

    /// What was shown to this run last did not arrive.
    pub fn lost(&self, run: &str) {
        self.notes.lost(run);
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
        let git = git::look(&caller.worktree, &caller.env).await;
        let base = match &git {
            Ok(Git { base: Some(base), .. }) => {
                let commit =
                    asked(caller).git(&["rev-parse", "--verify", "--quiet", &format!("{base}^{{commit}}")]).await;
                commit.ok().map(|commit| String::from_utf8_lossy(commit.trim_ascii()).into_owned())
            }
            _ => None,
        };
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
        let git = git::look(&caller.worktree, &caller.env).await;
        let place = place_of(&git, caller);
        let notes = self.notes.of(&place)?;
        Ok((place, notes))
    }

    /// The issue of this id, or else of the branch.
    pub(crate) async fn issue(&self, caller: &Caller, git: &Result<Git, Source>, id: Option<&str>) -> OfBranch {
        let root = git.as_ref().map_or_else(|_| caller.worktree.clone(), |git| git.root.clone());
        let cache = self.beads.clone();
        let read = tokio::task::spawn_blocking(move || cache.read(&root)).await;
        let none = |source| OfBranch { issue: None, ready: Vec::new(), source };
        let (beads, source) = match read {
            Ok(beads::Found { beads: Some(beads), source }) => (beads, source),
            Ok(beads::Found { beads: None, source }) => return none(source),
            Err(error) => return none(Source::missing(State::Failed, error.to_string(), None)),
        };
        if let Some(id) = id {
            let source = match beads.issue(id) {
                Some(issue) => return OfBranch { issue: Some(issue), ready: Vec::new(), source },
                None => {
                    let near = nearest(id, beads.ids()).map(|near| format!("Did you mean {}?", project::visible(near)));
                    let detail = format!("there is no issue {}", project::visible(id));
                    Source::missing(State::Absent, detail, near.as_deref())
                }
            };
            return none(source);
        }
        let branch = git.as_ref().ok().and_then(|git| git.branch.as_deref());
        let named = branch.map_or_else(Vec::new, |branch| of_branch::candidates(branch, beads.ids()));
        match named.as_slice() {
            [id] => OfBranch { issue: beads.issue(id), ready: Vec::new(), source },
            [] => OfBranch {
                issue: None,
                ready: beads.ready(READY),
                source: Source::missing(
                    State::Absent,
                    "the branch names no issue",
                    Some("Give `issue`, or name branches bd-ID/slug."),
                ),
            },
            ids => {
                let ids: Vec<String> = ids.iter().map(|id| project::visible(id)).collect();
                let detail = format!("the branch names more than one issue: {}", ids.join(", "));
                none(Source::missing(State::Absent, detail, Some("Give one of them as `issue`.")))
            }
        }
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
async fn since(git: &Git, then: &str, caller: &Caller) -> Option<Since> {
    // It stands in a file, and goes to a command line.
    let then = then.chars().all(|c| c.is_ascii_hexdigit()).then_some(then)?;
    let range = format!("{then}..{}", git.base.as_deref()?);
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
