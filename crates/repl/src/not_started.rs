//! The error for a program that ended before its first prompt: what it printed, and what to do about it.

use mcp::tool::ToolError;

use crate::session::SessionInfo;

/// What cabal and its download program say when the package list is unavailable.
const NO_LIST: [&str; 5] = [
    "Downloading the latest package list",
    "Caught exception during _mirrors lookup",
    "No mirrors found for",
    "exited with an error:\ncurl:",
    "Run 'cabal update' to download it",
];

/// The error with the program's output, the reason and hints.
pub(crate) fn not_started(info: &SessionInfo) -> ToolError {
    hints(info).into_iter().fold(ToolError::user(message(info)), ToolError::hint)
}

/// The program's output and the reason why it ended.
pub(crate) fn message(info: &SessionInfo) -> String {
    let reason = info.reason.as_deref().unwrap_or("it ended");
    let said = info.banner.trim();
    let line = if said.is_empty() { "" } else { "\n" };
    format!("{} did not start: {reason}.{line}{said}", info.called)
}

pub(crate) fn hints(info: &SessionInfo) -> Vec<String> {
    let is_cabal = info.command.first().is_some_and(|program| program.ends_with("cabal"));
    if is_cabal && NO_LIST.iter().any(|sign| info.banner.contains(sign)) {
        return vec![
            "cabal has no list of packages here and could not download one. Where there is a network, run `cabal update` \
             once (a proxy goes into `env` of repl_start, as http_proxy)."
                .to_owned(),
            "Without one, an empty file ~/.cabal/config keeps cabal to the packages that GHC has; or start GHCi itself: \
             repl_start with `profile` \"ghci\"."
                .to_owned(),
        ];
    }
    vec!["Correct that and call repl_start again; repl_read shows everything it printed.".to_owned()]
}
