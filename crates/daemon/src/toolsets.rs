//! Which tools a connection sees: everything, a few named toolsets, or the profile of a system that hob replaces.
//!
//! Registries are made once for each choice and shared by all connections that chose the same, so that a listing is
//! serialized once and a tool added later appears everywhere.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use mcp::tool::{AnyTool, Registry};

/// One named list of tools.
pub(crate) struct Toolset {
    /// Its name, as in `hob mcp NAME`.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Its tools.
    pub tools: Vec<Arc<dyn AnyTool>>,
}

/// Everything this daemon can serve.
pub(crate) struct Catalogue {
    toolsets: Vec<Toolset>,
    profiles: Vec<Toolset>,
    /// The toolsets served to who names none.
    enabled: Vec<String>,
    registries: Mutex<HashMap<Choice, Arc<Registry>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Choice {
    Toolsets(Vec<&'static str>),
    Profile(&'static str),
}

/// A choice that cannot be served.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// No toolset of that name.
    #[error("there is no toolset '{name}'; there are: {known}. Start `hob mcp` with one of these, or with `all`")]
    UnknownToolset {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// No profile of that name.
    #[error("there is no profile '{name}'; there are: {known}. Start `hob mcp` without --profile for hob's own tools")]
    UnknownProfile {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// Both were named.
    #[error("a profile fixes its own tools, so it takes no toolsets; leave out --profile or the toolsets")]
    Both,
}

/// Asks for every toolset there is.
const EVERYTHING: &str = "all";

/// The first of these toolsets that is none of those there are.
pub(crate) fn unknown(wanted: &[String], known: &[&str]) -> Option<ChoiceError> {
    let name = wanted.iter().find(|name| *name != EVERYTHING && !known.contains(&name.as_str()))?;
    Some(ChoiceError::UnknownToolset { name: name.clone(), known: known.join(", ") })
}

impl Catalogue {
    /// A catalogue. `enabled` names the toolsets for who names none; empty for all.
    pub(crate) fn new(
        toolsets: Vec<Toolset>,
        profiles: Vec<Toolset>,
        enabled: Vec<String>,
    ) -> Result<Catalogue, ChoiceError> {
        let catalogue = Catalogue { toolsets, profiles, enabled, registries: Mutex::default() };
        // A wrong name in the configuration is said at the start, not at the first connection.
        catalogue.registry(&[], None)?;
        Ok(catalogue)
    }

    /// The tools of that choice.
    pub(crate) fn registry(&self, toolsets: &[String], profile: Option<&str>) -> Result<Arc<Registry>, ChoiceError> {
        let choice = self.choose(toolsets, profile)?;
        let mut registries = self.registries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(registry) = registries.get(&choice) {
            return Ok(Arc::clone(registry));
        }
        let chosen = |toolset: &&Toolset| match &choice {
            Choice::Toolsets(names) => names.contains(&toolset.name),
            Choice::Profile(name) => *name == toolset.name,
        };
        let source = if matches!(choice, Choice::Profile(_)) { &self.profiles } else { &self.toolsets };
        let tools = source.iter().filter(chosen).flat_map(|toolset| toolset.tools.iter().cloned());
        let registry = Arc::new(Registry::new(tools));
        registries.insert(choice, Arc::clone(&registry));
        Ok(registry)
    }

    /// The toolsets, for a listing.
    pub(crate) fn toolsets(&self) -> &[Toolset] {
        &self.toolsets
    }

    /// The profiles, for a listing.
    pub(crate) fn profiles(&self) -> &[Toolset] {
        &self.profiles
    }

    fn choose(&self, toolsets: &[String], profile: Option<&str>) -> Result<Choice, ChoiceError> {
        let known = |sets: &[Toolset]| sets.iter().map(|set| set.name).collect::<Vec<_>>().join(", ");
        if let Some(name) = profile {
            if !toolsets.is_empty() {
                return Err(ChoiceError::Both);
            }
            let found = self.profiles.iter().find(|set| set.name == name);
            return found
                .map(|set| Choice::Profile(set.name))
                .ok_or_else(|| ChoiceError::UnknownProfile { name: name.to_owned(), known: known(&self.profiles) });
        }
        let wanted = if toolsets.is_empty() { &self.enabled[..] } else { toolsets };
        if wanted.is_empty() || wanted.iter().any(|name| name == EVERYTHING) {
            return Ok(Choice::Toolsets(self.toolsets.iter().map(|set| set.name).collect()));
        }
        let all: Vec<&'static str> = self.toolsets.iter().map(|set| set.name).collect();
        if let Some(error) = unknown(wanted, &all) {
            return Err(error);
        }
        let mut names: Vec<&'static str> =
            all.into_iter().filter(|name| wanted.iter().any(|one| one == name)).collect();
        names.sort_unstable();
        names.dedup();
        Ok(Choice::Toolsets(names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn catalogue(enabled: &[&str]) -> Result<Catalogue, ChoiceError> {
        let set = |name| Toolset { name, about: "", tools: Vec::new() };
        let enabled = enabled.iter().map(|name| (*name).to_owned()).collect();
        Catalogue::new(vec![set("repl"), set("mail")], vec![set("ghc-mcp")], enabled)
    }

    #[test]
    fn equal_choices_share_a_registry() {
        let catalogue = catalogue(&[]).expect("valid");
        let all = catalogue.registry(&[], None).expect("all");
        let named = catalogue.registry(&["mail".into(), "repl".into(), "mail".into()], None).expect("both");
        let one = catalogue.registry(&["mail".into()], None).expect("one");
        assert!(!Arc::ptr_eq(&all, &one));
        assert!(Arc::ptr_eq(&named, &catalogue.registry(&["repl".into(), "mail".into()], None).expect("both")));
        let some = super::tests::catalogue(&["mail"]).expect("valid");
        let default = some.registry(&[], None).expect("the default");
        assert!(!Arc::ptr_eq(&default, &some.registry(&["all".into()], None).expect("all")));
    }

    #[test]
    fn a_wrong_name_says_what_there_is() {
        let catalogue = catalogue(&[]).expect("valid");
        let errors = [
            catalogue.registry(&["rpl".into()], None).err(),
            catalogue.registry(&[], Some("thrum")).err(),
            catalogue.registry(&["repl".into()], Some("ghc-mcp")).err(),
            super::tests::catalogue(&["code"]).err(),
        ];
        let texts: Vec<String> = errors.into_iter().map(|error| error.expect("refused").to_string()).collect();
        expect![[r#"
            there is no toolset 'rpl'; there are: repl, mail. Start `hob mcp` with one of these, or with `all`
            there is no profile 'thrum'; there are: ghc-mcp. Start `hob mcp` without --profile for hob's own tools
            a profile fixes its own tools, so it takes no toolsets; leave out --profile or the toolsets
            there is no toolset 'code'; there are: repl, mail. Start `hob mcp` with one of these, or with `all`"#]]
        .assert_eq(&texts.join("\n"));
    }
}
