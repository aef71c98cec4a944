//! The connection of somebody who answers, which outlives the daemon: an answer that was on its way when the daemon went
//! away is looked for before it is given again.

use std::time::{Duration, Instant};

use client::Control;
use client::control::ControlError;
use project::Project;
use serde_json::{Value, json};

use super::super::{connect_or_start, hello};
use super::refused;
use crate::exit::Failure;

/// How often a daemon that went away is looked for.
const AGAIN: Duration = Duration::from_millis(500);

/// Where answers are given.
pub(super) struct Answerer<'a> {
    project: &'a Project,
    /// None after the daemon went away.
    pub(super) control: Option<Control>,
    /// What was said of questions while an answer to a request was awaited.
    pub(super) heard: Vec<Value>,
    /// When a daemon that went away was looked for last.
    looked: Option<Instant>,
}

/// Why something did not happen.
pub(super) enum Trouble {
    /// The daemon said no: the answer does not fit, or the question is closed.
    Refused(ControlError),
    /// There is no daemon to say anything.
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

    /// A request; once more if the daemon went away, which is only for what may be made twice.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Result<Value, Trouble> {
        match self.request_once(method, params.clone()) {
            Err(Trouble::Refused(ControlError::Lost { .. })) => self.request_once(method, params),
            made => made,
        }
    }

    /// After the daemon went away: watches with its successor, once somebody started one, and asks what became of this
    /// question.
    pub(super) fn look_for_daemon(&mut self, id: &str) {
        if self.control.is_some() || self.looked.is_some_and(|at| at.elapsed() < AGAIN) {
            return;
        }
        self.looked = Some(Instant::now());
        // Looking starts none.
        if let Ok(Some(mut control)) = super::super::connect(self.project)
            && let Ok(list) = control.request("ask/watch", json!({}), |_, _| {})
        {
            let open = list["questions"].as_array().into_iter().flatten();
            // The list has those that are open.
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

    /// Gives an answer to a question, and returns the question as it is then.
    pub(super) fn answer(&mut self, id: &str, params: Value) -> Result<Value, Trouble> {
        match self.request_once("ask/answer", params.clone()) {
            Err(Trouble::Refused(ControlError::Lost { .. })) => {}
            made => return made.map(|made| made["question"].clone()),
        }
        // It may have been stored before the daemon went away: then it is not given twice.
        let list = self.request("ask/list", json!({"all": true}))?;
        let known = list["questions"].as_array().into_iter().flatten().find(|known| known["question"] == id);
        match known.filter(|known| known["open"] != true) {
            Some(closed) => Ok(closed.clone()),
            None => self.request_once("ask/answer", params).map(|made| made["question"].clone()),
        }
    }
}
