//! The MCP Inspector's command line. Each command uses a new connection, so only single requests are tested.

use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use taskkit::setup::Tools;

use super::{Row, Servers, expectations};

const LAUNCHER: &str = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";

pub(super) fn row(
    tools: &Tools,
    transport: &'static str,
    era: &'static str,
    version: &'static str,
    servers: &Servers,
) -> Result<Row> {
    let home = tempfile::tempdir().context("could not make a folder for the inspector")?;
    let ask = |method: &str, args: &[&str]| -> Result<Value> {
        let mut command = Command::new(&tools.node);
        command.arg(tools.scripts.join(LAUNCHER)).arg("--cli").arg(servers.target(transport));
        command.args(["--protocol-era", era, "--method", method]).args(args);
        let output = command.env("MCP_CATALOG_PATH", home.path().join("mcp.json")).output()?;
        // The command exits with an error for a tool's error too, which is a result.
        let said = String::from_utf8_lossy(&output.stdout);
        let (value, what) = (serde_json::from_str(said.trim()), String::from_utf8_lossy(&output.stderr));
        value.with_context(|| format!("{method}: {} and said {said:?} {what:?}", output.status))
    };
    let cells = match report(&ask, transport, version) {
        Ok(report) => expectations::judge(&report, version),
        Err(e) => vec![expectations::Cell::Failed(format!("{e:#}"))],
    };
    Ok(Row { client: "Inspector 2.12.0 --cli", transport, mode: era, version, cells })
}

fn report(ask: &dyn Fn(&str, &[&str]) -> Result<Value>, transport: &str, version: &str) -> Result<Value> {
    let call = |name: &str, args: &[&str]| {
        let mut all = vec!["--tool-name", name];
        all.extend(args.iter().flat_map(|arg| ["--tool-arg", *arg]));
        ask("tools/call", &all)
    };
    let text = |result: &Value| result["content"][0]["text"].clone();
    let listed = ask("tools/list", &[])?;
    let listed = listed["tools"].as_array().context("no list of tools")?;
    let mut names: Vec<&str> = listed.iter().filter_map(|tool| tool["name"].as_str()).collect();
    names.retain(|name| ["echo", "hold", "inquire", "report"].contains(name));
    let (echo, refused) = (call("echo", &["text=hi"])?, call("refuse", &[])?);
    // Only results of the modern era have a type.
    let settled = if echo.get("resultType").is_some() { super::MODERN } else { super::LEGACY };
    if settled != version {
        bail!("settled on {settled}");
    }
    let hello = ask("resources/read", &["--uri", "note://hello"])?;
    let template = ask("resources/read", &["--uri", "planet://Mars/mass?unit=kg"])?;
    let greeting = ask("prompts/get", &["--prompt-name", "greet", "--prompt-args", "name=Ada", "times=2"])?;
    Ok(json!({
        "version": version,
        "tools": {
            "names": names,
            "echo": text(&echo),
            "structured": echo["structuredContent"],
            "refused": refused["isError"],
        },
        "progress": {"cannot": "The Inspector's command line shows results only."},
        "cancel": {"cannot": "The Inspector's command line has nothing to cancel with."},
        "ask": answer_question(&call, transport)?,
        "resources": {
            "hello": hello["contents"][0]["text"],
            "template": template["contents"][0]["text"],
            "cannot": "The Inspector's command line cannot watch a resource.",
        },
        "prompts": {
            "greet": greeting["messages"][0]["content"]["text"],
            "cannot": "The Inspector's command line cannot complete arguments.",
        },
    }))
}

/// The Inspector's command line supports no elicitation, so it answers a question by a second call with an argument.
/// That needs a server that outlives the first command.
fn answer_question(call: &dyn Fn(&str, &[&str]) -> Result<Value>, transport: &str) -> Result<Value> {
    if transport == "stdio" {
        return Ok(
            json!({"cannot": "Each command of the Inspector starts a server of its own: nobody is left to answer."}),
        );
    }
    let question = call("inquire", &["about=form"])?;
    let ask = &question["structuredContent"]["ask"];
    let id = ask["id"].as_str().with_context(|| format!("no question: {question}"))?;
    let resume = format!("resume={}", json!({"id": id, "answers": {"color": "red"}}));
    let answered = call("inquire", &["about=form", &resume])?;
    let message = &ask["questions"]["answer"]["message"];
    Ok(json!({"asked": [message], "text": answered["content"][0]["text"]}))
}
