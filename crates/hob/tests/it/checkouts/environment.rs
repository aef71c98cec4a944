//! The user's environment: a temporary directory that others may write to, and secrets that a session could read.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Stdio;

use testkit::Ran;

use crate::fresh;

/// Without a home, state goes to a directory whose name any user could have taken.
#[test]
fn what_another_made_in_the_temporary_directory_is_not_used() {
    let project = fresh();
    let (shared, theirs) = (project.top().join("tmp"), project.top().join("theirs"));
    let hash = project.state_dir().file_name().unwrap().to_owned();
    fs::create_dir_all(theirs.join(&hash)).unwrap();
    fs::create_dir(&shared).unwrap();
    symlink(&theirs, shared.join(format!("hob-{}", fs::metadata(&theirs).unwrap().uid()))).unwrap();
    let outside = project.top().join("outside");
    fs::write(&outside, "mine").unwrap();
    let record = serde_json::json!({
        "files": [{"path": outside, "owner": "x", "before": "theirs", "after": "mine"}],
        "created_dirs": [],
    });
    fs::write(theirs.join(&hash).join("init.json"), record.to_string()).unwrap();
    fs::set_permissions(theirs.join(&hash).join("init.json"), fs::Permissions::from_mode(0o600)).unwrap();
    for args in [&["init", "--undo"][..], &["init"], &["status"], &["inbox"], &["call", "repl_list"]] {
        let mut command = project.hob(args);
        let ran = Ran::run(command.env("TMPDIR", &shared).env("HOME", project.top().join("nobodys")));
        assert!(ran.code != Some(0) && ran.stderr.contains("not a private directory"), "{args:?}: {ran:#?}");
        assert!(ran.stderr.contains("XDG_STATE_HOME"), "{args:?}: {ran:#?}");
    }
    assert_eq!(fs::read_to_string(outside).unwrap(), "mine");
    assert_eq!(fs::read_dir(theirs.join(&hash)).unwrap().count(), 1);
}

/// A process can read its parent's environment as long as the parent runs.
#[test]
fn the_daemon_keeps_nothing_of_its_first_clients_environment() {
    // In parallel, since most of the time is spent on the database, which does not answer.
    std::thread::scope(|scope| {
        for serve in [false, true] {
            scope.spawn(move || daemon_keeps_nothing_of_the_environment(serve));
        }
    });
}

fn daemon_keeps_nothing_of_the_environment(serve: bool) {
    let project = fresh();
    let mut command = project.hob(if serve { &["serve"][..] } else { &["call", "repl_start", "--profile", "bash"] });
    command.env("GITHUB_TOKEN", "s3cret-one").env("MY_OWN", "s3cret-two");
    command.env("HOB_MAIL_DATABASE", "postgres://me:s3cret-three@127.0.0.1:1/none");
    command.env("SOME_API_KEY", "s3cret-four");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let daemon = testkit::until("a daemon that serves", || {
        let status = project.run(["status", "--json"]).stdout;
        let status: serde_json::Value = serde_json::from_str(&status).ok()?;
        status["daemon"]["pid"].as_u64()
    });
    project.run(["call", "repl_start", "--profile", "bash"]).ok();
    let code = format!("tr '\\0' '\\n' </proc/{daemon}/environ; readlink /proc/{daemon}/fd/0");
    let seen = project.run(["call", "repl_eval", "--code", &code]).ok();
    assert!(seen.contains("HOME=") && seen.contains("/dev/null"), "{seen}");
    assert!(!seen.contains("s3cret"), "{seen}");
    // The daemon still has the address.
    let sent = project.run(["quickstart", "--name", "a", "--role", "b"]);
    assert!(
        format!("{sent:?}").contains("mail store is unavailable") && !format!("{sent:?}").contains("s3cret"),
        "{sent:#?}"
    );
    project.run(["stop"]).ok();
    child.wait().unwrap();
}
