//! The newest holder of each name that this daemon has seen. A store reports a takeover only to a caller that changes
//! something; callers that only read or subscribe learn of it here.

use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::error::Refusal;
use crate::model::{AgentName, Holder, Session};
use crate::service::Mail;

/// The interval at which the store is queried for takeovers through other daemons.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The newest holder of each name that entered through this daemon.
pub(super) struct Holders {
    seen: Mutex<HashMap<AgentName, SeenHolder>>,
    /// Names without a holder that were not taken again.
    gone: Mutex<HashSet<AgentName>>,
    /// Rises with each takeover seen, and with each name that goes.
    takeovers: watch::Sender<u64>,
}

struct SeenHolder {
    fence: u64,
    holder: Holder,
    looked: Instant,
}

impl Default for Holders {
    fn default() -> Holders {
        Holders { seen: Mutex::default(), gone: Mutex::default(), takeovers: watch::channel(0).0 }
    }
}

impl Holders {
    /// Notes that the holder has the name under this fence.
    pub(super) fn has(&self, agent: &AgentName, fence: u64, holder: &Holder) {
        self.gone.lock().remove(agent);
        let mut seen = self.lock();
        let known = seen.get(agent).map(|known| known.fence);
        if known.is_none_or(|known| known < fence) {
            seen.insert(agent.clone(), SeenHolder { fence, holder: holder.clone(), looked: Instant::now() });
        }
        drop(seen);
        if known.is_some_and(|known| known < fence) {
            self.takeovers.send_modify(|count| *count += 1);
        }
    }

    /// Notes that a name is free: the next agent of that name starts with the first fence.
    pub(super) fn forget(&self, agent: &AgentName) {
        self.lock().remove(agent);
        self.gone.lock().insert(agent.clone());
        self.takeovers.send_modify(|count| *count += 1);
    }

    /// Why a session has lost its name, if that is known.
    pub(super) async fn lost_name(&self, mail: &Mail, session: &Session) -> Option<Refusal> {
        if self.gone.lock().contains(&session.agent) {
            return Some(Refusal::UnknownAgent { name: session.agent.to_string(), nearest: Vec::new() });
        }
        if let Some(refusal) = self.fenced(session) {
            return Some(refusal);
        }
        if !mail.may_lose_wakes() || !self.is_due(session) {
            return None;
        }
        // The calls that need the store report that it is unavailable.
        let agent = mail.agent(session.agent.as_str()).await.ok()?;
        self.has(&agent.name, agent.fence, &agent.holder?);
        self.fenced(session)
    }

    /// Changes whenever a name is taken over.
    pub(super) fn takeovers(&self) -> watch::Receiver<u64> {
        self.takeovers.subscribe()
    }

    fn fenced(&self, session: &Session) -> Option<Refusal> {
        let seen = self.lock();
        let known = seen.get(&session.agent).filter(|known| known.fence > session.fence)?;
        Some(Refusal::Fenced { agent: session.agent.clone(), holder: Some(known.holder.clone()) })
    }

    fn is_due(&self, session: &Session) -> bool {
        let mut seen = self.lock();
        let Some(known) = seen.get_mut(&session.agent) else { return false };
        let is_due = known.looked.elapsed() >= LOOK_EVERY;
        if is_due {
            known.looked = Instant::now();
        }
        is_due
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AgentName, SeenHolder>> {
        self.seen.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SessionId;

    #[test]
    fn a_takeover_is_told_to_the_old_holder_alone() {
        let holders = Holders::default();
        let ann = AgentName::new("ann").unwrap();
        let fenced = |fence| holders.fenced(&Session { agent: ann.clone(), id: SessionId::mint(), fence });
        let has = |fence, worktree: &str| {
            holders.has(&ann, fence, &Holder { host: "h".into(), worktree: worktree.into() });
        };
        let mut takeovers = holders.takeovers();
        has(1, "/one");
        has(1, "/one");
        assert!(fenced(1).is_none() && !takeovers.has_changed().unwrap());
        has(2, "/two");
        assert!(fenced(1).unwrap().to_string().contains("taken over by /two on h"));
        assert!(takeovers.has_changed().unwrap());
        takeovers.mark_unchanged();
        // The name is taken back.
        has(3, "/one");
        assert!(fenced(3).is_none() && fenced(2).is_some() && takeovers.has_changed().unwrap());
        takeovers.mark_unchanged();
        has(2, "/late");
        assert!(fenced(3).is_none() && !takeovers.has_changed().unwrap(), "an older one changes nothing");
    }

    #[tokio::test]
    async fn who_listens_under_a_name_that_goes_is_told() {
        let mail = crate::service::fixture::mail().await;
        let holders = Holders::default();
        let session = crate::service::fixture::enter(&mail, "ann").await;
        let holder = Holder { host: "h".into(), worktree: "/one".into() };
        holders.has(&session.agent, 7, &holder);
        let mut takeovers = holders.takeovers();
        holders.forget(&session.agent);
        assert!(takeovers.has_changed().unwrap());
        takeovers.mark_unchanged();
        assert!(matches!(holders.lost_name(&mail, &session).await, Some(Refusal::UnknownAgent { .. })));
        // The next agent of this name starts with the first fence.
        holders.has(&session.agent, 1, &holder);
        assert!(holders.lost_name(&mail, &session).await.is_none());
    }
}
