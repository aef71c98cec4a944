//! Programs that run what their arguments say: `sudo`, `env`, `xargs`, `find -exec`, `sh -c`, `eval`. What they run is a
//! command too.

use super::word::Word;
use super::{Script, Simple};

/// How a program says what it runs.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// A command follows the options, and as many other arguments.
    Command { values: &'static [&'static str], first: usize, takes_assignments: bool },
    /// The arguments are the text of a script, joined by blanks.
    Text { values: &'static [&'static str] },
    /// A shell: a text after `-c`, else its input or a file.
    Shell,
    /// A command follows a word that says so.
    Find,
    /// A text after `-c`, else a command after the options and as many other arguments.
    TextOrCommand { values: &'static [&'static str], first: usize },
    /// The first argument is a text.
    Trap,
}

const fn command(values: &'static [&'static str], first: usize) -> Form {
    Form::Command { values, first, takes_assignments: false }
}

/// The programs, and their options that take a value as the next word.
const PROGRAMS: &[(&str, Form)] = &[
    ("builtin", command(&[], 0)),
    ("busybox", command(&[], 0)),
    ("command", command(&[], 0)),
    ("chroot", command(&["--userspec", "--groups"], 1)),
    ("chrt", command(&["-T", "-P", "-D"], 1)),
    ("doas", command(&["-u", "-C", "-a"], 0)),
    (
        "env",
        Form::Command {
            values: &["-u", "--unset", "-C", "--chdir", "-a", "--argv0"],
            first: 0,
            takes_assignments: true,
        },
    ),
    ("exec", command(&["-a"], 0)),
    ("ionice", command(&["-c", "-n", "--class", "--classdata"], 0)),
    ("nice", command(&["-n", "--adjustment"], 0)),
    ("nohup", command(&[], 0)),
    ("parallel", command(&["-j", "--jobs", "-I", "-n", "-a", "--arg-file", "-S", "--sshlogin"], 0)),
    ("setsid", command(&[], 0)),
    ("stdbuf", command(&["-i", "-o", "-e", "--input", "--output", "--error"], 0)),
    ("strace", command(&["-e", "-o", "-p", "-s", "-u", "-E", "-P", "-a", "-b", "-S"], 0)),
    (
        "sudo",
        Form::Command {
            values: &[
                "-u",
                "--user",
                "-g",
                "--group",
                "-h",
                "--host",
                "-p",
                "--prompt",
                "-C",
                "--close-from",
                "-r",
                "--role",
                "-t",
                "--type",
                "-T",
                "--command-timeout",
                "-U",
                "--other-user",
                "-D",
                "--chdir",
                "-R",
                "--chroot",
            ],
            first: 0,
            takes_assignments: true,
        },
    ),
    ("taskset", command(&[], 1)),
    ("time", command(&["-f", "--format", "-o", "--output"], 0)),
    ("timeout", command(&["-s", "--signal", "-k", "--kill-after"], 1)),
    ("unbuffer", command(&[], 0)),
    (
        "xargs",
        command(
            &[
                "-I",
                "-n",
                "-P",
                "-L",
                "-s",
                "-d",
                "-a",
                "-E",
                "--max-args",
                "--max-procs",
                "--max-lines",
                "--max-chars",
                "--delimiter",
                "--arg-file",
                "--replace",
            ],
            0,
        ),
    ),
    ("eval", Form::Text { values: &[] }),
    ("watch", Form::Text { values: &["-n", "--interval", "-q", "--equexit"] }),
    ("sh", Form::Shell),
    ("bash", Form::Shell),
    ("dash", Form::Shell),
    ("ash", Form::Shell),
    ("zsh", Form::Shell),
    ("ksh", Form::Shell),
    ("mksh", Form::Shell),
    ("find", Form::Find),
    ("fd", Form::Find),
    ("fdfind", Form::Find),
    ("flock", Form::TextOrCommand { values: &["-w", "--timeout", "-E", "--conflict-exit-code"], first: 1 }),
    ("su", Form::TextOrCommand { values: &["-s", "--shell", "-g", "--group", "-G", "-w"], first: usize::MAX }),
    (
        "runuser",
        Form::TextOrCommand { values: &["-u", "--user", "-g", "--group", "-G", "-s", "--shell", "-w"], first: 0 },
    ),
    ("script", Form::TextOrCommand { values: &["-o", "-t", "-T", "-I", "-O", "-B", "-m"], first: usize::MAX }),
    ("trap", Form::Trap),
];

