//! `cargo xtask demo`: shows the product's main functions from an agent's perspective.
//!
//! Starts `hob mcp`, speaks MCP with it over pipes, and works with a live GHCi: a type, an endless evaluation that is interrupted, the
//! diagnostics of a broken module. Then an agent asks about code, and another asks a person, who answers on the command line. Each step is
//! checked; the first unexpected result ends the demonstration with the reason. Without GHCi, a shorter demonstration runs in Python.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use taskkit::setup;
use taskkit::until;
use taskkit::workspace::{Profile, build, temporary_project};
use testkit::{Answer, McpPeer};

/// A module with two type errors.
const BROKEN: &str = "\
module Shelf where

warm :: Int -> Int
warm n = n + \"one\"

cold :: Bool
cold = warm 3
";
const MENDED: &str = "\
module Shelf where

warm :: Int -> Int
warm n = n + 1

cold :: Bool
cold = warm 3 > 3
";

const NODE: &str = "\
---
description: Rates a text.
input: { schema: { text: string } }
output: { schema: { reason: string, score: integer 1..5 } }
---
Rate this text from 1 to 5, and say why: {{ text | data }}
";

pub(crate) fn run() -> Result<()> {
    let has_ghci = setup::demo()?;
    let hob = build(Profile::Dev, &["-p", "hob"])?.join("hob");
    let project = temporary_project()?;
    let dir = project.path();
    println!(
        "\nThe project is a folder with an empty hob.toml. The agent starts `hob mcp` in it, as it would start any MCP server."
    );
    let played = play(&hob, dir, has_ghci);
    // Runs after a failure too, so that no process is left.
    let stopped = Command::new(&hob).arg("stop").current_dir(dir).stdin(Stdio::null()).output();
    played?;
    let stopped = stopped.context("could not run `hob stop`")?;
    if !stopped.status.success() {
        bail!("`hob stop` failed: {}", String::from_utf8_lossy(&stopped.stderr));
    }
    println!("\n$ hob stop\n{}", String::from_utf8_lossy(&stopped.stdout).trim_end());
    println!("\nThat was a real conversation with a real {}.", if has_ghci { "GHCi" } else { "Python" });
    Ok(())
}

fn play(hob: &Path, dir: &Path, has_ghci: bool) -> Result<()> {
    let mut conversation = Conversation::start(mcp(hob, dir, &[]));
    let hello = &conversation.hello;
    println!(
        "\n▸ initialize\n  {} {}, protocol {}",
        plain(&hello["serverInfo"]["name"]),
        plain(&hello["serverInfo"]["version"]),
        plain(&hello["protocolVersion"])
    );
    let names = conversation.tools();
    println!("\n▸ tools/list\n  {}", names.join(", "));
    if !names.iter().any(|name| name == "repl_eval") {
        bail!("tools/list does not hold repl_eval");
    }
    if has_ghci {
        haskell(&mut conversation, dir)?
    } else {
        python(&mut conversation)?
    }
    node(&mut conversation, dir)?;
    conversation.finish()?;
    code(hob, dir)?;
    question(hob, dir)
}

/// A small program with a caller, a value and a homonym in a comment.
const GEOMETRY: &str = "\
class Circle:
    radius = 1.0

class Square:
    side = 1.0

type Shape = Circle | Square

# The area of a shape.
def area(shape: Shape) -> float:
    match shape:
        case Circle():
            return shape.radius * shape.radius * 3.14
        case Square():
            return shape.side * shape.side

def total(shapes: list[Shape]) -> float:
    return sum(map(area, shapes)) + area(Circle())
";

