//! Checks whether each agent would start hob here: its entry, its trust in the folder, and disabled servers. An agent that
//! would not start hob is never "ok".

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use daemon::parts::Verdict;
use project::{Project, visible};

use super::Finding;
use crate::agents::{AGENTS, Agent, Broken, Edits, Entry, Need, Plugin, Scope, Site, Step, find_program};
use crate::commands::current_project;

/// The subject of the finding if no agent was found.
const NONE: &str = "none";

/// Returns the findings for all agents that are used here.
pub(super) fn findings(project: &Project) -> Vec<Finding> {
    let place = crate::home().and_then(|home| Ok((home, current_project::cwd()?)));
    let (home, cwd) = match place {
        Ok(place) => place,
        Err(failure) => {
            return vec![Finding::problem("home", format!("{}; {}", failure.message, failure.hints.join(" ")))];
        }
    };
    let site = Site { top: project.worktree(&cwd), main: project.root().to_owned(), home };
    let search = std::env::var_os("PATH").unwrap_or_default();
    let findings: Vec<Finding> = AGENTS.iter().flat_map(|agent| of_agent(agent, &site, &search)).collect();
    if findings.is_empty() {
        vec![Finding::note(NONE, "no agent found; `hob init --agent NAME` registers with one anyway")]
    } else {
        findings
    }
}

/// Returns the agents that would not start hob as configured, or not fully.
pub(super) fn not_started(findings: &[Finding]) -> Vec<String> {
    let is_open = |finding: &&Finding| finding.verdict == Verdict::Note && finding.subject != NONE;
    let mut agents: Vec<String> = findings.iter().filter(is_open).map(|finding| finding.subject.clone()).collect();
    agents.dedup();
    agents
}

fn of_agent(agent: &Agent, site: &Site, search: &OsStr) -> Vec<Finding> {
    let mut found = Vec::new();
    let is_used = agent.is_used(Scope::Project, site, search);
    for scope in [Scope::Project, Scope::User] {
        let mut files = agent.files(scope, site);
        // A file shared with another agent does not show that this one is used.
        files.retain(|file| is_used || !agent.reads_anothers(file, site));
        found.extend(files.iter().filter_map(|file| registration(agent, scope, file, site, search)));
    }
    if let Some(entry) = agent.local_entry(site) {
        let file = &agent.files(Scope::User, site)[0];
        found.extend(judge(agent, Scope::User, file, entry.map(Some), site, search));
    }
    if let Some(plugin) = agent.plugin(site) {
        found.push(judge_plugin(agent, &plugin, !found.is_empty()));
    }
    if found.is_empty() {
        let here = visible::path(&site.top);
        found.extend(
            match registered_in_main(agent, site, is_used) {
                Some(file) => Some(format!(
                    "hob is registered in {}, but an agent in this worktree reads {here}: run `hob init` here",
                    visible::path(&file)
                )),
                None => is_used.then(|| "hob is not registered; run `hob init`".to_owned()),
            }
            .map(|detail| Finding::note(agent.title, detail)),
        );
    }
    if let Some(elsewhere) = agent.reads_elsewhere(site).filter(|_| !found.is_empty()) {
        // The other findings concern files that it does not read.
        for finding in found.iter_mut().filter(|finding| finding.verdict == Verdict::Good) {
            finding.verdict = Verdict::Note;
        }
        found.push(Finding::note(agent.title, elsewhere));
    }
    found
}

/// Describes hob's plugin in an agent. Next to an entry it would start hob a second time, or be ignored.
fn judge_plugin(agent: &Agent, plugin: &Plugin, has_entry: bool) -> Finding {
    let Plugin { file, remove } = plugin;
    if !has_entry {
        return Finding::good(agent.title, format!("starts hob by its plugin ({file})"));
    }
    let detail = format!(
        "has hob twice: as a plugin ({file}) and by its entry. To keep the entry, which has the project's toolsets \
         and your permissions, run `{remove}`. To keep the plugin, run `hob init --undo`"
    );
    Finding::note(agent.title, detail)
}

/// In a linked worktree, returns the main worktree's file that registers hob.
fn registered_in_main(agent: &Agent, site: &Site, is_used: bool) -> Option<PathBuf> {
    let main = Site { top: site.main.clone(), main: site.main.clone(), home: site.home.clone() };
    let has_entry = |file: &PathBuf| {
        let text = Edits::read_below(&main.top, file, Scope::Project.links()).ok().flatten();
        text.is_some_and(|text| agent.format(Scope::Project).entry(&text).is_ok_and(|entry| entry.is_some()))
    };
    let files = agent.files(Scope::Project, &main).into_iter();
    let mut files = files.filter(|file| is_used || !agent.reads_anothers(file, &main));
    files.find(has_entry).filter(|_| site.top != site.main)
}

fn registration(agent: &Agent, scope: Scope, file: &Path, site: &Site, search: &OsStr) -> Option<Finding> {
    match Edits::read_below(site.base(scope), file, scope.links()) {
        Ok(text) => judge(agent, scope, file, agent.format(scope).entry(&text?), site, search),
        Err(error) => Some(Finding::problem(agent.title, format!("{error:#}"))),
    }
}

fn judge(
    agent: &Agent,
    scope: Scope,
    file: &Path,
    entry: Result<Option<Entry>, Broken>,
    site: &Site,
    search: &OsStr,
) -> Option<Finding> {
    let shown = file.display();
    let problem = |detail: String| Some(Finding::problem(agent.title, detail));
    let entry = match entry {
        Ok(entry) => entry?,
        Err(error) => return problem(format!("{shown}: {error}; repair the file")),
    };
    if !entry.is_hob(scope) {
        return problem(format!(
            "{shown} has a server named hob that starts {entry}, which is not what `hob init` writes: inspect the \
             entry; if you do not need it, remove it and run `hob init`"
        ));
    }
    let Some(program) = find_program(&entry.command, search) else {
        return problem(format!(
            "{shown} starts `{}`, which does not exist; remove that entry and run `hob init`",
            entry.command
        ));
    };
    let steps = match agent.steps(scope, file, site) {
        Ok(steps) => steps,
        Err(error) => return problem(error),
    };
    let (calls, starts): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(|step| step.need == Need::Call);
    Some(match (starts.as_slice(), calls.as_slice()) {
        ([], []) => Finding::good(agent.title, format!("starts {} (by {shown})", program.display())),
        ([], calls) => Finding::good(
            agent.title,
            format!("starts {} (by {shown}), and {}", program.display(), describe(calls, scope)),
        ),
        (starts, _) => Finding::note(
            agent.title,
            format!("does not start hob (registered in {shown}): it {}", describe(starts, scope)),
        ),
    })
}

/// Describes the problems, what to do about them, and the command that fixes them.
fn describe(steps: &[Step], scope: Scope) -> String {
    let mut whats: Vec<&str> = steps.iter().map(|step| &*step.what).collect();
    let mut hands: Vec<&str> = steps.iter().map(|step| &*step.by_hand).collect();
    whats.dedup();
    hands.dedup();
    // With `--user` no folder is trusted.
    let can_write = |step: &Step| step.writes.is_some() && (scope == Scope::Project || step.need == Need::Call);
    let hint = match (steps.iter().any(can_write), scope) {
        (false, _) => "",
        (true, Scope::Project) => ", or run `hob init --allow`",
        (true, Scope::User) => ", or run `hob init --user --allow`",
    };
    format!("{}: {}{hint}", whats.join(", and "), hands.join("; "))
}
