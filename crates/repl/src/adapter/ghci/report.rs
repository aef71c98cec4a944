//! Judges an evaluation in GHCi by GHCi's own messages: a program's output does not count. [`super::prompt`] captures
//! the messages. Without a capture, the text decides ([`super::output_verdict`]).

use std::borrow::Cow;

use super::super::{Printed, Verdict};
use super::code;
use super::load;
use super::output_verdict::plain;
use crate::load::LoadRecord;
use diagnostics::ghc::{self, split_span};
use diagnostics::{Diagnostic, Severity, Source};

const EXCEPTION: &str = "*** Exception:";
const CYCLES: [&str; 2] = ["Module imports form a cycle:", "Module graph contains a cycle:"];

/// Judges an evaluation. `reports` has one text for each piece of the code that GHCi commented on.
pub(super) fn judge(printed: Printed<'_>, reports: &[String]) -> Verdict {
    let mut said = GhciReport::read(reports);
    if said.interrupted && !printed.interrupting {
        // The program threw the exception itself, or another process sent a signal.
        said.exception.get_or_insert_with(|| "user interrupt".to_owned());
    }
    let parsed = ghc::parse(&plain(printed.stderr));
    let load = load::outcome(printed.code, printed.stdout, &parsed.diagnostics);
    let (own, unmatched) = said.own(parsed.diagnostics, load.as_ref());
    let load = load.map(|load| LoadRecord {
        diagnostics: own.iter().filter(|diagnostic| diagnostic.source == Source::File).cloned().collect(),
        ..load
    });
    Verdict {
        error: said.exception.is_some()
            || unmatched
            || own.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
            || load.as_ref().is_some_and(|load| !load.ok)
            || said.mutters && load.is_none()
            || said.complains && !code::runs_while_compiled(printed.code)
            || code::is_complaint(printed.code, printed.stdout),
        interrupted: said.interrupted && printed.interrupting,
        diagnostics: own,
        exception: said.exception,
        load,
        ..Verdict::default()
    }
}

/// GHCi's own messages, parsed.
#[derive(Debug, Default)]
struct GhciReport {
    /// The locations of compiler messages in order, each with true if a flag follows, as in most warnings.
    places: Vec<(MessageLocation, bool)>,
    exception: Option<String>,
    interrupted: bool,
    /// True if there is any other text: a command was not carried out, or the compiler gave up.
    complains: bool,
    /// True if such text may be among messages about the compiler's progress.
    mutters: bool,
    /// True if there were messages in the machine-readable form.
    json: bool,
}

/// The location that a message names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MessageLocation {
    source: Source,
    file: Option<String>,
    span: Option<[u32; 4]>,
}

impl GhciReport {
    fn read(reports: &[String]) -> GhciReport {
        let mut said = GhciReport::default();
        for report in reports {
            let mut message = false;
            let (plain_report, colors) = (plain(report), report.contains('\x1b'));
            let gets_on = plain_report.lines().any(is_timing);
            let mut rest = report.as_str();
            while !rest.is_empty() {
                let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
                if let Some(exception) = rest.strip_prefix(EXCEPTION) {
                    // An exception is the last thing GHCi says, whatever the text contains.
                    said.exception = Some(exception.trim().to_owned());
                    break;
                }
                let bare = if colors { plain(line) } else { Cow::Borrowed(line) };
                let line = &*bare;
                if line == "Interrupted." {
                    said.interrupted = true;
                } else if let Some((place, text)) = MessageLocation::parse(line) {
                    said.places.push((place, text.contains("-W")));
                    message = true;
                } else if line.starts_with('{') {
                    (said.json, message) = (true, true);
                } else if gets_on {
                    said.mutters |= !message && mutters(line);
                } else if !line.trim().is_empty() && !message {
                    // The lines of a message, and the code that it shows, follow its location.
                    said.complains = true;
                    message = CYCLES.contains(&line);
                }
                rest = after;
            }
        }
        said
    }

