//! The [`Context`] of a running call: its caller, cancellation, progress, log, notifications, questions, and the
//! deferred answer.
//!
//! A [`Context`] is cheap to clone and may outlive the call. Messages sent after the answer are dropped if the protocol
//! forbids them (progress, log), and delivered otherwise (custom notifications of the connection).

use std::any::Any;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::ask::ANSWER_TIMEOUT;
use super::cancel::CancelToken;
use super::named_questions::ONLY;
use super::peer::{NoPeer, Wait};
use super::{Answers, Ask, AskError, AskResponse, NamedAsk, NotifyError, Peer, Resumed, ToolError};

/// The longest patience of a question, which keeps times within the range of the clock.
const MAX_PATIENCE: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// The embedder's data on the peer of a connection, of any type, which [`Context::caller`] returns.
pub type Caller = Arc<dyn Any + Send + Sync>;

/// A program that calls, as it calls itself (MCP `clientInfo`). Nothing proves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// The name, cut to 256 characters.
    pub name: String,
    /// The version, as long; empty if the client gives none.
    pub version: String,
}

/// The progress of a call (MCP "Progress").
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The amount done, which grows with every report.
    pub progress: f64,
    /// The amount at the end, if known.
    pub total: Option<f64>,
    /// One line for people.
    pub message: Option<String>,
}

/// Severity of a log notification (RFC 5424, as MCP "Logging" uses it).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LogLevel {
    /// Returns the name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Notice => "notice",
            LogLevel::Warning => "warning",
            LogLevel::Error => "error",
            LogLevel::Critical => "critical",
            LogLevel::Alert => "alert",
            LogLevel::Emergency => "emergency",
        }
    }

    /// Returns the level of this name.
    pub fn from_name(name: &str) -> Option<LogLevel> {
        use LogLevel::*;
        [Debug, Info, Notice, Warning, Error, Critical, Alert, Emergency].into_iter().find(|level| level.name() == name)
    }
}

/// The context of a running call; see the module.
#[derive(Clone)]
pub struct Context {
    peer: Arc<dyn Peer>,
    caller: Caller,
    cancelled: CancelSource,
    about: About,
}

/// The data of a call.
#[derive(Clone, Default)]
pub(crate) struct About {
    pub budget: Option<Duration>,
    pub client: Option<Arc<Client>>,
    pub resumed: Option<Arc<Resumed>>,
    pub has_waited: bool,
    pub began: Option<std::time::Instant>,
}

/// The source of a call's cancellation.
#[derive(Clone)]
enum CancelSource {
    Call(CancelToken),
    Watch(watch::Receiver<bool>),
}

impl Context {
    /// Returns a context over a peer. `cancelled` turns true when the client cancels this call or goes away.
    pub fn new(
        peer: Arc<dyn Peer>,
        caller: Caller,
        cancelled: watch::Receiver<bool>,
        budget: Option<Duration>,
    ) -> Context {
        let about = About { budget, ..About::default() };
        Context { peer, caller, cancelled: CancelSource::Watch(cancelled), about }
    }

    /// Returns the context of a call that a connection runs.
    pub(crate) fn of_call(peer: Arc<dyn Peer>, caller: Caller, cancel: CancelToken, about: About) -> Context {
        Context { peer, caller, cancelled: CancelSource::Call(cancel), about }
    }

    /// Returns the token by which the call can be cancelled; one without effect if no connection runs it.
    pub(crate) fn cancel_token(&self) -> CancelToken {
        match &self.cancelled {
            CancelSource::Call(token) => token.clone(),
            CancelSource::Watch(_) => CancelToken::default(),
        }
    }

    /// Returns a context without a peer, for tests and for calls that the program makes itself.
    pub fn detached(caller: Caller) -> Context {
        Context::new(Arc::new(NoPeer), caller, watch::channel(false).1, None)
    }

    /// Returns true if the call waited for other calls of its connection before it began. When the client sent the
    /// call, it had not yet seen their answers.
    pub fn has_waited(&self) -> bool {
        self.about.has_waited
    }

    /// When the request was read, by a clock that no test stops; `None` for a call that the program makes itself.
    pub fn started_at(&self) -> Option<std::time::Instant> {
        self.about.began
    }

