//! Whether `hob doctor` is right: in eight states of an installation, its word beside that of the agent's own list of servers.
//!
//! Each state is made as a person makes it: `hob init` in a project and a home of their own, then one thing changed. The
//! agent's list is that of its `mcp list`, which for some starts the servers and for some only reads the files.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::kinds::Agent;
use super::stage::{Programs, Stage};
use crate::clients::stdout_of;

/// A state of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// `hob init`, and nothing more.
    Fresh,
    /// Everything is allowed, then the folder's trust is withdrawn.
    Untrusted,
    /// Everything is allowed, then the server is switched off.
    Disabled,
    /// The file that registers it is cut short.
    Broken,
    /// The entry starts a program that is not there.
    Missing,
    /// A server named hob that starts something else.
    Foreign,
    /// Everything is allowed in the main worktree, and the agent starts in a linked one.
    Linked,
    /// `hob init --allow`.
    Ready,
}

pub(super) const STATES: [(State, &str); 8] = [
    (State::Fresh, "fresh"),
    (State::Untrusted, "untrusted"),
    (State::Disabled, "disabled"),
    (State::Broken, "broken entry"),
    (State::Missing, "missing binary"),
    (State::Foreign, "foreign entry"),
    (State::Linked, "linked worktree"),
    (State::Ready, "ready"),
];

/// What the agent's own list says of the server named hob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    /// It was started and answered.
    Connected,
    /// It is among those that would be started; the list starts none.
    Named,
    /// It was started, and is no server.
    Failed,
    /// It waits for a yes, or is switched off.
    Off,
    /// There is no server of that name.
    Absent,
}

impl Listed {
    fn word(self) -> &'static str {
        match self {
            Listed::Connected => "connected",
            Listed::Named => "listed",
            Listed::Failed => "failed",
            Listed::Off => "off",
            Listed::Absent => "not there",
        }
    }
}

/// How an agent is registered, and what a person changes then.
pub(super) struct Installation {
    /// Its name for `hob init`.
    pub(super) name: &'static str,
    /// As `hob doctor` calls it.
    pub(super) title: &'static str,
    /// The project's file with the entry.
    file: &'static str,
    /// Withdraws the trust that `hob init --allow` gave, given home and project; `None` if the agent asks for none.
    untrusted: fn(&Path, &Path) -> Option<Edit>,
    /// Switches the server off.
    disabled: fn(&Path, &Path) -> Edit,
}

/// A change of a file: `from` becomes `to`; without `from` it is all that the file holds.
struct Edit {
    file: PathBuf,
    from: Option<String>,
    to: String,
}

impl Edit {
    fn new(file: PathBuf, from: &str, to: &str) -> Self {
        Self { file, from: Some(from.to_owned()), to: to.to_owned() }
    }

    fn apply(&self) -> Result<()> {
        let text = match &self.from {
            None => self.to.clone(),
            Some(from) => {
                let text = std::fs::read_to_string(&self.file);
                let text = text.with_context(|| format!("could not read {}", self.file.display()))?;
                if !text.contains(from) {
                    bail!("{from:?} is not in {}: {text}", self.file.display());
                }
                text.replacen(from, &self.to, 1)
            }
        };
        let dir = self.file.parent().context("a file lies in a directory")?;
        std::fs::create_dir_all(dir)
            .and_then(|()| std::fs::write(&self.file, text))
            .with_context(|| format!("could not write {}", self.file.display()))
    }
}

pub(super) const CLAUDE: Installation = Installation {
    name: "claude",
    title: "Claude Code",
    file: ".mcp.json",
    untrusted: |home, _| {
        let [yes, no] = ["true", "false"].map(|word| format!("\"hasTrustDialogAccepted\": {word}"));
        Some(Edit::new(home.join(".claude.json"), &yes, &no))
    },
    disabled: |_, project| {
        let file = project.join(".claude/settings.local.json");
        Edit::new(file, "enabledMcpjsonServers", "disabledMcpjsonServers")
    },
};

pub(super) const CODEX: Installation = Installation {
    name: "codex",
    title: "Codex",
    file: ".codex/config.toml",
    untrusted: |home, _| Some(Edit::new(home.join(".codex/config.toml"), "\"trusted\"", "\"untrusted\"")),
    disabled: |_, project| Edit::new(project.join(".codex/config.toml"), "command = ", "enabled = false\ncommand = "),
};

pub(super) const GEMINI: Installation = Installation {
    name: "gemini",
    title: "Gemini CLI",
    file: ".gemini/settings.json",
    untrusted: |home, _| Some(Edit::new(home.join(".gemini/trustedFolders.json"), "TRUST_FOLDER", "DO_NOT_TRUST")),
    disabled: |home, _| Edit {
        file: home.join(".gemini/mcp-server-enablement.json"),
        from: None,
        to: r#"{"hob": {"enabled": false}}"#.to_owned(),
    },
};

pub(super) const COPILOT: Installation = Installation {
    name: "copilot",
    title: "Copilot CLI",
    file: ".mcp.json",
    untrusted: |home, project| {
        let folder = format!("\"{}\"", project.display());
        Some(Edit::new(home.join(".copilot/config.json"), &folder, ""))
    },
    disabled: |home, _| Edit {
        file: home.join(".copilot/settings.json"),
        from: None,
        to: r#"{"disabledMcpServers": ["hob"]}"#.to_owned(),
    },
};

