//! Guides: pages of the documentation whose commands are run in one shell, and whose output is compared with the page.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use crate::TestProject;

/// The line that ends the output of a command, before its exit code.
const END: &str = "\u{1e}";

/// Without a terminal, a person grants a text so.
const GRANT: (&str, &str) = ("hob trust", "hob trust --yes");

/// A page, and the setup that its reader has and a test must create.
#[derive(Default)]
pub struct Page {
    pub text: &'static str,
    /// Blocks that are not run, by their beginnings: they need an agent, another machine or another project's code.
    pub skip: &'static [&'static str],
    /// Scripts to run before the commands that begin so.
    pub before: &'static [(&'static str, &'static str)],
    /// Commands to run in place of others.
    pub instead: &'static [(&'static str, &'static str)],
}

impl Page {
    /// Runs every command of the page, after a script, in a project that is a git repository with a commit. Compares the output
    /// with the page.
    ///
    /// # Panics
    /// If a command prints something else.
    pub fn follow(&self, project: TestProject, script: &str) {
        Shell::new(project, script).follow(self);
    }
}

/// A shell in a project. It stays between commands, as a terminal does.
struct Shell {
    project: TestProject,
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    /// The exit code of the last command.
    code: i32,
    /// The ids on the page, each with the one of this run.
    ids: Vec<(String, String)>,
}

impl Shell {
    /// Starts a shell in a project that is a git repository with a commit, after a script.
    fn new(project: TestProject, script: &str) -> Shell {
        let mut bash = project.command("bash");
        bash.stdin(Stdio::piped()).stdout(Stdio::piped()).env("USER", "me");
        for role in ["AUTHOR", "COMMITTER"] {
            bash.env(format!("GIT_{role}_NAME"), "t").env(format!("GIT_{role}_EMAIL"), "t@example.org");
        }
        let mut child = bash.spawn().expect("bash");
        let (stdin, stdout) =
            (child.stdin.take().expect("a pipe"), BufReader::new(child.stdout.take().expect("a pipe")));
        let mut shell = Shell { project, child, stdin, stdout, code: 0, ids: Vec::new() };
        shell.prepare("exec 2>&1; git init -q -b main .");
        shell.prepare(script);
        shell.prepare("git add -A; git commit -q --allow-empty -m 'hob for our agents'");
        shell
    }

    /// Runs a command and returns its output.
    fn run(&mut self, command: &str) -> String {
        let code = self.code;
        writeln!(self.stdin, "(exit {code}); {{ {command}\n}} </dev/null; printf '\\n{END}%d\\n' $?").expect("a shell");
        let (mut output, mut line) = (String::new(), String::new());
        loop {
            line.clear();
            assert_ne!(
                self.stdout.read_line(&mut line).expect("text"),
                0,
                "the shell ended during {command}: {output}"
            );
            if let Some(code) = line.strip_prefix(END) {
                self.code = code.trim().parse().expect("an exit code");
                return output;
            }
            output.push_str(&line);
        }
    }

    fn prepare(&mut self, script: &str) {
        let output = self.run(script);
        assert_eq!(self.code, 0, "{script}: {output}");
    }

    /// Runs every command of a page, and compares its output with the page.
    fn follow(mut self, page: &Page) {
        let mut count = 0;
        for block in page.text.split("\n```").skip(1).step_by(2) {
            let Some(block) = ["console\n", "sh\n"].iter().find_map(|kind| block.strip_prefix(kind)) else { continue };
            if page.skip.iter().any(|beginning| block.starts_with(beginning)) {
                continue;
            }
            for (command, shown) in commands(block) {
                let begins = |(beginning, _): &&(&str, &str)| command.starts_with(beginning);
                for (_, script) in page.before.iter().filter(begins) {
                    self.prepare(script);
                }
                let replaced = page.instead.iter().chain(&[GRANT]).find(begins).map_or(command, |(_, other)| other);
                let output = self.run(&self.with_our_ids(replaced));
                self.compare(command, &shown, &output);
                count += 1;
            }
        }
        assert!(count > 2, "only {count} commands were run");
        let done: Vec<&str> =
            page.skip.iter().chain(page.before.iter().map(|(beginning, _)| beginning)).copied().collect();
        let unused = done.iter().find(|beginning| !page.text.contains(**beginning));
        assert_eq!(unused, None, "the page has no such text");
        self.run("hob stop");
        drop(self.stdin);
        self.child.wait().expect("its end");
    }

