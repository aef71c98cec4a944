//! The interfaces between hooks and the other parts of a daemon. The daemon implements [`Host`]; a part that adds to
//! agents' contexts implements [`AgentContext`].

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use mcp::tool::Context;
use project::Caller;
use serde_json::{Map, Value};

use crate::context::{At, Piece};
use crate::person_questions::Asking;
use crate::record::Record;
use crate::settings::Brief;

/// A future of these interfaces.
pub type HostFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The daemon that serves hooks.
pub trait Host: Send + Sync + 'static {
    /// Returns the open connections of agents.
    fn connections(&self) -> Vec<Connection>;

    /// Returns a future that resolves when that run of an agent has no connection; never without a daemon.
    fn run_ended(&self, run: String) -> HostFuture<'static, ()>;

    /// Returns the parts that add to agents' contexts, by name.
    fn contexts(&self) -> Vec<(&'static str, Arc<dyn AgentContext>)>;

    /// Asks a person, if a part supports it.
    fn ask(&self, question: PersonQuestion) -> Option<PersonAnswering>;

    /// Returns the name under which the agent of a connection registered.
    fn agent_name(&self, cx: &Context) -> Option<String>;

    /// Returns a fact about a worktree, by the name of a condition in rules; `None` if it is not available in time.
    fn fact<'a>(&'a self, name: &'a str, worktree: &'a Path) -> HostFuture<'a, Option<String>>;

    /// Writes a record to the daemon's journal.
    fn record(&self, record: Record);
}

/// A part's additions to agents' contexts.
pub trait AgentContext: Send + Sync + 'static {
    /// Returns the addition at a hook event; `None` costs nothing. A returned text counts as delivered unless its answer is
    /// lost.
    fn at_hook<'a>(&'a self, event: &'a AgentEvent) -> HostFuture<'a, Option<Piece>>;

    /// Confirms earlier deliveries to an agent whose hook fired.
    fn confirm_deliveries(&self, cx: &Context);
}

/// An open connection of an agent.
#[derive(Debug, Clone)]
pub struct Connection {
    pub number: u64,
    /// The process at the other end; 0 if it is unknown.
    pub pid: u32,
    pub name: Option<String>,
    pub cwd: PathBuf,
    /// The worktree of the process's directory, according to the kernel.
    pub stands_in: Option<PathBuf>,
    pub profile: Option<String>,
    pub run: Option<String>,
}

/// An event of an agent's hooks, as other parts see it.
pub struct AgentEvent {
    /// A context whose caller is the agent, not the hook: its connection, run and name.
    pub cx: Context,
    pub at: At,
    pub brief: Brief,
    /// The contributing part.
    pub(super) part: &'static str,
    pub(super) host: Arc<dyn Host>,
}

impl AgentEvent {
    /// Creates a contribution.
    pub fn piece(&self, text: String, holds: bool, lost: Option<Box<dyn FnOnce() + Send>>) -> Piece {
        Piece { from: self.part, text, holds, lost }
    }

    /// Returns a function whose future resolves when the agent's connection has closed; never for an agent without one.
    pub fn connection_closed(&self) -> impl Fn() -> HostFuture<'static, ()> + Send + use<> {
        let host = self.host.clone();
        let run = self.cx.caller::<Caller>().filter(|caller| caller.connection != 0).and_then(|of| of.run.clone());
        move || match run.clone() {
            Some(run) => host.run_ended(run),
            None => Box::pin(std::future::pending()),
        }
    }
}

/// A question to a person on behalf of a hook.
pub struct PersonQuestion {
    pub asking: Asking,
    /// The agent's name, or else its program's.
    pub agent: Option<String>,
    pub client: &'static str,
    pub run: String,
    pub worktree: PathBuf,
    pub deadline: tokio::time::Instant,
    /// The hook's own context.
    pub cx: Context,
}

/// A person's values, note and name, or the reason for their absence.
pub type PersonResult = Result<(Map<String, Value>, Option<String>, String), String>;
pub type PersonAnswering = HostFuture<'static, PersonResult>;
