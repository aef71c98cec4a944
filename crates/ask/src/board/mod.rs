//! The questions of a daemon. [`Board::change`] is the only way to change one: it runs the state machine, stores the result, and
//! notifies waiting calls and faces. No lock is held while waiting.

mod deliveries;
mod faces;
mod runs;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcp::tool::Context;
use parking_lot::Mutex;
use project::journal;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use self::deliveries::Hand;
pub(crate) use self::deliveries::{ARRIVED, Handout};
use self::faces::Faces;
use crate::AskSettings;
use crate::attachment::{self, GivenAttachment};
use crate::form::Form;
use crate::journal::Record;
use crate::question::{Action, Asker, Closed, Danger, Delivery, Event, Kind, Question, QuestionState, Via};
use crate::store::{Store, StoreError};

/// The maximum number of questions that are open or have an undelivered answer.
const QUESTIONS_MAX: usize = 2000;

/// The maximum number of threads that change and read questions.
const TURNS: usize = 4;

/// A callback that returns the name that a caller registered as an agent.
pub type AgentOf = Box<dyn Fn(&Context) -> Option<String> + Send + Sync>;

/// The options of a board.
pub struct BoardOptions {
    /// The path of `ask.db`.
    pub path: PathBuf,
    /// Creates the directory of the file.
    pub prepare: Box<dyn Fn() -> io::Result<()> + Send + Sync>,
    /// Returns true unless the asker's process has ended. An asker without a process counts as alive.
    pub is_alive: Box<dyn Fn(&Asker) -> bool + Send + Sync>,
    /// Returns the caller's registered name, if any.
    pub agent_of: AgentOf,
    /// Returns why a process may not answer; `None` if it may.
    pub refuses: Box<dyn Fn(u32) -> Option<String> + Send + Sync>,
    /// Writes a record to the journal.
    pub record: Box<dyn Fn(Record) + Send + Sync>,
    pub settings: AskSettings,
    /// Notifies the person of a question outside of hob, if configured.
    pub notify: Option<Notify>,
    /// The account name of the person who answers here.
    pub person: String,
}

/// Starts a notification. The callback reports a later failure. Returns false if no notification was started.
pub type Notify = Box<dyn Fn(&Notified<'_>, Failed) -> bool + Send + Sync>;
/// A callback for a failed notification.
pub type Failed = Box<dyn FnOnce() + Send>;

/// The content of a notification.
#[derive(Debug, Clone, Copy)]
pub struct Notified<'a> {
    pub id: &'a str,
    pub title: &'a str,
}

/// The questions of a daemon.
pub struct Board {
    me: std::sync::Weak<Board>,
    pub(crate) options: BoardOptions,
    store: OnceLock<Store>,
    /// BoardEntry while a question changes, and while the store is opened.
    changing: Mutex<()>,
    /// The semaphore for threads that may wait for `changing`.
    turns: Arc<Semaphore>,
    state: Mutex<State>,
    faces: Faces,
    /// The number of closed questions, for calls that wait for any question.
    closings: watch::Sender<u64>,
    /// Notified when a question may expire earlier than all others.
    sooner: Arc<tokio::sync::Notify>,
    born: Instant,
    /// The id of this daemon process, which separates its connections from those of an earlier one.
    life: String,
    /// True if a face was connected when an earlier daemon crashed.
    was_watched: bool,
}

#[derive(Default)]
struct State {
    /// The unsettled questions by sequence number.
    questions: BTreeMap<u64, BoardEntry>,
    /// The closed ones among them whose answers are undelivered. Every call searches only these, so its cost does not depend on
    /// the open questions.
    closed: BTreeSet<u64>,
    last_hand: u64,
}

struct BoardEntry {
    question: Question,
    /// Notified of every change.
    changed: watch::Sender<()>,
    /// True if the person was notified outside of hob.
    is_told: bool,
    /// The number of waiting calls of the run that asked.
    waiting: usize,
    /// The call that carries its answer.
    hand: Option<Hand>,
    /// Where and when a person began to answer it.
    claimed: Option<(Via, u64)>,
}

/// The content of a new question.
#[derive(Debug)]
pub(crate) struct Draft {
    pub kind: Kind,
    pub title: String,
    pub message: String,
    pub form: Form,
    pub attachments: Vec<GivenAttachment>,
    pub danger: Danger,
    pub urgent: bool,
    pub digest: String,
    pub lives: Duration,
}

