//! Connecting to fake daemons, each a thread with a script.

use super::*;
use crate::test_socket::listen;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::{Arc, Barrier};

use project::Role;
use serde_json::Value;

struct TestProject {
    _temp: tempfile::TempDir,
    project: Project,
}

impl TestProject {
    fn new() -> TestProject {
        let temp = tempfile::tempdir().unwrap();
        let project = Project::find(Some(temp.path()), Path::new("/")).unwrap();
        TestProject { _temp: temp, project }
    }

    fn hello(&self) -> Hello {
        Hello { env: BTreeMap::new(), ..Hello::new(Role::Control, &self.project, self.project.root()) }
    }

    /// Accepts connections, one after the other, and answers their hellos with `answers`.
    fn serve(&self, answers: Vec<String>) -> thread::JoinHandle<Vec<Value>> {
        let path = self.project.socket_path().unwrap();
        let listener = listen(&path);
        thread::spawn(move || {
            let answer = |answer: &String| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut hello = String::new();
                BufReader::new(stream.try_clone().unwrap()).read_line(&mut hello).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
                serde_json::from_str(&hello).unwrap()
            };
            let hellos = answers.iter().map(answer).collect();
            fs::remove_file(path).unwrap();
            hellos
        })
    }
}

impl Drop for TestProject {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.project.socket_path().unwrap());
    }
}

fn script(script: &str) -> Launch {
    Launch { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into(), "sh".into()] }
}

#[test]
fn none_runs() {
    let place = TestProject::new();
    assert!(connect(&place.project, &place.hello()).unwrap().is_none());
}

#[test]
fn accepted_and_refused() {
    let place = TestProject::new();
    let accepted = String::from_utf8(HelloAck::accepted(1, "l1").to_line()).unwrap();
    // Bytes after the answer in the same read are not lost.
    let refused = String::from_utf8(HelloAck::refused("too many connections; end one", "l1").to_line()).unwrap();
    let server = place.serve(vec![accepted + "next\n", refused, "SSH-2.0-x\r\n".to_owned(), String::new()]);
    let mut connection = connect(&place.project, &place.hello()).unwrap().expect("accepted");
    assert_eq!(connection.ack.life, "l1");
    assert!(matches!(connection.framer.next_frame(), Some(Frame::Line(b"next")) | None));
    let error = || connect(&place.project, &place.hello()).map(|_| ()).unwrap_err().to_string();
    assert_eq!(error(), "too many connections; end one");
    assert_eq!(
        error(),
        "the process at the project's socket is not a hob daemon (it sent SSH-2.0-x); end that process"
    );
    assert!(connect(&place.project, &place.hello()).unwrap().is_none(), "gone before it answered");
    assert_eq!(server.join().unwrap()[0]["role"], "control");
}

#[test]
fn an_old_daemon_makes_room_if_it_is_idle() {
    let place = TestProject::new();
    let old = r#"{"hob":0,"ok":false,"error":"protocol 0 here","#;
    let server = place.serve(vec![
        format!("{old}\"making_room\":true}}\n"),
        String::from_utf8(HelloAck::accepted(1, "new").to_line()).unwrap(),
    ]);
    let connection = connect_or_start_with(&place.project, &place.hello(), &script("exit 1")).unwrap();
    assert_eq!(connection.ack.life, "new");
    let hellos = server.join().unwrap();
    assert_eq!(hellos[0]["make_room"], true);

    let busy = HelloAck {
        hob: 0,
        busy: Some("2 sessions".into()),
        ..HelloAck::refused("kept by 2 sessions; `hob stop`", "x")
    };
    let server = place.serve(vec![String::from_utf8(busy.to_line()).unwrap()]);
    let error = connect_or_start_with(&place.project, &place.hello(), &script("exit 1")).unwrap_err().to_string();
    assert_eq!(error, "kept by 2 sessions; `hob stop`");
    server.join().unwrap();
}

#[test]
fn many_at_once_start_one_daemon() {
    const MANY: usize = 12;
    let place = TestProject::new();
    let root = place.project.root().to_owned();
    let (started, bound) = (root.join("started"), root.join("bound"));
    let daemon = {
        let (started, path) = (started.clone(), place.project.socket_path().unwrap());
        thread::spawn(move || {
            while !started.exists() {
                thread::yield_now();
            }
            let listener = listen(&path);
            fs::write(bound, "").unwrap();
            for _ in 0..MANY {
                let (mut stream, _) = listener.accept().unwrap();
                let mut hello = String::new();
                BufReader::new(stream.try_clone().unwrap()).read_line(&mut hello).unwrap();
                stream.write_all(&HelloAck::accepted(1, "one").to_line()).unwrap();
            }
        })
    };
    let launch =
        script(r#"echo x >> "$2/started"; until [ -e "$2/bound" ]; do sleep 0.01; done; echo '{"ready":true}'"#);
    let barrier = Arc::new(Barrier::new(MANY));
    let front_ends: Vec<_> = (0..MANY)
        .map(|_| {
            let (project, hello, launch, barrier) =
                (place.project.clone(), place.hello(), launch.clone(), barrier.clone());
            thread::spawn(move || {
                barrier.wait();
                connect_or_start_with(&project, &hello, &launch).unwrap().ack.life
            })
        })
        .collect();
    front_ends.into_iter().for_each(|front_end| assert_eq!(front_end.join().unwrap(), "one"));
    daemon.join().unwrap();
    assert_eq!(fs::read_to_string(started).unwrap(), "x\n");
}

#[test]
fn a_failed_start_says_why() {
    let place = TestProject::new();
    let launch = script(r#"echo '{"error":"the disk is full; make room"}'"#);
    let error = connect_or_start_with(&place.project, &place.hello(), &launch).unwrap_err().to_string();
    assert_eq!(error, "the disk is full; make room");
}
