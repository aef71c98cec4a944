//! Starts and stops the daemon: lock, log, socket, readiness; then idle time, signals, `hob stop`.
//!
//! The daemon binds first and loads later, so that a front-end waits only for the socket. The first stop request is
//! graceful (sessions end in order); the second stops the daemon at once.

use std::fs::DirBuilder;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process;
use std::sync::Arc;
use std::time::{Duration, Instant};

use project::config::Limit;
use project::journal::Record;
use project::socket::{self, SocketError};
use project::visible::path as shown;
use project::{Config, ConfigError, Lock, LockError, PathError, Project, VERSION, daemon_environment, stale_files};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::connections::Connections;
use crate::daemon::Daemon;
use crate::dashboard::Latest;
use crate::http::{Http, HttpError};
use crate::journal::Journal;
use crate::servers::Parts;
use crate::toolsets::{ChoiceError, suggestion};
use crate::{detach, listener, log, parts};

/// The time to wait for another daemon that is starting or stopping.
const PLACE_TIME: Duration = Duration::from_secs(10);

/// The options of a daemon.
#[derive(Debug)]
pub struct Options {
    pub project: Project,
    /// True to detach from the terminal and the caller, as front-ends need it.
    pub background: bool,
    /// The local address to serve HTTP on, if any.
    pub http: Option<SocketAddr>,
}

/// Reasons why the daemon did not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("{}", misconfigured(.0))]
    Toolsets(#[from] ChoiceError),
    #[error(
        "write the log under {}: {source}; check that you own the directory and that the disk is not full",
        shown(path)
    )]
    Log { path: std::path::PathBuf, source: io::Error },
    #[error("another daemon of this project has just ended; try again")]
    Replaced,
    #[error("another daemon of this project is running{} and cannot be reached from here: its XDG_RUNTIME_DIR or \
             TMPDIR differs, or the project moved after it was started manually. End it gracefully with {}, then try \
             again", pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default(), pid.map_or_else(|| "SIGTERM".to_owned(), |pid| format!("`kill {pid}`")))]
    OutOfReach { pid: Option<u32> },
    #[error(
        "the process {pid} holds the lock of this project and is not a hob daemon; inspect it with `ps -p {pid}`, end it, then try again"
    )]
    HeldByOther { pid: u32 },
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("cannot start the daemon: {0}; `hob doctor` checks what it needs")]
    Start(#[source] io::Error),
}

/// Serves the project until stopped. With `background`, this process exits at once and another one serves.
pub fn serve(options: Options) -> Result<(), ServeError> {
    if !options.background {
        if !daemon_environment::is_handed_over() {
            let arguments: Vec<_> = std::env::args_os().skip(1).collect();
            return Err(ServeError::Start(detach::start_clean(&arguments)));
        }
        take_input();
        return run(options.project, Starter::Person, options.http);
    }
    if !detach::is_detached() {
        let arguments: Vec<_> = std::env::args_os().skip(1).collect();
        return detach::start_second(&arguments, options.project.root()).map_err(ServeError::Start);
    }
    take_input();
    run(options.project, Starter::FrontEnd, options.http).inspect_err(|error| {
        // Before readiness the front-end shows the error; afterwards it is in the log.
        let _ = detach::say_failed(&error.to_string());
    })
}

/// Reads the secrets passed by the starting process, then replaces stdin by /dev/null.
fn take_input() {
    daemon_environment::take();
    // If this fails, sessions still cannot read the secrets: the pipe is empty.
    let _ = std::fs::File::open("/dev/null").and_then(|null| Ok(rustix::stdio::dup2_stdin(&null)?));
}

/// The starter of the daemon. A front-end waits for its readiness.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Starter {
    FrontEnd,
    Person,
}

