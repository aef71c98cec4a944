//! Tests of the decision: a forbidden command in every spelling, similar harmless commands, and properties of all policies.

mod code;
mod opened;
mod properties;
mod spellings;

use std::path::Path;

use super::*;
use crate::agents::{Agent, Verdict};

pub(super) const FORCE_PUSH: &str = r#"
[[rule]]
id = "no-force-push"
tool = "shell"
command = ["git push --force*", "git push -f", "git push * +*"]
decide = "deny"
"#;

pub(super) fn decision(policy: &str, payload: &serde_json::Value) -> Decision {
    let policy = Policy::parse(policy).unwrap();
    let event = crate::read(Agent::Claude, "", payload.to_string().as_bytes());
    let subject = Subject::from_event(&event, Path::new("/p"), Path::new("/p"));
    decide(&[policy], &event, &subject, &Facts::new())
}

pub(super) fn shell(command: &str) -> serde_json::Value {
    serde_json::json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}})
}

/// Splits a list of texts at lines of `---`.
fn texts(list: &str) -> Vec<&str> {
    let texts: Vec<&str> = list.split("\n---\n").map(|text| text.strip_suffix('\n').unwrap_or(text)).collect();
    assert!(texts.len() >= 40, "{}", texts.len());
    texts
}

#[test]
fn every_spelling_of_a_forbidden_command_and_none_of_its_neighbours() {
    for (list, least, expected) in [
        (include_str!("forbidden.txt"), 80, Verdict::Deny),
        (include_str!("innocent.txt"), 80, Verdict::Pass),
        (include_str!("opaque.txt"), 40, Verdict::Ask),
    ] {
        let texts = texts(list);
        assert!(texts.len() >= least, "{expected:?}: {}", texts.len());
        let wrong: Vec<String> = texts
            .iter()
            .map(|text| (text, decision(FORCE_PUSH, &shell(text))))
            .filter(|(_, decision)| decision.verdict != expected)
            .map(|(text, decision)| format!("{text}\n  is {:?}: {:?}", decision.verdict, script(text)))
            .collect();
        assert!(wrong.is_empty(), "to be {expected:?}:\n{}", wrong.join("\n"));
    }
}

#[test]
fn options_and_operands() {
    let verdict = |pattern: &str, command: &str| {
        let policy = format!("[[rule]]\nid = \"a\"\ncommand = {pattern:?}\ndecide = \"deny\"\n");
        decision(&policy, &shell(command)).verdict == Verdict::Deny
    };
    for (pattern, command, expected) in [
        ("rm -rf", "rm -fr x", true),
        ("rm -rf", "rm -r -f x", true),
        ("rm -rf", "rm -vrf x", true),
        ("rm -rf", "rm -r x", false),
        ("rm -rf /", "rm -rf /", true),
        ("rm -rf /", "rm -rf /tmp", false),
        ("rm * /", "rm -v a /", true),
        ("rm", "/bin/rm x", true),
        ("rm", "rmdir x", false),
        ("/usr/bin/rm", "rm x", false),
        ("/usr/bin/rm", "/usr/bin/rm x", true),
        ("kubectl delete", "kubectl -n prod delete pod x", true),
        ("kubectl delete", "kubectl get delete", false),
        ("docker run --privileged", "docker run --privileged=true x", true),
        ("docker run --privileged=true", "docker run --privileged=false x", false),
        ("git checkout -- *", "git checkout -- a", true),
        ("git checkout -- *", "git checkout a", false),
        ("npm publish", "npm --tag next publish", true),
        ("* --no-verify", "git commit --no-verify", true),
        ("make deploy*", "make -j4 deploy-prod", true),
    ] {
        assert_eq!(verdict(pattern, command), expected, "{pattern} | {command}");
    }
}

#[test]
fn paths_are_where_they_lead_and_redirections_write() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("src")).unwrap();
    std::os::unix::fs::symlink("../generated", root.join("src/link")).unwrap();
    let policy = "[[rule]]\nid = \"generated\"\ntool = [\"write\", \"edit\"]\nwhen = { path = [\"generated/**\"] }\ndecide = \"deny\"\n\
                  [[rule]]\nid = \"outside\"\ntool = \"write\"\nwhen = { path = [\"!src/**\", \"!generated/**\"] }\ndecide = \"ask\"\n";
    let policies = [Policy::parse(policy).unwrap()];
    let verdict = |payload: &serde_json::Value| {
        let event = crate::read(Agent::Claude, "PreToolUse", payload.to_string().as_bytes());
        let subject = Subject::from_event(&event, &root, &root);
        decide(&policies, &event, &subject, &Facts::new()).verdict
    };
    let write = |path: &str| serde_json::json!({"tool_name": "Write", "tool_input": {"file_path": path}});
    let at_root = |path: &str| root.join(path).display().to_string();
    for (path, expected) in [
        ("generated/a".to_owned(), Verdict::Deny),
        (at_root("generated/a/b"), Verdict::Deny),
        ("src/../generated/a".to_owned(), Verdict::Deny),
        ("src/link/a".to_owned(), Verdict::Deny),
        ("src/a".to_owned(), Verdict::Pass),
        ("other".to_owned(), Verdict::Ask),
        ("/etc/passwd".to_owned(), Verdict::Ask),
    ] {
        assert_eq!(verdict(&write(&path)), expected, "{path}");
    }
    for (command, expected) in [
        ("echo a > generated/b", Verdict::Deny),
        ("cat <<E >> src/link/x\nE", Verdict::Deny),
        ("sh -c 'echo > generated/x'", Verdict::Deny),
        ("echo a 2>/dev/null >src/x", Verdict::Pass),
        ("cat generated/b", Verdict::Pass),
        ("echo a > $WHERE", Verdict::Ask),
        ("echo a > ../x", Verdict::Ask),
    ] {
        assert_eq!(
            verdict(&serde_json::json!({"tool_name": "Bash", "tool_input": {"command": command}})),
            expected,
            "{command}"
        );
    }
}

