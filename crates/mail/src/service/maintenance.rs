//! Periodic work: recording which agents did something, purging mail that was handled long ago, and polling if wakes may be
//! lost.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::Mail;
use crate::model::AgentName;
use crate::store::change::{Purge, Touch};

/// The delay from seeing an agent to recording it in the store, together with those seen meanwhile.
const WRITE_AFTER: Duration = Duration::from_secs(20);
/// The interval of purging handled mail, and the number of messages that one transaction deletes.
const PURGE_EVERY: Duration = Duration::from_secs(3600);
const PURGE_STEP: usize = 500;
/// The interval at which a daemon on a shared store records its connected agents and looks for daemons that became
/// silent.
const ROLL_CALL: Duration = Duration::from_secs(30);

/// Agents that did something which is not yet recorded in the store.
#[derive(Default)]
pub(crate) struct ActiveAgents {
    unwritten: Mutex<HashSet<AgentName>>,
    something: Notify,
}

impl ActiveAgents {
    pub(crate) fn mark(&self, agent: &AgentName) {
        let mut unwritten = self.unwritten.lock();
        if unwritten.insert(agent.clone()) && unwritten.len() == 1 {
            self.something.notify_one();
        }
    }

    fn take(&self) -> Vec<AgentName> {
        self.unwritten.lock().drain().collect()
    }
}

/// Starts the periodic tasks, for as long as the mail lives.
pub(crate) fn start(mail: &Arc<Mail>) {
    let weak = Arc::downgrade(mail);
    mail.runtime.spawn(async move {
        loop {
            let Some(mail) = weak.upgrade() else { return };
            mail.purge().await;
            drop(mail);
            tokio::time::sleep(PURGE_EVERY).await;
        }
    });
    let (weak, seen) = (Arc::downgrade(mail), Arc::clone(&mail.seen));
    mail.runtime.spawn(async move {
        while weak.strong_count() > 0 {
            // The timeout ends this task after the mail was dropped.
            let noticed = tokio::time::timeout(PURGE_EVERY, seen.something.notified()).await;
            if noticed.is_err() {
                continue;
            }
            tokio::time::sleep(WRITE_AFTER).await;
            let Some(mail) = weak.upgrade() else { return };
            mail.write_seen().await;
        }
    });
    if !mail.may_lose_wakes() {
        return;
    }
    let (weak, poll) = (Arc::downgrade(mail), mail.poll);
    mail.runtime.spawn(async move {
        let mut since_roll_call = Duration::ZERO;
        loop {
            tokio::time::sleep(poll).await;
            let Some(mail) = weak.upgrade() else { return };
            mail.look_for_news().await;
            since_roll_call += poll;
            if since_roll_call >= ROLL_CALL {
                since_roll_call = Duration::ZERO;
                mail.sessions.active(mail.limits.active).iter().for_each(|agent| mail.seen.mark(agent));
                mail.write_seen().await;
                if let Err(error) = mail.expect_former_sessions().await {
                    tracing::warn!(%error, "cannot look for sessions of ended daemons");
                }
            }
        }
    });
}

impl Mail {
    async fn write_seen(&self) {
        let agents = self.seen.take();
        if agents.is_empty() {
            return;
        }
        if let Err(error) = self.store.change(Touch { agents }).await {
            tracing::warn!(%error, "cannot record which agents were seen");
        }
    }

    async fn purge(&self) {
        loop {
            match self.store.change(Purge { max: PURGE_STEP }).await {
                Ok(purged) => {
                    if purged.messages > 0 {
                        self.record(|| crate::journal::Record::MailPurged {
                            messages: purged.messages,
                            before_ms: purged.before,
                        });
                    }
                    if !purged.more {
                        return;
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot delete old mail");
                    return;
                }
            }
        }
    }
}
