//! [`Spec`]: a program to start, with its options.
//!
//! The child gets its own session and process group, pipes (or a terminal) whose ends on its side stay blocking, exactly the
//! environment that the spec names, default signal dispositions, an empty signal mask and its user's file limit. It
//! inherits nothing else.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::io::FdFlags;
use rustix::process::Rlimit;
use rustix::termios::Winsize;
use tokio::net::unix::pipe;

use crate::child::{self, Child, Extra};
use crate::exec::{close_on_exec_from, default_signals, lower_priority};
use crate::guardian::Guardian;
use crate::mark::Mark;
use crate::nonce::{self, Nonce};
use crate::sandbox::{Rules, Sandbox};
use crate::{limits, platform, procfs, records};

/// A program to start. Nothing is inherited: give the whole environment.
#[derive(Debug, Clone)]
pub struct Spec {
    /// A name that is searched in the `PATH` of [`Spec::env`], or a path relative to [`Spec::cwd`].
    pub program: OsString,
    /// Arguments after the program's name.
    pub args: Vec<OsString>,
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// The whole environment. `HOB_SESSION` is added.
    pub env: Vec<(OsString, OsString)>,
    /// Names the session; see [`Nonce`].
    pub nonce: Nonce,
    /// More descriptors, for programs that separate their answers from their output.
    pub extra: Vec<ExtraPipe>,
    /// The size of a terminal that is the child's input and output instead of pipes, and controls it.
    pub window: Option<Window>,
    /// The variable in the child's environment with the number of one more descriptor: an unread terminal without
    /// control. If the system provides none, it is `/dev/null`.
    pub terminal: Option<String>,
    /// A text of at most [`GIVEN_MAX`] bytes that the child can read once, from the path that replaces [`GIVEN_PATH`]
    /// in the arguments. It is in no directory.
    pub given: Option<Vec<u8>>,
    /// The guardian that ends the session if this process exits.
    pub guard: Guard,
    /// The directory for the record for [`records::sweep`] while the session lives.
    pub records: Option<PathBuf>,
    /// The minimum niceness of the child and everything it starts, from 0 (that of this process) to [`NICEST`].
    /// Priority is only ever lowered: the child of a nicer process stays as nice as its parent.
    pub nice: i32,
    /// The sandbox of the child and everything it starts. A kernel without Landlock enforces none.
    pub sandbox: Option<Sandbox>,
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub rows: u16,
    pub columns: u16,
}

/// The lowest priority (setpriority(2)).
pub const NICEST: i32 = 19;
/// A placeholder in the arguments for the path of [`Spec::given`].
pub const GIVEN_PATH: &str = "@HOB-GIVEN-PATH@";
/// The number of bytes that every pipe accepts at once.
pub const GIVEN_MAX: usize = 4096;

/// One more pipe between us and the child.
#[derive(Debug, Clone)]
pub struct ExtraPipe {
    /// The variable in the child's environment with the number of its descriptor.
    pub variable: String,
    /// The direction of the bytes.
    pub to_child: bool,
}

/// The way the session is ended if this process dies without doing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guard {
    /// `/proc/self/exe guardian NONCE`: right for a binary that has that hidden command.
    SelfExe,
    /// Another program that calls [`crate::guardian::run`], with the arguments that lead there.
    Program(PathBuf, Vec<OsString>),
    /// No guardian: the session may outlive a killed parent. For short commands and tests.
    Without,
}

