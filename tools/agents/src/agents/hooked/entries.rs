//! Hook entries that make an agent run `hob hook`, written by hand from its documentation, and the agent's own shell.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use crate::agents::kinds::{Agent, Environment, Setting};
use crate::agents::states::{CLAUDE, CODEX, COPILOT, GEMINI};

/// Event of a hook, in hob's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum On {
    SessionStart,
    Prompt,
    ToolBefore,
    ToolAfter,
    TurnEnd,
    PermissionRequest,
}

/// Events that accept context in at least some agents.
pub(super) const CONTEXT: [On; 5] = [On::SessionStart, On::Prompt, On::ToolBefore, On::ToolAfter, On::TurnEnd];

/// Returns an agent's name of the event.
fn name(agent: &Agent, on: On) -> Option<&'static str> {
    let names = match agent.installation.name {
        name if name == GEMINI.name => ["SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", ""],
        name if name == COPILOT.name => {
            ["sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "agentStop", "permissionRequest"]
        }
        _ => ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "PermissionRequest"],
    };
    let at = [On::SessionStart, On::Prompt, On::ToolBefore, On::ToolAfter, On::TurnEnd, On::PermissionRequest];
    at.iter().position(|of| *of == on).map(|at| names[at]).filter(|name| !name.is_empty())
}

/// Adds the entries for these events to the start options of an agent.
pub(super) fn add(agent: &Agent, setting: &mut Setting, place: &Environment, hob: &Path, on: &[On]) -> Result<()> {
    let events = on.iter().filter_map(|on| name(agent, *on));
    let line = |event: &str| {
        let agent = agent.installation.name;
        format!("'{}' hook {event} --agent {agent} --deadline 20 --person 60", hob.display())
    };
    let nested = |timeout: u64| -> Value {
        let entry =
            |event: &str| json!([{ "hooks": [{ "type": "command", "command": line(event), "timeout": timeout }] }]);
        events.clone().map(|event| (event.to_owned(), entry(event))).collect::<Map<_, _>>().into()
    };
    match agent.installation.name {
        name if name == CLAUDE.name => {
            let file = place.project.join(".claude/settings.local.json");
            setting.files.push((file, json!({ "hooks": nested(80) }).to_string()));
        }
        name if name == CODEX.name => {
            setting.files.push((place.home.join(".codex/hooks.json"), json!({ "hooks": nested(80) }).to_string()));
            // A person reviews these once.
            setting.args.insert(1, "--dangerously-bypass-hook-trust".to_owned());
        }
        name if name == GEMINI.name => {
            let file = setting.files.iter_mut().find(|(path, _)| path.ends_with(".gemini/settings.json"));
            let (_, text) = file.context("it has no settings")?;
            let mut settings: Value = serde_json::from_str(text)?;
            settings["hooksConfig"] = json!({ "enabled": true });
            settings["hooks"] = nested(80_000);
            *text = settings.to_string();
        }
        name if name == COPILOT.name => {
            let entry = |event: &str| json!([{ "type": "command", "bash": line(event), "timeoutSec": 80 }]);
            let hooks: Map<_, _> = events.map(|event| (event.to_owned(), entry(event))).collect();
            let file = place.project.join(".github/hooks/hob.json");
            setting.files.push((file, json!({ "version": 1, "hooks": hooks }).to_string()));
        }
        other => bail!("{other} has no hooks that are known here"),
    }
    Ok(())
}
