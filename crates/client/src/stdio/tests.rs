//! The front-end against a daemon that dies at every interesting point. Both run in this process: to the front-end, a
//! killed daemon is a closed socket.

use super::*;
use crate::test_socket::listen;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use mcp::wire::Id;
use project::{HelloAck, Role};
use rustix::event::{PollFd, PollFlags};
use serde_json::Value;

/// The point at which a fake daemon's process ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Death {
    Never,
    BeforeAck,
    /// After reading this many lines, the last one unanswered.
    AfterLines(usize),
    /// After this many bytes of answers, in the middle of any of them.
    AfterBytes(usize),
    /// Before reading anything after the hello.
    Deaf,
    /// When data has arrived after the hello that it never reads.
    Unread,
}

/// The activity of all fake daemon processes.
#[derive(Default)]
struct Record {
    ran: Mutex<HashMap<String, u32>>,
    lives: Mutex<Vec<Death>>,
    methods: Mutex<Vec<String>>,
    stop: AtomicBool,
}

struct Fake {
    project: Project,
    record: Arc<Record>,
    thread: Option<thread::JoinHandle<()>>,
    _temp: tempfile::TempDir,
}

impl Fake {
    /// Creates a daemon that dies these deaths, one after the other, and then survives.
    fn new(deaths: Vec<Death>) -> Fake {
        let temp = tempfile::tempdir().unwrap();
        let project = Project::find(Some(temp.path()), Path::new("/")).unwrap();
        let record = Arc::new(Record::default());
        let path = project.socket_path().unwrap();
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path.parent().unwrap()).unwrap();
        let thread = {
            let record = record.clone();
            thread::spawn(move || {
                let deaths = deaths.into_iter().chain(std::iter::repeat(Death::Never));
                for (number, death) in deaths.enumerate() {
                    if record.stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let _ = fs::remove_file(&path);
                    let listener = listen(&path);
                    record.lives.lock().unwrap().push(death);
                    let (stream, _) = listener.accept().unwrap();
                    // Closed before the stream, so that no front-end connects to an ended process.
                    let life = Life { record: &record, number, death, sent: 0, lines: 0 };
                    drop(listener);
                    let _ = life.serve(stream);
                }
            })
        };
        Fake { project, record, thread: Some(thread), _temp: temp }
    }

    /// Returns a program that claims to have started a daemon; the next fake process starts on its own.
    fn launch(&self) -> Launch {
        Launch {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), r#"echo '{"ready":true}'"#.into(), "sh".into()],
        }
    }

    fn front_end(&self) -> Agent {
        let project = self.project.clone();
        Agent::new(self.launch(), move || {
            let mut hello = Hello::new(Role::Mcp, &project, project.root());
            hello.env = BTreeMap::new();
            Ok((project.clone(), hello))
        })
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.record.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It may be between two processes, and thus unreachable.
            while !thread.is_finished() {
                let _ = UnixStream::connect(self.project.socket_path().unwrap());
                thread::yield_now();
            }
            let result = thread.join();
            assert!(result.is_ok() || thread::panicking());
        }
        let _ = fs::remove_file(self.project.socket_path().unwrap());
    }
}

struct Life<'a> {
    record: &'a Record,
    number: usize,
    death: Death,
    sent: usize,
    lines: usize,
}

/// The end of a fake process.
struct Dead;

