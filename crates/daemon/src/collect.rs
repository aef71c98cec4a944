//! Collects the rooms that faces show from the parts, the connections and the calls, only while a face watches.
//!
//! A watcher asks again after each answer (`rooms/next`), so the daemon keeps no queue for it: a slow face skips states.
//! All watchers share one collection, at most ten a second.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp::tool::Context;
use project::dashboard::{AgentRow, AgentState, Minute, Rooms, Snapshot};
use project::{Role, journal};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use crate::connections::Open;
use crate::daemon::Daemon;
use crate::dashboard::{Agent, Latest, Presence, State, agent_key, agent_rows, mark_stuck, needs};
use crate::parts::Stores;

/// The shortest time between two collections.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest time between two collections while a face watches: some changes cause no notification.
const LOOK: Duration = Duration::from_secs(1);
/// The time limit for one part. Then its last rows are shown.
const PATIENCE: Duration = Duration::from_secs(1);
/// The longest time that a watcher may wait.
const WAIT_MAX: u64 = 30_000;

/// The parameters of `rooms/next`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NextParams {
    /// The snapshot that the caller has.
    life: String,
    number: Option<u64>,
    /// The longest time to wait for another one.
    wait_ms: u64,
}

/// Returns the first snapshot that is not the caller's, or after its wait the current one; `None` if the daemon ends.
pub(crate) async fn next(daemon: &Weak<Daemon>, cx: &Context, params: NextParams) -> Option<Arc<Snapshot>> {
    let deadline = Instant::now() + Duration::from_millis(params.wait_ms.min(WAIT_MAX));
    let (mut recorded, mut called, mut stopping) = {
        let daemon = daemon.upgrade()?;
        (daemon.journal.changes(), daemon.parts.calls().changes(), daemon.stop.subscribe())
    };
    loop {
        // Changes from here on lead to another round.
        let began = Instant::now();
        recorded.mark_unchanged();
        called.mark_unchanged();
        let (snapshot, collected) = {
            let daemon = daemon.upgrade()?;
            daemon.rooms.current(&daemon, Stores::Opened, params.number.is_some()).await
        };
        let is_new = params.number != Some(snapshot.number) || params.life != snapshot.life;
        if is_new || Instant::now() >= deadline || stopping.borrow().is_some() {
            return Some(snapshot);
        }
        let changed = async {
            // A shared snapshot may lack changes that are marked as seen.
            if collected >= began {
                tokio::select! {
                    () = changed(&mut recorded) => {}
                    () = changed(&mut called) => {}
                    () = sleep_until(collected + LOOK) => {}
                }
            }
            sleep_until(collected + PAUSE).await;
        };
        let wait = async {
            tokio::select! {
                () = changed => {}
                () = sleep_until(deadline) => {}
                _ = stopping.wait_for(Option::is_some) => {}
            }
        };
        cx.waits(wait).await;
    }
}

