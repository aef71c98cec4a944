//! Python's environments: the `.venv` of a project, or the one that uv or poetry manages, made by the real tools; and
//! the error for a missing interpreter.

use std::path::Path;
use std::process::Command;

use expect_test::expect;
use serde_json::json;
use testkit::has_program;

use crate::fixture::Fixture;

/// A module that only the project's environment has.
const DEPENDENCY: &str = "import sys, zipfile
with zipfile.ZipFile('dep-1.0-py3-none-any.whl', 'w') as wheel:
    wheel.writestr('dep.py', 'VALUE = 42\\n')
    wheel.writestr('dep-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: dep\\nVersion: 1.0\\n')
    wheel.writestr('dep-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr('dep-1.0.dist-info/RECORD', ''.join(name + ',,\\n' for name in wheel.namelist()))
";
/// The first evaluation in each project.
const IMPORT: &str = "import dep, sys, os; (dep.VALUE, sys.prefix != sys.base_prefix, os.getpid())";

/// Creates a project with the dependency next to it.
fn project() -> Fixture {
    let fixture = Fixture::new();
    run(&fixture, "python3", &["-c", DEPENDENCY]);
    fixture
}

fn top(fixture: &Fixture) -> &Path {
    fixture.dirs[0].path()
}

/// Runs a tool in the project, without a network.
fn run(fixture: &Fixture, program: &str, args: &[&str]) {
    let env = fixture.caller(0).env;
    let program = if program.contains('/') { top(fixture).join(program) } else { program.into() };
    let ran = Command::new(&program).args(args).current_dir(top(fixture)).env_clear().envs(env).output();
    let ran = ran.expect("it is installed");
    assert!(ran.status.success(), "{} {args:?}: {}", program.display(), String::from_utf8_lossy(&ran.stderr));
}

/// Makes a `.venv` and installs the dependency.
fn make(fixture: &Fixture) {
    // Installing pip would take ten seconds.
    run(fixture, "python3", &["-m", "venv", "--without-pip", ".venv"]);
    let unpack = "import sysconfig, zipfile\n\
                  zipfile.ZipFile('dep-1.0-py3-none-any.whl').extractall(sysconfig.get_path('purelib'))";
    run(fixture, ".venv/bin/python", &["-c", unpack]);
}

/// Returns the first evaluation in a session without any setting, and the session's process.
async fn first(fixture: &Fixture) -> (String, String) {
    let (text, full) = fixture.call("repl_eval", json!({"code": IMPORT, "wait_ms": 50_000})).await;
    let notes = full["notes"].as_array().into_iter().flatten().filter_map(|note| note.as_str()).collect::<Vec<_>>();
    let pid = fixture.handle("main").info().pid.expect("it runs");
    assert_eq!(full["value"], format!("(42, True, {pid})"), "{text}");
    (notes.join("\n"), text)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dependency_in_a_venv_is_imported_in_the_first_evaluation() {
    let fixture = project();
    make(&fixture);
    let (notes, _) = first(&fixture).await;
    expect![[r#"
        The session is new, of profile python; `profile` with another `session` starts another.
        Python is that of .venv."#]]
    .assert_eq(&notes);
    // Child processes find the environment, too.
    let code = "import subprocess; subprocess.run(['sh', '-c', 'echo $VIRTUAL_ENV; command -v python'], capture_output=True, text=True).stdout.split()";
    let (_, full) = fixture.call("repl_eval", json!({"code": code})).await;
    let value = full["value"].as_str().expect("a value").replace(&top(&fixture).display().to_string(), "TOP");
    assert_eq!(value, "['TOP/.venv', 'TOP/.venv/bin/python']");
    // Below the project, by name.
    std::fs::create_dir(top(&fixture).join("src")).expect("made");
    let (text, _) = fixture.call("repl_start", json!({"session": "b", "profile": "python", "cwd": "src"})).await;
    assert!(text.ends_with("/.venv."), "{text}");
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_venv_that_was_made_meanwhile_is_that_of_the_next_process() {
    let fixture = project();
    let (text, _) = fixture.call("repl_eval", json!({"code": "import dep", "profile": "python"})).await;
    assert!(text.contains("No module named 'dep'"), "{text}");
    make(&fixture);
    let (text, _) = fixture.call("repl_restart", json!({})).await;
    assert!(text.ends_with("Python is that of .venv."), "{text}");
    first(&fixture).await;
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dependency_of_a_project_of_uv_is_imported_in_the_first_evaluation() {
    if !has_program("uv") {
        return;
    }
    let mut fixture = project();
    // Use only the files here.
    let offline = [("UV_OFFLINE", "1"), ("UV_PYTHON_DOWNLOADS", "never")];
    fixture.env = offline.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    run(&fixture, "uv", &["init", "--bare", "--name", "p"]);
    run(&fixture, "uv", &["add", "./dep-1.0-py3-none-any.whl"]);
    let (notes, _) = first(&fixture).await;
    assert!(notes.ends_with("\nPython is that of .venv."), "{notes}");
    // A clone has none yet, and `uv run` makes it.
    fixture.call("repl_stop", json!({})).await;
    std::fs::remove_dir_all(top(&fixture).join(".venv")).expect("it is there");
    let (notes, text) = first(&fixture).await;
    assert!(notes.ends_with("Python is that of `uv run`, as uv.lock says."), "{text}");
    // An interrupt reaches Python once.
    let code = "import time\nn = 0\ntry:\n    time.sleep(1000)\nexcept KeyboardInterrupt:\n    for n in range(100): time.sleep(0.001)\n    raise";
    fixture.call("repl_eval", json!({"code": code, "wait_ms": 100})).await;
    let (text, full) = fixture.call("repl_interrupt", json!({})).await;
    assert_eq!(full["outcome"], "interrupted", "{text}");
    assert_eq!(fixture.call("repl_eval", json!({"code": "n"})).await.1["value"], "99");
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dependency_of_a_project_of_poetry_is_imported_in_the_first_evaluation() {
    if !has_program("poetry") {
        return;
    }
    let fixture = project();
    let wheel = top(&fixture).join("dep-1.0-py3-none-any.whl");
    let text = format!(
        "[project]\nname = \"p\"\nversion = \"0.1\"\nrequires-python = \">=3.9\"\ndependencies = [\"dep @ file://{}\"]\n\n\
         [tool.poetry]\npackage-mode = false\n",
        wheel.display()
    );
    std::fs::write(top(&fixture).join("pyproject.toml"), text).expect("written");
    run(&fixture, "poetry", &["install", "--no-interaction"]);
    let (notes, text) = first(&fixture).await;
    assert!(notes.ends_with("Python is that of `poetry run`, as poetry.lock says."), "{text}");
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_venv_of_the_main_worktree_is_offered_in_a_linked_one() {
    let fixture = project();
    make(&fixture);
    std::fs::write(top(&fixture).join("setup.py"), "").expect("written");
    let git = |args: &[&str]| run(&fixture, "git", &[&["-c", "user.name=t", "-c", "user.email=t@t"], args].concat());
    git(&["init", "-q"]);
    git(&["add", "setup.py"]);
    git(&["commit", "-qm", "first"]);
    git(&["worktree", "add", "-qb", "linked", &fixture.dirs[1].path().display().to_string()]);
    let (text, _) = fixture.call_from(1, "repl_eval", json!({"code": "import dep"})).await;
    let offer = "This worktree has no virtual environment, but the main one has: repl_start with `command` [\"/w0/.venv/bin/python\"] runs its \
                 Python. Modules that are installed there in editable mode are the main worktree's.";
    assert!(text.contains("No module named 'dep'") && text.ends_with(offer), "{text}");
    let command = [top(&fixture).join(".venv/bin/python").display().to_string()];
    fixture.call_from(1, "repl_start", json!({"session": "b", "command": command})).await;
    let (text, full) =
        fixture.call_from(1, "repl_eval", json!({"session": "b", "code": "import dep; dep.VALUE"})).await;
    assert_eq!(full["value"], "42", "{text}");
    // Its own comes first.
    run(
        &fixture,
        "python3",
        &["-m", "venv", "--without-pip", &fixture.dirs[1].path().join(".venv").display().to_string()],
    );
    let (text, _) = fixture.call_from(1, "repl_start", json!({"session": "c", "profile": "python"})).await;
    assert!(text.ends_with("Python is that of .venv."), "{text}");
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_venv_that_came_with_the_checkout_is_not_run_by_itself() {
    let fixture = Fixture::new();
    let top = top(&fixture);
    // The best possible forgery: even the location is guessed.
    let bin = top.join(".venv/bin");
    std::fs::create_dir_all(&bin).expect("made");
    std::fs::write(top.join(".venv/pyvenv.cfg"), "home = /usr/bin\n").expect("written");
    std::fs::write(bin.join("activate"), format!("VIRTUAL_ENV={}\n", top.join(".venv").display())).expect("written");
    std::fs::write(bin.join("python"), "#!/bin/sh\necho >>ran\nexec python3 \"$@\"\n").expect("written");
    std::fs::set_permissions(bin.join("python"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("set");
    std::fs::write(top.join("pyproject.toml"), "[tool.uv]\n").expect("written");
    run(&fixture, "git", &["init", "-q"]);
    run(&fixture, "git", &["add", ".venv", "pyproject.toml"]);
    fixture
        .check(
            "repl_eval",
            json!({"code": "6 * 7"}),
            expect![[r#"
                42
                [main #1: done, N ms]
                The session is new, of profile python; `profile` with another `session` starts another.
                .venv is not used automatically: git tracks it, so it came with the repository. If you know what it holds, repl_start with `command` [".venv/bin/python"] runs it; a profile with that command in hob.toml does so once `hob trust` has granted it."#]],
        )
        .await;
    assert!(!top.join("ran").exists(), "it ran");
    // The note's instructions work.
    let (text, _) = fixture.call("repl_start", json!({"session": "b", "command": [".venv/bin/python"]})).await;
    assert!(text.starts_with("[b: python 3."), "{text}");
    assert!(top.join("ran").exists());
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_with_a_slash_is_relative_to_the_sessions_directory() {
    let fixture = Fixture::new();
    let tools = top(&fixture).join("sub/tools");
    std::fs::create_dir_all(&tools).expect("made");
    std::fs::write(tools.join("python3.99"), "#!/bin/sh\nexec python3 \"$@\"\n").expect("written");
    std::fs::set_permissions(tools.join("python3.99"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("set");
    for (session, command) in [("a", "tools/python3.99"), ("b", "./tools/python3.99"), ("c", "../sub/tools/python3.99")]
    {
        let start = json!({"session": session, "cwd": "sub", "command": [command]});
        let (text, full) = fixture.call("repl_start", start).await;
        assert_eq!(full["state"], "idle", "{text}");
    }
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_of_a_missing_interpreter_is_true() {
    let fixture = Fixture::new();
    let top = top(&fixture);
    std::fs::create_dir(top.join("sub")).expect("made");
    std::os::unix::fs::symlink("/usr/bin/python2.2", top.join("sub/python")).expect("linked");
    std::fs::write(top.join("sub/python3"), "").expect("written");
    std::fs::write(top.join("sub/bash"), "#!/no/such/bash\n").expect("written");
    std::fs::set_permissions(top.join("sub/bash"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("set");
    let mut said = String::new();
    for command in ["bin/python3", "./python", "./python3", "/nowhere/ghci", "./bash", "python3.99"] {
        said += &fixture.call("repl_start", json!({"command": [command], "cwd": "sub"})).await.0;
        said += "\n";
    }
    expect![[r#"
        error: The program "bin/python3" cannot be started: /w0/sub/bin/python3 does not exist.
        Make it, or correct `command`: a program with a slash is relative to the session's directory.
        error: The program "./python" cannot be started: /w0/sub/./python is a link to /usr/bin/python2.2, which does not exist.
        Make it, or correct `command`: a program with a slash is relative to the session's directory.
        error: The program "./python3" cannot be started: /w0/sub/./python3 is not executable.
        Make it, or correct `command`: a program with a slash is relative to the session's directory.
        error: The program "/nowhere/ghci" cannot be started: /nowhere/ghci does not exist.
        Make it, or correct `command`: a program with a slash is relative to the session's directory.
        error: Session "main" did not start: program /w0/sub/./bash names the interpreter /no/such/bash in its first line, which does not exist.
        Recreate that script, or give another `command`.
        error: The program "python3.99" is not in the PATH.
        Install it, or give its path: one with a slash is relative to the session's directory.
    "#]].assert_eq(&said);
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_package_in_src_is_imported_in_the_first_evaluation() {
    let fixture = Fixture::new();
    let write = |file: &str, text: &str| {
        let path = top(&fixture).join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("pyproject.toml", "[project]\nname = \"shop\"\nversion = \"1\"\n");
    write("src/shop/__init__.py", "PRICE = 7\n");
    // Nothing there runs automatically, and nothing replaces Python's own modules.
    write("src/sitecustomize.py", "open('ran', 'w').close()\n");
    write("src/json.py", "raise RuntimeError('not this one')\n");
    let code =
        "import json, os, sys, shop; (shop.PRICE, sys.path[-1] == os.path.abspath('src'), 'HOB_SOURCES' in os.environ)";
    let (text, full) = fixture.call("repl_eval", json!({"code": code})).await;
    assert_eq!(full["value"], "(7, True, False)", "{text}");
    assert!(text.ends_with("The modules in src can be imported."), "{text}");
    assert!(!top(&fixture).join("ran").exists());
    let (_, full) = fixture.call("repl_eval", json!({"code": "'HOB_SOURCES' in os.popen('env').read()"})).await;
    assert_eq!(full["value"], "False");
    // Below the project, too.
    let below = json!({"session": "b", "profile": "python", "cwd": "src"});
    fixture.call("repl_start", below).await;
    let (text, full) = fixture.call("repl_eval", json!({"session": "b", "code": "import shop; shop.PRICE"})).await;
    assert_eq!(full["value"], "7", "{text}");
    fixture.repl.shutdown().await;
}
