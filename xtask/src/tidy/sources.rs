//! Rules for a single file: its header, length and name, and forbidden calls.

use std::path::Path;

use super::edges::FORBIDDEN_NAMES;

/// Retired terms of our own and the standard terms that replaced them. No file or type may use a retired one.
const RETIRED: &[(&str, &str)] = &[
    ("look_out", "busy_wait"),
    ("LookOut", "BusyWait"),
    ("pace", "busy_wait"),
    ("awake", "busy_wait"),
    ("muting", "coalesce_wakes"),
    ("ParkingLot", "SuspendedCalls"),
    ("Noise", "LogThrottle"),
    ("noise", "log_throttle"),
    ("unwind", "catch_unwind"),
    ("newcomers", "unauthenticated"),
    ("apart", "progress_gap"),
    ("unheard", "unconfirmed_deliveries"),
    ("hand_outs", "unconfirmed_deliveries"),
    ("Unheard", "HandOuts"),
    ("footprint", "trim_memory"),
    ("Fate", "LossReason"),
    ("tidied", "excerpt_text"),
    ("whole", "read_write"),
    ("sole", "read_only"),
    ("known", "transaction_cache"),
    ("bounded", "limit"),
    ("along", "commit_hook"),
    ("Along", "InTransaction"),
    ("Companions", "CommitHook"),
    ("Errand", "OnWake"),
    ("Untold", "BeginUnlessCommitted"),
    ("desk", "callers"),
    ("Desk", "Callers"),
    ("Ear", "WakeListener"),
    ("News", "WakeDelivery"),
    ("Roll", "Roster"),
    ("Tips", "Versions"),
    ("Parked", "SuspendedCall"),
    ("mailbox", "side_channel"),
    ("Newcomers", "AdmissionQueue"),
    ("Nobody", "NoPeer"),
    ("Offers", "ServerCapabilities"),
    ("offer", "tool_summary"),
    ("crowds", "trim_memory"),
    ("Awake", "BusyWait"),
    ("Witness", "EventSink"),
    ("Aside", "StderrPayload"),
    ("selftest", "profiles"),
    ("proofs", "generator"),
    ("Unwritable", "CodegenError"),
    ("Alone", "NoSources"),
    ("Meddling", "HookedStore"),
    ("House", "Fixture"),
    ("house_tests", "fixture"),
];

/// Maximum number of lines before a file's tests, or in total for a file of tests.
const MAX_LINES: usize = 500;

/// Checks one file, whose path is relative to the root.
pub(crate) fn check(file: &Path, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let shown = file.display();
    if !text.starts_with("//!") {
        complaints.push(format!("{shown}: open with `//!`: what the file owns, what it does not, where to start"));
    }
    for part in file.components() {
        let part = part.as_os_str().to_string_lossy();
        let name = part.strip_suffix(".rs").unwrap_or(&part);
        if FORBIDDEN_NAMES.contains(&name) {
            complaints.push(format!("{shown}: the name `{name}` says nothing; put it with its owner"));
        }
        if let Some((_, word)) = RETIRED.iter().find(|(retired, _)| *retired == name) {
            complaints.push(format!("{shown}: the field's word for `{name}` is `{word}`"));
        }
    }
    let split = tests_start(file, text);
    let (length, which) = if split == 0 { (text.lines().count(), "") } else { (split, " before its tests") };
    if length > MAX_LINES {
        complaints.push(format!("{shown}: {length} lines{which}; the limit is {MAX_LINES}, so split off a module"));
    }
    // Types with a schema and the library's interface need a description, even a one-word one.
    let described = text.contains("JsonSchema") || file.starts_with("crates/mcp");
    let (mut is_paused, mut before) = (false, "");
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("#[tokio::test") {
            is_paused = line.contains("start_paused = true");
        }
        if let Some((retired, word)) =
            declared(line).and_then(|name| RETIRED.iter().find(|(retired, _)| *retired == name))
        {
            complaints.push(format!("{shown}:{}: the field's word for `{retired}` is `{word}`", index + 1));
        }
        let begins = !std::mem::replace(&mut before, line.trim_start()).starts_with("///");
        if !described && begins && says_nothing(line) {
            complaints
                .push(format!("{shown}:{}: this comment says no more than the name below it; leave it out", index + 1));
        }
        let Some(rule) = forbidden_call(line, index >= split, is_paused) else { continue };
        complaints.push(format!("{shown}:{}: {rule}", index + 1));
    }
    complaints
}

/// The name of the type that a line declares.
fn declared(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("pub").map_or(line, |line| line.split_once(' ').map_or(line, |(_, rest)| rest));
    let name = ["struct ", "enum ", "trait ", "type "].iter().find_map(|word| line.strip_prefix(word))?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// The number of lines before the tests: all lines of a file without tests, none of a file of tests.
pub(super) fn tests_start(file: &Path, text: &str) -> usize {
    let in_tests = file.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "benches");
    let is_tests = file.file_stem().is_some_and(|stem| stem == "tests" || stem.to_string_lossy().ends_with("_tests"));
    if in_tests || is_tests {
        return 0;
    }
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let inline = |index: usize| {
        let after = lines[index + 1..].iter().find(|line| !line.starts_with("#["));
        after.is_some_and(|line| line.contains("mod ") && line.ends_with('{'))
    };
    let start = (0..lines.len()).find(|index| lines[*index] == "#[cfg(test)]" && inline(*index));
    start.unwrap_or(lines.len())
}

