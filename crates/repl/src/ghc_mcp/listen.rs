//! `listen`: from then on the connection hears what GHCi prints.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp::tool::{Context, Effect, NotifyError, Tool, ToolError};
use project::Caller;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::error::RecvError;

use super::Reply;
use crate::session::{Handle, SessionEvent, Stream};
use crate::sessions::Repl;
use crate::tools::caller;

/// A line that does not end is sent in pieces of this size.
const LONGEST: usize = 64 * 1024;
/// How long a full queue is given before the next try.
const FULL: Duration = Duration::from_millis(5);

/// Listen to GHCi: from now on this connection gets a ghci/output notification for each line that it prints, and one for
/// the prompt when an evaluation has ended.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The session, if there are several; default is this worktree's own.
    session: Option<String>,
}

/// The tool.
pub(super) struct Listen {
    repl: Arc<Repl>,
    /// Who listens already, by connection and session.
    listening: Arc<Mutex<HashSet<Listener>>>,
}

/// A connection's number and the session it named.
type Listener = (u64, Option<String>);

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
        let added = self.listening.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone());
        if added {
            let listening = self.listening.clone();
            // Subscribed before the answer, so that nothing sent after it is missed.
            let changes = self.repl.changes();
            let handle = self.repl.find(&caller, args.session.as_deref()).ok();
            let events = handle.as_ref().map(Handle::events);
            let mut ear = Ear { cx: cx.clone(), session: args.session, lines: Default::default() };
            let repl = self.repl.clone();
            tokio::spawn(async move {
                tokio::select! {
                    () = cx.disconnected() => {}
                    () = ear.run(&repl, &caller, changes, events) => {}
                }
                listening.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
            });
        }
        Ok(Reply::new("Listening for GHCi output..."))
    }

    fn text(output: &Reply) -> String {
        output.text.clone()
    }
}

/// What a client hears.
#[derive(Serialize)]
struct Output<'a> {
    text: &'a str,
    stream: Stream,
    /// Only where one was named, so that several can be told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
}

/// One connection's ear at one session, over all lives of that session.
struct Ear {
    cx: Context,
    session: Option<String>,
    /// What has come of the present line, per stream.
    lines: [String; 2],
}

impl Ear {
    async fn run(
        &mut self,
        repl: &Repl,
        caller: &Caller,
        mut changes: tokio::sync::watch::Receiver<u64>,
        mut events: Option<tokio::sync::broadcast::Receiver<SessionEvent>>,
    ) {
        loop {
            if let Some(events) = &mut events {
                while self.hear(events.recv().await).await.is_ok() {}
            }
            // The process is gone, or was never there: the next one of that name is heard too.
            if changes.changed().await.is_err() {
                return;
            }
            let handle =
                repl.find(caller, self.session.as_deref()).ok().filter(|handle| handle.info().state.is_alive());
            events = handle.as_ref().map(Handle::events);
        }
    }

    /// One event. An error ends this life of the session.
    async fn hear(&mut self, event: Result<SessionEvent, RecvError>) -> Result<(), Ended> {
        match event {
            Ok(SessionEvent::Output { stream, text, .. }) => self.output(stream, &text).await,
            Ok(SessionEvent::EvalFinished { prompt, .. }) => {
                self.flush().await;
                if !prompt.is_empty() {
                    self.tell(&prompt, Stream::Stdout).await;
                }
            }
            Ok(SessionEvent::Started | SessionEvent::EvalStarted { .. }) => {}
            Ok(SessionEvent::Ended { .. }) | Err(RecvError::Closed) => {
                self.flush().await;
                return Err(Ended);
            }
            Err(RecvError::Lagged(missed)) => {
                self.flush().await;
                let text = format!("[{missed} pieces of output came too fast and are missing here; read has them]");
                self.tell(&text, Stream::Stderr).await;
            }
        }
        Ok(())
    }

    /// Sends whole lines and keeps the rest.
    async fn output(&mut self, stream: Stream, text: &str) {
        let side = stream as usize;
        for piece in text.split_inclusive('\n') {
            self.lines[side].push_str(piece);
            if piece.ends_with('\n') || self.lines[side].len() > LONGEST {
                let line = std::mem::take(&mut self.lines[side]);
                self.tell(line.strip_suffix('\n').unwrap_or(&line), stream).await;
            }
        }
    }

    async fn flush(&mut self) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let line = std::mem::take(&mut self.lines[stream as usize]);
            if !line.is_empty() {
                self.tell(&line, stream).await;
            }
        }
    }

    /// Waits while the connection's queue is full: meanwhile events pile up, and past their bound they are counted.
    async fn tell(&self, text: &str, stream: Stream) {
        let output = Output { text, stream, session: self.session.as_deref() };
        while self.cx.notify("ghci/output", &output) == Err(NotifyError::Full) {
            tokio::time::sleep(FULL).await;
        }
    }
}

/// This life of the session is over.
struct Ended;
