//! `cargo bench -p mail`: the cost of the store and the service, compared with the floor of the same disk in the same
//! run.
//!
//! Measures the engine's share only: no socket, no tools. The floor is appending the same bytes and `fdatasync`,
//! interleaved with the measured calls, since a disk's speed changes from second to second. `MAIL_BENCH_AGENTS` and
//! `MAIL_BENCH_MESSAGES` set the size of the large mailboxes (20 and 10,000; the full size is 200 and 10,000). With
//! `MAIL_BENCH_DATABASE`, the address of a PostgreSQL database, the same calls go there too.

// A benchmark prints its results; a failure should end it.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mail::store::postgres::{Former, PostgresOptions, PostgresStore};
use mail::store::sqlite::{SqliteOptions, SqliteStore};
use mail::{
    AgentName, CheckRequest, EnterRequest, Floor, Holder, Limits, Mail, MailOptions, Profile, Role, SendRequest,
    Session, SessionId, Space, WaitRequest,
};

/// The bytes that one send of 500 bytes writes into the log: about six pages with their headers.
const SEND_BYTES: usize = 6 * 4_120;
const BODY: usize = 500;

fn main() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        if let Ok(url) = std::env::var("MAIL_BENCH_DATABASE") {
            println!("PostgreSQL\n");
            send_alone(open_postgres(&url).await, dir.path()).await;
            many(open_postgres(&url).await, dir.path()).await;
            wake(open_postgres(&url).await, dir.path()).await;
            println!("SQLite\n");
        }
        send_alone(open(&dir.path().join("alone.db")).await, dir.path()).await;
        many(open(&dir.path().join("many.db")).await, dir.path()).await;
        wake(open(&dir.path().join("wake.db")).await, dir.path()).await;
        idle(dir.path()).await;
        large(dir.path()).await;
    });
}

fn limits() -> Limits {
    Limits { mailbox_messages: 1_000_000, mailbox_bytes: 1 << 40, ..Limits::default() }
}

/// Returns a new space in the database.
async fn open_postgres(url: &str) -> Arc<Mail> {
    let options = PostgresOptions {
        url: url.to_owned(),
        space: Space::named(SessionId::mint().as_str()),
        owner: "bench".to_owned(),
        former: Former::default(),
        limits: limits(),
        clock: None,
    };
    let store = PostgresStore::connect(options).await.unwrap();
    Mail::open(MailOptions { limits: limits(), ..MailOptions::new(Arc::new(store)) }).await.unwrap()
}

async fn open(path: &Path) -> Arc<Mail> {
    let limits = limits();
    let options = SqliteOptions::new(path.to_owned(), Space::named("bench"));
    let store = SqliteStore::open(SqliteOptions { limits: limits.clone(), ..options }).unwrap();
    Mail::open(MailOptions { limits, ..MailOptions::new(Arc::new(store)) }).await.unwrap()
}

async fn agent(mail: &Arc<Mail>, name: &str, role: &str) -> Session {
    let request = EnterRequest {
        agent: AgentName::new(name).unwrap(),
        session: SessionId::mint(),
        holder: Holder { host: "bench".into(), worktree: format!("/{name}") },
        takeover: false,
        moved_from: None,
        create: true,
        profile: Profile { role: Some(Role::new(role).unwrap()), ..Profile::default() },
    };
    mail.enter(request).await.unwrap().session
}

fn message(to: &str) -> SendRequest {
    SendRequest { to: vec![to.to_owned()], content: "x".repeat(BODY), ..SendRequest::default() }
}

/// Appends and syncs; returns the elapsed time.
fn append(file: &mut File, bytes: &[u8]) -> Duration {
    let begin = Instant::now();
    file.write_all(bytes).unwrap();
    file.sync_data().unwrap();
    begin.elapsed()
}

struct Times(Vec<Duration>);

