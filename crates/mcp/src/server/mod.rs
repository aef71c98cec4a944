//! The server: its description, its tools and methods, and the connections that it serves.
//!
//! Start with [`Server`]. `connection.rs` is the life of a connection, `connection_state.rs` its protocol state,
//! `methods.rs` handles each method.

mod announcements;
mod answer_delay;
mod answers;
mod batch;
mod call_observer;
mod calls;
mod catch_unwind;
mod client_info;
mod client_questions;
mod connection;
mod connection_state;
#[cfg(feature = "http")]
pub(crate) mod exchange;
mod fault;
mod io;
mod job_tools;
mod jobs;
mod lists;
mod log_throttle;
mod methods;
mod options;
mod peer;
mod resource_methods;
mod result_budget;
mod result_prefix;
mod resumption;
mod side_channel;
mod suspended_calls;
mod tasks;
#[cfg(test)]
pub(crate) mod tests;
mod timeouts;
mod timer;
mod wire_tap;

#[doc = include_str!("odd_input.md")]
pub mod odd_input {}

use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

pub use call_observer::{CallEnd, OnEnd, Stopper};
pub use job_tools::NAMES as JOB_TOOLS;
pub use options::{ConnectionOptions, Drained, End, Limits};
pub use wire_tap::Tap;

use self::call_observer::Observer;
use self::fault::fault_id;
use self::jobs::Jobs;
use self::lists::Revisions;
use self::result_budget::FullTexts;
use self::result_prefix::ResultPrefixes;
use self::suspended_calls::SuspendedCalls;
use crate::era::write::{ResultWriter, ServerCapabilities};
use crate::era::{Era, ResultForm};
use crate::prompt::Prompts;
use crate::resource::Resources;
pub use crate::server_info::ServerInfo;
use crate::tool::{AnyTool, BoxFuture, Context, Declaration, Registry};
use crate::wire::build::RpcError;

/// A handler of the embedder's own method.
type Method = Arc<dyn Fn(Context, Option<Box<RawValue>>) -> BoxFuture<Result<Box<RawValue>, RpcError>> + Send + Sync>;

/// An MCP server: cheap to clone, shared by all its connections.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

struct Shared {
    results: ResultWriter,
    registry: Arc<Registry>,
    resources: OnceLock<Arc<Resources>>,
    prompts: OnceLock<Arc<Prompts>>,
    page_size: AtomicUsize,
    /// How long clients may cache lists, if the embedder sets it.
    list_fresh_for: OnceLock<Duration>,
    /// The revisions of the lists when the server first served.
    served: OnceLock<Revisions>,
    suspended: Arc<SuspendedCalls>,
    /// The budget of a result in characters, and the full texts of results that exceeded it.
    budget: OnceLock<(usize, Arc<FullTexts>)>,
    /// The embedder's text before tools' results.
    result_prefixes: ResultPrefixes,
    observer: OnceLock<Observer>,
    jobs: Arc<Jobs>,
    jobs_are_on: AtomicBool,
    methods: RwLock<HashMap<String, Method>>,
    /// True if `methods` has any: saves every call a lock.
    has_methods: AtomicBool,
    notifications: RwLock<HashMap<String, Method>>,
    listings: Mutex<HashMap<ListingKey, Listing>>,
    shutdown: watch::Sender<bool>,
}

/// The key of a rendered listing, apart from the registry. It includes the groups of unlisted tools that the client was
/// given.
type ListingKey = (Era, ResultForm, BTreeSet<String>);

/// The revision of the registry, and its rendered `tools/list` result.
type Listing = (u64, Arc<[u8]>);

impl Server {
    /// Returns a server with these tools.
    pub fn new(info: ServerInfo, registry: Arc<Registry>) -> Server {
        Server {
            shared: Arc::new(Shared {
                results: ResultWriter::new(info),
                registry,
                resources: OnceLock::new(),
                prompts: OnceLock::new(),
                page_size: AtomicUsize::new(lists::PAGE_SIZE),
                list_fresh_for: OnceLock::new(),
                served: OnceLock::new(),
                suspended: Arc::default(),
                budget: OnceLock::new(),
                result_prefixes: ResultPrefixes::default(),
                observer: OnceLock::new(),
                jobs: Arc::default(),
                jobs_are_on: AtomicBool::new(false),
                methods: RwLock::default(),
                has_methods: AtomicBool::new(false),
                notifications: RwLock::default(),
                listings: Mutex::default(),
                shutdown: watch::channel(false).0,
            }),
        }
    }

