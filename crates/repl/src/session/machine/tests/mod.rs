//! Drives the machine by hand: events in, actions out, at given times.
//!
//! This file holds the simulated session. `evaluations.rs` tests evaluations and answers, `interrupts.rs` an interrupt
//! and its aftermath, `input.rs` the program's input, `ends.rs` the end of a session.

mod ends;
mod evaluations;
mod input;
mod interrupts;

use super::super::SessionState;
use super::*;
use crate::adapter::ghci::Ghci;
use expect_test::{Expect, expect};
use process::activity::Activity;

/// A session with a simulated clock, which records all actions.
struct Play {
    machine: Machine,
    now: Instant,
    log: Vec<String>,
    waiter: u64,
    claims: Vec<Arc<Claim>>,
}

impl Play {
    fn new() -> Play {
        let bounds = Bounds { queue: 2, start: Duration::from_secs(60), idle: Some(Duration::from_secs(3600)) };
        let nonce = Nonce::fixed("0123456789abcdef0123456789abcdef");
        let now = Instant::now();
        let evals = Arc::new(crate::numbers::EvalNumbers::fresh());
        let machine = Machine::new("main", Arc::new(Ghci), nonce, bounds, evals, now);
        Play { machine, now, log: Vec::new(), waiter: 0, claims: Vec::new() }
    }

    /// Returns a session that is ready, at line 5.
    fn ready() -> Play {
        let mut play = Play::new();
        play.mark(4).print("unknown command ':hob-0123456789ab-1'\nuse :? for help.\n").mark(5);
        play.log.clear();
        play
    }

    fn note(&mut self) -> &mut Play {
        self.machine.start_if_idle(self.now);
        for action in self.machine.take_actions() {
            let line = match action {
                Action::Code { bytes, .. } if bytes.starts_with(b":set ") => "write the install lines".to_owned(),
                Action::Code { bytes, .. } => format!("write {:?}", String::from_utf8_lossy(&bytes)),
                Action::Feed(bytes) => format!("feed {:?}", String::from_utf8_lossy(&bytes)),
                Action::Answer { waiter, eval } => {
                    let record = self.machine.record(eval).expect("it is remembered");
                    let [out, err] = record.output.each_ref().map(|output| output.bytes().0);
                    let show = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
                    format!("answer {} with #{eval} {} {:?} {:?}", waiter.0, record.status.name(), show(out), show(err))
                }
                Action::Refuse { waiter, error } => format!("refuse {}: {error}", waiter.0),
                Action::Accept { waiter, input } => format!("accept {}: {} pending", waiter.0, input.pending),
                Action::Interrupted { waiter, outcome, eval, took, rest } => {
                    let rest = rest.map(|rest| format!(", {rest}")).unwrap_or_default();
                    format!("interrupted {}: {outcome:?} {eval:?} after {took:?}{rest}", waiter.0)
                }
                Action::Emit(_) | Action::Loaded(_) => continue,
                other => format!("{other:?}"),
            };
            self.log.push(line);
        }
        self
    }

    fn print(&mut self, text: &str) -> &mut Play {
        self.machine.data(Stream::Stdout, text.as_bytes(), self.now);
        self
    }

    fn err(&mut self, text: &str) -> &mut Play {
        self.machine.data(Stream::Stderr, text.as_bytes(), self.now);
        self
    }

    fn mark_one(&mut self, stream: Stream, number: Option<u64>) -> &mut Play {
        self.machine.marker(stream, number, "Prelude", self.now);
        self.note()
    }

    fn mark(&mut self, number: u64) -> &mut Play {
        self.mark_one(Stream::Stdout, Some(number)).mark_one(Stream::Stderr, Some(number))
    }

    /// Answers the `n`th barrier at this line.
    fn barrier(&mut self, n: u64, line: u64) -> &mut Play {
        self.print(&format!("unknown command ':hob-0123456789ab-{n}'\nuse :? for help.\n")).mark(line)
    }

    fn eval(&mut self, code: &str) -> &mut Play {
        self.eval_with(code, None)
    }

    fn eval_with(&mut self, code: &str, stdin: Option<&str>) -> &mut Play {
        self.waiter += 1;
        let claim = Arc::new(Claim::default());
        self.claims.push(claim.clone());
        let (code, stdin, waiter) = (code.to_owned(), stdin.map(str::to_owned), Waiter(self.waiter));
        self.on(Event::Eval { code, stdin, quiet: false, claim, waiter })
    }

    fn on(&mut self, event: Event) -> &mut Play {
        self.machine.on(event, self.now);
        self.note()
    }

    fn interrupt(&mut self, eval: Option<u64>) -> &mut Play {
        self.on(Event::Interrupt { eval, waiter: Waiter(9) })
    }

    /// Answers an observation with the share of a processor that the session uses.
    fn rest(&mut self, had: f64) -> &mut Play {
        self.on(Event::Watched(Activity { wanted: had, had, young: Vec::new() }))
    }

    /// Drops all actions except signals and answers.
    fn quiet(&mut self) -> &mut Play {
        self.log.retain(|line| !["Probe", "Watch", "write"].iter().any(|start| line.starts_with(start)));
        self
    }

    /// Advances the time, deadline by deadline.
    fn pass(&mut self, ms: u64) -> &mut Play {
        let end = self.now + Duration::from_millis(ms);
        while let Some(at) = self.machine.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.on(Event::Tick);
        }
        self.now = end;
        self
    }

    fn check(&mut self, expected: Expect) -> &mut Play {
        expected.assert_eq(&self.log.join("\n"));
        self.log.clear();
        self
    }
}
