//! What another user of the machine owns below `HOME` and the `XDG_*` directories decides nothing: no configuration,
//! grant, profile or state of theirs is used. Where only root can make something another's, the test needs root.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown, lchown, symlink};
use std::path::Path;

use testkit::{Ran, TestProject};

use crate::fresh;

const ANOTHER: Option<u32> = Some(12345);

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn refused(ran: &Ran, words: &[&str]) {
    assert_ne!(ran.code, Some(0), "{ran:?}");
    for word in words {
        assert!(ran.stderr.contains(word), "{word}: {ran:?}");
    }
}

fn private_dir(path: &Path) {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).unwrap();
}

#[test]
fn a_pipe_in_place_of_the_configuration_keeps_nobody_waiting() {
    let project = fresh();
    let config = project.home().join(".config/hob");
    fs::create_dir_all(&config).unwrap();
    let pipe = config.join("config.toml");
    assert!(project.command("mkfifo").arg(&pipe).status().unwrap().success());
    refused(&project.run(["call", "repl_list"]), &["config.toml", "not a regular file"]);
    for command in [["tools", "--help"], ["status", "--json"], ["tools", "repl_eval"], ["agents", "--json"]] {
        project.run(command);
    }
}

#[test]
fn a_grant_of_another_is_none() {
    if !is_root() {
        return;
    }
    let project = fresh();
    project.write("hob.toml", "[repl.profiles.mine]\ndriver = \"bash\"\ncommand = [\"sh\", \"-c\", \"touch ran\"]\n");
    project.run(["trust", "--yes"]).ok();
    let file = project.home().join(".config/hob/trust.toml");
    let eval = ["call", "repl_eval", "--profile", "mine", "--code", "1"];
    chown(&file, ANOTHER, None).unwrap();
    refused(&project.run(eval), &["trust.toml belongs to user 12345, not to you", "set it to a directory of your own"]);
    chown(&file, Some(0), None).unwrap();
    // The file is one's own, and another could put any of one's own in its place.
    chown(file.parent().unwrap(), ANOTHER, None).unwrap();
    refused(&project.run(eval), &["trust.toml", "hob belongs to user 12345", "another file in its place"]);
    assert!(!project.root().join("ran").exists());
    chown(file.parent().unwrap(), Some(0), None).unwrap();
}

#[test]
fn a_profile_of_another_is_left_out() {
    if !is_root() {
        return;
    }
    let project = fresh();
    let profiles = project.home().join(".config/hob/profiles");
    fs::create_dir_all(&profiles).unwrap();
    let file = profiles.join("theirs.toml");
    fs::write(&file, "driver = \"bash\"\ncommand = [\"sh\", \"-c\", \"touch ran\"]\n").unwrap();
    chown(&file, ANOTHER, None).unwrap();
    let ran = project.run(["call", "repl_eval", "--profile", "theirs", "--code", "1"]);
    assert!(format!("{}{}", ran.stdout, ran.stderr).contains("belongs to user 12345"), "{ran:?}");
    assert!(!project.root().join("ran").exists());
}
