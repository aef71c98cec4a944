//! Renders the state of a worktree as lines of text. Omits everything that needs no attention.

use std::fmt::Write;

use project::visible;

use crate::git::{Git, Operation, Since, Worktree};
use crate::pull::{Checks, Mergeable, Pull, PullState, Review};
use crate::tracker::Issue;
use crate::truncation::shortened;

/// The limit of the list of folders.
const FOLDERS: usize = 6;

/// Renders the git state, most urgent first.
pub(crate) fn lines(git: &Git) -> Vec<String> {
    if git.bare {
        return Vec::new();
    }
    let mut lines: Vec<String> = git.operation.as_ref().map(operation).into_iter().collect();
    lines.push(at(git));
    lines.extend(compared(git));
    lines.extend(counts(git));
    for change in &git.changes {
        let from = change.renamed_from.as_deref().map(|from| format!(" from {}", visible(from))).unwrap_or_default();
        let kind = serde_json::to_value(change.kind).ok();
        let kind = kind.as_ref().and_then(|kind| kind.as_str()).unwrap_or_default();
        lines.push(format!("  {kind} {}{from}", visible(&change.path)));
    }
    lines
}

/// Renders an unfinished operation.
pub(crate) fn operation(operation: &Operation) -> String {
    let step = match (operation.step, operation.steps) {
        (Some(step), Some(steps)) => format!(" {step}/{steps}"),
        _ => String::new(),
    };
    let of = operation.branch.as_deref().map(|branch| format!(" of {}", visible(branch))).unwrap_or_default();
    let conflicts = match operation.conflicts {
        0 => "no conflicts".to_owned(),
        count => format!("{count} in conflict"),
    };
    format!("{}{step}{of} is not finished, {conflicts}", operation.kind.word())
}

/// Renders the branch and commit of HEAD.
pub(crate) fn at(git: &Git) -> String {
    let at = match (&git.head, &git.subject) {
        (Some(head), subject) => {
            let subject = subject.as_deref().map(|subject| format!(" \"{}\"", visible(subject))).unwrap_or_default();
            format!("at {}{subject}", head.get(..9).unwrap_or(head))
        }
        (None, _) => "without a commit".to_owned(),
    };
    let branch = git
        .branch
        .as_deref()
        .map_or_else(|| "no branch (detached)".to_owned(), |name| format!("branch {}", visible(name)));
    format!("{branch}, {at}")
}

/// Renders how the branch differs from its upstream and its base.
pub(crate) fn compared(git: &Git) -> Vec<String> {
    let mut lines = Vec::new();
    let compared = |name: &Option<String>, ahead: Option<u64>, behind: Option<u64>| match (name, ahead, behind) {
        (Some(name), Some(ahead), Some(behind)) if ahead + behind > 0 => {
            Some(format!("{ahead} ahead of {}, {behind} behind", visible(name)))
        }
        _ => None,
    };
    lines.extend(compared(&git.upstream, git.ahead, git.behind));
    if git.base != git.upstream {
        lines.extend(compared(&git.base, git.ahead_of_base, git.behind_base));
    }
    if let (Some(name), None) = (&git.upstream, git.ahead) {
        lines.push(format!("{} is gone", visible(name)));
    }
    lines
}

/// Renders the counts of unfinished changes.
pub(crate) fn counts(git: &Git) -> Option<String> {
    let counts = [
        (git.unpushed.unwrap_or_default(), "unpushed commits"),
        (git.stashes, "stashed"),
        (git.conflicted, "in conflict"),
        (git.staged, "staged"),
        (git.unstaged, "not staged"),
        (git.untracked, "untracked"),
    ];
    let counts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    (!counts.is_empty()).then(|| counts.join(", "))
}

/// Renders the folders and files with changes, those with the most changes first.
pub(crate) fn folders(git: &Git) -> Option<String> {
    let mut folders: Vec<(&str, usize)> = Vec::new();
    for change in &git.changes {
        let folder = change.path.rfind('/').map_or(change.path.as_str(), |end| &change.path[..=end]);
        match folders.iter_mut().find(|(known, _)| *known == folder) {
            Some((_, count)) => *count += 1,
            None => folders.push((folder, 1)),
        }
    }
    folders.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let more = folders.len().saturating_sub(FOLDERS);
    folders.truncate(FOLDERS);
    let named = folders.iter().map(|(folder, count)| {
        if folder.ends_with('/') {
            format!("{} ({count})", shortened(&visible(folder), 60))
        } else {
            shortened(&visible(folder), 60)
        }
    });
    let mut named = named.collect::<Vec<_>>().join(", ");
    if more > 0 {
        let _ = write!(named, " and {more} more");
    }
    (!named.is_empty()).then(|| format!("changed: {named}"))
}

