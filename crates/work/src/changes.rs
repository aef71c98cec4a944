//! Changes since a caller's last call: new commits on the base, its pull request, its issue.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Instant;

use parking_lot::Mutex;
use project::visible;
use schemars::JsonSchema;
use serde::Serialize;

use crate::git::Since;
use crate::pull::{Mergeable, Pull};
use crate::rendering::{self, counted};
use crate::tracker::Issue;
use crate::truncation::shortened;

/// The number of callers whose last calls are remembered.
const REMEMBERED: usize = 256;

/// A change since this caller's last call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Changed {
    /// `git`, `pull` or `issue`.
    pub part: &'static str,
    pub text: String,
}

/// A caller together with the branch that it asked about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Asker {
    /// The agent's run, or else its connection.
    pub who: String,
    pub worktree: PathBuf,
    pub branch: Option<String>,
}

/// The state at one call. A field is `None` if its state was unknown then.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    /// The base's name and commit.
    pub base: Option<(String, String)>,
    pub pull: Option<Option<Pull>>,
    pub issue: Option<Option<Issue>>,
}

/// The snapshots of each caller's last call.
#[derive(Default)]
pub(crate) struct LastCalls(Mutex<HashMap<Asker, (Snapshot, Instant)>>);

impl LastCalls {
    /// Stores this snapshot and returns the one of the previous call.
    pub(crate) fn replace(&self, asker: Asker, now: &Snapshot) -> Option<Snapshot> {
        let mut calls = self.0.lock();
        let then = calls.get(&asker).map(|(then, _)| then.clone());
        let mut now = now.clone();
        if let Some(then) = &then {
            // Keep the previous value of each field that is unknown this time.
            now.base = now.base.or_else(|| then.base.clone());
            now.pull = now.pull.or_else(|| then.pull.clone());
            now.issue = now.issue.or_else(|| then.issue.clone());
        }
        if calls.len() >= REMEMBERED && !calls.contains_key(&asker) {
            let oldest = calls.iter().min_by_key(|(_, (_, at))| *at).map(|(asker, _)| asker.clone());
            oldest.and_then(|oldest| calls.remove(&oldest));
        }
        calls.insert(asker, (now, Instant::now()));
        then
    }
}

/// Lists the differences; `news` holds the new commits on the base.
pub(crate) fn differences(then: &Snapshot, now: &Snapshot, news: Option<&Since>) -> Vec<Changed> {
    let mut changed = Vec::new();
    let mut add = |part, text: String| changed.push(Changed { part, text });
    if let (Some((name, _)), Some(news)) = (&now.base, news.filter(|news| news.count > 0)) {
        add("git", rendering::news(&visible(name), news));
    }
    if let (Some(then), Some(now)) = (&then.pull, &now.pull) {
        pull(then.as_ref(), now.as_ref()).into_iter().for_each(|text| add("pull", text));
    }
    if let (Some(then), Some(now)) = (&then.issue, &now.issue) {
        issue(then.as_ref(), now.as_ref()).into_iter().for_each(|text| add("issue", text));
    }
    changed
}

fn pull(then: Option<&Pull>, now: Option<&Pull>) -> Vec<String> {
    let (then, now) = match (then, now) {
        (None, None) => return Vec::new(),
        (Some(then), None) => return vec![format!("pull request #{} no longer exists", then.number)],
        (Some(then), Some(now)) if then.number == now.number => (then, now),
        (_, Some(now)) => return vec![format!("new pull request #{}: {}", now.number, now.url)],
    };
    let mut said = Vec::new();
    if then.state != now.state {
        said.push(format!("#{} is {}", now.number, now.state.word()));
    }
    if then.draft != now.draft {
        said.push((if now.draft { "it is a draft again" } else { "it is no longer a draft" }).to_owned());
    }
    if then.base != now.base {
        said.push(format!("its base is now {}", visible(&now.base)));
    }
    if then.review != now.review {
        said.push(rendering::review(now.review).unwrap_or("the review was dismissed").to_owned());
    }
    let checks = |pull: &Pull| pull.checks.as_ref().map(|checks| (checks.word(), checks.failing.clone()));
    if checks(then) != checks(now) {
        said.push(now.checks.as_ref().map_or_else(|| "it no longer has checks".to_owned(), rendering::checks));
    }
    let more = |then: u64, now: u64, what: &str| (now > then).then(|| format!("{} more", counted(now - then, what)));
    said.extend(more(then.reviews, now.reviews, "review"));
    said.extend(more(then.comments, now.comments, "comment"));
    if then.unresolved != now.unresolved {
        said.push(format!("{} not resolved, {} before", counted(now.unresolved, "thread"), then.unresolved));
    }
    if then.mergeable != now.mergeable && now.mergeable == Mergeable::Conflicts {
        said.push("it conflicts with its base".to_owned());
    }
    said
}

