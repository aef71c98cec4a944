//! Missing steps by the files of each agent, in the agents' own formats; each state was verified with the real program.

use std::fs;

use expect_test::{Expect, expect};

use super::super::AGENTS;
use super::*;

/// A worktree, a linked one and a home with these files. `TOP` and `MAIN` in names and texts stand for the two worktrees.
struct Files {
    temp: tempfile::TempDir,
    linked: bool,
}

impl Files {
    fn new(files: &[(&str, &str)], linked: bool) -> Files {
        let files_ = Files { temp: tempfile::tempdir().unwrap(), linked };
        let site = files_.site();
        for dir in [&site.top, &site.main, &site.home] {
            fs::create_dir_all(dir).unwrap();
        }
        let shown =
            |text: &str| text.replace("TOP", site.top.to_str().unwrap()).replace("MAIN", site.main.to_str().unwrap());
        for (file, text) in files {
            let path = match file.strip_prefix("~/") {
                Some(file) => site.home.join(file),
                None if file.starts_with("MAIN/") => PathBuf::from(shown(file)),
                None => site.top.join(file),
            };
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, shown(text)).unwrap();
        }
        files_
    }

    fn site(&self) -> Site {
        let at = |name: &str| self.temp.path().join(name);
        Site { top: at(if self.linked { "linked" } else { "main" }), main: at("main"), home: at("home") }
    }

    /// Renders the steps, one per line, and whether hob can take each.
    fn steps(&self, agent: &str, scope: Scope) -> String {
        let site = self.site();
        let agent = AGENTS.iter().find(|known| known.name == agent).unwrap();
        let steps = match agent.steps(scope, &agent.file(scope, &site), &site) {
            Ok(steps) => steps,
            Err(error) => return error.replace(self.temp.path().to_str().unwrap(), ""),
        };
        let line = |step: &Step| {
            let by = if step.writes.is_some() { "hob can" } else { "a person must" };
            format!("{:?}: {} ({by})\n", step.need, step.what)
        };
        steps.iter().map(line).collect()
    }
}

/// Checks the steps of an agent that is registered in the project, in its main worktree.
fn check(agent: &str, files: &[(&str, &str)], steps: Expect) {
    steps.assert_eq(&Files::new(files, false).steps(agent, Scope::Project));
}

/// Checks the same in a linked worktree.
fn check_linked(agent: &str, files: &[(&str, &str)], steps: Expect) {
    steps.assert_eq(&Files::new(files, true).steps(agent, Scope::Project));
}

/// Checks the same for an agent that is registered in the home.
fn check_user(agent: &str, files: &[(&str, &str)], steps: Expect) {
    steps.assert_eq(&Files::new(files, false).steps(agent, Scope::User));
}