    /// Returns a server with other tools that shares with this one the state that outlives connections: its open
    /// questions, its jobs and its shutdown. It has separate resources, prompts, methods and text before results. With
    /// it a program can serve other tools to some clients, and drop that server after they disconnect without losing
    /// state.
    #[must_use]
    pub fn sibling(&self, info: ServerInfo, registry: Arc<Registry>) -> Server {
        let fresh = Server::new(info, registry).shared;
        let mut shared = Arc::into_inner(fresh).expect("nobody else has it yet");
        shared.suspended = self.shared.suspended.clone();
        shared.jobs = self.shared.jobs.clone();
        shared.shutdown = self.shared.shutdown.clone();
        Server { shared: Arc::new(shared) }
    }

    /// Returns a server with a program's own tools. [`Server::registry`] takes more of them at run time.
    ///
    /// # Panics
    ///
    /// If a tool cannot be served, as [`Registry::new`] does.
    pub fn with_tools(info: ServerInfo, tools: impl IntoIterator<Item = Arc<dyn AnyTool>>) -> Server {
        Server::new(info, Arc::new(Registry::new(tools)))
    }

    /// Adds a method of the embedder's own, or replaces one of the protocol's. Its calls run like tool calls: at once,
    /// cancellable, with a [`Context`] that may outlive the call. The result must be a JSON object.
    #[must_use]
    pub fn method<F, Fut>(self, name: &str, handler: F) -> Server
    where
        F: Fn(Context, Option<Box<RawValue>>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Box<RawValue>, RpcError>> + Send + 'static,
    {
        let method: Method = Arc::new(move |cx, params| Box::pin(handler(cx, params)));
        self.shared.methods.write().insert(name.to_owned(), method);
        self.shared.has_methods.store(true, Ordering::Release);
        self
    }

    /// Handles a notification: one of the embedder's own, or `notifications/initialized`, by which a client of an older
    /// revision says that it is ready. Handlers run like calls, without an answer.
    #[must_use]
    pub fn on_notification<F, Fut>(self, name: &str, handler: F) -> Server
    where
        F: Fn(Context, Option<Box<RawValue>>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let method: Method = Arc::new(move |cx, params| {
            let handled = handler(cx, params);
            Box::pin(async move {
                handled.await;
                Ok(RawValue::NULL.to_owned())
            })
        });
        self.shared.notifications.write().insert(name.to_owned(), method);
        self
    }

    /// Serves these resources to connections that begin from now on. Only the first call counts. Without resources the
    /// server does not declare the capability. Call it before [`Server::result_budget`], which adds a template.
    #[must_use]
    pub fn resources(self, resources: Arc<Resources>) -> Server {
        self.shared.resources.get_or_init(|| resources);
        self
    }

    /// Serves these prompts to connections that begin from now on. Only the first call counts. Without prompts the
    /// server does not declare the capability.
    #[must_use]
    pub fn prompts(self, prompts: Arc<Prompts>) -> Server {
        self.shared.prompts.get_or_init(|| prompts);
        self
    }

    /// Sets how many entries a page of a list has at most; the default is 1,000.
    #[must_use]
    pub fn page_size(self, entries: usize) -> Server {
        self.shared.page_size.store(entries.max(1), Ordering::Relaxed);
        self.shared.listings.lock().clear();
        self
    }

    /// Sets how long clients may cache the lists of tools, resources and prompts (`ttlMs`, 2026-07-28). Without it they may
    /// for a minute, until a list changes at run time or has [unlisted](Registry::unlist) tools: then not at all. Only the
    /// first call counts. Changes are announced to subscribers in any case.
    #[must_use]
    pub fn list_fresh_for(self, time: Duration) -> Server {
        self.shared.list_fresh_for.get_or_init(|| time);
        self.shared.listings.lock().clear();
        self
    }

    /// Lets calls of tools with [`Tool::JOB_AFTER`](crate::tool::Tool::JOB_AFTER) become jobs: tasks of the extension
    /// `io.modelcontextprotocol/tasks` for clients that know it, and for other clients jobs behind the tools
    /// `job_wait`, `job_read` and `job_cancel`, which this adds. Jobs end with the server, not with a connection.
    #[must_use]
    pub fn jobs(self) -> Server {
        if !self.shared.jobs_are_on.swap(true, Ordering::Relaxed) {
            for tool in job_tools::all(&self.shared.jobs) {
                self.shared.registry.add(tool).expect("the library's own tools are declared as they must be");
            }
        }
        self
    }

    /// Limits the texts of a tool's result to this many characters in total, unless `anthropic/maxResultSizeChars` in
    /// the tool's `_meta` says otherwise. A longer text keeps its head and its tail; the latest full texts can be read
    /// by range as the resource `result://…`, which this adds. Without this call there is no limit.
    #[must_use]
    pub fn result_budget(self, characters: usize) -> Server {
        if self.shared.budget.get().is_none() {
            let kept = Arc::<FullTexts>::default();
            match result_budget::full_text_template(kept.clone()) {
                Ok(template) => self.shared.resources.get_or_init(Arc::default).add_template(template),
                Err(error) => tracing::error!(%error, "long results cannot be read"),
            }
            self.shared.budget.get_or_init(|| (characters, kept));
        }
        self
    }

    /// Puts text before the blocks of tools' results, each in a separate block, for news that a model should read now,
    /// whatever tool it called. `choose` runs when a result is about to be written, failures included, with the context
    /// of its call; it must not block. It does not run for a call that its client has cancelled, nor for a question or
    /// a notice that the call became a job. Structured content stays the same, and [`Server::result_budget`] does not
    /// count the text. May be called several times: texts appear in the order of the calls.
    ///
    /// A client drops an answer that crosses with its cancellation. A clone of the context reports that by
    /// [`Context::is_cancelled`] and [`Context::cancelled`], and the end of the connection by
    /// [`Context::disconnected`].
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// use mcp::server::{Server, ServerInfo};
    /// use mcp::tool::{Context, Registry};
    ///
    /// /// Says it once, and again if the call that it was said with was given up.
    /// #[derive(Default)]
    /// struct Notice(Mutex<Option<Context>>);
    ///
    /// impl Notice {
    ///     fn say(&self, cx: &Context) -> Vec<String> {
    ///         let mut said_with = self.0.lock().expect("nobody panics with it");
    ///         if said_with.as_ref().is_some_and(|call| !call.is_cancelled()) {
    ///             return Vec::new();
    ///         }
    ///         *said_with = Some(cx.clone());
    ///         vec!["Two messages wait.".to_owned()]
    ///     }
    /// }
    ///
    /// let notice = Arc::new(Notice::default());
    /// let server = Server::new(ServerInfo::new("mail", "1.0.0"), Arc::new(Registry::default()))
    ///     .result_prefix(move |cx, _| notice.say(cx));
    /// ```
    #[must_use]
    pub fn result_prefix(
        self,
        choose: impl Fn(&Context, &Declaration) -> Vec<String> + Send + Sync + 'static,
    ) -> Server {
        self.shared.result_prefixes.add(Arc::new(choose));
        self
    }

    /// Observes the calls of tools: `begin` runs before each, and the function that it returns runs when the call ends.
    /// A call that becomes a job ends with its job. Both must not block. The [`Stopper`] stops the call. Only the first call
    /// counts.
    #[must_use]
    pub fn observe(
        self,
        begin: impl Fn(&Context, &Declaration, Option<&RawValue>, Stopper) -> OnEnd + Send + Sync + 'static,
    ) -> Server {
        self.shared.observer.get_or_init(|| Arc::new(begin));
        self
    }

    /// Sets the secret key that seals the tickets of open questions; random by default. With the same key after a
    /// restart, a server can still report the effects of a call whose question was open. Call it once, before the
    /// server serves.
    #[must_use]
    pub fn seal_key(self, key: [u8; 32]) -> Server {
        self.shared.suspended.set_key(key);
        self
    }

    /// Returns true if the embedder handles this method.
    #[cfg(feature = "http")]
    pub(crate) fn has_method(&self, name: &str) -> bool {
        self.shared.method(name).is_some()
    }

    /// Returns true if the embedder handles this notification.
    #[cfg(feature = "http")]
    pub(crate) fn has_notification(&self, name: &str) -> bool {
        self.shared.notification(name).is_some()
    }

    /// Returns the tools.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.shared.registry
    }

