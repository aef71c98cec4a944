//! Repeated power failures: SQLite writes through a VFS that tracks unsynced data ([`vfs`]), and the store is opened
//! from the contents that a disk may have at many moments ([`disk`]). Every acknowledged send is there exactly once.
//! Each run of the store starts with the files that survived the previous failure.
//!
//! A failing test prints its seed; `MAIL_TEST_SEED` sets it.

mod disk;
#[allow(unsafe_code)]
mod vfs;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use mail::store::Store;
use mail::{CheckRequest, Clock, Limits, SendRequest};
use rusqlite::Connection;
use testkit::Random;

use crate::crash::{MAILBOXES, count_copies};
use crate::fixture::{ManualClock, StoreFixture, open_sqlite};
use disk::{Disk, Event, Files, SurvivingFiles};

const SENDERS: usize = 4;
/// The sends of one sender in one run.
const SENDS: usize = 40;
/// The runs of the store, and the power failures in each.
const LIVES: usize = 12;
const CUTS: usize = 34;
const DATABASE: &str = "mail.db";

/// The number of mailboxes that each acknowledged message is in.
type Acknowledged = BTreeMap<String, usize>;

/// The findings after power failures.
#[derive(Debug, Default)]
struct Findings {
    cuts: usize,
    /// Failures with something unsynced; the others prove nothing.
    lossy: usize,
    acknowledged: usize,
    /// The number of checkpoints of the log, and of restarts afterwards.
    copied: usize,
    begun_anew: usize,
    lost: usize,
    surplus: usize,
    damaged: Vec<String>,
}

impl Findings {
    fn saw(&mut self, events: &[Event]) {
        for event in events {
            match event {
                Event::Acknowledged { .. } => self.acknowledged += 1,
                Event::Sync { file } if file.ends_with(DATABASE) => self.copied += 1,
                Event::Write { file, at: 0, .. } if !file.ends_with(DATABASE) => self.begun_anew += 1,
                _ => {}
            }
        }
    }
}

