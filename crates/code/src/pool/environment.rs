//! The environment of a server, derived from its caller's, and whether the configured command can start in it.

use std::collections::BTreeMap;
use std::path::Path;

use process::Spec;

use super::Options;
use crate::programs;

/// Returns a server's environment. The checkout is removed from the search path unless its programs may run.
pub(super) fn environment(options: &Options, env: &BTreeMap<String, String>, worktree: &Path) -> Vec<(String, String)> {
    let mut env: Vec<(String, String)> = env.clone().into_iter().collect();
    if !options.settings.project_servers {
        let path = env.iter_mut().filter(|(name, _)| name == "PATH");
        path.for_each(|(_, path)| *path = programs::outside(path, worktree));
    }
    env
}

/// Returns why the configured command cannot be started.
pub(super) fn unusable(
    options: &Options,
    command: &[String],
    env: &BTreeMap<String, String>,
    worktree: &Path,
    root: &Path,
) -> Option<String> {
    let spec = Spec::new(command.first()?, root).env(environment(options, env, worktree));
    spec.program().err().map(|error| project::visible(&error.to_string()))
}
