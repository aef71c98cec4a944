//! The tools by which a client without the tasks extension reaches its jobs: `job_wait`, `job_read`, `job_cancel`.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::jobs::{Job, Jobs, Status};
use crate::tool::{AnyTool, BoxFuture, Context, Declaration, Effect, Outcome, ToolError, input_schema};

/// Seconds that `job_wait` waits by default: less than impatient clients wait.
const DEFAULT_WAIT: u64 = 20;

/// Seconds that `job_wait` waits at most.
const MAX_WAIT: u64 = 600;

/// Waits for a job that an earlier call started, and returns its result, or its state if it still runs.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WaitArgs {
    /// The job's id.
    id: String,
    /// Timeout in seconds (default 20, at most 600).
    seconds: Option<u64>,
}

/// Returns the state of a job without waiting, with its result if it is done.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadArgs {
    /// The job's id.
    id: String,
}

/// Ends a job that an earlier call started.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CancelArgs {
    /// The job's id.
    id: String,
}

/// Their names.
pub const NAMES: [&str; 3] = ["job_wait", "job_read", "job_cancel"];

/// Returns all three tools.
pub(super) fn all(jobs: &Arc<Jobs>) -> [Arc<dyn AnyTool>; 3] {
    let read = Effect::READ;
    let cancel = Effect::DESTRUCTIVE.idempotent();
    [
        JobTool::declare::<WaitArgs>("job_wait", read, Kind::Wait, jobs),
        JobTool::declare::<ReadArgs>("job_read", read, Kind::Read, jobs),
        JobTool::declare::<CancelArgs>("job_cancel", cancel, Kind::Cancel, jobs),
    ]
}

#[derive(Clone, Copy)]
enum Kind {
    Wait,
    Read,
    Cancel,
}

struct JobTool {
    declaration: Declaration,
    kind: Kind,
    jobs: Arc<Jobs>,
}

impl JobTool {
    fn declare<A: JsonSchema>(name: &str, effect: Effect, kind: Kind, jobs: &Arc<Jobs>) -> Arc<dyn AnyTool> {
        let (description, input_schema) = input_schema::<A>();
        // A job's result is its tool's, so the output schema is unknown.
        let declaration = Declaration::new(name, description, input_schema, effect);
        Arc::new(JobTool { declaration, kind, jobs: jobs.clone() })
    }

    async fn run(&self, cx: Context, arguments: &str) -> Outcome {
        let (id, wait) = match self.kind {
            Kind::Wait => match self.read::<WaitArgs>(arguments) {
                Ok(args) => (args.id, args.seconds.unwrap_or(DEFAULT_WAIT).min(MAX_WAIT)),
                Err(wrong) => return wrong,
            },
            Kind::Read => match self.read::<ReadArgs>(arguments) {
                Ok(args) => (args.id, 0),
                Err(wrong) => return wrong,
            },
            Kind::Cancel => match self.read::<CancelArgs>(arguments) {
                Ok(args) => (args.id, 0),
                Err(wrong) => return wrong,
            },
        };
        let Some(job) = self.jobs.get(&id, &cx.principal()) else {
            return Outcome::error(format!(
                "unknown or expired job {id:?}: a result is kept for an hour, and lost when the server restarts"
            ));
        };
        if matches!(self.kind, Kind::Cancel) && !job.is_over() {
            job.cancel();
            return Outcome::text(format!("job {id} ({}) was ended", job.tool));
        }
        cx.waits(wait_for(&job, &cx, Duration::from_secs(wait))).await;
        job_outcome(&job)
    }

    fn read<A: DeserializeOwned>(&self, arguments: &str) -> Result<A, Outcome> {
        serde_json::from_str(arguments).map_err(|error| {
            let error = error.to_string();
            let problem = error.split(" at line ").next().unwrap_or_default().to_owned();
            crate::tool::wrong_arguments(&self.declaration, &problem)
        })
    }
}

impl AnyTool for JobTool {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn call(self: Arc<Self>, cx: Context, arguments: Option<&RawValue>) -> BoxFuture<Result<Outcome, ToolError>> {
        let arguments = arguments.map_or("{}", RawValue::get).to_owned();
        Box::pin(async move { Ok(self.run(cx, &arguments).await) })
    }
}

/// Waits until the job is over, at most for `longest`. Its progress is reported as the waiting call's.
async fn wait_for(job: &Job, cx: &Context, longest: Duration) {
    let mut changes = job.changes();
    let over = async {
        while !job.is_over() {
            if let Status::Working(Some(progress)) = job.status() {
                cx.progress(progress);
            }
            if changes.changed().await.is_err() {
                break;
            }
        }
    };
    tokio::select! {
        () = over => {}
        () = tokio::time::sleep(longest) => {}
        () = cx.cancelled() => {}
    }
}

/// Returns the state of a job as a tool's result.
fn job_outcome(job: &Job) -> Outcome {
    match job.status() {
        Status::Done(outcome) => Outcome::clone(&outcome),
        Status::Failed(error) => Outcome::error(error.message),
        Status::Cancelled => Outcome::error(format!("job {} ({}) was ended before it was done", job.id, job.tool)),
        Status::Asking(_) => Outcome::text(format!("job {} ({}) waits for an answer from the user", job.id, job.tool)),
        Status::Working(progress) => {
            let elapsed = job.began.elapsed().as_secs();
            let mut text = format!("job {} ({}) still runs, {elapsed} s so far", job.id, job.tool);
            if let Some(progress) = progress {
                text.push_str(&format!("; {}", progress.progress));
                text.extend(progress.total.map(|total| format!(" of {total}")));
                text.extend(progress.message.map(|message| format!(": {message}")));
            }
            text.push_str(&format!("\nCall job_wait {{\"id\":\"{}\"}} for its result, job_cancel to end it.", job.id));
            Outcome::text(text)
        }
    }
}
