//! Programs that run commands from their arguments: `sudo`, `env`, `xargs`, `find -exec`, `sh -c`, `eval`. Those commands are
//! added too. An unknown option of such a program makes the text opaque.

use super::programs::{self, Form, PROGRAMS, form_of, is_input, may_be_input};
use super::tree::Context;
use super::word::Word;
use super::{Part, Script, Simple, Step};
use crate::policy::glob::intersects;
use crate::policy::options::{Argument, Arguments, GIT, GivenOption, Options, entry_of, options_of, read};

const UNKNOWN_OPTION: &str = "hob does not know an option of a program that runs another";
const UNKNOWN_TEXT: &str = "a shell runs text that is known only at run time";

/// Adds the commands that the command at this index runs.
pub(super) fn unwrap(script: &mut Script, index: usize, depth: usize) {
    if script.commands[index].words.is_empty() {
        return;
    }
    let name = script.commands[index].name();
    let found = name.and_then(form_of);
    let simple = &mut script.commands[index];
    simple.is_doubtful = script.is_doubtful;
    if found.is_none_or(|(_, form)| matches!(form, Form::Call)) {
        simple.may_run_from = programs::may_run_from(simple);
    }
    let simple = simple.clone();
    script.note_command(&simple);
    let Some((name, form)) = found else {
        return if simple.name().is_some() { operands(script, &simple, depth) } else { open(script, &simple) };
    };
    if depth >= super::DEPTH_MAX {
        return script.set_opaque("the shell text is nested too deeply");
    }
    let words = &simple.words[1..];
    match form {
        Form::Command(options, first) => command(script, simple.clone(), name, options, first, depth),
        Form::Text(options) => {
            let arguments = read_options(script, options, words);
            let rest = words.get(arguments.length..).unwrap_or_default();
            run(script, &simple, &Word::joined(rest), depth, name != "eval");
        }
        Form::TextOrCommand(options, first) => {
            let arguments = read_options(script, options, words);
            if name == "runuser" && value_of(&arguments, options, "u").is_none() {
                return login(script, &simple, options, depth);
            }
            let mut rest = words.get(arguments.length..).unwrap_or_default();
            let mut text = value_of(&arguments, options, "c").cloned();
            if text.is_none() && first > 0 {
                rest = rest.get(first..).unwrap_or_default();
                let more = read_options(script, options, rest);
                text = value_of(&more, options, "c").cloned();
            }
            match text {
                Some(text) => run(script, &simple, &text, depth, true),
                None if rest.is_empty() => input(script, &simple, depth),
                None => inner(script, &simple, rest.to_vec(), depth),
            }
        }
        Form::Login(options) => login(script, &simple, options, depth),
        Form::Group => {
            let text = words.iter().skip(1).find(|word| !matches!(word.text(), Some("-" | "-c" | "--")));
            match text {
                Some(text) => run(script, &simple, text, depth, true),
                None => input(script, &simple, depth),
            }
        }
        Form::Call => {
            for (at, word) in words.iter().enumerate() {
                let text = match word.start() {
                    "-c" | "--call" => words.get(at + 1).cloned(),
                    start => start.strip_prefix("--call=").map(|_| word.without_start("--call=".len())),
                };
                if let Some(text) = text {
                    run(script, &simple, &text, depth, true);
                }
            }
            operands(script, &simple, depth);
        }
        Form::Shell => shell(script, &simple, depth),
        Form::Find => find(script, &simple, depth),
        Form::Trap => {
            let arguments = read_options(script, "l p P", words);
            if let Some(text) = words.get(arguments.length) {
                run(script, &Simple::default(), text, depth, false);
            }
        }
        Form::Source => {
            let words = if words.first().and_then(Word::text) == Some("--") { &words[1..] } else { words };
            if let Some(word) = words.first() {
                file(script, &simple, word, depth);
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
                _ if name == "popd" => Word::hole(),
                None if name == "cd" => Word::literal("~/."),
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
            for given in given_options(&arguments).filter(|given| is_entry(given, options.unwrap_or_default(), "E")) {
                if given.value.is_some() {
                    script.set_opaque("`make --eval` runs text that hob does not read");
                }
            }
        }
    }
}

/// Reads a program that runs a command after its options.
fn command(script: &mut Script, mut simple: Simple, name: &str, options: Options, first: usize, depth: usize) {
    let words = &simple.words.split_off(1);
    let arguments = read_options(script, options, words);
    // `command -v NAME` only prints the location of a command.
    if name == "command" && given_options(&arguments).any(|given| matches!(given.name.as_str(), "-v" | "-V")) {
        return;
    }
    // Other processes write to it.
    simple.is_piped |= name == "coproc";
    chdir(&mut simple.steps, &arguments);
    if name == "env"
        && let Some(text) = value_of(&arguments, options, "S")
    {
        let rest = words.get(arguments.length..).unwrap_or_default();
        if text.start().starts_with('-') || text.render().contains(['\\', '$']) {
            return script.set_opaque(UNKNOWN_OPTION);
        }
        let all: Vec<Word> = std::iter::once(text.clone()).chain(rest.iter().cloned()).collect();
        return run(script, &simple, &Word::joined(&all), depth, true);
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
        if name == "exec" {
            script.is_fed |= simple.is_piped || simple.input.is_some() || !simple.reads.is_empty();
        }
        if name == "sudo"
            && given_options(&arguments).any(|given| matches!(given.name.as_str(), "-i" | "-s" | "--login" | "--shell"))
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
                given_options(&arguments).any(|given| is_entry(given, options, "I") || is_entry(given, options, "i"));
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
                run(script, &simple, &Word::joined(&rest), depth, true);
            }
        }
        _ => {}
    }
    inner(script, &simple, rest, depth);
}

