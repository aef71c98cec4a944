//! A language server as a judge: one actor owns its process, documents and state; [`Server`] is the handle.
//!
//! - `state`: the closed set of states, and what the server's own signals say.
//! - `canary`: what is known for certain, to ask a server that says it is ready.
//! - `beyond`: what it reads and nobody watches.
//! - `documents`: the texts that it has open, which are those that the syntax tier read.
//! - `profile`: what differs between servers, as data.
//! - `scratch`: where their temporary files lie.
//! - `settled`: whether one round of questions is enough.
//! - `start_files`: the files that decide whether it can start.
//!
//! Start with `actor.rs`. Nothing here decides what an answer means.

mod actor;
mod beyond;
pub(crate) mod canary;
mod documents;
mod life;
pub(crate) mod profile;
mod scratch;
mod settled;
mod start;
mod start_files;
mod state;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use process::Guard;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

pub(crate) use documents::Document;
pub(crate) use profile::Profile;
pub use scratch::sweep_scratch;
pub(crate) use settled::Certainty;
use start_files::StartFiles;
pub(crate) use state::State;

use crate::journal::Record;
use crate::lsp::{Client, Encoding};

/// What to start, and for whom.
#[derive(Clone)]
pub(crate) struct Start {
    pub profile: Arc<Profile>,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What it reads; its working directory.
    pub root: PathBuf,
    pub worktree: PathBuf,
    pub env: Vec<(String, String)>,
    /// A directory for all servers, outside of the worktree.
    pub servers_dir: PathBuf,
    /// One in there for all servers of its kind, and one of its own.
    pub state_dir: PathBuf,
    pub own_dir: PathBuf,
    pub guard: Guard,
    pub records: Option<PathBuf>,
    pub timing: Timing,
    pub journal: Option<Journal>,
    /// The files of the worktree, watched; `None` if that cannot be.
    pub watcher: Option<::watch::Watcher>,
    /// Whoever holds it starts.
    pub starting: Arc<Semaphore>,
}

/// Where records go.
pub type Journal = Arc<dyn Fn(Record) + Send + Sync>;

/// How long things take at most.
#[derive(Debug, Clone)]
pub struct Timing {
    /// A server that says it is ready, and denies what is known, is doubtful after this long.
    pub doubtful_after: Duration,
    /// One that neither answers nor computes for this long is killed.
    pub hung_after: Duration,
    /// The pauses before it is started again.
    pub restarts: Vec<Duration>,
    /// Ready for this long, what it died of before no longer counts.
    pub well_after: Duration,
    /// Between two answers that must be equal where nothing is known for certain.
    pub settling: Duration,
    /// One request.
    pub request: Duration,
    /// How often the memory of all servers is measured.
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

/// How a server is, as others see it.
#[derive(Debug, Clone)]
pub(crate) struct ServerSnapshot {
    pub state: State,
    /// Since when it is in this state.
    pub since: Instant,
    pub version: Option<String>,
    /// What became of the questions whose answers are known; `None` before they were asked.
    pub canary: Option<Canary>,
    /// What it says that it could not load.
    pub trouble: Option<String>,
    pub pid: Option<i32>,
    pub started: Option<Instant>,
    /// Which life it is in.
    pub life: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Canary {
    /// It named all uses of these.
    Agrees(Vec<String>),
    /// What it lacks.
    Lacks(String),
    /// Nothing in the project is certain.
    None,
}

impl Canary {
    pub(crate) fn describe(&self) -> String {
        match self {
            Canary::Agrees(names) => format!("agrees: {}", names.join(", ")),
            Canary::Lacks(what) => format!("lacks {what}"),
            Canary::None => "none".to_owned(),
        }
    }
}

/// A connection on which a question can be asked now.
#[derive(Clone)]
pub(crate) struct Session {
    pub client: Client,
    pub encoding: Encoding,
    pub settled: Certainty,
    caught_up: watch::Receiver<bool>,
    pub timing: Timing,
}

/// What a server is told to do.
pub(crate) enum Order {
    /// Make it have these texts and know of all changes; answered with the session, or nothing if it is not up.
    Open {
        documents: Vec<Document>,
        reply: oneshot::Sender<Option<Session>>,
    },
    /// These are part of the project and not watched: it is told of what changed, before the next texts.
    LookBeyond(BTreeSet<PathBuf>),
    /// It was seen not to name a use: what is known is asked again.
    Doubt,
    /// End it until the next question, or for good.
    Park,
    /// End it though it is asked: the question waits until there is room for it again.
    Hold,
    /// There is room for one that was held: for the question that waits, or for the next one.
    Wake,
    Release,
    OverBudget,
    End,
}

/// A handle on a server. The actor ends with the last one.
#[derive(Clone)]
pub(crate) struct Server {
    pub profile: Arc<Profile>,
    pub root: PathBuf,
    pub worktree: PathBuf,
    orders: mpsc::Sender<Order>,
    seen: watch::Receiver<ServerSnapshot>,
    group: watch::Receiver<Option<process::Group>>,
    questions: Arc<Mutex<Questions>>,
    start_files: Arc<StartFiles>,
}

/// Who asks a server.
#[derive(Debug)]
struct Questions {
    asking: usize,
    /// When the last one ended.
    last: Instant,
}

/// A question that a server is answering.
pub(crate) struct Asking(Arc<Mutex<Questions>>);

impl Drop for Asking {
    fn drop(&mut self) {
        let mut questions = self.0.lock();
        questions.asking -= 1;
        questions.last = Instant::now();
    }
}

/// How long a server that could not start is left alone where nothing has changed.
pub(crate) const TRIED_EVERY: Duration = Duration::from_secs(60);
/// How many orders may wait: each waiting question has one.
const ORDERS: usize = 64;

impl Server {
    /// Starts the actor, which starts the program.
    pub(crate) fn start(start: Start) -> Server {
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
        let start_files = Arc::new(StartFiles::collect(&start));
        tokio::spawn(actor::Actor::new(start, taken, shown, group).run());
        let questions = Arc::new(Mutex::new(Questions { asking: 0, last: Instant::now() }));
        Server { profile, root, worktree, orders, seen, group: group_seen, questions, start_files }
    }

