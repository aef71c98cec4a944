//! Prompts of each kind.

use std::sync::Arc;

use mcp::prompt::{AnyPrompt, Completing, Completion, Message, Prompt, Prompts, prompt};
use mcp::resource::Contents;
use mcp::tool::{Content, Context, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::content::PIXEL;
use crate::questions::{field, form};

/// Returns all these prompts.
pub(crate) fn all() -> Arc<Prompts> {
    Arc::new(Prompts::new([
        prompt(Simple),
        prompt(WithArguments),
        prompt(WithResource),
        prompt(WithImage),
        prompt(Asks),
    ]))
}

/// The name of the prompt that comes and goes.
pub(crate) const PASSING: &str = Passing::NAME;

/// Returns a prompt that comes and goes.
pub(crate) fn passing() -> Arc<dyn AnyPrompt> {
    prompt(Passing)
}

/// A prompt without arguments.
#[derive(Deserialize, JsonSchema)]
struct Nothing {}

struct Simple;

impl Prompt for Simple {
    const NAME: &'static str = "test_simple_prompt";
    type Args = Nothing;

    async fn get(&self, _: Context, _: Nothing) -> Result<Vec<Message>, ToolError> {
        Ok(vec![Message::user("This is a simple prompt for testing.")])
    }
}

struct Passing;

impl Prompt for Passing {
    const NAME: &'static str = "test_passing_prompt";
    type Args = Nothing;

    async fn get(&self, _: Context, _: Nothing) -> Result<Vec<Message>, ToolError> {
        Ok(vec![Message::user("Gone soon.")])
    }
}

/// A prompt with arguments.
#[derive(Deserialize, JsonSchema)]
struct Two {
    /// First test argument
    arg1: String,
    /// Second test argument
    arg2: String,
}

struct WithArguments;

impl Prompt for WithArguments {
    const NAME: &'static str = "test_prompt_with_arguments";
    type Args = Two;

    async fn get(&self, _: Context, args: Two) -> Result<Vec<Message>, ToolError> {
        Ok(vec![Message::user(format!("Prompt with arguments: arg1='{}', arg2='{}'", args.arg1, args.arg2))])
    }

    async fn complete(&self, _: Context, asked: Completing) -> Result<Completion, ToolError> {
        Ok(asked.choose(["test one", "test two", "paris", "park", "party"]))
    }
}

/// A prompt with a resource in it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Embed {
    /// URI of the resource to embed
    resource_uri: String,
}

struct WithResource;

impl Prompt for WithResource {
    const NAME: &'static str = "test_prompt_with_embedded_resource";
    type Args = Embed;

    async fn get(&self, _: Context, args: Embed) -> Result<Vec<Message>, ToolError> {
        let text = "Embedded resource content for testing.";
        Ok(vec![
            Message::user(Content::Resource(Contents::text(args.resource_uri, "text/plain", text))),
            Message::user("Please process the embedded resource above."),
        ])
    }
}

struct WithImage;

impl Prompt for WithImage {
    const NAME: &'static str = "test_prompt_with_image";
    type Args = Nothing;

    async fn get(&self, _: Context, _: Nothing) -> Result<Vec<Message>, ToolError> {
        Ok(vec![Message::user(Content::image(PIXEL, "image/png")), Message::user("Please analyze the image above.")])
    }
}

struct Asks;

impl Prompt for Asks {
    const NAME: &'static str = "test_input_required_result_prompt";
    type Args = Nothing;

    async fn get(&self, cx: Context, _: Nothing) -> Result<Vec<Message>, ToolError> {
        let asked = form("What context should the prompt use?", serde_json::json!({"context": {"type": "string"}}));
        let answers = cx.ask_all(vec![("user_context".to_owned(), asked)]).await?;
        let context = answers.get("user_context").map_or_else(String::new, |said| field(said, "context"));
        Ok(vec![Message::user(format!("Go on in the context of {context}."))])
    }
}
