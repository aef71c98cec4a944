//! Beads (`bd`, `br`): parses the issue file that they keep in the repository, one JSON object per line
//! (`.beads/issues.jsonl`, formerly `.beads/beads.jsonl`). No program runs for it.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use project::regular;
use serde::Deserialize;

use super::{Issue, Related, is_closed};
use crate::sources::{Source, State};

/// The names of the file in different versions.
const FILES: &[&str] = &["issues.jsonl", "beads.jsonl"];
/// The trackers' databases. A database that is newer than the file has more recent data.
const DATABASES: &[&str] = &["beads.db", "beads.db-wal", "dolt/.dolt/noms/manifest"];
/// The size limit of the file.
const FILE_MAX: u64 = 64 << 20;
/// The age difference that counts as newer: the tracker writes the database right after the file.
const NEWER_BY_MS: u128 = 2000;

/// The issues of a repository.
#[derive(Debug, Default)]
pub struct Beads {
    issues: Vec<Line>,
    by_id: HashMap<String, usize>,
    /// For each issue: the issues that depend on it, with the type of dependency.
    dependents: HashMap<String, Vec<(usize, String)>>,
    /// The number of invalid lines.
    pub bad_lines: usize,
}

/// The fields of a line that are read.
#[derive(Debug, Deserialize)]
struct Line {
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
    dependencies: Option<Vec<Dependency>>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    depends_on_id: String,
    #[serde(rename = "type", alias = "dep_type")]
    kind: String,
}

impl Beads {
    /// Parses a file.
    pub fn parse(bytes: &[u8]) -> Beads {
        let mut beads = Beads::default();
        for line in bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()) {
            match serde_json::from_slice::<Line>(line) {
                // Merges may leave several lines of one issue; the last one is the newest.
                Ok(line) => match beads.by_id.get(&line.id) {
                    Some(index) => beads.issues[*index] = line,
                    None => {
                        beads.by_id.insert(line.id.clone(), beads.issues.len());
                        beads.issues.push(line);
                    }
                },
                Err(_) => beads.bad_lines += 1,
            }
        }
        for (index, line) in beads.issues.iter().enumerate() {
            for dependency in line.dependencies.iter().flatten() {
                let dependents = beads.dependents.entry(dependency.depends_on_id.clone()).or_default();
                dependents.push((index, dependency.kind.clone()));
            }
        }
        beads
    }

    /// Returns an issue by id, unless it was deleted.
    pub fn issue(&self, id: &str) -> Option<Issue> {
        let line = &self.issues[*self.by_id.get(id)?];
        (line.status.as_deref() != Some("tombstone")).then(|| self.full_issue(line))
    }

    /// Returns the ids of all issues that were not deleted.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let is_there = |line: &&Line| line.status.as_deref() != Some("tombstone");
        self.issues.iter().filter(is_there).map(|line| line.id.as_str())
    }

    /// Returns issues that are ready to start: open and not blocked, ordered by priority and age.
    pub fn ready(&self, most: usize) -> Vec<Issue> {
        let is_open = |line: &&Line| line.status.as_deref().unwrap_or("open") == "open";
        // An epic is completed through its parts.
        let open = self.issues.iter().filter(is_open).filter(|line| line.issue_type.as_deref() != Some("epic"));
        let mut ready: Vec<&Line> = open.filter(|line| self.full_issue(line).blockers().next().is_none()).collect();
        ready.sort_by_key(|line| (line.priority.unwrap_or(2), line.created_at.clone(), line.id.clone()));
        ready.truncate(most);
        ready.into_iter().map(|line| self.full_issue(line)).collect()
    }

    fn full_issue(&self, line: &Line) -> Issue {
        let related = |id: &str, kind: &str| {
            let known = self.by_id.get(id).map(|index| &self.issues[*index]);
            Related {
                id: id.to_owned(),
                title: known.map(|line| line.title.clone()),
                status: known.map(status),
                priority: known.and_then(|line| line.priority),
                issue_type: known.map(kind_of),
                dependency_type: kind.to_owned(),
            }
        };
        let own = line.dependencies.iter().flatten();
        let dependents = self.dependents.get(&line.id).into_iter().flatten();
        Issue {
            tracker: "beads",
            id: line.id.clone(),
            title: line.title.clone(),
            description: line.description.clone().unwrap_or_default(),
            status: status(line),
            priority: line.priority,
            issue_type: kind_of(line),
            assignee: line.assignee.clone().filter(|name| !name.is_empty()),
            created_at: line.created_at.clone(),
            created_by: line.created_by.clone(),
            updated_at: line.updated_at.clone(),
            parent: own.clone().find(|own| own.kind == "parent-child").map(|own| own.depends_on_id.clone()),
            dependencies: own.map(|own| related(&own.depends_on_id, &own.kind)).collect(),
            dependents: dependents.map(|(index, kind)| related(&self.issues[*index].id, kind)).collect(),
            url: None,
        }
    }
}

