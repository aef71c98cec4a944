//! Odd pieces of code with the status that each has in the bare program. Each is evaluated in a session and run in the
//! same installed program, and must end the same way and print the same.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use process::output::{Query, Stream as Logged};

use super::*;
use crate::profile::Profiles;
use crate::result::Status;

const PYTHON: &str = include_str!("pieces/python.txt");
const BASH: &str = include_str!("pieces/bash.txt");

/// Starts a session from its profile.
pub(crate) fn session(profile: &str, cwd: &Path, env: &[(&str, &str)]) -> Handle {
    let kept = ["PATH", "HOME"].map(|name| (name.to_owned(), std::env::var(name).unwrap_or_default()));
    let forced = [("LC_ALL", "C.UTF-8")].iter().chain(env).map(|(name, value)| ((*name).into(), (*value).into()));
    let launch = Profiles::builtin()
        .get(profile)
        .expect("built in")
        .launch(kept.into_iter().chain(forced).collect(), cwd.to_owned(), 8 << 30)
        .expect("it is installed");
    let setup = SessionSpec { launch, ..setup(&["unused"], cwd, std::sync::Arc::new(Ghci)) };
    start(setup, log()).expect("it starts")
}

/// Returns the expected status and the code of each piece.
fn pieces(text: &'static str) -> Vec<(&'static str, &'static str)> {
    let pieces = text.split("\n%% ").skip(1);
    let pieces: Vec<_> = pieces.map(|piece| piece.split_once('\n').unwrap_or((piece, ""))).collect();
    assert!(pieces.len() >= 75, "only {}", pieces.len());
    pieces
}

/// The bare program's behaviour, in the list's notation.
struct Bare {
    status: String,
    stdout: String,
}

fn ended(output: &Output) -> String {
    match (output.status.code(), output.status.signal()) {
        (Some(code), _) => format!("exited {code}"),
        (None, Some(2)) => "interrupted".to_owned(),
        (None, Some(9)) => "killed 9".to_owned(),
        (None, Some(signal)) => format!("crashed {signal}"),
        (None, None) => unreachable!("it ended"),
    }
}

fn bare(program: &mut Command, cwd: &Path) -> Output {
    let program = program.current_dir(cwd).env("LC_ALL", "C.UTF-8").env("PYTHONIOENCODING", "utf-8:surrogateescape");
    program.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).output().expect("it is installed")
}

fn bare_python(code: &str) -> Bare {
    let temp = tempfile::tempdir().expect("room");
    std::fs::write(temp.path().join("piece.py"), code).expect("room");
    let output = bare(Command::new("python3").arg("piece.py"), temp.path());
    let failed = String::from_utf8_lossy(&output.stderr).into_owned();
    let status = match ended(&output).as_str() {
        "exited 0" if !code.contains("SystemExit\n") && !code.ends_with("SystemExit") => "done".to_owned(),
        // Without a standard error only the status is available.
        "exited 1" if !code.starts_with("exit(") && (!failed.is_empty() || code.contains("stderr = None")) => {
            "error".to_owned()
        }
        // The code raises the exception of an interrupt without an interrupt.
        "interrupted" => "error".to_owned(),
        other => other.to_owned(),
    };
    Bare { status, stdout: String::from_utf8_lossy(&output.stdout).into_owned() }
}

fn bare_bash(code: &str) -> Bare {
    let temp = tempfile::tempdir().expect("room");
    std::fs::write(temp.path().join("piece.sh"), code).expect("room");
    // As for a person at the prompt: an error that ends a script returns to the prompt.
    let lines = ". ./piece.sh\nx=$?; exec 1>&- 1>left; /usr/bin/env echo \"$x\"\n";
    std::fs::write(temp.path().join("lines"), lines).expect("room");
    let input = std::fs::File::open(temp.path().join("lines")).expect("just written");
    let mut command = Command::new("bash");
    command.args(["--norc", "--noprofile", "--noediting", "+H", "-i"]).env("PS1", "").current_dir(temp.path());
    command.env("LC_ALL", "C.UTF-8").stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.output().expect("it is installed");
    let status = match std::fs::read_to_string(temp.path().join("left")) {
        Ok(left) => match left.split_whitespace().last() {
            Some("0") => "done".to_owned(),
            status => format!("error {}", status.unwrap_or("?")),
        },
        Err(_) => ended(&output),
    };
    let stdout = String::from_utf8_lossy(&output.stdout);
    // A remaining trap on DEBUG also sees the lines after the piece.
    let stdout = stdout.split("debug: x=$?\n").next().unwrap_or_default().to_owned();
    Bare { status, stdout }
}