/// Renders a worktree of the repository.
pub(crate) fn worktree(worktree: &Worktree, now_s: u64) -> String {
    let branch = match (&worktree.branch, worktree.bare) {
        (_, true) => "bare".to_owned(),
        (Some(branch), _) => format!("branch {}", visible(branch)),
        (None, _) => "no branch (detached)".to_owned(),
    };
    let mut line = format!("{}: {branch}", project::visible::path(&worktree.path));
    if let Some(head) = worktree.head.as_deref() {
        let _ = write!(line, " at {}", head.get(..9).unwrap_or(head));
    }
    if let Some(at) = worktree.head_at {
        let _ = write!(line, ", {} ago", age(now_s.saturating_sub(at) * 1000));
    }
    for (count, what) in [(worktree.changed, "changed"), (worktree.unpushed, "unpushed")] {
        if let Some(count @ 1..) = count {
            let _ = write!(line, ", {count} {what}");
        }
    }
    line += worktree.locked.as_ref().map_or("", |_| ", locked");
    line += if worktree.prunable { ", its directory is missing" } else { "" };
    if let Some(pull) = &worktree.pull {
        let _ = write!(line, ", pull request {pull}");
    }
    if !worktree.agents.is_empty() {
        let names =
            worktree.agents.iter().map(|agent| agent.name.as_deref().map_or_else(|| "an agent".to_owned(), visible));
        let _ = write!(line, ", with {}", names.collect::<Vec<_>>().join(", "));
    }
    line
}

/// Renders a pull request and its state.
pub(crate) fn pull(pull: &Pull) -> Vec<String> {
    let mut line = format!("pull request {}", pull_line(pull));
    if pull.state == PullState::Open {
        let conflicts = (pull.mergeable == Mergeable::Conflicts).then(|| "conflicts with its base".to_owned());
        let threads = (pull.unresolved > 0).then(|| format!("{} not resolved", counted(pull.unresolved, "thread")));
        let unseen =
            (pull.threads_unseen > 0).then(|| format!("{} not checked", counted(pull.threads_unseen, "more thread")));
        let checks = pull.checks.as_ref().map(checks);
        let review = review(pull.review).map(str::to_owned);
        for said in [conflicts, review, threads, unseen, checks].into_iter().flatten() {
            let _ = write!(line, "; {said}");
        }
    }
    let mut lines = vec![line, format!("  {}", visible(&pull.url))];
    for other in &pull.others {
        let (number, state, base) = (other.number, other.state.word(), visible(&other.base));
        lines.push(format!("  also #{number} {state}, into {base}: \"{}\"", shortened(&visible(&other.title), 100)));
    }
    lines
}

/// Renders a pull request on one line.
pub(crate) fn pull_line(pull: &Pull) -> String {
    let draft = if pull.draft && pull.state == PullState::Open { " draft" } else { "" };
    let (state, base) = (pull.state.word(), visible(&pull.base));
    format!("#{} {state}{draft}, into {base}: \"{}\"", pull.number, shortened(&visible(&pull.title), 160))
}

/// Renders the result of reviews; `None` if there are none.
pub(crate) fn review(review: Review) -> Option<&'static str> {
    match review {
        Review::Approved => Some("approved"),
        Review::ChangesRequested => Some("changes requested"),
        Review::Required => Some("a review is required"),
        Review::None => None,
    }
}

pub(crate) fn checks(checks: &Checks) -> String {
    let mut said = Vec::new();
    if checks.failed > 0 {
        let names: Vec<String> = checks.failing.iter().take(5).map(|name| shortened(&visible(name), 60)).collect();
        let more = if checks.failed > 5 { ", …" } else { "" };
        said.push(format!("{} failed ({}{more})", checks.failed, names.join(", ")));
    }
    for (count, what) in [(checks.pending, "pending"), (checks.passed, "passed"), (checks.unseen, "not checked")] {
        if count > 0 {
            said.push(format!("{count} {what}"));
        }
    }
    if checks.some_unseen_failed {
        said.push("some of which failed".to_owned());
    }
    format!("checks: {}", if said.is_empty() { "none".to_owned() } else { said.join(", ") })
}

/// Renders new commits of a branch.
pub(crate) fn news(name: &str, since: &Since) -> String {
    let subjects: Vec<String> =
        since.subjects.iter().map(|subject| format!("\"{}\"", shortened(&visible(subject), 72))).collect();
    let more = match since.count.saturating_sub(subjects.len() as u64) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("new on {name}: {}{more}", subjects.join(", "))
}

/// Renders an issue and its blockers.
pub(crate) fn issue(issue: &Issue) -> Vec<String> {
    let mut lines = vec![format!("issue {}", issue_line(issue))];
    lines.extend(issue.blockers().map(|blocker| {
        let title = blocker.title.as_deref().unwrap_or_default();
        format!("  waits for {} \"{}\"", visible(&blocker.id), shortened(&visible(title), 100))
    }));
    lines
}

/// Renders an issue on one line.
pub(crate) fn issue_line(issue: &Issue) -> String {
    let title = shortened(&visible(&issue.title), 160);
    let [id, status, kind] = [&issue.id, &issue.status, &issue.issue_type].map(|text| shortened(&visible(text), 60));
    let priority = issue.priority.map(|priority| format!(", priority {priority}")).unwrap_or_default();
    format!("{id} {status}{priority}, {kind}: \"{title}\"")
}

/// Renders a count with its noun.
pub(crate) fn counted(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// Renders a duration in its largest unit.
pub(crate) fn age(ms: u64) -> String {
    match ms / 1000 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds @ 7200..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}
