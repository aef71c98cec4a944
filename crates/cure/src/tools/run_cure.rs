//! `run_cure`: runs a function in the interpreter, within limits, off the daemon's own threads.

use std::path::PathBuf;
use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{defined, load, modules};
use crate::answer::Room;
use crate::part::{Cure, Modules, RunLimits};
use crate::report::{self, Diagnosis, diagnose};
use crate::run::{Outcome, Request, run};
use crate::{Failure, Limits, Run, Stop, Watched};

/// Stack size of a run's thread, in bytes. The interpreter keeps a separate stack for the program.
const STACK: usize = 16 << 20;

/// Run a function of a Cure program in the interpreter: no files, no network, no processes; clocks are virtual. Returns
/// its value and output, and on request a trace of its calls or a profile. Steps, memory and time are limited.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The Cure code; or give `file_path`.
    pub code: Option<String>,
    /// A file of the project, relative to its root.
    pub file_path: Option<PathBuf>,
    /// The exported function, with its module before it where several have it: `main`, `Shapes.area`. Default: main.
    pub function: Option<String>,
    /// Its arguments, each an expression of Cure: `3`, `"text"`, `Circle(2)`.
    pub args: Option<Vec<String>>,
    /// Include the calls of the program's own functions. Default: false.
    pub trace: Option<bool>,
    /// Count calls and steps by function. Default: false.
    pub profile: Option<bool>,
}

/// Result of the run.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// True if the run completed.
    pub ok: bool,
    /// Its value, as Erlang writes it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<String>,
    /// Reason for a missing value.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failure: Option<String>,
    /// Text printed by the program.
    pub output: String,
    /// How many steps the interpreter did.
    pub steps: u64,
    /// The first 500 calls, indented below their callers, with their results.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub trace: Vec<String>,
    /// Calls and steps by function, the most steps first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub profile: Vec<Line>,
    /// Parts omitted from the answer for their size, and the next call that returns them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub left_out: Option<String>,
    /// Errors of the program, where it has any; then nothing ran.
    #[serde(flatten)]
    pub said: Diagnosis,
}

/// One function of a profile.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Line {
    /// The function.
    pub function: String,
    /// How often it was called.
    pub calls: u64,
    /// How many steps were its own.
    pub steps: u64,
}

pub(super) struct RunCure(pub Arc<Cure>);

impl Tool for RunCure {
    const NAME: &'static str = "run_cure";
    const TITLE: &'static str = "Run Cure";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let limits = allowed(&self.0)?;
        let (code, _) = load(&cx, args.code, args.file_path.as_deref())?;
        let stop = Stop::default();
        let request = Request {
            function: args.function.unwrap_or_else(|| "main".to_owned()),
            args: args.args.unwrap_or_default(),
            limits,
            stop: stop.clone(),
            watched: Watched { trace: args.trace.unwrap_or(false), profile: args.profile.unwrap_or(false) },
        };
        let modules = modules(&self.0, &cx);
        let ran = self.0.turn(&cx).await;
        let outcome = run_on_thread(&cx, stop, move || {
            let outcome = outcome(&code, &modules, &request);
            drop(ran);
            outcome
        });
        outcome.await?
    }

    fn text(output: &Output) -> String {
        if !output.said.is_ok() {
            return report::titled_diagnostics("✗ The program has errors; nothing ran", &output.said);
        }
        let mut text = output.output.clone();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        match (&output.value, &output.failure) {
            (Some(value), _) => text.push_str(&format!("⇒ {value}\n")),
            (None, failure) => text.push_str(&format!("✗ {}\n", failure.as_deref().unwrap_or("no value"))),
        }
        text.push_str(&format!("({} steps)", output.steps));
        if !output.trace.is_empty() {
            text.push_str(&format!("\n\nTrace:\n{}", output.trace.join("\n")));
        }
        if !output.profile.is_empty() {
            text.push_str("\n\nProfile (steps, calls, function):");
            for line in &output.profile {
                text.push_str(&format!("\n{:>12} {:>9} {}", line.steps, line.calls, line.function));
            }
        }
        if let Some(left_out) = &output.left_out {
            text.push_str(&format!("\n\n… left out: {left_out}"));
        }
        text
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({
            "code": "module T do\n  def double(n: Int): Int = 2 * n\nend",
            "function": "double",
            "args": ["21"],
        });
        vec![Example { title: "A function with an argument", arguments, text: None }]
    }
}

/// The limits of a run. If runs are not enabled, the error says how to enable them.
pub(super) fn allowed(cure: &Cure) -> Result<Limits, ToolError> {
    let Some(RunLimits { steps, memory, time }) = cure.options().run else {
        return Err(ToolError::user("Running programs is not enabled here.").hint(
            "Put `[cure]` and below it `run = true` into hob.toml, or into your own ~/.config/hob/config.toml; then \
             `hob stop`, and the next call starts a daemon that reads it.",
        ));
    };
    let memory = usize::try_from(memory).unwrap_or(usize::MAX);
    Ok(Limits { steps, memory, time: Some(time), ..Limits::default() })
}

