//! Links where `hob init` and the compiler write, and where `hob doctor` looks.

use std::fs;
use std::path::Path;

use super::{SHABBY, Victim};

const INIT: &str = "init --mail listener --allow --agent claude --agent codex --agent cursor --agent vscode --agent gemini \
                    --agent copilot --agent opencode";

#[test]
fn init_writes_through_no_link() {
    for (link, to) in [
        ("hob.toml", "precious/new.toml"),
        (".mcp.json", "precious/one.json"),
        ("CLAUDE.md", "precious/notes"),
        (".claude", "precious"),
        (".claude/agents", "precious"),
        (".claude/agents/message-listener.md", "precious/new.md"),
        (".codex", "precious"),
        (".codex/config.toml", "home/.bashrc"),
        (".cursor/mcp.json", "precious/one.json"),
        (".vscode", "precious"),
        (".gemini/settings.json", "precious/new.json"),
        (".claude/settings.json", "precious/new.json"),
        (".claude/settings.local.json", "precious/one.json"),
        ("opencode.jsonc", "precious/one.json"),
    ] {
        let mut victim = Victim::new();
        victim.link(victim.project.top().join(to), link);
        victim.ready();
        let ran = victim.run(&INIT.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.code, Some(1), "{link}: {ran:#?}");
        let said = format!("{link} is a link");
        assert!(ran.stderr.contains(&said) && ran.stderr.contains("by hand"), "{said}: {ran:#?}");
        // Approvals are stored in files of the home, which belong to the user.
        let home = victim.project.home();
        let may_change = |path: &Path| path.starts_with(&home) && path != home.join(".bashrc");
        victim.assert_unharmed_outside(link, may_change);
        // Undoing refuses links too.
        victim.run(&["init", "--undo"]);
        victim.assert_unharmed_outside(link, may_change);
    }
}

#[test]
fn the_compiler_writes_through_no_link() {
    let mut victim = Victim::new();
    victim.project.write("hob.toml", "");
    victim.project.write("src/a.cure", SHABBY);
    fs::write(victim.precious().join("notes.cure"), SHABBY).unwrap();
    victim.link(victim.precious().join("notes.cure"), "out.cure");
    victim.link(victim.precious(), "out");
    victim.link(victim.precious(), "_build");
    victim.ready();
    for args in [
        &["cure", "build", "src/a.cure"][..],
        &["cure", "fmt", "out.cure"],
        &["cure", "fmt", "out/notes.cure"],
        &["cure", "fmt", "out"],
    ] {
        let ran = victim.run(args);
        assert_eq!(ran.code, Some(1), "{args:?}: {ran:#?}");
        assert!(ran.stderr.contains("is outside the project"), "{args:?}: {ran:#?}");
        victim.assert_unharmed(&args.join(" "));
    }
    // A directory that the user names may be anywhere; without the link, output goes into the project.
    let elsewhere = victim.project.top().join("elsewhere");
    let ran = victim.run(&["cure", "build", "src/a.cure", "--output", elsewhere.to_str().unwrap()]);
    assert!(ran.code == Some(0) && elsewhere.read_dir().unwrap().count() > 0, "{ran:#?}");
    fs::remove_file(victim.root().join("_build")).unwrap();
    let built = victim.run(&["cure", "build", "src/a.cure"]).ok();
    assert!(built.contains("in _build/cure, ") && victim.root().join("_build/cure").is_dir(), "{built}");
    victim.run(&["cure", "fmt", "src/a.cure"]).ok();
    assert_ne!(victim.project.read("src/a.cure"), SHABBY);
}

#[test]
fn doctor_reads_through_no_link_and_leaves_nothing() {
    let mut victim = Victim::new();
    let config = "[mcp_servers.hob]\ncommand = \"s3cret\"\n";
    fs::write(victim.precious().join("config.toml"), config).unwrap();
    victim.link(victim.precious(), ".codex");
    victim.ready();
    let ran = victim.run(&["doctor"]);
    assert!(ran.stdout.contains(".codex is a link") && !ran.stdout.contains("s3cret"), "{ran:#?}");
    victim.assert_unharmed("doctor");
}
