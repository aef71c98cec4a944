//! Finds the pull request of a branch, by one fixed query through `gh api graphql`.
//!
//! A pull request matches if its head has the branch's name and the repository that the branch is pushed to. hob searches
//! that repository and its parent. A branch of the same name in another fork does not match.

mod query;

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::gh::{Gh, Variable};
use crate::git::Git;
use crate::git::remote::{Address, Pushed};
use crate::network_cache::{Cache, Wish};
use crate::sources::{Source, State};
use crate::tracker::Issue;

/// The number of pages searched for pull requests from this repository among those of other forks.
const PAGES: usize = 5;
/// The timeout of a caller.
pub(crate) const WAIT: Duration = Duration::from_secs(5);

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Pull {
    pub number: u64,
    pub title: String,
    pub url: String,
    pub state: PullState,
    pub draft: bool,
    /// The target and source branches.
    pub base: String,
    pub head: String,
    pub review: Review,
    /// The checks; null if the commit has no checks.
    pub checks: Option<Checks>,
    /// The number of unresolved review threads.
    pub unresolved: u64,
    /// The number of further threads, whose state is unknown.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub threads_unseen: u64,
    pub comments: u64,
    pub reviews: u64,
    pub mergeable: Mergeable,
    /// Other pull requests of this branch.
    pub others: Vec<Other>,
    /// The issues that merging it closes.
    #[serde(skip)]
    pub closes: Vec<Issue>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PullState {
    Open,
    Merged,
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Review {
    Approved,
    ChangesRequested,
    /// A review is required but missing.
    Required,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mergeable {
    Yes,
    Conflicts,
    /// The server has not computed it yet.
    Unknown,
}

/// The checks of the last commit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Checks {
    pub passed: u64,
    pub failed: u64,
    pub pending: u64,
    /// The names of failed checks; at most 20.
    pub failing: Vec<String>,
    /// The number of further checks, which are not counted above.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub unseen: u64,
    /// True if one of the uncounted checks failed.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub some_unseen_failed: bool,
}

/// Another pull request of the same branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Other {
    pub number: u64,
    pub title: String,
    pub url: String,
    pub state: PullState,
    pub base: String,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl PullState {
    pub fn word(self) -> &'static str {
        match self {
            PullState::Open => "open",
            PullState::Merged => "merged",
            PullState::Closed => "closed",
        }
    }
}

impl Checks {
    /// Returns the worst state: `failed`, `pending` or `passed`.
    pub fn word(&self) -> &'static str {
        match self {
            checks if checks.failed > 0 || checks.some_unseen_failed => "failed",
            checks if checks.pending > 0 => "pending",
            _ => "passed",
        }
    }
}

/// The cache of pull requests.
#[derive(Default)]
pub(crate) struct Pulls(Arc<Cache<Key, Lookup>>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    pushed: Pushed,
    commit: Option<String>,
    login: Vec<(String, String)>,
}

#[derive(Clone)]
struct Lookup {
    pull: Option<Pull>,
    /// The reason, if there is no pull request.
    why: String,
}

impl Pulls {
    /// Returns the pull request of the current branch.
    pub(crate) async fn get(&self, git: &Git, gh: &Gh, wish: Wish) -> (Option<Pull>, Source) {
        let (pushed, address) = match push_target(git, gh) {
            Ok(place) => place,
            Err(source) => return (None, source),
        };
        let key = Key { pushed: pushed.clone(), commit: git.head.clone(), login: gh.login() };
        let (found, source) = self.0.get(key, wish, || ask(gh.clone(), pushed.clone(), address.clone())).await;
        match found {
            Some(Lookup { pull: None, why }) if source.state == State::Ok => {
                (None, Source { state: State::Absent, detail: Some(why), ..source })
            }
            Some(Lookup { pull, .. }) => (pull, source),
            None => (None, source),
        }
    }

    /// Returns the cached pull request, without a query.
    pub(crate) fn peek(&self, git: &Git, gh: &Gh) -> Option<Pull> {
        let (pushed, _) = push_target(git, gh).ok()?;
        self.0.peek(&Key { pushed: pushed.clone(), commit: git.head.clone(), login: gh.login() })?.pull
    }
}

/// Returns the push target on a server that may be queried, or the reason why not.
fn push_target<'a>(git: &'a Git, gh: &Gh) -> Result<(&'a Pushed, &'a Address), Source> {
    let absent = |detail: &str, next: Option<&str>| Source::missing(State::Absent, detail, next);
    let Some(branch) = git.work_branch() else {
        return Err(absent("HEAD is detached", Some("`git switch BRANCH` checks out a branch.")));
    };
    let Some(pushed) = &git.pushed else {
        return Err(absent("no remote is configured", Some("`git remote add origin ADDRESS` adds one.")));
    };
    let Some(address) = &pushed.address else {
        let remote = project::visible(&pushed.remote);
        return Err(absent(&format!("the remote {remote} is not a GitHub repository"), None));
    };
    if let Some(source) = gh.refuses(&address.host) {
        return Err(source);
    }
    if git.head.is_none() {
        return Err(absent(&format!("the branch {} has no commit", project::visible(branch)), None));
    }
    Ok((pushed, address))
}

async fn ask(gh: Gh, pushed: Pushed, address: Address) -> Result<Lookup, Source> {
    let (query, by_number) = (query::text(), pushed.pull.is_some());
    let mut pulls = Vec::new();
    let (mut after, mut after_in_parent) = (None::<String>, None::<String>);
    let cursor = |after: &Option<String>| after.clone();
    let mut unseen = 0;
    for page in 0..PAGES {
        let (own, parent) = (cursor(&after), cursor(&after_in_parent));
        let variables = [
            ("owner", Variable::Text(&address.owner)),
            ("name", Variable::Text(&address.name)),
            ("head", Variable::Text(&pushed.head)),
            ("after", own.as_deref().map_or(Variable::Null, Variable::Text)),
            ("afterInParent", parent.as_deref().map_or(Variable::Null, Variable::Text)),
            ("number", Variable::Number(pushed.pull.unwrap_or_default())),
            ("byNumber", Variable::Flag(by_number)),
        ];
        let data = gh.graphql(&address.host, &query, &variables).await?;
        let found = query::read(&data, by_number);
        let Some(repository) = &found.repository else {
            let name = format!("{}/{}", address.owner, address.name);
            return Err(Source::missing(
                State::Failed,
                format!("{} has no repository {name}, or gh's login may not read it", address.host),
                Some(&format!("`gh auth status` shows your login; `gh repo view {name}` tests access.")),
            ));
        };
        let before = (page * query::PAGE) as u64;
        pulls.extend(found.pulls);
        (after, after_in_parent) = (found.after, found.after_in_parent);
        let is_last = after.is_none() && after_in_parent.is_none();
        if is_last || !pulls.is_empty() {
            unseen = 0;
            break;
        }
        tracing::debug!(repository, before, "pull requests of other forks only");
        unseen = found.of_that_name.saturating_sub(before + query::PAGE as u64);
    }
    let head = project::visible(&pushed.head);
    let why = match unseen {
        0 => format!("no pull request from {head}"),
        more => format!(
            "no pull request from {head} among the latest of that name; {more} more of other forks were not checked"
        ),
    };
    // The same pull request appears twice if the fork and its parent both have that number.
    pulls.dedup_by(|one, other| one.url == other.url);
    Ok(Lookup { pull: query::chosen(pulls), why })
}
