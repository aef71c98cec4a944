//! The rows of agents and messages for faces. Nothing is leased, and no agent becomes active.

use std::collections::BTreeMap;

use project::dashboard::{AgentRow, AgentState, MailRow, Recipient};

use super::Mail;
use crate::error::MailError;
use crate::model::{Agent, AgentName, DeliveryState, Floor, MessageView};
use crate::store::query;

/// The number of messages that are listed.
const LISTED: usize = 30;
/// The number of agents whose mailboxes are searched: those that were active last.
const SEARCHED: usize = 30;
/// The length of a listed text in characters.
const TEXT: usize = 2_000;

impl Mail {
    /// Returns the registered agents, and the latest messages, newest first.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn rows(&self) -> Result<(Vec<AgentRow>, Vec<MailRow>), MailError> {
        let mut agents = self.roster().await?.agents;
        let rows = agents.iter().map(agent_row).collect();
        agents.sort_by_key(|agent| std::cmp::Reverse(agent.seen_at));
        let mut latest: BTreeMap<(u64, String), MessageView> = BTreeMap::new();
        let key = |message: &MessageView| (message.at, message.id.to_string());
        for agent in agents.into_iter().take(SEARCHED).map(|agent| agent.name).chain([AgentName::user()]) {
            let search = query::Search { agent: Some(agent), limit: LISTED, ..query::Search::default() };
            let found = self.store.query(search).await?;
            latest.extend(found.into_iter().map(|message| (key(&message), message)));
        }
        let mut listed: BTreeMap<_, _> = latest.into_iter().rev().take(LISTED).collect();
        // Later mail between agents does not hide what waits for the person.
        let unread = self.pending(&AgentName::user(), Floor::All, LISTED).await?.messages;
        listed.extend(unread.into_iter().map(|message| (key(&message), message)));
        let mut mail = Vec::new();
        for message in listed.into_values().rev() {
            let status = query::Status { agent: message.from.clone(), id: message.id.clone() };
            let deliveries = self.store.query(status).await?.unwrap_or_default();
            let to = deliveries.into_iter().map(|delivery| Recipient {
                name: delivery.recipient.to_string(),
                state: state(delivery.state).to_owned(),
            });
            mail.push(mail_row(message, to.collect()));
        }
        Ok((rows, mail))
    }
}

fn agent_row(agent: &Agent) -> AgentRow {
    AgentRow {
        id: agent.name.to_string(),
        name: agent.name.to_string(),
        role: agent.role.to_string(),
        worktree: agent.holder.as_ref().map(|holder| holder.worktree.clone()).unwrap_or_default(),
        state: AgentState::Gone,
        since: agent.seen_at.max(agent.registered_at),
        doing: Some(agent.intent.clone()).filter(|intent| !intent.is_empty()),
        has_mailbox: true,
        ..AgentRow::default()
    }
}

fn mail_row(message: MessageView, to: Vec<Recipient>) -> MailRow {
    MailRow {
        id: message.id.to_string(),
        thread: message.thread.to_string(),
        from: message.from.to_string(),
        to,
        priority: message.priority.as_str().to_owned(),
        sent: message.at,
        text: message.content.chars().take(TEXT).collect(),
        stuck: None,
    }
}

fn state(state: DeliveryState) -> &'static str {
    match state {
        DeliveryState::Stored | DeliveryState::Hinted => "waiting",
        DeliveryState::Fetched => "handed_out",
        DeliveryState::Read => "read",
        DeliveryState::Acked => "acked",
        DeliveryState::Rejected => "rejected",
        DeliveryState::Dead => "dead",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::fixture::{enter, mail};
    use crate::service::receive::CheckRequest;
    use crate::service::send::SendRequest;

    #[tokio::test]
    async fn each_message_is_one_row_with_all_its_recipients() {
        let mail = mail().await;
        let (ann, bob, eve) = (enter(&mail, "ann").await, enter(&mail, "bob").await, enter(&mail, "eve").await);
        let to = vec!["bob".to_owned(), "eve".to_owned()];
        mail.send(&ann, SendRequest { to, content: "first".to_owned(), ..SendRequest::default() }).await.unwrap();
        mail.check(&bob, CheckRequest::default()).await.unwrap();
        let to = vec!["ann".to_owned()];
        mail.send(&eve, SendRequest { to, content: "x".repeat(5_000), ..SendRequest::default() }).await.unwrap();
        let (agents, rows) = mail.rows().await.unwrap();
        assert_eq!(agents.iter().map(|agent| agent.name.as_str()).collect::<Vec<_>>(), ["ann", "bob", "eve"]);
        let describe = |row: &MailRow| {
            let to: Vec<String> = row.to.iter().map(|to| format!("{} {}", to.name, to.state)).collect();
            format!("{} to {}: {} characters", row.from, to.join(", "), row.text.len())
        };
        // Messages of the same millisecond have no order.
        let mut rows: Vec<String> = rows.iter().map(describe).collect();
        rows.sort();
        assert_eq!(rows, ["ann to bob handed_out, eve waiting: 5 characters", "eve to ann waiting: 2000 characters"]);
    }
}
