//! Reads issues from a tracker's program (`bd`, `br`) if the file in the repository is missing or older than the database.
//!
//! These programs may import, export and migrate during a query. So hob reads their help and passes each option that
//! prevents writing. The answers are cached until the database changes.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use process::{AnswerError, Bounds};
use project::visible;
use serde::Deserialize;

use super::{Issue, Related};
use crate::run::{OF_TRACKERS, Runner};
use crate::sources::{Source, State};

/// The programs; the first installed one is used.
const PROGRAMS: &[&str] = &["bd", "br"];
/// Options that prevent writing, if the program supports them.
const QUIET: &[&str] = &["--readonly", "--no-auto-import", "--no-auto-flush", "--no-daemon", "--allow-stale"];
/// Limits of one command.
const BOUNDS: Bounds = Bounds { deadline: Duration::from_secs(5), stdout: 64 << 20, stderr: 4096 };
/// The number of repositories whose issues are cached.
const KEPT: usize = 8;

/// The cache of listings.
#[derive(Default)]
pub(crate) struct Programs(Mutex<HashMap<PathBuf, (Stamp, Arc<Listing>)>>);

/// The modification time of the database, and the `PATH` of the caller.
type Stamp = (Option<SystemTime>, Option<String>);

/// The issues that a program lists.
#[derive(Debug)]
pub(crate) struct Listing {
    program: &'static str,
    options: Vec<&'static str>,
    issues: BTreeMap<String, ListedIssue>,
    /// Issues that were queried one by one.
    whole: Mutex<HashMap<String, Issue>>,
}

/// An issue as printed by `list --json` and `show --json`.
#[derive(Debug, Clone, Deserialize)]
struct ListedIssue {
    id: String,
    title: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    priority: Option<u8>,
    #[serde(default)]
    issue_type: Option<String>,
    #[serde(default)]
    assignee: Option<String>,
    #[serde(default)]
    created_at: Option<String>,
    #[serde(default)]
    created_by: Option<String>,
    #[serde(default)]
    updated_at: Option<String>,
    #[serde(default)]
    parent: Option<String>,
    #[serde(default)]
    dependencies: Option<Vec<ListedRelation>>,
    #[serde(default)]
    dependents: Option<Vec<ListedRelation>>,
}

/// A related issue. Some versions of `list` print the bare dependency instead.
#[derive(Debug, Clone, Deserialize)]
struct ListedRelation {
    #[serde(alias = "depends_on_id")]
    id: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    priority: Option<u8>,
    #[serde(default)]
    issue_type: Option<String>,
    #[serde(alias = "type", alias = "dep_type")]
    dependency_type: String,
}

impl Programs {
    /// Lists the issues of this `.beads`, whose database was written at `written`; `None` if no program is installed.
    pub(crate) async fn listing(
        &self,
        asked: &Runner<'_>,
        folder: &Path,
        written: Option<SystemTime>,
    ) -> Option<Result<Arc<Listing>, Source>> {
        let stamp = (written, asked.env.get("PATH").cloned());
        if let Some((_, listing)) = self.0.lock().get(folder).filter(|(known, _)| *known == stamp) {
            return Some(Ok(listing.clone()));
        }
        let listing = match list(asked).await? {
            Ok(listing) => Arc::new(listing),
            Err(source) => return Some(Err(source)),
        };
        let mut kept = self.0.lock();
        if kept.len() >= KEPT && !kept.contains_key(folder) {
            kept.clear();
        }
        kept.insert(folder.to_owned(), (stamp, listing.clone()));
        Some(Ok(listing))
    }
}

async fn list(asked: &Runner<'_>) -> Option<Result<Listing, Source>> {
    for program in PROGRAMS {
        let help = match run(asked, program, &["--help"]).await {
            Ok(help) => help,
            Err(AnswerError::Spawn(_)) => continue,
            Err(error) => return Some(Err(failed(program, &error.to_string()))),
        };
        let help = String::from_utf8_lossy(&help.stdout).into_owned();
        let options: Vec<&'static str> = QUIET.iter().copied().filter(|option| help.contains(option)).collect();
        // Include closed issues without a limit (0). Older versions support neither option.
        let mut last = String::new();
        for more in [&["--all", "--limit", "0"][..], &[]] {
            let words = [&["list", "--json"], more, &options].concat();
            match run(asked, program, &words).await {
                Ok(answer) if answer.exit.success() => {
                    return Some(match issues_of(&answer.stdout) {
                        Ok(issues) => {
                            let issues = issues.into_iter().map(|issue| (issue.id.clone(), issue)).collect();
                            Ok(Listing { program, options, issues, whole: Mutex::default() })
                        }
                        Err(error) => Err(failed(program, &format!("`{program} list --json`: {error}"))),
                    });
                }
                Ok(answer) => {
                    last = String::from_utf8_lossy(&answer.stderr).lines().next().unwrap_or_default().to_owned()
                }
                Err(error) => return Some(Err(failed(program, &error.to_string()))),
            }
        }
        return Some(Err(failed(program, &format!("`{program} list --json`: {}", visible(&last)))));
    }
    None
}

