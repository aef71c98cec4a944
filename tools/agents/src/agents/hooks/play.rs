//! One agent with a separate project, home and copy of hob, which may be removed.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Deserializer, Value, json};
use taskkit::until;
use taskkit::workspace::succeeds;

use super::super::kinds::{PROMPT, Server, claude_at_a_terminal, shell};
use super::super::record;
use super::super::stage::{Programs, Stage};
use super::super::tasks::Turn;
use super::super::terminal::Terminal;
use super::Hooked;
use crate::clients::stdout_of;

/// The command that the policy forbids, and the reason.
pub(super) const REASON: &str = "Markers are made by people here.";

/// Texts on Claude Code's screen when it waits for a prompt, and when it asks for a permission.
const WAITS: &str = "❯";
const ASKS: &str = "Do you want to proceed?";

pub(super) fn rule(decide: &str) -> String {
    format!(
        "[[rule]]\nid = \"no-markers\"\ntool = \"shell\"\ncommand = \"touch\"\ndecide = \"{decide}\"\nreason = \"{REASON}\"\n"
    )
}

/// The results that reached the model.
pub(super) struct Played {
    pub(super) results: Vec<String>,
    /// The last request of the conversation.
    pub(super) last: String,
    /// The agent's exit status.
    pub(super) ended: Result<String>,
}

pub(super) struct Play<'a> {
    pub(super) stage: Stage<'a>,
    programs: &'a Programs<'a>,
    pub(super) hooked: &'static Hooked,
    /// hob, as started by the hooks.
    pub(super) hob: PathBuf,
    stopped: Option<String>,
}

impl<'a> Play<'a> {
    pub(super) fn new(hooked: &'static Hooked, programs: &'a Programs<'a>) -> Result<Self> {
        let stage = Stage::new(programs)?;
        let bin = stage.parent_directory().join("bin");
        std::fs::create_dir(&bin).context("could not make a directory for programs")?;
        let hob = bin.join("hob");
        // A hard link if possible, because the file is large.
        if std::fs::hard_link(programs.hob, &hob).is_err() {
            std::fs::copy(programs.hob, &hob).context("could not copy hob")?;
        }
        let play = Self { stage, programs, hooked, hob, stopped: None };
        play.named_program(&bin)?;
        Ok(play)
    }

    /// Links the agent's program under its own name, so that its version can be queried.
    fn named_program(&self, bin: &Path) -> Result<()> {
        let (program, at) = (self.program(), bin.join(self.hooked.name));
        if !self.hooked.agent().installation.is_script {
            return symlink(&program, &at).context("could not link the agent");
        }
        let node = &self.programs.tools.node;
        std::fs::write(&at, format!("#!/bin/sh\nexec '{}' '{}' \"$@\"\n", node.display(), program.display()))
            .and_then(|()| std::fs::set_permissions(&at, std::fs::Permissions::from_mode(0o755)))
            .context("could not write the agent's program")
    }

    fn program(&self) -> PathBuf {
        self.hooked.directory(self.programs.packages).join(self.hooked.agent().installation.program)
    }

    fn command(&self, program: &Path) -> Result<Command> {
        let mut command = self.stage.command(program)?;
        let bin = self.stage.parent_directory().join("bin");
        let path = command.get_envs().find_map(|(name, value)| (name == "PATH").then_some(value?.to_owned()));
        let paths = std::env::split_paths(&path.unwrap_or_default()).collect::<Vec<_>>();
        command.env("PATH", std::env::join_paths(std::iter::once(bin).chain(paths))?);
        Ok(command)
    }

    pub(super) fn hob(&self, args: &[&str]) -> Result<Command> {
        let mut command = self.command(&self.hob)?;
        command.args(args);
        Ok(command)
    }

    pub(super) fn write(&self, file: &str, text: &str) -> Result<()> {
        std::fs::write(self.stage.project().join(file), text).with_context(|| format!("could not write {file}"))
    }

