//! Tests installed entries. Each one runs as written in private copies of a project: with a daemon, with a killed one, with one
//! that does not answer, and without hob's program. The result is compared with the reaction of this agent's version, and with
//! the promise of the command line.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::agents::{Agent, Came, Effect, Fail, Version};
use crate::event::Kind;
use crate::install::{Form, Installed};

/// The command that a private copy's policy forbids.
const FORBIDDEN: &str = "hob-proves-its-hooks";
/// The timeout for the first daemon.
const WARM_WITHIN: Duration = Duration::from_secs(3);
/// The timeout of a run: a little longer than that of `hob hook`.
const RUN_WITHIN: Duration = Duration::from_millis(6000);
/// Environment variables that name an agent's directory. A hook in the copy must not see the caller's.
const PLACES: &[&str] = &["HOB_PROJECT", "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR"];

/// A state in which an entry is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// A daemon runs, and a rule forbids the event's command.
    There,
    /// The daemon was killed.
    Killed,
    /// The daemon does not answer.
    Hanging,
    /// hob's program is missing.
    Gone,
}

/// The result of an entry in a state.
#[derive(Debug, Clone, Serialize)]
pub struct Proof {
    pub state: State,
    pub came: Came,
    /// The effect on the tool in this agent's version.
    pub effect: Effect,
    /// The effects that fulfil the promise of the command line.
    pub promised: Vec<Effect>,
    pub millis: u64,
}

/// A tested entry.
#[derive(Debug, Clone)]
pub struct Proven {
    pub entry: Installed,
    /// The results in every state, for an entry before a tool.
    pub proofs: Vec<Proof>,
    /// The fault of another entry, which was run once.
    pub fault: Option<String>,
}

impl State {
    /// Every state.
    pub const ALL: [State; 4] = [State::There, State::Killed, State::Hanging, State::Gone];

    /// Returns the description for people.
    pub fn as_str(self) -> &'static str {
        match self {
            State::There => "with a daemon",
            State::Killed => "daemon killed",
            State::Hanging => "daemon hanging",
            State::Gone => "hob gone",
        }
    }
}

impl Proof {
    /// Returns true if the effect is one of the promised ones.
    pub fn holds(&self) -> bool {
        self.promised.contains(&self.effect)
    }
}

/// Returns the effects that an entry's command line promises for a forbidden tool in a state.
pub fn promised(state: State, fail: Fail) -> Vec<Effect> {
    match (state, fail) {
        (State::There, _) | (_, Fail::Closed) => vec![Effect::Blocked],
        // The next daemon decides if it starts in time.
        (State::Killed, Fail::Open) => vec![Effect::Blocked, Effect::Runs],
        (State::Killed | State::Hanging | State::Gone, Fail::Ask) => vec![Effect::Asks, Effect::Blocked],
        (State::Hanging | State::Gone, Fail::Open) => vec![Effect::Runs],
    }
}

/// Tests all entries at once. `version` is the agent's version, if known.
///
/// # Errors
/// If the private copies cannot be created.
pub fn prove(
    entries: Vec<Installed>,
    version: impl Fn(Agent) -> Option<Version> + Sync,
) -> std::io::Result<Vec<Proven>> {
    let copies = State::ALL.map(|_| Copy::new());
    let mut made = Vec::new();
    for copy in copies {
        made.push(copy?);
    }
    let mut all: Vec<Proven> =
        entries.into_iter().map(|entry| Proven { entry, proofs: Vec::new(), fault: None }).collect();
    let runs = std::thread::scope(|scope| {
        let entries: Vec<&Installed> = all.iter().map(|proven| &proven.entry).collect();
        let states = State::ALL.into_iter().zip(&made);
        let running = states.map(|(state, copy)| {
            let entries = entries.clone();
            scope.spawn(move || in_state(state, copy, &entries))
        });
        let running: Vec<_> = running.collect();
        running.into_iter().map(|state| state.join().unwrap_or_default()).collect::<Vec<_>>()
    });
    for (state, ran) in State::ALL.into_iter().zip(runs) {
        for (proven, ran) in all.iter_mut().zip(ran) {
            let Some(ran) = ran else { continue };
            if is_gate(&proven.entry) {
                if state == State::There && !ran.is_by_rule {
                    proven.fault = Some(format!(
                        "with a daemon, the rule did not decide: it {}{}",
                        ran.came.as_str(),
                        ran.first_error_line()
                    ));
                }
                let agent = proven.entry.agent;
                proven.proofs.push(Proof {
                    state,
                    came: ran.came,
                    effect: agent.effect(version(agent), proven.entry.has_switch, ran.came),
                    promised: promised(state, proven.entry.fail),
                    millis: ran.millis,
                });
            } else if !matches!(ran.came, Came::Nothing | Came::Denied | Came::Asked | Came::Allowed) {
                proven.fault = Some(format!("it {}{}", ran.came.as_str(), ran.first_error_line()));
            }
        }
    }
    Ok(all)
}

