//! `get_syntax_help`: a short description of the language, by topic.

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The topics with their names and texts, in reading order.
pub(crate) const TOPICS: &[(Topic, &str, &str)] = &[
    (Topic::Modules, "modules", include_str!("../../help/modules.md")),
    (Topic::Functions, "functions", include_str!("../../help/functions.md")),
    (Topic::Expressions, "expressions", include_str!("../../help/expressions.md")),
    (Topic::Types, "types", include_str!("../../help/types.md")),
    (Topic::Refinements, "refinements", include_str!("../../help/refinements.md")),
    (Topic::Records, "records", include_str!("../../help/records.md")),
    (Topic::PatternMatching, "pattern_matching", include_str!("../../help/pattern_matching.md")),
    (Topic::Typeclasses, "typeclasses", include_str!("../../help/typeclasses.md")),
    (Topic::Fsm, "fsm", include_str!("../../help/fsm.md")),
    (Topic::Operators, "operators", include_str!("../../help/operators.md")),
];

/// A topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Topic {
    /// Modules, exports, imports.
    Modules,
    /// Functions, clauses, guards.
    Functions,
    /// if, let, blocks, interpolation.
    Expressions,
    /// Types and their names.
    Types,
    /// Conditions on values, and what can be proved.
    Refinements,
    /// Records.
    Records,
    /// State machines.
    Fsm,
    /// Classes and traits.
    Typeclasses,
    /// Matches and patterns.
    PatternMatching,
    /// Operators and how strongly they bind.
    Operators,
    /// Everything.
    All,
}

/// Show the syntax of Cure by topic, in short, with programs that compile.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The topic.
    pub topic: Topic,
}

/// The text.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Markdown.
    pub text: String,
}

pub(super) struct GetSyntaxHelp;

impl Tool for GetSyntaxHelp {
    const NAME: &'static str = "get_syntax_help";
    const TITLE: &'static str = "Cure syntax";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, _: Context, args: Args) -> Result<Output, ToolError> {
        let wanted = |topic: &Topic| args.topic == Topic::All || *topic == args.topic;
        let chosen = TOPICS.iter().filter(|(topic, ..)| wanted(topic));
        let texts: Vec<_> = chosen.map(|(_, name, text)| format!("# {name}\n\n{text}")).collect();
        Ok(Output { text: texts.join("\n") })
    }

    fn text(output: &Output) -> String {
        output.text.clone()
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "State machines", arguments: json!({ "topic": "fsm" }), text: None }]
    }
}
