//! The tools of Tidepool's profile through the Python package. `exo_status` and `exo_reconstitute`: on a branch `bd-ID/slug`, on
//! a branch of a GitHub issue with its pull request, and in an empty repository. GitHub is the tests' fixture, queried by the
//! real `gh`. `find_callers`, `show_fields` and `show_constructors`: with every field of Tidepool's answers.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use taskkit::workspace::{KillOnDrop, Profile, build, run_quietly, temporary_project};

use super::report;

/// Every documented field of the object-valued parts.
const BEAD: &[&str] = &[
    "id",
    "title",
    "description",
    "status",
    "priority",
    "issue_type",
    "assignee",
    "created_at",
    "created_by",
    "updated_at",
    "parent",
    "dependencies",
    "dependents",
];
const RELATED: &[&str] = &["id", "title", "status", "priority", "issue_type", "dependency_type"];
const WORKTREE: &[&str] = &["name", "path", "branch", "repo_root", "is_worktree"];
const PR: &[&str] = &[
    "number",
    "title",
    "url",
    "state",
    "draft",
    "base",
    "head",
    "review",
    "checks",
    "unresolved",
    "mergeable",
    "others",
];

const ISSUES: &str = r#"{"id":"tidepool-a1","title":"Parse lists","description":"Nested.","status":"in_progress","priority":1,"issue_type":"feature","assignee":"ann","created_at":"2026-01-01T00:00:00Z","created_by":"carl","updated_at":"2026-01-02T00:00:00Z","dependencies":[{"depends_on_id":"tidepool-e1","type":"parent-child"}]}
{"id":"tidepool-e1","title":"The parser","status":"open","priority":2,"issue_type":"epic"}
{"id":"tidepool-b2","title":"Print lists","status":"open","priority":2,"issue_type":"task","dependencies":[{"depends_on_id":"tidepool-a1","type":"blocks"}]}
"#;

/// The questions, and every field of Tidepool's answers.
const GEO: &str =
    "module Geo where\ndata Shape = Circle { radius :: !Double } | Dot\narea :: Shape -> Double\narea s = radius s\n";
const MAIN: &str = "module Main where\nimport Geo (area, Shape (..))\nmain :: IO ()\nmain =\n  print (area Dot)\n";
const CALLERS: &[&str] =
    &["name", "definition_file", "definition_line", "call_sites", "filtered_count", "truncated", "warning"];
const CALL_SITE: &[&str] = &["file", "line", "column", "context", "context_before", "context_after"];
const FIELDS: &[&str] = &["type_name", "file", "line", "is_record", "fields", "raw_definition", "warning"];
const FIELD: &[&str] = &["name", "type", "strict"];
const CONSTRUCTORS: &[&str] = &["type_name", "file", "line", "constructors", "is_gadt", "raw_definition", "warning"];
const CONSTRUCTOR: &[&str] = &["name", "fields", "is_record"];

