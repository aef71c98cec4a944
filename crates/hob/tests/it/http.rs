//! `hob serve --http`: the real daemon over raw HTTP: valid requests, and each kind of request that is refused and logged
//! without affecting others.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use testkit::{Ran, TestProject, until};

use crate::{fresh, json_of};

/// A foreground daemon and its address.
pub(crate) struct Http {
    serve: Child,
    pub(crate) address: String,
    pub(crate) token: String,
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Http {
    /// Starts the daemon; no other daemon of the project may run.
    pub(crate) fn start(project: &TestProject) -> Http {
        let mut command = project.hob(["serve", "--http", "127.0.0.1:0"]);
        let mut serve = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(serve.stderr.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("Serving http://127.0.0.1:"), "{line}");
        let address = line.split_once("http://").unwrap().1.split_once("/mcp").unwrap().0.to_owned();
        let file = line.split_once("the token is in ").unwrap().1.split_once(". ").unwrap().0;
        assert_eq!(std::fs::metadata(file).unwrap().mode() & 0o777, 0o600);
        let token = std::fs::read_to_string(file).unwrap().trim_end().to_owned();
        Http { serve, address, token }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).unwrap()
    }

    /// Sends a request with these header lines, and returns the answer.
    fn send(&self, lines: &[&str], body: &str) -> Reply {
        exchange(&self.address, "POST /mcp", lines, body)
    }

    pub(crate) fn bearer(&self) -> String {
        format!("Authorization: Bearer {}", self.token)
    }

    /// Sends a valid request with additional header lines.
    fn post(&self, lines: &[&str], message: &Value) -> Reply {
        self.post_with(&self.token, lines, message)
    }

    /// Sends the same with a token.
    pub(crate) fn post_with(&self, token: &str, lines: &[&str], message: &Value) -> Reply {
        let (host, bearer) = (format!("Host: {}", self.address), format!("Authorization: Bearer {token}"));
        let own = ["Content-Type: application/json", "Accept: application/json, text/event-stream", &host, &bearer];
        self.send(&[&own[..], lines].concat(), &message.to_string())
    }

    /// Calls a tool with a stateless request, and returns the answer.
    pub(crate) fn call(&self, token: &str, tool: &str, arguments: Value) -> Value {
        let (lines, message) = modern(tool, arguments);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        self.post_with(token, &lines, &message).json()
    }

    pub(crate) fn stop(mut self, project: &TestProject) {
        project.run(["stop"]).ok();
        assert!(self.serve.wait().unwrap().success());
    }
}

/// Sends a request with these header lines to an address, and returns the answer.
pub(crate) fn exchange(address: &str, first: &str, lines: &[&str], body: &str) -> Reply {
    let mut stream = TcpStream::connect(address).unwrap();
    let (first, length) = (format!("{first} HTTP/1.1"), format!("Content-Length: {}", body.len()));
    let head = [&[&*first, "Connection: close", &length][..], lines].concat().join("\r\n");
    // A request that is refused by its header need not be read to its end.
    let _ = stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes());
    reply(stream)
}

fn log(project: &TestProject) -> String {
    let files = std::fs::read_dir(project.state_dir().join("log")).unwrap().flatten();
    files.map(|file| std::fs::read_to_string(file.path()).unwrap_or_default()).collect()
}

fn reply(mut stream: TcpStream) -> Reply {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Reply { status, head: head.to_owned(), body: body.to_owned() }
}

impl Reply {
    /// Returns the JSON of the body, or of the last event of a stream.
    pub(crate) fn json(&self) -> Value {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: ")).rfind(|data| data.len() > 1);
        let text = data.unwrap_or(&self.body);
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {} {}", self.head, self.body))
    }
}

pub(crate) fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"},
    }})
}

/// Builds a stateless tool call.
pub(crate) fn modern(tool: &str, arguments: Value) -> (Vec<String>, Value) {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
    });
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": tool, "arguments": arguments, "_meta": meta,
    }});
    let lines = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", &format!("Mcp-Name: {tool}")];
    (lines.map(str::to_owned).to_vec(), message)
}

#[test]
fn both_generations_share_the_sessions_of_the_daemon() {
    let project = fresh();
    let served = Http::start(&project);
    let answer = served.post(&[], &initialize());
    assert_eq!((answer.status, &answer.json()["result"]["protocolVersion"]), (200, &json!("2025-11-25")));
    let session = answer.head.lines().find(|line| line.to_ascii_lowercase().starts_with("mcp-session-id:")).unwrap();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(served.post(&[session], &initialized).status, 202);
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "repl_start", "arguments": {"profile": "bash"},
    }});
    let started = served.post(&[session, "MCP-Protocol-Version: 2025-11-25"], &call).json();
    assert_eq!(started["result"]["structuredContent"]["profile"], "bash", "{started:#}");
    let (lines, message) = modern("repl_eval", json!({"code": "echo $((6 * 7))"}));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let evaluated = served.post(&lines, &message).json();
    assert_eq!(evaluated["result"]["structuredContent"]["stdout"], "42\n", "{evaluated:#}");
    // A client of 2024-11-05 gets its stream, which does not end, with the token only.
    for (bearer, status) in [(served.bearer(), "HTTP/1.1 200"), ("X: ".to_owned(), "HTTP/1.1 401")] {
        let head = ["GET /sse HTTP/1.1", "Accept: text/event-stream", &format!("Host: {}", served.address), &bearer];
        let mut stream = served.connect();
        stream.write_all(format!("{}\r\n\r\n", head.join("\r\n")).as_bytes()).unwrap();
        let mut first = String::new();
        BufReader::new(stream).read_line(&mut first).unwrap();
        assert!(first.starts_with(status), "{first}");
    }
    // The same session, from an agent on stdio.
    let mut peer = project.mcp(&[]);
    peer.initialize();
    assert!(peer.call("repl_read", json!({"tail": true})).text.contains("42\n"));
    drop(peer);
    let status = project.run(["status"]).ok();
    assert!(status.contains(&format!("also serves http://{}/mcp, the token is in ", served.address)), "{status}");
    let shown = project.run(["init", "--http"]).ok();
    let claude = format!("claude mcp add --transport http hob http://{}/mcp --header", served.address);
    assert!(shown.contains("daemon serves HTTP") && shown.contains(&claude), "{shown}");
    assert!(!shown.contains(&served.token) && !log(&project).contains(&served.token), "the token is a secret");
    let curl = shown.lines().find(|line| line.starts_with("  curl ")).unwrap();
    if testkit::has_program("curl") {
        let mut command = project.command("sh");
        let ran = Ran::run(command.args(["-c", &format!("{curl} -s")]));
        assert!(ran.stdout.contains("\"protocolVersion\":\"2025-11-25\""), "{ran:#?}");
    }
    served.stop(&project);
}

