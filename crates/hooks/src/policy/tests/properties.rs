//! Properties of every policy and every command.

use project::trust::FileGrant;
use proptest::prelude::*;

use super::{decision, shell};
use crate::agents::{Agent, Verdict};
use crate::event::Event;
use crate::policy::effective_policy::Source;
use crate::policy::{Decision, Facts, Policy, Subject, decide, effective_policy, script};

/// Pieces of commands and rules that often match.
const PROGRAMS: &[&str] =
    &["git", "rm", "sudo git", "env X=1 rm", "$x", "sh -c 'git push'", "xargs rm", "eval \"$y\"", "cat"];
const ARGUMENTS: &[&str] =
    &["push", "-f", "--force", "--force-with-lease=x", "a", "+b", "$z", "\"$z\"", "--", "-rf", "> out", "{a,b}", "*"];
const PATTERNS: &[&str] =
    &["git push", "git push -f", "git push --force*", "rm -rf", "rm", "git push * +*", "*", "cat * a"];

fn command() -> impl Strategy<Value = String> {
    let one = (prop::sample::select(PROGRAMS), prop::collection::vec(prop::sample::select(ARGUMENTS), 0..4))
        .prop_map(|(program, arguments)| format!("{program} {}", arguments.join(" ")));
    (prop::collection::vec(one, 1..4), prop::sample::select(&["; ", " && ", " | ", "\n"][..]))
        .prop_map(|(commands, between)| commands.join(between))
}

fn rule() -> impl Strategy<Value = (String, &'static str)> {
    let decides = prop::sample::select(&["pass", "allow", "ask", "person", "deny"][..]);
    (prop::sample::select(PATTERNS), decides, any::<bool>()).prop_map(|(pattern, decides, with_tool)| {
        let tool = if with_tool { "tool = \"shell\"\n" } else { "" };
        (format!("on = \"tool_before\"\n{tool}command = {pattern:?}\ndecide = {decides:?}\n"), decides)
    })
}

/// Generates a rule of any kind, for [`event`]s.
fn any_rule() -> impl Strategy<Value = (String, &'static str)> {
    let decides = prop::sample::select(&["pass", "allow", "ask", "person", "deny"][..]);
    let about = prop::sample::select(
        &[
            "tool = \"shell\"",
            "tool = [\"write\", \"edit\"]",
            "tool = \"mcp\"",
            "tool = \"git*/*\"",
            "command = \"git push -f\"",
            "command = \"rm\"\ntool = \"shell\"",
            "when = { path = [\"src/**\", \"!src/mine\"] }",
            "when = { mode = \"plan\", path = \"*\" }",
            "when = { subagent = true, path = \"**\" }",
            "tool = \"read\"\nwhen = { \"work.branch\" = \"ma*\" }",
            "tool = \"*\"\nagent = [\"claude\", \"g*\"]",
        ][..],
    );
    (about, decides, any::<bool>()).prop_map(|(about, decides, before)| {
        let on = if before { "tool_before" } else { "permission_request" };
        (format!("on = {on:?}\n{about}\ndecide = {decides:?}\ncontext = \"a fact\"\n"), decides)
    })
}

/// Generates an event of some agent.
fn event() -> impl Strategy<Value = Event> {
    let tools = prop::sample::select(&["Bash", "Write", "Edit", "Read", "mcp__github__push", "Odd"][..]);
    let names = prop::sample::select(&["PreToolUse", "PermissionRequest", "BeforeTool", "Stop"][..]);
    let paths = prop::sample::select(&["src/a", "src/mine", "../x", "/etc/passwd", "src/../b", ""][..]);
    let agents = prop::sample::select(&Agent::ALL[..]);
    (agents, names, tools, command(), paths, any::<[bool; 2]>()).prop_map(
        |(agent, name, tool, command, path, [plans, within])| {
            let mut payload = serde_json::json!({"hook_event_name": name, "tool_name": tool,
                "tool_input": {"command": command, "file_path": path}});
            if plans {
                payload["permission_mode"] = "plan".into();
            }
            if within {
                payload["agent_id"] = "a".into();
            }
            crate::read(agent, name, payload.to_string().as_bytes())
        },
    )
}

