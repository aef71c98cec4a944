//! Programs that run what their arguments say: `sudo`, `env`, `xargs`, `find -exec`, `sh -c`, `eval`. What they run is a
//! command too. An option of such a program that is not known makes the text opaque.

use super::word::Word;
use super::{Part, Script, Simple, Step};
use crate::policy::options::{Argument, Arguments, GIT, Given, Options, entry_of, options_of, read};

/// How a program says what it runs.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// A command follows the options and as many other arguments.
    Command(Options, usize),
    /// The arguments are the text of a script.
    Text(Options),
    /// A text after `-c`, else a command after the options and as many other arguments.
    TextOrCommand(Options, usize),
    /// A shell of a user: a text after `-c`, else its input.
    Login(Options),
    /// A shell: a text after `-c`, else a file or its input.
    Shell,
    Find,
    Trap,
    Source,
    Alias,
    ShellOption,
    ChangeDirectory,
    Git,
    Make,
    Hob,
}

const SU: Options = "c|command: session-command: l|login m|p|preserve-environment s|shell: g|group: G|supp-group: f|fast P|pty T|no-pty u|user: w|whitelist-environment: h|help V|version";
const PROGRAMS: &[(&str, Form)] = &[
    ("builtin", Form::Command("", 0)),
    ("busybox", Form::Command("", 0)),
    ("command", Form::Command("p v V", 0)),
    ("coproc", Form::Command("", 0)),
    ("chroot", Form::Command("userspec: groups: skip-chdir", 1)),
    (
        "chrt",
        Form::Command(
            "a|all-tasks b|batch d|deadline f|fifo i|idle m|max o|other p|pid r|rr R|reset-on-fork T|sched-runtime: P|sched-period: D|sched-deadline: v|verbose",
            1,
        ),
    ),
    ("doas", Form::Command("a: C: L n s u:", 0)),
    (
        "env",
        Form::Command(
            "i|ignore-environment 0|null u|unset: C|chdir: S|split-string: a|argv0: v|debug block-signal? default-signal? ignore-signal? list-signal-handling help version",
            0,
        ),
    ),
    ("exec", Form::Command("c l a:", 0)),
    ("ionice", Form::Command("c|class: n|classdata: p|pid: P|pgid: u|uid: t|ignore", 0)),
    ("nice", Form::Command("n|adjustment: 0 1 2 3 4 5 6 7 8 9", 0)),
    ("nohup", Form::Command("", 0)),
    (
        "parallel",
        Form::Command(
            "j|jobs: I: n|max-args: N: a|arg-file: S|sshlogin: k|keep-order t|verbose v q|quote X m 0|null d|delimiter: C|colsep: u|ungroup bar eta progress dry-run halt: joblog: results: timeout: retries: delay: tag will-cite no-notice linebuffer|lb pipe",
            0,
        ),
    ),
    ("setsid", Form::Command("c|ctty f|fork w|wait", 0)),
    ("stdbuf", Form::Command("i|input: o|output: e|error:", 0)),
    (
        "strace",
        Form::Command(
            "e|trace: o|output: p|attach: s|string-limit: u|user: E|env: P|trace-path: a|columns: b: S|summary-sort-by: f|follow-forks ff c|summary-only C|summary t r tt T|syscall-times v q|quiet? y yy i x xx k|stack-traces w z Z D|daemonize? I|interruptible: O|summary-syscall-overhead: n h V",
            0,
        ),
    ),
    (
        "sudo",
        Form::Command(
            "A|askpass B|bell b|background C|close-from: D|chdir: E|preserve-env? e|edit g|group: H|set-home h|host: i|login K|remove-timestamp k|reset-timestamp l|list N|no-update n|non-interactive P|preserve-groups p|prompt: R|chroot: r|role: S|stdin s|shell t|type: T|command-timeout: U|other-user: u|user: V|version v|validate",
            0,
        ),
    ),
    ("taskset", Form::Command("a|all-tasks p|pid c|cpu-list", 1)),
    ("time", Form::Command("p|portability f|format: o|output: a|append v|verbose q|quiet", 0)),
    ("timeout", Form::Command("k|kill-after: s|signal: v|verbose f|foreground p|preserve-status", 1)),
    ("unbuffer", Form::Command("p", 0)),
    (
        "xargs",
        Form::Command(
            "0|null a|arg-file: d|delimiter: E: e|eof? I: i|replace? L: l|max-lines? n|max-args: P|max-procs: p|interactive o|open-tty process-slot-var: r|no-run-if-empty s|max-chars: t|verbose x|exit show-limits",
            0,
        ),
    ),
    ("eval", Form::Text("")),
    (
        "watch",
        Form::Text(
            "n|interval: d|differences? e|errexit g|chgexit q|equexit: t|no-title b|beep p|precise c|color C|no-color x|exec w|no-wrap r|no-rerun",
        ),
    ),
    ("sh", Form::Shell),
    ("bash", Form::Shell),
    ("dash", Form::Shell),
    ("ash", Form::Shell),
    ("zsh", Form::Shell),
    ("ksh", Form::Shell),
    ("mksh", Form::Shell),
    ("rbash", Form::Shell),
    ("find", Form::Find),
    ("fd", Form::Find),
    ("fdfind", Form::Find),
    (
        "flock",
        Form::TextOrCommand(
            "s|shared x|e|exclusive u|unlock n|nb|nonblock w|wait|timeout: o|close E|conflict-exit-code: c|command: F|no-fork v|verbose",
            1,
        ),
    ),
    (
        "script",
        Form::TextOrCommand(
            "a|append c|command: e|return E|echo: f|flush force q|quiet t|timing? I|log-in: O|log-out: B|log-io: T|log-timing: m|logging-format: o|output-limit:",
            1,
        ),
    ),
    ("runuser", Form::TextOrCommand(SU, 0)),
    ("su", Form::Login(SU)),
    ("trap", Form::Trap),
    ("source", Form::Source),
    (".", Form::Source),
    ("alias", Form::Alias),
    ("shopt", Form::ShellOption),
    ("cd", Form::ChangeDirectory),
    ("pushd", Form::ChangeDirectory),
    ("popd", Form::ChangeDirectory),
    ("git", Form::Git),
    ("make", Form::Make),
    ("gmake", Form::Make),
    ("hob", Form::Hob),
];

