//! A cassette entry: the request in comparable parts, and the answer.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::Node;
use crate::file::TEMPLATE_ENGINE;
use crate::provider::{Model, Request, Response};

/// The parts of a request that determine the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Parts {
    /// The hash of the node's file.
    pub node: String,
    pub engine: String,
    /// Hashes of the sent texts.
    messages: String,
    schema: String,
    parameters: String,
    provider: String,
    /// The server's name for the model.
    model: String,
    attempt: u32,
}

impl Parts {
    pub(super) fn new(node: &Node, model: Option<&Model>, request: &Request, attempt: u32) -> Parts {
        let messages: Vec<_> = request.messages.iter().map(|message| json!([message.role, message.text])).collect();
        let parameters = json!([request.max_tokens, request.temperature, request.top_p]);
        Parts {
            node: node.hash.clone(),
            engine: TEMPLATE_ENGINE.to_owned(),
            messages: digest(&json!(messages).to_string()),
            schema: digest(&request.form.sent().map_or(Value::Null, |(schema, _)| schema.clone()).to_string()),
            parameters: digest(&parameters.to_string()),
            provider: "openai".to_owned(),
            model: model.map_or_else(String::new, |model| model.model().to_owned()),
            attempt,
        }
    }

    /// Returns a hash that identifies the parts.
    fn key(&self) -> String {
        // The field order is fixed.
        hex::encode(Sha256::digest(serde_json::to_string(self).unwrap_or_default()))
    }

    /// Returns the names of the parts that differ.
    pub(super) fn differences(&self, other: &Parts, with_model: bool) -> Vec<&'static str> {
        let pairs = [
            ("the version of the node", self.node != other.node),
            ("the template engine", self.engine != other.engine),
            ("the messages", self.messages != other.messages),
            // The node has one schema. Its form depends on the model's server.
            ("the schema", with_model && self.schema != other.schema),
            ("the parameters", self.parameters != other.parameters),
            ("the provider", self.provider != other.provider),
            ("the model", with_model && self.model != other.model),
            ("the number of the attempt", self.attempt != other.attempt),
        ];
        pairs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }
}

fn digest(text: &str) -> String {
    hex::encode(&Sha256::digest(text)[..8])
}

/// A recorded answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub key: String,
    #[serde(flatten)]
    pub parts: Parts,
    pub status: u16,
    /// The raw body, without secrets.
    pub body: String,
}

impl Entry {
    pub(super) fn new(parts: Parts, response: &Response) -> Entry {
        let body = String::from_utf8_lossy(&response.body).into_owned();
        Entry { key: parts.key(), parts, status: response.status, body }
    }
}
