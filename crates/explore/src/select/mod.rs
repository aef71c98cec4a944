//! The choice between the rules and a model, decision by decision. The rules decide whatever the model does not decide in time
//! and validly.

pub(crate) mod compare;
pub(crate) mod decision;
pub(crate) mod records;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Context, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::task::JoinSet;

use self::decision::{Decision, Verdict};
use self::records::{Entry, Recorder};

/// A node with a model, which another part calls.
pub trait ModelNode: Send + Sync {
    /// Estimates the tokens of a call: its prompt and the longest answer.
    fn estimate(&self, input: &Map<String, Value>) -> u64;

    /// Asks the model once. Dropping the future closes the connection.
    fn ask(&self, input: Map<String, Value>) -> Pin<Box<dyn Future<Output = ModelAnswer> + Send + '_>>;
}

/// The answer of a model.
#[derive(Debug)]
pub struct ModelAnswer {
    /// The value, or the reason why there is none.
    pub value: Result<Value, String>,
    pub tokens: u64,
}

/// A node that waits to be found: `None` if no model is configured, an error if it cannot be used.
pub type ModelFuture<'a> = Pin<Box<dyn Future<Output = Result<Option<Arc<dyn ModelNode>>, String>> + Send + 'a>>;

/// Returns the node of this name for the caller, otherwise the one with this text.
pub type ModelNodes = Box<dyn for<'a> Fn(&'a Context, &'static str, &'static str) -> ModelFuture<'a> + Send + Sync>;

/// A node file that is built in: its name and text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BuiltIn(pub &'static str, pub &'static str);

pub(crate) const SELECT_SYMBOLS: BuiltIn = BuiltIn("select_symbols", include_str!("select_symbols.node.md"));
pub(crate) const RATE_EDGE: BuiltIn = BuiltIn("rate_edge", include_str!("rate_edge.node.md"));

/// Who decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Choice {
    #[default]
    Auto,
    Rules,
    Model,
}

/// The use of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct ModelUse {
    pub calls: usize,
    /// The calls without a valid answer in time; the rules decided instead.
    pub fallbacks: usize,
    pub tokens: u64,
    /// True if three calls in a row had no valid answer, so that the rules decided the rest.
    pub switched_off: bool,
    /// The last reason why the rules decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl ModelUse {
    /// Formats the use as a line.
    pub(crate) fn line(&self) -> String {
        let problem = self.problem.as_deref().map(|problem| format!(" ({problem})")).unwrap_or_default();
        format!(
            "ranked by a model: {} calls, {} of them decided by rules{problem}, {} tokens",
            self.calls, self.fallbacks, self.tokens
        )
    }
}

/// Calls that run at the same time.
const AT_ONCE: usize = 4;
/// The failures in a row that switch the model off.
const MOST_FAILURES: usize = 3;
/// The part of the remaining time that one call may take.
const SHARE: u32 = 4;
/// The maximum length of a problem, in characters.
const MOST_PROBLEM: usize = 300;

/// The limits of a walk's calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub calls: usize,
    pub tokens: u64,
}

/// The decisions of a walk.
pub(crate) struct Selector {
    model: Option<Arc<dyn ModelNode>>,
    limits: Limits,
    failures: usize,
    usage: ModelUse,
    pub recorder: Option<Recorder>,
}

/// How a walk decided.
#[derive(Debug, Default)]
pub(crate) struct DecisionReport {
    /// `None` if no model was configured or wanted.
    pub model: Option<ModelUse>,
    /// The name of the recorded run.
    pub run: Option<String>,
}

impl DecisionReport {
    /// Returns the value of `selector` in results.
    pub(crate) fn word(&self) -> &'static str {
        if self.model.as_ref().is_some_and(|model| model.calls > 0) { "model" } else { "rules" }
    }

    /// Returns the lines for people.
    pub(crate) fn lines(&self) -> Vec<String> {
        let model = self.model.as_ref().map(ModelUse::line);
        model.into_iter().chain(self.run.as_ref().map(|run| format!("recorded as {run}"))).collect()
    }
}

impl Selector {
    /// Finds the model of a walk.
    ///
    /// # Errors
    /// If the caller wants a model that cannot be used.
    pub(crate) async fn new(
        nodes: &ModelNodes,
        cx: &Context,
        choice: Choice,
        node: BuiltIn,
        limits: Limits,
    ) -> Result<Selector, ToolError> {
        let mut usage = ModelUse::default();
        let found = match choice {
            Choice::Rules => Ok(None),
            Choice::Auto | Choice::Model => nodes(cx, node.0, node.1).await,
        };
        let model = match (found, choice) {
            (Ok(None), Choice::Model) => {
                let hint = "Add [nodes.models.\"local\"] with url and model to your config.toml, then run `hob stop`; or \
                            leave `selector` out.";
                return Err(ToolError::user("no model is configured").hint(hint));
            }
            (Err(why), Choice::Model) => return Err(ToolError::user(why)),
            (Err(why), _) => {
                usage.problem = Some(why);
                None
            }
            (Ok(model), _) => model,
        };
        Ok(Selector { model, limits, failures: 0, usage, recorder: None })
    }

