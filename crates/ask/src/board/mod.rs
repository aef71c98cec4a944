//! The questions of a daemon. [`Board::change`] is the only way to change one: it asks the state machine, stores, and
//! tells whoever waits or watches. Nothing that waits holds a lock.

mod faces;
mod hands;
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

use self::faces::Faces;
use self::hands::Hand;
pub(crate) use self::hands::{ARRIVED, Handout};
use crate::AskSettings;
use crate::attachment::{self, GivenAttachment};
use crate::form::Form;
use crate::journal::Record;
use crate::question::{Action, Asker, Closed, Danger, Event, Handed, Kind, Question, Standing, Via};
use crate::store::{Store, StoreError};

/// The most questions that are open, or whose answers wait, at once.
const QUESTIONS_MAX: usize = 2000;

/// How many threads at most change and read questions.
const TURNS: usize = 4;

/// Returns the name that a caller registered as an agent.
pub type AgentOf = Box<dyn Fn(&Context) -> Option<String> + Send + Sync>;

/// What a board is made with.
pub struct BoardOptions {
    /// `ask.db`.
    pub path: PathBuf,
    /// Makes its directory.
    pub prepare: Box<dyn Fn() -> io::Result<()> + Send + Sync>,
    /// True if the process of an asker lives; true where there is none.
    pub is_alive: Box<dyn Fn(&Asker) -> bool + Send + Sync>,
    /// The name under which the caller registered, if it did.
    pub agent_of: AgentOf,
    /// Why a process may not answer; `None` if it may.
    pub refuses: Box<dyn Fn(u32) -> Option<String> + Send + Sync>,
    /// Writes to the journal.
    pub record: Box<dyn Fn(Record) + Send + Sync>,
    pub settings: AskSettings,
    /// Tells the person of a question outside of hob, if that is configured.
    pub notify: Option<Notify>,
    /// The person who answers here, by the name of their account.
    pub person: String,
}

/// Starts what tells a person of a question, and calls this if that fails later; false if nobody is told.
pub type Notify = Box<dyn Fn(&Notified<'_>, Failed) -> bool + Send + Sync>;
/// Told that a person was not told.
pub type Failed = Box<dyn FnOnce() + Send>;

/// What a person is told of a question outside of hob.
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
    /// Held while a question changes, and while the store is opened.
    changing: Mutex<()>,
    /// The threads that may wait for it.
    turns: Arc<Semaphore>,
    state: Mutex<State>,
    faces: Faces,
    /// Counts closed questions, for who waits for any.
    closings: watch::Sender<u64>,
    /// Told when a question may expire sooner than the last.
    sooner: Arc<tokio::sync::Notify>,
    born: Instant,
    /// Tells this daemon's connections from those of an earlier one.
    life: String,
    /// True if somebody watched when an earlier daemon died.
    was_watched: bool,
}

#[derive(Default)]
struct State {
    /// Those to which something may still happen, by their place.
    questions: BTreeMap<u64, Held>,
    /// Those of them that are closed, and not yet with their askers: every call looks for its own there, and must not pay
    /// for those that are open.
    closed: BTreeSet<u64>,
    last_hand: u64,
}

struct Held {
    question: Question,
    /// Told of every change.
    changed: watch::Sender<()>,
    /// True if the person was told of it outside of hob.
    is_told: bool,
    /// How many calls of the run that asked wait for it.
    waiting: usize,
    /// The call that its answer went out with.
    hand: Option<Hand>,
    /// Where somebody began to answer it, and when.
    claimed: Option<(Via, u64)>,
}

/// What a new question is made of.
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

/// Why something did not happen to a question.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BoardError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("there is no question `{0}`")]
    Unknown(String),
    #[error("question `{}` is {}", .0.id, .0.status())]
    Closed(Box<Question>),
    #[error(
        "{QUESTIONS_MAX} questions are open, or their answers wait: have your user answer some first (`hob questions`)"
    )]
    Full,
    /// What is attached cannot be shown.
    #[error("this cannot be asked: {0}")]
    Unshown(String),
    #[error("it could not be finished: {0}")]
    Lost(String),
}

impl Board {
    /// A board. Opens nothing.
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

    /// Opens the file if there is one, for answers that wait since an earlier life of the daemon.
    pub fn open_if_there(&self) {
        if self.options.path.symlink_metadata().is_ok()
            && let Err(error) = self.open()
        {
            tracing::error!(%error, "questions of earlier are not known");
        }
    }

    /// Returns true if the file is open: else there is no question.
    pub(crate) fn is_open(&self) -> bool {
        self.store.get().is_some()
    }

