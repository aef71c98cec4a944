//! Tools whose calls go on as tasks.

use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{AnyTool, ToolError};
use serde_json::{Value, json};

use crate::made::{build_tool, text, text_result};
use crate::questions::{field, form};

/// Longer than any call may run before it becomes a task.
const WORK: Duration = Duration::from_millis(150);

/// Returns all these tools.
pub(crate) fn tools() -> Vec<Arc<dyn AnyTool>> {
    [
        build_tool("greet", "Greets.", |_, arguments| async move {
            text_result(format!("Hello, {}!", text(&arguments, "name")))
        })
        .takes(json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})),
        build_tool("slow_compute", "Takes its time.", |cx, arguments| async move {
            let seconds = arguments.get("seconds").and_then(Value::as_u64).unwrap_or_default();
            let label = text(&arguments, "label");
            tokio::select! {
                biased;
                () = tokio::time::sleep(Duration::from_secs(seconds)), if seconds > 0 => {}
                () = cx.cancelled(), if seconds > 0 => return Err(ToolError::user(format!("{label} was given up"))),
                else => {}
            }
            text_result(format!("{label} took {seconds} s"))
        })
        .takes(json!({
            "type": "object",
            "properties": {"seconds": {"type": "integer"}, "label": {"type": "string"}},
            "required": ["seconds"],
        }))
        .with_task(),
        build_tool("failing_job", "Fails after a while.", |_, _| async {
            tokio::time::sleep(WORK).await;
            Err(ToolError::user("The job failed, as it always does."))
        })
        .only_as_task(),
        build_tool("protocol_error_job", "Breaks down after a while.", |_, _| async {
            tokio::time::sleep(WORK).await;
            panic!("the job broke down, as it always does")
        })
        .with_task(),
        build_tool("confirm_delete", "Asks before it deletes.", |cx, arguments| async move {
            tokio::time::sleep(WORK).await;
            let file = text(&arguments, "filename");
            let asked = form(&format!("Delete {file}?"), json!({"confirm": {"type": "boolean"}}));
            let sure = cx.ask(asked).await?.accepted::<Value>()?.is_some_and(|form| form["confirm"] == true);
            text_result(format!("{file} was {}", if sure { "deleted" } else { "kept" }))
        })
        .takes(json!({"type": "object", "properties": {"filename": {"type": "string"}}, "required": ["filename"]}))
        .asks()
        .with_task(),
        build_tool("multi_input", "Asks two things at once.", |cx, _| async move {
            tokio::time::sleep(WORK).await;
            let fields = json!({"name": {"type": "string"}, "confirm": {"type": "boolean"}});
            let asks = ["first", "second"].map(|name| (name.to_owned(), form(name, fields.clone())));
            let answers = cx.ask_all(asks.into()).await?;
            text_result(answers.values().map(|said| field(said, "name")).collect::<Vec<_>>().join(" and "))
        })
        .asks()
        .with_task(),
        build_tool("test_tool_with_task", "Asks for a name, then works for a while.", |cx, _| async move {
            let asked = form("What is your name?", json!({"name": {"type": "string"}}));
            let answers = cx.ask_all(vec![("user_name".to_owned(), asked)]).await?;
            tokio::time::sleep(WORK).await;
            text_result(format!(
                "Worked for {}.",
                answers.get("user_name").map_or_else(String::new, |said| field(said, "name"))
            ))
        })
        .asks()
        .only_as_task(),
    ]
    .map(|made| made.tool())
    .into()
}
