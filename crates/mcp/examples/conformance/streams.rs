//! Tools that send something before their answer: log messages, progress, changes of a list.

use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp::prompt::Prompts;
use mcp::tool::{AnyTool, LogLevel, Progress, Registry};

use crate::made::{build_tool, text_result};
use crate::prompts;

/// The pause between two messages.
const PAUSE: Duration = Duration::from_millis(50);

/// Returns the tools that need only their context.
pub(crate) fn tools() -> Vec<Arc<dyn AnyTool>> {
    [
        build_tool("test_tool_with_logging", "Logs three times.", |cx, _| async move {
            cx.log(LogLevel::Info, "conformance", &"Tool execution started");
            tokio::time::sleep(PAUSE).await;
            cx.log(LogLevel::Info, "conformance", &"Tool processing data");
            tokio::time::sleep(PAUSE).await;
            cx.log(LogLevel::Info, "conformance", &"Tool execution completed");
            text_result("Logged three times.")
        }),
        build_tool("test_reconnection", "Lets its client go, which comes back for the result.", |cx, _| async move {
            cx.reconnect_after(2 * PAUSE);
            tokio::time::sleep(2 * PAUSE).await;
            text_result("Still here.")
        }),
        build_tool("test_logging_tool", "Logs once.", |cx, _| async move {
            cx.log(LogLevel::Info, "conformance", &"Diagnostic log");
            text_result("Logged once.")
        }),
        build_tool("test_tool_with_progress", "Reports progress three times.", |cx, _| async move {
            for progress in [0.0, 50.0, 100.0] {
                if progress > 0.0 {
                    tokio::time::sleep(PAUSE).await;
                }
                cx.progress(Progress { progress, total: Some(100.0), message: None });
            }
            text_result("Reported three times.")
        }),
    ]
    .map(|made| made.tool())
    .into()
}

/// Returns the tools that change a list: they add an entry and remove it again. Clients are notified, and the list is
/// as before.
pub(crate) fn changing(registry: &Arc<Registry>, prompts: &Arc<Prompts>) -> Vec<Arc<dyn AnyTool>> {
    let registry: Weak<Registry> = Arc::downgrade(registry);
    let prompts = prompts.clone();
    [
        build_tool("test_trigger_tool_change", "Changes the list of tools.", move |_, _| {
            if let Some(registry) = registry.upgrade() {
                let passing =
                    build_tool("test_passing_tool", "Is gone soon.", |_, _| async { text_result("here") }).tool();
                registry.add(passing).expect("it is declared as it must be");
                registry.remove("test_passing_tool");
            }
            async { text_result("Changed.") }
        }),
        build_tool("test_trigger_prompt_change", "Changes the list of prompts.", move |_, _| {
            prompts.add(prompts::passing());
            prompts.remove(prompts::PASSING);
            async { text_result("Changed.") }
        }),
    ]
    .map(|made| made.tool())
    .into()
}
