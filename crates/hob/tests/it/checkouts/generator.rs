//! Random checkouts (`HOB_CHECKOUTS`, `HOB_CHECKOUTS_SEED`; `cargo xtask soak checkouts`).

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use testkit::{Random, has_program};

use super::{EVERYDAY, Victim};

/// The number of checkouts in an ordinary run.
const CHECKOUTS: u64 = 6;

/// Names at which hob might trust, read or write a file, separated by blanks.
const NAMES: &str = ".hob .hob/sessions .hob/output .hob/output/next-evaluation .hob/log .hob/log/daemon.jsonl .hob/log/journal.jsonl \
     .hob/lock .hob/socket .hob/mail.db .hob/mail-database .hob/identities .hob/identities/planner.json .hob/profiles \
     .hob/init.json .hob/.gitignore hob.toml .mcp.json .claude .claude/agents/message-listener.md CLAUDE.md \
     .codex/config.toml .cursor/mcp.json .vscode/mcp.json .gemini/settings.json .git .git/HEAD .git/config \
     .git/commondir cabal.project _build a.cure x.cabal package.json stack.yaml pyproject.toml .ghci json.py \
     a\u{1b}[2J -rf new\nline x.cure";

/// Creates a random kind of file at a random name; returns a description.
fn plant(victim: &Victim, random: &mut Random) -> String {
    let names: Vec<&str> = NAMES.split(' ').collect();
    let name = *random.pick(&names);
    let at = victim.root().join(name);
    // A file that already exists there is a case too.
    if at.parent().is_none_or(|above| fs::create_dir_all(above).is_err()) || at.symlink_metadata().is_ok() {
        return String::new();
    }
    let targets =
        ["precious", "precious/one.json", "precious/next-evaluation", "precious/new", "home/.bashrc", "home", "."];
    let outside = victim.project.top().join(random.pick(&targets));
    let texts: [&[u8]; 7] = [
        b"",
        b"garbage \x00\xff\x1b[2J",
        b"{}",
        b"[",
        b"/etc/passwd\n",
        b"postgres://a@127.0.0.1:1/x",
        b"[repl.profiles.python]\ndriver = \"bash\"\ncommand = [\"sh\", \"-c\", \"touch ~/harm\"]\n",
    ];
    let kind =
        *random.pick(&["link", "link", "link", "relative", "file", "file", "large", "pipe", "directory", "closed"]);
    match kind {
        "link" => symlink(&outside, &at).unwrap(),
        "relative" => symlink("../../precious/one.json", &at).unwrap(),
        "file" => fs::write(&at, random.pick(&texts)).unwrap(),
        "large" => fs::write(&at, vec![b'['; 3 << 20]).unwrap(),
        "pipe" => assert!(Command::new("mkfifo").arg("--").arg(&at).status().unwrap().success()),
        _ => fs::create_dir(&at).unwrap(),
    }
    if matches!(kind, "file" | "directory" | "closed") {
        let mode = if kind == "closed" { 0 } else { *random.pick(&[0o600, 0o644, 0o777, 0o4755]) };
        fs::set_permissions(&at, fs::Permissions::from_mode(mode)).unwrap();
    }
    format!("{kind} at {name:?}; ")
}

#[test]
fn checkouts_of_a_generator_long_run() {
    if !has_program("git") || !has_program("mkfifo") {
        return;
    }
    let setting = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seed = setting("HOB_CHECKOUTS_SEED").unwrap_or(20_261_123);
    let count = setting("HOB_CHECKOUTS").unwrap_or(CHECKOUTS);
    let (mut commands, mut things) = (0, 0);
    for n in 0..count {
        let mut random = Random::new(seed.wrapping_add(n));
        let mut victim = Victim::new();
        let what: Vec<String> =
            (0..3 + random.below(8)).map(|_| plant(&victim, &mut random)).filter(|what| !what.is_empty()).collect();
        things += what.len();
        let what = format!("checkout {n} of seed {seed}: {}", what.concat());
        if random.chance(50) {
            // Tracked, as in a clone; files that git cannot store are added as from an archive.
            for args in [
                &["init", "-q", "."][..],
                &["add", "-f", "--ignore-errors", "."],
                &["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "one"],
            ] {
                // git blocks forever on a FIFO in place of its own files.
                let mut git = victim.project.command("timeout");
                let _ = git.args(["5", "git"]).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
            }
        }
        victim.ready();
        for command in EVERYDAY {
            victim.run(command);
            victim.assert_unharmed(&format!("{what}{}", command.join(" ")));
            commands += 1;
        }
        // Commands that write into the project on request must write only there.
        for args in [
            &["init", "--agent", "claude", "--agent", "codex"][..],
            &["init", "--undo"],
            &["call", "repl_list"],
            &["stop"],
        ] {
            victim.run(args);
            commands += 1;
            // `init` records in the user's configuration that the project's code may run.
            let grants = victim.project.home().join(".config");
            victim.assert_unharmed_outside(&format!("{what}{args:?}"), |path| path.starts_with(&grants));
        }
        open_up(&victim.root());
    }
    eprintln!(
        "HOB_CHECKOUTS_SEED={seed}: {count} checkouts with {things} planted things, {commands} commands: nothing harmed, nothing hung"
    );
}

/// Makes directories without permissions accessible, so that they can be removed.
fn open_up(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            let _ = fs::set_permissions(&path, fs::Permissions::from_mode(0o700));
            if path.file_name() != Some(OsStr::new(".git")) {
                open_up(&path);
            }
        }
    }
}
