//! Runs a node: render, ask, validate, and retry. [`machine`] decides; this module performs the actions within the call's
//! time and token limits.

pub(crate) mod answer;
mod ledger;
mod machine;
mod repair;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tokio::runtime::{Handle, RuntimeFlavor};

pub use ledger::{Attempt, Ledger, META};

use crate::Node;
use crate::cache::Cache;
use crate::cassette::{Cassettes, Mode, Via};
use crate::folder::Folder;
use crate::outcome::Class;
use crate::provider::{self, Answer, Failed, Message, Model, Models, Request, TokenProgress};
use crate::schema::Form;
use crate::usage::{Spent, Usage};
use machine::{Action, AttemptOutcome, Machine};

/// A validated value with its cost.
#[derive(Debug)]
pub struct CheckedValue {
    pub value: Value,
    pub ledger: Ledger,
}

/// The reason why there is no value.
#[derive(Debug)]
pub struct Failure {
    pub kind: FailureKind,
    /// A sentence with the failure and the fix.
    pub why: String,
    pub ledger: Ledger,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The input is invalid.
    Input,
    /// No model is configured for the node.
    NoModel,
    /// The template failed for this input.
    Template,
    /// A limit of the call was reached.
    Budget,
    /// The last attempt failed with this class.
    Model(Class),
}

impl FailureKind {
    /// Returns the word for the journal.
    pub(crate) fn word(self) -> String {
        let word = |class: Class| serde_json::to_value(class).ok().and_then(|word| word.as_str().map(str::to_owned));
        match self {
            FailureKind::Input => "input".to_owned(),
            FailureKind::NoModel => "no_model".to_owned(),
            FailureKind::Template => "template".to_owned(),
            FailureKind::Budget => "budget".to_owned(),
            FailureKind::Model(class) => word(class).unwrap_or_default(),
        }
    }
}

/// The resources for running a node.
#[derive(Debug, Clone, Copy)]
pub struct RunContext<'a> {
    pub models: &'a Models,
    /// The recordings, and the folder of the node files.
    pub cassettes: Option<(&'a Cassettes, &'a Folder)>,
    pub usage: Option<&'a Usage>,
    pub cache: Option<&'a Cache>,
    /// The progress callback. If it is set, the answer is streamed.
    pub heard: Option<TokenProgress<'a>>,
}

