//! Any program with a prompt, driven by the data of its profile (`[prompt]`). The session finds the prompts in standard
//! output, so the program prints no markers: `session/prompts.rs`.
//!
//! A program whose prompt can be set gets a secret one, which no output can contain by accident: `{prompt}` in the
//! command, the environment or the boot lines, followed by a [`State`] and a space. A program with a fixed prompt
//! names it in `text`; then a prompt counts only while the kernel says that the program waits for input.

use serde::Deserialize;

use super::{Adapter, Barrier, GivenInput, Nonce, Plan, Printed, Refusal, SCRIPT_PATH, Step, Verdict, without_answers};
use crate::result::Completion;

/// The placeholder for the secret part of a prompt.
pub const PROMPT: &str = "{prompt}";
/// The placeholder for the path of the file with the code.
const FILE: &str = "{file}";
/// The placeholder for the text that [`PromptTable::show`] prints.
const TEXT: &str = "{text}";

/// The state that a secret prompt ends with: `>` after success, `!` after an error, `^` after an interrupt. A prompt
/// that cannot vary is always `>`.
pub const STATES: [u8; 3] = *b">!^";

/// The `[prompt]` table of a profile.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptTable {
    /// The program's own prompt, if it cannot be set.
    #[serde(default)]
    pub text: Option<String>,
    /// The lines that the program gets at its start.
    #[serde(default)]
    pub boot: Vec<String>,
    /// The line that evaluates the file `{file}`. Without it, the lines of the code are sent one by one.
    #[serde(default)]
    pub run: Option<String>,
    /// The line that prints `{text}`, by which a session finds its place again.
    pub show: String,
    /// Texts in lines on standard error that mean an error.
    #[serde(default)]
    pub error: Vec<String>,
    /// Texts in lines on standard error that mean that an interrupt ended the code. Without any, an error after an
    /// interrupt means that.
    #[serde(default)]
    pub interrupted: Vec<String>,
    /// True if the program prints the lines that it reads.
    #[serde(default)]
    pub echoes: bool,
    /// The line that ends the program.
    #[serde(default)]
    pub quit: String,
    /// The text before the version in the program's first output.
    #[serde(default)]
    pub version: String,
}

impl PromptTable {
    /// Returns the problem of the table, as a clause.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        if !self.show.contains(TEXT) {
            return Some("`prompt.show` must contain {text}");
        }
        if self.run.as_ref().is_some_and(|run| !run.contains(FILE)) {
            return Some("`prompt.run` must contain {file}");
        }
        if self.text.as_ref().is_some_and(|text| text.trim().is_empty() || text.contains('\n')) {
            return Some("`prompt.text` must be one line that is not blank");
        }
        None
    }
}

/// The adapter for a program with a prompt.
#[derive(Debug, Clone)]
pub struct Prompt(pub PromptTable);

impl Adapter for Prompt {
    fn completion(&self) -> Completion {
        if self.0.text.is_some() { Completion::Heuristic } else { Completion::Marker }
    }

    fn prompts(&self) -> Option<&PromptTable> {
        Some(&self.0)
    }

    fn install(&self, nonce: &Nonce) -> Vec<u8> {
        self.0.boot.iter().map(|line| format!("{}\n", line.replace(PROMPT, secret(nonce)))).collect::<String>().into()
    }

    fn version(&self, banner: &str) -> Option<String> {
        let table = Some(&self.0.version).filter(|version| !version.is_empty())?;
        let rest = &banner[banner.find(table.as_str())? + table.len()..];
        // The name of a distribution in parentheses precedes the version of GDB.
        let rest = rest.strip_prefix('(').and_then(|rest| rest.split_once(") ")).map_or(rest, |(_, rest)| rest);
        let end = rest.find(|c: char| c.is_whitespace() || c == ',').unwrap_or(rest.len());
        Some(rest[..end].trim_end_matches('.').to_owned()).filter(|version| !version.is_empty())
    }

    fn plan(&self, code: &str) -> Result<Plan, Refusal> {
        let line = |bytes: String, script| Step { bytes: format!("{bytes}\n").into_bytes(), advance: 1, script };
        let steps = match &self.0.run {
            Some(run) => {
                let newline = if code.ends_with('\n') { "" } else { "\n" };
                vec![line(run.replacen(FILE, SCRIPT_PATH, 1), Some(format!("{code}{newline}").into_bytes()))]
            }
            None => {
                let lines = code.lines().filter(|code| !code.trim().is_empty());
                lines.map(|code| line(code.to_owned(), None)).collect()
            }
        };
        if steps.is_empty() {
            let hint = "Write at least one line.".to_owned();
            return Err(Refusal { message: "no code to evaluate".to_owned(), hint });
        }
        Ok(Plan { steps, notes: Vec::new() })
    }

    fn input(&self) -> GivenInput {
        GivenInput::Endless(
            "The program has read all of its input and waits for more: it ends only when the session ends.",
        )
    }

    fn is_quit(&self, code: &str) -> bool {
        !self.0.quit.is_empty() && code.trim() == self.0.quit
    }