const CLAUDE_TRUSTS: (&str, &str) = ("~/.claude.json", r#"{"projects": {"TOP": {"hasTrustDialogAccepted": true}}}"#);
const CLAUDE_ALLOWS: (&str, &str) = (".claude/settings.json", r#"{"permissions": {"allow": ["Bash", "mcp__hob"]}}"#);
const CLAUDE_APPROVES: (&str, &str) = (".claude/settings.local.json", r#"{"enabledMcpjsonServers": ["hob"]}"#);

#[test]
fn claude_waits_for_trust_and_approval() {
    check(
        "claude",
        &[],
        expect![[r#"
        Start: does not trust this folder yet (hob can)
        Start: has not approved hob here yet (hob can)
        Call: asks before each of hob's tools, and `claude -p` refuses them (hob can)
    "#]],
    );
    check(
        "claude",
        &[CLAUDE_TRUSTS],
        expect![[r#"
        Start: has not approved hob here yet (hob can)
        Call: asks before each of hob's tools, and `claude -p` refuses them (hob can)
    "#]],
    );
    check(
        "claude",
        &[CLAUDE_APPROVES, CLAUDE_ALLOWS],
        expect![[r#"
        Start: does not trust this folder yet (hob can)
    "#]],
    );
    // Trust in a parent folder does not count.
    let above = ("~/.claude.json", r#"{"projects": {"/": {"hasTrustDialogAccepted": true}}}"#);
    check(
        "claude",
        &[above, CLAUDE_APPROVES, CLAUDE_ALLOWS],
        expect![[r#"
        Start: does not trust this folder yet (hob can)
    "#]],
    );
    check("claude", &[CLAUDE_TRUSTS, CLAUDE_APPROVES, CLAUDE_ALLOWS], expect![[""]]);
    let all = (".claude/settings.json", r#"{"enableAllProjectMcpServers": true}"#);
    check(
        "claude",
        &[CLAUDE_TRUSTS, all],
        expect![[r#"
        Call: asks before each of hob's tools, and `claude -p` refuses them (hob can)
    "#]],
    );
    // The format before approvals moved out of the state file.
    let state = r#"{"projects": {"TOP": {"hasTrustDialogAccepted": true, "enabledMcpjsonServers": ["hob"]}}}"#;
    check("claude", &[("~/.claude.json", state), CLAUDE_ALLOWS], expect![[""]]);
    // A user's own settings need no trust.
    let user =
        ("~/.claude/settings.json", r#"{"enabledMcpjsonServers": ["hob"], "permissions": {"allow": ["mcp__hob__*"]}}"#);
    check("claude", &[user], expect![[""]]);
    check_user(
        "claude",
        &[],
        expect![[r#"
        Call: asks before each of hob's tools, and `claude -p` refuses them (hob can)
    "#]],
    );
    check_user("claude", &[user], expect![[""]]);
}

#[test]
fn claude_has_many_ways_to_switch_a_server_off() {
    let state = |fields: &str| format!(r#"{{"projects": {{"TOP": {{"hasTrustDialogAccepted": true, {fields}}}}}}}"#);
    let off = |file: &str, text: &str, steps: Expect| {
        check("claude", &[CLAUDE_TRUSTS, CLAUDE_APPROVES, CLAUDE_ALLOWS, (file, text)], steps);
    };
    off(
        "~/.claude.json",
        &state(r#""disabledMcpServers": ["hob"]"#),
        expect![[r#"
        SwitchedOff: has hob disabled for this project (a person must)
    "#]],
    );
    off(
        "~/.claude.json",
        &state(r#""disabledMcpjsonServers": ["hob"]"#),
        expect![[r#"
        SwitchedOff: has hob rejected here (a person must)
    "#]],
    );
    off(
        "~/.claude/settings.json",
        r#"{"disabledMcpjsonServers": ["hob"]}"#,
        expect![[r#"
        SwitchedOff: has hob rejected here (a person must)
    "#]],
    );
    off(
        ".claude/settings.json",
        r#"{"deniedMcpServers": [{"serverName": "hob"}]}"#,
        expect![[r#"
        SwitchedOff: has hob denied (a person must)
    "#]],
    );
    off(
        "~/.claude/settings.json",
        r#"{"allowedMcpServers": [{"serverName": "other"}]}"#,
        expect![[r#"
        SwitchedOff: has hob not in the list of allowed servers (a person must)
    "#]],
    );
    off(
        "~/.claude/settings.json",
        r#"{"permissions": {"deny": ["mcp__hob"]}}"#,
        expect![[r#"
        Call: refuses hob's tools (a person must)
    "#]],
    );
    off("~/.claude/settings.json", r#"{"disabledMcpjsonServers": ["other"]}"#, expect![[""]]);
}

#[test]
fn claude_takes_the_main_worktrees_trust_and_approval_in_a_linked_one() {
    let trust = ("~/.claude.json", r#"{"projects": {"MAIN": {"hasTrustDialogAccepted": true}}}"#);
    check_linked(
        "claude",
        &[trust],
        expect![[r#"
        Start: has not approved hob here yet (hob can)
        Call: asks before each of hob's tools, and `claude -p` refuses them (hob can)
    "#]],
    );
    let approval = ("MAIN/.claude/settings.local.json", r#"{"enabledMcpjsonServers": ["hob"]}"#);
    check_linked("claude", &[trust, approval, CLAUDE_ALLOWS], expect![[""]]);
    check_linked("claude", &[trust, CLAUDE_APPROVES, CLAUDE_ALLOWS], expect![[""]]);
}

#[test]
fn codex_waits_for_trust_and_refuses_what_was_not_approved() {
    let entry = ".codex/config.toml";
    let approved = "[mcp_servers.hob]\ncommand = \"hob\"\ndefault_tools_approval_mode = \"approve\"\n";
    let trusted = ("~/.codex/config.toml", "[projects.\"TOP\"]\ntrust_level = \"trusted\"\n");
    check(
        "codex",
        &[],
        expect![[r#"
        Start: does not trust this project yet (hob can)
        Call: asks before hob's tools run code, and `codex exec` refuses them (hob can)
    "#]],
    );
    check(
        "codex",
        &[trusted],
        expect![[r#"
        Call: asks before hob's tools run code, and `codex exec` refuses them (hob can)
    "#]],
    );
    check("codex", &[trusted, (entry, approved)], expect![[""]]);
    check(
        "codex",
        &[trusted, (entry, &approved.replace("approve\"", "auto\""))],
        expect![[r#"
        Call: asks before hob's tools run code, and `codex exec` refuses them (hob can)
    "#]],
    );
    let above = ("~/.codex/config.toml", "[projects.\"/\"]\ntrust_level = \"trusted\"\n");
    check(
        "codex",
        &[above, (entry, approved)],
        expect![[r#"
        Start: does not trust this project yet (hob can)
    "#]],
    );
    let untrusted = ("~/.codex/config.toml", "projects = { \"TOP\" = { trust_level = \"untrusted\" } }\n");
    check(
        "codex",
        &[untrusted, (entry, approved)],
        expect![[r#"
        SwitchedOff: lists this project as untrusted (a person must)
    "#]],
    );
    check(
        "codex",
        &[trusted, (entry, &format!("{approved}enabled = false\n"))],
        expect![[r#"
        SwitchedOff: has hob disabled (a person must)
    "#]],
    );
    check_user("codex", &[("~/.codex/config.toml", approved)], expect![[""]]);
    check_user(
        "codex",
        &[("~/.codex/config.toml", "[mcp_servers.hob]\nenabled = false\n")],
        expect![[r#"
        SwitchedOff: has hob disabled (a person must)
        Call: asks before hob's tools run code, and `codex exec` refuses them (hob can)
    "#]],
    );
    let main = ("~/.codex/config.toml", "[projects.\"MAIN\"]\ntrust_level = \"trusted\"\n");
    check_linked("codex", &[main, (entry, approved)], expect![[""]]);
    check(
        "codex",
        &[("~/.codex/config.toml", "a = \n")],
        expect![
            "/home/.codex/config.toml: line 1, column 5: string values must be quoted, expected literal string; repair the file"
        ],
    );
}

#[test]
fn gemini_starts_nothing_in_a_folder_that_it_does_not_trust() {
    let trusted = ("~/.gemini/trustedFolders.json", r#"{"TOP": "TRUST_FOLDER"}"#);
    let entry = (".gemini/settings.json", r#"{"mcpServers": {"hob": {"command": "hob", "trust": true}}}"#);
    check(
        "gemini",
        &[],
        expect![[r#"
        Start: does not trust this folder yet (hob can)
        Call: asks before each of hob's tools, and `gemini -p` does not offer them (hob can)
    "#]],
    );
    check(
        "gemini",
        &[trusted],
        expect![[r#"
        Call: asks before each of hob's tools, and `gemini -p` does not offer them (hob can)
    "#]],
    );
    check("gemini", &[trusted, entry], expect![""]);
    check("gemini", &[("~/.gemini/trustedFolders.json", r#"{"/": "TRUST_FOLDER"}"#), entry], expect![""]);
    check("gemini", &[("~/.gemini/trustedFolders.json", r#"{"TOP": "TRUST_PARENT"}"#), entry], expect![[""]]);
    let both = ("~/.gemini/trustedFolders.json", r#"{"/": "TRUST_FOLDER", "TOP": "DO_NOT_TRUST"}"#);
    check(
        "gemini",
        &[both, entry],
        expect![[r#"
        SwitchedOff: lists this folder as untrusted (a person must)
    "#]],
    );
    let off = ("~/.gemini/settings.json", r#"{"security": {"folderTrust": {"enabled": false}}}"#);
    check("gemini", &[off, entry], expect![[""]]);
    let disabled = ("~/.gemini/mcp-server-enablement.json", r#"{"hob": {"enabled": false}}"#);
    check(
        "gemini",
        &[trusted, entry, disabled],
        expect![[r#"
        SwitchedOff: has hob disabled (a person must)
    "#]],
    );
    let excluded = ("~/.gemini/settings.json", r#"{"mcp": {"excluded": ["hob"]}}"#);
    check(
        "gemini",
        &[trusted, entry, excluded],
        expect![[r#"
        SwitchedOff: has hob blocked (a person must)
    "#]],
    );
    check(
        "gemini",
        &[trusted, entry, ("~/.gemini/settings.json", r#"{"mcp": {"allowed": ["x"]}}"#)],
        expect![[r#"
        SwitchedOff: has hob blocked (a person must)
    "#]],
    );
    // The same holds for the user's own servers.
    check_user(
        "gemini",
        &[],
        expect![[r#"
        Start: does not trust this folder yet (hob can)
        Call: asks before each of hob's tools, and `gemini -p` does not offer them (hob can)
    "#]],
    );
    // Trust in the main worktree does not extend to a linked one.
    check_linked(
        "gemini",
        &[("~/.gemini/trustedFolders.json", r#"{"MAIN": "TRUST_FOLDER"}"#), entry],
        expect![[r#"
        Start: does not trust this folder yet (hob can)
    "#]],
    );
}

#[test]
fn copilot_waits_for_trust_and_refuses_what_was_not_approved() {
    let trusted = ("~/.copilot/config.json", "// its own\n{\"trustedFolders\": [\"TOP\"]}");
    let approvals = |tool: &str| {
        let approval = format!(r#"{{"kind": "mcp", "serverName": "hob"{tool}}}"#);
        format!(r#"{{"locations": {{"MAIN": {{"tool_approvals": [{approval}]}}}}}}"#)
    };
    let all = approvals(r#", "toolName": null"#);
    let approved = ("~/.copilot/permissions-config.json", &*all);
    check(
        "copilot",
        &[],
        expect![[r#"
        Start: does not trust this folder yet (hob can)
        Call: asks before each of hob's tools, and `copilot -p` refuses them (hob can)
    "#]],
    );
    check(
        "copilot",
        &[trusted],
        expect![[r#"
        Call: asks before each of hob's tools, and `copilot -p` refuses them (hob can)
    "#]],
    );
    check("copilot", &[trusted, approved], expect![[""]]);
    check("copilot", &[("~/.copilot/config.json", r#"{"trusted_folders": ["/"]}"#), approved], expect![[""]]);
    check(
        "copilot",
        &[("~/.copilot/config.json", r#"{"trustedFolders": ["TOP/sub"]}"#), approved],
        expect![[r#"
        Start: does not trust this folder yet (hob can)
    "#]],
    );
    for some in ["", r#", "toolName": "repl_eval""#] {
        let some = approvals(some);
        check(
            "copilot",
            &[trusted, ("~/.copilot/permissions-config.json", &some)],
            expect![[r#"
            Call: asks before each of hob's tools, and `copilot -p` refuses them (hob can)
        "#]],
        );
    }
    for file in ["~/.copilot/settings.json", ".github/copilot/settings.json"] {
        check(
            "copilot",
            &[trusted, approved, (file, r#"{"disabledMcpServers": ["hob"]}"#)],
            expect![[r#"
            SwitchedOff: has hob disabled (a person must)
        "#]],
        );
    }
    check_linked("copilot", &[("~/.copilot/config.json", r#"{"trustedFolders": ["MAIN"]}"#), approved], expect![[""]]);
    check_user(
        "copilot",
        &[],
        expect![[r#"
        Call: asks before each of hob's tools, and `copilot -p` refuses them (a person must)
    "#]],
    );
    check(
        "copilot",
        &[("~/.copilot/config.json", "{")],
        expect!["/home/.copilot/config.json: line 1, column 2: Unterminated object; repair the file"],
    );
}

#[test]
fn opencode_starts_what_its_files_name() {
    let entry = |more: &str| format!(r#"{{"mcp": {{"hob": {{"type": "local", "command": ["hob", "mcp"]{more}}}}}}}"#);
    check("opencode", &[("opencode.json", &entry(""))], expect![[""]]);
    check(
        "opencode",
        &[("opencode.json", &entry(r#", "enabled": false"#))],
        expect![[r#"
        SwitchedOff: has hob disabled (a person must)
    "#]],
    );
    let user_off = ("~/.config/opencode/opencode.json", r#"{"mcp": {"hob": {"enabled": false}}}"#);
    check(
        "opencode",
        &[("opencode.json", &entry("")), user_off],
        expect![[r#"
        SwitchedOff: has hob disabled (a person must)
    "#]],
    );
    check("opencode", &[("opencode.json", &entry(r#", "enabled": true"#)), user_off], expect![[""]]);
    let permission = |rules: &str| format!(r#"{{"permission": {rules}}}"#);
    let user = "~/.config/opencode/opencode.json";
    check(
        "opencode",
        &[("opencode.json", &entry("")), (user, &permission(r#""ask""#))],
        expect![[r#"
        Call: asks before each of hob's tools, and `opencode run` refuses them (hob can)
    "#]],
    );
    check(
        "opencode",
        &[("opencode.json", &permission(r#"{"*": "ask"}"#))],
        expect![[r#"
        Call: asks before each of hob's tools, and `opencode run` refuses them (hob can)
    "#]],
    );
    check("opencode", &[("opencode.json", &permission(r#"{"*": "ask", "hob_*": "allow"}"#))], expect![[""]]);
    check(
        "opencode",
        &[("opencode.json", &permission(r#"{"hob_*": "allow", "*": "ask"}"#))],
        expect![[r#"
        Call: asks before each of hob's tools, and `opencode run` refuses them (a person must)
    "#]],
    );
    check(
        "opencode",
        &[("opencode.json", &permission(r#""deny""#))],
        expect![[r#"
        Call: asks before each of hob's tools, and `opencode run` refuses them (a person must)
    "#]],
    );
    check("opencode", &[("opencode.json", &permission(r#"{"bash": "ask"}"#))], expect![[""]]);
}
