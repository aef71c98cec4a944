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

/// A node file that is built in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BuiltIn {
    pub name: &'static str,
    text: &'static str,
    /// The tool whose decisions these are.
    pub tool: &'static str,
}

pub(crate) const SELECT_SYMBOLS: BuiltIn =
    BuiltIn { name: "select_symbols", text: include_str!("select_symbols.node.md"), tool: "teach-graph" };
pub(crate) const RATE_EDGE: BuiltIn =
    BuiltIn { name: "rate_edge", text: include_str!("rate_edge.node.md"), tool: "scout" };

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

/// The decisions of a walk.
pub(crate) struct Selector {
    model: Option<Arc<dyn ModelNode>>,
    /// The maximum numbers of calls and of tokens.
    calls: usize,
    tokens: u64,
    failures: usize,
    usage: ModelUse,
    pub recorder: Option<Recorder>,
}

/// How a walk decided.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct DecisionReport {
    /// Who decided: rules or model.
    pub selector: &'static str,
    /// `None` if no model was configured or wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelUse>,
    /// The name of the recorded run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

impl DecisionReport {
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
        (calls, tokens): (usize, u64),
    ) -> Result<Selector, ToolError> {
        let mut usage = ModelUse::default();
        let found = || nodes(cx, node.name, node.text);
        let model = match choice {
            Choice::Rules => None,
            Choice::Auto => found().await.unwrap_or_else(|why| {
                usage.problem = Some(why);
                None
            }),
            Choice::Model => {
                let hint = "Add [nodes.models.\"local\"] with url and model to your config.toml, then run `hob stop`; or \
                            leave `selector` out.";
                let missing = || ToolError::user("no model is configured").hint(hint);
                Some(found().await.map_err(ToolError::user)?.ok_or_else(missing)?)
            }
        };
        Ok(Selector { model, calls, tokens, failures: 0, usage, recorder: None })
    }

    /// Returns how many more decisions a model may make. They are worth preparing, also for a recording.
    pub(crate) fn room(&self) -> usize {
        let model = if self.model.is_some() { self.calls.saturating_sub(self.usage.calls) } else { 0 };
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
                let (verdict, problem) = match answer.transpose() {
                    Ok(verdict) => (verdict, None),
                    Err(why) => (None, Some(why)),
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
        let (mut running, mut reserved) = (JoinSet::new(), 0);
        for (index, decision) in batch.iter().enumerate() {
            let Some(model) = self.model.clone() else { break };
            let input = decision.input();
            let tokens = model.estimate(&input);
            if self.usage.calls >= self.calls {
                self.problem(format!("the limit of {} calls was reached", self.calls));
                break;
            }
            if self.usage.tokens.saturating_add(reserved).saturating_add(tokens) > self.tokens {
                self.problem(format!("explore.tokens allows {} tokens for a walk", self.tokens));
                break;
            }
            self.usage.calls += 1;
            reserved += tokens;
            // The server may have counted the tokens of an answer that came too late.
            let late = ModelAnswer { value: Err(format!("no answer within {} ms", limit.as_millis())), tokens };
            running.spawn(async move {
                let answer = tokio::time::timeout(limit, model.ask(input)).await;
                (index, answer.unwrap_or(late))
            });
        }
        let mut answers = Vec::new();
        while let Some(ended) = running.join_next().await {
            answers.extend(ended);
        }
        // In the order of the decisions, whichever answer came first.
        answers.sort_by_key(|(index, _)| *index);
        let mut verdicts: Vec<Option<Result<Verdict, String>>> = batch.iter().map(|_| None).collect();
        for (index, answer) in answers {
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
        let selector = if model.as_ref().is_some_and(|model| model.calls > 0) { "model" } else { "rules" };
        Ok(DecisionReport { selector, model, run })
    }
}