/// Replaces this placeholder in a word with a hole.
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
    let place = words.iter().find(|word| !word.start().starts_with('-')).cloned().unwrap_or_else(|| Word::literal("."));
    let mut rest = words;
    while let Some(at) = rest.iter().position(|word| word.text().is_some_and(|word| begins.contains(&word))) {
        rest = &rest[at + 1..];
        let is_end = |at: usize| match rest[at].text() {
            Some(";") => true,
            Some("+") => at > 0 && rest[at - 1].text() == Some("{}"),
            _ => false,
        };
        let end = (0..rest.len()).find(|at| is_end(*at)).unwrap_or(rest.len());
        // The braces stand for a found file. Its path begins with the searched directory.
        let found = |word: &Word| if word.render().contains("{}") { place.path_below() } else { word.clone() };
        let words: Vec<Word> = rest[..end].iter().map(found).collect();
        rest = &rest[end..];
        if !words.is_empty() {
            inner(script, simple, words, depth);
        }
    }
}

/// Reads `git -C DIR`, aliases, and subcommands that run commands.
fn git(script: &mut Script, index: usize, simple: &Simple, depth: usize) {
    let words = &simple.words[1..];
    let (options, at) = options_of("git", words);
    let before = read(Some(GIT), &words[..at], true, false);
    chdir(&mut script.commands[index].steps, &before);
    let renames = |given: &GivenOption| {
        given.value.as_ref().is_some_and(|value| {
            matches!(given.name.as_str(), "-c" | "--config-env")
                && value.as_pattern().to_lowercase().starts_with("alias.")
                || given.name == "-c" && value.start().is_empty()
        })
    };
    if given_options(&before).any(renames) {
        script.set_opaque("a setting of git gives a command another name");
    }
    let rest = words.get(at + 1..).unwrap_or_default();
    match words.get(at).and_then(Word::text) {
        Some("submodule") if rest.iter().any(|word| word.text() == Some("foreach")) => {
            let from = rest.iter().position(|word| word.text() == Some("foreach")).map_or(0, |at| at + 1);
            let arguments = read(Some("recursive q|quiet"), &rest[from..], true, false);
            run(script, simple, &Word::joined(&rest[from + arguments.length..]), depth, true);
        }
        Some("bisect") if rest.first().and_then(Word::text) == Some("run") => {
            inner(script, simple, rest[1..].to_vec(), depth)
        }
        Some("rebase") => {
            let options = options.unwrap_or_default();
            for given in
                given_options(&read(Some(options), rest, false, false)).filter(|given| is_entry(given, options, "x"))
            {
                if let Some(text) = &given.value {
                    run(script, simple, text, depth, true);
                }
            }
        }
        Some("for-each-repo") => {
            let arguments = read(Some("config: keep-going"), rest, true, false);
            let words = [&simple.words[..1], &rest[arguments.length..]].concat();
            inner(script, simple, words, depth);
        }
        Some("filter-branch") => script.set_opaque("`git filter-branch` runs text that hob does not read"),
        _ => {}
    }
}

