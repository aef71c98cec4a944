//! Every event of every agent with a payload, and the possible answers: `docs/generated/hooks.md`.

use std::collections::HashSet;
use std::fmt::Write;

use expect_test::{Expect, expect, expect_file};
use serde_json::Value;
use serde_json::value::RawValue;

use super::*;
use crate::event::Event;

/// Returns the payloads of an agent, with the event of the command line.
fn fixtures(agent: Agent) -> Vec<(String, String)> {
    #[derive(serde::Deserialize)]
    struct Fixture<'a> {
        named: String,
        #[serde(borrow)]
        payload: &'a RawValue,
    }
    let text = match agent {
        Agent::Claude => include_str!("../../fixtures/claude.jsonl"),
        Agent::Codex => include_str!("../../fixtures/codex.jsonl"),
        Agent::Gemini => include_str!("../../fixtures/gemini.jsonl"),
        Agent::Cursor => include_str!("../../fixtures/cursor.jsonl"),
        Agent::Copilot => include_str!("../../fixtures/copilot.jsonl"),
        Agent::Opencode => include_str!("../../fixtures/opencode.jsonl"),
    };
    let read = |line| serde_json::from_str::<Fixture<'_>>(line).unwrap();
    text.lines().map(read).map(|fixture| (fixture.named, fixture.payload.get().to_owned())).collect()
}

fn describe(event: &Event) -> String {
    let mut shown = event.kind.as_str().to_owned();
    if let Some(tool) = &event.tool {
        let _ = write!(shown, ", {} {:?}", tool.kind.as_str(), tool.native);
        let command = tool.command.as_ref().map(|command| format!(", {command:?}"));
        shown.push_str(&command.unwrap_or_default());
        if !tool.paths.is_empty() {
            let _ = write!(shown, ", {:?}", tool.paths);
        }
        if let Some(mcp) = &tool.mcp {
            let _ = write!(shown, ", {mcp:?}");
        }
    }
    shown
}

#[test]
fn every_event_has_a_payload_and_a_row_and_passes_in_silence() {
    let mut page = include_str!("hooks_head.md").to_owned();
    for agent in Agent::ALL {
        let _ = write!(
            page,
            "\n## {}\n\n| event | kind | can be kept from happening | can ask | takes context |\n|---|---|---|---|---|\n",
            agent.title()
        );
        let fixtures = fixtures(agent);
        let mut seen = HashSet::new();
        for (named, payload) in &fixtures {
            let event = read(agent, named, payload.as_bytes());
            let row = agent.row(&event.name).unwrap_or_else(|| panic!("{agent:?} has no event {named}"));
            assert_eq!((event.name.as_str(), event.kind), (row.name, row.kind));
            assert!(seen.insert(row.name), "{agent:?} {named} twice");
            assert!(event.session.is_some(), "{agent:?} {named}");
            assert_eq!(agent.render(Some(row), &Answer::pass()), Rendered::default());
            // The payload's own name takes precedence over the command line's.
            if payload.contains("hook_event_name") {
                assert_eq!(read(agent, "SessionEnd", payload.as_bytes()).name, event.name);
            }
        }
        for row in agent.rows() {
            assert!(seen.contains(row.name), "{agent:?} {} has no payload", row.name);
            let deny = match row.deny {
                Deny::Never => "no",
                Deny::Tool | Deny::Request => "yes",
                Deny::Block if row.kind == Kind::TurnEnd => "the agent goes on",
                Deny::Block => "blocked with a reason",
                Deny::Stop => "stopped",
                Deny::Decline => "declined",
                Deny::Exit => "exit status 2",
            };
            let yes = |is| if is { "yes" } else { "no" };
            let _ = writeln!(
                page,
                "| `{}` | {} | {deny} | {} | {} |",
                row.name,
                row.kind.as_str(),
                yes(row.asks),
                yes(row.takes_context)
            );
        }
    }
    assert_eq!(Agent::Claude.rows().len(), 33);
    expect_file!["../../../../docs/generated/hooks.md"].assert_eq(&page);
}

