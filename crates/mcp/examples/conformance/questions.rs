//! Tools that ask. The library decides how a question travels: the same tool serves every revision.

use std::sync::Arc;

use mcp::tool::{Answers, AnyTool, Ask, AskError, AskResponse, Context, LogLevel};
use serde_json::{Value, json};

use crate::made::{build_tool, text, text_result};

/// Returns all these tools.
pub(crate) fn tools() -> Vec<Arc<dyn AnyTool>> {
    let mut all = by_request();
    all.extend(by_result());
    all.into_iter().map(|made| made.asks().tool()).collect()
}

/// Returns a form with these fields, all of them required.
pub(crate) fn form(message: &str, properties: Value) -> Ask {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(|fields| fields.keys()).collect();
    let schema = json!({"type": "object", "properties": properties, "required": required});
    Ask::Form { message: message.to_owned(), schema }
}

fn sample(prompt: &str, most: u32) -> Ask {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    Ask::Sample(json!({"messages": [message], "maxTokens": most}))
}

fn name_form(message: &str) -> Ask {
    form(message, json!({"name": {"type": "string"}}))
}

async fn ask(cx: &Context, name: &str, ask: Ask) -> Result<AskResponse, AskError> {
    let mut answers = cx.ask_all(vec![(name.to_owned(), ask)]).await?;
    answers.remove(name).ok_or(AskError::Unanswered)
}

/// Returns a field of a filled form.
pub(crate) fn field(said: &AskResponse, name: &str) -> String {
    match said {
        AskResponse::Accepted(content) => content[name].as_str().unwrap_or_default().to_owned(),
        AskResponse::Declined | AskResponse::Dismissed => "nobody".to_owned(),
    }
}

fn describe(said: &AskResponse) -> String {
    match said {
        AskResponse::Accepted(content) => format!("action=accept, content={content}"),
        AskResponse::Declined => "action=decline".to_owned(),
        AskResponse::Dismissed => "action=cancel".to_owned(),
    }
}

/// Returns the tools for the revisions with a handshake.
fn by_request() -> Vec<crate::made::BuiltTool> {
    vec![
        build_tool("test_sampling", "Asks the client's model.", |cx, arguments| async move {
            match cx.ask(sample(text(&arguments, "prompt"), 100)).await? {
                AskResponse::Accepted(answer) => {
                    text_result(format!("LLM response: {}", answer["content"]["text"].as_str().unwrap_or_default()))
                }
                AskResponse::Declined | AskResponse::Dismissed => text_result("no answer"),
            }
        })
        .takes(json!({
            "type": "object",
            "properties": {"prompt": {"type": "string", "description": "The prompt to send to the LLM"}},
            "required": ["prompt"],
        })),
        build_tool("test_elicitation", "Asks the person.", |cx, arguments| async move {
            let fields = json!({
                "username": {"type": "string", "description": "User's response"},
                "email": {"type": "string", "description": "User's email address"},
            });
            text_result(format!(
                "User response: {}",
                describe(&cx.ask(form(text(&arguments, "message"), fields)).await?)
            ))
        })
        .takes(json!({
            "type": "object",
            "properties": {"message": {"type": "string", "description": "The message to show the user"}},
            "required": ["message"],
        })),
        build_tool("test_elicitation_sep1034_defaults", "Asks with defaults.", |cx, _| async move {
            let fields = json!({
                "name": {"type": "string", "default": "John Doe"},
                "age": {"type": "integer", "default": 30},
                "score": {"type": "number", "default": 95.5},
                "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
                "verified": {"type": "boolean", "default": true},
            });
            text_result(format!(
                "Elicitation completed: {}",
                describe(&cx.ask(form("Your details, please.", fields)).await?)
            ))
        }),
        build_tool("test_elicitation_sep1330_enums", "Asks with choices of every kind.", |cx, _| async move {
            let titled = |value: &str, title: &str| json!({"const": value, "title": title});
            let three = ["option1", "option2", "option3"];
            let named = |named: &str| {
                ["value1", "value2", "value3"]
                    .iter()
                    .zip(["First", "Second", "Third"])
                    .map(|(value, rank)| titled(value, &format!("{rank} {named}")))
                    .collect::<Vec<_>>()
            };
            let fields = json!({
                "untitledSingle": {"type": "string", "enum": three},
                "titledSingle": {"type": "string", "oneOf": named("Option")},
                "legacyEnum": {
                    "type": "string",
                    "enum": ["opt1", "opt2", "opt3"],
                    "enumNames": ["Option One", "Option Two", "Option Three"],
                },
                "untitledMulti": {"type": "array", "items": {"type": "string", "enum": three}},
                "titledMulti": {"type": "array", "items": {"anyOf": named("Choice")}},
            });
            text_result(format!(
                "Elicitation completed: {}",
                describe(&cx.ask(form("Your choices, please.", fields)).await?)
            ))
        }),
    ]
}

