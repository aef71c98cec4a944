//! A full disk: an answer that cannot be stored is refused, its question stays open, and the same answer is taken when
//! there is room.

use std::os::unix::process::CommandExt;

use testkit::Ran;

use crate::fresh;

/// Runs as root in a namespace on a small disk: asks, fills the disk, answers, makes room, and answers again.
const ON_A_SMALL_DISK: &str = r#"
set -e
cd "$PROJECT"
mkdir -m 700 -p "$STATE"
mount -t tmpfs -o size=256k,mode=700 none "$STATE"
hob ask confirm 'Delete the branch?' --wait 0 >/dev/null 2>&1 || true
head -c 2000000 /dev/zero >"$STATE/ballast" 2>/dev/null || true
note=$(head -c 3900 /dev/zero | tr '\0' x)
hob answer --yes --note "$note" 2>&1 || echo "refused with $?"
hob questions --json | grep -c '"open": *true' | sed 's/^/open: /'
hob ask confirm 'Push?' --wait 0 2>&1 || echo "not asked: $?"
rm "$STATE/ballast"
hob answer --yes --note "$note"
hob ask confirm 'Delete the branch?' --wait 0 >/dev/null
echo "confirmed with $?"
hob stop >/dev/null
"#;

#[test]
fn a_full_disk_refuses_an_answer_and_takes_it_when_there_is_room() {
    let project = fresh();
    let mut command = project.command("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", ON_A_SMALL_DISK]);
    command.env("STATE", project.state_dir()).env("TOP", project.top()).env("PROJECT", project.root());
    // Everything it started ends with it.
    let ran = Ran::of(command.process_group(0));
    if ran.stderr.contains("unshare: ") || ran.stderr.contains("mount: ") {
        eprintln!("skipped: a full disk: this machine gives no namespaces: {}", ran.stderr);
        return;
    }
    let (full, after) = ran.stdout.split_once("refused with").unwrap_or_else(|| panic!("it was taken: {ran:#?}"));
    assert!(full.contains("the disk is full: nothing was changed"), "{ran:#?}");
    assert!(after.contains("open: 1") && after.contains("not asked: "), "{ran:#?}");
    assert!(after.contains("answered by tester (command)") && after.contains("confirmed with 0"), "{ran:#?}");
}
