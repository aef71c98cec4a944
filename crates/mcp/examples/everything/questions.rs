//! A tool and a prompt that ask.

use std::collections::BTreeMap;

use mcp::prompt::{Message, Prompt};
use mcp::tool::{Ask, AskResponse, Asks, Context, Effect, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Asks the person.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// What about.
    about: About,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum About {
    /// A form.
    Form,
    /// A page.
    Page,
    /// The model.
    Model,
    /// A form, and the directories.
    Both,
    /// Two forms, one after the other.
    Twice,
}

/// What was said.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AnswerText {
    /// In words.
    said: String,
}

/// A color and whether it is meant.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Color {
    /// Which color.
    color: String,
    /// Whether it is meant.
    sure: Option<bool>,
}

pub(crate) struct Inquire;

async fn color(cx: &Context, message: &str) -> Result<String, ToolError> {
    Ok(match cx.ask(Ask::form::<Color>(message)).await?.accepted::<Color>()? {
        Some(color) => color.color,
        None => "no color".to_owned(),
    })
}

impl Tool for Inquire {
    const NAME: &'static str = "inquire";
    const EFFECT: Effect = Effect::WRITE;
    const ASKS: Asks = Asks::Person;
    type Args = Args;
    type Output = AnswerText;

    async fn call(&self, cx: Context, args: Args) -> Result<AnswerText, ToolError> {
        cx.effect("a brush was bought");
        let said = match args.about {
            About::Form => color(&cx, "Which color?").await?,
            About::Page => {
                let page = Ask::Url { message: "Sign in.".to_owned(), url: "https://example.com/in".to_owned() };
                format!("{:?}", cx.ask(page).await?)
            }
            About::Model => {
                let message = json!({"role": "user", "content": {"type": "text", "text": "Which color?"}});
                format!("{:?}", cx.ask(Ask::Sample(json!({"messages": [message], "maxTokens": 5}))).await?)
            }
            About::Both => {
                let asks =
                    vec![("color".to_owned(), Ask::form::<Color>("Which color?")), ("where".to_owned(), Ask::Roots)];
                format!("{:?}", cx.ask_all(asks).await?.into_iter().collect::<BTreeMap<String, AskResponse>>())
            }
            About::Twice => {
                let first = color(&cx, "Which color?").await?;
                cx.effect(format!("{first} was bought"));
                format!("{first} on {}", color(&cx, "And the ground?").await?)
            }
        };
        Ok(AnswerText { said })
    }

    fn text(output: &AnswerText) -> String {
        output.said.clone()
    }
}

/// Asks before it writes.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Nothing {}

pub(crate) struct Paint;

impl Prompt for Paint {
    const NAME: &'static str = "paint";
    type Args = Nothing;

    async fn get(&self, cx: Context, _: Nothing) -> Result<Vec<Message>, ToolError> {
        Ok(vec![Message::user(format!("Paint it {}.", color(&cx, "Which color?").await?))])
    }
}
