//! `cargo xtask conformance`: the official suite against the example `conformance`, for each revision that the suite
//! covers. Each revision runs twice: with the server's defaults, and with every answer as a stream, which the suite
//! checks more closely.
//!
//! No failure and no warning is accepted. The results are written to `docs/generated/conformance.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use taskkit::setup;
use taskkit::workspace::write_page;

use crate::example::{self, ExampleServer};

/// The suite's package, pinned in `tools/agents/clients/package.json`.
const SUITE: &str = "@modelcontextprotocol/conformance";

/// The revisions, and the number of checks that pass if every answer is a stream. A lower number means that some did not run.
const REVISIONS: [(&str, u32); 2] = [("2025-11-25", 83), ("2026-07-28", 197)];

/// Optional scenarios of the suite that must pass here.
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

/// The one scenario that the suite skips for every server.
const ALWAYS_SKIPPED: &str = "tasks-status-notifications";

/// Runs everything, prints and writes the table, and fails unless all checks pass.
pub(crate) fn run() -> Result<()> {
    let tools = setup::tests()?;
    let program = example::build_examples(&["conformance"])?.join("conformance");
    let suite = tools.scripts.join("node_modules").join(SUITE);
    let mut columns = Vec::new();
    for (way, args) in [("streams", [].as_slice()), ("as needed", &["--as-needed"])] {
        let server = ExampleServer::start(Command::new(&program).arg("127.0.0.1:0").args(args))?;
        for (revision, all) in REVISIONS {
            let results = run_suite(&tools.node, &suite, &server.url, revision)?;
            let expected = if way == "streams" { all } else { 0 };
            columns.push(Column { revision, way, expected, results });
        }
    }
    let page = page(&columns);
    println!("\n{page}");
    write_page("docs/generated/conformance.md", &page)?;
    let complaints: Vec<String> = columns.iter().flat_map(complaints).collect();
    if complaints.is_empty() {
        Ok(())
    } else {
        bail!("the official suite is not passed whole:\n  {}", complaints.join("\n  "))
    }
}

/// One run of the suite: a column of the table.
struct Column {
    revision: &'static str,
    way: &'static str,
    /// Expected number of passed checks.
    expected: u32,
    results: BTreeMap<String, Scenario>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Scenario {
    passed: u32,
    skipped: u32,
    /// Failures and warnings.
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
    // Failed checks explain an error better. This is for a run that failed without any.
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
        all.insert(name.to_owned(), summarize(checks));
    }
    Ok(all)
}

/// `server-NAME-TIME` → `NAME`; the time has a fixed length.
fn scenario_name(folder: &str) -> Option<&str> {
    const TIME: usize = "-2026-01-01T00-00-00-000Z".len();
    let name = folder.strip_prefix("server-")?;
    name.get(..name.len().checked_sub(TIME)?)
}

fn summarize(checks: &[Value]) -> Scenario {
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
        if scenario.skipped > 0 && name != ALWAYS_SKIPPED {
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
                Some(scenario) => passed_of(scenario.passed, scenario.wrong.len()),
            };
            let _ = write!(page, " {cell} |");
        }
    }
    page += "\n| **all** |";
    for column in columns {
        let passed = column.results.values().map(|scenario| scenario.passed).sum();
        let wrong = column.results.values().map(|scenario| scenario.wrong.len()).sum();
        let _ = write!(page, " **{}** |", passed_of(passed, wrong));
    }
    page.push('\n');
    page
}

fn passed_of(passed: u32, wrong: usize) -> String {
    format!("{passed} of {}", passed as usize + wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn failed_skipped_and_missing_checks_are_complaints() {
        assert_eq!(scenario_name("server-tools-list-2026-11-22T02-08-45-581Z"), Some("tools-list"));
        assert_eq!(scenario_name("server-x"), None);
        let checks = json!([
            {"status": "SUCCESS"}, {"status": "INFO"}, {"status": "SKIPPED"},
            {"status": "WARNING", "id": "b", "errorMessage": "should"},
            {"status": "FAILURE", "id": "c", "errorMessage": "must"},
        ]);
        let summary = summarize(checks.as_array().expect("a list"));
        let results = BTreeMap::from([("tools-list".to_owned(), summary)]);
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
