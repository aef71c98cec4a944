//! GHCi, alone or inside `cabal repl` and `stack ghci`: a compiled prompt function prints the markers.
//!
//! GHCi calls the prompt function before it reads each command. Ours writes the marker to both streams as bytes,
//! whatever encoding, newline mode or buffering a program has set. It then sets standard output to line buffering: GHCi
//! unbuffers it at every load, and unbuffered output costs one system call per character. Code that asks for input
//! announces this in an environment variable and gets no buffering, so that a question without a newline appears at
//! once. A buffering mode that code sets itself, announced in the same way, is kept. The function is compiled once, so
//! later changes of the scope cannot break it.
//!
//! [`prompt`] holds the function, [`report`] judges GHCi's own messages, [`output_verdict`] and [`load`] judge output alone,
//! [`pieces`] cuts code and [`code`] sends it.

mod code;
mod form;
mod lexer;
mod load;
mod output_verdict;
mod pieces;
mod prompt;
mod report;

use super::{
    Adapter, Barrier, GivenInput, InstallStep, InterruptPlan, Nonce, Plan, Printed, Refusal, Step, Stopped, Verdict,
    Words, without_answers,
};

/// The driver of GHCi.
#[derive(Debug)]
pub struct Ghci;

impl Adapter for Ghci {
    fn install(&self, nonce: &Nonce) -> Vec<u8> {
        let (_, stops) = stops(nonce);
        // First, a deliberate complaint marks where hob's lines begin on standard error; the project's warning flags
        // apply to them too. The plain prompt precedes the function: it remains if the function does not compile.
        let static_prompt = format!(
            ":set -f{}-0\n:set stop {stops}\n:set prompt-cont \"\"\n:set prompt \"{} - \\n\"\n",
            word(nonce),
            nonce.as_str()
        );
        // GHCi's complaint about the last line shows if GHCi's own messages are captured.
        let all =
            static_prompt + &prompt::function(nonce, prompt::Parts::Hearing) + &format!(":set -f{}\n", word(nonce));
        all.into_bytes()
    }

    fn install_begins(&self, nonce: &Nonce) -> Option<Vec<u8>> {
        Some(format!("Some flags have not been recognized: -f{}-0\n", word(nonce)).into_bytes())
    }

    fn unnumbered(&self, nonce: &Nonce, count: usize) -> InstallStep {
        use prompt::Parts;
        // Without an implicit Prelude, the types that GHCi itself writes around the function are not in scope.
        let function = |parts| {
            let function = prompt::function(nonce, parts);
            InstallStep::Write(format!(":module +Prelude\n{function}:module -Prelude\n").into_bytes())
        };
        match count {
            // 1 is the static prompt before the function; 3 follows the last line of the installation. Each attempt has
            // three lines.
            2 => function(Parts::Hearing),
            6 => function(Parts::OwnHandles),
            9 => function(Parts::RawBuffers),
            count if count < 12 => InstallStep::Wait,
            _ => InstallStep::Fallback,
        }
    }

    fn decode_literal(&self, literal: &str) -> Option<String> {
        report::literal_text(literal)
    }

    fn fallback_mark(&self, nonce: &Nonce, number: u64) -> Option<Vec<u8>> {
        let print = format!("printf '%s\\n' '{} {number} '", nonce.as_str());
        Some(format!(":! {print}; {print} >&2\n").into_bytes())
    }

    fn version(&self, banner: &str) -> Option<String> {
        let (_, rest) = banner.split_once("GHCi, version ")?;
        rest.split(':').next().map(|version| version.trim().to_owned())
    }

    fn plan(&self, code: &str) -> Result<Plan, Refusal> {
        code::plan(code)
    }

    fn plan_with_input(&self, code: &str) -> Result<Plan, Refusal> {
        let mut plan = self.plan(code)?;
        // Each piece may read; pieces that read by name are already announced.
        let mut steps: Vec<Step> = Vec::with_capacity(plan.steps.len() * 2);
        for step in plan.steps {
            if self.is_piece(&step) && steps.last().is_none_or(|step| self.is_piece(step)) {
                steps.push(Step { bytes: announcement(ASKS).into_bytes(), advance: 1, script: None });
            } else if let Some(last) = steps.last_mut().filter(|last| last.bytes == announcement(SETS).as_bytes()) {
                last.bytes = announcement(ASKS_AND_SETS).into_bytes();
            }
            steps.push(step);
        }
        plan.steps = steps;
        Ok(plan)
    }

