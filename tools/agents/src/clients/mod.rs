//! `cargo xtask clients`: independent clients against `hob mcp`. The Python package and both generations of the
//! TypeScript SDK, each in every era it supports, list the tools, evaluate in GHCi, and take a node from its first save
//! to its end. The Python package also calls every tool of the Cure compiler and asks about the work. Both current
//! packages answer questions in their dialogs.
//! Parent processes of several kinds start `hob mcp` with a socketpair, with pipes, with a file as input, and from a shell
//! before any daemon runs.
//!
//! The scripts are in `tools/agents/clients/`. Each row is one process; all rows of a run except those of nodes share one
//! project and its daemon. The features of the MCP library are tested in [`matrix`].

mod nodes;
mod tidepool;

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use taskkit::setup::{self, Tools};
use taskkit::until;
use taskkit::workspace::{KillOnDrop, Profile, build, root, temporary_project};

use crate::matrix;

/// The revision without a handshake.
pub(crate) const MODERN: &str = "2026-07-28";
/// The last revision that opens with `initialize`.
pub(crate) const LEGACY: &str = "2025-11-25";
/// The modes of a client that speaks both eras, and the revision that it must settle on.
pub(crate) const ERAS: &[(&str, &str)] = &[("legacy", LEGACY), ("auto", MODERN), (MODERN, MODERN)];

/// Runs the libraries' clients, or with `agents` the coding agents.
pub(crate) fn run(args: &[String]) -> Result<()> {
    match args.split_first() {
        None => {}
        Some((word, rest)) if word == "agents" => return crate::agents::run(rest),
        Some((word, rest)) if word == "plugins" => return crate::agents::plugins::run(rest),
        Some((word, rest)) if word == "hooks" => return crate::agents::hooked::run(rest),
        Some((other, _)) => {
            bail!(
                "there are no clients {other:?}; say `agents`, `hooks`, `plugins` or nothing for all that are libraries"
            )
        }
    }
    let tools = setup::tests()?;
    run_rows(&tools)?;
    matrix::run(&tools)
}

/// Runs every row, prints the table, and fails if a row failed.
fn run_rows(tools: &Tools) -> Result<()> {
    let hob = build(Profile::Dev, &["--quiet", "-p", "hob"])?.join("hob");
    let project = temporary_project()?;
    let dir = project.path();
    let requests = dir.join("requests.ndjson");
    std::fs::write(&requests, handshake()).context("could not write the requests")?;
    std::fs::write(dir.join("hob.toml"), "[cure]\nrun = true\n").context("could not write the configuration")?;

    let mut rows = Vec::new();
    let mut row = |name: &str, asks: &str, outcome: Result<String>| {
        rows.push(Row { name: name.to_owned(), asks: asks.to_owned(), outcome });
    };
    // First, while no daemon runs in the project.
    row("echo … | hob mcp", "no handshake", echo(&hob, dir));
    row("hob mcp < file", "initialize", from_file(&hob, dir, &requests));
    let scripts = root().join("tools/agents/clients");
    let python_parent = || script(&tools.python, &scripts.join("parent.py"), &[&hob, dir, &requests]);
    row("Python parent (pipes)", "initialize", python_parent().and_then(|out| handshake_is_answered(&out)));
    let node_parent = || script(&tools.node, &scripts.join("parent.mjs"), &[&hob, dir, &requests]);
    row("Node parent (socketpair)", "initialize", node_parent().and_then(|out| handshake_is_answered(&out)));

    // Node resolves packages from the script's directory, so the scripts are placed next to the packages.
    setup::copy_scripts(&["sdk1.mjs", "sdk2.mjs"], &scripts, &tools.scripts)?;
    let python = scripts.join("client.py");
    for (mode, version) in ERAS {
        row("Python mcp 2.3.0", mode, check_repl(&tools.python, &python, &hob, dir, mode, version));
    }
    row(
        "TypeScript sdk 1.32.2",
        "legacy",
        check_repl(&tools.node, &tools.scripts.join("sdk1.mjs"), &hob, dir, "legacy", LEGACY),
    );
    for (mode, version) in ERAS {
        row(
            "TypeScript client 2.4.0",
            mode,
            check_repl(&tools.node, &tools.scripts.join("sdk2.mjs"), &hob, dir, mode, version),
        );
    }
    let python = scripts.join("cure.py");
    for (mode, version) in ERAS {
        row("Python mcp 2.3.0, Cure", mode, check_cure(&tools.python, &python, &hob, dir, mode, version));
    }
    nodes::rows(tools, &hob, &mut row)?;
    let python = scripts.join("tidepool.py");
    for (mode, version) in [("legacy", LEGACY), (MODERN, MODERN)] {
        row("Python mcp 2.3.0, work", mode, tidepool::check(&tools.python, &python, &hob, mode, version));
    }
    // Both scripts read their calls from their own directory.
    setup::copy_scripts(&["ask2.mjs", "ask.json"], &scripts, &tools.scripts)?;
    let (python, typescript) = (scripts.join("ask.py"), tools.scripts.join("ask2.mjs"));
    for (mode, version) in [("legacy", LEGACY), (MODERN, MODERN)] {
        row("Python mcp 2.3.0, asks", mode, check_ask(&tools.python, &python, &hob, dir, mode, version));
        row("TypeScript 2.4.0, asks", mode, check_ask(&tools.node, &typescript, &hob, dir, mode, version));
    }
    let stopped = stdout_of(Command::new(&hob).arg("stop").current_dir(dir));
    row("hob stop", "", stopped.map(|_| "stopped".to_owned()));
    print_rows(&rows)
}

