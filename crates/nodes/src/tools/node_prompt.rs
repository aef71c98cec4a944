//! A node as an MCP prompt: the messages of the node, for the client's own model.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp::prompt::{AnyPrompt, Argument, Completing, Completion, Declaration, Message};
use mcp::tool::{BoxFuture, Context, ToolError};
use serde_json::{Map, Value};

use crate::{Node, run};

struct NodePrompt {
    declaration: Declaration,
    node: Arc<Node>,
}

/// Returns the prompt of a node.
pub(super) fn node_prompt(node: &Arc<Node>) -> Arc<dyn AnyPrompt> {
    let schema = &node.input.json;
    let is_required =
        |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
    let arguments = schema["properties"].as_object().into_iter().flatten().map(|(name, schema)| Argument {
        name: name.clone(),
        description: schema["description"].as_str().unwrap_or_default().to_owned(),
        required: is_required(name) && !node.defaults.contains_key(name),
    });
    let declaration = Declaration {
        name: node.name.clone(),
        description: node.description.clone(),
        arguments: arguments.collect(),
        ..Declaration::default()
    };
    Arc::new(NodePrompt { declaration, node: node.clone() })
}

impl AnyPrompt for NodePrompt {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn get(
        self: Arc<Self>,
        _: Context,
        arguments: BTreeMap<String, String>,
    ) -> BoxFuture<Result<Vec<Message>, ToolError>> {
        Box::pin(async move {
            let messages = tokio::task::spawn_blocking(move || self.messages(arguments));
            let messages = messages.await.map_err(ToolError::internal)?.map_err(ToolError::user)?;
            // MCP prompts have no system message.
            let message = |message: crate::provider::Message| match message.role {
                "assistant" => Message::assistant(message.text),
                _ => Message::user(message.text),
            };
            Ok(messages.into_iter().map(message).collect())
        })
    }

    fn complete(self: Arc<Self>, _: Context, asked: Completing) -> BoxFuture<Result<Completion, ToolError>> {
        let property = &self.node.input.json["properties"][&asked.argument];
        let values = property["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let completion = asked.choose(values);
        Box::pin(async move { Ok(completion) })
    }
}

impl NodePrompt {
    fn messages(&self, arguments: BTreeMap<String, String>) -> Result<Vec<crate::provider::Message>, String> {
        let input = self.input(arguments);
        let input =
            input.map_err(|problems| format!("invalid input for {}: {}", self.node.name, problems.join("; ")))?;
        run::prompt(&self.node, &input)
    }

    /// Converts prompt arguments, which are texts. An argument whose schema is not a string is parsed as JSON.
    fn input(&self, arguments: BTreeMap<String, String>) -> Result<Map<String, Value>, Vec<String>> {
        let typed = |(name, text): (String, String)| {
            let schema = &self.node.input.json["properties"][&name];
            let is_text = schema["type"] == "string" || schema["enum"][0].is_string();
            let value = if is_text { None } else { serde_json::from_str(&text).ok() };
            (name, value.unwrap_or(Value::String(text)))
        };
        self.node.complete(arguments.into_iter().map(typed).collect())
    }
}
