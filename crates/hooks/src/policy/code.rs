//! Matches rules about commands or files against code that a tool runs, in addition to a shell tool's text.
//!
//! Shell code is read like the text of a shell tool. In other languages, the code is searched for names that start processes
//! and for quoted paths. A rule that denies or asks then may match. This does not replace a sandbox.

use std::path::Path;

use super::cause::Cause;
use super::glob::glob;
use super::pattern::Match;
use super::rule::{Rule, ToolPattern, is_among};
use super::shell;
use super::subject::{NamedPath, Subject};
use crate::agents::Verdict;
use crate::event::{Code, Language, Tool, ToolKind};

/// Names by which code in other languages starts processes.
const STARTS_PROCESS: &[&str] = &[
    // Python.
    "subprocess",
    "os.system",
    "os.popen",
    "os.exec",
    "os.spawn",
    "os.posix_spawn",
    "posix_spawn",
    "system(",
    "popen",
    "Popen",
    "execv",
    "execl",
    "spawnl",
    "spawnv",
    "import pty",
    "pty.spawn",
    "pexpect",
    "getoutput",
    "check_output",
    "check_call",
    "ctypes",
    "runpy",
    "get_ipython",
    // Haskell.
    "System.Process",
    "System.Posix.Process",
    "System.Cmd",
    "callCommand",
    "callProcess",
    "createProcess",
    "readProcess",
    "readCreateProcess",
    "spawnCommand",
    "spawnProcess",
    "runCommand",
    "runProcess",
    "rawSystem",
    "executeFile",
    "shelly",
    "Turtle",
    // Erlang, JavaScript, Ruby.
    "os:cmd",
    "open_port",
    "child_process",
    "execSync",
    "spawnSync",
];
/// Line prefixes by which a REPL runs shell text.
const SHELL_LINES: [&str; 3] = [":!", "!", "%%bash"];
/// Words by which a possible shell text runs text that hob does not read.
const RUNS_TEXT: [&str; 8] = ["eval ", "source ", ". ", "| sh", "|sh", "| bash", "|bash", "exec "];
/// The maximum number of bytes of code, and of quoted words in it, that are searched.
const TEXT_MAX: usize = 256 * 1024;
const WORDS_MAX: usize = 1000;

/// Returns the name by which code starts a process, if it has one.
pub(super) fn starts_process(code: &str) -> Option<&'static str> {
    let by_name = STARTS_PROCESS.iter().find(|name| code.contains(**name)).copied();
    let by_line = || {
        let begins = |name: &&str| code.lines().any(|line| line.trim_start().starts_with(*name));
        SHELL_LINES.into_iter().find(|name| begins(name))
    };
    by_name.or_else(by_line)
}

/// Returns the commands of code that may be for a shell.
pub(super) fn commands_if_shell(code: &Code) -> Option<shell::Script> {
    (code.language == Language::Unknown).then(|| {
        let mut script = shell::script(&code.text);
        let opaque = opaque_if_shell(&script, &code.text);
        if opaque != script.opaque {
            // Words of another language in the place of a program are not commands.
            script.commands.retain(|simple| simple.name().is_some());
        }
        script.opaque = opaque;
        script
    })
}

/// Returns why possible shell code may contain further commands. A text that does not parse may be in another language.
pub(super) fn opaque_if_shell(script: &shell::Script, text: &str) -> Option<&'static str> {
    script.opaque.filter(|why| *why != shell::UNREADABLE || runs_text(text))
}

fn runs_text(text: &str) -> bool {
    let commands = || text.lines().flat_map(|line| line.split([';', '&']));
    RUNS_TEXT.iter().any(|word| {
        if word.starts_with('|') {
            text.contains(word)
        } else {
            commands().any(|command| command.trim_start().starts_with(word))
        }
    })
}

