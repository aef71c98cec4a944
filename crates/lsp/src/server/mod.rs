//! A language server used to verify uses. One actor owns its process, documents and state; [`Server`] is the handle.
//!
//! - `state`: the states, and the server's own signals.
//! - `readiness`: readiness probes for a server that reports that it is ready.
//! - `documents`: the open documents, with the same texts that the syntax tier read.
//! - `profile`: differences between servers, as data.
//!
//! Start with `actor.rs`. The meaning of answers is decided elsewhere.

mod actor;
mod documents;
mod life;
pub mod profile;
pub mod readiness;
mod start;
mod state;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use process::Guard;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

pub use documents::Document;
pub use profile::Profile;
pub use state::State;

use readiness::Chosen;

use crate::journal::Record;
use crate::{Client, Encoding};

#[derive(Clone)]
pub struct Start {
    pub profile: Arc<Profile>,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Root of the project, and working directory of the program.
    pub root: PathBuf,
    pub worktree: PathBuf,
    pub env: Vec<(String, String)>,
    /// Directory of all servers of this kind, and the private one of this server; both outside the worktree.
    pub state_dir: PathBuf,
    pub own_dir: PathBuf,
    /// Directory for temporary files. A killed server would leave such files behind: clangd preambles, rust-analyzer copies
    /// of macros, gopls build folders.
    pub scratch: PathBuf,
    pub guard: Guard,
    pub records: Option<PathBuf>,
    pub timing: Timing,
    pub journal: Option<Journal>,
    /// Watcher of the worktree; `None` if watching is impossible.
    pub watcher: Option<::watch::Watcher>,
    /// Chooses the readiness probes of a root directory for a family of languages. Blocks.
    pub choose_probes: fn(&Path, &str) -> Chosen,
    /// Permit to start: one server starts at a time.
    pub starting: Arc<Semaphore>,
}

/// Receiver of log records.
pub type Journal = Arc<dyn Fn(Record) + Send + Sync>;

#[derive(Debug, Clone)]
pub struct Timing {
    /// Time after which a server that reports that it is ready but fails the probes is doubtful.
    pub doubtful_after: Duration,
    /// Time after which a server that neither answers nor uses the processor is killed.
    pub hung_after: Duration,
    /// Delays before restarts.
    pub restarts: Vec<Duration>,
    /// Time of readiness after which earlier crashes no longer count.
    pub well_after: Duration,
    /// Interval between two answers that must be equal if there are no probes.
    pub settling: Duration,
    /// Timeout of a request.
    pub request: Duration,
    /// Interval at which the memory of all servers is measured.
    pub measured_every: Duration,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            doubtful_after: Duration::from_secs(30),
            hung_after: Duration::from_secs(15),
            restarts: [1, 4, 16].map(Duration::from_secs).to_vec(),
            well_after: Duration::from_secs(60),
            settling: Duration::from_millis(300),
            request: Duration::from_secs(20),
            measured_every: Duration::from_secs(1),
        }
    }
}

#[derive(Debug, Clone)]
pub struct ServerSnapshot {
    pub state: State,
    /// Time of the last change of state.
    pub since: Instant,
    pub version: Option<String>,
    /// Results of the readiness probes; `None` before they were asked.
    pub canary: Option<Canary>,
    /// The server's message about its failure to load the project.
    pub trouble: Option<String>,
    pub pid: Option<i32>,
    pub started: Option<Instant>,
    /// Number of the current life, which counts starts.
    pub life: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Canary {
    /// It named all uses of these definitions.
    Agrees(Vec<String>),
    /// A use that it did not name.
    Lacks(String),
    /// The project has no certain uses.
    None,
}

impl Canary {
    pub fn describe(&self) -> String {
        match self {
            Canary::Agrees(names) => format!("agrees: {}", names.join(", ")),
            Canary::Lacks(what) => format!("lacks {what}"),
            Canary::None => "none".to_owned(),
        }
    }
}

/// Whether one round of questions is enough: the probes agreed, or two equal rounds confirmed a use that only a loaded server
/// can know. Replaced after each change of files.
#[derive(Debug, Clone)]
pub struct Certainty(Arc<AtomicBool>);

impl Certainty {
    pub fn new(is_enough: bool) -> Certainty {
        Certainty(Arc::new(AtomicBool::new(is_enough)))
    }

