//! Limits and errors that commands and transports meet: the error is clear, and nothing is lost.

use serde_json::{Value, json};

use super::{Team, check, ok, refused, send};

#[test]
fn a_store_that_cannot_be_opened_is_named_and_opened_once_it_is_put_back() {
    let team = Team::new();
    send(&mut team.agent("planner"), "reviewer", "kept");
    team.hob("planner", &["stop"]);
    let path = team.project.state_dir().join("mail.db");
    let whole = std::fs::read(&path).unwrap();
    let rubbish = b"no database at all, but long enough to be looked at ".repeat(200);
    std::fs::write(&path, &rubbish).unwrap();
    let ran = team.run("planner", &["send", "x", "--to", "reviewer"]);
    assert!(ran.code == Some(4) && ran.stderr.contains("not a mail store"), "{ran:?}");
    assert!(ran.stderr.contains("aside") && ran.stderr.contains(".recover"), "{ran:?}");
    assert!(std::fs::read(&path).unwrap() == rubbish, "it was left as it was");
    // Each call tries again, so no restart is needed.
    std::fs::write(&path, &whole).unwrap();
    team.hob("planner", &["send", "after", "--to", "reviewer"]);
    assert_eq!(check(&mut team.agent("reviewer")), ["kept", "after"]);
}

#[test]
fn a_mebibyte_arrives_whole_and_limits_are_named() {
    let team = Team::new();
    std::fs::write(team.project.root().join("hob.toml"), "[mail]\nbroadcast_max = 1\n").unwrap();
    team.hob("planner", &["stop"]);
    let (mut planner, mut reviewer) = (team.agent("planner"), team.agent("reviewer"));
    // JSON escapes each of its characters to six bytes.
    let worst = "\u{1}".repeat(1 << 20);
    send(&mut planner, "reviewer", &worst);
    let got = ok(&mut reviewer, "check_messages", json!({}));
    assert!(got["messages"][0]["content"] == Value::String(worst), "it arrives whole");
    let file = team.project.top().join("long");
    std::fs::write(&file, "y".repeat(1_200_000)).unwrap();
    let ran = team.run("planner", &["send", "--to", "reviewer", "--file", file.to_str().unwrap()]);
    assert!(ran.code == Some(4) && ran.stderr.contains("1200000 bytes; the limit is 1048576"), "{ran:?}");
    let said = refused(&mut planner, "broadcast_message", json!({"content": "both"}));
    assert!(said.contains("for a broadcast: 2; the limit is 1"), "{said}");
    assert!(check(&mut reviewer).is_empty());
}

#[test]
fn what_a_shell_was_handed_is_read_unless_it_could_not_be_shown() {
    let team = Team::new();
    for content in ["one", "two", "important"] {
        team.hob("planner", &["send", content, "--to", "reviewer"]);
    }
    let call = |args: &[&str]| team.hob("reviewer", &[&["call"], args].concat());
    // Each call is a separate run, so no later call confirms its messages.
    assert!(call(&["check_messages", "--limit", "1"]).contains("| one"));
    let second = call(&["wait_for_message", "--timeout", "5"]);
    assert!(second.contains("| two") && !second.contains("| one"), "{second}");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = team.command("reviewer", &["inbox", "--take"]).stdout(full).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.matches("error:").count()), (Some(1), 1), "{said}");
    assert!(said.contains("cannot write to standard output: No space left"), "{said}");
    // The same if the reader has closed the pipe.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = team.command("reviewer", &["inbox", "--take"]).stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    // The same without a reader: Rust opens a closed standard output on /dev/null before `main`.
    for args in [&["inbox", "--take"][..], &["inbox", "--take", "--json"]] {
        let mut closed = team.project.command("sh");
        closed.current_dir(team.dir("reviewer")).args(["-c", "exec hob \"$@\" >&-", "sh"]).args(args);
        let output = closed.output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{args:?}");
    }
    assert!(team.hob("reviewer", &["inbox"]).contains("| important"), "looking takes nothing");
    assert!(team.hob("reviewer", &["inbox", "--take"]).contains("| important"));
    assert_eq!(team.hob("reviewer", &["inbox"]), "No messages.\n");
}