fn seed() -> u64 {
    std::env::var("MAIL_TEST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(4)
}

fn put(left: &SurvivingFiles, folder: &Path) {
    std::fs::create_dir(folder).unwrap();
    left.iter().for_each(|(name, content)| std::fs::write(folder.join(name), content).unwrap());
}

/// Returns a run of the store: it begins with the files there, and goes on until all is sent. Returns the events.
async fn live(folder: &Path, is_hasty: bool) -> Vec<Event> {
    let disk = Disk::watched(folder, is_hasty);
    vfs::watch(&disk);
    let limits = Limits { mailbox_messages: 1_000_000, ..Limits::default() };
    let store = Arc::new(open_sqlite(&folder.join(DATABASE), Clock::system(), &limits).unwrap());
    let fixture = StoreFixture::with(store.clone(), limits, ManualClock(Clock::manual(0).1), Box::new(())).await;
    let mut work = tokio::task::JoinSet::new();
    for index in 0..MAILBOXES {
        let (mail, session) = (fixture.mail.clone(), fixture.agent(&format!("b{index}"), "box").await);
        // Leases and confirmations in between wait for no sync.
        work.spawn(async move {
            for _ in 0..SENDS {
                mail.check(&session, CheckRequest { limit: 3, ..CheckRequest::default() }).await.unwrap();
                tokio::task::yield_now().await;
            }
        });
    }
    for index in 0..SENDERS {
        let (mail, session) = (fixture.mail.clone(), fixture.agent(&format!("s{index}"), "load").await);
        let disk = Arc::clone(&disk);
        work.spawn(async move {
            for count in 0..SENDS {
                let to = if count % 5 == 0 { "role:box".to_owned() } else { format!("b{}", count % MAILBOXES) };
                let content = format!("{index}/{count} {}", "x".repeat(count * 900 % 2_500));
                let sent = mail.send(&session, SendRequest { to: vec![to], content, ..SendRequest::default() }).await;
                let sent = sent.unwrap();
                disk.saw(Event::Acknowledged { id: sent.id.to_string(), recipients: sent.recipients.len() });
            }
        });
    }
    while let Some(done) = work.join_next().await {
        done.unwrap();
    }
    let events = disk.end();
    store.close().await;
    vfs::forget(folder);
    events
}

/// Opens the surviving files, as the next daemon would, and checks every acknowledged message.
async fn examine_store(left: &SurvivingFiles, folder: &Path, acknowledged: &Acknowledged, into: &mut Findings) {
    put(left, folder);
    vfs::watch(&Disk::unwatched(folder));
    let path = folder.join(DATABASE);
    match open_sqlite(&path, Clock::system(), &Limits::default()) {
        Err(error) => into.damaged.push(error.to_string()),
        Ok(store) => {
            // This fails if a message is twice in a mailbox.
            let found = count_copies(&store).await;
            into.lost += acknowledged.iter().filter(|(id, count)| found.get(*id) != Some(count)).count();
            // Each sender had at most one send in flight.
            into.surplus = into.surplus.max(found.len().saturating_sub(acknowledged.len()));
            let sound: String = Connection::open(&path)
                .and_then(|db| db.query_row("PRAGMA integrity_check", [], |row| row.get(0)))
                .unwrap_or_else(|error| error.to_string());
            into.damaged.extend(Some(sound).filter(|sound| sound != "ok"));
            store.close().await;
        }
    }
    vfs::forget(folder);
    std::fs::remove_dir_all(folder).unwrap();
    into.cuts += 1;
}

/// Runs the store repeatedly, each time with some power failures.
async fn fail_again_and_again(lives: usize, cuts: usize, is_hasty: bool) -> Findings {
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random::new(seed());
    let (mut left, mut acknowledged, mut result) = (SurvivingFiles::new(), Acknowledged::new(), Findings::default());
    let mut unacknowledged = 0;
    for life in 0..lives {
        let folder = dir.path().join(format!("life-{life}"));
        put(&left, &folder);
        if life == 0 {
            // The trace of system calls covers making the file: SQLite syncs the folder without the VFS.
            let store = open_sqlite(&folder.join(DATABASE), Clock::system(), &Limits::default()).unwrap();
            store.close().await;
            left = [(DATABASE.into(), std::fs::read(folder.join(DATABASE)).unwrap())].into();
        }
        let events = live(&folder, is_hasty).await;
        result.saw(&events);
        std::fs::remove_dir_all(&folder).unwrap();
        let mut moments: Vec<usize> = (0..cuts).map(|_| random.below(events.len() + 1)).collect();
        moments.sort_unstable();
        let (mut files, mut at, goes_on) = (Files::after(&left), 0, random.below(cuts));
        let mut next = None;
        for (number, moment) in moments.into_iter().enumerate() {
            for event in &events[at..moment] {
                files.happened(event);
                if let Event::Acknowledged { id, recipients } = event {
                    acknowledged.insert(id.clone(), *recipients);
                }
            }
            at = moment;
            let cut = files.cut(&mut random);
            result.lossy += usize::from(files.has_pending());
            examine_store(&cut, &dir.path().join("cut"), &acknowledged, &mut result).await;
            assert!(
                result.surplus <= unacknowledged + SENDERS,
                "{} messages that nobody sent (seed {})",
                result.surplus,
                seed()
            );
            if number == goes_on {
                next = Some((cut, acknowledged.clone()));
            }
        }
        (left, acknowledged) = next.unwrap();
        unacknowledged += SENDERS;
    }
    result
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_send_survives_power_cuts_exactly_once_long_run() {
    let found = fail_again_and_again(LIVES, CUTS, false).await;
    let Findings { cuts, lossy, acknowledged, copied, begun_anew, lost, .. } = found;
    eprintln!(
        "{cuts} power cuts, {lossy} with something not synced, in {acknowledged} acknowledged sends: {lost} lost"
    );
    eprintln!("meanwhile the log was copied {copied} times, and written from its beginning {begun_anew} times");
    assert_eq!((lost, found.damaged.len()), (0, 0), "seed {}: {:?}", seed(), found.damaged);
    assert!(cuts == LIVES * CUTS && lossy > cuts / 2, "the cuts were harmless: {found:?}");
    assert!(copied > 0 && begun_anew > LIVES, "no log was written over: {found:?}");
}

/// The control: the same with commits that wait for no sync.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_did_not_wait_for_the_disk_would_lose_acknowledged_sends() {
    let found = fail_again_and_again(1, 60, true).await;
    eprintln!("{} power cuts without syncs: {} lost", found.cuts, found.lost);
    assert!(found.lost > 0, "the disk loses nothing: {found:?}");
    assert_eq!(found.damaged, [] as [String; 0], "only what is new is lost");
}
