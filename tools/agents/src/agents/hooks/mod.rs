//! Effects of hob's hooks on agents, compared with the report of `hob doctor`. Each agent runs one shell command that
//! creates a file, with hooks written by `hob hooks install`, while hob works, is stopped, absent or removed (`cells`).
//! `neutral` runs a conversation with and without hooks. The section of the page: `page`.

mod cells;
mod neutral;
mod page;
mod play;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::kinds::{AGENTS, Agent};
use super::stage::Programs;
use super::version;

pub(super) use page::{replaced, section_text};

/// An agent whose hooks are tested.
pub(super) struct Hooked {
    /// Its column of the table.
    pub(super) title: &'static str,
    /// Its name for hob.
    pub(super) name: &'static str,
    /// Name of the list in `tools/agents/packages` that pins its package.
    pub(super) list: &'static str,
    /// Its start options in the other trials.
    agent: &'static str,
    /// Additional arguments to run hooks without a person.
    args: &'static [&'static str],
    /// Its file of hooks, relative to the project or the home.
    file: &'static str,
    is_of_project: bool,
    /// Returns a hooks file with a hook that runs this line.
    foreign: fn(&str) -> Value,
}

fn in_group(event: &str, line: &str) -> Value {
    json!({"hooks": {event: [{"hooks": [{"type": "command", "command": line}]}]}})
}

pub(super) const HOOKED: [Hooked; 6] = [
    Hooked {
        title: "Claude Code",
        name: "claude",
        list: "claude",
        agent: "Claude Code, all tools",
        args: &[],
        file: ".claude/settings.local.json",
        is_of_project: true,
        foreign: |line| in_group("PreToolUse", line),
    },
    Hooked {
        title: "Claude Code, old",
        name: "claude",
        list: "claude-old",
        agent: "Claude Code, all tools",
        args: &[],
        file: ".claude/settings.local.json",
        is_of_project: true,
        foreign: |line| in_group("PreToolUse", line),
    },
    Hooked {
        title: "Codex",
        name: "codex",
        list: "others",
        agent: "Codex, another model",
        // A person does this once in `/hooks`.
        args: &["--dangerously-bypass-hook-trust"],
        file: ".codex/hooks.json",
        is_of_project: false,
        foreign: |line| in_group("PreToolUse", line),
    },
    Hooked {
        title: "Gemini CLI",
        name: "gemini",
        list: "others",
        agent: "Gemini CLI",
        args: &[],
        file: ".gemini/settings.json",
        is_of_project: false,
        foreign: |line| in_group("BeforeTool", line),
    },
    Hooked {
        title: "Copilot CLI",
        name: "copilot",
        list: "others",
        agent: "Copilot CLI, claude-sonnet-4.5",
        args: &[],
        file: ".copilot/hooks/hob.json",
        is_of_project: false,
        foreign: |line| json!({"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": line}]}}),
    },
    Hooked {
        title: "opencode",
        name: "opencode",
        list: "others",
        agent: "opencode",
        args: &[],
        file: ".config/opencode/plugin/foreign.js",
        is_of_project: false,
        foreign: |line| {
            let run = format!("(await import(\"node:child_process\")).execSync({})", json!(line));
            json!(format!(
                "export const Foreign = async () => ({{ \"tool.execute.before\": async () => {{ {run} }} }})\n"
            ))
        },
    },
];

impl Hooked {
    fn agent(&self) -> &'static Agent {
        AGENTS.iter().find(|agent| agent.name == self.agent).expect("it is one of the agents")
    }

    /// Returns the directory of its package.
    fn directory(&self, packages: &Path) -> PathBuf {
        packages.join(self.list).join("node_modules").join(self.agent().installation.package)
    }
}

/// Results of one agent.
pub(super) struct Tried {
    hooked: &'static Hooked,
    version: String,
    /// In the order of [`cells::CELLS`]; `None` if skipped.
    cells: Vec<Option<Result<cells::Outcome>>>,
    neutral: Option<Result<Vec<String>>>,
}

/// Tests the hooks of these agents. `few` skips the cells that CI does not run.
pub(super) fn tried(chosen: &[&'static Hooked], few: bool, programs: &Programs<'_>) -> Result<Vec<Tried>> {
    let mut all = Vec::new();
    for hooked in chosen {
        let version = version(&hooked.directory(programs.packages))?;
        println!("clients: hooks of {} {version}", hooked.title);
        let cells = cells::all(hooked, few, programs);
        let neutral = (!few).then(|| neutral::neutral(hooked, programs));
        all.push(Tried { hooked, version, cells, neutral });
    }
    Ok(all)
}

/// Returns the section of the page, with its tables.
pub(super) fn section(tried: &[Tried], programs: &Programs<'_>) -> Result<String> {
    Ok(page::section(tried, &play::tables(programs)?))
}

/// Returns the errors.
pub(super) fn wrong(tried: &[Tried]) -> Vec<String> {
    tried.iter().flat_map(Tried::wrong).collect()
}

impl Tried {
    fn wrong(&self) -> Vec<String> {
        let title = self.hooked.title;
        let cells = cells::CELLS.iter().zip(&self.cells).filter_map(|(cell, outcome)| {
            let why = match outcome.as_ref()? {
                Ok(outcome) => outcome.wrong()?,
                Err(error) => format!("{error:#}"),
            };
            Some(format!("{title}: hooks, {}: {why}", cell.label()))
        });
        let neutral = self.neutral.iter().filter_map(|neutral| neutral.as_ref().err());
        cells.chain(neutral.map(|error| format!("{title}: hooks, neutral: {error:#}"))).collect()
    }
}

/// Returns the agents of these names; all if there are no names.
pub(super) fn chosen(names: &[String]) -> Result<Vec<&'static Hooked>> {
    let is_chosen = |hooked: &&Hooked| {
        names.is_empty() || names.iter().any(|name| hooked.title.to_lowercase().contains(name.as_str()))
    };
    let chosen: Vec<&'static Hooked> = HOOKED.iter().filter(is_chosen).collect();
    if chosen.is_empty() {
        bail!("no agent with hooks is called {names:?}; there are {}", HOOKED.map(|hooked| hooked.title).join(", "));
    }
    Ok(chosen)
}