/// Runs a job on its own thread. If the call is cancelled, the job is told to stop and not waited for.
pub(super) async fn run_on_thread<T: Send + 'static>(
    cx: &Context,
    stop: Stop,
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    let (done, waits) = tokio::sync::oneshot::channel();
    let thread = std::thread::Builder::new().name("cure-run".to_owned()).stack_size(STACK);
    let started = thread.spawn(move || {
        // The caller may have stopped waiting.
        let _ = done.send(job());
    });
    started.map_err(ToolError::internal)?;
    tokio::select! {
        result = waits => result.map_err(ToolError::internal),
        () = cx.cancelled() => {
            stop.stop();
            Err(ToolError::user("The run was cancelled."))
        }
    }
}

fn outcome(code: &str, modules: &Modules, request: &Request) -> Result<Output, ToolError> {
    let nothing = Output {
        ok: false,
        value: None,
        failure: None,
        output: String::new(),
        steps: 0,
        trace: Vec::new(),
        profile: Vec::new(),
        left_out: None,
        said: Diagnosis::default(),
    };
    let mut room = Room::new();
    match run(code, modules, request) {
        Outcome::Ran(ran) => Ok(Output { ok: ran.result.is_ok(), ..output(ran, nothing) }),
        Outcome::Refused(diagnostics) => {
            Ok(Output { said: diagnose(&diagnostics, code, &mut room, RunCure::NAME), ..nothing })
        }
        Outcome::Faulty(names) => {
            let names = names.iter().take(20).cloned().collect::<Vec<_>>().join(", ");
            let failure = format!("the program uses modules that have errors: {names}; check_project shows them");
            Ok(Output { failure: Some(failure), ..nothing })
        }
        Outcome::NoFunction(there) => {
            let (function, arity) = (&request.function, request.args.len());
            let error = ToolError::user(format!(
                "The program exports no `{function}/{arity}`: no function of that name with that many arguments."
            ));
            Err(error.hint(defined(there)))
        }
        Outcome::Arguments(reasons) => {
            let error = ToolError::user(format!("The arguments do not fit `{}`.", request.function));
            let error = reasons.into_iter().fold(error, ToolError::hint);
            Err(error.hint("Each argument is an expression of Cure: a text is written with its quotes, \"…\"."))
        }
    }
}

/// Maximum size of a value, of the output and of a trace, in bytes. The profile gets the rest.
const MOST_VALUE: usize = 14_000;

/// The lines of a profile that are told.
const MOST_PROFILE: usize = 100;

fn output(ran: Run, rest: Output) -> Output {
    let mut room = Room::new();
    let mut left = Vec::new();
    let mut begin = |room: &mut Room, what: &str, text: String| {
        let bytes = text.len();
        let mut share = room.share(MOST_VALUE);
        let (text, whole) = share.beginning(text);
        room.rest(share);
        if !whole {
            left.push(format!("{} of the {bytes} bytes of {what}", bytes - text.len()));
        }
        text
    };
    let (value, failure) = match ran.result {
        Ok(value) => (Some(begin(&mut room, "the value", value)), None),
        Err(failure) => (None, Some(begin(&mut room, "the failure", explained(&failure)))),
    };
    let output = begin(&mut room, "the output", ran.output);
    let mut share = room.share(MOST_VALUE);
    let lines = ran.trace.len();
    let trace = share.first(ran.trace);
    room.rest(share);
    if trace.len() < lines {
        left.push(format!("{} of the {lines} lines of the trace", lines - trace.len()));
    }
    let line = |one: crate::Spent| Line { function: one.function, calls: one.calls, steps: one.steps };
    let functions = ran.profile.len();
    let profile = room.first(ran.profile.into_iter().take(MOST_PROFILE).map(line).collect());
    if profile.len() < functions {
        left.push(format!("{} of the {functions} functions of the profile", functions - profile.len()));
    }
    let left_out = (!left.is_empty()).then(|| {
        format!(
            "{}. Call run_cure with `function` and `args` for a part, or let the program give less.",
            left.join(", ")
        )
    });
    Output { value, failure, output, steps: ran.steps, trace, profile, left_out, ..rest }
}

/// The text of a failure. For a limit, it names the setting.
pub(super) fn explained(failure: &Failure) -> String {
    let setting = match failure {
        Failure::Limit { what: "steps", .. } => "cure.run_steps",
        Failure::Limit { what: "bytes of memory", .. } => "cure.run_memory",
        Failure::Limit { what: "seconds", .. } => "cure.run_seconds",
        _ => return failure.to_string(),
    };
    format!("{failure}; {setting} in the configuration is the limit")
}
