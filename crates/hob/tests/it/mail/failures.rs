//! Faults of the disk and the database, and oversized messages: a clear error, and nothing is lost.

use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;

use serde_json::{Value, json};
use testkit::Ran;

use super::{Team, check, ok, refused, send};

/// Returns the error of a refused `hob send`.
fn cannot_send(team: &Team) -> String {
    let ran = Ran::run(&mut team.command("planner", &["send", "x", "--to", "reviewer"]));
    assert_eq!(ran.code, Some(4), "{ran:?}");
    ran.stderr
}

#[test]
fn a_database_that_is_damaged_or_newer_is_left_alone_and_said_to_be_so() {
    let team = Team::new();
    send(&mut team.agent("planner"), "reviewer", "kept");
    team.hob("planner", &["stop"]);
    let path = team.project.state_dir().join("mail.db");
    let whole = std::fs::read(&path).unwrap();
    // The version is in the header, at byte 60 (the SQLite database file format, 1.3).
    let mut file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let mut version = [0; 4];
    file.seek(SeekFrom::Start(60)).unwrap();
    file.read_exact(&mut version).unwrap();
    assert_ne!(u32::from_be_bytes(version), 0);
    file.seek(SeekFrom::Start(60)).unwrap();
    file.write_all(&99_u32.to_be_bytes()).unwrap();
    let said = cannot_send(&team);
    assert!(
        said.contains("schema version 99; this version of hob knows up to") && said.contains("Update hob"),
        "{said}"
    );
    // Each call tries again, so no restart is needed.
    std::fs::write(&path, &whole).unwrap();
    team.hob("planner", &["send", "after", "--to", "reviewer"]);
    team.hob("planner", &["stop"]);
    let whole = std::fs::read(&path).unwrap();
    let rubbish = b"no database at all, but long enough to be looked at ".repeat(200);
    std::fs::write(&path, &rubbish).unwrap();
    let said = cannot_send(&team);
    assert!(said.contains("not a mail store") && said.contains("aside") && said.contains(".recover"), "{said}");
    assert!(std::fs::read(&path).unwrap() == rubbish, "it was left as it was");
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(check(&mut team.agent("reviewer")), ["kept", "after"]);
}

#[test]
fn what_a_shell_was_handed_by_a_call_is_read() {
    let team = Team::new();
    for content in ["one", "two"] {
        team.hob("planner", &["send", content, "--to", "reviewer"]);
    }
    let call = |tool: &str, flags: &[&str]| team.hob("reviewer", &[&["call", tool][..], flags].concat());
    // Each call is a separate run, so no later call confirms its messages.
    assert!(call("check_messages", &["--limit", "1"]).contains("| one"));
    let second = call("wait_for_message", &["--timeout", "5"]);
    assert!(second.contains("| two") && !second.contains("| one"), "{second}");
    assert!(call("check_messages", &[]).contains("No messages"));
    // A date without a time means the whole day.
    let today = &call("search_messages", &["--query", "one"]);
    let day =
        today.split(|c: char| c == 'T' || c.is_whitespace()).find(|word| word.starts_with("20") && word.len() == 10);
    let day = day.unwrap_or_else(|| panic!("no day: {today}"));
    assert!(call("search_messages", &["--query", "one", "--until", day]).contains("one"));
}

#[test]
fn a_mebibyte_of_anything_arrives_whole_and_more_is_refused() {
    let team = Team::new();
    let (mut planner, mut reviewer) = (team.agent("planner"), team.agent("reviewer"));
    // JSON escapes each of its characters to six bytes.
    let worst = "\u{1}".repeat(1 << 20);
    for body in ["words and more, ".repeat(1 << 16), worst] {
        assert_eq!(body.len(), 1 << 20);
        send(&mut planner, "reviewer", &body);
        let got = ok(&mut reviewer, "check_messages", json!({}));
        assert!(got["messages"][0]["content"] == Value::String(body), "it arrives whole");
        assert_eq!(got["remaining"], 0);
    }
    let said =
        refused(&mut planner, "send_message", json!({"to": "reviewer", "content": "x".repeat((1 << 20) * 11 / 10)}));
    assert!(said.contains("1153433 bytes; the limit is 1048576") && said.contains("send the path"), "{said}");
    // The same from a shell.
    let file = team.project.top().join("long");
    std::fs::write(&file, "y".repeat(1_200_000)).unwrap();
    let args = ["send", "--to", "reviewer", "--file", file.to_str().unwrap()];
    let ran = Ran::run(&mut team.command("planner", &args));
    assert!(ran.code == Some(4) && ran.stderr.contains("1200000 bytes"), "{ran:?}");
    assert!(check(&mut reviewer).is_empty());
}