    fn classify(&self, printed: Printed<'_>) -> Verdict {
        let line_with = |texts: &[String]| {
            let mut lines = printed.stderr.lines();
            lines.find(|line| texts.iter().any(|text| line.contains(text.as_str())))
        };
        let (error, stop) = (line_with(&self.0.error), line_with(&self.0.interrupted));
        let failed = error.is_some() || printed.payload != ">";
        let stopped = match (printed.payload, self.0.interrupted.is_empty()) {
            ("^", _) => true,
            (_, true) => failed,
            (_, false) => stop.is_some(),
        };
        Verdict {
            // The marker is missing if the program has exited; the session reports the reason.
            error: failed || stop.is_some(),
            interrupted: printed.interrupting && stopped,
            exception: error.map(str::to_owned),
            ..Verdict::default()
        }
    }

    fn barrier(&self, nonce: &Nonce, n: u64) -> Barrier {
        let echo = format!("{}{n}", prefix(nonce));
        Barrier { bytes: format!("{}\n", self.0.show.replace(TEXT, &echo)).into_bytes(), echo: Some(echo.into_bytes()) }
    }

    fn barrier_prefix(&self, nonce: &Nonce) -> Option<Vec<u8>> {
        Some(prefix(nonce).into_bytes())
    }

    fn without_barriers(&self, output: &[u8], nonce: &Nonce) -> Vec<u8> {
        let kept = without_answers(output, &prefix(nonce), &["\n"]);
        // The terminal of a person would begin a new line after an interrupt.
        if kept.iter().all(|&byte| byte == b'\n') { Vec::new() } else { kept }
    }

    fn quit(&self) -> Vec<u8> {
        if self.0.quit.is_empty() { Vec::new() } else { format!("{}\n", self.0.quit).into_bytes() }
    }

    fn prompt(&self, _: &str) -> String {
        self.0.text.clone().unwrap_or_else(|| "> ".to_owned())
    }
}

/// Returns the secret part of a prompt. SQLite keeps 19 bytes of a prompt.
pub fn secret(nonce: &Nonce) -> &str {
    &nonce.as_str()[..16]
}

/// Returns the beginning of a barrier's text, from the other half of the nonce, which is no secret.
fn prefix(nonce: &Nonce) -> String {
    format!("hob-barrier-{}-", &nonce.as_str()[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> PromptTable {
        toml::from_str(text).expect("a table")
    }

    fn verdict(prompt: &Prompt, stderr: &str, payload: &str, interrupting: bool) -> (bool, bool) {
        let verdict = prompt.classify(Printed { code: "", stdout: "Error: x\n", stderr, payload, interrupting });
        (verdict.error, verdict.interrupted)
    }

    #[test]
    fn a_table_that_cannot_work_is_named() {
        assert_eq!(table("show = 'p {text}'").problem(), None);
        assert_eq!(table("show = 'p'").problem(), Some("`prompt.show` must contain {text}"));
        assert_eq!(table("show = '{text}'\nrun = 'do it'").problem(), Some("`prompt.run` must contain {file}"));
        assert!(table("show = '{text}'\ntext = ' '").problem().is_some());
    }

    #[test]
    fn the_prompt_and_standard_error_tell_how_code_ended() {
        let words = Prompt(table("show = '{text}'\nerror = ['Error: ']\ninterrupted = ['Error: interrupted']"));
        assert_eq!(verdict(&words, "", ">", false), (false, false));
        assert_eq!(verdict(&words, "Error: x\n", ">", true), (true, false));
        assert_eq!(verdict(&words, "Error: interrupted\n", ">", true), (true, true));
        assert_eq!(verdict(&words, "Error: interrupted\n", ">", false), (true, false));
        let states = Prompt(table("show = '{text}'"));
        assert_eq!(verdict(&states, "", "!", false), (true, false));
        assert_eq!(verdict(&states, "", "^", true), (true, true));
        assert_eq!(verdict(&states, "", ">", true), (false, false));
    }

    #[test]
    fn code_goes_as_a_file_or_line_by_line() {
        let steps = |prompt: &Prompt, code: &str| {
            let plan = prompt.plan(code).expect("it is planned");
            let show = |step: Step| {
                let script = step.script.map(|script| String::from_utf8_lossy(&script).into_owned());
                (String::from_utf8_lossy(&step.bytes).into_owned(), script)
            };
            plan.steps.into_iter().map(show).collect::<Vec<_>>()
        };
        let file = Prompt(table("show = '{text}'\nrun = '.read {file}'"));
        assert_eq!(steps(&file, "a\nb"), [(format!(".read {SCRIPT_PATH}\n"), Some("a\nb\n".to_owned()))]);
        let lines = Prompt(table("show = '{text}'"));
        assert_eq!(steps(&lines, "a\n\nb"), [("a\n".to_owned(), None), ("b\n".to_owned(), None)]);
        assert!(lines.plan(" \n").is_err());
    }

    #[test]
    fn the_version_ends_at_a_space() {
        let prompt = Prompt(table("show = '{text}'\nversion = 'SQLite version '"));
        assert_eq!(prompt.version("SQLite version 3.40.1 2022-12-28\n").as_deref(), Some("3.40.1"));
        assert_eq!(prompt.version("hello"), None);
        let prompt = Prompt(table("show = '{text}'\nversion = 'GNU gdb '"));
        assert_eq!(prompt.version("GNU gdb (Debian 13.1-3) 13.1\n").as_deref(), Some("13.1"));
    }
}
