//! One tool for each thing a call may do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp::tool::{AnyTool, Context, Effect, LogLevel, Progress, Tool, ToolError, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Returns all these tools.
pub(crate) fn all() -> Vec<Arc<dyn AnyTool>> {
    vec![
        tool(Echo),
        tool(Fail),
        tool(Held),
        tool(Hold),
        tool(Holding),
        tool(Later),
        tool(Log),
        tool(Notify),
        tool(Panic),
        tool(Print),
        tool(Refuse),
        tool(Report),
        tool(Sleep),
        tool(Watch),
    ]
}

/// Takes nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// Takes a text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Text {
    /// The text.
    text: String,
}

/// Takes a number.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Count {
    /// The number.
    count: u32,
}

/// What was done.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Completion {
    /// In words.
    said: String,
}

fn done(said: impl Into<String>) -> Result<Completion, ToolError> {
    Ok(Completion { said: said.into() })
}

/// Most of the declaration is the same for all these tools.
macro_rules! declare {
    ($tool:ident, $name:literal, $args:ty, |$cx:ident, $input:ident| $body:expr) => {
        pub(crate) struct $tool;

        impl Tool for $tool {
            const NAME: &'static str = $name;
            const EFFECT: Effect = Effect::READ;
            type Args = $args;
            type Output = Completion;

            async fn call(&self, $cx: Context, $input: $args) -> Result<Completion, ToolError> {
                $body
            }

            fn text(output: &Completion) -> String {
                output.said.clone()
            }
        }
    };
}

declare!(Echo, "echo", Text, |_cx, args| done(args.text));

declare!(Fail, "fail", Nothing, |_cx, _args| Err(ToolError::internal("the secret disk is on fire")));

declare!(Refuse, "refuse", Nothing, |_cx, _args| {
    Err(ToolError::user("there is no such thing").hint("try echo instead"))
});

/// Calls of `hold` that run, and those that were released.
static HOLDING: AtomicUsize = AtomicUsize::new(0);
static HELD: AtomicUsize = AtomicUsize::new(0);

declare!(Hold, "hold", Nothing, |cx, _args| {
    HOLDING.fetch_add(1, Ordering::SeqCst);
    cx.cancelled().await;
    HOLDING.fetch_sub(1, Ordering::SeqCst);
    HELD.fetch_add(1, Ordering::SeqCst);
    done("let go")
});

declare!(Holding, "holding", Nothing, |_cx, _args| done(HOLDING.load(Ordering::SeqCst).to_string()));

declare!(Held, "held", Nothing, |_cx, _args| done(HELD.load(Ordering::SeqCst).to_string()));

declare!(Later, "later", Text, |cx, args| {
    let (answer, pending) = cx.answer_later();
    std::thread::spawn(move || answer.send(done(args.text)));
    pending.wait().await
});

declare!(Log, "log", Text, |cx, args| {
    cx.log(LogLevel::Debug, "everything", &"hardly worth it");
    cx.log(LogLevel::Warning, "everything", &json!({"text": args.text}));
    done("logged")
});

declare!(Notify, "notify", Count, |cx, args| {
    let taken = (0..args.count).take_while(|n| cx.notify("notifications/everything/said", &json!({"n": n})).is_ok());
    done(format!("{} taken", taken.count()))
});

declare!(Panic, "panic", Nothing, |_cx, _args| panic!("a tool gave up"));

#[allow(clippy::print_stdout)]
async fn print(text: String) -> Result<Completion, ToolError> {
    println!("{text}");
    let child = std::process::Command::new("echo").arg(format!("child: {text}")).status();
    done(format!("printed: {}", child.is_ok()))
}

declare!(Print, "print", Text, |_cx, args| print(args.text).await);

declare!(Report, "report", Count, |cx, args| {
    for step in 1..=args.count {
        let message = Some(format!("step {step}"));
        cx.progress(Progress { progress: step.into(), total: Some(args.count.into()), message });
        tokio::task::yield_now().await;
    }
    done("reported")
});

declare!(Sleep, "sleep", Count, |_cx, args| {
    tokio::time::sleep(Duration::from_millis(args.count.into())).await;
    done("slept")
});

declare!(Watch, "watch", Nothing, |cx, _args| {
    cx.waits(cx.cancelled()).await;
    done("nothing came")
});
