//! A server in a separate process, on every kind of standard streams that a parent may give it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};

use rustix::fs::OFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::example;

const CALL: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"}}}\n";
const ANSWER: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\
                      \"structuredContent\":{\"said\":\"hi\"}}}";

fn spawn(stdin: impl Into<Stdio>, stdout: impl Into<Stdio>) -> Child {
    Command::new(example("everything"))
        .stdin(stdin)
        .stdout(stdout)
        .stderr(Stdio::inherit())
        .spawn()
        .expect("the example runs")
}

/// Asserts that the flags of this shared description are unchanged.
#[track_caller]
fn assert_blocking(fd: impl AsFd) {
    let flags = rustix::fs::fcntl_getfl(fd).expect("it is open");
    assert!(!flags.contains(OFlags::NONBLOCK), "left not blocking");
}

#[test]
fn what_tools_and_their_children_print_lands_on_stderr() {
    let mut child = Command::new(example("everything"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the example runs");
    let mut stdin = child.stdin.take().expect("piped");
    let params = "{\"name\":\"print\",\"arguments\":{\"text\":\"stray\"}}";
    writeln!(stdin, "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{params}}}")
        .expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(stdout.lines().all(|line| line.starts_with("{\"jsonrpc\"")) && stdout.lines().count() == 1, "{stdout}");
    assert_eq!(stderr, "stray\nchild: stray\n");
}

#[test]
fn faults_go_to_stderr_where_no_subscriber_is_set() {
    let mut child = Command::new(example("everything"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the example runs");
    let mut stdin = child.stdin.take().expect("piped");
    for (id, tool) in [(1, "fail"), (2, "panic")] {
        let params = format!("{{\"name\":\"{tool}\",\"arguments\":{{}}}}");
        writeln!(stdin, "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{params}}}")
            .expect("it reads");
    }
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // The caller has the fault number of the log entry.
    let fault = |tool: &str| {
        let (_, rest) = stdout.split_once(&format!("internal error in {tool} (fault ")).expect("a fault");
        rest.split_once(')').expect("its end").0.to_owned()
    };
    for line in [
        format!("fail: a call failed: the secret disk is on fire (fault {})", fault("fail")),
        format!("panic: a call panicked: a tool gave up (fault {})", fault("panic")),
    ] {
        assert!(stderr.lines().any(|said| said == line), "{line} in {stderr}");
    }
}

#[test]
fn on_pipes() {
    let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).expect("a pipe");
    let ((input, to), (from, output)) = (pipe(), pipe());
    let (mut to, from) = (File::from(to), File::from(from));
    let mut child = spawn(input.try_clone().expect("dup"), output.try_clone().expect("dup"));
    to.write_all(CALL.as_bytes()).expect("it reads");
    let mut lines = BufReader::new(from).lines();
    assert_eq!(lines.next().expect("an answer").expect("UTF-8"), ANSWER);
    assert_blocking(&input);
    assert_blocking(&output);
    drop((to, input, output));
    assert!(child.wait().expect("it ends").success());
    assert!(lines.next().is_none());
}

#[test]
fn on_a_socket_pair() {
    let pair =
        || socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).expect("a socket pair");
    // One socket for both directions, and one for each, as Node does.
    let ((ours, theirs), (ours_too, theirs_too)) = (pair(), pair());
    let mut child = spawn(theirs.try_clone().expect("dup"), theirs_too.try_clone().expect("dup"));
    let (mut to, from) = (File::from(ours), File::from(ours_too));
    to.write_all(CALL.as_bytes()).expect("it reads");
    let mut lines = BufReader::new(from).lines();
    assert_eq!(lines.next().expect("an answer").expect("UTF-8"), ANSWER);
    assert_blocking(&theirs);
    assert_blocking(&theirs_too);
    drop((to, theirs, theirs_too));
    assert!(child.wait().expect("it ends").success());
    assert!(lines.next().is_none());

    let (ours, theirs) = pair();
    let mut child = spawn(theirs.try_clone().expect("dup"), theirs);
    let mut both = File::from(ours);
    both.write_all(CALL.as_bytes()).expect("it reads");
    let mut lines = BufReader::new(both.try_clone().expect("dup")).lines();
    assert_eq!(lines.next().expect("an answer").expect("UTF-8"), ANSWER);
    rustix::net::shutdown(&both, rustix::net::Shutdown::Write).expect("it is connected");
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn on_files() {
    let directory = std::env::temp_dir().join(format!("mcp-files-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let (input, output) = (directory.join("in"), directory.join("out"));
    std::fs::write(&input, CALL).expect("a file");
    let mut child = spawn(File::open(&input).expect("there"), File::create(&output).expect("a file"));
    assert!(child.wait().expect("it ends").success());
    let written = std::fs::read_to_string(&output).expect("there");
    std::fs::remove_dir_all(&directory).expect("it was ours");
    assert_eq!(written, format!("{ANSWER}\n"));
}

#[test]
fn with_no_input_and_no_output_at_all() {
    let mut child = spawn(Stdio::null(), Stdio::null());
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn on_a_terminal() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&master).expect("ours");
    unlockpt(&master).expect("ours");
    let path = ptsname(&master, Vec::new()).expect("it has a name");
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let slave: OwnedFd = rustix::fs::open(path.as_c_str(), flags, rustix::fs::Mode::empty()).expect("there");
    let mut settings = tcgetattr(&slave).expect("a terminal");
    settings.make_raw();
    tcsetattr(&slave, OptionalActions::Now, &settings).expect("a terminal");

    let mut child = spawn(slave.try_clone().expect("dup"), slave.try_clone().expect("dup"));
    let mut master = File::from(master);
    master.write_all(CALL.as_bytes()).expect("it reads");
    let mut answer = vec![0; ANSWER.len()];
    master.read_exact(&mut answer).expect("an answer");
    assert_eq!(String::from_utf8_lossy(&answer), ANSWER);
    assert_blocking(&slave);
    drop((slave, master));
    assert!(child.wait().expect("it ends").success());
}
