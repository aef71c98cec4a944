//! A PostgreSQL server for one test. It runs as an ordinary user, since PostgreSQL refuses to run as root.

use std::io::Write;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::until;

/// Debian's `nobody` and `nogroup`.
const NOBODY: u32 = 65_534;

/// A server with a separate socket and data directory. Dropping it stops the server.
pub struct Postgres {
    dir: tempfile::TempDir,
    bin: PathBuf,
    process: Option<Child>,
    settings: &'static [&'static str],
}

impl Postgres {
    /// Starts a server that accepts connections and syncs nothing. If the programs are missing, prints that and returns
    /// `None`. Panics if they are required (`CI`).
    pub fn start() -> Option<Postgres> {
        Postgres::start_with(&["fsync=off", "deadlock_timeout=100ms"])
    }

    /// [`Postgres::start`] with these settings instead.
    pub fn start_with(settings: &'static [&'static str]) -> Option<Postgres> {
        let Some(bin) = programs() else {
            assert!(std::env::var_os("CI").is_none(), "PostgreSQL is required here: cargo xtask setup tests");
            let test = std::thread::current().name().unwrap_or("a test").to_owned();
            let _ =
                writeln!(std::io::stderr(), "skipped: {test}: PostgreSQL is not installed (cargo xtask setup tests)");
            return None;
        };
        let dir = tempfile::tempdir().expect("a temporary directory");
        if geteuid().is_root() {
            chown(dir.path(), Some(NOBODY), Some(NOBODY)).expect("root may give directories away");
        }
        let mut server = Postgres { dir, bin, process: None, settings };
        let mut init = server.command("initdb");
        init.args(["--auth=trust", "--username=hob", "--no-sync", "--encoding=UTF8", "--locale=C", "-D"]);
        let made = init.arg(server.data()).stderr(Stdio::piped()).output().expect("initdb starts");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        server.resume();
        Some(server)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin.join(program));
        command.current_dir(self.dir.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Restarts the server after [`Postgres::stop`], with its data.
    pub fn resume(&mut self) {
        let mut serve = self.command("postgres");
        serve.arg("-D").arg(self.data()).arg("-k").arg(self.dir.path());
        serve.args(["-c", "listen_addresses="]).args(self.settings.iter().flat_map(|setting| ["-c", *setting]));
        self.process = Some(serve.spawn().expect("postgres starts"));
        // The socket exists a moment before the server accepts connections.
        until("PostgreSQL to take connections", || {
            let ran = self.psql("SELECT 1").output();
            ran.is_ok_and(|ran| ran.status.success()).then_some(())
        });
    }

    /// Kills the server with all its processes; committed data stays.
    pub fn stop(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        if let Some(pid) = Pid::from_raw(process.id().cast_signed()) {
            let _ = kill_process(pid, Signal::INT);
        }
        let _ = process.wait();
    }

    /// Returns the server's address, for `HOB_MAIL_DATABASE`.
    pub fn url(&self) -> String {
        format!("postgres:///postgres?user=hob&host={}", self.dir.path().display())
    }

    /// Closes every connection of every daemon, as a failing network or an administrator does.
    pub fn cut_connections(&self) {
        self.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hob'");
    }

    /// Runs statements and returns the rows of the last one as text.
    pub fn sql(&self, sql: &str) -> String {
        let ran = self.psql(sql).output().expect("psql starts");
        assert!(ran.status.success(), "{sql}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }

    fn psql(&self, sql: &str) -> Command {
        let mut psql = self.client("psql");
        psql.args(["-q", "-A", "-t", "-c", sql, "postgres"]).stdin(Stdio::null());
        psql
    }

    /// Returns a program of PostgreSQL with the arguments that connect it to the server.
    pub fn client(&self, program: &str) -> Command {
        let mut client = Command::new(self.bin.join(program));
        client.arg("-h").arg(self.dir.path()).args(["-U", "hob"]);
        client
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(pid) = self.process.as_ref().and_then(|process| Pid::from_raw(process.id().cast_signed())) {
            let _ = kill_process(pid, Signal::QUIT);
        }
        if let Some(mut process) = self.process.take() {
            let _ = process.wait();
        }
    }
}

/// Returns the directory of the server's programs: on the path, or Debian's, the newest version first.
fn programs() -> Option<PathBuf> {
    let has = |dir: &Path| ["initdb", "postgres", "psql"].iter().all(|program| dir.join(program).is_file());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut debian: Vec<PathBuf> = installed.map(|at| at.path().join("bin")).collect();
    debian.sort();
    std::env::split_paths(&path).chain(debian.into_iter().rev()).find(|dir| has(dir))
}
