//! `hob init` with existing files: it is idempotent, and `--undo` restores every byte.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use testkit::{Ran, Screen, TestProject, has_program};

use crate::{fresh, says};

/// Lists every file and directory below a directory: path, mode, and bytes or link target.
pub(crate) fn snapshot(dir: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
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

/// Runs git in the project.
pub(crate) fn git(project: &TestProject, args: &[&str]) -> String {
    Ran::run(project.command("git").args(["-c", "user.name=t", "-c", "user.email=t@t"]).args(args)).ok()
}

/// Makes the project a repository with a commit, and returns a linked worktree next to it.
pub(crate) fn linked_worktree(project: &TestProject) -> PathBuf {
    for args in
        [&["init", "-q"][..], &["commit", "-q", "--allow-empty", "-m", "one"], &["worktree", "add", "-q", "../linked"]]
    {
        git(project, args);
    }
    project.top().join("linked").canonicalize().unwrap()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
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
fn how_agents_hear_of_mail_is_changed_and_undone() {
    let all = ["claude", "codex", "vscode", "gemini", "opencode"].map(|agent| ["--agent", agent]).concat();
    let init = |project: &TestProject, mode: &str| project.run([&["init", "--mail", mode], &*all].concat()).ok();
    let with_page = || {
        let project = lived_in();
        project.write("CLAUDE.md", "# Mine, without an end");
        project
    };
    for former in ["hints", "listener"] {
        let project = with_page();
        let before = snapshot(project.top());
        let once = |mode: &str| {
            let project = with_page();
            init(&project, mode);
            snapshot(&project.root())
        };
        init(&project, former);
        let page = project.read("CLAUDE.md");
        let has_block = page.starts_with("# Mine, without an end\n\n<!-- hob mail: begin");
        let has_listener = project.root().join(".claude/agents/message-listener.md").exists();
        assert_eq!((has_block, has_listener), (former == "listener", former == "listener"), "{page}");
        let said = init(&project, "off");
        assert!(said.contains("registered again in .mcp.json, as `hob mcp repl ask code work`"), "{said}");
        for line in ["CLAUDE.md: restored.\n", ".claude/agents/message-listener.md: removed"] {
            assert_eq!(said.contains(line), has_listener, "{said}");
        }
        let again = project.run(["init", "--agent", "claude"]).ok();
        assert!(again.contains("already registered in .mcp.json, as `hob mcp repl ask code work`."), "{again}");
        assert_eq!(snapshot(&project.root()), once("off"));
        init(&project, former);
        assert_eq!(snapshot(&project.root()), once(former));
        project.run(["init", "--undo"]).ok();
        assert_eq!(snapshot(project.top()), before);
        // Text added later is kept.
        init(&project, former);
        project.write("CLAUDE.md", &format!("{page}\nmore of mine\n"));
        project.run(["init", "--undo"]).ok();
        let page = project.read("CLAUDE.md");
        assert!(page.contains("more of mine") && !page.contains("hob mail"), "{page}");
    }
}

#[test]
fn every_file_gets_the_entry_and_what_a_person_must_allow_only_when_told_to() {
    let project = lived_in();
    let before = snapshot(&project.home());
    let said = project.run(["init"]).ok();
    let codex = "  Codex does not trust this project yet: start `codex` here";
    says(&said, &["Steps left for you:", "`hob init --allow` writes this for you", codex]);
    let mut after = snapshot(&project.home());
    after.retain(|file, _| before.contains_key(file));
    assert_eq!(after, before, "a file of the user's was changed");
    // Every kind of file gets the entry and keeps the rest.
    let codex = "[mcp_servers.hob]\ncommand = \"hob\"\nargs = [\"mcp\", \"repl,mail,ask,code,work\"]\n";
    for (file, parts) in [
        (".mcp.json", &["\"other\": {\"command\": \"x\"}", "\"args\": [\"mcp\"]\r\n"][..]),
        (".codex/config.toml", &["# mine\nmodel = 'o4'\n", "command = \"x\" # keep\n", codex]),
        (".vscode/mcp.json", &["// hand-written", "\"type\": \"stdio\""]),
        ("opencode.jsonc", &["// mine", "\"command\": [\"hob\", \"mcp\"]"]),
    ] {
        says(&project.read(file), parts);
    }
    for file in [".cursor/mcp.json", ".gemini/settings.json"] {
        assert_eq!(parsed(&project.read(file))["mcpServers"]["hob"]["command"], "hob", "{file}");
    }
    // Copilot CLI also reads Claude Code's file.
    assert_eq!(project.read(".github/mcp.json"), "{\"mcpServers\": {}}");
    project.run(["init", "--allow"]).ok();
    let root = project.root().display().to_string();
    let home = |file: &str| fs::read_to_string(project.home().join(file)).unwrap();
    let state = parsed(&home(".claude.json"));
    assert_eq!((&state["projects"][&root]["hasTrustDialogAccepted"], &state["numStartups"]), (&json!(true), &json!(7)));
    assert_eq!(parsed(&home(".gemini/trustedFolders.json"))[&root], "TRUST_FOLDER");
    assert!(home(".codex/config.toml").contains("trust_level = \"trusted\""));
    assert!(home(".copilot/config.json").starts_with("// its own\n"));
    let allow = parsed(&project.read(".claude/settings.local.json"))["permissions"]["allow"].take();
    assert_eq!(allow, json!(["mcp__hob"]));
    assert!(!project.read(".claude/settings.json").contains("hob"), "others have it too");
}

#[test]
fn undo_after_others_wrote_takes_back_only_what_hob_wrote() {
    let project = lived_in();
    project.run(["init", "--allow"]).ok();
    let change = |path: PathBuf, change: &dyn Fn(String) -> String| {
        fs::write(&path, change(fs::read_to_string(&path).unwrap())).unwrap();
    };
    let (root, home) = (project.root(), project.home());
    change(home.join(".claude.json"), &|text| text.replace("\"numStartups\": 7", "\"numStartups\": 8"));
    change(home.join(".codex/config.toml"), &|text| format!("{text}\n[mine]\na = 1\n"));
    change(root.join(".claude/settings.local.json"), &|text| text.replacen('{', "{\"mine\": 1,", 1));
    change(root.join(".codex/config.toml"), &|text| format!("{text}\n[theirs]\nb = 2\n"));
    change(root.join(".gemini/settings.json"), &|text| text.replace("dark", "light"));
    project.write("hob.toml", "toolsets = [\"repl\"]\n");
    let said = project.run(["init", "--undo"]).ok();
    for file in ["~/.claude.json", ".gemini/settings.json"] {
        assert!(said.contains(&format!("{file}: changed since, so only what hob wrote was removed.")), "{said}");
    }
    says(&said, &["hob.toml: kept, because it has changed since; delete what you do not want"]);
    let read = |path: PathBuf| fs::read_to_string(path).unwrap();
    assert_eq!(parsed(&read(home.join(".claude.json"))), json!({"numStartups": 8}));
    assert_eq!(read(home.join(".codex/config.toml")).trim(), "[mine]\na = 1");
    assert_eq!(parsed(&project.read(".gemini/settings.json")), json!({"theme": "light"}));
    assert_eq!(project.read("hob.toml"), "toolsets = [\"repl\"]\n");
    for (file, theirs) in [(".claude/settings.local.json", "mine"), (".codex/config.toml", "[theirs]\nb = 2")] {
        let text = project.read(file);
        assert!(!text.contains("hob") && text.contains(theirs), "{text}");
    }
}

#[test]
fn what_one_person_allows_is_committed_for_nobody() {
    if !has_program("git") {
        return;
    }
    let project = lived_in();
    git(&project, &["init", "-q"]);
    project.write(".git/info/exclude", "# mine");
    let mut before = snapshot(project.top());
    let said = project.run(["init", "--allow"]).ok();
    says(&said, &["Shared, to commit: hob.toml, .mcp.json,", "Private, ignored by git: "]);
    project.run(["init", "--allow"]).ok();
    let exclude = project.read(".git/info/exclude");
    assert_eq!(exclude.matches("/.claude/settings.local.json\n").count(), 1, "{exclude}");
    // The index is elsewhere, so that undoing is compared without it.
    let with_index = |args: &[&str]| Ran::run(project.command("git").args(args).env("GIT_INDEX_FILE", "../index")).ok();
    with_index(&["add", "."]);
    let committed = with_index(&["diff", "--cached"]);
    for permission in ["mcp__hob", "enabledMcpjsonServers", "default_tools_approval_mode", "\"trust\""] {
        assert!(!committed.contains(permission), "{permission}: {committed}");
    }
    assert!(committed.contains("mcpServers"), "{committed}");
    project.run(["init", "--undo"]).ok();
    let mut after = snapshot(project.top());
    for all in [&mut before, &mut after] {
        all.retain(|file, _| !file.contains(".git/objects") && !file.ends_with(".git") && file != "index");
    }
    assert_eq!(after, before);
    // No permission is written into a file that is in git.
    project.run(["init"]).ok();
    git(&project, &["add", "."]);
    let refused =
        "Codex: .codex/config.toml is tracked by git, so an approval would apply to everybody: add it yourself";
    says(&project.run(["init", "--allow"]).ok(), &[refused]);
    assert_eq!(git(&project, &["diff", "--name-only"]), "", "nothing that is in git was changed");
    assert_eq!(git(&project, &["ls-files", "--others", "--exclude-standard"]), "");
    says(&project.read(".claude/settings.local.json"), &["mcp__hob"]);
}

#[test]
fn at_a_terminal_a_person_is_asked() {
    if !has_program("tmux") {
        return;
    }
    let project = fresh();
    // Two questions: a listener, and the approvals of the agents.
    let answered = |answer: &str| {
        let screen = Screen::run(&project, "hob init --agent claude");
        for question in ["Run a listener", "Write this for you?"] {
            screen.until(question);
            screen.press(&[answer, "Enter"]);
        }
        screen.until("ended with 0")
    };
    says(&answered("n"), &["Language servers may run code of this project"]);
    assert!(!project.root().join(".claude").exists() && !project.home().join(".claude.json").exists());
    says(&answered("y"), &["wrote a listener"]);
    assert!(project.run(["doctor"]).stdout.contains("ok Claude Code: starts"));
}
