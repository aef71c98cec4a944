//! `cargo xtask clients agents`: real coding agents with `hob mcp`, without a person and without an account.
//!
//! Each agent runs in a separate project and home with the scripted model (`crates/testkit`), which calls hob's tools.
//! hob's messages are recorded on the way to the agent, and the model records what reaches it. The page shows the
//! difference. Agents and their start: `kinds`; environment: `stage`; script of the model: `tasks`; further trials:
//! `trials`; questions to a person: `asking` and `dialogs`; hooks: `hooks`; the plugin: `plugins`; accuracy of `hob doctor`: `states`;
//! evaluation of the records: `record`; the page: `page`.

mod asking;
mod dialogs;
pub(crate) mod hooked;
mod hooks;
mod kinds;
mod page;
pub(crate) mod plugins;
mod record;
mod stage;
mod states;
mod tasks;
mod terminal;
mod trials;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use taskkit::setup::{self, Tools, node_packages};
use taskkit::workspace::{Profile, build, command_line, root, target_dir};

use crate::clients::stdout_of;

use kinds::{AGENTS, Agent};
use record::Observations;
use stage::{Programs, Stage};
use states::{Compared, Installation, STATES};
use tasks::Task;
use trials::Registered;

struct Row {
    agent: &'static Agent,
    version: String,
    /// The command line, with placeholders for parts that vary.
    started: String,
    /// With results in the form for agents.
    run: Run,
    /// With structured content too, as for clients that are not agents.
    with_both: Run,
    /// Registered by `hob init`.
    registered: Result<Registered>,
    /// Tasks whose correct results did not reach the model over HTTP.
    over_http: Result<Vec<&'static str>>,
    /// The same after the agent was killed during an evaluation and restarted.
    killed: Result<Vec<&'static str>>,
    /// The same for a node answered by its own model.
    delegated: Result<Vec<&'static str>>,
    /// Questions to a person.
    asked: asking::AskingResults,
}

/// `hob doctor` compared with the agent's own list, in each of [`STATES`].
struct DoctorComparison {
    installation: &'static Installation,
    states: Vec<Result<Option<Compared>>>,
}

/// Result of a run.
struct Run {
    /// Observations by hob and the model.
    seen: Result<Observations>,
    /// The agent's exit status.
    ended: Result<String>,
}

/// Runs the task for all agents, or for those whose names contain one of the words. `--hob FILE` tests a built program,
/// `--hooks` only hooks, and `--tools` everything else. Each leaves the other's part of the page unchanged.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let (mut names, mut hob, mut only_hooks, mut only_tools) = (Vec::new(), None, false, false);
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--hooks" => only_hooks = true,
            "--tools" => only_tools = true,
            "--hob" => hob = Some(PathBuf::from(words.next().context("--hob needs the path of a program")?)),
            name => names.push(name.to_lowercase()),
        }
    }
    let is_chosen =
        |agent: &&Agent| names.is_empty() || names.iter().any(|name| agent.name.to_lowercase().contains(name.as_str()));
    let chosen: Vec<&Agent> = AGENTS.iter().filter(is_chosen).filter(|_| !only_hooks).collect();
    // CI runs only a part.
    let is_page = names.is_empty();
    let mut hooked = hooks::chosen(&names)?;
    if !is_page && !only_hooks {
        hooked.retain(|hooked| hooked.list != "claude-old");
    }
    hooked.retain(|_| !only_tools);
    if chosen.is_empty() && !only_hooks {
        bail!("unknown agent {names:?}; there are {}", AGENTS.map(|agent| agent.name).join(", "));
    }
    let tools = setup::tests()?;
    let packages =
        installed(&tools, chosen.iter().map(|agent| agent.list()).chain(hooked.iter().map(|hooked| hooked.list)))?;
    let hob = tested(hob)?;
    let model = build(Profile::Dev, &["--quiet", "-p", "testkit", "--bin", "scripted-model"])?.join("scripted-model");
    let programs = Programs { tools: &tools, packages: &packages, hob: &hob, model: &model };
    let mut rows = Vec::new();
    let mut judged: Vec<DoctorComparison> = Vec::new();
    for agent in chosen {
        println!("clients: {}", agent.name);
        rows.push(row(agent, &programs)?);
        // Some agents have several rows.
        if !judged.iter().any(|judged| judged.installation.name == agent.installation.name) {
            let states = STATES.iter().map(|(state, _)| states::compare(agent, *state, &programs)).collect();
            judged.push(DoctorComparison { installation: agent.installation, states });
        }
    }
    let tried = hooks::tried(&hooked, !is_page && !only_hooks, &programs)?;
    let tasks = tasks::tasks();
    let path = root().join("docs/generated/agents.md");
    let before = || std::fs::read_to_string(&path).with_context(|| format!("could not read {path:?}"));
    let section = if only_tools {
        hooks::section_text(&before()?).unwrap_or_default().to_owned()
    } else {
        hooks::section(&tried, &programs)?
    };
    let page = if only_hooks { before()? } else { page::page(&rows, &judged, &tasks)? };
    let page = hooks::replaced(&page, &section);
    println!("\n{}", if only_hooks { &section } else { &page });
    // The page is written only for all agents.
    if is_page {
        std::fs::write(&path, &page).with_context(|| format!("could not write {path:?}"))?;
    }
    let missed = rows.iter().filter_map(|row| row.missed(&tasks));
    let wrong = missed.chain(judged.iter().flat_map(DoctorComparison::wrong)).chain(hooks::wrong(&tried));
    let wrong: Vec<String> = wrong.collect();
    if !wrong.is_empty() {
        bail!("not all is right with all agents:\n  {}", wrong.join("\n  "));
    }
    println!("{} passed, 0 failed", rows.len() + judged.len() + tried.len());
    Ok(())
}