/// Runs the script of that interpreter, and checks its report.
pub(super) fn check(interpreter: &Path, script: &Path, hob: &Path, mode: &str, version: &str) -> Result<String> {
    let temp = temporary_project()?;
    let (projects, config) = (temp.path().join("projects"), temp.path().join("config"));
    for name in ["beads", "github", "nothing"] {
        repository(&projects.join(name)).with_context(|| format!("the repository {name}"))?;
    }
    std::fs::create_dir_all(&config).context("could not make a directory")?;
    let (beads, github) = (projects.join("beads"), projects.join("github"));
    std::fs::create_dir_all(beads.join(".beads")).context("could not make a directory")?;
    std::fs::write(beads.join(".beads/issues.jsonl"), ISSUES).context("could not write the issues")?;
    git(&beads, &["switch", "-qc", "bd-a1/lists"])?;
    git(&github, &["remote", "add", "origin", "https://github.com/up/web"])?;
    git(&github, &["switch", "-qc", "gh-12/lists"])?;
    std::fs::write(github.join("new"), "").context("could not write a file")?;

    let fixture = build(Profile::Dev, &["--quiet", "-p", "testkit", "--bin", "github"])?.join("github");
    let model = temp.path().join("model.json");
    let of_web = json!({
        "issues": [{"number": 12, "title": "Lists", "body": "Nested."}],
        "pulls": [{"number": 7, "from": "up/web:gh-12/lists", "isDraft": true}],
    });
    std::fs::write(&model, json!({"up/web": of_web}).to_string()).context("could not write the model")?;
    let (_server, _stdin, stdout) = KillOnDrop::piped(Command::new(fixture).arg(&config).arg(&model))?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).context("the fixture of GitHub did not start")?;

    let mut command = Command::new(interpreter);
    command.arg(script).arg(hob).arg(&projects).arg(mode).env("XDG_CONFIG_HOME", &config);
    let report = report(&mut command, version);
    for name in ["beads", "github", "nothing"] {
        run_quietly(Command::new(hob).arg("stop").current_dir(projects.join(name)))?;
    }
    let report = report?;
    let mut fields = 0;
    for tool in ["exo_status", "exo_reconstitute"] {
        let of = |name: &str| answer(&report["answers"][name][tool]).with_context(|| format!("{tool} in {name}"));
        let (beads, github, nothing) = (of("beads")?, of("github")?, of("nothing")?);
        fields += has(&beads["bead"], BEAD)? + has(&github["bead"], BEAD)? + has(&github["pr"], PR)?;
        fields += has(&beads["bead"]["dependencies"][0], RELATED)? + has(&beads["bead"]["dependents"][0], RELATED)?;
        for found in [&beads, &github, &nothing] {
            fields += has(&found["worktree"], WORKTREE)?;
        }
        let expected = [
            (&beads["bead"]["id"], json!("tidepool-a1")),
            (&beads["bead"]["parent"], json!("tidepool-e1")),
            (&beads["worktree"]["branch"], json!("bd-a1/lists")),
            (&beads["pr"], Value::Null),
            (&github["bead"]["id"], json!("#12")),
            (&github["bead"]["tracker"], json!("github")),
            (&github["dirty_files"], json!(["new"])),
            (&github["pr"]["number"], json!(7)),
            (&github["pr"]["draft"], json!(true)),
            (&nothing["bead"], Value::Null),
            (&nothing["pr"], Value::Null),
            (&nothing["dirty_files"], json!([])),
            (&nothing["worktree"]["is_worktree"], json!(false)),
        ];
        for (found, wanted) in expected {
            if *found != wanted {
                bail!("{tool}: {found} instead of {wanted}");
            }
        }
    }
    for name in ["beads", "github", "nothing"] {
        fields += about_code(&report["answers"][name]).with_context(|| format!("about code in {name}"))?;
    }
    Ok(format!("{version}, 5 tools in 3 repositories, {fields} documented fields"))
}

/// Checks the answers about code. Returns the number of fields.
fn about_code(answers: &Value) -> Result<usize> {
    let of = |tool: &str| answer(&answers[tool]).with_context(|| tool.to_owned());
    let (callers, record, sum) = (of("find_callers")?, of("show_fields")?, of("show_constructors")?);
    let expected = [
        (&callers["definition_file"], json!("Geo.hs")),
        (&callers["definition_line"], json!(4)),
        (&callers["call_sites"][0]["file"], json!("Main.hs")),
        (&callers["call_sites"][0]["line"], json!(5)),
        (&callers["call_sites"][0]["column"], json!(10)),
        (&callers["call_sites"][0]["context_before"], json!(["main ="])),
        // The import and the signature.
        (&callers["filtered_count"], json!(2)),
        (&record["fields"][0]["name"], json!("radius")),
        (&record["fields"][0]["strict"], json!(true)),
        (&sum["constructors"][1]["name"], json!("Dot")),
        (&sum["is_gadt"], json!(false)),
    ];
    for (found, wanted) in expected {
        if *found != wanted {
            bail!("{found} instead of {wanted}");
        }
    }
    Ok(has(&callers, CALLERS)?
        + has(&callers["call_sites"][0], CALL_SITE)?
        + has(&record, FIELDS)?
        + has(&record["fields"][0], FIELD)?
        + has(&sum, CONSTRUCTORS)?
        + has(&sum["constructors"][0], CONSTRUCTOR)?)
}

/// Returns the object of an answer, whose text is the same JSON.
fn answer(answer: &Value) -> Result<Value> {
    let text: Value =
        serde_json::from_str(answer["text"].as_str().context("no text")?).context("the text is no JSON")?;
    if answer["is_error"] != false || (answer["structured"].is_object() && answer["structured"] != text) {
        bail!("it answered {answer}");
    }
    Ok(text)
}

/// Counts the fields, and checks that all documented ones exist.
fn has(object: &Value, fields: &[&str]) -> Result<usize> {
    match fields.iter().find(|field| object.get(field).is_none()) {
        Some(missing) => bail!("{missing} is not in {object}"),
        None => Ok(fields.len()),
    }
}

fn repository(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).context("could not make a directory")?;
    git(path, &["init", "-q", "-b", "main"])?;
    std::fs::write(path.join("Geo.hs"), GEO).context("could not write Geo.hs")?;
    std::fs::write(path.join("Main.hs"), MAIN).context("could not write Main.hs")?;
    git(path, &["add", "."])?;
    git(path, &["-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-q", "-m", "First"])
}

fn git(path: &Path, args: &[&str]) -> Result<()> {
    run_quietly(Command::new("git").args(args).current_dir(path))
}
