//! Nodes through independent clients: a prompt file in an empty project from its first save to its end, answered by the
//! offline engine; the version of another worktree; and a node answered by its caller.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use taskkit::setup::{self, Tools};
use taskkit::workspace::{KillOnDrop, Profile, build, root, target_dir, temporary_project};

use super::{ERAS, report, stdout_of};

/// A client: its name, interpreter, script, and its eras with the revision of each.
type Client<'a> = (&'static str, &'a Path, PathBuf, &'static [(&'static str, &'static str)]);

/// Runs every client in every era that it supports, each in a new project. Passes name, era and outcome to `row`.
pub(super) fn rows(tools: &Tools, hob: &Path, mut row: impl FnMut(&str, &str, Result<String>)) -> Result<()> {
    let scripts = root().join("tools/agents/clients");
    setup::copy_scripts(&["nodes.mjs", "nodes1.mjs", "nodes2.mjs"], &scripts, &tools.scripts)?;
    let clients: [Client<'_>; 3] = [
        ("Python mcp 2.3.0, nodes", &tools.python, scripts.join("nodes.py"), ERAS),
        ("TypeScript 1.32.2, nodes", &tools.node, tools.scripts.join("nodes1.mjs"), &ERAS[..1]),
        ("TypeScript 2.4.0, nodes", &tools.node, tools.scripts.join("nodes2.mjs"), ERAS),
    ];
    let engine = Engine::start()?;
    for (name, interpreter, script, eras) in clients {
        for (mode, version) in eras {
            let project = Empty::new(&engine.url)?;
            let mut command = Command::new(interpreter);
            command.arg(&script).arg(hob).arg(project.main.path()).arg(project.other()).arg(mode);
            let seen = report(&mut command, version).and_then(|report| check(&report));
            let stopped = stdout_of(Command::new(hob).arg("stop").current_dir(project.main.path()));
            let outcome = seen.and_then(|()| stopped.context("could not stop the daemon"));
            row(name, mode, outcome.map(|_| format!("{version}, from the first save to the end")));
        }
    }
    Ok(())
}

/// The offline engine, which is stopped when this is dropped.
struct Engine {
    url: String,
    _process: KillOnDrop,
    /// Stopped with this value.
    _stdin: ChildStdin,
}

impl Engine {
    fn start() -> Result<Engine> {
        let examples = build(Profile::Dev, &["--quiet", "-p", "nodes", "--example", "offline_engine"])?;
        let mut command = Command::new(examples.join("examples/offline_engine"));
        let (process, stdin, stdout) = KillOnDrop::piped(command.arg(target_dir()?.join("tools/llm")))?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).context("the offline engine said nothing")?;
        let url = line.trim().to_owned();
        if !url.starts_with("http://127.0.0.1:") {
            bail!("the offline engine said {url:?} instead of its address");
        }
        Ok(Engine { url, _process: process, _stdin: stdin })
    }
}

/// A repository with a linked worktree, which contains only a `hob.toml` that names the model.
struct Empty {
    main: tempfile::TempDir,
    beside: tempfile::TempDir,
}

impl Empty {
    fn new(url: &str) -> Result<Empty> {
        let empty =
            Empty { main: temporary_project()?, beside: tempfile::tempdir().context("could not make a directory")? };
        let settings = format!("[nodes]\nmodels.engine = {{ url = \"{url}\", model = \"fixed\" }}\n");
        std::fs::write(empty.main.path().join("hob.toml"), settings).context("could not write hob.toml")?;
        let other = empty.other();
        let other = other.to_str().context("a temporary directory has a name in UTF-8")?;
        let identity = ["-c", "user.name=hob", "-c", "user.email=hob@localhost"];
        let lines = [
            &["init", "-q", "-b", "main"][..],
            &["commit", "-q", "--allow-empty", "-m", "first"],
            &["worktree", "add", "-q", other],
        ];
        for line in lines {
            let mut git = Command::new("git");
            stdout_of(git.args(identity).args(line).stdin(Stdio::null()).current_dir(empty.main.path()))?;
        }
        Ok(empty)
    }

    fn other(&self) -> PathBuf {
        self.beside.path().join("other")
    }
}

/// Checks the output of a script.
fn check(report: &Value) -> Result<()> {
    let score = |schema: &str| report[schema]["properties"]["result"]["properties"]["score"]["maximum"].clone();
    let hash = |version: &str| report["hashes"][version].as_str().unwrap_or_default();
    let attempt = &report["ledger"]["attempts"][0];
    // No notification is sent for changes that a client cannot see: a body, or a file replaced by its last valid version.
    let announced = json!({
        "saved": 1, "body edited": 1, "schema edited": 2, "broken": 2, "deleted": 3, "own, come and gone": 5,
    });
    for (what, is, wanted) in [
        ("listed before the first save", &report["before"], json!([])),
        ("the listed input", &report["input"]["required"], json!(["text"])),
        ("the listed output", &score("output"), json!(5)),
        ("the value", &report["called"], json!({ "state": "done", "result": { "reason": "", "score": 1 } })),
        ("the model of the ledger", &attempt["model"], json!("engine")),
        ("the way of the ledger", &attempt["via"], json!("direct")),
        ("whether all tokens are known", &report["ledger"]["total"]["complete"], json!(true)),
        ("the output after the edit of the schema", &score("wider"), json!(9)),
        ("the state of a broken file", &report["broken"]["state"], json!("last_good")),
        ("the version that answers for it", &json!(hash("still")), json!(hash("last_good"))),
        ("whether a deleted file is gone", &report["gone"], json!(true)),
        ("a call without a model", &report["delegate"], json!("delegate")),
        ("a wrong value", &report["wrong"]["status"], json!("rejected")),
        ("a right value", &report["right"]["value"], json!({ "reason": "wet", "score": 2 })),
        ("the announcements so far", &report["announced"], announced),
    ] {
        if *is != wanted {
            bail!("{what}: {is} instead of {wanted}");
        }
    }
    for (what, said, wanted) in [
        ("a broken file", &report["broken"]["error"], "nodes/rate.node.md:6: "),
        ("the other worktree's tool", &report["elsewhere"]["described"], "Rates the text of another."),
        ("a wrong value", &report["wrong"]["problems"][0], "maximum of 5"),
        ("the prompt", &report["prompt"], "It rained."),
    ] {
        if !said.as_str().is_some_and(|said| said.contains(wanted)) {
            bail!("{what}: {wanted:?} is not in {said}");
        }
    }
    let elsewhere = report["elsewhere"]["hash"].as_str().unwrap_or_default();
    let versions = [hash("first"), hash("edited"), hash("last_good"), elsewhere];
    if versions.iter().collect::<BTreeSet<_>>().len() < versions.len() || versions.contains(&"") {
        bail!("not all versions differ: {versions:?}");
    }
    if attempt["tokens"]["in"].as_u64() == Some(0) {
        bail!("no tokens are counted: {attempt}");
    }
    Ok(())
}
