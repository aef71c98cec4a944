//! Sessions in a sandbox, as a user sets it up.

use testkit::TestProject;

use crate::fresh;

/// A project, and code that writes a file outside of it.
struct Scene {
    project: TestProject,
    outside: std::path::PathBuf,
    write: String,
}

impl Scene {
    /// Creates a project; `None` if the kernel has no Landlock.
    fn new() -> Option<Scene> {
        let project = fresh();
        let outside = project.home().join("outside");
        let write = format!("echo x > {}; echo done", outside.display());
        let start = ["call", "repl_start", "--session", "box", "--profile", "bash", "--sandbox", "workspace"];
        let started = project.run(start).ok();
        assert_ne!(started.contains("In a sandbox"), started.contains("NOT in a sandbox"), "{started}");
        (!started.contains("NOT in a sandbox")).then_some(Scene { project, outside, write })
    }
}

#[test]
fn code_in_a_sandbox_does_not_leave_it_by_another_session() {
    let Some(Scene { project, outside, write }) = Scene::new() else { return };
    let refused = project.run(["eval", "--session", "box", &write]);
    assert!(refused.stderr.contains("Permission denied") && !outside.exists(), "{refused:?}");
    assert_eq!(project.run(["eval", "--session", "box", "echo x > inside && cat inside"]).ok(), "x\n");
    let hob = env!("CARGO_BIN_EXE_hob");
    for by in [
        format!("{hob} eval --session other --profile bash '{write}'"),
        format!("(setsid {hob} eval '{write}')"),
        // A proof, a language server and the end of the daemon are outside of the sandbox too.
        format!("{hob} scout 'What breaks if I remove area?' --prove"),
        format!("{hob} callers area"),
        format!("{hob} stop"),
    ] {
        let inner = project.run(["eval", "--session", "box", &by]);
        assert!(inner.stderr.contains("he call comes from code of a sandboxed session"), "{inner:?}");
    }
    assert!(!outside.exists());
}

#[test]
fn a_session_keeps_its_sandbox_and_a_setting_counts_for_the_next_start() {
    let Some(Scene { project, outside, write }) = Scene::new() else { return };
    let eval = |session: &str| project.run(["eval", "--session", session, "--profile", "bash", &write]);
    // Under the next daemon too.
    project.run(["stop"]).ok();
    project.run(["eval", "--session", "box", &write]).ok();
    assert!(!outside.exists());
    // A session without one is not mistaken for one with it.
    eval("open");
    assert!(outside.exists());
    std::fs::remove_file(&outside).unwrap();
    let refused = project.run(["call", "repl_start", "--session", "open", "--sandbox", "workspace"]);
    assert!(refused.stderr.contains("already running, with no sandbox"), "{refused:?}");
    // Written while the daemon runs.
    project.write("hob.toml", "[repl]\nsandbox = \"workspace\"\n");
    eval("after");
    project.run(["call", "repl_restart", "--session", "open"]).ok();
    eval("open");
    assert!(!outside.exists());
}
