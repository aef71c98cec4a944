//! `hob policy`: checks the rules of a project, explains which rules match an event, and replays events with another file.
//! Starts no daemon.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use hooks::agents::Verdict;
use hooks::decision::decided;
use hooks::files::{ActivePolicies, Files, user_path};
use hooks::policy::{Decision, Policy, Subject};
use hooks::{Agent, Event, Kind};
use project::{Project, regular, visible};
use serde::Deserialize;
use serde_json::Value;

use crate::commands::current_project;
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Check the policy for agents' hooks, and explain its decisions
#[derive(Debug, Args)]
pub(crate) struct PolicyCommand {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check hob-policy.toml, or another file, and show the rules in force
    Check {
        /// The file [default: the project's hob-policy.toml]
        file: Option<PathBuf>,
    },
    /// Run the tests in a file: events with expected decisions
    Test {
        /// A TOML file with `[[test]]` tables
        file: PathBuf,
    },
    /// Show which rules match an event, and by which command or file
    Explain {
        /// A file with the event in the agent's format, or `-`
        event: PathBuf,
        /// The agent [default: detected from the event]
        #[arg(long)]
        agent: Option<String>,
    },
    /// Replay all recorded events with a file that is not in force yet, and list the differences
    Try {
        /// The file [default: the current hob-policy.toml of the project]
        file: Option<PathBuf>,
    },
}

/// The size limit of a given file, in bytes.
const FILE_MAX: u64 = 8 * 1024 * 1024;
/// A sample rule to start a policy with.
const FIRST_RULE: &str = r#"
  [[rule]]
  id = "no-force-push"
  tool = "shell"
  command = ["git push --force*", "git push -f"]
  decide = "deny"
  reason = "force pushes lose others' work"
"#;
/// The maximum number of differences shown.
const SHOWN: usize = 50;

impl PolicyCommand {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        match self.what {
            Action::Check { file } => check(project, file.as_deref()),
            Action::Test { file } => test(project, &file),
            Action::Explain { event, agent } => explain(project, &event, agent.as_deref()),
            Action::Try { file } => try_file(project, file.as_deref()),
        }
    }
}

fn rules(count: usize) -> String {
    format!("{count} rule{}", if count == 1 { "" } else { "s" })
}

fn read(path: &Path) -> Result<String, Failure> {
    let text = if path.as_os_str() == "-" {
        std::io::read_to_string(std::io::stdin().lock())
    } else {
        regular::read(path, FILE_MAX)
    };
    text.map_err(|error| {
        Failure::new(format_args!(
            "cannot read {}: {}; name a file that you can read",
            visible::path(path),
            visible::cause(&error)
        ))
    })
}

fn parse(path: &Path) -> Result<Policy, Failure> {
    Policy::parse(&read(path)?).map_err(|error| {
        Failure::new(format_args!("{}: {error}", visible::path(path))).hint("Fix that line, then check it again.")
    })
}

fn check(project: &Project, file: Option<&Path>) -> Result<Exit, Failure> {
    if let Some(file) = file {
        let policy = parse(file)?;
        if let Some(error) = policy.unreachable.first() {
            return Err(Failure::new(format_args!("{}: {error}", visible::path(file))));
        }
        terminal::line(format!("{}: {}, all valid.", visible::path(file), rules(policy.rules.len())));
        return Ok(Exit::Done);
    }
    let standing = Files::new(project).active(false);
    if let Some(broken) = standing.broken.first() {
        return Err(Failure::new(broken));
    }
    if let Some(unreachable) = hooks::files::unreachable_rules(project).first() {
        return Err(Failure::new(unreachable).hint("Fix that rule; the other rules are in force."));
    }
    let [users, ours] = [0, 1].map(|at| standing.policies.get(at).map_or(0, |policy| policy.rules.len()));
    let is_there = hooks::files::project_text(project).is_ok_and(|text| text.is_some());
    match ours {
        0 if !is_there => {
            let path = project.root().join(hooks::policy::FILE);
            terminal::line(format!(
                "{} does not exist, and no rule of this project is in force.",
                visible::path(&path)
            ));
            terminal::line(format!("A sample rule to start with:\n{FIRST_RULE}"));
        }
        _ => terminal::line(format!("{}: {} in force.", hooks::policy::FILE, rules(ours))),
    }
    if let Some(path) = user_path().filter(|_| users > 0) {
        terminal::line(format!("{}: {} in force.", visible::path(&path), rules(users)));
    }
    for pending in &standing.pending {
        terminal::line(format!("  needs a grant by `hob trust`: {pending}"));
    }
    Ok(Exit::Done)
}