    /// Serves one connection until its input ends, its peer disconnects or the server shuts down. No input ends it
    /// earlier. Must run on a tokio runtime with the timer enabled (and I/O, if the streams need it).
    ///
    /// Dropping the future ends the connection at once: its calls are cancelled and unwritten output is lost.
    pub async fn serve<R, W>(&self, reader: R, writer: W, options: ConnectionOptions) -> End
    where
        R: AsyncRead + Send + Unpin,
        W: AsyncWrite + Send + Unpin,
    {
        connection::Connection::new(self.shared.clone(), reader, writer, options).run().await
    }

    /// Shuts down all connections, present and future: running calls get their grace, subscriptions are ended.
    pub fn shutdown(&self) {
        self.shared.shutdown.send_replace(true);
        self.shared.suspended.clear();
        self.shared.jobs.clear();
    }
}

impl Shared {
    fn page_size(&self) -> usize {
        self.page_size.load(Ordering::Relaxed)
    }

    fn capabilities(&self) -> ServerCapabilities {
        ServerCapabilities {
            resources: self.resources.get().is_some(),
            prompts: self.prompts.get().is_some(),
            tasks: self.jobs_are_on(),
        }
    }

    fn jobs_are_on(&self) -> bool {
        self.jobs_are_on.load(Ordering::Relaxed)
    }

    fn method(&self, name: &str) -> Option<Method> {
        if !self.has_methods.load(Ordering::Acquire) {
            return None;
        }
        self.methods.read().get(name).cloned()
    }

    fn notification(&self, name: &str) -> Option<Method> {
        self.notifications.read().get(name).cloned()
    }
}
