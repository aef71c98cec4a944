//! The actor of one server: it starts the program, tracks its state, executes orders, and restarts it.

use std::time::{Duration, Instant};

use process::{Group, Ladder};
use tokio::sync::{mpsc, watch};

use super::life::Life;
use super::{Order, ServerSnapshot, Start, State};
use crate::journal::Record;

pub(super) struct Actor {
    pub start: Start,
    pub orders: mpsc::Receiver<Order>,
    shown: watch::Sender<ServerSnapshot>,
    group: watch::Sender<Option<Group>>,
    pub life: u64,
    /// Number of crashes since it was last ready.
    deaths: usize,
}

impl Actor {
    pub(super) fn new(
        start: Start,
        orders: mpsc::Receiver<Order>,
        shown: watch::Sender<ServerSnapshot>,
        group: watch::Sender<Option<Group>>,
    ) -> Actor {
        Actor { start, orders, shown, group, life: 0, deaths: 0 }
    }

    pub(super) async fn run(mut self) {
        loop {
            self.life += 1;
            self.show(State::Starting, |seen| {
                (seen.canary, seen.trouble, seen.started) = (None, None, Some(Instant::now()));
            });
            let Some(mut over) = Life::begin(&mut self).await else { return };
            if let State::Crashed { retry_in, .. } | State::Hung { retry_in } = &mut over {
                self.deaths += 1;
                *retry_in = self.start.timing.restarts.get(self.deaths - 1).copied();
            }
            if !self.rest(over).await {
                return;
            }
        }
    }

    /// Resets the count of crashes, because the server was ready.
    pub(super) fn is_well(&mut self) {
        self.deaths = 0;
    }

    /// Waits while no program runs. Returns true if it is to start again, false if this actor ends.
    async fn rest(&mut self, state: State) -> bool {
        let is_parked = state == State::Parked;
        let retry_in = match state {
            State::Crashed { retry_in, .. } | State::Hung { retry_in } => retry_in,
            _ => None,
        };
        self.show(state, |seen| seen.pid = None);
        let again = async {
            match retry_in {
                Some(pause) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(again);
        loop {
            tokio::select! {
                () = &mut again => return true,
                order = self.orders.recv() => match order {
                    Some(Order::Open { reply, .. }) => {
                        let _ = reply.send(None);
                        if is_parked {
                            return true;
                        }
                    }
                    Some(Order::Doubt | Order::Park | Order::OverBudget) => {}
                    Some(Order::End) | None => return false,
                },
            }
        }
    }

    /// Publishes a state, and logs it if it changed.
    pub(super) fn show(&self, state: State, change: impl FnOnce(&mut ServerSnapshot)) {
        let mut changed = None;
        self.shown.send_modify(|seen| {
            if seen.state.word() != state.word() {
                seen.since = Instant::now();
                changed = Some(state.word());
            }
            seen.state = state;
            seen.life = self.life;
            change(seen);
        });
        if let (Some(word), Some(journal)) = (changed, &self.start.journal) {
            journal(Record::CodeServerState {
                server: self.start.profile.name.clone(),
                root: self.start.root.clone(),
                state: word.to_owned(),
            });
        }
    }

    pub(super) fn record(&self, record: Record) {
        if let Some(journal) = &self.start.journal {
            journal(record);
        }
    }

    pub(super) fn show_group(&self, group: Option<Group>) {
        self.group.send_replace(group);
    }

    /// Kills the remaining processes of a session.
    pub(super) async fn reap(&self, group: &Group) {
        self.show_group(None);
        let ladder = Ladder { close_wait: Duration::ZERO, term_wait: Duration::from_millis(300), ..Ladder::default() };
        group.end(None, &ladder).await;
    }
}
