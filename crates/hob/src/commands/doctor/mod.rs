//! `hob doctor`: checks everything that hob depends on, and reports problems with their fixes.
//!
//! It changes nothing. [`programs`] checks the programs that hob runs, [`agents`] each agent's own files. [`hooks`] runs hob's
//! own entries in private copies of a project with short-lived daemons. With `--try`, [`trials`] queries the project's own
//! daemon.

mod agents;
mod hooks;
mod programs;
mod trials;

use std::path::Path;

use clap::Args;
use client::control::Control;
use daemon::parts::{Finding, Verdict};
use project::{Config, Project, UserConfig};
use serde_json::{Value, json};

use crate::commands::call::command_texts::in_commands;
use crate::commands::current_project;
use crate::exit::{Exit, Failure};
use crate::terminal::{self, Style, paint};

/// Check the installation and report problems with their fixes
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Skip running the hooks of agents, which takes a few seconds
    #[arg(long)]
    quick: bool,
    /// Also send the daemon a query for each language; this starts the daemon and language servers
    #[arg(long = "try")]
    tries: bool,
}

/// The section whose notes are only suggestions.
const PROGRAMS: &str = "Programs";
const AGENTS: &str = "Agents";
/// The section of the trials.
const TRIED: &str = "Tried";
/// The section of agents' hooks.
const HOOKS: &str = "Hooks of agents";

impl Doctor {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        // An unreadable configuration is reported separately.
        let config = Config::load(project, &daemon::sections()).unwrap_or_default();
        let parts = daemon::health(project, &config);
        let trials = parts.iter().filter(|_| self.tries).flat_map(|health| (health.trials)(project)).collect();
        let parts = parts.into_iter().filter(|health| !health.findings.is_empty());
        let parts = parts.map(|health| (health.title, health.findings));
        // Progress goes to stderr, so that programs can read the list from stdout.
        let tried = trials::findings(project, trials, |text| terminal::note(terminal::paint_note(text, Style::Dim)));
        let hooks = hooks::report(project, self.quick);
        let proofs = hooks.proofs;
        let sections = [("Project", project_findings(project)), ("Daemon", of_daemon(project, &config))]
            .into_iter()
            .chain(parts)
            .chain((!tried.is_empty()).then_some((TRIED, tried)))
            .chain([(PROGRAMS, programs::findings(project.root())), (AGENTS, agents::findings(project))])
            .chain((!hooks.findings.is_empty()).then_some((HOOKS, hooks.findings)));
        if self.json {
            return Ok(print_json(sections, &proofs));
        }
        let (mut broken, mut open): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for (title, findings) in sections {
            terminal::line(paint(title, Style::Bold));
            broken.extend(subjects(&findings, Verdict::Problem));
            match title {
                // The project does not need these programs.
                PROGRAMS => {}
                AGENTS => open.extend(agents::not_started(&findings)),
                _ => open.extend(subjects(&findings, Verdict::Note)),
            }
            for Finding { verdict, subject, detail } in findings {
                let mark = match verdict {
                    Verdict::Good => paint("ok", Style::Green),
                    Verdict::Note | Verdict::Remark => paint("--", Style::Yellow),
                    Verdict::Problem => paint("!!", Style::Red),
                };
                // Both contain names and paths from the checkout.
                let (subject, detail) = (project::visible(&subject), project::visible(&in_commands(&detail)));
                terminal::line(format!("  {mark} {subject}: {detail}"));
            }
        }
        terminal::line(last_line(&broken, &open));
        Ok(if broken.is_empty() { Exit::Done } else { Exit::Unhealthy })
    }
}

/// Returns the subjects of the findings with this verdict.
fn subjects(findings: &[Finding], verdict: Verdict) -> Vec<String> {
    let of_it = findings.iter().filter(|finding| finding.verdict == verdict);
    of_it.map(|finding| project::visible(&finding.subject)).collect()
}

