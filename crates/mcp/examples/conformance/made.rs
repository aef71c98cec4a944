//! Tools made at run time of a declaration and a function, like tools that come from a file.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{AnyTool, Asks, Content, Context, Declaration, Effect, Outcome, ToolError};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

type Work = Pin<Box<dyn Future<Output = Result<Vec<Content>, ToolError>> + Send>>;

/// The arguments of a call, by name.
pub(crate) type Arguments = Map<String, Value>;

/// A tool to be built.
pub(crate) struct BuiltTool {
    declaration: Declaration,
    run: Box<dyn Fn(Context, Arguments) -> Work + Send + Sync>,
}

/// Returns a tool of that name without arguments.
pub(crate) fn build_tool<F, Fut>(name: &str, description: &str, run: F) -> BuiltTool
where
    F: Fn(Context, Arguments) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Vec<Content>, ToolError>> + Send + 'static,
{
    let declaration = Declaration::new(name, description, json!({"type": "object"}), Effect::READ);
    BuiltTool { declaration, run: Box::new(move |cx, arguments| Box::pin(run(cx, arguments))) }
}

impl BuiltTool {
    /// Sets the arguments.
    pub(crate) fn takes(mut self, input_schema: Value) -> BuiltTool {
        self.declaration.input_schema = input_schema;
        self
    }

    /// Lets the tool ask.
    pub(crate) fn asks(mut self) -> BuiltTool {
        self.declaration.asks = Asks::Person;
        // For clients that cannot be asked: the result says how to answer by it.
        self.declaration.input_schema["properties"]["resume"] =
            json!({"type": "object", "description": "Only to answer a question that an earlier call ended with."});
        self
    }

    /// Lets a call that is not done at once become a task.
    pub(crate) fn with_task(mut self) -> BuiltTool {
        self.declaration.job_after = Some(Duration::ZERO);
        self
    }

    /// Requires clients that know tasks.
    pub(crate) fn only_as_task(mut self) -> BuiltTool {
        self.declaration.tasks_only = true;
        self.with_task()
    }

    /// Builds the tool.
    pub(crate) fn tool(self) -> Arc<dyn AnyTool> {
        Arc::new(self)
    }
}

impl AnyTool for BuiltTool {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn call(
        self: Arc<Self>,
        cx: Context,
        arguments: Option<&RawValue>,
    ) -> Pin<Box<dyn Future<Output = Result<Outcome, ToolError>> + Send>> {
        let arguments = arguments.map_or_else(|| Ok(Arguments::new()), |raw| serde_json::from_str(raw.get()));
        Box::pin(async move {
            let Ok(arguments) = arguments else { return Ok(Outcome::error("the arguments must be an object")) };
            let content = (self.run)(cx, arguments).await?;
            Ok(Outcome { content, ..Outcome::text("") })
        })
    }
}

/// Returns a result of one text.
pub(crate) fn text_result(text: impl Into<String>) -> Result<Vec<Content>, ToolError> {
    Ok(vec![Content::text(text)])
}

/// Returns a string argument; empty if absent.
pub(crate) fn text<'a>(arguments: &'a Arguments, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}
