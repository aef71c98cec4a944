//! Determines a process's ancestry, from the kernel and from marks in its environment: an agent must not answer for its
//! user. This prevents accidents, not malice: the same user has other means.

use std::path::Path;

/// Variables that coding agents set for the commands that they run.
const AGENTS: &[(&str, &str)] = &[
    ("CLAUDECODE", "Claude Code"),
    ("CLAUDE_CODE_ENTRYPOINT", "Claude Code"),
    ("CODEX_SANDBOX", "Codex"),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "Codex"),
    ("CODEX_THREAD_ID", "Codex"),
    ("CODEX_CI", "Codex"),
    ("GEMINI_CLI", "Gemini CLI"),
    ("COPILOT_CLI", "Copilot CLI"),
    ("CURSOR_AGENT", "Cursor"),
    ("OPENCODE", "opencode"),
];
/// The variable of processes in a REPL session.
const SESSION: &str = "HOB_SESSION";
/// Programs that start another program and are not agents themselves if they were given a command.
const WRAPPERS: &[&str] = &["sh", "bash", "dash", "ash", "zsh", "ksh", "fish"];
/// The maximum number of ancestors examined.
const GENERATIONS: usize = 64;
/// The maximum number of a shell's child processes examined.
const CHILDREN: usize = 1000;

/// A process. Its id may be reused with another start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    pid: u32,
    parent: u32,
    group: u32,
    session: u32,
    /// Its controlling terminal; 0 for none.
    terminal: i32,
    /// The start time, in the unit of [`system::Process::start`].
    start: u64,
}

/// Returns why this process cannot speak for the user at the machine; `None` if it can. `front_ends` are the processes
/// that serve agents here, `daemon` is the one that serves them.
pub fn refusal(pid: u32, front_ends: &[u32], daemon: u32) -> Option<String> {
    let advice = "an agent must not answer for its user: do this in your own terminal";
    let Some(process) = Process::from_pid(pid) else {
        return Some(format!("this process cannot be identified; {advice}"));
    };
    let environment = environment(pid);
    let has = |name: &str| {
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'=')))
    };
    let chain = process.ancestry();
    if has(SESSION) || (daemon > 1 && chain.iter().any(|process| process.pid == daemon)) {
        return Some(format!("this runs in a REPL session of hob; {advice}"));
    }
    if let Some((variable, agent)) = AGENTS.iter().find(|(variable, _)| has(variable)) {
        return Some(format!("this was started by {agent} (it has {variable} in its environment); {advice}"));
    }
    if is_orphan(&chain) {
        return Some(format!(
            "the parent process has ended and may have been an agent; {advice}, directly from its shell and not from \
             a background subshell (`( … & )`)"
        ));
    }
    // A daemon that just started, or is stopped, knows none; and those of other projects are agents too.
    let served: Vec<Process> = front_ends.iter().filter(|of| **of != pid).filter_map(|of| agent_of(*of)).collect();
    let agent = chain.iter().find(|process| served.contains(process) || starts_front_end(process.pid, pid))?;
    let name = name(agent.pid);
    Some(format!("this was started by {name} (process {}), an agent that hob serves here; {advice}", agent.pid))
}

/// Returns true if a process is, or descends from, another one, or if that cannot be excluded: it has ended, or has more
/// ancestors than are examined.
pub fn descends_from(pid: u32, ancestor: u32) -> bool {
    let Some(process) = Process::from_pid(pid) else { return true };
    let chain: Vec<Process> = process.and_ancestors().collect();
    chain.len() >= GENERATIONS || chain.iter().any(|process| process.pid == ancestor)
}

/// A front-end as hooks need it. Its identity is determined once, at the first look.
#[derive(Debug, Clone)]
pub struct FrontEnd {
    /// The process that started it.
    agent: Option<Process>,
    /// The session of the agent, if the agent passes it to its child processes.
    session: Option<String>,
}

impl FrontEnd {
    /// Names the process that started it.
    pub fn agent(&self) -> Option<String> {
        self.agent.as_ref().map(|agent| format!("{} {}", agent.pid, agent.start))
    }

    /// Returns the front-end of this process. `variable` is the environment variable that names the agent's session.
    pub fn from_pid(pid: u32, variable: &str) -> FrontEnd {
        let environment = environment(pid);
        let mut entries = environment.split(|byte| *byte == 0);
        let session = entries.find_map(|entry| entry.strip_prefix(variable.as_bytes())?.strip_prefix(b"="));
        FrontEnd { agent: agent_of(pid), session: session.map(|id| String::from_utf8_lossy(id).into_owned()) }
    }
}

