//! `cargo xtask conformance`: the official suite against the example `conformance`, for each revision that the suite has
//! requirements of, once as a server is by default and once with every answer as a stream, which is checked more.
//!
//! No failure and no warning is expected or excused. What came of it goes to `docs/generated/conformance.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::example::{self, Served};
use crate::setup::{self, Tools};
use crate::workspace::root;

/// The suite, as `xtask/clients/package.json` pins it.
const SUITE: &str = "@modelcontextprotocol/conformance";

/// The revisions, and how many checks pass where every answer is a stream. Fewer would mean that some did not run.
const REVISIONS: [(&str, u32); 2] = [("2025-11-25", 83), ("2026-07-28", 197)];

/// What the suite runs without counting it, and we count all the same.
const EXTRA: [(&str, &[&str]); 2] = [
    ("2025-11-25", &["json-schema-2020-12", "server-session-lifecycle", "server-sse-polling"]),
    (
        "2026-07-28",
        &[
            "http-custom-header-server-validation",
            "http-header-validation",
            "json-schema-2020-12",
            "tasks-capability-negotiation",
            "tasks-dispatch-and-envelope",
            "tasks-lifecycle",
            "tasks-mrtr-composition",
            "tasks-mrtr-input",
            "tasks-request-headers",
            "tasks-request-state-removal",
            "tasks-required-task-error",
            "tasks-status-notifications",
            "tasks-wire-fields",
        ],
    ),
];

/// The one scenario that the suite itself skips, whatever the server.
const UNWRITTEN: &str = "tasks-status-notifications";

/// The task alone.
pub(crate) fn run() -> Result<()> {
    with(&setup::tests()?)
}

/// Runs everything, prints and writes the table, and fails at less than all.
pub(crate) fn with(tools: &Tools) -> Result<()> {
    let program = example::built(&["conformance"])?.join("conformance");
    let suite = tools.scripts.join("node_modules").join(SUITE);
    let mut columns = Vec::new();
    for (way, args) in [("streams", [].as_slice()), ("as needed", &["--as-needed"])] {
        let served = Served::start(Command::new(&program).arg("127.0.0.1:0").args(args))?;
        for (revision, all) in REVISIONS {
            let results = run_suite(&tools.node, &suite, &served.url, revision)?;
            let expected = if way == "streams" { all } else { 0 };
            columns.push(Column { revision, way, expected, results });
        }
    }
    let page = page(&columns);
    println!("\n{page}");
    let path = root().join("docs/generated/conformance.md");
    if std::fs::read_to_string(&path).ok().as_ref() != Some(&page) {
        std::fs::write(&path, &page).with_context(|| format!("could not write {path:?}"))?;
    }
    let complaints: Vec<String> = columns.iter().flat_map(complaints).collect();
    match complaints.is_empty() {
        true => Ok(()),
        false => bail!("the official suite is not passed whole:\n  {}", complaints.join("\n  ")),
    }
}

/// One run.
struct Column {
    revision: &'static str,
    way: &'static str,
    /// How many checks must pass.
    expected: u32,
    results: BTreeMap<String, Scenario>,
}

/// What came of a scenario.
#[derive(Debug, Default, PartialEq, Eq)]
struct Scenario {
    passed: u32,
    skipped: u32,
    /// What failed, and what the suite warned of.
    wrong: Vec<String>,
}

fn run_suite(node: &Path, suite: &Path, url: &str, revision: &str) -> Result<BTreeMap<String, Scenario>> {
    let results = tempfile::tempdir().context("could not make a folder for the results")?;
    let output = Command::new(node)
        .arg(suite.join("dist/index.js"))
        .args(["server", "--url", url, "--requirements", revision, "-o"])
        .arg(results.path())
        .output()
        .context("could not start the suite")?;
    let read = read_results(results.path())?;
    // What failed is said better by the results; but a run that failed without any must not go unseen.
    if !output.status.success() && read.values().all(|scenario| scenario.wrong.is_empty()) {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        bail!("the suite ended with {} for {revision} at {url}: {said}", output.status);
    }
    Ok(read)
}

fn read_results(dir: &Path) -> Result<BTreeMap<String, Scenario>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(dir).context("the suite wrote no results")? {
        let entry = entry?;
        let folder = entry.file_name().to_string_lossy().into_owned();
        let name = scenario_name(&folder).with_context(|| format!("{folder:?} is no folder of results"))?;
        let text = std::fs::read_to_string(entry.path().join("checks.json"));
        let checks: Value = serde_json::from_str(&text.with_context(|| format!("{name} has no results"))?)?;
        let checks = checks.as_array().with_context(|| format!("the results of {name} are no list"))?;
        all.insert(name.to_owned(), judged(checks));
    }
    Ok(all)
}

