//! Finds the agent of a hook event, and collects other parts' contributions and a person's answer for it.
//!
//! A hook belongs to the MCP connection of its agent: the one whose front-end was started by the hook's nearest ancestor, and
//! among several of these the one of the same session. The session in an event is a claim, and cannot select another agent's
//! connection. Without a connection, the hook belongs to the agent of its worktree, in a run named by its session.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp::tool::Context;
use parking_lot::Mutex;
use project::ancestry::{FrontEnd, front_end_of};
use project::{Caller, Environment, Identification, Role};

use super::host::{AgentEvent, Connection, Host, PersonAnswering, PersonQuestion};
use crate::context::{At, Piece};
use crate::event::Event;
use crate::person_questions::Asking;
use crate::settings::{Brief, HooksSettings};

/// The variable by which Claude Code tells its child processes the session.
const SESSION: &str = "CLAUDE_CODE_SESSION_ID";
/// The maximum number of front-ends in the cache.
const FRONT_ENDS_MAX: usize = 4096;

/// The agents of events, and the parts that contribute to them.
pub(super) struct Agents {
    host: Arc<dyn Host>,
    /// The parts that add to the context, and the events at which the brief is added.
    adding: Vec<String>,
    brief: Brief,
    /// The front-ends of the connections, by number.
    front_ends: Mutex<HashMap<u64, FrontEnd>>,
}

impl Agents {
    pub(super) fn new(host: Arc<dyn Host>, settings: &HooksSettings) -> Agents {
        let (adding, brief) = (settings.context.clone(), settings.brief);
        Agents { host, adding, brief, front_ends: Mutex::default() }
    }

    /// Confirms earlier deliveries to the agent of an event, and collects other parts' contributions, within this time.
    pub(super) async fn collect(&self, hook: &Caller, event: &Event, at: At, within: Duration) -> Vec<Piece> {
        let cx = Context::detached(Arc::new(self.agent(hook, event)));
        let contexts = self.host.contexts();
        contexts.iter().for_each(|(_, context)| context.confirm_deliveries(&cx));
        let until = tokio::time::Instant::now() + within;
        let mut pieces = Vec::new();
        for (part, context) in contexts {
            if !self.adding.iter().any(|adding| adding == part) {
                continue;
            }
            let event = AgentEvent { cx: cx.clone(), at, brief: self.brief, part, host: self.host.clone() };
            match tokio::time::timeout_at(until, context.at_hook(&event)).await {
                Ok(piece) => pieces.extend(piece),
                Err(_) => tracing::debug!(part, "the part's contribution to a hook event timed out"),
            }
        }
        pieces
    }

    /// Asks a person on behalf of a hook, if a part supports it.
    pub(super) fn ask(
        &self,
        hook: &Caller,
        event: &Event,
        asking: &Asking,
        client: &'static str,
        until: Instant,
        cx: &Context,
    ) -> Option<PersonAnswering> {
        let agent = self.agent(hook, event);
        let registered = self.host.agent_name(&Context::detached(Arc::new(agent.clone())));
        self.host.ask(PersonQuestion {
            asking: asking.clone(),
            agent: registered.or_else(|| agent.name.as_ref().map(|name| name.trim_start_matches('@').to_owned())),
            client,
            run: agent.run.unwrap_or_default(),
            worktree: agent.worktree,
            deadline: until.into(),
            cx: cx.clone(),
        })
    }

    /// Returns the agent of a hook, as a caller.
    fn agent(&self, hook: &Caller, event: &Event) -> Caller {
        let session = event.session.as_deref();
        let open = self.connection(hook.pid, session).map(|(open, _)| open);
        let alone = format!("{} session {}", event.agent, session.unwrap_or("without a name"));
        let of = |open: Connection| Caller {
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
    fn connection(&self, hook: u32, session: Option<&str>) -> Option<(Connection, FrontEnd)> {
        let open: Vec<Connection> = self.host.connections().into_iter().filter(|open| open.pid != 0).collect();
        let mut known = self.front_ends.lock();
        if known.len() > FRONT_ENDS_MAX {
            known.clear();
        }
        let of = |open: &Connection| {
            known.entry(open.number).or_insert_with(|| FrontEnd::from_pid(open.pid, SESSION)).clone()
        };
        let front_ends: Vec<FrontEnd> = open.iter().map(of).collect();
        drop(known);
        let at = front_end_of(hook, &front_ends, session)?;
        open.into_iter().zip(front_ends).nth(at)
    }
}
