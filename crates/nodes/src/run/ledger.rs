//! The cost of a call: every attempt, including failed ones. Results carry it for programs.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::cassette::Via;
use crate::outcome::{Class, Tokens};

/// The member of a result's `_meta`.
pub const META: &str = "hob/ledger";

/// A request to a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attempt {
    /// The API.
    pub provider: &'static str,
    /// The alias.
    pub model: String,
    pub via: Via,
    /// `decoder`: the server promises to enforce the whole schema. `best_effort`: the schema was sent, and its effect is unknown.
    /// `none`: the schema is only in the prompt. The value is validated here in any case.
    pub enforced: &'static str,
    pub class: Class,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// `null` if the server does not report them.
    pub tokens: Option<Tokens>,
    /// In the currency of the model's price; `null` if the price or the tokens are unknown.
    pub cost: Option<f64>,
    pub ms: u64,
    /// True if the answer was not valid JSON and was repaired.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub repaired: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

impl Attempt {
    /// Creates an entry for a cached value of this model.
    pub(super) fn cached(model: String) -> Attempt {
        Attempt {
            provider: "openai",
            model,
            via: Via::Cache,
            enforced: "none",
            class: Class::Done,
            finish: None,
            tokens: Some(Tokens::default()),
            cost: Some(0.0),
            ms: 0,
            repaired: false,
            problems: Vec::new(),
        }
    }
}

/// All attempts of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    pub node_hash: String,
    pub attempts: Vec<Attempt>,
}

impl Ledger {
    /// Returns the total tokens that servers reported.
    pub fn tokens(&self) -> u64 {
        self.attempts
            .iter()
            .filter_map(|attempt| attempt.tokens)
            .fold(0, |sum, tokens| sum.saturating_add(tokens.sum()))
    }

    /// Returns the known cost; `None` if no cost is known.
    pub fn cost(&self) -> Option<f64> {
        self.attempts.iter().filter_map(|attempt| attempt.cost).reduce(|a, b| a + b)
    }

    /// Returns true if the value is from a repaired answer.
    pub fn is_repaired(&self) -> bool {
        self.attempts.last().is_some_and(|attempt| attempt.repaired)
    }

    pub(crate) fn meta(&self) -> Map<String, Value> {
        let known = self.attempts.iter().all(|attempt| attempt.tokens.is_some());
        let total = json!({"tokens": self.tokens(), "complete": known, "cost": self.cost()});
        let ledger = json!({
            "node_hash": self.node_hash, "attempts": self.attempts, "repaired": self.is_repaired(), "total": total,
        });
        Map::from_iter([(META.to_owned(), ledger)])
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
