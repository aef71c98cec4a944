//! Properties of all events: without a rule there is no output, and a journalled event is decided the same way again.

use std::collections::HashSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::*;

const POLICY: &str = r#"
[[rule]]
id = "push"
command = ["git push -f", "git push --force*", "git push * +*"]
decide = "deny"
[[rule]]
id = "rm"
command = "rm -rf"
decide = "ask"
when = { "work.branch" = "main" }
[[rule]]
id = "written"
tool = ["write", "edit"]
when = { path = "src/**" }
decide = "person"
[[rule]]
id = "ends"
on = ["turn_end", "Notification"]
decide = "deny"
"#;

/// A project whose state is in the user's state directory, and is removed with the test.
struct Here {
    project: Project,
    _temp: tempfile::TempDir,
}

impl Here {
    fn new() -> Here {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        Here { project: Project::find(Some(&root), &root).unwrap(), _temp: temp }
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.project.state_dir());
    }
}

/// Creates a decider whose branch fact changes with every event.
fn decider(project: &Project) -> Decider {
    let count = std::sync::atomic::AtomicU64::new(0);
    let facts = move |names: &[&str], _: &Path| {
        let branch =
            if count.fetch_add(1, std::sync::atomic::Ordering::Relaxed).is_multiple_of(2) { "main" } else { "topic" };
        names.iter().map(|name| ((*name).to_owned(), branch.to_owned())).collect()
    };
    Decider::new(project, HooksSettings::default(), Box::new(facts))
}

fn payload() -> impl Strategy<Value = Vec<u8>> {
    let words = prop::sample::select(
        &[
            "git push -f",
            "rm -rf x",
            "ls",
            "$(",
            "'",
            "src/a",
            "PreToolUse",
            "Stop",
            "\u{0}",
            "ä",
            "{\"a\":1}",
            "true",
            "3",
        ][..],
    );
    let keys = prop::sample::select(
        &[
            "hook_event_name",
            "tool_name",
            "tool_input",
            "command",
            "file_path",
            "session_id",
            "cwd",
            "stop_hook_active",
            "permission_suggestions",
            "agent_id",
            "source",
            "odd",
        ][..],
    );
    let leaf = prop_oneof![
        words.prop_map(serde_json::Value::from),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        Just(serde_json::Value::Null),
        "\\PC{0,20}".prop_map(serde_json::Value::from),
    ];
    let value = leaf.prop_recursive(3, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::vec((keys.clone(), inner), 0..5).prop_map(|fields| {
                fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<serde_json::Map<_, _>>().into()
            }),
        ]
    });
    prop_oneof![
        4 => value.prop_map(|value| value.to_string().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..80),
    ]
}

fn shell(command: &str) -> Vec<u8> {
    serde_json::json!({"tool_name": "Bash", "tool_input": {"command": command}}).to_string().into_bytes()
}

fn incoming(agent: Agent, named: &str, raw: Vec<u8>) -> IncomingEvent {
    IncomingEvent {
        agent,
        named: named.to_owned(),
        raw: Arc::new(Raw::new(raw)),
        cwd: "/p".into(),
        worktree: "/p".into(),
        process: None,
    }
}

#[test]
fn two_thousand_random_payloads_say_nothing_without_a_rule() {
    let here = Here::new();
    let decider = decider(&here.project);
    let mut runner = TestRunner::deterministic();
    let mut agents = Agent::ALL.iter().cycle();
    let payloads = payload();
    for number in 0..2_000 {
        let raw = payloads.new_tree(&mut runner).unwrap().current();
        let agent = *agents.next().unwrap();
        let named = agent.rows()[number % agent.rows().len()].name;
        let decided = decider.decide(incoming(agent, named, raw.clone()), Instant::now());
        let rendered = agent.render(agent.row(&decided.event.name), &decided.decision.answer());
        assert_eq!(rendered, Rendered::default(), "{agent:?} {named} {}", String::from_utf8_lossy(&raw));
    }
}

#[test]
fn two_thousand_journalled_events_are_decided_the_same_again() {
    let here = Here::new();
    let project = &here.project;
    std::fs::write(project.root().join(crate::policy::FILE), POLICY).unwrap();
    let ours = decider(project);
    let mut runner = TestRunner::deterministic();
    let commands =
        ["git push -f", "git push", "rm -rf x", "eval $x", "ls", "echo a > src/b", "sudo git push --force x"];
    let (payloads, mut verdicts) = (payload(), HashSet::new());
    for number in 0..2_000 {
        let agent = Agent::ALL[number % Agent::ALL.len()];
        let row = agent.rows()[number / Agent::ALL.len() % agent.rows().len()];
        let raw = match number % 4 {
            0 => payloads.new_tree(&mut runner).unwrap().current(),
            _ => serde_json::json!({"hook_event_name": row.name, "session_id": format!("s{}", number % 40),
                "tool_name": if number % 3 == 0 { "Write" } else { "Bash" },
                "tool_input": {"command": commands[number % commands.len()], "file_path": "src/a"}})
            .to_string()
            .into_bytes(),
        };
        let decided = ours.decide(incoming(agent, row.name, raw), Instant::now());
        verdicts.insert(decided.decision.verdict);
        let answered = ours.answer(decided, Added::default());
        assert!(answered.unwritten.is_none());
        answered.receipts.record_sent();
    }
    // Without a grant, a rule that asks a person counts as `ask`.
    assert_eq!(verdicts.len(), 3, "{verdicts:?}");
    let standing = Files::new(project).active(false);
    let mut count = 0;
    for line in crate::journal::lines(&project.log_dir()) {
        count += 1;
        let event = crate::read(Agent::named(&line.agent).unwrap(), &line.named, &line.raw.bytes().unwrap());
        let (again, _) = decided(&standing, &event, &line.worktree, &line.cwd, |_| line.facts.clone());
        assert_eq!((again.verdict, &again.rule, &again.matched), (line.verdict, &line.rule, &line.matched), "{line:?}");
    }
    assert_eq!(count, 2_000);
}