/// An event in a file of tests.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Test {
    name: String,
    #[serde(default)]
    agent: Option<String>,
    /// The event in the agent's format.
    event: Value,
    expect: Verdict,
    #[serde(default)]
    rule: Option<String>,
    #[serde(default)]
    facts: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tests {
    #[serde(default)]
    test: Vec<Test>,
}

fn test(project: &Project, file: &Path) -> Result<Exit, Failure> {
    let text = read(file)?;
    let tests: Tests = toml::from_str(&text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = 1 + text.bytes().take(start).filter(|byte| *byte == b'\n').count();
        Failure::new(format_args!(
            "{}, line {line}: {}; correct that line",
            visible::path(file),
            error.message().trim()
        ))
    })?;
    if tests.test.is_empty() {
        return Err(Failure::new(format_args!("{} has no `[[test]]`", visible::path(file))));
    }
    // Use the files as they are, so that a policy can be tested before it is granted.
    let standing = as_written(project, None)?;
    let mut failed = 0;
    for test in &tests.test {
        let raw = test.event.to_string();
        let event = event_of(&raw, test.agent.as_deref())?;
        let (decision, _) = decided(&standing, &event, project.root(), project.root(), |_| test.facts.clone());
        let waits = decision.rule.as_ref().filter(|rule| {
            let waits = format!("rule {rule} allows ");
            decision.verdict == Verdict::Allow && standing.pending.iter().any(|pending| pending.starts_with(&waits))
        });
        if let Some(rule) = waits {
            terminal::line(format!("{}: rule {rule} is not in force until `hob trust`", test.name));
        }
        let is_right =
            decision.verdict == test.expect && test.rule.iter().all(|rule| decision.rule.as_ref() == Some(rule));
        if !is_right {
            failed += 1;
            let wanted = test.rule.as_ref().map_or(String::new(), |rule| format!(" by {rule}"));
            terminal::line(format!(
                "{}: expected {}{wanted}, got {}",
                test.name,
                test.expect.as_str(),
                describe(&decision)
            ));
        }
    }
    terminal::line(format!("{} of {} tests passed.", tests.test.len() - failed, tests.test.len()));
    Ok(if failed == 0 { Exit::Done } else { Exit::Failed })
}

fn event_of(raw: &str, agent: Option<&str>) -> Result<Event, Failure> {
    let agent = match agent {
        Some(name) => Agent::named(name).ok_or_else(|| {
            let names: Vec<&str> = Agent::ALL.iter().map(|agent| agent.name()).collect();
            Failure::new(format_args!("unknown agent {name:?}")).hint(format_args!("Available: {}.", names.join(", ")))
        })?,
        None => Agent::of_payload("", raw.as_bytes()),
    };
    Ok(hooks::read(agent, "", raw.as_bytes()))
}

fn describe(decision: &Decision) -> String {
    match &decision.rule {
        Some(rule) => format!("{} by {rule}", decision.verdict.as_str()),
        None => decision.verdict.as_str().to_owned(),
    }
}

