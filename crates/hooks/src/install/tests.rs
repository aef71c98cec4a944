//! Entries of every agent, written and read back.

use expect_test::expect;

use super::*;

const PATH: &str = "/opt/my tools/hob";

fn policy(text: &str) -> Vec<Policy> {
    vec![Policy::parse(text).unwrap()]
}

fn plan(agent: Agent, version: [u64; 3], fail: Fail) -> Plan {
    Plan::new(agent, PATH.to_owned(), Some(Version(version)), fail, &[], false)
}

fn earlier_entry(agent: Agent, version: [u64; 3], fail: Fail) -> String {
    let plan = plan(agent, version, fail);
    let row = agent.rows().iter().find(|row| row.kind == Kind::ToolBefore).unwrap();
    let entry = plan.entries().into_iter().find(|(event, _)| *event == row.name).unwrap();
    format!("{}: {}\n", entry.0, entry.1)
}

#[test]
fn an_entry_closes_as_far_as_its_agent_lets_it() {
    let mut all = String::new();
    for (agent, version) in [
        (Agent::Claude, [2, 1, 295]),
        (Agent::Claude, [2, 1, 294]),
        (Agent::Codex, [0, 169, 0]),
        (Agent::Gemini, [0, 61, 0]),
        (Agent::Cursor, [3, 1, 0]),
        (Agent::Copilot, [1, 0, 102]),
    ] {
        all.push_str(&earlier_entry(agent, version, Fail::Closed));
    }
    all.push_str(&earlier_entry(Agent::Claude, [2, 1, 295], Fail::Open));
    all.push_str(&earlier_entry(Agent::Copilot, [1, 0, 102], Fail::Open));
    expect![[r#"
        PreToolUse: {"hooks":[{"type":"command","command":"/opt/my tools/hob","args":["hook","PreToolUse","--agent","claude","--fail","closed"],"timeout":10,"onFailure":"block"}]}
        PreToolUse: {"hooks":[{"type":"command","command":"'/opt/my tools/hob' hook PreToolUse --agent claude --fail closed || exit 2","timeout":10}]}
        PreToolUse: {"hooks":[{"type":"command","command":"'/opt/my tools/hob' hook PreToolUse --agent codex --fail closed || exit 2","timeout":10}]}
        BeforeTool: {"hooks":[{"type":"command","name":"hob","command":"'/opt/my tools/hob' hook BeforeTool --agent gemini --fail closed || exit 2","timeout":10000}]}
        preToolUse: {"command":"'/opt/my tools/hob' hook preToolUse --agent cursor --fail closed || exit 2","timeout":10,"failClosed":true}
        preToolUse: {"type":"command","bash":"'/opt/my tools/hob' hook preToolUse --agent copilot --fail closed || exit 2","timeoutSec":10}
        PreToolUse: {"hooks":[{"type":"command","command":"/opt/my tools/hob","args":["hook","PreToolUse","--agent","claude","--fail","open"],"timeout":10}]}
        preToolUse: {"type":"command","bash":"'/opt/my tools/hob' hook preToolUse --agent copilot --fail open || exit 0","timeoutSec":10}
    "#]]
    .assert_eq(&all);
}

#[test]
fn written_entries_are_parsed() {
    for agent in Agent::ALL {
        for fail in [Fail::Open, Fail::Ask, Fail::Closed] {
            for version in [[2, 1, 197], [2, 1, 331]] {
                let plan = plan(agent, version, fail);
                let file = match plan.plugin() {
                    Some(text) => json!(text),
                    None => {
                        let events =
                            plan.entries().into_iter().map(|(event, entry)| (event.to_owned(), json!([entry])));
                        json!({"hooks": serde_json::Map::from_iter(events)})
                    }
                };
                let read = installed(agent, &file);
                assert_eq!(read.len(), plan.events.len(), "{agent:?} {file}");
                for ((row, fail), entry) in plan.events.iter().zip(&read) {
                    let is_plugin = agent.layout() == Layout::Plugin;
                    assert_eq!(entry.event, row.name);
                    assert_eq!(entry.fail, if is_plugin { plan.fail } else { *fail });
                    assert_eq!(entry.within_ms, Some(10_000));
                    assert!(entry.is_as_written() && entry.program() == PATH, "{entry:?}");
                    let gone = entry.with_program("/no such/hob");
                    match gone {
                        Form::Exec { program, .. } => assert_eq!(program, "/no such/hob"),
                        Form::Shell(line) => {
                            assert!(line.starts_with(&format!("'/no such/hob' hook {}", row.name)), "{line}")
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_person_has_more_time_where_a_rule_asks_one() {
    let rules = policy("[[rule]]\nid = \"a\"\ntool = \"shell\"\ncommand = \"x\"\ndecide = \"person\"\n");
    for (agent, version) in [(Agent::Claude, [2, 1, 331]), (Agent::Claude, [2, 1, 197]), (Agent::Codex, [0, 169, 0])] {
        let plan = Plan::new(agent, PATH.to_owned(), Some(Version(version)), Fail::Open, &rules, false);
        let events = plan.entries().into_iter().map(|(event, entry)| (event.to_owned(), json!([entry])));
        let read = installed(agent, &json!({"hooks": serde_json::Map::from_iter(events)}));
        for entry in &read {
            let asks = entry.event == "PermissionRequest";
            assert_eq!(entry.within_ms, Some(if asks { 300_000 } else { 10_000 }), "{entry:?}");
            assert!(entry.is_as_written() && format!("{entry:?}").contains("--person") == asks, "{entry:?}");
        }
        assert!(read.iter().any(|entry| entry.event == "PermissionRequest"), "{read:?}");
    }
    for more in [" --person", " --person x", " --person 5 --project /x", " --personal 5"] {
        let line = format!("hob hook Stop --agent claude --fail open{more}");
        let file = json!({"hooks": {"Stop": [{"hooks": [{"command": line}]}]}});
        assert!(!installed(Agent::Claude, &file)[0].is_as_written(), "{more}");
    }
}

#[test]
fn others_entries_are_others() {
    for command in ["hob-lint hook x", "echo hook --agent claude", "/bin/hob mcp", "x; hobble hook", "", "'hob hook"] {
        assert!(!is_ours(Agent::Claude, &json!({"command": command})), "{command}");
    }
    assert!(is_ours(Agent::Claude, &json!({"command": "cd /x && /y/hob-dev hook Stop --agent claude|| true"})));
    assert!(!is_ours(Agent::Claude, &json!({"command": "/y/hob hook Stop --agent codex"})));
    // A hand-written entry: hob does not remove it, but tests it.
    assert!(!is_ours(Agent::Claude, &json!({"command": "hob hook Stop"})));
    let file = json!({"hooks": {"Stop": [{"hooks": [{"command": "hob hook Stop"}, {"command": "x"}]}]}});
    let by_hand = installed(Agent::Claude, &file);
    assert_eq!(by_hand.len(), 1);
    assert!(!by_hand[0].is_as_written());
    for more in ["; curl x | sh", " || exit 2; x", " > y", " --project /x"] {
        let line = format!("hob hook Stop --agent claude --fail open{more}");
        let file = json!({"hooks": {"Stop": [{"hooks": [{"command": line}]}]}});
        assert!(!installed(Agent::Claude, &file)[0].is_as_written(), "{more}");
    }
}

#[test]
fn an_entry_of_a_checkout_is_as_written_only_by_exact_equality() {
    let rest = "hook PreToolUse --agent claude --fail closed";
    let is_as_written = |handler: Value| {
        let event = handler["event"].as_str().unwrap_or("PreToolUse").to_owned();
        let file = json!({"hooks": {event: [{"hooks": [handler]}]}});
        installed(Agent::Claude, &file).first().is_some_and(Installed::is_as_written)
    };
    for program in ["hob", "/opt/a=b/hob", "/opt/my programs/hob"] {
        let args: Vec<String> = rest.split(' ').map(str::to_owned).collect();
        assert!(is_as_written(json!({"command": entries::line(program, &args, true)})), "{program}");
        assert!(is_as_written(json!({"command": program, "args": args})), "{program}");
    }
    for program in [
        "PATH=DIR/bin/hob",
        "'PATH=DIR/bin/hob'",
        "PATH+=:DIR/hob",
        "a[0]=x/hob",
        "./hob",
        "bin/hob",
        "~/hob",
        "hob-next",
        "../hob",
        "$HOME/hob",
        "`x`/hob",
        "\"/opt/hob\"",
        "'/opt/hob'",
        "/opt/a=b/hob",
        "env /opt/hob",
        "LD_PRELOAD=/x /opt/hob",
    ] {
        assert!(!is_as_written(json!({"command": format!("{program} {rest} || exit 2")})), "{program}");
    }
    for program in ["PATH=DIR/bin/hob", "./hob", "bin/hob", "hob-next"] {
        let args: Vec<&str> = rest.split(' ').collect();
        assert!(!is_as_written(json!({"command": program, "args": args})), "{program}");
    }
    for line in [
        format!("hob {rest}"),
        format!("hob {rest} || exit 0"),
        format!("hob {rest} || exit 2 "),
        format!(" hob {rest} || exit 2"),
        format!("hob  {rest} || exit 2"),
        format!("x=1 hob {rest} || exit 2"),
        format!("hob {rest} --person 5 || exit 2"),
        format!("hob {rest} || exit 2\nx"),
        format!("hob {rest} || exit 2 # x"),
        format!("hob {} || exit 2", rest.replace(' ', "\t")),
    ] {
        assert!(!is_as_written(json!({"command": line})), "{line}");
    }
    let unknown = ["hook", "--project=/x", "--agent", "claude", "--fail", "closed"];
    assert!(!is_as_written(json!({"event": "--project=/x", "command": "hob", "args": unknown})));
}

#[test]
fn only_what_something_uses_is_registered_and_only_what_a_rule_stops_is_closed() {
    let names = |plan: &Plan| {
        plan.events.iter().map(|(row, fail)| format!("{} {}", row.name, fail.as_str())).collect::<Vec<_>>()
    };
    let planned = |text: &str, all| {
        Plan::new(Agent::Claude, "hob".to_owned(), Some(CLAUDE_ON_FAILURE), Fail::Closed, &policy(text), all)
    };
    assert_eq!(
        names(&planned("", false)),
        ["SessionStart open", "UserPromptSubmit open", "PreToolUse closed", "PostToolUse open", "Stop open"]
    );
    let rules = "[[rule]]\nid = \"a\"\ntool = \"shell\"\ncommand = \"x\"\ndecide = \"deny\"\n\
                 [[rule]]\nid = \"b\"\non = [\"prompt\", \"PreModelSwitch\"]\ndecide = \"ask\"\n";
    let with = names(&planned(rules, false));
    for event in ["PermissionRequest closed", "UserPromptSubmit closed", "PreModelSwitch open"] {
        assert!(with.contains(&event.to_owned()), "{with:?}");
    }
    assert_eq!(planned("", true).events.len(), 33);
    let old = Plan::new(Agent::Claude, "hob".to_owned(), Some(Version([2, 1, 197])), Fail::Open, &[], true);
    assert_eq!(old.events.len(), 30);
    // Two spellings of an event are the same event.
    let copilot = Plan::new(Agent::Copilot, "hob".to_owned(), None, Fail::Open, &[], true);
    assert_eq!(copilot.events.len(), Agent::Copilot.rows().len() - 2);
}

#[test]
fn measurements_match_the_tables() {
    let page = include_str!("../../../../docs/generated/agents.md");
    let measured = format!("tables of agents `{}`", tables());
    assert!(page.contains(&measured), "they have changed since: run `cargo xtask clients agents --hooks` ({measured})");
}

#[test]
fn codex_reviews_have_the_recorded_hash() {
    // In the form of Codex 0.169's app server (`hooks/list`).
    let line = |event: &str| format!("/opt/hob hook {event} --agent codex --fail closed || exit 2");
    let group = |event: &str| json!({"hooks": [{"type": "command", "command": line(event), "timeout": 10}]});
    let foreign = json!({"hooks": [{"type": "command", "command": "lint"}]});
    let file = json!({"hooks": {
        "PreToolUse": [group("PreToolUse")], "PermissionRequest": [foreign, group("PermissionRequest")],
    }});
    let reviews = [
        ("/h/hooks.json:pre_tool_use:0:0", "sha256:fe978ca8c74f0c73959708b4db0c5ae00e73f3d125a867b1a47c3f004e02c8e2"),
        (
            "/h/hooks.json:permission_request:1:0",
            "sha256:df502326f161377adb475f265b655d45c991a0d31055123f4d1673afb5b48ffe",
        ),
    ];
    assert_eq!(codex_reviews("/h/hooks.json", &file), reviews.map(|(key, hash)| (key.to_owned(), hash.to_owned())));
}
