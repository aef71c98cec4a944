//! Finds the agent of a hook event, and collects other parts' contributions and questions for it.
//!
//! A hook belongs to the MCP connection of its agent: the one whose front-end was started by the hook's nearest ancestor, and among several of these the one
//! of the same session. The session in an event is a claim, and cannot select another agent's connection. Without a connection, the hook belongs to the agent
//! of its worktree, in a run named by its session.

use std::collections::HashMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::hooks::context::{At, ContextSource, Piece, Saying};
use ::hooks::person::Asking;
use ::hooks::{Brief, Event, HooksSettings};
use mcp::tool::Context;
use parking_lot::Mutex;
use project::ancestry::{FrontEnd, front_end_of};
use project::{Caller, Environment, Identification, Role};
use serde_json::{Map, Value};

use super::Neighbours;
use crate::connections::{Connections, Open};

/// The variable by which Claude Code tells its child processes the session.
const SESSION: &str = "CLAUDE_CODE_SESSION_ID";
/// The maximum number of front-ends in the cache.
const FRONT_ENDS_MAX: usize = 4096;

/// An event of an agent's hooks, as other parts see it.
pub(crate) struct Hooked {
    /// A context whose caller is the agent, not the hook: its connection, run and name.
    pub cx: Context,
    pub at: At,
    pub brief: Brief,
    /// The contributing part.
    part: &'static str,
    connections: Option<Arc<Connections>>,
}

/// A part's contribution to such an event.
pub(crate) type PieceFuture<'a> = Pin<Box<dyn Future<Output = Option<Piece>> + Send + 'a>>;

/// A question to a person on behalf of a hook.
pub(crate) struct PersonAsked {
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

/// A person's values, note and name, or the reason why there are none.
pub(crate) type PersonAnswering = Pin<Box<dyn Future<Output = PersonSaid> + Send>>;
pub(crate) type PersonSaid = Result<(Map<String, Value>, Option<String>, String), String>;

impl Hooked {
    /// Creates a contribution.
    pub(crate) fn piece(&self, text: String, holds: bool, lost: Option<Box<dyn FnOnce() + Send>>) -> Piece {
        Piece { from: self.part, text, holds, lost }
    }

    /// Returns a future that resolves when the agent's connection has closed; never for an agent without one.
    pub(crate) fn gone(&self) -> impl Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + use<> {
        let connections = self.connections.clone();
        let run = self.cx.caller::<Caller>().filter(|caller| caller.connection != 0).and_then(|of| of.run.clone());
        move || {
            let (connections, run) = (connections.clone(), run.clone());
            Box::pin(async move {
                let (Some(connections), Some(run)) = (connections, run) else { return std::future::pending().await };
                let mut count = connections.count();
                // An error means that the daemon stops.
                while connections.has_run(&run) && count.changed().await.is_ok() {}
            })
        }
    }
}

impl ContextSource for Belonging {
    fn collect<'a>(&'a self, agent: &'a Caller, at: At, within: Duration) -> Saying<'a> {
        Box::pin(async move {
            let cx = Context::detached(Arc::new(agent.clone()));
            let until = tokio::time::Instant::now() + within;
            let mut pieces = Vec::new();
            for (name, part) in self.neighbours.parts() {
                if !self.adding.iter().any(|adding| adding == name) {
                    continue;
                }
                let connections = self.neighbours.connections().cloned();
                let hooked = Hooked { cx: cx.clone(), at, brief: self.brief, part: name, connections };
                match tokio::time::timeout_at(until, part.at_hook(&hooked)).await {
                    Ok(piece) => pieces.extend(piece),
                    Err(_) => tracing::debug!(part = name, "the part's contribution to a hook event timed out"),
                }
            }
            pieces
        })
    }