/// Reads a shell with these arguments.
fn shell(script: &mut Script, simple: &Simple, depth: usize) {
    let words = &simple.words[1..];
    let (mut at, mut has_text, mut reads_input) = (0, false, false);
    while let Some(text) = words.get(at).and_then(Word::text) {
        match text {
            "--" | "-" => {
                at += 1;
                break;
            }
            "--rcfile" | "--init-file" => {
                at += 1;
                if words.get(at).is_some_and(|word| word.has_hole() || is_input(word)) {
                    script.set_opaque(UNKNOWN_TEXT);
                }
            }
            "--login" | "--norc" | "--noprofile" | "--posix" | "--verbose" | "--restricted" | "--noediting"
            | "--help" | "--version" | "--debugger" => {}
            _ if text.starts_with("--") => script.set_opaque(UNKNOWN_OPTION),
            _ if text.starts_with(['-', '+']) => {
                for letter in text.chars().skip(1) {
                    match letter {
                        'c' => has_text = true,
                        's' => reads_input = true,
                        'o' | 'O' => at += 1,
                        _ if "abefhiklmnprtuvxyBEHPTDdw".contains(letter) => {}
                        _ => script.set_opaque(UNKNOWN_OPTION),
                    }
                }
            }
            _ => break,
        }
        at += 1;
    }
    match words.get(at) {
        Some(text) if has_text => run(script, simple, text, depth, true),
        None if has_text => {}
        // The file name may be an option.
        Some(word)
            if word.text().is_none() && word.start().is_empty() && may_be_input(word) && words.len() > at + 1 =>
        {
            script.set_opaque(UNKNOWN_TEXT)
        }
        Some(word) if word.is_several() => script.set_opaque(UNKNOWN_TEXT),
        Some(word) if !reads_input => file(script, simple, word, depth),
        _ => input(script, simple, depth),
    }
}

/// Reads a file as a script if it is an input rather than a file on disk.
fn file(script: &mut Script, simple: &Simple, word: &Word, depth: usize) {
    if word.parts.contains(&Part::Pipe) {
        script.set_opaque(UNKNOWN_TEXT);
    } else if is_input(word) || word.text().is_none() && may_be_input(word) {
        input(script, simple, depth);
    }
}

/// Reads a user's shell.
fn login(script: &mut Script, simple: &Simple, options: Options, depth: usize) {
    let arguments = read(Some(options), &simple.words[1..], false, false);
    doubt(script, &arguments);
    let mut is_run = false;
    for argument in &arguments.list {
        match argument {
            Argument::Option(given) if is_entry(given, options, "c") || given.name == "--session-command" => {
                if let Some(text) = &given.value {
                    run(script, simple, text, depth, true);
                    is_run = true;
                }
            }
            // Arguments after `--` go to the shell.
            Argument::Operand { word, .. } if word.may_be_option() => script.set_opaque(UNKNOWN_OPTION),
            _ => {}
        }
    }
    if !is_run {
        input(script, simple, depth);
    }
}

/// The maximum number of operands of a program that are read as commands.
const OPERANDS_MAX: usize = 4;

/// Reads an unknown program: its operands may run programs that run others.
fn operands(script: &mut Script, simple: &Simple, depth: usize) {
    let Some(from) = simple.may_run_from.filter(|_| !script.is_doubtful) else { return };
    let places = (from..simple.words.len()).filter(|at| runs_others(&simple.words[*at..]));
    for at in places.take(OPERANDS_MAX) {
        let mut inner = Script { is_doubtful: true, bytes_read: script.bytes_read, ..Script::default() };
        let steps = [simple.steps.as_slice(), &[Step { to: Word::hole(), is_certain: false }]].concat();
        inner.add_at(Simple { words: simple.words[at..].to_vec(), steps, ..Simple::default() }, depth + 1);
        script.bytes_read = inner.bytes_read;
        let room = super::COMMANDS_MAX.saturating_sub(script.commands.len());
        script.commands.extend(inner.commands.into_iter().skip(1).take(room));
    }
}

