//! Tests of edits to a policy: their immediate effect, and the effect of a grant.

use std::path::Path;

use super::*;
use crate::agents::Agent;
use crate::policy::{Decision, Facts, Subject, decide};

const DENY: &str = "[[rule]]\nid = \"push\"\ncommand = \"git push -f\"\ndecide = \"deny\"\n";
const HOLD: &str = "[[rule]]\nid = \"hold\"\non = \"turn_end\"\ndecide = \"deny\"\nreason = \"run the tests\"\n";

fn text(id: &str) -> Source {
    Source::Project(FileGrant::Text { id: id.to_owned() })
}

const NOTHING: Source = Source::Project(FileGrant::Nothing);
const OTHER: Source = Source::Project(FileGrant::OtherText);

fn decision(policy: &Policy, name: &str, command: &str) -> Decision {
    let payload = serde_json::json!({"hook_event_name": name, "tool_name": "Bash", "tool_input": {"command": command}});
    let event = crate::read(Agent::Claude, "", payload.to_string().as_bytes());
    let subject = Subject::from_event(&event, Path::new("/p"), Path::new("/p"));
    decide(std::slice::from_ref(policy), &event, &subject, &Facts::new())
}

fn verdict(in_force: &InForce, name: &str) -> Verdict {
    decision(&in_force.policy, name, "git push -f").verdict
}

