//! What differs between REPLs, as code: how the end of an evaluation is reported, how code is handed over, what the
//! output means. An [`Adapter`] is stateless; the session's machine calls it. What can be data is in the profile.
//!
//! Every adapter makes its REPL print a marker to both streams, standard output first, when an evaluation has ended:
//! `NONCE SP NUMBER SP PAYLOAD LF`, where the nonce is secret and random and the number grows with every evaluation
//! (`-` where there is no number). Whatever precedes the marker on a stream belongs to the evaluation. The payload on
//! standard output is specific to each adapter; on standard error it is a [`StderrPayload`].

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
    pub fn random() -> Nonce {
        Nonce(process::Nonce::random())
    }

    /// The 32 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// A nonce that a test knows beforehand.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// To the REPL's standard input, which running programs read too.
    Stdin,
    /// To a pipe of its own, whose descriptor number is in the environment variable [`CODE_VARIABLE`], so that standard
    /// input belongs to the running program alone.
    Apart,
}

/// Where a bootstrap finds the descriptor of [`Channel::Apart`].
pub const CODE_VARIABLE: &str = "HOB_CODE_FD";

/// Where a command that holds this word finds the descriptor of a terminal, which controls nothing and nobody reads.
pub const TERMINAL_VARIABLE: &str = "HOB_TERMINAL_FD";

/// How the code of one evaluation is handed over: step by step, each after the end of the one before.
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
    /// What to write, including the last newline.
    pub bytes: Vec<u8>,
    /// The least by which the marker's number grows.
    pub advance: u64,
    /// A file for code too long for a pipe, or for input; `bytes` refers to it by the first [`SCRIPT_PATH`].
    pub script: Option<Vec<u8>>,
}

/// Stands for the path of the script in a step's bytes.
pub const SCRIPT_PATH: &str = "@HOB-SCRIPT-PATH@";

/// Why code is not evaluated, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong with the code.
    pub message: String,
    /// What to do instead.
    pub hint: String,
}

/// What to do next while the markers are being installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallStep {
    /// Wait for further output.
    Wait,
    /// Write another attempt.
    Write(Vec<u8>),
    /// Give up numbered markers and use [`Adapter::fallback_mark`].
    Fallback,
}

/// How code gets the input that is given with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenInput {
    /// As a file of its own, with an end: the only step of [`Adapter::plan_with_input`] refers to it.
    Whole,
    /// By the pipe that the REPL reads its code from, which ends only with the session. What to say of that to who waits
    /// for a program that has read all of it.
    Endless(&'static str),
}

/// A line that proves that the REPL is in step: it changes nothing, needs nothing, and has a recognisable answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Barrier {
    pub bytes: Vec<u8>,
    /// What appears on either stream before the barrier's marker there (GHCi changed the stream once). `None` where
    /// programs cannot read what is written to the REPL: then counting is the proof, since each step and barrier must
    /// advance the number by exactly one.
    pub echo: Option<Vec<u8>>,
}

/// The payload of a marker on standard error: `[+[N]][!][?|"…"]`, in this order.
///
/// - `+27`: the program left 27 bytes of its input unread, which were taken back and do not run as code; `+`: no bytes.
///   Without a `+` nothing is taken back.
/// - `!`: the REPL stopped the evaluation at a breakpoint.
/// - `"…"`: what the REPL itself said, as a literal that [`Adapter::words`] reads. `?`: some of that may have been
///   missed. Neither: it said nothing, if it is heard at all.
///
/// The payload comes from the REPL's process, where a program can do anything: any other form says as little as `?`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StderrPayload<'a> {
    /// How many bytes of its input a program left unread, where they are taken back.
    pub unread: Option<usize>,
    /// Whether the evaluation stopped at a breakpoint.
    pub stopped: bool,
    /// What the REPL said.
    pub said: Heard<'a>,
}

/// What the REPL itself said, as far as its payload tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard<'a> {
    Nothing,
    /// Some of it may have been missed.
    Missed,
    /// The words, as a literal of the REPL's language.
    Words(&'a str),
}