#[test]
fn tools_of_all_agents() {
    let all = Agent::ALL.into_iter().flat_map(|agent| {
        let of = move |(named, payload): (String, String)| (agent, read(agent, &named, payload.as_bytes()));
        fixtures(agent).into_iter().map(of)
    });
    let lines: Vec<String> = all
        .filter(|(_, event)| event.tool.is_some())
        .map(|(agent, event)| format!("{} {}: {}", agent.name(), event.name, describe(&event)))
        .collect();
    expect![[r#"
        claude PreToolUse: tool_before, shell "Bash", Text("git status")
        claude PermissionRequest: permission_request, shell "Bash", Text("git status")
        claude PostToolUse: tool_after, shell "Bash", Text("git status")
        claude PostToolUseFailure: tool_failed, shell "Bash", Text("git status")
        codex PreToolUse: tool_before, shell "Bash", Text("git status")
        codex PermissionRequest: permission_request, edit "apply_patch", ["src/a.rs"]
        codex PostToolUse: tool_after, shell "Bash", Text("git status")
        gemini BeforeTool: tool_before, shell "run_shell_command", Text("git status")
        gemini AfterTool: tool_after, mcp "mcp_hob_repl_eval", ("hob", "repl_eval")
        cursor preToolUse: tool_before, shell "Shell", Text("git status")
        cursor postToolUse: tool_after, shell "Shell", Text("git status")
        cursor postToolUseFailure: tool_failed, read "Read", ["a"]
        cursor beforeShellExecution: tool_before, shell "Shell", Text("git status")
        cursor afterShellExecution: tool_after, shell "Shell", Text("git status")
        cursor beforeMCPExecution: tool_before, mcp "repl_eval", ("", "repl_eval")
        cursor afterMCPExecution: tool_after, mcp "repl_eval", ("", "repl_eval")
        cursor beforeReadFile: tool_before, read "Read", ["/p/a"]
        cursor afterFileEdit: tool_after, edit "Edit", ["/p/a"]
        cursor beforeTabFileRead: tool_before, read "Read", ["/p/a"]
        cursor afterTabFileEdit: tool_after, edit "Edit", ["/p/a"]
        copilot preToolUse: tool_before, shell "bash", Text("git status")
        copilot postToolUse: tool_after, shell "Bash", Text("git status")
        copilot postToolUseFailure: tool_failed, read "view", ["a"]
        copilot permissionRequest: permission_request, shell "bash", Text("git push")
        opencode tool.execute.before: tool_before, shell "bash", Text("git status")
        opencode tool.execute.after: tool_after, write "write", ["/p/a"]"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn spellings() {
    for name in ["PreToolUse", "pre-tool-use", "preToolUse", "pre_tool_use", "PRETOOLUSE"] {
        assert_eq!(Agent::Claude.row(name).map(|row| row.name), Some("PreToolUse"), "{name}");
    }
    // The names of the predecessor.
    for name in [
        "pre-tool-use",
        "post-tool-use",
        "notification",
        "stop",
        "subagent-stop",
        "pre-compact",
        "session-start",
        "session-end",
        "permission-request",
        "user-prompt-submit",
    ] {
        assert!(Agent::Claude.row(name).is_some(), "{name}");
    }
    // Another agent's name determines the kind, but no answer is possible.
    let event = read(Agent::Claude, "BeforeTool", b"{}");
    assert_eq!((event.kind, Agent::Claude.row(&event.name)), (Kind::ToolBefore, None));
}

#[test]
fn any_payload_is_read() {
    let huge =
        format!("{{\"hook_event_name\":\"PreToolUse\",\"tool_input\":{{\"command\":\"{}\"}}}}", "a ".repeat(500_000));
    let deep = "[".repeat(100_000);
    for raw in
        ["", "null", "[]", "3", "{", "\u{0}", &huge, &deep, r#"{"hook_event_name":null,"cwd":null,"tool_name":3}"#]
    {
        for agent in Agent::ALL {
            let event = read(agent, "SomeNewEvent", raw.as_bytes());
            assert!(event.tool.is_none_or(|tool| tool.native.is_empty()), "{raw:.40}");
        }
    }
    let event = read(Agent::Claude, "SomeNewEvent", br#"{"transcript_path":null,"new_field":{"a":[1]}}"#);
    assert_eq!((event.name.as_str(), event.kind), ("SomeNewEvent", Kind::Other));
    assert_eq!(Agent::Claude.render(None, &Answer::pass()), Rendered::default());
    assert_eq!(read(Agent::Claude, "Stop", b"\xff").kind, Kind::TurnEnd);
}

fn rendered(agent: Agent, event: &str, answer: &Answer) -> String {
    let Rendered { stdout, stderr, exit, losses } = agent.render(agent.row(event), answer);
    let losses: Vec<String> = losses.iter().map(|loss| format!(" {loss:?}")).collect();
    format!("{}: {exit} {}{}{}", agent.name(), stdout.trim(), stderr.trim(), losses.concat())
}

fn check(answer: &Answer, events: &[(Agent, &str)], expected: Expect) {
    let lines: Vec<String> = events.iter().map(|(agent, event)| rendered(*agent, event, answer)).collect();
    expected.assert_eq(&lines.join("\n"));
}

const TOOL: [(Agent, &str); 5] = [
    (Agent::Claude, "PreToolUse"),
    (Agent::Codex, "PreToolUse"),
    (Agent::Gemini, "BeforeTool"),
    (Agent::Cursor, "beforeShellExecution"),
    (Agent::Copilot, "preToolUse"),
];

#[test]
fn answers_in_each_agents_form() {
    let answer = |verdict, context: Option<&str>| Answer {
        context: context.map(str::to_owned),
        ..Answer::new(verdict, "because".to_owned())
    };
    check(
        &answer(Verdict::Deny, None),
        &TOOL,
        expect![[r#"
            claude: 0 {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"because"}}
            codex: 0 {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"because"}}
            gemini: 0 {"decision":"deny","reason":"because"}
            cursor: 0 {"permission":"deny","user_message":"because","agent_message":"because"}
            copilot: 0 {"permissionDecision":"deny","permissionDecisionReason":"because"}"#]],
    );
    check(
        &answer(Verdict::Ask, None),
        &TOOL,
        expect![[r#"
            claude: 0 {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"because"}}
            codex: 0 {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"because (this agent cannot ask here: ask your user, who can do it)"}} AskBecameDeny
            gemini: 0 {"decision":"deny","reason":"because (this agent cannot ask here: ask your user, who can do it)"} AskBecameDeny
            cursor: 0 {"permission":"ask","user_message":"because","agent_message":"because"}
            copilot: 0 {"permissionDecision":"ask","permissionDecisionReason":"because"}"#]],
    );
    check(
        &answer(Verdict::Allow, Some("a fact")),
        &TOOL,
        expect![[r#"
            claude: 0 {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"because","additionalContext":"a fact"}}
            codex: 0 {"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"a fact"}} AllowWasLost
            gemini: 0 {"decision":"allow","reason":"because"} ContextWasKept
            cursor: 0 {"permission":"allow","user_message":"because","agent_message":"because"} ContextWasKept
            copilot: 0 {"permissionDecision":"allow","permissionDecisionReason":"because","additionalContext":"a fact"}"#]],
    );
    let others = [
        (Agent::Claude, "PermissionRequest"),
        (Agent::Claude, "Stop"),
        (Agent::Claude, "SessionStart"),
        (Agent::Claude, "Notification"),
        (Agent::Claude, "TaskCompleted"),
        (Agent::Claude, "WorktreeCreate"),
        (Agent::Claude, "Elicitation"),
        (Agent::Codex, "PermissionRequest"),
        (Agent::Gemini, "AfterAgent"),
        (Agent::Cursor, "stop"),
        (Agent::Cursor, "beforeSubmitPrompt"),
        (Agent::Copilot, "permissionRequest"),
        (Agent::Copilot, "agentStop"),
    ];
    check(
        &answer(Verdict::Deny, None),
        &others,
        expect![[r#"
        claude: 0 {"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"because"}}}
        claude: 0 {"decision":"block","reason":"because"}
        claude: 0 {"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"The policy of hob forbids this, which cannot be stopped here: because"}} DenyBecameContext
        claude: 0 hob: the policy forbids this, and Notification cannot be stopped here: because DenyWasLost
        claude: 0 {"continue":false,"stopReason":"because"}
        claude: 2 because
        claude: 0 {"hookSpecificOutput":{"hookEventName":"Elicitation","action":"decline"}}
        codex: 0 {"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"because"}}}
        gemini: 0 {"decision":"deny","reason":"because"}
        cursor: 0 {"followup_message":"because"}
        cursor: 0 {"continue":false,"user_message":"because"}
        copilot: 0 {"behavior":"deny","message":"because"}
        copilot: 0 {"decision":"block","reason":"because"}"#]],
    );
    check(&answer(Verdict::Ask, None), &others[..1], expect!["claude: 0 "]);
    check(
        &answer(Verdict::Pass, Some("a fact")),
        &[(Agent::Claude, "UserPromptSubmit"), (Agent::Claude, "Notification")],
        expect![[r#"
            claude: 0 {"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"a fact"}}
            claude: 0  ContextWasKept"#]],
    );
}

#[test]
fn failing() {
    let mut lines = String::new();
    for (agent, event) in TOOL.into_iter().chain([
        (Agent::Claude, "PermissionRequest"),
        (Agent::Claude, "PostToolUse"),
        (Agent::Claude, "New"),
    ]) {
        for fail in [Fail::Open, Fail::Ask, Fail::Closed] {
            let Rendered { stdout, stderr, exit, .. } = fail.render(agent, event, "why");
            let _ = writeln!(
                lines,
                "{} {event} {}: {exit} {}{}",
                agent.name(),
                fail.as_str(),
                stdout.trim(),
                stderr.trim()
            );
        }
    }
    expect![[r#"
        claude PreToolUse open: 0 
        claude PreToolUse ask: 0 {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"hob could not decide, and this hook fails ask: why"}}
        claude PreToolUse closed: 2 hob could not decide, and this hook fails closed: why
        codex PreToolUse open: 0 
        codex PreToolUse ask: 2 hob could not decide, and this hook fails ask: why
        codex PreToolUse closed: 2 hob could not decide, and this hook fails closed: why
        gemini BeforeTool open: 0 
        gemini BeforeTool ask: 2 hob could not decide, and this hook fails ask: why
        gemini BeforeTool closed: 2 hob could not decide, and this hook fails closed: why
        cursor beforeShellExecution open: 0 
        cursor beforeShellExecution ask: 0 {"permission":"ask","user_message":"hob could not decide, and this hook fails ask: why","agent_message":"hob could not decide, and this hook fails ask: why"}
        cursor beforeShellExecution closed: 2 hob could not decide, and this hook fails closed: why
        copilot preToolUse open: 0 
        copilot preToolUse ask: 0 {"permissionDecision":"ask","permissionDecisionReason":"hob could not decide, and this hook fails ask: why"}
        copilot preToolUse closed: 2 hob could not decide, and this hook fails closed: why
        claude PermissionRequest open: 0 
        claude PermissionRequest ask: 0 
        claude PermissionRequest closed: 0 {"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"hob could not decide, and this hook fails closed: why"}}}
        claude PostToolUse open: 0 
        claude PostToolUse ask: 0 
        claude PostToolUse closed: 0 
        claude New open: 0 
        claude New ask: 0 
        claude New closed: 0 
    "#]].assert_eq(&lines);
}

#[test]
fn long_texts_are_cut() {
    let answer = Answer { context: Some("ö".repeat(50_000)), ..Answer::new(Verdict::Deny, "ä".repeat(50_000)) };
    for agent in Agent::ALL {
        for row in agent.rows() {
            let rendered = agent.render(Some(row), &answer);
            // An agent that is kept from stopping reads only the reason.
            let most = if row.holds() { 20_000 } else { 14_500 };
            assert!(rendered.stdout.chars().count() < most, "{agent:?} {}", row.name);
            assert!(rendered.stdout.is_empty() || serde_json::from_str::<Value>(&rendered.stdout).is_ok());
        }
    }
}