/// Returns the quoted paths in code; `None` if there are more than the limit.
pub(super) fn quoted_paths(code: &Code, place: impl Fn(&str) -> NamedPath) -> Option<Vec<NamedPath>> {
    if code.text.len() > TEXT_MAX {
        return None;
    }
    let mut words: Vec<&str> = Vec::new();
    for quote in ['"', '\'', '`'] {
        // Text between any two quotes counts, because quotes may be nested.
        for text in code.text.split(quote).skip(1) {
            words.extend(
                text.split(|c: char| c.is_whitespace() || "'\"`;|&<>(),".contains(c)).filter(|word| !word.is_empty()),
            );
        }
    }
    // A shell redirection may name its file without quotes.
    words.extend(code.text.split('>').skip(1).filter_map(|text| text.split_whitespace().next()));
    words.sort_unstable();
    words.dedup();
    (words.len() <= WORDS_MAX).then(|| words.into_iter().map(place).collect())
}

/// Matches the code of a tool against a rule, and returns the cause of the match.
pub(super) fn matches(rule: &Rule, tool: &Tool, subject: &Subject) -> (Match, Option<Cause>) {
    const NO: (Match, Option<Cause>) = (Match::No, None);
    let Some(code) = tool.code.as_ref() else { return NO };
    if rule.table.decide < Verdict::Ask || !is_about_code(rule, tool) {
        return NO;
    }
    let maybe = |why: String| (Match::Maybe, Some(Cause::Unclear(why)));
    if code.text.len() > TEXT_MAX {
        return maybe("code that exceeds the size limit".to_owned());
    }
    let mut found = NO;
    if let Some(script) = &subject.code_script {
        for simple in &script.commands {
            let is_it = rule.commands.iter().map(|pattern| pattern.matches(simple)).max().unwrap_or(Match::No);
            if is_it > found.0 {
                found = (is_it, Some(Cause::Text(simple.render())));
            }
        }
        if found.0 > Match::No {
            return if rule.paths.is_some() { (Match::Maybe, found.1) } else { found };
        }
        if let Some(why) = script.opaque.filter(|_| !rule.commands.is_empty()) {
            return maybe(why.to_owned());
        }
    }
    if let Some(name) = starts_process(&code.text) {
        return maybe(format!("code with {name}, which starts a process"));
    }
    if !rule.commands.is_empty() {
        return NO;
    }
    let Some(globs) = &rule.paths else {
        let is_shell = code.language == Language::Unknown;
        return if is_shell { maybe("code that may be for a shell".to_owned()) } else { NO };
    };
    let Some(paths) = &subject.code_paths else { return maybe("code with more paths than the limit".to_owned()) };
    // Any word is outside the excepted paths, so there it must look like a path.
    let is_path = |path: &Path| !globs.0.is_empty() || path.components().count() > 1;
    let is_it = |place: &&NamedPath| {
        is_path(&place.named) && (is_among(globs, &place.named) || is_among(globs, &place.leads_to))
    };
    paths.iter().find(is_it).map_or(NO, |place| maybe(format!("code with the path {}", place.named.display())))
}

/// Returns true if a rule names commands, files or shells.
fn is_about_code(rule: &Rule, tool: &Tool) -> bool {
    let is_about = !rule.commands.is_empty() || rule.paths.is_some();
    let is_for_tool = |pattern: &ToolPattern| match pattern {
        ToolPattern::Kind(ToolKind::Shell) => true,
        ToolPattern::Kind(ToolKind::Read | ToolKind::Write | ToolKind::Edit | ToolKind::Search) => is_about,
        ToolPattern::Kind(kind) => is_about && *kind == tool.kind,
        ToolPattern::Mcp(server, name) => {
            is_about && tool.mcp.as_ref().is_some_and(|(of, called)| glob(server, of) && glob(name, called))
        }
        ToolPattern::Native(name) => is_about && glob(name, &tool.native),
    };
    if rule.tools.is_empty() { is_about } else { rule.tools.iter().any(is_for_tool) }
}