impl StderrPayload<'_> {
    /// Reads a payload of any form.
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

/// Output without the answers to barriers: the prefix, a number and the ends, wherever in a line they are. A program
/// that runs in the background may have begun the line.
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
    /// Whether SIGINT to the process group interrupts the evaluation and spares the REPL. One that comes when nothing runs must
    /// not hit what comes next.
    pub signal: bool,
    /// How long to wait between the two barriers for a signal that is still under way.
    pub settle: Duration,
    /// Whether the REPL abandons what a second signal interrupts: its prompt comes back, but the evaluation's thread
    /// may run on.
    pub detaches: bool,
}

impl Default for InterruptPlan {
    fn default() -> InterruptPlan {
        InterruptPlan { signal: true, settle: Duration::from_millis(30), detaches: false }
    }
}

/// What one evaluation (all its steps) printed. The streams are cut in the middle if very long.
#[derive(Debug, Clone, Copy)]
pub struct Printed<'a> {
    pub code: &'a str,
    pub stdout: &'a str,
    pub stderr: &'a str,
    /// The payload of the last marker on standard output.
    pub payload: &'a str,
    /// Whether hob sent a signal: without one, no output means that the evaluation was interrupted.
    pub interrupting: bool,
}

/// What the REPL itself said about an evaluation, where that can be told from the program's output.
#[derive(Debug, Clone, Copy, Default)]
pub struct Words<'a> {
    /// One text for each piece of the code that the REPL said something about; `None` if not known for certain.
    pub reports: Option<&'a [String]>,
    /// Whether the evaluation stopped at a breakpoint.
    pub stopped: bool,
}

/// What to say about a breakpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    /// A note for the result.
    pub note: String,
    /// What the REPL prints at each prompt while the breakpoint lasts.
    pub context: Option<String>,
}

/// What the output of an evaluation means.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// Whether the REPL reported an error.
    pub error: bool,
    /// Compiler messages.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether hob's signal ended it, according to the REPL.
    pub interrupted: bool,
    /// Another signal that ended it, according to the REPL.
    pub signal: Option<i32>,
    /// The exception that ended the evaluation.
    pub exception: Option<String>,
    /// The value, where the language reports it apart from the output.
    pub value: Option<String>,
    pub type_: Option<String>,
    /// Set when the code loaded modules; the session adds the generation.
    pub load: Option<LoadRecord>,
}

/// One kind of REPL. Implementations are small, stateless and pure.
pub trait Adapter: Send + Sync + fmt::Debug {
    /// How sure the end of an evaluation is once `install` has worked.
    fn completion(&self) -> Completion {
        Completion::Exact
    }

    fn channel(&self) -> Channel {
        Channel::Stdin
    }

    /// What standard error shows where hob's own lines begin at the start: what follows, up to the first numbered marker,
    /// is about those.
    fn install_begins(&self, nonce: &Nonce) -> Option<Vec<u8>> {
        let _ = nonce;
        None
    }

    /// Puts the evaluation's number into a step, where the REPL can name what it runs by it.
    fn number(&self, step: &mut Step, eval: u64) {
        let _ = (step, eval);
    }