/// Renders the conclusion: names everything that needs a fix.
fn last_line(broken: &[String], open: &[String]) -> String {
    let named = |subjects: &[String]| {
        let mut subjects = subjects.to_vec();
        subjects.dedup();
        subjects.join(", ")
    };
    let conclusion = match broken {
        [] if open.is_empty() => "Everything works.".to_owned(),
        [] => "No problems.".to_owned(),
        [one] => format!("1 problem to fix (!!): {one}."),
        all => format!("{} problems to fix (!!): {}.", all.len(), named(all)),
    };
    match open {
        [] => conclusion,
        open => format!("{conclusion} Optional or not finished, see the lines marked --: {}.", named(open)),
    }
}

/// Prints all findings as JSON.
fn print_json(sections: impl Iterator<Item = (&'static str, Vec<Finding>)>, proofs: &[Value]) -> Exit {
    let mut problems = 0;
    let mut shown: Vec<Value> = Vec::new();
    for (section, findings) in sections {
        for Finding { verdict, subject, detail } in findings {
            problems += usize::from(verdict == Verdict::Problem);
            let verdict = match verdict {
                Verdict::Good => "ok",
                Verdict::Note | Verdict::Remark => "note",
                Verdict::Problem => "problem",
            };
            shown.push(json!({"section": section, "verdict": verdict, "subject": subject, "detail": detail}));
        }
    }
    terminal::json(&json!({
        "problems": problems,
        "findings": shown,
        "hooks": proofs,
        "tables": ::hooks::install::tables(),
    }));
    if problems == 0 { Exit::Done } else { Exit::Unhealthy }
}

fn project_findings(project: &Project) -> Vec<Finding> {
    use project::FoundBy;
    let by = match project.found_by() {
        FoundBy::Argument => "named by --project",
        FoundBy::Variable => "named by HOB_PROJECT",
        FoundBy::Git => "the repository's main worktree",
        FoundBy::Marker => "the nearest hob.toml, .jj or .hg upwards",
        FoundBy::ProjectFile => "the nearest project file upwards",
        FoundBy::CurrentDirectory => "the current directory",
    };
    let mut findings = vec![Finding::good("root", format!("{} ({by})", project.root().display()))];
    findings.extend(inner_root(project));
    findings.extend(config(project));
    findings.extend(own_config());
    findings.push(state(project));
    findings.extend(current_project::set_aside(project).into_iter().map(|(_, text)| Finding::note("set aside", text)));
    findings.extend(report_untrusted_state(project));
    findings
}

/// Reports a nested project below the root, which is wrong unless it was intended.
fn inner_root(project: &Project) -> Option<Finding> {
    let inner = project.project_below(&current_project::cwd().ok()?)?;
    let (root, inner) = (project.root().display(), inner.display());
    let detail = format!(
        "{inner} looks like a separate project, but it shares the daemon, sessions and mail of {root}. To separate \
         it, put a hob.toml into {inner} (outside a repository), or start hob with --project {inner}"
    );
    Some(Finding::note("nested", detail))
}

/// Reports a `.hob` in the checkout: it is not trusted.
fn report_untrusted_state(project: &Project) -> Option<Finding> {
    let brought = project.root().join(".hob");
    brought.symlink_metadata().ok()?;
    let (brought, state) = (brought.display(), project.state_dir().display());
    Some(Finding::note(".hob", format!("{brought} is ignored: hob's state is in {state}, never in the checkout")))
}

fn config(project: &Project) -> Vec<Finding> {
    let config = Config::load(project, &daemon::sections());
    let faults = config.as_ref().map(daemon::faults).unwrap_or_default();
    if !faults.is_empty() {
        return faults.into_iter().map(|fault| Finding::problem("hob.toml", fault)).collect();
    }
    vec![match config {
        Err(error) => {
            let file = error.path().file_name().unwrap_or_default().to_string_lossy();
            Finding::problem(file, error.to_string())
        }
        Ok(config) if !config.withheld.is_empty() => {
            let keys: Vec<&str> = config.withheld.iter().map(|request| request.key.as_str()).collect();
            Finding::note(
                "hob.toml",
                format!("requests settings that are not granted: {}; run `hob trust`", keys.join(", ")),
            )
        }
        Ok(_) if project.config_path().exists() => Finding::good("hob.toml", "valid"),
        Ok(_) => Finding::good("hob.toml", "does not exist; the defaults apply"),
    }]
}

/// Checks the user's own configuration, for all projects.
fn own_config() -> Option<Finding> {
    let path = UserConfig::path()?;
    let shown = path.display();
    Some(match (Config::of_user(&daemon::sections()), path.exists()) {
        // The finding for hob.toml already reports the error of this file.
        (Err(_), _) => return None,
        (Ok(_), true) => Finding::good("config.toml", format!("{shown} (all projects): valid")),
        (Ok(_), false) => {
            Finding::good("config.toml", format!("{shown} (all projects): does not exist; the defaults apply"))
        }
    })
}

fn state(project: &Project) -> Finding {
    let dir = project.state_dir();
    if let Err(error) = project.look_at_state() {
        return Finding::problem("state", error.to_string());
    }
    // Check the nearest existing directory, the one that would be written to.
    let existing = dir.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    match project::private::try_to_write(existing) {
        Err(error) => Finding::problem(
            "state",
            format!("cannot write in {}: {error}; make it writable, or free disk space", existing.display()),
        ),
        Ok(()) => Finding::good("state", format!("kept in {}", dir.display())),
    }
}

fn socket(project: &Project) -> Finding {
    match project.socket_path() {
        Ok(path) => Finding::good("socket", path.display().to_string()),
        Err(error) => Finding::problem("socket", error.to_string()),
    }
}

/// Checks the daemon and what its environment lacks. If none runs, checks the environment that a daemon started here would have.
fn of_daemon(project: &Project, config: &Config) -> Vec<Finding> {
    let (daemon, lacks): (Finding, Vec<Finding>) = match current_project::connect(project) {
        Ok(None) => {
            let here = |what| Finding::note("environment", format!("{what} before you start a daemon from here"));
            let finding = Finding::good("daemon", "not running; it starts on demand");
            (finding, daemon::missing_variables(config).into_iter().map(here).collect())
        }
        Ok(Some(mut control)) => match control.status() {
            Ok(status) => {
                let lacks = status["lacks"].as_array().into_iter().flatten().filter_map(Value::as_str);
                let lacks = lacks.map(|what| Finding::problem("environment", what)).collect();
                (running(project, &control, &status), lacks)
            }
            Err(error) => (Finding::problem("daemon", error.to_string()), Vec::new()),
        },
        Err(failure) => {
            let hints: String = failure.hints.iter().map(|hint| format!(". {}", hint.trim_end_matches('.'))).collect();
            let why = failure.message + &hints;
            (Finding::problem("daemon", why), Vec::new())
        }
    };
    [socket(project), daemon].into_iter().chain(lacks).collect()
}

/// Describes a running daemon.
fn running(project: &Project, control: &Control, status: &Value) -> Finding {
    let ack = control.daemon();
    let pid = ack.pid.map(|pid| format!(", pid {pid}")).unwrap_or_default();
    let runs = format!("runs (hob {}{pid})", ack.version);
    if let Some(other) = ack.pid.and_then(super::other_program::notice) {
        return Finding::note("daemon", format!("{runs}; {other}"));
    }
    if let Some(changed) = super::status::changed_since(project, status) {
        return Finding::note("daemon", format!("{runs}; {changed}"));
    }
    if status["granted_since"] == true {
        Finding::note(
            "daemon",
            format!(
                "{runs}; settings of hob.toml were granted after this daemon started: run `hob stop`; the next call starts a daemon that has them"
            ),
        )
    } else {
        Finding::good("daemon", runs)
    }
}
