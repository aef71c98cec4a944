//! `hob questions`: lists the agents' questions to the person here. With --watch, agents can tell that a person is present.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use client::Control;
use client::control::ControlError;
use project::Project;
use serde_json::{Value, json};

use super::{closed, connect, refused, render_question};
use crate::commands::current_project;
use crate::exit::{Exit, Failure};
use crate::terminal;

/// The interval between attempts to reconnect.
const AGAIN: Duration = Duration::from_millis(500);

/// Show the agents' questions to you
#[derive(Debug, Args)]
pub(crate) struct Questions {
    /// Keep running and show each new question; agents can tell that you are present
    #[arg(long)]
    watch: bool,
    /// Include answered questions, newest first
    #[arg(long, conflicts_with = "watch")]
    all: bool,
    /// Print JSON; with --watch, one object per line
    #[arg(long)]
    json: bool,
}

impl Questions {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let mut control = connect(project)?;
        if self.watch {
            return self.watch(project, control);
        }
        let list = control.request("ask/list", json!({"all": self.all}), |_, _| {}).map_err(refused)?;
        if self.json {
            terminal::json(&list["questions"]);
            return Ok(Exit::Done);
        }
        let questions = list["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
        if questions.is_empty() {
            terminal::line("No questions.");
        }
        let mut shown = BTreeMap::new();
        questions.iter().for_each(|question| self.show(question, &mut shown));
        Ok(Exit::Done)
    }

    /// Shows a question's new state: an open question in full the first time, then who is answering it.
    fn show(&self, question: &Value, before: &mut BTreeMap<String, Value>) {
        let (id, by) = (question["question"].as_str().unwrap_or_default(), &question["being_answered"]);
        match (self.json, question["open"] == true) {
            // One object per line, for programs that read a stream.
            (true, _) => terminal::line(question.to_string()),
            (false, true) => {
                let was_by = before.insert(id.to_owned(), by.clone());
                if was_by.is_none() {
                    terminal::line(render_question(question));
                }
                if let (Some(by), true) = (by.as_str(), was_by.as_ref() != Some(by)) {
                    terminal::line(format!("{id}: being answered ({})", project::visible(by)));
                }
            }
            (false, false) => {
                before.remove(id);
                terminal::line(closed(question));
            }
        }
    }

    fn watch(&self, project: &Project, mut control: Control) -> Result<Exit, Failure> {
        if !self.json {
            terminal::note("Watching for questions; answer them with `hob answer` elsewhere. Ctrl-C stops.");
        }
        let mut shown = BTreeMap::new();
        loop {
            let list = match control.request("ask/watch", json!({}), |_, _| {}) {
                Err(ControlError::Lost { .. }) => None,
                list => Some(list.map_err(refused)?),
            };
            list.iter()
                .flat_map(|list| list["questions"].as_array())
                .flatten()
                .for_each(|question| self.show(question, &mut shown));
            while terminal::lost_output().is_none() {
                match control.notification(&["ask/changed"], None) {
                    Ok(Some((_, question))) => self.show(&question, &mut shown),
                    Ok(None) => {}
                    Err(ControlError::Lost { .. }) => break,
                    Err(error) => return Err(refused(error)),
                }
            }
            if terminal::lost_output().is_some() {
                return Ok(Exit::Done);
            }
            // This starts no daemon: one that was stopped stays stopped.
            control = loop {
                match current_project::connect(project)? {
                    Some(control) => break control,
                    None => std::thread::sleep(AGAIN),
                }
            };
        }
    }
}
