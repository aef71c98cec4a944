//! The limits of a run, and why a run ended without a value.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::heap::visited;

/// Limits of a run.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How many steps may be done.
    pub steps: u64,
    /// How many calls may wait for another one.
    pub depth: usize,
    /// How many bytes may be printed.
    pub output: usize,
    /// How many bytes all values and waiting calls may take together.
    pub memory: usize,
    /// How long it may take.
    pub time: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: 100_000_000, depth: 1_000_000, output: 1 << 20, memory: 1 << 30, time: None }
    }
}

/// Why a run ended without a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// An error of the program.
    #[error("the program raised {reason}{}", .place.as_ref().map(|place| format!(" in {place}")).unwrap_or_default())]
    Raised {
        /// The reason, as Erlang writes it.
        reason: String,
        /// The function it was in.
        place: Option<String>,
    },
    /// A limit was reached.
    #[error("the run was ended: more than {limit} {what}")]
    Limit {
        /// The limited resource.
        what: &'static str,
        limit: u64,
    },
    /// The run was cancelled by its starter.
    #[error("the run was cancelled")]
    Cancelled,
    /// The function does not exist.
    #[error("unknown function {module}:{function}/{arity}: neither the program nor the interpreter has it")]
    Undefined {
        module: String,
        function: String,
        /// Its number of parameters.
        arity: usize,
    },
}

/// Ends a run from outside.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ends it soon.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// How many visits of parts of values take as long as a step.
const VISITS: u64 = 8;

/// How many units of work are done between two looks at the clock.
const PATIENCE: u32 = 4096;

/// Resources used by a run.
#[derive(Debug)]
pub(crate) struct Meter {
    pub limits: Limits,
    pub steps: u64,
    /// The bytes of waiting calls.
    pub frames: usize,
    /// The bytes of this thread's values before it began.
    before: usize,
    work: u32,
    /// The parts of values that were visited besides.
    visits: u64,
    end: Option<Instant>,
    stop: Stop,
}

impl Meter {
    pub(crate) fn new(limits: Limits, stop: Stop) -> Meter {
        let end = limits.time.and_then(|time| Instant::now().checked_add(time));
        visited(limits.steps.saturating_mul(VISITS));
        Meter { limits, steps: 0, frames: 0, before: super::heap::live(), work: 0, visits: 0, end, stop }
    }

    /// One step more.
    pub(crate) fn step(&mut self) -> Result<(), Failure> {
        self.steps += 1;
        self.check_limits()?;
        self.room(0)?;
        self.work(1)
    }

    fn check_limits(&self) -> Result<(), Failure> {
        if self.steps.saturating_add(self.visits / VISITS) > self.limits.steps {
            return Err(Failure::Limit { what: "steps", limit: self.limits.steps });
        }
        Ok(())
    }

    /// Counts what an operation did with values.
    pub(crate) fn visited(&mut self) -> Result<(), Failure> {
        let left = self.limits.steps.saturating_sub(self.steps + self.visits / VISITS);
        match visited(left.saturating_add(1).saturating_mul(VISITS)) {
            Some(0) => Ok(()),
            Some(visits) => {
                self.visits = self.visits.saturating_add(visits);
                self.check_limits()?;
                self.work(u32::try_from(visits / VISITS).unwrap_or(u32::MAX))
            }
            None => Err(Failure::Limit { what: "steps", limit: self.limits.steps }),
        }
    }

    /// Fails if `bytes` more do not fit into the limit.
    pub(crate) fn room(&self, bytes: usize) -> Result<(), Failure> {
        let used = super::heap::live().saturating_sub(self.before).saturating_add(self.frames);
        if used.saturating_add(bytes) > self.limits.memory {
            return Err(Failure::Limit { what: "bytes of memory", limit: self.limits.memory as u64 });
        }
        Ok(())
    }

    /// Counts work equivalent to `units` steps, and checks the clock occasionally.
    pub(crate) fn work(&mut self, units: u32) -> Result<(), Failure> {
        self.work = self.work.saturating_add(units);
        if self.work < PATIENCE {
            return Ok(());
        }
        self.work = 0;
        if self.stop.0.load(Ordering::Relaxed) {
            return Err(Failure::Cancelled);
        }
        if self.end.is_some_and(|end| Instant::now() >= end) {
            let limit = self.limits.time.unwrap_or_default().as_secs();
            return Err(Failure::Limit { what: "seconds", limit });
        }
        Ok(())
    }
}
