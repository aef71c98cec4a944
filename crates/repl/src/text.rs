//! The short form of answers, for a model's context: the content that a person would read, then one status line in
//! brackets. The full form is the structured content; this text is never parsed.

use std::fmt::Write as _;

use process::output::text::{grouped, strip_escapes, written_out};

use crate::result::{Behind, Between, EvalResult, Starting, Status, Truncated};
use diagnostics::{Diagnostic, Severity};

/// Formats an evaluation: its output, its value, its status, and the next call to make.
pub fn evaluation(result: &EvalResult) -> String {
    evaluation_and(result, &next(result))
}

/// Formats an evaluation with another suggestion for the next call.
pub fn evaluation_and(result: &EvalResult, next: &str) -> String {
    let mut text = String::new();
    if let Some(between) = &result.between {
        between_block(&mut text, between);
    }
    block(&mut text, None, &result.stdout);
    // Without standard output before it, standard error needs no heading: the status line reports that the evaluation
    // failed.
    let heading = (!text.is_empty()).then_some("[stderr]");
    let interrupted = result.status == Status::Interrupted;
    block(&mut text, heading, if interrupted { without_last_word(&result.stderr) } else { &result.stderr });
    // The status reports an interrupt.
    let exception = result.exception.as_deref().filter(|exception| !interrupted && !shows(&result.stderr, exception));
    if let Some(exception) = exception {
        block(&mut text, None, &written_out(exception));
    }
    // The value appears as at the language's own prompt, without its type.
    if let Some(value) = &result.value {
        block(&mut text, None, &written_out(value));
    }
    text.push_str(&facts(result, next));
    for note in &result.notes {
        text.push('\n');
        text.push_str(note);
    }
    for picture in &result.pictures {
        let _ = write!(text, "\nPicture: {picture}");
    }
    text
}

/// Returns the first line of code, short enough for a sentence.
pub fn headline(code: &str) -> String {
    const LETTERS: usize = 60;
    let code = code.trim();
    let line = code.lines().next().unwrap_or_default().trim_end();
    let short: String = line.chars().take(LETTERS).collect();
    let cut = if short.len() < code.len() { "…" } else { "" };
    format!("{}{cut}", written_out(&short))
}

/// Formats compiler messages in full, errors first.
pub fn diagnostics(list: &[Diagnostic]) -> String {
    let rank = |diagnostic: &&Diagnostic| diagnostic.severity != Severity::Error;
    let mut sorted: Vec<&Diagnostic> = list.iter().collect();
    sorted.sort_by_key(rank);
    written_out(&sorted.iter().map(|diagnostic| diagnostic.full()).collect::<Vec<_>>().join("\n")).into_owned()
}

/// Formats `2 errors, 1 warning`, or `no errors, no warnings`.
pub fn counts(list: &[Diagnostic]) -> String {
    let count =
        |severity: Severity, name: &str| match list.iter().filter(|diagnostic| diagnostic.severity == severity).count()
        {
            0 => format!("no {name}s"),
            1 => format!("1 {name}"),
            n => format!("{n} {name}s"),
        };
    format!("{}, {}", count(Severity::Error, "error"), count(Severity::Warning, "warning"))
}

fn facts(result: &EvalResult, next: &str) -> String {
    let mut line = format!("[{} #{}: {}", result.session, result.eval, describe_status(result));
    // The status line reports a single error.
    let count = result.diagnostics.len();
    if count > 1 || count == 1 && result.status != Status::Error {
        let _ = write!(line, "; {}", counts(&result.diagnostics));
    }
    if let Some(truncated) = &result.truncated {
        line.push_str(&truncation_note(truncated));
        let _ = write!(line, "; repl_read {{\"eval\": {}}} has the rest", result.eval);
    }
    if let Some(given) = result.given_before {
        let _ =
            write!(line, "; {} byte{} of output were given before", grouped(given), if given == 1 { "" } else { "s" });
    }
    if result.queue_depth > 0 {
        let _ = write!(line, "; {} queued behind it", result.queue_depth);
    }
    if !next.is_empty() {
        let _ = write!(line, "; {next}");
    }
    line.push(']');
    line
}

/// Describes the status: the outcome of an ended evaluation, or the run time of a running one.
fn describe_status(result: &EvalResult) -> String {
    let took = duration(result.duration_ms);
    let code = result.code.as_ref().map_or(String::new(), |code| format!(": `{code}`"));
    match (result.status, &result.behind, &result.starting) {
        (Status::Running, ..) => format!("running for {took}{code}"),
        (Status::WaitingForInput, ..) => format!("waiting for input, running for {took}{code}"),
        (Status::Queued, Some(behind), _) => format!("queued behind {}{code}", front(behind)),
        (Status::Starting, _, Some(Starting { profile, duration_ms, printed })) => {
            let since = duration(*duration_ms);
            let printed = if printed.is_empty() { String::new() } else { format!(", it printed `{printed}`") };
            format!("queued until the session has started (`{profile}`, starting for {since}{printed}){code}")
        }
        (status, ..) if status.is_final() && result.duration_ms > 0.0 => format!("{}, {took}", status.name()),
        (status, ..) => format!("{}{code}", status.name()),
    }
}

