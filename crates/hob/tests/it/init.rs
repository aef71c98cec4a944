//! `hob init` against files that others wrote: twice is once, and `--undo` restores every byte.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};

use testkit::TestProject;

use crate::fresh;

/// Every file below a directory: its path, mode and bytes (or a link's target), directories too.
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

/// A project and a home in which all five agents left configuration, each in its own style.
fn lived_in() -> TestProject {
    let project = fresh();
    project.write(".mcp.json", "{\r\n\t\"mcpServers\": {\r\n\t\t\"other\": {\"command\": \"x\"}\r\n\t}\r\n}");
    project.write(".codex/config.toml", "# mine\nmodel = 'o4'\n[mcp_servers.other]\ncommand = \"x\" # keep\n[z]\nq=1");
    project.write(".cursor/mcp.json", "");
    project.write(".vscode/mcp.json", "// hand-written\n{\n  \"servers\": {}, // none yet\n  \"inputs\": [],\n}\n");
    project.write(".gemini/settings.json", "{\"theme\":\"dark\"}\n\n");
    fs::set_permissions(project.root().join(".mcp.json"), fs::Permissions::from_mode(0o600)).unwrap();
    let home = project.home();
    fs::create_dir_all(home.join("dotfiles")).unwrap();
    fs::create_dir_all(home.join(".gemini")).unwrap();
    fs::write(home.join("dotfiles/claude.json"), "{\n  \"numStartups\": 7,\n  \"projects\": {}\n}\n").unwrap();
    std::os::unix::fs::symlink("dotfiles/claude.json", home.join(".claude.json")).unwrap();
    project
}

#[test]
fn twice_is_once_and_undo_restores_every_byte() {
    for scope in [&["init"][..], &["init", "--user"]] {
        let project = lived_in();
        let before = snapshot(project.top());
        project.run(scope).ok();
        let once = snapshot(project.top());
        assert_ne!(once, before);
        project.run(scope).ok();
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
        let agents = ["claude", "codex", "cursor", "vscode", "gemini", "claude"];
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
    project.run(["init", "--agent", "claude"]).ok();
    let page = project.read("CLAUDE.md");
    assert!(page.starts_with("# Mine, without an end\n\n<!-- hob mail: begin"), "{page}");
    assert!(project.read(".claude/agents/message-listener.md").contains("MESSAGES_RECEIVED"));
    project.run(["init", "--agent", "claude", "--undo"]).ok();
    assert_eq!(snapshot(project.top()), before);
    // Text written since stays.
    project.run(["init", "--agent", "claude"]).ok();
    project.write("CLAUDE.md", &format!("{page}\nmore of mine\n"));
    project.run(["init", "--undo"]).ok();
    let page = project.read("CLAUDE.md");
    assert!(page.contains("more of mine") && !page.contains("hob mail"), "{page}");
}

#[test]
fn without_mail_nobody_is_told_of_mail() {
    let project = lived_in();
    project.write("hob.toml", "toolsets = [\"repl\"]\n");
    let said = project.run(["init"]).ok();
    assert!(said.contains("Claude Code: registered"), "{said}");
    assert!(!project.root().join("CLAUDE.md").exists() && !project.root().join(".claude").exists(), "{said}");
}

#[test]
fn every_kind_of_file_gets_the_entry_and_keeps_the_rest() {
    let project = lived_in();
    project.run(["init"]).ok();
    let mcp = project.read(".mcp.json");
    assert!(mcp.contains("\"other\": {\"command\": \"x\"}") && mcp.contains("\"args\": [\"mcp\"]\r\n"), "{mcp}");
    let codex = project.read(".codex/config.toml");
    assert!(codex.starts_with("# mine\nmodel = 'o4'\n") && codex.contains("command = \"x\" # keep\n"), "{codex}");
    assert!(codex.contains("[mcp_servers.hob]\ncommand = \"hob\"\nargs = [\"mcp\"]\n"), "{codex}");
    let vscode = project.read(".vscode/mcp.json");
    assert!(vscode.contains("// hand-written") && vscode.contains("\"type\": \"stdio\""), "{vscode}");
    for (file, key) in [(".cursor/mcp.json", "mcpServers"), (".gemini/settings.json", "mcpServers")] {
        let value: serde_json::Value = serde_json::from_str(&project.read(file)).unwrap();
        assert_eq!(value[key]["hob"]["command"], "hob", "{file}");
    }
}

#[test]
fn a_broken_file_is_left_alone_and_the_others_are_done() {
    let project = lived_in();
    project.write(".mcp.json", "{\n  \"mcpServers\": {,}\n}\n");
    let ran = project.run(["init"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains(".mcp.json was left alone: line 2, column 18:"), "{}", ran.stderr);
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
    assert!(said.contains(".gemini/settings.json: changed since, so only hob's entry was removed."), "{said}");
    assert!(said.contains("hob.toml: changed since, so it was left as it is."), "{said}");
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
    assert!(said.contains("`hob init --user --undo` takes it back"), "{said}");
    // The record for the way back holds the file whole.
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
    // Of all settings one asks for more than is always allowed.
    assert!(doctor.stdout.contains("hob.toml: asks for what is not granted: mail.space; see"), "{}", doctor.stdout);
    project.write("hob.toml", &uncommented.replace("space = ", "#space = "));
    let doctor = project.run(["doctor"]);
    assert!(doctor.stdout.contains("ok hob.toml: reads well"), "{}", doctor.stdout);
}

#[test]
fn where_hob_is_not_on_the_path_its_own_place_is_registered() {
    let project = fresh();
    let run = |args: &[&str]| testkit::Ran::of(project.hob(args).env("PATH", "/nowhere"));
    let said = run(&["init", "--agent", "claude"]).ok();
    assert!(said.contains("`hob` is not on PATH"), "{said}");
    let value: serde_json::Value = serde_json::from_str(&project.read(".mcp.json")).unwrap();
    let command = value["mcpServers"]["hob"]["command"].as_str().unwrap();
    assert_eq!(Path::new(command), Path::new(env!("CARGO_BIN_EXE_hob")).canonicalize().unwrap());
    let doctor = run(&["doctor"]);
    assert!(doctor.stdout.contains(&format!("ok Claude Code: starts {command}")), "{}", doctor.stdout);
}
