//! `repl_query`: questions about names, types and locations, answered by GHCi as data. This file has the arguments and
//! the answer; `ghci_questions` asks, `position` parses positions, `rendering` makes the short form.

mod ghci_questions;
mod position;
mod rendering;

use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Context, Effect, Example, Repeat, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;

use self::ghci_questions::Asking;
use self::position::Position;
use super::{attach_connection, budget, caller, ghci_only, with_heartbeat};
use crate::query::{Completions, Hole, Info, Instance, Item, Location};
use crate::session::SessionState;
use crate::sessions::Repl;

/// Ask GHCi about code: the type of an expression, the kind of a type, a name's declaration (info) or documentation
/// (doc), a module's exports (browse), a type's instances, completions, fits for typed holes. At a position in a loaded
/// file: type_at, loc_at (the definition), uses. Starts the session if needed. The first question about a position
/// reloads the modules once.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The kind of question.
    pub kind: Question,
    /// An expression (type, holes), a type (kind, instances), a name (info, doc), a module (browse), the beginning of a name (complete). Optional for browse
    /// (default: the modules in scope) and holes (default: the holes of the loaded modules).
    #[serde(alias = "name", alias = "expr", alias = "expression")]
    pub target: Option<String>,
    /// The position for type_at, loc_at and uses, as FILE:LINE:COLUMN.
    pub at: Option<String>,
    /// The same position as an object.
    pub position: Option<Position>,
    /// Session name (default "main").
    pub session: Option<String>,
    /// How long to wait, in ms (default 20000).
    #[serde(alias = "timeout_ms", alias = "timeout")]
    pub wait_ms: Option<u64>,
}

/// The question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Question {
    Type,
    Kind,
    Info,
    Doc,
    Browse,
    Instances,
    Complete,
    TypeAt,
    LocAt,
    Uses,
    Holes,
}

/// The answer. The kind of question determines its fields.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The session.
    pub session: String,
    /// The target, as GHCi was asked.
    pub target: String,
    /// The type, or the kind (type, kind, type_at).
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// The expanded form of a type (kind).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normal_form: Option<String>,
    /// Declarations, instances and fixity (info).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info: Option<Info>,
    /// Documentation (doc).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doc: Option<String>,
    /// The exports of a module (browse).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<Item>>,
    /// Instances of a type (instances).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instances: Option<Vec<Instance>>,
    /// Completions (complete).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<Completions>,
    /// Locations (loc_at, uses).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<Location>>,
    /// Typed holes (holes).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holes: Option<Vec<Hole>>,
    /// Further notes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

pub(super) struct Query(pub(super) Arc<Repl>);

impl Tool for Query {
    const NAME: &'static str = "repl_query";
    const TITLE: &'static str = "Ask about code";
    // It may start a session, which compiles the project and runs its Template Haskell.
    const EFFECT: Effect = Effect::WRITE.idempotent().open_world();
    const REPEAT: Repeat = super::REPEAT;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let until = Instant::now() + budget(&cx, args.wait_ms, Duration::from_secs(20));
        let started = self.0.ensure(caller(&cx)?, args.session.as_deref()).await?;
        ghci_only(&self.0, &started.handle)?;
        attach_connection(&cx, &started.handle);
        let left = until.saturating_duration_since(Instant::now());
        let info = super::start::wait_for_start(&cx, &started.handle, left).await?;
        if info.state == SessionState::Starting {
            let error = ToolError::user(format!("Session {:?} is still starting.", info.name));
            return Err(error.hint("Ask again, with a longer `wait_ms`; repl_list shows when it is ready."));
        }
        let asking = Asking { handle: started.handle, root: caller(&cx)?.worktree.clone(), until };
        let mut output = with_heartbeat(&cx, "asking", asking.answer(&args)).await?;
        output.session = asking.handle.info().name;
        output.notes.splice(0..0, started.notes);
        Ok(output)
    }

    fn text(output: &Output) -> String {
        rendering::text(output)
    }

    fn examples() -> Vec<Example> {
        vec![
            Example {
                title: "The type of an expression",
                arguments: json!({"kind": "type", "target": "map"}),
                text: Some("map :: (a -> b) -> [a] -> [b]"),
            },
            Example {
                title: "Where a name is used",
                arguments: json!({"kind": "uses", "at": "src/Area.hs:8:15"}),
                text: None,
            },
            Example {
                title: "What fits a hole",
                arguments: json!({"kind": "holes", "target": "map _ [1, 2 :: Int] :: [String]"}),
                text: None,
            },
        ]
    }
}