fn runs_others(words: &[Word]) -> bool {
    super::name_of(words).is_some_and(|name| form_of(name).is_some())
}

/// Reads a program of unknown name, which may run others. Plain words after it are matched as written.
fn open(script: &mut Script, simple: &Simple) {
    let word = &simple.words[0];
    let pattern = word.as_pattern();
    let name = pattern.rsplit('/').next().unwrap_or_default();
    let may_run = word.is_several() || PROGRAMS.iter().any(|(program, _)| intersects(program, name));
    let is_plain = |word: &Word| {
        word.text().is_some_and(|text| !text.contains(|c: char| c.is_whitespace() || ";&|<>()$`'\"\\".contains(c)))
    };
    let words = &simple.words[1..];
    let reads = simple.input.is_some() || simple.is_piped;
    if may_run && (reads || !words.iter().all(is_plain) || (0..words.len()).any(|at| runs_others(&words[at..]))) {
        script.set_opaque(UNKNOWN_TEXT);
    }
}

/// Reads a command's input as shell text.
fn input(script: &mut Script, simple: &Simple, depth: usize) {
    if let Some(text) = &simple.input {
        run(script, &Simple::default(), text, depth, true);
    }
    if simple.is_piped {
        script.set_opaque("a shell runs the output of another command");
    }
}

/// Adds a command that another command runs.
fn inner(script: &mut Script, outer: &Simple, words: Vec<Word>, depth: usize) {
    let (input, steps) = (outer.input.clone(), outer.steps.clone());
    script.add_at(Simple { words, input, steps, is_piped: outer.is_piped, ..Simple::default() }, depth + 1);
}

/// Reads a text that a command runs.
fn run(script: &mut Script, simple: &Simple, word: &Word, depth: usize, is_apart: bool) {
    let context = Context { input: simple.input.clone(), is_piped: simple.is_piped };
    let text = match word.text() {
        Some(text) => text.to_owned(),
        None => {
            script.set_opaque(UNKNOWN_TEXT);
            word.render().replace('…', "\"$HOLE\"")
        }
    };
    if is_apart {
        script.read_apart(&text, depth + 1, &context);
    } else {
        script.read(&text, depth + 1, &context);
    }
}

/// Reads the options before a command.
fn read_options(script: &mut Script, options: Options, words: &[Word]) -> Arguments {
    let arguments = read(Some(options), words, true, false);
    doubt(script, &arguments);
    arguments
}

fn doubt(script: &mut Script, arguments: &Arguments) {
    if given_options(arguments).any(|given| given.entry.is_none()) {
        script.set_opaque(UNKNOWN_OPTION);
    }
}

fn given_options(arguments: &Arguments) -> impl Iterator<Item = &GivenOption> {
    arguments.list.iter().filter_map(|argument| match argument {
        Argument::Option(given) => Some(given),
        Argument::Operand { .. } => None,
    })
}

fn is_entry(given: &GivenOption, options: Options, name: &str) -> bool {
    given.entry.is_some() && given.entry == entry_of(options, name)
}

fn value_of<'a>(arguments: &'a Arguments, options: Options, name: &str) -> Option<&'a Word> {
    given_options(arguments).filter(|given| is_entry(given, options, name)).find_map(|given| given.value.as_ref())
}

/// Applies the option that names the working directory.
fn chdir(steps: &mut Vec<Step>, arguments: &Arguments) {
    for given in given_options(arguments) {
        let is_directory = given.entry.is_some_and(|entry| {
            entry.split(['|', ':']).any(|name| matches!(name, "chdir" | "directory")) || entry == "C:"
        });
        if is_directory && let Some(to) = &given.value {
            steps.push(Step { to: to.clone(), is_certain: true });
        }
    }
}
