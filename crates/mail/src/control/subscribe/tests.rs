//! A subscriber that reads slowly: what it is told waits in the store and not in memory, and nothing is left out.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use mcp::tool::{LogLevel, Peer, Progress};
use tokio::sync::watch;

use super::*;
use crate::desk::DeskOptions;
use crate::service::scene_tests::{enter, mail};
use crate::service::send::SendRequest;

/// How much may wait to be written.
const ROOM: usize = 4;

/// A peer's end with little room.
struct Narrow {
    waiting: Mutex<VecDeque<serde_json::Value>>,
    closed: watch::Sender<bool>,
}

impl Narrow {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<serde_json::Value>> {
        self.waiting.lock().unwrap()
    }
}

impl Peer for Narrow {
    fn notify(&self, _: &str, params: Box<RawValue>) -> Result<(), NotifyError> {
        let mut waiting = self.waiting();
        if waiting.len() == ROOM {
            return Err(NotifyError::Full);
        }
        waiting.push_back(serde_json::from_str(params.get()).unwrap());
        Ok(())
    }
    fn progress(&self, _: Progress) {}
    fn log(&self, _: LogLevel, _: &str, _: Box<RawValue>) {}
    fn closed(&self) -> watch::Receiver<bool> {
        self.closed.subscribe()
    }
}

async fn send(mail: &Arc<Mail>, from: &Session, content: String) {
    let request = SendRequest { to: vec!["bob".to_owned()], content, ..SendRequest::default() };
    mail.send(from, request).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn it_gets_everything_in_order_at_its_own_pace() {
    let mail = mail().await;
    let (ann, bob) = (enter(&mail, "ann").await, enter(&mail, "bob").await);
    let long = "x".repeat(100_000);
    for n in 0..100 {
        send(&mail, &ann, format!("{n} {long}")).await;
    }
    let narrow = Arc::new(Narrow { waiting: Mutex::default(), closed: watch::channel(false).0 });
    let temp = tempfile::tempdir().unwrap();
    let desk = Desk::new(DeskOptions {
        open: Box::new(|| unreachable!("nobody asks")),
        identities: temp.path().join("identities"),
        tokens: temp.path().join("tokens"),
        space: "s".to_owned(),
        host: "h".to_owned(),
    });
    let coming = mail.subscribe_waiting(&bob, Floor::All).await.unwrap();
    let cx = Context::new(narrow.clone(), Arc::new(()), watch::channel(false).1, None);
    let telling = Telling { desk, mail: mail.clone(), session: bob.clone(), cx };
    let telling = tokio::spawn(telling.run(coming));
    let mut told = Vec::new();
    while told.len() < 200 {
        // The clock stands still but for who sleeps: by now as much waits as there is room for.
        tokio::time::sleep(Duration::from_secs(2)).await;
        if told.len() == 40 {
            for n in 100..200 {
                send(&mail, &ann, format!("{n} {long}")).await;
            }
        }
        let one = narrow.waiting().pop_front().unwrap();
        assert!(one["preview"].as_str().unwrap().starts_with(&format!("{} x", told.len())), "{one}");
        told.push(one["seq"].as_u64().unwrap());
        assert!(narrow.waiting().len() < ROOM);
    }
    assert!(told.iter().copied().eq(1..=200), "{told:?}");
    narrow.closed.send_replace(true);
    telling.await.unwrap();
}

#[tokio::test]
async fn little_of_a_long_text_is_kept_for_a_subscriber() {
    let mail = mail().await;
    let (ann, bob) = (enter(&mail, "ann").await, enter(&mail, "bob").await);
    send(&mail, &ann, "ä".repeat(100_000)).await;
    let message = mail.subscribe(&bob, Floor::All, Some(0)).await.unwrap().next().await.unwrap();
    assert_eq!(message.content, "ä".repeat(512));
}