    pub fn is_enough(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub fn confirm(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True if both refer to the same changes.
    pub fn is_same(&self, other: &Certainty) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A connection on which questions can be asked.
#[derive(Clone)]
pub struct Session {
    pub client: Client,
    pub encoding: Encoding,
    pub settled: Certainty,
    caught_up: watch::Receiver<bool>,
    pub timing: Timing,
}

pub enum Order {
    /// Open these documents and deliver all changes. The reply is a session, or `None` if the server is not running.
    Open {
        documents: Vec<Document>,
        reply: oneshot::Sender<Option<Session>>,
    },
    /// The server missed a use: repeat the readiness probes.
    Doubt,
    /// Stop the server until the next question, or permanently.
    Park,
    OverBudget,
    End,
}

/// A handle to a server. The actor ends with the last handle.
#[derive(Clone)]
pub struct Server {
    pub profile: Arc<Profile>,
    pub root: PathBuf,
    pub worktree: PathBuf,
    orders: mpsc::Sender<Order>,
    seen: watch::Receiver<ServerSnapshot>,
    group: watch::Receiver<Option<process::Group>>,
    questions: Arc<Mutex<Questions>>,
}

#[derive(Debug)]
struct Questions {
    asking: usize,
    /// End of the last question.
    last: Instant,
}

/// A question that a server is answering.
pub struct Asking(Arc<Mutex<Questions>>);

impl Drop for Asking {
    fn drop(&mut self) {
        let mut questions = self.0.lock();
        questions.asking -= 1;
        questions.last = Instant::now();
    }
}

/// Time before a server that failed to start is tried again.
pub const TRIED_EVERY: Duration = Duration::from_secs(10);
/// Capacity of the order queue. Each waiting question has one order.
const ORDERS: usize = 64;

impl Server {
    /// Starts the actor, which starts the program.
    pub fn start(start: Start) -> Server {
        let (orders, taken) = mpsc::channel(ORDERS);
        let (group, group_seen) = watch::channel(None);
        let seen = ServerSnapshot {
            state: State::Starting,
            since: Instant::now(),
            version: None,
            canary: None,
            trouble: None,
            pid: None,
            started: None,
            life: 0,
        };
        let (shown, seen) = watch::channel(seen);
        let (profile, root, worktree) = (start.profile.clone(), start.root.clone(), start.worktree.clone());
        tokio::spawn(actor::Actor::new(start, taken, shown, group).run());
        let questions = Arc::new(Mutex::new(Questions { asking: 0, last: Instant::now() }));
        Server { profile, root, worktree, orders, seen, group: group_seen, questions }
    }

    /// Counts a question until the returned guard is dropped.
    pub fn asking(&self) -> Asking {
        self.questions.lock().asking += 1;
        Asking(self.questions.clone())
    }

    /// Returns the number of questions in progress, and the time since the last one ended.
    pub fn in_use(&self) -> (usize, Duration) {
        let questions = self.questions.lock();
        (questions.asking, questions.last.elapsed())
    }

    /// True if the server failed to start and may be tried again.
    pub fn may_start_now(&self) -> bool {
        let seen = self.seen.borrow();
        matches!(seen.state, State::CannotStart { .. }) && seen.since.elapsed() >= TRIED_EVERY
    }

    /// Returns the features missing without a marker file, and how to get one.
    pub fn missing_features(&self) -> Option<&str> {
        let has_root = || self.profile.roots.iter().any(|mark| self.root.join(mark).is_file());
        self.profile.without_roots.as_deref().filter(|_| !has_root())
    }

    pub fn snapshot(&self) -> ServerSnapshot {
        self.seen.borrow().clone()
    }

    /// Returns a receiver of status changes.
    pub fn watch(&self) -> watch::Receiver<ServerSnapshot> {
        self.seen.clone()
    }

    /// Returns the process group while the server runs.
    pub fn group(&self) -> Option<process::Group> {
        self.group.borrow().clone()
    }

    /// Opens the documents and returns a session; `None` if the server is not running. Starts a parked server.
    pub async fn open(&self, documents: Vec<Document>) -> Option<Session> {
        let (reply, session) = oneshot::channel();
        self.orders.send(Order::Open { documents, reply }).await.ok()?;
        let mut session = session.await.ok()??;
        session.caught_up.wait_for(|is_it| *is_it).await.ok()?;
        Some(session)
    }

    pub async fn order(&self, order: Order) {
        // If the actor has ended, the order has no effect.
        let _ = self.orders.send(order).await;
    }

    /// Stops the server and waits until all its processes have ended.
    pub async fn end(&self) {
        self.order(Order::End).await;
        let mut seen = self.seen.clone();
        while seen.changed().await.is_ok() {}
    }
}