fn decided(rules: &[(String, &'static str)], event: &Event) -> Decision {
    let policies = [Policy::parse(&policy(rules)).unwrap()];
    let facts = Facts::from([("work.branch".to_owned(), "main".to_owned())]);
    decide(&policies, event, &Subject::from_event(event, "/p".as_ref(), "/p".as_ref()), &facts)
}

fn policy(rules: &[(String, &'static str)]) -> String {
    rules.iter().enumerate().map(|(at, (rule, _))| format!("[[rule]]\nid = \"r{at}\"\n{rule}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn a_rule_that_denies_or_asks_never_loosens(rules in prop::collection::vec(rule(), 0..6), more in rule(), command in command()) {
        prop_assume!(["ask", "person", "deny"].contains(&more.1));
        let before = decision(&policy(&rules), &shell(&command)).verdict;
        let mut rules = rules;
        rules.push(more);
        let after = decision(&policy(&rules), &shell(&command)).verdict;
        prop_assert!(after >= before, "{:?} became {:?}", before, after);
    }

    #[test]
    fn on_any_event_of_any_agent_a_rule_that_denies_or_asks_never_loosens_and_order_changes_reasons_only(
        rules in prop::collection::vec(any_rule(), 0..6), more in any_rule(), at in 0_usize..6, event in event(),
    ) {
        let before = decided(&rules, &event);
        let reversed: Vec<_> = rules.iter().cloned().rev().collect();
        prop_assert_eq!(before.verdict, decided(&reversed, &event).verdict);
        if ["ask", "person", "deny"].contains(&more.1) {
            let mut rules = rules;
            rules.insert(at.min(rules.len()), more);
            let after = decided(&rules, &event);
            prop_assert!(after.verdict >= before.verdict, "{:?} became {:?}", before, after);
        }
    }

    #[test]
    fn the_order_of_rules_changes_reasons_only(rules in prop::collection::vec(rule(), 0..6), command in command()) {
        let one = decision(&policy(&rules), &shell(&command)).verdict;
        let reversed: Vec<_> = rules.into_iter().rev().collect();
        prop_assert_eq!(one, decision(&policy(&reversed), &shell(&command)).verdict);
    }

    #[test]
    fn ungranted_edits_never_loosen(before in prop::collection::vec(rule(), 0..5), after in prop::collection::vec(rule(), 0..5), command in command()) {
        let held = effective_policy::in_force(&policy(&before), &effective_policy::RuleRecord::default(), &Source::User);
        // Both files use the same ids for different rules.
        let now = effective_policy::in_force(&policy(&after), &held.held, &Source::Project(FileGrant::OtherText));
        let event = crate::read(crate::Agent::Claude, "", shell(&command).to_string().as_bytes());
        let subject = crate::policy::Subject::from_event(&event, "/p".as_ref(), "/p".as_ref());
        let decide = |policy| crate::policy::decide(&[policy], &event, &subject, &crate::policy::Facts::new()).verdict;
        let (was, is) = (decide(held.policy), decide(now.policy));
        // A previous `allow` was removed: the agent asks as it would without hob.
        prop_assert!(is >= was || was == Verdict::Allow, "{:?} became {:?}", was, is);
        prop_assert!(is != Verdict::Allow);
    }

    #[test]
    fn any_text_is_read(text in "\\PC{0,60}", odd in "[a-z$(){}`'\"\\\\ ;|&<>\\n\\[\\]*!=#~-]{0,80}") {
        for text in [text, odd] {
            script(&text);
            // A shell runs the first line before it reads the next.
            let after = decision(super::FORCE_PUSH, &shell(&format!("git push -f\n{text}"))).verdict;
            prop_assert!(after >= Verdict::Ask, "{text}");
        }
    }
}
