//! Files of another user below `HOME` and the `XDG_*` directories are ignored: hob uses no configuration, grant, profile or
//! state of theirs. Tests that give a file to another user need root.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown, lchown, symlink};
use std::path::Path;

use testkit::Ran;

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
fn a_grant_of_another_is_none() {
    if !is_root() {
        return;
    }
    let project = fresh();
    project.write("hob.toml", "[repl.profiles.mine]\ndriver = \"bash\"\ncommand = [\"sh\", \"-c\", \"touch ran\"]\n");
    project.run(["trust", "--yes"]).ok();
    let file = project.home().join(".config/hob/trust.toml");
    let eval = ["call", "repl_start", "--profile", "mine"];
    chown(&file, ANOTHER, None).unwrap();
    refused(&project.run(eval), &["trust.toml belongs to user 12345, not to you", "set it to your own directory"]);
    chown(&file, Some(0), None).unwrap();
    // The file belongs to the user, but the directory's owner could replace it.
    chown(file.parent().unwrap(), ANOTHER, None).unwrap();
    refused(&project.run(eval), &["trust.toml", "hob belongs to user 12345", "could replace the file"]);
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
    let ran = project.run(["call", "repl_start", "--profile", "theirs"]);
    assert!(format!("{}{}", ran.stdout, ran.stderr).contains("belongs to user 12345"), "{ran:?}");
    assert!(!project.root().join("ran").exists());
}

#[test]
fn state_below_a_directory_of_another_is_refused() {
    if !is_root() {
        return;
    }
    let project = fresh();
    let theirs = project.top().join("theirs");
    let precious = project.top().join("precious");
    fs::create_dir_all(&precious).unwrap();
    fs::create_dir_all(theirs.join("hob")).unwrap();
    let link = theirs.join("hob").join(project.state_dir().file_name().unwrap());
    symlink(&precious, &link).unwrap();
    for at in [&link, &theirs.join("hob"), &theirs] {
        lchown(at, ANOTHER, None).unwrap();
    }
    let agents = || Ran::run(project.hob(["agents"]).env("XDG_STATE_HOME", &theirs));
    refused(&agents(), &["belongs to user 12345", "set XDG_STATE_HOME to your own directory"]);
    // Only the link belongs to the other user.
    for at in [&theirs.join("hob"), &theirs] {
        chown(at, Some(0), None).unwrap();
    }
    refused(&agents(), &["not a private directory"]);
    assert_eq!(fs::read_dir(&precious).unwrap().count(), 0);
    assert_eq!(fs::metadata(&precious).unwrap().mode() & 0o777, 0o755);
}

#[test]
fn state_whose_disk_is_away_is_named() {
    let project = fresh();
    let elsewhere = project.top().join("disk");
    private_dir(&elsewhere);
    let with = |args: &[&str]| Ran::run(project.hob(args).env("XDG_STATE_HOME", &elsewhere));
    with(&["quickstart", "--name", "anna", "--role", "dev"]).ok();
    with(&["stop"]).ok();
    fs::rename(&elsewhere, project.top().join("away")).unwrap();
    let link = project.state_dir();
    let target = elsewhere.join("hob").join(link.file_name().unwrap());
    let words = [&*link.to_string_lossy(), &*target.to_string_lossy(), "Mount its disk", "delete the link"];
    refused(&project.run(["agents"]), &words);
    refused(&with(&["agents"]), &words);
    for command in ["status", "doctor"] {
        let told = project.run([command]).stdout;
        assert!(words.iter().all(|word| told.contains(word)), "{told}");
    }
    assert_ne!(project.run(["doctor"]).code, Some(0));
    // The directory is back.
    let _ = fs::remove_dir_all(&elsewhere);
    fs::rename(project.top().join("away"), &elsewhere).unwrap();
    assert!(project.run(["agents"]).ok().contains("anna"));
    project.run(["stop"]).ok();
    // The directory is gone permanently.
    fs::remove_dir_all(&elsewhere).unwrap();
    fs::remove_file(&link).unwrap();
    assert!(!project.run(["agents"]).ok().contains("anna"));
}
