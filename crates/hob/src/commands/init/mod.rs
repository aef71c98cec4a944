//! `hob init`: writes a commented `hob.toml`, registers hob with the agents found here, and asks for the approvals they
//! need. It is idempotent; `--undo` restores every byte.
//!
//! Files are written where an agent started in this worktree looks for them (`paths`). Approvals are written only if a
//! person agrees (`allow`).

mod allow;
mod exclude;
mod http;
mod mail;
mod paths;
mod register;

use std::io::IsTerminal as _;
use std::path::Path;

use clap::Args;
use project::{CodeTrust, Config, Project, Trust};

use crate::agents::{AGENTS, Agent, CLAUDE_LOCAL, Edits, Scope, Undone, without_hooks};
use crate::commands::current_project;
use crate::exit::{Exit, Failure};
use crate::terminal;
pub(super) use allow::{can_ask, confirmed};
pub(super) use exclude::keep_out_of_git;
use mail::Mode;
pub(super) use paths::InitPaths;
use register::register;

/// Set this project up: write `hob.toml`, register hob with the agents found
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Restore every file as it was before
    #[arg(long)]
    undo: bool,
    /// Register in your own configuration, for all projects, without changing this project
    #[arg(long)]
    user: bool,
    /// Register with this agent even if hob did not detect it; may be repeated
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(AGENTS.iter().map(|agent| agent.name)))]
    agent: Vec<String>,
    /// Also approve hob for the agents: trust in this folder, and hob's tools without asking
    #[arg(long, conflicts_with = "undo")]
    allow: bool,
    /// Also make the agents run `hob hook`, like `hob hooks install`
    #[arg(long, conflicts_with = "undo")]
    hooks: bool,
    /// How agents are notified of mail: a listener in each Claude Code session, hints with results (the default), or off
    #[arg(long, value_name = "HOW", conflicts_with = "undo")]
    mail: Option<Mode>,
    /// Only show how to connect over HTTP
    #[arg(long, conflicts_with_all = ["undo", "user", "agent", "allow", "mail", "hooks"])]
    http: bool,
}

/// The first part of `hob.toml`, which belongs to no part of hob.
const HEAD: &str = include_str!("hob.toml");
const LIMITS: &str = include_str!("limits.toml");

/// Renders `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        names => names.concat(),
    }
}

/// Returns every setting, commented out.
fn template() -> String {
    let parts = daemon::sections().into_iter().map(|part| format!("[{}]\n{}\n", part.name, part.template));
    let head = HEAD.replace("{cores}", &listed(&daemon::enabled(&Config::default())));
    format!("{head}{}{LIMITS}", parts.collect::<String>())
}

/// The owner of the edit of `hob.toml`, which belongs to no agent.
const CONFIG: &str = "hob.toml";

