//! Programs in the checkout: none is trusted, and none is found by a relative search path.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use testkit::Ran;

use crate::fresh;

#[test]
fn a_program_of_the_checkout_is_not_vouched_for() {
    for (entry, said) in [
        (r#"{"command": "./bin/hob\u202e", "args": ["mcp"]}"#, "`./bin/hob\\u{202e} mcp`"),
        (r#"{"command": "hob", "args": ["mcp"], "env": {"LD_PRELOAD": "./x.so"}}"#, "`hob mcp` with `env`"),
        (
            r#"{"command": "hob", "args": ["mcp", "--project", "/elsewhere", "--as", "planner", "--takeover"]}"#,
            "`hob mcp --project /elsewhere --as planner --takeover`",
        ),
    ] {
        let project = fresh();
        project.write(".mcp.json", &format!(r#"{{"mcpServers": {{"hob": {entry}}}}}"#));
        project.write("bin/hob", "#!/bin/sh\n");
        fs::set_permissions(project.root().join("bin/hob"), fs::Permissions::from_mode(0o755)).unwrap();
        let init = project.run(["init", "--agent", "claude"]);
        assert!(init.code == Some(1) && !init.stdout.contains("already registered"), "{init:#?}");
        let doctor = project.run(["doctor"]);
        let line = doctor.stdout.lines().find(|line| line.contains("Claude Code")).unwrap_or_default().to_owned();
        for text in [&init.stderr, &line] {
            assert!(text.contains(".mcp.json") && text.contains(said), "{text}");
        }
        assert!(doctor.code != Some(0) && line.contains("!!"), "{doctor:#?}");
    }
}

#[test]
fn search_paths_lead_to_no_program_of_the_checkout() {
    let project = fresh();
    let harm = project.top().join("harm");
    project.write("python3", &format!("#!/bin/sh\ntouch {}\nPATH=${{PATH#*:}} exec python3 \"$@\"\n", harm.display()));
    fs::set_permissions(project.root().join("python3"), fs::Permissions::from_mode(0o755)).unwrap();
    project.write("sitecustomize.py", &format!("open({:?}, 'w')\n", harm.display().to_string()));
    let path = std::env::var("PATH").unwrap();
    for path in [format!(":{path}"), format!(".:{path}")] {
        for args in [&["repl_start", "--profile", "python"][..], &["repl_eval", "--code", "6 * 7"]] {
            let mut command = project.hob(["call"].iter().chain(args));
            let ran = Ran::run(command.env("PATH", &path).env("PYTHONPATH", "/x:")).ok();
            assert!(args[0] == "repl_start" || ran.contains("42"), "{ran}");
        }
        assert!(!harm.exists());
        project.run(["stop"]).ok();
    }
}
