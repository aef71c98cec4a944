//! A model's API key reaches only the model's server.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use testkit::McpPeer;

use super::RATE;
use crate::fresh;

const SECRET: &str = "sk-planted-0123456789abcdef";

/// Starts a model's server that repeats its API key: in an error, in an invalid value, in a value, and in a header of each
/// answer. Returns its address and the keys it received.
fn server() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = seen.clone();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().map_while(Result::ok).enumerate() {
            let mut reader = BufReader::new(stream);
            let (mut length, mut key) = (0, String::new());
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or_default() == 0 || line == "\r\n" {
                    break;
                }
                let (name, value) = line.split_once(':').unwrap_or_default();
                match name.to_ascii_lowercase().as_str() {
                    "content-length" => length = value.trim().parse().unwrap(),
                    "authorization" => key = value.trim().trim_start_matches("Bearer ").to_owned(),
                    _ => {}
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            kept.lock().unwrap().push(key.clone());
            let says = |text: String| {
                let choice = json!({"message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
                json!({"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 2}})
            };
            let (status, answer) = match number {
                0 => (401, json!({"error": {"message": format!("Incorrect API key provided: {key}")}})),
                1 => (200, says(format!("My key is {key}."))),
                2 => (200, says(json!({"reason": key, "score": 9}).to_string())),
                _ => (200, says(json!({"reason": format!("by {key}"), "score": 2}).to_string())),
            };
            let answer = answer.to_string();
            let head = format!(
                "HTTP/1.1 {status} X\r\nx-api-key: {key}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                answer.len()
            );
            reader.get_mut().write_all(format!("{head}{answer}").as_bytes()).unwrap();
        }
    });
    (url, seen)
}

/// Returns the files below a directory that contain the text.
fn holding(directory: &Path, text: &str) -> (Vec<String>, usize) {
    let (mut found, mut looked) = (Vec::new(), 0);
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            let (more, further) = holding(&path, text);
            found.extend(more);
            looked += further;
        } else if kind.is_file() {
            looked += 1;
            let bytes = fs::read(&path).unwrap_or_default();
            if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
    (found, looked)
}

#[test]
fn a_key_in_the_environment_reaches_its_server_and_nothing_else() {
    let project = fresh();
    let (url, seen) = server();
    let config = project.home().join(".config/hob");
    fs::create_dir_all(&config).unwrap();
    let model = format!("models.paid = {{ url = \"{url}\", model = \"m\", key_env = \"PLANTED_API_KEY\" }}");
    // With the most verbose recording.
    fs::write(config.join("config.toml"), format!("[nodes]\ncassettes = \"record\"\n{model}\n")).unwrap();
    project.write("nodes/rate.node.md", RATE);
    let mut command = project.hob(["mcp"]);
    command.env("PLANTED_API_KEY", SECRET).env("HOB_LOG", "trace");
    let mut peer = McpPeer::spawn(command);
    peer.initialize();
    let mut said = Vec::new();
    let mut call = |text: &str, wanted: &str| {
        let result = peer.result("tools/call", json!({"name": "rate", "arguments": {"text": text}}));
        assert!(result.to_string().contains(wanted), "{wanted}: {result}");
        said.push(result.to_string());
    };
    call("a", "Incorrect API key provided: [key]");
    // An invalid JSON value, then a wrong one, which is retried: that was the last attempt.
    call("b", "/score: it is greater than the maximum of 5, got 9");
    call("c", r#""result":{"reason":"by [key]","score":2}"#);
    said.push(peer.call("nodes_status", json!({})).text);
    said.push(peer.stderr());
    for args in [&["status", "--json"][..], &["doctor", "--json"], &["node", "usage"], &["node", "list"]] {
        said.push(format!("{:?}", project.run(args)));
    }
    assert_eq!(seen.lock().unwrap().iter().filter(|key| *key == SECRET).count(), 4, "the server saw {seen:?}");
    let leaks: Vec<&String> = said.iter().filter(|text| text.contains(SECRET)).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
    // Recordings, log, journal, usage, and everything else.
    assert!(project.root().join("nodes/cassettes/rate.jsonl").is_file());
    let (found, looked) = holding(project.top(), SECRET);
    assert!(found.is_empty() && looked > 5, "{looked} files, {found:?}");
    let records: Vec<Value> =
        project.read_state("log/journal.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(records.iter().any(|record| record.to_string().contains("node_called")), "{records:?}");
    let daemon = project.daemon_pid().unwrap();
    let environment = fs::read(format!("/proc/{daemon}/environ")).unwrap();
    assert!(!String::from_utf8_lossy(&environment).contains(SECRET));
}
