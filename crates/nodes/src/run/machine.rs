//! A call as a pure state machine: an event goes in, and the next action comes out. It does no I/O and has no clock.
//!
//! | class of failure | next action |
//! |---|---|
//! | transport, busy | a pause: exponential, or as the server asked; the second time, or if the pause exceeds the timeout, the next model |
//! | rejected | the next model |
//! | truncated | one retry with twice the limit; never parsed |
//! | unparseable (including several values) | one retry with the same prompt; with `policy.repair`, nearly valid JSON is repaired instead |
//! | invalid (including a duplicate key) | a retry with the prompt, the last answer and its problems |
//! | empty, refused, too long | the call fails |

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::answer::{self, NoValue};
use super::repair;
use crate::Node;
use crate::outcome::Class;
use crate::provider::{Answer, Failed, Finish, Message, Request};
use crate::schema::Form;

/// The default token limit of an answer.
pub(super) const OUTPUT_TOKENS: u64 = 2_000;
/// The first pause.
const PAUSE: Duration = Duration::from_millis(250);
/// The maximum number of times that a pause is doubled.
const DOUBLINGS: u32 = 6;

/// The next action.
#[derive(Debug, PartialEq)]
pub(super) enum Action {
    /// Ask this model after a pause.
    Ask {
        model: usize,
        after: Duration,
        request: Request,
    },
    Done(Value),
    /// A sentence with the failure and the fix.
    Fail {
        class: Class,
        why: String,
    },
}

/// The outcome of an attempt and the next action.
pub(super) struct AttemptOutcome {
    pub class: Class,
    pub problems: Vec<String>,
    pub is_repaired: bool,
    pub next: Action,
}

impl AttemptOutcome {
    fn new(class: Class, problems: Vec<String>, next: Action) -> AttemptOutcome {
        AttemptOutcome { class, problems, is_repaired: false, next }
    }
}

pub(super) struct Machine<'a> {
    node: &'a Node,
    input: &'a Map<String, Value>,
    prompt: Vec<Message>,
    /// The messages after the prompt in a retry.
    correction: Vec<Message>,
    /// The schema for each model, in the same order.
    forms: Vec<Arc<Form>>,
    model: usize,
    asked: u32,
    /// The number of times that this model failed to answer.
    failures: u32,
    limit: u64,
    was_truncated: bool,
    was_unparseable: bool,
}

