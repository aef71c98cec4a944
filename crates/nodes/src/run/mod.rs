//! A call of a node: render, ask, validate, and ask again where that can help. [`machine`] decides; this performs, within the
//! call's time and tokens.

pub(crate) mod answer;
mod ledger;
mod machine;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

pub use ledger::{Attempt, Ledger, META};

use crate::Node;
use crate::outcome::Class;
use crate::provider::{Failed, Message, Model, Models};
use machine::{Action, Machine};

/// A checked value, and what it has cost.
#[derive(Debug)]
pub struct Done {
    pub value: Value,
    pub ledger: Ledger,
}

/// Why there is no value.
#[derive(Debug)]
pub struct Failure {
    pub kind: FailureKind,
    /// What happened, and what to do next.
    pub why: String,
    pub ledger: Ledger,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The input does not conform.
    Input,
    /// No model is configured for the node.
    NoModel,
    /// The template failed with this input.
    Template,
    /// A limit of the call was reached.
    Budget,
    /// The model's last attempt ended like this.
    Model(Class),
}

impl FailureKind {
    /// In one word, for the journal.
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

/// Runs a node. Dropping the future closes the connection to the model.
pub async fn run(node: &Node, given: Map<String, Value>, models: &Models) -> Result<Done, Failure> {
    let mut ledger = Ledger { node_hash: node.hash.clone(), ..Ledger::default() };
    let (input, prompt, models) = match prepare(node, given, models) {
        Ok(prepared) => prepared,
        Err((kind, why)) => return Err(Failure { kind, why, ledger }),
    };
    let deadline = Instant::now() + node.policy.timeout;
    let mut machine = Machine::new(node, &input, prompt, models.len());
    let mut action = machine.begin();
    loop {
        let (model, after, request) = match action {
            Action::Ask { model, after, request } => (&models[model], after, request),
            Action::Done(value) => return Ok(Done { value, ledger }),
            Action::Fail { class, why } => return Err(Failure { kind: FailureKind::Model(class), why, ledger }),
        };
        let budget = node.policy.tokens;
        let estimate = request.estimate();
        if ledger.tokens() + estimate > budget {
            let spent = ledger.tokens();
            let why = format!(
                "this attempt needs about {estimate} tokens and {spent} are spent; policy.tokens of the node allows {budget}"
            );
            return Err(Failure { kind: FailureKind::Budget, why, ledger });
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left <= after {
            return Err(out_of_time(node, ledger));
        }
        tokio::time::sleep(after).await;
        let begun = Instant::now();
        let left = deadline.saturating_duration_since(begun);
        let outcome = match tokio::time::timeout(left, model.ask(&request)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Failed::new(Class::Transport, "no answer in time")),
        };
        let (class, problems, next) = machine.ended(outcome.as_ref());
        let answer = outcome.as_ref().ok();
        ledger.attempts.push(Attempt {
            model: model.alias.clone(),
            class,
            finish: answer.map(|answer| answer.finish_word.clone()),
            tokens: answer.and_then(|answer| answer.tokens),
            ms: ledger::millis(begun.elapsed()),
            problems,
        });
        if begun.elapsed() >= left && outcome.is_err() {
            return Err(out_of_time(node, ledger));
        }
        action = next;
    }
}

fn out_of_time(node: &Node, ledger: Ledger) -> Failure {
    let last = ledger.attempts.last().and_then(|attempt| attempt.problems.first());
    let last = last.map_or(String::new(), |last| format!("; the last attempt: {last}"));
    let why = format!("no answer within {}, by policy.timeout of the node{last}", people_time(node.policy.timeout));
    Failure { kind: FailureKind::Budget, why, ledger }
}

fn people_time(time: Duration) -> String {
    format!("{} s", time.as_secs())
}

type Prepared = (Map<String, Value>, Vec<Message>, Vec<Arc<Model>>);

/// The whole input, what is said first, and whom it is said to.
fn prepare(node: &Node, given: Map<String, Value>, models: &Models) -> Result<Prepared, (FailureKind, String)> {
    let input = node
        .complete(given)
        .map_err(|problems| (FailureKind::Input, format!("the input of {}: {}", node.name, problems.join("; "))))?;
    let models = models.for_node(node).map_err(|why| (FailureKind::NoModel, why))?;
    let prompt = prompt(node, &input).map_err(|problem| (FailureKind::Template, problem))?;
    Ok((input, with_schema(node, prompt), models))
}

/// The messages with the schema in the system's, since a server may ignore its field.
fn with_schema(node: &Node, mut prompt: Vec<Message>) -> Vec<Message> {
    let form = format!("Answer with JSON alone that conforms to this JSON Schema: {}", node.output.json);
    match prompt.first_mut() {
        Some(first) if first.role == "system" => first.text.push_str(&format!("\n\n{form}")),
        _ => prompt.insert(0, Message::system(form)),
    }
    prompt
}

/// The messages: system, the examples as turns, and the input.
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