    fn heard_of(&self, agent: &Caller) {
        let cx = Context::detached(Arc::new(agent.clone()));
        self.neighbours.parts().for_each(|(_, part)| part.heard_at_hook(&cx));
    }
}

/// Finds the agents of events, and the parts that contribute to them.
pub(super) struct Belonging {
    neighbours: Arc<Neighbours>,
    /// The parts that add to the context, and the events at which the brief is added.
    adding: Vec<String>,
    brief: Brief,
    /// The front-ends of the connections, by number.
    front_ends: Mutex<HashMap<u64, FrontEnd>>,
}

impl Belonging {
    pub(super) fn new(neighbours: Arc<Neighbours>, settings: &HooksSettings) -> Belonging {
        let (adding, brief) = (settings.context.clone(), settings.brief);
        Belonging { neighbours, adding, brief, front_ends: Mutex::default() }
    }

    /// Collects other parts' contributions to an event, within this time.
    pub(super) async fn added(&self, hook: &Caller, event: &Event, at: At, within: Duration) -> Vec<Piece> {
        let agent = self.agent(hook, event);
        self.heard_of(&agent);
        self.collect(&agent, at, within).await
    }

    /// Asks a person on behalf of a hook, if a part supports it.
    pub(super) fn asks(
        &self,
        hook: &Caller,
        event: &Event,
        asking: &Asking,
        client: &'static str,
        until: Instant,
        cx: &Context,
    ) -> Option<PersonAnswering> {
        let agent = self.agent(hook, event);
        let asked = PersonAsked {
            asking: asking.clone(),
            agent: self
                .neighbours
                .agent_name(&Context::detached(Arc::new(agent.clone())))
                .or_else(|| agent.name.as_ref().map(|name| name.trim_start_matches('@').to_owned())),
            client,
            run: agent.run.unwrap_or_default(),
            worktree: agent.worktree,
            deadline: until.into(),
            cx: cx.clone(),
        };
        self.neighbours.parts().find_map(|(_, part)| part.asks_person(&asked))
    }

    /// Returns the agent of a hook, as a caller.
    fn agent(&self, hook: &Caller, event: &Event) -> Caller {
        let session = event.session.as_deref();
        let open = self.connection(hook.pid, session).map(|(open, _)| open);
        let alone = format!("{} session {}", event.agent, session.unwrap_or("without a name"));
        let of = |open: Open| Caller {
            connection: open.number,
            pid: open.pid,
            cwd: open.cwd,
            worktree: open.stands_in.clone().unwrap_or_else(|| hook.worktree.clone()),
            name: open.name,
            run: open.run.or(Some(alone.clone())),
            stands_in: open.stands_in,
            profile: open.profile,
            ..hook.clone()
        };
        let without = || Caller { connection: 0, run: Some(alone.clone()), ..hook.clone() };
        let agent = open.map_or_else(without, of);
        Caller { role: Role::Mcp, known: Identification::ByProcess, env: Environment::of_this_process(), ..agent }
    }

    /// Names the process of a hook's agent, if that agent has a connection.
    pub(super) fn process(&self, hook: &Caller) -> Option<String> {
        self.connection(hook.pid, None).and_then(|(_, front_end)| front_end.agent())
    }

    /// Returns the agent's own connection.
    fn connection(&self, hook: u32, session: Option<&str>) -> Option<(Open, FrontEnd)> {
        let connections = self.neighbours.connections()?.list();
        let open: Vec<Open> = connections.into_iter().filter(|open| open.role == Role::Mcp && open.pid != 0).collect();
        let mut known = self.front_ends.lock();
        if known.len() > FRONT_ENDS_MAX {
            known.clear();
        }
        let of =
            |open: &Open| known.entry(open.number).or_insert_with(|| FrontEnd::from_pid(open.pid, SESSION)).clone();
        let front_ends: Vec<FrontEnd> = open.iter().map(of).collect();
        drop(known);
        let at = front_end_of(hook, &front_ends, session)?;
        open.into_iter().zip(front_ends).nth(at)
    }
}
