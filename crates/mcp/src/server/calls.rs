//! The calls of one connection: running and waiting ones, and the id of each.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::Method;
use super::call_observer::{Observed, Observer};
use super::catch_unwind::{CatchUnwind, Panicked};
use super::peer::CallPeer;
use crate::era::ask::ClientCapabilities;
use crate::era::{Era, ResultForm};
use crate::prompt::{Completion, Message};
use crate::resource::{ReadError, ReadResult};
#[cfg(feature = "log-bridge")]
use crate::tool::log_bridge;
use crate::tool::{
    About, AnyTool, AskError, BoxFuture, Caller, CancelToken, Client, Context, Outcome, Peer, Progress, Resumed,
    ToolError,
};
use crate::wire::Id;
use crate::wire::build::RpcError;

/// The number of answered calls that are remembered for a late cancellation.
const MAX_ANSWERED: usize = 64;

/// The number of answered and cancelled calls after which a further such cancellation is ignored: some clients cancel
/// each request after its answer (opencode 1.18), and have read the answer.
const HABIT: usize = 2;

/// Identifies a call within its connection; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key(pub u64);

/// The result of a call.
pub(super) enum Reply {
    Tool(Result<Outcome, ToolError>),
    Method(Result<Box<RawValue>, RpcError>),
    Read { read: ReadResult, uri: String, fresh_for: Duration },
    Prompt { description: String, messages: Result<Vec<Message>, ToolError> },
    Completion(Result<Completion, ToolError>),
    Panicked(Panicked),
}

/// Foreign code behind a method of the protocol other than `tools/call`, with its parameters already read.
pub(super) type Handler = Arc<dyn Fn(Context) -> BoxFuture<Reply> + Send + Sync>;

/// The foreign code that a call runs.
#[derive(Clone)]
pub(super) enum Target {
    Tool(Arc<dyn AnyTool>),
    Method(Arc<str>, Method),
    Handler(&'static str, Handler),
}

impl Target {
    pub(super) fn name(&self) -> &str {
        match self {
            Target::Tool(tool) => &tool.declaration().name,
            Target::Method(name, _) => name,
            Target::Handler(name, _) => name,
        }
    }
}

/// One request, or a notification (without an id), that runs foreign code.
pub(super) struct Call {
    pub id: Option<Id>,
    pub era: Era,
    pub form: ResultForm,
    pub target: Target,
    pub peer: Arc<CallPeer>,
    pub cancel: CancelToken,
    pub budget: Option<Duration>,
    pub client: Option<Arc<Client>>,
    /// The batch its answer belongs to.
    pub batch: Option<u64>,
    pub reported: Option<ProgressState>,
    /// The context for its questions; `None` if it may not ask.
    pub ask_context: Option<Box<AskContext>>,
    /// The kinds of questions that the client supports, if it knows tasks.
    pub tasks: Option<ClientCapabilities>,
    /// The start of the call, and the time when it becomes a job.
    pub job_at: Option<(Instant, Instant)>,
    /// The time of the timeout.
    pub timeout_at: Option<Instant>,
    /// True if it waited for a slot before it began.
    pub has_waited: bool,
    /// The time at which its request was read.
    pub began: std::time::Instant,
    pub state: State,
}

/// The context for questions of a call that may ask.
pub(super) struct AskContext {
    /// Identifies the call: an answer must come with the same call.
    pub digest: [u8; 32],
    /// The kinds of questions that the client supports.
    pub can: ClientCapabilities,
    /// The client capabilities that a question needed and that were missing.
    pub missing: Option<serde_json::Value>,
    /// The answer to a named question, if the tool is called again because of it.
    pub resumed: Option<Arc<Resumed>>,
    /// Answers that came before their questions were asked, by name.
    pub early_answers: serde_json::Map<String, serde_json::Value>,
    /// Their length as JSON text.
    pub early_answer_bytes: usize,
}

/// The progress that was reported to a client that gave a token.
pub(super) struct ProgressState {
    /// The token's JSON text.
    pub token: Box<str>,
    pub last: Option<Progress>,
    pub at: Instant,
    /// The offset in the output where the latest report ends; 0 for none.
    pub end: u64,
}

pub(super) enum State {
    /// Not started.
    Waiting(Option<Box<RawValue>>),
    /// Started; after the first poll in a separate task.
    Running(Option<AbortHandle>),
    /// Started, and waiting for the client to answer a question.
    Asking(AbortHandle),
    /// Cancelled by the client; may continue until this time.
    Cancelled(AbortHandle, Instant),
}

impl Call {
    /// Creates the work, without polling it.
    pub(super) fn begin(
        &self,
        caller: Caller,
        input: Option<&RawValue>,
        observer: Option<&Observer>,
    ) -> Result<Work, Panicked> {
        let cx = self.context(caller);
        let begin = || match &self.target {
            Target::Tool(tool) => {
                let tool = tool.clone();
                let observed = Observed::begin(observer, &cx, tool.declaration(), input);
                CatchUnwind::new(|| tool.call(cx, input)).map(|work| Work::Tool(work, observed))
            }
            Target::Method(_, method) => {
                CatchUnwind::new(|| method(cx, input.map(ToOwned::to_owned))).map(Work::Method)
            }
            Target::Handler(_, serve) => CatchUnwind::new(|| serve(cx)).map(Work::Handler),
        };
        #[cfg(feature = "log-bridge")]
        if log_bridge::is_on() {
            let peer: Arc<dyn Peer> = self.peer.clone();
            return log_bridge::with_listener(&peer, begin).map(|work| Work::Logged(Box::new(work), peer.clone()));
        }
        begin()
    }