const UNKNOWN_OPTION: &str = "hob does not know an option of a program that runs another";
const UNKNOWN_TEXT: &str = "a shell runs text that only running could tell";

/// Adds what a command runs that was added at this index.
pub(super) fn unwrap(script: &mut Script, index: usize, depth: usize) {
    let Some(name) = script.commands[index].name().map(str::to_owned) else { return };
    let Some((name, form)) = PROGRAMS.iter().find(|(program, _)| *program == name) else { return };
    if depth >= super::DEPTH_MAX {
        return script.set_opaque("the shell text is nested too deeply");
    }
    let simple = script.commands[index].clone();
    let words = &simple.words[1..];
    match *form {
        Form::Command(options, first) => command(script, &simple, name, options, first, depth),
        Form::Text(options) => {
            let arguments = known(script, options, words);
            let rest = words.get(arguments.length..).unwrap_or_default();
            run(script, &Word::joined(rest), depth, *name != "eval");
        }
        Form::TextOrCommand(options, first) => {
            let arguments = known(script, options, words);
            let mut rest = words.get(arguments.length..).unwrap_or_default();
            let mut text = value_of(&arguments, options, "c").cloned();
            if text.is_none() && first > 0 {
                rest = rest.get(first..).unwrap_or_default();
                let more = known(script, options, rest);
                text = value_of(&more, options, "c").cloned();
            }
            match text {
                Some(text) => run(script, &text, depth, true),
                None if rest.is_empty() => input(script, &simple, depth),
                None => inner(script, &simple, rest.to_vec(), depth),
            }
        }
        Form::Login(options) => {
            let arguments = read(Some(options), words, false, false);
            doubt(script, &arguments);
            let mut is_run = false;
            for given in
                given(&arguments).filter(|given| is_entry(given, options, "c") || given.name == "--session-command")
            {
                if let Some(text) = &given.value {
                    run(script, text, depth, true);
                    is_run = true;
                }
            }
            if !is_run {
                input(script, &simple, depth);
            }
        }
        Form::Shell => shell(script, &simple, depth),
        Form::Find => find(script, &simple, depth),
        Form::Trap => {
            let arguments = known(script, "l p P", words);
            if let Some(text) = words.get(arguments.length) {
                run(script, text, depth, false);
            }
        }
        Form::Source => {
            let words = if words.first().and_then(Word::text) == Some("--") { &words[1..] } else { words };
            match words.first() {
                Some(word) if word.text().is_none() => script.set_opaque(UNKNOWN_TEXT),
                Some(word) if is_standard_input(word) => input(script, &simple, depth),
                _ => {}
            }
        }
        Form::Alias => {
            if words.iter().any(|word| word.start().contains('=') || word.has_hole()) {
                script.set_opaque("an alias gives a command another name");
            }
        }
        Form::ShellOption => {
            let is_harmless = |word: &Word| {
                word.text()
                    .is_some_and(|text| text.starts_with('-') || matches!(text, "globstar" | "nullglob" | "failglob"))
            };
            if !words.iter().all(is_harmless) {
                script.set_opaque("`shopt` changes how the shell text reads");
            }
        }
        Form::ChangeDirectory => {
            let arguments = read(Some("L P e n"), words, true, false);
            let to = match words.get(arguments.length) {
                _ if *name == "popd" => Word::hole(),
                None if *name == "cd" => Word::known("~/."),
                Some(to) if to.text().is_none_or(|to| to != "-" && !to.starts_with('+')) => to.clone(),
                _ => Word::hole(),
            };
            script.change_directory(to);
        }
        Form::Git => git(script, index, &simple, depth),
        Form::Hob => super::hob::unwrap(script, words, simple.input.as_ref(), simple.is_piped, depth),
        Form::Make => {
            let (options, _) = options_of("make", words);
            let arguments = read(options, words, false, false);
            chdir(&mut script.commands[index].steps, &arguments);
            for given in given(&arguments).filter(|given| is_entry(given, options.unwrap_or_default(), "E")) {
                if given.value.is_some() {
                    script.set_opaque("`make --eval` runs text that hob does not read");
                }
            }
        }
    }
}

