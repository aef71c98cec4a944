//! The matrix of independent clients: each does everything that a client may do, in every era and over every transport
//! that it supports, against the example `everything`. The TypeScript clients also show that a progress report never
//! arrives in one read with its answer.
//!
//! The clients are in `tools/agents/clients/` and report their observations; [`expectations`] holds the expected ones. The
//! table is written to `docs/generated/clients.md`, which marks unsupported features.

mod expectations;
mod inspector;
mod table;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use taskkit::cache::build_standalone;
use taskkit::setup::{self, Tools};
use taskkit::workspace::{Profile, root, target_dir, write_page};

use self::expectations::Cell;
use crate::clients::{ERAS, LEGACY, MODERN, stdout_of};
use crate::example::{self, ExampleServer};

/// A client, over one transport, in one mode.
struct Row {
    client: &'static str,
    transport: &'static str,
    mode: &'static str,
    /// The revision that the client must settle on.
    version: &'static str,
    cells: Vec<Cell>,
}

struct Servers {
    program: PathBuf,
    http: ExampleServer,
}

/// Runs everything, prints and writes the table, and fails if a client saw anything unexpected.
pub(crate) fn run(tools: &Tools) -> Result<()> {
    let examples = example::build_examples(&["everything", "http"])?;
    let http = ExampleServer::start(Command::new(examples.join("http")).arg("127.0.0.1:0"))?;
    let servers = Servers { program: examples.join("everything"), http };
    let scripts = root().join("tools/agents/clients");
    setup::copy_scripts(&["matrix.mjs", "matrix1.mjs", "matrix2.mjs"], &scripts, &tools.scripts)?;
    let target = target_dir()?.join("rmcp-client");
    let rust = build_standalone("rmcp-client", &scripts.join("rmcp"), &target, Profile::Dev)?.join("rmcp-client");
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
        add("rmcp 3.11.0", &|| vec![rust.clone()], ERAS);
        add("Python mcp 2.3.0", &python("mcp"), ERAS);
        add("fastmcp 4.1.2", &python("fastmcp"), ERAS);
        add("TypeScript sdk 1.32.2", &node("matrix1.mjs"), &ERAS[..1]);
        add("TypeScript client 2.4.0", &node("matrix2.mjs"), ERAS);
        for (era, version) in [("legacy", LEGACY), ("modern", MODERN)] {
            rows.push(inspector::row(tools, transport, era, version, &servers)?);
        }
    }
    // Transports that only the legacy era has.
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
    write_page("docs/generated/clients.md", &page)?;
    let complaints = table::complaints(&rows, &races);
    if complaints.is_empty() {
        Ok(())
    } else {
        bail!("clients did not see what they must:\n  {}", complaints.join("\n  "))
    }
}

fn row(
    client: &'static str,
    command: Vec<PathBuf>,
    transport: &'static str,
    mode: &'static str,
    version: &'static str,
    servers: &Servers,
) -> Row {
    let cells = match report(&command, transport, &servers.target(transport), &[mode]) {
        Ok(report) => expectations::judge(&report, version),
        Err(e) => vec![Cell::Failed(format!("{e:#}"))],
    };
    Row { client, transport, mode, version, cells }
}

/// Runs a client and returns its report.
fn report(command: &[PathBuf], transport: &str, target: &Path, args: &[&str]) -> Result<Value> {
    let (program, words) = command.split_first().context("no program")?;
    let mut client = Command::new(program);
    client.args(words).arg(transport).arg(target).args(args);
    let said = stdout_of(&mut client)?;
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

/// Outcome of a thousand calls whose report and answer follow each other immediately.
struct Race {
    client: &'static str,
    server: &'static str,
    transport: &'static str,
    mode: &'static str,
    /// Number of reports that the client saw, and number of errors that it raised.
    outcome: Result<(u64, usize)>,
    /// Number of reports that the client must see.
    expected: u64,
}

/// Some clients lose a report that arrives in one read with its answer. A server that writes both at once is the
/// control: with it they lose every report.
fn races(tools: &Tools, servers: &Servers) -> Result<Vec<Race>> {
    let dir = tempfile::tempdir().context("could not make a folder")?;
    let control = dir.path().join("together");
    let script = root().join("tools/agents/clients/together.py");
    let text = format!("#!/bin/sh\nexec '{}' '{}'\n", tools.python.display(), script.display());
    std::fs::write(&control, text).context("could not write the control's starter")?;
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&control, std::fs::Permissions::from_mode(0o700))?;

    let mut races = Vec::new();
    let (sdk1, sdk2) = (("TypeScript sdk 1.32.2", "matrix1.mjs"), ("TypeScript client 2.4.0", "matrix2.mjs"));
    for ((client, script), mode) in [(sdk1, "legacy"), (sdk2, "legacy"), (sdk2, MODERN)] {
        let command = [tools.node.clone(), tools.scripts.join(script)];
        let raced = |target: &Path, transport: &str| {
            let report = report(&command, transport, target, &[mode, "race"])?;
            let race = &report["race"];
            if race["answered"] != 1000 {
                bail!("{} of 1000 calls were answered", race["answered"]);
            }
            let reported = race["reported"].as_u64().context("no count of reports")?;
            Ok((reported, race["surprises"].as_array().map_or(0, Vec::len)))
        };
        // Not over HTTP+SSE: the server cannot detect reading, so a stalled client may lose a report.
        let transports = if client == sdk1.0 { ["stdio", "http", "websocket"].as_slice() } else { &["stdio", "http"] };
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