    /// Returns the diagnostics that are the compiler's own, and true if the compiler reported an error that is not
    /// among them because another thread may have torn it.
    fn own(&self, diagnostics: Vec<Diagnostic>, load: Option<&LoadRecord>) -> (Vec<Diagnostic>, bool) {
        if self.json {
            return (diagnostics, false);
        }
        if let (Some(load), true) = (load, self.places.is_empty()) {
            // Since 9.4 another thread reports on modules. After a successful load those reports are warnings.
            let kept = |diagnostic: &Diagnostic| {
                diagnostic.source == Source::File && (!load.ok || diagnostic.severity != Severity::Error)
            };
            return (diagnostics.into_iter().filter(kept).collect(), false);
        }
        let mut own = Vec::new();
        let mut unmatched = false;
        let mut from = 0;
        for (place, flagged) in &self.places {
            match diagnostics[from..].iter().position(|diagnostic| place.is_of(diagnostic)) {
                Some(at) => {
                    own.push(diagnostics[from + at].clone());
                    from += at + 1;
                }
                None => unmatched |= !flagged,
            }
        }
        // In older versions an import cycle has no location.
        own.extend(diagnostics.iter().filter(|diagnostic| self.complains && is_cycle(diagnostic)).cloned());
        (own, unmatched)
    }
}

/// Returns true if the compiler reports how long one of its passes took (`-v2`, `-dshow-passes`), captured with or
/// without its fixed words: `!!! Parser [source]: finished in 0.04 milliseconds, allocated 0.025 megabytes`.
fn is_timing(line: &str) -> bool {
    const WORDS: [&str; 6] = [",", "finished", "in", "milliseconds,", "allocated", "megabytes"];
    let Some((_, times)) = line.rsplit_once(':') else { return false };
    let number = |word: &str| word.contains('.') && word.parse::<f64>().is_ok();
    let mut numbers = 0;
    times.split_whitespace().all(|word| {
        numbers += usize::from(number(word));
        number(word) || WORDS.contains(&word)
    }) && numbers == 2
}

/// Returns true if a line among progress messages may be a complaint. Messages about the compiler's own work are
/// indented, name a module, a file or a pass, or concern its temporary files.
fn mutters(line: &str) -> bool {
    let own = ["*** ", "!!! ", "Deleting: "].iter().any(|start| line.starts_with(start));
    !own && !line.starts_with([' ', '\t']) && line.trim().contains(' ')
}

fn is_cycle(diagnostic: &Diagnostic) -> bool {
    CYCLES.iter().any(|cycle| diagnostic.message.starts_with(cycle))
}

impl MessageLocation {
    /// Parses the location at the start of a line, and returns the rest too.
    fn parse(line: &str) -> Option<(MessageLocation, &str)> {
        if line.starts_with([' ', '\t']) {
            return None;
        }
        line.match_indices(':').find_map(|(at, _)| {
            let (place, after) = (&line[..at], &line[at + 1..]);
            if !(after.is_empty() || after.starts_with(' ')) {
                return None;
            }
            let (file, span) = match split_span(place) {
                Some((file, span)) => (file, Some([span.line, span.column, span.end_line, span.end_column])),
                None if place.starts_with('<') && place.ends_with('>') => (place, None),
                None => return None,
            };
            let (source, file) = match file {
                "<interactive>" => (Source::Interactive, None),
                "<no location info>" | "<no source>" => (Source::File, None),
                file => (Source::File, Some(file.to_owned())),
            };
            Some((MessageLocation { source, file, span }, after))
        })
    }

    fn is_of(&self, diagnostic: &Diagnostic) -> bool {
        let span = |d: &Diagnostic| Some([d.line?, d.column?, d.end_line?, d.end_column?]);
        self.source == diagnostic.source && self.file == diagnostic.file && self.span == span(diagnostic)
    }
}