/// The reason why an operation on a question failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BoardError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("unknown question `{0}`")]
    Unknown(String),
    #[error("question `{}` is {}", .0.id, .0.status())]
    Closed(Box<Question>),
    #[error(
        "too many questions are open or have undelivered answers; the limit is {QUESTIONS_MAX}: have your user answer \
         some first (`hob questions`)"
    )]
    Full,
    /// The content or an attachment cannot be shown.
    #[error("invalid question: {0}")]
    Unshown(String),
    #[error("the question could not be completed: {0}")]
    Lost(String),
}

impl Board {
    /// Creates a board. The file is opened on first use.
    pub fn new(options: BoardOptions) -> Arc<Board> {
        Arc::new_cyclic(|me| Board {
            me: me.clone(),
            was_watched: Board::was_watched(&options.path),
            options,
            store: OnceLock::new(),
            changing: Mutex::default(),
            turns: Arc::new(Semaphore::new(TURNS)),
            state: Mutex::default(),
            faces: Faces::default(),
            closings: watch::channel(0).0,
            sooner: Arc::default(),
            born: Instant::now(),
            life: random_letters(),
        })
    }

    /// Opens the file if it exists, for undelivered answers from before a restart.
    pub fn open_if_there(&self) {
        if self.options.path.symlink_metadata().is_ok()
            && let Err(error) = self.open()
        {
            tracing::error!(%error, "questions of earlier are not known");
        }
    }

    /// Returns true if the file is open. Otherwise there are no questions.
    pub(crate) fn is_open(&self) -> bool {
        self.store.get().is_some()
    }

    /// Returns the number of connected faces.
    pub fn watching(&self) -> usize {
        self.faces.watching()
    }