impl Init {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        if self.http {
            return http::show(project);
        }
        let place = InitPaths::new(if self.user { Scope::User } else { Scope::Project }, project)?;
        if self.undo {
            return undo(&place, project);
        }
        let exit = self.set_up(project, &place)?;
        if !self.hooks {
            return Ok(exit);
        }
        let hooks = super::hooks::Install::for_init(&self.agent, self.user).run(project)?;
        Ok(if exit == Exit::Done { hooks } else { exit })
    }

    fn set_up(&self, project: &Project, place: &InitPaths) -> Result<Exit, Failure> {
        let mut edits = place.edits()?;
        if place.is_linked() {
            let (top, main) = (project::visible::path(&place.site.top), project::visible::path(&place.site.main));
            terminal::line(format!(
                "This is a linked worktree, {top}: agents started in it read its files, not those in {main}."
            ));
        } else if place.scope == Scope::Project {
            write_config(place, project, &mut edits)?;
        }
        // An unreadable configuration does not prevent registration; the next command that reads it reports the error.
        let toolsets = Config::load(project, &daemon::sections()).map(|config| daemon::enabled(&config));
        let has_mail = toolsets.as_ref().map_or(true, |names| names.iter().any(|name| name == "mail"));
        let others = toolsets.unwrap_or_else(|_| vec!["repl".to_owned()]).into_iter().filter(|name| name != "mail");
        let without_mail = place.entry(&others.collect::<Vec<_>>());
        let is_off = has_mail && self.mail == Some(Mode::Off);
        let entry = if is_off { without_mail.clone() } else { place.entry(&[]) };
        let change = self.mail.map(|mode| mail::Change { mode, has_mail, without_mail });
        // Use whole toolsets if the agent cannot add tools later.
        let whole = daemon::enabled(&Config::default());
        let is_chosen = Config::load(project, &daemon::sections()).is_ok_and(|config| config.toolsets.is_some());
        let entry_of_all = if !is_off && !is_chosen { place.entry(&[whole.join(",")]) } else { entry.clone() };
        let mut registered: Vec<&'static Agent> = Vec::new();
        let (mut found, mut exit) = (false, Exit::Done);
        for agent in AGENTS {
            let wanted = self.agent.iter().any(|name| name == agent.name);
            if !wanted && (!self.agent.is_empty() || !place.uses(agent)) {
                continue;
            }
            found = true;
            let entry = if agent.lists_again() { &entry } else { &entry_of_all };
            let done = register(place, agent, entry, change.as_ref(), &mut edits).and_then(|entry| {
                registered.push(agent);
                if let Some(elsewhere) = agent.reads_elsewhere(&place.site) {
                    terminal::line(format!("{}: {elsewhere}.", agent.title));
                }
                if agent.name == "claude" && place.scope == Scope::Project {
                    mail::listen(place, &mut edits, self.mail, entry.serves_mail(has_mail))
                } else {
                    Ok(())
                }
            });
            if let Err(failure) = done {
                // One broken file must not affect the other agents.
                terminal::report(&failure);
                exit = failure.exit;
            }
        }
        drop(edits);
        if !found {
            let names: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
            let others = names[1..].join(", ");
            terminal::line(format!(
                "No agent found to register with. `hob init --agent {}` (or {others}) registers anyway.",
                names[0]
            ));
        } else if entry.command != "hob" {
            terminal::line(format!("`hob` is not on PATH, so agents are told to start {}.", entry.command));
        }
        if place.scope == Scope::Project {
            trust_code(project);
        }
        if let Exit::Failed = allow::offer_steps(place, project, &registered, self.allow)? {
            exit = Exit::Failed;
        }
        if let Some(line) = what_to_commit(place, &registered) {
            terminal::line(line);
        }
        let undo = if self.user { "hob init --user --undo" } else { "hob init --undo" };
        match (exit, found) {
            (Exit::Done, true) => terminal::line(format!(
                "Next: restart the agent, then `hob doctor` checks everything. `{undo}` undoes this."
            )),
            (Exit::Done, false) if !self.user => terminal::line(format!("`{undo}` undoes this.")),
            _ => {}
        }
        Ok(exit)
    }
}

/// Explains which files to commit and which are private; `None` outside a repository.
fn what_to_commit(place: &InitPaths, registered: &[&Agent]) -> Option<String> {
    let config = place.base().join("hob.toml");
    if place.scope == Scope::User || registered.is_empty() || project::exclusion(&config).is_none() {
        return None;
    }
    // A person's own settings are never for others.
    let local = Some(place.base().join(CLAUDE_LOCAL))
        .filter(|local| exclude::is_ignored(place, local) || project::is_tracked(local) == Some(true));
    let files = [config].into_iter().chain(registered.iter().map(|agent| place.file(agent))).chain(local);
    let files = files.chain(mail::files(place.base()));
    let mut files: Vec<_> = files.filter(|file| file.exists()).collect();
    files.dedup();
    let (own, shared): (Vec<_>, Vec<_>) = files.iter().partition(|file| exclude::is_ignored(place, file));
    let names = |files: &[&std::path::PathBuf]| listed(&files.iter().map(|file| place.show(file)).collect::<Vec<_>>());
    let commit = format!("Shared, to commit: {}.", names(&shared));
    Some(match own.as_slice() {
        [] => commit,
        own => format!("{commit} Private, ignored by git: {}.", names(own)),
    })
}

