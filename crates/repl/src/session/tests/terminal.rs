//! Programs that need a terminal.

use std::path::Path;

use super::*;
use crate::profile::{Profile, Profiles};
use crate::result::Status;
use crate::session::Snapshot;

fn spec(command: &[&str], folder: &Path) -> SessionSpec {
    let mut profile: Profile = Profiles::builtin().get("terminal").expect("built in").clone();
    if !command.is_empty() {
        profile.command = command.iter().map(|word| (*word).to_owned()).collect();
    }
    let keep = |name: &str| (name.to_owned(), std::env::var(name).unwrap_or_default());
    let locale = ("LC_ALL".to_owned(), "C.UTF-8".to_owned());
    let launch =
        profile.launch(vec![keep("PATH"), locale, ("TERM".to_owned(), "dumb".to_owned())], folder.into(), 8 << 30);
    SessionSpec { launch: launch.expect("it is installed"), ..setup(&["unused"], folder, Arc::new(Ghci)) }
}

async fn session(command: &[&str], folder: &Path) -> Handle {
    let session = start(spec(command, folder), log()).expect("it starts");
    until(&session, |state| state != SessionState::Starting).await;
    session
}

/// Types text with names of keys, and returns the status and the screen.
async fn press(session: &Handle, keys: &str) -> (Status, String) {
    let keys = session.screen().expect("a screen").keys(keys);
    let request = EvalRequest { stdin: Some(keys), wait: LONG, ..EvalRequest::new("") };
    let result = session.eval(request).await.expect("an answer");
    (result.status, result.value.expect("a screen"))
}

/// Types a line, and returns the rows of the screen.
async fn type_line(session: &Handle, code: &str) -> Vec<String> {
    let result = eval(session, code).await;
    assert_eq!((result.status, result.stdout.as_str()), (Status::Done, ""), "{code}: {result:?}");
    result.value.expect("a screen").lines().map(str::to_owned).collect()
}

