//! What differs between REPLs, as code: how to be told when an evaluation has ended, how code is handed over, what the
//! answer means. An [`Adapter`] is stateless; the session's machine calls it. What can be data stands in the profile.
//!
//! Every adapter makes its REPL print a marker to both streams, standard output first, when an evaluation has ended:
//! `NONCE SP NUMBER SP PAYLOAD LF`, where the nonce is secret and random and the number grows with every evaluation
//! (`-` stands for a number where there is none). Whatever stands before the marker on a stream belongs to the
//! evaluation. What the payload means on standard output is each adapter's own; on standard error it is an [`StderrPayload`].

pub mod bash;
pub mod ghci;
pub mod python;

use std::fmt;
use std::time::Duration;

use crate::load::LoadRecord;
use crate::result::Completion;
use diagnostics::Diagnostic;

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
pub enum InstallStep {
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

/// What the payload of a marker on standard error tells: `[+[N]][!][?|"…"]`, in this order.
///
/// - `+27`: the program left 27 bytes of its input unread, which have been taken back and do not run as code; `+`: none.
///   Without a `+` nothing is taken back.
/// - `!`: the REPL stopped it at a breakpoint.
/// - `"…"`: what the REPL itself said, as a literal that [`Adapter::words`] reads. `?`: some of that may have been missed.
///   Neither: it said nothing, if it is heard at all.
///
/// The payload comes from the REPL's process, where a program can do anything: what has another form tells as little as `?`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StderrPayload<'a> {
    /// How many bytes of its input a program left unread, where they are taken back.
    pub unread: Option<usize>,
    /// Whether it stopped at a breakpoint.
    pub stopped: bool,
    /// What the REPL said.
    pub said: Heard<'a>,
}

/// See [`StderrPayload`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard<'a> {
    Nothing,
    /// Nobody knows for certain.
    Missed,
    /// This, as a literal of the REPL's language.
    Words(&'a str),
}

impl StderrPayload<'_> {
    /// Reads it.
    pub fn read(payload: &str) -> StderrPayload<'_> {
        let (unread, rest) = match payload.strip_prefix('+') {
            None => (None, payload),
            Some(rest) => {
                let (digits, rest) = rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count());
                (Some(digits.parse().unwrap_or(0)), rest)
            }
        };
        let (stopped, rest) = match rest.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let said = match rest {
            "" => Heard::Nothing,
            literal if literal.starts_with('"') => Heard::Words(literal),
            _ => Heard::Missed,
        };
        StderrPayload { unread, stopped, said }
    }
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
    /// Whether the REPL leaves to itself what a second signal interrupts: its prompt comes back, and the evaluation's
    /// thread may go on.
    pub detaches: bool,
}

impl Default for InterruptPlan {
    fn default() -> InterruptPlan {
        InterruptPlan { signal: true, settle: Duration::from_millis(30), detaches: false }
    }
}

/// What one evaluation (all its steps) printed, for judgement. The streams are cut in the middle if very long.
#[derive(Debug, Clone, Copy)]
pub struct Printed<'a> {
    pub code: &'a str,
    /// On standard output.
    pub stdout: &'a str,
    /// On standard error.
    pub stderr: &'a str,
    /// The payload of the last marker on standard output.
    pub payload: &'a str,
    /// Whether we have sent it a signal: without one, nothing that it prints says that it was interrupted.
    pub interrupting: bool,
}

/// What the REPL itself said of an evaluation, where it is told apart from what the program printed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Words<'a> {
    /// One text for each piece of the code where it said something. None if that is not known for certain.
    pub reports: Option<&'a [String]>,
    /// Whether it stopped at a breakpoint.
    pub stopped: bool,
}

/// What there is to say of a breakpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    /// A note for the result.
    pub note: String,
    /// What the REPL prints at each prompt while it lasts.
    pub context: Option<String>,
}

/// What it means.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// Whether the REPL reported an error.
    pub error: bool,
    /// Compiler messages.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether our signal ended it, as the REPL reports it.
    pub interrupted: bool,
    /// Another signal that the REPL says has ended it.
    pub signal: Option<i32>,
    /// The exception that ended the evaluation.
    pub exception: Option<String>,
    /// The value, where it can be told from the output.
    pub value: Option<String>,
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

    /// What the program is given to read where [`process::GIVEN_PATH`] stands in its arguments.
    fn script(&self) -> Option<&'static str> {
        None
    }

    /// What to write right after the start to make the REPL print markers. The session is ready when the first
    /// numbered marker has come on both streams.
    fn install(&self, nonce: &Nonce) -> Vec<u8>;

    /// What to do when the `count`th marker without a number came before any with one.
    fn unnumbered(&self, _nonce: &Nonce, _count: usize) -> InstallStep {
        InstallStep::Wait
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

    /// The same for code that is given input beforehand. Where its last marker on standard error says how much of that was
    /// left unread ([`StderrPayload`]), much of it is handed over at once; else line by line, as the program asks.
    fn plan_with_input(&self, code: &str) -> Result<Plan, Refusal> {
        self.plan(code)
    }

    /// Whether a step is one of the code's own pieces, and not only there to prepare the next.
    fn is_piece(&self, _step: &Step) -> bool {
        true
    }

    /// Whether the code asks the REPL to end, so that its end is no surprise.
    fn is_quit(&self, _code: &str) -> bool {
        false
    }

    /// What the output means.
    fn classify(&self, printed: Printed<'_>) -> Verdict;

    /// The same, where the REPL's own words are known.
    fn judge(&self, printed: Printed<'_>, _words: Words<'_>) -> Verdict {
        self.classify(printed)
    }

    /// What to say of an evaluation that stopped at a breakpoint, having printed this.
    fn stopped(&self, _stdout: &str) -> Stopped {
        Stopped { note: "It stopped at a breakpoint.".to_owned(), context: None }
    }

    /// The text of a literal on standard error, see [`StderrPayload`]. None if it is none.
    fn words(&self, _literal: &str) -> Option<String> {
        None
    }

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

    /// What it says on standard output as it ends by itself, if anything.
    fn farewell(&self) -> &'static [u8] {
        b""
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

    /// Whether the code loads modules: an interrupt leaves some of them unloaded.
    fn loads(&self, _code: &str) -> bool {
        false
    }

    /// Whether what it runs may be in process groups of their own, which an interrupt has to reach all the same.
    fn controls_jobs(&self) -> bool {
        false
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_beside_on_standard_error() {
        let aside = |unread, stopped, said| StderrPayload { unread, stopped, said };
        for (payload, expected) in [
            ("", aside(None, false, Heard::Nothing)),
            ("+", aside(Some(0), false, Heard::Nothing)),
            ("+27", aside(Some(27), false, Heard::Nothing)),
            ("?", aside(None, false, Heard::Missed)),
            ("+?", aside(Some(0), false, Heard::Missed)),
            ("+3!", aside(Some(3), true, Heard::Nothing)),
            ("!\"+1\"", aside(None, true, Heard::Words("\"+1\""))),
            ("+3\"5!?\"", aside(Some(3), false, Heard::Words("\"5!?\""))),
            ("+12!\"a\\n\"", aside(Some(12), true, Heard::Words("\"a\\n\""))),
            // What nobody writes.
            ("!+3", aside(None, true, Heard::Missed)),
            ("+99999999999999999999999", aside(Some(0), false, Heard::Nothing)),
            ("\u{3bb}", aside(None, false, Heard::Missed)),
        ] {
            assert_eq!(StderrPayload::read(payload), expected, "{payload}");
        }
    }
}