/// Starts a session that has evaluated something: a piece must not run in a fresh shell.
async fn used_session(profile: &str, cwd: &Path) -> Handle {
    let session = session(profile, cwd, &[]);
    eval(&session, if profile == "bash" { ":" } else { "pass" }).await;
    session
}

/// Evaluates the piece in a separate session.
async fn evaluated(profile: &str, code: &str) -> Bare {
    let temp = tempfile::tempdir().expect("room");
    let session = used_session(profile, temp.path()).await;
    let ours = evaluated_in(&session, profile, code).await;
    session.stop("the test is over").await;
    ours
}

/// Evaluates the piece. If the code ends the session, its result has no status.
async fn evaluated_in(session: &Handle, profile: &str, code: &str) -> Bare {
    let result = eval(session, code).await;
    let query = Query { eval: Some(Some(result.eval)), max_bytes: 4 << 20, ..Query::default() };
    let stdout = session.output().read_blocking(&query).bytes_of(Logged::Stdout);
    let stdout = String::from_utf8_lossy(&stdout).into_owned();
    let status = match (result.status, &result.exception) {
        (Status::Error, Some(exception)) => exception.replace("exit status ", "error "),
        (status, _) => status.name().to_owned(),
    };
    let python_failed = profile == "python" && result.status == Status::Error && result.exception.is_some();
    let mut status = if python_failed { "error".to_owned() } else { status };
    if result.status.is_final() && !matches!(result.status, Status::Done | Status::Error | Status::Interrupted) {
        until(session, |state| !state.is_alive()).await;
        let reason = session.info().reason.unwrap_or_default();
        let number: String =
            reason.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
        status = format!("{status} {}", if number.is_empty() { "by request" } else { &number });
    } else {
        // Whatever happened, the next result is right.
        let next = if profile == "bash" { "[[ 4 == 5 ]] || ((1))" } else { "assert 20 + 22 == 42" };
        let after = eval(session, next).await;
        if after.status != Status::Done {
            status = format!("{status}, and after it {after:?}");
        }
    }
    // None of hob's own code is shown.
    let shown = format!("{}{}{}", result.stdout, result.stderr, result.exception.as_deref().unwrap_or_default());
    assert!(!shown.replace("$__hob_line", "").contains("hob"), "{code:?}: {shown}");
    Bare { status, stdout }
}

/// Returns true for Python that can change nothing of the next piece except its own names.
fn keeps_to_itself(code: &str) -> bool {
    !["import", "exit", "Exit", "builtins", "del "].iter().any(|word| code.contains(word))
}

/// Compares a piece's results. Returns the differences from the expected ones.
async fn difference(expected: &str, code: &'static str, ours: Bare, bare: fn(&str) -> Bare) -> Option<String> {
    let alone = tokio::task::spawn_blocking(move || bare(code)).await.expect("it ends");
    let asked = ours.status == "exited by request" && expected.starts_with("exited ");
    let right = alone.status == expected && (ours.status == expected || asked) && ours.stdout == alone.stdout;
    (!right).then(|| {
        format!(
            "{code:?}: {expected} is expected, bare {} {:.80?}, ours {} {:.80?}",
            alone.status, alone.stdout, ours.status, ours.stdout
        )
    })
}

/// Checks each piece in a separate session, several at once.
async fn check(profile: &'static str, pieces: &[(&'static str, &'static str)], bare: fn(&str) -> Bare) {
    let mut wrong = Vec::new();
    for few in pieces.chunks(4) {
        let few = few.iter().map(|&(expected, code)| {
            tokio::spawn(async move { difference(expected, code, evaluated(profile, code).await, bare).await })
        });
        for task in few.collect::<Vec<_>>() {
            wrong.extend(task.await.expect("it was checked"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), pieces.len(), wrong.join("\n"));
}

/// Checks all pieces in one session.
async fn check_in_one(profile: &str, pieces: &[(&'static str, &'static str)], bare: fn(&str) -> Bare) {
    let temp = tempfile::tempdir().expect("room");
    let session = used_session(profile, temp.path()).await;
    let mut wrong = Vec::new();
    for &(expected, code) in pieces {
        let ours = evaluated_in(&session, profile, code).await;
        wrong.extend(difference(expected, code, ours, bare).await);
    }
    session.stop("the test is over").await;
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), pieces.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_pieces_end_as_in_bare_python() {
    let (shared, alone): (Vec<_>, Vec<_>) = pieces(PYTHON).into_iter().partition(|(_, code)| keeps_to_itself(code));
    assert!(shared.len() >= 60, "only {}", shared.len());
    tokio::join!(check_in_one("python", &shared, bare_python), check("python", &alone, bare_python));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bash_pieces_end_as_in_bare_bash() {
    check("bash", &pieces(BASH), bare_bash).await;
}
