//! What tests share: a place with a store, its clock and its mail; agents in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mail::store::Store;
use mail::store::memory::MemoryStore;
use mail::{
    AgentName, CheckRequest, Clock, EnterRequest, Floor, HandedOut, Holder, Limits, Mail, MailError, MailOptions,
    Priority, Profile, Role, SendRequest, Sent, Session, SessionId, WaitRequest, Waited,
};

/// Some time in 2026.
pub(crate) const EPOCH: u64 = 1_795_000_000_000;

/// A store under test and what belongs to it.
pub(crate) struct Place {
    pub(crate) mail: Arc<Mail>,
    /// Sets the store's clock.
    pub(crate) hand: Arc<AtomicU64>,
    /// What must live as long as the store.
    _kept: Option<Box<dyn std::any::Any + Send>>,
}

/// Limits that tests reach quickly.
pub(crate) fn limits() -> Limits {
    Limits { grace: Duration::from_millis(100), ..Limits::default() }
}

impl Place {
    pub(crate) async fn memory(limits: Limits) -> Place {
        let (clock, hand) = Clock::manual(EPOCH);
        let store = Arc::new(MemoryStore::new(clock, limits.clone()));
        Place::with(store, limits, hand, None).await
    }

    pub(crate) async fn with(
        store: Arc<dyn Store>,
        limits: Limits,
        hand: Arc<AtomicU64>,
        kept: Option<Box<dyn std::any::Any + Send>>,
    ) -> Place {
        let mail = Mail::open(MailOptions { limits, ..MailOptions::new(store) }).await.unwrap();
        Place { mail, hand, _kept: kept }
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.hand.fetch_add(time.as_millis() as u64, Ordering::SeqCst);
    }

    /// An agent that is there, in a worktree of its own.
    pub(crate) async fn agent(&self, name: &str, role: &str) -> Session {
        self.enter(name, role, &format!("/w/{name}"), false).await.unwrap()
    }

    /// The same agent in another life.
    pub(crate) async fn again(&self, session: &Session) -> Session {
        Session { id: SessionId::mint(), ..session.clone() }
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
            create: true,
            profile: Profile { role: Some(Role::new(role).unwrap()), ..Profile::default() },
        };
        Ok(self.mail.enter(request).await?.session)
    }

    pub(crate) async fn send(&self, from: &Session, to: &str, text: &str) -> Result<Sent, MailError> {
        self.send_with(from, to, text, Priority::Normal).await
    }

    pub(crate) async fn send_with(
        &self,
        from: &Session,
        to: &str,
        text: &str,
        priority: Priority,
    ) -> Result<Sent, MailError> {
        let request =
            SendRequest { to: vec![to.to_owned()], content: text.to_owned(), priority, ..SendRequest::default() };
        self.mail.send(from, request).await
    }

    pub(crate) async fn check(&self, session: &Session) -> Vec<String> {
        texts(&self.mail.check(session, CheckRequest::default()).await.unwrap().messages)
    }

    pub(crate) async fn wait(&self, session: &Session, timeout: Duration, floor: Floor) -> Waited {
        self.mail.wait(session, WaitRequest { timeout, floor, ..WaitRequest::default() }).await.unwrap()
    }
}

/// The texts, with a mark on what was handed out before.
pub(crate) fn texts(messages: &[HandedOut]) -> Vec<String> {
    let text =
        |one: &HandedOut| format!("{}{}", one.message.content, if one.is_redelivered() { " (again)" } else { "" });
    messages.iter().map(text).collect()
}