/// A program that runs a command after its options.
fn command(script: &mut Script, simple: &Simple, name: &str, options: Options, first: usize, depth: usize) {
    let words = &simple.words[1..];
    let arguments = known(script, options, words);
    // `command -v NAME` asks where it is.
    if name == "command" && given(&arguments).any(|given| matches!(given.name.as_str(), "-v" | "-V")) {
        return;
    }
    let mut simple = simple.clone();
    chdir(&mut simple.steps, &arguments);
    if name == "env"
        && let Some(text) = value_of(&arguments, options, "S")
    {
        let rest = words.get(arguments.length..).unwrap_or_default();
        let all: Vec<Word> = std::iter::once(text.clone()).chain(rest.iter().cloned()).collect();
        return run(script, &Word::joined(&all), depth, true);
    }
    let mut rest = words.get(arguments.length..).unwrap_or_default();
    let is_skipped = |word: &Word| match name {
        "env" => word.text() == Some("-") || word.start().contains('='),
        "sudo" | "doas" => word.start().contains('='),
        _ => false,
    };
    while rest.first().is_some_and(is_skipped) {
        rest = &rest[1..];
    }
    rest = rest.get(first..).unwrap_or_default();
    if rest.first().is_some_and(|word| word.text() == Some("--")) {
        rest = &rest[1..];
    }
    if name == "coproc" && rest.get(1).and_then(Word::text) == Some("{") {
        rest = &rest[1..];
    }
    if rest.is_empty() {
        if name == "sudo"
            && given(&arguments).any(|given| matches!(given.name.as_str(), "-i" | "-s" | "--login" | "--shell"))
        {
            input(script, &simple, depth);
        }
        return;
    }
    let mut rest = rest.to_vec();
    match name {
        "xargs" => {
            let mark = value_of(&arguments, options, "I").or_else(|| value_of(&arguments, options, "i"));
            let is_replacing =
                given(&arguments).any(|given| is_entry(given, options, "I") || is_entry(given, options, "i"));
            let mark = mark.and_then(Word::text).unwrap_or("{}");
            if is_replacing {
                rest.iter_mut().for_each(|word| fill(word, mark));
            } else {
                rest.push(Word::hole());
            }
        }
        "parallel" => {
            let end = rest.iter().position(|word| word.start().starts_with(":::")).unwrap_or(rest.len());
            rest.truncate(end);
            rest.push(Word::hole());
            if !rest[0].has_hole() && rest[0].start().contains(' ') {
                run(script, &Word::joined(&rest), depth, true);
            }
        }
        _ => {}
    }
    inner(script, &simple, rest, depth);
}