    pub(super) fn install(&self, more: &[&str]) -> Result<String> {
        let mut command = self.hob(&["hooks", "install", "--agent", self.hooked.name])?;
        stdout_of(command.args(more)).context("`hob hooks install` failed")
    }

    /// Removes the fallback for a missing hob from the agent's file.
    pub(super) fn write_by_hand(&self) -> Result<()> {
        let base = if self.hooked.is_of_project { self.stage.project().to_owned() } else { self.stage.home() };
        let file = base.join(self.hooked.file);
        let text = std::fs::read_to_string(&file).with_context(|| format!("could not read {}", file.display()))?;
        let mut config: Value = serde_json::from_str(&text).context("the agent's file is no JSON")?;
        for handlers in config["hooks"].as_object_mut().into_iter().flatten() {
            plain(handlers.1);
        }
        std::fs::write(&file, config.to_string()).with_context(|| format!("could not write {}", file.display()))
    }

    /// Returns doctor's report about the agent's entries.
    pub(super) fn doctor(&self) -> Result<Value> {
        let output = self.hob(&["doctor", "--json"])?.output().context("could not start `hob doctor`")?;
        serde_json::from_slice(&output.stdout).context("`hob doctor --json` printed no JSON")
    }

    pub(super) fn start_daemon(&self) -> Result<()> {
        stdout_of(&mut self.hob(&["call", "repl_list"])?).map(drop).context("could not start a daemon")
    }

    /// Stops the daemon by a signal, so that it answers nothing.
    pub(super) fn stop_daemon(&mut self) -> Result<()> {
        let pid = self.stage.status()?["daemon"]["pid"].to_string();
        if !succeeds(Command::new("kill").args(["-STOP", &pid])) {
            bail!("the daemon could not be stopped");
        }
        self.stopped = Some(pid);
        Ok(())
    }

    /// Prevents a daemon from starting or being reached: a file replaces the socket directory.
    pub(super) fn bar_daemons(&self) -> Result<()> {
        let temporary = self.stage.parent_directory().join("tmp");
        let uid = temporary.metadata().context("the temporary directory is gone")?.uid();
        let sockets = temporary.join(format!("hob-{uid}"));
        drop(self.hob(&["stop"])?.output());
        drop(std::fs::remove_dir_all(&sockets));
        std::fs::write(&sockets, "").context("could not stand in the way of sockets")
    }

    pub(super) fn remove_hob(&self) -> Result<()> {
        drop(self.hob(&["stop"])?.output());
        std::fs::remove_file(&self.hob).context("could not remove hob")
    }

    /// Runs the agent, whose model runs these lines in its shell.
    pub(super) fn run(&self, lines: &[&str]) -> Result<Played> {
        let agent = self.hooked.agent();
        let turns: Vec<Turn> = lines
            .iter()
            .enumerate()
            .map(|(index, line)| Turn { script: shell(self.hooked.agent(), line), task: Some(index) })
            .collect();
        let model = self.stage.model(&turns)?;
        let mut setting = (agent.setting)(&self.stage.environment_for(Server::Nothing, &model));
        // The agent has a separate tool for the shell.
        if let Some(allowed) = setting.args.iter_mut().find(|arg| *arg == "mcp__hob") {
            allowed.push_str(",Bash");
        }
        setting.write_files()?;
        let program = self.program();
        let mut command =
            self.command(if agent.installation.is_script { &self.programs.tools.node } else { &program })?;
        if agent.installation.is_script {
            command.arg(&program);
        }
        let (first, rest) = setting.args.split_first().map_or((None, &[][..]), |(first, rest)| (Some(first), rest));
        command.args(first).args(self.hooked.args).args(rest).envs(setting.env.iter().cloned());
        let ended = stdout_of(&mut command);
        let exchanges = model.end()?;
        let results = record::results(&exchanges, &turns).with_context(|| format!("the agent said {ended:?}"))?;
        let last = exchanges.iter().rfind(|exchange| exchange["turn"] == "closing" || exchange["turn"].is_u64());
        let last = last.map(|exchange| exchange["body"].to_string()).unwrap_or_default();
        Ok(Played { results: results.into_iter().map(|(_, text)| text).collect(), last, ended })
    }

