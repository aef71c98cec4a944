//! The failure for an unknown toolset or profile: lists the available ones, and what to type.

use clap::CommandFactory;
use daemon::ChoiceError;

use crate::exit::{Exit, Failure};

/// Builds the failure: `hob mcp` takes toolsets as arguments, other commands take `--toolset`.
pub(crate) fn failure(error: ChoiceError, command: &str) -> Failure {
    let (what, name, known, flag) = match &error {
        ChoiceError::UnknownToolset { name, known } if command == "mcp" => ("toolset", name, known, ""),
        ChoiceError::UnknownToolset { name, known } => ("toolset", name, known, "--toolset "),
        ChoiceError::UnknownProfile { name, known } => ("profile", name, known, "--profile "),
        ChoiceError::Both => return Failure::new(error).exit(Exit::Usage),
    };
    let failure = Failure::new(format_args!("unknown {what} '{name}'; available: {known}")).exit(Exit::Usage);
    let failure = match nearest(name, known.split(", ")) {
        Some(near) => failure.hint(format_args!("Did you mean `hob {command} {flag}{near}`?")),
        None => failure,
    };
    match crate::Cli::command().find_subcommand(name) {
        Some(_) => failure.hint(format_args!("`hob {name}` is a separate command.")),
        None => failure.hint(format_args!("`hob {command} --help` says more.")),
    }
}

/// Returns the most similar known name.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = known.map(|known| (strsim::levenshtein(name, known), known)).min_by_key(|(distance, _)| *distance);
    near.filter(|(distance, _)| *distance <= name.len().max(3) / 3).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure_text(error: ChoiceError, command: &str) -> String {
        let Failure { message, hints, .. } = failure(error, command);
        format!("{message} | {}", hints.join(" "))
    }

    #[test]
    fn what_to_type_instead_of_a_wrong_toolset() {
        let known = || "repl, mail, cure".to_owned();
        let toolset = |name: &str| ChoiceError::UnknownToolset { name: name.to_owned(), known: known() };
        let profile =
            |name: &str| ChoiceError::UnknownProfile { name: name.to_owned(), known: "ghc-mcp, cure".to_owned() };
        for (error, command, expected) in [
            (toolset("repls"), "mcp", "Did you mean `hob mcp repl`? `hob mcp --help` says more."),
            (toolset("repls"), "tools", "Did you mean `hob tools --toolset repl`? `hob tools --help` says more."),
            (toolset("status"), "mcp", "`hob status` is a separate command."),
            (toolset("frobnicate"), "mcp", "`hob mcp --help` says more."),
            (profile("ghc_mcp"), "mcp", "Did you mean `hob mcp --profile ghc-mcp`? `hob mcp --help` says more."),
        ] {
            let said = failure_text(error, command);
            assert!(said.ends_with(&format!(" | {expected}")) && said.contains("; available: "), "{said}");
        }
    }
}
