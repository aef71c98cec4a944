//! Behaviour that shows only on real sockets: several messages in one read, and which side waits.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use super::everything;
use crate::server::{ConnectionOptions, Limits, Server, ServerInfo};
use crate::tool::{Effect, ToolFn};
use crate::transport::unix;

fn connect(server: &Server, options: ConnectionOptions) -> UnixStream {
    let (client, ours) = UnixStream::pair().expect("a socket pair");
    let server = server.clone();
    tokio::spawn(async move { unix::serve(&server, ours, options).await });
    client
}

#[tokio::test]
async fn progress_and_its_answer_never_come_in_one_read() {
    // As long as it takes: only a read releases the answer.
    let limits = Limits { unread_progress: Duration::from_secs(3600), ..Limits::default() };
    let mut client = connect(&everything(), ConnectionOptions { limits, ..ConnectionOptions::default() });
    let mut buffer = vec![0; 1 << 16];
    for id in 0..50 {
        let params = json!({"name": "report", "arguments": {"count": 3}, "_meta": {"progressToken": id}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        client.write_all(format!("{call}\n").as_bytes()).await.expect("it reads");
        let mut reads = Vec::new();
        loop {
            let count = client.read(&mut buffer).await.expect("it writes");
            let read = String::from_utf8_lossy(&buffer[..count]).into_owned();
            let answered = read.contains("\"result\"");
            reads.push(read);
            if answered {
                break;
            }
        }
        let answer = reads.pop().expect("there was one");
        assert!(!answer.contains("notifications/progress"), "{answer}");
        assert!(reads.concat().contains("\"progress\":3"), "{reads:?}");
    }
}

#[tokio::test]
async fn an_answer_does_not_wait_for_ever_for_its_progress_to_be_read() {
    let mut client = connect(&everything(), ConnectionOptions::default());
    let params = json!({"name": "report", "arguments": {"count": 1}, "_meta": {"progressToken": 1}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    client.write_all(format!("{call}\n").as_bytes()).await.expect("it reads");
    // Reads nothing until both have arrived.
    let mut buffer = vec![0; 1 << 16];
    loop {
        client.readable().await.expect("it writes");
        let flags = rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT;
        let count = rustix::net::recv(&client, &mut buffer, flags).map_or(0, |(count, _)| count);
        if String::from_utf8_lossy(&buffer[..count]).contains("\"result\"") {
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_up_nobody_else() {
    let server = everything();
    let mut lazy = connect(&server, ConnectionOptions::default());
    let text = "x".repeat(100_000);
    let params = json!({"name": "echo", "arguments": {"text": text}});
    let call = format!("{}\n", json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    // Writes until the server stops reading, because its limit of unread output is reached.
    let flood = async {
        loop {
            lazy.write_all(call.as_bytes()).await.expect("it reads");
        }
    };
    let full = tokio::time::timeout(Duration::from_millis(500), flood).await;
    assert!(full.is_err(), "it took everything");

    let mut brisk = BufReader::new(connect(&server, ConnectionOptions::default()));
    for id in 0..100 {
        let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        brisk.write_all(format!("{ping}\n").as_bytes()).await.expect("it reads");
        let mut line = String::new();
        brisk.read_line(&mut line).await.expect("it writes");
        assert_eq!(line, format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n"));
    }
}

#[test]
fn a_client_that_never_pauses_lets_others_have_their_turn() {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    let (busy, ours) = UnixStream::pair().expect("a socket pair");
    let (other, theirs) = UnixStream::pair().expect("a socket pair");
    // One thread serves all connections.
    let server = std::thread::spawn(move || {
        // The runtime polls the sockets after each turn. By default it does so after 61 turns, and most of the time
        // would be that wait.
        let runtime = tokio::runtime::Builder::new_current_thread().event_interval(1).enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let serve = |stream: UnixStream| {
                stream.set_nonblocking(true).expect("it is ours");
                let stream = tokio::net::UnixStream::from_std(stream).expect("it is a socket");
                let server = everything();
                tokio::spawn(async move { unix::serve(&server, stream, ConnectionOptions::default()).await })
            };
            let (first, second) = (serve(ours), serve(theirs));
            first.await.expect("no panic");
            second.await.expect("no panic");
        });
    });
    let done = Arc::<AtomicBool>::default();
    let (mut writer, mut reader) = (busy.try_clone().expect("it can be shared"), busy);
    let stop = done.clone();
    let flood = std::thread::spawn(move || {
        let pings = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n".repeat(1_000);
        while !stop.load(Ordering::Relaxed) {
            writer.write_all(pings.as_bytes()).expect("it reads");
        }
        writer.shutdown(std::net::Shutdown::Write).expect("it is open");
    });
    let drain = std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 20];
        let mut all = 0;
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            all += count;
        }
        all
    });
    other.set_read_timeout(Some(Duration::from_secs(10))).expect("it is a socket");
    let mut other = BufReader::new(other);
    for id in 0..100 {
        let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        other.get_mut().write_all(format!("{ping}\n").as_bytes()).expect("it reads");
        let mut line = String::new();
        let read = other.read_line(&mut line);
        assert!(read.is_ok(), "ping {id} is not answered while another client is busy: {read:?}");
    }
    done.store(true, Ordering::Relaxed);
    flood.join().expect("no panic");
    assert!(drain.join().expect("no panic") > 0);
    drop(other);
    server.join().expect("no panic");
}

/// Returns the private memory of this process, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("there is a /proc");
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).expect("it says so");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<usize>().ok()).expect("a number") << 10
}

#[tokio::test]
async fn an_idle_connection_keeps_nothing_of_a_large_answer() {
    let long = "x".repeat(100_000);
    let tool = ToolFn::new("long", Effect::READ)
        .description("Says much.")
        .build(move |_, (): ()| std::future::ready(Ok(long.clone())));
    let server = Server::with_tools(ServerInfo::new("test", "1"), [tool]);
    let mut buffer = vec![0; 200_000];
    let mut ask = async |count: usize| {
        let mut held = Vec::new();
        for id in 0..count {
            let mut client = connect(&server, ConnectionOptions::default());
            let params = json!({"name": "long", "arguments": {}, "padding": "x".repeat(20_000)});
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            client.write_all(format!("{call}\n").as_bytes()).await.expect("it reads");
            let mut read = 0;
            while read == 0 || buffer[read - 1] != b'\n' {
                read += client.read(&mut buffer[read..]).await.expect("it writes");
            }
            assert!(read > 100_000, "{}", String::from_utf8_lossy(&buffer[..read]));
            held.push(client);
        }
        held
    };
    // Memory that the first connections leave with the allocator does not count.
    let first = ask(20).await;
    let before = resident();
    let held = ask(500).await;
    let each = (resident() - before) / held.len();
    assert!(each < 16 << 10, "{each} bytes are kept for each connection");
    drop((first, held));
}

#[tokio::test]
async fn what_was_read_ahead_comes_first() {
    let initial = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth".to_vec();
    let client = connect(&everything(), ConnectionOptions { initial, ..ConnectionOptions::default() });
    let mut client = BufReader::new(client);
    client.write_all(b"od\":\"ping\"}\n").await.expect("it reads");
    let mut line = String::new();
    client.read_line(&mut line).await.expect("it writes");
    assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
}
