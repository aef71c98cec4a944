//! Accuracy of `hob doctor`: its report compared with the agent's own list of servers in eight states of an installation.
//!
//! Each state is created as a person would: `hob init` in a new project and home, then one change. The agent's list is
//! its `mcp list`. Some agents start the servers for it, and some only read the files.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::kinds::Agent;
use super::stage::{Programs, Stage};
use crate::clients::stdout_of;

/// A state of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// `hob init` only.
    Fresh,
    /// Everything is allowed, then the folder's trust is withdrawn.
    Untrusted,
    /// Everything is allowed, then the server is disabled.
    Disabled,
    /// The file that registers it is truncated.
    Broken,
    /// The entry starts a missing program.
    Missing,
    /// A server named hob that starts another program.
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

/// State of the server named hob in the agent's own list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    /// Started, and it answered.
    Connected,
    /// Configured; the list starts no servers.
    Named,
    /// Started, but it is not a server.
    Failed,
    /// Awaiting approval, or disabled.
    Off,
    /// Not listed.
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

/// Registration of an agent, and the changes that a person makes.
pub(super) struct Installation {
    /// Its name in `hob init`.
    pub(super) name: &'static str,
    /// Its name in `hob doctor`.
    pub(super) title: &'static str,
    /// Name of the package as pinned in `tools/agents/packages`.
    pub(super) package: &'static str,
    /// Path of the program in its package.
    pub(super) program: &'static str,
    /// True if Node runs it.
    pub(super) is_script: bool,
    /// The project file with the entry.
    file: &'static str,
    /// Withdraws the trust given by `hob init --allow`, for a home and project; `None` if the agent asks for none.
    untrusted: fn(&Path, &Path) -> Option<Edit>,
    /// Disables the server.
    disabled: fn(&Path, &Path) -> Edit,
}

/// A change of a file: replaces `from` by `to`, or the whole contents without `from`.
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
    package: "@anthropic-ai/claude-code-linux-x64",
    program: "claude",
    is_script: false,
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
    package: "@openai/codex-linux-x64",
    program: "vendor/x86_64-unknown-linux-musl/bin/codex",
    is_script: false,
    file: ".codex/config.toml",
    untrusted: |home, _| Some(Edit::new(home.join(".codex/config.toml"), "\"trusted\"", "\"untrusted\"")),
    disabled: |_, project| Edit::new(project.join(".codex/config.toml"), "command = ", "enabled = false\ncommand = "),
};

pub(super) const GEMINI: Installation = Installation {
    name: "gemini",
    title: "Gemini CLI",
    package: "@google/gemini-cli",
    program: "bundle/gemini.js",
    is_script: true,
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
    package: "@github/copilot-linux-x64",
    program: "copilot",
    is_script: false,
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
    package: "opencode-linux-x64",
    program: "bin/opencode",
    is_script: false,
    file: "opencode.json",
    untrusted: |_, _| None,
    disabled: |_, project| {
        Edit::new(project.join("opencode.json"), "\"type\": \"local\"", "\"type\": \"local\", \"enabled\": false")
    },
};

/// A state according to both reports.
pub(super) struct Compared {
    pub(super) listed: Listed,
    /// True if `hob doctor` reports that the agent starts hob.
    pub(super) is_ready: bool,
    /// The text of the report.
    pub(super) said: String,
}

impl Compared {
    /// True if the two agree. A list that starts nothing cannot detect a missing program or one that is not hob.
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

/// Returns both reports in a state; `None` if the agent has no such state.
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
    // Some lists start no daemon.
    drop(stage.hob(&["stop"])?.output());
    Ok(Some(Compared { listed, is_ready, said }))
}

/// Returns a program in the notation of all formats.
fn written(program: impl AsRef<Path>) -> String {
    format!("\"{}\"", program.as_ref().display())
}

fn listed(agent: &Agent, stage: &Stage<'_>, place: &Path) -> Result<Listed> {
    let mut command = stage.program(agent)?;
    command.args(["mcp", "list"]).current_dir(place);
    let output = command.output().with_context(|| format!("could not start {}", agent.name))?;
    // Some fail because of an unreadable file, and show it.
    if !output.status.success() {
        return Ok(Listed::Absent);
    }
    // Some write the list to stderr.
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let line = said.iter().flat_map(|said| said.lines()).find(|line| is_about_hob(line));
    Ok(line.map_or(Listed::Absent, word_of))
}

/// Parses the line of a server.
fn word_of(line: &str) -> Listed {
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    match () {
        () if has(&["Pending", "isabled", "ejected", "locked"]) => Listed::Off,
        () if has(&["Disconnected", "ailed"]) => Listed::Failed,
        () if has(&["onnected"]) => Listed::Connected,
        () => Listed::Named,
    }
}

/// True if a line of a list is the server's.
fn is_about_hob(line: &str) -> bool {
    let words = line.split(|c: char| !(c.is_alphanumeric() || c == '/' || c == '_')).filter(|word| !word.is_empty());
    words.take(3).any(|word| word == "hob")
}

/// Returns doctor's report about the agent.
fn doctor(agent: &Agent, stage: &Stage<'_>, place: &Path) -> Result<(bool, String)> {
    let mut command = stage.hob(&["doctor", "--json"])?;
    // A nonzero exit code reports problems.
    let output = command.current_dir(place).output().context("could not start `hob doctor`")?;
    let report: Value = serde_json::from_slice(&output.stdout).context("`hob doctor --json` printed no JSON")?;
    let findings = report["findings"].as_array().context("`hob doctor --json` has no findings")?;
    let is_ours = |finding: &&Value| finding["section"] == "Agents" && finding["subject"] == agent.installation.title;
    let ours: Vec<&Value> = findings.iter().filter(is_ours).collect();
    let said: Vec<&str> = ours.iter().filter_map(|finding| finding["detail"].as_str()).collect();
    Ok((!ours.is_empty() && ours.iter().all(|finding| finding["verdict"] == "ok"), said.join("; ")))
}
