//! Starting a session: the process, its log, its actor.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use process::output::OutputLog;
use process::{ExtraPipe, Guard, SpawnError, Spec};
use tokio::sync::{broadcast, mpsc, watch};

use super::actor::{Actor, LoopState};
use super::event::Times;
use super::handle::Shared;
use super::machine::{Bounds, Machine};
use super::pipes::{InputPipes, OutputPipe};
use super::script::Scripts;
use super::users::Users;
use super::{Handle, Launch, Screen, SessionEvent, SessionInfo, SessionState, Stream};
use crate::adapter::prompt::{PROMPT, secret};
use crate::adapter::python::PICTURES_VARIABLE;
use crate::adapter::{CODE_VARIABLE, Channel, Nonce, TERMINAL_VARIABLE};
use crate::load::LoadRecord;
use crate::numbers::EvalNumbers;
use crate::sandboxed::Scratch;

/// The capacity of the actor's command queue.
const COMMANDS: usize = 64;
/// The number of events that a slow subscriber may fall behind.
const EVENTS: usize = 4096;

/// Receives every event except output, immediately and without loss. Must not block.
pub(crate) type EventSink = Arc<dyn Fn(&SessionEvent) + Send + Sync>;

/// The parameters of a session.
#[derive(Clone)]
pub(crate) struct SessionSpec {
    pub(crate) name: String,
    pub(crate) worktree: PathBuf,
    pub(crate) owner: String,
    pub(crate) launch: Launch,
    pub(crate) queue: usize,
    pub(crate) idle: Option<Duration>,
    /// The directory of the records for cleaning up after a crash.
    pub(crate) records: Option<PathBuf>,
    pub(crate) guard: Guard,
    pub(crate) sink: Option<EventSink>,
    /// Shared by all sessions of the project.
    pub(crate) numbers: Arc<EvalNumbers>,
}

/// Reasons why a session did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The process could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// Its output cannot be stored.
    #[error("cannot create its output directory in {path}: {source}")]
    Output { path: PathBuf, source: io::Error },
    #[error("the command is empty")]
    NoCommand,
}

/// Starts the process and the task that owns it. New output is appended to `log`. Needs a tokio runtime.
pub(crate) fn start(session: SessionSpec, log: OutputLog) -> Result<Handle, StartError> {
    let launch = session.launch;
    let nonce = Nonce::random();
    let filled = |word: &String| match launch.adapter.prompts() {
        Some(_) => word.replace(PROMPT, secret(&nonce)),
        None => word.clone(),
    };
    let mut command: VecDeque<String> = launch.command.iter().map(filled).collect();
    let env: Vec<(String, String)> = launch.env.iter().map(|(name, value)| (name.clone(), filled(value))).collect();
    let program = command.pop_front().ok_or(StartError::NoCommand)?;
    let mut spec = Spec::new(program, &launch.cwd).args(command).env(env);
    spec.given = launch.adapter.script().map(|script| script.as_bytes().to_vec());
    spec.window = launch.adapter.window();
    let screen = spec.window.map(Screen::new);
    spec.guard = session.guard;
    spec.records = session.records;
    let scratch = launch.sandbox.map(|_| Scratch::create(spec.nonce.as_str())).transpose();
    let scratch = scratch.map_err(|source| StartError::Output { path: project::temporary(), source })?;
    if let Some(scratch) = &scratch {
        spec.sandbox = Some(scratch.sandbox(&session.worktree));
        spec = spec.env(scratch.env());
    }
    if launch.adapter.channel() == Channel::Apart {
        spec.extra.push(ExtraPipe { variable: CODE_VARIABLE.to_owned(), to_child: true });
        spec = match scratch.as_ref().map(Scratch::path).or(log.directory()) {
            Some(directory) => spec.env([(PICTURES_VARIABLE, directory)]),
            None => spec,
        };
    }
    // A program that does not use the terminal is not given one.
    let is_asked_for = launch.command.iter().any(|word| word.contains(TERMINAL_VARIABLE));
    spec.terminal = is_asked_for.then(|| TERMINAL_VARIABLE.to_owned());
    let mut child = spec.spawn()?;

    let now = Instant::now();
    let begun = *log.end().borrow();
    let info = SessionInfo {
        name: session.name.clone(),
        worktree: session.worktree,
        owner: session.owner,
        profile: launch.profile.clone(),
        state: SessionState::Starting,
        reason: None,
        version: None,
        prompted: false,
        banner: String::new(),
        completion: launch.adapter.completion(),
        pid: u32::try_from(child.pid).ok(),
        cwd: launch.cwd.clone(),
        // The path of the script that hob hands to the program is hidden.
        command: launch.command.iter().filter(|word| *word != process::GIVEN_PATH).cloned().collect(),
        memory: None,
        uptime: Duration::ZERO,
        idle: Duration::ZERO,
        idle_limit: session.idle,
        times: Times { started: now, used: now, eval: None, ended: None },
        current: None,
        code: String::new(),
        running: Duration::ZERO,
        waited_for: false,
        away: None,
        fallback: launch.fallback.clone(),
        start_notes: launch.notes.clone(),
        called: launch.called.clone(),
        queue_depth: 0,
        evals: 0,
        cursor: begun,
        prompt: String::new(),
    };
    let (commands, received) = mpsc::channel(COMMANDS);
    let (info, seen) = watch::channel(info);
    let (loads, loaded) = watch::channel(Arc::new(LoadRecord::default()));
    let events = broadcast::Sender::new(EVENTS);
    let bounds = Bounds { queue: session.queue, start: launch.start_timeout, idle: session.idle };
    let inputs = InputPipes::new(launch.adapter.channel(), child.stdin.take(), std::mem::take(&mut child.extra));
    let users = Arc::new(Users::new(now));
    let jobs = launch.adapter.controls_jobs();
    let state = LoopState::new(&child.group, &*launch.adapter, &log);
    let adapter = launch.adapter.clone();
    let actor = Actor {
        jobs,
        machine: Machine::new(&session.name, adapter, nonce.clone(), bounds, session.numbers, now),
        commands: received,
        info,
        loads,
        events: events.clone(),
        log: log.clone(),
        exit: child.exit.clone(),
        outputs: [
            OutputPipe::new(Stream::Stdout, child.stdout.take(), &nonce)
                .at_prompts(launch.adapter.prompts(), &nonce)
                .on_screen(screen.clone()),
            OutputPipe::new(Stream::Stderr, child.stderr.take(), &nonce),
        ],
        inputs,
        screen: screen.clone(),
        scripts: Scripts::new(child.group.nonce().as_str()),
        memory_limit: launch.memory_limit,
        users: users.clone(),
        session: session.name,
        sink: session.sink,
        state,
        _terminal: child.terminal.take(),
        scratch,
        group: child.group.clone(),
    };
    tokio::spawn(actor.run());
    let shared = Shared { begun, info: seen, loads: loaded, events, log, users, screen };
    Ok(Handle { commands, shared: Arc::new(shared) })
}
