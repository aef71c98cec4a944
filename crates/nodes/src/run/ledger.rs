//! What a call has cost: every attempt, failed ones too. It goes with the result, for programs.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::cassette::Via;
use crate::outcome::{Class, Tokens};

/// The member of a result's `_meta`.
pub const META: &str = "hob/ledger";

/// One request to a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attempt {
    /// The API that was spoken.
    pub provider: &'static str,
    /// The alias.
    pub model: String,
    pub via: Via,
    /// `decoder`: it promises to hold all of the schema that it was sent; `best_effort`: it was sent the schema, and what it
    /// makes of it is not known; `none`: the schema stood in the prompt alone. The value is checked here in any case.
    pub enforced: &'static str,
    pub class: Class,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// `null` where the server does not say.
    pub tokens: Option<Tokens>,
    /// In the money of the model's price; `null` where that or the tokens are not known.
    pub cost: Option<f64>,
    pub ms: u64,
    /// True if the answer was no JSON, and was mended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub repaired: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

impl Attempt {
    /// None: the value was there, from this model.
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

/// All of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    pub node_hash: String,
    pub attempts: Vec<Attempt>,
}

impl Ledger {
    /// Tokens asked and answered, as far as servers say.
    pub fn tokens(&self) -> u64 {
        self.attempts
            .iter()
            .filter_map(|attempt| attempt.tokens)
            .fold(0, |sum, tokens| sum.saturating_add(tokens.sum()))
    }

    /// What it has cost, as far as prices and tokens are known; `None` if nothing of it is.
    pub fn cost(&self) -> Option<f64> {
        self.attempts.iter().filter_map(|attempt| attempt.cost).reduce(|a, b| a + b)
    }

    /// Returns true if the value is of an answer that was mended.
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
