//! Parses GHC's messages as text (8.x to 9.14). JSON lines (9.10 and newer) among them are parsed by `json`.
//!
//! The grammar, as the compiler prints it with or without `-ferror-spans`:
//!
//! ```text
//! FILE:SPAN: error: [GHC-88464] [-Wflag, -Werror=flag] first line
//!     body, indented by four
//!   |
//! 4 | the source
//!   |   ^^^
//! ```
//!
//! `SPAN` is `3:5`, `3:5-8` or `(5,1)-(6,2)`, its end inclusive. A message without a location has `<no location info>`,
//! and the import cycle of GHC up to 9.6 has no head at all. All other text is returned unchanged, so a program's own
//! stderr is never lost.

use std::ops::Range;

use super::hints::{dedent, split_hints};
use super::json;
use crate::{Diagnostic, Severity, Source};

/// The contents of a piece of standard error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parsed {
    /// The diagnostics, in the order printed.
    pub diagnostics: Vec<Diagnostic>,
    /// The text of an uncaught exception (GHCi's `*** Exception:`), without that mark.
    pub exception: Option<String>,
    /// All other text, unchanged.
    pub rest: String,
}

/// Parses all known forms. Never fails: other text is `rest`.
pub fn parse(text: &str) -> Parsed {
    let lines: Vec<&str> = text.lines().collect();
    let mut parsed = Parsed::default();
    let mut rest: Vec<&str> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        if let Some(diagnostic) = json::parse_line(line) {
            parsed.diagnostics.push(diagnostic);
            at += 1;
        } else if let Some(start) = line.find(EXCEPTION) {
            rest.extend(Some(&line[..start]).filter(|before| !before.is_empty()));
            let end = exception_end(&lines, at + 1);
            let mut exception = line[start + EXCEPTION.len()..].trim().to_owned();
            for line in &lines[at + 1..end] {
                exception.push('\n');
                exception.push_str(line);
            }
            parsed.exception = Some(exception.trim_end().to_owned());
            at = end;
        } else if let Some(head) = Head::parse(line) {
            let body = body_range(&lines, at + 1);
            parsed.diagnostics.push(head.diagnostic(&lines[body.clone()]));
            at = source_box_end(&lines, body.end);
            drop_blank_before(&mut rest);
        } else if CYCLES.contains(&line) {
            let body = body_range(&lines, at + 1);
            let mut message = vec![line];
            message.extend(&lines[body.clone()]);
            parsed.diagnostics.push(Diagnostic { message: dedent(&message, 0), ..without_location(Severity::Error) });
            at = body.end;
        } else {
            rest.push(line);
            at += 1;
        }
    }
    parsed.rest = rest.join("\n");
    parsed
}

const EXCEPTION: &str = "*** Exception:";
/// Up to 9.2, and up to 9.6.
const CYCLES: [&str; 2] = ["Module imports form a cycle:", "Module graph contains a cycle:"];

/// The line that opens a message.
struct Head<'a> {
    place: &'a str,
    severity: Severity,
    tags: Vec<&'a str>,
    first: &'a str,
}

