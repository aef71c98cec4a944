//! `cargo xtask clients agents`: what real coding agents make of `hob mcp`, without a person and without an account.
//!
//! Each agent runs in a project and a home of its own against the scripted model (`crates/testkit`), which calls tools of
//! hob; what hob said is recorded on the way to the agent, what reached the model by the model. The page tells the
//! difference. Which agents, and how they start: `kinds`; what is told from the records: `record`; the page: `page`.

mod kinds;
mod page;
mod record;
mod tasks;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::clients::stdout_of;
use crate::setup::{self, Tools, node_packages};
use crate::workspace::{Profile, build, command_line, root, target_dir, temporary_project};

use kinds::{AGENTS, Agent, Place};
use record::Seen;
use tasks::Task;

/// An agent's run.
struct Row {
    agent: &'static Agent,
    version: String,
    /// As one would type it, with placeholders for what differs from run to run.
    started: String,
    /// With results as agents get them.
    run: Run,
    /// With structured content too, as they would get it if they were no agents.
    with_both: Run,
}

/// What came of a run.
struct Run {
    /// What hob and the model saw of it.
    seen: Result<Seen>,
    /// How the agent ended.
    ended: Result<String>,
}

/// The task: all agents, or those whose names have one of the words in them; `--hob FILE` tests a program that is built.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let (mut names, mut hob) = (Vec::new(), None);
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--hob" => hob = Some(PathBuf::from(words.next().context("--hob needs the path of a program")?)),
            name => names.push(name.to_lowercase()),
        }
    }
    let is_chosen =
        |agent: &&Agent| names.is_empty() || names.iter().any(|name| agent.name.to_lowercase().contains(name.as_str()));
    let chosen: Vec<&Agent> = AGENTS.iter().filter(is_chosen).collect();
    if chosen.is_empty() {
        bail!("there is no agent {names:?}; there are {}", AGENTS.map(|agent| agent.name).join(", "));
    }
    let tools = setup::tests()?;
    let packages = installed(&tools)?;
    let hob = match hob {
        Some(hob) => hob.canonicalize().with_context(|| format!("could not find {}", hob.display()))?,
        None => build(Profile::Dev, &["--quiet", "-p", "hob"])?.join("hob"),
    };
    let model = build(Profile::Dev, &["--quiet", "-p", "testkit", "--bin", "scripted-model"])?.join("scripted-model");
    let mut rows = Vec::new();
    for agent in chosen {
        println!("clients: {}", agent.name);
        rows.push(row(agent, &tools, &packages, &hob, &model)?);
    }
    let tasks = tasks::tasks();
    let page = page::page(&rows, &tasks)?;
    println!("\n{page}");
    // A part of the agents is no page.
    if rows.len() == AGENTS.len() {
        let path = root().join("docs/generated/agents.md");
        std::fs::write(&path, &page).with_context(|| format!("could not write {path:?}"))?;
    }
    let wrong: Vec<String> = rows.iter().filter_map(|row| row.missed(&tasks)).collect();
    match wrong.is_empty() {
        true => Ok(()),
        false => bail!("not all agents got through the script:\n  {}", wrong.join("\n  ")),
    }
}

impl Row {
    /// Why its run does not count, if so.
    fn missed(&self, tasks: &[Task]) -> Option<String> {
        let why = self.run.missed(tasks).or_else(|| self.with_both.missed(tasks))?;
        Some(format!("{}: {why}", self.agent.name))
    }
}

impl Run {
    fn missed(&self, tasks: &[Task]) -> Option<String> {
        let demanded = |seen: &Seen| {
            tasks.iter().enumerate().find(|(index, task)| !task.is_unlisted && seen.of_task(*index).is_none())
        };
        Some(match (&self.seen, &self.ended) {
            (Err(error), Err(ended)) => format!("{error:#}; {ended:#}"),
            (Err(error), Ok(said)) => format!("{error:#}; it said {said:?}"),
            (Ok(_), Err(ended)) => format!("{ended:#}"),
            (Ok(seen), Ok(said)) => {
                let (_, task) = demanded(seen)?;
                format!("no result of {:?} reached the model; it said {said:?}", task.name)
            }
        })
    }
}

/// The pinned agents' packages.
fn installed(tools: &Tools) -> Result<PathBuf> {
    let dir = target_dir()?.join("tools/agents");
    let bin = tools.python.parent().context("a program lies in a folder")?;
    node_packages("agents", &root().join("xtask/agents"), bin, &dir)?;
    Ok(dir.join("node_modules"))
}

