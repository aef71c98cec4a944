//! A network between a store and its PostgreSQL that loses the answer to a commit: the change is made, but its caller
//! never learns of it. The store distinguishes this from a refused connection.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use mail::store::postgres::{Former, PostgresOptions, PostgresStore};
use mail::{Floor, MailError, SendRequest, Session, Space, StoreError};

use crate::fixture::{ManualClock, StoreFixture, limits};
use crate::postgres::Server;

/// Forwards the traffic between a store and its database.
pub(crate) struct Proxy {
    address: std::net::SocketAddr,
    how: Arc<How>,
}

#[derive(Default)]
struct How {
    /// The number of times that the server became ready again: the round trips.
    round_trips: AtomicU64,
    commits: AtomicU64,
    /// True while commits are held back, and the number of those held back.
    gate: Mutex<(bool, usize)>,
    moved: Condvar,
    /// The connection breaks instead of every n-th answer to a commit; 0 means never.
    loses_every: AtomicU64,
    answers: AtomicU64,
    lost: AtomicU64,
    /// True if every connection after such a loss is refused.
    then_goes_away: AtomicBool,
    is_away: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    fn to_socket(socket: PathBuf) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, how) = (listener.local_addr().unwrap(), Arc::<How>::default());
        let shared = Arc::clone(&how);
        // The thread ends with the test's process.
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let how = Arc::clone(&shared);
                if how.is_away.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(server) = UnixStream::connect(&socket) else { continue };
                // A statement consists of several small messages.
                client.set_nodelay(true).unwrap();
                how.open.lock().unwrap().push(client.try_clone().unwrap());
                let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let commits = Arc::new(AtomicBool::new(false));
                let asked = Arc::clone(&commits);
                let how_asked = Arc::clone(&how);
                std::thread::spawn(move || {
                    let _ = how_asked.questions(&mut from, &mut to, &asked);
                    let _ = to.shutdown(Shutdown::Both);
                });
                std::thread::spawn(move || {
                    let _ = how.answers(server, &client, &commits);
                    let _ = client.shutdown(Shutdown::Both);
                });
            }
        });
        Proxy { address, how }
    }

    fn url(&self) -> String {
        format!("postgres://hob@{}/postgres?sslmode=disable", self.address)
    }

    fn loses_every(&self, nth: u64) {
        self.how.answers.store(0, Ordering::SeqCst);
        self.how.loses_every.store(nth, Ordering::SeqCst);
    }

    fn comes_back(&self) {
        self.how.loses_every.store(0, Ordering::SeqCst);
        self.how.is_away.store(false, Ordering::SeqCst);
    }

    fn count_lost(&self) -> u64 {
        self.how.lost.load(Ordering::SeqCst)
    }

    /// Returns the number of round trips, and of those that committed.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.how.round_trips.load(Ordering::SeqCst), self.how.commits.load(Ordering::SeqCst))
    }

    /// Holds back commits until [`Proxy::let_go`].
    pub(crate) fn hold(&self) {
        self.how.gate.lock().unwrap().0 = true;
    }

    /// Waits until something is held back.
    pub(crate) fn holds_something(&self) {
        let gate = self.how.gate.lock().unwrap();
        drop(self.how.moved.wait_while(gate, |(_, held)| *held == 0).unwrap());
    }

    pub(crate) fn let_go(&self) {
        self.how.gate.lock().unwrap().0 = false;
        self.how.moved.notify_all();
    }
}

impl How {
    /// Forwards the server's answers, message by message. A commit is done when the server is ready again outside a
    /// transaction (PostgreSQL, "Message Formats": `ReadyForQuery`).
    fn answers(&self, mut server: UnixStream, mut client: &TcpStream, commits: &AtomicBool) -> std::io::Result<()> {
        loop {
            let (kind, message) = message(&mut server)?;
            let is_commit = kind == b'Z' && message.ends_with(b"I") && commits.swap(false, Ordering::SeqCst);
            self.round_trips.fetch_add(u64::from(kind == b'Z'), Ordering::SeqCst);
            self.commits.fetch_add(u64::from(is_commit), Ordering::SeqCst);
            if is_commit && self.is_lost() {
                return Ok(());
            }
            client.write_all(&message)?;
        }
    }

