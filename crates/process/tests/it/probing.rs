//! The activity of real programs, according to the kernel.

use std::time::{Duration, Instant};

use process::activity::Activity;
use process::probe::{self, Doing, Prober};
use process::{Child, Ladder, Spec};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::fixture::{LIMIT, have, shell, spec};

/// Starts a program and discards its output.
async fn start(wanted: Spec, input: &str) -> Child {
    let mut child = wanted.spawn().unwrap();
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    tokio::spawn(async move { stdout.read_to_end(&mut Vec::new()).await });
    tokio::spawn(async move { stderr.read_to_end(&mut Vec::new()).await });
    feed(&mut child, input).await;
    child
}

async fn feed(child: &mut Child, input: &str) {
    child.stdin.as_mut().unwrap().write_all(input.as_bytes()).await.unwrap();
}

/// Looks until the verdict is the expected one, then checks that it stays.
async fn comes_to(child: &Child, expected: Doing) {
    sees(Prober::new(&child.group), expected).await;
}

async fn sees(mut prober: Prober, expected: Doing) {
    let began = Instant::now();
    let mut agreed = 0;
    let mut seen = Vec::new();
    while agreed < 3 {
        let verdict = prober.observe().await;
        agreed = if verdict == expected { agreed + 1 } else { 0 };
        seen.push(verdict);
        assert!(began.elapsed() < LIMIT, "never {expected:?}: {:?}", &seen[seen.len().saturating_sub(20)..]);
        tokio::time::sleep(Duration::from_millis(20)).await; // polls: what the kernel says of the program
    }
}

async fn end(mut child: Child) {
    let ended = child.group.end(child.stdin.take(), &Ladder::at_once()).await;
    assert_eq!(ended.left, 0);
}

#[tokio::test]
async fn cat_waits_and_sleep_sleeps() {
    let child = start(spec("cat", &[]), "some\n").await;
    comes_to(&child, Doing::WaitingForInput).await;
    end(child).await;
    let child = start(spec("sleep", &["1000"]), "").await;
    comes_to(&child, Doing::Sleeping).await;
    end(child).await;
}

#[tokio::test]
async fn waiting_for_another_process_is_not_waiting_for_input() {
    let child = start(shell("sleep 1000 | cat"), "").await;
    comes_to(&child, Doing::Sleeping).await;
    end(child).await;
    let child = start(shell("while :; do :; done | cat"), "").await;
    comes_to(&child, Doing::Computing).await;
    end(child).await;
}

#[tokio::test]
async fn one_that_reads_in_one_process_and_computes_in_another_computes() {
    let child = start(shell("while :; do :; done & cat"), "").await;
    comes_to(&child, Doing::WaitingForInput).await;
    let mut prober = Prober::new(&child.group);
    assert!(prober.is_computing().await && prober.is_computing().await);
    end(child).await;
    let child = start(spec("cat", &[]), "").await;
    comes_to(&child, Doing::WaitingForInput).await;
    assert!(!Prober::new(&child.group).is_computing().await);
    end(child).await;
}

#[tokio::test]
async fn bash_by_what_it_runs() {
    if !have("bash", "bash_by_what_it_runs") {
        return;
    }
    let mut child = start(spec("bash", &[]), "").await;
    comes_to(&child, Doing::WaitingForInput).await;
    feed(&mut child, "sleep 1\n").await;
    comes_to(&child, Doing::Sleeping).await;
    feed(&mut child, "cat > /dev/null\n").await;
    comes_to(&child, Doing::WaitingForInput).await;
    end(child).await;
}

