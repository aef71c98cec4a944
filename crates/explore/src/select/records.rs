//! Recorded decisions: one file for each walk, with one decision as JSON in each line. Only this user can read them.

use std::path::{Path, PathBuf};

use project::checkout_dir::Inside;
use project::{Caller, journal, private};
use serde::{Deserialize, Serialize};

use super::decision::{Decision, Verdict};

/// The maximum number of decisions of a walk that are recorded, and of walks whose records are kept.
const MOST_DECISIONS: usize = 1000;
const MOST_RUNS: usize = 100;
/// The maximum size of a file, in bytes.
const MOST_BYTES: u64 = 64 << 20;
const SUFFIX: &str = ".jsonl";

/// The variables of Tidepool's control server: whether to record, and a folder of the project for a copy.
const ENABLED: &str = "TEACHING_ENABLED";
const FOLDER: &str = "TEACHING_OUTPUT_DIR";

/// A recorded decision.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Entry {
    #[serde(flatten)]
    pub decision: Decision,
    pub rules: Verdict,
    /// `None` if no model was asked, or if its answer was not valid.
    pub model: Option<Verdict>,
    /// Why the model's answer was not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The verdict that the walk used: `rules` or `model`.
    pub used: String,
}

impl Entry {
    pub(super) fn new(decision: Decision, model: Option<Verdict>, problem: Option<String>) -> Entry {
        let used = if model.is_some() { "model" } else { "rules" }.to_owned();
        Entry { rules: decision.by_rules(), decision, model, problem, used }
    }
}

/// The records of a walk that is under way.
pub(crate) struct Recorder {
    tool: &'static str,
    directory: PathBuf,
    /// A folder in the worktree for a copy.
    copy: Option<Inside>,
    lines: Vec<String>,
}

impl Recorder {
    /// Creates the recorder of a walk, if the call or the caller's environment asks for one.
    ///
    /// # Errors
    /// If the environment names a folder outside of the worktree.
    pub(crate) fn new_if_asked(
        tool: &'static str,
        directory: &Path,
        caller: &Caller,
        record: bool,
    ) -> Result<Option<Recorder>, String> {
        let value = |name: &str| caller.asked_env.get(name).map(String::as_str);
        let is_enabled = value(ENABLED).is_some_and(|value| ["true", "1"].contains(&value.to_lowercase().as_str()));
        if !record && !is_enabled {
            return Ok(None);
        }
        let folder = value(FOLDER).filter(|_| is_enabled).map(Path::new);
        let create = |folder: &Path| {
            let below = folder.strip_prefix(&caller.worktree).unwrap_or(folder);
            Inside::create(&caller.worktree, below)
                .map_err(|error| format!("{FOLDER} must name a folder inside the project: {error}"))
        };
        let copy = folder.map(create).transpose()?;
        Ok(Some(Recorder { tool, directory: directory.to_owned(), copy, lines: Vec::new() }))
    }

    /// Returns how many more decisions it takes.
    pub(crate) fn room(&self) -> usize {
        MOST_DECISIONS.saturating_sub(self.lines.len())
    }

    pub(super) fn add(&mut self, entry: Entry) {
        if self.room() > 0 {
            self.lines.extend(serde_json::to_string(&entry));
        }
    }

    /// Writes the file, and removes the oldest ones. Returns the name of the run. Blocks.
    pub(super) fn store(mut self) -> std::io::Result<String> {
        let mut at = journal::now();
        let mut run = format!("{}-{at}", self.tool);
        while file(&self.directory, &run).exists() {
            at += 1;
            run = format!("{}-{at}", self.tool);
        }
        self.lines.push(String::new());
        let text = self.lines.join("\n");
        private::replace(&file(&self.directory, &run), text.as_bytes())?;
        if let Some(folder) = &self.copy {
            folder.replace(Path::new(&format!("{run}{SUFFIX}")), text.as_bytes())?;
        }
        let mut runs = runs(&self.directory);
        // The number is the time.
        runs.sort_by_key(|run| run.rsplit('-').next().and_then(|at| at.parse::<u64>().ok()));
        for old in runs.iter().rev().skip(MOST_RUNS) {
            std::fs::remove_file(file(&self.directory, old))?;
        }
        Ok(run)
    }
}

fn file(directory: &Path, run: &str) -> PathBuf {
    directory.join(format!("{run}{SUFFIX}"))
}

/// Returns the names of the recorded walks.
fn runs(directory: &Path) -> Vec<String> {
    let names = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| Some(name.to_str()?.strip_suffix(SUFFIX)?.to_owned())).collect()
}

/// Reads recorded walks. Blocks.
///
/// # Errors
/// If one does not exist, or is corrupt.
pub(crate) fn read(directory: &Path, names: &[String]) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    for name in names {
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let read = || private::read(&file(directory, name), MOST_BYTES).map_err(|error| format!("{name}: {error}"));
        let Some(bytes) = (if is_name { read()? } else { None }) else {
            let mut there = runs(directory);
            there.sort();
            let there = match &there[..] {
                [] => "no runs exist; `hob scout --record` makes one".to_owned(),
                there => format!("available: {}", there.join(", ")),
            };
            return Err(format!("unknown run `{}`; {there}", project::visible(name)));
        };
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
            let entry = serde_json::from_slice(line);
            entries.push(entry.map_err(|error| format!("{name}, line {}: {error}", number + 1))?);
        }
    }
    Ok(entries)
}
