//! Resolves a profile and a caller's environment to a launch.

use std::path::PathBuf;
use std::sync::Arc;

use super::{DriverKind, Profile, ProfileError, Profiles};
use crate::adapter::{Adapter, bash, ghci, node, prompt, python, terminal};
use crate::session::Launch;

/// The nursery takes at most this fraction of the memory limit …
const NURSERY_SHARE: u64 = 32;
/// … and at most this many MiB. That lets GHCi reach its prompt without a collection, which took a third of its start,
/// and run about fifty small evaluations between collections. A used nursery stays resident in every session.
const NURSERY_MAX: u64 = 96;

impl Profile {
    /// Returns the code that controls the program.
    pub fn adapter(&self) -> Arc<dyn Adapter> {
        match self.driver {
            DriverKind::Ghci => Arc::new(ghci::Ghci),
            DriverKind::Python => Arc::new(python::Python),
            DriverKind::Bash => Arc::new(bash::Bash),
            DriverKind::Node => Arc::new(node::Node),
            DriverKind::Prompt => Arc::new(prompt::Prompt(self.prompt.clone().unwrap_or_default())),
            DriverKind::Terminal => Arc::new(terminal::Terminal(self.terminal.unwrap_or_default())),
        }
    }
}

impl DriverKind {
    /// Returns the arguments it needs after the profile's command.
    fn arguments(self) -> &'static [&'static str] {
        match self {
            DriverKind::Python => &python::ARGUMENTS,
            DriverKind::Node => &node::ARGUMENTS,
            DriverKind::Ghci | DriverKind::Bash | DriverKind::Prompt | DriverKind::Terminal => &[],
        }
    }
}

impl Profile {
    /// Resolves the launch of a session in `cwd`, with the profile's variables added to `env`, which is complete and
    /// includes `PATH`. An error names the missing or forbidden item.
    pub fn launch(
        &self,
        mut env: Vec<(String, String)>,
        cwd: PathBuf,
        memory_limit: u64,
    ) -> Result<Launch, ProfileError> {
        let path = env.iter().find(|(name, _)| name == "PATH").map_or("", |(_, value)| value.as_str());
        self.check(path, &cwd)?;
        if self.driver == DriverKind::Terminal {
            // The terminal is ours, not the caller's.
            env.retain(|(name, _)| !["TERM", "LINES", "COLUMNS"].contains(&name.as_str()));
            env.push(("TERM".to_owned(), "xterm-256color".to_owned()));
        }
        // A command that is only a shell's path gets the built-in profile's settings: without them, it would print no
        // prompt on pipes.
        let builtin = self.is_a_shell_alone().then(|| Profiles::builtin().get("bash").ok().cloned()).flatten();
        let mut variables = builtin.as_ref().map(|bash| bash.env.clone()).unwrap_or_default();
        variables.extend(self.env.iter().map(|(name, value)| (name.clone(), value.clone())));
        env.retain(|(name, _)| !variables.contains_key(name));
        env.extend(variables);
        let more = builtin.iter().flat_map(|bash| bash.command.iter().skip(1).cloned());
        let arguments = self.driver.arguments().iter().map(|argument| (*argument).to_owned());
        // This is less than the kill limit, since a program is more than its heap: it may still report an allocation
        // failure.
        let mib = ((memory_limit / 4 * 3) >> 20).max(1);
        let nursery = (mib / NURSERY_SHARE).clamp(1, NURSERY_MAX).to_string();
        let mib = mib.to_string();
        let bounded = |argument: &String| argument.replace("{mib}", &mib).replace("{nursery}", &nursery);
        let memory = self.memory.iter().map(bounded);
        Ok(Launch {
            profile: self.name.clone(),
            command: self.command.iter().cloned().chain(more).chain(memory).chain(arguments).collect(),
            env,
            cwd,
            adapter: self.adapter(),
            start_timeout: self.start_timeout(),
            install_hint: self.install.sentence(),
            memory_limit,
            sandbox: None,
            called: if self.title.is_empty() { self.name.clone() } else { self.title.clone() },
            fallback: None,
            notes: Vec::new(),
        })
    }

    /// Returns true if its command is only bash's path.
    fn is_a_shell_alone(&self) -> bool {
        let [program] = self.command.as_slice() else { return false };
        self.driver == DriverKind::Bash && program.rsplit('/').next() == Some("bash")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_completes_command_and_environment() {
        let profiles = Profiles::builtin();
        let env = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned()), ("PS1".to_owned(), "mine> ".to_owned())];
        let launch =
            profiles.get("bash").expect("built in").launch(env, "/tmp".into(), 1 << 30).expect("bash is there");
        assert_eq!(launch.command[0], "bash");
        assert_eq!(launch.env.iter().filter(|(name, _)| name == "PS1").count(), 1);
        assert!(launch.env.contains(&("PS1".to_owned(), String::new())));
        let env = vec![("PATH".to_owned(), std::env::var("PATH").expect("a PATH"))];
        let launch =
            profiles.get("ghci").expect("built in").launch(env, "/tmp".into(), 4 << 30).expect("ghci is there");
        assert_eq!(launch.command[6..], ["+RTS", "-M3072m", "-A96m", "-RTS"]);
        let env = launch.env.clone();
        let small =
            profiles.get("ghci").expect("built in").launch(env, "/tmp".into(), 256 << 20).expect("ghci is there");
        assert_eq!(small.command[6..], ["+RTS", "-M192m", "-A6m", "-RTS"]);
        let env = launch.env.clone();
        let cabal =
            profiles.get("cabal").expect("built in").launch(env, "/tmp".into(), 4 << 30).expect("cabal is there");
        assert!(cabal.command.contains(&"--repl-options=-M3072m".to_owned()), "{:?}", cabal.command);
        let missing = profiles.get("python").expect("built in").launch(Vec::new(), "/tmp".into(), 1 << 30);
        assert!(matches!(missing, Err(ProfileError::Missing { .. })));
    }
}
