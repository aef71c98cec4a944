//! Why a profile is unknown or cannot be started, and what to do.

use mcp::tool::nearest;

/// Reasons why a profile is unknown or cannot be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// The name is unknown.
    #[error("unknown profile {name:?}; available: {known}")]
    Unknown {
        name: String,
        /// The known names.
        known: String,
    },
    /// The name that the configuration gives to sessions without a profile is unknown.
    #[error("unknown profile {name:?} in the configuration (`profile` under [repl]); available: {known}")]
    UnknownDefault {
        name: String,
        /// The known names.
        known: String,
    },
    /// A program is not installed.
    #[error("the profile {name:?} needs the program {program:?}, which is not in the PATH")]
    Missing {
        name: String,
        program: String,
        /// Installation instructions, as a sentence.
        install: String,
    },
    /// The program has no components, or was not to be asked for one.
    #[error("`component` cannot be chosen: {why}")]
    NoComponent {
        /// The reason, as a clause.
        why: String,
    },
    /// A program given with a slash does not exist there.
    #[error("the program {program:?} cannot be started: {problem}")]
    NoProgram {
        program: String,
        /// The problem, with the whole path.
        problem: String,
    },
    /// The program of a command that a caller gave is not installed.
    #[error("the program {program:?} is not in the PATH")]
    NotInPath { program: String },
    /// The profile is the project's, and the user has not trusted the project.
    #[error("the profile {name:?} of this project would run {command:?}, and the project is not trusted")]
    Untrusted {
        name: String,
        /// The command it would run.
        command: String,
    },
    /// The profile is the project's, and the user has not granted it.
    #[error("the profile {name:?} of this project's hob.toml is not granted: it {asks}")]
    Withheld {
        name: String,
        /// The effect of granting it.
        asks: String,
    },
    /// The user has granted the profile since the daemon started.
    #[error("the profile {name:?} of this project's hob.toml was granted after this daemon started")]
    GrantedSince { name: String },
    /// The text is not a valid profile.
    #[error("the profile {name:?} in {place} is not usable: {problem}")]
    Invalid { name: String, place: String, problem: String },
}

impl ProfileError {
    pub fn hints(&self) -> Vec<String> {
        match self {
            ProfileError::Unknown { name, known } => {
                let near = nearest(name, known.split(", ")).map(|near| format!("Did you mean {near:?}?"));
                let next = "Name one of those in `profile`, or leave it out. A profile that was added to hob.toml counts after \
                            `hob stop`.";
                near.into_iter().chain([next.to_owned()]).collect()
            }
            ProfileError::UnknownDefault { .. } => vec![
                "Correct it in hob.toml, then `hob stop`: the next call starts a daemon that reads it again."
                    .to_owned(),
                "Or name one of those in `profile`.".to_owned(),
            ],
            ProfileError::Missing { install, .. } if install.is_empty() => {
                vec!["Install it, or name another `profile`.".to_owned()]
            }
            ProfileError::Missing { install, .. } => {
                vec![install.clone(), "Or name another `profile`.".to_owned()]
            }
            ProfileError::NoComponent { .. } => {
                vec!["Give it with the `profile` cabal or stack, such as \"exe:app\" or \"test:spec\".".to_owned()]
            }
            ProfileError::NoProgram { .. } => vec![
                "Create it, or correct `command`: a program with a slash is relative to the session's directory."
                    .to_owned(),
            ],
            ProfileError::NotInPath { .. } => vec![
                "Install it, or give its path; a path with a slash is relative to the session's directory.".to_owned(),
            ],
            ProfileError::Untrusted { .. } => {
                vec!["Read the project's hob.toml, then run `hob trust` in a terminal.".to_owned()]
            }
            ProfileError::Withheld { .. } => vec![
                "A person can read and grant it with `hob trust` in a terminal.".to_owned(),
                "Or name a built-in `profile`: bash, cabal, ghci, node, python or stack.".to_owned(),
            ],
            ProfileError::GrantedSince { .. } => {
                vec!["Run `hob stop`; the next call starts a daemon that reads it.".to_owned()]
            }
            ProfileError::Invalid { .. } => vec![
                "Correct it there, then `hob stop`: the next call starts a daemon that reads it again.".to_owned(),
                "Or name another `profile`.".to_owned(),
            ],
        }
    }
}