/// Makes a word that has this mark one with a hole in its place.
fn fill(word: &mut Word, mark: &str) {
    let mut filled = Word { is_quoted: word.is_quoted, ..Word::default() };
    for part in &word.parts {
        let Part::Text(text) = part else {
            filled.parts.push(part.clone());
            continue;
        };
        for (at, piece) in text.split(mark).enumerate() {
            if at > 0 {
                filled.parts.push(Part::Hole { several: false });
            }
            if !piece.is_empty() || text.is_empty() {
                filled.push_part(Part::Text(piece.to_owned()));
            }
        }
    }
    *word = filled;
}

fn find(script: &mut Script, simple: &Simple, depth: usize) {
    let words = &simple.words[1..];
    let begins = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    let place = words.iter().find(|word| !word.start().starts_with('-')).cloned().unwrap_or_else(|| Word::known("."));
    let mut rest = words;
    while let Some(at) = rest.iter().position(|word| word.text().is_some_and(|word| begins.contains(&word))) {
        rest = &rest[at + 1..];
        let end = rest.iter().position(|word| matches!(word.text(), Some(";" | "+"))).unwrap_or(rest.len());
        // The file that is found stands where the braces do. Its path begins as the place that is searched.
        let found = |word: &Word| if word.shown().contains("{}") { place.below() } else { word.clone() };
        let words: Vec<Word> = rest[..end].iter().map(found).collect();
        rest = &rest[end..];
        if !words.is_empty() {
            inner(script, simple, words, depth);
        }
    }
}

/// `git -C DIR`, aliases, and subcommands that run commands.
fn git(script: &mut Script, index: usize, simple: &Simple, depth: usize) {
    let words = &simple.words[1..];
    let (options, at) = options_of("git", words);
    let before = read(Some(GIT), &words[..at], true, false);
    chdir(&mut script.commands[index].steps, &before);
    let renames = |given: &Given| {
        given.value.as_ref().is_some_and(|value| {
            matches!(given.name.as_str(), "-c" | "--config-env")
                && value.as_pattern().to_lowercase().starts_with("alias.")
                || given.name == "-c" && value.start().is_empty()
        })
    };
    if given(&before).any(renames) {
        script.set_opaque("a setting of git gives a command another name");
    }
    let rest = words.get(at + 1..).unwrap_or_default();
    match words.get(at).and_then(Word::text) {
        Some("submodule") if rest.iter().any(|word| word.text() == Some("foreach")) => {
            let from = rest.iter().position(|word| word.text() == Some("foreach")).map_or(0, |at| at + 1);
            let arguments = read(Some("recursive q|quiet"), &rest[from..], true, false);
            run(script, &Word::joined(&rest[from + arguments.length..]), depth, true);
        }
        Some("bisect") if rest.first().and_then(Word::text) == Some("run") => {
            inner(script, simple, rest[1..].to_vec(), depth)
        }
        Some("rebase") => {
            let options = options.unwrap_or_default();
            for given in given(&read(Some(options), rest, false, false)).filter(|given| is_entry(given, options, "x")) {
                if let Some(text) = &given.value {
                    run(script, text, depth, true);
                }
            }
        }
        Some("filter-branch") => script.set_opaque("`git filter-branch` runs text that hob does not read"),
        _ => {}
    }
}

