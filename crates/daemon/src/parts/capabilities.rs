//! The capabilities of parts: what a part offers to agents and to other parts in addition to its tools. It registers
//! them in [`Part::open`](super::Part::open), by [`Setup::register`](super::Setup::register).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::code::tools::Questions;
use ::hooks::service::{AgentContext, PersonAnswering, PersonQuestion};
use ::nodes::tools::Nodes;
use mcp::prompt::{AnyPrompt, Prompts};
use mcp::resource::{Resources, TemplateError};
use mcp::server::Server;
use mcp::tool::{AnyTool, Context, Declaration};
use project::Caller;
use project::dashboard::{Minute, Rooms};
use project::journal::Entry;

use super::{BoxFuture, Part};

/// The capabilities of a part; none by default.
#[derive(Default)]
#[expect(clippy::type_complexity, reason = "each field is the signature of one function")]
pub(crate) struct Capabilities {
    /// Adds the part's resources. It fails if a template is invalid.
    pub resources: Option<Box<dyn Fn(&Arc<Resources>) -> Result<(), TemplateError> + Send + Sync>>,
    /// Adds the part's prompts.
    pub prompts: Option<Box<dyn Fn(&Prompts) + Send + Sync>>,
    /// Adds the part's own methods in addition to MCP's, independent of the connection's tools.
    pub methods: Option<Box<dyn Fn(Server, Surface) -> Server + Send + Sync>>,
    pub annotation: Option<Arc<dyn Annotation>>,
    /// The tools that each worktree adds by its files to the part's toolset. At most one part has them.
    pub live_tools: Option<Arc<dyn LiveTools>>,
    /// Returns the pending items for a caller, as one text with its effects. The work brief shows it.
    pub pending: Option<Box<dyn Fn(&Context) -> BoxFuture<'static, Option<String>> + Send + Sync>>,
    /// The additions to agents' contexts at hook events.
    pub agent_context: Option<Arc<dyn AgentContext>>,
    /// Asks a person on behalf of an agent's hook.
    pub person: Option<Box<dyn Fn(PersonQuestion) -> PersonAnswering + Send + Sync>>,
    /// Returns the name under which the agent of a connection registered.
    pub agent_name: Option<Box<dyn Fn(&Context) -> Option<String> + Send + Sync>>,
    /// Returns a fact about a worktree, by the name of a condition in rules (`work.base`); `None` if it is not available
    /// in time.
    pub facts: Option<Box<dyn Fn(&str, &Path) -> BoxFuture<'static, Option<String>> + Send + Sync>>,
    /// The answers about code, for other parts.
    pub code: Option<Arc<Questions>>,
    /// The nodes with their models, for other parts.
    pub nodes: Option<Arc<Nodes>>,
    /// Returns the names of the sessions that would be lost if the daemon ended.
    pub sessions: Option<Box<dyn Fn() -> Vec<String> + Send + Sync>>,
    pub http_identity: Option<Arc<dyn HttpIdentity>>,
    /// Returns the reason why connections of a caller are refused; `None` if they are not.
    pub refusal: Option<Box<dyn Fn(&Caller) -> Option<String> + Send + Sync>>,
    /// Describes a notable entry of the part's own in the journal; `None` for all others.
    pub event_text: Option<Box<dyn Fn(&Entry) -> Option<String> + Send + Sync>>,
    /// Returns the part's rows for faces; of agents, the registered ones. Called up to ten times a second while a person
    /// looks, so it must be cheap.
    pub rows: Option<Box<dyn Fn(Stores) -> BoxFuture<'static, Rooms> + Send + Sync>>,
    /// The tools whose calls wait for a message or for a person.
    pub waiting_tools: Vec<(&'static str, Minute)>,
}

/// Whether a part opens a store that was not needed so far, to list its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stores {
    /// Only open stores are read.
    AsTheyAre,
    /// Existing stores are opened.
    Opened,
}

