//! Transcripts: Markdown files that show commands with their output, and are checked by running them.
//!
//! A block marked `console` holds commands (`$ …`, run by bash in the project), each followed by its output, stdout and
//! stderr together, and `[exit N]` if the exit code is not 0. A block marked `file NAME` is first written to that file.
//! Text that differs from run to run is replaced by a name in brackets ([`Redactions`]). `UPDATE_EXPECT=1` writes the
//! actual output into the file instead of comparing.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::TestProject;

/// Runs a transcript in a project and compares the output.
///
/// # Panics
/// If the output differs from the file; the message shows both.
pub fn check(file: &Path, project: &TestProject) {
    let expected = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let actual = play(&expected, project);
    if expected == actual {
        return;
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(file, actual).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        return;
    }
    panic!(
        "{} does not show what happens (UPDATE_EXPECT=1 rewrites it):\n{}",
        file.display(),
        difference(&expected, &actual)
    );
}

/// Runs a transcript in a project, and returns it with the actual output of its commands.
pub fn play(text: &str, project: &TestProject) -> String {
    let redactions = Redactions::for_project(project);
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        let Some(kind) = line.strip_prefix("```").filter(|kind| !kind.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match kind.strip_prefix("file ") {
            Some(name) => {
                let content: String = block.iter().map(|line| format!("{line}\n")).collect();
                project.write(name, &content);
                out.push_str(&content);
            }
            None if kind == "console" => {
                for command in commands(&block) {
                    out.push_str(&format!("$ {command}\n{}", run(&command, project, &redactions)));
                }
            }
            None => block.iter().for_each(|line| out.push_str(&format!("{line}\n"))),
        }
        out.push_str("```\n");
    }
    out
}

/// Returns the commands of a block; a line that begins with `> ` continues one.
fn commands(block: &[&str]) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut open = false;
    for line in block {
        match (line.strip_prefix("$ "), line.strip_prefix("> "), commands.last_mut()) {
            (Some(command), ..) => commands.push(command.to_owned()),
            (None, Some(more), Some(last)) if open => last.push_str(&format!("\n> {more}")),
            _ => {}
        }
        open = line.starts_with("$ ") || (open && line.starts_with("> "));
    }
    commands
}

fn run(command: &str, project: &TestProject, redactions: &Redactions) -> String {
    let script = format!("exec 2>&1\n{}", command.replace("\n> ", "\n"));
    let output = project
        .command("bash")
        .args(["-c", &script])
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("bash: {error}"));
    let mut text = redactions.apply(&String::from_utf8_lossy(&output.stdout));
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    match output.status.code() {
        Some(0) => {}
        Some(code) => text.push_str(&format!("[exit {code}]\n")),
        None => text.push_str(&format!("[{}]\n", output.status)),
    }
    text
}

/// Text that differs from run to run, and its replacements.
pub struct Redactions {
    texts: Vec<(String, &'static str)>,
}

impl Redactions {
    /// Creates the redactions for a project: its directories, versions and measured numbers.
    pub fn for_project(project: &TestProject) -> Redactions {
        let shown = |path: &Path| path.display().to_string();
        let texts = vec![
            (shown(&project.root()), "[project]"),
            (shown(&project.home()), "[home]"),
            (shown(&project.runtime_dir()), "[run]"),
            (shown(project.top()), "[top]"),
            (env!("CARGO_PKG_VERSION").to_owned(), "[version]"),
            // Only where a clause ends, so that a short machine name does not match other text.
            (format!(" on {};", machine()), " on [machine];"),
            (format!(" on {}.", machine()), " on [machine]."),
            (format!(" on {}\"", machine()), " on [machine]\""),
        ];
        Redactions { texts }
    }

    /// Replaces text that differs from run to run by stable names.
    pub fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (from, to) in &self.texts {
            text = text.replace(from, to);
        }
        redact_numbers(&redact_messages(&text))
    }
}

