//! The approvals that agents still require after hob is registered: shows them, asks, writes them, and reverts them.

use std::io::{BufRead as _, IsTerminal as _};

use project::Project;

use super::paths::InitPaths;
use crate::agents::{Agent, Change, Need, Scope, Step};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Shows the steps missing for these agents, and writes those that the person approves.
pub(super) fn offer_steps(
    place: &InitPaths,
    project: &Project,
    agents: &[&'static Agent],
    without_asking: bool,
) -> Result<Exit, Failure> {
    let mut exit = Exit::Done;
    let mut left: Vec<(&Agent, Step)> = Vec::new();
    for agent in agents {
        match agent.steps(place.scope, &place.file(agent), &place.site) {
            Ok(steps) => left.extend(steps.into_iter().map(|step| (*agent, step))),
            Err(error) => {
                terminal::report(&Failure::new(format_args!("{}: {error}", agent.title)));
                exit = Exit::Failed;
            }
        }
    }
    // The user's configuration belongs to no folder.
    left.retain(|(_, step)| place.scope == Scope::Project || step.need != Need::Start);
    if left.is_empty() {
        return Ok(exit);
    }
    let can_write = left.iter().any(|(_, step)| step.writes.is_some());
    let write = can_write && without_asking;
    if !write {
        show(left.iter());
    }
    if !can_write {
        return Ok(exit);
    }
    let about = match place.scope {
        Scope::Project => {
            "trusts this folder, with all of its configuration, in those agents, and lets hob's tools run without asking"
        }
        Scope::User => "lets hob's tools run without asking",
    };
    let command = format!("hob init{} --allow", if place.scope == Scope::User { " --user" } else { "" });
    if !(write || can_ask() && confirmed(&format!("Write this for you? It {about}."))) {
        terminal::line(format!("`{command}` writes this for you: it {about}."));
        return Ok(exit);
    }
    write_all(place, project, &left)?;
    let by_hand = || left.iter().filter(|(_, step)| step.writes.is_none());
    if write && by_hand().next().is_some() {
        show(by_hand());
    }
    Ok(exit)
}

/// Prints one line for steps that a person takes together.
fn show<'a>(steps: impl Iterator<Item = &'a (&'a Agent, Step)>) {
    terminal::line("Steps left for you:");
    let mut lines: Vec<(&str, String, &str)> = Vec::new();
    for (agent, step) in steps {
        match lines.last_mut() {
            Some((title, what, by_hand)) if *title == agent.title && *by_hand == step.by_hand => {
                *what = format!("{what}, and {}", step.what);
            }
            _ => lines.push((agent.title, step.what.clone(), &step.by_hand)),
        }
    }
    for (title, what, by_hand) in lines {
        terminal::line(format!("  {title} {}: {}.", project::visible(&what), project::visible(by_hand)));
    }
}

/// Writes the files of the worktree, then those of the home: their records share a lock.
fn write_all(place: &InitPaths, project: &Project, left: &[(&Agent, Step)]) -> Result<(), Failure> {
    for scope in [Scope::Project, Scope::User] {
        let wanted = left.iter().filter_map(|(agent, step)| Some((agent, step.writes.as_ref()?)));
        let mut wanted: Vec<_> = wanted.filter(|(_, writing)| writing.scope == scope).collect();
        if place.scope == Scope::Project && scope == Scope::Project {
            // A person's own approvals must not be committed for everybody.
            wanted.retain(|(agent, writing)| {
                let is_free = project::is_tracked(&writing.file) == Some(false);
                if !is_free {
                    let shown = place.show(&writing.file);
                    let change = &writing.change;
                    terminal::line(format!(
                        "{}: {shown} is tracked by git, so an approval would apply to everybody: add it yourself, {change}.",
                        agent.title
                    ));
                }
                is_free
            });
            for (_, writing) in &wanted {
                super::keep_out_of_git(place, project, &writing.file)?;
            }
        }
        if wanted.is_empty() {
            continue;
        }
        let mut edits = if scope == place.scope { place.edits()? } else { place.allowed(project)? };
        for (agent, writing) in wanted {
            let shown = place.show(&writing.file);
            let text = edits.read(&writing.file)?.unwrap_or_default();
            let text = writing.change.apply(&text).map_err(|error| {
                Failure::new(format_args!("{}: {shown} was not changed: {error}", agent.title))
                    .hint(format_args!("Repair {shown}, then run `hob init --allow` again."))
            })?;
            edits.write(&writing.file, &writing.change.owner(), &text)?;
            terminal::line(format!("{}: {} in {shown}.", agent.title, writing.change));
        }
    }
    Ok(())
}

/// Returns the text without a value that hob added; `None` if the owner is not such a value, or it is gone.
pub(super) fn without(owner: &str, text: &str) -> Option<String> {
    Change::of_owner(owner)?.revert(text)
}

/// True if a person can be asked.
pub(in crate::commands) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Asks a question. Only a yes counts as approval.
pub(in crate::commands) fn confirmed(question: &str) -> bool {
    terminal::print(&format!("{question} [y/N] "));
    let mut answer = String::new();
    let _ = std::io::stdin().lock().read_line(&mut answer);
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}
