//! `hob repl check`: a table for built-in profiles and for one of the user's own.

use crate::fresh;

/// A program with a prompt that cannot be set.
const ADDER: &str = r#"
import sys
while True:
    try:
        print("adder> ", end="", flush=True)
        word, *rest = sys.stdin.readline().split()
        if word == "add": print(sum(map(int, rest)))
        elif word == "print": print(*rest)
        elif word == "spin":
            while True: pass
        else: print("Error: no", word, file=sys.stderr)
    except KeyboardInterrupt: print("Error: interrupted", file=sys.stderr)
"#;

#[test]
fn a_profile_of_the_project_is_checked_after_its_grant() {
    let project = fresh();
    project.write("adder.py", ADDER);
    project.write(
        "hob.toml",
        "[repl.profiles.adder]\ndriver = \"prompt\"\ncommand = [\"python3\", \"adder.py\"]\n\
         prompt = { text = \"adder> \", show = \"print {text}\", error = [\"Error: \"] }\n\
         check = { value = [\"add 40 2\", \"42\"], error = \"nonsense\", endless = [\"spin\"] }\n",
    );
    let refused = project.run(["repl", "check", "adder"]);
    assert!(refused.stderr.contains("is not granted"), "{refused:?}");
    project.run(["stop"]);
    project.run(["trust", "--yes"]).ok();
    let checked = project.run(["repl", "check", "adder"]).ok();
    let signs: Vec<(&str, &str)> = checked.lines().skip(1).map(|line| (line[..8].trim(), line[9..31].trim())).collect();
    assert_eq!(
        signs,
        [
            ("ok", "start"),
            ("ok", "value"),
            ("-", "several lines"),
            ("-", "output without newline"),
            ("-", "standard error"),
            ("ok", "error"),
            ("-", "standard input"),
            ("ok", "interrupt"),
            ("-", "exit"),
        ],
        "{checked}"
    );
    assert!(checked.contains("5 of 5, each next value right"), "{checked}");
}

#[test]
fn a_profile_that_does_not_work_fails_the_check() {
    let project = fresh();
    project.write(
        "hob.toml",
        "[repl.profiles.wrong]\ndriver = \"prompt\"\ncommand = [\"sqlite3\", \"-interactive\"]\n\
         prompt = { text = \"sqlite> \", show = \".print {text}\", echoes = true }\n\
         check = { value = [\"select 42;\", \"43\"] }\n",
    );
    project.run(["trust", "--yes"]).ok();
    let failed = project.run(["repl", "check", "wrong"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stdout.contains("FAILED value") && failed.stdout.contains("printed \"42"), "{failed:?}");
}