    fn input(&self) -> GivenInput {
        GivenInput::Endless(
            "The program has read all of `stdin` and waits for more. GHCi reads its code from the same stream, so the \
             input has no end. Send more with repl_input; `eof` there also ends the session after the evaluation.",
        )
    }

    fn is_piece(&self, step: &Step) -> bool {
        ![ASKS, SETS, ASKS_AND_SETS].iter().any(|what| step.bytes == announcement(what).as_bytes())
    }

    fn is_quit(&self, code: &str) -> bool {
        code.lines().rev().map(str::trim).find(|line| !line.is_empty()).is_some_and(code::is_quit)
    }

    fn classify(&self, printed: Printed<'_>) -> Verdict {
        self.judge(printed, Words::default())
    }

    fn judge(&self, printed: Printed<'_>, words: Words<'_>) -> Verdict {
        let mut verdict = match words.reports {
            Some(reports) => report::judge(printed, reports),
            None => {
                // "Interrupted." is the last line, unless a thread of the program printed another one, and a separate
                // line unless the program began it. A program may print the same, so it counts only after our signal.
                let says = |line: &str| line.ends_with("Interrupted.");
                let interrupted = printed.interrupting && printed.stderr.lines().rev().take(20).any(says);
                Verdict { interrupted, ..output_verdict::judge(printed.code, printed.stdout, printed.stderr) }
            }
        };
        // GHCi turns some signals into exceptions. At its prompt it prints them and exits; if GHCi continues, the same
        // text on standard output is the program's.
        let last = printed.stdout.lines().rfind(|line| *line != "Leaving GHCi.").filter(|_| printed.payload.is_empty());
        verdict.signal = verdict.exception.as_deref().into_iter().chain(last).find_map(signal);
        verdict.interrupted |= words.stopped;
        verdict
    }

    fn stopped(&self, stdout: &str) -> Stopped {
        let place = stdout.lines().rev().find_map(|line| line.strip_prefix("Stopped in "));
        let span = place.and_then(|place| place.rsplit_once(", ")).map(|(_, span)| span);
        let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
        let note = format!(
            "GHCi stopped it at a breakpoint{place}: it has not ended. `:continue` resumes it, `:step` takes one \
             step, `:abandon` cancels it, `:delete *` removes all breakpoints. The local names at the breakpoint are \
             in scope."
        );
        Stopped { note, context: span.map(|span| format!("[{span}] ")) }
    }

    fn barrier(&self, nonce: &Nonce, n: u64) -> Barrier {
        // A command unknown to GHCi needs nothing in scope and evaluates nothing.
        let word = format!("{}-{n}", word(nonce));
        Barrier {
            bytes: format!(":{word}\n").into_bytes(),
            echo: Some(format!("unknown command ':{word}'").into_bytes()),
        }
    }

    fn barrier_prefix(&self, nonce: &Nonce) -> Option<Vec<u8>> {
        Some(format!("unknown command ':{}-", word(nonce)).into_bytes())
    }

    fn without_barriers(&self, output: &[u8], nonce: &Nonce) -> Vec<u8> {
        let prefix = format!("unknown command ':{}-", word(nonce));
        let output = without_answers(output, &prefix, &["'\n", "use :? for help.\n"]);
        // This also removes GHCi's answer to the last line of the installation.
        let installed = format!("Some flags have not been recognized: -f{}\n", word(nonce));
        let lines = output.split_inclusive(|&byte| byte == b'\n');
        let kept = |line: &&[u8]| *line != b"Interrupted.\n" && *line != installed.as_bytes();
        lines.filter(kept).collect::<Vec<_>>().concat()
    }