/// Returns true if a shell command passes this entry before it runs.
pub fn is_gate(entry: &Installed) -> bool {
    let row = entry.agent.row(&entry.event);
    let of_other_tools = ["beforeMCPExecution", "beforeReadFile", "beforeTabFileRead"];
    row.is_some_and(|row| row.kind == Kind::ToolBefore && row.is_gate() && !of_other_tools.contains(&row.name))
}

/// Runs all entries in a state. An entry that is not tested in this state has no result.
fn in_state(state: State, copy: &Copy, entries: &[&Installed]) -> Vec<Option<Ran>> {
    let gate = |entry: &&&Installed| is_gate(entry);
    if state == State::Gone {
        let missing = copy.directory.path().join("gone/hob");
        let run = |entry: &&Installed| {
            is_gate(entry).then(|| copy.run(&entry.with_program(&missing.to_string_lossy()), entry))
        };
        return entries.iter().map(run).collect();
    }
    let warm = || {
        let end = Instant::now() + WARM_WITHIN;
        while let Some(first) = entries.iter().find(gate) {
            if copy.run(&first.form, first).is_by_rule || Instant::now() > end {
                break;
            }
        }
    };
    warm();
    match state {
        State::There => entries.iter().map(|entry| Some(copy.run(&entry.form, entry))).collect(),
        State::Hanging => {
            copy.signal(Signal::STOP);
            std::thread::scope(|scope| {
                let run = |entry: &&Installed| copy.run(&entry.form, entry);
                let running: Vec<_> =
                    entries.iter().map(|entry| is_gate(entry).then(|| scope.spawn(move || run(entry)))).collect();
                running.into_iter().map(|run| run?.join().ok()).collect()
            })
        }
        _ => {
            let run = |entry: &&Installed| {
                is_gate(entry).then(|| {
                    copy.signal(Signal::KILL);
                    copy.run(&entry.form, entry)
                })
            };
            entries.iter().map(run).collect()
        }
    }
}

/// The result of a run.
struct Ran {
    came: Came,
    /// True if a rule is given as the reason.
    is_by_rule: bool,
    stderr: String,
    millis: u64,
}

impl Ran {
    fn first_error_line(&self) -> String {
        let line = self.stderr.lines().next().unwrap_or_default();
        if line.is_empty() { String::new() } else { format!(": {line}") }
    }
}

/// A private project with its own state and sockets. Dropping it ends its daemons.
struct Copy {
    directory: tempfile::TempDir,
}

impl Copy {
    fn new() -> std::io::Result<Copy> {
        let copy = Copy { directory: tempfile::Builder::new().prefix("hob-proof-").tempdir()? };
        for name in ["project", "state", "run"] {
            std::fs::DirBuilder::new().mode(0o700).create(copy.directory.path().join(name))?;
        }
        std::fs::write(copy.project().join("hob.toml"), "")?;
        let rule = format!(
            "[[rule]]\nid = \"proof\"\non = [\"tool_before\"]\ntool = \"shell\"\ncommand = \"{FORBIDDEN}\"\ndecide = \"deny\"\nreason = \"a proof\"\n"
        );
        std::fs::write(copy.project().join(crate::policy::FILE), rule)?;
        Ok(copy)
    }

