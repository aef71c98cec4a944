//! A full disk: an answer that cannot be stored is refused, its question stays open, the form keeps the input, and the same
//! answer is accepted once there is space.

use std::os::unix::process::CommandExt;

use testkit::{Ran, TestProject, has_program};

use crate::fresh;

/// Asks on a small disk, and fills it.
const ASKED: &str = r#"
set -e
cd "$PROJECT"
mkdir -m 700 -p "$STATE"
mount -t tmpfs -o size=256k,mode=700 none "$STATE"
hob ask confirm 'Delete the branch?' --wait 0 >/dev/null 2>&1 || true
head -c 2000000 /dev/zero >"$STATE/ballast" 2>/dev/null || true
note=$(head -c 3900 /dev/zero | tr '\0' x)
"#;

/// Answers by a command, makes room, and answers again.
const BY_COMMAND: &str = r#"
hob answer --yes --note "$note" 2>&1 || echo "refused with $?"
hob questions --json | grep -c '"open": *true' | sed 's/^/open: /'
hob ask confirm 'Push?' --wait 0 2>&1 || echo "not asked: $?"
rm "$STATE/ballast"
hob answer --yes --note "$note"
hob ask wait "$(hob questions --all --json | grep -o -m1 'q_[0-9a-z]*')" >/dev/null
echo "confirmed with $?"
hob stop >/dev/null
"#;

/// Answers with keys in a form. `shown` polls the screen.
const BY_FORM: &str = r#"
at() { tmux -S "$TOP/tmux" "$@"; }
press() { at send-keys -t :0 "$@"; }
shown() {
    for try in $(seq 600); do
        at capture-pane -p -t :0 | grep -qF -- "$1" && return 0
        sleep 0.1
    done
    echo "$1 is not shown:"
    at capture-pane -p -t :0
    exit 1
}
trap 'at kill-server' EXIT
TERM=xterm at -f /dev/null new-session -d -x 80 -y 24 sh -c 'hob answer; echo "ended with $?"; exec cat'
shown 'Ctrl-S to Send'
press Left
press Tab
shown '▸ Note (optional)'
at set-buffer -- "$note"
at paste-buffer -p -t :0
shown 'xxxx'
press C-s
shown 'Enter sends'
press Enter
shown 'the disk is full'
hob questions --json | grep -c '"open": *true' | sed 's/^/open: /'
press -l ' and more'
shown 'xxxx and more'
rm "$STATE/ballast"
press C-s
shown 'Enter sends'
press Enter
shown 'ended with 0'
hob questions --all --json | grep -c '"note": *"xxx.*xxx and more"' | sed 's/^/kept: /'
hob stop >/dev/null
"#;

/// Runs a script as root in a namespace with a small disk. Returns the reason if the machine does not allow that.
fn on_a_small_disk(project: &TestProject, script: &str) -> Result<Ran, String> {
    let mut command = project.command("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", &format!("{ASKED}{script}")]);
    command.env("STATE", project.state_dir()).env("TOP", project.top()).env("PROJECT", project.root());
    // All of its children are in the same process group.
    let ran = Ran::run(command.process_group(0));
    if ran.stderr.contains("unshare: ") || ran.stderr.contains("mount: ") {
        return Err(ran.stderr);
    }
    Ok(ran)
}

#[test]
fn a_full_disk_refuses_an_answer_and_takes_it_when_there_is_room() {
    let project = fresh();
    let ran = match on_a_small_disk(&project, BY_COMMAND) {
        Ok(ran) => ran,
        Err(why) => return eprintln!("skipped: a full disk: this machine gives no namespaces: {why}"),
    };
    let (full, after) = ran.stdout.split_once("refused with").unwrap_or_else(|| panic!("it was taken: {ran:#?}"));
    assert!(full.contains("the disk is full: nothing was changed"), "{ran:#?}");
    assert!(after.contains("open: 1") && after.contains("not asked: "), "{ran:#?}");
    assert!(after.contains("answered by tester (command)") && after.contains("confirmed with 0"), "{ran:#?}");
}

#[test]
fn a_form_keeps_what_was_typed_when_the_disk_is_full() {
    if !has_program("tmux") {
        return;
    }
    let project = fresh();
    let ran = match on_a_small_disk(&project, BY_FORM) {
        Ok(ran) => ran,
        Err(why) => return eprintln!("skipped: a full disk: this machine gives no namespaces: {why}"),
    };
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "open: 1\nkept: 1\n"), "{ran:#?}");
}