/// Describes the evaluations in front of a queued one.
fn front(behind: &Behind) -> String {
    let Behind { eval, code, status, waited_for, queued, .. } = behind;
    let input = if *status == Status::WaitingForInput { ", waiting for input" } else { "" };
    let unattended = if *waited_for { "" } else { ", no call waits for it" };
    let more = if *queued > 0 { format!(" and {queued} more") } else { String::new() };
    format!("#{eval} (`{code}`, running for {}{input}{unattended}){more}", duration(behind.duration_ms))
}

/// Suggests the next call.
fn next(result: &EvalResult) -> String {
    let EvalResult { session, eval, .. } = result;
    let wait = format!("repl_wait {{\"eval\": {eval}}} continues to wait");
    let restart = format!("repl_restart {{\"session\": {session:?}, \"replay\": \"definitions\"}}");
    let input = |eval| {
        format!(
            "answer with repl_input {{\"eval\": {eval}, \"text\": …}}, or end it with repl_interrupt {{\"eval\": {eval}}}"
        )
    };
    match (result.status, &result.behind) {
        (Status::Done | Status::Error | Status::Interrupted, _) => String::new(),
        (Status::Exited | Status::Crashed | Status::Killed, _) => {
            format!("repl_restart {{\"session\": {session:?}}} starts it again")
        }
        (Status::Starting, _) => format!("{wait}, repl_stop {{\"session\": {session:?}}} ends the session"),
        (Status::WaitingForInput, _) => input(*eval),
        (Status::Queued | Status::Running, _) if result.uninterruptible => {
            format!("{wait}; interrupts do not end it, {restart} does")
        }
        (Status::Queued, Some(front)) if front.status == Status::WaitingForInput => {
            format!("#{} first: {}", front.eval, input(front.eval))
        }
        (Status::Queued, Some(front)) => {
            format!("{wait}, repl_interrupt {{\"eval\": {}}} ends #{}", front.eval, front.eval)
        }
        (Status::Queued, None) => wait,
        (Status::Running, _) => {
            let more = if result.stdout.is_empty() && result.stderr.is_empty() {
                String::new()
            } else {
                format!("; repl_read {{\"session\": {session:?}, \"cursor\": {}}} has later output", result.cursor)
            };
            format!("{wait}, repl_interrupt {{\"eval\": {eval}}} ends it{more}")
        }
    }
}

fn truncation_note(truncated: &Truncated) -> String {
    let mut text = String::new();
    for (name, shown) in [("stdout", truncated.stdout), ("stderr", truncated.stderr)] {
        if shown.shown < shown.total {
            let _ = write!(text, "; {} of {} bytes of {name} shown", grouped(shown.shown), grouped(shown.total));
        }
        if shown.dropped > 0 {
            let _ = write!(text, ", {} no longer available", grouped(shown.dropped));
        }
    }
    text
}

/// Formats a time in milliseconds.
pub fn duration(ms: f64) -> String {
    if ms < 10.0 {
        format!("{ms:.1} ms")
    } else if ms < 10_000.0 {
        format!("{ms:.0} ms")
    } else {
        format!("{:.1} s", ms / 1000.0)
    }
}

fn between_block(text: &mut String, between: &Between) {
    block(text, Some("[printed since the previous evaluation]"), &format!("{}{}", between.stdout, between.stderr));
    if !text.is_empty() {
        text.push_str("[this evaluation]\n");
    }
}

/// Appends a heading and a text that ends with exactly one newline; nothing for an empty text.
fn block(text: &mut String, heading: Option<&str>, body: &str) {
    let body = body.trim_end_matches(['\n', '\r']);
    if body.is_empty() {
        return;
    }
    if let Some(heading) = heading {
        text.push_str(heading);
        text.push('\n');
    }
    text.push_str(body);
    text.push('\n');
}

/// Returns true if a line of standard error ends with the first line of the exception, before its properties in Node.
fn shows(stderr: &str, exception: &str) -> bool {
    let first = exception.lines().next().unwrap_or_default();
    // The output has no escape sequences.
    let plain = strip_escapes(first.as_bytes());
    let plain = String::from_utf8_lossy(&plain);
    let mut lines = stderr.lines().map(|line| line.strip_suffix(" {").unwrap_or(line));
    lines.any(|line| line.ends_with(first) || line.ends_with(&*plain))
}

