//! The time limit of a walk, and how complete its facts are.

use std::time::{Duration, Instant};

use code::facts::{Basis, Symbol};
use code::tools::Questions;
use mcp::tool::{Context, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::prove::Proof;
use crate::walk::Stopped;

/// The default and the maximum duration of a walk.
const WAIT: u64 = 10_000;
const LONGEST_WAIT: u64 = 50_000;
/// Extra time for a look-up that is under way at the end of a walk.
const GRACE: Duration = Duration::from_millis(500);

/// The default and the maximum duration of a proof, after the walk.
const PROOF_WAIT: Duration = Duration::from_secs(300);
const LONGEST_PROOF: Duration = Duration::from_secs(3600);

/// Returns how long a proof may take.
pub(crate) fn proof_time(cx: &Context, wait_ms: Option<u64>) -> Duration {
    before_timeout(cx, wait_ms.map_or(PROOF_WAIT, Duration::from_millis).min(LONGEST_PROOF))
}

/// Shortens a duration so that the answer reaches the caller before its own timeout.
fn before_timeout(cx: &Context, wait: Duration) -> Duration {
    cx.budget().map_or(wait, |budget| wait.min(budget.saturating_sub(Duration::from_secs(1))))
}

/// How complete the answer is.
#[derive(Debug, Default, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Head {
    /// True if each look-up was complete, to the knowledge of the language servers.
    pub complete: bool,
    /// The language servers and compilers that answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checked_by: Vec<String>,
    /// Why the answer is not complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// True if a retry may soon give a better answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ask_again: bool,
    pub elapsed_ms: u64,
}

/// A name that could not be resolved.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Unresolved {
    pub name: String,
    /// The reason, with similar names.
    pub problem: String,
}

impl Unresolved {
    /// Formats the name as a line.
    pub(crate) fn line(&self) -> String {
        format!("unresolved: {}: {}", self.name, self.problem)
    }
}

/// Returns the error of a question whose names are all unresolved.
pub(crate) fn none_defined(noun: &str, unresolved: &[Unresolved]) -> ToolError {
    let problems: Vec<&str> = unresolved.iter().map(|one| one.problem.as_str()).collect();
    ToolError::user(format!("no {noun} can be used: {}", problems.join("; ")))
}

/// The maximum number of names in a question.
const MOST_NAMES: usize = 20;

/// Returns the names in an argument without blanks and empty names.
pub(crate) fn clean_names(all: &[String], argument: &str) -> Result<Vec<String>, ToolError> {
    let names = all.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    let names: Vec<String> = names.collect();
    match names.len() {
        0..=MOST_NAMES => Ok(names),
        count => Err(ToolError::user(format!("`{argument}` has {count} names; the limit is {MOST_NAMES}"))),
    }
}

/// Names as a list, or as a text with commas.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Names {
    #[default]
    None,
    List(Vec<String>),
    Text(String),
}

impl Names {
    pub(crate) fn to_list(&self, argument: &str) -> Result<Vec<String>, ToolError> {
        match self {
            Names::None => Ok(Vec::new()),
            Names::List(all) => clean_names(all, argument),
            Names::Text(text) => clean_names(&text.split(',').map(str::to_owned).collect::<Vec<_>>(), argument),
        }
    }
}

/// The clock of a walk.
#[derive(Debug)]
pub(crate) struct Lookups {
    since: Instant,
    until: Instant,
    /// False once a language server was not ready: the rest of the walk does not wait for it again.
    is_patient: bool,
    head: Head,
}

impl Lookups {
    pub(crate) fn new(cx: &Context, wait_ms: Option<u64>) -> Lookups {
        let wait = before_timeout(cx, Duration::from_millis(wait_ms.unwrap_or(WAIT).min(LONGEST_WAIT)));
        let since = Instant::now();
        // A walk needs time to read the files, even if it does not wait for a server.
        let until = since + wait.max(Duration::from_secs(2));
        Lookups { since, until, is_patient: wait_ms != Some(0), head: Head { complete: true, ..Head::default() } }
    }