/// Returns this machine's name.
fn machine() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// Replaces ids and times: `msg_01M8…` → `[message]`, `q_7k2mx` → `[question]`, `2026-11-22T01:02:03.456Z` → `[time]`.
fn redact_messages(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c == 'm' || c == 'q' || c.is_ascii_digit()) {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let id = rest.strip_prefix("msg_").filter(|id| {
            let length = id.find(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit()).unwrap_or(id.len());
            length == 26
        });
        let is_time = rest.as_bytes().get(..24).is_some_and(|time| {
            let shape = b"0000-00-00T00:00:00.000Z";
            time.iter().zip(shape).all(|(c, s)| if *s == b'0' { c.is_ascii_digit() } else { c == s })
        });
        let question = rest.strip_prefix("q_").filter(|id| {
            let length = id.find(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit()).unwrap_or(id.len());
            length == 5
        });
        match id {
            _ if question.is_some() => {
                out.push_str("[question]");
                rest = &rest[7..];
            }
            Some(id) => {
                out.push_str("[message]");
                rest = &id[26..];
            }
            None if is_time => {
                out.push_str("[time]");
                rest = &rest[24..];
            }
            None => {
                out.push_str(&rest[..1]);
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// Units after which a number is a measurement.
const UNITS: &[&str] = &["ms", "s", "min", "µs", "KiB", "MiB", "GiB"];

/// Words after which a number is specific to this run.
const NAMES: &[&str] = &["pid ", "pid\": ", "process ", "life ", "port ", "<interactive>:"];

/// Replaces numbers: `12 ms` → `[n] ms`, `pid 77` → `pid [n]`, `9.0.2` → `[version]`, hexadecimal ids of 16 digits and
/// more → `[id]`.
fn redact_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let word_before = out.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let hex = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number = rest[..number].trim_end_matches('.').len();
        if !word_before && hex >= 16 && !rest[hex..].starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            out.push_str("[id]");
            rest = &rest[hex..];
        } else if !word_before && number > 0 {
            let after = &rest[number..];
            let unit = after.strip_prefix(' ').unwrap_or(after);
            let measured = UNITS.iter().any(|name| {
                unit.strip_prefix(name).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
            });
            let named = NAMES.iter().any(|name| out.ends_with(name));
            let digits = &rest[..number];
            let version = digits.split('.').count() == 3 && digits.split('.').all(|part| !part.is_empty());
            out.push_str(match () {
                () if measured || named => "[n]",
                () if version => "[version]",
                () => digits,
            });
            rest = after;
        } else {
            out.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

/// Returns the lines around the first difference, expected and actual.
fn difference(expected: &str, actual: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let same_end = old[same..].iter().rev().zip(new[same..].iter().rev()).take_while(|(old, new)| old == new).count();
    let context = old[same.saturating_sub(5)..same].iter().map(|line| format!("  {line}\n"));
    let gone = old[same..old.len() - same_end].iter().map(|line| format!("- {line}\n"));
    let come = new[same..new.len() - same_end].iter().map(|line| format!("+ {line}\n"));
    context.chain(gone).chain(come).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_measure_get_names() {
        let text =
            "pid 4711 took 12 ms, 3.5 s. 1+1 = 2; 7 sessions, 20.1 MiB, a10 0123456789abcdef 3ms, GHC 9.0.2, 1..10";
        assert_eq!(
            redact_numbers(text),
            "pid [n] took [n] ms, [n] s. 1+1 = 2; 7 sessions, [n] MiB, a10 [id] [n]ms, GHC [version], 1..10"
        );
    }

    #[test]
    fn messages_get_names() {
        let text = "msg_01M80GXSFPXCND9PG5F88678M9, msg_x at 2026-11-22T02:21:23.318Z, 2026-11-22, q_7k2mx, q_none, q";
        assert_eq!(redact_messages(text), "[message], msg_x at [time], 2026-11-22, [question], q_none, q");
    }

    #[test]
    fn commands_are_told_from_output() {
        let block = ["$ cat <<E", "> a", "> E", "a", "> output", "$ true"];
        assert_eq!(commands(&block), ["cat <<E\n> a\n> E", "true"]);
    }

    #[test]
    fn a_transcript_is_played() {
        let project = TestProject::new("/bin/true");
        let text = "# T\n\n```file a/b\nhi\n```\n\n```console\n$ cat a/b; pwd\nold\n$ exit 3\n```\nend\n";
        assert_eq!(
            play(text, &project),
            "# T\n\n```file a/b\nhi\n```\n\n```console\n$ cat a/b; pwd\nhi\n[project]\n$ exit 3\n[exit 3]\n```\nend\n"
        );
    }
}