    /// How many faces watch.
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
            // What was on its way when the daemon ended may not have arrived.
            let mut events = vec![Event::GiveUp, Event::Tick { at_ms: now }];
            // An answer is as old as its question may become.
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
            // Whoever could be told was told in an earlier life.
            .map(|question| (question.seq, Held { is_told: self.options.notify.is_some(), ..Held::of(question) }));
        let mut state = self.state.lock();
        state.questions = held.collect();
        let closed = state.questions.values().filter(|held| !held.question.is_open());
        state.closed = closed.map(|held| held.question.seq).collect();
        drop(state);
        self.keep_time();
        Ok(self.store.get_or_init(|| store))
    }

    /// Deletes the pictures of questions that are not kept any more.
    fn forget_pictures(&self, store: &Store) -> Result<(), StoreError> {
        let known = store.with_pictures()?;
        let files: HashSet<&str> =
            known.iter().flat_map(|question| &question.attachments).filter_map(|known| known.file.as_deref()).collect();
        attachment::forget(&self.options.path, |file| files.contains(file));
        Ok(())
    }

    /// Stores a new question, unless this run has the same one open, or answered and not handed out. Blocks.
    pub(crate) fn ask(&self, draft: Draft, asker: Asker) -> Result<Question, BoardError> {
        let store = self.open()?;
        self.withdraw_former(&draft, &asker)?;
        let changing = self.changing.lock();
        if let Some(same) = self.same(&draft, &asker) {
            // Words that no person saw are not answered.
            if (&same.title, &same.message, &same.form) != (&draft.title, &draft.message, &draft.form) {
                let title = project::visible(&same.title);
                return Err(BoardError::Unshown(format!("`key` is that of another question of yours: {title}")));
            }
            return Ok(same);
        }
        if self.is_full() {
            return Err(BoardError::Full);
        }
        let read = attachment::read(draft.attachments, &asker.worktree).map_err(BoardError::Unshown)?;
        let kept = attachment::keep(&self.options.path, &read);
        kept.map_err(|error| BoardError::Unshown(format!("the picture cannot be kept: {error}")))?;
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
            standing: Standing::Open,
            handed: Handed::Waiting { attempts: 0 },
        };
        store.put(&question, true)?;
        self.state.lock().questions.insert(question.seq, Held::of(question.clone()));
        drop(changing);
        self.sooner.notify_one();
        let (tool, agent) = (question.kind.tool(), question.asker.agent.clone());
        (self.options.record)(Record::QuestionAsked { question: question.id.clone(), tool, agent });
        self.show(&question);
        self.tell(&question);
        Ok(question)
    }

    /// Applies an event to a question: the state machine decides, the store keeps, and whoever waits or watches is told.
    /// Blocks while it is stored durably.
    pub(crate) fn change(&self, id: &str, event: Event) -> Result<Question, BoardError> {
        self.apply(id, event).map(|(question, _)| question)
    }

    /// As [`Board::change`]; also tells whether the event changed anything.
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

    /// As [`Board::change`], away from the runtime's threads.
    pub(crate) async fn change_soon(&self, id: &str, event: Event) -> Result<Question, BoardError> {
        let id = id.to_owned();
        self.blocking(move |board| board.change(&id, event)).await
    }

    /// Runs what blocks away from the runtime's threads. It runs to its end even if nobody waits for it.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Board) -> Result<T, BoardError> + Send + 'static,
    ) -> Result<T, BoardError> {
        let board = self.me.upgrade().ok_or_else(|| BoardError::Lost("the daemon ends".to_owned()))?;
        // One changes at a time: who waits for that needs no thread of its own.
        let turn = self.turns.clone().acquire_owned().await.map_err(|error| BoardError::Lost(error.to_string()))?;
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work(&board)
        })
        .await;
        done.unwrap_or_else(|error| Err(BoardError::Lost(error.to_string())))
    }

    /// A question by its id, settled or not.
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

    /// The question of an asker that its id, or a beginning that no other of theirs has, names.
    pub(crate) fn find_mine(&self, id: &str, is_mine: impl Fn(&Question) -> bool) -> Result<Question, BoardError> {
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

    /// All questions to which something may still happen, in order.
    pub(crate) fn unsettled(&self) -> Vec<Question> {
        self.state.lock().questions.values().map(|held| held.question.clone()).collect()
    }

    /// The latest questions, newest first. Blocks.
    pub(crate) fn latest(&self, most: u32) -> Result<Vec<Question>, BoardError> {
        Ok(self.open()?.latest(most)?)
    }

    /// Follows a question: told of every change.
    pub(crate) fn follow(&self, id: &str) -> Option<watch::Receiver<()>> {
        let state = self.state.lock();
        state.questions.values().find(|held| held.question.id == id).map(|held| held.changed.subscribe())
    }

    /// Told whenever any question closes.
    pub(crate) fn closings(&self) -> watch::Receiver<u64> {
        self.closings.subscribe()
    }

    /// Ends questions whose time is over, as long as the board lives.
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

    /// Ends the questions whose time is over, and tells when the next one's is.
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

impl Held {
    fn of(question: Question) -> Held {
        Held { question, changed: watch::channel(()).0, is_told: false, waiting: 0, hand: None, claimed: None }
    }
}

fn random_id() -> String {
    format!("q_{}", random_letters())
}

fn random_letters() -> String {
    /// Without letters that look like others.
    const LETTERS: &[u8; 32] = b"23456789abcdefghjkmnpqrstuvwxyz0";
    let mut bytes = [0; 5];
    // Without the system's randomness ids would collide; a running system always provides it.
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect()
}
