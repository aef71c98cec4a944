//! Resolves a caller's request to a launch: the profile, the command, the directory, the environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use process::sandbox::Support;
use project::Caller;

use crate::adapter::python::{IPYTHON_VARIABLE, PythonShell, SOURCES_VARIABLE};
use crate::error::ReplError;
use crate::profile::{DriverKind, Install, Interpreter, Profile, ProfileError, Profiles, Search, descriptions};
use crate::sandboxed::{self, SandboxMode};
use crate::session::Launch;

/// A caller's request, with its limits.
#[derive(Debug, Clone, Default)]
pub(crate) struct LaunchRequest<'a> {
    pub(crate) profile: Option<String>,
    pub(crate) command: Option<Vec<String>>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) env: BTreeMap<String, String>,
    /// The component of the project, for profiles with components.
    pub(crate) component: Option<String>,
    pub(crate) sandbox: Option<SandboxMode>,
    pub(crate) python: PythonShell,
    pub(crate) default_profile: Option<&'a str>,
    /// The memory limit in bytes; 0 for the default.
    pub(crate) memory_limit: u64,
}

pub(crate) fn launch(profiles: &Profiles, caller: &Caller, request: LaunchRequest<'_>) -> Result<Launch, ReplError> {
    let asked = request.cwd.as_deref().map_or(caller.cwd.clone(), |cwd| caller.cwd.join(cwd));
    if !asked.is_dir() {
        return Err(ReplError::NoDirectory { path: asked });
    }
    let path = request.env.get("PATH").or(caller.env.get("PATH")).cloned().unwrap_or_default();
    let path = path.as_str();
    let Choice { profile, cwd, fallback } = choose(profiles, caller, &request, asked, path)?;
    let mut env = caller.env.clone();
    env.extend(request.env.clone());
    let (python, sources) = if request.command.is_none() && profile.virtual_environments {
        let active = env.get("VIRTUAL_ENV").map(String::as_str);
        let search = Search { cwd: &cwd, root: &caller.worktree, path, active };
        (search.interpreter(), search.sources())
    } else {
        (Interpreter::default(), None)
    };
    match &sources {
        Some(sources) => env.insert(SOURCES_VARIABLE.to_owned(), sources.display().to_string()),
        None => env.remove(SOURCES_VARIABLE),
    };
    match request.python {
        PythonShell::Ipython if profile.driver == DriverKind::Python => {
            env.insert(IPYTHON_VARIABLE.to_owned(), "1".to_owned())
        }
        _ => env.remove(IPYTHON_VARIABLE),
    };
    if profile.virtual_environments {
        // Matplotlib opens no windows.
        env.entry("MPLBACKEND".to_owned()).or_insert_with(|| "agg".to_owned());
    }
    if let Some(venv) = &python.activate {
        activate(venv, path, &mut env);
    }
    // A locale without UTF-8 makes programs fail at the first non-ASCII letter, and a terminal name makes them print
    // escape sequences.
    env.insert("LC_ALL".to_owned(), "C.UTF-8".to_owned());
    env.insert("TERM".to_owned(), "dumb".to_owned());
    let command = match &request.component {
        Some(component) if request.command.is_none() => Some(with_component(profile, component)?),
        Some(_) => {
            let why = "`command` is given and selects its own component".to_owned();
            return Err(ProfileError::NoComponent { why }.into());
        }
        None => python.command,
    };
    let has_package =
        profile.component.is_empty() || request.command.is_some() || !descriptions(&cwd, &caller.worktree).is_empty();
    let without_package = (!has_package).then(|| {
        format!(
            "There is no package description (`*.cabal`, `stack.yaml`) in {} or above it; `cwd` of repl_start names the package's \
             directory.",
            project::visible::path(&cwd)
        )
    });
    let own = match (request.command, command) {
        // A complete command starts exactly as given.
        (Some(command), _) => {
            let title = command.join(" ");
            // Instructions for the profile's own program do not apply to another one.
            let is_of_profile = command.first().is_some_and(|program| program == profile.program());
            let install = if is_of_profile { profile.install.clone() } else { Install::default() };
            Some(Profile { command, title, install, requires: Vec::new(), memory: Vec::new(), ..profile.clone() })
        }
        (None, Some(command)) => Some(Profile { command, ..profile.clone() }),
        (None, None) => None,
    };
    let limit = memory_limit(request.memory_limit);
    let launch = own.as_ref().unwrap_or(profile).launch(env.into_iter().collect(), cwd, limit);
    let launch = launch.map_err(|error| match error {
        ProfileError::Missing { program, .. } if own.is_some() && program != profile.program() => {
            ProfileError::NotInPath { program }
        }
        other => other,
    })?;
    let sources = sources.map(|sources| {
        let shown = project::visible::path(sources.strip_prefix(&launch.cwd).unwrap_or(&sources));
        format!("The modules in {shown} can be imported.")
    });
    let notes = python.note.into_iter().chain(sources).chain(without_package).collect();
    let mut launch = Launch { fallback, notes, ..launch };
    confine(&mut launch, request.sandbox);
    Ok(launch)
}