fn run(project: Project, starter: Starter, http: Option<SocketAddr>) -> Result<(), ServeError> {
    let Some(lock) = take_place(&project)? else {
        // Another daemon already serves, which is enough for a front-end.
        return match starter {
            Starter::FrontEnd => detach::say_ready().map_err(ServeError::Start),
            Starter::Person => Err(Lock::acquire(&project).map_or_else(ServeError::Lock, |_| ServeError::Replaced)),
        };
    };
    let config = Config::load(&project, &parts::sections())?;
    let http = http.map(|address| Http::bind(&project, address)).transpose()?;
    // Log and journal each keep two files.
    let journal = match logs(&project.log_dir(), config.limits.log_bytes / 4, starter) {
        Ok(journal) => journal,
        // Existing state is still readable, and each call that would write reports the error.
        Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => Journal::in_memory(),
        Err(source) => return Err(ServeError::Log { path: project.log_dir(), source }),
    };
    let runtime = runtime().map_err(ServeError::Start)?;
    let outcome = runtime.block_on(serve_until_stopped(project, config, journal, lock, starter, http));
    // A blocked thread must not keep the process alive.
    runtime.shutdown_background();
    ::process::finish_ending();
    outcome
}

/// Prepares the process for sessions, and starts its runtime.
pub(crate) fn runtime() -> io::Result<Runtime> {
    ::process::allocator::single_arena();
    ::process::limits::raise_open_files();
    ::process::subreaper::become_subreaper()?;
    // One worker besides the listener's thread: a call passes through its connection's task and its session's, and with
    // more workers every hand-over wakes another thread, which costs more than the work. Slow work runs on the blocking
    // threads.
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()
}

/// Opens the log, the journal, and the file for panics and stray prints.
fn logs(dir: &Path, limit: u64, starter: Starter) -> io::Result<Arc<Journal>> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    log::start(dir, limit)?;
    let journal = Journal::open(dir, limit)?;
    if starter == Starter::FrontEnd {
        detach::stderr_to(&dir.join("stderr.log"))?;
    }
    Ok(journal)
}

/// Returns the message for an invalid toolset at startup. No connection exists yet, so the error is in a file.
fn misconfigured(error: &ChoiceError) -> String {
    match error {
        ChoiceError::UnknownToolset { name, known } => {
            format!(
                "`toolsets` in hob.toml, or in your own config.toml, names the unknown toolset '{name}'; available: {known}. {}Correct it there",
                suggestion(name, known)
            )
        }
        error => error.to_string(),
    }
}

