//! `hob hooks install` and `hob hooks uninstall`: add and remove the entries in agents' files that run `hob hook`.

use std::path::PathBuf;

use ::hooks::install::Plan;
use ::hooks::policy::Policy;
use ::hooks::{Agent, Fail, Version};
use clap::Args;
use clap::builder::PossibleValuesParser;
use project::{Project, visible};

use super::super::init::{InitPaths, can_ask, confirmed, keep_out_of_git};
use crate::agents::{self, HookFile, HookScope, Scope, Undone, WriteOutcome, find_program};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Add entries to agents' files so that they run `hob hook`
#[derive(Debug, Args, Default)]
pub(crate) struct Install {
    /// Install for this agent even if hob did not detect it; may be repeated
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Agent::ALL.iter().map(|agent| agent.name())))]
    agent: Vec<String>,
    /// Which files: your private files of this project, your files for all projects, or the files shared in this project [default: local]
    #[arg(long, value_name = "SCOPE")]
    scope: Option<HookScope>,
    /// What happens if the policy cannot be evaluated: open, ask or closed [default: the installed setting, else open]
    #[arg(long, value_name = "HOW", value_parser = fail_of)]
    fail: Option<Fail>,
    /// Which events: those that something uses, or all events of the agent
    #[arg(long, value_name = "WHICH", value_parser = ["used", "all"], default_value = "used")]
    events: String,
}

/// Remove hob's entries from agents' files, and nothing else
#[derive(Debug, Args, Default)]
pub(crate) struct Uninstall {
    /// Only the files of this agent; may be repeated
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Agent::ALL.iter().map(|agent| agent.name())))]
    agent: Vec<String>,
}

fn fail_of(name: &str) -> Result<Fail, String> {
    Fail::named(name).ok_or_else(|| "use open, ask or closed".to_owned())
}

impl Install {
    /// Returns the options that `hob init --hooks` uses.
    pub(crate) fn for_init(agents: &[String], is_user: bool) -> Install {
        let agent = agents.iter().filter(|name| Agent::named(name).is_some()).cloned().collect();
        Install { agent, scope: is_user.then_some(HookScope::User), events: "used".to_owned(), fail: None }
    }

    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let standing = ::hooks::files::Files::new(project).active(false);
        for broken in &standing.broken {
            terminal::line(format!("A policy is invalid and not in force: {broken}."));
        }
        // For the user's own files, nothing is created in the project.
        let user = InitPaths::new(Scope::User, project)?;
        let search = std::env::var_os("PATH").unwrap_or_default();
        let fail = self.fail.or_else(|| proposed(&standing.policies));
        let (mut found, mut exit) = (false, Exit::Done);
        for agent in Agent::ALL {
            let Some(known) = agents::Agent::of_hooks(agent) else { continue };
            let is_wanted = self.agent.iter().any(|name| name == agent.name());
            if !is_wanted && (!self.agent.is_empty() || !known.is_used(Scope::Project, &user.site, &search)) {
                continue;
            }
            found = true;
            let file = HookFile::for_scope(agent, self.scope.unwrap_or(HookScope::Local), &user.site);
            let done = InitPaths::new(file.base, project).and_then(|place| {
                if !file.is_shared {
                    keep_out_of_git(&place, project, &file.path)?;
                }
                self.install(&file, &place, fail, &standing.policies)
            });
            if let Err(failure) = done {
                // One broken file must not affect the other agents.
                terminal::report(&failure);
                exit = failure.exit;
            }
            if let Some(elsewhere) = known.reads_elsewhere(&user.site) {
                terminal::line(format!("{}: {elsewhere}.", agent.title()));
            }
        }
        if !found {
            let names: Vec<&str> = Agent::ALL.iter().map(|agent| agent.name()).collect();
            terminal::line(format!(
                "No agent found to install hooks for. `hob hooks install --agent {}` (or {}) installs them anyway.",
                names[0],
                names[1..].join(", ")
            ));
        } else if let Exit::Done = exit {
            terminal::line(
                "Next: restart the agent, then run `hob doctor` to test each entry. `hob hooks uninstall` removes them.",
            );
        }
        if found && fail.is_none() && standing.policies.iter().any(Policy::denies) {
            terminal::line(
                "A rule denies. `hob hooks install --fail closed` enforces it even if hob is missing or does not answer.",
            );
        }
        Ok(exit)
    }

    fn install(
        &self,
        file: &HookFile,
        place: &InitPaths,
        fail: Option<Fail>,
        policies: &[Policy],
    ) -> Result<(), Failure> {
        let title = file.agent.title();
        let mut edits = place.edits()?;
        let shown = place.show(&file.path);
        let left_alone = |error: &dyn std::fmt::Display| {
            Failure::new(format_args!("{title}: {shown} was not changed: {error}"))
                .hint(format_args!("Repair {shown}, or move it away, then run `hob hooks install` again."))
        };
        let text = edits.read(&file.path)?.unwrap_or_default();
        let present = file.entries(&text).map_err(|error| left_alone(&error))?;
        let gates = present.iter().filter(|entry| ::hooks::prove::is_gate(entry));
        let fail = fail.or_else(|| gates.map(|entry| entry.fail).next()).unwrap_or(Fail::Open);
        let search = std::env::var_os("PATH").unwrap_or_default();
        let said = match file.agent {
            Agent::Claude => agents::Agent::of_hooks(file.agent).and_then(|agent| agent.says_version(&search)),
            _ => None,
        };
        let version = said.as_deref().and_then(Version::parse);
        let program = program(file.is_shared)?;
        let plan = Plan::new(file.agent, program.clone(), version, fail, policies, self.events == "all");
        let events: Vec<&str> = plan.events.iter().map(|(row, _)| row.name).collect();
        let events = events.join(", ");
        let there = match file.put(&mut edits, &plan).map_err(|error| left_alone(&format_args!("{error:#}")))? {
            WriteOutcome::Already => "are already",
            WriteOutcome::Written => "stand",
        };
        terminal::line(format!("{title}: hooks {there} in {shown} (fail {}): {events}.", fail.as_str()));
        notes(file, &plan, said.as_deref(), &program);
        Ok(())
    }
}

