//! Code search in the daemon.

use std::sync::Arc;

use ::code::tools::{self, Questions};
use ::code::{CodeSettings, Options, Timing, runner_of_code};
use project::config::Section;
use project::dashboard::Rooms;
use project::{CodeTrust, Config, Environment, Project};
use serde_json::{Map, json};

use super::{BoxFuture, Capabilities, Finding, Health, Part, PartStatus, Setup, Toolset, Trial};

const INSTRUCTIONS: &str = "Code: find_callers, find_uses, show_definition, show_fields and show_constructors take names, \
outline a path. An answer that says `complete` has every place that a language server sees; only such an answer proves an absence.";

const TIDEPOOL_INSTRUCTIONS: &str = "Code: find_callers, show_fields and show_constructors take names. While \
                                     `warning` is not null, an absence is not proven.";

/// The time limit of `hob doctor --try` for a language server.
const TRIED_MS: u64 = 50_000;

/// The shared state of code questions: searches and language servers.
pub(crate) struct CodePart {
    questions: Arc<Questions>,
    /// `None` if the tools are only declared.
    project: Option<Project>,
}

impl Part for CodePart {
    fn open(setup: &Setup<'_>) -> CodePart {
        let (project, journal) = (setup.project.clone(), setup.journal.clone());
        let questions = Questions::with_judges(Options {
            settings: setup.config.settings::<CodeSettings>(),
            withheld: withheld(setup.config),
            trusts: trusts(&project),
            state_dir: servers(&project),
            kept_dir: Some(directory(&project).join("verdicts")),
            prepare: Arc::new(move || project.create_state_dir().map(drop).map_err(std::io::Error::other)),
            records_dir: Some(directory(setup.project).join("records")),
            guard: ::process::Guard::SelfExe,
            timing: Timing::default(),
            journal: Some(Arc::new(move |record| journal.record(record))),
        });
        let listed = questions.clone();
        setup.register(Capabilities {
            code: Some(questions.clone()),
            rows: Some(Box::new(move |_| {
                let rooms = Rooms { sessions: listed.rows(), ..Rooms::default() };
                Box::pin(std::future::ready(rooms))
            })),
            ..Capabilities::default()
        });
        CodePart { questions, project: Some(setup.project.clone()) }
    }

    fn declared() -> CodePart {
        CodePart { questions: Questions::new(), project: None }
    }

    fn toolset(&self) -> Toolset {
        Toolset {
            name: "code",
            about: "callers and uses of a name, contents of a type, and the certainty of each answer",
            instructions: INSTRUCTIONS,
            core: tools::CORE,
            tools: tools::tools(&self.questions),
            is_default: true,
            extras: true,
        }
    }

    fn profiles(&self) -> Vec<Toolset> {
        vec![Toolset::tidepool(TIDEPOOL_INSTRUCTIONS, tools::tidepool(&self.questions))]
    }

    fn section() -> Option<Section> {
        Some(Section::for_settings::<CodeSettings>())
    }

    fn status(&self) -> PartStatus {
        let servers = self.questions.servers();
        let trust = self.project.as_ref().and_then(|project| CodeTrust::lookup(project, project.root()));
        let mut lines: Vec<String> =
            servers.iter().map(|server| format!("language server: {}", server.line())).collect();
        let project = self.project.as_ref();
        if let Some(runner) = project.and_then(|project| runner_of_code(project.root())) {
            lines.push(match &trust {
                Some(trust) => format!("code of this project may run: {trust}"),
                None => format!("code of this project may not run: {runner} waits for `hob trust`"),
            });
        }
        let trust = trust.map(|trust| trust.to_string());
        let fields = [("language_servers", json!(servers)), ("code_trust", json!(trust))];
        PartStatus { lines, ..PartStatus::from_fields(fields) }
    }

    /// Returns the language server of each language here. Starts nothing.
    fn health(project: &Project, config: &Config) -> Option<Health> {
        let checked = ::code::checked(
            project.root(),
            &config.settings::<CodeSettings>(),
            withheld(config),
            trusts(project),
            &Environment::of_this_process(),
        );
        let runs_code = checked.iter().any(|one| one.runs_code);
        let finding = |one: ::code::Checked| match (one.has_server, one.is_misnamed) {
            (true, _) => Finding::good(one.language, one.detail),
            (false, true) => Finding::problem(one.language, one.detail),
            (false, false) => Finding::note(one.language, one.detail),
        };
        let mut findings: Vec<Finding> = checked.into_iter().map(finding).collect();
        if runs_code {
            findings.push(match CodeTrust::lookup(project, project.root()) {
                Some(trust) => Finding::good("trust", format!("{trust}: language servers may run this project's code")),
                None => Finding::note(
                    "trust",
                    "none: language servers may not run this project's code; `hob trust` grants it",
                ),
            });
        }
        Some(Health { trials, ..Health::new("Language servers", findings) })
    }

    fn shutdown(&self) -> BoxFuture<'_> {
        Box::pin(self.questions.end())
    }

    fn clean_up_former_life(project: &Project) -> BoxFuture<'static> {
        let records = directory(project).join("records");
        Box::pin(async move {
            match tokio::task::spawn_blocking(move || ::process::records::sweep(&records)).await {
                Ok(Ok(swept)) if swept.ended + swept.left > 0 => {
                    tracing::warn!(ended = swept.ended, left = swept.left, "a former life had left servers running");
                }
                Ok(Ok(_)) => {}
                Ok(Err(error)) => tracing::error!(%error, "read the records of a former life's servers"),
                Err(error) => tracing::error!(%error, "clean up a former life's servers"),
            }
        })
    }
}

/// Returns a call per detected language that finds the callers of a function.
fn trials(project: &Project) -> Vec<Trial> {
    let trial = |tried: ::code::Tried| {
        let name = tried.name?;
        Some(Trial {
            subject: tried.language.to_owned(),
            asks: format!("find_callers {name}"),
            toolset: "code",
            tool: "find_callers",
            arguments: Map::from_iter([("name".to_owned(), json!(name)), ("wait_ms".to_owned(), json!(TRIED_MS))]),
            is_whole: |result| result["head"]["complete"] == true,
            can_be_whole: tried.has_server,
        })
    };
    ::code::tries(project.root()).into_iter().filter_map(trial).collect()
}

/// Returns the check for trust in the code of a worktree.
fn trusts(project: &Project) -> ::code::Trusts {
    let project = project.clone();
    Arc::new(move |worktree| CodeTrust::lookup(&project, worktree).is_some())
}

/// Returns the servers whose command in `hob.toml` waits for a grant.
fn withheld(config: &Config) -> Vec<String> {
    let commands = config.withheld.iter().filter(|request| request.key.starts_with("code.servers."));
    commands.filter_map(|request| request.withholds.clone()).collect()
}

/// Returns the directory of this part's persistent state.
fn directory(project: &Project) -> std::path::PathBuf {
    project.state_dir().join("code")
}

/// Returns the directory of the language servers' files.
fn servers(project: &Project) -> std::path::PathBuf {
    directory(project).join("servers")
}
