//! Code that differs between REPLs: reporting the end of an evaluation, sending code, interpreting output. An
//! [`Adapter`] is stateless; the session's machine calls it. Differences that can be data are in the profile.
//!
//! Every adapter makes its REPL print a marker to both streams, standard output first, when an evaluation has ended:
//! `NONCE SP NUMBER SP PAYLOAD LF`. The nonce is secret and random, and the number grows with every evaluation (`-` for
//! no number). Output before the marker on a stream belongs to the evaluation. The payload on standard output is
//! specific to each adapter; on standard error it is a [`StderrPayload`].

pub mod bash;
mod frames;
pub mod ghci;
pub mod node;
pub mod prompt;
pub mod python;
pub mod terminal;

use std::fmt;
use std::time::Duration;

use crate::load::LoadRecord;
use crate::result::Completion;
use diagnostics::Diagnostic;
use process::Window;

/// The secret that marks the end of an evaluation, never shown. It is a separate type, because the nonce that names a
/// session is not secret to the programs in it.
#[derive(Clone, PartialEq, Eq)]
pub struct Nonce(process::Nonce);

impl Nonce {
    pub fn random() -> Nonce {
        Nonce(process::Nonce::random())
    }

    /// Returns the 32 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Creates a fixed nonce for a test.
    #[cfg(test)]
    pub(crate) fn fixed(digits: &str) -> Nonce {
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
    /// To a separate pipe, whose descriptor number is in the environment variable [`CODE_VARIABLE`], so that standard
    /// input belongs to the running program alone.
    Apart,
}

/// The variable that gives a bootstrap the descriptor of [`Channel::Apart`].
pub const CODE_VARIABLE: &str = "HOB_CODE_FD";

/// The variable with the descriptor of an unread terminal without control, for a command that contains this name.
pub const TERMINAL_VARIABLE: &str = "HOB_TERMINAL_FD";

/// The steps that hand over the code of one evaluation. Each is sent after the end of the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// At least one step.
    pub steps: Vec<Step>,
    /// Notes for the result.
    pub notes: Vec<String>,
}

/// One piece of code that ends with one marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The bytes to write, including the last newline.
    pub bytes: Vec<u8>,
    /// The minimum by which the marker's number grows.
    pub advance: u64,
    /// A file for code too long for a pipe, or for input; `bytes` refers to it by the first [`SCRIPT_PATH`].
    pub script: Option<Vec<u8>>,
}

/// A placeholder for the path of the script in a step's bytes.
pub const SCRIPT_PATH: &str = "@HOB-SCRIPT-PATH@";

/// The reason why code is not evaluated, and an alternative.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The problem with the code.
    pub message: String,
    /// The alternative.
    pub hint: String,
}

/// The next step while the markers are being installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallStep {
    /// Wait for further output.
    Wait,
    /// Write another attempt.
    Write(Vec<u8>),
    /// Give up numbered markers and use [`Adapter::fallback_mark`].
    Fallback,
}

/// The way code gets the input that is given with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenInput {
    /// As a separate file with an end: the only step of [`Adapter::plan_with_input`] refers to it.
    Whole,
    /// By the pipe that the REPL reads its code from, which ends only with the session. The text explains that to a
    /// caller that waits for a program that has read all of it.
    Endless(&'static str),
}

/// A line that proves that the REPL is in step: it changes nothing, needs nothing, and has a recognisable answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Barrier {
    pub bytes: Vec<u8>,
    /// The text that appears on either stream before the barrier's marker there (GHCi changed the stream once). `None`
    /// if programs cannot read the REPL's input: then each step and barrier must advance the number by exactly one, and
    /// the count is the proof.
    pub echo: Option<Vec<u8>>,
}

/// The payload of a marker on standard error: `[+[N]][!][?|"…"]`, in this order.
///
/// - `+27`: the program left 27 bytes of its input unread, which were taken back and do not run as code; `+`: no bytes.
///   Without a `+` nothing is taken back.
/// - `!`: the REPL stopped the evaluation at a breakpoint.
/// - `"…"`: the REPL's own messages, as a literal that [`Adapter::decode_literal`] reads. `?`: some may be missing.
///   Neither: there were none, if messages are captured at all.
///
/// The payload comes from the REPL's process, which a program can manipulate: any other form counts as `?`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StderrPayload<'a> {
    /// The number of input bytes that a program left unread, if they are taken back.
    pub unread: Option<usize>,
    /// True if the evaluation stopped at a breakpoint.
    pub stopped: bool,
    /// The REPL's own messages.
    pub messages: ReplMessages<'a>,
}

/// The REPL's own messages, as transmitted by its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplMessages<'a> {
    Nothing,
    /// Some messages may be missing.
    Missed,
    /// The messages, as a literal of the REPL's language.
    Text(&'a str),
}

impl StderrPayload<'_> {
    /// Parses a payload of any form.
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
        let messages = match rest {
            "" => ReplMessages::Nothing,
            literal if literal.starts_with('"') => ReplMessages::Text(literal),
            _ => ReplMessages::Missed,
        };
        StderrPayload { unread, stopped, messages }
    }
}

