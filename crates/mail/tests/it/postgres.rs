//! A PostgreSQL of the test's own, run by an ordinary user: it refuses to run as root.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::time::Instant;

use mail::store::postgres::{PostgresOptions, PostgresStore};
use mail::{Clock, Limits, Space};
use sqlx::Connection;
use sqlx::postgres::PgConnectOptions;

/// `nobody` and `nogroup` of Debian.
const NOBODY: u32 = 65_534;

/// A server with a socket and a data directory of its own. It ends with this.
pub(crate) struct Server {
    dir: tempfile::TempDir,
    process: Child,
}

impl Server {
    /// Starts one. Without the programs it says so and there is none, unless they are required (`CI`).
    pub(crate) fn start() -> Option<Server> {
        let Some(bin) = programs() else {
            assert!(std::env::var_os("CI").is_none(), "PostgreSQL is required here: cargo xtask setup tests");
            eprintln!("skipped: PostgreSQL is not installed (cargo xtask setup tests)");
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        let is_root = rustix::process::geteuid().is_root();
        if is_root {
            chown(dir.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let command = |program: &str| {
            let mut command = Command::new(bin.join(program));
            command.current_dir(dir.path()).stdin(Stdio::null()).stdout(Stdio::null());
            if is_root {
                command.uid(NOBODY).gid(NOBODY);
            }
            command
        };
        let data = dir.path().join("data");
        let mut init = command("initdb");
        init.args(["--auth=trust", "--username=hob", "--no-sync", "--encoding=UTF8", "--locale=C", "-D"]).arg(&data);
        let made = init.stderr(Stdio::piped()).output().unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let mut serve = command("postgres");
        serve.arg("-D").arg(&data).arg("-k").arg(dir.path());
        serve.args(["-c", "listen_addresses=", "-c", "fsync=off", "-c", "deadlock_timeout=100ms"]);
        let process = serve.stderr(Stdio::null()).spawn().unwrap();
        let server = Server { dir, process };
        let begin = Instant::now();
        while !server.socket().exists() {
            assert!(begin.elapsed() < crate::place::LONG, "PostgreSQL did not start");
            std::thread::sleep(std::time::Duration::from_millis(10)); // polls: the server's socket
        }
        Some(server)
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join(".s.PGSQL.5432")
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres:///postgres?user=hob&host={}", self.dir.path().display())
    }

    /// A store in this server, as a daemon of that name has it.
    pub(crate) async fn store(&self, space: &str, owner: &str, clock: Option<Clock>, limits: &Limits) -> PostgresStore {
        let options = PostgresOptions {
            url: self.url(),
            space: Space::named(space),
            owner: owner.to_owned(),
            limits: limits.clone(),
            clock,
        };
        // The socket is there a moment before the server takes connections.
        let begin = Instant::now();
        loop {
            match PostgresStore::connect(options.clone()).await {
                Ok(store) => return store,
                Err(error) => assert!(begin.elapsed() < crate::place::LONG, "{error}"),
            }
            tokio::task::yield_now().await;
        }
    }
}

impl Server {
    /// Ends all connections of all stores, as a failing network or an administrator does.
    pub(crate) async fn cut_connections(&self) {
        let options = PgConnectOptions::from_str(&self.url()).unwrap().application_name("cutter");
        let mut db = sqlx::PgConnection::connect_with(&options).await.unwrap();
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hob'";
        sqlx::query(sql).execute(&mut db).await.unwrap();
        db.close().await.unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(pid) = rustix::process::Pid::from_raw(self.process.id() as i32) {
            // At once, with all its processes.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::QUIT);
        }
        let _ = self.process.wait();
    }
}

/// Where the server's programs are: on the path, or where Debian puts them, the newest first.
fn programs() -> Option<PathBuf> {
    let has = |dir: &Path| dir.join("initdb").is_file() && dir.join("postgres").is_file();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut debian: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|at| at.path().join("bin"))
        .collect();
    debian.sort();
    std::env::split_paths(&path).chain(debian.into_iter().rev()).find(|dir| has(dir))
}