/// The kind of connection, which determines the methods in addition to the tools.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Surface {
    /// An agent on the daemon's socket, or on stdio without a daemon.
    Agent,
    /// The command line.
    Control,
    /// A caller over HTTP.
    Http,
}

/// The text that a part adds to the results of all of a connection's tools. Not for connections that imitate another
/// system.
pub(crate) trait Annotation: Send + Sync {
    /// Returns the text for a result, given its call and the tool.
    fn text(&self, cx: &Context, tool: &Declaration) -> Option<String>;

    /// Called when a connection reports that it is ready.
    fn connected(&self, _: &Context) {}
}

/// The tools and prompts that worktrees define by their files.
pub(crate) trait LiveTools: Send + Sync {
    /// Receives the names of all tools that do not come from files: those of every toolset and profile.
    fn reserve(&self, names: &BTreeSet<String>);

    /// Follows the files of a worktree; all of its tools are present on return.
    fn follow<'a>(&'a self, worktree: &'a Path) -> BoxFuture<'a, Box<dyn Live>>;
}

/// The tools and prompts of a worktree. Followed until dropped.
pub(crate) trait Live: Send + Sync {
    fn tools(&self) -> Vec<Arc<dyn AnyTool>>;

    fn prompts(&self) -> Vec<Arc<dyn AnyPrompt>>;

    /// Returns after a change since the last call; never, if there will be none.
    fn changed(&mut self) -> BoxFuture<'_>;
}

/// The agents that callers over HTTP are.
pub(crate) trait HttpIdentity: Send + Sync {
    /// Returns the agent that a token identifies.
    fn agent_by_token(&self, token: &str) -> Option<String>;

    /// Returns the current state of an agent that [`HttpIdentity::agent_by_token`] identified; `None` if its token was
    /// revoked since.
    fn agent(&self, name: &str, run: Run<'_>) -> Option<HttpAgent>;
}

/// The run of an agent that an HTTP request belongs to.
#[derive(Clone, Copy)]
pub(crate) enum Run<'a> {
    /// A session or connection, which is itself a run.
    Standing,
    /// A stateless request, with the run that it states.
    Said(&'a [u8]),
}

/// An agent over HTTP.
pub(crate) struct HttpAgent {
    pub name: String,
    /// The agent's worktree.
    pub worktree: PathBuf,
    pub run: String,
}

/// An open part.
pub(crate) struct OpenPart {
    /// The name of its toolset.
    pub name: &'static str,
    pub part: Box<dyn Part>,
    pub capabilities: Capabilities,
}

/// All open parts, in the order of `PARTS`. A part finds the capabilities of the others here ([`super::Setup::others`]).
pub(crate) struct OpenParts(pub Vec<OpenPart>);

impl OpenParts {
    /// Returns one capability of all parts that have it, with their names.
    pub(crate) fn all_with<'a, T>(
        &'a self,
        capability: impl Fn(&'a Capabilities) -> Option<T>,
    ) -> impl Iterator<Item = (&'static str, T)> {
        self.0.iter().filter_map(move |open| Some((open.name, capability(&open.capabilities)?)))
    }

    /// Returns the pending items for this caller, by part.
    pub(crate) async fn pending(&self, cx: &Context) -> Vec<(&'static str, String)> {
        let mut pending = Vec::new();
        for (name, items) in self.all_with(|part| part.pending.as_ref()) {
            pending.extend(items(cx).await.map(|text| (name, text)));
        }
        pending
    }

    /// Returns a fact about a worktree, from the part that knows it.
    pub(crate) async fn fact(&self, name: &str, worktree: &Path) -> Option<String> {
        for (_, facts) in self.all_with(|part| part.facts.as_ref()) {
            if let Some(fact) = facts(name, worktree).await {
                return Some(fact);
            }
        }
        None
    }

    /// Returns the name under which the agent of a connection registered, if a part knows one.
    pub(crate) fn agent_name(&self, cx: &Context) -> Option<String> {
        self.all_with(|part| part.agent_name.as_ref()).find_map(|(_, name)| name(cx))
    }
}
