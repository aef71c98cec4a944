//! Chooses the issue: the requested one, else `HOB_ISSUE`, else the one that the branch names, else the one that its pull
//! request closes. If two issues match, both are named and neither is chosen.

use std::path::PathBuf;
use std::sync::Arc;

use mcp::tool::nearest;
use project::visible;

use super::beads::{self, Beads};
use super::branch_issue::{self, Pattern};
use super::program::{Listing, Programs};
use super::{Issue, github};
use crate::gh::Gh;
use crate::git::Git;
use crate::git::remote::Address;
use crate::network_cache::Wish;
use crate::run::Runner;
use crate::sources::{Source, State};

/// The limit of the list of ready issues.
const READY: usize = 3;

/// The caches of all trackers.
#[derive(Default)]
pub(crate) struct Trackers {
    beads: Arc<beads::Cache>,
    programs: Programs,
    github: github::Issues,
}

/// The issues of the repository, by the file or by the tracker's program.
enum LocalIssues {
    File(Arc<Beads>),
    Program(Arc<Listing>),
}

impl LocalIssues {
    fn ids(&self) -> Vec<&str> {
        match self {
            LocalIssues::File(beads) => beads.ids().collect(),
            LocalIssues::Program(listing) => listing.ids().collect(),
        }
    }

    /// Returns an issue by id, and its source; `source` is that of the whole list.
    async fn issue(&self, asked: &Runner<'_>, id: &str, source: &Source) -> Option<(Option<Issue>, Source)> {
        match self {
            LocalIssues::File(beads) => beads.issue(id).map(|issue| (Some(issue), source.clone())),
            LocalIssues::Program(listing) => match listing.issue(asked, id).await {
                Ok(issue) => issue.map(|issue| (Some(issue), source.clone())),
                Err(source) => Some((None, source)),
            },
        }
    }

    async fn ready(&self, asked: &Runner<'_>) -> Vec<Issue> {
        match self {
            LocalIssues::File(beads) => beads.ready(READY),
            LocalIssues::Program(listing) => listing.ready(asked, READY).await,
        }
    }
}

/// A query for an issue.
pub(crate) struct Question<'a> {
    /// The worktree's directory.
    pub root: PathBuf,
    /// The requested id, and the value of `HOB_ISSUE`.
    pub id: Option<&'a str>,
    pub variable: Option<&'a str>,
    pub git: Option<&'a Git>,
    pub patterns: &'a [Pattern],
    pub gh: &'a Gh,
    pub wish: Wish,
}

/// The issue of a branch, if there is one.
#[derive(Debug)]
pub(crate) struct Answer {
    pub issue: Option<Issue>,
    /// Issues that are ready to start, if the branch names no issue.
    pub ready: Vec<Issue>,
    pub source: Source,
    /// True if nothing names an issue; then a pull request may.
    pub is_unnamed: bool,
}

impl Answer {
    fn none(source: Source) -> Answer {
        Answer { issue: None, ready: Vec::new(), source, is_unnamed: false }
    }

    /// Returns the issue that the pull request closes, if nothing else names one.
    pub(crate) fn or_closed_by(self, number: u64, closes: &[Issue], of_pull: &Source) -> Answer {
        if !self.is_unnamed {
            return self;
        }
        match closes {
            [] => self,
            [issue] => Answer { issue: Some(issue.clone()), ..Answer::none(of_pull.clone()) },
            several => Answer::none(ambiguous(
                &format!("the pull request #{number} closes"),
                several.iter().map(|issue| issue.id.clone()),
            )),
        }
    }
}

