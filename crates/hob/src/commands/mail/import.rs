//! `hob import thrum`: imports agents, groups and messages from Thrum's log.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use project::Project;
use serde_json::json;

use super::Identity;
use crate::commands::call::control_failure;
use crate::commands::current_project;
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Import agents, groups and messages of another system
#[derive(Debug, Args)]
pub(crate) struct Import {
    #[command(subcommand)]
    from: From,
}

#[derive(Debug, Subcommand)]
enum From {
    /// Import from a .thrum directory; repeating it adds only new entries
    Thrum {
        /// The .thrum directory, or the repository that contains it [default: .thrum in the project]
        dir: Option<PathBuf>,
    },
}

impl Import {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let From::Thrum { dir } = self.from;
        let cwd = current_project::cwd()?;
        let dir = dir.map_or_else(|| project.root().join(".thrum"), |dir| cwd.join(dir));
        let mut control = Identity::default().connect(project)?;
        let done = control.request("mail/import", json!({"thrum": dir}), |_, _| {}).map_err(control_failure)?;
        terminal::line(done["text"].as_str().unwrap_or_default());
        Ok(Exit::Done)
    }
}