impl Life<'_> {
    fn serve(mut self, stream: UnixStream) -> Result<(), Dead> {
        let mut reader = BufReader::new(stream.try_clone().map_err(|_| Dead)?);
        let mut line = String::new();
        reader.read_line(&mut line).map_err(|_| Dead)?;
        if matches!(self.death, Death::BeforeAck) {
            return Err(Dead);
        }
        let ack = HelloAck::accepted(1, &format!("life-{}", self.number));
        (&stream).write_all(&ack.to_line()).map_err(|_| Dead)?;
        if matches!(self.death, Death::Deaf) {
            return Err(Dead);
        }
        if matches!(self.death, Death::Unread) {
            let mut readable = [PollFd::new(&stream, PollFlags::IN)];
            rustix::event::poll(&mut readable, None).map_err(|_| Dead)?;
            return Err(Dead);
        }
        loop {
            line.clear();
            if reader.read_line(&mut line).map_err(|_| Dead)? == 0 || !line.ends_with('\n') {
                return Ok(());
            }
            self.line(&stream, &line)?;
        }
    }

    fn line(&mut self, stream: &UnixStream, line: &str) -> Result<(), Dead> {
        let message: Value = serde_json::from_str(line).expect("whole lines of JSON only");
        let method = message["method"].as_str().unwrap_or("-").to_owned();
        self.record.methods.lock().unwrap().push(method.clone());
        let (id, text) = (&message["id"], message["params"]["arguments"]["text"].clone());
        if method == "tools/call" {
            *self.record.ran.lock().unwrap().entry(id.to_string()).or_default() += 1;
        }
        self.lines += 1;
        if matches!(self.death, Death::AfterLines(lines) if self.lines >= lines) {
            return Err(Dead);
        }
        let answer = match (method.as_str(), message["params"]["name"].as_str()) {
            _ if id.is_null() => return Ok(()),
            ("tools/call", Some("big")) => format!("{{\"big\":\"{}\"}}", "x".repeat(1_000_000)),
            ("tools/call", Some("progress")) => {
                let token = &message["params"]["_meta"]["progressToken"];
                let params = format!(r#"{{"progressToken":{token},"progress":1}}"#);
                let mut out = Vec::new();
                build::notification(&mut out, "notifications/progress", Some(&params));
                build::result(&mut out, &Id::from_json(&id.to_string()).unwrap(), "{}");
                return self.send(stream, &out);
            }
            ("tools/call", _) => format!("{{\"echo\":{text}}}"),
            ("initialize", _) => r#"{"protocolVersion":"2025-11-25"}"#.to_owned(),
            _ => "{}".to_owned(),
        };
        let mut out = Vec::new();
        build::result(&mut out, &Id::from_json(&id.to_string()).unwrap(), &answer);
        self.send(stream, &out)
    }

    fn send(&mut self, mut stream: &UnixStream, bytes: &[u8]) -> Result<(), Dead> {
        let mut count = bytes.len();
        if let Death::AfterBytes(limit) = self.death {
            count = count.min(limit.saturating_sub(self.sent));
        }
        stream.write_all(&bytes[..count]).map_err(|_| Dead)?;
        self.sent += count;
        if count < bytes.len() { Err(Dead) } else { Ok(()) }
    }
}

/// The agent's side of a front-end that runs on a thread.
struct Agent {
    input: Option<File>,
    lines: mpsc::Receiver<(usize, String)>,
    thread: Option<thread::JoinHandle<io::Result<bool>>>,
}

impl Agent {
    fn new(launch: Launch, locate: impl FnMut() -> Result<(Project, Hello), String> + Send + 'static) -> Agent {
        let (stdin, input) = rustix::pipe::pipe().unwrap();
        let (output, stdout) = rustix::pipe::pipe().unwrap();
        let stdout = Output::new(stdout).unwrap();
        let thread = thread::spawn(move || serve(stdin, stdout, Box::new(locate), launch));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            // Data of one read is identified by its number, as the peer of a real agent would see it.
            let (mut output, mut rest) = (File::from(output), Vec::new());
            let mut chunk = vec![0; 64 * 1024];
            for number in 0.. {
                match output.read(&mut chunk) {
                    Ok(count @ 1..) => rest.extend_from_slice(&chunk[..count]),
                    _ => break,
                }
                while let Some(end) = memchr::memchr(b'\n', &rest) {
                    let line = rest.drain(..=end).collect::<Vec<_>>();
                    let line = String::from_utf8(line).unwrap();
                    if sender.send((number, line.trim_end().to_owned())).is_err() {
                        return;
                    }
                }
            }
            assert!(rest.is_empty(), "a torn line: {}", String::from_utf8_lossy(&rest));
        });
        Agent { input: Some(input.into()), lines, thread: Some(thread) }
    }

    fn send(&mut self, lines: &str) {
        self.input.as_mut().expect("open").write_all(lines.as_bytes()).unwrap();
    }

    fn receive(&self) -> Value {
        serde_json::from_str(&self.receive_numbered().1).expect("whole lines of JSON only")
    }

    fn receive_numbered(&self) -> (usize, String) {
        self.lines.recv_timeout(Duration::from_secs(30)).expect("an answer within 30 s")
    }

    /// Ends the input, and returns what still arrives.
    fn end(mut self) -> Vec<Value> {
        self.input = None;
        self.thread.take().expect("once").join().expect("no panic").expect("no error");
        self.lines.iter().map(|(_, line)| serde_json::from_str(&line).expect("JSON")).collect()
    }
}

