//! Tools, for their authors: the [`Tool`] trait, its [`Context`], its errors, and the [`Registry`] that serves it. No
//! type here is tied to a protocol revision; `era/` translates.
//!
//! Start with [`Tool`]: one file per tool holds `Args`, `Output`, `impl Tool` and its tests. [`tool_fn`] makes a small
//! tool of a function.

mod ask;
mod cancel;
mod check;
mod context;
mod declaration;
mod did_you_mean;
mod error;
mod function;
#[cfg(feature = "log-bridge")]
pub(crate) mod log_bridge;
mod named_questions;
mod peer;
pub(crate) mod portable;
mod registry;
mod repeat;
mod schema;
mod typed_tool;
mod wrapper;

pub(crate) use ask::ANSWER_TIMEOUT;
pub use ask::{Answers, Ask, AskError, AskResponse, Asks};
pub(crate) use cancel::CancelToken;
pub use check::DeclarationError;
pub(crate) use context::About;
pub use context::{Answer, Caller, Client, Context, LogLevel, Pending, Progress};
pub use declaration::{Declaration, Effect, Example, Outcome};
pub use did_you_mean::nearest;
pub use error::ToolError;
pub use function::{ToolFn, tool_fn};
#[cfg(feature = "log-bridge")]
pub use log_bridge::LogBridge;
pub use named_questions::{NamedAsk, Resumed};
pub use peer::{NotifyError, Peer};
pub use registry::{AnyTool, BoxFuture, Registry};
pub use repeat::Repeat;
pub(crate) use schema::takes_nothing;
pub use schema::{Nulls, UNLISTED, input_schema, output_schema, trim};
pub use typed_tool::{tool, wrong_arguments};
pub use wrapper::{Case, wrapped};

pub use crate::content::{Annotations, Content, Icon, Media, Role, Theme};

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

/// One tool, declared once. Listing, argument checks, help, completion and documentation derive from it.
///
/// The doc comment of `Args` is the description that models read, and that of each field describes the argument.
pub trait Tool: Send + Sync + 'static {
    /// The name on the wire: 1–128 characters of `A-Za-z0-9_-.` (MCP 2025-11-25, "Tool names").
    const NAME: &'static str;
    /// A short title for people; empty for none.
    const TITLE: &'static str = "";
    /// The description that models read, instead of the doc comment of `Args`; empty for that comment.
    const DESCRIPTION: &'static str = "";
    /// The tool's effect on the world, from which MCP's annotations derive.
    const EFFECT: Effect;
    /// True if results carry structured content and the listing an output schema, if the output is an object. `false`
    /// for tools whose whole result is their text, such as those that imitate another system.
    const STRUCTURED: bool = true;

    /// The person or program that a call may ask ([`Context::ask`]), which also decides the schemas: see [`Asks`].
    const ASKS: Asks = Asks::Never;

    /// After how long a call becomes a job, if the server has jobs ([`Server::jobs`](crate::server::Server::jobs));
    /// never by default. The structured content is then `{state, result?, job?}`.
    const JOB_AFTER: Option<Duration> = None;

    /// True if a call without a handshake (2026-07-28) needs a client that knows tasks, because it takes longer than
    /// any request can be held; other clients get an error that names the missing capability. For tools with
    /// [`Tool::JOB_AFTER`].
    const TASKS_ONLY: bool = false;

    /// How a call may be repeated whose answer was lost. MCP has no field for it: it is for the embedder.
    const REPEAT: Repeat = Repeat::UNKNOWN;

    /// The arguments: a struct that denies unknown fields (`#[serde(deny_unknown_fields)]`), or `()` for none.
    type Args: DeserializeOwned + JsonSchema + Send;
    /// The full form of the result, which is the structured content.
    type Output: Serialize + JsonSchema + Send;

    /// Does the work. Errors become results that a model can act on, never protocol errors.
    ///
    /// The connection itself polls the future first, so that quick calls cost no task: it must not block its thread,
    /// least of all before its first `await`. The future is dropped when its client has cancelled and the grace period
    /// is over, or when the client has disconnected. State that must survive is kept outside of it.
    fn call(&self, cx: Context, args: Self::Args) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;

    /// Returns the compact form of the result, for a model's context. By default a string as it is, and anything else
    /// as JSON.
    fn text(output: &Self::Output) -> String {
        typed_tool::default_text(output)
    }

    /// Returns the content that a model reads: the compact form, and pictures, sounds and resources, if any. Never
    /// empty.
    fn content(output: &Self::Output) -> Vec<Content> {
        vec![Content::Text(Self::text(output))]
    }

    /// Returns further data for programs, as the result's `_meta`.
    fn result_meta(output: &Self::Output) -> Option<serde_json::Map<String, serde_json::Value>> {
        let _ = output;
        None
    }

    /// Icons for people.
    fn icons() -> Vec<Icon> {
        Vec::new()
    }

    /// Example calls, which are both tests and documentation.
    fn examples() -> Vec<Example> {
        Vec::new()
    }

    /// Hints for particular clients, sent as the declaration's `_meta`.
    fn meta() -> Option<serde_json::Map<String, serde_json::Value>> {
        None
    }
}