/// Adds what a command runs that was added at this index.
pub(super) fn unwrap(script: &mut Script, index: usize, depth: usize) {
    let simple = &script.commands[index];
    let Some(name) = simple.words.first().and_then(Word::text) else { return };
    let name = name.rsplit('/').next().unwrap_or(name);
    if name == "hob" {
        if depth >= super::DEPTH_MAX {
            return script.is_opaque("it is nested deeper than what is looked at");
        }
        let simple = simple.clone();
        return super::hob::unwrap(script, &simple.words[1..], simple.input.as_ref(), simple.is_piped, depth);
    }
    let Some((_, form)) = PROGRAMS.iter().find(|(program, _)| *program == name) else { return };
    if depth >= super::DEPTH_MAX {
        return script.is_opaque("it is nested deeper than what is looked at");
    }
    let arguments = simple.words[1..].to_vec();
    let (input, is_piped) = (simple.input.clone(), simple.is_piped);
    match *form {
        Form::Command { values, first, takes_assignments } => {
            // `command -v NAME` only asks where it is.
            let asks = |word: &Word| word.text().is_some_and(|word| matches!(word, "-v" | "-V"));
            if name == "command" && arguments.first().is_some_and(asks) {
                return;
            }
            if name == "env"
                && let Some(text) = split_string(&arguments)
            {
                return read(script, &text, depth);
            }
            let mut words = after_options(&arguments, values, first, takes_assignments).to_vec();
            if words.is_empty() {
                return;
            }
            if matches!(name, "xargs" | "parallel") {
                words.push(Word::hole());
            }
            script.add(Simple { words, input, is_piped, ..Simple::default() }, depth + 1);
        }
        Form::Text { values } => {
            let words = if name == "watch" { after_options(&arguments, values, 0, false) } else { &arguments };
            read(script, &joined(words), depth);
        }
        Form::Shell => shell(script, &arguments, input, is_piped, depth),
        Form::Find => {
            let begins = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
            let place = arguments.iter().find(|word| !word.start().starts_with('-')).cloned();
            let place = place.unwrap_or_else(|| Word::known("."));
            let mut rest = arguments.as_slice();
            while let Some(at) = rest.iter().position(|word| word.text().is_some_and(|word| begins.contains(&word))) {
                rest = &rest[at + 1..];
                let end = rest.iter().position(|word| matches!(word.text(), Some(";" | "+"))).unwrap_or(rest.len());
                // What is found stands where the braces do, and begins as the place that is searched.
                let found = |word: &Word| if word.shown().contains("{}") { Word::below(&place) } else { word.clone() };
                let words: Vec<Word> = rest[..end].iter().map(found).collect();
                rest = &rest[end..];
                if !words.is_empty() {
                    script.add(Simple { words, ..Simple::default() }, depth + 1);
                }
            }
        }
        Form::TextOrCommand { values, first } => {
            let is_text = |word: &Word| matches!(word.text(), Some("-c" | "--command"));
            match arguments.iter().position(is_text) {
                Some(at) => {
                    if let Some(text) = arguments.get(at + 1) {
                        read(script, text, depth);
                    }
                }
                None => {
                    let words = after_options(&arguments, values, first, false).to_vec();
                    if !words.is_empty() {
                        script.add(Simple { words, input, is_piped, ..Simple::default() }, depth + 1);
                    }
                }
            }
        }
        Form::Trap => {
            if let Some(text) = arguments.iter().find(|word| !word.start().starts_with('-') || word.start() == "-") {
                read(script, text, depth);
            }
        }
    }
}