fn call(id: u64, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"t{id}"}},"_meta":{{"progressToken":{id}}}}}}}"#
    ) + "\n"
}

fn plain(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#) + "\n"
}

const INITIALIZE: &str = "{\"jsonrpc\":\"2.0\",\"id\":\"init\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

fn has_run_or_may_have(answer: &Value, id: u64) {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    let right = answer["result"]["echo"] == format!("t{id}")
        || answer["result"]["big"].as_str().is_some_and(|big| big.len() == 1_000_000)
        || text.contains("may have run");
    assert!(right, "{answer}");
}

#[test]
fn a_conversation() {
    let fake = Fake::new(vec![]);
    let mut agent = fake.front_end();
    agent.send(INITIALIZE);
    assert_eq!(agent.receive()["result"]["protocolVersion"], "2025-11-25");
    agent.send(&call(1, "echo"));
    assert_eq!(agent.receive()["result"]["echo"], "t1");
    agent.send(&call(2, "big"));
    has_run_or_may_have(&agent.receive(), 2);
    assert!(agent.end().is_empty());
}

#[test]
fn what_is_in_flight_at_the_end_of_input_is_answered() {
    let fake = Fake::new(vec![]);
    let mut agent = fake.front_end();
    agent.send(&call(1, "big"));
    // The last line has no newline.
    agent.send(plain(2).trim_end());
    assert_eq!(agent.end().len(), 2);
}

#[test]
fn a_message_may_come_in_pieces() {
    let fake = Fake::new(vec![]);
    let mut agent = fake.front_end();
    for id in 1..20 {
        for piece in call(id, "echo").as_bytes().chunks(7) {
            agent.send(std::str::from_utf8(piece).unwrap());
        }
        assert_eq!(agent.receive()["result"]["echo"], format!("t{id}"));
    }
    agent.end();
}

#[test]
fn progress_comes_in_a_read_of_its_own() {
    let fake = Fake::new(vec![]);
    let mut agent = fake.front_end();
    for id in 0..50 {
        agent.send(&call(id, "progress"));
        let (first, progress) = agent.receive_numbered();
        let (second, answer) = agent.receive_numbered();
        assert!(progress.contains("notifications/progress") && answer.contains("result"));
        assert_ne!(first, second);
    }
    agent.end();
}

#[test]
fn each_way_to_die() {
    for death in [
        Death::BeforeAck,
        Death::Deaf,
        Death::Unread,
        Death::AfterLines(1),
        Death::AfterLines(3),
        Death::AfterBytes(1),
        Death::AfterBytes(100),
        Death::AfterBytes(500_000),
        Death::AfterBytes(1_000_200),
    ] {
        let fake = Fake::new(vec![death]);
        let mut agent = fake.front_end();
        agent.send(INITIALIZE);
        agent.send(&(call(1, "big") + &call(2, "echo") + &plain(3)));
        let mut answered: Vec<String> = (0..4).map(|_| agent.receive()["id"].to_string()).collect();
        answered.sort();
        assert_eq!(answered, ["\"init\"", "1", "2", "3"], "{death:?}");
        // The next call works, whatever happened before.
        agent.send(&call(4, "echo"));
        assert_eq!(agent.receive()["result"]["echo"], "t4", "{death:?}");
        assert!(agent.end().is_empty(), "{death:?}");
        assert!(fake.record.ran.lock().unwrap().values().all(|times| *times == 1), "{death:?}: a call ran twice");
    }
}

/// As right after a kill -9: the call is written to a socket without a reader, and can be repeated.
#[test]
fn a_call_that_no_daemon_read_is_made_of_the_next() {
    let fake = Fake::new(vec![Death::Unread, Death::Unread]);
    let mut agent = fake.front_end();
    agent.send(&call(1, "echo"));
    assert_eq!(agent.receive()["result"]["echo"], "t1");
    assert!(agent.end().is_empty());
    assert_eq!(fake.record.lives.lock().unwrap()[..2], [Death::Unread, Death::Unread]);
}