impl<'a> Machine<'a> {
    /// Creates the machine. There is a form for each model. A replay without models uses one form for all attempts.
    pub(super) fn new(
        node: &'a Node,
        input: &'a Map<String, Value>,
        prompt: Vec<Message>,
        forms: Vec<Arc<Form>>,
    ) -> Machine<'a> {
        let limit = node.sampling.max_output_tokens.unwrap_or(OUTPUT_TOKENS);
        Machine {
            node,
            input,
            prompt,
            correction: Vec::new(),
            forms,
            model: 0,
            asked: 0,
            failures: 0,
            limit,
            was_truncated: false,
            was_unparseable: false,
        }
    }

    pub(super) fn begin(&mut self) -> Action {
        self.ask(Duration::ZERO)
    }

    /// Returns the next action after an attempt, with this time left.
    pub(super) fn ended(&mut self, outcome: Result<&Answer, &Failed>, left: Duration) -> AttemptOutcome {
        match outcome {
            Err(failed) => self.failed(failed, left),
            Ok(answer) => self.answered(answer),
        }
    }

    fn failed(&mut self, failed: &Failed, left: Duration) -> AttemptOutcome {
        let problems = vec![failed.why.clone()];
        let action = match failed.class {
            Class::Transport | Class::Busy => {
                self.failures += 1;
                let pause = failed.retry_after.unwrap_or(PAUSE * 2_u32.pow(self.failures.min(DOUBLINGS)));
                let is_over = self.failures >= 2 || pause >= left;
                let after = if is_over && self.next_model() { Duration::ZERO } else { pause };
                self.retry(failed, after)
            }
            Class::Rejected if self.next_model() => self.retry(failed, Duration::ZERO),
            class => Action::Fail { class, why: failed.why.clone() },
        };
        AttemptOutcome::new(failed.class, problems, action)
    }

    fn next_model(&mut self) -> bool {
        let there_is = self.model + 1 < self.forms.len();
        if there_is {
            (self.model, self.failures) = (self.model + 1, 0);
        }
        there_is
    }

    fn retry(&mut self, failed: &Failed, after: Duration) -> Action {
        self.ask_or(after, failed.class, || failed.why.clone())
    }

    fn answered(&mut self, answer: &Answer) -> AttemptOutcome {
        self.failures = 0;
        let fail = |class, why: String| AttemptOutcome::new(class, vec![why.clone()], Action::Fail { class, why });
        match answer.finish {
            Finish::Length => {
                let why =
                    format!("the answer was cut at {} tokens; raise config.maxOutputTokens of the node", self.limit);
                if self.was_truncated {
                    return fail(Class::Truncated, why);
                }
                self.was_truncated = true;
                self.limit *= 2;
                let action = self.ask_or(Duration::ZERO, Class::Truncated, || why.clone());
                return AttemptOutcome::new(Class::Truncated, vec![why], action);
            }
            Finish::Refused => {
                return fail(Class::Refused, "the model's server withheld the answer (content filter)".to_owned());
            }
            Finish::Stop => {}
        }
        if let Some(refusal) = &answer.refusal {
            return fail(Class::Refused, format!("the model refused: {refusal}"));
        }
        if answer.text.trim().is_empty() {
            return fail(Class::Empty, "the model returned an empty answer".to_owned());
        }
        let repaired =
            || self.node.policy.repair.then(|| repair::value(answer::trim_reasoning(&answer.text))).flatten();
        let strict = answer::value(&answer.text);
        let is_repaired = strict == Err(NoValue::Missing);
        let found = match strict {
            Err(NoValue::Missing) => repaired().ok_or(NoValue::Missing),
            other => other,
        };
        if let Err(NoValue::Twice(key)) = &found {
            return self.invalid(answer, vec![format!("an object has the key {key:?} twice")]);
        }
        let Ok(value) = found else {
            let why = match found {
                Err(NoValue::Several) => {
                    format!("the answer has several JSON values instead of one: {}", beginning(&answer.text))
                }
                _ if answer::is_too_deep(&answer.text) => {
                    "the answer is nested too deeply: JSON has at most 127 levels here".to_owned()
                }
                _ => format!("the answer is not JSON: {}", beginning(&answer.text)),
            };
            if self.was_unparseable {
                return fail(Class::Unparseable, why);
            }
            self.was_unparseable = true;
            let action = self.ask_or(Duration::ZERO, Class::Unparseable, || why.clone());
            return AttemptOutcome::new(Class::Unparseable, vec![why], action);
        };
        let conforms = |value: &Value| self.node.problems(self.input, value).is_empty();
        let value = self.forms[self.model].value(value, conforms);
        let problems = self.node.problems(self.input, &value);
        if problems.is_empty() {
            return AttemptOutcome { is_repaired, ..AttemptOutcome::new(Class::Done, problems, Action::Done(value)) };
        }
        AttemptOutcome { is_repaired, ..self.invalid(answer, problems) }
    }

    /// Handles an answer that does not match the schema.
    fn invalid(&mut self, answer: &Answer, problems: Vec<String>) -> AttemptOutcome {
        self.correction = vec![
            Message::assistant(answer.text.clone()),
            Message::user(format!(
                "This answer is not accepted:\n{}\nAnswer again, whole, as JSON alone.",
                problems.iter().map(|problem| format!("- {problem}")).collect::<Vec<_>>().join("\n")
            )),
        ];
        let why = || format!("the answer does not match the node's output schema: {}", problems.join("; "));
        let action = self.ask_or(Duration::ZERO, Class::Invalid, why);
        AttemptOutcome::new(Class::Invalid, problems, action)
    }

    /// Asks again, or fails if the attempts are used up.
    fn ask_or(&mut self, after: Duration, class: Class, why: impl FnOnce() -> String) -> Action {
        if self.asked < self.node.policy.attempts {
            return self.ask(after);
        }
        let why = format!("{} (attempt {} of {}, by policy.attempts)", why(), self.asked, self.node.policy.attempts);
        Action::Fail { class, why }
    }

    fn ask(&mut self, after: Duration) -> Action {
        self.asked += 1;
        let request = Request {
            messages: self.prompt.iter().chain(&self.correction).cloned().collect(),
            form: self.forms[self.model].clone(),
            name: self.node.name.clone(),
            max_tokens: self.limit,
            temperature: self.node.sampling.temperature,
            top_p: self.node.sampling.top_p,
        };
        Action::Ask { model: self.model, after, request }
    }
}

/// Returns the first words of a text.
fn beginning(text: &str) -> String {
    let text = text.trim();
    let end = text.char_indices().nth(120).map_or(text.len(), |(at, _)| at);
    json!(text[..end]).to_string()
}
