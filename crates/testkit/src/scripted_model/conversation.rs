//! The parts that all protocols share: the tools offered to a model, its earlier turns, and the results of its calls.

use serde_json::{Map, Value, json};

/// The protocol of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    AnthropicMessages,
    OpenAiResponses,
    OpenAiChat,
    Gemini,
}

impl Protocol {
    pub fn name(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::OpenAiResponses => "openai-responses",
            Self::OpenAiChat => "openai-chat",
            Self::Gemini => "gemini",
        }
    }
}

/// A request to a model, independent of the protocol.
#[derive(Debug, Clone)]
pub struct Request {
    pub protocol: Protocol,
    pub model: String,
    pub is_streaming: bool,
    pub tools: Vec<OfferedTool>,
    /// The model's turns so far, according to the agent.
    pub said: Vec<Utterance>,
    /// The results of the model's calls, in order.
    pub results: Vec<ToolResult>,
    /// If set, the answer must be JSON of this schema.
    pub answer_schema: Option<Value>,
}

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedTool {
    pub name: String,
    /// The namespace, if the agent groups its tools; calls name it too.
    pub namespace: Option<String>,
    pub description: String,
    pub schema: Value,
    /// True if the model sees only the tool's name until it has searched for it.
    pub is_deferred: bool,
}

/// A result of a tool call as it reached the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The agent's name for the tool; empty if the call is not in the history.
    pub tool: String,
    /// All text of the result.
    pub text: String,
    /// The result in the protocol's own form.
    pub raw: Value,
}

/// A turn of the model.
#[derive(Debug, Clone, PartialEq)]
pub enum Utterance {
    Text(String),
    Call { name: String, namespace: Option<String>, arguments: Value },
}

impl OfferedTool {
    /// Parses an object that names these three.
    pub(super) fn parse(tool: &Value, schema: &str) -> Self {
        let text = |key: &str| tool[key].as_str().unwrap_or_default().to_owned();
        Self {
            name: text("name"),
            namespace: None,
            description: text("description"),
            schema: tool[schema].clone(),
            is_deferred: tool["defer_loading"] == true,
        }
    }

    pub fn schema_bytes(&self) -> usize {
        if self.schema.is_null() { 0 } else { self.schema.to_string().len() }
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "name": self.name, "namespace": self.namespace, "description": self.description, "schema": self.schema,
            "is_deferred": self.is_deferred, "bytes": self.name.len() + self.description.len() + self.schema_bytes(),
        })
    }
}

impl ToolResult {
    pub(super) fn to_json(&self) -> Value {
        json!({ "tool": self.tool, "text": self.text, "raw": self.raw })
    }
}

/// Returns an id that differs from those of all earlier calls of the conversation.
pub(super) fn call_id(request: &Request) -> String {
    format!("call_scripted_{}", request.said.len())
}

/// Returns the text of content: a string, or a list of blocks with `text`.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Parses arguments that a protocol carries as text.
pub(super) fn arguments(text: &Value) -> Value {
    text.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// Returns the tool's name in the call with this id.
pub(super) fn name_of(calls: &[(String, String)], id: &Value) -> String {
    calls.iter().rfind(|(call, _)| id == call).map(|(_, name)| name.clone()).unwrap_or_default()
}

/// Returns an event of a stream; the data repeats its name as `type`.
pub(super) fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

/// Returns the smallest JSON that matches a schema, for routers and checks that want structured answers.
pub(super) fn instance(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or("object");
    match kind.to_ascii_lowercase().as_str() {
        "object" => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            Value::Object(properties.map(|(name, schema)| (name.clone(), instance(schema))).collect::<Map<_, _>>())
        }
        "array" => json!([]),
        "string" => json!("Scripted"),
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or_else(|| json!(0)),
        "boolean" => json!(false),
        _ => Value::Null,
    }
}
