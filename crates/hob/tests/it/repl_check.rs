//! `hob repl check`: a table for a profile of the user's own, and the exit code.

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
    let write = |sum: &str| {
        let profile = "[repl.profiles.adder]\ndriver = \"prompt\"\ncommand = [\"python3\", \"adder.py\"]\n\
                       prompt = { text = \"adder> \", show = \"print {text}\", error = [\"Error: \"] }\n";
        let samples = format!("value = [\"add 40 2\", \"{sum}\"], error = \"nonsense\", endless = [\"spin\"]");
        project.write("hob.toml", &format!("{profile}check = {{ {samples} }}\n"));
    };
    let check = || project.run(["repl", "check", "adder"]);
    write("42");
    let refused = check();
    assert!(refused.stderr.contains("is not granted"), "{refused:?}");
    let grant = || {
        project.run(["stop"]);
        project.run(["trust", "--yes"]).ok();
    };
    grant();
    let checked = check().ok();
    let signs: Vec<(&str, &str)> = checked.lines().skip(1).map(|line| (line[..8].trim(), line[9..31].trim())).collect();
    let ok: Vec<&str> = signs.iter().filter(|(sign, _)| *sign == "ok").map(|(_, what)| *what).collect();
    assert_eq!((ok, signs.len()), (vec!["start", "value", "error", "interrupt"], 9), "{checked}");
    assert!(signs.iter().all(|(sign, _)| ["ok", "-"].contains(sign)), "{checked}");
    assert!(checked.contains("5 of 5, each next value right"), "{checked}");
    write("43");
    grant();
    let failed = check();
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stdout.contains("FAILED value") && failed.stdout.contains("printed \"42"), "{failed:?}");
}