    /// Returns the time that is left.
    pub(crate) fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Returns how long the next look-up may wait for a language server, in milliseconds.
    pub(crate) fn wait_ms(&self) -> u64 {
        let left = self.left();
        // Keeps time for the look-ups after this one.
        let wait = if self.is_patient { left.mul_f64(0.75) } else { Duration::ZERO };
        u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
    }

    /// Awaits a look-up until the deadline; `None` if it is not ready in time.
    pub(crate) async fn limit<T>(&self, look_up: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout(self.left() + GRACE, look_up).await.ok()
    }

    /// Awaits facts about a definition until the deadline; `None` if they are not ready in time. Facts that are not
    /// available are a reason why the answer is not complete.
    pub(crate) async fn facts<T: Default>(
        &mut self,
        symbol: &Symbol,
        look_up: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<Option<T>, ToolError> {
        if self.left().is_zero() {
            return Ok(None);
        }
        match self.limit(look_up).await {
            Some(Err(ToolError::User { message, .. })) => {
                self.doubt(format!("{}: {message}", symbol.label));
                Ok(Some(T::default()))
            }
            found => found.transpose(),
        }
    }

    /// Adds the certainty of a look-up to the answer's.
    pub(crate) fn add(&mut self, basis: Basis) {
        self.is_patient &= !basis.ask_again;
        self.head.complete &= basis.is_complete;
        self.head.ask_again |= basis.ask_again;
        for (known, new) in [(&mut self.head.checked_by, basis.checked_by), (&mut self.head.reasons, basis.reasons)] {
            for one in new {
                if !known.contains(&one) && known.len() < 10 {
                    known.push(one);
                }
            }
        }
    }

    /// Adds a reason why the answer is not complete.
    pub(crate) fn doubt(&mut self, reason: impl Into<String>) {
        let reasons = vec![reason.into()];
        self.add(Basis { reasons, ..Basis::default() });
    }

    /// Adds the reason of a walk that ended at the time limit.
    pub(crate) fn doubt_if_late(&mut self, stopped: Stopped) {
        if stopped == Stopped::Time {
            self.doubt("the time limit was reached; raise `wait_ms`");
        }
    }

    /// Adds the compiler of a proof, and the parts that it could not compile.
    pub(crate) fn prove(&mut self, proof: &Proof) {
        let checked_by = vec![proof.compiler.to_owned()];
        let reasons = proof.limits.iter().cloned().collect();
        self.add(Basis { is_complete: proof.limits.is_none(), checked_by, reasons, ..Basis::default() });
    }

    pub(crate) fn into_head(self) -> Head {
        let elapsed_ms = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        Head { elapsed_ms, ..self.head }
    }

    /// Resolves names to all of their definitions.
    pub(crate) async fn resolve(
        &mut self,
        questions: &Questions,
        cx: &Context,
        names: &[String],
        path: Option<&str>,
    ) -> Result<(Vec<Symbol>, Vec<Unresolved>), ToolError> {
        let (mut symbols, mut unresolved): (Vec<Symbol>, Vec<Unresolved>) = (Vec::new(), Vec::new());
        for name in names {
            let found = self.limit(questions.symbols(cx, name, path)).await;
            let problem = match found {
                Some(Ok(found)) if found.is_empty() => {
                    format!("`{name}` is not defined in the files that hob can parse")
                }
                Some(Ok(found)) => {
                    symbols.extend(found.into_iter().filter(|one| !symbols.contains(one)).collect::<Vec<_>>());
                    continue;
                }
                Some(Err(ToolError::User { message, .. })) => message,
                Some(Err(error)) => return Err(error),
                None => "not looked up in time; raise `wait_ms`".to_owned(),
            };
            unresolved.push(Unresolved { name: name.clone(), problem });
        }
        Ok((symbols, unresolved))
    }
}

/// Formats the certainty of an answer as a line.
pub(crate) fn head_line(head: &Head) -> String {
    let by = if head.checked_by.is_empty() {
        String::new()
    } else {
        format!(" · checked by {}", head.checked_by.join(", "))
    };
    let again = if head.ask_again { "; ask again for a better answer" } else { "" };
    if head.complete {
        format!("complete{by}")
    } else {
        format!("not proven complete{by}: {}{again}", head.reasons.join("; "))
    }
}
