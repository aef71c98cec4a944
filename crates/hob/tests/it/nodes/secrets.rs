//! Prompts and keys reach only the servers that the user named.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use testkit::model_server::{ModelServer, answer, completion};
use testkit::{McpPeer, until};

use super::RATE;
use crate::{fresh, says};

const SECRET: &str = "sk-planted-0123456789abcdef";

/// The server repeats its key: in an error, in an invalid value, in a value, and in a header of each answer.
#[test]
fn a_key_in_the_environment_reaches_its_server_and_nothing_else() {
    let count = AtomicUsize::new(0);
    let server = ModelServer::start(move |request| {
        let key = &request.key;
        let (status, body) = match count.fetch_add(1, Ordering::SeqCst) {
            0 => (401, json!({"error": {"message": format!("Incorrect API key provided: {key}")}})),
            1 => (200, completion(&format!("My key is {key}."), "stop")),
            2 => (200, completion(&json!({"reason": key, "score": 9}).to_string(), "stop")),
            _ => (200, completion(&json!({"reason": format!("by {key}"), "score": 2}).to_string(), "stop")),
        };
        answer(status, &format!("x-api-key: {key}\r\n"), &body)
    });
    let project = fresh();
    let config = project.home().join(".config/hob");
    fs::create_dir_all(&config).unwrap();
    // With the most verbose recording.
    let model = server.settings("paid").replace("\"m\"", "\"m\", key_env = \"PLANTED_API_KEY\"");
    fs::write(config.join("config.toml"), format!("{model}cassettes = \"record\"\n")).unwrap();
    project.write("nodes/rate.node.md", RATE);
    let mut command = project.hob(["mcp"]);
    command.env("PLANTED_API_KEY", SECRET).env("HOB_LOG", "trace");
    let mut peer = McpPeer::spawn(command);
    peer.initialize();
    let mut texts = Vec::new();
    let mut call = |text: &str, wanted: &str| {
        let result = peer.result("tools/call", json!({"name": "rate", "arguments": {"text": text}}));
        assert!(result.to_string().contains(wanted), "{wanted}: {result}");
        texts.push(result.to_string());
    };
    call("a", "Incorrect API key provided: [key]");
    // An invalid JSON value, then a wrong one, which is retried: that was the last attempt.
    call("b", "/score: it is greater than the maximum of 5, got 9");
    call("c", r#""result":{"reason":"by [key]","score":2}"#);
    texts.push(peer.call("nodes_status", json!({})).text);
    texts.push(peer.stderr());
    for args in [&["status", "--json"][..], &["doctor", "--json"], &["node", "usage"], &["node", "list"]] {
        texts.push(format!("{:?}", project.run(args)));
    }
    let seen: Vec<String> = server.take_requests().into_iter().map(|request| request.key).collect();
    assert_eq!(seen, [SECRET; 4]);
    let leaks: Vec<&String> = texts.iter().filter(|text| text.contains(SECRET)).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
    // Recordings, log, journal, usage, and everything else.
    let holding = |text: &str| {
        let found = project.command("grep").args(["-rslF", "-D", "skip", text]).arg(project.top()).output().unwrap();
        String::from_utf8(found.stdout).unwrap()
    };
    assert_eq!(holding(SECRET), "");
    assert!(holding("[key]").contains("nodes/cassettes/rate.jsonl"));
    assert!(holding("node_called").contains("log/journal.jsonl"));
    let daemon = project.daemon_pid().unwrap();
    let environment = fs::read(format!("/proc/{daemon}/environ")).unwrap();
    assert!(!String::from_utf8_lossy(&environment).contains(SECRET));
}

/// Returns a local address that is not loopback, so that prompts to a model behind it count as leaving the machine.
fn listen_outside() -> Option<(TcpListener, String)> {
    // Connecting a UDP socket sends nothing; it only selects the address.
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    let listener = TcpListener::bind((socket.local_addr().ok()?.ip(), 0)).ok()?;
    listener.set_nonblocking(true).ok()?;
    let url = format!("https://{}/v1", listener.local_addr().ok()?);
    Some((listener, url))
}

#[test]
fn a_checkout_sends_no_prompt_elsewhere_before_it_is_granted() {
    let project = fresh();
    let (listener, url) =
        listen_outside().map_or((None, "https://192.0.2.1/v1".to_owned()), |(listener, url)| (Some(listener), url));
    project.write("hob.toml", &format!("[nodes]\nmodels.away = {{ url = \"{url}\", model = \"m\" }}\n"));
    project.write("nodes/rate.node.md", RATE);
    project.write("nodes/named.node.md", &RATE.replace("input:", "model: away\ninput:"));
    let mut peer = project.mcp(&[]);
    peer.initialize();
    for name in ["rate", "named"] {
        let answer = peer.call(name, json!({"text": "It rained."}));
        assert!(answer.is_error, "{answer:?}");
        let why = "hob.toml asks for it and you have not granted that";
        says(&answer.text, &["the model \"away\" cannot be used", why, "`hob trust`"]);
    }
    let asked = project.run(["trust"]).stdout;
    assert!(asked.contains("sends the prompts of nodes for the model \"away\" to ") && asked.contains(&url), "{asked}");
    assert!(listener.as_ref().is_none_or(|listener| listener.accept().is_err()), "somebody connected");
    // After a grant, the model is called. An agent's parent cannot grant, so that agent ends first.
    peer.close();
    project.run(["trust", "--yes"]).ok();
    project.run(["stop"]).ok();
    let Some(listener) = listener else { return };
    let mut peer = project.mcp(&[]);
    peer.initialize();
    let id = peer.start_call("rate", json!({"text": "It rained."}));
    let (stream, _) = until("the model is asked", || listener.accept().ok());
    drop((stream, listener));
    let answer = peer.answer(id);
    assert!(answer.is_error && answer.text.contains("cannot be reached"), "{answer:?}");
}