/// Returns which of these front-ends, in order of arrival, belongs to the agent that a process descends from. Among
/// those started by its nearest ancestor with any, it is the one of the same session, else the latest. A session name
/// selects among these alone: naming another agent's session does not select that agent.
pub fn front_end_of(pid: u32, front_ends: &[FrontEnd], session: Option<&str>) -> Option<usize> {
    if front_ends.is_empty() {
        return None;
    }
    let mut ancestors = Process::from_pid(pid)?.and_ancestors().skip(1);
    ancestors.find_map(|ancestor| {
        let is_started = |of: &FrontEnd| of.agent.as_ref() == Some(&ancestor);
        let of_session = |of: &FrontEnd| is_started(of) && session.is_some() && of.session.as_deref() == session;
        front_ends.iter().rposition(of_session).or_else(|| front_ends.iter().rposition(is_started))
    })
}

/// Returns true if a process is an agent, judged by what it started: a front-end other than `but`, directly or by
/// shells that were given a command.
fn starts_front_end(pid: u32, but: u32) -> bool {
    // A process started by an orphan's parent has no owner. A shell that was given a command runs it for another program.
    if pid <= 1 || is_wrapper(pid) {
        return false;
    }
    let mut left: Vec<u32> = children(pid).collect();
    let mut seen = 0;
    while let Some(child) = left.pop() {
        seen += 1;
        if child != but && is_front_end(child) {
            return true;
        }
        if seen < CHILDREN && is_wrapper(child) {
            left.extend(children(child));
        }
    }
    false
}

/// Returns true if a process is `hob mcp`: it runs the program of this process, or one of its name, so that an older version counts too.
fn is_front_end(pid: u32) -> bool {
    let line = arguments(pid);
    let mut words = line.split(|byte| *byte == 0);
    let program = words.next().unwrap_or_default();
    let is_named = || program.rsplit(|byte| *byte == b'/').next() == Some(b"hob".as_slice());
    words.any(|word| word == b"mcp") && (is_named() || system::is_same_program(pid.cast_signed()) == Some(true))
}

/// Returns the process that started a front-end, skipping intermediate processes such as `sh -c`.
fn agent_of(front_end: u32) -> Option<Process> {
    let mut ancestors = Process::from_pid(front_end)?.and_ancestors().skip(1);
    let agent = ancestors.find(|process| !is_wrapper(process.pid))?;
    // An orphan's parent is not its agent.
    (agent.pid > 1).then_some(agent)
}

/// Returns true if the process that started this one is gone: a shell's background job then belongs to the init
/// process, or to its substitute (a supervisor, a user's session). In a terminal, the user is present.
fn is_orphan(chain: &[Process]) -> bool {
    let Some(process) = chain.first().filter(|process| process.terminal == 0) else { return false };
    // A script's file does not count as the user: an agent can write one.
    let Some(at) = chain.iter().skip(1).position(|process| shell_words(process.pid).is_none()) else { return false };
    let (top, parent) = (&chain[at], &chain[at + 1]);
    match parent.pid {
        // In a container the user may have started the first process.
        1 => parent.session != process.session || top.is_adopted_by(parent),
        _ => name(parent.pid) == "systemd" || top.is_adopted_by(parent),
    }
}

/// Returns true if a process is a shell that was given a command, not a script's file.
fn is_wrapper(pid: u32) -> bool {
    let Some(words) = shell_words(pid) else { return false };
    // This covers `-c`, also as a part of `-lc` and after `-l` or `--norc`.
    let mut options = words.iter().take_while(|word| word.starts_with(['-', '+']));
    options.any(|word| !word.starts_with("--") && word.contains('c'))
}