fn snapshot(session: &Handle) -> Snapshot {
    session.screen().expect("a screen").snapshot()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn less_searches_and_scrolls() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines: String = (1..=500).map(|n| format!("line {n}\n")).collect();
    std::fs::write(folder.path().join("lines"), lines).expect("written");
    let session = session(&["less", "lines"], folder.path()).await;
    let info = session.info();
    assert_eq!((info.state, info.banner.lines().next()), (SessionState::Idle, Some("line 1")));
    assert_eq!(info.banner.lines().count(), 30, "{}", info.banner);
    let found = press(&session, "/line 150<Enter>").await.1;
    assert!(found.starts_with("line 150\n"), "{found}");
    assert!(press(&session, "<PageDown>").await.1.starts_with("line 179\n"));
    // The arrow depends on the mode that less has set.
    assert!(press(&session, "<Up>").await.1.starts_with("line 178\n"));
    assert_eq!(press(&session, "q").await.0, Status::Exited);
    until(&session, |state| state == SessionState::Exited).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn top_and_vim_draw_and_take_keys() {
    let folder = tempfile::tempdir().expect("a folder");
    let top = session(&["top", "-d", "900"], folder.path()).await;
    assert!(top.info().banner.contains("load average"), "{}", top.info().banner);
    assert!(press(&top, "h").await.1.contains("Help for Interactive Commands"));
    assert!(press(&top, "q").await.1.contains("load average"));
    assert_eq!(press(&top, "q").await.0, Status::Exited);
    let vim = session(&["vim", "-u", "NONE", "-n", "file"], folder.path()).await;
    let (_, screen) = press(&vim, "ihëllo<Enter>you<Esc>").await;
    assert!(screen.starts_with("hëllo\nyou\n"), "{screen}");
    assert_eq!(press(&vim, ":wq<Enter>").await.0, Status::Exited);
    assert_eq!(std::fs::read_to_string(folder.path().join("file")).expect("it was written"), "hëllo\nyou\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_sees_a_terminal_that_controls_it() {
    let session = session(&[], Path::new("/")).await;
    assert_eq!(session.info().banner, "$");
    let rows = type_line(&session, "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && : >/dev/tty && stty size; echo $TERM").await;
    assert_eq!(rows[1..], ["30 100", "xterm-256color", "$"], "{rows:?}");
    // A program that reads lines, and one that asks its terminal.
    type_line(&session, "clear; read -r name; echo \"<$name>\"").await;
    assert_eq!(type_line(&session, "hob").await[1..], ["<hob>", "$"]);
    type_line(&session, "clear; printf '\\e[6n'; read -rs -d R answer; printf '\\n%q\\n' \"$answer\"").await;
    assert!(snapshot(&session).text.contains("$'\\E[1;1'"), "{:?}", snapshot(&session));
    assert!(type_line(&session, "clear\nprintf 'a\\nb\\n'").await.ends_with(&["a".into(), "b".into(), "$".into()]));
    // The log has every byte.
    let end = session.output().status().end;
    type_line(&session, "printf '\\e[31mred\\e[m'").await;
    let query = process::output::Query::since(end);
    let bytes = session.output().read(query).await.bytes();
    assert!(memchr::memmem::find(&bytes, b"\x1b[31mred\x1b[m").is_some(), "{:?}", String::from_utf8_lossy(&bytes));
    session.stop("done").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn control_c_reaches_the_program_in_the_foreground() {
    let session = session(&[], Path::new("/")).await;
    for code in ["sleep 1000", "sleep 1000 | cat", "while :; do :; done", "python3 -c 'while True: pass'"] {
        let begun = session.eval(EvalRequest { wait: Duration::from_millis(1), ..EvalRequest::new(code) }).await;
        assert_eq!(begun.expect("an answer").status, Status::Running, "{code}");
        let report = interrupt("terminal", &session).await;
        assert_eq!(report.outcome, InterruptOutcome::Interrupted, "{code}: {report:?}");
        assert!(type_line(&session, "clear; echo $((40 + 2))").await.ends_with(&["42".into(), "$".into()]), "{code}");
    }
    // As a key, while the program is busy.
    let begun = session.eval(EvalRequest { wait: Duration::from_millis(1), ..EvalRequest::new("sleep 1000") }).await;
    let begun = begun.expect("an answer").eval;
    // A key before that would reach the shell.
    let shell = session.info().pid.expect("it runs");
    let children = format!("/proc/{shell}/task/{shell}/children");
    testkit::until("a running program", || std::fs::read_to_string(&children).ok().filter(|pids| !pids.is_empty()));
    assert_eq!(press(&session, "<C-c>").await.0, Status::Done);
    assert_eq!(session.wait(Some(begun), LONG, 1000).await.expect("it is remembered").status, Status::Done);
    session.stop("done").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_session_takes_its_programs_along() {
    let session = session(&[], Path::new("/")).await;
    type_line(&session, "clear; sleep 1000 & trap '' HUP; (trap '' HUP TERM; sleep 1001) & echo $! pid").await;
    let text = snapshot(&session).text;
    let deaf: i32 = text.lines().find_map(|line| line.strip_suffix(" pid")?.parse().ok()).expect("it is shown");
    let pids = [deaf, session.info().pid.expect("it runs").cast_signed()];
    assert!(pids.iter().all(|pid| testkit::is_alive(*pid)), "{text}");
    session.stop("done").await;
    assert!(!pids.iter().any(|pid| testkit::is_alive(*pid)));
    // The screen is kept.
    assert_eq!(snapshot(&session).text, text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_escape_sequences_is_drawn_and_kept() {
    let flood = "import sys\n\
                 for n in range(10_000_000 // 20): sys.stdout.write(f'\\x1b[{n % 30 + 1};{n % 90 + 1:02}H\\x1b[3{n % 8}mab{n:06}'[:20].ljust(20, '.'))\n\
                 sys.stdout.write('\\x1b[2J\\x1b[5;10Hthe end'); sys.stdout.flush(); input()";
    let session = session(&["python3", "-c", flood], Path::new("/")).await;
    let drawn = snapshot(&session);
    assert_eq!((drawn.text.trim_start(), drawn.cursor), ("the end", (5, 17)));
    let total = session.output().status().total.get(super::super::Stream::Stdout.logged());
    assert_eq!(total, 10_000_000 + 4 + 7 + 7);
    assert_eq!(press(&session, "<Enter>").await.0, Status::Exited);
}

/// The screen is drawn more slowly than the program prints, so output is always there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn output_without_end_delays_no_interrupt() {
    let session = session(&[], Path::new("/")).await;
    let begun = session.eval(EvalRequest { wait: Duration::from_millis(200), ..EvalRequest::new("yes") }).await;
    assert_eq!(begun.expect("an answer").status, Status::Running);
    let report = session.interrupt(1000).await.expect("an answer");
    assert_eq!(report.outcome, InterruptOutcome::Interrupted, "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_ends_at_once_leaves_its_screen() {
    let session = session(&["sh", "-c", "printf 'no \\033[1mfile\\033[m'; exit 3"], Path::new("/")).await;
    let info = session.info();
    assert_eq!((info.state, info.banner.as_str()), (SessionState::Exited, "no file"));
    assert_eq!(info.reason.as_deref(), Some("it exited with status 3"));
}