pub(super) const OPENCODE: Installation = Installation {
    name: "opencode",
    title: "opencode",
    file: "opencode.json",
    untrusted: |_, _| None,
    disabled: |_, project| {
        Edit::new(project.join("opencode.json"), "\"type\": \"local\"", "\"type\": \"local\", \"enabled\": false")
    },
};

/// A state as both tell it.
pub(super) struct Compared {
    pub(super) listed: Listed,
    /// Whether `hob doctor` says that the agent starts hob.
    pub(super) is_ready: bool,
    /// What it says.
    pub(super) said: String,
}

impl Compared {
    /// Whether the two agree. A list that starts nothing cannot know of a program that is not there, or is not hob.
    pub(super) fn agrees(&self, state: State) -> bool {
        let is_program = matches!(state, State::Missing | State::Foreign);
        match self.listed {
            Listed::Connected => self.is_ready,
            Listed::Named => self.is_ready != is_program,
            Listed::Failed | Listed::Off | Listed::Absent => !self.is_ready,
        }
    }

    pub(super) fn cell(&self, state: State) -> String {
        let agrees = if self.agrees(state) { "" } else { "**DISAGREE** " };
        format!("{agrees}{}, {}", self.listed.word(), if self.is_ready { "ok" } else { "not ok" })
    }
}

/// Both words in a state; `None` where the agent has no such state.
pub(super) fn compare(agent: &Agent, state: State, programs: &Programs<'_>) -> Result<Option<Compared>> {
    let stage = Stage::new(programs)?;
    let (home, project) = (stage.home(), stage.project());
    let installation = agent.installation;
    let init = |args: &[&str]| -> Result<()> {
        let mut command = stage.hob(&["init", "--agent", installation.name])?;
        stdout_of(command.args(args)).map(drop).context("`hob init` failed")
    };
    if state == State::Linked {
        let identity = ["-c", "user.name=hob", "-c", "user.email=hob@localhost"];
        for args in [&["init", "-q"][..], &["commit", "-q", "--allow-empty", "-m", "first"]] {
            stdout_of(stage.command(Path::new("git"))?.args(identity).args(args))?;
        }
    }
    init(if state == State::Fresh { &[] } else { &["--allow"] })?;
    let starts = |program: &str| Edit::new(project.join(installation.file), &written(programs.hob), &written(program));
    let mut place = project.to_owned();
    match state {
        State::Fresh | State::Ready => {}
        State::Linked => {
            place = home.join("linked");
            stdout_of(stage.command(Path::new("git"))?.args(["worktree", "add", "-q"]).arg(&place))?;
        }
        State::Untrusted => match (installation.untrusted)(&home, project) {
            Some(edit) => edit.apply()?,
            None => return Ok(None),
        },
        State::Disabled => (installation.disabled)(&home, project).apply()?,
        State::Broken => Edit::new(project.join(installation.file), &written(programs.hob), "\"").apply()?,
        State::Missing => starts("/nowhere/hob").apply()?,
        State::Foreign => starts("/usr/bin/true").apply()?,
    }
    let listed = listed(agent, &stage, &place)?;
    let (is_ready, said) = doctor(agent, &stage, &place)?;
    // Not every list starts a daemon.
    drop(stage.hob(&["stop"])?.output());
    Ok(Some(Compared { listed, is_ready, said }))
}

/// A program as all the formats write it.
fn written(program: impl AsRef<Path>) -> String {
    format!("\"{}\"", program.as_ref().display())
}

fn listed(agent: &Agent, stage: &Stage<'_>, place: &Path) -> Result<Listed> {
    let mut command = stage.program(agent)?;
    command.args(["mcp", "list"]).current_dir(place);
    let output = command.output().with_context(|| format!("could not start {}", agent.name))?;
    // Some fail over a file that they cannot read, and show it.
    if !output.status.success() {
        return Ok(Listed::Absent);
    }
    // Some write the list to stderr.
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let line = said.iter().flat_map(|said| said.lines()).find(|line| is_about_hob(line));
    Ok(line.map_or(Listed::Absent, word_of))
}

/// What the line of a server says.
fn word_of(line: &str) -> Listed {
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    match () {
        () if has(&["Pending", "isabled", "ejected", "locked"]) => Listed::Off,
        () if has(&["Disconnected", "ailed"]) => Listed::Failed,
        () if has(&["onnected"]) => Listed::Connected,
        () => Listed::Named,
    }
}

/// Whether a line of a list is that of the server.
fn is_about_hob(line: &str) -> bool {
    let words = line.split(|c: char| !(c.is_alphanumeric() || c == '/' || c == '_')).filter(|word| !word.is_empty());
    words.take(3).any(|word| word == "hob")
}

/// What `hob doctor` says of the agent.
fn doctor(agent: &Agent, stage: &Stage<'_>, place: &Path) -> Result<(bool, String)> {
    let mut command = stage.hob(&["doctor", "--json"])?;
    // Its exit code tells of problems.
    let output = command.current_dir(place).output().context("could not start `hob doctor`")?;
    let report: Value = serde_json::from_slice(&output.stdout).context("`hob doctor --json` printed no JSON")?;
    let findings = report["findings"].as_array().context("`hob doctor --json` has no findings")?;
    let is_ours = |finding: &&Value| finding["section"] == "Agents" && finding["subject"] == agent.installation.title;
    let ours: Vec<&Value> = findings.iter().filter(is_ours).collect();
    let said: Vec<&str> = ours.iter().filter_map(|finding| finding["detail"].as_str()).collect();
    Ok((!ours.is_empty() && ours.iter().all(|finding| finding["verdict"] == "ok"), said.join("; ")))
}
