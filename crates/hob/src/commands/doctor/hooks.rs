//! Whether agents' hooks do what they promise: each of hob's entries is run as it is written, in private copies of a project
//! (`hooks::prove`). An entry of a checkout runs only if it is exactly what `hob hooks install` writes.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::PathBuf;

use ::hooks::install::Installed;
use ::hooks::prove::{Proof, Proven, is_gate, prove};
use ::hooks::{Agent, Version};
use project::{Project, visible};
use serde_json::{Value, json};

use super::Finding;
use crate::agents::{self, Edits, HookFile, HookScope, Scope, Site, find_program, hooks_off};

/// What is known of hooks, for people and for programs.
#[derive(Default)]
pub(super) struct Report {
    pub(super) findings: Vec<Finding>,
    pub(super) proofs: Vec<Value>,
}

/// A file with entries of hob's.
struct Found {
    file: HookFile,
    entries: Vec<Installed>,
}

/// Looks into all agents' files; proves what it finds unless it is `quick`.
pub(super) fn report(project: &Project, quick: bool) -> Report {
    let mut report = Report::default();
    // Without a home or a directory the agents' own section says so.
    let Ok((home, cwd)) = crate::home().and_then(|home| Ok((home, super::super::cwd()?))) else { return report };
    let site = Site { top: project.worktree(&cwd), main: project.root().to_owned(), home };
    let search = std::env::var_os("PATH").unwrap_or_default();
    let found = found(&site, &mut report);
    if quick {
        report.findings.extend(found.iter().map(|found| {
            let (count, shown) = (found.entries.len(), visible::path(&found.file.path));
            Finding::good(found.file.agent.title(), format!("{count} hooks in {shown}, not proven with --quick"))
        }));
        return report;
    }
    let mut provable = Vec::new();
    let mut versions: HashMap<Agent, Option<Version>> = HashMap::new();
    for found in &found {
        let agent = found.file.agent;
        versions.entry(agent).or_insert_with(|| {
            let said = agents::Agent::of_hooks(agent).and_then(|known| known.says_version(&search));
            said.as_deref().and_then(Version::parse)
        });
        provable
            .extend(found.entries.iter().filter(|entry| unprovable(&found.file, entry, &search).is_none()).cloned());
    }
    let proven = match prove(provable, |agent| versions.get(&agent).copied().flatten()) {
        Ok(proven) => proven,
        Err(error) => {
            report
                .findings
                .push(Finding::problem("hooks", format!("cannot be proven: no private copy could be made: {error}")));
            return report;
        }
    };
    let mut proven = proven.into_iter();
    for Found { file, entries } in found {
        let mut faults: Vec<String> = Vec::new();
        let mut told: Vec<String> = Vec::new();
        let version = versions.get(&file.agent).copied().flatten();
        if let Some(why) = hooks_off(&file, &site).unwrap_or_else(Some) {
            faults.push(format!("{} {why}", file.agent.title()));
        }
        for entry in &entries {
            match unprovable(&file, entry, &search) {
                Some(why) => faults.push(format!("{} was not run: {why}", entry.event)),
                None => {
                    let Some(proven) = proven.next() else { continue };
                    faults.extend(proven.fault.iter().map(|fault| format!("{}: {fault}", entry.event)));
                    faults.extend(proven.proofs.iter().filter(|proof| !proof.holds()).map(|proof| hole(entry, proof)));
                    told.extend(is_gate(entry).then(|| line(&proven)));
                    report.proofs.push(machine(&file, version, &proven));
                }
            }
        }
        let shown = visible::path(&file.path);
        let version = version.map(|version| format!(", {version}")).unwrap_or_default();
        let detail = format!("{} hooks in {shown}{version}: {}", entries.len(), told.join("; "));
        report.findings.push(match faults.as_slice() {
            [] => Finding::good(file.agent.title(), detail),
            faults => Finding::problem(file.agent.title(), format!("{detail}. {}", faults.join("; "))),
        });
    }
    report
}

fn found(site: &Site, report: &mut Report) -> Vec<Found> {
    let mut found = Vec::new();
    let main = Site { top: site.main.clone(), main: site.main.clone(), home: site.home.clone() };
    let here = Agent::ALL.into_iter().flat_map(|agent| HookFile::all(agent, site)).map(|file| (site, file));
    // In a linked worktree Claude Code also runs the hooks in the main worktree's local settings.
    let in_main = (site.top != site.main).then(|| (&main, HookFile::of(Agent::Claude, HookScope::Local, &main)));
    for (site, file) in here.chain(in_main) {
        let text = match Edits::look(site.base(file.base), &file.path, file.base.links()) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(error) => {
                report.findings.push(Finding::problem(file.agent.title(), format!("{error:#}")));
                continue;
            }
        };
        match file.entries(&text) {
            Ok(entries) if entries.is_empty() => {}
            Ok(entries) => found.push(Found { file, entries }),
            // Without a word of hob there is nothing of hob's to break.
            Err(_) if !text.contains("hob") => {}
            Err(error) => {
                let shown = visible::path(&file.path);
                let detail = format!("{shown}: {error}; the agent reads no hooks of it: repair the file");
                report.findings.push(Finding::problem(file.agent.title(), detail));
            }
        }
    }
    found
}

/// Why an entry must not be run, if so: what a checkout brings is not run because it has hob's name.
fn unprovable(file: &HookFile, entry: &Installed, search: &OsStr) -> Option<String> {
    if file.base == Scope::User {
        return None;
    }
    let real = |path: PathBuf| path.canonicalize().ok();
    let program = find_program(&entry.program(), search).and_then(real);
    let ours = std::env::current_exe().ok().and_then(real);
    if !entry.is_as_written() {
        return Some("it is not what `hob hooks install` writes, and stands in the project".to_owned());
    }
    (program.is_none() || program != ours).then(|| {
        format!("it starts {}, which is not this hob: `hob hooks install` writes it anew", visible(&entry.program()))
    })
}

fn line(proven: &Proven) -> String {
    let (entry, proofs) = (&proven.entry, &proven.proofs);
    let states = proofs.iter().map(|proof| {
        let (state, came, effect) = (proof.state.as_str(), proof.came.as_str(), proof.effect.as_str());
        format!("{state}, it {came}: {effect}")
    });
    format!("{} (fail {}) {}", visible(&entry.event), entry.fail.as_str(), states.collect::<Vec<_>>().join("; "))
}

/// What does not hold, and what to do.
fn hole(entry: &Installed, proof: &Proof) -> String {
    let promised: Vec<&str> = proof.promised.iter().map(|effect| effect.as_str()).collect();
    let (event, state, fail) = (visible(&entry.event), proof.state.as_str(), entry.fail.as_str());
    format!(
        "{event}, {state}: `--fail {fail}` promises that a tool is {}, and it {}; `hob hooks install` writes what holds",
        promised.join(" or "),
        match proof.effect.as_str() {
            "blocked" => "is blocked",
            other => other,
        }
    )
}

fn machine(file: &HookFile, version: Option<Version>, proven: &Proven) -> Value {
    let states = proven.proofs.iter().map(|proof| {
        let mut state = serde_json::to_value(proof).unwrap_or_default();
        state["holds"] = json!(proof.holds());
        state
    });
    json!({
        "agent": file.agent.name(),
        "version": version.map(|version| version.to_string()),
        "file": file.path,
        "event": proven.entry.event,
        "fail": proven.entry.fail,
        "fault": proven.fault,
        "states": states.collect::<Vec<_>>(),
    })
}