#[test]
fn events_agents_tools_and_conditions() {
    let rule = |more: &str| format!("[[rule]]\nid = \"a\"\n{more}\ndecide = \"deny\"\n");
    let tool = |name: &str| serde_json::json!({"hook_event_name": "PreToolUse", "tool_name": name, "permission_mode": "plan", "agent_id": "x"});
    for (more, name, expected) in [
        ("tool = \"mcp\"", "mcp__github__push", true),
        ("tool = \"github/*\"", "mcp__github__push", true),
        ("tool = \"github/pull\"", "mcp__github__push", false),
        ("tool = \"Web*\"", "WebFetch", true),
        ("tool = \"fetch\"", "WebSearch", true),
        ("tool = \"read\"\nagent = \"codex\"", "Read", false),
        ("tool = \"read\"\nagent = [\"c*\"]", "Read", true),
        ("on = \"pre-tool-use\"", "Read", true),
        ("on = \"Stop\"", "Read", false),
        ("tool = \"read\"\nwhen = { mode = \"plan\" }", "Read", true),
        ("tool = \"read\"\nwhen = { mode = [\"auto\", \"default\"] }", "Read", false),
        ("tool = \"read\"\nwhen = { subagent = true }", "Read", true),
        ("tool = \"read\"\nwhen = { subagent = false }", "Read", false),
        ("tool = \"read\"\nwhen = { \"work.branch\" = \"main\" }", "Read", false),
    ] {
        assert_eq!(decision(&rule(more), &tool(name)).verdict == Verdict::Deny, expected, "{more} {name}");
    }
    let branch = Policy::parse(&rule("tool = \"read\"\nwhen = { \"work.branch\" = \"ma*\" }")).unwrap();
    let event = crate::read(Agent::Claude, "", tool("Read").to_string().as_bytes());
    let facts = Facts::from([("work.branch".to_owned(), "main".to_owned())]);
    assert_eq!(decide(&[branch], &event, &Subject::default(), &facts).verdict, Verdict::Deny);
}

#[test]
fn the_strictest_rule_decides() {
    let rising = ["pass", "allow", "ask", "person", "deny"];
    let rule = |decide: &&str| {
        let when = "on = \"tool_before\"\ncommand = \"npm publish\"";
        format!("[[rule]]\nid = \"{decide}\"\n{when}\ndecide = \"{decide}\"\n")
    };
    for count in 1..=rising.len() {
        let policy: String = rising[..count].iter().rev().map(rule).collect();
        assert_eq!(decision(&policy, &shell("npm publish")).verdict.as_str(), rising[count - 1]);
    }
}

