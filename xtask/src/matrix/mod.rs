//! The matrix of independent clients: each does everything a client may, in every era and over every transport it has,
//! against the example `everything`; and the TypeScript ones show that no report comes together with its answer.
//!
//! The clients are in `xtask/clients/`; a client tells what it saw, and what it must have seen is written here. The table
//! goes to `docs/generated/clients.md`, with what a client itself has no way to do marked as such.

mod inspector;
mod seen;
mod table;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use self::seen::Cell;
use crate::cache::Builds;
use crate::clients::within_limit;
use crate::example::{self, Served};
use crate::setup::Tools;
use crate::workspace::{cargo, root, run, target_dir};

/// The revision without a handshake.
const MODERN: &str = "2026-07-28";
/// The last one that opens with `initialize`.
const LEGACY: &str = "2025-11-25";

/// The modes of a client that speaks both eras, and what it must settle on.
const BOTH: &[(&str, &str)] = &[("legacy", LEGACY), ("auto", MODERN), (MODERN, MODERN)];
const OLD: &[(&str, &str)] = &[("legacy", LEGACY)];

/// A client, over one transport, in one mode.
struct Row {
    client: &'static str,
    transport: &'static str,
    mode: &'static str,
    /// What it must settle on.
    version: &'static str,
    cells: Vec<Cell>,
}

/// Where the servers are.
struct Servers {
    program: PathBuf,
    http: Served,
}

/// Runs everything, prints and writes the table, and fails if a client saw anything else than it must.
pub(crate) fn with(tools: &Tools) -> Result<()> {
    let examples = example::built(&["everything", "http"])?;
    let http = Served::start(Command::new(examples.join("http")).arg("127.0.0.1:0"))?;
    let servers = Servers { program: examples.join("everything"), http };
    let scripts = root().join("xtask/clients");
    for name in ["matrix.mjs", "matrix1.mjs", "matrix2.mjs"] {
        let to = tools.scripts.join(name);
        std::fs::copy(scripts.join(name), &to).with_context(|| format!("could not copy {name}"))?;
    }
    let rust = rust_client()?;
    let python = |package: &'static str| {
        let script = scripts.join("matrix.py");
        move || [tools.python.clone(), script.clone(), package.into()].to_vec()
    };
    let node = |script: &'static str| move || [tools.node.clone(), tools.scripts.join(script)].to_vec();

    let mut rows = Vec::new();
    for transport in ["stdio", "http"] {
        let mut add = |client, command: &dyn Fn() -> Vec<PathBuf>, modes: &'static [(&'static str, &'static str)]| {
            for (mode, version) in modes {
                rows.push(row(client, command(), transport, mode, version, &servers));
            }
        };
        add("rmcp 3.9.0", &|| vec![rust.clone()], BOTH);
        add("Python mcp 2.3.0", &python("mcp"), BOTH);
        add("fastmcp 4.1.2", &python("fastmcp"), BOTH);
        add("TypeScript sdk 1.32.2", &node("matrix1.mjs"), OLD);
        add("TypeScript client 2.4.0", &node("matrix2.mjs"), BOTH);
        for (era, version) in [("legacy", LEGACY), ("modern", MODERN)] {
            rows.push(inspector::row(tools, transport, era, version, &servers)?);
        }
    }
    // What the old clients have besides.
    let mut add = |client, command: Vec<PathBuf>, transport| {
        rows.push(row(client, command, transport, "legacy", LEGACY, &servers));
    };
    add("Python mcp 2.3.0", python("mcp")(), "sse");
    add("fastmcp 4.1.2", python("fastmcp")(), "sse");
    add("TypeScript sdk 1.32.2", node("matrix1.mjs")(), "sse");
    add("TypeScript client 2.4.0", node("matrix2.mjs")(), "sse");
    add("TypeScript sdk 1.32.2", node("matrix1.mjs")(), "websocket");
    let races = races(tools, &servers)?;
    let page = table::page(&rows, &races);
    println!("\n{page}");
    let path = root().join("docs/generated/clients.md");
    if std::fs::read_to_string(&path).ok().as_ref() != Some(&page) {
        std::fs::write(&path, &page).with_context(|| format!("could not write {path:?}"))?;
    }
    let wrong = table::wrong(&rows, &races);
    match wrong.is_empty() {
        true => Ok(()),
        false => bail!("clients did not see what they must:\n  {}", wrong.join("\n  ")),
    }
}

