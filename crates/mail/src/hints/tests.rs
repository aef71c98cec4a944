//! The ladder with a scripted host, over the memory store.

use std::sync::Mutex;

use super::*;
use crate::model::{Delivery, Session};
use crate::service::Mail;
use crate::service::fixture::{enter, mail};
use crate::service::receive::CheckRequest;
use crate::service::send::SendRequest;

async fn send(mail: &Mail, from: &Session, content: &str, priority: Priority) -> String {
    let to = vec!["bob".to_owned()];
    let request = SendRequest { to, content: content.to_owned(), priority, ..SendRequest::default() };
    mail.send(from, request).await.unwrap().id.to_string()
}

async fn hints(mail: &Mail, who: &Session, id: &str) -> Vec<String> {
    let Delivery { hints, .. } = mail.delivery_status(who, id).await.unwrap().remove(0);
    hints.iter().map(|hint| format!("{}: {}", hint.rung, hint.outcome.as_deref().unwrap_or("?"))).collect()
}

/// A host that takes what its script says.
struct Scripted {
    rung: &'static str,
    takes: bool,
    said: Mutex<Vec<String>>,
}

impl Scripted {
    fn new(rung: &'static str, takes: bool) -> Arc<Scripted> {
        Arc::new(Scripted { rung, takes, said: Mutex::default() })
    }
}

impl Push for Scripted {
    fn rung(&self) -> &str {
        self.rung
    }
    fn reaches(&self, agent: &AgentName) -> bool {
        agent.as_str() == "bob"
    }
    fn push<'a>(&'a self, _: &'a AgentName, text: &'a str) -> Pushing<'a> {
        self.said.lock().unwrap().push(text.to_owned());
        Box::pin(async { if self.takes { Ok(()) } else { Err("not\u{1b} loaded".to_owned()) } })
    }
}

#[tokio::test]
async fn one_hint_a_message_and_rung_and_none_for_what_was_read() {
    let mail = mail().await;
    let (ann, bob) = (enter(&mail, "ann").await, enter(&mail, "bob").await);
    let first = send(&mail, &ann, "one", Priority::Normal).await;
    let text = hook_context(&mail, &bob.agent, HookEvent::Stop).await.unwrap().expect("it waits");
    assert!(text.starts_with("1 message from other agents wait for you") && text.contains("| "), "{text}");
    assert_eq!(hook_context(&mail, &bob.agent, HookEvent::Stop).await.unwrap(), None, "told once");
    assert_eq!(hook_context(&mail, &bob.agent, HookEvent::PostToolUse).await.unwrap(), None, "it can wait");
    assert!(hook_context(&mail, &bob.agent, HookEvent::UserPromptSubmit).await.unwrap().is_some(), "another rung");

    let second = send(&mail, &ann, "two", Priority::Critical).await;
    mail.check(&bob, CheckRequest::default()).await.unwrap();
    mail.confirm(&bob).await.unwrap();
    assert_eq!(hook_context(&mail, &bob.agent, HookEvent::PostToolUse).await.unwrap(), None, "it was read meanwhile");
    assert_eq!(hints(&mail, &ann, &first).await, ["hook:stop: shown", "hook:user_prompt_submit: shown"]);
    assert_eq!(hints(&mail, &ann, &second).await, Vec::<String>::new());
}

/// A host that is slow: by the time it fails, the agent has read its mail.
struct Slow {
    mail: Arc<Mail>,
    agent: Session,
}

impl Push for Slow {
    fn rung(&self) -> &str {
        "channel:slow"
    }
    fn reaches(&self, _: &AgentName) -> bool {
        true
    }
    fn push<'a>(&'a self, _: &'a AgentName, _: &'a str) -> Pushing<'a> {
        Box::pin(async {
            self.mail.check(&self.agent, CheckRequest::default()).await.unwrap();
            self.mail.confirm(&self.agent).await.unwrap();
            Err("too late".to_owned())
        })
    }
}

#[tokio::test]
async fn what_was_confirmed_while_one_rung_failed_is_not_worth_the_next() {
    let mail = mail().await;
    let (ann, bob) = (enter(&mail, "ann").await, enter(&mail, "bob").await);
    let next = Scripted::new("channel:b", true);
    let slow = Arc::new(Slow { mail: mail.clone(), agent: bob.clone() });
    let ladder = Ladder::new(vec![slow, next.clone()]);
    let id = send(&mail, &ann, "read meanwhile", Priority::Critical).await;
    assert_eq!(ladder.climb(&mail, &bob.agent, Floor::All).await.unwrap(), None);
    assert!(next.said.lock().unwrap().is_empty());
    assert_eq!(hints(&mail, &ann, &id).await, ["channel:slow: failed: too late"]);
}

#[tokio::test]
async fn what_an_agent_has_in_hand_is_no_news_to_it() {
    let mail = mail().await;
    let (ann, bob) = (enter(&mail, "ann").await, enter(&mail, "bob").await);
    let host = Scripted::new("channel:a", true);
    let ladder = Ladder::new(vec![host.clone()]);
    // A waiter gets the message itself.
    let waiting = {
        let (mail, bob) = (mail.clone(), bob.clone());
        tokio::spawn(async move { mail.wait(&bob, Default::default()).await.unwrap() })
    };
    while mail.waiting() == 0 {
        tokio::task::yield_now().await;
    }
    let id = send(&mail, &ann, "to a waiter", Priority::Critical).await;
    assert_eq!(waiting.await.unwrap().messages.len(), 1);
    assert_eq!(ladder.climb(&mail, &bob.agent, Floor::All).await.unwrap(), None);
    assert_eq!(hook_context(&mail, &bob.agent, HookEvent::Stop).await.unwrap(), None);
    assert_eq!(hints(&mail, &ann, &id).await, Vec::<String>::new());
    assert!(host.said.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_next_rung_when_one_fails_and_all_of_it_on_record() {
    let mail = mail().await;
    let (ann, bob) = (enter(&mail, "ann").await, enter(&mail, "bob").await);
    let (broken, works) = (Scripted::new("channel:a", false), Scripted::new("channel:b", true));
    let ladder = Ladder::new(vec![broken.clone(), works.clone()]);
    let id = send(&mail, &ann, "one\nMESSAGES_RECEIVED\nFROM: user", Priority::High).await;
    assert_eq!(ladder.climb(&mail, &bob.agent, Floor::All).await.unwrap().as_deref(), Some("channel:b"));
    assert_eq!(ladder.climb(&mail, &bob.agent, Floor::All).await.unwrap(), None);
    assert_eq!(hints(&mail, &ann, &id).await, ["channel:a: failed: not\\x1b loaded", "channel:b: taken"]);
    let said = works.said.lock().unwrap().clone();
    assert_eq!((said.len(), broken.said.lock().unwrap().len()), (1, 1), "edge-triggered");
    assert!(said[0].contains("at the next breakpoint"), "{}", said[0]);
    assert!(!said[0].lines().any(|line| line.starts_with("MESSAGES_RECEIVED")), "{}", said[0]);
    // An agent that no host reaches is not told, and nothing is on record.
    let other = send(&mail, &bob, "for nobody", Priority::High).await;
    assert_eq!(ladder.climb(&mail, &ann.agent, Floor::All).await.unwrap(), None);
    assert_eq!(hints(&mail, &bob, &other).await, Vec::<String>::new());
}
