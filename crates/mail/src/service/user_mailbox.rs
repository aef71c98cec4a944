//! The person whom the agents work for: a mailbox with the name `user`, which is registered when it is first needed.

use std::sync::atomic::Ordering;

use super::Mail;
use crate::error::MailError;
use crate::framing::Author;
use crate::model::ids::USER;
use crate::model::{Address, AgentName, Outcome, Profile, Role, Session, SessionId, Settlement};
use crate::store::change::Enter;

impl Mail {
    /// Enters as the person. The caller has checked that a person asks.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub(crate) async fn enter_as_user(&self) -> Result<Session, MailError> {
        let (agent, role) = (AgentName::user(), Some(Role::new(USER)?));
        let profile = Profile { role, ..Profile::default() };
        let enter =
            Enter { agent: agent.clone(), holder: None, takeover: false, moved_from: None, create: true, profile };
        let fence = self.retry_uncertain(enter).await?.fence;
        self.has_user.store(true, Ordering::Relaxed);
        Ok(Session { agent, id: SessionId::mint(), fence })
    }

    /// Registers the person's mailbox if a message goes there.
    pub(super) async fn prepare_user(&self, to: &[Address]) -> Result<(), MailError> {
        if to.iter().any(|address| address.name == USER) && !self.has_user.load(Ordering::Relaxed) {
            self.enter_as_user().await?;
        }
        Ok(())
    }

    /// Marks messages to the person as read. Unknown ids have no state in the answer.
    ///
    /// # Errors
    /// When there are no ids or too many, or the store is unavailable.
    pub(crate) async fn mark_seen(&self, ids: &[String]) -> Result<Vec<Settlement>, MailError> {
        let session = self.enter_as_user().await?;
        self.ack(&session, ids, Outcome::Read, None).await
    }
}

impl Author {
    /// Returns the author of a message from this sender.
    pub(crate) fn from_sender(name: &str) -> Author {
        if name == USER { Author::User } else { Author::Agent }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::{AgentName, MessageId};
    use crate::service::Mail;
    use crate::service::fixture::{enter, mail};
    use crate::service::receive::CheckRequest;
    use crate::service::send::SendRequest;

    async fn states(mail: &Mail) -> Vec<String> {
        let (_, rows) = mail.rows().await.unwrap();
        rows.iter().flat_map(|row| &row.to).map(|to| format!("{} {}", to.name, to.state)).collect()
    }

    #[tokio::test]
    async fn mail_to_the_person_waits_until_it_is_seen_and_everyone_is_all_agents() {
        let mail = mail().await;
        let (ann, bob) = (enter(&mail, "ann").await, enter(&mail, "bob").await);
        let request = |to: &str, content: &str| SendRequest {
            to: vec![to.to_owned()],
            content: content.to_owned(),
            ..SendRequest::default()
        };
        let sent = mail.send(&ann, request("user", "Which port?")).await.unwrap();
        let names = |agents: Vec<crate::Agent>| agents.into_iter().map(|agent| agent.name.to_string());
        assert_eq!(names(mail.agents().await.unwrap()).collect::<Vec<_>>(), ["ann", "bob"]);
        assert_eq!(states(&mail).await, ["user waiting"]);
        // The latest messages of agents do not hide it.
        for number in 0..40 {
            mail.send(&ann, request("bob", &number.to_string())).await.unwrap();
        }
        assert!(states(&mail).await.contains(&"user waiting".to_owned()));
        let id = sent.id.to_string();
        let user = mail.enter_as_user().await.unwrap();
        let answer = SendRequest { reply_to: Some(id.clone()), ..request("ann", "8080") };
        let answer = mail.send(&user, answer).await.unwrap();
        assert_eq!(answer.thread, sent.id, "an answer continues the thread");
        let taken = mail.check(&ann, CheckRequest::default()).await.unwrap().messages;
        assert!(taken[0].message.from.is_user(), "{taken:?}");
        let second = mail.send(&bob, request("user", "Done.")).await.unwrap();
        let unknown = MessageId::new("msg_unknown").unwrap().to_string();
        let seen = mail.mark_seen(&[id, second.id.to_string(), unknown]).await.unwrap();
        assert_eq!(seen.iter().filter(|one| one.state.is_some()).count(), 2);
        assert!(!states(&mail).await.contains(&"user waiting".to_owned()));
        let all = mail.send(&user, request("everyone", "Stop.")).await.unwrap();
        assert_eq!(all.recipients.len(), 2);
        let to_all = mail.send(&ann, request("everyone", "I stop.")).await.unwrap();
        assert_eq!(to_all.recipients[0].agent, AgentName::new("bob").unwrap());
        assert_eq!((to_all.recipients.len(), mail.groups().await.unwrap()[0].member_count), (1, 2));
    }
}