/// Removes GHCi's message about an interrupt, which the status reports too.
fn without_last_word(stderr: &str) -> &str {
    let before = stderr.strip_suffix("Interrupted.\n").filter(|before| before.is_empty() || before.ends_with('\n'));
    before.unwrap_or(stderr)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{ByteCounts, Completion};
    use expect_test::{Expect, expect};

    fn result(stdout: &str, stderr: &str) -> EvalResult {
        EvalResult {
            session: "main".into(),
            eval: 3,
            status: Status::Done,
            completion: Completion::Exact,
            stdout: stdout.into(),
            stderr: stderr.into(),
            value: None,
            type_: None,
            diagnostics: Vec::new(),
            exception: None,
            duration_ms: 2.34,
            cpu_ms: None,
            truncated: None,
            given_before: None,
            cursor: 100,
            between: None,
            queue_depth: 0,
            code: None,
            behind: None,
            starting: None,
            uninterruptible: false,
            notes: Vec::new(),
            pictures: Vec::new(),
        }
    }

    fn check(result: EvalResult, expected: Expect) {
        expected.assert_eq(&evaluation(&result));
    }

    #[test]
    fn what_was_printed_then_the_facts() {
        check(
            result("map :: (a -> b) -> [a] -> [b]\n", ""),
            expect![[r#"
                map :: (a -> b) -> [a] -> [b]
                [main #3: done, 2.3 ms]"#]],
        );
        check(result("", ""), expect!["[main #3: done, 2.3 ms]"]);
        check(
            EvalResult { status: Status::Error, duration_ms: 15000.0, ..result("x", "*** Exception: boom\n") },
            expect![[r#"
                x
                [stderr]
                *** Exception: boom
                [main #3: error, 15.0 s]"#]],
        );
        check(
            EvalResult { value: Some("42".into()), type_: Some("int".into()), ..result("", "") },
            expect![[r#"
                42
                [main #3: done, 2.3 ms]"#]],
        );
    }

    #[test]
    fn escape_sequences_of_a_program_are_shown_and_not_obeyed() {
        check(
            EvalResult { exception: Some("ValueError: \u{1b}[2J\u{9b}1m\u{7}".into()), ..result("", "Traceback\n") },
            expect![[r#"
                Traceback
                ValueError: \x1b[2J\u{9b}1m\x07
                [main #3: done, 2.3 ms]"#]],
        );
        // Standard error without escape sequences has the same text.
        check(
            EvalResult { exception: Some("ValueError: \u{1b}[31mred".into()), ..result("", "ValueError: red\n") },
            expect![[r#"
                ValueError: red
                [main #3: done, 2.3 ms]"#]],
        );
        // Node prints the properties of an error after its message.
        check(
            EvalResult { exception: Some("TypeError: no".into()), ..result("", "TypeError: no {\n  code: 1\n}\n") },
            expect![[r#"
                TypeError: no {
                  code: 1
                }
                [main #3: done, 2.3 ms]"#]],
        );
        check(
            EvalResult { value: Some("\u{1b}]0;title\u{7}".into()), ..result("", "") },
            expect![[r#"
                \x1b]0;title\x07
                [main #3: done, 2.3 ms]"#]],
        );
    }

    #[test]
    fn what_to_do_next() {
        check(
            EvalResult { status: Status::Running, queue_depth: 2, duration_ms: 20_000.0, ..result("...", "") },
            expect![[r#"
                ...
                [main #3: running for 20.0 s; 2 queued behind it; repl_wait {"eval": 3} continues to wait, repl_interrupt {"eval": 3} ends it; repl_read {"session": "main", "cursor": 100} has later output]"#]],
        );
        check(
            EvalResult { status: Status::WaitingForInput, duration_ms: 310.0, ..result("Name? ", "") },
            expect![[r#"
                Name? 
                [main #3: waiting for input, running for 310 ms; answer with repl_input {"eval": 3, "text": …}, or end it with repl_interrupt {"eval": 3}]"#]],
        );
    }

    #[test]
    fn what_is_missing_and_what_came_late() {
        let truncated = Truncated {
            stdout: ByteCounts { total: 100_000_000, shown: 12_000, dropped: 1_000 },
            stderr: ByteCounts { total: 5, shown: 5, dropped: 0 },
        };
        check(
            EvalResult {
                truncated: Some(truncated),
                between: Some(Between { stdout: "tick\n".into(), stderr: String::new() }),
                notes: vec!["Scope was lost by the interrupt, Prelude restored.".into()],
                ..result("y\n", "")
            },
            expect![[r#"
                [printed since the previous evaluation]
                tick
                [this evaluation]
                y
                [main #3: done, 2.3 ms; 12,000 of 100,000,000 bytes of stdout shown, 1,000 no longer available; repl_read {"eval": 3} has the rest]
                Scope was lost by the interrupt, Prelude restored."#]],
        );
    }
}
