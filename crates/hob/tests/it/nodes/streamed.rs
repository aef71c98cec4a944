//! A model that streams its answer: its caller is told the number of tokens so far, and their cost.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Value, json};
use testkit::patience;

use super::RATE;
use crate::fresh;

/// An OpenAI-compatible local server for one request: it sends a part, and the rest on a signal.
fn half_a_server(go_on: Receiver<()>, asked: Sender<Value>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut reader = BufReader::new(listener.accept().unwrap().0);
        let mut length = 0;
        let mut line = String::new();
        while reader.read_line(&mut line).unwrap() > 2 {
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            line.clear();
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        asked.send(serde_json::from_slice(&body).unwrap()).unwrap();
        let mut say = |text: String| reader.get_mut().write_all(text.as_bytes()).unwrap();
        say("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_owned());
        let part = |text: &str| format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"content": text}}]}));
        say(part(r#"{"reason":"#) + &part(r#""short","#));
        go_on.recv().unwrap();
        say(part(r#""score":3}"#));
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
        let usage = json!({"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 200}});
        say(format!("data: {end}\n\ndata: {usage}\n\ndata: [DONE]\n\n"));
    });
    url
}

#[test]
fn a_caller_that_wants_progress_is_told_how_many_tokens_have_come() {
    let (let_go, go_on) = channel();
    let (say_asked, asked) = channel();
    let url = half_a_server(go_on, say_asked);
    let project = fresh();
    let model = format!("{{ url = \"{url}\", model = \"m\", price = {{ in = 2.0, out = 10.0 }} }}");
    project.write("hob.toml", &format!("[nodes]\nmodels.local = {model}\n"));
    project.write("nodes/rate.node.md", RATE);
    let mut peer = project.mcp(&[]);
    peer.initialize();
    let call = json!({"name": "rate", "arguments": {"text": "a"}, "_meta": {"progressToken": 7}});
    let id = peer.request("tools/call", call);
    let asked = asked.recv_timeout(patience()).unwrap();
    assert_eq!((&asked["stream"], &asked["stream_options"]["include_usage"]), (&json!(true), &json!(true)));
    let said = peer.wait_for("two tokens", |message| message["params"]["message"] == "2 tokens so far");
    assert_eq!((&said["method"], &said["params"]["progressToken"]), (&json!("notifications/progress"), &json!(7)));
    // No part of the value is shown before the whole value is validated.
    let is_value = |message: &Value| message.to_string().contains("short");
    assert!(!peer.take_unread().iter().any(is_value) && !is_value(&said));
    let_go.send(()).unwrap();
    let result = peer.response(id)["result"].clone();
    assert_eq!(result["content"][0]["text"], r#"A model's answer: {"reason":"short","score":3}"#);
    let ledger = &result["_meta"]["hob/ledger"];
    assert_eq!(ledger["total"], json!({"tokens": 1200, "complete": true, "cost": 0.004}), "{ledger}");
    let usage = project.run(["node", "usage"]).ok();
    assert!(usage.contains("rate on local: 1 attempt (0 failed), 1000 tokens in, 200 out, cost 0.004000"), "{usage}");
}
