//! `generate_tests`: writes a test module for a function.

use std::path::PathBuf;
use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::run_cure::{allowed, run_on_thread};
use super::{defined, load, modules};
use crate::Stop;
use crate::answer::Room;
use crate::cases::{NoCases, cases};
use crate::part::Cure;
use crate::report::{self, Diagnosis, diagnose};

/// Write a test module for a function. Arguments come from its types, refinements and constants. Expected values are
/// its current results, so it runs where run_cure may. The module's main/0 returns the failed cases as texts, or an
/// empty list. Calls that raise errors are reported.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The Cure code; or give `file_path`.
    pub code: Option<String>,
    /// A file of the project, relative to its root.
    pub file_path: Option<PathBuf>,
    /// The exported function: `area`, `area/1` or `Shapes.area`.
    pub function: String,
}

/// The test module.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// True if a test module was written.
    pub ok: bool,
    /// Its name.
    pub module: String,
    /// Its code. It imports the module that it tests.
    pub code: String,
    /// How many cases it has.
    pub cases: usize,
    /// Calls that raise an error, do not end within a second or give too large a value, and why; they are no cases.
    pub raise: Vec<String>,
    /// How many more such calls and cases are left out, because they do not fit into an answer.
    pub left_out: usize,
    /// Errors of the program. If there are any, no test module is written.
    #[serde(flatten)]
    pub said: Diagnosis,
}

pub(super) struct GenerateTests(pub Arc<Cure>);

impl Tool for GenerateTests {
    const NAME: &'static str = "generate_tests";
    const TITLE: &'static str = "Generate Cure tests";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let limits = allowed(&self.0)?;
        let (code, _) = load(&cx, args.code, args.file_path.as_deref())?;
        let modules = modules(&self.0, &cx);
        let turn = self.0.turn(&cx).await;
        let stop = Stop::default();
        let made = run_on_thread(&cx, stop.clone(), move || {
            let made = output(&code, cases(&code, &modules, &args.function, limits, &stop), &args.function);
            drop(turn);
            made
        });
        made.await?
    }

    fn text(output: &Output) -> String {
        if !output.ok {
            return report::titled_diagnostics("✗ The program has errors; there is nothing to test", &output.said);
        }
        let mut text = output.code.clone();
        if !output.raise.is_empty() {
            text.push_str(&format!("\n{} calls are no cases:\n{}\n", output.raise.len(), output.raise.join("\n")));
        }
        if output.left_out > 0 {
            text.push_str(&format!(
                "\n… {} more cases and calls are left out; add cases like these\n",
                output.left_out
            ));
        }
        text
    }

    fn examples() -> Vec<Example> {
        let code = "module T do\n  def half(n: Int, by: {d: Int | d > 0}): Int = n / by\nend";
        let arguments = json!({ "code": code, "function": "half" });
        vec![Example { title: "A function with a refinement", arguments, text: None }]
    }
}

fn output(code: &str, made: Result<crate::cases::Cases, NoCases>, function: &str) -> Result<Output, ToolError> {
    match made {
        Ok(made) => {
            let mut room = Room::new();
            room.takes(&made.code);
            let count = made.raise.len();
            let raise = room.first(made.raise);
            Ok(Output {
                ok: true,
                module: made.module,
                code: made.code,
                cases: made.count,
                left_out: made.left_out + count - raise.len(),
                raise,
                said: Diagnosis::default(),
            })
        }
        Err(NoCases::Refused(diagnostics)) => Ok(Output {
            ok: false,
            module: String::new(),
            code: String::new(),
            cases: 0,
            raise: Vec::new(),
            left_out: 0,
            said: diagnose(&diagnostics, code, &mut Room::new(), GenerateTests::NAME),
        }),
        Err(NoCases::NoFunction(there)) => {
            let function: String = function.chars().take(300).collect();
            let error = ToolError::user(format!("The program exports no function `{function}`."));
            Err(error.hint(defined(there)))
        }
        Err(NoCases::NoArguments(why)) => Err(ToolError::user(format!("There is no case for `{function}`: {why}."))
            .hint("Write the cases yourself, or give the function a type whose values can be written as expressions.")),
    }
}
