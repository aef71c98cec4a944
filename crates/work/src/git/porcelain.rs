//! Parsers for git's machine-readable formats: `status --porcelain=v2 -z` (git-status, "Porcelain Format Version 2"),
//! `worktree list --porcelain -z`, `config --list --show-scope -z`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{CHANGES_MAX, Git, Worktree, path, text};

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Change {
    /// The path, relative to the worktree. Invalid UTF-8 is replaced.
    pub path: String,
    pub kind: ChangeKind,
    /// True if the file has a staged change.
    pub staged: bool,
    /// True if the file has an unstaged change.
    pub unstaged: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    Conflicted,
    Added,
    Modified,
    Deleted,
    Renamed,
    Copied,
    /// The file type changed, for example from a file to a link.
    Retyped,
    Untracked,
}

/// Parses `status --porcelain=v2 --branch --show-stash -z`.
pub fn status(bytes: &[u8]) -> Git {
    let mut git = Git::default();
    let mut changes = Vec::new();
    let mut entries = bytes.split(|byte| *byte == 0);
    while let Some(entry) = entries.next() {
        let line = text(entry);
        let (kind, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match kind {
            "#" => header(&mut git, rest),
            "1" | "2" | "u" => {
                let from = if kind == "2" { entries.next().map(text) } else { None };
                changes.extend(tracked(kind, rest, from));
            }
            "?" => changes.push(Change {
                path: rest.to_owned(),
                kind: ChangeKind::Untracked,
                staged: false,
                unstaged: false,
                renamed_from: None,
            }),
            _ => {}
        }
    }
    let count = |is: &dyn Fn(&Change) -> bool| changes.iter().filter(|change| is(change)).count() as u64;
    git.staged = count(&|change| change.staged);
    git.unstaged = count(&|change| change.unstaged);
    git.conflicted = count(&|change| change.kind == ChangeKind::Conflicted);
    git.untracked = count(&|change| change.kind == ChangeKind::Untracked);
    git.files = changes.len() as u64;
    // Conflicts first, untracked files last; stable otherwise.
    changes.sort_by_key(|change| match change.kind {
        ChangeKind::Conflicted => 0,
        ChangeKind::Untracked => 2,
        _ => 1,
    });
    changes.truncate(CHANGES_MAX);
    git.changes = changes;
    git
}

fn header(git: &mut Git, rest: &str) {
    let Some((name, value)) = rest.split_once(' ') else { return };
    match name {
        "branch.oid" => git.head = (value != "(initial)").then(|| value.to_owned()),
        "branch.head" => {
            git.detached = value == "(detached)";
            git.branch = (!git.detached).then(|| value.to_owned());
        }
        "branch.upstream" => git.upstream = Some(value.to_owned()),
        "branch.ab" => {
            let (ahead, behind) = value.split_once(' ').unwrap_or_default();
            let number = |word: &str| word.get(1..)?.parse().ok();
            (git.ahead, git.behind) = (number(ahead), number(behind));
        }
        "stash" => git.stashes = value.parse().unwrap_or_default(),
        _ => {}
    }
}

/// Parses a line `XY sub mH mI mW hH hI path`. A renamed file has a score before the path, a conflict has more modes.
fn tracked(kind: &str, rest: &str, from: Option<String>) -> Option<Change> {
    let before_path = match kind {
        "1" => 7,
        "2" => 8,
        _ => 9,
    };
    let mut words = rest.splitn(before_path + 1, ' ');
    let state = words.next()?;
    let path = words.nth(before_path - 1)?.to_owned();
    let (x, y) = (state.chars().next()?, state.chars().nth(1)?);
    if kind == "u" {
        return Some(Change { path, kind: ChangeKind::Conflicted, staged: false, unstaged: false, renamed_from: None });
    }
    let of = |c| match c {
        'A' => ChangeKind::Added,
        'D' => ChangeKind::Deleted,
        'R' => ChangeKind::Renamed,
        'C' => ChangeKind::Copied,
        'T' => ChangeKind::Retyped,
        _ => ChangeKind::Modified,
    };
    // A file deleted from the worktree counts as deleted, whatever is staged.
    let kind = if y == 'D' || x == '.' { of(y) } else { of(x) };
    Some(Change { path, kind, staged: x != '.', unstaged: y != '.', renamed_from: from })
}

/// Parses `worktree list --porcelain -z`: NUL-terminated attributes, with an empty one after each worktree.
pub fn worktrees(bytes: &[u8]) -> Vec<Worktree> {
    let mut found: Vec<Worktree> = Vec::new();
    for entry in bytes.split(|byte| *byte == 0) {
        let space = entry.iter().position(|byte| *byte == b' ').unwrap_or(entry.len());
        let (name, value) = (&entry[..space], entry.get(space + 1..).unwrap_or_default());
        if name == b"worktree" {
            found.push(Worktree { path: path(value), ..Worktree::default() });
            continue;
        }
        let Some(worktree) = found.last_mut() else { continue };
        match name {
            b"HEAD" => worktree.head = Some(text(value)).filter(|head| head.bytes().any(|byte| byte != b'0')),
            b"branch" => worktree.branch = Some(text(value.strip_prefix(b"refs/heads/").unwrap_or(value))),
            b"bare" => worktree.bare = true,
            b"locked" => worktree.locked = Some(text(value)),
            b"prunable" => worktree.prunable = true,
            _ => {}
        }
    }
    found
}

/// Git's configuration, with the scope of each setting.
#[derive(Debug, Default)]
pub struct Config(Vec<(String, String, String)>);

impl Config {
    /// Parses `config --list --show-scope -z`: scope, NUL, name, newline, value, NUL.
    pub fn parse(bytes: &[u8]) -> Config {
        let mut words = bytes.split(|byte| *byte == 0);
        let mut entries = Vec::new();
        while let (Some(scope), Some(entry)) = (words.next(), words.next()) {
            let entry = text(entry);
            let (name, value) = entry.split_once('\n').unwrap_or((&entry, ""));
            entries.push((text(scope), name.to_owned(), value.to_owned()));
        }
        Config(entries)
    }

    /// Returns the value of a setting. The section and key of the name are in lower case, as git prints them.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(_, known, _)| known == name).map(|(.., value)| value.as_str())
    }

    /// Returns the settings whose names begin with `before` and end with `after`: the part between, and the value.
    pub fn named<'a>(&'a self, before: &'a str, after: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let middle = move |name: &'a str| name.strip_prefix(before)?.strip_suffix(after);
        self.0.iter().filter_map(move |(_, name, value)| Some((middle(name)?, value.as_str())))
    }

    /// Returns the settings of the repository's own configuration, which may come with a checkout.
    pub fn repository_settings(&self) -> impl Iterator<Item = (&str, &str)> {
        let is_own = |scope: &str| matches!(scope, "local" | "worktree");
        self.0.iter().filter(move |(scope, ..)| is_own(scope)).map(|(_, name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the names of the remotes.
    pub fn remotes(&self) -> impl Iterator<Item = &str> {
        self.named("remote.", ".url").map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_input_is_never_a_fault() {
        let mut random = testkit::Random::new(7);
        for _ in 0..20_000 {
            let parts = [
                "1 ",
                "2 ",
                "u ",
                "? ",
                "# ",
                "branch.ab +1 -2",
                "\0",
                "\n",
                " ",
                "A.",
                "locked",
                "worktree /",
                "é",
                "\x01",
            ];
            let text: String = (0..random.below(12)).map(|_| parts[random.below(parts.len())]).collect();
            let _ = (status(text.as_bytes()), worktrees(text.as_bytes()), Config::parse(text.as_bytes()));
        }
    }
}
