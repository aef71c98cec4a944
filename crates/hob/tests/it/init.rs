//! `hob init` with existing files: it is idempotent, and `--undo` restores every byte.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};

use testkit::TestProject;

use crate::fresh;

/// Lists every file and directory below a directory: path, mode, and bytes or link target.
fn snapshot(dir: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(&next).unwrap().flatten() {
            let (path, metadata) = (entry.path(), entry.metadata().unwrap());
            let bytes = match metadata.file_type() {
                kind if kind.is_dir() => {
                    waiting.push(path.clone());
                    Vec::new()
                }
                kind if kind.is_symlink() => fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
                _ => fs::read(&path).unwrap(),
            };
            all.insert(path.strip_prefix(dir).unwrap().display().to_string(), (metadata.permissions().mode(), bytes));
        }
    }
    all
}

/// Creates a project and a home with configuration of all agents, each in its own style.
fn lived_in() -> TestProject {
    let project = fresh();
    project.write(".mcp.json", "{\r\n\t\"mcpServers\": {\r\n\t\t\"other\": {\"command\": \"x\"}\r\n\t}\r\n}");
    project.write(".codex/config.toml", "# mine\nmodel = 'o4'\n[mcp_servers.other]\ncommand = \"x\" # keep\n[z]\nq=1");
    project.write(".cursor/mcp.json", "");
    project.write(".vscode/mcp.json", "// hand-written\n{\n  \"servers\": {}, // none yet\n  \"inputs\": [],\n}\n");
    project.write(".gemini/settings.json", "{\"theme\":\"dark\"}\n\n");
    project.write(".github/mcp.json", "{\"mcpServers\": {}}");
    project.write("opencode.jsonc", "{\n  // mine\n  \"model\": \"a/b\",\n}\n");
    project.write(".claude/settings.json", "{\"permissions\": {\"allow\": [\"Bash(ls)\"]}}\n");
    fs::set_permissions(project.root().join(".mcp.json"), fs::Permissions::from_mode(0o600)).unwrap();
    let home = project.home();
    fs::create_dir_all(home.join("dotfiles")).unwrap();
    fs::create_dir_all(home.join(".gemini")).unwrap();
    fs::create_dir_all(home.join(".copilot")).unwrap();
    fs::write(home.join(".copilot/config.json"), "// its own\n{\n  \"firstLaunchAt\": \"now\"\n}\n").unwrap();
    fs::write(home.join("dotfiles/claude.json"), "{\n  \"numStartups\": 7,\n  \"projects\": {}\n}\n").unwrap();
    std::os::unix::fs::symlink("dotfiles/claude.json", home.join(".claude.json")).unwrap();
    project
}

#[test]
fn twice_is_once_and_undo_restores_every_byte() {
    for (scope, more) in [
        (&["init"][..], &[][..]),
        (&["init"], &["--allow"]),
        (&["init"], &["--mail", "listener"]),
        (&["init", "--user"], &[]),
        (&["init", "--user"], &["--allow"]),
    ] {
        let project = lived_in();
        let before = snapshot(project.top());
        project.run([scope, more].concat()).ok();
        let once = snapshot(project.top());
        assert_ne!(once, before);
        project.run([scope, more].concat()).ok();
        assert_eq!(snapshot(project.top()), once, "a second run changed something");
        let undone = project.run([scope, &["--undo"]].concat()).ok();
        assert_eq!(snapshot(project.top()), before, "{undone}");
        assert!(project.run([scope, &["--undo"]].concat()).ok().starts_with("Nothing to undo"));
        assert_eq!(snapshot(project.top()), before);
    }
}