/// Removes the answers to barriers from output: the prefix, a number and the ends, anywhere in a line. A program that
/// runs in the background may have begun the line.
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

/// The way a running evaluation is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterruptPlan {
    /// True if SIGINT to the process group interrupts the evaluation and spares the REPL. A signal that arrives while
    /// nothing runs must not hit the next evaluation.
    pub signal: bool,
    /// The wait between the two barriers for a signal that is still in flight.
    pub settle: Duration,
    /// True if a second signal makes the REPL abandon the evaluation: its prompt comes back, but the evaluation's
    /// thread may continue to run.
    pub detaches: bool,
}

impl Default for InterruptPlan {
    fn default() -> InterruptPlan {
        InterruptPlan { signal: true, settle: Duration::from_millis(30), detaches: false }
    }
}

/// The output of one evaluation (all its steps). The streams are cut in the middle if very long.
#[derive(Debug, Clone, Copy)]
pub struct Printed<'a> {
    pub code: &'a str,
    pub stdout: &'a str,
    pub stderr: &'a str,
    /// The payload of the last marker on standard output.
    pub payload: &'a str,
    /// True if hob sent a signal. Without one, no output proves that the evaluation was interrupted.
    pub interrupting: bool,
}

/// The REPL's own messages about an evaluation, where they can be told from the program's output.
#[derive(Debug, Clone, Copy, Default)]
pub struct Words<'a> {
    /// One text for each piece of the code that the REPL commented on; `None` if not known for certain.
    pub reports: Option<&'a [String]>,
    /// True if the evaluation stopped at a breakpoint.
    pub stopped: bool,
}

/// The report about a breakpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    /// A note for the result.
    pub note: String,
    /// The text that the REPL prints at each prompt while the breakpoint lasts.
    pub context: Option<String>,
}

/// The interpretation of an evaluation's output.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// True if the REPL reported an error.
    pub error: bool,
    /// Compiler messages.
    pub diagnostics: Vec<Diagnostic>,
    /// True if the REPL reports that hob's signal ended it.
    pub interrupted: bool,
    /// Another signal that the REPL reports to have ended it.
    pub signal: Option<i32>,
    /// The exception that ended the evaluation.
    pub exception: Option<String>,
    /// The value, if the language reports it separately from the output.
    pub value: Option<String>,
    pub type_: Option<String>,
    /// Set when the code loaded modules; the session adds the generation.
    pub load: Option<LoadRecord>,
    /// Facts for the caller besides the outcome, in sentences.
    pub notes: Vec<String>,
    /// Files with pictures that the evaluation drew, as PNG.
    pub pictures: Vec<String>,
}

/// One kind of REPL. Implementations are small, stateless and pure.
pub trait Adapter: Send + Sync + fmt::Debug {
    /// Returns how certain the end of an evaluation is once `install` has succeeded.
    fn completion(&self) -> Completion {
        Completion::Exact
    }

    fn channel(&self) -> Channel {
        Channel::Stdin
    }

    /// Returns how the session finds the prompts of a program that prints no markers itself: each counts as a marker on
    /// both streams.
    fn prompts(&self) -> Option<&prompt::PromptTable> {
        None
    }

    /// Returns the size of the terminal that the program runs on. Without one, it runs on pipes.
    fn window(&self) -> Option<Window> {
        None
    }

    /// Returns the text on standard error that marks the start of hob's own lines. Text after it, up to the first
    /// numbered marker, is about those lines.
    fn install_begins(&self, nonce: &Nonce) -> Option<Vec<u8>> {
        let _ = nonce;
        None
    }

    /// Puts the evaluation's number into a step, if the REPL can name running code by it.
    fn number(&self, step: &mut Step, eval: u64) {
        let _ = (step, eval);
    }

