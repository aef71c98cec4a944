//! In a terminal: a person decides by `hob answer` instead of Claude Code's prompt, the agent's own prompt if nobody
//! watches, messages to its user, and a compacted memory.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use taskkit::until;

use super::entries::{CONTEXT, On, add};
use super::{NOTE, hob, journal, text_turn};
use crate::agents::asking::watch;
use crate::agents::kinds::{Agent, claude_at_a_terminal, shell};
use crate::agents::stage::{Model, Programs, Stage};
use crate::agents::states::CLAUDE;
use crate::agents::tasks::Turn;
use crate::agents::terminal::Terminal;

const OWN_PROMPT: &str = "Do you want to proceed?";

/// A person decides, then the user is told of a breaker, then the session is compacted.
pub(super) fn decides(agent: &Agent, programs: &Programs<'_>) -> Result<Option<String>> {
    if agent.installation.name != CLAUDE.name {
        return Ok(None);
    }
    let permission = permission(agent, programs).context("permission")?;
    let told = notify_user(agent, programs).context("breaker")?;
    let compacted = compacted(agent, programs).context("compaction")?;
    Ok(Some(format!("{permission}; {told}; {compacted}")))
}

/// Starts Claude Code in a terminal in the mode that asks for permissions.
fn start<'a>(
    agent: &Agent,
    programs: &Programs<'_>,
    stage: &'a Stage<'_>,
    script: &[Turn],
    on: &[On],
) -> Result<(Model, Terminal<'a>)> {
    let model = stage.model(script)?;
    let place = stage.environment_for(stage.direct(" all")?, &model);
    let mut setting = claude_at_a_terminal((agent.setting)(&place), &place);
    let own = ["--permission-mode", "dontAsk", "--allowedTools", "mcp__hob"];
    setting.args.retain(|arg| !own.contains(&arg.as_str()));
    // Otherwise the agent decides.
    setting.args.extend(["--permission-mode", "default"].map(str::to_owned));
    add(agent, &mut setting, &place, programs.hob, on)?;
    let terminal = Terminal::start(stage, &stage.agent(agent, &setting)?)?;
    terminal.until("❯")?;
    Ok((model, terminal))
}

/// Types and sends the text once it is on the screen.
fn prompt(terminal: &Terminal<'_>, text: &str, shown: &str) -> Result<()> {
    terminal.enter(text, text)?;
    terminal.press("Enter", shown)
}

fn permission(agent: &Agent, programs: &Programs<'_>) -> Result<String> {
    let stage = Stage::new(programs)?;
    let rule = "[[rule]]\nid = \"yours\"\ncommand = \"touch *\"\ndecide = \"person\"\nreason = \"files are yours\"\n";
    std::fs::write(stage.project().join("hob-policy.toml"), rule).context("could not write the policy")?;
    hob(&stage, &["trust", "--yes"])?;
    hob(&stage, &["questions"])?;
    let mut script: Vec<Turn> =
        ["one", "two", "three"].map(|file| Turn { script: shell(agent, &format!("touch {file}")), task: None }).into();
    script.push(text_turn("The files are made."));
    let (model, terminal) = start(agent, programs, &stage, &script, &[On::PermissionRequest])?;
    let watching = watch(&stage)?;
    let there = |file: &str| stage.project().join(file).exists();
    terminal.enter("go", "go")?;
    terminal.press("Enter", "")?;
    let asked = |command: &str| -> Result<()> {
        let found = until(&format!("the question about {command}"), || {
            let shown = hob(&stage, &["questions", "--json"])?;
            Ok(shown.contains(&format!("run: {command}\"")).then_some(()))
        });
        found.with_context(|| {
            let outcomes: Vec<String> = journal(&stage).unwrap_or_default().iter().map(Value::to_string).collect();
            format!("the screen shows {:?}; hooks: {outcomes:?}", terminal.text())
        })
    };
    asked("touch one")?;
    hob(&stage, &["answer", "--yes"])?;
    asked("touch two")?;
    hob(&stage, &["answer", "--no", "--note", "wait for the tag"])?;
    asked("touch three")?;
    hob(&stage, &["answer", "--choose", "always-1"])?;
    terminal.until("The files are made.")?;
    if !there("one") || there("two") || !there("three") {
        bail!("one: {}, two: {}, three: {}", there("one"), there("two"), there("three"));
    }
    // The new permission is the one it suggested.
    let journal = journal(&stage)?;
    let last = journal.last().context("no hook was journalled")?;
    let parsed = |text: &Value| serde_json::from_str::<Value>(text.as_str().unwrap_or_default()).unwrap_or_default();
    let suggested = payload(last)["permission_suggestions"][0].clone();
    let given = parsed(&last["answer"]["stdout"])["hookSpecificOutput"]["decision"]["updatedPermissions"][0].clone();
    if given.is_null() || given != suggested {
        bail!("it suggested {suggested}, and was given {given}");
    }
    let outcomes: Vec<&str> = journal.iter().filter_map(|line| line["outcome"].as_str()).collect();
    drop(watching);
    drop(terminal);
    let refused =
        model.end()?.iter().any(|exchange| exchange["body"].to_string().contains("refused this: wait for the tag"));
    if !refused {
        bail!("the text of the refusal did not reach the model: {outcomes:?}");
    }
    stage.stop()?;
    let own = own_prompt(agent, programs)?;
    Ok(format!("confirmed; refused, with the text; always, by its own suggestion ({}); {own}", suggested["type"]))
}

