//! `hob doctor` for each agent in each state: fresh, untrusted, ready, broken entry, missing program, foreign entry, linked
//! worktree. An agent that would not start hob is never "ok". Also a daemon with an old program.

use std::fs;

use testkit::{Ran, TestProject, has_program};

use crate::init::{linked_worktree, snapshot};
use crate::{fresh, says};

/// An agent: its name, its title, its directory in the home, the variable that relocates its files, the project's file, and our
/// entry there with another command, `COMMAND`.
type Agent = (&'static str, &'static str, &'static str, &'static str, &'static str, &'static str);

const AGENTS: [Agent; 5] = [
    ("claude", "Claude Code", ".claude", "CLAUDE_CONFIG_DIR", ".mcp.json", JSON),
    ("codex", "Codex", ".codex", "CODEX_HOME", ".codex/config.toml", TOML),
    ("gemini", "Gemini CLI", ".gemini", "GEMINI_CLI_HOME", ".gemini/settings.json", JSON),
    ("copilot", "Copilot CLI", ".copilot", "COPILOT_HOME", ".github/mcp.json", JSON),
    ("opencode", "opencode", ".config/opencode", "XDG_CONFIG_HOME", "opencode.json", LIST),
];
const JSON: &str = r#"{"mcpServers": {"hob": {"command": "COMMAND", "args": ["mcp"]}}}"#;
const TOML: &str = "[mcp_servers.hob]\ncommand = 'COMMAND'\nargs = ['mcp']\n";
const LIST: &str = r#"{"mcp": {"hob": {"type": "local", "command": ["COMMAND", "mcp"]}}}"#;

/// Returns the first line about an agent in the output of `hob doctor`.
fn finding(title: &str, ran: &Ran) -> String {
    let mut lines = ran.stdout.lines().skip_while(|line| *line != "Agents");
    let line = lines.find(|line| line.contains(&format!("{title}: ")));
    line.unwrap_or_else(|| panic!("{title}: {ran:?}")).trim().to_owned()
}

/// Runs a check for all agents at once, each in a project that the agent uses.
fn with_each_agent(check: impl Fn(&Agent, TestProject) + Sync) {
    std::thread::scope(|scope| {
        for agent in &AGENTS {
            scope.spawn(|| {
                let project = fresh();
                fs::create_dir_all(project.home().join(agent.2)).unwrap();
                check(agent, project);
            });
        }
    });
}

#[test]
fn only_an_agent_that_would_start_hob_is_ok() {
    with_each_agent(|&(name, title, _, variable, file, entry), project| {
        let doctor = || project.run(["doctor"]);
        let ran = doctor();
        assert_eq!(finding(title, &ran), format!("-- {title}: hob is not registered; run `hob init`"));
        assert_eq!(ran.code, Some(0));
        // Registered, and not trusted; opencode starts a project's servers without approval.
        project.run(["init", "--agent", name]).ok();
        let ran = doctor();
        let line = finding(title, &ran);
        if name == "opencode" {
            assert!(line.starts_with("ok opencode: starts "), "{line}")
        } else {
            says(&line, &[&format!("-- {title}: does not start hob"), "does not trust this", "`hob init --allow`"]);
        }
        assert_eq!(ran.code, Some(0), "{line}");
        // Ready. The files of an agent that reads others are not known.
        project.run(["init", "--allow", "--agent", name]).ok();
        let bin = project.top().join("bin/hob").display().to_string();
        let by = project.root().join(if name == "copilot" { ".mcp.json" } else { file });
        assert_eq!(finding(title, &doctor()), format!("ok {title}: starts {bin} (by {})", by.display()));
        let elsewhere = project.top().join("elsewhere");
        let reads = format!("{title}: {variable} is set, so it reads its own files in {}", elsewhere.display());
        for args in [&["init", "--agent", name][..], &["doctor"]] {
            let ran = Ran::run(project.hob(args).env(variable, &elsewhere));
            assert!(ran.stdout.contains(&reads), "{ran:#?}");
            assert!(args[0] == "init" || finding(title, &ran).starts_with("-- "), "{ran:#?}");
        }
        // An unreadable file, a missing program, and a foreign entry.
        for (text, expected) in [
            (entry[..entry.len() - 4].to_owned(), ": line "),
            (entry.replace("COMMAND", "hob"), "starts `hob`, which does not exist"),
            (entry.replace("COMMAND", "./bin/hob"), "starts `./bin/hob mcp`, which is not what `hob init` writes"),
        ] {
            project.write(file, &text);
            let ran = Ran::run(project.hob(["doctor"]).env("PATH", "/nowhere"));
            says(&finding(title, &ran), &[&format!("!! {title}: "), expected]);
            assert_eq!(ran.code, Some(5), "{ran:?}");
        }
    });
}

#[test]
fn a_linked_worktree_has_files_of_its_own() {
    if !has_program("git") {
        return;
    }
    with_each_agent(|&(name, title, ..), project| {
        let linked = linked_worktree(&project);
        project.run(["init", "--allow", "--agent", name]).ok();
        let before = snapshot(&project.root());
        let run = |args: &[&str]| Ran::run(project.hob(args).current_dir(&linked));
        let line = finding(title, &run(&["doctor"]));
        assert!(line.contains("hob is registered in") && line.ends_with("run `hob init` here"), "{line}");
        let said = run(&["init", "--allow", "--agent", name]).ok();
        assert!(said.starts_with(&format!("This is a linked worktree, {}", linked.display())), "{said}");
        assert!(!linked.join("hob.toml").exists());
        let line = finding(title, &run(&["doctor"]));
        says(&line, &[&format!("ok {title}: starts "), &format!("(by {}/", linked.display())]);
        // Each worktree has a separate record for undoing.
        run(&["init", "--undo"]).ok();
        assert_eq!(snapshot(&project.root()), before);
        assert_eq!(fs::read_dir(&linked).unwrap().count(), 1, "only .git is left");
    });
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
    run(&["eval", "1+1", "--profile", "bash"]);
    assert!(!run(&["status"]).ok().contains("the daemon runs an"), "{:?}", run(&["status"]));
    install();
    let words = format!("the daemon runs an old version: {} was replaced after it started", installed.display());
    for command in [&["status"][..], &["doctor"], &["upgrade", "--check"]] {
        says(&run(command).stdout, &[&words, "`hob stop`"]);
    }
    says(&run(&["upgrade", "--check"]).ok(), &["A restart ends these sessions", "\n  main: bash, idle", ", pid "]);
    // Another build, whose file still exists.
    says(&project.run(["status"]).ok(), &["the daemon runs an"]);
    run(&["stop"]).ok();
    run(&["call", "repl_list"]).ok();
    says(&run(&["doctor"]).stdout, &["ok daemon: runs"]);
    says(&run(&["upgrade", "--check"]).ok(), &["no restart is needed.\nA restart ends no session."]);
}
