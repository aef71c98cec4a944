//! [`Work`]: the state of this part of the daemon, and the operations that need only that state.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use project::Caller;
use project::dashboard::WorkRow;

use crate::changes::LastCalls;
use crate::git::Git;
use crate::notes::{Note, NoteTarget, Notes};
use crate::other_parts::OtherParts;
use crate::pull::Pulls;
use crate::rule_facts::Facts;
use crate::settings::WorkSettings;
use crate::shared_queries::{Looks, Syncs};
use crate::sources::Source;
use crate::tracker::Trackers;

/// The state of this part of the daemon.
pub struct Work {
    pub(crate) notes: Arc<Notes>,
    pub(crate) around: OtherParts,
    pub(crate) settings: WorkSettings,
    pub(crate) looks: Arc<Looks>,
    pub(crate) trackers: Trackers,
    pub(crate) pulls: Pulls,
    pub(crate) last_calls: LastCalls,
    pub(crate) facts: Arc<Facts>,
    pub(crate) syncs: Syncs,
}

/// Options of [`Work`].
pub struct WorkOptions {
    /// The directory of the notes, inside the project's state directory.
    pub notes: PathBuf,
    /// Creates the parent of that directory.
    pub prepare: Box<dyn Fn() -> io::Result<()> + Send + Sync>,
    pub around: OtherParts,
    pub settings: WorkSettings,
}

impl Work {
    pub fn new(options: WorkOptions) -> Arc<Work> {
        let WorkOptions { notes, prepare, around, settings } = options;
        Arc::new(Work {
            notes: Arc::new(Notes::new(notes, prepare)),
            around,
            settings,
            looks: Arc::default(),
            trackers: Trackers::default(),
            pulls: Pulls::default(),
            last_calls: LastCalls::default(),
            facts: Arc::default(),
            syncs: Syncs::default(),
        })
    }

    /// Creates an instance without a project, which serves only to list the tools.
    pub fn declared() -> Arc<Work> {
        let prepare = Box::new(|| Err(io::Error::other("the tools are only declared here")));
        let settings = WorkSettings::default();
        Work::new(WorkOptions { notes: PathBuf::new(), prepare, around: OtherParts::default(), settings })
    }

    /// Records that the last answer to this run was lost.
    pub fn record_lost_answer(&self, run: &str) {
        self.notes.record_lost_answer(run);
    }

    /// Confirms delivery: the run made a new call or sent an event (`by_a_new_call`), or another result was sent to it. So
    /// everything shown to it before has arrived.
    pub fn confirm_delivery(&self, caller: &Caller, by_a_new_call: bool) {
        self.notes.confirm_delivery(caller, by_a_new_call);
    }

    /// Keeps a note for the caller's branch, and returns how many notes the branch has.
    ///
    /// # Errors
    /// Returns an error if the note cannot be written.
    pub(crate) async fn keep(&self, caller: &Caller, text: &str) -> io::Result<(NoteTarget, usize)> {
        let git = self.query_git(caller).await;
        let base = git.as_ref().ok().and_then(|git| git.base_commit.clone());
        let place = place_of(&git, caller);
        let (notes, caller, text) = (self.notes.clone(), caller.clone(), text.to_owned());
        let write = tokio::task::spawn_blocking(move || {
            let count = notes.keep(&place, &caller, &text, base)?;
            Ok((place, count))
        });
        write.await.map_err(io::Error::other)?
    }

    /// Returns the notes for the caller's branch, oldest first.
    ///
    /// # Errors
    /// Returns an error if they cannot be read.
    pub(crate) async fn notes_of(&self, caller: &Caller) -> io::Result<(NoteTarget, Vec<Note>)> {
        let git = self.query_git(caller).await;
        let place = place_of(&git, caller);
        let notes = self.notes.read(&place)?;
        Ok((place, notes))
    }

    /// Returns a fact about a worktree, or `None` if it is unknown or takes longer than 50 ms. `env` is used to find git if
    /// the worktree has not been queried yet.
    pub async fn fact(
        &self,
        name: &str,
        worktree: &Path,
        env: impl FnOnce() -> BTreeMap<String, String>,
    ) -> Option<String> {
        self.facts.fact(name, worktree, env, &self.looks, self.settings.base.as_deref()).await
    }

    /// Returns the rows of these worktrees and of those that agents asked about, as last known. Git is asked in the
    /// background, with this environment.
    pub fn rows(&self, worktrees: Vec<PathBuf>, env: impl Fn() -> BTreeMap<String, String>) -> Vec<WorkRow> {
        self.facts.rows(worktrees, env, &self.looks, self.settings.base.as_deref())
    }

    /// Queries git about the caller's worktree.
    pub(crate) async fn query_git(&self, caller: &Caller) -> Result<Git, Source> {
        self.looks.query(caller.worktree.clone(), &caller.env, self.settings.base.as_deref()).await
    }
}

pub(crate) fn place_of(git: &Result<Git, Source>, caller: &Caller) -> NoteTarget {
    let git = git.as_ref().ok();
    match (git.and_then(Git::work_branch), git) {
        (Some(branch), _) => NoteTarget::Branch(branch.to_owned()),
        (None, Some(Git { root, bare: false, .. })) => NoteTarget::Directory(root.clone()),
        _ => NoteTarget::Directory(caller.worktree.clone()),
    }
}