/// A shell with these arguments.
fn shell(script: &mut Script, arguments: &[Word], input: Option<Word>, is_piped: bool, depth: usize) {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let Some(text) = word.text() else { break };
        at += 1;
        match text {
            "--" | "-" => break,
            "-o" | "+o" | "-O" | "+O" | "--rcfile" | "--init-file" => at += 1,
            _ if text.starts_with("--") => {}
            _ if text.starts_with(['-', '+']) => {
                let has = |c| text.contains(c);
                if has('c') {
                    // More options may stand before the text.
                    let rest = &arguments[at..];
                    let skipped = rest.iter().take_while(|word| word.start().starts_with(['-', '+'])).count();
                    if let Some(text) = rest.get(skipped) {
                        read(script, text, depth);
                    }
                    return;
                }
                if has('s') {
                    return standard_input(script, input, is_piped, depth);
                }
            }
            _ => {
                at -= 1;
                break;
            }
        }
    }
    match arguments.get(at) {
        // A file is not looked into; a substitution was read, but its output is not known.
        Some(word) if word.has_hole() => script.is_opaque("a shell runs what only running could tell"),
        Some(_) => {}
        None => standard_input(script, input, is_piped, depth),
    }
}

fn standard_input(script: &mut Script, input: Option<Word>, is_piped: bool, depth: usize) {
    match input {
        Some(text) => read(script, &text, depth),
        None if is_piped => script.is_opaque("a shell runs the output of another command"),
        None => {}
    }
}

/// Reads the text of a script.
fn read(script: &mut Script, word: &Word, depth: usize) {
    match word.text() {
        Some(text) => script.read(text, depth + 1),
        None => {
            // What is known of it may still be found.
            script.read(&word.shown().replace('…', "\"$HOLE\""), depth + 1);
            script.is_opaque("a text that is run has parts which only running could tell");
        }
    }
}

fn joined(words: &[Word]) -> Word {
    let mut all = Word::default();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            all.push(' ');
        }
        for part in &word.parts {
            match part {
                super::Part::Text(text) => text.chars().for_each(|c| all.push(c)),
                super::Part::Hole { several } => all.push_hole(*several),
            }
        }
    }
    all
}

/// What stands after the options, their values, and `first` more arguments.
fn after_options<'a>(words: &'a [Word], values: &[&str], first: usize, takes_assignments: bool) -> &'a [Word] {
    let mut at = 0;
    let mut left = first;
    while let Some(word) = words.get(at) {
        let start = word.start();
        if word.text() == Some("--") {
            at += 1;
            if left == 0 {
                break;
            }
        } else if start.starts_with('-') && start.len() > 1 {
            at += 1 + usize::from(word.text().is_some_and(|word| values.contains(&word)));
        } else if takes_assignments && start.contains('=') && !start.starts_with('=') {
            at += 1;
        } else if left > 0 {
            left -= 1;
            at += 1;
        } else {
            break;
        }
    }
    words.get(at..).unwrap_or_default()
}

/// The text of `env -S TEXT`, with what follows it.
fn split_string(arguments: &[Word]) -> Option<Word> {
    for (at, word) in arguments.iter().enumerate() {
        let start = word.start();
        let rest = match start {
            "-S" | "--split-string" => return Some(joined(arguments.get(at + 1..)?)),
            _ if start.starts_with("--split-string=") => 15,
            _ if start.starts_with("-S") => 2,
            _ if start.starts_with('-') && !start.starts_with("--") && start.ends_with('S') => {
                return Some(joined(arguments.get(at + 1..)?));
            }
            _ if start.starts_with('-') || start.contains('=') => continue,
            _ => return None,
        };
        let first = word.without_start(rest);
        let words: Vec<Word> = std::iter::once(first).chain(arguments[at + 1..].iter().cloned()).collect();
        return Some(joined(&words));
    }
    None
}