impl Trackers {
    pub(crate) async fn issue(&self, question: Question<'_>) -> Answer {
        let asked = Runner { directory: &question.root, env: &question.gh.env };
        let (known, source) = self.read_local(&asked).await;
        if let Some(id) = question.id {
            return self.of_id(id, "", &question, known.as_ref(), source).await;
        }
        if let Some(id) = question.variable.filter(|id| !id.is_empty()) {
            return self.of_id(id, "HOB_ISSUE: ", &question, known.as_ref(), source).await;
        }
        let branch = question.git.and_then(|git| git.work_branch()).unwrap_or_default();
        let ids = known.as_ref().map_or_else(Vec::new, LocalIssues::ids);
        let named = branch_issue::candidates(branch, question.patterns, ids.into_iter());
        let address = address(&question);
        let numbers = address.map_or_else(Vec::new, |_| branch_issue::numbers(branch, question.patterns));
        match (named.as_slice(), numbers.as_slice(), address, &known) {
            ([id], [], _, Some(known)) => match known.issue(&asked, id, &source).await {
                Some((issue, source)) => Answer { issue, ..Answer::none(source) },
                None => Answer::none(source),
            },
            ([], [number], Some(address), _) => {
                let (issue, source) = self.github.get(address, *number, question.gh, question.wish).await;
                // A number in a branch name may mean anything.
                let is_unnamed = issue.is_none() && source.state == State::Absent;
                Answer { issue, is_unnamed, ..Answer::none(source) }
            }
            ([], [], ..) => {
                let ready = match &known {
                    Some(known) => known.ready(&asked).await,
                    None => Vec::new(),
                };
                let next = match address {
                    Some(_) => "Give `issue`, or name branches gh-NUMBER/slug or bd-ID/slug.",
                    None => "Give `issue`, or name branches bd-ID/slug.",
                };
                let source = if known.is_some() || (address.is_some() && source.state == State::Absent) {
                    Source::missing(State::Absent, "the branch names no issue", Some(next))
                } else {
                    source
                };
                Answer { ready, is_unnamed: true, ..Answer::none(source) }
            }
            (ids, numbers, ..) => {
                let ids = ids.iter().map(|id| (*id).to_owned());
                Answer::none(ambiguous(
                    "the branch names",
                    ids.chain(numbers.iter().map(|number| format!("#{number}"))),
                ))
            }
        }
    }

    /// Reads the issues of the repository, from the file unless the tracker's program has more recent data.
    async fn read_local(&self, asked: &Runner<'_>) -> (Option<LocalIssues>, Source) {
        let (cache, root) = (self.beads.clone(), asked.directory.to_owned());
        let read = tokio::task::spawn_blocking(move || cache.read(&root)).await;
        let found = match read {
            Ok(found) => found,
            Err(error) => return (None, Source::missing(State::Failed, error.to_string(), None)),
        };
        let by_file = found.beads.map(LocalIssues::File);
        let Some((folder, written)) = found.folder.filter(|_| found.source.state != State::Ok) else {
            return (by_file, found.source);
        };
        match self.programs.listing(asked, &folder, written).await {
            Some(Ok(listing)) => {
                let source = listing.source();
                (Some(LocalIssues::Program(listing)), source)
            }
            Some(Err(source)) if by_file.is_none() => (None, source),
            _ => (by_file, found.source),
        }
    }

    /// Finds an issue by id; `who` says where the id comes from, for errors.
    async fn of_id(
        &self,
        id: &str,
        who: &str,
        question: &Question<'_>,
        known: Option<&LocalIssues>,
        source: Source,
    ) -> Answer {
        let asked = Runner { directory: &question.root, env: &question.gh.env };
        if let Some(known) = known
            && let Some((issue, source)) = known.issue(&asked, id, &source).await
        {
            return Answer { issue, ..Answer::none(source) };
        }
        let digits = ["#", "gh-", "issue-"].iter().find_map(|mark| id.strip_prefix(mark)).unwrap_or(id);
        if let (Some(address), Ok(number)) = (address(question), digits.parse::<u64>()) {
            let (issue, source) = self.github.get(address, number, question.gh, question.wish).await;
            return Answer { issue, ..Answer::none(source) };
        }
        let Some(known) = known else {
            let detail = format!("{who}{}", source.detail.as_deref().unwrap_or_default());
            return Answer::none(Source { detail: Some(detail), ..source });
        };
        let near = nearest(id, known.ids()).map(|near| format!("Did you mean {}?", visible(near)));
        let detail = format!("{who}unknown issue {}", visible(id));
        Answer::none(Source::missing(State::Absent, detail, near.as_deref()))
    }
}

/// Returns the GitHub repository of this branch, to which issue numbers refer.
fn address<'a>(question: &Question<'a>) -> Option<&'a Address> {
    let address = question.git?.pushed.as_ref()?.address.as_ref()?;
    question.gh.refuses(&address.host).is_none().then_some(address)
}

fn ambiguous(what: &str, ids: impl Iterator<Item = String>) -> Source {
    let ids: Vec<String> = ids.map(|id| visible(&id)).collect();
    let detail = format!("{what} more than one issue: {}", ids.join(", "));
    Source::missing(State::Absent, detail, Some("Give one of them as `issue`."))
}
