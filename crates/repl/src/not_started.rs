//! The error for a program that exited before its first prompt: its output, with hints.

use mcp::tool::{ToolError, nearest};

use crate::profile::components;
use crate::session::SessionInfo;

/// Messages of cabal and its download program if the package list is unavailable.
const NO_LIST: [&str; 5] = [
    "Downloading the latest package list",
    "Caught exception during _mirrors lookup",
    "No mirrors found for",
    "exited with an error:\ncurl:",
    "Run 'cabal update' to download it",
];

/// Returns the error with the program's output, the reason and hints.
pub(crate) fn not_started(info: &SessionInfo) -> ToolError {
    hints(info).into_iter().fold(ToolError::user(message(info)), ToolError::hint)
}

/// Returns the program's output and the reason why it ended.
pub(crate) fn message(info: &SessionInfo) -> String {
    let reason = info.reason.as_deref().unwrap_or("it ended");
    let said = info.banner.trim();
    if has_no_list(info) {
        // cabal prints the same nine lines at each attempt: the hints explain them.
        let why = download_error(said).map(|why| format!(" ({why})")).unwrap_or_default();
        return format!("{} did not start: cabal has no package list and could not download one{why}.", info.called);
    }
    let line = if said.is_empty() { "" } else { "\n" };
    // This comes before cabal's own five lines about it.
    let unknown = unknown_component(info).map(|unknown| format!(" {unknown}")).unwrap_or_default();
    let what = if has_succeeded(info) { "does not wait for input" } else { "did not start" };
    format!("{} {what}: {reason}.{unknown}{line}{said}", info.called)
}

/// Returns true for a command that did its work and ended, such as `ls`.
fn has_succeeded(info: &SessionInfo) -> bool {
    info.reason.as_deref().is_some_and(|reason| reason.starts_with("it exited with status 0"))
}

pub(crate) fn hints(info: &SessionInfo) -> Vec<String> {
    if has_no_list(info) {
        return vec![
            "With a network connection, run `cabal update` once (set a proxy as http_proxy in `env` of repl_start)."
                .to_owned(),
            format!(
                "Without a network connection, empty cabal's configuration with `: > {}` (first copy it if you edited \
                 it); cabal then uses only the packages of GHC. Or start GHCi itself: repl_start {{\"profile\": \
                 \"ghci\"}}.",
                configuration(&info.banner)
            ),
        ];
    }
    if has_succeeded(info) {
        let hint =
            "A session keeps a program that waits for input. Run this command in a session of the profile `bash`.";
        return vec![hint.to_owned()];
    }
    let session = if info.name == "main" { String::new() } else { format!(" {{\"session\": {:?}}}", info.name) };
    vec![format!("Fix that, then repeat the call; repl_read{session} shows everything it printed.")]
}

/// Returns the existing components if the package does not have the requested one.
fn unknown_component(info: &SessionInfo) -> Option<String> {
    let program = info.command.first()?;
    let is_of_haskell = ["cabal", "stack"].iter().any(|name| program.ends_with(name));
    // The component is the first non-option after the program and its command.
    let asked = info.command.iter().skip(2).find(|word| is_of_haskell && !word.starts_with('-'))?;
    let all = components(&info.cwd, &info.worktree);
    let names: Vec<&str> = all.iter().map(|component| &*component.name).collect();
    let ends =
        |name: &str, end: &str| name.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with(':'));
    if names.is_empty() || names.iter().any(|name| ends(name, asked) || ends(asked, name)) {
        return None;
    }
    let near = nearest(asked, names.iter().copied()).map(|near| format!(" Did you mean {near:?}?"));
    let asked = project::visible(asked);
    Some(format!("Unknown component `{asked}`; available: {}.{}", names.join(", "), near.unwrap_or_default()))
}

/// Returns true if cabal ended because it has no list of packages.
fn has_no_list(info: &SessionInfo) -> bool {
    let is_cabal = info.command.first().is_some_and(|program| program.ends_with("cabal"));
    is_cabal && NO_LIST.iter().any(|sign| info.banner.contains(sign))
}

/// Returns the last error of cabal's download program, on one line.
fn download_error(banner: &str) -> Option<String> {
    let (_, error) = banner.rsplit_once("\ncurl: ")?;
    let error = error.split("\n)").next().unwrap_or(error);
    Some(error.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|error| !error.is_empty() && error.len() < 200)
}

/// Returns cabal's configuration file: the one that it reports to have written, or else the default path.
fn configuration(banner: &str) -> &str {
    let mut words = banner.split_whitespace().map(|word| word.trim_matches(['"', '\'', '.', ',', ':']));
    let is_path = |word: &&str| word.starts_with('/') && word.ends_with("/config") && word.chars().all(is_plain);
    words.rfind(is_path).unwrap_or("~/.cabal/config")
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "/_.-+@".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_that_cabal_names() {
        let wrote = "Config file path source is default config file.\nConfig file /h/.cabal/config not found.\n\
                     Writing default configuration to /h/.config/cabal/config\n";
        assert_eq!(configuration(wrote), "/h/.config/cabal/config");
        assert_eq!(configuration("Config file \"/h/$(x)/config\" not found."), "~/.cabal/config");
    }
}