impl<'a> RunContext<'a> {
    /// Creates a configuration with only models.
    pub fn new(models: &'a Models) -> RunContext<'a> {
        RunContext { models, cassettes: None, usage: None, cache: None, heard: None }
    }

    /// Returns true if no model may be asked.
    fn is_replay(&self) -> bool {
        self.cassettes.is_some_and(|(cassettes, _)| cassettes.mode() == Mode::Replay)
    }
}

/// Runs a node on these models. Dropping the future closes the connection to the model.
pub async fn run(node: &Node, given: Map<String, Value>, models: &Models) -> Result<CheckedValue, Failure> {
    run_with(node, given, RunContext::new(models)).await
}

/// Runs a node. Dropping the future closes the connection to the model.
pub async fn run_with(node: &Node, given: Map<String, Value>, means: RunContext<'_>) -> Result<CheckedValue, Failure> {
    let mut ledger = Ledger { node_hash: node.hash.clone(), ..Ledger::default() };
    let (input, prompt, models) = match run_blocking(|| prepare(node, given, means)) {
        Ok(prepared) => prepared,
        Err((kind, why)) => return Err(Failure { kind, why, ledger }),
    };
    let aliases: Vec<String> = models.iter().map(|model| model.alias.clone()).collect();
    let cache = means.cache.zip(node.policy.cache);
    if let Some((model, value)) = cache.and_then(|(cache, _)| run_blocking(|| cache.get(node, &aliases, &input))) {
        ledger.attempts.push(Attempt::cached(model));
        return Ok(CheckedValue { value, ledger });
    }
    let deadline = Instant::now() + node.policy.timeout;
    let forms = forms(node, &models);
    let mut machine = Machine::new(node, &input, prompt, forms);
    let mut action = machine.begin();
    loop {
        let (model, after, request) = match action {
            Action::Ask { model, after, request } => (models.get(model), after, request),
            Action::Done(value) => {
                if let Some((cache, lasts)) = cache {
                    let model = ledger.attempts.last().map(|attempt| attempt.model.clone()).unwrap_or_default();
                    if let Err(error) =
                        run_blocking(|| cache.put(node, &aliases, &input, (model, value.clone()), lasts))
                    {
                        tracing::warn!(%error, "a value was not cached");
                    }
                }
                return Ok(CheckedValue { value, ledger });
            }
            Action::Fail { class, why } => return Err(Failure { kind: FailureKind::Model(class), why, ledger }),
        };
        let estimate = request.estimate();
        if let Err(why) = allowed(node, &ledger, means, model.map(Arc::as_ref), estimate) {
            return Err(Failure { kind: FailureKind::Budget, why, ledger });
        }
        let left = deadline.saturating_duration_since(Instant::now());
        // A replay asks no model, so it does not wait.
        let after = if means.is_replay() { Duration::ZERO } else { after };
        if left <= after {
            return Err(out_of_time(node, ledger, after));
        }
        if !after.is_zero() {
            tokio::time::sleep(after).await;
        }
        let begun = Instant::now();
        let left = deadline.saturating_duration_since(begun);
        let attempt = u32::try_from(ledger.attempts.len()).unwrap_or(u32::MAX).saturating_add(1);
        let asked = tokio::time::timeout(left, ask(node, means, model.map(Arc::as_ref), &request, attempt)).await;
        let (via, outcome) =
            asked.unwrap_or_else(|_| (Via::Direct, Err(Failed::new(Class::Transport, "no answer in time"))));
        let left = deadline.saturating_duration_since(Instant::now());
        let AttemptOutcome { class, problems, is_repaired, next } =
            run_blocking(|| machine.ended(outcome.as_ref(), left));
        let answer = outcome.as_ref().ok();
        let tokens = answer.and_then(|answer| answer.tokens);
        let cost = model.and_then(|model| model.price).zip(tokens).map(|(price, tokens)| price.cost(tokens));
        // A recorded answer costs nothing.
        let cost = if via == Via::Direct { cost } else { Some(0.0) };
        let attempt = Attempt {
            provider: "openai",
            model: model.map_or_else(String::new, |model| model.alias.clone()),
            via,
            enforced: request.form.enforced(),
            class,
            finish: answer.map(|answer| answer.finish_word.clone()),
            tokens,
            cost,
            ms: ledger::millis(begun.elapsed()),
            repaired: is_repaired,
            problems,
        };
        if let (Some(usage), Some(model), Via::Direct) = (means.usage, model, via) {
            usage.note(spent(node, model, &attempt, estimate));
        }
        ledger.attempts.push(attempt);
        if left.is_zero() && outcome.is_err() {
            return Err(out_of_time(node, ledger, Duration::ZERO));
        }
        action = next;
    }
}

/// Runs slow work, such as validating a value, without blocking the runtime's other tasks.
fn run_blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::MultiThread => tokio::task::block_in_place(work),
        // A runtime with one thread has no other thread for its tasks.
        _ => work(),
    }
}

/// Gets the answer from the model or the recording.
async fn ask(
    node: &Node,
    means: RunContext<'_>,
    model: Option<&Model>,
    request: &Request,
    attempt: u32,
) -> (Via, Result<Answer, Failed>) {
    let response = match (means.cassettes, model) {
        (Some((cassettes, folder)), model) => cassettes.ask(folder, node, model, request, (attempt, means.heard)).await,
        (None, Some(model)) => model.post(request, means.heard).await.map(|response| (Via::Direct, response)),
        (None, None) => Err(Failed::new(Class::NotRecorded, "no model is configured")),
    };
    match response {
        Ok((via, response)) => (via, provider::answer(&response)),
        // The lookup of a missing recording used the cassette.
        Err(failed) if failed.class == Class::NotRecorded => (Via::Cassette, Err(failed)),
        Err(failed) => (Via::Direct, Err(failed)),
    }
}

/// Returns an error if an attempt is not allowed.
fn allowed(
    node: &Node,
    ledger: &Ledger,
    means: RunContext<'_>,
    model: Option<&Model>,
    estimate: u64,
) -> Result<(), String> {
    let (budget, spent) = (node.policy.tokens, ledger.tokens());
    if spent.saturating_add(estimate) > budget {
        return Err(format!(
            "this attempt needs about {estimate} tokens and {spent} are spent; policy.tokens of the node allows {budget}"
        ));
    }
    match (means.usage, model) {
        (Some(usage), Some(model)) if !model.is_local && !means.is_replay() => usage.allows(estimate),
        _ => Ok(()),
    }
}