/// Prints notes about the installed entries.
fn notes(file: &HookFile, plan: &Plan, said: Option<&str>, program: &str) {
    let title = file.agent.title();
    if file.agent == Agent::Codex {
        terminal::line(format!(
            "{title} runs only hooks that you have reviewed: start `codex` and trust hob's hooks in `/hooks`, again after each change."
        ));
    }
    if file.agent == Agent::Claude && plan.fail != Fail::Open && !file.agent.has_switch(plan.version) {
        let version = said.map_or("its version is unknown".to_owned(), |said| format!("this is {}", visible(said)));
        terminal::line(format!(
            "{title} supports `onFailure` since {}, but {version}: if a hook times out, tools run anyway.",
            ::hooks::agents::CLAUDE_ON_FAILURE
        ));
    }
    if file.is_shared {
        let them = match plan.fail {
            Fail::Open => "without hob they get an error at each tool call",
            Fail::Ask | Fail::Closed => "without hob their agent refuses every tool call",
        };
        terminal::line(format!(
            "{title}: this file is shared with others: {them}. Use `--scope local` for private entries."
        ));
        if program != "hob" {
            terminal::line(format!("`hob` is not on PATH, so the shared entries start {}.", visible(program)));
        }
    }
}

/// Proposes `closed` if a rule denies and the person agrees.
fn proposed(policies: &[Policy]) -> Option<Fail> {
    let denies = policies.iter().any(Policy::denies);
    let question = "A rule denies. Also refuse tools if hob is missing or does not answer (fail closed)?";
    (denies && can_ask() && confirmed(question)).then_some(Fail::Closed)
}

/// Returns the program for entries: its path, or its name in shared files.
fn program(is_shared: bool) -> Result<String, Failure> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let ours = std::env::current_exe()
        .map_err(|error| Failure::new(format_args!("cannot find the path of this program: {error}")))?;
    let real = |path: &PathBuf| path.canonicalize().ok();
    // The name on PATH survives an upgrade that moves the program.
    let by_name = find_program("hob", &search).filter(|path| real(path) == real(&ours));
    let name = by_name.as_ref().unwrap_or(&ours);
    if !::hooks::install::is_named_hob(&name.to_string_lossy()) {
        return Err(Failure::new(format_args!(
            "{} is not named hob, so its entries could not be recognised",
            visible::path(name)
        ))
        .hint("Rename it to hob or hob-SOMETHING, and try again."));
    }
    Ok(match by_name {
        Some(_) if is_shared => "hob".to_owned(),
        Some(path) => path.to_string_lossy().into_owned(),
        None => ours.to_string_lossy().into_owned(),
    })
}

impl Uninstall {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let user = InitPaths::new(Scope::User, project)?;
        let (mut exit, mut is_empty) = (Exit::Done, true);
        for agent in Agent::ALL {
            if !self.agent.is_empty() && self.agent.iter().all(|name| name != agent.name()) {
                continue;
            }
            for file in HookFile::all(agent, &user.site) {
                // A missing file has no entries, and nothing is created to find out.
                let is_there = file.path.symlink_metadata().is_ok();
                let done = if is_there { take_back(&file, project) } else { Ok(None) };
                match done {
                    Ok(None) => {}
                    Ok(Some(said)) => {
                        is_empty = false;
                        terminal::line(said);
                    }
                    Err(failure) => {
                        terminal::report(&failure);
                        exit = failure.exit;
                    }
                }
            }
        }
        if is_empty && exit == Exit::Done {
            terminal::line("No agent's file here contains hob's hooks.");
        }
        Ok(exit)
    }
}

/// Removes hob's entries from a file, and returns a message about it.
fn take_back(file: &HookFile, project: &Project) -> Result<Option<String>, Failure> {
    let place = InitPaths::new(file.base, project)?;
    let mut edits = place.edits()?;
    let done = file.take_back(&mut edits)?;
    let shown = place.show(&file.path);
    Ok(done.map(|undone| {
        let what = match undone {
            Undone::Restored => "restored",
            Undone::AsBefore => "unchanged, as it is already as before",
            Undone::Removed => "removed, as it did not exist before",
            Undone::EntryRemoved => "changed since, so only hob's hooks were removed",
            Undone::Left => "kept, because it has changed since; delete what you do not want",
        };
        format!("{}: {shown}: {what}.", file.agent.title())
    }))
}
