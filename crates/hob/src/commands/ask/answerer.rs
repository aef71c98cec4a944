//! The connection of a person who answers. It survives a restart of the daemon: before an answer is sent again, hob checks
//! whether the previous daemon stored it.

use std::time::{Duration, Instant};

use client::Control;
use client::control::ControlError;
use project::Project;
use serde_json::{Value, json};

use super::super::current_project::{connect_or_start, hello};
use super::refused;
use crate::commands::current_project;
use crate::exit::Failure;

/// The interval between attempts to reconnect.
const AGAIN: Duration = Duration::from_millis(500);

/// A person's connection to the daemon.
pub(super) struct Answerer<'a> {
    project: &'a Project,
    /// The connection; `None` after the daemon exited.
    pub(super) control: Option<Control>,
    /// Notifications received while waiting for a response.
    pub(super) heard: Vec<Value>,
    /// The time of the last attempt to reconnect.
    looked: Option<Instant>,
}

/// The reason for a failed request.
pub(super) enum Trouble {
    /// The daemon refused: the answer is invalid, or the question is closed.
    Refused(ControlError),
    /// No daemon is reachable.
    Failed(Failure),
}

impl Trouble {
    pub(super) fn failure(self) -> Failure {
        match self {
            Trouble::Refused(error) => refused(error),
            Trouble::Failed(failure) => failure,
        }
    }
}

impl<'a> Answerer<'a> {
    pub(super) fn open(project: &'a Project) -> Result<Answerer<'a>, Failure> {
        let control = connect_or_start(project, &hello(project)?)?;
        Ok(Answerer { project, control: Some(control), heard: Vec::new(), looked: None })
    }

    pub(super) fn project(&self) -> &Project {
        self.project
    }

    /// Sends a request, and repeats it once if the daemon exited. Only for idempotent requests.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Result<Value, Trouble> {
        match self.request_once(method, params.clone()) {
            Err(Trouble::Refused(ControlError::Lost { .. })) => self.request_once(method, params),
            made => made,
        }
    }

    /// Reconnects to a new daemon, if one is running, and reports whether this question was closed in the meantime.
    pub(super) fn look_for_daemon(&mut self, id: &str) {
        if self.control.is_some() || self.looked.is_some_and(|at| at.elapsed() < AGAIN) {
            return;
        }
        self.looked = Some(Instant::now());
        // This never starts a daemon.
        if let Ok(Some(mut control)) = current_project::connect(self.project)
            && let Ok(list) = control.request("ask/watch", json!({}), |_, _| {})
        {
            let open = list["questions"].as_array().into_iter().flatten();
            // The list contains the open questions.
            if !open.into_iter().any(|question| question["question"] == id)
                && let Ok(one) = control.request("ask/list", json!({"question": id}), |_, _| {})
            {
                self.heard.extend(one["questions"].as_array().into_iter().flatten().cloned());
            }
            self.control = Some(control);
        }
    }

    fn request_once(&mut self, method: &str, params: Value) -> Result<Value, Trouble> {
        let control = match &mut self.control {
            Some(control) => control,
            none => {
                let hello = hello(self.project).map_err(Trouble::Failed)?;
                none.insert(connect_or_start(self.project, &hello).map_err(Trouble::Failed)?)
            }
        };
        let heard = &mut self.heard;
        let made = control.request(method, params, |name, question| {
            if name == "ask/changed" {
                heard.push(question.clone());
            }
        });
        if matches!(made, Err(ControlError::Lost { .. })) {
            self.control = None;
        }
        made.map_err(Trouble::Refused)
    }

    /// Sends an answer to a question, and returns the question's new state.
    pub(super) fn answer(&mut self, id: &str, params: Value) -> Result<Value, Trouble> {
        match self.request_once("ask/answer", params.clone()) {
            Err(Trouble::Refused(ControlError::Lost { .. })) => {}
            made => return made.map(|made| made["question"].clone()),
        }
        // The previous daemon may have stored the answer; do not send it twice.
        let list = self.request("ask/list", json!({"all": true}))?;
        let known = list["questions"].as_array().into_iter().flatten().find(|known| known["question"] == id);
        match known.filter(|known| known["open"] != true) {
            Some(closed) => Ok(closed.clone()),
            None => self.request_once("ask/answer", params).map(|made| made["question"].clone()),
        }
    }
}
