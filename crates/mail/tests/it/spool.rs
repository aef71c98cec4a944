//! Sending while the store is unavailable: sends are kept on disk, and stored once and in order when the store is
//! available again. The spool is bounded and survives a crash.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mail::spool::Spool;
use mail::store::change::{Change, Changed};
use mail::store::query::{Query, QueryResult};
use mail::store::{BoxFuture, Store, WakeDelivery, WakeListener};
use mail::{
    AgentName, CheckRequest, EnterRequest, Floor, Holder, Limits, Mail, MailError, MailOptions, Profile, Refusal,
    SendRequest, Session, SessionId, Space, StoreError, WaitRequest,
};

use tokio::sync::watch;

use crate::fixture::{EPOCH, LONG, texts};

/// A store that can be made unavailable, or lose an answer.
struct Switched {
    inner: Arc<dyn Store>,
    is_away: AtomicBool,
    loses_answers: AtomicBool,
    /// Counts calls while the store was unavailable.
    refused: watch::Sender<u64>,
}

impl Switched {
    fn is_there(&self) -> Result<(), StoreError> {
        if !self.is_away.load(Ordering::SeqCst) {
            return Ok(());
        }
        self.refused.send_modify(|refused| *refused += 1);
        Err(StoreError::Away { reason: "switched off".to_owned() })
    }
}

impl Store for Switched {
    fn write(&self, change: Change) -> BoxFuture<'_, Result<Changed, StoreError>> {
        Box::pin(async move {
            self.is_there()?;
            let done = self.inner.write(change).await;
            if self.loses_answers.load(Ordering::SeqCst) {
                return Err(StoreError::Uncertain { reason: "switched off in the middle".to_owned() });
            }
            done
        })
    }

    fn read(&self, query: Query) -> BoxFuture<'_, Result<QueryResult, StoreError>> {
        Box::pin(async move {
            self.is_there()?;
            self.inner.read(query).await
        })
    }

    fn listen(&self, ear: WakeListener) {
        self.inner.listen(ear);
    }

    fn wake_delivery(&self) -> WakeDelivery {
        self.inner.wake_delivery()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.inner.close()
    }
}

struct Scene {
    store: Arc<Switched>,
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        let (clock, _) = mail::Clock::manual(EPOCH);
        let inner = Arc::new(mail::store::memory::MemoryStore::new(clock, Limits::default()));
        let store = Switched {
            inner,
            is_away: AtomicBool::new(false),
            loses_answers: AtomicBool::new(false),
            refused: watch::Sender::new(0),
        };
        Scene { store: Arc::new(store), dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> std::path::PathBuf {
        self.dir.path().join("mail-spool.db")
    }

    /// Returns one run of the daemon.
    async fn mail(&self, limit: u64) -> Arc<Mail> {
        let spool = Some(Arc::new(open(&self.path(), limit)));
        Mail::open(MailOptions { spool, ..MailOptions::new(self.store.clone()) }).await.unwrap()
    }

    /// Waits until the spool is empty.
    async fn emptied(&self) {
        let empty = async {
            while open(&self.path(), 0).waiting() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await; // polls: a file
            }
        };
        tokio::time::timeout(LONG, empty).await.unwrap();
    }

    fn set_unavailable(&self, is_away: bool) {
        self.store.is_away.store(is_away, Ordering::SeqCst);
    }
}

fn open(path: &Path, limit: u64) -> Spool {
    Spool::open(path, &Space::named("test"), limit).unwrap()
}

async fn agent(mail: &Arc<Mail>, name: &str) -> Session {
    let request = EnterRequest {
        agent: AgentName::new(name).unwrap(),
        session: SessionId::mint(),
        holder: Holder { host: "here".into(), worktree: format!("/{name}") },
        takeover: false,
        moved_from: None,
        create: true,
        profile: Profile::default(),
    };
    mail.enter(request).await.unwrap().session
}

fn letter(text: &str) -> SendRequest {
    SendRequest { to: vec!["bob".into()], content: text.into(), ..SendRequest::default() }
}

fn keyed(text: &str, key: &str) -> SendRequest {
    SendRequest { idempotency_key: Some(key.into()), ..letter(text) }
}

/// Takes messages until there are `count`.
async fn take(mail: &Arc<Mail>, session: &Session, count: usize) -> Vec<String> {
    let mut got = Vec::new();
    while got.len() < count {
        let waited = mail.wait(session, WaitRequest { timeout: LONG, floor: Floor::All, ..WaitRequest::default() });
        got.extend(texts(&waited.await.unwrap().messages));
    }
    got
}

