//! `hob init` where a file is invalid, and what `--undo` reports.

use std::fs;

use crate::fresh;

#[test]
fn an_unusable_file_is_named_with_the_fix() {
    let project = fresh();
    fs::create_dir(project.root().join("hob.toml")).unwrap();
    let said = project.run(["init"]).stderr;
    assert!(said.ends_with("hob.toml: it is not a regular file; move it away, then try again\n"), "{said}");
    fs::remove_dir(project.root().join("hob.toml")).unwrap();
    project.run(["init"]).ok();
    fs::write(project.state_dir().join("init.json"), "{").unwrap();
    let said = project.run(["init", "--undo"]).stderr;
    assert!(said.contains("init.json is corrupt; move it away, then try again"), "{said}");
    assert!(!said.contains("disk"), "{said}");
}

#[test]
fn private_settings_are_not_to_commit_and_undone_once() {
    let project = fresh();
    assert!(project.command("git").args(["init", "-q"]).status().unwrap().success());
    let settings = ".claude/settings.local.json";
    // hob cannot read it, so it is not yet ignored.
    project.write(settings, "{");
    let said = project.run(["init", "--agent", "claude", "--allow"]).stdout;
    assert!(said.contains("Shared, to commit: hob.toml and .mcp.json.\n"), "{said}");
    fs::remove_file(project.root().join(settings)).unwrap();
    // The approval and the hooks are separate edits of one file.
    project.run(["init", "--agent", "claude", "--allow", "--hooks"]).ok();
    fs::remove_file(project.root().join("hob.toml")).unwrap();
    let said = project.run(["init", "--undo"]).ok();
    let undone: Vec<&str> = said.lines().filter(|line| line.starts_with(settings)).collect();
    assert_eq!(undone, [".claude/settings.local.json: removed, as it did not exist before."], "{said}");
    assert!(said.contains("hob.toml: unchanged, as it is already as before.\n"), "{said}");
}
