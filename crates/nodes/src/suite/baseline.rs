//! The accepted results of the tests, in `nodes/baseline.json`, which should be committed. A test with a known failure may fail;
//! a test that passed before, or is new, must pass.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use project::checkout_dir::Inside;
use serde::{Deserialize, Serialize};

use super::{Answering, Report};
use crate::folder::Folder;

/// The file name in the folder of the node files.
pub const FILE: &str = "baseline.json";
/// The maximum file size in bytes.
const FILE_MAX: u64 = 16 * 1024 * 1024;

/// The accepted results, by answer source, node and test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Baseline(BTreeMap<String, BTreeMap<String, BTreeMap<String, AcceptedResult>>>);

/// The accepted result of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AcceptedResult {
    passes: bool,
    /// The number of passed runs, and of all runs.
    passed: u32,
    of: u32,
}

/// The comparison of a test with the baseline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Passes,
    /// It failed in the baseline.
    Mended,
    /// It failed in the baseline too.
    KnownToFail,
    /// It passed in the baseline, with these numbers of passed runs and of all runs.
    Regression(u32, u32),
    /// It is not in the baseline.
    Fails,
    /// It failed without an answer, which no baseline excuses.
    Unanswered,
}

impl Verdict {
    /// Returns true if this verdict fails the run.
    pub fn is_failure(&self) -> bool {
        matches!(self, Verdict::Regression(..) | Verdict::Fails | Verdict::Unanswered)
    }
}

impl Baseline {
    /// Reads the baseline of a folder; empty if the file does not exist.
    ///
    /// # Errors
    /// A sentence, if the file cannot be read.
    pub fn read(folder: &Folder) -> Result<Baseline, String> {
        let shown = project::visible::path(&folder.path().join(FILE)).to_string();
        match Inside::open(folder.worktree(), folder.path()).and_then(|inside| inside.read(Path::new(FILE), FILE_MAX)) {
            // The error gives the position and no content.
            Ok(text) => serde_json::from_str(&text).map_err(|error: serde_json::Error| {
                let place = format!("line {}, column {}", error.line(), error.column());
                format!("{shown} is not a valid baseline ({place}); rewrite it with `hob node test --accept`")
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Baseline::default()),
            Err(error) => Err(format!("{shown}: {error}")),
        }
    }

    /// Writes the baseline.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, folder: &Folder) -> io::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        Inside::open(folder.worktree(), folder.path())?.replace(Path::new(FILE), (text + "\n").as_bytes())
    }

    /// Compares a test with the baseline.
    pub fn verdict(&self, answering: Answering, report: &Report) -> Verdict {
        let known = self.0.get(word(answering)).and_then(|nodes| nodes.get(&report.node)?.get(&report.id)).copied();
        match (report.passes(), known) {
            (true, Some(AcceptedResult { passes: false, .. })) => Verdict::Mended,
            (true, _) => Verdict::Passes,
            (false, _) if report.tried.is_unanswered => Verdict::Unanswered,
            (false, Some(AcceptedResult { passes: false, .. })) => Verdict::KnownToFail,
            (false, Some(AcceptedResult { passed, of, .. })) => Verdict::Regression(passed, of),
            (false, None) => Verdict::Fails,
        }
    }

    /// Accepts the results of the tests of these nodes. If they are all nodes, the results of other nodes are removed.
    pub fn accept(&mut self, answering: Answering, reports: &[Report], is_all: bool) {
        let nodes = self.0.entry(word(answering).to_owned()).or_default();
        if is_all {
            nodes.clear()
        } else {
            reports.iter().for_each(|report| drop(nodes.remove(&report.node)))
        }
        for report in reports {
            let known = AcceptedResult { passes: report.passes(), passed: report.tried.passed, of: report.of.0 };
            nodes.entry(report.node.clone()).or_default().insert(report.id.clone(), known);
        }
    }
}

fn word(answering: Answering) -> &'static str {
    match answering {
        Answering::Fixed => "fixed",
        Answering::Cassette | Answering::Record => "cassette",
        Answering::Live => "live",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Tried;

    fn report(node: &str, id: &str, passed: u32) -> Report {
        let tried = Tried { passed, failures: Vec::new(), ledgers: Vec::new(), is_unanswered: false };
        Report { node: node.to_owned(), id: id.to_owned(), line: 3, number: None, tried, of: (2, 2) }
    }

    #[test]
    fn only_what_got_worse_is_a_failure() {
        let place = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(place.path().join("nodes")).expect("a directory");
        let folder = Folder::new(place.path(), "nodes");
        let mut baseline = Baseline::read(&folder).expect("none");
        let engine = Answering::Cassette;
        assert_eq!(baseline.verdict(engine, &report("a", "1", 1)), Verdict::Fails);
        baseline.accept(engine, &[report("a", "1", 2), report("a", "2", 1), report("b", "1", 2)], true);
        baseline.write(&folder).expect("written");
        let mut baseline = Baseline::read(&folder).expect("it is there");
        let verdict = |baseline: &Baseline, id: &str, passed| baseline.verdict(engine, &report("a", id, passed));
        assert_eq!(verdict(&baseline, "1", 2), Verdict::Passes);
        assert_eq!(verdict(&baseline, "1", 1), Verdict::Regression(2, 2));
        assert_eq!(verdict(&baseline, "2", 0), Verdict::KnownToFail);
        assert_eq!(verdict(&baseline, "2", 2), Verdict::Mended);
        assert_eq!(verdict(&baseline, "3", 0), Verdict::Fails);
        // It is known to fail, but not for lack of an answer.
        let mut unanswered = report("a", "2", 0);
        unanswered.tried.is_unanswered = true;
        assert_eq!(baseline.verdict(engine, &unanswered), Verdict::Unanswered);
        assert!(Verdict::Unanswered.is_failure());
        // Results of another answer source are separate.
        assert_eq!(baseline.verdict(Answering::Live, &report("a", "2", 0)), Verdict::Fails);
        // A single node leaves the results of others, and its removed tests disappear.
        baseline.accept(engine, &[report("a", "3", 0)], false);
        assert_eq!(verdict(&baseline, "2", 0), Verdict::Fails);
        assert_eq!(verdict(&baseline, "3", 0), Verdict::KnownToFail);
        assert_eq!(baseline.verdict(engine, &report("b", "1", 0)), Verdict::Regression(2, 2));
        std::fs::write(place.path().join("nodes/baseline.json"), "{").expect("written");
        let why = Baseline::read(&folder).unwrap_err();
        assert!(why.starts_with("nodes/baseline.json is not a valid baseline ("), "{why}");
    }
}
