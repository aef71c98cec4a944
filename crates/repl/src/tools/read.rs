//! `repl_read`: any part of a session's complete output.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use process::output::text::{Shape, excerpt};
use process::output::{Query, Take};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{attach_connection, caller, output_limit};
use crate::lenient::{Tail, number};
use crate::session::{Snapshot, Stream};
use crate::sessions::{Repl, SessionOutput};

/// The maximum number of lines returned by a search.
const MAX_MATCHES: usize = 200;

/// Read past output of a session, running, ended or restarted: from a cursor, of one evaluation, the tail, or matching
/// lines.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Session name (default: the session of `eval`, or "main").
    #[serde(alias = "name")]
    pub session: Option<String>,
    /// The cursor to begin at (default 0).
    #[serde(default, deserialize_with = "number")]
    #[schemars(with = "Option<u64>")]
    pub cursor: Option<u64>,
    /// Return only output of this evaluation.
    #[serde(default, deserialize_with = "number")]
    #[schemars(with = "Option<u64>")]
    pub eval: Option<u64>,
    /// The stream to read (default: both).
    pub stream: Option<Stream>,
    /// Output limit in bytes (default 12000).
    pub max_bytes: Option<usize>,
    /// Return the end instead of the beginning (default false).
    #[serde(default)]
    #[schemars(with = "Option<bool>")]
    pub tail: Tail,
    /// Return only lines that contain this text.
    pub grep: Option<String>,
    /// Return instead what the screen of a program on a terminal shows now (profile terminal).
    #[serde(default)]
    pub screen: bool,
}

/// The size of a screen, and its cursor, counted from 1.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ScreenSize {
    pub rows: u16,
    pub columns: u16,
    pub cursor_row: u16,
    pub cursor_column: u16,
}

/// Past output.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The session.
    pub session: String,
    /// The output, escape sequences removed.
    pub text: String,
    /// The cursor to continue from.
    pub cursor: u64,
    /// True if there is more output after it now.
    pub more: bool,
    /// The end of all output so far.
    pub end: u64,
    /// True if there is more output before it, when the tail was requested.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub cut: bool,
    /// Requested bytes that are no longer kept.
    pub dropped: u64,
    /// The number of matching lines, when searching.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub matches: Option<usize>,
    /// True if an earlier process of the session printed some of it.
    pub earlier: bool,
    /// The requested evaluation.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub eval: Option<u64>,
    /// The screen, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub screen: Option<ScreenSize>,
}

pub(super) struct ReadTool(pub(super) Arc<Repl>);

impl Tool for ReadTool {
    const NAME: &'static str = "repl_read";
    const TITLE: &'static str = "Read output";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let caller = caller(&cx)?;
        args.eval.map_or(Ok(()), |eval| self.0.check_assigned(eval))?;
        let printed = match (&args.session, args.eval) {
            (None, Some(eval)) => self.0.output_of(caller, eval).await?,
            (session, _) => self.0.output(caller, session.as_deref())?,
        };
        let handle = self.0.find(caller, Some(&printed.session));
        if let Ok(handle) = &handle {
            attach_connection(&cx, handle);
            if let (true, Some(screen)) = (args.screen, handle.screen()) {
                return Ok(show(printed, &screen.snapshot()));
            }
        }
        if args.screen {
            let name = &printed.session;
            return Err(match handle {
                Ok(_) => ToolError::user(format!("Session {name:?} has no screen."))
                    .hint("Start the program with the `profile` terminal of repl_start."),
                Err(_) => ToolError::user(format!("Session {name:?} ended with its daemon, and its screen too."))
                    .hint("Without `screen`, repl_read returns its output."),
            });
        }
        // Output that is no longer in memory is read from files.
        let read = tokio::task::spawn_blocking(move || read(printed, &args));
        read.await.map_err(ToolError::internal)
    }

    fn text(output: &Output) -> String {
        let mut text = output.text.clone();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        if let Some(ScreenSize { rows, columns, cursor_row, cursor_column }) = output.screen {
            return text
                + &format!(
                    "[{}: screen of {columns}×{rows}, cursor in row {cursor_row}, column {cursor_column}]",
                    output.session
                );
        }
        let more = match (output.more, output.cut) {
            (true, _) => format!("; continue with `cursor` {}", output.cursor),
            (false, true) => "; there is more before it".to_owned(),
            (false, false) => String::new(),
        };
        let dropped =
            if output.dropped > 0 { format!("; {} bytes are no longer kept", output.dropped) } else { String::new() };
        let nothing = match output.eval {
            Some(eval) if output.text.is_empty() && output.dropped == 0 => format!("nothing of evaluation {eval}, "),
            _ => String::new(),
        };
        let earlier = match (output.earlier, output.eval) {
            (false, _) => "",
            (true, Some(_)) => "; of an earlier process",
            (true, None) => "; some of it of an earlier process",
        };
        let matches = output
            .matches
            .map(|matches| format!("{matches} line{}, ", if matches == 1 { "" } else { "s" }))
            .unwrap_or_default();
        text + &format!(
            "[{}: {nothing}{matches}up to byte {} of {}{more}{dropped}{earlier}]",
            output.session, output.cursor, output.end
        )
    }

    fn examples() -> Vec<Example> {
        vec![
            Example { title: "The end of everything", arguments: json!({"tail": true, "max_bytes": 2000}), text: None },
            Example { title: "Lines of one evaluation", arguments: json!({"eval": 3, "grep": "warning"}), text: None },
        ]
    }
}

