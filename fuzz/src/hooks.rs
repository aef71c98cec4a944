//! Events of agents' hooks, and texts for shells.

use std::path::Path;
use std::sync::LazyLock;

use hooks::agents::{Fail, Verdict};
use hooks::policy::{Decision, Facts, Policy, Subject, decide, script};
use hooks::{Agent, Event};
use serde_json::Value;

/// Rules of every kind of decision.
static POLICY: LazyLock<[Policy; 1]> = LazyLock::new(|| {
    let text = r#"
[[rule]]
id = "push"
command = ["git push -f", "git push --force*", "git push * +*"]
decide = "deny"
reason = "no"
[[rule]]
id = "files"
tool = ["write", "edit"]
when = { path = ["generated/**", "!generated/mine"] }
decide = "ask"
[[rule]]
id = "reading"
command = ["git status", "ls *"]
decide = "allow"
context = "a fact"
[[rule]]
id = "yours"
on = ["tool_before", "permission_request"]
tool = "github/*"
decide = "person"
[[rule]]
id = "ends"
on = ["turn_end", "prompt", "subagent_stop", "WorktreeCreate"]
decide = "deny"
"#;
    [Policy::parse(text).expect("the rules are right")]
});

fn decided(policies: &[Policy], event: &Event) -> Decision {
    let subject = Subject::from_event(event, Path::new("/p"), Path::new("/p"));
    decide(policies, event, &subject, &Facts::new())
}

/// The first byte chooses the agent and the event that the command line says.
pub fn hook(data: &[u8]) {
    let Some((first, raw)) = data.split_first() else { return };
    let agent = Agent::ALL[usize::from(*first) % Agent::ALL.len()];
    let rows = agent.rows();
    let named = rows[usize::from(*first) / Agent::ALL.len() % rows.len()].name;
    let event = hooks::read(agent, named, raw);
    let _ = Agent::of_payload(named, raw);

    // Without a rule nothing is said, whatever comes.
    let none = decided(&[], &event);
    let rendered = agent.render(agent.row(&event.name), &none.answer());
    assert_eq!((rendered.stdout.as_str(), rendered.stderr.as_str(), rendered.exit), ("", "", 0));

    let by_rules = decided(&*POLICY, &event);
    assert_eq!(by_rules, decided(&*POLICY, &hooks::read(agent, named, raw)), "the same again");
    let rendered = agent.render(agent.row(&event.name), &by_rules.answer());
    if rendered.exit != 0 {
        assert!(rendered.exit == 2 && by_rules.verdict >= Verdict::Ask, "{rendered:?}");
    }
    if !rendered.stdout.is_empty() {
        assert!(serde_json::from_str::<Value>(&rendered.stdout).is_ok_and(|value| value.is_object()), "{rendered:?}");
        assert_eq!(rendered.stdout.matches('\n').count(), 1, "{rendered:?}");
    }
    for fail in [Fail::Open, Fail::Ask, Fail::Closed] {
        let failed = fail.render(agent, &event.name, "why");
        let may_block = fail != Fail::Open && agent.row(&event.name).is_some_and(hooks::agents::Row::is_gate);
        assert!(failed.exit == 0 || (failed.exit == 2 && may_block), "{failed:?}");
    }
    let _ = hooks::person_questions::asking(&event, raw, "why");
}

/// A text for a shell.
pub fn shell_words(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let read = script(text);
    assert_eq!(format!("{read:?}"), format!("{:?}", script(text)), "the same again");
    // A shell runs the first line before it reads the next.
    let payload = serde_json::json!({
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": format!("git push -f\n{text}") },
    });
    let event = hooks::read(Agent::Claude, "", payload.to_string().as_bytes());
    assert!(decided(&*POLICY, &event).verdict >= Verdict::Ask, "{text:?}");
}