/// Parses a list of issues: an array, an object with `issues`, or a single issue.
fn issues_of(json: &[u8]) -> serde_json::Result<Vec<ListedIssue>> {
    #[derive(Deserialize)]
    struct Page {
        issues: Vec<ListedIssue>,
    }
    serde_json::from_slice::<Page>(json)
        .map(|page| page.issues)
        .or_else(|_| serde_json::from_slice::<ListedIssue>(json).map(|one| vec![one]))
        .or_else(|_| serde_json::from_slice(json))
}

async fn run(asked: &Runner<'_>, program: &str, words: &[&str]) -> Result<process::Answer, AnswerError> {
    let own = [("LC_ALL", "C"), ("NO_COLOR", "1"), ("GIT_TERMINAL_PROMPT", "0"), ("BD_NO_DAEMON", "1")];
    let own = own.iter().chain(OF_TRACKERS).copied();
    asked.program(program, words.iter().map(OsString::from).collect(), own, BOUNDS).await
}

fn failed(program: &str, why: &str) -> Source {
    let next = format!("Run `{program} doctor` to find the cause.");
    Source::missing(State::Failed, why, Some(&next))
}

impl Listing {
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.issues.values().filter(|issue| issue.status.as_deref() != Some("tombstone")).map(|issue| issue.id.as_str())
    }

    /// The source of the listing.
    pub(crate) fn source(&self) -> Source {
        Source::ok()
    }

    /// Returns an issue with all fields, as `show --json` prints it.
    pub(crate) async fn issue(&self, asked: &Runner<'_>, id: &str) -> Result<Option<Issue>, Source> {
        if !self.issues.contains_key(id) {
            return Ok(None);
        }
        if let Some(issue) = self.whole.lock().get(id) {
            return Ok(Some(issue.clone()));
        }
        let program = self.program;
        // `--` keeps an id that begins with a hyphen from being parsed as an option.
        let words = [&["show", "--json"][..], &self.options, &["--", id]].concat();
        let answer = run(asked, program, &words).await.map_err(|error| failed(program, &error.to_string()))?;
        if !answer.exit.success() {
            let said = String::from_utf8_lossy(&answer.stderr).lines().next().map(visible).unwrap_or_default();
            return Err(failed(program, &format!("`{program} show {}`: {said}", visible(id))));
        }
        let shown =
            issues_of(&answer.stdout).map_err(|error| failed(program, &format!("`{program} show --json`: {error}")))?;
        let issue = shown.into_iter().find(|shown| shown.id == id).map(|shown| self.full_issue(shown));
        if let Some(issue) = &issue {
            self.whole.lock().insert(id.to_owned(), issue.clone());
        }
        Ok(issue)
    }

    /// Returns the issues that the program reports as ready to start.
    pub(crate) async fn ready(&self, asked: &Runner<'_>, most: usize) -> Vec<Issue> {
        let limit = most.to_string();
        let words = [&["ready", "--json", "--limit", &limit][..], &self.options].concat();
        let Ok(answer) = run(asked, self.program, &words).await else { return Vec::new() };
        let shown = issues_of(&answer.stdout).unwrap_or_default();
        let is_work = |shown: &ListedIssue| {
            self.issues.get(&shown.id).and_then(|known| known.issue_type.as_deref()) != Some("epic")
        };
        shown.into_iter().filter(is_work).take(most).map(|shown| self.full_issue(shown)).collect()
    }

    fn full_issue(&self, shown: ListedIssue) -> Issue {
        let related = |beside: ListedRelation| {
            let known = self.issues.get(&beside.id);
            Related {
                title: beside.title.or_else(|| known.map(|known| known.title.clone())),
                status: beside.status.or_else(|| known.and_then(|known| known.status.clone())),
                priority: beside.priority.or_else(|| known.and_then(|known| known.priority)),
                issue_type: beside.issue_type.or_else(|| known.and_then(|known| known.issue_type.clone())),
                dependency_type: beside.dependency_type,
                id: beside.id,
            }
        };
        let dependencies: Vec<Related> = shown.dependencies.into_iter().flatten().map(related).collect();
        let parent = dependencies.iter().find(|related| related.dependency_type == "parent-child");
        Issue {
            tracker: "beads",
            parent: shown.parent.or_else(|| parent.map(|parent| parent.id.clone())),
            dependencies,
            dependents: shown.dependents.into_iter().flatten().map(related).collect(),
            id: shown.id,
            title: shown.title,
            description: shown.description.unwrap_or_default(),
            status: shown.status.unwrap_or_else(|| "open".to_owned()),
            priority: shown.priority,
            issue_type: shown.issue_type.unwrap_or_else(|| "task".to_owned()),
            assignee: shown.assignee.filter(|name| !name.is_empty()),
            created_at: shown.created_at,
            created_by: shown.created_by,
            updated_at: shown.updated_at,
            url: None,
        }
    }
}
