//! The writing process is killed at random moments and between any two steps on the disk. Every acknowledged send is
//! there exactly once, every other at most once.
//!
//! The writing process is this test binary (see [`writes_until_it_is_killed`]). A killed process loses nothing that the
//! kernel has, so there is a harder test. It replays a trace of the system calls into files that contain only the data
//! synced at some moment, as after a crash of the machine.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use mail::store::Store;
use mail::store::query::{Among, Fetch};
use mail::{AgentName, Clock, Floor, Limits, SendRequest};

use crate::fixture::{ManualClock, StoreFixture, open_sqlite};

const WRITER: &str = "MAIL_TEST_WRITES_TO";
const SENDERS: usize = 6;
pub(crate) const MAILBOXES: usize = 3;

/// Returns the number of kills; `MAIL_TEST_KILLS` overrides it.
fn kills() -> usize {
    std::env::var("MAIL_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

/// Not a separate test: the process that is killed. It prints the id of each message once it is acknowledged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(WRITER) else { return };
    let limits = Limits { mailbox_messages: 1_000_000, ..Limits::default() };
    let store = Arc::new(open_sqlite(Path::new(&path), Clock::system(), &limits).unwrap());
    let (_, hand) = Clock::manual(0);
    let fixture = StoreFixture::with(store, limits, ManualClock(hand), Box::new(())).await;
    let mut readers = Vec::new();
    for index in 0..MAILBOXES {
        readers.push(fixture.agent(&format!("b{index}"), "box").await);
    }
    let mut work = tokio::task::JoinSet::new();
    for index in 0..SENDERS {
        let session = fixture.agent(&format!("s{index}"), "load").await;
        let mail = fixture.mail.clone();
        work.spawn(async move {
            for count in 0usize.. {
                let to = if count % 5 == 0 { "role:box".to_owned() } else { format!("b{}", count % MAILBOXES) };
                let content = format!("{index}/{count} {}", "x".repeat(count % 700));
                let sent = mail.send(&session, SendRequest { to: vec![to], content, ..SendRequest::default() }).await;
                let sent = sent.unwrap();
                // One write, so that the line is whole or absent.
                let line = format!("acknowledged {} {}\n", sent.id, sent.recipients.len());
                rustix::io::write(rustix::stdio::stdout(), line.as_bytes()).unwrap();
            }
        });
    }
    // Leases and confirmations in between wait for no sync.
    for session in readers {
        let mail = fixture.mail.clone();
        work.spawn(async move {
            loop {
                mail.check(&session, mail::CheckRequest { limit: 3, ..Default::default() }).await.unwrap();
                tokio::task::yield_now().await;
            }
        });
    }
    work.join_next().await;
}

/// Starts the writer, through the command `by` unless that is empty.
fn start(db: &Path, by: &[&str]) -> Child {
    let this = std::env::current_exe().unwrap();
    let mut command = match by {
        [] => Command::new(&this),
        [program, args @ ..] => {
            let mut command = Command::new(program);
            command.args(args).arg(&this);
            command
        }
    };
    command.args(["--exact", "crash::writes_until_it_is_killed", "--nocapture"]);
    command.env(WRITER, db).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Parses an acknowledgement: the message, and the number of mailboxes that it is in.
fn acknowledgement(line: &str) -> Option<(String, usize)> {
    let (id, recipients) = line.split_once("acknowledged ")?.1.split_once(' ')?;
    Some((id.to_owned(), recipients.trim().parse().ok()?))
}

/// Returns the number of mailboxes that each message is in. Fails if a message is twice in one mailbox.
pub(crate) async fn count_copies(store: &dyn Store) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for index in 0..MAILBOXES {
        let agent = AgentName::new(&format!("b{index}")).unwrap();
        let (mut after, mut here) = (0, BTreeSet::new());
        loop {
            let fetch = Fetch { agent: agent.clone(), after, floor: Floor::All, among: Among::All, limit: 10_000 };
            let page = store.query(fetch).await.unwrap().messages;
            let Some(last) = page.last() else { break };
            after = last.seq;
            for message in page {
                assert!(here.insert(message.id.to_string()), "{} is twice in {agent}", message.id);
            }
        }
        here.into_iter().for_each(|id| *found.entry(id).or_default() += 1);
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_send_survives_kill_9_exactly_once() {
    let dir = tempfile::tempdir().unwrap();
    let (mut acknowledged, mut unacknowledged) = (BTreeMap::new(), 0);
    let mut db = PathBuf::new();
    for kill in 0..kills() {
        if kill % 10 == 0 {
            db = dir.path().join(format!("mail-{kill}.db"));
            acknowledged.clear();
            unacknowledged = 0;
        }
        let mut writer = start(&db, &[]);
        let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        // A different number of messages each time, from none to 96.
        let wanted = (kill * 7_919) % 97;
        let mut seen = 0;
        while seen < wanted {
            let Some(Ok(line)) = lines.next() else { panic!("the writer ended by itself") };
            if let Some((id, recipients)) = acknowledgement(&line) {
                acknowledged.insert(id, recipients);
                seen += 1;
            }
        }
        writer.kill().unwrap();
        // Lines that the writer printed before it died count too.
        acknowledged.extend(lines.map_while(Result::ok).filter_map(|line| acknowledgement(&line)));
        writer.wait().unwrap();
        let limits = Limits::default();
        let store = open_sqlite(&db, Clock::system(), &limits).unwrap();
        let found = count_copies(&store).await;
        store.close().await;
        for (id, recipients) in &acknowledged {
            assert_eq!(found.get(id), Some(recipients), "kill {kill}: acknowledged, not whole: {id}");
        }
        let extra = found.len() - acknowledged.len();
        assert!(extra <= unacknowledged + SENDERS, "kill {kill}: {extra} messages that nobody sent");
        unacknowledged = extra;
    }
    eprintln!("{} kills: of the last {} acknowledged sends 0 lost, 0 doubled", kills(), acknowledged.len());
}

/// A step on the disk, as the trace shows it.
enum Step {
    Write {
        file: String,
        at: u64,
        bytes: Vec<u8>,
    },
    Truncate {
        file: String,
        length: u64,
    },
    Sync {
        file: String,
    },
    Unlink {
        file: String,
    },
    /// A second name for a file, whose first name may then be removed.
    Link {
        from: String,
        to: String,
    },
    /// The folder's list of names is on disk.
    SyncFolder,
    Acknowledged {
        id: String,
        recipients: usize,
    },
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_send_survives_the_loss_of_all_that_was_not_synced() {
    lose_what_was_not_synced(&[]).await;
}

/// Some file systems cannot rename without replacing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn so_it_does_where_a_rename_cannot_promise_to_replace_nothing() {
    lose_what_was_not_synced(&["-e", "inject=renameat2:error=EINVAL"]).await;
}

async fn lose_what_was_not_synced(faults: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let (db, trace) = (dir.path().join("mail.db"), dir.path().join("trace"));
    let Some(steps) = traced(&db, &trace, faults) else { return };
    let acknowledged = steps.iter().filter(|step| matches!(step, Step::Acknowledged { .. })).count();
    assert!(acknowledged >= 100, "the trace shows {acknowledged} sends only");
    for (at, step) in steps.iter().enumerate() {
        let Step::Acknowledged { id, .. } = step else { continue };
        let written = steps.iter().position(|step| matches!(step, Step::Write { bytes, .. } if holds(bytes, id)));
        let written = written.unwrap_or_else(|| panic!("{id} was acknowledged and never written"));
        let mut between = steps[written..at].iter();
        assert!(
            between.any(|step| matches!(step, Step::Sync { file } if file.ends_with("-wal"))),
            "no sync between writing {id} and its acknowledgement"
        );
    }
    let syncs = steps.iter().filter(|step| matches!(step, Step::Sync { .. })).count();
    // The machine crashes after each of many steps, and after the last.
    let mut points = 0;
    for end in (0..=steps.len()).filter(|end| end % 41 == 0 || *end == steps.len()) {
        let crashed = dir.path().join(format!("crash-{end}"));
        std::fs::create_dir(&crashed).unwrap();
        let acknowledged = leave(&steps[..end], &crashed);
        let path = crashed.join("mail.db");
        let store = open_sqlite(&path, Clock::system(), &Limits::default())
            .unwrap_or_else(|error| panic!("a crash after step {end} left no store: {error}"));
        let found = count_copies(&store).await;
        store.close().await;
        for (id, recipients) in &acknowledged {
            assert_eq!(found.get(id), Some(recipients), "a crash after step {end} lost {id}");
        }
        std::fs::remove_dir_all(&crashed).unwrap();
        points += 1;
    }
    eprintln!("{points} crashes over {} steps, {syncs} syncs, {acknowledged} sends: 0 lost, 0 doubled", steps.len());
    assert!(points > 20);
}

fn holds(bytes: &[u8], text: &str) -> bool {
    let (first, text) = (text.as_bytes()[0], text.as_bytes());
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| *byte == first) {
        if bytes[from + at..].starts_with(text) {
            return true;
        }
        from += at + 1;
    }
    false
}

/// Runs the writer for a while under a tracer, and reads the steps that it made on its files.
fn traced(db: &Path, trace: &Path, faults: &[&str]) -> Option<Vec<Step>> {
    let out = trace.to_str().unwrap();
    let calls = "trace=pwrite64,write,ftruncate,fsync,fdatasync,unlink,renameat2,linkat";
    let by = ["strace", "-f", "-y", "-xx", "-s", "2000000", "-o", out, "-e", calls];
    let by = [&by, faults].concat();
    let works = Command::new("strace").args(["-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    assert!(works.is_ok() || std::env::var_os("CI").is_none(), "strace is required here: cargo xtask setup tests");
    if !works.is_ok_and(|status| status.success()) {
        eprintln!("skipped: what lost syncs leave: strace is not here, or may not trace");
        return None;
    }
    let mut writer = start(db, &by);
    let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let seen = lines.map_while(Result::ok).filter(|line| acknowledgement(line).is_some()).take(150).count();
    assert_eq!(seen, 150);
    // The pipe has no reader now, so the writer exits at its next line, and the tracer with it.
    writer.wait().unwrap();
    Some(parse(&std::fs::read_to_string(trace).unwrap()))
}

/// Parses the tracer's lines. A call that another thread interrupts is in two pieces; it counts where it ended, since
/// only then was it done.
fn parse(text: &str) -> Vec<Step> {
    let mut open: BTreeMap<&str, String> = BTreeMap::new();
    let mut steps = Vec::new();
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        let whole = if let Some(begin) = rest.strip_suffix("<unfinished ...>") {
            open.insert(thread, begin.to_owned());
            continue;
        } else if rest.starts_with("<... ") {
            let Some(mut begin) = open.remove(thread) else { continue };
            begin.push_str(rest.split_once("resumed>").map_or("", |(_, end)| end));
            begin
        } else {
            rest.to_owned()
        };
        steps.extend(step(&whole));
    }
    steps
}

fn step(call: &str) -> Option<Step> {
    let (name, rest) = call.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(" = ")?;
    let arguments = arguments.trim_end().strip_suffix(')')?;
    let result: i64 = result.split_whitespace().next()?.parse().ok()?;
    if result < 0 {
        // A call that failed changed nothing: the trace holds what the writer did instead, or it acknowledged a loss.
        return None;
    }
    if let "renameat2" | "linkat" = name {
        let mut names = arguments.split('"').skip(1).step_by(2).map(|name| String::from_utf8(unescape(name)).unwrap());
        let (from, to) = (names.next()?, names.next()?);
        return to.contains("mail.db").then_some(Step::Link { from, to });
    }
    if name == "unlink" {
        let file = String::from_utf8(unescape(arguments.trim_matches('"'))).unwrap();
        return file.contains("mail.db").then_some(Step::Unlink { file });
    }
    let file = unescape(arguments.split_once('<')?.1.split_once('>')?.0);
    let file = String::from_utf8_lossy(&file).into_owned();
    let in_store = file.contains("mail.db") && !file.ends_with("-shm");
    match name {
        "pwrite64" if in_store => {
            let (bytes, rest) = arguments.split_once('"')?.1.split_once('"')?;
            let at = rest.rsplit_once(", ")?.1.trim().parse().expect("a place in the file");
            Some(Step::Write { file, at, bytes: unescape(bytes) })
        }
        "ftruncate" if in_store => {
            Some(Step::Truncate { file, length: arguments.rsplit_once(", ")?.1.trim().parse().expect("a length") })
        }
        "fsync" | "fdatasync" if in_store => Some(Step::Sync { file }),
        "fsync" | "fdatasync" if Path::new(&file).is_dir() => Some(Step::SyncFolder),
        "write" => {
            let text = unescape(arguments.split_once('"')?.1.split_once('"')?.0);
            let (id, recipients) = acknowledgement(std::str::from_utf8(&text).ok()?)?;
            Some(Step::Acknowledged { id, recipients })
        }
        _ => None,
    }
}

/// Decodes `\x2f\x74` to `/t`; all other text stays.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4);
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        if let [b'\\', b'x', high, low, tail @ ..] = rest {
            let digit = |c: &u8| char::from(*c).to_digit(16).unwrap() as u8;
            bytes.push(digit(high) * 16 + digit(low));
            rest = tail;
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    bytes
}

/// Writes the files as in the worst case after a crash at these steps: only synced data. Returns the sends acknowledged
/// by then.
fn leave(steps: &[Step], into: &Path) -> Vec<(String, usize)> {
    let mut now: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    let mut synced: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    let (mut acknowledged, mut unlinked, mut linked) = (Vec::new(), Vec::new(), Vec::new());
    for step in steps {
        match step {
            Step::Unlink { file } => {
                now.remove(&**file);
                unlinked.push(&**file);
            }
            Step::Link { from, to } => {
                if let Some(content) = now.get(&**from).cloned() {
                    now.insert(to, content);
                }
                linked.push((&**from, &**to));
            }
            Step::SyncFolder => {
                for (from, to) in linked.drain(..) {
                    if let Some(content) = synced.get(from).cloned() {
                        synced.insert(to, content);
                    }
                }
                unlinked.drain(..).for_each(|file| drop(synced.remove(file)));
            }
            Step::Write { file, at, bytes } => {
                let content = now.entry(file).or_default();
                let at = *at as usize;
                content.resize(content.len().max(at + bytes.len()), 0);
                content[at..at + bytes.len()].copy_from_slice(bytes);
            }
            Step::Truncate { file, length } => now.entry(file).or_default().resize(*length as usize, 0),
            Step::Sync { file } => drop(synced.insert(file, now.get(&**file).cloned().unwrap_or_default())),
            Step::Acknowledged { id, recipients } => acknowledged.push((id.clone(), *recipients)),
        }
    }
    for (file, content) in synced {
        let name = Path::new(file).file_name().unwrap();
        std::fs::write(into.join(name), content).unwrap();
    }
    acknowledged
}