/// True for a documentation comment of one word, or `The tool.`
fn says_nothing(line: &str) -> bool {
    let comment = line.trim_start().strip_prefix("/// ").and_then(|comment| comment.strip_suffix('.'));
    comment.is_some_and(|comment| comment.chars().all(char::is_alphabetic) || comment == "The tool")
}

/// Returns the rule that the line breaks. A test with paused time may sleep, since that takes no time.
fn forbidden_call(line: &str, is_test: bool, is_paused: bool) -> Option<&'static str> {
    let code = line.trim_start();
    if code.starts_with("//") {
        return None;
    }
    // Split in two, so that this file does not break its own rules.
    let has = |head: &str, tail: &str| code.find(head).is_some_and(|at| code[at + head.len()..].starts_with(tail));
    if has("#[ig", "nore") {
        return Some("no test is ignored: a missing program is named and counted as skipped");
    }
    if has("todo", "!(") || has("unimplemented", "!(") {
        return Some("nothing unfinished is committed");
    }
    if !is_test && has(".unw", "rap()") {
        return Some("no unwrap outside tests: return an error, or `expect` the invariant");
    }
    let sleeps = has("thread::", "sleep(") || (!is_paused && has("time::", "sleep(")) || code.starts_with("sleep(");
    let is_explained = code.contains("// polls:") || code.contains("// sleeps:");
    if is_test && sleeps && !is_explained {
        return Some(
            "tests wait on a value (a poll of foreign state says `// polls: what`, a right sleep `// sleeps: why`)",
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn run(file: &str, text: &str) -> String {
        check(Path::new(file), text).join("\n")
    }

    #[test]
    fn retired_words_do_not_come_back() {
        let text = "//! Waits.\n\npub(crate) struct LookOut(u8);\n\nstruct Lookout;\n";
        let said = check(Path::new("crates/mcp/src/wire/awake.rs"), text).join("\n");
        assert_eq!(
            said,
            "crates/mcp/src/wire/awake.rs: the field's word for `awake` is `busy_wait`\n\
             crates/mcp/src/wire/awake.rs:3: the field's word for `LookOut` is `BusyWait`"
        );
    }

    #[test]
    fn the_length_counts_up_to_the_tests_and_all_of_a_file_of_tests() {
        let long = format!("//! A.\n{}#[cfg(test)]\nmod tests {{\n{}}}\n", "\n".repeat(499), "\n".repeat(900));
        assert_eq!(run("crates/a/src/a.rs", &long), "");
        let longer = format!("//! A.\n{}", "\n".repeat(500));
        expect!["crates/a/src/a.rs: 501 lines before its tests; the limit is 500, so split off a module"]
            .assert_eq(&run("crates/a/src/a.rs", &longer));
        expect!["crates/a/tests/it/a.rs: 501 lines; the limit is 500, so split off a module"]
            .assert_eq(&run("crates/a/tests/it/a.rs", &longer));
        expect!["crates/a/src/tests.rs: 501 lines; the limit is 500, so split off a module"]
            .assert_eq(&run("crates/a/src/tests.rs", &longer));
    }

    #[test]
    fn unwrap_is_for_tests_and_prose() {
        let text =
            "//! A.\n// x.unwrap()\nfn f() { x.unwrap(); }\n#[cfg(test)]\nmod tests { \n fn t() { x.unwrap(); } }\n";
        expect!["crates/a/src/a.rs:3: no unwrap outside tests: return an error, or `expect` the invariant"]
            .assert_eq(&run("crates/a/src/a.rs", text));
        assert_eq!(
            run("crates/a/src/a.rs", "//! A.\n#[cfg(test)]\nmod tests;\nfn f() { x.unwrap(); }\n").lines().count(),
            1
        );
    }

    #[test]
    fn tests_neither_sleep_nor_are_ignored() {
        let text = [
            "//! A.",
            concat!("#[ig", "nore]"),
            "fn a() {",
            concat!("    std::thread::", "sleep(ms);"),
            concat!("    tokio::time::", "sleep(ms).await; // polls: the process table"),
            concat!("    todo", "!()"),
            "}",
            "#[tokio::test(start_paused = true)]",
            concat!("    tokio::time::", "sleep(ms).await;"),
            "#[tokio::test]",
            concat!("    tokio::time::", "sleep(ms).await;"),
        ];
        expect![[r#"
            crates/a/tests/it/a.rs:2: no test is ignored: a missing program is named and counted as skipped
            crates/a/tests/it/a.rs:4: tests wait on a value (a poll of foreign state says `// polls: what`, a right sleep `// sleeps: why`)
            crates/a/tests/it/a.rs:6: nothing unfinished is committed
            crates/a/tests/it/a.rs:11: tests wait on a value (a poll of foreign state says `// polls: what`, a right sleep `// sleeps: why`)"#]].assert_eq(&run("crates/a/tests/it/a.rs", &text.join("\n")));
    }

    #[test]
    fn names_that_say_nothing_are_refused() {
        expect!["crates/repl/src/utils.rs: the name `utils` says nothing; put it with its owner"]
            .assert_eq(&run("crates/repl/src/utils.rs", "//! A.\n"));
    }
}