    /// Returns the embedder's data on the caller, if it is of this type.
    pub fn caller<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.caller.downcast_ref()
    }

    /// Returns the principal that calls
    /// ([`ConnectionOptions::principal`](crate::server::ConnectionOptions::principal)).
    pub fn principal(&self) -> Arc<str> {
        self.peer.principal()
    }

    /// Returns true if the client has cancelled this call or has disconnected. A cancellation may cross the answer: the
    /// client then drops the answer (MCP "Cancellation"), and a context that was kept turns cancelled.
    pub fn is_cancelled(&self) -> bool {
        match &self.cancelled {
            CancelSource::Call(cancel) => cancel.is_cancelled(),
            CancelSource::Watch(cancelled) => *cancelled.borrow(),
        }
    }

    /// Resolves when the client cancels this call or goes away; never otherwise. Cancel safe.
    pub async fn cancelled(&self) {
        match self.cancelled.clone() {
            CancelSource::Call(cancel) => cancel.cancelled().await,
            CancelSource::Watch(mut cancelled) => {
                if cancelled.wait_for(|cancelled| *cancelled).await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        }
    }

    /// Resolves when the connection has ended, which may be long after the call. Cancel safe.
    pub async fn disconnected(&self) {
        // An error means that the connection was dropped, which also ends it.
        let _ = self.peer.closed().wait_for(|closed| *closed).await;
    }

    /// Returns the client's timeout for an answer, if known.
    pub fn budget(&self) -> Option<Duration> {
        self.about.budget
    }

    /// Returns the program at the other end, as it calls itself in the handshake or with this request; `None` if it
    /// does not.
    pub fn client(&self) -> Option<&Client> {
        self.about.client.as_deref()
    }

    /// Reports progress, if the client gave a token. Never blocks; the latest report wins.
    pub fn progress(&self, progress: Progress) {
        self.peer.progress(progress);
    }

    /// Returns true if the client gave a token for [`progress`](Context::progress), so that a tool can skip work that
    /// only serves progress.
    pub fn wants_progress(&self) -> bool {
        self.peer.wants_progress()
    }

    /// Sends a log message to the client, if it wants that level. Never blocks.
    pub fn log(&self, level: LogLevel, logger: &str, data: &impl Serialize) {
        if let Ok(data) = serde_json::value::to_raw_value(data) {
            self.peer.log(level, logger, data);
        }
    }

    /// Queues a notification on the caller's connection, before the call's answer if the call still runs. Never blocks.
    pub fn notify(&self, method: &str, params: &impl Serialize) -> Result<(), NotifyError> {
        let params = serde_json::value::to_raw_value(params).map_err(|_| NotifyError::Closed)?;
        self.peer.notify(method, params)
    }

    /// Returns true if the client itself supports this question: by a dialog for a form or a page. An answer by the
    /// argument `resume` ([`Asks::Person`](super::Asks::Person)) needs no support of the client and does not count.
    /// False for calls that may not ask.
    pub fn can_ask(&self, ask: &Ask) -> bool {
        self.peer.can_ask(ask)
    }

    /// Asks the person at the other end, or their client, and waits for the answer, at most 15 minutes. The call
    /// continues where it asked, whichever way the answer comes, and does not count as running meanwhile. Prompts,
    /// resources and tools with [`Tool::ASKS`](super::Tool::ASKS) may ask. Cancel safe: dropping the future withdraws
    /// the question.
    ///
    /// ```
    /// use mcp::tool::{Ask, Context, ToolError};
    ///
    /// /// Whether it is meant.
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Sure {
    ///     /// Whether to delete them.
    ///     sure: bool,
    /// }
    ///
    /// async fn delete(cx: &Context, files: &[String]) -> Result<String, ToolError> {
    ///     let question = Ask::form::<Sure>(format!("Delete {} files?", files.len()));
    ///     match cx.ask(question).await?.accepted::<Sure>()? {
    ///         Some(Sure { sure: true }) => Ok("deleted".to_owned()),
    ///         _ => Ok("nothing was deleted".to_owned()),
    ///     }
    /// }
    /// # let nobody = Context::detached(std::sync::Arc::new(()));
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    /// # let error = runtime.block_on(delete(&nobody, &[])).expect_err("nobody to ask");
    /// # assert_eq!(error.to_string(), "this needs an answer from the user, which the client does not support");
    /// ```
    pub async fn ask(&self, ask: Ask) -> Result<AskResponse, AskError> {
        let mut answers = self.ask_all(vec![(ONLY.to_owned(), ask)]).await?;
        answers.remove(ONLY).ok_or(AskError::Unanswered)
    }

    /// Asks as [`Context::ask`] does, under a name that the tool chooses, and waits for `patience`. In a revision whose
    /// clients bring answers with another request (2026-07-28) the name is sealed into the question, which does not
    /// expire. An answer may come when the call no longer waits, because its patience is over or the server was
    /// restarted with the same [key](crate::server::Server::seal_key). It calls the tool again, with
    /// [`Context::resumed`]. So the work before the question may be done once more, and an answer may come twice.
    ///
    /// A tool that drops the future earlier has withdrawn the question, for example because it was answered elsewhere.
    /// A later answer then gets the result of that call.
    pub async fn ask_as(&self, name: &str, patience: Duration, ask: Ask) -> Result<AskResponse, AskError> {
        if let Some(answer) = self.resumed().and_then(|resumed| resumed.take(name, &ask)) {
            return Ok(answer);
        }
        let until = Instant::now() + patience.min(MAX_PATIENCE);
        let answered = self.peer.ask_as(NamedAsk { name: name.to_owned(), until }, vec![(ONLY.to_owned(), ask)])?;
        match tokio::time::timeout_at(until, answered).await {
            Ok(Ok(answers)) => answers?.remove(ONLY).ok_or(AskError::Unanswered),
            Ok(Err(_)) | Err(_) => Err(AskError::Unanswered),
        }
    }

    /// Returns the name of an earlier call's question and its answer, if the tool is called again because of them. A
    /// question of this call under the same name is answered by it immediately.
    pub fn resumed(&self) -> Option<&Resumed> {
        self.about.resumed.as_deref()
    }

    /// Asks several questions at once, each under a separate name.
    pub async fn ask_all(&self, asks: Vec<(String, Ask)>) -> Result<Answers, AskError> {
        let answered = self.peer.ask(asks)?;
        match tokio::time::timeout(ANSWER_TIMEOUT, answered).await {
            Ok(Ok(answers)) => answers,
            Ok(Err(_)) | Err(_) => Err(AskError::Unanswered),
        }
    }

    /// Waits for something that needs no work of this call, such as a message, another call or a program. Meanwhile the
    /// call takes none of the slots for [running](crate::server::Limits::running) calls, so others are served. A future
    /// that is ready immediately costs nothing. Cancel safe if the future is.
    ///
    /// ```
    /// # use mcp::tool::{Context, ToolError};
    /// async fn next(cx: &Context, messages: &tokio::sync::Notify) -> Result<String, ToolError> {
    ///     tokio::select! {
    ///         () = cx.waits(messages.notified()) => Ok("there is one".to_owned()),
    ///         () = cx.cancelled() => Err(ToolError::user("the wait was cancelled")),
    ///     }
    /// }
    /// ```
    pub async fn waits<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        let mut wait = None;
        poll_fn(|task| {
            let polled = future.as_mut().poll(task);
            if polled.is_pending() && wait.is_none() {
                wait = Some(Wait::begin(&*self.peer));
            }
            polled
        })
        .await
    }

    /// Lets the client close its stream while the call continues, and reconnect after this time for the messages sent
    /// meanwhile. For long calls where an open stream is expensive. Only Streamable HTTP from 2025-03-26 to 2025-11-25
    /// supports it (MCP "Sending Messages to the Server", polling); elsewhere it has no effect.
    pub fn reconnect_after(&self, after: Duration) {
        self.peer.reconnect_after(after);
    }

    /// Lists the tools of a group that were [unlisted](super::Registry::unlist), for this connection alone, and announces
    /// the change to its client. Over stateless HTTP (2026-07-28), where a connection is one request, nothing happens.
    pub fn list_more(&self, group: &str) {
        self.peer.list_more(group);
    }

    /// Records an effect of the call on the world. The client is told about it if a question of the call is lost.
    pub fn effect(&self, what: impl Into<String>) {
        self.peer.effect(what.into());
    }

    /// Splits the answer off the call: the [`Answer`] may be kept anywhere and sent from any thread or task, once by
    /// type; the handler awaits the [`Pending`]. Dropping the [`Answer`] unsent is an internal error of the call.
    pub fn answer_later<T: Send>(&self) -> (Answer<T>, Pending<T>) {
        let (sender, receiver) = oneshot::channel();
        (Answer(sender), Pending(receiver))
    }
}

/// The right, and the duty, to answer one call.
#[derive(Debug)]
pub struct Answer<T>(oneshot::Sender<Result<T, ToolError>>);

impl<T> Answer<T> {
    /// Sends the answer. Returns false if the call no longer exists.
    pub fn send(self, answer: Result<T, ToolError>) -> bool {
        self.0.send(answer).is_ok()
    }
}

/// The handler's half of an [`Answer`].
#[derive(Debug)]
pub struct Pending<T>(oneshot::Receiver<Result<T, ToolError>>);

impl<T> Pending<T> {
    /// Waits for the answer.
    pub async fn wait(self) -> Result<T, ToolError> {
        self.0.await.unwrap_or_else(|_| Err(ToolError::internal("the answer was dropped before it was given")))
    }
}