#[tokio::test]
async fn what_is_sent_meanwhile_comes_in_order_and_once() {
    let scene = Scene::new();
    let mail = scene.mail(100).await;
    let (ann, bob) = (agent(&mail, "ann").await, agent(&mail, "bob").await);
    assert!(!mail.send(&ann, letter("0")).await.unwrap().is_queued);
    scene.set_unavailable(true);
    for text in ["1", "2"] {
        assert!(mail.send(&ann, letter(text)).await.unwrap().is_queued);
    }
    let first = mail.send(&ann, keyed("3", "k")).await.unwrap();
    let again = mail.send(&ann, keyed("3", "k")).await.unwrap();
    assert_eq!((&again.id, again.is_replay, again.is_queued), (&first.id, true, true));
    let other = mail.send(&ann, keyed("not 3", "k")).await.unwrap_err();
    assert!(matches!(other, MailError::Refused(Refusal::KeyConflict { .. })), "{other}");
    scene.set_unavailable(false);
    // Messages queued earlier are always stored earlier.
    mail.send(&ann, letter("4")).await.unwrap();
    assert_eq!(take(&mail, &bob, 5).await, ["0", "1", "2", "3", "4"]);
    assert!(mail.check(&bob, CheckRequest::default()).await.unwrap().messages.is_empty());
    // The key stays valid.
    scene.emptied().await;
    let replay = mail.send(&ann, keyed("3", "k")).await.unwrap();
    assert_eq!((replay.id, replay.is_replay, replay.is_queued), (first.id, true, false));
}

#[tokio::test(start_paused = true)]
async fn a_send_that_was_stored_without_an_answer_is_not_stored_again() {
    let scene = Scene::new();
    let mail = scene.mail(100).await;
    let (ann, bob) = (agent(&mail, "ann").await, agent(&mail, "bob").await);
    scene.store.loses_answers.store(true, Ordering::SeqCst);
    let sent = mail.send(&ann, letter("once")).await.unwrap();
    assert!(sent.is_queued);
    scene.store.loses_answers.store(false, Ordering::SeqCst);
    let waited = mail.wait(&bob, WaitRequest::default()).await.unwrap();
    assert_eq!(waited.messages[0].message.id, sent.id);
    // The queue is empty when this message comes.
    mail.send(&ann, letter("after")).await.unwrap();
    assert_eq!(take(&mail, &bob, 1).await, ["after"]);
}

#[tokio::test]
async fn it_is_bounded_and_says_so() {
    let scene = Scene::new();
    let mail = scene.mail(2).await;
    let (ann, bob) = (agent(&mail, "ann").await, agent(&mail, "bob").await);
    scene.set_unavailable(true);
    for text in ["1", "2"] {
        mail.send(&ann, letter(text)).await.unwrap();
    }
    let refused = mail.send(&ann, letter("3")).await.unwrap_err();
    assert!(refused.is_retryable() && refused.to_string().contains("2 messages are queued already"), "{refused}");
    scene.set_unavailable(false);
    assert_eq!(take(&mail, &bob, 2).await, ["1", "2"]);
}

#[tokio::test]
async fn without_one_a_send_is_refused() {
    let scene = Scene::new();
    let mail = Mail::open(MailOptions::new(scene.store.clone())).await.unwrap();
    let ann = agent(&mail, "ann").await;
    scene.set_unavailable(true);
    let refused = mail.send(&ann, letter("1")).await.unwrap_err();
    assert!(refused.is_retryable() && refused.hints()[0].contains("Nothing was stored"), "{refused}");
}

#[tokio::test]
async fn a_message_that_nobody_can_have_comes_back_as_a_report() {
    let scene = Scene::new();
    let mail = scene.mail(100).await;
    let (ann, bob) = (agent(&mail, "ann").await, agent(&mail, "bob").await);
    scene.set_unavailable(true);
    let to_nobody = SendRequest { to: vec!["nobody".into()], ..letter("x") };
    let lost = mail.send(&ann, to_nobody).await.unwrap();
    mail.send(&ann, letter("and on")).await.unwrap();
    scene.set_unavailable(false);
    let report = mail.wait(&ann, WaitRequest::default()).await.unwrap().messages.remove(0).message;
    assert!(report.from.is_system() && report.content.contains(lost.id.as_str()), "{report:?}");
    assert!(report.content.contains("unknown recipient"), "{report:?}");
    assert_eq!(take(&mail, &bob, 1).await, ["and on"]);
}

