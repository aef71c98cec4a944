//! The project of a command, and the connection to its daemon.

use std::path::{Path, PathBuf};

use client::Control;
use project::{Hello, Project};

use super::sandbox;
use crate::exit::Failure;

pub(super) fn find_project(explicit: Option<&Path>) -> Result<Project, Failure> {
    Project::find(explicit, &cwd()?).map_err(Failure::new)
}

pub(super) fn cwd() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| {
        Failure::new(format_args!("cannot find the current directory: {error}"))
            .hint("Change to an existing directory and try again.")
    })
}

/// Returns the state that was set aside because it belonged to another directory at this path, with what to do about it.
pub(super) fn set_aside(project: &Project) -> Vec<(PathBuf, String)> {
    let shown = |path: &Path| project::visible(&path.display().to_string());
    let state = project.state_dir();
    let still_there = project.state_is_of_another().then(|| {
        let text = format!(
            "this path belonged to another directory, whose mail and logs are in {0}. hob will set them aside until \
             it runs in the new location of that directory. If this directory replaces it, delete the file root-inode \
             in {0}",
            shown(state)
        );
        (state.to_owned(), text)
    });
    let aside = project.states_set_aside().into_iter().map(|aside| {
        let text = format!(
            "this path belonged to another directory, whose mail and logs are set aside in {} until hob runs in the \
             new location of that directory. If this directory replaces it, run `hob stop`, move {} away, move the \
             other one there, and delete the file root-inode in it",
            shown(&aside),
            shown(state)
        );
        (aside, text)
    });
    still_there.into_iter().chain(aside).collect()
}

pub(super) fn hello(project: &Project) -> Result<Hello, Failure> {
    Ok(Control::hello(project, &cwd()?))
}

/// Connects to the project's daemon, if one runs.
pub(super) fn connect(project: &Project) -> Result<Option<Control>, Failure> {
    Control::connect(project, &hello(project)?).map_err(|error| sandbox::no_daemon(&error))
}

/// Connects to the project's daemon, and starts it if none runs.
pub(super) fn connect_or_start(project: &Project, hello: &Hello) -> Result<Control, Failure> {
    Control::connect_or_start(project, hello).map_err(|error| sandbox::no_daemon(&error))
}
