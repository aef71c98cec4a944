//! The lines that differ between two states of a worktree's files, for questions about a change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::run::Runner;

/// The difference between two states.
#[derive(Debug, Default)]
pub struct Difference {
    pub changed: Vec<ChangedLines>,
    /// The names of definitions in removed lines of code that no added line defines.
    pub removed: Vec<String>,
}

/// Changed lines of a file, in its new state. A deletion counts as the line before it; that of a whole definition does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedLines {
    /// Relative to the top of the worktree.
    pub path: PathBuf,
    pub first: usize,
    pub last: usize,
}

/// Returns the difference: `working` (not committed), `staged`, or between two commits (`BASE..HEAD`).
///
/// # Errors
/// If `diff` is invalid, or if git does not answer; with the reason.
pub async fn changed_lines(worktree: &Path, env: &BTreeMap<String, String>, diff: &str) -> Result<Difference, String> {
    let range = match diff {
        "working" => vec!["HEAD"],
        "staged" => vec!["--cached", "HEAD"],
        commits => match commits.split_once("..") {
            Some((base, head)) if is_commit(base) && is_commit(head) => vec![base, head],
            _ => return Err(format!("invalid `diff` `{diff}`; use `working`, `staged` or `BASE..HEAD`")),
        },
    };
    let fixed =
        ["-c", "core.quotePath=false", "diff", "-U0", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames"];
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

/// Parses a diff without context. Skips names that git quotes.
fn parse(diff: &[u8]) -> Difference {
    let diff = String::from_utf8_lossy(diff);
    let mut lines = diff.lines();
    let (mut path, mut is_code, mut found, mut added): (Option<&str>, bool, Difference, BTreeSet<&str>) =
        Default::default();
    while let Some(line) = lines.next() {
        if let Some(old) = line.strip_prefix("--- ") {
            is_code = is_of_code(old);
        } else if let Some(new) = line.strip_prefix("+++ ") {
            path = new.strip_prefix("b/").map(|path| path.trim_end_matches('\t'));
        } else if let Some((old, new)) = line.strip_prefix("@@ ").and_then(hunk) {
            // The contents may look like headers. `\ No newline at end of file` is not one of them.
            let contents = lines.by_ref().filter(|line| !line.starts_with('\\'));
            let contents: Vec<&str> = contents.take(old.1 + new.1).collect();
            let removed = contents.iter().filter_map(|line| line.strip_prefix('-'));
            let removed: Vec<&str> = removed.filter(|line| is_code && !line.trim().is_empty()).collect();
            let first_code = removed.iter().find(|line| !line.trim_start().starts_with(['@', '#', '/', '*', '-']));
            let is_whole = new.1 == 0 && first_code.is_some_and(|line| defined_name(line).is_some());
            let names = removed.into_iter().filter_map(defined_name);
            found.removed.extend(names.filter(|name| !name.to_lowercase().starts_with("test")).map(str::to_owned));
            added.extend(contents.iter().filter_map(|line| line.strip_prefix('+')).filter_map(defined_name));
            let (first, count) = (new.0.max(1), new.1.max(1));
            let changed = path.filter(|_| !is_whole);
            found.changed.extend(changed.map(|path| ChangedLines {
                path: path.into(),
                first,
                last: first + count - 1,
            }));
        }
    }
    found.removed.retain(|name| !added.contains(name.as_str()));
    found.removed.sort();
    found.removed.dedup();
    found
}

fn is_of_code(path: &str) -> bool {
    let extension = path.trim_end_matches('\t').rsplit('.').next().unwrap_or_default();
    CODE.split(' ').any(|one| one == extension)
}

/// The extensions of files whose definitions begin with a keyword.
const CODE: &str = "rs py pyi ts tsx mts js jsx mjs go hs c h cc cpp hpp";
/// Words before a keyword, and keywords before a name.
const MODIFIERS: &str =
    "pub crate super async unsafe extern export default abstract public private protected static declare";
const KEYWORDS: &str = "fn def class struct enum trait type interface function func data newtype const";

/// Returns the name that a line of code defines, if the line begins with a keyword.
fn defined_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    // The receiver of a method in Go.
    let line = line.strip_prefix("func (").map_or(line, |rest| rest.split_once(')').map_or(rest, |(_, rest)| rest));
    let is_method = line.starts_with(' ');
    let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let is_among = |all: &str, word: &str| all.split(' ').any(|one| one == word);
    match words.find(|word| !is_among(MODIFIERS, word))? {
        word if is_method => Some(word),
        word if is_among(KEYWORDS, word) && line.starts_with(char::is_alphabetic) => words.next(),
        _ => None,
    }
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
            .changed
            .iter()
            .map(|one| format!("{} {}-{}", one.path.display(), one.first, one.last))
            .collect();
        assert_eq!(found, ["a.rs 2-3", "a.rs 10-10"]);
    }

    #[test]
    fn removed_and_renamed_definitions_are_named() {
        let diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-def twice(a):\n+def twofold(a):\n@@ -5 +5 @@\n-def kept(a):\n+def kept(a, b):\n\
                    @@ -9,4 +8,0 @@\n-@cached\n-def gone():\n-    return 1\n-def test_gone(): pass\n@@ -20 +15,0 @@\n-    statement()\n\
                    --- a/b.go\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-func (s *Shape) Area() int {\n-// type is a word\n\
                    --- a/c.rs\n+++ b/c.rs\n@@ -1 +0,0 @@\n-    pub(crate) async fn old<T>() {\n--- a/d.md\n+++ b/d.md\n@@ -1 +0,0 @@\n-type of text\n\
                    --- a/e.py\n+++ b/e.py\n@@ -1 +1 @@\n-def same(): pass\n\\ No newline at end of file\n+def same(a): pass\n";
        let found = parse(diff.as_bytes());
        assert_eq!(found.removed, ["Area", "gone", "old", "twice"]);
        let changed: Vec<String> =
            found.changed.iter().map(|one| format!("{} {}", one.path.display(), one.first)).collect();
        assert_eq!(changed, ["a.py 1", "a.py 5", "a.py 15", "d.md 1", "e.py 1"]);
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