/// Asks about code. A language server verifies each answer. The demonstration installs the server if possible.
fn code(hob: &Path, dir: &Path) -> Result<()> {
    println!("\nAn agent asks about code, geometry.py:\n\n{}", indented(GEOMETRY));
    std::fs::write(dir.join("geometry.py"), GEOMETRY).context("could not write geometry.py")?;
    std::fs::write(
        dir.join("pyproject.toml"),
        "[project]\nname = \"geometry\"\nversion = \"1\"\nrequires-python = \">=3.12\"\n",
    )
    .context("could not write pyproject.toml")?;
    let path = match setup::python_judge_path() {
        Ok(path) => Some(path),
        Err(e) => {
            println!("setup: {e:#}\n  (Without ty the answers stand by syntax, and say so.)");
            None
        }
    };
    let mut command = mcp(hob, dir, &["code"]);
    command.envs(path.iter().map(|path| ("PATH", path)));
    let mut conversation = Conversation::start(command);
    let is_verified = |answer: &Answer| path.is_none() || answer.structured["head"]["complete"] == true;
    let callers = |answer: &Answer| answer.structured["total"] == 2 && is_verified(answer);
    let asked = json!({ "name": "area", "wait_ms": 60_000 });
    conversation.call("find_callers", asked, "a call and a value, verified", callers)?;
    let breaks = |answer: &Answer| answer.structured["totals"]["breaks"] == 1 && is_verified(answer);
    let what = "a match that one more shape breaks, verified";
    conversation.call("find_matches", json!({ "type_name": "Shape", "change": "add" }), what, breaks)?;
    conversation.finish()
}

/// Saves a prompt file, which becomes a tool. Without a model the agent answers it, and its answer is checked.
fn node(conversation: &mut Conversation, dir: &Path) -> Result<()> {
    println!("\nA prompt is saved as a file, nodes/rate.node.md:\n\n{}", indented(NODE));
    std::fs::create_dir(dir.join("nodes")).context("could not make nodes/")?;
    std::fs::write(dir.join("nodes/rate.node.md"), NODE).context("could not write the node")?;
    let begun = Instant::now();
    until("the file to be a tool", || Ok(conversation.tools().contains(&"rate".to_owned()).then_some(())))?;
    println!("  it is a tool {} ms later", begun.elapsed().as_millis());
    let call = json!({ "text": "It rained." });
    let asked =
        conversation.call("rate", call, "a prompt and a ticket", |answer| answer.structured["state"] == "delegate")?;
    let ticket = asked.structured["delegate"]["ticket"].clone();
    let wrong = json!({ "ticket": ticket, "value": { "reason": "wet", "score": 9 } });
    conversation.call("node_submit", wrong, "what is wrong with it", |answer| has_status(answer, "rejected"))?;
    let right = json!({ "ticket": ticket, "value": { "reason": "wet", "score": 2 } });
    conversation.call("node_submit", right, "the typed value", |answer| has_status(answer, "accepted")).map(drop)
}

/// An agent asks, `hob answer` answers, and the answer arrives with the agent's next result.
fn question(hob: &Path, dir: &Path) -> Result<()> {
    println!("\nAnother agent asks its person, and goes on:");
    // The agent is a separate program, because a descendant of an agent may not answer.
    let script = dir.join("agent.sh");
    std::fs::write(&script, "\"$1\" mcp; exit $?\n").context("could not write the agent's script")?;
    let mut agent = Command::new("sh");
    agent.arg(&script).arg(hob).current_dir(dir);
    let mut conversation = Conversation::start(agent);
    let asked = json!({ "action": "Delete the branch?", "details": "It is merged.", "wait_s": 0 });
    conversation.call("confirm_action", asked, "a question that is open", |answer| has_status(answer, "asked"))?;
    let words = ["answer", "--yes", "--note", "but keep the tag"];
    println!("\n$ hob answer --yes --note 'but keep the tag'");
    let mut answer = Command::new(hob);
    let said =
        answer.args(words).current_dir(dir).stdin(Stdio::null()).output().context("could not run `hob answer`")?;
    let refusal = String::from_utf8_lossy(&said.stderr);
    if refusal.contains("an agent must not answer for its user") {
        println!(
            "{}\n  (This demonstration was started by an agent, which hob does not take for a person.)",
            refusal.trim_end()
        );
        return conversation.finish();
    }
    if !said.status.success() {
        bail!("`hob answer` failed: {refusal}");
    }
    println!("{}", String::from_utf8_lossy(&said.stdout).trim_end());
    conversation.call("ask_list", json!({}), "the answer beside another result", |answer| {
        answer.text.contains("confirmed: true") && answer.text.contains("but keep the tag")
    })?;
    conversation.finish()
}

