//! Python sessions with packages that many projects have: IPython, pandas, polars, Matplotlib.

use std::sync::Arc;
use std::time::Duration;

use repl::adapter::python::PythonShell;
use repl::sandboxed::SandboxMode;
use repl::session::{EvalRequest, SessionState};
use repl::{ReplOptions, StartRequest};
use serde_json::{Value, json};

use crate::fixture::Fixture;

/// Evaluates code in the session `main`, which must end with this status.
async fn eval(fixture: &Fixture, code: &str, status: &str) -> Value {
    let (text, full) = fixture.call("repl_eval", json!({"code": code, "profile": "python", "wait_ms": 50_000})).await;
    assert_eq!(full["status"], status, "{code}: {text}");
    full
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ipython_runs_its_magics() {
    let Some(fixture) = Fixture::ipython() else { return };
    // IPython starts without code of the project.
    for module in ["IPython.py", "json.py", "traitlets.py"] {
        std::fs::write(fixture.dirs[0].path().join(module), "open('ran', 'w')\nraise SystemExit(66)\n")
            .expect("written");
    }
    let (caller, python) = (fixture.caller(0), Some("python".to_owned()));
    let request = StartRequest { profile: python, ..StartRequest::default() };
    let started = fixture.repl.start(&caller, request).await.expect("it starts");
    let mut seen = started.handle.watch();
    seen.wait_for(|info| info.state == SessionState::Idle).await.expect("the session tells");
    let banner = started.handle.info().banner;
    assert!(banner.contains("\nIPython "), "{banner}");
    assert!(!fixture.dirs[0].path().join("ran").exists());
    for (code, stdout) in [
        ("%timeit -n 1 -r 1 pass", " per loop "),
        ("%%bash\necho $((40 + 2))", "42\n"),
        ("!printf 'out\\n'; printf 'err\\n' >&2", "out\n"),
        ("len?", "Docstring:"),
        ("%load_ext autoreload\n%autoreload 2\nprint('loaded')", "loaded\n"),
        (
            "import asyncio\nasync def later():\n    await asyncio.sleep(0.001)\n    print('later')\nawait later()",
            "later\n",
        ),
        ("%who", "asyncio"),
        ("%%capture kept\nprint('hidden')", ""),
    ] {
        let full = eval(&fixture, code, "done").await;
        let printed = full["stdout"].as_str().expect("text");
        assert!(printed.contains(stdout) && (printed.is_empty() || !stdout.is_empty()), "{code}: {full}");
    }
    for (code, value) in
        [("%time 6 * 7", "42"), ("_ + 1", "43"), ("kept.stdout", "'hidden\\n'"), ("!echo hi\n_exit_code", "0")]
    {
        assert_eq!(eval(&fixture, code, "done").await["value"], value, "{code}");
    }
    assert_eq!(eval(&fixture, "43;", "done").await.get("value"), None, "a semicolon hides the value");
    for (code, exception, stderr) in [
        ("1 / 0", "ZeroDivisionError: division by zero", "File \"<eval 14>\", line 1"),
        ("def f(:", "SyntaxError: invalid syntax", "File \"<eval 15>\", line 1"),
        ("%nothing", "IPython.core.error.UsageError: Line magic function `%nothing` not found.", "`%nothing`"),
        ("%%capture\nx = 1\nraise KeyError(x)", "KeyError: 1", "raise KeyError(x)"),
    ] {
        let full = eval(&fixture, code, "error").await;
        assert_eq!(full["exception"], exception, "{full}");
        let printed = full["stderr"].as_str().expect("text");
        assert!(printed.contains(stderr) && !printed.contains("run_cell"), "{printed}");
    }
    eval(&fixture, "exit(3)", "exited").await;
    let reason = fixture.handle("main").info().reason.expect("it ended");
    assert_eq!(reason, "it exited with status 3");
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ipython_is_interrupted_and_asks_for_input() {
    let Some(fixture) = Fixture::ipython() else { return };
    eval(&fixture, "import asyncio, time", "done").await;
    let session = fixture.handle("main");
    for endless in [
        "while True: pass",
        "await asyncio.sleep(1000)",
        "!sleep 1000",
        "%timeit time.sleep(1000)",
        "%%bash\nsleep 1000",
    ] {
        let running = session.eval(EvalRequest { wait: Duration::from_millis(500), ..EvalRequest::new(endless) }).await;
        assert!(!running.expect("an answer").status.is_final(), "{endless}");
        let (text, full) = fixture.call("repl_interrupt", json!({})).await;
        assert!(
            full["outcome"] == "interrupted" || endless.starts_with("%%") && full["outcome"] == "finished",
            "{endless}: {text}"
        );
        assert_eq!(eval(&fixture, "6 * 7", "done").await["value"], "42", "after {endless}");
    }
    let waiting = eval(&fixture, "input('Name? ')", "waiting_for_input").await;
    fixture.call("repl_input", json!({"eval": waiting["eval"], "text": "Ann\n"})).await;
    let (text, full) = fixture.call("repl_wait", json!({"eval": waiting["eval"]})).await;
    assert_eq!(full["value"], "'Ann'", "{text}");
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pictures_come_from_python_and_from_ipython() {
    let plain = Fixture::new().with_python_packages();
    let (Some(plain), Some(ipython)) = (plain, Fixture::ipython()) else { return };
    let plot = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()";
    for fixture in [&plain, &ipython] {
        for code in [plot, "figure, axes = plt.subplots(); figure"] {
            let full = eval(fixture, code, "done").await;
            assert_eq!(
                (full["pictures"].as_array().expect("pictures").len(), &full["stderr"]),
                (1, &json!("")),
                "{code}"
            );
        }
        assert_eq!(eval(fixture, "1", "done").await.get("pictures"), None, "shown once");
    }
    let inline = eval(&ipython, "%matplotlib inline\nplt.plot([1, 4, 9]);", "done").await;
    let file = inline["pictures"][0].as_str().expect("a file");
    assert!(std::fs::read(file).expect("written").starts_with(b"\x89PNG\r\n\x1a\n"));
    let display = format!("from IPython.display import Image, display\ndisplay(Image({file:?}))");
    assert_eq!(eval(&ipython, &display, "done").await["pictures"].as_array().expect("pictures").len(), 1);
    plain.repl.shutdown().await;
    ipython.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ipython_needs_no_home() {
    let options = ReplOptions {
        python: PythonShell::Ipython,
        sandbox: Arc::new(|| Some(SandboxMode::Workspace)),
        ..ReplOptions::default()
    };
    let Some(mut fixture) = Fixture::with_options(options).with_python_packages() else { return };
    // The sandbox allows writes in the worktree only.
    let home = fixture.dirs[1].path().to_owned();
    fixture.env.insert("HOME".to_owned(), home.display().to_string());
    assert_eq!(eval(&fixture, "%time 6 * 7", "done").await["value"], "42");
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_ipython_the_start_says_how_to_install_it() {
    let fixture = Fixture::with_options(ReplOptions { python: PythonShell::Ipython, ..ReplOptions::default() });
    let mut make = std::process::Command::new("python3");
    make.args(["-m", "venv", "--without-pip", ".venv"]).current_dir(fixture.dirs[0].path());
    let made = make.status().expect("python3 is installed");
    assert!(made.success());
    let (text, _) = fixture.call("repl_start", json!({"profile": "python"})).await;
    let advice = "IPython is not installed in this environment, so Python runs without it. `/w0/.venv/bin/python -m pip install ipython` \
                  installs it; then use repl_restart.";
    assert!(text.contains(advice), "{text}");
    let (text, full) = fixture.call("repl_eval", json!({"code": "6 * 7"})).await;
    assert!(full["value"] == "42" && text.contains(advice), "{text}");
    let (text, _) =
        fixture.call("repl_eval", json!({"code": "__import__('os').environ.get('HOB_IPYTHON', 'removed')"})).await;
    assert!(text.starts_with("'removed'\n") && !text.contains("IPython is"), "{text}");
    fixture.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_are_compact_text() {
    let plain = Fixture::new().with_python_packages();
    let (Some(plain), Some(ipython)) = (plain, Fixture::ipython()) else { return };
    for fixture in [&plain, &ipython] {
        let setup = "import sys\nprint('pandas' in sys.modules, 'polars' in sys.modules)\nimport pandas as pd, polars as pl\n\
                     columns = {f'column_{n}': range(500) for n in range(30)}";
        assert_eq!(eval(fixture, setup, "done").await["stdout"], "False False\n");
        let value = async |code: &str| eval(fixture, code, "done").await["value"].as_str().expect("a value").to_owned();
        let wide = value("frame = pd.DataFrame(columns)\nframe").await;
        let lines: Vec<&str> = wide.lines().collect();
        assert!(lines[0].ends_with("column_29") && lines.len() < 20, "{wide}");
        assert!(wide.ends_with("[500 rows x 30 columns]"), "{wide}");
        assert!(value("frame.head(2)").await.ends_with("[2 rows x 30 columns]"));
        assert!(value("frame['column_3']").await.ends_with("Length: 500, dtype: int64"));
        // A number that the session has chosen stays.
        assert_eq!(value("pd.set_option('display.max_rows', 4)\nframe[['column_0']]").await.lines().count(), 8);
        assert_eq!(value("pd.get_option('display.expand_frame_repr')").await, "True");
        let wide = value("pl.DataFrame(columns)").await;
        let lines: Vec<&str> = wide.lines().collect();
        assert!(lines[0] == "shape: (500, 30)" && lines[1].trim_end().ends_with("column_29"), "{wide}");
        assert!(lines.len() < 20, "{wide}");
        assert!(value("pl.DataFrame(columns)['column_3']").await.starts_with("shape: (500,)"));
        // A class of the session with such a name is not a table.
        assert_eq!(value("class DataFrame:\n    def __repr__(self): return 'mine'\nDataFrame()").await, "mine");
    }
    plain.repl.shutdown().await;
    ipython.repl.shutdown().await;
}