    /// The script that the program reads where [`process::GIVEN_PATH`] is among its arguments.
    fn script(&self) -> Option<&'static str> {
        None
    }

    /// What to write right after the start to make the REPL print markers. The session is ready when the first numbered
    /// marker has come on both streams.
    fn install(&self, nonce: &Nonce) -> Vec<u8>;

    /// What to do after the `count`th marker without a number, before any with one.
    fn unnumbered(&self, _nonce: &Nonce, _count: usize) -> InstallStep {
        InstallStep::Wait
    }

    /// A line for REPLs without numbered markers: sent after each unnumbered marker, it prints the numbered one to both
    /// streams.
    fn fallback_mark(&self, _nonce: &Nonce, _number: u64) -> Option<Vec<u8>> {
        None
    }

    /// What to write to a program that replaced the REPL in its own process so that it becomes the REPL, with markers
    /// that go on after `number`. `None` for another kind of program. `command` is its command line.
    fn revive(&self, _command: &str, _nonce: &Nonce, _number: u64) -> Option<Vec<u8>> {
        None
    }

    /// The language's version, from what the REPL printed before its first prompt.
    fn version(&self, _banner: &str) -> Option<String> {
        None
    }

    /// How to hand over this code, or why not to.
    fn plan(&self, code: &str) -> Result<Plan, Refusal>;

    /// [`Adapter::plan`] for code that is given input beforehand. Where the step's script is to be that input, it ends
    /// there ([`Adapter::input`]). If else the last marker on standard error tells how much was left unread
    /// ([`StderrPayload`]), input is handed over in chunks, or line by line as the program asks.
    fn plan_with_input(&self, code: &str) -> Result<Plan, Refusal> {
        self.plan(code)
    }

    /// How code gets the input that is given with it.
    fn input(&self) -> GivenInput {
        GivenInput::Whole
    }

    /// A path as a word in a step's bytes.
    fn path_word(&self, path: &str) -> String {
        path.to_owned()
    }

    /// Whether a step is a piece of the code, and not only preparation for the next step.
    fn is_piece(&self, _step: &Step) -> bool {
        true
    }

    /// Whether the code asks the REPL to end, so that its end is expected.
    fn is_quit(&self, _code: &str) -> bool {
        false
    }

    /// Judges the output alone.
    fn classify(&self, printed: Printed<'_>) -> Verdict;

    /// Judges the output where the REPL's own words are known.
    fn judge(&self, printed: Printed<'_>, _words: Words<'_>) -> Verdict {
        self.classify(printed)
    }

    /// What to say about an evaluation that printed this and stopped at a breakpoint.
    fn stopped(&self, _stdout: &str) -> Stopped {
        Stopped { note: "It stopped at a breakpoint.".to_owned(), context: None }
    }

    /// The text of a literal on standard error, see [`StderrPayload`]; `None` if it is not a literal.
    fn words(&self, _literal: &str) -> Option<String> {
        None
    }

    /// The `n`th barrier.
    fn barrier(&self, nonce: &Nonce, n: u64) -> Barrier;

    /// What every barrier's answer on standard output begins with, if there is an answer.
    fn barrier_prefix(&self, _nonce: &Nonce) -> Option<Vec<u8>> {
        None
    }

    /// The output without what barriers and interrupts add to it.
    fn without_barriers(&self, output: &[u8], _nonce: &Nonce) -> Vec<u8> {
        output.to_vec()
    }

    /// What the REPL prints to standard output as it ends by itself.
    fn farewell(&self) -> &'static [u8] {
        b""
    }

    fn interrupt(&self) -> InterruptPlan {
        InterruptPlan::default()
    }

    /// A step that restores what an interrupted load has lost, with a note that says so, if the interrupted code or the
    /// marker's payload since then require it.
    fn recover(&self, _code: &str, _payload: &str) -> Option<(Step, String)> {
        None
    }

    /// Whether the code loads modules, some of which an interrupt leaves unloaded.
    fn loads(&self, _code: &str) -> bool {
        false
    }

    /// Whether children may be in process groups of their own, which an interrupt must reach too.
    fn controls_jobs(&self) -> bool {
        false
    }

    /// What to write to make the REPL end by itself.
    fn quit(&self) -> Vec<u8>;

    /// The prompt a person would see, from the marker's payload.
    fn prompt(&self, _payload: &str) -> String {
        String::new()
    }

    /// Whether evaluating the code again in a new process only restores definitions (imports, loads, settings,
    /// bindings), without any other effect.
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
            // Payloads that are never written.
            ("!+3", aside(None, true, Heard::Missed)),
            ("+99999999999999999999999", aside(Some(0), false, Heard::Nothing)),
            ("\u{3bb}", aside(None, false, Heard::Missed)),
        ] {
            assert_eq!(StderrPayload::read(payload), expected, "{payload}");
        }
    }
}
