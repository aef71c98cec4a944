//! The offline engine: a real model server for tests, without a key, a network or downloaded weights. The server is llama.cpp's.
//! This crate writes its model, which under a schema outputs the shortest value that the decoder allows.
//!
//! It needs a Python with one package; [`EngineError::NotInstalled`] explains how to install it.

mod model;

use std::io;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use process::{Child, Guard, SpawnError, Spec};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::oneshot;

pub use model::{SHA256, gguf};

use crate::{ModelSettings, Models, NodesSettings};

/// The package and its version. Another version may decode differently.
pub const PACKAGE: &str = "xllamacpp==2026.10.11549";
const SERVE: &str = include_str!("serve.py");
/// The timeout for the server's start. It usually takes half a second.
const START_TIME: Duration = Duration::from_secs(60);

/// A running engine, which stops when dropped.
pub struct Engine {
    url: String,
    child: Child,
    /// The directory of the model's file.
    _directory: tempfile::TempDir,
}

/// The reason why the engine is unavailable.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(
        "the offline engine is not installed (34 MB); run:\n  python3 -m venv {0}\n  {0}/bin/pip install -q {PACKAGE}",
        project::visible::path(.venv)
    )]
    NotInstalled { venv: PathBuf },
    #[error("the offline engine's files: {0}")]
    Files(#[from] io::Error),
    #[error("the offline engine: {0}")]
    Spawn(#[from] SpawnError),
    #[error("the offline engine did not start to listen: {0}")]
    Silent(String),
}

impl Engine {
    /// Starts the server with the Python of that venv. Needs a runtime.
    ///
    /// # Errors
    /// If it is not installed or does not start to listen.
    pub async fn start(venv: &Path, guard: Guard) -> Result<Engine, EngineError> {
        let python = venv.join("bin/python");
        if !python.is_file() {
            return Err(EngineError::NotInstalled { venv: venv.to_owned() });
        }
        let directory = tempfile::tempdir()?;
        let file = directory.path().join("fixed.gguf");
        tokio::fs::write(&file, gguf()).await?;
        let args = [PathBuf::from("-c"), PathBuf::from(SERVE), file, PathBuf::from("0")];
        // On few cores, spinning threads slow down the working ones.
        let env = [("OMP_WAIT_POLICY", "passive"), ("LANG", "C.UTF-8"), ("PATH", "/usr/bin:/bin")];
        let mut child = Spec { guard, ..Spec::new(python, directory.path()).args(args).env(env) }.spawn()?;
        let stdout = child.stdout.take().ok_or_else(|| EngineError::Silent("it has no output".to_owned()))?;
        let mut lines = BufReader::new(stdout).lines();
        let listening = async {
            while let Some(line) = lines.next_line().await? {
                if let Some(url) = line.strip_prefix("LISTENING ") {
                    return Ok(url.trim().to_owned());
                }
            }
            Err(io::Error::other("it ended; is xllamacpp installed in its venv?"))
        };
        let url = match tokio::time::timeout(START_TIME, listening).await {
            Ok(Ok(url)) => url,
            Ok(Err(error)) => return Err(EngineError::Silent(error.to_string())),
            Err(_) => return Err(EngineError::Silent(format!("no output within {} s", START_TIME.as_secs()))),
        };
        // Both pipes are drained, because a server that cannot write its log blocks.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(async move {
                let mut lines = BufReader::new(stderr).lines();
                while let Ok(Some(_)) = lines.next_line().await {}
            });
        }
        Ok(Engine { url, child, _directory: directory })
    }

    /// Returns the base URL of its OpenAI-compatible API.
    pub fn url(&self) -> String {
        format!("{}/v1", self.url)
    }

    /// Returns its process id.
    pub fn pid(&self) -> i32 {
        self.child.pid
    }

    /// Returns a configuration with the engine as the only model, under this alias.
    pub fn models(&self, alias: &str) -> Models {
        let models = [(alias.to_owned(), ModelSettings::at(self.url(), "fixed"))].into();
        Models::new(&NodesSettings { models, ..NodesSettings::default() })
    }
}

/// An engine for a program without a runtime, on a separate thread. It stops when dropped.
pub struct EngineThread {
    url: String,
    /// Dropping the sender stops the engine.
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl EngineThread {
    /// Starts the server with the Python of that venv, and waits until it listens. The server also stops with this process.
    ///
    /// # Errors
    /// If it is not installed or does not start to listen.
    pub fn start(venv: &Path) -> Result<EngineThread, EngineError> {
        let (begun, beginning) = std::sync::mpsc::channel();
        let (end, ended) = oneshot::channel::<()>();
        let venv = venv.to_owned();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                match Engine::start(&venv, Guard::Without).await {
                    Err(error) => drop(begun.send(Err(error))),
                    Ok(engine) => {
                        let _ = begun.send(Ok(engine.url()));
                        let _ = ended.await;
                    }
                }
            });
        });
        let silent = || EngineError::Silent("its thread ended".to_owned());
        let url = beginning.recv().map_err(|_| silent())??;
        Ok(EngineThread { url, end: Some(end), thread: Some(thread) })
    }

    /// Returns the base URL of its OpenAI-compatible API.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for EngineThread {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