    /// Forwards the store's statements, and notes those that commit: a COMMIT, or the statement that writes for a
    /// group.
    fn questions(&self, client: &mut TcpStream, server: &mut UnixStream, commits: &AtomicBool) -> std::io::Result<()> {
        let mut length = [0; 4];
        client.read_exact(&mut length)?;
        let mut startup = vec![0; u32::from_be_bytes(length) as usize - 4];
        client.read_exact(&mut startup)?;
        server.write_all(&[&length[..], &startup].concat())?;
        let mut committing = BTreeSet::new();
        loop {
            let (kind, message) = message(client)?;
            let mut texts = message[5..].split(|byte| *byte == 0);
            let (first, second) = (texts.next().unwrap_or_default(), texts.next().unwrap_or_default());
            let text = String::from_utf8_lossy(second);
            match kind {
                // `Parse`: a statement's name and its text. `Bind`: a portal's name and a statement's.
                b'P' if text == "COMMIT" || text.starts_with("WITH locked") => {
                    committing.insert(first.to_vec());
                }
                b'B' if committing.contains(second) => {
                    commits.store(true, Ordering::SeqCst);
                    self.pass_gate();
                }
                _ => {}
            }
            server.write_all(&message)?;
        }
    }

    fn pass_gate(&self) {
        let mut gate = self.gate.lock().unwrap();
        gate.1 += 1;
        self.moved.notify_all();
        gate = self.moved.wait_while(gate, |(is_closed, _)| *is_closed).unwrap();
        gate.1 -= 1;
    }

    fn is_lost(&self) -> bool {
        let nth = self.loses_every.load(Ordering::SeqCst);
        if nth == 0 || !(self.answers.fetch_add(1, Ordering::SeqCst) + 1).is_multiple_of(nth) {
            return false;
        }
        self.lost.fetch_add(1, Ordering::SeqCst);
        if self.then_goes_away.load(Ordering::SeqCst) {
            self.is_away.store(true, Ordering::SeqCst);
            for open in self.open.lock().unwrap().drain(..) {
                let _ = open.shutdown(Shutdown::Both);
            }
        }
        true
    }
}

/// Returns the next message, and its kind.
fn message(from: &mut impl Read) -> std::io::Result<(u8, Vec<u8>)> {
    let mut message = vec![0; 5];
    from.read_exact(&mut message)?;
    let length = u32::from_be_bytes([message[1], message[2], message[3], message[4]]) as usize;
    message.resize(1 + length, 0);
    from.read_exact(&mut message[5..])?;
    Ok((message[0], message))
}

/// Returns a daemon behind such a network, and one with a direct connection.
pub(crate) async fn behind_proxy(server: &Server, space: &str) -> (Proxy, StoreFixture, StoreFixture) {
    let proxy = Proxy::to_socket(server.socket());
    let options = PostgresOptions {
        url: proxy.url(),
        space: Space::named(space),
        owner: "behind".to_owned(),
        former: Former::default(),
        limits: limits(),
        clock: None,
    };
    let store = Arc::new(PostgresStore::connect(options).await.unwrap());
    let (_, hand) = mail::Clock::manual(0);
    let fixture = StoreFixture::with(store, limits(), ManualClock(hand), Box::new(())).await;
    (proxy, fixture, StoreFixture::postgres(server, space, limits()).await)
}

