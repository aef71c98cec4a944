//! Runs the tests of many nodes for a command, in this process and without a daemon. Blocks. [`baseline`] finds new failures.

pub mod baseline;

use std::path::Path;

use process::Guard;
use serde_json::json;

use crate::cassette::{Cassettes, Mode};
use crate::engine::Engine;
use crate::file::{Trial, trial_id};
use crate::folder::Folder;
use crate::outcome::Class;
use crate::run::{FailureKind, Ledger, run_with};
use crate::usage::Usage;
use crate::{Models, Node, RunContext};

/// The source of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answering {
    /// The offline engine: it quickly shows that each node works and that its schema can be satisfied. Expected values are not
    /// compared.
    Fixed,
    /// Only recordings.
    Cassette,
    /// The models.
    Live,
    /// The models, whose answers are recorded.
    Record,
}

/// The result of a test.
#[derive(Debug)]
pub struct Report {
    pub node: String,
    /// The hash of the test's content, which identifies it in its node.
    pub id: String,
    /// The line of the test in the node's file.
    pub line: usize,
    /// The number of the test, if its line has several.
    pub number: Option<usize>,
    pub tried: Tried,
    /// The number of runs, and the number of runs that must pass.
    pub of: (u32, u32),
}

impl Report {
    pub fn passes(&self) -> bool {
        self.tried.passed >= self.of.1
    }
}

/// The resources for the tests.
#[derive(Debug)]
pub struct Suite<'a> {
    pub folder: &'a Folder,
    pub models: &'a Models,
    pub usage: &'a Usage,
    /// The venv of the offline engine.
    pub venv: &'a Path,
}

impl Suite<'_> {
    /// Runs the tests of these nodes, or of all nodes if none is named. Reports each result.
    ///
    /// # Errors
    /// A sentence: an unknown or invalid node, or a missing engine.
    pub fn run(&self, names: &[String], answering: Answering, each: impl FnMut(Report)) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
        runtime.block_on(self.all(names, answering, each))
    }

    async fn all(&self, names: &[String], answering: Answering, mut each: impl FnMut(Report)) -> Result<(), String> {
        let names = if names.is_empty() { self.folder.names().map_err(to_sentence)? } else { names.to_vec() };
        let engine = match answering {
            Answering::Fixed => Some(Engine::start(self.venv, Guard::SelfExe).await.map_err(to_sentence)?),
            _ => None,
        };
        let of_engine = engine.as_ref().map(|engine| engine.models(FIXED));
        let cassettes = Cassettes::new(if answering == Answering::Record { Mode::Record } else { Mode::Replay });
        let mut wrong = Vec::new();
        for name in names {
            let mut node = match self.folder.node(&name) {
                Ok(node) => node,
                // It does not prevent the tests of other nodes.
                Err(error) => {
                    wrong.push(error.to_string());
                    continue;
                }
            };
            if engine.is_some() {
                node.models = vec![FIXED.to_owned()];
            }
            let recorded = matches!(answering, Answering::Cassette | Answering::Record);
            let means = RunContext {
                models: of_engine.as_ref().unwrap_or(self.models),
                cassettes: recorded.then_some((&cassettes, self.folder)),
                usage: (answering != Answering::Cassette && engine.is_none()).then_some(self.usage),
                cache: None,
                heard: None,
            };
            let trials = trials(&node);
            let of_line = |trials: &[Trial], line| trials.iter().filter(|trial| trial.line == line).count();
            for (index, trial) in trials.iter().enumerate() {
                let tried = tried(trial, &node, means, engine.is_none()).await;
                let (id, of, line) = (trial.id.clone(), (trial.repeat, trial.pass), trial.line);
                let number = (of_line(&trials, line) > 1).then(|| of_line(&trials[..=index], line));
                each(Report { node: name.clone(), id, line, number, tried, of });
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    }
}

const FIXED: &str = "fixed";

/// Returns the tests of a node. An example is a test that only requires a value of the right type.
fn trials(node: &Node) -> Vec<Trial> {
    let example = |example: &crate::file::Example| Trial {
        id: trial_id(&example.input, &json!({"example": example.output})),
        input: example.input.clone(),
        expect: Vec::new(),
        repeat: 1,
        pass: 1,
        line: example.line,
    };
    node.trials.iter().cloned().chain(node.examples.iter().map(example)).collect()
}

fn to_sentence(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The result of a test over all its runs.
#[derive(Debug)]
pub struct Tried {
    pub passed: u32,
    /// The reasons for failed runs, each once.
    pub failures: Vec<String>,
    pub ledgers: Vec<Ledger>,
    /// True if a run got no answer: no recording, model or connection. That is not the node's fault.
    pub is_unanswered: bool,
}

/// Runs a test. With `judges` the value is compared with the expectations; else only its type is validated.
async fn tried(trial: &Trial, node: &Node, means: RunContext<'_>, judges: bool) -> Tried {
    let mut tried = Tried { passed: 0, failures: Vec::new(), ledgers: Vec::new(), is_unanswered: false };
    for _ in 0..trial.repeat {
        let problems = match run_with(node, trial.input.clone(), means).await {
            Ok(done) => {
                let problems = if judges { trial.problems(&done.value) } else { Vec::new() };
                tried.ledgers.push(done.ledger);
                problems
            }
            Err(failure) => {
                tried.ledgers.push(failure.ledger);
                tried.is_unanswered |= matches!(
                    failure.kind,
                    FailureKind::NoModel | FailureKind::Model(Class::NotRecorded | Class::Transport)
                );
                vec![failure.why]
            }
        };
        if problems.is_empty() {
            tried.passed += 1;
        }
        for problem in problems {
            if !tried.failures.contains(&problem) {
                tried.failures.push(problem);
            }
        }
    }
    tried
}