    /// It is being asked, until that is dropped.
    pub(crate) fn asking(&self) -> Asking {
        self.questions.lock().asking += 1;
        Asking(self.questions.clone())
    }

    /// How many questions it answers, and how long ago the last ended.
    pub(crate) fn in_use(&self) -> (usize, Duration) {
        let questions = self.questions.lock();
        (questions.asking, questions.last.elapsed())
    }

    /// Whether it could not start and another try may succeed.
    pub(crate) fn may_start_now(&self) -> bool {
        let seen = self.seen.borrow();
        matches!(seen.state, State::CannotStart { .. })
            && (seen.since.elapsed() >= TRIED_EVERY || self.start_files.have_changed())
    }

    /// What it says less without, and where to get it.
    pub(crate) fn lacks(&self) -> Option<&str> {
        let has_root = || self.profile.roots.iter().any(|mark| self.root.join(mark).is_file());
        self.profile.without_roots.as_deref().filter(|_| !has_root())
    }

    pub(crate) fn snapshot(&self) -> ServerSnapshot {
        self.seen.borrow().clone()
    }

    /// Follows how it is.
    pub(crate) fn watch(&self) -> watch::Receiver<ServerSnapshot> {
        self.seen.clone()
    }

    /// Its processes, while it is up.
    pub(crate) fn group(&self) -> Option<process::Group> {
        self.group.borrow().clone()
    }

    /// A session in which the server has these texts; `None` if it is not up. A parked one is started.
    pub(crate) async fn open(&self, documents: Vec<Document>) -> Option<Session> {
        let (reply, session) = oneshot::channel();
        self.orders.send(Order::Open { documents, reply }).await.ok()?;
        let mut session = session.await.ok()??;
        session.caught_up.wait_for(|is_it| *is_it).await.ok()?;
        Some(session)
    }

    pub(crate) async fn order(&self, order: Order) {
        // One that is gone needs no orders.
        let _ = self.orders.send(order).await;
    }

    /// Ends it and waits until nothing of it is left.
    pub(crate) async fn end(&self) {
        self.order(Order::End).await;
        let mut seen = self.seen.clone();
        while seen.changed().await.is_ok() {}
    }
}