    /// Compares the lines that the page shows with the output, which may have further lines.
    fn compare(&mut self, command: &str, shown: &[&str], output: &str) {
        let top = self.project.top().display().to_string();
        let output = output.replace(&format!("{top}/home"), "~").replace(&format!("{top}/project"), "/home/me/shop");
        let output = output.replace(&top, "/home/me");
        let pairs: Vec<(String, String)> = ids(&shown.join("\n")).into_iter().zip(ids(&output)).collect();
        // Tickets are random, so the one of the page replaces it.
        let tickets =
            pairs.iter().filter_map(|(page, ours)| page.strip_prefix("--ticket=").zip(ours.strip_prefix("--ticket=")));
        let output = tickets.fold(output, |output, (page, ours)| output.replace(ours, page));
        let mut lines = output.lines();
        for line in shown.iter().filter(|line| line.trim() != "…") {
            let found = lines.any(|other| is_like(line, other));
            assert!(found, "`{command}` does not print `{line}`, but:\n{output}");
        }
        let may_fail = shown.iter().any(|line| line.contains("error") || line.trim() == "…");
        assert!(may_fail || !output.lines().any(|line| line.starts_with("error: ")), "`{command}` fails:\n{output}");
        self.ids.extend(pairs);
    }

    fn with_our_ids(&self, command: &str) -> String {
        let of_page = ids(command);
        of_page.iter().fold(command.to_owned(), |command, id| {
            let is_meant = |page: &str| page == id || (!id.contains(' ') && page.starts_with(id.as_str()));
            let ours = self.ids.iter().rev().find(|(page, _)| is_meant(page));
            ours.map_or_else(|| command.clone(), |(_, ours)| command.replace(id, ours))
        })
    }
}

/// Splits a block into its commands, each with the lines that are shown below it.
fn commands(block: &str) -> Vec<(&str, Vec<&str>)> {
    let is_console = block.starts_with("$ ");
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in block.lines().filter(|line| !line.is_empty()) {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command, Vec::new())),
            (None, Some((_, shown))) if is_console => shown.push(line),
            _ => commands.push((line, Vec::new())),
        }
    }
    commands
}

/// Returns the ids in a text: of questions, messages, tickets and evaluations, in their order.
fn ids(text: &str) -> Vec<String> {
    let mut words = text.split(|c: char| c.is_whitespace() || "`'(),:".contains(c)).peekable();
    let mut found: Vec<String> = Vec::new();
    while let Some(word) = words.next() {
        let is_id = |word: &&str| word.starts_with("q_") || word.starts_with("msg_") || word.starts_with("--ticket=");
        let id = match word {
            "--eval" => words.peek().map(|number| format!("--eval {number}")),
            word => is_id(&word).then(|| word.to_owned()),
        };
        found.extend(id.filter(|id| !found.contains(id)));
    }
    found
}

/// True if a line is the one that the page shows: `…` stands for any text, and numbers, ids and hashes may differ.
fn is_like(shown: &str, line: &str) -> bool {
    if shown.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return shown == line;
    }
    let line = shape(line);
    let mut parts: Vec<String> = shown.split('…').map(|part| shape(part.trim_end())).collect();
    let last = parts.pop().unwrap_or_default();
    let mut rest = line.as_str();
    for (n, part) in parts.iter().enumerate() {
        match rest.find(part.as_str()) {
            Some(at) if n > 0 || at == 0 => rest = &rest[at + part.len()..],
            _ => return false,
        }
    }
    if parts.is_empty() { rest == last } else { rest.ends_with(&last) }
}

/// Replaces each word with a digit in it, each id and each hash with `#`.
fn shape(text: &str) -> String {
    let mut shape = String::new();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for word in text.split_inclusive(|c| !is_part(c)) {
        let (word, gap) = word.split_at(word.find(|c| !is_part(c)).unwrap_or(word.len()));
        let is_hash = word.len() >= 7 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_varying = word.contains(|c: char| c.is_ascii_digit()) || word.starts_with("q_") || is_hash;
        shape.push_str(if is_varying { "#" } else { word });
        shape.push_str(gap);
    }
    shape
}