/// Returns the payload of a journal line, with or without a line end after it.
fn payload(line: &Value) -> &Value {
    let raw = &line["raw"];
    if raw["json_line"].is_null() { &raw["json"] } else { &raw["json_line"] }
}

/// No person watches: the agent shows its own prompt, as without hob.
fn own_prompt(agent: &Agent, programs: &Programs<'_>) -> Result<String> {
    let stage = Stage::new(programs)?;
    let rule = "[[rule]]\nid = \"yours\"\ncommand = \"touch *\"\ndecide = \"person\"\n";
    std::fs::write(stage.project().join("hob-policy.toml"), rule).context("could not write the policy")?;
    hob(&stage, &["trust", "--yes"])?;
    hob(&stage, &["questions"])?;
    let script = [Turn { script: shell(agent, "touch one"), task: None }, text_turn("The file is made.")];
    let (model, terminal) = start(agent, programs, &stage, &script, &[On::PermissionRequest])?;
    terminal.enter("go", "go")?;
    terminal.press("Enter", OWN_PROMPT)?;
    terminal.press_away("Enter", OWN_PROMPT)?;
    terminal.until("The file is made.")?;
    let made = stage.project().join("one").exists();
    drop(terminal);
    drop(model);
    let journal = journal(&stage)?;
    let outcomes: Vec<&str> = journal.iter().filter_map(|line| line["outcome"].as_str()).collect();
    stage.stop()?;
    if made && outcomes == ["the agent itself asks: no person could see it"] {
        Ok("nobody there: its own prompt".to_owned())
    } else {
        bail!("made: {made}; {outcomes:?}")
    }
}

/// The user sees a message when the breaker releases the agent.
fn notify_user(agent: &Agent, programs: &Programs<'_>) -> Result<String> {
    let stage = Stage::new(programs)?;
    let rule = "[[rule]]\nid = \"tests\"\non = \"turn_end\"\ndecide = \"deny\"\nreason = \"run the tests first\"\n";
    std::fs::write(stage.project().join("hob-policy.toml"), rule).context("could not write the policy")?;
    hob(&stage, &["trust", "--yes"])?;
    hob(&stage, &["questions"])?;
    let (model, terminal) = start(agent, programs, &stage, &[text_turn("That was all.")], &[On::TurnEnd])?;
    prompt(&terminal, "go", "hob let the agent stop")?;
    let screen = terminal.text()?;
    drop(terminal);
    drop(model);
    stage.stop()?;
    if !screen.replace('\n', " ").contains("run the tests first") {
        bail!("the screen shows {screen}");
    }
    Ok("its screen says why the breaker let go".to_owned())
}

fn compacted(agent: &Agent, programs: &Programs<'_>) -> Result<String> {
    let stage = Stage::new(programs)?;
    hob(&stage, &["note", NOTE])?;
    let script = [text_turn("I begin."), text_turn("I go on.")];
    let (model, terminal) = start(agent, programs, &stage, &script, &CONTEXT)?;
    prompt(&terminal, "go", "I begin.")?;
    prompt(&terminal, "/compact", "")?;
    let is_compacted = |line: &Value| line["kind"] == "session_start" && payload(line)["source"] == "compact";
    let line = until("the session to begin anew", || Ok(journal(&stage)?.into_iter().find(is_compacted)))?;
    if line["added"] != json!(["work"]) {
        bail!("nothing was added: {line}");
    }
    prompt(&terminal, "on", "I go on.").or_else(|_| prompt(&terminal, "on", "I begin."))?;
    drop(terminal);
    let exchanges = model.end()?;
    let last = exchanges.iter().rev().find(|exchange| exchange["turn"].is_u64() || exchange["turn"] == "closing");
    let last = last.context("no request after the compaction")?["body"].to_string();
    stage.stop()?;
    if last.contains(NOTE) {
        Ok("after compaction the note is in the model's input again".to_owned())
    } else {
        bail!("the note is not in the model's input after compaction")
    }
}