/// Grants that language servers may run code of the project, if a person at a terminal runs this. The other steps of `hob
/// init` do not need it.
fn trust_code(project: &Project) {
    if CodeTrust::lookup(project, project.root()).is_some() {
        return;
    }
    if let Some(why) = super::ask::refusal(current_project::connect(project).ok().flatten().as_mut()) {
        terminal::line(format!(
            "Language servers that run this project's code are disabled until you run `hob trust`: {why}."
        ));
        return;
    }
    if !std::io::stdin().is_terminal() {
        terminal::line(
            "Language servers that run this project's code are disabled: granting them needs a terminal. Run `hob \
             trust`, or `hob trust --yes` without a terminal.",
        );
        return;
    }
    terminal::line(match Trust::grant_code(project) {
        Ok(()) => "Language servers may run code of this project; `hob trust --revoke` revokes it.".to_owned(),
        Err(error) => format!("Language servers may not run code of this project: {error}."),
    });
}

fn write_config(place: &InitPaths, project: &Project, edits: &mut Edits) -> Result<(), Failure> {
    let config = place.base().join("hob.toml");
    match edits.read(&config)? {
        Some(_) => terminal::line(match Config::load(project, &daemon::sections()) {
            Ok(_) => "hob.toml already exists.".to_owned(),
            Err(error) => format!("hob.toml already exists, and is invalid: {error}."),
        }),
        None => {
            edits.write(&config, CONFIG, &template())?;
            terminal::line("Wrote hob.toml, with every setting commented out.");
        }
    }
    Ok(())
}

fn undo(place: &InitPaths, project: &Project) -> Result<Exit, Failure> {
    let mut is_empty = true;
    // A linked worktree has no separate grant.
    if place.scope == Scope::Project && !place.is_linked() && Trust::revoke_code(project).map_err(Failure::new)? {
        is_empty = false;
        terminal::line("Language servers may no longer run code of this project.");
    }
    // The registrations come last: their record knows which directories hob created for the records.
    let records: [&dyn Fn() -> Result<Option<Edits>, Failure>; 3] = [
        &|| exclude::edits(place, project),
        // With `--user` there is one record for both.
        &|| (place.scope == Scope::Project).then(|| place.allowed(project)).transpose(),
        &|| place.edits().map(Some),
    ];
    for open in records {
        let Some(edits) = open()? else { continue };
        if edits.is_empty() {
            continue;
        }
        is_empty = false;
        for (path, undone) in edits.undo(without_entry)? {
            show_undone(place, &path, &undone);
        }
    }
    if place.scope == Scope::Project && !InitPaths::new(Scope::User, project)?.edits()?.separate_owners().is_empty() {
        is_empty = false;
        terminal::line(
            "Hooks in your own files apply to all projects, and were kept: `hob hooks uninstall` removes them.",
        );
    }
    if is_empty {
        terminal::line(format!("Nothing to undo: {} has no record of `hob init`.", place.show(&place.record)));
    }
    Ok(Exit::Done)
}

fn show_undone(place: &InitPaths, path: &Path, undone: &Undone) {
    let shown = place.show(path);
    terminal::line(match undone {
        Undone::Restored => format!("{shown}: restored."),
        Undone::AsBefore => format!("{shown}: unchanged, as it is already as before."),
        Undone::Removed if project::is_tracked(path) == Some(true) => format!(
            "{shown}: removed, as it did not exist before. Git tracks it: commit that, or `git restore {shown}` brings it back."
        ),
        Undone::Removed => format!("{shown}: removed, as it did not exist before."),
        Undone::EntryRemoved => format!("{shown}: changed since, so only what hob wrote was removed."),
        Undone::Left => {
            format!("{shown}: kept, because it has changed since; delete what you do not want.")
        }
    });
}

/// Returns the text without the content of an edit's owner, for a file that was changed since.
fn without_entry(owner: &str, text: &str) -> Option<String> {
    if owner == mail::CLAUDE_MD {
        return mail::without_block(text);
    }
    let Some(agent) = AGENTS.iter().find(|agent| agent.name == owner) else {
        let others = [without_hooks, allow::without, exclude::without];
        return others.into_iter().find_map(|without| without(owner, text));
    };
    // Try the format of either scope.
    let formats = [Scope::Project, Scope::User].map(|scope| agent.format(scope));
    formats.into_iter().find_map(|format| format.remove(text).ok().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_the_toolsets_of_the_template() {
        let cores: Vec<String> = daemon::enabled(&Config::default()).iter().map(|name| format!("`{name}`")).collect();
        let named = format!("the core of {}, and `more_tools`", listed(&cores));
        assert!(include_str!("../../../../../docs/reference/configuration.md").contains(&named), "{named}");
    }
}