    /// Runs a line through Claude Code's model in a terminal, where its own prompt asks. Returns the screen at that
    /// moment. The prompt is answered with yes, and `done` waits for the rest.
    pub(super) fn at_terminal(&self, line: &str, done: impl FnOnce() -> Result<()>) -> Result<String> {
        let turns = [Turn { script: shell(self.hooked.agent(), line), task: Some(0) }];
        let model = self.stage.model(&turns)?;
        let place = self.stage.environment_for(Server::Nothing, &model);
        let mut setting = claude_at_a_terminal((self.hooked.agent().setting)(&place), &place);
        setting.args.iter_mut().filter(|arg| *arg == "dontAsk").for_each(|arg| "default".clone_into(arg));
        setting.write_files()?;
        let mut command = self.command(&self.program())?;
        command.args(&setting.args).envs(setting.env.iter().cloned());
        let terminal = Terminal::start(&self.stage, &command)?;
        terminal.until(WAITS)?;
        let typed = format!("{PROMPT}\n──");
        terminal.enter(PROMPT, &typed)?;
        terminal.press_away("Enter", &typed)?;
        let screen = terminal.until(ASKS)?;
        terminal.press_away("Enter", ASKS)?;
        done()?;
        drop(terminal);
        model.end().map(|_| screen)
    }

    /// Returns every event in hob's journal of hooks.
    pub(super) fn journal(&self) -> Result<Vec<Value>> {
        let said = stdout_of(&mut self.hob(&["hooks", "log", "--json", "--last", "1000"])?)?;
        Ok(Deserializer::from_str(&said).into_iter::<Value>().map_while(Result::ok).collect())
    }

    /// Returns the processes of this copy of hob, even if its file was removed.
    pub(super) fn processes(&self) -> Vec<String> {
        let gone = PathBuf::from(format!("{} (deleted)", self.hob.display()));
        [&self.hob, &gone].into_iter().flat_map(|program| self.stage.processes(program)).collect()
    }
}

impl Drop for Play<'_> {
    fn drop(&mut self) {
        match &self.stopped {
            Some(pid) => drop(succeeds(Command::new("kill").args(["-KILL", pid]))),
            None => {
                if let Ok(mut stop) = self.stage.hob(&["stop"]) {
                    drop(stop.output());
                }
            }
        }
        // An agent's last hook may outlive it, and start a daemon.
        let gone = until("hob's processes to end", || {
            let left = self.processes();
            for pid in &left {
                succeeds(Command::new("kill").args(["-KILL", pid]));
            }
            Ok(left.is_empty().then_some(()))
        });
        if let Err(error) = gone {
            println!("clients: {error:#}");
        }
    }
}

fn plain(value: &mut Value) {
    match value {
        Value::String(line) => *line = line.replace(" || exit 2", ""),
        Value::Array(list) => list.iter_mut().for_each(plain),
        Value::Object(fields) => {
            fields.remove("onFailure");
            fields.values_mut().for_each(plain);
        }
        _ => {}
    }
}

/// Directory of hob's state about agents, named by a hash.
pub(super) fn tables(programs: &Programs<'_>) -> Result<String> {
    let stage = Stage::new(programs)?;
    let output = stage.hob(&["doctor", "--json", "--quick"])?.output().context("could not start `hob doctor`")?;
    let said: Value = serde_json::from_slice(&output.stdout).context("`hob doctor --json` printed no JSON")?;
    Ok(said["tables"].as_str().context("`hob doctor --json` names no tables")?.to_owned())
}

/// Returns hob's entry before a tool from doctor's report.
pub(super) fn gate<'v>(doctor: &'v Value, name: &str) -> Option<&'v Value> {
    let entries = doctor["hooks"].as_array()?.iter();
    entries.filter(|entry| entry["agent"] == name).find(|entry| entry["states"] != json!([]))
}
