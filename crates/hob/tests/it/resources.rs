//! Sessions as resources, through the real front-end and daemon: list, read, complete, subscribe.

use serde_json::{Value, json};
use testkit::{McpPeer, TestProject, has_program};

use crate::fresh;
use crate::init::linked_worktree;

fn connected(project: &TestProject) -> McpPeer {
    let mut peer = project.mcp(&[]);
    let declared = peer.initialize();
    assert_eq!(declared["capabilities"]["resources"], json!({"subscribe": true, "listChanged": true}));
    peer
}

fn read(peer: &mut McpPeer, uri: &str) -> String {
    let result = peer.result("resources/read", json!({"uri": uri}));
    let contents = result["contents"].as_array().unwrap();
    assert_eq!((contents.len(), &contents[0]["uri"]), (1, &json!(uri)));
    contents[0]["text"].as_str().unwrap().to_owned()
}

fn uris(peer: &mut McpPeer) -> Vec<String> {
    let listed = peer.result("resources/list", json!({}))["resources"].take();
    listed.as_array().unwrap().iter().map(|resource| resource["uri"].as_str().unwrap().to_owned()).collect()
}

fn eval(peer: &mut McpPeer, code: &str) {
    let answer = peer.call("repl_eval", json!({"code": code}));
    assert!(!answer.is_error, "{answer:#?}");
}

#[test]
fn a_session_is_listed_read_and_watched() {
    let project = fresh();
    let mut peer = connected(&project);
    assert_eq!(uris(&mut peer), [""; 0]);
    peer.call("repl_start", json!({"profile": "bash"}));
    peer.notification("notifications/resources/list_changed");
    assert_eq!(uris(&mut peer), ["repl://main/diagnostics", "repl://main/output", "repl://main/transcript"]);
    eval(&mut peer, "echo one; echo two >&2");
    eval(&mut peer, "for i in 1 2; do\necho $i\ndone");
    let output = read(&mut peer, "repl://main/output");
    // bash's own start-up output precedes it.
    assert!(output.contains("one\ntwo\n1\n2\n[main: up to "), "{output}");
    let end = output.trim_end_matches(']').rsplit(' ').next().unwrap();
    let cursor = end.parse::<u64>().unwrap() - "1\n2\n".len() as u64;
    let rest = read(&mut peer, &format!("repl://main/output?cursor={cursor}"));
    assert_eq!(rest, format!("1\n2\n[main: up to {end} of {end}]"));
    let transcript = read(&mut peer, "repl://main/transcript");
    let lines: Vec<&str> = transcript.lines().map(|line| line.split(", ").next().unwrap()).collect();
    let expected = "[main: bash\n> echo one; echo two >&2\none\ntwo\n[1: done\n\
                    > for i in 1 2; do\n| echo $i\n| done\n1\n2\n[2: done";
    assert_eq!(lines.join("\n"), expected);
    let templates = peer.result("resources/templates/list", json!({}))["resourceTemplates"].take();
    assert_eq!(templates.as_array().unwrap().len(), 3);
    let completion = json!({
        "ref": {"type": "ref/resource", "uri": "repl://{session}/transcript{?worktree}"},
        "argument": {"name": "session", "value": "ma"},
    });
    assert_eq!(peer.result("completion/complete", completion)["completion"]["values"], json!(["main"]));

    let mut refused = |uri: &str| {
        let id = peer.request("resources/read", json!({"uri": uri}));
        let error = peer.response(id)["error"].clone();
        (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
    };
    for unknown in ["repl://nobody/output", "repl://main/nothing", "repl://main/output?worktree=/nowhere"] {
        assert_eq!(refused(unknown).0, -32002, "{unknown}");
    }
    for (uri, expected) in [
        ("repl://main/diagnostics", "is bash, not GHCi"),
        ("repl://main/output?cursor=x", "invalid `cursor` \"x\": it must be a number"),
    ] {
        let (_, why) = refused(uri);
        assert!(why.contains(expected), "{why}");
    }

    for part in ["output", "transcript"] {
        peer.result("resources/subscribe", json!({"uri": format!("repl://main/{part}")}));
    }
    let updated = |peer: &mut McpPeer, uri: &str| {
        peer.wait_for(&format!("an update of {uri}"), |message| {
            message["method"] == "notifications/resources/updated" && message["params"]["uri"] == uri
        })
    };
    // Output that belongs to no evaluation, long after the last one.
    eval(&mut peer, "(sleep 0.5; echo late) & echo started");
    updated(&mut peer, "repl://main/transcript");
    loop {
        updated(&mut peer, "repl://main/output");
        if read(&mut peer, "repl://main/output").contains("late") {
            break;
        }
    }
}

#[test]
fn the_diagnostics_of_a_broken_module() {
    if !has_program("ghci") {
        return;
    }
    let project = fresh();
    project.write("Broken.hs", "module Broken where\nbroken :: Int\nbroken = \"text\"\n");
    let mut peer = connected(&project);
    peer.call("repl_start", json!({"profile": "ghci", "wait_ms": 50_000}));
    peer.result("resources/subscribe", json!({"uri": "repl://main/diagnostics"}));
    eval(&mut peer, ":load Broken");
    peer.notification("notifications/resources/updated");
    let diagnostics: Value = serde_json::from_str(&read(&mut peer, "repl://main/diagnostics")).unwrap();
    assert_eq!(diagnostics["ok"], false);
    assert_eq!(diagnostics["diagnostics"][0]["file"], "Broken.hs", "{diagnostics:#}");
}

#[test]
fn two_worktrees_have_two_addresses() {
    let project = fresh();
    let other = linked_worktree(&project);
    let mut command = project.hob(["mcp"]);
    command.current_dir(&other);
    let mut elsewhere = McpPeer::spawn(command);
    elsewhere.initialize();
    let mut here = connected(&project);
    for (peer, text) in [(&mut here, "here"), (&mut elsewhere, "elsewhere")] {
        peer.call("repl_start", json!({"profile": "bash"}));
        eval(peer, &format!("echo {text}"));
    }
    let named = format!("repl://main/output?worktree={}", other.display());
    assert!(uris(&mut here).contains(&named));
    assert!(read(&mut here, "repl://main/output").contains("\nhere\n"));
    assert!(read(&mut here, &named).contains("\nelsewhere\n"));
    assert!(read(&mut elsewhere, "repl://main/output").contains("\nelsewhere\n"));
}
