//! What differs between REPLs, as code: how to be told when an evaluation has ended, how code is handed over, what the
//! answer means. An [`Adapter`] is stateless; the session's machine calls it. What can be data stands in the profile.
//!
//! Every adapter makes its REPL print a marker to both streams, standard output first, when an evaluation has ended:
//! `NONCE SP NUMBER SP PAYLOAD LF`, where the nonce is secret and random and the number grows with every evaluation
//! (`-` stands for a number where there is none). Whatever stands before the marker on a stream belongs to the
//! evaluation.

pub mod bash;
pub mod ghci;
pub mod python;

use std::fmt;
use std::time::Duration;

use crate::session::{Completion, Diagnostic, LoadRecord};

/// The secret that marks the end of an evaluation, never shown to anyone. A type of its own, because the nonce that
/// names a session is no secret to the programs in it.
#[derive(Clone, PartialEq, Eq)]
pub struct Nonce(process::Nonce);

impl Nonce {
    /// A fresh one.
    pub fn random() -> Nonce {
        Nonce(process::Nonce::random())
    }

    /// Its 32 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// One that is known beforehand.
    #[cfg(test)]
    pub(crate) fn known(digits: &str) -> Nonce {
        Nonce(digits.parse().expect("32 digits"))
    }
}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nonce(..)")
    }
}

/// Where code is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// To the REPL's standard input, which running programs read too.
    Stdin,
    /// To a pipe of its own, whose descriptor's number stands in the variable [`CODE_VARIABLE`] of the environment, so
    /// that standard input belongs to the running program alone.
    Apart,
}

/// Where a bootstrap finds the descriptor of [`Channel::Apart`].
pub const CODE_VARIABLE: &str = "HOB_CODE_FD";

/// How the code of one evaluation is handed over: one step after the other, each after the end of the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// At least one.
    pub steps: Vec<Step>,
    /// Notes for the result.
    pub notes: Vec<String>,
}

/// One piece of code that ends with one marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What to write, complete with its last newline.
    pub bytes: Vec<u8>,
    /// By how much the marker's number grows at least.
    pub advance: u64,
    /// A file that `bytes` refers to by [`SCRIPT_PATH`], for code too long for a pipe.
    pub script: Option<Vec<u8>>,
}

/// Stands in a step's bytes for the path of its script.
pub const SCRIPT_PATH: &str = "@HOB-SCRIPT-PATH@";

/// Why code is not evaluated, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong with it.
    pub message: String,
    /// What to do instead.
    pub hint: String,
}

/// How installing the markers goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setup {
    /// As it is.
    Wait,
    /// By another attempt.
    Write(Vec<u8>),
    /// Without numbered markers, by [`Adapter::fallback_mark`].
    Fallback,
}

/// A line that proves that the REPL is in step: it changes nothing, needs nothing, and answers recognisably.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Barrier {
    /// What to write.
    pub bytes: Vec<u8>,
    /// What appears on either stream before the barrier's marker there (GHCi changed the stream once). Without it (where programs cannot eat what is
    /// written to the REPL) counting is the proof: each step and barrier must advance the number by exactly one.
    pub echo: Option<Vec<u8>>,
}

/// Output without barriers' answers: the prefix, a number and the ends, wherever in a line they stand. A program that goes
/// on in the background may have begun the line.
fn without_answers(mut output: &[u8], prefix: &str, ends: &[&str]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(output.len());
    while let Some(at) = memchr::memmem::find(output, prefix.as_bytes()) {
        kept.extend_from_slice(&output[..at]);
        output = &output[at + prefix.len()..];
        let digits = output.iter().take_while(|byte| byte.is_ascii_digit()).count();
        output = &output[digits..];
        for end in ends {
            output = output.strip_prefix(end.as_bytes()).unwrap_or(output);
        }
    }
    kept.extend_from_slice(output);
    kept
}

/// How a running evaluation is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterruptPlan {
    /// Whether SIGINT to the process group interrupts the evaluation and spares the REPL.
    pub signal: bool,
    /// How long to wait between the two barriers, for a signal that is still under way.
    pub settle: Duration,
}

impl Default for InterruptPlan {
    fn default() -> InterruptPlan {
        InterruptPlan { signal: true, settle: Duration::from_millis(30) }
    }
}