/// Reasons why a program could not be started. The message includes the fix.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// No such program in the search path.
    #[error("program {program:?} was not found; searched PATH={path}")]
    NotFound {
        /// The name as given.
        program: OsString,
        /// The search path of the child's environment.
        path: String,
    },
    /// The path to the program does not exist.
    #[error("program {0} does not exist")]
    NoSuchFile(PathBuf),
    /// The program exists, but may not be executed.
    #[error("program {0} is not executable by this user")]
    NotExecutable(PathBuf),
    /// The program is a script whose interpreter is missing.
    #[error("program {program} names the interpreter {interpreter} in its first line, which does not exist")]
    NoInterpreter {
        /// The script.
        program: PathBuf,
        /// The interpreter in its first line.
        interpreter: PathBuf,
    },
    /// The working directory is unusable.
    #[error("working directory {path}: {source}")]
    Cwd {
        /// The path as given.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The working directory must be absolute.
    #[error("working directory {0} is not an absolute path")]
    CwdRelative(PathBuf),
    /// [`Spec::nice`] is out of range.
    #[error("niceness {0} is out of range; use 0 (no change) to {NICEST} (lowest priority)")]
    Nice(i32),
    /// The guardian could not be started.
    #[error("cannot start the guardian process: {0}")]
    Guardian(io::Error),
    /// The sandbox could not be prepared.
    #[error("cannot prepare the sandbox: {0}")]
    Sandbox(io::Error),
    /// The record for clean-up after a crash could not be written.
    #[error("cannot write the session record in {path}: {source}")]
    Record {
        /// The directory of the records.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// No pipes, processes or memory were available, or the program is for another kind of machine.
    #[error("cannot start {program}: {source}")]
    System {
        /// The resolved program.
        program: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl Spec {
    /// Creates a spec with only the given program and working directory: no arguments, an empty environment, guarded by
    /// `/proc/self/exe guardian`, without a record.
    pub fn new(program: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Spec {
        Spec {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            env: Vec::new(),
            nonce: Nonce::random(),
            extra: Vec::new(),
            window: None,
            terminal: None,
            given: None,
            guard: Guard::SelfExe,
            records: None,
            nice: 0,
            sandbox: None,
        }
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Spec {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds variables to the environment; a later one of the same name wins.
    pub fn env(mut self, vars: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>) -> Spec {
        self.env.extend(vars.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Starts the program. Needs a tokio runtime. Blocks the calling thread for a few milliseconds: two forks.
    ///
    /// The guardian starts before the child, so our death never leaves the child behind.
    pub fn spawn(self) -> Result<Child, SpawnError> {
        check_cwd(&self.cwd)?;
        if !(0..=NICEST).contains(&self.nice) {
            return Err(SpawnError::Nice(self.nice));
        }
        let program = self.program()?;
        let system = |source: io::Error| SpawnError::System { program: program.clone(), source };

        let Streams { stdin, stdout, stderr, child: [input_end, output_end, error_end], input } =
            self.window.map_or_else(Streams::pipes, Streams::terminal).map_err(system)?;

        let mut command = tokio::process::Command::new(&program);
        let given = self.given.as_deref().map(text_pipe).transpose().map_err(system)?;
        let path =
            given.as_ref().map(|given| OsString::from(format!("{}/{}", system::OWN_DESCRIPTORS, given.as_raw_fd())));
        let args = self.args.iter().map(|arg| path.as_ref().filter(|_| arg == GIVEN_PATH).unwrap_or(arg));
        command.arg0(&self.program).args(args).current_dir(&self.cwd).env_clear();
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.env(nonce::SESSION_VARIABLE, self.nonce.as_str());
        let mut extra = Vec::new();
        let mut inherited = Vec::from_iter(given);
        for wanted in &self.extra {
            let (ours, theirs) = if wanted.to_child {
                let end = our_writer().map_err(system)?;
                (Extra::ToChild(end.ours), end.child)
            } else {
                let end = our_reader().map_err(system)?;
                (Extra::FromChild(end.ours), end.child)
            };
            command.env(&wanted.variable, theirs.as_raw_fd().to_string());
            extra.push(ours);
            inherited.push(theirs);
        }
        let mut terminal = None;
        if let Some(variable) = &self.terminal {
            let theirs = match platform::new_terminal() {
                Ok((ours, theirs)) => {
                    terminal = Some(ours);
                    theirs
                }
                Err(_) => std::fs::File::options().read(true).write(true).open("/dev/null").map_err(system)?.into(),
            };
            command.env(variable, theirs.as_raw_fd().to_string());
            inherited.push(theirs);
        }
        command.stdin(Stdio::from(input_end)).stdout(Stdio::from(output_end)).stderr(Stdio::from(error_end));
        let rules = self.sandbox.as_ref().map(Sandbox::rules).transpose().map_err(SpawnError::Sandbox)?.flatten();
        set_before_exec(
            &mut command,
            inherited,
            limits::original_open_files(),
            self.nice,
            Mark::from_nonce(&self.nonce),
            rules,
            self.window.is_some(),
        );

        let guardian = match &self.guard {
            Guard::Without => None,
            Guard::SelfExe => Some(Guardian::start(&system::this_program(), &["guardian".into()], &self.nonce)),
            Guard::Program(program, args) => Some(Guardian::start(program, args, &self.nonce)),
        };
        let guardian = guardian.transpose().map_err(SpawnError::Guardian)?;

        let started = child::start(&mut command).map_err(|error| match missing_interpreter(&program, &error) {
            // The system reports that the script itself does not exist.
            Some(interpreter) => SpawnError::NoInterpreter { program: program.clone(), interpreter },
            None => system(error),
        })?;
        drop(command);
        let group = child::group_of(&started, self.nonce.clone(), input, guardian);
        let mut child = child::watch(started, group, stdin, stdout, stderr, extra);
        child.terminal = terminal;
        if let Some(path) = &self.records {
            let written = records::Record::from_identity(child.group.identity()).write(path);
            let record = written.map_err(|source| SpawnError::Record { path: path.clone(), source })?;
            child.group.keep_record(record);
        }
        Ok(child)
    }

    /// Finds the program's file as execvp would with the child's `PATH`, except that entries in or below the child's
    /// directory are ignored: a bare name never means a file there.
    pub fn program(&self) -> Result<PathBuf, SpawnError> {
        let name = Path::new(&self.program);
        if name.components().count() > 1 || self.program.as_encoded_bytes().contains(&b'/') {
            let path = self.cwd.join(name);
            return match usable(&path) {
                Usable::Yes => Ok(path),
                Usable::NotExecutable => Err(SpawnError::NotExecutable(path)),
                Usable::No => Err(SpawnError::NoSuchFile(path)),
            };
        }
        let search = self.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
        let search = search.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
        let mut denied = None;
        for directory in std::env::split_paths(search).filter(|directory| directory.is_absolute()) {
            let path = directory.join(name);
            match usable(&path) {
                Usable::Yes => return Ok(path),
                Usable::NotExecutable => denied = denied.or(Some(path)),
                Usable::No => {}
            }
        }
        Err(match denied {
            Some(path) => SpawnError::NotExecutable(path),
            None => SpawnError::NotFound { program: self.program.clone(), path: search.to_string_lossy().into_owned() },
        })
    }
}

enum Usable {
    Yes,
    NotExecutable,
    No,
}

fn usable(path: &Path) -> Usable {
    match std::fs::metadata(path) {
        Ok(data) if data.is_file() => {
            let allowed = rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
            if allowed && data.permissions().mode() & 0o111 != 0 { Usable::Yes } else { Usable::NotExecutable }
        }
        _ => Usable::No,
    }
}

/// Returns the interpreter in a script's first line, if it is missing and caused the error.
fn missing_interpreter(program: &Path, error: &io::Error) -> Option<PathBuf> {
    if error.kind() != io::ErrorKind::NotFound {
        return None;
    }
    // The kernel reads no more of it (execve(2)).
    let mut head = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(std::fs::File::open(program).ok()?, 256), &mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let word = line.split(u8::is_ascii_whitespace).find(|word| !word.is_empty())?;
    let interpreter = PathBuf::from(OsStr::from_bytes(word));
    (!interpreter.exists()).then_some(interpreter)
}

fn check_cwd(cwd: &Path) -> Result<(), SpawnError> {
    if !cwd.is_absolute() {
        return Err(SpawnError::CwdRelative(cwd.to_owned()));
    }
    let wrong = |source| SpawnError::Cwd { path: cwd.to_owned(), source };
    let data = std::fs::metadata(cwd).map_err(wrong)?;
    if !data.is_dir() {
        return Err(wrong(io::ErrorKind::NotADirectory.into()));
    }
    rustix::fs::access(cwd, rustix::fs::Access::EXEC_OK).map_err(|errno| wrong(errno.into()))
}

/// How many bytes a program can print while this process is busy: with the usual 64 KiB, each would keep waiting for
/// the other during a flood. The kernel allows this size to every user.
const OUTPUT_PIPE: usize = 1 << 20;

/// A pipe with one end on each side. Only our end is non-blocking: the two ends are separate open files.
struct Ends<Ours> {
    ours: Ours,
    child: OwnedFd,
}

/// The child's input and output, with both ends.
struct Streams {
    stdin: pipe::Sender,
    stdout: pipe::Receiver,
    /// A terminal has no separate standard error.
    stderr: Option<pipe::Receiver>,
    child: [OwnedFd; 3],
    /// The file that is the child's input, as the links of its descriptors in `/proc` name it.
    input: String,
}

impl Streams {
    fn pipes() -> io::Result<Streams> {
        let (stdin, stdout, stderr) = (our_writer()?, our_reader()?, our_reader()?);
        let input = format!("pipe:[{}]", procfs::inode(&stdin.child)?);
        let child = [stdin.child, stdout.child, stderr.child];
        Ok(Streams { stdin: stdin.ours, stdout: stdout.ours, stderr: Some(stderr.ours), child, input })
    }

    fn terminal(window: Window) -> io::Result<Streams> {
        let (ours, theirs) = platform::new_terminal()?;
        let size = Winsize { ws_row: window.rows, ws_col: window.columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&ours, size)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        let input = rustix::pty::ptsname(&ours, Vec::new())?.to_string_lossy().into_owned();
        let stdin = pipe::Sender::from_owned_fd_unchecked(ours.try_clone()?)?;
        let stdout = pipe::Receiver::from_owned_fd_unchecked(ours)?;
        let child = [theirs.try_clone()?, theirs.try_clone()?, theirs];
        Ok(Streams { stdin, stdout, stderr: None, child, input })
    }
}

/// Returns the read end of a pipe that holds `text` and nothing after it.
fn text_pipe(text: &[u8]) -> io::Result<OwnedFd> {
    let (read, write) = new_pipe()?;
    if text.len() > GIVEN_MAX || rustix::io::write(&write, text)? < text.len() {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(read)
}

/// Returns the read end and the write end of a pipe that exec closes.
fn new_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = io::pipe()?;
    Ok((read.into(), write.into()))
}

fn our_writer() -> io::Result<Ends<pipe::Sender>> {
    let (read, write) = new_pipe()?;
    Ok(Ends { ours: pipe::Sender::from_owned_fd(write)?, child: read })
}

fn our_reader() -> io::Result<Ends<pipe::Receiver>> {
    let (read, write) = new_pipe()?;
    // A pipe takes memory only for its content. Where this size is not allowed, a smaller pipe works too.
    platform::set_pipe_size(&read, OUTPUT_PIPE);
    Ok(Ends { ours: pipe::Receiver::from_owned_fd(read)?, child: write })
}

/// The steps of the child between fork and exec.
#[expect(unsafe_code, reason = "pre_exec is unsafe: between fork and exec only async-signal-safe calls are sound")]
fn set_before_exec(
    command: &mut tokio::process::Command,
    inherited: Vec<OwnedFd>,
    open_files: Option<Rlimit>,
    nice: i32,
    mark: Mark,
    rules: Option<Rules>,
    has_terminal: bool,
) {
    let prepare = move || {
        rustix::process::setsid()?;
        if has_terminal {
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
        }
        default_signals();
        close_on_exec_from(3);
        for fd in &inherited {
            rustix::io::fcntl_setfd(fd, FdFlags::empty())?;
        }
        if let Some(limit) = &open_files {
            rustix::process::setrlimit(rustix::process::Resource::Nofile, *limit)?;
        }
        if nice > 0 {
            lower_priority(nice)?;
        }
        mark.apply();
        if let Some(rules) = &rules {
            rules.apply()?;
        }
        Ok(())
    };
    // SAFETY: the closure makes only system calls; it takes no lock and allocates nothing (an error number converts
    // into an `io::Error` without allocation).
    unsafe { command.pre_exec(prepare) };
}
