//! Sessions in a sandbox, as a user sets it up.

use crate::fresh;

#[test]
fn code_in_a_sandbox_does_not_leave_it_by_another_session() {
    let project = fresh();
    let outside = project.home().join("outside");
    let write = format!("echo x > {}", outside.display());
    project.write("hob.toml", "[repl]\nsandbox = \"workspace\"\n");
    let started = project.run(["call", "repl_start", "--profile", "bash"]).ok();
    // A kernel without Landlock.
    if started.contains("NOT in a sandbox") {
        return;
    }
    assert!(started.contains("In a sandbox"), "{started}");
    let refused = project.run(["eval", &write]);
    assert!(refused.stderr.contains("Permission denied") && !outside.exists(), "{refused:?}");
    assert_eq!(project.run(["eval", "echo x > inside && cat inside"]).ok(), "x\n");
    let hob = env!("CARGO_BIN_EXE_hob");
    for by in [
        format!("{hob} eval --session other --profile bash '{write}'"),
        format!("(setsid {hob} eval '{write}')"),
        // A proof, a language server and the end of the daemon are outside of the sandbox too.
        format!("{hob} scout 'What breaks if I remove area?' --prove"),
        format!("{hob} callers area"),
        format!("{hob} stop"),
    ] {
        let inner = project.run(["eval", &by]);
        assert!(inner.stderr.contains("he call comes from code of a sandboxed session"), "{inner:?}");
    }
    assert!(!outside.exists());
}

#[test]
fn one_session_asks_for_its_sandbox_and_keeps_it_under_the_next_daemon() {
    let project = fresh();
    let outside = project.home().join("outside");
    let write = format!("echo x > {}; echo done", outside.display());
    let started =
        project.run(["call", "repl_start", "--session", "box", "--profile", "bash", "--sandbox", "workspace"]).ok();
    // A kernel without Landlock.
    if started.contains("NOT in a sandbox") {
        return;
    }
    project.run(["eval", "--session", "box", &write]).ok();
    project.run(["stop"]);
    project.run(["eval", "--session", "box", &write]).ok();
    assert!(!outside.exists());
    // A session without one is not mistaken for one with it.
    project.run(["eval", "--session", "open", "--profile", "bash", &write]).ok();
    assert!(outside.exists());
    let refused = project.run(["call", "repl_start", "--session", "open", "--sandbox", "workspace"]);
    assert!(refused.stderr.contains("already running, with no sandbox"), "{refused:?}");
    let doctor = project.run(["doctor", "--quick"]).stdout;
    assert!(doctor.contains("sandbox"), "{doctor}");
}

#[test]
fn a_setting_that_is_written_while_the_daemon_runs_counts_for_the_next_start() {
    let project = fresh();
    let outside = project.home().join("outside");
    let write = format!("echo x > {}; echo done", outside.display());
    let started = project.run(["call", "repl_start", "--profile", "bash", "--sandbox", "workspace"]).ok();
    // A kernel without Landlock.
    if started.contains("NOT in a sandbox") {
        return;
    }
    project.run(["eval", "--session", "before", "--profile", "bash", "true"]).ok();
    project.write("hob.toml", "[repl]\nsandbox = \"workspace\"\n");
    project.run(["eval", "--session", "after", "--profile", "bash", &write]).ok();
    project.run(["call", "repl_restart", "--session", "before"]).ok();
    project.run(["eval", "--session", "before", &write]).ok();
    assert!(!outside.exists());
}