/// Returns the number of copies of each text in the mailbox.
async fn stored(fixture: &StoreFixture, agent: &Session) -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
    for message in fixture.mail.read_mailbox(agent, 0, Floor::All, 500).await.unwrap().messages {
        *found.entry(message.content).or_default() += 1;
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_was_lost_stays_uncertain_while_the_database_is_away() {
    let Some(server) = Server::start() else { return };
    let (proxy, fixture, beside) = behind_proxy(&server, "doubt").await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    proxy.how.then_goes_away.store(true, Ordering::SeqCst);
    let (mut uncertain, mut uncertain_and_stored, mut refused) = (0, 0, 0);
    for round in 0..1 {
        proxy.loses_every(1);
        let mut sending = tokio::task::JoinSet::new();
        for index in 0..6 {
            let (mail, ann) = (fixture.mail.clone(), ann.clone());
            sending.spawn(async move {
                let content = format!("{round}/{index}");
                let to = vec!["bob".to_owned()];
                let request = SendRequest { to, content: content.clone(), ..SendRequest::default() };
                (content, mail.send(&ann, request).await)
            });
        }
        let answers = sending.join_all().await;
        proxy.comes_back();
        let stored = stored(&beside, &bob).await;
        for (content, answer) in answers {
            let times = stored.get(&content).copied().unwrap_or_default();
            match answer {
                Err(MailError::Store(error @ StoreError::Uncertain { .. })) => {
                    let (said, hint) = (error.to_string(), error.hints().join(" "));
                    assert!(said.contains("msg_") && !hint.contains("Nothing was stored"), "{said}: {hint}");
                    uncertain += 1;
                    uncertain_and_stored += times;
                    assert!(times <= 1);
                }
                Err(error) => {
                    refused += 1;
                    assert_eq!(times, 0, "{content} was stored, and this was said: {error}. {:?}", error.hints());
                }
                Ok(sent) => panic!("{content}, {}: nobody could have heard that", sent.id),
            }
        }
    }
    eprintln!("{uncertain} uncertain, of which {uncertain_and_stored} are stored; {refused} refused");
    assert!(uncertain_and_stored > 0 && proxy.count_lost() == 1);
    // If the database is available again soon enough, an uncertain change becomes certain.
    proxy.how.then_goes_away.store(false, Ordering::SeqCst);
    proxy.loses_every(2);
    let sent = fixture.send(&ann, "bob", "first").await.unwrap();
    let again = fixture.send(&ann, "bob", "second").await.unwrap();
    assert!(again.is_replay != sent.is_replay, "one of two answers was lost");
    assert_eq!((stored(&beside, &bob).await["first"], stored(&beside, &bob).await["second"]), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_to_commit_that_are_lost_under_load_lose_and_double_nothing() {
    let Some(server) = Server::start() else { return };
    let (proxy, fixture, beside) = behind_proxy(&server, "lossy").await;
    let bob = fixture.agent("bob", "box").await;
    let mut senders = Vec::new();
    for index in 0..4 {
        senders.push(fixture.agent(&format!("s{index}"), "load").await);
    }
    proxy.loses_every(3);
    let mut sending = tokio::task::JoinSet::new();
    for (index, session) in senders.into_iter().enumerate() {
        let mail = fixture.mail.clone();
        sending.spawn(async move {
            for count in 0..30 {
                // Without a key, the store recognizes each message by its id.
                let (to, content) = (vec!["bob".to_owned()], format!("{index}/{count}"));
                mail.send(&session, SendRequest { to, content, ..SendRequest::default() }).await.unwrap();
            }
        });
    }
    sending.join_all().await;
    // Groups of agents, since their changes carry no id.
    let ann = fixture.agent("ann", "dev").await;
    for index in 0..6 {
        let name = format!("g{index}");
        fixture.mail.create_group(&ann, &name, "").await.unwrap();
        fixture.mail.delete_group(&ann, &name).await.unwrap();
    }
    let found = stored(&beside, &bob).await;
    eprintln!("{} answers lost, {} messages", proxy.count_lost(), found.len());
    assert!(proxy.count_lost() > 5 && found.len() == 120 && found.values().all(|times| *times == 1), "{found:?}");
    tokio::time::timeout(Duration::from_secs(30), fixture.mail.close()).await.unwrap();
}