    fn open(&self) -> Result<&Store, StoreError> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let _changing = self.changing.lock();
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        (self.options.prepare)().map_err(|error| StoreError::Broken(error.to_string()))?;
        let now = journal::now();
        let store = Store::open(&self.options.path, now)?;
        self.forget_pictures(&store)?;
        let mut found = store.unsettled()?;
        for question in &mut found {
            // An answer that was being delivered when the daemon ended may not have arrived.
            let mut events = vec![Event::GiveUp, Event::Tick { at_ms: now }];
            // An answer expires together with its question.
            if self.is_gone(&question.asker) || question.expires_ms <= now {
                events.push(Event::Abandon);
            }
            for event in events {
                if let Ok(Some(step)) = question.apply(event) {
                    store.put(&step.question, false)?;
                    *question = step.question;
                }
            }
        }
        let held = found
            .into_iter()
            .filter(|question| !question.is_settled())
            // Notifications were sent before the restart.
            .map(|question| {
                (question.seq, BoardEntry { is_told: self.options.notify.is_some(), ..BoardEntry::new(question) })
            });
        let mut state = self.state.lock();
        state.questions = held.collect();
        let closed = state.questions.values().filter(|held| !held.question.is_open());
        state.closed = closed.map(|held| held.question.seq).collect();
        drop(state);
        self.keep_time();
        Ok(self.store.get_or_init(|| store))
    }

    /// Deletes the pictures of removed questions.
    fn forget_pictures(&self, store: &Store) -> Result<(), StoreError> {
        let known = store.with_pictures()?;
        let files: HashSet<&str> =
            known.iter().flat_map(|question| &question.attachments).filter_map(|known| known.file.as_deref()).collect();
        attachment::forget(&self.options.path, |file| files.contains(file));
        Ok(())
    }

    /// Stores a new question. If this run has the same question open, or with an undelivered answer, returns that. Blocks.
    pub(crate) fn ask(&self, draft: Draft, asker: Asker) -> Result<Question, BoardError> {
        let store = self.open()?;
        self.withdraw_former(&draft, &asker)?;
        let changing = self.changing.lock();
        if let Some(same) = self.equal_question(&draft, &asker) {
            // An answer must not apply to words that no person saw.
            if (&same.title, &same.message, &same.form) != (&draft.title, &draft.message, &draft.form) {
                let title = project::visible(&same.title);
                return Err(BoardError::Unshown(format!(
                    "`key` is already used by another question of yours: {title}"
                )));
            }
            return Ok(same);
        }
        if self.is_full() {
            return Err(BoardError::Full);
        }
        let read = attachment::read(draft.attachments, &asker.worktree).map_err(BoardError::Unshown)?;
        let kept = attachment::keep(&self.options.path, &read);
        kept.map_err(|error| BoardError::Unshown(format!("cannot store the picture: {error}")))?;
        let id = loop {
            let id = random_id();
            if store.find(&id)?.is_none() {
                break id;
            }
        };
        let now = journal::now();
        let question = Question {
            id,
            seq: store.next_seq()?,
            kind: draft.kind,
            asker,
            title: draft.title,
            message: draft.message,
            form: draft.form,
            attachments: read.into_iter().map(|read| read.attachment).collect(),
            danger: draft.danger,
            urgent: draft.urgent,
            digest: draft.digest,
            asked_ms: now,
            expires_ms: now.saturating_add(u64::try_from(draft.lives.as_millis()).unwrap_or(u64::MAX)),
            standing: QuestionState::Open,
            handed: Delivery::Waiting { attempts: 0 },
        };
        store.put(&question, true)?;
        self.state.lock().questions.insert(question.seq, BoardEntry::new(question.clone()));
        drop(changing);
        self.sooner.notify_one();
        let (tool, agent) = (question.kind.tool(), question.asker.agent.clone());
        (self.options.record)(Record::QuestionAsked { question: question.id.clone(), tool, agent });
        self.show(&question);
        self.notify_person(&question);
        Ok(question)
    }

    /// Applies an event to a question: runs the state machine, stores the result, and notifies waiting calls and faces. Blocks
    /// while it is stored durably.
    pub(crate) fn change(&self, id: &str, event: Event) -> Result<Question, BoardError> {
        self.apply(id, event).map(|(question, _)| question)
    }

    /// Works like [`Board::change`]; also returns true if the event changed anything.
    fn apply(&self, id: &str, event: Event) -> Result<(Question, bool), BoardError> {
        let store = self.open()?;
        let changing = self.changing.lock();
        let before = self.find(id)?.ok_or_else(|| BoardError::Unknown(id.to_owned()))?;
        let claimed = match &event {
            Event::Claim { via, at_ms } => Some((*via, *at_ms)),
            _ => None,
        };
        let step = match before.apply(event) {
            Ok(Some(step)) => step,
            Ok(None) => return Ok((before, false)),
            Err(Closed(question)) => return Err(BoardError::Closed(question)),
        };
        let question = step.question;
        for action in &step.actions {
            if let Action::Store { durably } = action {
                store.put(&question, *durably)?;
            }
        }
        let wakes = step.actions.contains(&Action::Wake);
        let mut state = self.state.lock();
        if question.is_settled() {
            state.closed.remove(&question.seq);
        } else if !question.is_open() {
            state.closed.insert(question.seq);
        }
        let held = if question.is_settled() { state.questions.remove(&question.seq) } else { None };
        if let Some(held) = state.questions.get_mut(&question.seq) {
            held.question = question.clone();
            held.claimed = claimed.or(held.claimed);
        }
        if let Some(changed) = held.as_ref().or_else(|| state.questions.get(&question.seq)).map(|held| &held.changed)
            && wakes
        {
            changed.send_replace(());
        }
        drop((state, changing));
        if wakes {
            self.closings.send_modify(|count| *count += 1);
        }
        for action in step.actions {
            match action {
                Action::Show => self.show(&question),
                Action::Record(record) => (self.options.record)(record),
                Action::Store { .. } | Action::Wake => {}
            }
        }
        Ok((question, true))
    }

    /// Runs [`Board::change`] outside of the runtime's threads.
    pub(crate) async fn change_soon(&self, id: &str, event: Event) -> Result<Question, BoardError> {
        let id = id.to_owned();
        self.blocking(move |board| board.change(&id, event)).await
    }

    /// Runs a blocking function outside of the runtime's threads. It completes even if the caller stops waiting.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Board) -> Result<T, BoardError> + Send + 'static,
    ) -> Result<T, BoardError> {
        let board = self.me.upgrade().ok_or_else(|| BoardError::Lost("the daemon ends".to_owned()))?;
        // Changes are serialized, so waiting for one needs no separate thread.
        let turn = self.turns.clone().acquire_owned().await.map_err(|error| BoardError::Lost(error.to_string()))?;
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work(&board)
        })
        .await;
        done.unwrap_or_else(|error| Err(BoardError::Lost(error.to_string())))
    }

    /// Returns a question by its id, settled or not.
    pub(crate) fn find(&self, id: &str) -> Result<Option<Question>, BoardError> {
        let state = self.state.lock();
        if let Some(held) = state.questions.values().find(|held| held.question.id == id) {
            return Ok(Some(held.question.clone()));
        }
        drop(state);
        match self.store.get() {
            Some(store) => Ok(store.find(id)?),
            None => Ok(None),
        }
    }

    /// Returns the asker's question with this id or unique prefix.
    pub(crate) fn find_own(&self, id: &str, is_mine: impl Fn(&Question) -> bool) -> Result<Question, BoardError> {
        if let Some(question) = self.find(id)?.filter(&is_mine) {
            return Ok(question);
        }
        let beginning = id.trim_start_matches("q_");
        let begins = |question: &Question| question.id.trim_start_matches("q_").starts_with(beginning);
        let mut found: Vec<Question> = self.unsettled();
        found.retain(|question| !beginning.is_empty() && begins(question) && is_mine(question));
        match (found.len(), found.pop()) {
            (1, Some(question)) => Ok(question),
            _ => Err(BoardError::Unknown(id.to_owned())),
        }
    }

    /// Returns all unsettled questions in order.
    pub(crate) fn unsettled(&self) -> Vec<Question> {
        self.state.lock().questions.values().map(|held| held.question.clone()).collect()
    }

    /// Returns the latest questions, newest first. Blocks.
    pub(crate) fn latest(&self, most: u32) -> Result<Vec<Question>, BoardError> {
        Ok(self.open()?.latest(most)?)
    }

    /// Returns a receiver that is notified of every change of a question.
    pub(crate) fn follow(&self, id: &str) -> Option<watch::Receiver<()>> {
        let state = self.state.lock();
        state.questions.values().find(|held| held.question.id == id).map(|held| held.changed.subscribe())
    }

    /// Returns a receiver that is notified when any question closes.
    pub(crate) fn closings(&self) -> watch::Receiver<u64> {
        self.closings.subscribe()
    }

    /// Expires questions while the board exists.
    fn keep_time(&self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (board, sooner) = (self.me.clone(), self.sooner.clone());
        runtime.spawn(async move {
            while let Some(open) = board.upgrade() {
                let next = open.expire().await;
                drop(open);
                let now = journal::now();
                match next {
                    Some(at_ms) => {
                        let left = Duration::from_millis(at_ms.saturating_sub(now).max(1));
                        tokio::select! { () = tokio::time::sleep(left) => {} () = sooner.notified() => {} }
                    }
                    None => sooner.notified().await,
                }
            }
        });
    }

    /// Expires the questions whose time is over, and returns the next expiry.
    async fn expire(&self) -> Option<u64> {
        let at_ms = journal::now();
        let open = |board: &Board| -> Vec<(String, u64)> {
            let state = board.state.lock();
            let open = state.questions.values().map(|held| &held.question).filter(|question| question.is_open());
            open.map(|question| (question.id.clone(), question.expires_ms)).collect()
        };
        for (id, _) in open(self).into_iter().filter(|(_, expires_ms)| *expires_ms <= at_ms) {
            if let Err(error) = self.change_soon(&id, Event::Tick { at_ms }).await {
                tracing::error!(%error, question = id, "a question could not expire");
                return Some(at_ms + 60_000);
            }
        }
        open(self).into_iter().map(|(_, expires_ms)| expires_ms).min()
    }
}

impl BoardEntry {
    fn new(question: Question) -> BoardEntry {
        BoardEntry { question, changed: watch::channel(()).0, is_told: false, waiting: 0, hand: None, claimed: None }
    }
}

fn random_id() -> String {
    format!("q_{}", random_letters())
}

fn random_letters() -> String {
    /// The alphabet without letters that look like others.
    const LETTERS: &[u8; 32] = b"23456789abcdefghjkmnpqrstuvwxyz0";
    let mut bytes = [0; 5];
    // Without the system's randomness ids would collide. A running system always provides it.
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect()
}