fn explain(project: &Project, path: &Path, agent: Option<&str>) -> Result<Exit, Failure> {
    let raw = read(path)?;
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&raw) {
        return Err(Failure::new(format_args!(
            "{} is not valid JSON: {error}; give the JSON that an agent sends",
            visible::path(path)
        )));
    }
    let event = event_of(&raw, agent)?;
    if event.name.is_empty() {
        let failure = Failure::new(format_args!("{} is not a hook event: it has no name", visible::path(path)));
        return Err(failure.hint("Give the JSON that an agent sends, with `hook_event_name`."));
    }
    let cwd = current_project::cwd()?;
    let worktree = project.worktree(&cwd);
    let standing = Files::new(project).active(false);
    let (decision, facts) = decided(&standing, &event, &worktree, &cwd, |names| daemon::parts::facts(names, &worktree));
    let tool =
        event.tool.as_ref().map_or(String::new(), |tool| format!(", tool {} ({})", tool.native, tool.kind.as_str()));
    terminal::line(format!("{} of {}: {}{tool}", event.name, event.agent, event.kind.as_str()));
    if let Some(script) = Subject::from_event(&event, &worktree, &cwd).script {
        for command in script.render() {
            terminal::line(format!("  runs: {command}"));
        }
        if let Some(why) = script.opaque {
            terminal::line(format!("  may run more: {why}"));
        }
    }
    for (name, value) in &facts {
        terminal::line(format!("  {name} is {value}"));
    }
    for matched in &decision.matched {
        let by = matched.by.as_ref().map_or(String::new(), |by| format!(", by `{by}`"));
        let may = if matched.maybe { "may match" } else { "matches" };
        terminal::line(format!("  rule {} {may}, and decides {}{by}", matched.rule, matched.decides.as_str()));
    }
    if decision.verdict == Verdict::Pass && event.kind == Kind::ToolBefore {
        let request = Event { kind: Kind::PermissionRequest, ..event };
        let (later, _) = decided(&standing, &request, &worktree, &cwd, |_| facts.clone());
        if let (Verdict::Person, Some(rule)) = (later.verdict, &later.rule) {
            terminal::line(format!(
                "  rule {rule} applies only to permission requests; `on = \"tool_before\"` in it applies it here too"
            ));
        }
    }
    terminal::line(if decision.reason.is_empty() {
        describe(&decision)
    } else {
        format!("{}: {}", describe(&decision), decision.reason)
    });
    Ok(Exit::Done)
}

/// The policies as their files read, granted or not.
fn as_written(project: &Project, file: Option<&Path>) -> Result<ActivePolicies, Failure> {
    let mut standing = Arc::unwrap_or_clone(Files::new(project).active(false));
    let ours = match file {
        Some(file) => parse(file)?,
        None => {
            let text = hooks::files::project_text(project).map_err(Failure::new)?;
            Policy::parse(text.as_deref().unwrap_or_default())
                .map_err(|error| Failure::new(format_args!("{}: {error}", hooks::policy::FILE)))?
        }
    };
    if let Some(last) = standing.policies.last_mut() {
        *last = ours;
    }
    Ok(standing)
}

fn try_file(project: &Project, file: Option<&Path>) -> Result<Exit, Failure> {
    let standing = as_written(project, file)?;
    let (mut count, mut without, mut differences) = (0_u64, 0_u64, 0_usize);
    for line in hooks::journal::lines(&project.log_dir()).filter(|line| line.missed.is_none()) {
        let Some(raw) = line.raw.bytes() else {
            without += 1;
            continue;
        };
        count += 1;
        let Some(agent) = Agent::named(&line.agent) else { continue };
        let event = hooks::read(agent, &line.named, &raw);
        let (decision, _) = decided(&standing, &event, &line.worktree, &line.cwd, |names| {
            // Recorded facts decide; facts that were not recorded have their current values.
            let unknown: Vec<&str> = names.iter().copied().filter(|name| !line.facts.contains_key(*name)).collect();
            let mut facts =
                if unknown.is_empty() { BTreeMap::new() } else { daemon::parts::facts(&unknown, &line.worktree) };
            facts.extend(line.facts.clone());
            facts
        });
        if decision.verdict != line.verdict {
            differences += 1;
            if differences <= SHOWN {
                let what = Subject::from_event(&event, &line.worktree, &line.cwd).script;
                let what = what.and_then(|script| script.render().into_iter().next());
                let what = what.or(event.tool.map(|tool| tool.native)).unwrap_or_default();
                terminal::line(format!(
                    "{}: {} {} was {}, and would be {}: {what}",
                    line.number,
                    line.agent,
                    line.event,
                    line.verdict.as_str(),
                    describe(&decision)
                ));
            }
        }
    }
    let more = differences.saturating_sub(SHOWN);
    if more > 0 {
        terminal::line(format!("… and {more} more"));
    }
    terminal::line(format!("{differences} of {count} recorded events would be decided differently."));
    if without > 0 {
        terminal::line(format!("{without} more were recorded without their payloads (hooks.keep)."));
    }
    Ok(Exit::Done)
}
