//! The files that the commands of a shell's text open: their operands and redirections, seen from where each command runs.

use std::path::{Path, PathBuf};

use super::glob::intersects;
use super::options::{self, Argument};
use super::shell::{DEVICES, Part, Script, Simple, Step, Word};

/// How a command opens a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Read,
    Write,
    /// The mode of an unknown program.
    Unknown,
}

/// A file that a command may open. In its path, [`GLOB`] stands for any name and [`HOLE`] for any text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) path: String,
    pub(super) mode: Mode,
    /// True if the command certainly runs in the directory that the path begins with.
    pub(super) is_certain: bool,
    /// The command that opens it, by its index in the script.
    pub(super) command: Option<usize>,
}

pub(super) const GLOB: char = '\u{1}';
pub(super) const HOLE: char = '\u{2}';
/// The most directories that a command may run in.
const DIRECTORIES_MAX: usize = 4;
const ACCESSES_MAX: usize = 2000;

/// Programs that do not read the content of their operand files, or whose command is examined separately.
const NONE: &[&str] = &[
    "ls", "stat", "fd", "realpath", "readlink", "echo", "printf", "true", "false", ":", "test", "[", "export", "unset",
    "exit", "return", "kill", "sleep", "which", "type", "hash", "set", "shift", "wait", "alias", "sudo", "doas", "env",
    "command", "builtin", "exec", "nohup", "nice", "ionice", "timeout", "time", "stdbuf", "setsid", "xargs", "eval",
    "trap", "cd", "pushd", "popd", "mkdir", "ps", "date", "jobs", "basename", "dirname",
];
const READS: &[&str] = &[
    "cat",
    "bat",
    "less",
    "more",
    "head",
    "tail",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ag",
    "wc",
    "diff",
    "cmp",
    "file",
    "tree",
    "du",
    "od",
    "xxd",
    "hexdump",
    "strings",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "jq",
    "sort",
    "uniq",
    "cut",
    "tr",
    "awk",
    "gawk",
    "nl",
    "tac",
    "rev",
    "fold",
    "column",
    "comm",
    "paste",
    "join",
    "source",
    ".",
    "bash",
    "sh",
    "dash",
    "zsh",
    "base64",
];
const WRITES: &[&str] = &[
    "rm", "mv", "tee", "touch", "truncate", "dd", "chmod", "chown", "rmdir", "ln", "install", "shred", "unlink",
    "patch",
];
/// Programs whose last operand is written.
const COPIES: &[&str] = &["cp", "rsync", "scp"];
/// Programs whose first operand is a pattern.
const PATTERNS: &[&str] = &["grep", "egrep", "fgrep", "rg", "ag", "sed", "awk", "gawk", "jq", "perl"];

/// Returns the files that a script opens if it runs in this directory.
pub(super) fn accesses(script: &Script, cwd: &Path) -> Vec<Access> {
    let mut found = Vec::new();
    for (index, simple) in script.commands.iter().enumerate() {
        let directories = directories(&simple.steps, cwd);
        let mut add = |text: &str, mode: Mode| {
            let text = text.strip_prefix("file://").unwrap_or(text);
            for directory in &directories {
                let is_whole = text.starts_with(['/', '~', HOLE]);
                let path = match directory {
                    _ if is_whole => text.to_owned(),
                    Some(directory) => directory.join(text).display().to_string(),
                    None => format!("{HOLE}{text}"),
                };
                if found.len() < ACCESSES_MAX {
                    found.push(Access {
                        path,
                        mode,
                        is_certain: is_whole || directories.len() == 1 && directory.is_some(),
                        command: Some(index),
                    });
                }
            }
        };
        for word in &simple.reads {
            add(&text_of(word), Mode::Read);
        }
        for word in &simple.writes {
            if !word.text().is_some_and(|text| DEVICES.contains(&text)) {
                add(&text_of(word), Mode::Write);
            }
        }
        operands(simple, &mut add);
    }
    if found.len() >= ACCESSES_MAX {
        // Unlisted files may be any file.
        found.push(Access { path: HOLE.to_string(), mode: Mode::Unknown, is_certain: false, command: None });
    }
    found
}

