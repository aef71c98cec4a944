//! `repl_read`: any part of everything a session ever printed.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use process::output::text::{Shape, excerpt};
use process::output::{Query, Take};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{caller, output_limit};
use crate::session::Stream;
use crate::sessions::{Repl, SessionOutput};

/// The most lines a search gives.
const MAX_MATCHES: usize = 200;

/// Read what a session printed: from a cursor on, of one evaluation, from the end, or the lines that contain a text.
/// Works on dead sessions too, and reaches back past restarts. Give the returned cursor to go on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The session; default is this worktree's own.
    pub session: Option<String>,
    /// Where to begin: a cursor of an earlier answer; default 0.
    #[serde(default)]
    pub cursor: u64,
    /// Only of this evaluation.
    pub eval: Option<u64>,
    /// Only this stream; both by default.
    pub stream: Option<Stream>,
    /// How much to return; default 12000.
    pub max_bytes: Option<usize>,
    /// The end instead of the beginning.
    #[serde(default)]
    pub tail: bool,
    /// Only lines that contain this text.
    pub grep: Option<String>,
}

/// What was printed.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The session.
    pub session: String,
    /// The output, escape sequences removed.
    pub text: String,
    /// Reading goes on here.
    pub cursor: u64,
    /// Whether there is more after it now.
    pub more: bool,
    /// The end of everything printed so far.
    pub end: u64,
    /// Bytes of what was asked for that are no longer kept.
    pub dropped: u64,
    /// Lines found, when searching.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub matches: Option<usize>,
    /// Whether some of it was printed by a process before the present one.
    pub earlier: bool,
    /// The evaluation asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub eval: Option<u64>,
}

pub(super) struct Read(pub(super) Arc<Repl>);

impl Tool for Read {
    const NAME: &'static str = "repl_read";
    const TITLE: &'static str = "Read output";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let printed = self.0.output(caller(&cx)?, args.session.as_deref())?;
        // Output that has left memory is read from files.
        let read = tokio::task::spawn_blocking(move || read(printed, &args));
        read.await.map_err(ToolError::internal)
    }

    fn text(output: &Output) -> String {
        let mut text = output.text.clone();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let more = if output.more { format!("; cursor {} goes on", output.cursor) } else { String::new() };
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
            "[{}: {nothing}{matches}up to {} of {}{more}{dropped}{earlier}]",
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

fn read(printed: SessionOutput, args: &Args) -> Output {
    let SessionOutput { session, log, begun } = printed;
    let max_bytes = output_limit(args.max_bytes);
    let mut query = Query::since(args.cursor).at_most(max_bytes);
    query.eval = args.eval.map(Some);
    query = match args.stream {
        Some(stream) => query.only(stream.logged()),
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
            let line = excerpt(&line.line, &Shape { max_bytes: 2000, ..shape.clone() }).text;
            if text.len() + line.len() > max_bytes {
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
            dropped: cut.missing,
            matches: Some(taken),
            eval: args.eval,
        };
    }
    query.take = if args.tail { Take::Last } else { Take::First };
    let slice = log.read_blocking(&query);
    let text = excerpt(&slice.bytes(), &shape).text;
    Output {
        earlier: slice.pieces.first().is_some_and(|first| first.record.offset < begun),
        session,
        text,
        cursor: slice.next,
        more: slice.cut && !args.tail,
        end,
        dropped: slice.missing,
        matches: None,
        eval: args.eval,
    }
}
