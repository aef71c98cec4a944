//! What is said of a worktree, in lines. What is as it should be takes none.

use std::fmt::Write;

use project::visible;

use crate::git::{Git, Operation, Worktree};
use crate::tracker::Issue;

/// How many folders are named.
const FOLDERS: usize = 6;

/// What matters of a worktree, the most urgent first.
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

/// An operation that is not finished.
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

/// Where HEAD is.
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

/// How the branch differs from those that it follows and goes back to.
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

/// How much is not finished.
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

/// The folders and files in which something has changed, those with the most changes first.
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
    let named = folders.iter().map(|(folder, count)| match folder.ends_with('/') {
        true => format!("{} ({count})", shortened(&visible(folder), 60)),
        false => shortened(&visible(folder), 60),
    });
    let mut named = named.collect::<Vec<_>>().join(", ");
    if more > 0 {
        let _ = write!(named, " and {more} more");
    }
    (!named.is_empty()).then(|| format!("changed: {named}"))
}

/// One of a repository's worktrees.
pub(crate) fn worktree(worktree: &Worktree) -> String {
    let branch = match (&worktree.branch, worktree.bare) {
        (_, true) => "bare".to_owned(),
        (Some(branch), _) => format!("branch {}", visible(branch)),
        (None, _) => "no branch (detached)".to_owned(),
    };
    let head =
        worktree.head.as_deref().map(|head| format!(" at {}", head.get(..9).unwrap_or(head))).unwrap_or_default();
    let locked = worktree.locked.as_ref().map_or("", |_| ", locked");
    let gone = if worktree.prunable { ", its directory is gone" } else { "" };
    format!("{}: {branch}{head}{locked}{gone}", project::visible::path(&worktree.path))
}

/// An issue, and what must be closed before it can be worked on.
pub(crate) fn issue(issue: &Issue) -> Vec<String> {
    let mut lines = vec![format!("issue {}", issue_line(issue))];
    lines.extend(issue.blockers().map(|blocker| {
        let title = blocker.title.as_deref().unwrap_or_default();
        format!("  waits for {} \"{}\"", visible(&blocker.id), shortened(&visible(title), 100))
    }));
    lines
}

/// An issue on one line.
pub(crate) fn issue_line(issue: &Issue) -> String {
    let title = shortened(&visible(&issue.title), 160);
    let [id, status, kind] = [&issue.id, &issue.status, &issue.issue_type].map(|text| shortened(&visible(text), 60));
    let priority = issue.priority.map(|priority| format!(", priority {priority}")).unwrap_or_default();
    format!("{id} {status}{priority}, {kind}: \"{title}\"")
}

/// The beginning of a text, which says that it was cut.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// A number of things.
pub(crate) fn counted(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// A time span in its greatest unit.
pub(crate) fn age(ms: u64) -> String {
    match ms / 1000 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds @ 7200..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}