    pub(super) fn context(&self, caller: Caller) -> Context {
        let resumed = self.ask_context.as_ref().and_then(|ask_context| ask_context.resumed.clone());
        let (has_waited, began) = (self.has_waited, Some(self.began));
        let about = About { budget: self.budget, client: self.client.clone(), resumed, has_waited, began };
        Context::of_call(self.peer.clone(), caller, self.cancel.clone(), about)
    }

    /// Allows the call to ask.
    pub(super) fn may_ask(&mut self, ask_context: Box<AskContext>) {
        self.peer.may_ask(self.era, ask_context.can);
        self.ask_context = Some(ask_context);
    }

    /// Returns the client capabilities whose lack made it fail, in a revision that has an error for that. A call that
    /// went on without an answer, and failed of something else, does not lack them.
    pub(super) fn missing_capabilities(&self, reply: &Reply) -> Option<&serde_json::Value> {
        let error = match reply {
            Reply::Tool(Err(error)) | Reply::Prompt { messages: Err(error), .. } => error,
            Reply::Read { read: Err(ReadError::Failed(error)), .. } => error,
            _ => return None,
        };
        let is_lack = matches!(error, ToolError::Unanswered(AskError::Unsupported));
        self.ask_context.as_ref()?.missing.as_ref().filter(|_| is_lack && self.era.is_modern())
    }

