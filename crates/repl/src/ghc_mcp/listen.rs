//! `listen`: sends GHCi's output to the connection as notifications.

use parking_lot::Mutex;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Context, Effect, NotifyError, Tool, ToolError};
use project::Caller;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::Reply;
use crate::result::Status;
use crate::session::{Handle, SessionEvent, Stream};
use crate::sessions::Repl;
use crate::tools::caller;

/// The size of the segments in which an unfinished line is sent.
const LONGEST: usize = 64 * 1024;
/// The limit of output waiting for the connection's queue, in bytes; anything beyond it is only counted.
const MOST: usize = 8 << 20;
/// The overhead of a waiting line besides its text, in bytes.
const EACH: usize = 64;
/// The interval before a full queue is retried.
const FULL: Duration = Duration::from_millis(5);

/// Listen to GHCi: from now on this connection receives a ghci/output notification for each printed line, and one for
/// the prompt when an evaluation has ended.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Session name (default: this worktree's own session).
    session: Option<String>,
}

pub(super) struct Listen {
    repl: Arc<Repl>,
    /// The active listeners.
    listening: Arc<Mutex<HashSet<ListenerKey>>>,
}

/// A connection's number and the session it named.
type ListenerKey = (u64, Option<String>);

impl Listen {
    pub(super) fn new(repl: Arc<Repl>) -> Listen {
        Listen { repl, listening: Arc::default() }
    }
}

impl Tool for Listen {
    const NAME: &'static str = "listen";
    const TITLE: &'static str = "Listen to GHCi";
    const EFFECT: Effect = Effect::WRITE.idempotent();
    const STRUCTURED: bool = false;
    type Args = Args;
    type Output = Reply;

    async fn call(&self, cx: Context, args: Args) -> Result<Reply, ToolError> {
        let caller = caller(&cx)?.clone();
        let key = (caller.connection, args.session.clone());
        let added = self.listening.lock().insert(key.clone());
        if added {
            let listening = self.listening.clone();
            // Subscribes before the answer, so that no later output is missed.
            let starts = self.repl.starts();
            let handle = self.repl.find(&caller, args.session.as_deref()).ok();
            let events = handle.as_ref().map(Handle::events);
            let mut forwarder = Forwarder::new(cx.clone(), args.session);
            let repl = self.repl.clone();
            tokio::spawn(async move {
                tokio::select! {
                    () = cx.disconnected() => {}
                    () = forwarder.run(&repl, &caller, starts, events) => {}
                }
                listening.lock().remove(&key);
            });
        }
        Ok(Reply::new("Listening for GHCi output..."))
    }

    fn text(output: &Reply) -> String {
        output.text.clone()
    }
}

/// The notification.
#[derive(Serialize)]
struct Output<'a> {
    text: &'a str,
    stream: Stream,
    /// Set only if the listener named a session, to tell several sessions apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
}

/// Forwards one session's output to one connection, over all processes of that session.
struct Forwarder {
    cx: Context,
    session: Option<String>,
    /// The incomplete last line, per stream.
    lines: [String; 2],
    /// Lines that the connection's queue has no room for yet, and their size.
    pending: VecDeque<(String, Stream)>,
    bytes: usize,
    /// The number of lines dropped beyond that; true if segments of unknown length are among them.
    missed: u64,
    lagged: bool,
}

impl Forwarder {
    fn new(cx: Context, session: Option<String>) -> Forwarder {
        Forwarder {
            cx,
            session,
            lines: Default::default(),
            pending: VecDeque::new(),
            bytes: 0,
            missed: 0,
            lagged: false,
        }
    }

    async fn run(
        &mut self,
        repl: &Repl,
        caller: &Caller,
        mut starts: watch::Receiver<u64>,
        mut events: Option<broadcast::Receiver<SessionEvent>>,
    ) {
        loop {
            tokio::select! {
                event = next(&mut events) => {
                    if self.handle_event(event).is_err() {
                        events = None;
                    }
                }
                // The process has ended or was never started: continue with the next one of that name.
                changed = starts.changed(), if events.is_none() => {
                    if changed.is_err() {
                        return;
                    }
                    let handle = repl.find(caller, self.session.as_deref()).ok();
                    events = handle.filter(|handle| handle.info().state.is_alive()).map(|handle| handle.events());
                }
                () = tokio::time::sleep(FULL), if !self.pending.is_empty() => {}
            }
            self.send();
        }
    }

    /// Handles one event. An error ends this process's output. Never waits, so that events do not pile up.
    fn handle_event(&mut self, event: Result<SessionEvent, RecvError>) -> Result<(), OutputEnded> {
        match event {
            Ok(SessionEvent::Output { stream, text, .. }) => self.output(stream, &text),
            Ok(SessionEvent::EvalFinished { prompt, status, .. }) => {
                self.flush();
                // An exited GHCi shows no prompt.
                let gone = matches!(status, Status::Exited | Status::Crashed | Status::Killed);
                if !prompt.is_empty() && !gone {
                    // The prompt is short and clients wait for it: there is always room for it.
                    self.keep(prompt, Stream::Stdout);
                }
            }
            Ok(SessionEvent::Started | SessionEvent::EvalStarted { .. }) => {}
            Ok(SessionEvent::Ended { .. }) | Err(RecvError::Closed) => {
                self.flush();
                return Err(OutputEnded);
            }
            Err(RecvError::Lagged(missed)) => {
                self.flush();
                self.missed += missed;
                self.lagged = true;
            }
        }
        Ok(())
    }

    /// Takes complete lines and keeps the rest.
    fn output(&mut self, stream: Stream, text: &str) {
        let side = stream as usize;
        for piece in text.split_inclusive('\n') {
            self.lines[side].push_str(piece);
            if piece.ends_with('\n') || self.lines[side].len() > LONGEST {
                let mut line = std::mem::take(&mut self.lines[side]);
                if line.ends_with('\n') {
                    line.pop();
                }
                self.push_line(line, stream);
            }
        }
    }

    fn flush(&mut self) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let line = std::mem::take(&mut self.lines[stream as usize]);
            if !line.is_empty() {
                self.push_line(line, stream);
            }
        }
    }

    fn push_line(&mut self, line: String, stream: Stream) {
        if self.bytes + line.len() > MOST {
            self.missed += 1;
        } else {
            self.keep(line, stream);
        }
    }

    fn keep(&mut self, line: String, stream: Stream) {
        if self.missed > 0 {
            let missed = std::mem::take(&mut self.missed);
            let least = if std::mem::take(&mut self.lagged) { "at least " } else { "" };
            let note = format!("[{least}{missed} lines came too fast and are missing here; read has them]");
            self.bytes += note.len() + EACH;
            self.pending.push_back((note, Stream::Stderr));
        }
        self.bytes += line.len() + EACH;
        self.pending.push_back((line, stream));
    }

    /// Sends as much as the connection's queue takes now.
    fn send(&mut self) {
        while let Some((text, stream)) = self.pending.front() {
            let output = Output { text, stream: *stream, session: self.session.as_deref() };
            if self.cx.notify("ghci/output", &output) == Err(NotifyError::Full) {
                break;
            }
            self.bytes -= text.len() + EACH;
            self.pending.pop_front();
        }
    }
}

/// Returns the next event; pending without a session.
async fn next(events: &mut Option<broadcast::Receiver<SessionEvent>>) -> Result<SessionEvent, RecvError> {
    match events {
        Some(events) => events.recv().await,
        None => std::future::pending().await,
    }
}

/// Signals the end of this process's output.
struct OutputEnded;
