//! A store under test with its clock, its mail, and agents in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mail::store::Store;
use mail::store::memory::MemoryStore;
use mail::store::sqlite::{SqliteOptions, SqliteStore};
use mail::{
    AgentName, CheckRequest, Clock, EnterRequest, Floor, HandedOut, Holder, Limits, Mail, MailError, MailOptions,
    Priority, Profile, Role, SendRequest, SentMessage, Session, SessionId, Space, WaitRequest, Waited,
};

/// Some time in 2026.
pub(crate) const EPOCH: u64 = 1_795_000_000_000;

/// Longer than any test should take.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) struct StoreFixture {
    pub(crate) mail: Arc<Mail>,
    pub(crate) store: Arc<dyn Store>,
    /// Sets the store's clock.
    pub(crate) clock: ManualClock,
    /// Dropped with the store.
    _kept: Box<dyn std::any::Any + Send + Sync>,
}

/// Moves the clock of a store.
#[derive(Clone)]
pub(crate) struct ManualClock(pub(crate) Arc<AtomicU64>);

/// Limits with a short grace period.
pub(crate) fn limits() -> Limits {
    Limits { grace: Duration::from_millis(100), ..Limits::default() }
}

impl StoreFixture {
    pub(crate) async fn memory(limits: Limits) -> StoreFixture {
        let (clock, hand) = Clock::manual(EPOCH);
        let store = Arc::new(MemoryStore::new(clock, limits.clone()));
        StoreFixture::with(store, limits, ManualClock(hand), Box::new(())).await
    }

    pub(crate) async fn sqlite(limits: Limits) -> StoreFixture {
        let dir = tempfile::tempdir().unwrap();
        let (clock, hand) = Clock::manual(EPOCH);
        let store = Arc::new(open_sqlite(&dir.path().join("mail.db"), clock, &limits).unwrap());
        StoreFixture::with(store, limits, ManualClock(hand), Box::new(dir)).await
    }

    pub(crate) async fn postgres(server: &crate::postgres::Server, space: &str, limits: Limits) -> StoreFixture {
        let (clock, hand) = Clock::manual(EPOCH);
        let store = Arc::new(server.store(space, "one", Some(clock), &limits).await);
        StoreFixture::with(store, limits, ManualClock(hand), Box::new(())).await
    }

    pub(crate) async fn with(
        store: Arc<dyn Store>,
        limits: Limits,
        clock: ManualClock,
        kept: Box<dyn std::any::Any + Send + Sync>,
    ) -> StoreFixture {
        let options = MailOptions { limits, poll: Duration::from_millis(200), ..MailOptions::new(store.clone()) };
        let mail = Mail::open(options).await.unwrap();
        StoreFixture { mail, store, clock, _kept: kept }
    }

    /// Returns the same mail, for another task.
    pub(crate) fn second_store(&self) -> StoreFixture {
        let (mail, store, clock) = (self.mail.clone(), self.store.clone(), self.clock.clone());
        StoreFixture { mail, store, clock, _kept: Box::new(()) }
    }

    /// Moves the store's clock forward.
    pub(crate) fn pass(&self, time: Duration) {
        self.clock.0.fetch_add(time.as_millis() as u64, Ordering::SeqCst);
    }

    /// Moves the store's clock backward.
    pub(crate) fn back(&self, time: Duration) {
        self.clock.0.fetch_sub(time.as_millis() as u64, Ordering::SeqCst);
    }

    /// Returns an active agent in a separate worktree.
    pub(crate) async fn agent(&self, name: &str, role: &str) -> Session {
        self.enter(name, role, &format!("/w/{name}"), false).await.unwrap()
    }

    pub(crate) async fn enter(
        &self,
        name: &str,
        role: &str,
        worktree: &str,
        takeover: bool,
    ) -> Result<Session, MailError> {
        let request = EnterRequest {
            agent: AgentName::new(name).unwrap(),
            session: SessionId::mint(),
            holder: Holder { host: "here".into(), worktree: worktree.into() },
            takeover,
            moved_from: None,
            create: true,
            profile: Profile { role: Some(Role::new(role).unwrap()), ..Profile::default() },
        };
        Ok(self.mail.enter(request).await?.session)
    }

    pub(crate) async fn send(&self, from: &Session, to: &str, text: &str) -> Result<SentMessage, MailError> {
        self.send_with(from, to, text, Priority::Normal).await
    }

    pub(crate) async fn send_with(
        &self,
        from: &Session,
        to: &str,
        text: &str,
        priority: Priority,
    ) -> Result<SentMessage, MailError> {
        let request =
            SendRequest { to: vec![to.to_owned()], content: text.to_owned(), priority, ..SendRequest::default() };
        self.mail.send(from, request).await
    }

    pub(crate) async fn reply(&self, from: &Session, to: &SentMessage, text: &str) -> Result<SentMessage, MailError> {
        let reply_to = Some(to.id.to_string());
        self.mail.send(from, SendRequest { content: text.to_owned(), reply_to, ..SendRequest::default() }).await
    }

    pub(crate) async fn check(&self, session: &Session) -> Vec<String> {
        texts(&self.mail.check(session, CheckRequest::default()).await.unwrap().messages)
    }

    pub(crate) async fn wait(&self, session: &Session, timeout: Duration, floor: Floor) -> Waited {
        self.mail.wait(session, WaitRequest { timeout, floor, ..WaitRequest::default() }).await.unwrap()
    }

    /// Starts a wait; returns once it is blocked.
    pub(crate) async fn block(&self, session: &Session, floor: Floor) -> tokio::task::JoinHandle<Waited> {
        let before = self.mail.waiting();
        let (mail, session) = (self.mail.clone(), session.clone());
        let request = WaitRequest { timeout: LONG, floor, ..WaitRequest::default() };
        let waiter = tokio::spawn(async move { mail.wait(&session, request).await.unwrap() });
        while self.mail.waiting() == before {
            tokio::task::yield_now().await;
        }
        waiter
    }
}

pub(crate) fn open_sqlite(
    path: &std::path::Path,
    clock: Clock,
    limits: &Limits,
) -> Result<SqliteStore, mail::StoreError> {
    let options = SqliteOptions::new(path.to_owned(), Space::named("test"));
    SqliteStore::open(SqliteOptions { clock, limits: limits.clone(), ..options })
}

/// Returns the same agent in another session.
pub(crate) fn next_session(session: &Session) -> Session {
    Session { id: SessionId::mint(), ..session.clone() }
}

/// Returns the texts; redelivered messages are marked.
pub(crate) fn texts(messages: &[HandedOut]) -> Vec<String> {
    let text =
        |one: &HandedOut| format!("{}{}", one.message.content, if one.is_redelivered() { " (again)" } else { "" });
    messages.iter().map(text).collect()
}

/// Returns the names of a message's recipients.
pub(crate) fn reached(sent: &SentMessage) -> Vec<&str> {
    sent.recipients.iter().map(|to| to.agent.as_str()).collect()
}

/// Why a call was refused.
pub(crate) fn refusal<T: std::fmt::Debug>(result: Result<T, MailError>) -> mail::Refusal {
    match result {
        Err(MailError::Refused(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}