/// Waits for a change; forever if there will be none.
async fn changed(receiver: &mut watch::Receiver<u64>) {
    if receiver.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

impl Latest {
    /// Returns the snapshot and the time of its collection. A shared one may be a tenth of a second old.
    pub(crate) async fn current(&self, daemon: &Daemon, stores: Stores, is_shared: bool) -> (Arc<Snapshot>, Instant) {
        let mut state = self.0.lock().await;
        // Watchers share a collection; a caller that asks once gets current rows.
        let recent = state.collected.filter(|collected| is_shared && collected.elapsed() < PAUSE);
        if let Some(collected) = recent {
            return (state.snapshot.clone(), collected);
        }
        let began = Instant::now();
        let rooms = collect(daemon, &mut state, stores).await;
        if state.collected.is_none() || rooms != state.snapshot.rooms {
            let number = state.snapshot.number + 1;
            state.snapshot = Arc::new(Snapshot { life: daemon.life.clone(), number, at: journal::now(), rooms });
        }
        state.collected = Some(began);
        (state.snapshot.clone(), began)
    }
}

/// Collects all rows.
async fn collect(daemon: &Daemon, state: &mut State, stores: Stores) -> Rooms {
    let State { parts, events, .. } = state;
    let mut rooms = Rooms::default();
    for (name, rows) in daemon.parts.rows(stores) {
        if let Ok(rows) = timeout(PATIENCE, rows).await {
            parts.insert(name, rows);
        }
        let Some(Rooms { agents, sessions, mail, questions, work, nodes, .. }) = parts.get(name).cloned() else {
            continue;
        };
        rooms.agents.extend(agents);
        rooms.sessions.extend(sessions);
        rooms.mail.extend(mail);
        rooms.questions.extend(questions);
        rooms.work.extend(work);
        rooms.nodes.extend(nodes);
    }
    let now = journal::now();
    let (mut calls, agents) = daemon.parts.calls().read();
    let present = presences(daemon, agents);
    rooms.agents = agent_rows(now, &present, &calls, &rooms.questions, rooms.agents);
    for work in &mut rooms.work {
        let is_there = |agent: &&AgentRow| agent.state != AgentState::Gone && agent.worktree == work.worktree;
        work.agents = rooms.agents.iter().filter(is_there).map(|agent| agent.name.clone()).collect();
    }
    let ids: HashMap<&str, String> = present.iter().map(|agent| (agent.key.as_str(), agent.id())).collect();
    for call in &mut calls {
        call.row.agent = ids.get(call.agent.as_str()).cloned().unwrap_or_default();
    }
    let kinds: HashMap<u64, Minute> = calls.iter().map(|call| (call.row.number, call.kind)).collect();
    events.read(&daemon.journal, &|entry| daemon.parts.event_text(entry));
    rooms.events = events.rows();
    rooms.activity = calls.into_iter().map(|call| call.row).chain(events.decisions()).collect();
    rooms.activity.sort_by_key(|call| std::cmp::Reverse((call.started, call.number)));
    for question in rooms.questions.iter_mut().filter(|question| question.agent.is_empty()) {
        let asker = present.iter().find(|agent| agent.pid == question.pid && agent.pid != 0);
        question.agent = asker.map_or_else(|| "a script".to_owned(), Presence::id);
    }
    mark_stuck(&mut rooms, &kinds, now);
    let withheld = daemon.config.withheld.iter().map(|request| request.key.clone());
    let is_granted = daemon.config.is_granted_by_now(&daemon.project, &crate::parts::sections());
    rooms.now = needs(&rooms, &withheld.filter(|_| !is_granted).collect::<Vec<_>>());
    rooms
}

/// Returns the agents that are connected or made calls.
fn presences(daemon: &Daemon, mut agents: HashMap<String, Agent>) -> Vec<Presence> {
    let since = |open: &Open| {
        let after = open.since.saturating_duration_since(daemon.started);
        daemon.started_ms + u64::try_from(after.as_millis()).unwrap_or_default()
    };
    let mut present: Vec<Presence> = Vec::new();
    for open in daemon.connections.list().into_iter().filter(|open| open.role == Role::Mcp) {
        let key = agent_key(open.run.as_deref(), open.number);
        let agent = agents.remove(&key);
        if agent.is_none() && present.iter().any(|other| other.key == key) {
            continue;
        }
        let known = agent.as_ref().and_then(|agent| daemon.parts.agent_name(&agent.caller));
        let claimed = open.name.as_deref().map(|name| name.trim_start_matches('@').to_owned());
        present.push(Presence {
            key,
            name: known.or(claimed),
            worktree: display_path(open.stands_in.as_ref().unwrap_or(&open.cwd)),
            pid: open.pid,
            connected: Some(since(&open)),
            agent,
        });
    }
    present.extend(agents.into_iter().map(|(key, agent)| Presence {
        key,
        name: daemon.parts.agent_name(&agent.caller).or_else(|| agent.caller.name.clone()),
        worktree: display_path(&agent.caller.worktree),
        pid: agent.caller.pid,
        connected: None,
        agent: Some(agent),
    }));
    present.sort_by(|one, other| one.key.cmp(&other.key));
    present
}

fn display_path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