#[test]
fn who_may_not_come_in_is_refused_and_logged_and_harms_nobody() {
    let project = fresh();
    let served = Http::start(&project);
    let host = format!("Host: {}", served.address);
    let body = initialize().to_string();
    let kind = "Content-Type: application/json";
    let accept = "Accept: application/json, text/event-stream";
    let bearer = served.bearer();
    let table: &[(&str, &[&str], u16, &str)] = &[
        ("no token", &[&host, kind, accept], 401, "a token is required"),
        ("another token", &[&host, kind, accept, "Authorization: Bearer no"], 401, "invalid token"),
        ("a foreign page", &[&host, kind, accept, &bearer, "Origin: http://evil.example"], 403, "evil.example"),
        ("another host", &["Host: evil.example", kind, accept, &bearer], 403, "unknown host"),
    ];
    for (what, lines, status, why) in table {
        let reply = served.send(lines, &body);
        assert_eq!(reply.status, *status, "{what}: {}", reply.body);
        assert!(reply.json()["error"]["message"].as_str().unwrap().contains(why), "{what}: {}", reply.body);
    }
    // Larger than the limit of a message: refused by its header, before the body is sent.
    let mut stream = served.connect();
    let head = ["POST /mcp HTTP/1.1", &host, kind, accept, &bearer, "Content-Length: 100000000"].join("\r\n");
    stream.write_all(format!("{head}\r\n\r\n").as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(reply(stream).status, 413);
    // Node sends a body whole before it reads the answer.
    if testkit::has_program("node") {
        let script = format!(
            "for (let n = 0; n < 20; n++) {{
               const answer = await fetch('http://{}/mcp', {{method: 'POST', body: ' '.repeat(20_000_000),
                 headers: {{authorization: 'Bearer {}', 'content-type': 'application/json'}}}});
               console.log(answer.status, (await answer.json()).error.message);
             }}",
            served.address, served.token
        );
        let ran = Ran::run(project.command("node").args(["--input-type=module", "-e", &script]));
        let line = "413 the body is larger than the limit of 16777216 bytes\n";
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), line.repeat(20).as_str()), "{}", ran.stderr);
    }
    let log = until("the refusals are logged", || Some(log(&project)).filter(|log| log.contains("413")));
    for status in [401, 403, 413] {
        assert!(log.contains(&format!("\"status\":{status}")), "{status} is not in: {log}");
    }
    assert_eq!(served.post(&[], &initialize()).status, 200);
    assert!(project.run(["call", "repl_list"]).ok().contains("No sessions"));
    served.stop(&project);
}

#[test]
fn a_crowd_without_a_token_leaves_no_memory_taken() {
    /// The minimum memory of the crowd, in bytes.
    const TAKEN: u64 = 6 << 20;
    /// The maximum memory that may remain in use.
    const LEFT: u64 = 3 << 20;
    let project = fresh();
    let served = Http::start(&project);
    let memory = || json_of(&project, &["status"])["daemon"]["memory_bytes"].as_u64().unwrap();
    assert_eq!(served.post(&[], &initialize()).status, 200);
    let before = memory();
    // Each is in the middle of the longest header allowed without a token.
    let head = format!("POST /mcp HTTP/1.1\r\nX-Slow: {}", "x".repeat(15_000));
    let mut crowd: Vec<TcpStream> = (0..400).map(|_| served.connect()).collect();
    crowd.iter_mut().for_each(|stream| stream.write_all(head.as_bytes()).unwrap());
    until("the crowd to be read", || (memory() > before + TAKEN).then_some(()));
    // Allocations made meanwhile may stay, but the memory of the connections is freed.
    assert_eq!(served.post(&[], &initialize()).status, 200);
    drop(crowd);
    until("its memory to be given back", || (memory() < before + LEFT).then_some(()));
    served.stop(&project);
}

#[test]
fn what_cannot_be_served_says_why() {
    let project = fresh();
    let refused = |address: &str| {
        let ran = project.run(["serve", "--http", address]);
        assert_ne!(ran.code, Some(0), "{ran:#?}");
        ran.stderr
    };
    let said = refused("0.0.0.0:7117");
    assert!(said.contains("on this machine only") && said.contains("127.0.0.1:7117"), "{said}");
    assert!(refused("7117").contains("such as 127.0.0.1:7117"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let said = refused(&taken.local_addr().unwrap().to_string());
    assert!(said.contains("Address already in use") && said.contains("another port"), "{said}");
    project.run(["call", "repl_list"]).ok();
    let shown = project.run(["init", "--http"]).ok();
    assert!(shown.contains("hob stop; hob serve --http 127.0.0.1:7117"), "{shown}");
}