    /// Returns how many more decisions a model may make. They are worth preparing, also for a recording.
    pub(crate) fn room(&self) -> usize {
        let model = if self.model.is_some() { self.limits.calls.saturating_sub(self.usage.calls) } else { 0 };
        model.max(self.recorder.as_ref().map_or(0, Recorder::room))
    }

    /// Returns the model's verdicts on these decisions; `None` for those that the rules make. `left` is the time that is left.
    pub(crate) async fn decide(
        &mut self,
        decisions: Vec<Decision>,
        left: impl Fn() -> Duration,
    ) -> Vec<Option<Verdict>> {
        let mut verdicts = Vec::with_capacity(decisions.len());
        let mut open = decisions.into_iter().peekable();
        while open.peek().is_some() {
            let batch: Vec<Decision> = open.by_ref().take(AT_ONCE).collect();
            let answers = self.ask(&batch, left() / SHARE).await;
            for (decision, answer) in batch.into_iter().zip(answers) {
                let (verdict, problem) = match answer {
                    None => (None, None),
                    Some(Ok(verdict)) => (Some(verdict), None),
                    Some(Err(why)) => (None, Some(why)),
                };
                verdicts.push(verdict.clone());
                if let Some(recorder) = &mut self.recorder {
                    recorder.add(Entry::new(decision, verdict, problem));
                }
            }
        }
        verdicts
    }

    /// Asks the model about these decisions at the same time; `None` for those that the limits leave to the rules.
    async fn ask(&mut self, batch: &[Decision], limit: Duration) -> Vec<Option<Result<Verdict, String>>> {
        let mut running = JoinSet::new();
        let mut estimates = Vec::new();
        for (index, decision) in batch.iter().enumerate() {
            let Some(model) = self.model.clone() else { break };
            let input = decision.input();
            let estimate = model.estimate(&input);
            let reserved: u64 = estimates.iter().sum();
            if self.usage.calls + estimates.len() >= self.limits.calls {
                self.problem(format!("the limit of {} calls was reached", self.limits.calls));
                break;
            }
            if self.usage.tokens.saturating_add(reserved).saturating_add(estimate) > self.limits.tokens {
                self.problem(format!("explore.tokens allows {} tokens for a walk", self.limits.tokens));
                break;
            }
            estimates.push(estimate);
            running.spawn(async move { (index, tokio::time::timeout(limit, model.ask(input)).await) });
        }
        let mut answers: Vec<Option<ModelAnswer>> = estimates.iter().map(|_| None).collect();
        while let Some(ended) = running.join_next().await {
            if let Ok((index, Ok(answer))) = ended {
                answers[index] = Some(answer);
            }
        }
        let mut verdicts: Vec<Option<Result<Verdict, String>>> = batch.iter().map(|_| None).collect();
        // In the order of the decisions, whichever answer came first.
        for (index, (answer, estimate)) in answers.into_iter().zip(estimates).enumerate() {
            self.usage.calls += 1;
            let answer = answer.unwrap_or_else(|| ModelAnswer {
                value: Err(format!("no answer within {} ms", limit.as_millis())),
                // The server may have counted them.
                tokens: estimate,
            });
            self.usage.tokens = self.usage.tokens.saturating_add(answer.tokens);
            let verdict = answer.value.and_then(|value| batch[index].read(value));
            match &verdict {
                Ok(_) => self.failures = 0,
                Err(why) => {
                    self.failures += 1;
                    self.usage.fallbacks += 1;
                    self.problem(why.clone());
                }
            }
            verdicts[index] = Some(verdict);
            if self.failures >= MOST_FAILURES {
                self.usage.switched_off = true;
                self.model = None;
            }
        }
        verdicts
    }

    fn problem(&mut self, why: String) {
        self.usage.problem = Some(project::visible::escaped(&why.chars().take(MOST_PROBLEM).collect::<String>()));
    }

    /// Ends the walk's decisions, and stores those that are recorded.
    ///
    /// # Errors
    /// If they cannot be stored.
    pub(crate) async fn finish(self) -> Result<DecisionReport, ToolError> {
        let model = (self.model.is_some() || self.usage != ModelUse::default()).then_some(self.usage);
        let run = match self.recorder {
            Some(recorder) => {
                let stored = tokio::task::spawn_blocking(move || recorder.store()).await;
                let failed = |error| ToolError::user(format!("the decisions cannot be recorded: {error}"));
                Some(stored.map_err(ToolError::internal)?.map_err(failed)?)
            }
            None => None,
        };
        Ok(DecisionReport { model, run })
    }
}