    fn project(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    fn run(&self, form: &Form, entry: &Installed) -> Ran {
        let begun = Instant::now();
        let mut command = match form {
            Form::Exec { program, args } => {
                let mut command = Command::new(program);
                command.args(args);
                command
            }
            Form::Shell(line) => {
                let mut command = Command::new("/bin/sh");
                command.arg("-c").arg(line);
                command
            }
        };
        for name in PLACES {
            command.env_remove(name);
        }
        command.env("XDG_STATE_HOME", self.directory.path().join("state"));
        command.env("XDG_RUNTIME_DIR", self.directory.path().join("run"));
        command.current_dir(self.project()).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let millis = || u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let within = entry.within_ms.map_or(RUN_WITHIN, |within| RUN_WITHIN.min(Duration::from_millis(within)));
        match command.spawn() {
            Err(error) => Ran { came: Came::Missing, is_by_rule: false, stderr: error.to_string(), millis: millis() },
            Ok(child) => {
                let (came, stdout, stderr) = ended(child, &payload(entry, &self.project()), begun + within);
                Ran { came, is_by_rule: stdout.contains("(rule "), stderr, millis: millis() }
            }
        }
    }

    /// Returns the daemon of this copy, from the peer of its socket.
    fn daemon(&self) -> Option<Pid> {
        let sockets = std::fs::read_dir(self.directory.path().join("run/hob")).ok()?;
        let sockets = sockets.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket()));
        sockets.map(|entry| entry.path()).find_map(|path| {
            let peer = project::socket::peer(&UnixStream::connect(path).ok()?).ok()?;
            Pid::from_raw(peer.pid.cast_signed())
        })
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.daemon() {
            let _ = kill_process(pid, signal);
            // A killed daemon is gone when its socket refuses connections.
            let end = Instant::now() + Duration::from_secs(1);
            while signal == Signal::KILL && self.daemon() == Some(pid) && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

impl Copy {
    /// Returns the daemons of this copy, including those that do not listen yet: a hook gives up on a slow one.
    fn daemons(&self) -> Vec<Pid> {
        let project = self.project();
        let is_ours = |process: &Path| {
            let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
            let mut words = line.split(|byte| *byte == 0);
            words.any(|word| word == b"serve") && words.any(|word| word == project.as_os_str().as_encoded_bytes())
        };
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let ours = processes.filter(|process| is_ours(&process.path()));
        ours.filter_map(|process| Pid::from_raw(process.file_name().to_str()?.parse().ok()?)).collect()
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let end = Instant::now() + Duration::from_secs(2);
        loop {
            let daemons = self.daemons();
            for daemon in &daemons {
                let _ = kill_process(*daemon, Signal::KILL);
            }
            if daemons.is_empty() || Instant::now() > end {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Sends the event and waits for the exit.
fn ended(mut child: Child, event: &[u8], end: Instant) -> (Came, String, String) {
    let input = child.stdin.take();
    let mut output = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        scope.spawn(move || input.map(|mut input| input.write_all(event)));
        let reading = scope.spawn(move || read(output.0.as_mut()));
        let complaining = scope.spawn(move || read(output.1.as_mut()));
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(2)),
                _ => break None,
            }
        };
        if status.is_none() {
            let _ = Pid::from_raw(child.id().cast_signed()).map(|pid| kill_process_group(pid, Signal::KILL));
            let _ = child.wait();
        }
        let said = reading.join().unwrap_or_default();
        let complained = String::from_utf8_lossy(&complaining.join().unwrap_or_default()).into_owned();
        let came = status.map_or(Came::TooLate, |status| Came::from_output(&said, status.code()));
        (came, String::from_utf8_lossy(&said).into_owned(), complained)
    })
}

/// Reads a program's output. A daemon that it started inherits none of its descriptors.
fn read(from: Option<&mut impl std::io::Read>) -> Vec<u8> {
    let mut said = Vec::new();
    let _ = from.map(|from| from.take(1 << 20).read_to_end(&mut said));
    said
}

/// Builds an event in the agent's format; before a tool, of a shell that runs the forbidden command.
fn payload(entry: &Installed, project: &Path) -> Vec<u8> {
    let mut all = Map::from_iter([
        ("hook_event_name".to_owned(), json!(entry.event)),
        ("session_id".to_owned(), json!("hob-doctor")),
        ("cwd".to_owned(), json!(project)),
    ]);
    let is_of_tool = entry.agent.row(&entry.event).is_some_and(|row| {
        matches!(row.kind, Kind::ToolBefore | Kind::ToolAfter | Kind::ToolFailed | Kind::PermissionRequest)
    });
    if is_of_tool {
        let (tool, input) = match entry.agent {
            Agent::Gemini => ("run_shell_command", json!({"command": FORBIDDEN})),
            Agent::Cursor => ("Shell", json!({"command": FORBIDDEN})),
            _ => ("Bash", json!({"command": FORBIDDEN})),
        };
        let fields: [(&str, Value); 3] = match entry.agent {
            Agent::Copilot => [
                ("toolName", json!("bash")),
                ("toolArgs", json!(input.to_string())),
                ("sessionId", json!("hob-doctor")),
            ],
            _ => [("tool_name", json!(tool)), ("tool_input", input), ("command", json!(FORBIDDEN))],
        };
        all.extend(fields.into_iter().map(|(name, value)| (name.to_owned(), value)));
        if entry.agent == Agent::Copilot {
            all.remove("hook_event_name");
        }
    }
    Value::Object(all).to_string().into_bytes()
}
