//! A full disk: an answer that cannot be stored is refused, its question stays open, the form keeps the input, and the same
//! answer is accepted once there is space.

use std::os::unix::process::CommandExt;

use testkit::{Ran, has_program};

use crate::fresh;

/// Runs as root in a namespace: asks on a small disk, fills it, answers by a command and with keys in a form, makes room, and
/// sends the form again. `shown` polls the screen.
const ON_A_SMALL_DISK: &str = r#"
set -e
cd "$PROJECT"
mkdir -m 700 -p "$STATE"
mount -t tmpfs -o size=256k,mode=700 none "$STATE"
hob ask confirm 'Delete the branch?' --wait 0 >/dev/null 2>&1 || true
head -c 2000000 /dev/zero >"$STATE/ballast" 2>/dev/null || true
note=$(head -c 3900 /dev/zero | tr '\0' x)
open() { hob questions --json | grep -c '"open": *true' | sed 's/^/open: /'; }
hob answer --no --note "$note" 2>&1 || echo "refused with $?"
open
hob ask confirm 'Push?' --wait 0 >/dev/null 2>&1 || echo "not asked: $?"

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
open
press -l ' and more'
shown 'xxxx and more'
rm "$STATE/ballast"
press C-s
shown 'Enter sends'
press Enter
shown 'ended with 0'
hob questions --all --json | grep -c '"note": *"xxx.*xxx and more"' | sed 's/^/kept: /'
hob ask wait "$(hob questions --all --json | grep -o -m1 'q_[0-9a-z]*')" >/dev/null
echo "confirmed with $?"
hob stop >/dev/null
"#;

#[test]
fn a_full_disk_refuses_an_answer_and_takes_it_when_there_is_room() {
    if !has_program("tmux") {
        return;
    }
    let project = fresh();
    let mut command = project.command("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", ON_A_SMALL_DISK]);
    command.env("STATE", project.state_dir()).env("TOP", project.top()).env("PROJECT", project.root());
    // All of its children are in the same process group.
    let ran = Ran::run(command.process_group(0));
    if ran.stderr.contains("unshare: ") || ran.stderr.contains("mount: ") {
        return eprintln!("skipped: a full disk: this machine gives no namespaces: {}", ran.stderr);
    }
    let (full, after) = ran.stdout.split_once("refused with").unwrap_or_else(|| panic!("it was taken: {ran:#?}"));
    assert!(full.contains("the disk is full: nothing was changed"), "{ran:#?}");
    let (_, after) = after.split_once('\n').unwrap();
    assert!(after.starts_with("open: 1\nnot asked: ") && ran.code == Some(0), "{ran:#?}");
    assert!(after.ends_with("\nopen: 1\nkept: 1\nconfirmed with 0\n"), "{ran:#?}");
}
