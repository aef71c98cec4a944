//! A network between a store and its PostgreSQL that loses the database's answer to a COMMIT: the change is made, but
//! its caller never learns of it. The store tells this apart from a refused connection.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mail::store::postgres::{Former, PostgresOptions, PostgresStore};
use mail::{Floor, MailError, SendRequest, Session, Space, StoreError};

use crate::fixture::{ManualClock, StoreFixture, limits};
use crate::postgres::Server;

/// Forwards the traffic between a store and its database.
struct Proxy {
    address: std::net::SocketAddr,
    how: Arc<How>,
}

#[derive(Default)]
struct How {
    /// The connection breaks instead of every n-th answer to a COMMIT; 0 means never.
    loses_every: AtomicU64,
    answers: AtomicU64,
    lost: AtomicU64,
    /// Whether every connection after such a loss is refused.
    then_goes_away: AtomicBool,
    is_away: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    fn to(socket: PathBuf) -> Proxy {
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
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Both);
                });
                std::thread::spawn(move || {
                    let _ = how.answers(server, &client);
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

    fn lost(&self) -> u64 {
        self.how.lost.load(Ordering::SeqCst)
    }
}

impl How {
    /// Forwards the server's answers, message by message (PostgreSQL, "Message Formats").
    fn answers(&self, mut server: UnixStream, mut client: &TcpStream) -> std::io::Result<()> {
        loop {
            let mut head = [0; 5];
            server.read_exact(&mut head)?;
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            let mut body = vec![0; length - 4];
            server.read_exact(&mut body)?;
            if head[0] == b'C' && body == b"COMMIT\0" && self.is_lost() {
                return Ok(());
            }
            client.write_all(&[&head[..], &body].concat())?;
        }
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

/// A daemon behind such a network, and one with a direct connection.
async fn behind(server: &Server, space: &str) -> (Proxy, StoreFixture, StoreFixture) {
    let proxy = Proxy::to(server.socket());
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

/// How often each text is in the mailbox.
async fn stored(fixture: &StoreFixture, agent: &Session) -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
    for message in fixture.mail.look(agent, 0, Floor::All, 500).await.unwrap().messages {
        *found.entry(message.content).or_default() += 1;
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_was_lost_stays_uncertain_while_the_database_is_away() {
    let Some(server) = Server::start() else { return };
    let (proxy, fixture, beside) = behind(&server, "doubt").await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    proxy.how.then_goes_away.store(true, Ordering::SeqCst);
    let (mut uncertain, mut uncertain_and_stored, mut refused) = (0, 0, 0);
    for round in 0..3 {
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
    assert!(uncertain_and_stored > 0 && proxy.lost() == 3);
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
    let (proxy, fixture, beside) = behind(&server, "lossy").await;
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
    eprintln!("{} answers lost, {} messages", proxy.lost(), found.len());
    assert!(proxy.lost() > 5 && found.len() == 120 && found.values().all(|times| *times == 1), "{found:?}");
    tokio::time::timeout(Duration::from_secs(30), fixture.mail.close()).await.unwrap();
}
