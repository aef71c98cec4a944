//! Prompts of each kind.

use std::sync::Arc;

use mcp::prompt::{Completing, Completion, Message, Prompt, Prompts, prompt};
use mcp::resource::Contents;
use mcp::tool::{Content, Context, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::questions::Paint;

/// Returns all these prompts.
pub(crate) fn all() -> Arc<Prompts> {
    Arc::new(Prompts::new([prompt(Greet), prompt(Burn), prompt(Paint)]))
}

/// Greets somebody.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GreetArgs {
    /// Whom.
    name: String,
    /// How often.
    times: Option<u8>,
}

struct Greet;

impl Prompt for Greet {
    const NAME: &'static str = "greet";
    const TITLE: &'static str = "A greeting";
    type Args = GreetArgs;

    async fn get(&self, _: Context, args: GreetArgs) -> Result<Vec<Message>, ToolError> {
        let times = usize::from(args.times.unwrap_or(1));
        Ok(vec![
            Message::user(format!("Say{} to {}.", " hello".repeat(times), args.name)),
            Message::assistant(Content::Resource(Contents::text("note://hello", "text/plain", "hello"))),
        ])
    }

    async fn complete(&self, _: Context, asked: Completing) -> Result<Completion, ToolError> {
        Ok(match asked.argument.as_str() {
            "name" if asked.others.contains_key("times") => asked.choose(["everybody"]),
            "name" => asked.choose(["Ada", "Alan", "Grace"]),
            _ => asked.choose((0..=250).map(|times| times.to_string())),
        })
    }
}

/// Never works.
#[derive(Deserialize, JsonSchema)]
struct Nothing {}

struct Burn;

impl Prompt for Burn {
    const NAME: &'static str = "burn";
    type Args = Nothing;

    async fn get(&self, _: Context, _: Nothing) -> Result<Vec<Message>, ToolError> {
        Err(ToolError::internal("the secret disk is on fire"))
    }
}