impl DoctorComparison {
    /// Returns the states in which the two reports differ, or which could not be created.
    fn wrong(&self) -> Vec<String> {
        let wrong = STATES.iter().zip(&self.states).filter_map(|((state, name), compared)| match compared {
            Ok(None) => None,
            Ok(Some(compared)) if compared.agrees(*state) => None,
            Ok(Some(compared)) => Some(format!("{name}: {} ({})", compared.cell(*state), compared.said)),
            Err(error) => Some(format!("{name}: {error:#}")),
        });
        wrong.map(|wrong| format!("{}: hob doctor: {wrong}", self.installation.name)).collect()
    }
}

impl Row {
    /// Returns the reason why a run does not count.
    fn missed(&self, tasks: &[Task]) -> Option<String> {
        let trial = |trial: &Result<Vec<&str>>| match trial {
            Ok(missed) if missed.is_empty() => None,
            Ok(missed) => Some(format!("wrong: {}", missed.join(", "))),
            Err(error) => Some(format!("{error:#}")),
        };
        let why = self.run.missed(tasks).or_else(|| self.with_both.missed(tasks));
        let registered = match &self.registered {
            Ok(registered) if registered.missed.is_empty() => None,
            Ok(registered) => Some(format!("wrong: {}", registered.missed.join(", "))),
            Err(error) => Some(format!("{error:#}")),
        };
        let why = why.or_else(|| Some(format!("registered by `hob init`: {}", registered?)));
        let why = why.or_else(|| Some(format!("over HTTP: {}", trial(&self.over_http)?)));
        let why = why.or_else(|| Some(format!("after it was killed: {}", trial(&self.killed)?)));
        let why = why.or_else(|| Some(format!("answering a node: {}", trial(&self.delegated)?)));
        let mut asked = asking::TRIALS.iter().zip(&self.asked);
        let asked = asked.find_map(|(name, asked)| Some((name, asked.as_ref()?.as_ref().err()?)));
        let why = why.or_else(|| asked.map(|(name, error)| format!("asking, {name}: {error:#}")))?;
        Some(format!("{}: {why}", self.agent.name))
    }
}

impl Run {
    fn missed(&self, tasks: &[Task]) -> Option<String> {
        let demanded = |seen: &Observations| {
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

/// Installs the pinned packages of these lists. Returns the directory of each.
fn installed(tools: &Tools, lists: impl Iterator<Item = &'static str>) -> Result<PathBuf> {
    let dir = target_dir()?.join("tools/agents");
    let bin = tools.python.parent().context("a program lies in a folder")?;
    let wanted: Vec<&str> = lists.collect();
    for list in ["claude", "claude-old", "others"] {
        if wanted.contains(&list) {
            let lists = root().join("tools/agents/packages").join(list);
            node_packages(&format!("agents-{list}"), &lists, bin, &dir.join(list))?;
        }
    }
    Ok(dir)
}

/// Returns the program to test: the given one, or that of this checkout.
fn tested(hob: Option<PathBuf>) -> Result<PathBuf> {
    match hob {
        Some(hob) => hob.canonicalize().with_context(|| format!("could not find {}", hob.display())),
        None => Ok(build(Profile::Dev, &["--quiet", "-p", "hob"])?.join("hob")),
    }
}

fn row(agent: &'static Agent, programs: &Programs<'_>) -> Result<Row> {
    let version = version(&agent.directory(programs.packages))?;

    let (started, run) = run_with(agent, "", programs)?;
    let (_, with_both) = run_with(agent, " --results both", programs)?;
    let over_http = trials::over_http(agent, programs);
    let killed = trials::killed(agent, programs);
    let delegated = trials::delegated(agent, programs);
    let registered = trials::registered(agent, programs);
    let asked = asking::asks(agent, programs);
    Ok(Row { agent, version, started, run, with_both, registered, over_http, killed, delegated, asked })
}

/// Returns the version of a package in its directory.
fn version(package: &Path) -> Result<String> {
    let manifest = std::fs::read_to_string(package.join("package.json")).context("could not read a package's list")?;
    let manifest: Value = serde_json::from_str(&manifest).context("a package's list is no JSON")?;
    Ok(manifest["version"].as_str().unwrap_or_default().trim_end_matches("-linux-x64").to_owned())
}

/// Runs the agent once with further arguments of `hob mcp`. Also returns how it was started.
fn run_with(agent: &'static Agent, args: &str, programs: &Programs<'_>) -> Result<(String, Run)> {
    let tasks = tasks::tasks();
    let turns = tasks::turns(&tasks, agent.before, agent.call);
    let stage = Stage::new(programs)?;
    let model = stage.model(&turns)?;
    let place = stage.environment_for(stage.recorded(args)?, &model);
    let setting = (agent.setting)(&place);
    let mut command = stage.agent(agent, &setting)?;
    let started = page::started(&setting, &command_line(&command), &programs.tools.node, programs.packages, &place);
    let ended = stdout_of(&mut command);
    let stopped = stdout_of(&mut stage.hob(&["stop"])?);
    let exchanges = model.end()?;
    let seen = record::evaluate(&stage.records(), &exchanges, &place, &tasks, &turns);
    // An agent that never started hob has no daemon.
    if seen.is_ok() {
        stopped.context("could not stop the daemon")?;
    }
    Ok((started, Run { seen, ended }))
}