/// Puts the session into a sandbox, if one is given, and adds the note for its start.
pub(crate) fn confine(launch: &mut Launch, sandbox: Option<SandboxMode>) {
    if launch.sandbox.is_none() && sandbox.is_some() {
        launch.sandbox = sandbox;
        launch.notes.push(sandboxed::note(Support::ask()));
    }
}

/// Returns the profile's command for one component.
fn with_component(profile: &Profile, component: &str) -> Result<Vec<String>, ProfileError> {
    let no = |why: String| ProfileError::NoComponent { why };
    if profile.component.is_empty() {
        return Err(no(format!("the profile `{}` has no components", profile.name)));
    }
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || ":._/+-".contains(c);
    if component.starts_with('-') || component.is_empty() || !component.chars().all(is_of_name) {
        return Err(no(format!("{component:?} is not a valid component name")));
    }
    let words = profile.component.iter().map(|word| word.replace("{component}", component));
    Ok(profile.command.iter().cloned().chain(words).collect())
}

/// Applies the effect of a virtual environment's activation script.
fn activate(venv: &Path, path: &str, env: &mut BTreeMap<String, String>) {
    env.insert("PATH".to_owned(), format!("{}:{path}", venv.join("bin").display()));
    env.insert("VIRTUAL_ENV".to_owned(), venv.display().to_string());
    env.remove("PYTHONHOME");
}

/// The chosen profile, its directory, and the reason if no file decided.
struct Choice<'a> {
    profile: &'a Profile,
    cwd: PathBuf,
    fallback: Option<String>,
}

fn choose<'a>(
    profiles: &'a Profiles,
    caller: &Caller,
    request: &LaunchRequest<'_>,
    cwd: PathBuf,
    path: &str,
) -> Result<Choice<'a>, ReplError> {
    let chosen = |profile, cwd| Choice { profile, cwd, fallback: None };
    if let Some(name) = &request.profile {
        return Ok(chosen(profiles.get(name)?, cwd));
    }
    if let Some(command) = &request.command {
        let program = command.first().map(String::as_str).unwrap_or_default();
        let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
        // `ghci-9.6` and `python3.12` are driven like `ghci` and `python`.
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        let profile = profiles.iter().find(|profile| profile.name == *stem || profile.program() == name);
        return match profile {
            Some(profile) => Ok(chosen(profile, cwd)),
            None => Err(ReplError::UnknownProgram { program: program.to_owned() }),
        };
    }
    if let Some(name) = request.default_profile {
        return Ok(chosen(profiles.get_default(name)?, cwd));
    }
    let detected = profiles.detect(&cwd, &caller.worktree, path);
    if !detected.packages.is_empty() && request.component.is_none() {
        return Err(ReplError::Packages { dir: detected.dir, packages: detected.packages });
    }
    // cabal and stack run where the package is described.
    let is_as_asked = request.cwd.is_some() && detected.profile.component.is_empty();
    let cwd = if is_as_asked { cwd } else { detected.dir };
    Ok(Choice { profile: detected.profile, cwd, fallback: detected.fallback })
}

/// Returns the memory limit: three quarters of the machine's memory unless configured.
fn memory_limit(configured: u64) -> u64 {
    match configured {
        0 => {
            // Unlimited where the system does not report it.
            system::total_memory().map_or(u64::MAX, |total| total / 4 * 3)
        }
        bytes => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_a_package_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("tax")).expect("made");
        std::fs::write(folder.path().join("tax/tax.cabal"), "name: tax\n").expect("written");
        let env = [("PATH".to_owned(), std::env::var("PATH").expect("a path"))].into();
        let caller = Caller { env, ..testkit::caller(folder.path(), "tester") };
        let notes = |cwd: Option<PathBuf>| {
            let request = LaunchRequest { profile: Some("cabal".to_owned()), cwd, ..LaunchRequest::default() };
            launch(&Profiles::builtin(), &caller, request).expect("cabal is installed").notes
        };
        assert!(notes(None)[0].starts_with("There is no package description"));
        assert_eq!(notes(Some("tax".into())), Vec::<String>::new());
    }

    #[test]
    fn a_given_directory_holds_for_a_detected_profile() {
        let folder = tempfile::tempdir().expect("a folder");
        for dir in ["plain", "tax/src"] {
            std::fs::create_dir_all(folder.path().join(dir)).expect("made");
        }
        std::fs::write(folder.path().join("pyproject.toml"), "[project]\n").expect("written");
        std::fs::write(folder.path().join("tax/tax.cabal"), "name: tax\n").expect("written");
        let env = [("PATH".to_owned(), std::env::var("PATH").expect("a path"))].into();
        let caller = Caller { env, ..testkit::caller(folder.path(), "tester") };
        let cwd = |cwd: &str| {
            let request = LaunchRequest { cwd: Some(cwd.into()), ..LaunchRequest::default() };
            let launch = launch(&Profiles::builtin(), &caller, request).expect("cabal and Python are installed");
            launch.cwd.strip_prefix(folder.path()).expect("inside").to_owned()
        };
        assert_eq!(cwd("plain"), Path::new("plain"));
        assert_eq!(cwd("tax/src"), Path::new("tax"));
    }
}
