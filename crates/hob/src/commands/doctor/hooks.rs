//! Verifies agents' hooks: runs each of hob's entries exactly as written, in private copies of a project (`hooks::prove`). An
//! entry from a checkout runs only if it equals what `hob hooks install` writes.

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
use crate::commands::current_project;

/// The findings about hooks, for people and for programs.
#[derive(Default)]
pub(super) struct Report {
    pub(super) findings: Vec<Finding>,
    pub(super) proofs: Vec<Value>,
}

/// A file that contains hob's entries.
struct InstalledHooks {
    file: HookFile,
    entries: Vec<Installed>,
}

/// Reads all agents' files and, unless `quick`, verifies the entries.
pub(super) fn report(project: &Project, quick: bool) -> Report {
    let mut report = Report::default();
    // The agents' section reports a missing home or directory.
    let Ok((home, cwd)) = crate::home().and_then(|home| Ok((home, current_project::cwd()?))) else { return report };
    let site = Site { top: project.worktree(&cwd), main: project.root().to_owned(), home };
    let search = std::env::var_os("PATH").unwrap_or_default();
    let found = find_hooks(&site, &mut report);
    if quick {
        report.findings.extend(found.iter().map(|found| {
            let (count, shown) = (found.entries.len(), visible::path(&found.file.path));
            Finding::good(found.file.agent.title(), format!("{count} hooks in {shown}, not tested because of --quick"))
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
                .push(Finding::problem("hooks", format!("cannot be tested: creating a private copy failed: {error}")));
            return report;
        }
    };
    let mut proven = proven.into_iter();
    for InstalledHooks { file, entries } in found {
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

fn find_hooks(site: &Site, report: &mut Report) -> Vec<InstalledHooks> {
    let mut found = Vec::new();
    let main = Site { top: site.main.clone(), main: site.main.clone(), home: site.home.clone() };
    let here = Agent::ALL.into_iter().flat_map(|agent| HookFile::all(agent, site)).map(|file| (site, file));
    // In a linked worktree Claude Code also runs the hooks in the main worktree's local settings.
    let in_main = (site.top != site.main).then(|| (&main, HookFile::for_scope(Agent::Claude, HookScope::Local, &main)));
    for (site, file) in here.chain(in_main) {
        let text = match Edits::read_below(site.base(file.base), &file.path, file.base.links()) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(error) => {
                report.findings.push(Finding::problem(file.agent.title(), format!("{error:#}")));
                continue;
            }
        };
        match file.entries(&text) {
            Ok(entries) if entries.is_empty() => {}
            Ok(entries) => found.push(InstalledHooks { file, entries }),
            // A file that does not mention hob has no entry of hob's.
            Err(_) if !text.contains("hob") => {}
            Err(error) => {
                let shown = visible::path(&file.path);
                let detail = format!("{shown}: {error}; the agent cannot read its hooks: repair the file");
                report.findings.push(Finding::problem(file.agent.title(), detail));
            }
        }
    }
    found
}

/// Returns why an entry must not be run, if so: a checkout's entry does not run merely because it is named hob.
fn unprovable(file: &HookFile, entry: &Installed, search: &OsStr) -> Option<String> {
    if file.base == Scope::User {
        return None;
    }
    let real = |path: PathBuf| path.canonicalize().ok();
    let program = find_program(&entry.program(), search).and_then(real);
    let ours = std::env::current_exe().ok().and_then(real);
    if !entry.is_as_written() {
        return Some("it differs from what `hob hooks install` writes, and the project contains it".to_owned());
    }
    (program.is_none() || program != ours).then(|| {
        format!("it starts {}, which is not this hob: `hob hooks install` replaces it", visible(&entry.program()))
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

/// Describes the failed promise, and the fix.
fn hole(entry: &Installed, proof: &Proof) -> String {
    let promised: Vec<&str> = proof.promised.iter().map(|effect| effect.as_str()).collect();
    let (event, state, fail) = (visible(&entry.event), proof.state.as_str(), entry.fail.as_str());
    format!(
        "{event}, {state}: `--fail {fail}` promises that a tool is {}, and it {}; run `hob hooks install` to fix it",
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