/// A shell with these arguments.
fn shell(script: &mut Script, simple: &Simple, depth: usize) {
    let words = &simple.words[1..];
    let (mut at, mut has_text, mut reads_input) = (0, false, false);
    while let Some(text) = words.get(at).and_then(Word::text) {
        match text {
            "--" | "-" => {
                at += 1;
                break;
            }
            "--rcfile" | "--init-file" => at += 1,
            "--login" | "--norc" | "--noprofile" | "--posix" | "--verbose" | "--restricted" | "--noediting"
            | "--help" | "--version" | "--debugger" => {}
            _ if text.starts_with("--") => script.set_opaque(UNKNOWN_OPTION),
            _ if text.starts_with(['-', '+']) => {
                for letter in text.chars().skip(1) {
                    match letter {
                        'c' => has_text = true,
                        's' => reads_input = true,
                        'o' | 'O' => at += 1,
                        _ if "abefhiklmnprtuvxyBCEHPTDdw".contains(letter) => {}
                        _ => script.set_opaque(UNKNOWN_OPTION),
                    }
                }
            }
            _ => break,
        }
        at += 1;
    }
    match words.get(at) {
        Some(text) if has_text => run(script, text, depth, true),
        None if has_text => {}
        Some(word) if word.text().is_none() => script.set_opaque(UNKNOWN_TEXT),
        Some(word) if !reads_input && !is_standard_input(word) => {}
        _ => input(script, simple, depth),
    }
}

fn is_standard_input(word: &Word) -> bool {
    word.text().is_some_and(|text| matches!(text, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"))
}

/// Runs what a command reads.
fn input(script: &mut Script, simple: &Simple, depth: usize) {
    match &simple.input {
        Some(text) => run(script, text, depth, true),
        None if simple.is_piped => script.set_opaque("a shell runs the output of another command"),
        None => {}
    }
}

/// Adds a command that another runs.
fn inner(script: &mut Script, outer: &Simple, words: Vec<Word>, depth: usize) {
    let (input, steps) = (outer.input.clone(), outer.steps.clone());
    script.add_at(Simple { words, input, steps, is_piped: outer.is_piped, ..Simple::default() }, depth + 1);
}

/// Reads a text that is run.
fn run(script: &mut Script, word: &Word, depth: usize, is_apart: bool) {
    let text = match word.text() {
        Some(text) => text.to_owned(),
        None => {
            script.set_opaque(UNKNOWN_TEXT);
            word.shown().replace('…', "\"$HOLE\"")
        }
    };
    if is_apart {
        script.read_apart(&text, depth + 1);
    } else {
        script.read(&text, depth + 1);
    }
}

/// Reads the options before a command.
fn known(script: &mut Script, options: Options, words: &[Word]) -> Arguments {
    let arguments = read(Some(options), words, true, false);
    doubt(script, &arguments);
    arguments
}

fn doubt(script: &mut Script, arguments: &Arguments) {
    if given(arguments).any(|given| given.entry.is_none()) {
        script.set_opaque(UNKNOWN_OPTION);
    }
}

fn given(arguments: &Arguments) -> impl Iterator<Item = &Given> {
    arguments.list.iter().filter_map(|argument| match argument {
        Argument::Option(given) => Some(given),
        Argument::Operand { .. } => None,
    })
}

fn is_entry(given: &Given, options: Options, name: &str) -> bool {
    given.entry.is_some() && given.entry == entry_of(options, name)
}

fn value_of<'a>(arguments: &'a Arguments, options: Options, name: &str) -> Option<&'a Word> {
    given(arguments).filter(|given| is_entry(given, options, name)).find_map(|given| given.value.as_ref())
}

/// Follows the option that names the directory to run in.
fn chdir(steps: &mut Vec<Step>, arguments: &Arguments) {
    for given in given(arguments) {
        let is_directory = given.entry.is_some_and(|entry| {
            entry.split(['|', ':']).any(|name| matches!(name, "chdir" | "directory")) || entry == "C:"
        });
        if is_directory && let Some(to) = &given.value {
            steps.push(Step { to: to.clone(), is_certain: true });
        }
    }
}
