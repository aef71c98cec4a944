//! Starting: pipes, environment, directory, signals, descriptors, and the errors.

use std::os::unix::fs::PermissionsExt;

use expect_test::{Expect, expect};
use process::{Extra, ExtraPipe, Guard, Ladder, Rung, Spec};
use tokio::io::AsyncWriteExt;

use crate::fixture::{exited, have, line, shell, spec, to_end};

#[tokio::test]
async fn pipes_environment_and_directory_are_the_childs_own() {
    let mut wanted =
        shell("read x; echo \"got $x in $(pwd)\"; env | sort | sed 's/=.*//' | tr '\\n' ' '; echo oops >&2; exit 3");
    wanted.cwd = "/usr".into();
    wanted = wanted.env([("FOO", "bar")]);
    let nonce = wanted.nonce.clone();
    let mut child = wanted.spawn().unwrap();
    assert_eq!(child.group.nonce(), &nonce);
    child.stdin.as_mut().unwrap().write_all(b"hello\n").await.unwrap();
    let stdout = to_end(child.stdout.take().unwrap()).await;
    expect![[r#"
        got hello in /usr
        FOO HOB_SESSION PATH PWD "#]]
    .assert_eq(&stdout.replace("OLDPWD ", "").replace("SHLVL ", "").replace("_ ", ""));
    assert_eq!(to_end(child.stderr.take().unwrap()).await, "oops\n");
    let exit = exited(&mut child.exit).await;
    assert_eq!((exit.code, exit.signal, exit.success()), (Some(3), None, false));
    let ended = child.group.end(None, &Ladder::default()).await;
    assert_eq!((ended.rung, ended.left), (Rung::AlreadyEnded, 0));
}

#[tokio::test]
async fn the_childs_ends_block_and_nothing_else_is_inherited() {
    // Flags of the three descriptors (octal, 04000 is non-blocking), and how many descriptors there are in all.
    let script = "for n in 0 1 2; do grep flags /proc/self/fdinfo/$n; done; ls /proc/self/fd | wc -l";
    let mut child = shell(script).spawn().unwrap();
    let stdout = to_end(child.stdout.take().unwrap()).await;
    // `ls` itself opens the directory.
    expect![[r#"
        flags:	00
        flags:	01
        flags:	01
        4
    "#]]
    .assert_eq(&stdout);
    child.group.end(child.stdin.take(), &Ladder::default()).await;
}

#[tokio::test]
async fn signals_are_at_their_defaults_in_a_session_of_its_own() {
    let mut child =
        shell("cut -d' ' -f5,6 /proc/$$/stat; exec grep -E 'SigBlk|SigIgn' /proc/self/status").spawn().unwrap();
    let pid = child.pid;
    let stdout = to_end(child.stdout.take().unwrap()).await;
    // Signals 32 and 33 belong to the C library, which lets no one touch them.
    let untouched = stdout.replace("SigIgn:\t0000000080000000", "SigIgn:\t0000000000000000");
    let expected = format!("{pid} {pid}\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    assert_eq!(untouched, expected);
    child.group.end(None, &Ladder::default()).await;
}

#[tokio::test]
async fn the_file_limit_is_the_users_not_ours() {
    let before = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    process::limits::raise_open_files();
    let mut child = shell("ulimit -Sn").spawn().unwrap();
    let limit = before.current.map_or("unlimited".to_owned(), |limit| limit.to_string());
    assert_eq!(to_end(child.stdout.take().unwrap()).await.trim(), limit);
    child.group.end(None, &Ladder::default()).await;
}

/// Returns the niceness according to the kernel: the nineteenth field of `stat`, whose second may hold spaces.
fn niceness(pid: i32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.split(' ').nth(16).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_niceness_is_inherited_and_only_ever_rises() {
    let ours = niceness(std::process::id().cast_signed());
    for wanted in [0, 7, process::NICEST] {
        let mut spec = shell("setsid sleep 1000 & echo $!; wait");
        spec.nice = wanted;
        let mut child = spec.spawn().unwrap();
        let grandchild: i32 = line(child.stdout.as_mut().unwrap()).await.parse().unwrap();
        assert_eq!((niceness(child.pid), niceness(grandchild)), (ours.max(wanted), ours.max(wanted)));
        // The autogroup's niceness too, where the kernel has such groups. Setting one is rate-limited: only the first
        // is certain.
        if let (7, Ok(group)) = (wanted, std::fs::read_to_string(format!("/proc/{}/autogroup", child.pid))) {
            assert!(group.trim_end().ends_with("nice 7"), "{group}");
        }
        child.group.end(None, &Ladder::at_once()).await;
    }
    for (wanted, refused) in [
        (-1, expect!["niceness -1 is out of range; use 0 (no change) to 19 (lowest priority)"]),
        (20, expect!["niceness 20 is out of range; use 0 (no change) to 19 (lowest priority)"]),
    ] {
        let mut spec = shell("true");
        spec.nice = wanted;
        refused.assert_eq(&spec.spawn().unwrap_err().to_string());
    }
}

#[tokio::test]
async fn extra_pipes_are_found_by_their_variables() {
    if !have("bash", "extra_pipes_are_found_by_their_variables") {
        return;
    }
    let mut wanted = spec("bash", &["-c", "read -u $ASK x; echo \"heard $x\" >&$ANSWER; echo out"]);
    wanted.extra = vec![
        ExtraPipe { variable: "ASK".into(), to_child: true },
        ExtraPipe { variable: "ANSWER".into(), to_child: false },
    ];
    let mut child = wanted.spawn().unwrap();
    let mut extra = child.extra.drain(..);
    let (Some(Extra::ToChild(mut ask)), Some(Extra::FromChild(mut answer))) = (extra.next(), extra.next()) else {
        panic!("two ends, in order");
    };
    ask.write_all(b"this\n").await.unwrap();
    assert_eq!(line(&mut answer).await, "heard this");
    assert_eq!(to_end(child.stdout.take().unwrap()).await, "out\n");
    drop(extra);
    child.group.end(None, &Ladder::default()).await;
}

#[tokio::test]
async fn a_terminal_of_ones_own_controls_nothing() {
    let script =
        "stty sane <&$T && echo terminal; tty <&$T | grep -c /dev/pts; true 2>/dev/null </dev/tty && echo controls";
    let mut wanted = spec("bash", &["-c", script]);
    wanted.terminal = Some("T".to_owned());
    let mut child = wanted.spawn().unwrap();
    assert!(child.terminal.is_some());
    assert_eq!(to_end(child.stdout.take().unwrap()).await, "terminal\n1\n");
    child.group.end(None, &Ladder::default()).await;
}

#[tokio::test]
async fn a_segmentation_fault_is_told_from_an_exit() {
    let mut child = shell("ulimit -c 0; kill -SEGV $$").spawn().unwrap();
    let exit = exited(&mut child.exit).await;
    assert_eq!((exit.code, exit.signal, exit.core), (None, Some(11), false));
    expect!["signal 11 (SIGSEGV)"].assert_eq(&exit.to_string());
    child.group.end(None, &Ladder::default()).await;
}

#[tokio::test]
async fn errors_name_what_was_looked_for() {
    let plain = tempfile::NamedTempFile::new().unwrap();
    plain.as_file().set_permissions(PermissionsExt::from_mode(0o644)).unwrap();

    let script = tempfile::tempdir().unwrap();
    std::fs::write(script.path().join("py"), "#! /no/such/python3 -u\n").unwrap();
    std::fs::set_permissions(script.path().join("py"), PermissionsExt::from_mode(0o755)).unwrap();

    let check = |program: &str, cwd: &str, expected: Expect| {
        let mut wanted = Spec::new(program, cwd).env([("PATH", "/usr/bin:/nowhere")]);
        wanted.guard = Guard::Without;
        let text = wanted.spawn().unwrap_err().to_string();
        let text = text.replace(script.path().to_str().unwrap(), "SCRIPT");
        expected.assert_eq(&text.replace(plain.path().to_str().unwrap(), "PLAIN"));
    };
    check("no-such-repl", "/", expect![[r#"program "no-such-repl" was not found; searched PATH=/usr/bin:/nowhere"#]]);
    check("./no-such-repl", "/usr", expect!["program /usr/./no-such-repl does not exist"]);
    check(plain.path().to_str().unwrap(), "/", expect!["program PLAIN is not executable by this user"]);
    check(
        "./py",
        script.path().to_str().unwrap(),
        expect!["program SCRIPT/./py names the interpreter /no/such/python3 in its first line, which does not exist"],
    );
    check("sh", "/no/such/place", expect!["working directory /no/such/place: No such file or directory (os error 2)"]);
    check("sh", "/etc/passwd", expect!["working directory /etc/passwd: not a directory"]);
    check("sh", "here", expect!["working directory here is not an absolute path"]);
}