/// Returns the tools for the revision without a handshake.
fn by_result() -> Vec<crate::made::BuiltTool> {
    let confirm = || form("Please confirm", json!({"ok": {"type": "boolean"}}));
    vec![
        build_tool("test_input_required_result_elicitation", "Asks for a name.", |cx, _| async move {
            let user = ask(&cx, "user_name", name_form("What is your name?")).await?;
            text_result(format!("Hello, {}!", field(&user, "name")))
        }),
        build_tool("test_input_required_result_sampling", "Asks the client's model.", |cx, _| async move {
            let answer = ask(&cx, "capital_question", sample("What is the capital of France?", 100)).await?;
            text_result(format!("The model said: {answer:?}"))
        }),
        build_tool("test_input_required_result_list_roots", "Asks for the directories.", |cx, _| async move {
            text_result(format!("The roots: {}", describe(&ask(&cx, "client_roots", Ask::Roots).await?)))
        }),
        build_tool(
            "test_input_required_result_request_state",
            "Asks, and knows its state again.",
            move |cx, _| async move {
                ask(&cx, "confirm", confirm()).await?;
                text_result("state-ok")
            },
        ),
        build_tool(
            "test_input_required_result_tampered_state",
            "Asks, and refuses a forged state.",
            move |cx, _| async move {
                ask(&cx, "confirm", confirm()).await?;
                text_result("state-ok")
            },
        ),
        build_tool("test_input_required_result_multiple_inputs", "Asks three things at once.", |cx, _| async move {
            let asks = vec![
                ("user_name".to_owned(), name_form("What is your name?")),
                ("greeting".to_owned(), sample("Generate a greeting", 50)),
                ("client_roots".to_owned(), Ask::Roots),
            ];
            let answers: Answers = cx.ask_all(asks).await?;
            let each = answers.iter().map(|(name, said)| format!("{name}: {}", describe(said)));
            text_result(each.collect::<Vec<_>>().join("\n"))
        }),
        build_tool("test_input_required_result_multi_round", "Asks twice.", |cx, _| async move {
            let user = ask(&cx, "step1", name_form("Step 1: What is your name?")).await?;
            let fields = json!({"color": {"type": "string"}});
            let color = ask(&cx, "step2", form("Step 2: What is your favorite color?", fields)).await?;
            text_result(format!("{} likes {}.", field(&user, "name"), field(&color, "color")))
        }),
        build_tool("test_input_required_result_capabilities", "Asks whom it can.", |cx, _| async move {
            match ask(&cx, "greeting", sample("Generate a greeting", 50)).await {
                Err(AskError::Unsupported) => {
                    text_result(describe(&ask(&cx, "user_name", name_form("What is your name?")).await?))
                }
                answer => text_result(describe(&answer?)),
            }
        }),
        build_tool("test_missing_capability", "Needs the client's model.", |cx, _| async move {
            text_result(describe(&cx.ask(sample("Hello?", 10)).await?))
        }),
        build_tool("test_streaming_elicitation", "Says something, then asks.", |cx, _| async move {
            cx.log(LogLevel::Info, "conformance", &"about to ask");
            text_result(describe(&cx.ask(name_form("What is your name?")).await?))
        }),
    ]
}