impl<'a> Head<'a> {
    fn parse(line: &'a str) -> Option<Head<'a>> {
        if line.starts_with([' ', '\t']) {
            return None;
        }
        let marks = [(": error:", Severity::Error), (": warning:", Severity::Warning), (": fatal:", Severity::Error)];
        let (at, mark, severity) = marks
            .iter()
            .filter_map(|(mark, severity)| line.find(mark).map(|at| (at, mark, *severity)))
            .min_by_key(|(at, ..)| *at)?;
        let place = &line[..at];
        if !(place.starts_with('<') && place.contains('>')) && split_span(place).is_none() {
            return None;
        }
        let mut first = line[at + mark.len()..].trim_start();
        let mut tags = Vec::new();
        // `[GHC-88464]` and `[-Wtabs]` are tags; any other bracket belongs to the message.
        while let Some(inner) = first.strip_prefix('[').filter(|s| s.starts_with("GHC-") || s.starts_with("-W")) {
            let Some((tag, after)) = inner.split_once(']') else { break };
            tags.push(tag);
            first = after.trim_start();
        }
        Some(Head { place, severity, tags, first })
    }

    fn diagnostic(self, body: &[&str]) -> Diagnostic {
        let mut message = dedent(body, 4);
        if !self.first.is_empty() {
            message = if message.is_empty() { self.first.to_owned() } else { format!("{}\n{message}", self.first) };
        }
        let (message, hints) = split_hints(&message);
        let mut diagnostic = Diagnostic { message, hints, ..without_location(self.severity) };
        for tag in &self.tags {
            match tag.strip_prefix("-W") {
                // Only the first names the flag: `-Wx, -Werror=x`, `-Wx (in -Wextra)`.
                Some(flags) if diagnostic.flag.is_none() => {
                    let flag = flags.split([',', ' ']).next().unwrap_or_default();
                    diagnostic.flag = Some(format!("-W{}", flag.strip_prefix("error=").unwrap_or(flag)));
                }
                Some(_) => {}
                None => diagnostic.code = Some((*tag).to_owned()),
            }
        }
        let (file, span) = split_span(self.place).map_or((self.place, None), |(file, span)| (file, Some(span)));
        match file {
            "<interactive>" => diagnostic.source = Source::Interactive,
            "<no location info>" | "<no source>" => {}
            file => diagnostic.file = Some(file.to_owned()),
        }
        if let Some(span) = span {
            diagnostic.line = Some(span.line);
            diagnostic.column = Some(span.column);
            diagnostic.end_line = Some(span.end_line);
            diagnostic.end_column = Some(span.end_column);
        }
        diagnostic
    }
}

fn without_location(severity: Severity) -> Diagnostic {
    Diagnostic {
        file: None,
        line: None,
        column: None,
        end_line: None,
        end_column: None,
        severity,
        code: None,
        flag: None,
        message: String::new(),
        hints: Vec::new(),
        source: Source::File,
    }
}

/// A location in a file. The end is inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub line: u32,
    pub column: u32,
    pub end_line: u32,
    pub end_column: u32,
}

/// Splits `FILE:SPAN`. `None` if the text does not end in a span.
pub fn split_span(place: &str) -> Option<(&str, Span)> {
    if let Some(open) = place.rfind(":(").filter(|_| place.ends_with(')')) {
        // The last `:(` opens the first pair: `(5,1)-(6,2)` holds no colon.
        let (from, to) = place[open + 1..].split_once('-')?;
        let ((line, column), (end_line, last)) = (pair(from)?, pair(to)?);
        return Some((&place[..open], Span { line, column, end_line, end_column: last }));
    }
    let (before, columns) = place.rsplit_once(':')?;
    let (file, line) = before.rsplit_once(':')?;
    let (first, last) = columns.split_once('-').unwrap_or((columns, columns));
    let (line, column, end_column) = (line.parse().ok()?, first.parse().ok()?, last.parse().ok()?);
    Some((file, Span { line, column, end_line: line, end_column }))
}

fn pair(text: &str) -> Option<(u32, u32)> {
    let (line, column) = text.strip_prefix('(')?.strip_suffix(')')?.split_once(',')?;
    Some((line.parse().ok()?, column.parse().ok()?))
}

/// Returns the body: indented lines. A blank line belongs to it only if an indented line other than a source box follows.
fn body_range(lines: &[&str], start: usize) -> Range<usize> {
    let mut end = start;
    let mut at = start;
    while at < lines.len() {
        let line = lines[at];
        if line.trim().is_empty() {
            at += 1;
            continue;
        }
        if !line.starts_with("  ") || opens_source_box(lines, at) {
            break;
        }
        at += 1;
        end = at;
    }
    start..end
}

/// `   |` followed by `12 | …`.
fn opens_source_box(lines: &[&str], at: usize) -> bool {
    lines[at].trim() == "|" && lines.get(at + 1).is_some_and(|next| numbered(next))
}

fn numbered(line: &str) -> bool {
    line.trim_start()
        .split_once(" |")
        .is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Skips the source box and the blank line after a message.
fn source_box_end(lines: &[&str], start: usize) -> usize {
    let mut at = start;
    if at < lines.len() && opens_source_box(lines, at) {
        at += 1;
        while at < lines.len() && numbered(lines[at]) {
            at += 1;
        }
        if at < lines.len() && lines[at].trim_start().starts_with('|') {
            at += 1;
        }
    }
    if at < lines.len() && lines[at].is_empty() {
        at += 1;
    }
    at
}

/// Takes an exception, which includes its call stack and everything up to the next blank line or message.
fn exception_end(lines: &[&str], start: usize) -> usize {
    let stop = |line: &&str| line.is_empty() || Head::parse(line).is_some() || line.contains(EXCEPTION);
    lines[start..].iter().position(stop).map_or(lines.len(), |found| start + found)
}

/// Removes the blank line that GHC prints before each message, which is not output of a program.
fn drop_blank_before(rest: &mut Vec<&str>) {
    if rest.last().is_some_and(|line| line.is_empty()) {
        rest.pop();
    }
}

#[cfg(test)]
mod tests;
