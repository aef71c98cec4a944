//! Environment of an agent: a project, a home and a scripted model.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use taskkit::setup::Tools;
use taskkit::workspace::temporary_project;
use tempfile::TempDir;

use super::kinds::{Agent, Environment, Server, Setting};
use super::record;
use super::tasks::{FOUR_ERRORS, Turn};
use crate::clients::stdout_of;

/// The programs involved.
pub(super) struct Programs<'a> {
    pub(super) tools: &'a Tools,
    /// Directory of the agents' packages.
    pub(super) packages: &'a Path,
    pub(super) hob: &'a Path,
    pub(super) model: &'a Path,
}

/// A project and a home.
pub(super) struct Stage<'a> {
    programs: &'a Programs<'a>,
    project: TempDir,
    outside: TempDir,
}

impl<'a> Stage<'a> {
    pub(super) fn new(programs: &'a Programs<'a>) -> Result<Self> {
        let stage = Self {
            programs,
            project: temporary_project()?,
            outside: tempfile::tempdir().context("could not make a home")?,
        };
        for dir in ["home", "records", "tmp"] {
            std::fs::create_dir(stage.outside.path().join(dir)).with_context(|| format!("could not make {dir}"))?;
        }
        let (file, text) = FOUR_ERRORS;
        std::fs::write(stage.project.path().join(file), text).context("could not write a file of the project")?;
        Ok(stage)
    }

    /// Files that record hob's messages.
    pub(super) fn records(&self) -> PathBuf {
        self.outside.path().join("records")
    }

    pub(super) fn environment_for(&self, server: Server, model: &Model) -> Environment {
        Environment {
            server,
            url: format!("http://127.0.0.1:{}", model.port),
            project: self.project.path().to_owned(),
            home: self.home(),
            temporary: self.outside.path().join("tmp"),
        }
    }

    /// The scripted model, as a process.
    pub(super) fn model(&self, turns: &[Turn]) -> Result<Model> {
        let turns: Vec<&Value> = turns.iter().map(|turn| &turn.script).collect();
        let script = json!({ "turns": turns, "closing": "The script ends here." }).to_string();
        Model::start(self.programs.model, &script, self.outside.path())
    }

    /// Returns the agent's command line, and writes its files.
    pub(super) fn agent(&self, agent: &Agent, setting: &Setting) -> Result<Command> {
        setting.write_files()?;
        let mut command = self.program(agent)?;
        command.args(&setting.args).envs(setting.env.iter().cloned());
        Ok(command)
    }

    /// Returns the agent's program without arguments.
    pub(super) fn program(&self, agent: &Agent) -> Result<Command> {
        let program = agent.directory(self.programs.packages).join(agent.installation.program);
        let mut command =
            self.command(if agent.installation.is_script { &self.programs.tools.node } else { &program })?;
        if agent.installation.is_script {
            command.arg(&program);
        }
        Ok(command)
    }

    /// Returns a command of hob in the project.
    pub(super) fn hob(&self, args: &[&str]) -> Result<Command> {
        let mut command = self.command(self.programs.hob)?;
        command.args(args);
        Ok(command)
    }

    /// Returns the output of `hob status`; null without a daemon.
    pub(super) fn status(&self) -> Result<Value> {
        // Without a daemon, the exit code says so.
        let output = self.hob(&["status", "--json"])?.output().context("could not ask for the status")?;
        Ok(serde_json::from_slice(&output.stdout).unwrap_or_default())
    }

    /// Stops the daemon.
    pub(super) fn stop(&self) -> Result<()> {
        stdout_of(&mut self.hob(&["stop"])?).map(drop).context("could not stop the daemon")
    }

    /// Returns the processes of a program that use this home.
    pub(super) fn processes(&self, program: &Path) -> Vec<String> {
        let home = format!("HOME={}", self.home().display());
        let is_ours = |process: &Path| {
            let environment = std::fs::read(process.join("environ")).unwrap_or_default();
            std::fs::read_link(process.join("exe")).is_ok_and(|exe| exe == program)
                && environment.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes())
        };
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let ours = processes.filter(|process| is_ours(&process.path()));
        ours.filter_map(|process| process.file_name().into_string().ok()).collect()
    }

    pub(super) fn project(&self) -> &Path {
        self.project.path()
    }

    pub(super) fn home(&self) -> PathBuf {
        self.parent_directory().join("home")
    }

    /// Returns the parent of the home, the temporary directory and related files.
    pub(super) fn parent_directory(&self) -> &Path {
        self.outside.path()
    }

    /// Returns a command with this home, run in its project.
    pub(super) fn command(&self, program: &Path) -> Result<Command> {
        let (path, outside) = (self.programs.tools.path()?, self.outside.path());
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", path)
            .env("HOME", outside.join("home"))
            .env("TMPDIR", outside.join("tmp"))
            .env("LANG", "C.UTF-8")
            .env("TERM", "dumb")
            .current_dir(self.project.path());
        Ok(command)
    }

    /// Returns a program that runs `hob mcp` with these arguments as the agent's direct child.
    pub(super) fn direct(&self, args: &str) -> Result<Server> {
        self.server("hob-direct", &format!("exec '{}' mcp{args}\n", self.programs.hob.display()))
    }

    /// Returns a program that runs `hob mcp` and records its messages, each process in its own files.
    pub(super) fn recorded(&self, args: &str) -> Result<Server> {
        let (records, hob) = (self.records(), self.programs.hob.display());
        let records = records.display();
        self.server("hob-mcp", &format!("tee '{records}/'$$.in | '{hob}' mcp{args} | tee '{records}/'$$.out\n"))
    }

    fn server(&self, name: &str, script: &str) -> Result<Server> {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.outside.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}"))
            .and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)))
            .context("could not write the server's script")?;
        Ok(Server::Program(path))
    }
}

/// The scripted model as a process.
pub(super) struct Model {
    child: Child,
    port: u16,
    record: PathBuf,
}

impl Model {
    fn start(program: &Path, script: &str, dir: &Path) -> Result<Self> {
        let (file, record) = (dir.join("script.json"), dir.join("model.ndjson"));
        std::fs::write(&file, script).context("could not write the script")?;
        let mut command = Command::new(program);
        command.arg(&file).arg(&record).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("could not start the model")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("the model has no stdout")?).read_line(&mut line)?;
        let port = line.trim().parse().with_context(|| format!("the model said {line:?} instead of its port"))?;
        Ok(Self { child, port, record })
    }

    /// Stops it and returns the requests it received.
    pub(super) fn end(mut self) -> Result<Vec<Value>> {
        drop(self.child.stdin.take());
        self.child.wait().context("the model did not end")?;
        record::lines(&self.record)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // It ends with its stdin. After an error nothing else closes it.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
