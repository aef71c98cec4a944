//! What a tool is, for the person who writes one: the [`Tool`] trait, its [`Context`], its errors, and the
//! [`Registry`] that serves it. No type here is tied to a protocol revision; `era/` translates.
//!
//! Start with [`Tool`]: one file per tool holds `Args`, `Output`, `impl Tool` and its tests. For a small one there is
//! [`tool_fn`].

mod ask;
mod cancel;
mod check;
mod context;
mod declaration;
mod error;
mod function;
#[cfg(feature = "log-bridge")]
pub(crate) mod log_bridge;
mod registry;
mod repeat;
mod schema;

pub(crate) use ask::ANSWER_TIMEOUT;
pub use ask::{Answers, Ask, AskError, AskResponse};
pub(crate) use cancel::CancelToken;
pub use check::DeclarationError;
pub use context::{Answer, Caller, Context, LogLevel, NotifyError, Peer, Pending, Progress};
pub use declaration::{Declaration, Effect, Example, Outcome};
pub use error::ToolError;
pub use function::tool_fn;
#[cfg(feature = "log-bridge")]
pub use log_bridge::LogBridge;
pub(crate) use registry::wrong_arguments;
pub use registry::{AnyTool, BoxFuture, Registry, tool};
pub use repeat::Repeat;
pub use schema::{Nulls, input_schema, output_schema, trim};

pub use crate::content::{Annotations, Content, Icon, Media, Role, Theme};

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

/// One tool, declared once. Listing, argument checks, help, completion and documentation derive from it.
///
/// The doc comment of `Args` is the description that models read; the doc comment of each field is that argument's.
pub trait Tool: Send + Sync + 'static {
    /// The name on the wire: 1–128 characters of `A-Za-z0-9_-.` (MCP 2025-11-25, "Tool names").
    const NAME: &'static str;
    /// A short title for people; empty for none.
    const TITLE: &'static str = "";
    /// What the tool does to the world. MCP's annotations derive from it.
    const EFFECT: Effect;
    /// Whether results carry structured content and the listing an output schema, as far as the output is an object: a
    /// text or a number is not. Tools whose whole result is their text (those that imitate another system) say `false`.
    const STRUCTURED: bool = true;

    /// Whether it may ask the person who calls ([`Context::ask`]). Its schemas tell then how to answer where the client
    /// has no other way: an argument `resume`, and structured content of `{state, result?, ask?}`.
    const ASKS: bool = false;

    /// After how long a call of it goes on as a job, where the server has those
    /// ([`Server::jobs`](crate::server::Server::jobs)); never by default. Its structured content is of
    /// `{state, result?, job?}` then.
    const JOB_AFTER: Option<Duration> = None;

    /// Whether a call without a handshake (2026-07-28) needs a client that knows tasks, because no request could be held
    /// until it is done; other clients hear which capability they lack. For tools with [`Tool::JOB_AFTER`].
    const TASKS_ONLY: bool = false;

    /// How a call may be made again whose answer was lost. Nothing of it is told by MCP; it is for who serves the tool.
    const REPEAT: Repeat = Repeat::UNKNOWN;

    /// The arguments. Unknown fields must be denied (`#[serde(deny_unknown_fields)]`).
    type Args: DeserializeOwned + JsonSchema + Send;
    /// The full form of the result: the structured content.
    type Output: Serialize + JsonSchema + Send;

    /// Does the work. Errors become results a model can act on, never protocol errors.
    ///
    /// It is polled first by the connection itself, so that quick calls cost no task: it must not block its thread,
    /// least of all before its first `await`. What it must not lose when it is dropped (its client cancelled and
    /// waited, or went away) it keeps outside of itself.
    fn call(&self, cx: Context, args: Self::Args) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;

    /// The compact form of the result, for a model's context: a text as it is, everything else as JSON, unless the tool
    /// knows better.
    fn text(output: &Self::Output) -> String {
        registry::plain(output)
    }

    /// What a model reads: the compact form, and pictures, sounds and resources where there are any. Never empty.
    fn content(output: &Self::Output) -> Vec<Content> {
        vec![Content::Text(Self::text(output))]
    }

    /// Pictures that stand for the tool.
    fn icons() -> Vec<Icon> {
        Vec::new()
    }

    /// Calls that show the tool; they are tests and documentation.
    fn examples() -> Vec<Example> {
        Vec::new()
    }

    /// Hints for particular clients, sent as the declaration's `_meta`.
    fn meta() -> Option<serde_json::Map<String, serde_json::Value>> {
        None
    }
}