#[test]
fn what_could_not_be_shown_stays_unread() {
    let team = Team::new();
    send(&mut team.agent("planner"), "reviewer", "important");
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

/// A log of Thrum with this many agents of one role.
pub(super) fn crowd(dir: &Path, count: usize) {
    let agent = |n: usize| {
        json!({"type": "agent.register", "timestamp": "2026-02-13T10:00:00Z", "event_id": format!("evt_{n}"), "v": 1,
               "agent_id": format!("c{n}"), "kind": "agent", "name": format!("c{n}"), "role": "crowd", "module": "all"})
    };
    let events: Vec<String> = (0..count).map(|n| agent(n).to_string()).collect();
    std::fs::create_dir_all(dir.join("messages")).unwrap();
    std::fs::write(dir.join("events.jsonl"), events.join("\n")).unwrap();
}

#[test]
fn five_hundred_recipients_and_not_one_more_and_a_broadcast_is_narrower() {
    let team = Team::new();
    let log = team.project.top().join(".thrum");
    let import = |count: usize| {
        crowd(&log, count);
        team.hob("planner", &["import", "thrum", log.to_str().unwrap()]);
    };
    import(200);
    let everybody = json!({"content": "everybody"});
    let said = refused(&mut team.agent("planner"), "broadcast_message", everybody.clone());
    assert!(said.contains("for a broadcast: 202; the limit is 100"), "{said}");
    assert!(said.contains("raise `broadcast_max` under [mail] in hob.toml"), "{said}");
    // The way that it named.
    std::fs::write(team.project.root().join("hob.toml"), "[mail]\nbroadcast_max = 300\n").unwrap();
    team.hob("planner", &["stop"]);
    assert_eq!(ok(&mut team.agent("planner"), "broadcast_message", everybody)["total_sent"], 202);
    import(500);
    let mut planner = team.agent_with("planner", &["mail"]);
    let sent = ok(&mut planner, "send_message", json!({"to": "role:crowd", "content": "all of you"}));
    assert_eq!((sent["status"].as_str(), sent["recipients"].as_array().unwrap().len()), (Some("delivered"), 500));
    let status = ok(&mut planner, "delivery_status", json!({"id": sent["message_id"]}));
    assert_eq!(status["recipients"].as_array().unwrap().len(), 500);
    import(501);
    let said = refused(&mut planner, "send_message", json!({"to": "role:crowd", "content": "one more"}));
    assert!(said.contains("Too many recipients: 501; the limit is 500"), "{said}");
}

#[test]
fn a_full_mailbox_refuses_and_has_room_again_when_its_agent_has_read_long_run() {
    const ROOM: usize = 10_000;
    let team = Team::new();
    let (mut planner, mut reviewer) = (team.agent("planner"), team.agent("reviewer"));
    let message = |content: &str| json!({"to": "agent:reviewer", "content": content});
    let sent: Vec<i64> = (0..ROOM).map(|n| planner.start_call("send_message", message(&n.to_string()))).collect();
    for id in sent {
        let answer = planner.answer(id);
        assert!(!answer.is_error, "{}", answer.text);
    }
    let said = refused(&mut planner, "send_message", message("one more"));
    assert!(said.contains("The mailbox of reviewer is full") && said.contains("try again later"), "{said}");
    let all = ok(&mut planner, "broadcast_message", json!({"content": "to all"}));
    assert_eq!((&all["status"], &all["sent_to"]), (&json!("partial"), &json!(["tester"])));
    assert_eq!(all["failed_to"], json!(["reviewer"]));
    assert_eq!(check(&mut team.agent("tester")), ["to all"]);
    let mut got = Vec::new();
    let mut take = |reviewer: &mut testkit::McpPeer| {
        let checked = ok(reviewer, "check_messages", json!({"limit": 500}));
        let messages = checked["messages"].as_array().unwrap();
        got.extend(messages.iter().map(|message| message["content"].as_str().unwrap().to_owned()));
        let earlier = checked["earlier"].as_array().is_some_and(|earlier| !earlier.is_empty());
        earlier || !messages.is_empty()
    };
    // Leased messages, and those listed by the last check, are not read yet and use space.
    for _ in 0..2 {
        take(&mut reviewer);
        refused(&mut planner, "send_message", message("one more"));
    }
    take(&mut reviewer);
    ok(&mut planner, "send_message", message("one more"));
    while take(&mut reviewer) {}
    assert_eq!(got.pop().as_deref(), Some("one more"));
    let mut numbers: Vec<usize> = got.iter().map(|content| content.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(0..ROOM), "{} came", numbers.len());
}

/// Runs as root in a namespace on a small disk: sends until the disk is full, frees space, and counts.
const ON_A_SMALL_DISK: &str = r#"
set -e
hob stop >/dev/null 2>&1 || true
cp -a "$STATE" "$TOP/kept"
mount -t tmpfs -o size=1m none "$STATE"
cp -a "$TOP/kept/." "$STATE/"
cd "$TOP/planner"
stored=0
while hob send "$stored $(head -c 30000 /dev/zero | tr '\0' x)" --to reviewer >/dev/null 2>"$TOP/said"; do
  stored=$((stored + 1))
  [ $stored -lt 100 ]
done
cat "$TOP/said"
head -c 2000000 /dev/zero >"$STATE/ballast" 2>/dev/null || true
while hob send tiny --to reviewer >/dev/null 2>&1; do
  stored=$((stored + 1))
  [ $stored -lt 300 ]
done
cd "$TOP/reviewer"
for again in 1 2 3 4 5 6 7 8; do
  hob search 0 --json | grep -c '"message_id"' >>"$TOP/found" || echo "cannot search"
  hob inbox --all --limit 1 >/dev/null || echo "cannot look"
  hob agents >/dev/null || echo "cannot list"
done
echo "found $(sort -u "$TOP/found" | tr '\n' ' ')on the full disk"
hob inbox --take >/dev/null 2>"$TOP/said" || echo "took nothing: $(head -n 1 "$TOP/said")"
rm "$STATE/ballast"
cd "$TOP/planner"
mount -o remount,size=8m "$STATE"
hob send 'room again' --to reviewer >/dev/null
cd "$TOP/reviewer"
there=0
while more=$(hob inbox --take --json | grep -c '"message_id"'); do there=$((there + more)); done
echo "acknowledged $((stored + 1)), there $there"
hob send 'still there' --to planner >/dev/null
hob stop >/dev/null
mount -o remount,ro "$STATE"
cd "$TOP/planner"
hob send x --to reviewer 2>&1 || echo "refused with $?"
hob stop >/dev/null
mount -o remount,rw "$STATE"
hob inbox
"#;

#[test]
fn a_full_disk_and_a_read_only_one_say_so_and_everything_acknowledged_is_there_afterwards() {
    let team = Team::new();
    let mut command = team.project.command("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", ON_A_SMALL_DISK]);
    command.env("STATE", team.project.state_dir()).env("TOP", team.project.top());
    // All of its children are in the same process group.
    let ran = Ran::run(command.process_group(0));
    if ran.stderr.contains("unshare: ") || ran.stderr.contains("mount: ") {
        eprintln!("skipped: a full disk: this machine gives no namespaces: {}", ran.stderr);
        return;
    }
    assert!(ran.stdout.contains("he disk of the mail store is full"), "{ran:#?}");
    assert!(ran.stdout.contains("stored or lost. Free space on the disk"), "{ran:#?}");
    // Reading is possible meanwhile.
    assert!(ran.stdout.contains("found 1 on the full disk") && !ran.stdout.contains("cannot "), "{ran:#?}");
    let took = ran.stdout.lines().find(|line| line.starts_with("took nothing: "));
    assert!(took.is_some_and(|line| line.contains("he disk of the mail store is full")), "{ran:#?}");
    let counts = ran.stdout.lines().find_map(|line| line.strip_prefix("acknowledged ")).unwrap();
    let (acknowledged, there) = counts.split_once(", there ").unwrap();
    assert!(acknowledged == there && acknowledged.parse::<u32>().unwrap() > 5, "{ran:#?}");
    // A read-only store is not mistaken for an empty one, and no other store replaces it.
    let read_only = ran.stdout.split_once(counts).unwrap().1;
    for said in ["The mail store is read-only", "Nothing was stored. Make the project's state directory writable"] {
        assert!(read_only.contains(said), "{said}: {ran:#?}");
    }
    assert!(read_only.contains("refused with 4") && read_only.contains("| still there"), "{ran:#?}");
}