fn row(agent: &'static Agent, tools: &Tools, packages: &Path, hob: &Path, model: &Path) -> Result<Row> {
    let package = packages.join(agent.package);
    let manifest = std::fs::read_to_string(package.join("package.json")).context("could not read a package's list")?;
    let manifest: Value = serde_json::from_str(&manifest).context("a package's list is no JSON")?;
    let version = manifest["version"].as_str().unwrap_or_default().trim_end_matches("-linux-x64").to_owned();

    let run = |results| run_with(agent, results, tools, &package, hob, model);
    let (started, run_of_agents) = run(None)?;
    let (_, with_both) = run(Some("both"))?;
    Ok(Row { agent, version, started, run: run_of_agents, with_both })
}

/// Runs the agent once; also gives how it was started. `results` is what hob is told to give.
fn run_with(
    agent: &'static Agent,
    results: Option<&str>,
    tools: &Tools,
    package: &Path,
    hob: &Path,
    model: &Path,
) -> Result<(String, Run)> {
    let packages = package.ancestors().nth(agent.package.split('/').count()).context("a package lies in a folder")?;
    let tasks = tasks::tasks();
    let turns = tasks::turns(&tasks, agent.before, agent.call);
    let (project, outside) = (temporary_project()?, tempfile::tempdir().context("could not make a home")?);
    let [home, records, temporary] = ["home", "records", "tmp"].map(|name| outside.path().join(name));
    for dir in [&home, &records, &temporary] {
        std::fs::create_dir(dir).with_context(|| format!("could not make {}", dir.display()))?;
    }
    let (file, text) = tasks::FOUR_ERRORS;
    std::fs::write(project.path().join(file), text).context("could not write a file of the project")?;
    let script: Vec<&Value> = turns.iter().map(|turn| &turn.script).collect();
    let script = json!({ "turns": script, "closing": "The script ends here." }).to_string();
    let model = Model::start(model, &script, outside.path())?;
    let place = Place {
        server: recorded(hob, results, outside.path(), &records)?,
        url: format!("http://127.0.0.1:{}", model.port),
        project: project.path().to_owned(),
        home,
        temporary,
    };
    let setting = (agent.setting)(&place);
    for (path, text) in &setting.files {
        std::fs::create_dir_all(path.parent().expect("a file lies in a folder"))
            .and_then(|()| std::fs::write(path, text))
            .with_context(|| format!("could not write {}", path.display()))?;
    }
    let program = package.join(agent.program);
    let mut command = Command::new(if agent.is_script { &tools.node } else { &program });
    if agent.is_script {
        command.arg(&program);
    }
    command.args(&setting.args).current_dir(&place.project);
    let path = tools.path()?;
    let own = |command: &mut Command| {
        let own =
            [("PATH", path.as_os_str()), ("HOME", place.home.as_os_str()), ("TMPDIR", place.temporary.as_os_str())];
        command.env_clear().envs(own).env("LANG", "C.UTF-8").env("TERM", "dumb");
    };
    own(&mut command);
    command.envs(setting.env.iter().cloned());
    let started = page::started(&setting, &command_line(&command), &tools.node, packages, &place);
    let ended = stdout_of(&mut command);
    let mut stop = Command::new(hob);
    own(stop.arg("stop").current_dir(&place.project));
    let stopped = stdout_of(&mut stop);
    let exchanges = model.end()?;
    let seen = record::seen(&records, &exchanges, &place, &tasks, &turns);
    // An agent that never started hob left no daemon to stop.
    if seen.is_ok() {
        stopped.context("could not stop the daemon")?;
    }
    Ok((started, Run { seen, ended }))
}

/// A program that is `hob mcp` and writes down what goes through it, each process to its own files.
fn recorded(hob: &Path, results: Option<&str>, dir: &Path, records: &Path) -> Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let (path, records) = (dir.join("hob-mcp"), records.display());
    let results = results.map(|form| format!(" --results {form}")).unwrap_or_default();
    let hob = hob.display();
    let text = format!("#!/bin/sh\ntee '{records}/'$$.in | '{hob}' mcp{results} | tee '{records}/'$$.out\n");
    std::fs::write(&path, text)
        .and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)))
        .context("could not write the server's script")?;
    Ok(path)
}

/// The scripted model as a process.
struct Model {
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

    /// Ends it and gives what it was asked.
    fn end(mut self) -> Result<Vec<Value>> {
        drop(self.child.stdin.take());
        self.child.wait().context("the model did not end")?;
        record::lines(&self.record)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // It ends with its stdin; after an error there may be no one else to close that.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