/// Builds the client on the official Rust SDK, which is no part of the workspace.
fn rust_client() -> Result<PathBuf> {
    let target = target_dir()?.join("rmcp-client");
    let sources = root().join("xtask/clients/rmcp");
    let builds = Builds::lent("rmcp-client", &sources.join("Cargo.lock"), &target, &["debug"])?;
    run(cargo()
        .args(["build", "--quiet", "--locked", "--manifest-path"])
        .arg(sources.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target))?;
    builds.keep()?;
    Ok(target.join("debug/rmcp-client"))
}

fn row(
    client: &'static str,
    command: Vec<PathBuf>,
    transport: &'static str,
    mode: &'static str,
    version: &'static str,
    servers: &Servers,
) -> Row {
    let cells = match report(&command, transport, mode, None, servers) {
        Ok(report) => seen::cells(&report, version),
        Err(e) => vec![Cell::Wrong(format!("{e:#}"))],
    };
    Row { client, transport, mode, version, cells }
}

fn report(command: &[PathBuf], transport: &str, mode: &str, what: Option<&str>, servers: &Servers) -> Result<Value> {
    let (program, args) = command.split_first().context("no program")?;
    let mut client = Command::new(program);
    client.args(args).arg(transport).arg(servers.target(transport)).arg(mode).args(what);
    let said = within_limit(&mut client)?;
    serde_json::from_str(said.trim()).with_context(|| format!("no report: {said}"))
}

impl Servers {
    fn target(&self, transport: &str) -> PathBuf {
        let beside = |path: &str| self.http.url.replace("/mcp", path);
        match transport {
            "stdio" => self.program.clone(),
            "sse" => beside("/sse").into(),
            "websocket" => beside("/ws").replace("http://", "ws://").into(),
            _ => (&self.http.url).into(),
        }
    }
}

/// What came of a thousand calls whose report and answer follow each other at once.
struct Race {
    client: &'static str,
    server: &'static str,
    transport: &'static str,
    mode: &'static str,
    /// How many of a thousand calls saw their report, and what took the client by surprise.
    outcome: Result<(u64, usize)>,
    /// How many must.
    expected: u64,
}

/// The race that some clients lose: a report in one read with its answer. A server that writes both at once is the
/// control, against which they lose every report.
fn races(tools: &Tools, servers: &Servers) -> Result<Vec<Race>> {
    let dir = tempfile::tempdir().context("could not make a folder")?;
    let control = dir.path().join("together");
    let script = root().join("xtask/clients/together.py");
    let text = format!("#!/bin/sh\nexec '{}' '{}'\n", tools.python.display(), script.display());
    std::fs::write(&control, text).context("could not write the control's starter")?;
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&control, std::fs::Permissions::from_mode(0o700))?;

    let mut races = Vec::new();
    let (sdk1, sdk2) = (("TypeScript sdk 1.32.2", "matrix1.mjs"), ("TypeScript client 2.4.0", "matrix2.mjs"));
    for ((client, script), mode) in [(sdk1, "legacy"), (sdk2, "legacy"), (sdk2, MODERN)] {
        let command = [tools.node.clone(), tools.scripts.join(script)];
        let raced = |target: &Path, transport: &str| {
            let mut node = Command::new(&command[0]);
            let said = within_limit(node.arg(&command[1]).arg(transport).arg(target).args([mode, "race"]))?;
            let report: Value = serde_json::from_str(said.trim()).with_context(|| format!("no report: {said}"))?;
            let race = &report["race"];
            if race["answered"] != 1000 {
                bail!("{} of 1000 calls were answered", race["answered"]);
            }
            let reported = race["reported"].as_u64().context("no count of reports")?;
            Ok((reported, race["surprises"].as_array().map_or(0, Vec::len)))
        };
        // An HTTP+SSE stream has no way to tell what was read; a client that stalls may lose a report there.
        let transports = match client == sdk1.0 {
            true => ["stdio", "http", "websocket"].as_slice(),
            false => &["stdio", "http"],
        };
        for transport in transports.iter().copied() {
            let outcome = raced(&servers.target(transport), transport);
            races.push(Race { client, server: "everything", transport, mode, outcome, expected: 1000 });
        }
        if mode == "legacy" {
            let outcome = raced(&control, "stdio");
            races.push(Race { client, server: "control", transport: "stdio", mode, outcome, expected: 0 });
        }
    }
    Ok(races)
}