impl Times {
    fn at(&mut self, percent: usize) -> f64 {
        self.0.sort();
        let index = (self.0.len() * percent / 100).min(self.0.len() - 1);
        self.0[index].as_secs_f64() * 1e3
    }
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut sorted = Times(self.0.clone());
        let [p50, p90, p99] = [50, 90, 99].map(|percent| sorted.at(percent));
        write!(f, "p50 {p50:.2} ms, p90 {p90:.2} ms, p99 {p99:.2} ms ({} samples)", self.0.len())
    }
}

async fn send_alone(mail: Arc<Mail>, dir: &Path) {
    let (ann, bob) = (agent(&mail, "ann", "dev").await, agent(&mail, "bob", "dev").await);
    let mut file = File::create(dir.join("floor")).unwrap();
    let (mut floor, mut send) = (Times(Vec::new()), Times(Vec::new()));
    for _ in 0..400 {
        floor.0.push(append(&mut file, &[7; SEND_BYTES]));
        let begin = Instant::now();
        mail.send(&ann, message("bob")).await.unwrap();
        send.0.push(begin.elapsed());
    }
    drop(bob);
    println!("send, one at a time\n  floor  {floor}\n  send   {send}");
    println!("  p50 is {:.2} floors\n", send.at(50) / floor.at(50));
    mail.close().await;
}

async fn many(mail: Arc<Mail>, dir: &Path) {
    let over = Arc::new(AtomicBool::new(false));
    let mut drains = tokio::task::JoinSet::new();
    for part in 0..10 {
        let mut boxes = Vec::new();
        for index in 0..20 {
            boxes.push(agent(&mail, &format!("b{}", part * 20 + index), "box").await);
        }
        let (mail, over) = (mail.clone(), over.clone());
        drains.spawn(async move {
            let mut got: HashMap<String, usize> = HashMap::new();
            loop {
                let was_over = over.load(Ordering::SeqCst);
                let mut some = false;
                for session in &boxes {
                    let checked = mail.check(session, CheckRequest::default()).await.unwrap();
                    some |= !checked.messages.is_empty();
                    checked.messages.iter().for_each(|one| *got.entry(one.message.id.to_string()).or_default() += 1);
                }
                if was_over && !some {
                    return got;
                }
                tokio::time::sleep(Duration::from_millis(20)).await; // sleeps: an agent reads now and then
            }
        });
    }
    let mut senders = tokio::task::JoinSet::new();
    let begin = Instant::now();
    for index in 0..50 {
        let (mail, session) = (mail.clone(), agent(&mail, &format!("s{index}"), "load").await);
        senders.spawn(async move {
            let mut sent = Vec::new();
            while begin.elapsed() < Duration::from_secs(5) {
                let to = format!("b{}", (index * 37 + sent.len()) % 200);
                let one = Instant::now();
                let id = mail.send(&session, message(&to)).await.unwrap().id.to_string();
                sent.push((id, one.elapsed()));
            }
            sent
        });
    }
    let sent: Vec<(String, Duration)> = senders.join_all().await.into_iter().flatten().collect();
    let took = begin.elapsed();
    over.store(true, Ordering::SeqCst);
    let mut got: HashMap<String, usize> = HashMap::new();
    for part in drains.join_all().await {
        part.into_iter().for_each(|(id, count)| *got.entry(id).or_default() += count);
    }
    let mut file = File::create(dir.join("floor")).unwrap();
    let mut floor = Times((0..100).map(|_| append(&mut file, &[7; SEND_BYTES * 50])).collect());
    let rate = sent.len() as f64 / took.as_secs_f64();
    let floor_rate = 50.0 / (floor.at(50) / 1e3);
    let lost = sent.iter().filter(|(id, _)| !got.contains_key(id)).count();
    let doubled = got.values().filter(|count| **count > 1).count();
    println!("send, 50 at a time to 200 mailboxes that are drained");
    println!(
        "  floor  {floor_rate:.0}/s in groups of 50\n  send   {rate:.0}/s, {:.0} % of it",
        100.0 * rate / floor_rate
    );
    println!("  each   {}", Times(sent.iter().map(|(_, took)| *took).collect()));
    println!("  {} acknowledged, {lost} lost, {doubled} doubled\n", sent.len());
    mail.close().await;
}