fn issue(then: Option<&Issue>, now: Option<&Issue>) -> Vec<String> {
    let (then, now) = match (then, now) {
        (None, None) => return Vec::new(),
        (Some(then), None) => return vec![format!("issue {} no longer exists", visible(&then.id))],
        (Some(then), Some(now)) if then.id == now.id => (then, now),
        (_, Some(now)) => return vec![format!("new issue {}", rendering::issue_line(now))],
    };
    let mut said = Vec::new();
    let shown = |text: &str| shortened(&visible(text), 100);
    let none = || "none".to_owned();
    let fields = [
        ("status", then.status.clone(), now.status.clone()),
        (
            "priority",
            then.priority.map_or_else(none, |it| it.to_string()),
            now.priority.map_or_else(none, |it| it.to_string()),
        ),
        ("assignee", then.assignee.clone().unwrap_or_else(none), now.assignee.clone().unwrap_or_else(none)),
        ("title", then.title.clone(), now.title.clone()),
    ];
    for (name, before, after) in fields.iter().filter(|(_, before, after)| before != after) {
        said.push(format!("{} {name}: {} before, now {}", visible(&now.id), shown(before), shown(after)));
    }
    if then.description != now.description {
        said.push(format!("the description of {} changed", visible(&now.id)));
    }
    if then.dependencies != now.dependencies {
        let blockers: Vec<String> = now.blockers().map(|blocker| visible(&blocker.id)).collect();
        said.push(if blockers.is_empty() {
            format!("{} is no longer blocked", visible(&now.id))
        } else {
            format!("{} waits for {}", visible(&now.id), blockers.join(", "))
        });
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pull::{Checks, PullState, Review};

    fn a_pull() -> Pull {
        Pull {
            number: 7,
            title: "Lists".to_owned(),
            url: "https://github.com/up/web/pull/7".to_owned(),
            state: PullState::Open,
            draft: true,
            base: "main".to_owned(),
            head: "topic".to_owned(),
            review: Review::None,
            checks: Some(Checks { pending: 2, ..Checks::default() }),
            unresolved: 0,
            threads_unseen: 0,
            comments: 1,
            reviews: 0,
            mergeable: Mergeable::Unknown,
            others: Vec::new(),
            closes: Vec::new(),
        }
    }

    #[test]
    fn a_pull_request_moves_on() {
        let then = a_pull();
        let failing = vec!["build".to_owned()];
        let now = Pull {
            draft: false,
            review: Review::ChangesRequested,
            checks: Some(Checks { failed: 1, passed: 1, failing, ..Checks::default() }),
            unresolved: 2,
            comments: 3,
            reviews: 1,
            mergeable: Mergeable::Conflicts,
            ..a_pull()
        };
        let said = pull(Some(&then), Some(&now));
        let expected = [
            "it is no longer a draft",
            "changes requested",
            "checks: 1 failed (build), 1 passed",
            "1 review more",
            "2 comments more",
            "2 threads not resolved, 0 before",
            "it conflicts with its base",
        ];
        assert_eq!(said, expected);
        assert!(pull(Some(&now), Some(&now)).is_empty() && pull(None, None).is_empty());
        assert_eq!(pull(Some(&now), Some(&Pull { state: PullState::Merged, ..now.clone() })), ["#7 is merged"]);
        assert_eq!(pull(None, Some(&now)), ["new pull request #7: https://github.com/up/web/pull/7"]);
    }

    #[test]
    fn what_is_not_known_this_time_is_as_it_was() {
        let calls = LastCalls::default();
        let asker = Asker { who: "run".to_owned(), worktree: PathBuf::from("/w"), branch: None };
        let known = Snapshot { pull: Some(Some(a_pull())), ..Snapshot::default() };
        assert!(calls.replace(asker.clone(), &known).is_none());
        assert!(calls.replace(asker.clone(), &Snapshot::default()).is_some());
        let then = calls.replace(asker, &known).unwrap();
        assert_eq!(then.pull, known.pull);
        assert!(differences(&then, &known, None).is_empty());
    }
}