    /// Returns the script that the program reads where [`process::GIVEN_PATH`] is among its arguments.
    fn script(&self) -> Option<&'static str> {
        None
    }

    /// Returns the text to write right after the start to make the REPL print markers. The session is ready when the
    /// first numbered marker has arrived on both streams.
    fn install(&self, nonce: &Nonce) -> Vec<u8>;

    /// Returns the action after the `count`th marker without a number, before any with one.
    fn unnumbered(&self, _nonce: &Nonce, _count: usize) -> InstallStep {
        InstallStep::Wait
    }

    /// Returns a line for REPLs without numbered markers. It is sent after each unnumbered marker, and prints the
    /// numbered one to both streams.
    fn fallback_mark(&self, _nonce: &Nonce, _number: u64) -> Option<Vec<u8>> {
        None
    }

    /// Returns the text that turns a program that replaced the REPL in its own process into the REPL again, with
    /// markers that continue after `number`. `None` for another kind of program. `command` is its command line.
    fn revive(&self, _command: &str, _nonce: &Nonce, _number: u64) -> Option<Vec<u8>> {
        None
    }

    /// Parses the language's version from the text that the REPL printed before its first prompt.
    fn version(&self, _banner: &str) -> Option<String> {
        None
    }

    /// Plans how to hand over this code, or refuses it.
    fn plan(&self, code: &str) -> Result<Plan, Refusal>;

    /// Plans like [`Adapter::plan`] for code that is given input beforehand. If the step's script is to be that input,
    /// it ends there ([`Adapter::input`]). Otherwise, if the last marker on standard error reports how much was left
    /// unread ([`StderrPayload`]), input is sent in chunks; else line by line as the program asks.
    fn plan_with_input(&self, code: &str) -> Result<Plan, Refusal> {
        self.plan(code)
    }

    /// Returns the way code gets the input that is given with it.
    fn input(&self) -> GivenInput {
        GivenInput::Whole
    }

    /// Quotes a path as a word in a step's bytes.
    fn path_word(&self, path: &str) -> String {
        path.to_owned()
    }

    /// Returns true if a step is a piece of the code, not only preparation for the next step.
    fn is_piece(&self, _step: &Step) -> bool {
        true
    }

    /// Returns true if the code asks the REPL to end, so that its end is expected.
    fn is_quit(&self, _code: &str) -> bool {
        false
    }

    /// Judges the output alone.
    fn classify(&self, printed: Printed<'_>) -> Verdict;

    /// Judges the output with the REPL's own messages, if they are known.
    fn judge(&self, printed: Printed<'_>, _words: Words<'_>) -> Verdict {
        self.classify(printed)
    }

    /// Returns the report about an evaluation that printed this and stopped at a breakpoint.
    fn stopped(&self, _stdout: &str) -> Stopped {
        Stopped { note: "It stopped at a breakpoint.".to_owned(), context: None }
    }

    /// Decodes a literal on standard error, see [`StderrPayload`]; `None` if it is not a literal.
    fn decode_literal(&self, _literal: &str) -> Option<String> {
        None
    }

    /// Returns the `n`th barrier.
    fn barrier(&self, nonce: &Nonce, n: u64) -> Barrier;

    /// Returns the text with which every barrier's answer on standard output begins, if there is an answer.
    fn barrier_prefix(&self, _nonce: &Nonce) -> Option<Vec<u8>> {
        None
    }

    /// Removes the text that barriers and interrupts add to the output.
    fn without_barriers(&self, output: &[u8], _nonce: &Nonce) -> Vec<u8> {
        output.to_vec()
    }

    /// Returns the text that the REPL prints to standard output as it exits normally.
    fn farewell(&self) -> &'static [u8] {
        b""
    }

    fn interrupt(&self) -> InterruptPlan {
        InterruptPlan::default()
    }

    /// Returns a step that restores the state lost in an interrupted load, with a note about it, if the interrupted
    /// code or the marker's payload since then require it.
    fn recover(&self, _code: &str, _payload: &str) -> Option<(Step, String)> {
        None
    }

    /// Returns true if the code loads modules, some of which an interrupt leaves unloaded.
    fn loads(&self, _code: &str) -> bool {
        false
    }

    /// Returns true if children may have their own process groups, which an interrupt must reach too.
    fn controls_jobs(&self) -> bool {
        false
    }

    /// Returns true if the REPL's own process watches its standard input only while a program reads it, so that watching
    /// means waiting.
    fn watches_input_to_read(&self) -> bool {
        false
    }

    /// Returns the text that makes the REPL exit.
    fn quit(&self) -> Vec<u8>;

    /// Returns the prompt a person would see, from the marker's payload.
    fn prompt(&self, _payload: &str) -> String {
        String::new()
    }

    /// Returns true if evaluating the code again in a new process only restores definitions (imports, loads, settings,
    /// bindings), without any other effect.
    fn replayable(&self, _code: &str) -> bool {
        false
    }

    /// Returns the part of the code that only restores definitions, if any.
    fn definitions(&self, code: &str) -> Option<String> {
        self.replayable(code).then(|| code.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_beside_on_standard_error() {
        let aside = |unread, stopped, messages| StderrPayload { unread, stopped, messages };
        for (payload, expected) in [
            ("", aside(None, false, ReplMessages::Nothing)),
            ("+", aside(Some(0), false, ReplMessages::Nothing)),
            ("+27", aside(Some(27), false, ReplMessages::Nothing)),
            ("?", aside(None, false, ReplMessages::Missed)),
            ("+?", aside(Some(0), false, ReplMessages::Missed)),
            ("+3!", aside(Some(3), true, ReplMessages::Nothing)),
            ("!\"+1\"", aside(None, true, ReplMessages::Text("\"+1\""))),
            ("+3\"5!?\"", aside(Some(3), false, ReplMessages::Text("\"5!?\""))),
            ("+12!\"a\\n\"", aside(Some(12), true, ReplMessages::Text("\"a\\n\""))),
            // Payloads that hob never writes.
            ("!+3", aside(None, true, ReplMessages::Missed)),
            ("+99999999999999999999999", aside(Some(0), false, ReplMessages::Nothing)),
            ("\u{3bb}", aside(None, false, ReplMessages::Missed)),
        ] {
            assert_eq!(StderrPayload::read(payload), expected, "{payload}");
        }
    }
}