struct Row {
    name: String,
    asks: String,
    outcome: Result<String>,
}

fn print_rows(rows: &[Row]) -> Result<()> {
    println!("\n{:<26} {:<12} result", "client", "asks for");
    for row in rows {
        let said = match &row.outcome {
            Ok(said) => format!("ok    {said}"),
            Err(e) => format!("FAIL  {e:#}"),
        };
        println!("{:<26} {:<12} {said}", row.name, row.asks);
    }
    let failed = rows.iter().filter(|row| row.outcome.is_err()).count();
    println!("clients: {} passed, {failed} failed\n", rows.len() - failed);
    if failed > 0 {
        bail!("{failed} of {} clients could not work with `hob mcp`", rows.len());
    }
    Ok(())
}

/// Returns an agent's first messages, as lines.
fn handshake() -> String {
    let info =
        json!({ "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": { "name": "parent", "version": "1" } });
    let lines = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": info }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }),
    ];
    lines.map(|line| format!("{line}\n")).concat()
}

fn handshake_is_answered(stdout: &str) -> Result<String> {
    let answers = messages(stdout)?;
    let answer = |id: u64| {
        answers
            .iter()
            .find(|answer| answer["id"] == json!(id))
            .with_context(|| format!("no answer to request {id} in {stdout:?}"))
    };
    if answer(1)?["result"]["protocolVersion"] != LEGACY {
        bail!("the handshake was answered with {}", answer(1)?);
    }
    count_tools(answer(2)?)
}

/// Counts the tools of an answer to `tools/list`.
fn count_tools(answer: &Value) -> Result<String> {
    let tools = answer["result"]["tools"].as_array().with_context(|| format!("no tools in {answer}"))?;
    if !tools.iter().any(|tool| tool["name"] == "repl_eval") {
        bail!("repl_eval is not among the {} tools", tools.len());
    }
    Ok(format!("{} tools", tools.len()))
}

/// Parses stdout, of which every line must be a message.
fn messages(stdout: &str) -> Result<Vec<Value>> {
    let parsed = stdout.lines().map(|line| serde_json::from_str(line).with_context(|| format!("no message: {line}")));
    parsed.collect()
}

fn echo(hob: &Path, dir: &Path) -> Result<String> {
    let line = r#"echo '{"jsonrpc":"2.0","method":"tools/list","id":1}' | "$0" mcp"#;
    let stdout = stdout_of(Command::new("sh").args(["-c", line]).arg(hob).current_dir(dir))?;
    count_tools(messages(&stdout)?.first().context("nothing came back")?)
}

fn from_file(hob: &Path, dir: &Path, requests: &Path) -> Result<String> {
    let file = File::open(requests).context("could not open the requests")?;
    let mut command = Command::new(hob);
    let stdout = stdout_with_input(command.arg("mcp").current_dir(dir), file.into())?;
    handshake_is_answered(&stdout)
}

fn script(interpreter: &Path, script: &Path, args: &[&Path]) -> Result<String> {
    stdout_of(Command::new(interpreter).arg(script).args(args))
}

/// Runs a client's script and returns its report.
fn report_of(interpreter: &Path, script: &Path, hob: &Path, dir: &Path, mode: &str, version: &str) -> Result<Value> {
    report(Command::new(interpreter).arg(script).arg(hob).arg(dir).arg(mode), version)
}

fn report(command: &mut Command, version: &str) -> Result<Value> {
    let stdout = stdout_of(command)?;
    let report: Value = serde_json::from_str(stdout.trim()).with_context(|| format!("no report: {stdout}"))?;
    if report["version"] != version {
        bail!("settled on {} instead of {version}", report["version"]);
    }
    Ok(report)
}

/// Expected text in the answer of each tool of the Cure compiler.
const CURE_ANSWERS: [(&str, &str); 13] = [
    ("analyze_fsm", "FSM: Lamp"),
    ("check_project", "✓ 1 module in 1 file"),
    ("compile_cure", "✓ Compiled Shop into _build/mcp"),
    ("format_cure", "\n  def main(): Int = price(3) + price(10)\n"),
    ("generate_tests", "if Shop.price(1) == 10 then []"),
    ("get_ast", "AST:\nModule"),
    ("get_examples", "module Gate do"),
    ("get_stdlib_docs", "is_some(option: Option(T)): Bool"),
    ("get_syntax_help", "module Records do"),
    ("parse_cure", "functions: price/1, main/0"),
    ("run_cure", "⇒ 120"),
    ("type_check_cure", "C0401: -3 does not fit {x: Int | x > 0}"),
    ("validate_syntax", "✓ Syntax is valid"),
];

