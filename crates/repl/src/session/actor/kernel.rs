//! The actor's questions to the kernel: does the program wait for input, what resources does it use, how did it exit.

use std::time::{Duration, Instant};

use process::activity::Activity;
use process::probe::{Doing, Prober};
use process::{Group, Ladder, Signal};

use super::{Actor, DRAIN, route};
use crate::adapter::Adapter;
use crate::session::cpu::CpuClock;
use crate::session::machine::{Death, Ending, Event, Probed};
use crate::session::pipes::OutputPipe;

/// The byte that a terminal sends for Ctrl-C.
const CONTROL_C: u8 = 3;

/// Returns a prober for a session.
pub(super) fn prober(group: &Group, adapter: &dyn Adapter) -> Prober {
    Prober::new(group).watching_to_read(adapter.watches_input_to_read())
}

impl Actor {
    pub(super) fn probe(&mut self) {
        if self.inputs.code().has_unread() || self.inputs.stdin.has_unread() {
            // The program has not yet read all of its input.
            return self.on(Event::Probed(Probed::Unread));
        }
        self.ask();
    }

    /// Asks the kernel what the program does.
    pub(super) fn ask(&mut self) {
        let group = self.group.clone();
        let mut prober = self.state.prober.take().unwrap_or_else(|| prober(&self.group, self.machine.adapter()));
        self.state.probe = Some(tokio::spawn(async move {
            let doing = prober.observe().await;
            let command = if doing == Doing::WaitingForInput { group.command_line() } else { None };
            (prober, doing, command)
        }));
    }

    /// Translates the kernel's answer for the machine.
    pub(super) fn probe_answer(&mut self, answer: Option<(Prober, Doing, Option<String>)>) -> Probed {
        let Some((prober, doing, command)) = answer else { return Probed::Unknown };
        self.state.prober = Some(prober);
        match (doing, command, &self.state.command) {
            (Doing::WaitingForInput, Some(now), Some(before)) if now != *before => {
                // The next prompt sets it again.
                self.state.command = None;
                Probed::Replaced(now)
            }
            (Doing::WaitingForInput, ..) => Probed::Waiting,
            (Doing::Sleeping, ..) => Probed::Sleeping,
            (Doing::Computing, ..) => Probed::Computing,
            (Doing::Unknown, ..) => Probed::Unknown,
        }
    }

    /// Sends SIGINT to the process group; if `guarded`, only once all written code has been read.
    pub(super) fn signal(&mut self, guarded: bool) {
        if self.screen.is_some() {
            // The terminal knows who is in the foreground, or the program takes it as a key.
            return self.inputs.stdin.push(vec![CONTROL_C]);
        }
        if guarded && self.inputs.code().has_unread() {
            return self.on(Event::Unread);
        }
        // The group may already have exited, which its exit reports.
        let _ = self.group.signal(Signal::INT);
    }

    /// Observes the activity in the session. A pending observation is discarded.
    pub(super) fn watch(&mut self, window: Duration, age: Duration) {
        let group = self.group.clone();
        self.state.watch = Some(tokio::spawn(async move { Activity::observe(&group, window, age).await }));
    }

    pub(super) fn measure(&mut self) {
        let group = self.group.clone();
        self.state.watched = Some(Instant::now());
        self.state.measure = Some(tokio::task::spawn_blocking(move || {
            let memory = process::probe::memory(&group);
            (memory.resident, CpuClock::from_pids(memory.processes))
        }));
    }

    pub(super) fn measured(&mut self, measured: Option<(u64, CpuClock)>) {
        let Some((memory, clock)) = measured else { return };
        if self.machine.current().is_none() || self.state.clock.is_empty() {
            // Within an evaluation both readings must come from the same processes.
            self.state.clock = clock;
        }
        self.info.send_modify(|info| info.memory = Some(memory));
        if memory > self.memory_limit {
            let (used, limit) = (memory >> 20, self.memory_limit >> 20);
            self.on(Event::Kill {
                reason: format!("it used {used} MiB of memory; the limit is {limit} MiB (limits.session_memory)"),
            });
        }
    }

    /// Runs the kill ladder in a separate task, so that the loop continues to read.
    pub(super) fn end(&mut self, ending: Ending) {
        if self.state.ending.is_some() {
            return;
        }
        let (group, stdin) = (self.group.clone(), self.inputs.stdin.take());
        let ladder = match ending {
            Ending::Ask(_) | Ending::Terminate if self.screen.is_some() => {
                // Shells ignore TERM, but not the end of their terminal. A program that has exited needs no signal.
                let _ = group.signal(Signal::HUP);
                Ladder::default()
            }
            Ending::Ask(quit) => Ladder { quit: Some(quit), ..Ladder::default() },
            Ending::Terminate => Ladder { close_wait: Duration::ZERO, ..Ladder::default() },
            Ending::Kill => Ladder::at_once(),
        };
        self.state.ending = Some(tokio::spawn(async move {
            let ended = group.end(stdin, &ladder).await;
            if ended.left > 0 {
                tracing::warn!(pid = group.pid(), left = ended.left, "processes of a session could not be ended");
            }
        }));
    }

    /// Reads the remaining output of the exited process, then reports its exit.
    pub(super) async fn exited(&mut self) {
        let until = Instant::now() + DRAIN;
        self.read();
        // A grandchild may keep the pipes open; the program's own output is in them by now.
        while self.outputs.iter().any(OutputPipe::is_open) && Instant::now() < until {
            let before = self.state.logged;
            self.read();
            if before == self.state.logged {
                break;
            }
            tokio::task::yield_now().await;
        }
        let now = Instant::now();
        for output in &mut self.outputs {
            let stream = output.stream;
            let (machine, log, events) = (&mut self.machine, &self.log, &self.events);
            let logged = &mut self.state.logged[stream as usize];
            output.close(|segment| route(segment, stream, machine, log, events, logged, now));
        }
        self.state.dead = true;
        self.state.closed = None;
        let exit = *self.exit.borrow();
        let death =
            exit.map_or(Death { code: None, signal: None }, |exit| Death { code: exit.code, signal: exit.signal });
        self.machine.on(Event::Died(death), now);
        self.scripts.clear();
        // Also ends processes that the program left behind.
        self.end(Ending::Kill);
    }

    /// Cleans up after the last process, and answers those who stopped the session.
    pub(super) fn all_ended(&mut self) {
        self.scratch = None;
        for reply in self.state.stopping.drain(..) {
            let _ = reply.send(());
        }
    }
}