/// What one evaluation (all its steps) printed, for judgement. The streams are cut in the middle if very long.
#[derive(Debug, Clone, Copy)]
pub struct Printed<'a> {
    /// The code.
    pub code: &'a str,
    /// On standard output.
    pub stdout: &'a str,
    /// On standard error.
    pub stderr: &'a str,
    /// The payload of the last marker on standard output.
    pub payload: &'a str,
    /// Whether somebody asked for an interrupt.
    pub interrupting: bool,
}

/// What it means.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// Whether the REPL reported an error.
    pub error: bool,
    /// Compiler messages.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether the output says that an interrupt ended it.
    pub interrupted: bool,
    /// Another signal that the REPL says has ended it.
    pub signal: Option<i32>,
    /// The exception that ended the evaluation.
    pub exception: Option<String>,
    /// The value, where it can be told from the output.
    pub value: Option<String>,
    /// Its type.
    pub type_: Option<String>,
    /// Set when the code loaded modules; the generation is filled in later.
    pub load: Option<LoadRecord>,
}

/// One kind of REPL. Implementations are small, stateless and pure.
pub trait Adapter: Send + Sync + fmt::Debug {
    /// How sure the end of an evaluation is once `install` has worked.
    fn completion(&self) -> Completion {
        Completion::Exact
    }

    /// Where code is written.
    fn channel(&self) -> Channel {
        Channel::Stdin
    }

    /// What to write right after the start to make the REPL print markers. The session is ready when the first
    /// numbered marker has come on both streams.
    fn install(&self, nonce: &Nonce) -> Vec<u8>;

    /// What to do when the `count`th marker without a number came before any with one.
    fn unnumbered(&self, _nonce: &Nonce, _count: usize) -> Setup {
        Setup::Wait
    }

    /// Where numbered markers could not be installed: a line, sent after each unnumbered one, that prints the
    /// numbered marker to both streams.
    fn fallback_mark(&self, _nonce: &Nonce, _number: u64) -> Option<Vec<u8>> {
        None
    }

    /// What to write to a program that replaced the REPL in its own process, so that it becomes one, whose marks go on
    /// after `number`. None where it is another kind of program. `command` is its command line.
    fn revive(&self, _command: &str, _nonce: &Nonce, _number: u64) -> Option<Vec<u8>> {
        None
    }

    /// The language's version, read from what the REPL printed before its first prompt.
    fn version(&self, _banner: &str) -> Option<String> {
        None
    }

    /// How to hand over this code, or why not.
    fn plan(&self, code: &str) -> Result<Plan, Refusal>;

    /// Whether the code asks the REPL to end, so that its end is no surprise.
    fn is_quit(&self, _code: &str) -> bool {
        false
    }

    /// What the output means.
    fn classify(&self, printed: Printed<'_>) -> Verdict;

    /// The `n`th barrier.
    fn barrier(&self, nonce: &Nonce, n: u64) -> Barrier;

    /// What every barrier's answer on standard output begins with, if it has one.
    fn barrier_prefix(&self, _nonce: &Nonce) -> Option<Vec<u8>> {
        None
    }

    /// Output without what barriers and interrupts add to it.
    fn without_barriers(&self, output: &[u8], _nonce: &Nonce) -> Vec<u8> {
        output.to_vec()
    }

    /// How to interrupt.
    fn interrupt(&self) -> InterruptPlan {
        InterruptPlan::default()
    }

    /// A step that restores what an interrupted load has lost, with the note that says so, if the code that was
    /// interrupted or the marker's payload since then call for it.
    fn recover(&self, _code: &str, _payload: &str) -> Option<(Step, String)> {
        None
    }

    /// What makes the REPL end by itself.
    fn quit(&self) -> Vec<u8>;

    /// The prompt a person would see, from the marker's payload.
    fn prompt(&self, _payload: &str) -> String {
        String::new()
    }

    /// Whether evaluating the code again in a new process only restores definitions (imports, loads, settings,
    /// bindings), and has no other effect.
    fn replayable(&self, _code: &str) -> bool {
        false
    }

    /// The part of the code that only restores definitions, if any.
    fn definitions(&self, code: &str) -> Option<String> {
        self.replayable(code).then(|| code.to_owned())
    }
}