#[tokio::test]
async fn python_in_every_state() {
    if !have("python3", "python_in_every_state") {
        return;
    }
    for (code, expected) in [
        ("input()", Doing::WaitingForInput),
        ("import select; select.select([0], [], [])", Doing::WaitingForInput),
        ("import select; p = select.poll(); p.register(0, select.POLLIN); p.poll()", Doing::WaitingForInput),
        ("import select; p = select.epoll(); p.register(0, select.EPOLLIN); p.poll()", Doing::Unknown),
        ("import time; time.sleep(1000)", Doing::Sleeping),
        ("import threading; threading.Event().wait()", Doing::Sleeping),
        ("import select; p = select.poll(); p.poll()", Doing::Sleeping),
        ("while True: pass", Doing::Computing),
        ("import subprocess; subprocess.run(['cat'])", Doing::WaitingForInput),
        ("import subprocess; subprocess.run(['sleep', '1000'], stdin=subprocess.DEVNULL)", Doing::Sleeping),
    ] {
        let child = start(spec("python3", &["-S", "-c", code]), "").await;
        comes_to(&child, expected).await;
        end(child).await;
    }
}

#[tokio::test]
async fn one_that_watches_to_read_reads_only_while_a_thread_waits_in_its_epoll_set() {
    if !have("python3", "one_that_watches_to_read") {
        return;
    }
    let watching = "import select, time; p = select.epoll(); p.register(0, select.EPOLLIN); ";
    for (next, expected) in [("p.poll()", Doing::WaitingForInput), ("time.sleep(1000)", Doing::Sleeping)] {
        let child = start(spec("python3", &["-S", "-c", &format!("{watching}{next}")]), "").await;
        sees(Prober::new(&child.group).watching_to_read(true), expected).await;
        end(child).await;
    }
}

#[tokio::test]
async fn ghci_between_get_line_delay_and_work() {
    if !have("ghci", "ghci_between_get_line_delay_and_work") {
        return;
    }
    let wanted = spec("ghci", &["-ignore-dot-ghci"]).env([("HOME", "/tmp"), ("LC_ALL", "C.UTF-8"), ("TERM", "dumb")]);
    let mut child = start(wanted, "getLine\n").await;
    comes_to(&child, Doing::WaitingForInput).await;
    feed(&mut child, "text\nControl.Concurrent.threadDelay 1000000000\n").await;
    comes_to(&child, Doing::Sleeping).await;
    child.group.signal(process::Signal::INT).unwrap();
    feed(&mut child, "length [1 ..]\n").await;
    comes_to(&child, Doing::Computing).await;
    child.group.signal(process::Signal::INT).unwrap();
    comes_to(&child, Doing::WaitingForInput).await;
    end(child).await;
}

#[tokio::test]
async fn costs_are_those_of_all_processes() {
    let child = start(shell("sleep 1000 & while :; do :; done"), "").await;
    let began = Instant::now();
    let memory = loop {
        match probe::memory(&child.group) {
            memory if memory.processes.len() == 2 => break memory,
            memory => assert!(began.elapsed() < LIMIT, "they are two: {memory:?}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await; // polls: the process table
    };
    assert!(memory.resident > 500_000, "{memory:?}");
    end(child).await;
}

#[tokio::test]
async fn what_goes_on_is_seen_and_what_is_young_is_named() {
    const WINDOW: Duration = Duration::from_millis(50);
    const HOUR: Duration = Duration::from_secs(3600);
    let child = start(shell("sleep 1000 & exec cat"), "").await;
    comes_to(&child, Doing::WaitingForInput).await;
    let rest = Activity::observe(&child.group, WINDOW, HOUR).await;
    assert!(rest.wanted < 0.5 && rest.had < 0.5, "{rest:?}");
    // `cat` leads the group: it is the started program, at any age.
    let names: Vec<&str> = rest.young.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["sleep"]);
    assert_eq!(Activity::observe(&child.group, WINDOW, Duration::ZERO).await.young, []);
    end(child).await;
    // Three that never pause, on any number of processors and under any other load.
    let child = start(shell("for n in 1 2 3; do while :; do :; done & done; exec sleep 1000"), "").await;
    comes_to(&child, Doing::Computing).await;
    let busy = Activity::observe(&child.group, 4 * WINDOW, HOUR).await;
    assert!(busy.wanted > 1.0, "{busy:?}");
    end(child).await;
}