/// `server-NAME-TIME` → `NAME`; the time is as long everywhere.
fn scenario_name(folder: &str) -> Option<&str> {
    const TIME: usize = "-2026-01-01T00-00-00-000Z".len();
    let name = folder.strip_prefix("server-")?;
    name.get(..name.len().checked_sub(TIME)?)
}

fn judged(checks: &[Value]) -> Scenario {
    let mut scenario = Scenario::default();
    for check in checks {
        let text = |name: &str| check[name].as_str().unwrap_or_default();
        match text("status") {
            "SUCCESS" => scenario.passed += 1,
            "SKIPPED" => scenario.skipped += 1,
            "INFO" => {}
            other => scenario.wrong.push(format!("{}: {} {}", text("id"), other.to_lowercase(), text("errorMessage"))),
        }
    }
    scenario
}

fn complaints(column: &Column) -> Vec<String> {
    let Column { revision, way, expected, results } = column;
    let mut complaints = Vec::new();
    for (name, scenario) in results {
        complaints.extend(scenario.wrong.iter().map(|wrong| format!("{revision} ({way}) {name}: {wrong}")));
        if scenario.skipped > 0 && name != UNWRITTEN {
            complaints.push(format!("{revision} ({way}) {name}: {} checks were skipped", scenario.skipped));
        }
    }
    let extra = EXTRA.iter().filter(|(of, _)| of == revision).flat_map(|(_, names)| names.iter());
    for name in extra.filter(|name| !results.contains_key(**name)) {
        complaints.push(format!("{revision} ({way}) {name}: did not run"));
    }
    let passed: u32 = results.values().map(|scenario| scenario.passed).sum();
    if passed < *expected {
        complaints.push(format!("{revision} ({way}): {passed} checks passed, {expected} should"));
    }
    complaints
}

fn page(columns: &[Column]) -> String {
    let mut page = String::from(
        "# The official conformance suite\n\nWritten by `cargo xtask conformance`: checks that pass, of those that \
         were made. \"Streams\" is a server whose every answer\nis a stream of events, \"as needed\" one as it is by \
         default; the suite checks streams more closely than plain answers.\n\n| scenario |",
    );
    for column in columns {
        let _ = write!(page, " {}, {} |", column.revision, column.way);
    }
    page += "\n|---|";
    page += &"---|".repeat(columns.len());
    let names: BTreeSet<&String> = columns.iter().flat_map(|column| column.results.keys()).collect();
    for name in names {
        let _ = write!(page, "\n| {name} |");
        for column in columns {
            let cell = match column.results.get(name) {
                None => String::new(),
                Some(Scenario { passed: 0, skipped: 1.., wrong }) if wrong.is_empty() => "not written yet".to_owned(),
                Some(scenario) => of(scenario.passed, scenario.wrong.len()),
            };
            let _ = write!(page, " {cell} |");
        }
    }
    page += "\n| **all** |";
    for column in columns {
        let passed = column.results.values().map(|scenario| scenario.passed).sum();
        let wrong = column.results.values().map(|scenario| scenario.wrong.len()).sum();
        let _ = write!(page, " **{}** |", of(passed, wrong));
    }
    page.push('\n');
    page
}

fn of(passed: u32, wrong: usize) -> String {
    format!("{passed} of {}", passed as usize + wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn less_than_all_is_told() {
        assert_eq!(scenario_name("server-tools-list-2026-11-22T02-08-45-581Z"), Some("tools-list"));
        assert_eq!(scenario_name("server-x"), None);
        let checks = json!([
            {"status": "SUCCESS"}, {"status": "INFO"}, {"status": "SKIPPED"},
            {"status": "WARNING", "id": "b", "errorMessage": "should"},
            {"status": "FAILURE", "id": "c", "errorMessage": "must"},
        ]);
        let judged = judged(checks.as_array().expect("a list"));
        let results = BTreeMap::from([("tools-list".to_owned(), judged)]);
        let column = Column { revision: "2025-11-25", way: "streams", expected: 2, results };
        expect![[r#"
            2025-11-25 (streams) tools-list: b: warning should
            2025-11-25 (streams) tools-list: c: failure must
            2025-11-25 (streams) tools-list: 1 checks were skipped
            2025-11-25 (streams) json-schema-2020-12: did not run
            2025-11-25 (streams) server-session-lifecycle: did not run
            2025-11-25 (streams) server-sse-polling: did not run
            2025-11-25 (streams): 1 checks passed, 2 should"#]]
        .assert_eq(&complaints(&column).join("\n"));
        assert!(page(&[column]).ends_with("| tools-list | 1 of 3 |\n| **all** | **1 of 3** |\n"));
    }
}
