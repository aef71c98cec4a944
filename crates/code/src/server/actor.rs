//! The actor of one server: it starts the program, tracks its state, executes orders, and restarts it.

use std::time::{Duration, Instant};

use process::{Group, Ladder};
use tokio::sync::{mpsc, watch};

use super::life::{Ending, Life};
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
    /// True if it waits for memory rather than for a question.
    is_held: bool,
}

/// Event that ends a pause.
enum Next {
    Again,
    End,
}

impl Actor {
    pub(super) fn new(
        start: Start,
        orders: mpsc::Receiver<Order>,
        shown: watch::Sender<ServerSnapshot>,
        group: watch::Sender<Option<Group>>,
    ) -> Actor {
        Actor { start, orders, shown, group, life: 0, deaths: 0, is_held: false }
    }

    pub(super) async fn run(mut self) {
        loop {
            self.life += 1;
            self.show(State::Starting, |seen| {
                (seen.canary, seen.trouble, seen.started) = (None, None, Some(Instant::now()));
            });
            let over = Life::begin(&mut self).await;
            let next = match over {
                Ending::Ended => return,
                Ending::Parked => self.rest(State::Parked, None).await,
                Ending::Held => {
                    self.is_held = true;
                    self.rest(State::Parked, None).await
                }
                Ending::OverBudget => self.rest(State::OverBudget, None).await,
                // The pool tries it again with a new actor.
                Ending::CannotStart { exit, stderr } => self.rest(State::CannotStart { exit, stderr }, None).await,
                Ending::Crashed { exit, stderr } => {
                    let retry_in = self.pause();
                    self.rest(State::Crashed { exit, stderr, retry_in }, retry_in).await
                }
                Ending::Hung => {
                    let retry_in = self.pause();
                    self.rest(State::Hung { retry_in }, retry_in).await
                }
            };
            if let Next::End = next {
                return;
            }
        }
    }

    /// Returns the delay before the next restart; `None` after the last one.
    fn pause(&mut self) -> Option<Duration> {
        self.deaths += 1;
        self.start.timing.restarts.get(self.deaths - 1).copied()
    }

    /// Resets the count of crashes, because the server was ready.
    pub(super) fn is_well(&mut self) {
        self.deaths = 0;
    }

    /// Waits while no program runs.
    async fn rest(&mut self, state: State, retry_in: Option<Duration>) -> Next {
        let is_parked = state == State::Parked;
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
                () = &mut again => return Next::Again,
                order = self.orders.recv() => match order {
                    Some(Order::Open { reply, .. }) => {
                        let _ = reply.send(None);
                        if is_parked && !self.is_held {
                            return Next::Again;
                        }
                    }
                    Some(Order::Wake) if is_parked => {
                        self.is_held = false;
                        return Next::Again;
                    }
                    Some(Order::Release) if is_parked => {
                        self.is_held = false;
                        // A question that has just arrived sees this state, and asks again.
                        self.show(State::Parked, |_| {});
                    }
                    Some(Order::Doubt | Order::LookBeyond(_) | Order::Park | Order::Hold | Order::Wake | Order::Release | Order::OverBudget) => {}
                    Some(Order::End) | None => return Next::End,
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