#[test]
fn many_at_once_lose_nothing_of_the_way_back() {
    for scope in [&["init"][..], &["init", "--user"]] {
        let project = lived_in();
        let before = snapshot(project.top());
        let agents = ["claude", "codex", "cursor", "vscode", "gemini", "copilot", "opencode"];
        let start = |agent: &&str| {
            let mut command = project.hob([scope, &["--agent", agent]].concat());
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let all: Vec<Child> = agents.iter().chain(&agents).map(start).collect();
        for one in all {
            let ran = one.wait_with_output().unwrap();
            assert!(ran.status.success(), "{ran:?}");
        }
        let undone = project.run([scope, &["--undo"]].concat()).ok();
        assert_eq!(snapshot(project.top()), before, "{undone}");
    }
}

#[test]
fn claude_gets_a_listener_and_a_block_which_both_go_again() {
    let project = fresh();
    project.write("CLAUDE.md", "# Mine, without an end");
    let before = snapshot(project.top());
    project.run(["init", "--agent", "claude", "--mail", "listener"]).ok();
    let page = project.read("CLAUDE.md");
    assert!(page.starts_with("# Mine, without an end\n\n<!-- hob mail: begin"), "{page}");
    assert!(project.read(".claude/agents/message-listener.md").contains("MESSAGES_RECEIVED"));
    project.run(["init", "--agent", "claude", "--undo"]).ok();
    assert_eq!(snapshot(project.top()), before);
    // Text added later is kept.
    project.run(["init", "--agent", "claude", "--mail", "listener"]).ok();
    project.write("CLAUDE.md", &format!("{page}\nmore of mine\n"));
    project.run(["init", "--undo"]).ok();
    let page = project.read("CLAUDE.md");
    assert!(page.contains("more of mine") && !page.contains("hob mail"), "{page}");
}

#[test]
fn a_listener_is_only_for_who_asks_for_it_and_for_an_entry_that_serves_mail() {
    let has_listener = |project: &TestProject| {
        let files = ["CLAUDE.md", ".claude/agents/message-listener.md"].map(|file| project.root().join(file).exists());
        assert_eq!(files[0], files[1]);
        files[0]
    };
    let (listener, claude) = (["init", "--mail", "listener", "--agent", "claude"], "Claude Code: registered");
    // By default, notices of mail come with results.
    let project = fresh();
    assert!(project.run(["init", "--agent", "claude"]).ok().contains(claude) && !has_listener(&project));
    project.run(listener).ok();
    assert!(has_listener(&project));
    let without = "no listener, because its entry does not include the mail tools";
    let project = fresh();
    project.write("hob.toml", "toolsets = [\"repl\"]\n");
    assert!(project.run(listener).ok().contains(without) && !has_listener(&project));
    let project = fresh();
    project.write(".mcp.json", r#"{"mcpServers": {"hob": {"command": "hob", "args": ["mcp", "repl"]}}}"#);
    assert!(project.run(listener).ok().contains(without) && !has_listener(&project));
}

#[test]
fn without_mail_the_entry_leaves_it_out() {
    let project = fresh();
    project.run(["init", "--agent", "claude", "--agent", "opencode", "--mail", "off"]).ok();
    let read = |file: &str| serde_json::from_str::<serde_json::Value>(&project.read(file)).unwrap();
    assert_eq!(
        read(".mcp.json")["mcpServers"]["hob"]["args"],
        serde_json::json!(["mcp", "repl", "ask", "code", "work"])
    );
    assert_eq!(
        read("opencode.json")["mcp"]["hob"]["command"],
        serde_json::json!(["hob", "mcp", "repl", "ask", "code", "work"])
    );
    let said = project.run(["init", "--agent", "claude"]).ok();
    assert!(said.contains("already registered in .mcp.json, as `hob mcp repl ask code work`."), "{said}");
}

#[test]
fn another_way_to_hear_of_mail_replaces_the_former_one() {
    let all = ["claude", "codex", "vscode", "gemini", "opencode"].map(|agent| ["--agent", agent]).concat();
    let init = |project: &TestProject, mode: &str| project.run([&["init", "--mail", mode], &*all].concat()).ok();
    for former in ["hints", "listener"] {
        let project = lived_in();
        project.write("CLAUDE.md", "# Mine\n");
        let before = snapshot(project.top());
        let once = |mode: &str| {
            let project = lived_in();
            project.write("CLAUDE.md", "# Mine\n");
            init(&project, mode);
            snapshot(&project.root())
        };
        init(&project, former);
        let said = init(&project, "off");
        assert!(said.contains("registered again in .mcp.json, as `hob mcp repl ask code work`"), "{said}");
        if former == "listener" {
            assert!(said.contains("CLAUDE.md: restored.\n"), "{said}");
            assert!(said.contains(".claude/agents/message-listener.md: removed"), "{said}");
        }
        assert_eq!(snapshot(&project.root()), once("off"));
        init(&project, former);
        assert_eq!(snapshot(&project.root()), once(former));
        project.run(["init", "--undo"]).ok();
        assert_eq!(snapshot(project.top()), before);
    }
    // Without `--mail`, the entry is unchanged, and a person's choice of toolsets is kept.
    let project = fresh();
    project.run(["init", "--agent", "claude", "--mail", "off"]).ok();
    let off = project.read(".mcp.json");
    project.run(["init", "--agent", "claude"]).ok();
    assert_eq!(project.read(".mcp.json"), off);
    let own = off.replace(r#"["mcp", "repl", "ask", "code", "work"]"#, r#"["mcp", "repl"]"#);
    project.write(".mcp.json", &own);
    project.run(["init", "--agent", "claude", "--mail", "hints"]).ok();
    assert_eq!(project.read(".mcp.json"), own);
}

#[test]
fn the_listeners_files_are_among_those_to_commit() {
    let project = fresh();
    assert!(project.command("git").args(["init", "-q"]).status().unwrap().success());
    let said = project.run(["init", "--agent", "claude", "--mail", "listener"]).ok();
    let commit = "Shared, to commit: hob.toml, .mcp.json, CLAUDE.md and .claude/agents/message-listener.md.\n";
    assert!(said.contains(commit), "{said}");
    project.run(["init", "--agent", "claude", "--mail", "hints"]).ok();
    project.write("CLAUDE.md", "# Mine\n");
    let said = project.run(["init", "--agent", "claude"]).ok();
    assert!(said.contains("Shared, to commit: hob.toml and .mcp.json.\n"), "{said}");
}

#[test]
fn what_a_person_must_allow_is_written_only_when_told_to() {
    let project = lived_in();
    let before = snapshot(&project.home());
    let said = project.run(["init"]).ok();
    assert!(said.contains("Steps left for you:") && said.contains("`hob init --allow` writes this for you"), "{said}");
    assert!(said.contains("  Codex does not trust this project yet: start `codex` here"), "{said}");
    let mut after = snapshot(&project.home());
    after.retain(|file, _| before.contains_key(file));
    assert_eq!(after, before, "a file of the user's was changed");
    project.run(["init", "--allow"]).ok();
    let doctor = project.run(["doctor"]).stdout;
    for title in ["Claude Code", "Codex", "Gemini CLI", "Copilot CLI", "opencode"] {
        let line = doctor.lines().find(|line| line.contains(&format!("ok {title}: starts "))).unwrap_or_default();
        assert!(line.ends_with(')') && !line.contains("asks"), "{title}: {doctor}");
    }
    let root = project.root().display().to_string();
    let home = |file: &str| fs::read_to_string(project.home().join(file)).unwrap();
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(json(&home(".claude.json"))["projects"][&root]["hasTrustDialogAccepted"], true);
    assert_eq!(json(&home(".claude.json"))["numStartups"], 7);
    assert_eq!(json(&home(".gemini/trustedFolders.json"))[&root], "TRUST_FOLDER");
    assert!(home(".codex/config.toml").contains("trust_level = \"trusted\""));
    assert!(home(".copilot/config.json").starts_with("// its own\n"));
    let allow = &json(&project.read(".claude/settings.local.json"))["permissions"]["allow"];
    assert_eq!(*allow, serde_json::json!(["mcp__hob"]));
    assert!(!project.read(".claude/settings.json").contains("hob"), "others have it too");
}

#[test]
fn undo_after_an_agent_wrote_takes_only_the_trust_back() {
    let project = lived_in();
    project.run(["init", "--allow"]).ok();
    let state = project.home().join(".claude.json");
    let theirs = fs::read_to_string(&state).unwrap().replace("\"numStartups\": 7", "\"numStartups\": 8");
    fs::write(&state, &theirs).unwrap();
    let codex = project.home().join(".codex/config.toml");
    fs::write(&codex, format!("{}\n[mine]\na = 1\n", fs::read_to_string(&codex).unwrap())).unwrap();
    let settings = project.read(".claude/settings.local.json").replacen('{', "{\"mine\": 1,", 1);
    project.write(".claude/settings.local.json", &settings);
    let entry = project.read(".codex/config.toml");
    project.write(".codex/config.toml", &format!("{entry}\n[theirs]\nb = 2\n"));
    let said = project.run(["init", "--undo"]).ok();
    assert!(said.contains("~/.claude.json: changed since, so only what hob wrote was removed."), "{said}");
    let value: serde_json::Value = serde_json::from_str(&fs::read_to_string(&state).unwrap()).unwrap();
    assert_eq!(value, serde_json::json!({"numStartups": 8}));
    assert_eq!(fs::read_to_string(&codex).unwrap().trim(), "[mine]\na = 1");
    let settings = project.read(".claude/settings.local.json");
    assert!(settings.contains("mine") && !settings.contains("hob"), "{settings}");
    let entry = project.read(".codex/config.toml");
    assert!(!entry.contains("hob") && entry.contains("[theirs]\nb = 2"), "{entry}");
}

#[test]
fn what_one_person_allows_is_committed_for_nobody() {
    if !testkit::has_program("git") {
        return;
    }
    let project = lived_in();
    let git = |args: &[&str]| testkit::Ran::run(project.command("git").args(args)).ok();
    git(&["init", "-q"]);
    project.write(".git/info/exclude", "# mine");
    let before = snapshot(project.top());
    let said = project.run(["init", "--allow"]).ok();
    assert!(said.contains("Shared, to commit: hob.toml, .mcp.json,"), "{said}");
    assert!(said.contains("Private, ignored by git: "), "{said}");
    project.run(["init", "--allow"]).ok();
    let exclude = project.read(".git/info/exclude");
    assert_eq!(exclude.matches("/.claude/settings.local.json\n").count(), 1, "{exclude}");
    // The entry from the documentation of mail.
    git(&["add", "."]);
    let committed = git(&["diff", "--cached"]);
    for permission in ["mcp__hob", "enabledMcpjsonServers", "default_tools_approval_mode", "\"trust\""] {
        assert!(!committed.contains(permission), "{permission}: {committed}");
    }
    assert!(committed.contains("mcpServers"), "{committed}");
    git(&["rm", "-rq", "--cached", "."]);
    std::fs::remove_file(project.root().join(".git/index")).unwrap();
    std::fs::remove_dir_all(project.root().join(".git/objects")).unwrap();
    std::fs::create_dir(project.root().join(".git/objects")).unwrap();
    project.run(["init", "--undo"]).ok();
    let mut after = snapshot(project.top());
    let mut before = before;
    for all in [&mut before, &mut after] {
        all.retain(|file, _| !file.contains(".git/objects") && !file.ends_with(".git"));
    }
    assert_eq!(after, before);
}

#[test]
fn a_permission_is_not_written_into_a_file_that_is_in_git() {
    if !testkit::has_program("git") {
        return;
    }
    let project = lived_in();
    let git = |args: &[&str]| testkit::Ran::run(project.command("git").args(args)).ok();
    git(&["init", "-q"]);
    project.run(["init"]).ok();
    git(&["add", "."]);
    let said = project.run(["init", "--allow"]).ok();
    assert!(
        said.contains(
            "Codex: .codex/config.toml is tracked by git, so an approval would apply to everybody: add it yourself"
        ),
        "{said}"
    );
    assert_eq!(git(&["diff", "--name-only"]), "", "nothing that is in git was changed");
    assert_eq!(git(&["ls-files", "--others", "--exclude-standard"]), "");
    let settings = project.read(".claude/settings.local.json");
    assert!(settings.contains("mcp__hob"), "{settings}");
}

#[test]
fn in_a_linked_worktree_the_files_are_where_its_agents_look() {
    if !testkit::has_program("git") {
        return;
    }
    let project = fresh();
    let git = |args: &[&str]| testkit::Ran::run(project.command("git").args(args)).ok();
    git(&["init", "-q"]);
    git(&["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "one"]);
    let linked = project.top().join("linked");
    git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    let run = |args: &[&str]| testkit::Ran::run(project.hob(args).current_dir(&linked)).ok();
    project.run(["init", "--agent", "claude"]).ok();
    let before = snapshot(project.top());
    let doctor = run(&["doctor"]);
    let main = project.root().join(".mcp.json");
    let here = format!("hob is registered in {}, but an agent in this worktree reads", main.display());
    assert!(doctor.contains(&here), "{doctor}");
    let said = run(&["init", "--agent", "claude", "--agent", "codex", "--allow"]);
    assert!(said.starts_with(&format!("This is a linked worktree, {}", linked.display())), "{said}");
    assert!(said.contains("Claude Code: registered in .mcp.json."), "{said}");
    for file in [".mcp.json", ".codex/config.toml", ".claude/settings.local.json"] {
        assert!(linked.join(file).exists(), "{file}");
    }
    assert!(!linked.join("hob.toml").exists() && !project.root().join(".codex").exists());
    let doctor = run(&["doctor"]);
    assert!(doctor.contains("ok Claude Code: starts") && doctor.contains("ok Codex: starts"), "{doctor}");
    // Each worktree has a separate record for undoing.
    run(&["init", "--undo"]);
    assert_eq!(snapshot(project.top()), before);
    project.run(["init", "--undo"]).ok();
    assert!(!main.exists());
}

#[test]
fn at_a_terminal_a_person_is_asked() {
    if !testkit::has_program("python3") {
        return;
    }
    let project = fresh();
    // Two questions: a listener, and the approvals of the agents.
    let answer = |answers: &str| {
        let words = ["-c", ANSWERING, answers, env!("CARGO_BIN_EXE_hob"), "init", "--agent", "claude"];
        testkit::Ran::run(project.command("python3").args(words).env("TERM", "xterm")).ok()
    };
    let said = answer("n\nn\n");
    assert!(said.contains("Language servers may run code of this project"), "{said}");
    assert!(said.contains("Run a listener") && said.contains("Write this for you?"), "{said}");
    assert!(!project.root().join(".claude").exists() && !project.home().join(".claude.json").exists(), "{said}");
    let said = answer("y\ny\n");
    assert!(said.contains("wrote a listener") && said.contains("in ~/.claude.json"), "{said}");
    assert!(project.run(["doctor"]).stdout.contains("ok Claude Code: starts"), "{said}");
}

/// Runs a program at its own terminal, types answers, and returns the screen output.
const ANSWERING: &str = r#"
import os, pty, signal, sys
signal.alarm(300)
pid, tty = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
os.write(tty, sys.argv[1].encode())
seen = b""
try:
    while part := os.read(tty, 4096):
        seen += part
except OSError:
    pass
os.waitpid(pid, 0)
sys.stdout.buffer.write(seen.replace(b"\r\n", b"\n"))
"#;

#[test]
fn every_kind_of_file_gets_the_entry_and_keeps_the_rest() {
    let project = lived_in();
    project.run(["init"]).ok();
    let mcp = project.read(".mcp.json");
    assert!(mcp.contains("\"other\": {\"command\": \"x\"}") && mcp.contains("\"args\": [\"mcp\"]\r\n"), "{mcp}");
    let codex = project.read(".codex/config.toml");
    assert!(codex.starts_with("# mine\nmodel = 'o4'\n") && codex.contains("command = \"x\" # keep\n"), "{codex}");
    assert!(
        codex.contains("[mcp_servers.hob]\ncommand = \"hob\"\nargs = [\"mcp\", \"repl,mail,ask,code,work\"]\n"),
        "{codex}"
    );
    let vscode = project.read(".vscode/mcp.json");
    assert!(vscode.contains("// hand-written") && vscode.contains("\"type\": \"stdio\""), "{vscode}");
    for (file, key) in [(".cursor/mcp.json", "mcpServers"), (".gemini/settings.json", "mcpServers")] {
        let value: serde_json::Value = serde_json::from_str(&project.read(file)).unwrap();
        assert_eq!(value[key]["hob"]["command"], "hob", "{file}");
    }
    // Copilot CLI also reads Claude Code's file.
    assert_eq!(project.read(".github/mcp.json"), "{\"mcpServers\": {}}");
    let opencode = project.read("opencode.jsonc");
    assert!(opencode.contains("// mine") && opencode.contains("\"command\": [\"hob\", \"mcp\"]"), "{opencode}");
}

#[test]
fn a_broken_file_is_left_alone_and_the_others_are_done() {
    let project = lived_in();
    project.write(".mcp.json", "{\n  \"mcpServers\": {,}\n}\n");
    let ran = project.run(["init"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains(".mcp.json was not changed: line 2, column 18:"), "{}", ran.stderr);
    assert_eq!(project.read(".mcp.json"), "{\n  \"mcpServers\": {,}\n}\n");
    assert!(project.read(".cursor/mcp.json").contains("hob"));
}

#[test]
fn undo_after_somebody_else_wrote_removes_only_our_entry() {
    let project = lived_in();
    project.run(["init"]).ok();
    let theirs = project.read(".gemini/settings.json").replace("dark", "light");
    project.write(".gemini/settings.json", &theirs);
    project.write("hob.toml", "toolsets = [\"repl\"]\n");
    let said = project.run(["init", "--undo"]).ok();
    assert!(said.contains(".gemini/settings.json: changed since, so only what hob wrote was removed."), "{said}");
    assert!(said.contains("hob.toml: kept, because it has changed since; delete what you do not want"), "{said}");
    let value: serde_json::Value = serde_json::from_str(&project.read(".gemini/settings.json")).unwrap();
    assert_eq!(value, serde_json::json!({"theme": "light"}));
    assert_eq!(project.read("hob.toml"), "toolsets = [\"repl\"]\n");
}

#[test]
fn what_was_private_stays_private() {
    use std::os::unix::fs::PermissionsExt;
    let project = lived_in();
    let secret = project.home().join(".claude.json");
    std::fs::write(&secret, "{\"token\": \"s3cret\"}\n").unwrap();
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&secret, private).unwrap();
    let said = project.run(["init", "--user", "--agent", "claude"]).ok();
    assert!(said.contains("`hob init --user --undo` undoes this"), "{said}");
    // The record for undoing contains the whole file.
    for file in [secret, project.home().join(".local/state/hob/init.json")] {
        assert!(std::fs::read_to_string(&file).unwrap().contains("s3cret"));
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{}", file.display());
    }
    project.run(["init"]).ok();
    assert_eq!(project.state_dir().metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn the_template_shows_the_defaults() {
    let project = fresh();
    project.run(["init"]).ok();
    let uncommented: String = project
        .read("hob.toml")
        .lines()
        .map(|line| match line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')) {
            Some(setting) => format!("{setting}\n"),
            None => format!("{line}\n"),
        })
        .collect();
    assert!(uncommented.contains("\nsessions = 8\n"));
    project.write("hob.toml", &uncommented);
    let doctor = project.run(["doctor"]);
    // Five of the settings need a grant.
    let asks = "hob.toml: requests settings that are not granted: mail.space, code.servers.rust-analyzer.command, hooks.holds, \
                hooks.holds_hourly, hooks.keep; run `hob trust`";
    assert!(doctor.stdout.contains(asks), "{}", doctor.stdout);
    let harmless = ["space = ", "servers.rust", "holds = ", "holds_hourly = ", "keep = "]
        .iter()
        .fold(uncommented, |text, setting| text.replace(&format!("\n{setting}"), &format!("\n#{setting}")));
    project.write("hob.toml", &harmless);
    let doctor = project.run(["doctor"]);
    assert!(doctor.stdout.contains("ok hob.toml: valid"), "{}", doctor.stdout);
}

#[test]
fn where_hob_is_not_on_the_path_its_own_place_is_registered() {
    let project = fresh();
    let run = |args: &[&str]| testkit::Ran::run(project.hob(args).env("PATH", "/nowhere"));
    let said = run(&["init", "--agent", "claude", "--allow"]).ok();
    assert!(said.contains("`hob` is not on PATH"), "{said}");
    let value: serde_json::Value = serde_json::from_str(&project.read(".mcp.json")).unwrap();
    let command = value["mcpServers"]["hob"]["command"].as_str().unwrap();
    assert_eq!(Path::new(command), Path::new(env!("CARGO_BIN_EXE_hob")).canonicalize().unwrap());
    let doctor = run(&["doctor"]);
    assert!(doctor.stdout.contains(&format!("ok Claude Code: starts {command}")), "{}", doctor.stdout);
}
