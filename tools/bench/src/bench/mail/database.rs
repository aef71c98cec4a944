//! A PostgreSQL server for the bench, on the same disk, with the default of syncing each commit. It refuses to run as
//! root, so root starts it as user 65534 of Debian.

use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::super::Bench;
use super::super::echo::status;

/// Ids of Debian's unprivileged user and group, `nobody` and `nogroup`.
const NOBODY: u32 = 65_534;

/// A server with a private socket and data directory, which is stopped when this is dropped.
pub(super) struct Database {
    dir: tempfile::TempDir,
    bin: PathBuf,
    process: Child,
}

impl Database {
    pub(super) fn start() -> Result<Database> {
        let bin = programs().context("PostgreSQL is not installed: cargo xtask setup tests")?;
        let dir = tempfile::tempdir()?;
        let is_root = std::fs::metadata("/proc/self")?.uid() == 0;
        if is_root {
            chown(dir.path(), Some(NOBODY), Some(NOBODY))?;
        }
        let command = |program: &str| {
            let mut command = Command::new(bin.join(program));
            command.current_dir(dir.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            if is_root {
                command.uid(NOBODY).gid(NOBODY);
            }
            command
        };
        let data = dir.path().join("data");
        let mut init = command("initdb");
        init.args(["--auth=trust", "--username=hob", "--no-sync", "--encoding=UTF8", "--locale=C", "-D"]).arg(&data);
        if !init.status()?.success() {
            bail!("initdb failed in {data:?}");
        }
        let mut serve = command("postgres");
        serve.arg("-D").arg(&data).arg("-k").arg(dir.path()).args(["-c", "listen_addresses="]);
        let process = serve.spawn().context("could not start postgres")?;
        let database = Database { bin, process, dir };
        let deadline = Instant::now() + Duration::from_secs(60);
        while database.ask("SELECT 1").is_err() {
            if Instant::now() > deadline {
                bail!("PostgreSQL did not start");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(database)
    }

    /// Runs a statement and returns its output.
    pub(super) fn ask(&self, sql: &str) -> Result<String> {
        let mut psql = self.client("psql");
        psql.args(["-q", "-A", "-t", "-c", sql, "postgres"]);
        let output = psql.stdin(Stdio::null()).stderr(Stdio::piped()).output()?;
        if !output.status.success() {
            bail!("psql failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Returns a program that connects to the server.
    pub(super) fn client(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin.join(program));
        command.arg("-h").arg(self.dir.path()).args(["-U", "hob"]);
        command
    }

    /// Closes all connections of all daemons, like a failing network or an administrator.
    pub(super) fn cut_connections(&self) -> Result<()> {
        self.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hob'").map(drop)
    }

    /// Configures a project to keep its mail here. All such projects become clones of one repository.
    pub(super) fn configure(&self, bench: &Bench) -> Result<()> {
        for args in [&["init", "-q"][..], &["remote", "add", "origin", "https://example.org/team/bench.git"]] {
            if !Command::new("git").args(args).current_dir(bench.dir()).stdin(Stdio::null()).status()?.success() {
                bail!("git {args:?} failed");
            }
        }
        let status = status(bench)?;
        let state = status["state"].as_str().with_context(|| format!("`hob status` names no state: {status}"))?;
        let file = Path::new(state).join("mail-database");
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(state)?;
        std::fs::write(&file, format!("postgres:///postgres?user=hob&host={}\n", self.dir.path().display()))?;
        Ok(std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600))?)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SIGQUIT ends the server immediately, with all its processes.
        let _ = Command::new("kill").args(["-QUIT", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}

/// Finds the directory of the server's programs: on `PATH`, or Debian's newest.
fn programs() -> Option<PathBuf> {
    let has = |dir: &Path| ["initdb", "postgres", "psql", "pgbench"].iter().all(|program| dir.join(program).is_file());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut debian: Vec<PathBuf> = installed.map(|at| at.path().join("bin")).collect();
    debian.sort();
    std::env::split_paths(&path).chain(debian.into_iter().rev()).find(|dir| has(dir))
}