fn spent(node: &Node, model: &Model, attempt: &Attempt, estimate: u64) -> Spent {
    let counted = match (attempt.tokens, attempt.class) {
        (Some(tokens), _) => tokens.sum(),
        // The server did not process the prompt.
        (None, Class::Busy | Class::Rejected | Class::TooLong) => 0,
        (None, _) => estimate,
    };
    Spent {
        at: 0,
        node: node.name.clone(),
        hash: node.hash.clone(),
        model: attempt.model.clone(),
        class: attempt.class,
        tokens: attempt.tokens,
        cost: attempt.cost,
        counted,
        leaves: !model.is_local,
    }
}

fn out_of_time(node: &Node, ledger: Ledger, pause: Duration) -> Failure {
    let last = ledger.attempts.last().and_then(|attempt| attempt.problems.first());
    let last = last.map_or(String::new(), |last| format!("; the last attempt: {last}"));
    let pause = match pause.as_secs() {
        0 => String::new(),
        seconds => format!("; the next may be made after {seconds} s"),
    };
    let why =
        format!("no answer within {}, by policy.timeout of the node{last}{pause}", people_time(node.policy.timeout));
    Failure { kind: FailureKind::Budget, why, ledger }
}

fn people_time(time: Duration) -> String {
    format!("{} s", time.as_secs())
}

/// Returns the node's schema for each model. A replay without models uses a form for any model.
fn forms(node: &Node, models: &[Arc<Model>]) -> Vec<Arc<Form>> {
    if models.is_empty() {
        return vec![Arc::new(Form::recorded(&node.output.json))];
    }
    models.iter().map(|model| Arc::new(Form::new(&node.output.json, model.dialect))).collect()
}

type Prepared = (Map<String, Value>, Vec<Message>, Vec<Arc<Model>>);

/// Returns the complete input, the first messages, and the models.
fn prepare(node: &Node, given: Map<String, Value>, means: RunContext<'_>) -> Result<Prepared, (FailureKind, String)> {
    let input = node.complete(given).map_err(|problems| {
        (FailureKind::Input, format!("invalid input for {}: {}", node.name, problems.join("; ")))
    })?;
    let models = match means.models.for_node(node) {
        Ok(models) => models,
        // A replay needs no model.
        Err(_) if means.is_replay() => Vec::new(),
        Err(why) => return Err((FailureKind::NoModel, why)),
    };
    let prompt = prompt(node, &input).map_err(|problem| (FailureKind::Template, problem))?;
    Ok((input, with_schema(node, prompt), models))
}

/// Adds the schema to the system message, because a server may ignore the schema field.
fn with_schema(node: &Node, mut prompt: Vec<Message>) -> Vec<Message> {
    let form = format!("Answer with JSON alone that conforms to this JSON Schema: {}", node.output.json);
    match prompt.first_mut() {
        Some(first) if first.role == "system" => first.text.push_str(&format!("\n\n{form}")),
        _ => prompt.insert(0, Message::system(form)),
    }
    prompt
}

/// Estimates the tokens of a call: its prompt and the longest answer.
pub(crate) fn estimate(node: &Node, input: &Map<String, Value>) -> u64 {
    let messages = prompt(node, input).map(|prompt| with_schema(node, prompt)).unwrap_or_default();
    provider::estimate(&messages) + node.sampling.max_output_tokens.unwrap_or(machine::OUTPUT_TOKENS)
}

/// Returns the messages: system, the examples as turns, and the input.
pub(crate) fn prompt(node: &Node, input: &Map<String, Value>) -> Result<Vec<Message>, String> {
    let in_file = |problem: crate::Problem| format!("{}{}:{problem}", node.name, crate::file::SUFFIX);
    let rendered = node.render(input).map_err(in_file)?;
    let mut messages: Vec<Message> = rendered.system.map(Message::system).into_iter().collect();
    for example in &node.examples {
        let input = node.complete(example.input.clone()).map_err(|problems| problems.join("; "))?;
        messages.push(Message::user(node.render(&input).map_err(in_file)?.user));
        messages.push(Message::assistant(example.output.to_string()));
    }
    messages.push(Message::user(rendered.user));
    Ok(messages)
}