    /// Returns the bytes of its parameters while it waits.
    pub(super) fn bytes(&self) -> usize {
        let early_answers = self.ask_context.as_ref().map_or(0, |ask_context| ask_context.early_answer_bytes);
        match &self.state {
            State::Waiting(input) => early_answers + input.as_ref().map_or(0, |input| input.get().len()),
            _ => 0,
        }
    }
}

/// A call's foreign code, running.
pub(super) enum Work {
    Tool(CatchUnwind<Result<Outcome, ToolError>>, Observed),
    Method(CatchUnwind<Result<Box<RawValue>, RpcError>>),
    Handler(CatchUnwind<Reply>),
    /// Work whose `tracing` events go to its client.
    #[cfg(feature = "log-bridge")]
    Logged(Box<Work>, Arc<dyn Peer>),
}

impl Future for Work {
    type Output = Reply;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Reply> {
        match self.get_mut() {
            Work::Tool(work, observed) => match Pin::new(work).poll(cx) {
                Poll::Ready(done) => Poll::Ready(observed.end(done).map_or_else(Reply::Panicked, Reply::Tool)),
                Poll::Pending => observed.poll_stop(cx).map(|stopped| Reply::Tool(Err(stopped))),
            },
            Work::Method(work) => Pin::new(work).poll(cx).map(|done| done.map_or_else(Reply::Panicked, Reply::Method)),
            #[cfg(feature = "log-bridge")]
            Work::Logged(work, peer) => log_bridge::with_listener(peer, || Pin::new(&mut **work).poll(cx)),
            Work::Handler(work) => Pin::new(work).poll(cx).map(|done| done.unwrap_or_else(Reply::Panicked)),
        }
    }
}

/// The number of calls that an idle connection keeps room for.
const IDLE_CAPACITY: usize = 8;

/// The table of calls. Calls that answer at once never enter it.
#[derive(Default)]
pub(super) struct Calls {
    calls: HashMap<Key, Call>,
    ids: HashMap<Id, Key>,
    queue: VecDeque<Key>,
    /// Waiting calls in the queue: a cancelled call leaves the table at once, the queue later.
    waiting: usize,
    waiting_bytes: usize,
    /// Calls that are started and not finished, waiting and cancelled ones included.
    started: usize,
    /// Answered calls whose work still watches for a cancellation.
    answered: VecDeque<(Id, CancelToken)>,
    /// The latest answered calls, newest first, and whether each was cancelled then.
    late: VecDeque<(Id, bool)>,
}

impl Calls {
    pub(super) fn insert(&mut self, key: Key, call: Call) {
        if let Some(id) = &call.id {
            self.ids.insert(id.clone(), key);
        }
        match call.state {
            State::Waiting(_) => {
                self.queue.push_back(key);
                self.waiting += 1;
                self.waiting_bytes += call.bytes();
            }
            State::Running(_) | State::Asking(_) | State::Cancelled(..) => self.started += 1,
        }
        self.calls.insert(key, call);
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<Call> {
        let call = self.calls.remove(&key)?;
        self.forget_id(&call, key);
        match call.state {
            State::Waiting(_) => {
                self.waiting -= 1;
                self.waiting_bytes -= call.bytes();
                self.compact_queue();
            }
            State::Running(_) | State::Asking(_) | State::Cancelled(..) => self.started -= 1,
        }
        Some(call)
    }

    /// Bounds the cancelled calls in the queue: a client could cancel calls indefinitely before one starts.
    fn compact_queue(&mut self) {
        if self.queue.len() > 2 * self.waiting + IDLE_CAPACITY {
            let calls = &self.calls;
            self.queue.retain(|key| calls.contains_key(key));
        }
    }

    /// Keys in the queue, of waiting and of cancelled calls.
    #[cfg(test)]
    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Returns the next call that waits to start, taken out of the table.
    pub(super) fn next_waiting(&mut self) -> Option<(Key, Call)> {
        loop {
            let key = self.queue.pop_front()?;
            if let Some(call) = self.remove(key) {
                return Some((key, call));
            }
        }
    }

    /// Marks a running call as cancelled; it may continue until `until`. Frees its id.
    pub(super) fn cancel(&mut self, key: Key, until: Instant) {
        let Some(call) = self.calls.get_mut(&key) else { return };
        call.peer.end();
        // It takes a slot until it ends, even while it waits.
        call.peer.leave_slot();
        call.cancel.cancel();
        if let State::Running(Some(task)) | State::Asking(task) = &call.state {
            call.state = State::Cancelled(task.clone(), until);
        }
        if let Some(id) = self.calls.get_mut(&key).and_then(|call| call.id.take()) {
            self.ids.remove(&id);
        }
    }

    /// Remembers an answered call: a cancellation may still be on its way, and its client then drops the answer.
    pub(super) fn answered(&mut self, call: &Call) {
        let Some(id) = &call.id else { return };
        if self.late.iter().all(|(of, _)| of != id) {
            // Some may be cancelled after the next one was answered.
            self.late.truncate(2 * HABIT);
            self.late.push_front((id.clone(), false));
        }
        if !self.answered.is_empty() {
            self.answered.retain(|(of, cancel)| of != id && cancel.is_watched());
        }
        if call.cancel.is_watched() {
            self.answered.truncate(MAX_ANSWERED - 1);
            self.answered.push_front((id.clone(), call.cancel.clone()));
        }
    }

    /// Notifies the work of an answered call that its client cancelled it, unless its client cancels every call.
    pub(super) fn cancel_answered(&mut self, id: &Id) {
        if let Some(at) = self.late.iter().position(|(of, _)| of == id) {
            self.late[at].1 = true;
            let mut before = self.late.iter().skip(at + 1);
            if before.len() >= HABIT && before.all(|(_, is_cancelled)| *is_cancelled) {
                return;
            }
        }
        if let Some(at) = self.answered.iter().position(|(of, _)| of == id)
            && let Some((_, cancel)) = self.answered.remove(at)
        {
            cancel.cancel();
        }
    }

    /// A running call waits for an answer: frees its slot.
    pub(super) fn pause(&mut self, key: Key) {
        if let Some(call) = self.calls.get_mut(&key)
            && let State::Running(Some(task)) = &call.state
        {
            call.state = State::Asking(task.clone());
            call.peer.begin_wait();
        }
    }

    /// Resumes the call, even if no slot is free: it had one.
    pub(super) fn resume(&mut self, key: Key) {
        if let Some(call) = self.calls.get_mut(&key)
            && let State::Asking(task) = &call.state
        {
            call.state = State::Running(Some(task.clone()));
            call.peer.end_wait();
        }
    }

    fn forget_id(&mut self, call: &Call, key: Key) {
        if let Some(id) = &call.id
            && self.ids.get(id) == Some(&key)
        {
            self.ids.remove(id);
        }
    }

    /// Releases large tables that are empty.
    pub(super) fn shrink(&mut self) {
        if self.calls.is_empty() && self.calls.capacity() > IDLE_CAPACITY {
            self.calls = HashMap::new();
            self.ids = HashMap::new();
            self.queue = VecDeque::new();
        }
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Call> {
        self.calls.get_mut(&key)
    }

    pub(super) fn find(&self, id: &Id) -> Option<Key> {
        self.ids.get(id).copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub(super) fn started(&self) -> usize {
        self.started
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (Key, &mut Call)> {
        self.calls.iter_mut().map(|(key, call)| (*key, call))
    }

    /// Returns all keys, in the order of arrival.
    pub(super) fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = self.calls.keys().copied().collect();
        keys.sort_unstable_by_key(|key| key.0);
        keys
    }
}