fn show(printed: SessionOutput, shown: &Snapshot) -> Output {
    let end = printed.log.status().end;
    let ((cursor_row, cursor_column), window) = (shown.cursor, shown.window);
    Output {
        session: printed.session,
        text: shown.text.clone(),
        cursor: end,
        more: false,
        end,
        cut: false,
        dropped: 0,
        matches: None,
        earlier: false,
        eval: None,
        screen: Some(ScreenSize { rows: window.rows, columns: window.columns, cursor_row, cursor_column }),
    }
}

fn read(printed: SessionOutput, args: &Args) -> Output {
    let SessionOutput { session, log, begun } = printed;
    let max_bytes = output_limit(args.max_bytes);
    let mut query = Query::since(args.cursor.unwrap_or(0)).at_most(max_bytes);
    query.eval = args.eval.map(Some);
    query = match args.stream {
        Some(stream) => query.only_stream(stream.logged()),
        None => query.with_notes(),
    };
    let end = log.status().end;
    let shape = Shape { max_bytes: usize::MAX / 8, max_line: usize::MAX, strip: true, fold: 0 };
    if let Some(wanted) = &args.grep {
        let finder = memchr::memmem::Finder::new(wanted.as_bytes());
        let (found, cut) = log.search_blocking(&query, MAX_MATCHES, &|line| finder.find(line).is_some());
        let mut text = String::new();
        let mut taken = 0;
        for line in &found {
            // The first match always fits, so that the next call gets further.
            let line = excerpt(&line.line, &Shape { max_bytes: max_bytes.min(2000), ..shape.clone() }).text;
            if taken > 0 && text.len() + line.len() > max_bytes {
                break;
            }
            text.push_str(&line);
            text.push('\n');
            taken += 1;
        }
        // If a match did not fit, the next call begins with its line.
        let cursor = found.get(taken).map_or(cut.next, |line| line.offset);
        let more = cut.more || taken < found.len();
        return Output {
            earlier: found[..taken].iter().any(|line| line.offset < begun),
            session,
            text,
            cursor,
            more,
            end,
            cut: false,
            dropped: cut.missing,
            matches: Some(taken),
            eval: args.eval,
            screen: None,
        };
    }
    let tail = args.tail != Tail::No;
    query.take = if tail { Take::Last } else { Take::First };
    let slice = log.read_blocking(&query);
    let text = excerpt(&slice.bytes(), &shape).text;
    let (text, shortened) = match args.tail {
        Tail::Lines(lines) => last_lines(&text, lines),
        Tail::No | Tail::Yes => (text, false),
    };
    Output {
        earlier: slice.pieces.first().is_some_and(|first| first.record.offset < begun),
        session,
        text,
        cursor: slice.next,
        more: slice.cut && !tail,
        end,
        cut: tail && (slice.cut || shortened),
        dropped: slice.missing,
        matches: None,
        eval: args.eval,
        screen: None,
    }
}

/// Returns the last lines of a text, and true if there were more.
fn last_lines(text: &str, lines: u64) -> (String, bool) {
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    let left_out = all.len().saturating_sub(usize::try_from(lines).unwrap_or(usize::MAX));
    (all[left_out..].concat(), left_out > 0)
}