#[test]
fn an_event_that_cannot_be_decided_in_time_is_as_one_that_cannot_be_told() {
    let verdict = |opaque: &str, event: &str| {
        let here = Here::new();
        std::fs::write(here.project.root().join(crate::policy::FILE), format!("{opaque}{POLICY}")).unwrap();
        let asked = incoming(Agent::Claude, event, shell("ls"));
        decider(&here.project).give_up(asked, Instant::now()).decision.verdict
    };
    assert_eq!(verdict("", "PreToolUse"), Verdict::Ask);
    assert_eq!(verdict("opaque = \"deny\"", "PreToolUse"), Verdict::Deny);
    assert_eq!(verdict("", "PostToolUse"), Verdict::Pass, "no rule is about it");
    let here = Here::new();
    let decided = decider(&here.project).give_up(incoming(Agent::Claude, "PreToolUse", shell("ls")), Instant::now());
    assert_eq!(decided.decision.verdict, Verdict::Pass, "there is no rule");
}

#[test]
fn an_event_that_cannot_be_read_does_not_pass() {
    let here = Here::new();
    std::fs::write(here.project.root().join(crate::policy::FILE), POLICY).unwrap();
    let decider = decider(&here.project);
    let verdict = |raw: &[u8]| {
        let asked = incoming(Agent::Claude, "PreToolUse", raw.to_vec());
        decider.decide(asked, Instant::now()).decision.verdict
    };
    let event = |description: &[u8]| -> Vec<u8> {
        let (head, tail) = (br#"{"tool_name":"Bash","tool_input":{"command":"git push -f","description":""#, br#""}}"#);
        [&head[..], description, &tail[..]].concat()
    };
    // A JavaScript program truncated an emoji in the middle.
    assert_eq!(verdict(&event(br"Clean up \ud83e")), Verdict::Deny);
    assert_eq!(verdict(&event(br"\\ud83e \udd16 \ud83e\udd16 \ud83e\n")), Verdict::Deny);
    assert_eq!(verdict(&event(b"\xff\xfe")), Verdict::Deny);
    assert_eq!(verdict(&[b"\xef\xbb\xbf", &event(b"")[..]].concat()), Verdict::Deny);
    assert_eq!(
        verdict(br#"{"tool_name":"Bash","tool_args":"{\"command\":\"git push -f\",\"a\":\"\\ud83e\"}"}"#),
        Verdict::Deny
    );
    let deep = format!("{{\"tool_name\":\"Bash\",\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
    let twice = event(b"").repeat(2);
    let cut = &event(b"")[..40];
    for unreadable in [&b""[..], b"not json", b"[]", br#"{"tool_name":"Bash","a":1e999}"#, deep.as_bytes(), &twice, cut]
    {
        assert_eq!(verdict(unreadable), Verdict::Ask, "{}", String::from_utf8_lossy(unreadable));
    }
}

#[test]
fn stored_context_is_not_given_to_another_process_with_the_session_name() {
    let here = Here::new();
    let decider = decider(&here.project);
    let event = |process: &str, name: &str| {
        let raw = format!(
            "{{\"hook_event_name\":\"{name}\",\"session_id\":\"s\",\"tool_name\":\"Bash\",\"tool_input\":{{}}}}"
        );
        let asked =
            IncomingEvent { process: Some(process.to_owned()), ..incoming(Agent::Gemini, name, raw.into_bytes()) };
        decider.decide(asked, Instant::now())
    };
    // Gemini CLI takes no context before a tool, so the text waits for the next event that does.
    let piece = Piece { from: "ask", text: "a late answer".to_owned(), holds: false, lost: None };
    let before = event("1", "BeforeTool");
    decider.answer(before, Added { pieces: vec![piece], ..Added::default() });
    event("2", "SessionEnd");
    let stdout = |process: &str| {
        let answered = decider.answer(event(process, "AfterTool"), Added::default());
        answered.receipts.record_sent();
        answered.rendered.stdout
    };
    assert_eq!(stdout("2"), "");
    assert!(stdout("1").contains("a late answer"));
}