#[test]
fn invalid_policies_report_the_line_and_the_fix() {
    let check = |text: &str| Policy::parse(text).unwrap_err().to_string();
    let wrong = [
        "[[rule]]\nid = \"a\"\n",
        "x = 1\n",
        "\n[[rule]]\nid = \"a b\"\non = \"stop\"\ndecide = \"deny\"\n",
        "[[rule]]\nid = \"a\"\ndecide = \"deny\"\n",
        "[[rule]]\nid = \"a\"\non = \"tool_befor\"\ndecide = \"deny\"\n",
        "[[rule]]\nid = \"a\"\ncommand = \"-f\"\ndecide = \"deny\"\n",
        "[[rule]]\nid = \"a\"\ntool = \"shell\"\ndecide = \"forbid\"\n",
        "[[rule]]\nid = \"a\"\ntool = \"shell\"\nagent = \"claud\"\ndecide = \"deny\"\n",
        "[[rule]]\nid = \"a\"\ntool = \"shell\"\nwhen = { branch = \"main\" }\ndecide = \"deny\"\n",
        "[[rule]]\nid = \"a\"\ntool = \"shell\"\nwhen = { subagent = \"x\" }\ndecide = \"deny\"\n",
        "[[rule]]\nid = \"a\"\ntool = \"shell\"\nwhen = { path = \"[\" }\ndecide = \"deny\"\n",
        "[[rule]]\nid = \"a\"\ntool = \"shell\"\ndecide = \"deny\"\n[[rule]]\nid = \"a\"\ntool = \"read\"\ndecide = \"deny\"\n",
    ];
    expect_test::expect![[r#"
        line 1: missing field `decide`
        line 1: unknown field `x`, expected `opaque` or `rule`
        line 2: invalid id "a b": use 1 to 80 letters, digits, `-`, `_` and `.`
        line 1: rule a: `on` is missing: name the events
        line 1: rule a: unknown event "tool_befor"; write one of session_start, session_end, prompt, tool_before, tool_after, tool_failed, permission_request, turn_end, turn_failed, notification, subagent_start, subagent_stop, compact_before, compact_after, elicitation, other, or an agent's own name such as PreToolUse
        line 1: rule a: the command "-f" is not a valid pattern: it starts with an option: write the program before it, or `*` for any
        line 4: unknown variant `forbid`, expected one of `pass`, `allow`, `ask`, `person`, `deny`
        line 1: rule a: unknown agent "claud"; available: claude, codex, gemini, cursor, copilot, opencode
        line 1: rule a: unknown condition "branch"; available: path, mode, subagent, "work.branch", "work.base", "work.upstream", "work.detached", "work.dirty", "work.unpushed", "work.operation", "work.pull.checks", "work.issue", "work.issue.status"
        line 1: rule a: the condition "subagent" has a value of the wrong type
        line 1: rule a: the path "[" is not a valid pattern: error parsing glob '[': unclosed character class; missing ']'
        line 5: duplicate id "a": choose another one"#]].assert_eq(&wrong.map(check).join("\n"));
}

#[test]
fn a_rule_that_no_event_can_match_is_reported_and_the_rest_counts() {
    let why = |more: &str| {
        let policy =
            Policy::parse(&format!("{FORCE_PUSH}\n[[rule]]\nid = \"a\"\ndecide = \"deny\"\n{more}\n")).unwrap();
        assert_eq!(policy.rules.len(), 2, "{more}");
        policy.unreachable.first().map_or_else(|| "all right".to_owned(), ToString::to_string)
    };
    let cases = [
        "tool = \"read\"\ncommand = \"git push\"",
        "tool = [\"search\", \"WebFetch\"]\ncommand = \"git push\"",
        "tool = [\"read\", \"shell\"]\ncommand = \"git push\"",
        "tool = \"mcp\"\ncommand = \"git push\"",
        "tool = \"Bash\"\ncommand = \"git push\"",
        "tool = \"fetch\"\nwhen = { path = \"src/**\" }",
        "tool = \"mcp\"\nwhen = { path = \"src/**\" }",
        "on = \"turn_end\"\ntool = \"shell\"",
        "on = [\"Stop\", \"PreToolUse\"]\ntool = \"shell\"",
        "on = \"UserPromptSubmit\"\ncommand = \"git push\"",
        "on = \"beforeShellExecution\"\nagent = \"claude\"",
        "on = \"elicitation\"\nagent = \"codex\"",
        "command = \"curl * | sh\"",
        "command = \"git commit -m 'x'\"",
        "tool = \"write\"\nwhen = { path = \"src/\" }",
        "tool = \"write\"\nwhen = { path = [\"!src/../x\"] }",
        "tool = \"read\"\nwhen = { path = \"~/.ssh/**\" }",
    ];
    expect_test::expect![[r#"
        line 8: rule a: `command` never matches this `tool`, which runs no commands: write tool = "shell", or leave one of them out
        line 8: rule a: `command` never matches this `tool`, which runs no commands: write tool = "shell", or leave one of them out
        all right
        all right
        all right
        line 8: rule a: the condition `path` never matches this `tool`, which names no files: write tool = ["read", "write", "edit"], or leave one of them out
        all right
        line 8: rule a: no event of turn_end is about a tool, so `tool`, `command` and `path` never match: write on = "tool_before", or leave `on` out
        all right
        line 8: rule a: no event of UserPromptSubmit is about a tool, so `tool`, `command` and `path` never match: write on = "tool_before", or leave `on` out
        line 8: rule a: claude has no such event; write another event in `on`
        line 8: rule a: codex has no such event; write another event in `on`
        line 8: rule a: the command "curl * | sh" never matches, because no word of a command is "|": write one program with its words, without quotes
        line 8: rule a: the command "git commit -m 'x'" never matches, because no word of a command is "'x'": write one program with its words, without quotes
        line 8: rule a: the path "src/" never matches: write "src/**"
        line 8: rule a: the path "!src/../x" never matches: write it without `.`, `..` and empty parts
        line 8: rule a: the path "~/.ssh/**" never matches: write the whole path of your home directory"#]].assert_eq(&cases.map(why).join("\n"));
}