#[test]
fn an_idle_front_end_connects_again_when_it_is_needed() {
    let fake = Fake::new(vec![Death::AfterBytes(85), Death::AfterLines(3)]);
    let mut agent = fake.front_end();
    agent.send(INITIALIZE);
    assert_eq!(agent.receive()["id"], "init");
    agent.send(&plain(1));
    assert_eq!(agent.receive()["id"], 1);
    agent.end();
    let methods = fake.record.methods.lock().unwrap().clone();
    assert_eq!(methods.iter().filter(|method| *method == "initialize").count(), 3, "{methods:?}");
}

#[test]
fn without_a_daemon_the_agent_hears_why_and_the_next_request_tries_again() {
    let temp = tempfile::tempdir().unwrap();
    let project = Project::find(Some(temp.path()), Path::new("/")).unwrap();
    let launch = Launch {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), r#"echo '{"error":"the disk is full; make room"}'"#.into(), "sh".into()],
    };
    let mut agent = Agent::new(launch, move || Ok((project.clone(), Hello::new(Role::Mcp, &project, project.root()))));
    for _ in 0..2 {
        agent.send(INITIALIZE);
        let error = agent.receive();
        assert_eq!(error["error"]["message"], "no hob daemon is reachable: the disk is full; make room");
        assert_eq!(error["id"], "init");
    }
    assert!(agent.end().is_empty());

    let mut agent = Agent::new(Launch::default(), || Err("project directory /x: gone".to_owned()));
    agent.send(&plain(1));
    assert!(agent.receive()["error"]["message"].as_str().unwrap().ends_with("project directory /x: gone"));
    agent.end();
}

#[test]
fn a_hundred_random_deaths_long_run() {
    let seed = std::env::var("HOB_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(random);
    println!("HOB_TEST_SEED={seed}");
    let mut state = seed | 1;
    let mut below = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % limit as u64).unwrap()
    };
    let deaths: Vec<Death> = (0..100)
        .map(|_| match below(12) {
            0 => Death::BeforeAck,
            1 => Death::Deaf,
            2 => Death::Unread,
            3..6 => Death::AfterLines(1 + below(20)),
            6..9 => Death::AfterBytes(below(3_000)),
            _ => Death::AfterBytes(below(4_000_000)),
        })
        .collect();
    let fake = Fake::new(deaths);
    let mut agent = fake.front_end();
    agent.send(INITIALIZE);
    assert_eq!(agent.receive()["id"], "init");
    let (mut id, mut failed) = (0, 0);
    while fake.record.lives.lock().unwrap().len() <= 100 {
        // Eight calls or more, pipelined, mixed.
        let from = id;
        let mut batch = String::new();
        for _ in 0..8 + below(8) {
            id += 1;
            batch += &match below(8) {
                0 => call(id, "big"),
                1 | 2 => plain(id),
                _ => call(id, "echo"),
            };
        }
        agent.send(&batch);
        let mut answered = HashMap::new();
        for _ in from..id {
            let answer = agent.receive();
            let number = answer["id"].as_u64().expect("our ids are numbers");
            *answered.entry(number).or_insert(0) += 1;
            if answer["result"]["isError"] == true {
                failed += 1;
            }
            // A list that several daemons died over in a row is given up with an error.
            if answer["result"].get("echo").is_some() || answer["result"].get("isError").is_some() {
                has_run_or_may_have(&answer, number);
            }
        }
        let once = (from + 1..=id).all(|number| answered.get(&number) == Some(&1));
        assert!(once && answered.len() as u64 == id - from, "seed {seed}: {answered:?}");
    }
    agent.send(&call(0, "echo"));
    assert_eq!(agent.receive()["result"]["echo"], "t0", "seed {seed}");
    assert!(agent.end().is_empty(), "seed {seed}: answered twice");
    assert!(fake.record.ran.lock().unwrap().values().all(|times| *times == 1), "seed {seed}: a call ran twice");
    println!("{id} calls, {failed} of them failed by a death");
}