async fn wake(mail: Arc<Mail>, dir: &Path) {
    let (ann, bob) = (agent(&mail, "ann", "dev").await, agent(&mail, "bob", "dev").await);
    let mut file = File::create(dir.join("floor")).unwrap();
    let (mut floor, mut woken) = (Times(Vec::new()), Times(Vec::new()));
    for _ in 0..400 {
        floor.0.push(append(&mut file, &[7; SEND_BYTES]));
        let (waiting, session) = (mail.clone(), bob.clone());
        let waiter = tokio::spawn(async move {
            let waited = waiting.wait(&session, WaitRequest::default()).await.unwrap();
            (waited.messages.len(), Instant::now())
        });
        while mail.waiting() == 0 {
            tokio::task::yield_now().await;
        }
        let begin = Instant::now();
        mail.send(&ann, message("bob")).await.unwrap();
        let (count, at) = waiter.await.unwrap();
        assert_eq!(count, 1);
        woken.0.push(at - begin);
    }
    println!("send to wake of a blocked waiter\n  floor  {floor}\n  wake   {woken}");
    println!("  p50 is the floor and {:.2} ms\n", woken.at(50) - floor.at(50));
    mail.close().await;
}

async fn idle(dir: &Path) {
    let mail = open(&dir.join("idle.db")).await;
    let mut sessions = Vec::new();
    for index in 0..1_000 {
        sessions.push(agent(&mail, &format!("w{index}"), "idle").await);
    }
    let before = resident();
    let mut waiters = tokio::task::JoinSet::new();
    for session in sessions {
        let mail = mail.clone();
        waiters.spawn(async move {
            let request = WaitRequest { timeout: Duration::from_secs(600), floor: Floor::All, ..Default::default() };
            mail.wait(&session, request).await.unwrap()
        });
    }
    while mail.waiting() < 1_000 {
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await; // sleeps: until all is quiet
    let (grown, busy) = (resident().saturating_sub(before), processor_ticks());
    tokio::time::sleep(Duration::from_secs(5)).await; // sleeps: what is measured is idleness
    let used = processor_ticks() - busy;
    println!("1,000 idle waiters\n  memory {grown} KiB more\n  cpu    {} ms in 5 s\n", used * 10);
    waiters.abort_all();
    while waiters.join_next().await.is_some() {}
    mail.close().await;
}

async fn large(dir: &Path) {
    let number = |name, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (agents, messages) = (number("MAIL_BENCH_AGENTS", 20), number("MAIL_BENCH_MESSAGES", 10_000));
    let mail = open(&dir.join("large.db")).await;
    let ann = agent(&mail, "ann", "sender").await;
    let mut boxes = Vec::new();
    for index in 0..agents {
        boxes.push(agent(&mail, &format!("b{index}"), "box").await);
    }
    let mut fill = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (mail, ann) = (mail.clone(), ann.clone());
        fill.spawn(async move {
            for _ in 0..messages / 20 {
                mail.send(&ann, message("role:box")).await.unwrap();
            }
        });
    }
    fill.join_all().await;
    let (mut check, mut look) = (Times(Vec::new()), Times(Vec::new()));
    for round in 0..1_000 {
        let session = &boxes[round % boxes.len()];
        let begin = Instant::now();
        let seen = mail.read_mailbox(session, 0, Floor::All, 50).await.unwrap();
        look.0.push(begin.elapsed());
        assert_eq!(seen.messages.len(), 50);
        let begin = Instant::now();
        let checked = mail.check(session, CheckRequest::default()).await.unwrap();
        check.0.push(begin.elapsed());
        assert!(checked.messages.len() == 50 || checked.remaining == 0);
    }
    println!(
        "{agents} mailboxes of {messages}\n  check of 50 with what remains  {check}\n  look at 50 with what remains   {look}"
    );
    mail.close().await;
}

/// Resident memory of this process, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Time on processors, in ticks of 10 ms.
fn processor_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after_name: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    after_name[11].parse::<u64>().unwrap() + after_name[12].parse::<u64>().unwrap()
}