fn status(line: &Line) -> String {
    line.status.clone().unwrap_or_else(|| "open".to_owned())
}

fn kind_of(line: &Line) -> String {
    line.issue_type.clone().unwrap_or_else(|| "task".to_owned())
}

/// A cache of parsed files, so that an unchanged file is parsed once.
#[derive(Default)]
pub struct Cache(Mutex<HashMap<PathBuf, (Stamp, Arc<Beads>)>>);

/// The capacity of the cache.
const CACHED: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp(u64, Option<SystemTime>);

/// A repository's issues and their source.
pub struct BeadsLookup {
    pub beads: Option<Arc<Beads>>,
    pub source: Source,
    /// The tracker's directory, and the modification time of its database.
    pub folder: Option<(PathBuf, Option<SystemTime>)>,
}

impl Cache {
    /// Reads the issues in this worktree, or else in the main worktree. Blocks.
    pub fn read(&self, worktree: &Path) -> BeadsLookup {
        let main = project::main_worktree(worktree);
        let places = [Some(worktree), main.as_deref()].into_iter().flatten().map(|root| root.join(".beads"));
        let mut missing = Source::missing(State::Absent, "the repository has no issue tracker (.beads)", None);
        let mut without_file = None;
        for folder in places {
            if !folder.is_dir() {
                continue;
            }
            if let Some(file) = FILES.iter().map(|name| folder.join(name)).find(|file| file.exists()) {
                return self.file(folder, &file);
            }
            without_file = Some((folder.clone(), database(&folder)));
            missing = Source::missing(
                State::Absent,
                ".beads has no issues.jsonl",
                Some("`bd export` or `br sync --flush-only` creates it."),
            );
        }
        BeadsLookup { beads: None, source: missing, folder: without_file }
    }

    fn file(&self, folder: PathBuf, file: &Path) -> BeadsLookup {
        let source = |why: String| Source::missing(State::Failed, why, None);
        let failed = |why: String| BeadsLookup { beads: None, source: source(why), folder: None };
        // A link could expose a file outside the repository.
        let leads_out = match (folder.parent().map(Path::canonicalize), file.canonicalize()) {
            (Some(Ok(root)), Ok(file)) => !file.starts_with(root),
            _ => true,
        };
        if leads_out {
            return failed(format!("{} links to a file outside the worktree", project::visible::path(file)));
        }
        let read = regular::open(file).and_then(|open| {
            let metadata = open.metadata()?;
            let stamp = Stamp(metadata.len(), metadata.modified().ok());
            if let Some((known, beads)) = self.0.lock().get(file)
                && *known == stamp
            {
                return Ok((stamp, beads.clone()));
            }
            let mut bytes = Vec::new();
            open.take(FILE_MAX + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > FILE_MAX {
                return Err(std::io::Error::other(format!("it exceeds {FILE_MAX} bytes")));
            }
            Ok((stamp, Arc::new(Beads::parse(&bytes))))
        });
        let (stamp, beads) = match read {
            Ok(read) => read,
            Err(error) => return failed(format!("{}: {error}", project::visible::path(file))),
        };
        let mut cached = self.0.lock();
        if cached.len() >= CACHED && !cached.contains_key(file) {
            cached.clear();
        }
        cached.insert(file.to_owned(), (stamp, beads.clone()));
        drop(cached);
        let written = database(&folder);
        BeadsLookup { source: source_of(written, stamp, &beads), beads: Some(beads), folder: Some((folder, written)) }
    }
}

/// Returns the modification time of the tracker's database.
fn database(folder: &Path) -> Option<SystemTime> {
    DATABASES.iter().filter_map(|name| folder.join(name).metadata().ok()?.modified().ok()).max()
}

fn source_of(changed: Option<SystemTime>, Stamp(_, written): Stamp, beads: &Beads) -> Source {
    let bad = (beads.bad_lines > 0).then(|| format!("invalid lines skipped: {}", beads.bad_lines));
    let newer = changed.zip(written).and_then(|(changed, written)| changed.duration_since(written).ok());
    if newer.is_some_and(|newer| newer.as_millis() > NEWER_BY_MS) {
        let more = bad.map(|bad| format!("; {bad}")).unwrap_or_default();
        return Source::missing(
            State::Stale,
            format!("the tracker's database is newer than its issues.jsonl{more}"),
            Some("`bd export` or `br sync --flush-only` updates it."),
        );
    }
    Source { detail: bad, ..Source::ok() }
}

/// True if an issue is not closed.
pub fn is_unfinished(issue: &Issue) -> bool {
    !is_closed(&issue.status)
}