/// Takes the lock; `None` if another daemon serves. A daemon that holds the lock without serving is starting or
/// stopping: this waits for it. A daemon that serves the project at its former path is ended.
fn take_place(project: &Project) -> Result<Option<Lock>, ServeError> {
    let deadline = Instant::now() + PLACE_TIME;
    let mut ended = false;
    loop {
        match Lock::acquire(project) {
            Ok(lock) => return Ok(Some(lock)),
            Err(LockError::Held { pid }) => {
                if socket::connect(project)?.is_some() {
                    return Ok(None);
                }
                if !ended && let Some(pid) = pid {
                    ended = end_moved(project, pid);
                }
                if Instant::now() > deadline {
                    return Err(match pid.filter(|pid| !project::serves(*pid)) {
                        Some(pid) => ServeError::HeldByOther { pid },
                        None => ServeError::OutOfReach { pid },
                    });
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Ends the daemon `pid` if it serves the project at its former path. Returns true if it did.
fn end_moved(project: &Project, pid: u32) -> bool {
    let serves_it = || project::served_at(project, pid).is_some();
    i32::try_from(pid).is_ok_and(|pid| system::send_signal(pid, rustix::process::Signal::TERM, serves_it))
}

async fn serve_until_stopped(
    project: Project,
    config: Config,
    journal: Arc<Journal>,
    lock: Lock,
    starter: Starter,
    http: Option<Http>,
) -> Result<(), ServeError> {
    let signals = Signals::new().map_err(ServeError::Start)?;
    let connections =
        Connections::new(usize::try_from(config.limits.connections).unwrap_or(usize::MAX), journal.clone());
    let parts = Parts::new(&project, &config, &journal, Some(&connections))?;
    let (listener, bound) = socket::bind(&project, &lock)?;
    let life = ::process::Nonce::random().as_str()[..16].to_owned();
    let daemon = Arc::new(Daemon {
        project,
        config,
        life,
        started: Instant::now(),
        started_ms: project::journal::now(),
        journal,
        connections,
        parts,
        rooms: Latest::default(),
        http: http.as_ref().map(|http| (http.address, http.token_file.clone())),
        stop: watch::channel(None).0,
    });
    let listener = listener::Listener::new(daemon.clone(), listener, bound, lock).map_err(ServeError::Start)?;
    if starter == Starter::FrontEnd {
        detach::say_ready().map_err(ServeError::Start)?;
    }
    tracing::info!(pid = process::id(), life = %daemon.life, root = %daemon.project.root().display(), "serving");
    daemon.journal.record(Record::DaemonStarted {
        pid: process::id(),
        version: VERSION.to_owned(),
        life: daemon.life.clone(),
    });

    tokio::spawn(::process::subreaper::task());
    tokio::spawn(crate::trim_memory::after_each_crowd(daemon.connections.count()));
    Parts::clean_up_former_life(&daemon.project).await;
    let project = daemon.project.clone();
    // Runs in the background: another project may be on an unresponsive disk.
    tokio::task::spawn_blocking(move || stale_files::clean_up(&project));
    let signalled = tokio::spawn(stop_on_signal(daemon.clone(), signals));
    // HTTP clients come and go, so a daemon that serves them never stops when idle.
    if http.is_none() {
        tokio::spawn(stop_when_idle(daemon.clone()));
    }
    if let (Some(http), Starter::Person) = (&http, starter) {
        let (url, token) = (Http::url(http.address), shown(&http.token_file));
        // Stderr may be closed.
        let _ = writeln!(
            io::stderr(),
            "Serving {url} too; the token is in {token}. `hob init --http` shows how to connect."
        );
    }
    listener.run(http).await;
    signalled.abort();
    Ok(())
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    /// This signal is handled, so that it does not kill the daemon: a write beyond an inherited file size limit then
    /// fails like one on a full disk.
    _too_large: Signal,
}

impl Signals {
    fn new() -> io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            _too_large: signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?,
        })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.hangup.recv() => "SIGHUP",
        }
    }
}

/// Stops gracefully at the first signal, at once at the second; the guardians then end the remaining processes.
async fn stop_on_signal(daemon: Arc<Daemon>, mut signals: Signals) {
    daemon.begin_stop(format!("it got {}", signals.next().await));
    let second = signals.next().await;
    tracing::warn!(signal = second, "ending at once");
    ::process::finish_ending();
    process::exit(1);
}

/// Stops the daemon after the configured time without connections and live sessions.
async fn stop_when_idle(daemon: Arc<Daemon>) {
    let Limit::After(limit) = daemon.config.idle else { return };
    let mut count = daemon.connections.count();
    loop {
        // An error means that the daemon itself is gone.
        if count.wait_for(|count| *count == 0).await.is_err() {
            return;
        }
        let deadline = tokio::time::Instant::now() + limit;
        tokio::select! {
            _ = count.wait_for(|count| *count > 0) => continue,
            () = tokio::time::sleep_until(deadline) => {}
        }
        if daemon.busy().is_none() {
            daemon.begin_stop(format!("it was unused for {}", people_time(limit)));
            return;
        }
        // A live session has its own idle limit; the daemon's starts after that.
        tokio::time::sleep(Duration::from_secs(1).min(limit)).await;
    }
}

fn people_time(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds >= 120 => format!("{} minutes", seconds / 60),
        seconds => format!("{seconds} seconds"),
    }
}