fn text_of(word: &Word) -> String {
    let mut text = String::new();
    for part in &word.parts {
        match part {
            Part::Text(part) => text.push_str(part),
            Part::Glob(_) => text.push(GLOB),
            Part::Hole { .. } => text.push(HOLE),
            Part::Pipe => text.push_str("/dev/fd/63"),
        }
    }
    text
}

/// Returns the directories that a command may run in. `None` means any directory.
fn directories(steps: &[Step], cwd: &Path) -> Vec<Option<PathBuf>> {
    let mut all = vec![Some(cwd.to_owned())];
    for step in steps {
        let mut next: Vec<Option<PathBuf>> = Vec::new();
        for directory in &all {
            let home = || std::env::var_os("HOME").map(PathBuf::from);
            let to = match (step.to.text(), directory) {
                (Some("~"), _) => home(),
                (Some(to), _) if to.starts_with("~/") => home().map(|home| home.join(&to[2..])),
                (Some(to), Some(directory)) => Some(directory.join(to)),
                (Some(to), None) if to.starts_with('/') => Some(PathBuf::from(to)),
                _ => None,
            };
            let happens = step.is_certain && to.as_ref().is_none_or(|to| to.is_dir());
            next.push(to);
            if !happens {
                next.push(directory.clone());
            }
        }
        next.dedup();
        all = if next.len() > DIRECTORIES_MAX { vec![None] } else { next };
    }
    all
}

/// Adds the files that a command's operands may name.
fn operands(simple: &Simple, add: &mut impl FnMut(&str, Mode)) {
    let Some(program) = simple.words.first() else { return };
    let name = simple.name().unwrap_or_default();
    let words = &simple.words[1..];
    let has = |option: &str| words.iter().any(|word| word.start().starts_with(option));
    if name == "xargs" {
        argument_file(words, add);
    }
    let mode = match name {
        _ if NONE.contains(&name) && program.text().is_some() => return,
        "sed" | "perl" if has("-i") || has("--in-place") || has("-ni") || has("-pi") || has("-Ei") => Mode::Write,
        "sed" => Mode::Read,
        "sort" if has("-o") || has("--output") => Mode::Write,
        "find" if has("-delete") || has("-fprint") => Mode::Write,
        "find" if !has("-files0-from") => return,
        "find" => Mode::Read,
        "git" => match git(words) {
            Some(mode) => mode,
            None => return,
        },
        _ if READS.contains(&name) => Mode::Read,
        _ if WRITES.contains(&name) => Mode::Write,
        _ => Mode::Unknown,
    };
    let (options, at) = options::options_of(name, words);
    let mut texts: Vec<(Word, bool)> = Vec::new();
    if options.is_some() {
        for argument in options::read(options, &words[at..], false, false).list {
            match argument {
                Argument::Operand { word, .. } => texts.push((word, true)),
                Argument::Option(given) => {
                    let is_prose = given.entry.is_some_and(|entry| {
                        entry.split(['|', ':']).any(|name| matches!(name, "message" | "body" | "title" | "expression"))
                    });
                    texts.extend(given.value.filter(|_| !is_prose).map(|value| (value, false)));
                    texts.extend(given.open.map(|word| (word, true)));
                }
            }
        }
    } else {
        texts.extend(words.iter().map(|word| (word.clone(), true)));
    }
    let is_operand = |word: &Word| !word.start().starts_with('-');
    let letters: &[char] = match name {
        "jq" => &['f'],
        "perl" => &['e', 'E'],
        _ => &['e', 'f'],
    };
    let has_pattern = words.iter().map(Word::start).any(|word| match word.strip_prefix("--") {
        Some(long) => ["expr", "reg", "file="].iter().any(|name| long.starts_with(name)) || long == "file",
        None => word.starts_with('-') && word.contains(letters),
    });
    if PATTERNS.contains(&name)
        && !has_pattern
        && let Some(first) = texts.iter().position(|(word, is_free)| *is_free && is_operand(word))
    {
        texts.remove(first);
    }
    let last = texts.iter().rposition(|(word, is_free)| *is_free && is_operand(word));
    for (at, (word, _)) in texts.iter().enumerate() {
        let mode = match mode {
            Mode::Unknown if COPIES.contains(&name) => {
                if Some(at) == last {
                    Mode::Write
                } else {
                    Mode::Read
                }
            }
            mode => mode,
        };
        let text = text_of(word);
        if text.len() > 4096 {
            continue;
        }
        // A text with an unknown end does not prove that an unknown program opens a file.
        let is_told = |text: &str| {
            let end = text.rsplit(HOLE).next().unwrap_or_default();
            mode != Mode::Unknown || end.len() == text.len() || !end.trim_matches([GLOB, '/']).is_empty()
        };
        let mut add = |text: &str, mode: Mode| {
            if is_told(text) {
                add(text, mode);
            }
        };
        if is_operand(word) {
            add(&text, mode);
        } else if let Some(attached) = text.get(2..).filter(|attached| !text.starts_with("--") && !attached.is_empty())
        {
            add(attached, mode);
        }
        // `--file=.env`, `if=.env`, `@.env`, `HEAD:.env`, `.env:/run/env`
        for piece in
            text.split(['=', '@', ':', ',']).take(16).filter(|piece| !piece.is_empty() && piece.len() < text.len())
        {
            add(piece, mode);
        }
        if name == "mv" && mode == Mode::Write {
            add(&text, Mode::Read);
        }
    }
}