/// Decodes a literal as `show` writes it.
pub(super) fn literal_text(literal: &str) -> Option<String> {
    const NAMES: [(&str, char); 26] = [
        ("NUL", '\0'),
        ("SOH", '\x01'),
        ("STX", '\x02'),
        ("ETX", '\x03'),
        ("EOT", '\x04'),
        ("ENQ", '\x05'),
        ("ACK", '\x06'),
        ("DLE", '\x10'),
        ("DC1", '\x11'),
        ("DC2", '\x12'),
        ("DC3", '\x13'),
        ("DC4", '\x14'),
        ("NAK", '\x15'),
        ("SYN", '\x16'),
        ("ETB", '\x17'),
        ("CAN", '\x18'),
        ("SUB", '\x1a'),
        ("ESC", '\x1b'),
        ("DEL", '\x7f'),
        ("SO", '\x0e'),
        ("SI", '\x0f'),
        ("EM", '\x19'),
        ("FS", '\x1c'),
        ("GS", '\x1d'),
        ("RS", '\x1e'),
        ("US", '\x1f'),
    ];
    const LETTERS: [(char, char); 10] = [
        ('n', '\n'),
        ('t', '\t'),
        ('r', '\r'),
        ('"', '"'),
        ('\\', '\\'),
        ('a', '\x07'),
        ('b', '\x08'),
        ('f', '\x0c'),
        ('v', '\x0b'),
        ('\'', '\''),
    ];
    let mut rest = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::with_capacity(rest.len());
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            // Half of a surrogate pair is not a character here.
            let code: u32 = rest[..digits].parse().ok()?;
            text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            rest = &rest[digits..];
        } else if let Some(after) = rest.strip_prefix('&') {
            rest = after;
        } else if let Some((name, c)) = NAMES.iter().find(|(name, _)| rest.starts_with(name)) {
            text.push(*c);
            rest = &rest[name.len()..];
        } else {
            let next = rest.chars().next()?;
            text.push(LETTERS.iter().find(|(letter, _)| *letter == next)?.1);
            rest = &rest[next.len_utf8()..];
        }
    }
    text.push_str(rest);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals() {
        let text = r#""\8216x\8217 \"q\" \\ \n\t\SOH\SO\&H\1234\&5\DEL\ESC[0m""#;
        let expected = "\u{2018}x\u{2019} \"q\" \\ \n\t\x01\x0eH\u{4d2}5\x7f\x1b[0m";
        assert_eq!(literal_text(text).as_deref(), Some(expected));
        assert_eq!(literal_text("\"\"").as_deref(), Some(""));
        for broken in ["", "\"", "\"\\", "\"\\q\"", "\"\\99999999999\"", "x"] {
            assert_eq!(literal_text(broken), None, "{broken}");
        }
    }

    #[test]
    fn only_what_ghci_said_counts() {
        let judge_after = |stderr: &str, reports: &[&str], interrupting: bool| {
            let reports: Vec<String> = reports.iter().map(|report| (*report).to_owned()).collect();
            let printed = Printed { code: "main", stdout: "", stderr, payload: "Prelude", interrupting };
            let verdict = judge(printed, &reports);
            (verdict.error, verdict.diagnostics.len(), verdict.exception, verdict.interrupted)
        };
        let judge = |stderr: &str, reports: &[&str]| judge_after(stderr, reports, false);
        let lies =
            "lib.c:10:5: error: x\n*** Exception: no\nInterrupted.\n<interactive>:3:1: error: Variable not in scope\n";
        assert_eq!(judge(lies, &[]), (false, 0, None, false));
        let real = format!("{lies}\n<interactive>:7:3: error: No instance\n");
        assert_eq!(judge(&real, &["\n<interactive>:7:3: \n"]), (true, 1, None, false));
        let warned = format!("\n<interactive>:7:3: warning: [-Wx]\n    w\n{lies}");
        assert_eq!(judge(&warned, &["\n<interactive>:7:3: -Wx\n    w\n"]), (false, 1, None, false));
        let thrown = "*** Exception: a\n\nx.c:1:1: error: b\n";
        assert_eq!(judge(thrown, &[thrown]), (true, 0, Some("a\n\nx.c:1:1: error: b".to_owned()), false));
        assert_eq!(judge_after("Interrupted.\n", &["Interrupted.\n"], true), (false, 0, None, true));
        assert_eq!(judge_after("Interrupted.\n", &[], true), (false, 0, None, false));
        let unasked = Some("user interrupt".to_owned());
        assert_eq!(judge("Interrupted.\n", &["Interrupted.\n"]), (true, 0, unasked, false));
        // Torn by another thread.
        assert_eq!(judge("<interxactive>:7:3: error: No\n", &["\n<interactive>:7:3: \n"]), (true, 0, None, false));
        assert_eq!(judge("nothing of it", &["macro 'x' is not defined\n"]), (true, 0, None, false));
        let passes = " :\n :  0.04 ,  0.025 \n Desugar:\n  [Ghci1]:\n  [Ghci1]:  0.29 ,  0.201 \n";
        assert_eq!(judge("*** Desugar:\n", &[passes]), (false, 0, None, false));
        assert_eq!(judge("", &[&format!("{passes}*** Exception: x\n")]), (true, 0, Some("x".to_owned()), false));
        assert_eq!(judge("", &[&format!("{passes}ghc: panic! (the 'impossible' happened)\n")]), (true, 0, None, false));
        assert_eq!(judge(&real, &[&format!("{passes}\n<interactive>:7:3: \n")]), (true, 1, None, false));
        assert_eq!(judge("", &["*** Exception: \x1b[1mx\n"]), (true, 0, Some("\x1b[1mx".to_owned()), false));
    }
}
