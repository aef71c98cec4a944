//! The MCP prompts for Cure. Each attaches the parts of the documentation that a model needs for its task.

use std::sync::Arc;

use mcp::prompt::{AnyPrompt, Message, Prompt, prompt};
use mcp::resource::Contents;
use mcp::tool::{Content, Context, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Room;
use crate::part::Cure;
use crate::report::{diagnose, text};
use crate::resources::Shelf;
use crate::tools::checked;

pub fn prompts(cure: &Arc<Cure>) -> [Arc<dyn AnyPrompt>; 3] {
    [prompt(WriteModule), prompt(WriteStateMachine), prompt(FixErrors(cure.clone()))]
}

/// How to work, for every task.
const LOOP: &str = "Check what you write with type_check_cure until it passes without errors, and mind its warnings; \
                    format it with format_cure. Where run_cure is enabled, run it. get_stdlib_docs documents the \
                    library; do not guess names of functions.";

/// Messages with parts of the syntax help and examples attached.
fn reading(topics: &[&str], examples: &[&str]) -> Vec<Message> {
    let topics = topics.iter().filter_map(|topic| Shelf::Syntax.contents(topic));
    let examples = examples.iter().filter_map(|name| Shelf::Examples.contents(name));
    topics.chain(examples).map(attached).collect()
}

fn attached(contents: Contents) -> Message {
    Message::user(Content::Resource(contents))
}

/// Write a module in Cure.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Module {
    /// Purpose of the module.
    purpose: String,
    /// Its name, such as Geometry.Shapes.
    name: Option<String>,
}

struct WriteModule;

impl Prompt for WriteModule {
    const NAME: &'static str = "cure_write_module";
    const TITLE: &'static str = "Write a Cure module";
    type Args = Module;

    async fn get(&self, _: Context, args: Module) -> Result<Vec<Message>, ToolError> {
        let name = args.name.map(|name| format!(" named {name}")).unwrap_or_default();
        let task = format!(
            "Write a module{name} in the language Cure that does this:\n\n{}\n\nExpress constraints as types: \
             refinements for allowed values, lengths for lists, sums for cases. The compiler then checks the callers. \
             {LOOP}",
            args.purpose
        );
        let mut messages = reading(&["modules", "functions", "types", "pattern_matching"], &["refinements"]);
        messages.push(Message::user(task));
        Ok(messages)
    }
}

/// Write a state machine in Cure.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StateMachine {
    /// Purpose of the machine: its states, and the events that change them.
    purpose: String,
}

struct WriteStateMachine;

impl Prompt for WriteStateMachine {
    const NAME: &'static str = "cure_write_state_machine";
    const TITLE: &'static str = "Write a Cure state machine";
    type Args = StateMachine;

    async fn get(&self, _: Context, args: StateMachine) -> Result<Vec<Message>, ToolError> {
        let task = format!(
            "Write a state machine in the language Cure that does this:\n\n{}\n\nLook at it with analyze_fsm: no \
             state may be unreachable, no state may be an unintended dead end (mark an intended one `terminal`), and \
             no event may have two targets. Show its Mermaid diagram. {LOOP}",
            args.purpose
        );
        let mut messages = reading(&["fsm"], &["turnstile", "lamp"]);
        messages.push(Message::user(task));
        Ok(messages)
    }
}

/// Explain the errors of a program in Cure, and fix them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Errors {
    /// The Cure code.
    code: String,
}

struct FixErrors(Arc<Cure>);

impl Prompt for FixErrors {
    const NAME: &'static str = "cure_fix_errors";
    const TITLE: &'static str = "Explain and fix errors in Cure";
    type Args = Errors;

    async fn get(&self, cx: Context, args: Errors) -> Result<Vec<Message>, ToolError> {
        let (diagnostics, code) = checked(&self.0, &cx, args.code).await?;
        let found = text(&diagnose(&diagnostics, &code, &mut Room::new(), "type_check_cure"));
        let found = if found.is_empty() { "It finds nothing.".to_owned() } else { found };
        let task = format!(
            "This is what the compiler says about the program above, as line:column, severity, code and message:\n\n\
             {found}\n\nExplain each in a sentence or two: what it means here, and why the compiler cannot let it pass. \
             Then fix the program with the smallest changes that keep what it is meant to do; do not weaken a type only to \
             silence an error. {LOOP}"
        );
        let program = Contents::text("cure://program", "text/plain", code);
        Ok(vec![attached(program), Message::user(task)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    fn texts(messages: &[Message]) -> String {
        messages.iter().map(|message| format!("{:?}\n", message.content)).collect()
    }

    #[tokio::test]
    async fn what_they_bring_along_is_there() {
        let cx = || Context::detached(Arc::new(()));
        let module = Module { purpose: "sorts names".into(), name: Some("Names".into()) };
        let said = texts(&WriteModule.get(cx(), module).await.unwrap());
        for part in ["named Names", "sorts names", "cure://syntax/types", "cure://examples/refinements", "module "] {
            assert!(said.contains(part), "{part}");
        }
        let machine = StateMachine { purpose: "a door".into() };
        let said = texts(&WriteStateMachine.get(cx(), machine).await.unwrap());
        assert!(said.contains("a door") && said.contains("fsm Turnstile") && said.contains("analyze_fsm"), "{said}");
        let fix = FixErrors(Cure::new(Options::default()));
        let code = "module T do\n  def f(): Int = \"x\"\nend\n".to_owned();
        let said = texts(&fix.get(cx(), Errors { code }).await.unwrap());
        assert!(said.contains("2:18 error C0301: expected Int, found String"), "{said}");
    }
}