/// Adds the file from which `xargs` reads the arguments.
fn argument_file(words: &[Word], add: &mut impl FnMut(&str, Mode)) {
    for (at, word) in words.iter().enumerate() {
        if matches!(word.text(), Some("-a" | "--arg-file")) {
            words.get(at + 1).iter().for_each(|file| add(&text_of(file), Mode::Read));
        } else if word.start().starts_with("-a") {
            add(&text_of(&word.without_start(2)), Mode::Read);
        } else if word.start().starts_with("--arg-file=") {
            add(&text_of(&word.without_start(11)), Mode::Read);
        }
    }
}

/// Returns how a git command opens the files that it names; `None` if it does not read their content.
fn git(words: &[Word]) -> Option<Mode> {
    let (_, at) = options::options_of("git", words);
    match words.get(at).and_then(Word::text) {
        Some(
            "status" | "ls-files" | "ls-tree" | "check-ignore" | "check-attr" | "rev-parse" | "rev-list" | "merge-base"
            | "branch" | "tag" | "remote" | "fetch" | "push" | "pull" | "worktree",
        ) => None,
        Some("rm" | "mv" | "checkout" | "restore" | "apply" | "clean" | "stash") => Some(Mode::Write),
        Some("diff" | "log" | "show" | "blame" | "add" | "commit" | "grep" | "cat-file") => Some(Mode::Read),
        _ => Some(Mode::Unknown),
    }
}

/// Returns true if a path contains a hole or a glob.
pub(super) fn is_open(path: &str) -> bool {
    path.contains([GLOB, HOLE])
}

/// Returns true if a path with globs or holes may match a rule's pattern.
pub(super) fn may_be(pattern: &str, path: &str) -> bool {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    if path.contains(HOLE) {
        let path = path.replace([GLOB, HOLE], "*");
        return intersects(&starred(pattern), &path) || intersects(&starred(pattern.trim_start_matches("**/")), &path);
    }
    let (pattern, path): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), path.split('/').collect());
    pattern.len() <= 64 && meets(&pattern, &path)
}

fn starred(pattern: &str) -> String {
    // Character classes and alternatives match anything.
    match pattern.find(['[', '{']) {
        Some(at) => format!("{}*", pattern[..at].replace('?', "*")),
        None => pattern.replace('?', "*"),
    }
}

fn meets(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), first) => meets(rest, path) || first.is_some_and(|(_, path)| meets(pattern, path)),
        (Some((wanted, pattern)), Some((name, path))) => {
            // A glob does not match the name of a hidden file.
            let is_hidden = wanted.starts_with('.') && name.starts_with(GLOB);
            !is_hidden && intersects(&starred(wanted), &name.replace(GLOB, "*")) && meets(pattern, path)
        }
        _ => false,
    }
}
