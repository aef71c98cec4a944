//! A repository in a temporary directory, changed and queried by git's own commands.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use work::{Git, Source};

pub(crate) struct Repository {
    pub(crate) temp: tempfile::TempDir,
}

impl Repository {
    /// Creates an empty repository on the branch `main`, with a bare repository next to it as the remote `origin`.
    pub(crate) fn new() -> Repository {
        let repository = Repository { temp: tempfile::tempdir().expect("a directory") };
        for directory in ["home", "work"] {
            std::fs::create_dir(repository.temp.path().join(directory)).expect("a directory");
        }
        repository.git(&["init", "-q", "-b", "main"]);
        repository.git(&["config", "user.name", "Tester"]);
        repository.git(&["config", "user.email", "tester@example.org"]);
        repository
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.temp.path().join("work").canonicalize().expect("it is there")
    }

    pub(crate) fn env(&self) -> BTreeMap<String, String> {
        let path = std::env::var("PATH").expect("a PATH");
        let home = self.temp.path().join("home").display().to_string();
        BTreeMap::from([("PATH".to_owned(), path), ("HOME".to_owned(), home)])
    }

    /// Runs git and returns its output.
    pub(crate) fn git<S: AsRef<OsStr>>(&self, args: &[S]) -> Vec<u8> {
        let (ran, out, err) = self.try_git(args);
        assert!(ran, "git {:?}: {err}", args.iter().map(|arg| arg.as_ref().to_owned()).collect::<Vec<_>>());
        out
    }

    pub(crate) fn try_git<S: AsRef<OsStr>>(&self, args: &[S]) -> (bool, Vec<u8>, String) {
        let mut command = Command::new("git");
        command.args(args).current_dir(self.root()).env_clear().envs(self.env());
        command.env("GIT_EDITOR", "true").env("LC_ALL", "C").env("GIT_CONFIG_NOSYSTEM", "1");
        let out = command.output().expect("git runs");
        (out.status.success(), out.stdout, String::from_utf8_lossy(&out.stderr).into_owned())
    }

    /// Returns git's output as text, without the final newline.
    pub(crate) fn git_text<S: AsRef<OsStr>>(&self, args: &[S]) -> Option<String> {
        let (ran, out, _) = self.try_git(args);
        ran.then(|| String::from_utf8_lossy(&out).trim_end().to_owned())
    }

    pub(crate) fn write(&self, name: impl AsRef<Path>, text: &str) {
        let path = self.root().join(name);
        if let Some(folder) = path.parent() {
            // A file may already exist at this path.
            let _ = std::fs::create_dir_all(folder);
        }
        let _ = std::fs::write(path, text);
    }

    pub(crate) fn query(&self) -> Result<Git, Source> {
        query_directory(&self.root(), &self.env())
    }
}

pub(crate) fn query_directory(directory: &Path, env: &BTreeMap<String, String>) -> Result<Git, Source> {
    runtime().block_on(work::git::query(directory, env))
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}
