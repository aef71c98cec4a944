//! A session's own settings apply to its own code: they neither affect nor show the lines that hob writes.

use std::path::Path;

use super::pieces::session;
use super::*;
use crate::result::Status;
use crate::session::InterruptOutcome;

async fn check(profile: &str, evaluations: &[(&str, &str)]) -> Handle {
    let session = session(profile, Path::new("/"), &[]);
    for (code, expected) in evaluations {
        let result = eval(&session, code).await;
        assert_eq!(line(&result), *expected, "{code}: {result:?}");
        assert_eq!(result.between, None, "{code}");
    }
    session
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash_traces_and_traps_see_the_code_and_nothing_else() {
    let evaluations = [
        ("set -x", r#"done | "" | """#),
        ("echo traced", r#"done | "traced\n" | "++ echo traced\n""#),
        ("(exit 7)", r#"error | "" | "++ exit 7\n""#),
        ("set +x; echo $?", r#"done | "0\n" | "++ set +x\n""#),
        ("trap 'echo D:$BASH_COMMAND' DEBUG", r#"done | "" | """#),
        ("echo a", r#"done | "D:echo a\na\n" | """#),
        ("false", r#"error | "D:false\n" | """#),
        ("trap - DEBUG", r#"done | "D:trap - DEBUG\n" | """#),
        ("trap 'echo E' ERR; true", r#"done | "" | """#),
        ("(exit 7)", r#"error | "E\n" | """#),
        ("echo $?; trap -p", r#"done | "7\ntrap -- 'echo E' ERR\n" | """#),
        ("trap - ERR; set -E -T -a -u", r#"done | "" | """#),
        ("env | grep -c '^[^=]*hob'; echo $-", r#"done | "0\nahiuBETs\n" | """#),
        ("set +E +T +a +u; PS1='(venv) ' PS2='> '", r#"done | "" | """#),
        ("echo \"$PS1\"", r#"done | "(venv) \n" | """#),
        ("set -o history; set -H", r#"done | "" | """#),
        ("history; echo 'hi!x'", r#"done | "hi!x\n" | """#),
        ("set +o history; set +H; set -e", r#"done | "" | """#),
        ("[[ a = b ]] && echo no", r#"error | "" | """#),
        ("echo $? $-", r#"done | "1 ehiBs\n" | """#),
        ("! true", r#"error | "" | """#),
        ("set +e; echo on", r#"done | "on\n" | """#),
    ];
    let session = check("bash", &evaluations).await;
    // As in a script, the first failing command ends it.
    eval(&session, "set -e").await;
    let result = eval(&session, "echo before; false; echo behind").await;
    assert_eq!((result.status, result.stdout.as_str()), (Status::Exited, "before\n"));
    until(&session, |state| !state.is_alive()).await;
    assert_eq!(session.info().reason.as_deref(), Some("it exited with status 1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash_functions_and_aliases_of_the_names_of_builtins_break_nothing() {
    let evaluations = [
        ("alias eval=false printf=false builtin=false command=false", r#"done | "" | """#),
        ("echo a", r#"done | "a\n" | """#),
        ("unalias -a; command() { :; }; printf() { :; }; exec() { :; }; return() { :; }", r#"done | "" | """#),
        ("(exit 3)", r#"error | "" | """#),
        ("echo $?", r#"done | "3\n" | """#),
        ("builtin() { :; }", r#"done | "" | """#),
        ("echo b; (exit 4)", r#"error | "b\n" | """#),
    ];
    let session = check("bash", &evaluations).await;
    for endless in ["while :; do :; done", "sleep 1000"] {
        let begun = session.eval(EvalRequest { wait: Duration::from_millis(1), ..EvalRequest::new(endless) }).await;
        assert!(!begun.expect("an answer").status.is_final(), "{endless}");
        until(&session, |state| state == SessionState::Running).await;
        let report = interrupt("bash", &session).await;
        assert_eq!(report.outcome, InterruptOutcome::Interrupted, "{endless}: {report:?}");
        assert_eq!(line(&eval(&session, "echo c").await), r#"done | "c\n" | """#, "after {endless}");
    }
    // A function that would keep all code from the shell is removed, with a note.
    assert_eq!(line(&eval(&session, "unset -f builtin; eval() { :; }").await).split(" | ").next(), Some("done"));
    assert_eq!(line(&eval(&session, "echo d").await), r#"done | "d\n" | """#);
    session.stop("the test is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash_functions_of_the_names_of_builtins_are_not_called_by_hob() {
    for body in ["pwd", "exit 3", "cd /tmp; x=9", "echo B; return 7", "trap 'echo E' ERR; set -x"] {
        for named in [
            "builtin() { BODY; }",
            "builtin() { BODY; }; command() { BODY; }",
            "builtin() { BODY; }; enable() { BODY; }",
        ] {
            let defined = named.replace("BODY", body);
            let evaluations = [
                (&*defined, r#"done | "" | """#),
                ("echo $?", r#"done | "0\n" | """#),
                ("(exit 4)", r#"error | "" | """#),
                ("echo $? $PWD-$x", r#"done | "4 /-\n" | """#),
                ("set -eu; shopt -q inherit_errexit || echo $-", r#"done | "ehiuBs\n" | """#),
                ("set +eu; set -o | grep -c 'posix.*off'", r#"done | "1\n" | """#),
                ("trap 'echo E' ERR; declare -F builtin", r#"done | "builtin\n" | """#),
                ("(exit 5)", r#"error | "E\n" | """#),
                ("unset -f builtin command enable; echo $? ${POSIXLY_CORRECT-none}", r#"done | "0 none\n" | """#),
                ("echo a", r#"done | "a\n" | """#),
            ];
            check("bash", &evaluations).await.stop("the test is over").await;
        }
    }
    // These two call each other forever, but only when called.
    let evaluations = [
        ("builtin() { echo B; }; echo() { builtin echo E; }", r#"done | "" | """#),
        ("true; set -T; g() { :; }; trap g DEBUG", r#"done | "" | """#),
        ("/bin/echo a", r#"done | "a\n" | """#),
        ("trap -p DEBUG", r#"done | "trap -- 'g' DEBUG\n" | """#),
    ];
    check("bash", &evaluations).await.stop("the test is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash_in_posix_mode_has_its_traps_and_no_others() {
    let evaluations = [
        ("set -o posix", r#"done | "" | """#),
        ("true", r#"done | "" | """#),
        ("trap 'echo D' DEBUG", r#"done | "" | """#),
        ("false", r#"error | "D\n" | """#),
        ("trap - DEBUG; builtin() { pwd; }; trap 'echo E' ERR", r#"done | "D\n" | """#),
        ("(exit 4)", r#"error | "E\n" | """#),
        ("echo $?; set -o | grep -c 'posix.*on'", r#"done | "4\n1\n" | """#),
        ("set +o posix; trap - ERR; false", r#"error | "" | """#),
    ];
    check("bash", &evaluations).await.stop("the test is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash_builtins_that_are_disabled_change_no_status_and_those_that_are_needed_come_back() {
    let cases = [
        ("eval", "eval"),
        ("printf builtin echo test", ""),
        ("eval builtin printf set trap unset return", "eval trap set unset return"),
    ];
    for (disabled, again) in cases {
        let session = session("bash", Path::new("/"), &[]);
        let said = format!(
            "bash: this session cannot do without the builtins that follow, and has enabled them again: {again}\n"
        );
        let result = eval(&session, &format!("enable -n {disabled}")).await;
        assert_eq!((result.status, &*result.stdout), (Status::Done, ""), "{disabled}");
        assert_eq!(result.stderr, if again.is_empty() { "" } else { &said }, "{disabled}");
        for (code, expected) in [
            ("true", r#"done | "" | """#),
            ("(exit 3)", r#"error | "" | """#),
            ("[[ $? == 3 ]] && trap 'true' ERR && (exit 4)", r#"error | "" | """#),
            ("[[ $? == 4 ]] && trap -p ERR", r#"done | "trap -- 'true' ERR\n" | """#),
            ("readonly TIMEFORMAT=x FUNCNEST=9", r#"done | "" | """#),
            ("true", r#"done | "" | """#),
        ] {
            assert_eq!(line(&eval(&session, code).await), expected, "{disabled}: {code}");
        }
        session.stop("the test is over").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash_code_that_ends_within_a_condition_leaves_the_next_one_whole() {
    for code in ["[[ a b c ]]", "[[ a =", "[[ -f", "[[ (", "[[", "eval '[[ a b c ]]'; (exit 2)"] {
        let session = session("bash", Path::new("/"), &[]);
        let result = eval(&session, code).await;
        assert_eq!((result.status, result.exception.as_deref()), (Status::Error, Some("exit status 2")), "{code}");
        for _ in 0..2 {
            assert_eq!(line(&eval(&session, "[[ a == a ]] && echo a").await), r#"done | "a\n" | """#, "after {code}");
        }
        session.stop("the test is over").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash_aliases_of_keywords_break_nothing_and_one_that_keeps_code_from_the_shell_goes() {
    let evaluations = [
        ("alias if=foo then=foo fi=foo case=foo '[[=foo' }=foo time=foo", r#"done | "" | """#),
        ("false", r#"error | "" | """#),
        ("echo $?; [[ a ]]", "error | \"1\\n\" | \"bash: foo: command not found\\n\""),
        ("unalias '[['; [[ a b", "error | \"\" | \"bash: foo: command not found\\n\""),
        ("[[ a b", r#"error | "" | "bash: conditional binary operator expected\n""#),
        ("unalias -a\n[[ a == a ]] && echo a", r#"done | "a\n" | """#),
        ("alias '!=foo'", r#"done | "" | "bash: the alias ! kept code from the shell, and was removed\n""#),
        ("false", r#"error | "" | """#),
        ("alias", r#"done | "" | """#),
    ];
    let session = check("bash", &evaluations).await;
    let result = eval(&session, "alias '{=echo' a=b; (exit 3)").await;
    assert_eq!((result.stdout.as_str(), result.exception.as_deref()), ("", Some("exit status 3")), "{result:?}");
    assert!(
        result.stderr.ends_with("bash: the alias { kept the prompt from the shell, and was removed\n"),
        "{result:?}"
    );
    assert_eq!(line(&eval(&session, "echo $?; alias").await), r#"done | "3\nalias a='b'\n" | """#);
    session.stop("the test is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash_runs_nothing_that_a_trap_prints() {
    let evaluations = [
        ("set -T -E; trap 'echo exit 9' DEBUG ERR", r#"done | "" | """#),
        ("echo a", r#"done | "exit 9\na\n" | """#),
        ("trap -p DEBUG", r#"done | "exit 9\ntrap -- 'echo exit 9' DEBUG\n" | """#),
        ("false", r#"error | "exit 9\nexit 9\nexit 9\n" | """#),
        (
            "trap 'echo \"it'\\''s\"; \n echo \"; exit 9; \"' DEBUG; trap - ERR",
            r#"done | "exit 9\nit's\n; exit 9; \n" | """#,
        ),
        (
            "trap -p DEBUG",
            "done | \"it's\\n; exit 9; \\ntrap -- 'echo \\\"it'\\\\''s\\\"; \\n echo \\\"; exit 9; \\\"' DEBUG\\n\" | \"\"",
        ),
        ("trap - DEBUG", r#"done | "it's\n; exit 9; \n" | """#),
    ];
    let session = check("bash", &evaluations).await;
    // A trace that goes to the output runs nothing that it adds.
    eval(&session, "PS4='exit 9; ' BASH_XTRACEFD=1; trap 'echo D' DEBUG; set -x").await;
    assert_eq!(eval(&session, "echo a; false").await.exception.as_deref(), Some("exit status 1"));
    assert_eq!(eval(&session, "echo b").await.status, Status::Done);
    session.stop("the test is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash_tells_the_status_whatever_the_session_forbids_itself() {
    for forbidding in ["set -r", "ulimit -n 60", "ulimit -n 10"] {
        let evaluations = [
            (forbidding, r#"done | "" | """#),
            ("false", r#"error | "" | """#),
            ("echo $?; (exit 7)", r#"error | "1\n" | """#),
            ("trap 'echo E' ERR; echo a", r#"done | "a\n" | """#),
            ("(exit 8)", r#"error | "E\n" | """#),
            ("_403=x", r#"done | "" | """#),
            ("echo $_403", r#"done | "x\n" | """#),
        ];
        check("bash", &evaluations).await.stop("the test is over").await;
    }
    // Without any way to answer, the session ends.
    let session = session("bash", Path::new("/"), &[]);
    let result = eval(&session, ": gone; exec 1>&-; for fd in {3..255}; do eval \"exec $fd>&-\"; done").await;
    assert!(result.status.is_final() && result.status != Status::Done, "{result:?}");
    until(&session, |state| !state.is_alive()).await;
    assert_eq!(session.info().reason.as_deref(), Some("it exited with status 1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn descriptors_of_ours_that_code_closes_are_made_anew_or_the_end_is_told() {
    let evaluations = [
        ("for fd in {3..255}; do eval \"exec $fd>&-\"; done", r#"done | "" | """#),
        ("echo out; echo err >&2", r#"done | "out\n" | "err\n""#),
        ("exec 58>/dev/null 59>/dev/null", r#"done | "" | """#),
        ("exec 2>&-; echo silent", r#"done | "silent\n" | """#),
        ("exec 1>&-", r#"done | "" | """#),
    ];
    check("bash", &evaluations).await.stop("the test is over").await;
    let taken = "import os\nfor n in range(5, 64):\n    try:\n        if 'pipe' in os.readlink('/proc/self/fd/%d' % n): os.close(n)\n    except OSError: pass";
    let session = session("python", Path::new("/"), &[]);
    let result = eval(&session, taken).await;
    // Without the code descriptor no further code can be sent.
    assert_eq!(result.status, Status::Done, "{result:?}");
    until(&session, |state| !state.is_alive()).await;
    assert_eq!(session.info().reason.as_deref(), Some("it exited with status 1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_code_sees_its_own_lines_in_traces_it_prints_itself() {
    let session = session("python", Path::new("/"), &[]);
    let result =
        eval(&session, "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    traceback.print_exc()").await;
    assert!(result.status == Status::Done && result.stderr.contains("\n    1 / 0\n"), "{result:?}");
    let result = eval(&session, "def f():\n    return 6 * 7\n\nimport inspect\nprint(inspect.getsource(f))").await;
    assert_eq!(result.stdout, "def f():\n    return 6 * 7\n\n", "{result:?}");
    session.stop("the test is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ghci_that_tells_how_it_gets_on_or_in_colors_is_understood() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    std::fs::write(path("Right.hs"), "module Right where\nright = 1\n").expect("written");
    std::fs::write(path("Wrong.hs"), "module Wrong where\nwrong = 1 + True\n").expect("written");
    let (right, wrong) = (format!(":load {}", path("Right.hs")), format!(":load {}", path("Wrong.hs")));
    for setting in ["-v2", "-v3", "-dshow-passes", "-fdiagnostics-color=always", "-v3 -fdiagnostics-color=always"] {
        let session = ghci();
        let evaluations = [
            (&*format!(":set {setting}"), Status::Done, 0),
            ("1+1", Status::Done, 0),
            ("import Data.Char", Status::Done, 0),
            ("data T = T deriving (Eq, Show)", Status::Done, 0),
            (":set -package containers", Status::Done, 0),
            (":type map", Status::Done, 0),
            (&right, Status::Done, 0),
            ("right", Status::Done, 0),
            (&wrong, Status::Error, 1),
            (":load nofile", Status::Error, 0),
            ("1 + True", Status::Error, 1),
            ("import Nope", Status::Error, 1),
            (":type nope", Status::Error, 1),
            ("1 `div` 0", Status::Error, 0),
            (":foo", Status::Error, 0),
            (":set -Wmissing-methods", Status::Done, 0),
            ("data S = S\ninstance Num S", Status::Done, 1),
        ];
        for (code, status, diagnostics) in evaluations {
            let result = eval(&session, code).await;
            assert_eq!(
                (result.status, result.diagnostics.len()),
                (status, diagnostics),
                "{setting}: {code}: {result:?}"
            );
        }
        session.stop("the test is over").await;
    }
    let session = ghci();
    for code in [":set -ddump-json", "{-# OPTIONS_GHC -ddump-json #-}"] {
        let refused = session.eval(EvalRequest { wait: LONG, ..EvalRequest::new(code) }).await;
        assert!(refused.is_err_and(|error| error.to_string().contains("-ddump-json")), "{code}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_traces_and_profiles_see_the_code_and_nothing_else() {
    let shown = "import sys\ndef show(frame, event, value): print(event, frame.f_code.co_filename, frame.f_code.co_name)\ndef one(): return len('a')";
    let evaluations = [
        (shown, r#"done | "" | """#),
        ("sys.settrace(show)", r#"done | "" | """#),
        ("one()", r#"done | "call <eval 3> <module>\ncall <eval 1> one\n" | """#),
        ("sys.settrace(None)", r#"done | "call <eval 4> <module>\n" | """#),
        (
            "x = one(); sys.setprofile(show)\nx",
            "done | \"return <eval 5> <module>\\ncall <eval 5> <module>\\nreturn <eval 5> <module>\\n\" | \"\"",
        ),
        ("sys.setprofile(None)", r#"done | "call <eval 6> <module>\nc_call <eval 6> <module>\n" | """#),
        ("one()", r#"done | "" | """#),
    ];
    check("python", &evaluations).await.stop("the test is over").await;
    for set in ["settrace", "setprofile"] {
        let session = session("python", Path::new("/"), &[]);
        let code = format!(
            "import sys\ndef bad(*_): raise ValueError('of the tracer')\nsys.{set}(bad); str(1); (lambda: 1)()"
        );
        let result = eval(&session, &code).await;
        assert_eq!((result.status, result.exception.as_deref()), (Status::Error, Some("ValueError: of the tracer")));
        assert_eq!(eval(&session, "6 * 7").await.value.as_deref(), Some("42"), "after {set}");
        session.stop("the test is over").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash_shows_no_job_control_of_ours() {
    let session = session("bash", Path::new("/"), &[]);
    let evaluations = [
        // None of hob's processes is a job, even if traps make the shell look for jobs in a subshell.
        ("echo \"[$!]\"; jobs; jobs -p; wait; env | grep -c HOB_T", "error | \"[]\\n0\\n\" | \"\""),
        ("trap : DEBUG ERR; echo \"[$!]\"; jobs", "done | \"[]\\n\" | \"\""),
        ("echo \"[$!]\"; jobs", "done | \"[]\\n\" | \"\""),
        ("trap - DEBUG ERR", "done | \"\" | \"\""),
        // A child that dies of a signal does not affect the terminal.
        ("sh -c 'kill -9 $$'", "error | \"\" | \"\""),
        ("sh -c 'kill -SEGV $$'; :", "done | \"\" | \"\""),
        ("{ sleep 1000 & } 2>/dev/null; kill $!; wait $!", "error | \"\" | \"\""),
        ("jobs; { sleep 0.01 & wait; } 2>/dev/null", "done | \"\" | \"\""),
        ("jobs", "done | \"\" | \"\""),
    ];
    for (code, expected) in evaluations {
        assert_eq!(line(&eval(&session, code).await), expected, "{code}");
    }
    session.stop("the test is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_knows_the_names_of_characters_whatever_files_lie_in_the_project() {
    let temp = tempfile::tempdir().expect("room");
    std::fs::write(temp.path().join("unicodedata.py"), "print('the project')\n").expect("room");
    let session = session("python", temp.path(), &[]);
    let result = eval(&session, r"'\N{BULLET}'").await;
    assert_eq!((result.value.as_deref(), result.stdout.as_str()), (Some("'•'"), ""), "{result:?}");
    // In Debian's interpreter the module is built in, which precedes any file.
    let is_built_in = eval(&session, "import sys\n'unicodedata' in sys.builtin_module_names").await.value;
    let imported = if is_built_in.as_deref() == Some("True") { "" } else { "the project\n" };
    assert_eq!(eval(&session, "import unicodedata").await.stdout, imported);
    assert_eq!(eval(&session, r"'\N{DEGREE SIGN}'").await.value.as_deref(), Some("'°'"));
    session.stop("the test is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_keeps_the_last_exception_and_asks_the_hook_of_the_session() {
    let session = session("python", Path::new("/"), &[]);
    assert_eq!(eval(&session, "def f():\n    x = 42\n    1 / 0\nf()").await.status, Status::Error);
    let code = "import sys\n(sys.last_type, sys.last_value.args, sys.last_traceback.tb_next.tb_frame.f_locals)";
    let value = "(<class 'ZeroDivisionError'>, ('division by zero',), {'x': 42})";
    assert_eq!(eval(&session, code).await.value.as_deref(), Some(value));
    let code =
        "import io, pdb\npdb.Pdb.use_rawinput = False\nsys.stdin = io.StringIO('p x\\nup\\nup\\nq\\n')\npdb.pm()";
    let result = eval(&session, code).await;
    assert!(result.stdout.contains("(Pdb) 42\n") && result.stdout.contains("*** Oldest frame"), "{result:?}");
    for (hook, expected) in [
        ("lambda kind, error, trace: print('hook:', error)", r#"error | "hook: division by zero\n" | """#),
        ("lambda: 5", "sys.excepthook failed (TypeError), with this exception:\\nTraceback"),
        ("lambda *_: sys.exit()", "sys.excepthook failed (SystemExit), with this exception:\\nTraceback"),
        ("None", "sys.excepthook failed (TypeError)"),
    ] {
        let result = eval(&session, &format!("sys.excepthook = {hook}\n1 / 0")).await;
        assert!(line(&result).contains(expected), "{hook}: {result:?}");
        assert_eq!(result.exception.as_deref(), Some("ZeroDivisionError: division by zero"), "{hook}");
    }
    session.stop("the test is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_shows_values_as_the_session_wants_them() {
    let evaluations = [
        ("import sys\nsys.displayhook = lambda value: print('shown:', value)\n6 * 7", r#"done | "shown: 42\n" | """#),
        ("None", r#"done | "shown: None\n" | """#),
        ("sys.displayhook = sys.__displayhook__\n5", "done | \"\" | \"\" = 5"),
    ];
    let session = session("python", Path::new("/"), &[]);
    for (code, expected) in evaluations {
        let result = eval(&session, code).await;
        let value = result.value.as_ref().map_or(String::new(), |value| format!(" = {value}"));
        assert_eq!(line(&result) + &value, expected, "{code}");
    }
    let result = eval(&session, "sys.displayhook = lambda value: 1 / 0\n5").await;
    assert_eq!(result.exception.as_deref(), Some("ZeroDivisionError: division by zero"));
    session.stop("the test is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_says_which_exception_it_was_also_of_iterators() {
    let session = session("python", Path::new("/"), &[]);
    let shown = |code: &str, line: u32, place: &str, exception: &str| {
        format!(
            "Traceback (most recent call last):\n  File \"<eval {line}>\", line 1, in <module>\n    {code}\n{place}{exception}\n"
        )
    };
    for (number, (code, exception)) in [
        ("next(iter([]))", "StopIteration"),
        ("raise StopIteration(5)", "StopIteration: 5"),
        ("raise GeneratorExit", "GeneratorExit"),
    ]
    .into_iter()
    .enumerate()
    {
        let result = eval(&session, code).await;
        assert_eq!(
            (result.status, result.exception.as_deref()),
            (Status::Error, Some(exception)),
            "{code}: {result:?}"
        );
        let number = u32::try_from(number).expect("few") + 1;
        let places = [String::new(), format!("    {}\n", "^".repeat(code.len()))];
        let is_shown = places.iter().any(|place| result.stderr == shown(code, number, place, exception));
        assert!(is_shown, "{code}: {}", result.stderr);
    }
    let code = "import sys\n(type(sys.last_value).__name__, [1 for _ in iter(lambda: next(iter([])), 1)])";
    assert_eq!(eval(&session, code).await.value.as_deref(), Some("('GeneratorExit', [])"));
    // An exception from `repr` does not end the session either.
    let result = eval(&session, "class A:\n    def __repr__(self): raise StopIteration\nA()").await;
    assert_eq!((result.status, result.exception.as_deref()), (Status::Error, Some("StopIteration")));
    session.stop("the test is over").await;
}
