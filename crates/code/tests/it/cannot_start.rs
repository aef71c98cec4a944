//! Servers that exit before they complete `initialize`: the answer says so immediately, with the fix. There is no
//! restart until some seconds have passed, or a person asks for it.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::judged_project::JudgedProject;
use crate::no_judge::{program, python, script};

/// Returns the first line of an answer with a long time limit, which arrives immediately.
fn first_line(judged: &JudgedProject) -> String {
    let since = Instant::now();
    let (answer, text) = judged.ask("find_callers", json!({"name": "area", "wait_ms": 60_000})).unwrap();
    assert!(since.elapsed() < Duration::from_secs(3).max(testkit::patience()), "{:?}: {text}", since.elapsed());
    assert_eq!(answer["head"]["complete"], false, "{text}");
    text.lines().next().unwrap().to_owned()
}

fn starts(judged: &JudgedProject) -> usize {
    judged.records().iter().filter(|record| record["record"] == "code_server_started").count()
}

fn rust() -> JudgedProject {
    let judged = JudgedProject::new();
    judged
        .write("Cargo.toml", "[package]\nname = \"made\"\n")
        .write("src/lib.rs", "fn area() {}\nfn run() { area() }\n");
    judged
}

/// A server, its program, a script that replaces the program, and the expected answer.
type Case = (fn() -> JudgedProject, &'static str, &'static str, &'static [&'static str]);

#[test]
fn a_server_that_cannot_start_is_not_waited_for() {
    let rustup = "echo \"error: 'rust-analyzer' is not installed for the toolchain 'stable'\" >&2\necho 'To install, run x' >&2\nexit 1";
    let asdf = "echo 'No version is set for command rust-analyzer' >&2\nexit 126";
    let python_of_another_version = "printf 'Traceback (most recent call last):\\n  File \"ty\", line 3\\nModuleNotFoundError: no ty\\n' >&2; exit 1";
    let cases: &[Case] = &[
        (
            rust,
            "rust-analyzer",
            rustup,
            &[
                "rust-analyzer cannot start (exit status 1): error: 'rust-analyzer' is not installed for the toolchain 'stable': ",
                "run `rustup component add rust-analyzer`",
            ],
        ),
        (rust, "rust-analyzer", asdf, &["(exit status 126): No version is set for command rust-analyzer: "]),
        (rust, "rust-analyzer", "exit 0", &["rust-analyzer cannot start (exit status 0): run `rustup"]),
        (
            plain_python,
            "ty",
            "echo 'pyenv: ty: command not found' >&2\nexit 127",
            &["(exit status 127): pyenv: ty: command", "`pip install ty`"],
        ),
        (
            plain_python,
            "ty",
            "echo 'ty: error while loading shared libraries: libx.so' >&2; exit 127",
            &["shared libraries: libx.so: run"],
        ),
        (plain_python, "ty", python_of_another_version, &["ModuleNotFoundError: no ty: run `pip install ty`"]),
        (
            plain_python,
            "ty",
            "printf 'usage: ty\\n\\n'; sleep 600",
            &["ty cannot start: its output is not a language server's"],
        ),
        (
            script,
            "tsc",
            "echo 'Volta error: Node is not available.' >&2; exit 126",
            &["/tsc cannot start (exit status 126: Volta error: Node is not available.): run `", "npm install"],
        ),
        (
            script,
            "tsc",
            "case $1 in --version) echo Version 7.0.2;; *) echo 'nodenv: tsc: command not found' >&2; exit 127;; esac",
            &["tsc cannot start (exit status 127): nodenv: tsc: command not found: run"],
        ),
    ];
    for (judged, name, text, wanted) in cases {
        let mut judged = judged();
        let bin = tempfile::tempdir().unwrap();
        program(&bin.path().join(name), &format!("#!/bin/sh\n{text}\n"), 0o755);
        judged.search_path = Some(format!("{}:/usr/bin:/bin", bin.path().display()));
        for _ in 0..3 {
            let said = first_line(&judged);
            assert!(wanted.iter().all(|wanted| said.contains(wanted)), "{wanted:?}: {said}");
        }
        assert!(starts(&judged) < 2, "{name} {text}: {:?}", judged.records());
    }
    // A script with a missing interpreter fails to start.
    let mut judged = plain_python();
    let bin = tempfile::tempdir().unwrap();
    program(&bin.path().join("ty"), "#!/nowhere/python\n", 0o755);
    judged.search_path = Some(bin.path().display().to_string());
    let said = first_line(&judged);
    assert!(
        said.contains("ty cannot start: program ") && said.contains("names the interpreter /nowhere/python"),
        "{said}"
    );
}

fn plain_python() -> JudgedProject {
    python(code::CodeSettings::default())
}

#[test]
fn it_is_tried_again_when_a_person_says_so() {
    let (mut judged, bin) = (rust(), tempfile::tempdir().unwrap());
    program(&bin.path().join("rust-analyzer"), "#!/bin/sh\necho first >&2; exit 1\n", 0o755);
    judged.search_path = Some(format!("{}:/usr/bin:/bin", bin.path().display()));
    first_line(&judged);
    let (status, text) = judged.ask("code_status", json!({})).unwrap();
    assert_eq!(status["servers"][0]["state"], "cannot_start", "{text}");
    assert!(text.contains("cannot start (exit status 1): first"), "{text}");
    program(&bin.path().join("rust-analyzer"), "#!/bin/sh\necho second >&2; exit 1\n", 0o755);
    judged.ask("code_status", json!({"restart": true})).unwrap();
    let said = first_line(&judged);
    assert!(said.contains("second") && starts(&judged) == 2, "{said}");
}