/// Returns the words of a shell's command line after its name; `None` for another program.
fn shell_words(pid: u32) -> Option<Vec<String>> {
    let line = arguments(pid);
    let mut words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let program = words.next().unwrap_or_default();
    let program = Path::new(&program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    // A login shell's name begins with a dash.
    WRAPPERS.contains(&program.trim_start_matches('-')).then(|| words.collect())
}

fn name(pid: u32) -> String {
    let name = system::process(pid.cast_signed()).map(|process| process.name).unwrap_or_default();
    crate::visible(name.trim())
}

fn environment(pid: u32) -> Vec<u8> {
    // An unreadable environment has no marks.
    system::environment(pid.cast_signed()).unwrap_or_default()
}

fn arguments(pid: u32) -> Vec<u8> {
    system::arguments(pid.cast_signed()).unwrap_or_default()
}

fn children(pid: u32) -> impl Iterator<Item = u32> {
    system::children(pid.cast_signed()).into_iter().map(i32::cast_unsigned)
}

impl Process {
    fn from_pid(pid: u32) -> Option<Process> {
        let process = system::process(pid.cast_signed())?;
        Some(Process {
            pid,
            parent: process.parent.cast_unsigned(),
            group: process.group.cast_unsigned(),
            session: process.session.cast_unsigned(),
            terminal: process.terminal,
            start: process.start,
        })
    }

    /// Returns true if its parent is not the process that started it: session and process group are its own or those of the starter.
    fn is_adopted_by(&self, parent: &Process) -> bool {
        (self.session != self.pid && self.session != parent.session)
            || (self.group != self.pid && self.group != parent.group)
    }

    /// Returns the process, its parent, and so on.
    fn ancestry(self) -> Vec<Process> {
        self.and_ancestors().collect()
    }

    fn and_ancestors(self) -> impl Iterator<Item = Process> {
        let next = |process: &Process| {
            // A parent that started later is another process that reuses the id.
            Process::from_pid(process.parent).filter(|parent| parent.start <= process.start)
        };
        std::iter::successors(Some(self), next).take(GENERATIONS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};

    /// Starts a program that starts another: `python3` and the like are agents here, shells are not.
    fn started(program: &mut Command) -> (Child, u32) {
        let mut child = program.env_clear().env("PATH", "/usr/bin:/bin").stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        (child, line.trim().parse().unwrap())
    }

    fn end(mut child: Child, grandchild: u32) {
        let _ = Command::new("kill").arg(grandchild.to_string()).status();
        let _ = child.kill();
        child.wait().unwrap();
    }

    #[test]
    fn a_hook_belongs_to_the_front_end_of_its_agent() {
        // An agent that starts a front-end, and a hook by a shell.
        let script = "import subprocess, sys
front = subprocess.Popen(['sleep', '60'], env={'MARK': sys.argv[1]})
hook = subprocess.Popen(['sh', '-c', 'sleep 60; true'])
print(front.pid, hook.pid, flush=True)
front.wait()";
        let agent = |mark: &str| {
            let mut agent = Command::new("python3");
            agent.args(["-c", script, mark]).env_clear().env("PATH", "/usr/bin:/bin").stdout(Stdio::piped());
            let mut agent = agent.spawn().unwrap();
            let mut line = String::new();
            BufReader::new(agent.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
            let (front, hook) = line.trim().split_once(' ').unwrap();
            (agent, front.parse::<u32>().unwrap(), hook.parse::<u32>().unwrap())
        };
        let (one, first_front, first_hook) = agent("one");
        let (two, second_front, second_hook) = agent("two");
        let fronts = [first_front, second_front].map(|pid| FrontEnd::from_pid(pid, "MARK"));
        assert_eq!(front_end_of(first_hook, &fronts, None), Some(0));
        assert_eq!(front_end_of(second_hook, &fronts, None), Some(1));
        // The session of another agent is a claim, which makes no difference.
        assert_eq!(front_end_of(second_hook, &fronts, Some("one")), Some(1));
        assert_eq!(front_end_of(second_hook, &fronts[..1], Some("one")), None);
        // Two sessions of one agent.
        let mut both = [fronts[0].clone(), fronts[0].clone(), fronts[1].clone()];
        both[1].session = Some("other".to_owned());
        assert_eq!(front_end_of(first_hook, &both, Some("one")), Some(0));
        assert_eq!(front_end_of(first_hook, &both, Some("other")), Some(1));
        assert_eq!(front_end_of(first_hook, &both, Some("unknown")), Some(1));
        assert_eq!(front_end_of(second_hook, &fronts, Some("three")), Some(1));
        assert_eq!(front_end_of(second_hook, &fronts[..1], None), None);
        assert_eq!(front_end_of(std::process::id(), &fronts, None), None);
        for (agent, front, hook) in [(one, first_front, first_hook), (two, second_front, second_hook)] {
            let _ = Command::new("pkill").args(["-P", &hook.to_string()]).status();
            let _ = Command::new("kill").arg(hook.to_string()).status();
            end(agent, front);
        }
    }

    #[test]
    fn who_descends_from_an_agent_is_refused() {
        let me = std::process::id();
        // A shell that was given a command and starts another program is not an agent: this process is.
        let (shell, front_end) = started(Command::new("sh").args(["-c", "sleep 60 & echo $!; wait"]));
        let (other, person) = started(Command::new("sh").args(["-c", "sleep 60 & echo $!; wait"]));
        let refused = refusal(person, &[front_end], 1).unwrap();
        assert!(refused.contains(&format!("(process {me}), an agent that hob serves here")), "{refused}");
        assert!(refusal(person, &[], me).unwrap().contains("REPL session"));
        // A shell that runs a file counts as an agent's program, but only with the processes it started.
        let temp = tempfile::tempdir().unwrap();
        let script = temp.path().join("agent");
        fs::write(&script, "sleep 60 & echo $!; wait").unwrap();
        let (agent, served) = started(Command::new("sh").arg(&script));
        assert_eq!(refusal(person, &[served], 1), None);
        assert!(refusal(served, &[served], 1).is_none(), "a front-end is no agent of its own");
        [(shell, front_end), (other, person), (agent, served)].into_iter().for_each(|(child, pid)| end(child, pid));
        assert!(refusal(0, &[], 1).unwrap().contains("cannot be identified"));
    }

    #[test]
    fn what_was_left_behind_is_nobodys_word() {
        let temp = tempfile::tempdir().unwrap();
        let script = temp.path().join("script");
        fs::write(&script, "sleep 60 & echo $!; wait").unwrap();
        for line in [
            "sleep 60 & echo $!",
            "setsid --fork sh -c 'echo $$; exec sleep 60'",
            "nohup sh -c 'sleep 60; :' & echo $!",
            // This is a script's file, which an agent has written.
            &format!("sh '{}' &", script.display()),
        ] {
            let (mut shell, left) =
                started(Command::new("sh").args(["-c", line]).stdin(Stdio::null()).process_group(0));
            shell.wait().unwrap();
            // The kernel reparents it to the first process, or to a supervisor, before the shell's end is visible.
            let heir = Process::from_pid(left).unwrap().parent;
            let refused = refusal(left, &[], 1);
            Command::new("kill").arg(left.to_string()).status().unwrap();
            if line.contains("setsid") && heir != 1 && name(heir) != "systemd" {
                // It has its own session under a supervisor, and cannot be told from the supervisor's own children.
                continue;
            }
            assert!(
                refused.as_deref().is_some_and(|why| why.contains("has ended and may have been an agent")),
                "{line}: {refused:?}"
            );
        }
    }

    #[test]
    fn a_shell_that_was_told_a_command_is_nobodys_agent() {
        for (args, is_told) in [
            (&["-c", "sleep 60; :"][..], true),
            (&["-l", "-c", "sleep 60; :"], true),
            (&["--norc", "-ec", "sleep 60; :"], true),
            (&["-s"], false),
        ] {
            let mut shell = Command::new("bash").args(args).env_clear().stdin(Stdio::piped()).spawn().unwrap();
            while fs::read(format!("/proc/{}/comm", shell.id())).unwrap() != b"bash\n" {
                std::thread::yield_now();
            }
            assert_eq!(is_wrapper(shell.id()), is_told, "{args:?}");
            shell.kill().unwrap();
            shell.wait().unwrap();
        }
    }

    #[test]
    fn marks_outlive_every_parent() {
        let marked = |name: &str| {
            let mut command = Command::new("sleep");
            let mut child = command.arg("60").env_clear().env(name, "1").spawn().unwrap();
            // Until the program starts, the environment is this process's.
            while fs::read(format!("/proc/{}/comm", child.id())).unwrap() != b"sleep\n" {
                std::thread::yield_now();
            }
            let refused = refusal(child.id(), &[], 1);
            child.kill().unwrap();
            child.wait().unwrap();
            refused
        };
        assert!(marked("CLAUDECODE").unwrap().contains("Claude Code"));
        assert!(marked("GEMINI_CLI").unwrap().contains("Gemini CLI"));
        assert!(marked(SESSION).unwrap().contains("REPL session"));
        assert_eq!(marked("CLAUDECODE_NOT"), None);
    }
}
