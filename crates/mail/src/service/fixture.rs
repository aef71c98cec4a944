//! Mail over a memory store, with agents in it, for the unit tests.

use std::sync::Arc;

use super::agents::EnterRequest;
use super::{Mail, MailOptions};
use crate::model::{AgentName, Clock, Holder, Limits, Profile, Role, Session, SessionId};
use crate::store::memory::MemoryStore;

pub(crate) async fn mail() -> Arc<Mail> {
    let store = MemoryStore::new(Clock::system(), Limits::default());
    Mail::open(MailOptions::new(Arc::new(store))).await.expect("it is valid")
}

pub(crate) async fn enter(mail: &Arc<Mail>, name: &str) -> Session {
    let request = EnterRequest {
        agent: AgentName::new(name).expect("it is valid"),
        session: SessionId::mint(),
        holder: Holder { host: "h".into(), worktree: format!("/{name}") },
        takeover: false,
        moved_from: None,
        create: true,
        profile: Profile { role: Some(Role::new("dev").expect("it is valid")), ..Profile::default() },
    };
    mail.enter(request).await.expect("it is valid").session
}
