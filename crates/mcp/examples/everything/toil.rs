//! A tool that takes long, whose calls become jobs.

use std::time::Duration;

use mcp::tool::{Ask, Context, Effect, Progress, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Works for a while.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// For how many seconds.
    seconds: u32,
    /// What to do at the end.
    end: Option<Outcome>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    /// Fail.
    Fail,
    /// Panic.
    Panic,
    /// Ask whether it is enough.
    Ask,
}

/// What was done.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Completion {
    /// In words.
    said: String,
}

/// Whether it is enough.
#[derive(Deserialize, JsonSchema)]
struct Enough {
    /// Whether it is.
    enough: bool,
}

pub(crate) struct Toil;

impl Tool for Toil {
    const NAME: &'static str = "toil";
    const EFFECT: Effect = Effect::WRITE;
    const JOB_AFTER: Option<Duration> = Some(Duration::from_secs(5));
    type Args = Args;
    type Output = Completion;

    async fn call(&self, cx: Context, args: Args) -> Result<Completion, ToolError> {
        for second in 1..=args.seconds {
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
                () = cx.cancelled() => return Ok(Completion { said: "dropped the hammer".to_owned() }),
            }
            let (progress, total) = (second.into(), Some(args.seconds.into()));
            cx.progress(Progress { progress, total, message: Some(format!("hit {second}")) });
        }
        let said = match args.end {
            None => "made a horseshoe".to_owned(),
            Some(Outcome::Fail) => return Err(ToolError::user("the iron is cold")),
            Some(Outcome::Panic) => panic!("a job gave up"),
            Some(Outcome::Ask) => format!(
                "{:?}",
                cx.ask(Ask::form::<Enough>("Is it enough?")).await?.accepted::<Enough>()?.map(|said| said.enough)
            ),
        };
        Ok(Completion { said })
    }

    fn text(output: &Completion) -> String {
        output.said.clone()
    }
}