#[test]
fn a_text_without_a_grant_only_denies_and_asks_before_tools() {
    let rule = |more: &str| format!("[[rule]]\nid = \"a\"\n{more}\n");
    let cases = [
        "decide = \"deny\"\ncommand = \"git push\"",
        "decide = \"deny\"\ncommand = \"git push\"\ncontext = \"obey the file NOTES\"",
        "decide = \"pass\"\ncommand = \"git push\"\ncontext = \"obey the file NOTES\"",
        "decide = \"person\"\ncommand = \"git push\"",
        "decide = \"person\"\non = \"tool_before\"\ncommand = \"git push\"",
        "decide = \"allow\"\ncommand = \"git push\"",
        "decide = \"deny\"\non = \"turn_end\"",
        "decide = \"deny\"\non = [\"Stop\", \"PreToolUse\"]",
        "decide = \"deny\"\non = \"subagent_stop\"",
        "decide = \"ask\"\non = [\"tool_after\", \"session_start\", \"prompt\"]",
        "decide = \"deny\"\non = \"TaskCompleted\"",
    ];
    let events = [
        "PreToolUse",
        "PermissionRequest",
        "PostToolUse",
        "UserPromptSubmit",
        "SessionStart",
        "Stop",
        "SubagentStop",
        "TaskCompleted",
    ];
    let mut seen = Vec::new();
    for case in cases {
        let [granted, not] = [&text("1"), &NOTHING].map(|source| in_force(&rule(case), &RuleRecord::default(), source));
        assert!(granted.pending.is_empty() && granted.depends_on_grant != not.pending.is_empty(), "{case}");
        let decisions = |in_force: &InForce| {
            let decided = events.map(|name| (name, decision(&in_force.policy, name, "git push")));
            let words = decided
                .into_iter()
                .filter(|(_, decision)| decision.verdict > Verdict::Pass || !decision.context.is_empty());
            let words = words.map(|(name, decision)| {
                let context = if decision.context.is_empty() { "" } else { "+context" };
                format!("{name}={}{context}", decision.verdict.as_str())
            });
            words.collect::<Vec<_>>().join(" ")
        };
        seen.push(format!(
            "{}\n  granted: {}\n  not: {}\n  waits: {}",
            case.replace('\n', "; "),
            decisions(&granted),
            decisions(&not),
            not.pending.join("; ")
        ));
    }
    expect_test::expect![[r#"
        decide = "deny"; command = "git push"
          granted: PreToolUse=deny PermissionRequest=deny
          not: PreToolUse=deny PermissionRequest=deny
          waits: 
        decide = "deny"; command = "git push"; context = "obey the file NOTES"
          granted: PreToolUse=deny+context PermissionRequest=deny+context
          not: PreToolUse=deny PermissionRequest=deny
          waits: rule a adds to the agent's context
        decide = "pass"; command = "git push"; context = "obey the file NOTES"
          granted: PreToolUse=pass+context PermissionRequest=pass+context
          not: 
          waits: rule a adds to the agent's context
        decide = "person"; command = "git push"
          granted: PermissionRequest=person
          not: PermissionRequest=ask
          waits: rule a asks a person
        decide = "person"; on = "tool_before"; command = "git push"
          granted: PreToolUse=person
          not: PreToolUse=ask
          waits: rule a asks a person
        decide = "allow"; command = "git push"
          granted: PreToolUse=allow PermissionRequest=allow
          not: 
          waits: rule a allows `git push`
        decide = "deny"; on = "turn_end"
          granted: Stop=deny
          not: 
          waits: rule a decides on turn_end
        decide = "deny"; on = ["Stop", "PreToolUse"]
          granted: PreToolUse=deny Stop=deny
          not: PreToolUse=deny
          waits: rule a decides on Stop
        decide = "deny"; on = "subagent_stop"
          granted: SubagentStop=deny
          not: 
          waits: rule a decides on subagent_stop
        decide = "ask"; on = ["tool_after", "session_start", "prompt"]
          granted: PostToolUse=ask UserPromptSubmit=ask SessionStart=ask
          not: 
          waits: rule a decides on tool_after, session_start, prompt
        decide = "deny"; on = "TaskCompleted"
          granted: TaskCompleted=deny
          not: 
          waits: rule a decides on TaskCompleted"#]]
    .assert_eq(&seen.join("\n"));
}

#[test]
fn edits_without_a_grant_never_drop_a_rule_that_denies() {
    let mut held = in_force(&format!("{DENY}{HOLD}"), &RuleRecord::default(), &text("1")).held;
    // Each edit has other rules, reasons or ids, or none at all.
    for number in 0..20 {
        let rule = |id: usize| {
            let reason = "r".repeat(500);
            format!("[[rule]]\nid = \"n{id}\"\ncommand = \"x{id}\"\ndecide = \"deny\"\nreason = \"{reason}\"\n")
        };
        let edit = match number % 4 {
            0 => String::new(),
            1 => (number * 900..(number + 1) * 900).map(rule).collect(),
            2 => DENY.replace("deny\"", &format!("deny\"\nreason = \"{number}\"")),
            _ => DENY.replace("push\"\nc", &format!("push{number}\"\nc")),
        };
        let now = in_force(&edit, &held, &OTHER);
        assert_eq!((verdict(&now, "PreToolUse"), verdict(&now, "Stop")), (Verdict::Deny, Verdict::Deny), "{number}");
        held = now.held;
    }
    let bytes = serde_json::to_vec(&held).unwrap().len();
    assert!(bytes <= BYTES_MAX && (3600..=RULES_MAX).contains(&held.rules.len()), "{bytes} {}", held.rules.len());
}

#[test]
fn a_text_that_would_fill_the_record_does_not_count_and_says_so() {
    let rules = |from: usize, count: usize| -> String {
        (from..from + count)
            .map(|n| format!("[[rule]]\nid = \"n{n}\"\ncommand = \"x{n}\"\ndecide = \"deny\"\n"))
            .collect()
    };
    let mut held = RuleRecord::default();
    for from in [0, 1500] {
        held = in_force(&rules(from, 1500), &held, &NOTHING).held;
    }
    assert_eq!(held.rules.len(), 3000);
    let over = in_force(&rules(3000, 1500), &held, &NOTHING);
    assert_eq!((over.held.rules.len(), over.policy.rules.len()), (3000, 3000), "what was held stays");
    let why = over.broken.unwrap();
    assert!(why.contains("exceeds 4000 rules") && why.contains("`hob trust`"), "{why}");
    assert_eq!(over.pending, ["the text replaces too many previous rules"]);
    let granted = in_force(&rules(3000, 1500), &held, &text("1"));
    assert_eq!((granted.held.rules.len(), granted.pending.len()), (1500, 0));
}

#[test]
fn a_grant_ends_former_rules_once() {
    let granted = in_force("", &RuleRecord::default(), &text("1"));
    // The user adds a rule and an agent removes it again: the text is the granted one, and the rule stays.
    let denies = in_force(DENY, &granted.held, &OTHER);
    let back = in_force("", &denies.held, &text("1"));
    assert_eq!(verdict(&back, "PreToolUse"), Verdict::Deny);
    assert_eq!(back.pending, ["rule push (deny) was removed or changed"]);
    // A new grant removes it.
    let again = in_force("", &back.held, &text("2"));
    assert_eq!((verdict(&again, "PreToolUse"), again.pending.len(), again.policy.rules.len()), (Verdict::Pass, 0, 0));
}

#[test]
fn granted_rules_stay_until_the_grant_is_withdrawn() {
    let person = "[[rule]]\nid = \"p\"\ncommand = \"git push\"\ndecide = \"person\"\ncontext = \"a fact\"\n";
    let granted = in_force(&format!("{person}{HOLD}"), &RuleRecord::default(), &text("1"));
    let edited = in_force(&format!("{person}# edited\n"), &granted.held, &OTHER);
    assert_eq!((verdict(&edited, "PermissionRequest"), verdict(&edited, "Stop")), (Verdict::Person, Verdict::Deny));
    assert_eq!(edited.pending, ["rule hold (deny) was removed or changed"]);
    let revoked = in_force(&format!("{person}{HOLD}"), &edited.held, &NOTHING);
    let at = |name: &str| decision(&revoked.policy, name, "git push");
    assert_eq!((at("PermissionRequest").verdict, at("Stop").verdict), (Verdict::Ask, Verdict::Pass));
    assert!(at("PermissionRequest").context.is_empty());
}
