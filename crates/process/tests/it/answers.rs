//! Short-lived programs: their output, their limits, and the processes they leave behind.

use std::time::{Duration, Instant};

use process::{Answer, AnswerError, Bounds, Guard};

use crate::fixture::{LIMIT, alive, shell, until};

const BOUNDS: Bounds = Bounds { deadline: LIMIT, stdout: 1000, stderr: 10 };

async fn answer(script: &str, bounds: Bounds) -> Result<Answer, AnswerError> {
    let mut spec = shell(script);
    spec.guard = Guard::Without;
    spec.answer(bounds).await
}

fn number(bytes: &[u8]) -> i32 {
    String::from_utf8_lossy(bytes).trim().parse().unwrap()
}

#[tokio::test]
async fn an_answer_is_what_was_printed_and_how_it_ended() {
    let said = answer("read line; echo \"out$line\"; echo 0123456789abc >&2; exit 3", BOUNDS).await.unwrap();
    assert_eq!((&*said.stdout, &*said.stderr, said.exit.code), (&b"out\n"[..], &b"0123456789"[..], Some(3)));
}

#[tokio::test]
async fn what_an_ended_program_leaves_in_its_group_is_ended() {
    let said = answer("sleep 1000 >/dev/null 2>&1 & echo $!", BOUNDS).await.unwrap();
    let left = number(&said.stdout);
    until("it ends", || !alive(left));
}

#[tokio::test]
async fn what_made_itself_a_daemon_stays() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo").display().to_string();
    let daemon = format!("setsid sh -c 'echo $$ >{fifo}; exec sleep 1000' >/dev/null 2>&1 &");
    let said = answer(&format!("mkfifo {fifo}; {daemon} cat {fifo}"), BOUNDS).await.unwrap();
    let daemon = number(&said.stdout);
    assert!(alive(daemon));
    assert!(std::process::Command::new("kill").arg(daemon.to_string()).status().unwrap().success());
}

#[tokio::test]
async fn too_long_and_too_late_are_errors_and_end_the_program() {
    let said = answer("yes", BOUNDS).await;
    assert!(matches!(said, Err(AnswerError::TooLong { most: 1000, .. })), "{said:?}");
    let begun = Instant::now();
    let said = answer("sleep 1000 & sleep 1000", Bounds { deadline: Duration::from_millis(200), ..BOUNDS }).await;
    assert!(matches!(said, Err(AnswerError::Late { .. })), "{said:?}");
    assert!(begun.elapsed() < LIMIT, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn an_answer_takes_as_long_as_its_program() {
    let mut times = Vec::new();
    for _ in 0..21 {
        let begun = Instant::now();
        answer(":", BOUNDS).await.unwrap();
        times.push(begun.elapsed());
    }
    times.sort();
    // Some milliseconds; with a search for its descendants, over fifty.
    assert!(times[10] < Duration::from_millis(25), "{times:?}");
}
