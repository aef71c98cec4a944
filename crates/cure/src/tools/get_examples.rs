//! `get_examples`: example programs, embedded in the binary.

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The examples: category, name and text.
pub(crate) const EXAMPLES: &[(Category, &str, &str)] = &[
    (Category::Basics, "shapes", include_str!("../../examples/basics_shapes.cure")),
    (Category::Basics, "refinements", include_str!("../../examples/basics_refinements.cure")),
    (Category::Fsm, "turnstile", include_str!("../../examples/fsm_turnstile.cure")),
    (Category::Fsm, "lamp", include_str!("../../examples/fsm_lamp.cure")),
    (Category::Typeclasses, "describe", include_str!("../../examples/typeclasses_describe.cure")),
    (Category::Typeclasses, "derive", include_str!("../../examples/typeclasses_derive.cure")),
    (Category::Advanced, "vectors", include_str!("../../examples/advanced_vectors.cure")),
    (Category::Advanced, "pipeline", include_str!("../../examples/advanced_pipeline.cure")),
];

/// A kind of examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Category {
    /// Functions, types, matches, refinements.
    Basics,
    /// State machines.
    Fsm,
    /// Classes of types.
    Typeclasses,
    /// Lengths, pipes.
    Advanced,
    /// All of them.
    All,
}

/// Show example programs in Cure. Each is a whole module that compiles and has a `main/0`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The category.
    pub category: Category,
}

/// The programs.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// In order.
    pub examples: Vec<Program>,
}

/// One program.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Program {
    /// Its name.
    pub name: String,
    /// Its category.
    pub category: Category,
    /// Its text.
    pub code: String,
}

pub(super) struct GetExamples;

impl Tool for GetExamples {
    const NAME: &'static str = "get_examples";
    const TITLE: &'static str = "Cure examples";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, _: Context, args: Args) -> Result<Output, ToolError> {
        let wanted = |category: &Category| args.category == Category::All || *category == args.category;
        let chosen = EXAMPLES.iter().filter(|(category, ..)| wanted(category));
        let program = |(category, name, code): &(Category, &str, &str)| Program {
            name: (*name).to_owned(),
            category: *category,
            code: (*code).to_owned(),
        };
        Ok(Output { examples: chosen.map(program).collect() })
    }

    fn text(output: &Output) -> String {
        let one = |program: &Program| format!("=== {} ===\n{}", program.name, program.code);
        output.examples.iter().map(one).collect::<Vec<_>>().join("\n")
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "State machines", arguments: json!({ "category": "fsm" }), text: None }]
    }
}