fn haskell(conversation: &mut Conversation, dir: &Path) -> Result<()> {
    conversation.call("repl_start", json!({ "profile": "ghci" }), "", |_| true)?;
    conversation.evaluate(":t map", "map :: (a -> b) -> [a] -> [b]")?;
    conversation.interrupt_endless("length [1 ..]")?;
    conversation.evaluate("sum [1 .. 100]", "5050")?;

    println!("\nNow a module with two faults, Shelf.hs:\n\n{}", indented(BROKEN));
    std::fs::write(dir.join("Shelf.hs"), BROKEN).context("could not write Shelf.hs")?;
    let loaded = conversation.call("repl_reload", json!({ "targets": ["Shelf.hs"] }), "two diagnostics", |_| true)?;
    let listed = conversation.call("repl_diagnostics", json!({}), "two diagnostics", |_| true)?;
    let found = [&listed, &loaded].into_iter().filter_map(diagnostics).find(|list| !list.is_empty());
    let found = found.context("neither repl_reload nor repl_diagnostics gave structured diagnostics")?;
    println!("  as structured content:");
    for diagnostic in found {
        println!("    {diagnostic}");
    }
    let lines: Vec<u64> = found.iter().filter_map(|diagnostic| diagnostic["line"].as_u64()).collect();
    if !(lines.contains(&4) && lines.contains(&7)) {
        bail!("the faults are in lines 4 and 7 of Shelf.hs, the diagnostics name {lines:?}");
    }
    println!("\nThe agent mends it:\n\n{}", indented(MENDED));
    std::fs::write(dir.join("Shelf.hs"), MENDED).context("could not write Shelf.hs")?;
    conversation.call("repl_reload", json!({}), "no diagnostics", |answer| {
        diagnostics(answer).is_none_or(|list| list.is_empty())
    })?;
    conversation.evaluate("warm 41", "42")
}

fn python(conversation: &mut Conversation) -> Result<()> {
    conversation.call("repl_start", json!({ "profile": "python" }), "", |_| true)?;
    conversation.evaluate("sum(range(101))", "5050")?;
    conversation.interrupt_endless("while True: pass")?;
    conversation.evaluate("6 * 7", "42")
}

fn diagnostics(answer: &Answer) -> Option<&Vec<Value>> {
    answer.structured["diagnostics"].as_array()
}

/// `hob mcp` in the project.
fn mcp(hob: &Path, dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(hob);
    command.arg("mcp").args(args).current_dir(dir);
    command
}

/// An agent, with every exchange printed.
struct Conversation {
    agent: McpPeer,
    /// The result of `initialize`.
    hello: Value,
}

impl Conversation {
    fn start(command: Command) -> Conversation {
        let mut agent = McpPeer::spawn(command);
        let hello = agent.initialize();
        Conversation { agent, hello }
    }

    /// Returns the names of the listed tools.
    fn tools(&mut self) -> Vec<String> {
        let listed = self.agent.result("tools/list", json!({}));
        let tools = listed["tools"].as_array().into_iter().flatten();
        tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    }

    /// Calls a tool, prints the exchange, and checks the answer.
    fn call(
        &mut self,
        tool: &str,
        arguments: Value,
        wanted: &str,
        is_right: impl Fn(&Answer) -> bool,
    ) -> Result<Answer> {
        println!("\n▸ {tool} {arguments}");
        let started = Instant::now();
        let answer = self.agent.call(tool, arguments);
        println!("{}\n  ({:.0} ms)", indented(&answer.text), started.elapsed().as_secs_f64() * 1000.0);
        if answer.is_error {
            bail!("{tool} failed: {}", answer.text);
        }
        if !is_right(&answer) {
            bail!("{tool} did not give {wanted}: {answer:?}");
        }
        Ok(answer)
    }

    fn evaluate(&mut self, code: &str, wanted: &str) -> Result<()> {
        let is_right = |answer: &Answer| answer.text.contains(wanted);
        self.call("repl_eval", json!({ "code": code }), wanted, is_right).map(drop)
    }

    /// Starts endless code, checks that it runs, and interrupts it.
    fn interrupt_endless(&mut self, code: &str) -> Result<()> {
        let arguments = json!({ "code": code, "wait_ms": 1000 });
        self.call("repl_eval", arguments, "a running evaluation", |answer| has_status(answer, "running"))?;
        self.call("repl_interrupt", json!({}), "an interrupt that took", |_| true).map(drop)
    }

    /// Closes the agent's output, as an agent does when it exits.
    fn finish(self) -> Result<()> {
        match self.agent.close().0 {
            status if status.success() => Ok(()),
            status => bail!("`hob mcp` ended with {status}"),
        }
    }
}

fn has_status(answer: &Answer, status: &str) -> bool {
    answer.structured["status"] == status
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
