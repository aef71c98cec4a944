//! The table of odd input over HTTP and WebSocket, where it applies: messages have the same meaning there, but lines
//! and the end of input do not.

use super::*;
use crate::server::tests::wire_table::{Case, cases, settled};

/// Returns the messages of a case, if all its input can be sent as messages.
fn messages(case: &Case) -> Option<Vec<String>> {
    let text = std::str::from_utf8(&case.input).ok()?;
    let lines = text.lines().map(|line| line.trim().trim_start_matches('\u{feff}'));
    Some(lines.filter(|line| !line.is_empty()).map(ToOwned::to_owned).collect())
}

/// Returns true if the case shows the end of input, or the limit of a line.
fn is_about_streams(case: &Case) -> bool {
    const ENDS: [&str; 3] = ["connection ended", "subscriptions/listen", "more than the limit"];
    case.prints() || ENDS.iter().any(|mark| case.output.contains(mark) || has(&case.input, mark))
}

fn has(input: &[u8], part: &str) -> bool {
    memchr::memmem::find(input, part.as_bytes()).is_some()
}

fn sorted(output: &str) -> Vec<String> {
    let mut lines: Vec<String> = output.lines().map(ToOwned::to_owned).collect();
    lines.sort();
    lines
}

#[cfg(feature = "websocket")]
#[tokio::test]
async fn on_a_websocket() {
    use super::websocket::{Socket, TEXT};
    const LAST: &str = r#"{"jsonrpc":"2.0","id":"the last","result":{}}"#;

    let served = super::websocket::served(HttpOptions::default()).await;
    let mut tried = 0;
    for case in cases() {
        let Some(messages) = messages(&case).filter(|_| !is_about_streams(&case)) else { continue };
        let (_, mut socket) = Socket::open(&served, "").await;
        for message in &messages {
            socket.send(TEXT, message.as_bytes()).await;
        }
        socket.send(TEXT, br#"{"jsonrpc":"2.0","id":"the last","method":"ping"}"#).await;
        let expected = sorted(&case.output);
        let mut output = String::new();
        let mut is_last = false;
        while !is_last || output.lines().count() < expected.len() {
            let next = tokio::time::timeout(std::time::Duration::from_secs(20), socket.message()).await;
            let message = next.unwrap_or_else(|_| panic!("{}: no more than\n{output}", case.about));
            if message == LAST { is_last = true } else { output.extend([&message, "\n"]) }
        }
        assert_eq!(sorted(&settled(&output)), expected, "{}", case.about);
        tried += 1;
    }
    served.end().await;
    assert!(tried > 20, "{tried} cases apply");
}

#[tokio::test]
async fn on_a_stream_of_events() {
    let served = Served::new(everything(), HttpOptions { sse: true, ..HttpOptions::default() }).await;
    let mut tried = 0;
    for case in cases() {
        let Some(messages) = messages(&case).filter(|_| !is_about_streams(&case)) else { continue };
        let (mut stream, post) = super::sse::open(&served).await;
        let mut client = served.connect().await;
        let last = r#"{"jsonrpc":"2.0","id":"the last","method":"ping"}"#;
        for message in messages.iter().map(String::as_str).chain([last]) {
            let response = client.send(&post.clone().body(message)).await;
            // Invalid JSON is refused here, and ignored on a stream.
            assert!(response.status == 202 || response.code() == -32700, "{message}: {response:?}");
        }
        let expected = sorted(&case.output);
        let mut output = Vec::new();
        while output.len() < expected.len() + 1 {
            let next = tokio::time::timeout(std::time::Duration::from_secs(20), stream.chunk()).await;
            let chunk = next.unwrap_or_else(|_| panic!("{}: no more than {output:?}", case.about));
            let chunk = chunk.expect("the stream goes on");
            output.extend(chunk.lines().filter_map(|line| line.strip_prefix("data: ")).map(ToOwned::to_owned));
        }
        output.retain(|message| message != r#"{"jsonrpc":"2.0","id":"the last","result":{}}"#);
        assert_eq!(sorted(&settled(&output.join("\n"))), expected, "{}", case.about);
        tried += 1;
    }
    served.end().await;
    assert!(tried > 20, "{tried} cases apply");
}

/// Returns true if each message is answered without another message: over HTTP each waits for its own answer.
fn is_answered_alone(messages: &[String]) -> bool {
    let waits = [
        "\"hold\"",
        "\"cancelled\"",
        "notifications/cancelled",
        "\"sleep\"",
        "\"inquire\"",
        "\"initialize\"",
        "\"toil\"",
    ];
    !messages.iter().any(|message| waits.iter().any(|mark| message.contains(mark)))
}

#[tokio::test]
async fn posted_in_a_session() {
    let served = served().await;
    let mut tried = 0;
    for case in cases() {
        // A message that names its revision needs header fields that agree.
        let names_revision = has(&case.input, "/protocolVersion\":\"2");
        let applies =
            |messages: &Vec<String>| !names_revision && !is_about_streams(&case) && is_answered_alone(messages);
        let Some(messages) = messages(&case).filter(applies) else { continue };
        let session = session(&served, "2025-11-25").await;
        let mut client = served.connect().await;
        let mut output = Vec::new();
        for message in &messages {
            let request = Request::post(message.as_str()).field("mcp-session-id", &session);
            let response = client.send(&request).await;
            // Invalid JSON is refused here, and ignored on a stream.
            if response.status != 202 && !(response.status == 400 && response.code() == -32700) {
                output.extend(response.messages());
            }
        }
        // These notifications come on the stream of GET.
        let is_by_get = |line: &&str| line.contains("/list_changed") || line.contains("resources/updated");
        let expected = case.output.lines().filter(|line| !is_by_get(line));
        let mut expected: Vec<Value> = expected.map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let mut output: Vec<Value> =
            output.iter().map(|message| serde_json::from_str(&settled(&message.to_string())).expect("JSON")).collect();
        expected.sort_by_key(ToString::to_string);
        output.sort_by_key(ToString::to_string);
        assert_eq!(output, expected, "{}", case.about);
        tried += 1;
    }
    served.end().await;
    assert!(tried >= 10, "{tried} cases apply");
}