/// Runs the script that calls every tool of the Cure compiler, and checks its report.
fn check_cure(interpreter: &Path, script: &Path, hob: &Path, dir: &Path, mode: &str, version: &str) -> Result<String> {
    let report = report_of(interpreter, script, hob, dir, mode, version)?;
    if report["tools"] != json!(CURE_ANSWERS.map(|(tool, _)| tool)) {
        bail!("listed {}", report["tools"]);
    }
    let contains = |answer: &Value, wanted: &str| match answer["text"].as_str() {
        Some(text) if text.contains(wanted) && answer["is_error"] == false && answer["structured"].is_object() => {
            Ok(())
        }
        _ => bail!("{wanted:?} is not in {answer}"),
    };
    for (tool, wanted) in CURE_ANSWERS {
        contains(&report["answers"][tool], wanted).with_context(|| format!("{tool} answered something else"))?;
    }
    if !dir.join("_build/mcp/Shop.beam").exists() {
        bail!("compile_cure wrote no file");
    }
    let resources = report["resources"].as_object().context("no resources")?;
    let empty = resources.values().any(|text| text.as_str().is_none_or(|text| text.len() < 40));
    if resources.len() != 3 || empty || !report["prompts"].to_string().contains("C0401") {
        bail!("the resources and the prompt were {} and {}", report["resources"], report["prompts"]);
    }
    contains(&report["deep"], "C0105: nested more than 128 deep")?;
    contains(&report["dear"], "C0313: the type of this has more than")?;
    Ok(format!("{version}, {} tools of the compiler", CURE_ANSWERS.len()))
}

/// Runs a client's script that accepts, declines and cancels the dialog of each asking tool, and checks its report.
fn check_ask(interpreter: &Path, script: &Path, hob: &Path, dir: &Path, mode: &str, version: &str) -> Result<String> {
    let report = report_of(interpreter, script, hob, dir, mode, version)?;
    let values = json!({
        "version": "v2", "why": "because\nof it", "copies": 3, "share": 0.5, "ship": true, "where": "us", "with": ["docs"],
        "when": "2026-12-01",
    });
    let answers = [
        ("confirm_action", "confirmed", json!(true), json!(false)),
        ("select_option", "selected", json!("pg"), json!("cancelled")),
        ("request_guidance", "guidance", json!("Mend it"), Value::Null),
        ("ask_form", "values", values, Value::Null),
    ];
    let mut answered = 0;
    for (tool, field, accepted, none) in answers {
        for (action, status, wanted) in
            [("accept", "answered", &accepted), ("decline", "declined", &none), ("cancel", "cancelled", &none)]
        {
            let answer = &report["answers"][tool][action];
            if answer["status"] != status || answer[field] != *wanted || answer["answered"]["via"] != "dialog" {
                bail!("{tool}: {action} gave {answer}");
            }
            answered += 1;
        }
    }
    if report["answers"]["confirm_action"]["accept"]["note"] != "but keep the tag" {
        bail!("the note of the dialog is not there");
    }
    Ok(format!("{version}, {answered} dialogs: accepted, declined and cancelled"))
}

/// Runs a client's script that evaluates in GHCi, and checks its report.
fn check_repl(interpreter: &Path, script: &Path, hob: &Path, dir: &Path, mode: &str, version: &str) -> Result<String> {
    let report = report_of(interpreter, script, hob, dir, mode, version)?;
    let text = report["text"].as_str().unwrap_or_default();
    if !text.contains("map :: (a -> b) -> [a] -> [b]") {
        bail!("`:t map` gave {text:?}");
    }
    if report["structured"] != true {
        bail!("the result has no structured content");
    }
    Ok(format!("{version}, {} tools, map :: (a -> b) -> [a] -> [b]", report["tools"]))
}

pub(crate) fn stdout_of(command: &mut Command) -> Result<String> {
    stdout_with_input(command, Stdio::null())
}

/// Runs a program and returns its stdout; one that does not end is killed, which is a failure.
fn stdout_with_input(command: &mut Command, stdin: Stdio) -> Result<String> {
    let stdout_file = tempfile::NamedTempFile::new().context("could not make a file for the output")?;
    let stderr_file = tempfile::NamedTempFile::new().context("could not make a file for the output")?;
    let child = command
        .stdin(stdin)
        .stdout(stdout_file.reopen()?)
        .stderr(stderr_file.reopen()?)
        .spawn()
        .with_context(|| format!("could not start {:?}", command.get_program()))?;
    let mut child = KillOnDrop(child);
    let status = until("its end", || Ok(child.try_wait()?));
    let stdout = std::fs::read_to_string(stdout_file.path()).context("its output is no UTF-8")?;
    let status = status.with_context(|| format!("it said {stdout:?}"))?;
    if !status.success() {
        let stderr = std::fs::read_to_string(stderr_file.path()).unwrap_or_default();
        let last: Vec<&str> = stderr.lines().rev().take(6).collect();
        bail!("{status}; it said {stdout:?} and {:?}", last.into_iter().rev().collect::<Vec<_>>().join(" / "));
    }
    Ok(stdout)
}
