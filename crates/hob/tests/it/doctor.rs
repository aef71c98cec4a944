//! `hob doctor` for each agent in each state: fresh, untrusted, disabled, broken entry, missing program, foreign entry, linked
//! worktree, ready. An agent that would not start hob is never "ok". Also the daemon: an old program, a sandbox.

use std::fs;
use std::path::PathBuf;

use testkit::{Ran, TestProject};

use crate::fresh;

/// An agent: its name, its title, the project's file, and its file formats.
struct Agent {
    name: &'static str,
    title: &'static str,
    file: &'static str,
    /// A file and its text that disables hob.
    disabled: (&'static str, &'static str),
    broken: &'static str,
    /// Our entry with another command, `COMMAND`.
    entry: &'static str,
    /// True if the agent starts a project's servers without approval.
    trusts: bool,
}

const AGENTS: [Agent; 5] = [
    Agent {
        name: "claude",
        title: "Claude Code",
        file: ".mcp.json",
        disabled: (".claude/settings.local.json", r#"{"disabledMcpjsonServers": ["hob"]}"#),
        broken: "// Claude Code reads no comments\n{\"mcpServers\": {\"hob\": {\"command\": \"hob\", \"args\": [\"mcp\"]}}}",
        entry: r#"{"mcpServers": {"hob": {"command": "COMMAND", "args": ["mcp"]}}}"#,
        trusts: false,
    },
    Agent {
        name: "codex",
        title: "Codex",
        file: ".codex/config.toml",
        disabled: (".codex/config.toml", "[mcp_servers.hob]\ncommand = 'hob'\nargs = ['mcp']\nenabled = false\n"),
        broken: "[mcp_servers.hob]\ncommand = \n",
        entry: "[mcp_servers.hob]\ncommand = 'COMMAND'\nargs = ['mcp']\n",
        trusts: false,
    },
    Agent {
        name: "gemini",
        title: "Gemini CLI",
        file: ".gemini/settings.json",
        disabled: ("~/.gemini/mcp-server-enablement.json", r#"{"hob": {"enabled": false}}"#),
        broken: "{\"mcpServers\": {\"hob\": {\"command\": \"hob\", \"args\": [\"mcp\"],}}}",
        entry: r#"{"mcpServers": {"hob": {"command": "COMMAND", "args": ["mcp"]}}}"#,
        trusts: false,
    },
    Agent {
        name: "copilot",
        title: "Copilot CLI",
        file: ".github/mcp.json",
        disabled: ("~/.copilot/settings.json", r#"{"disabledMcpServers": ["hob"]}"#),
        broken: "{\"mcpServers\": {\"hob\": {\"command\": \"hob\", \"args\": [\"mcp\"],}}}",
        entry: r#"{"mcpServers": {"hob": {"command": "COMMAND", "args": ["mcp"]}}}"#,
        trusts: false,
    },
    Agent {
        name: "opencode",
        title: "opencode",
        file: "opencode.json",
        disabled: ("~/.config/opencode/opencode.json", r#"{"mcp": {"hob": {"enabled": false}}}"#),
        broken: "{\"mcp\": {\"hob\": {\"type\": \"local\", \"command\": [\"hob\"",
        entry: r#"{"mcp": {"hob": {"type": "local", "command": ["COMMAND", "mcp"]}}}"#,
        trusts: true,
    },
];

fn path(project: &TestProject, file: &str) -> PathBuf {
    match file.strip_prefix("~/") {
        Some(file) => project.home().join(file),
        None => project.root().join(file),
    }
}

fn write(project: &TestProject, file: &str, text: &str) {
    let path = path(project, file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Returns the part of `hob doctor`'s output about this agent.
fn findings_of(agent: &Agent, ran: &Ran) -> String {
    let lines: Vec<&str> = ran.stdout.lines().skip_while(|line| *line != "Agents").collect();
    let line = lines.iter().find(|line| line.contains(&format!("{}: ", agent.title))).copied();
    line.unwrap_or_else(|| panic!("{}: {ran:?}", agent.name)).trim().to_owned()
}

/// Creates a project that the agent uses, with its files.
fn project(agent: &Agent, files: &[(&str, &str)]) -> TestProject {
    let project = fresh();
    let trace = match agent.name {
        "claude" => "~/.claude/x",
        "codex" => "~/.codex/x",
        "gemini" => "~/.gemini/x",
        "copilot" => "~/.copilot/x",
        _ => "~/.config/opencode/x",
    };
    write(&project, trace, "");
    for (file, text) in files {
        write(&project, file, text);
    }
    project
}

/// Runs a check with all agents at once: each has its own project.
fn with_each_agent(check: impl Fn(&Agent) + Sync) {
    std::thread::scope(|scope| {
        for agent in &AGENTS {
            scope.spawn(|| check(agent));
        }
    });
}

#[test]
fn fresh_is_not_registered() {
    with_each_agent(|agent| {
        let ran = project(agent, &[]).run(["doctor"]);
        assert_eq!(findings_of(agent, &ran), format!("-- {}: hob is not registered; run `hob init`", agent.title));
        assert_eq!(ran.code, Some(0));
    });
}

#[test]
fn registered_but_not_trusted_is_not_ok() {
    with_each_agent(|agent| {
        let project = project(agent, &[]);
        project.run(["init", "--agent", agent.name]).ok();
        let ran = project.run(["doctor"]);
        let line = findings_of(agent, &ran);
        if agent.trusts {
            assert!(line.starts_with(&format!("ok {}: starts ", agent.title)), "{line}")
        } else {
            assert!(line.starts_with(&format!("-- {}: does not start hob", agent.title)), "{line}");
            assert!(line.contains("does not trust this") && line.contains("`hob init --allow`"), "{line}");
        }
        assert_eq!(ran.code, Some(0), "{line}");
    });
}

#[test]
fn ready_is_ok() {
    with_each_agent(|agent| {
        let project = project(agent, &[]);
        project.run(["init", "--allow", "--agent", agent.name]).ok();
        let line = findings_of(agent, &project.run(["doctor"]));
        let bin = project.top().join("bin/hob");
        let by = project.root().join(if agent.name == "copilot" { ".mcp.json" } else { agent.file });
        assert_eq!(line, format!("ok {}: starts {} (by {})", agent.title, bin.display(), by.display()));
    });
}

#[test]
fn an_agent_whose_files_are_elsewhere_is_not_ok() {
    let variables = [
        ("claude", "CLAUDE_CONFIG_DIR"),
        ("codex", "CODEX_HOME"),
        ("gemini", "GEMINI_CLI_HOME"),
        ("copilot", "COPILOT_HOME"),
        ("opencode", "XDG_CONFIG_HOME"),
    ];
    for (agent, (name, variable)) in AGENTS.iter().zip(variables) {
        assert_eq!(agent.name, name);
        let project = project(agent, &[]);
        let elsewhere = project.top().join("elsewhere");
        let run = |args: &[&str]| Ran::run(project.hob(args).env(variable, &elsewhere));
        let said_so =
            format!("{}: {variable} is set, so it reads its own files in {}", agent.title, elsewhere.display());
        let shown = run(&["init", "--allow", "--agent", name]).ok();
        assert!(shown.contains(&said_so), "{shown}");
        let ran = run(&["doctor"]);
        assert!(findings_of(agent, &ran).starts_with("-- ") && ran.stdout.contains(&said_so), "{ran:#?}");
    }
}

#[test]
fn disabled_is_not_ok() {
    with_each_agent(|agent| {
        let project = project(agent, &[]);
        project.run(["init", "--allow", "--agent", agent.name]).ok();
        write(&project, agent.disabled.0, agent.disabled.1);
        let line = findings_of(agent, &project.run(["doctor"]));
        assert!(line.starts_with(&format!("-- {}: does not start hob", agent.title)), "{line}");
        assert!(line.contains("has hob disabled") || line.contains("has hob rejected"), "{line}");
        assert!(!line.contains("--allow"), "{line}");
    });
}

#[test]
fn what_the_agent_cannot_read_would_break() {
    with_each_agent(|agent| {
        let project = project(agent, &[(agent.file, agent.broken)]);
        let ran = project.run(["doctor"]);
        let line = findings_of(agent, &ran);
        assert!(line.starts_with(&format!("!! {}: ", agent.title)) && line.contains(": line "), "{line}");
        assert_eq!(ran.code, Some(5), "{line}");
    });
}

#[test]
fn a_program_that_is_not_there_would_break() {
    with_each_agent(|agent| {
        let project = project(agent, &[(agent.file, &agent.entry.replace("COMMAND", "hob"))]);
        let ran = Ran::run(project.hob(["doctor"]).env("PATH", "/nowhere"));
        let line = findings_of(agent, &ran);
        let words = "starts `hob`, which does not exist";
        assert!(line.starts_with(&format!("!! {}: ", agent.title)) && line.contains(words), "{line}");
    });
}

#[test]
fn a_foreign_entry_would_break() {
    with_each_agent(|agent| {
        let project = project(agent, &[(agent.file, &agent.entry.replace("COMMAND", "./bin/hob"))]);
        let line = findings_of(agent, &project.run(["doctor"]));
        assert!(line.starts_with(&format!("!! {}: ", agent.title)), "{line}");
        assert!(line.contains("starts `./bin/hob mcp`, which is not what `hob init` writes"), "{line}");
    });
}

#[test]
fn a_linked_worktree_has_files_of_its_own() {
    if !testkit::has_program("git") {
        return;
    }
    with_each_agent(|agent| {
        let project = project(agent, &[]);
        let git = |args: &[&str]| Ran::run(project.command("git").args(args)).ok();
        git(&["init", "-q"]);
        git(&["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "one"]);
        let linked = project.top().join("linked");
        git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
        project.run(["init", "--allow", "--agent", agent.name]).ok();
        let run = |args: &[&str]| Ran::run(project.hob(args).current_dir(&linked));
        let line = findings_of(agent, &run(&["doctor"]));
        assert!(line.contains("hob is registered in") && line.ends_with("run `hob init` here"), "{line}");
        run(&["init", "--allow", "--agent", agent.name]).ok();
        let line = findings_of(agent, &run(&["doctor"]));
        assert!(line.starts_with(&format!("ok {}: starts ", agent.title)), "{line}");
        assert!(line.contains(&format!("(by {}/", linked.display())), "{line}");
    });
}

#[test]
fn an_entry_of_claudes_for_one_project_counts() {
    let claude = &AGENTS[0];
    let project = project(claude, &[]);
    let root = project.root();
    let entry = format!(r#"{{"projects": {{"{}": {{"mcpServers": {{"hob": ENTRY}}}}}}}}"#, root.display());
    write(&project, "~/.claude.json", &entry.replace("ENTRY", r#"{"command": "hob", "args": ["mcp"]}"#));
    assert!(findings_of(claude, &project.run(["doctor"])).starts_with("ok Claude Code: starts "));
    write(&project, "~/.claude.json", &entry.replace("ENTRY", r#"{"command": "cook", "args": []}"#));
    assert!(findings_of(claude, &project.run(["doctor"])).starts_with("!! Claude Code: "));
}

#[test]
fn a_daemon_whose_program_was_replaced_is_named_and_stop_mends_it() {
    let project = fresh();
    let installed = project.top().join("installed");
    let install = || {
        let draft = project.top().join("draft");
        fs::copy(env!("CARGO_BIN_EXE_hob"), &draft).unwrap();
        fs::rename(&draft, &installed).unwrap();
    };
    let run = |args: &[&str]| Ran::run(project.command(&installed).args(args));
    install();
    run(&["call", "repl_list"]).ok();
    assert!(!run(&["status"]).ok().contains("the daemon runs an"), "{:?}", run(&["status"]));
    install();
    let words = format!("the daemon runs an old version: {} was replaced after it started", installed.display());
    for command in [&["status"][..], &["doctor"], &["upgrade", "--check"]] {
        let said = run(command).stdout;
        assert!(said.contains(&words) && said.contains("`hob stop`"), "{command:?}: {said}");
    }
    run(&["eval", "1+1", "--profile", "bash"]);
    let said = run(&["upgrade", "--check"]).ok();
    assert!(said.contains("A restart ends these sessions") && said.contains("\n  main: bash, idle, pid "), "{said}");
    // Another build, whose file still exists.
    let said = project.run(["status"]).ok();
    assert!(said.contains("the daemon runs an"), "{said}");
    run(&["stop"]).ok();
    run(&["call", "repl_list"]).ok();
    assert!(run(&["doctor"]).stdout.contains("ok daemon: runs"));
    assert!(run(&["upgrade", "--check"]).ok().contains("no restart is needed.\nA restart ends no session."));
}

/// Runs a program that cannot open connections, like Codex's sandbox: a system call filter returns `EPERM`.
const SANDBOX: &str = r#"
import ctypes, os, platform, struct, sys
number = {"x86_64": 42, "aarch64": 203}[platform.machine()]
code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (6, 0, 0, 0x00050001), (6, 0, 0, 0x7FFF0000)]
program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
filter = Filter(len(code), ctypes.addressof(program))
assert libc.prctl(22, 2, ctypes.byref(filter), 0, 0) == 0, ctypes.get_errno()
os.execvp(sys.argv[1], sys.argv[1:])
"#;

#[test]
fn in_an_agents_sandbox_a_command_says_so_and_names_the_tool() {
    if !testkit::has_program("python3") {
        return;
    }
    let project = fresh();
    let hob = env!("CARGO_BIN_EXE_hob");
    let run = |args: &[&str]| Ran::run(project.command("python3").args(["-c", SANDBOX, hob]).args(args));
    // Inside the sandbox, hob cannot detect a running daemon, and starts none.
    for _ in 0..2 {
        for (args, instead) in [
            (&["call", "repl_eval", "--code", "1"][..], "the tool `repl_eval` of the MCP server `hob`"),
            (&["inbox"], "the tool `check_messages` of the MCP server `hob`"),
            (&["status"], "the tool `repl_list` of the MCP server `hob`"),
            (&["stop"], "outside the sandbox"),
        ] {
            let ran = run(args);
            assert_eq!(ran.code, Some(3), "{args:?}: {ran:?}");
            assert!(ran.stderr.contains("probably in an agent's sandbox"), "{args:?}: {ran:?}");
            assert!(ran.stderr.contains(instead) && !ran.stderr.contains("remove"), "{args:?}: {ran:?}");
        }
        let doctor = run(&["doctor"]);
        assert!(doctor.stdout.contains("!! daemon: this process may not connect"), "{doctor:?}");
        project.run(["call", "repl_list"]).ok();
    }
}

/// A plugin alone is enough. Next to an entry the report says which one to keep, and how to remove the other.
#[test]
fn a_plugin_next_to_an_entry_is_told() {
    let plugins = [
        (
            "claude",
            "~/.claude/settings.json",
            r#"{"enabledPlugins": {"hob@hob": true}}"#,
            "claude plugin uninstall hob@hob",
        ),
        ("codex", "~/.codex/config.toml", "[plugins.\"hob@hob\"]\nenabled = true\n", "codex plugin remove hob@hob"),
        (
            "copilot",
            "~/.copilot/settings.json",
            r#"{"enabledPlugins": {"hob@hob": true}}"#,
            "copilot plugin uninstall hob@hob",
        ),
        ("gemini", "~/.gemini/extensions/hob/gemini-extension.json", "{}", "gemini extensions uninstall hob"),
    ];
    for (name, file, text, remove) in plugins {
        let agent = AGENTS.iter().find(|agent| agent.name == name).unwrap();
        let project = project(agent, &[(file, text)]);
        let line = findings_of(agent, &project.run(["doctor"]));
        assert_eq!(line, format!("ok {}: starts hob by its plugin ({file})", agent.title));
        project.run(["init", "--allow", "--agent", name]).ok();
        let shown = project.run(["doctor"]).stdout;
        assert!(shown.contains(&format!("-- {}: has hob twice: as a plugin ({file})", agent.title)), "{shown}");
        assert!(shown.contains(&format!("run `{remove}`")), "{shown}");
        let off = text.replace("true", "false");
        if off != text {
            write(&project, file, &off);
            assert!(!project.run(["doctor"]).stdout.contains("has hob twice"), "{name}");
        }
    }
}