    fn farewell(&self) -> &'static [u8] {
        b"Leaving GHCi.\n"
    }

    fn recover(&self, code: &str, payload: &str) -> Option<(Step, String)> {
        // An interrupted load leaves nothing in scope, not even `+`, or unloaded modules over which any next evaluation
        // would fail. Any change of the scope drops those.
        let step = Step { bytes: b":module +Prelude\n".to_vec(), advance: 1, script: None };
        let note = if payload.is_empty() {
            "The interrupted load emptied the scope; Prelude was restored. Load again to get the modules back."
        } else {
            "The load was interrupted: modules it did not reach are not in scope. Load again to get them back."
        };
        (payload.is_empty() || self.loads(code)).then(|| (step, note.to_owned()))
    }

    fn loads(&self, code: &str) -> bool {
        load::loads(code)
    }

    fn interrupt(&self) -> InterruptPlan {
        InterruptPlan { detaches: true, ..InterruptPlan::default() }
    }

    fn quit(&self) -> Vec<u8> {
        b":quit\n".to_vec()
    }

    fn prompt(&self, _payload: &str) -> String {
        "ghci> ".to_owned()
    }

    fn replayable(&self, code: &str) -> bool {
        code::definitions(code).is_some_and(|definitions| definitions.whole)
    }

    fn definitions(&self, code: &str) -> Option<String> {
        code::definitions(code).map(|definitions| definitions.code)
    }
}

/// Parses the number in `ghc: signal: 15`, and in `signal: 15` as GHC prints it since 9.10.
fn signal(line: &str) -> Option<i32> {
    let number = match line.split_once(": signal: ") {
        Some((program, number)) if program.starts_with("ghc") && !program.contains(char::is_whitespace) => number,
        Some(_) => return None,
        None => line.strip_prefix("signal: ")?,
    };
    number.parse().ok()
}

/// Returns the word of the barriers. It is not the nonce, which is never shown.
fn word(nonce: &Nonce) -> String {
    format!("hob-{}", &nonce.as_str()[..12])
}

/// An environment variable that announces, for one prompt, the effects of the code after it.
const ANNOUNCED: &str = "HOB_ASKS";
/// The code asks for input, sets the buffering of standard output, or both.
const ASKS: &str = "1";
const SETS: &str = "2";
const ASKS_AND_SETS: &str = "3";

/// Returns the name of a variable that is set when GHCi stops at a breakpoint, and the command that sets it without
/// binding anything.
fn stops(nonce: &Nonce) -> (String, String) {
    let name = word(nonce).replace('-', "_").to_uppercase();
    let set = format!("_ <- System.Environment.setEnv {} {}", prompt::characters(&name), prompt::characters("1"));
    (name, set)
}

/// Returns the line that announces code. It binds nothing, not even `it`.
fn announcement(what: &str) -> String {
    let (name, value) = (prompt::characters(ANNOUNCED), prompt::characters(what));
    format!("_ <- System.Environment.setEnv {name} {value}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barriers_leave_no_trace() {
        let nonce = Nonce::fixed("0123456789abcdef0123456789abcdef");
        let barrier = "unknown command ':hob-0123456789ab-4'\nuse :? for help.\n";
        let kept = |before, after| {
            let output = format!("{before}{barrier}{after}");
            String::from_utf8(Ghci.without_barriers(output.as_bytes(), &nonce)).unwrap()
        };
        assert_eq!(kept("", ""), "");
        assert_eq!(kept("Interrupted.\nuse :? for help.\n", "late\n"), "use :? for help.\nlate\n");
        assert_eq!(kept("10 %, ", "20 %, "), "10 %, 20 %, ");
    }

    #[test]
    fn a_signal_is_what_ghci_says_of_one_not_what_a_program_prints() {
        let said = |stdout, stderr, payload| {
            Ghci.classify(Printed { code: "main", stdout, stderr, payload, interrupting: false }).signal
        };
        assert_eq!(said("", "*** Exception: ghc: signal: 15\n", "Prelude"), Some(15), "GHC 9.0 to 9.8");
        assert_eq!(said("", "*** Exception: signal: 15\n", "Prelude"), Some(15), "GHC 9.10");
        assert_eq!(said("ghc: signal: 15\nLeaving GHCi.\n", "", ""), Some(15));
        assert_eq!(said("signal: 1\nLeaving GHCi.\n", "", ""), Some(1));
        assert_eq!(said("ghc: signal: 15\n", "", "Prelude"), None);
        assert_eq!(said("signal: 15\n", "", "Prelude"), None);
        assert_eq!(said("", "*** Exception: user error (ghc: signal: 15)\n", "Prelude"), None);
    }
}