#[tokio::test]
async fn the_next_life_hands_on_what_the_last_one_left() {
    let scene = Scene::new();
    let mail = scene.mail(100).await;
    let ann = agent(&mail, "ann").await;
    agent(&mail, "bob").await;
    scene.set_unavailable(true);
    for text in ["1", "2", "3"] {
        mail.send(&ann, letter(text)).await.unwrap();
    }
    drop(mail);
    assert_eq!(open(&scene.path(), 100).waiting(), 3);
    scene.set_unavailable(false);
    // Messages in the spool are sent even after it was disabled.
    let mail = scene.mail(0).await;
    let bob = agent(&mail, "bob").await;
    assert_eq!(take(&mail, &bob, 3).await, ["1", "2", "3"]);
    scene.emptied().await;
}

/// Waits on an unavailable store, which becomes available after the second call.
async fn over_an_absence(scene: &Scene, mail: &Arc<Mail>, waiting: impl Future<Output = Vec<String>> + Send + 'static) {
    let ann = agent(mail, "ann").await;
    scene.set_unavailable(true);
    let mut refused = scene.store.refused.subscribe();
    let waiter = tokio::spawn(waiting);
    tokio::time::timeout(LONG, refused.wait_for(|refused| *refused >= 2)).await.unwrap().unwrap();
    scene.set_unavailable(false);
    mail.send(&ann, letter("it is back")).await.unwrap();
    assert_eq!(tokio::time::timeout(LONG, waiter).await.unwrap().unwrap(), ["it is back"]);
}

#[tokio::test]
async fn a_wait_sits_through_a_store_that_is_away_for_a_moment() {
    let scene = Scene::new();
    let mail = scene.mail(0).await;
    let bob = agent(&mail, "bob").await;
    let waiting = Arc::clone(&mail);
    over_an_absence(&scene, &mail, async move { take(&waiting, &bob, 1).await }).await;
}

#[tokio::test]
async fn a_wait_with_a_cursor_does_so_too() {
    let scene = Scene::new();
    let mail = scene.mail(0).await;
    let bob = agent(&mail, "bob").await;
    let waiting = Arc::clone(&mail);
    let look = async move {
        let seen = waiting.wait_after(&bob, 0, Floor::All, 1, LONG).await.unwrap();
        seen.messages.into_iter().map(|message| message.content).collect()
    };
    over_an_absence(&scene, &mail, look).await;
}

#[tokio::test(start_paused = true)]
async fn whoever_waited_in_vain_and_left_confirms_nothing_later() {
    let scene = Scene::new();
    let mail = scene.mail(0).await;
    let (ann, bob) = (agent(&mail, "ann").await, agent(&mail, "bob").await);
    mail.send(&ann, letter("unseen")).await.unwrap();
    scene.set_unavailable(true);
    let mut refused = scene.store.refused.subscribe();
    let waiter = tokio::spawn({
        let (mail, bob) = (Arc::clone(&mail), bob.clone());
        async move { mail.wait(&bob, WaitRequest::default()).await }
    });
    tokio::time::timeout(LONG, refused.wait_for(|refused| *refused >= 1)).await.unwrap().unwrap();
    waiter.abort();
    assert!(waiter.await.unwrap_err().is_cancelled());
    scene.set_unavailable(false);
    assert_eq!(take(&mail, &bob, 1).await, ["unseen"]);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(mail.inbox(&bob.agent).await.unwrap().leased, 1, "it is still in hand");
}

#[tokio::test(start_paused = true)]
async fn a_wait_says_that_the_store_stays_away() {
    let scene = Scene::new();
    let mail = scene.mail(0).await;
    let bob = agent(&mail, "bob").await;
    scene.set_unavailable(true);
    let begin = tokio::time::Instant::now();
    let gone = mail.wait(&bob, WaitRequest::default()).await.unwrap_err();
    assert!(gone.is_retryable(), "{gone}");
    assert!((10..=15).contains(&begin.elapsed().as_secs()), "{:?}", begin.elapsed());
    let begin = tokio::time::Instant::now();
    mail.check(&bob, CheckRequest::default()).await.unwrap_err();
    assert_eq!(begin.elapsed(), Duration::ZERO, "whoever does not wait is told at once");
}
