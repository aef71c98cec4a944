//! The lines that differ between two states of a worktree's files, for questions about a change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::run::Runner;

/// Changed lines of a file, in its new state. A deletion is the line before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedLines {
    /// Relative to the top of the worktree.
    pub path: PathBuf,
    pub first: usize,
    pub last: usize,
}

/// Returns the changed lines: `working` (not committed), `staged`, or between two commits (`BASE..HEAD`).
///
/// # Errors
/// If `diff` is invalid, or if git does not answer; with the reason.
pub async fn changed_lines(
    worktree: &Path,
    env: &BTreeMap<String, String>,
    diff: &str,
) -> Result<Vec<ChangedLines>, String> {
    let range = match diff {
        "working" => vec!["HEAD"],
        "staged" => vec!["--cached", "HEAD"],
        commits => match commits.split_once("..") {
            Some((base, head)) if is_commit(base) && is_commit(head) => vec![base, head],
            _ => return Err(format!("invalid `diff` `{diff}`; use `working`, `staged` or `BASE..HEAD`")),
        },
    };
    let fixed =
        ["-c", "core.quotePath=false", "diff", "-U0", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames"];
    let prefixes = ["--src-prefix=a/", "--dst-prefix=b/"];
    let args: Vec<&str> = fixed.into_iter().chain(prefixes).chain(range).chain(["--"]).collect();
    let runner = Runner { directory: worktree, env };
    let why = |no: crate::run::NoAnswer| {
        let detail = no.0.detail.unwrap_or_else(|| "git did not answer".to_owned());
        no.0.next.map_or(detail.clone(), |next| format!("{detail}; {}", next.trim_end_matches('.')))
    };
    let repository = runner.repository().await.map_err(why)?;
    let reader = runner.reader(&repository).map_err(why)?;
    let unread = |no| {
        let why = why(no);
        let why = why.trim_start_matches("fatal: ");
        format!("git cannot read the diff: {why}; use `working`, `staged` or BASE..HEAD with existing commits")
    };
    Ok(parse(&reader.git(&args).await.map_err(unread)?))
}

/// True for a commit as a person writes it; it cannot be an option.
fn is_commit(text: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "._/~^@{}-".contains(c);
    !text.is_empty() && !text.starts_with(['-', '.']) && text.chars().all(is_of_name)
}

/// Parses a diff without context. Skips deleted files, and names that git quotes.
fn parse(diff: &[u8]) -> Vec<ChangedLines> {
    let diff = String::from_utf8_lossy(diff);
    let mut lines = diff.lines();
    let (mut path, mut found): (Option<&str>, Vec<ChangedLines>) = Default::default();
    while let Some(line) = lines.next() {
        if let Some(new) = line.strip_prefix("+++ ") {
            path = new.strip_prefix("b/").map(|path| path.trim_end_matches('\t'));
        } else if let Some((old, new)) = line.strip_prefix("@@ ").and_then(hunk) {
            // The contents may look like headers.
            for _ in 0..old.1 + new.1 {
                lines.next();
            }
            let (first, count) = (new.0.max(1), new.1.max(1));
            found.extend(path.map(|path| ChangedLines { path: path.into(), first, last: first + count - 1 }));
        }
    }
    found
}

/// Parses `-1,2 +3,4 @@`: the first lines and the numbers of lines.
fn hunk(text: &str) -> Option<((usize, usize), (usize, usize))> {
    let (old, rest) = text.strip_prefix('-')?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let range = |text: &str| match text.split_once(',') {
        Some((first, count)) => Some((first.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    };
    Some((range(old)?, range(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_that_look_like_headers_are_contents() {
        let diff = "--- a/a.rs\n+++ b/a.rs\n@@ -2 +2,2 @@ fn a()\n-one\n+++ b/other.rs\n+@@ -1 +1 @@\n@@ -9,2 +10,0 @@\n-x\n-y\n\
                    --- a/gone.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-z\n";
        let found: Vec<String> = parse(diff.as_bytes())
            .iter()
            .map(|one| format!("{} {}-{}", one.path.display(), one.first, one.last))
            .collect();
        assert_eq!(found, ["a.rs 2-3", "a.rs 10-10"]);
    }

    #[test]
    fn an_option_is_not_a_commit() {
        for text in ["HEAD~2", "origin/main", "v1.0^", "@{u}", "0a1b"] {
            assert!(is_commit(text), "{text}");
        }
        for text in ["", "-p", "--output=x", "a b", ".", "a;b"] {
            assert!(!is_commit(text), "{text}");
        }
    }
}
