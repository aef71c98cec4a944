//! The page's connections to the daemon: one that follows the rooms and returns after a restart, one that reports a
//! present person, and one for each call.

use std::sync::Arc;
use std::time::Duration;

use client::Control;
use client::control::ControlError;
use project::dashboard::Snapshot;
use project::{Hello, Project};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::feed::{self, AGAIN};

/// The time for which a person counts as present after the last open tab was closed or reloaded.
const LEAVES: Duration = Duration::from_secs(3);

/// The project's daemon, also across restarts.
pub(super) struct Daemon {
    project: Project,
    hello: Hello,
    seen: watch::Sender<LastState>,
}

/// The last known state.
#[derive(Debug, Clone, Default)]
pub(super) struct LastState {
    pub(super) snapshot: Arc<Snapshot>,
    /// The reason why the state may be old.
    pub(super) problem: Option<String>,
}

impl Daemon {
    pub(super) fn new(project: Project, hello: Hello) -> Daemon {
        Daemon { project, hello, seen: watch::channel(LastState::default()).0 }
    }

    /// Returns the name of the project's directory.
    pub(super) fn name(&self) -> String {
        self.project.root().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Returns the last known state.
    pub(super) fn latest(&self) -> LastState {
        self.seen.borrow().clone()
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<LastState> {
        self.seen.subscribe()
    }

    /// Follows the rooms until the process ends. Blocks.
    pub(super) fn follow(&self) {
        let tell = |news: Result<Snapshot, String>| {
            self.seen.send_if_modified(|seen| {
                let before = seen.clone();
                match news {
                    Ok(snapshot) => *seen = LastState { snapshot: Arc::new(snapshot), problem: None },
                    Err(problem) => seen.problem = Some(problem),
                }
                let number = |state: &LastState| (state.snapshot.life.clone(), state.snapshot.number);
                number(&before) != number(seen) || before.problem != seen.problem
            });
            true
        };
        feed::follow(&self.project, &self.hello, |_| Ok(()), tell);
    }

    /// Reports to agents that a person is present while tabs are open.
    pub(super) async fn report_presence(self: Arc<Daemon>, mut tabs: watch::Receiver<usize>) {
        let mut seen = self.subscribe();
        loop {
            if tabs.wait_for(|tabs| *tabs > 0).await.is_err() {
                return;
            }
            // The life changes and a problem appears when the daemon is replaced; then this connection ended too.
            let life = seen.borrow_and_update().snapshot.life.clone();
            let daemon = self.clone();
            let face = tokio::task::spawn_blocking(move || daemon.be_present()).await.ok().flatten();
            let is_replaced = |seen: &LastState| seen.problem.is_some() || seen.snapshot.life != life;
            let is_lost = async { seen.wait_for(is_replaced).await.is_ok() };
            let is_over = tokio::select! {
                () = all_left(&mut tabs) => true,
                _ = is_lost => false,
            };
            drop(face);
            if !is_over {
                tokio::time::sleep(AGAIN).await;
            }
        }
    }

    fn be_present(&self) -> Option<Control> {
        let mut control = Control::connect(&self.project, &self.hello).ok()??;
        control.request("ask/watch", json!({}), |_, _| {}).ok()?;
        Some(control)
    }

    /// Makes a request; starts a daemon if none runs. Blocks.
    pub(super) fn request(&self, method: &str, params: Value) -> Result<Value, ControlError> {
        Control::connect_or_start(&self.project, &self.hello)?.request(method, params, |_, _| {})
    }

    /// Returns a question with its attachments, also a closed one. Blocks.
    pub(super) fn question(&self, id: &str) -> Result<Value, ControlError> {
        self.request("ask/list", json!({"question": id})).map(|mut list| list["questions"][0].take())
    }

    /// Sends an answer, and returns the question's new state. Blocks. If the daemon is lost, the answer is sent again only
    /// if it was not stored.
    pub(super) fn answer(&self, id: &str, params: &Value) -> Result<Value, ControlError> {
        let once = || self.request("ask/answer", params.clone()).map(|mut made| made["question"].take());
        match once() {
            Err(ControlError::Lost { .. }) => match self.question(id)? {
                closed if closed["open"] != true => Ok(closed),
                _ => once(),
            },
            made => made,
        }
    }

    /// Returns the project, for calls of tools.
    pub(super) fn project(&self) -> &Project {
        &self.project
    }
}

/// Waits until no tab is open for a while.
async fn all_left(tabs: &mut watch::Receiver<usize>) {
    loop {
        if tabs.wait_for(|tabs| *tabs == 0).await.is_err() {
            return;
        }
        // A reloaded tab returns at once.
        if tokio::time::timeout(LEAVES, tabs.wait_for(|tabs| *tabs > 0)).await.is_err() {
            return;
        }
    }
}
