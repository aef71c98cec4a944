//! The tools that a connection sees: the cores of the default toolsets, named toolsets, or the profile of a system that
//! hob replaces.
//!
//! A registry is built once per choice and shared by all connections with that choice, so that a listing is serialized
//! once and a tool added later appears everywhere.

mod more_tools;

use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use mcp::tool::{AnyTool, Registry, nearest};

/// A named list of tools.
pub(crate) struct Toolset {
    /// Its name, as in `hob mcp NAME`.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// Information for a model before its first call of these tools.
    pub instructions: &'static str,
    pub tools: Vec<Arc<dyn AnyTool>>,
    /// The names of its tools in the default listing, if it is part of it; `more_tools` adds the others.
    pub core: &'static [&'static str],
    /// True if connections that name no toolsets get its core.
    pub is_default: bool,
    /// True if it includes its part's resources and prompts.
    pub extras: bool,
}

impl Toolset {
    /// Creates the toolset of a part without tools: it is in no listing, and no connection can choose it.
    pub(crate) fn without_tools(name: &'static str) -> Toolset {
        Toolset { name, about: "", instructions: "", tools: Vec::new(), core: &[], is_default: false, extras: false }
    }

    /// Creates a part's share of the profile of Tidepool's control server, to which several parts contribute.
    pub(crate) fn tidepool(instructions: &'static str, tools: Vec<Arc<dyn AnyTool>>) -> Toolset {
        let about = "the tools of Tidepool's control server, under their names";
        Toolset { name: "tidepool", about, instructions, tools, core: &[], is_default: false, extras: false }
    }

    pub(crate) fn has_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    /// Returns the names of its tools in the default listing.
    pub(crate) fn listed(&self) -> &'static [&'static str] {
        if self.is_default { self.core } else { &[] }
    }

    /// Returns the tools that the default listing leaves out.
    pub(crate) fn rest(&self) -> impl Iterator<Item = &Arc<dyn AnyTool>> {
        self.tools.iter().filter(|tool| !self.listed().contains(&tool.declaration().name.as_str()))
    }
}

/// Everything this daemon can serve.
pub(crate) struct Catalog {
    toolsets: Vec<PartToolset>,
    profiles: Vec<PartToolset>,
    /// The toolsets for connections that name none, if configured.
    enabled: Option<Vec<String>>,
    registries: Mutex<HashMap<Choice, Arc<Registry>>>,
}

/// A toolset and its part.
struct PartToolset {
    toolset: Toolset,
    /// The index of the part.
    part: usize,
    /// True if each worktree adds its own tools.
    is_live: bool,
}

/// The result of a connection's choice.
pub(crate) struct Chosen {
    pub registry: Arc<Registry>,
    /// The instructions for the model.
    pub instructions: String,
    /// The indices of the parts whose resources and prompts are included.
    pub extras: Vec<usize>,
    /// The live toolset, if it is chosen: the index of its part, and the tools and instructions that apply once a
    /// worktree has its own tools.
    pub live: Option<LiveChoice>,
}

/// The live toolset of a choice.
pub(crate) struct LiveChoice {
    pub part: usize,
    /// The tools listed then: its core, and the tools for jobs. Empty if all of its tools are listed anyway.
    pub core: Vec<&'static str>,
    pub name: &'static str,
    /// Empty if they are already in the instructions.
    pub instructions: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Choice {
    /// The cores of the default toolsets, and `more_tools` for everything else.
    Cores,
    Toolsets(Vec<&'static str>),
    Profile(&'static str),
}

/// An invalid choice.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// The toolset is unknown.
    #[error(
        "unknown toolset '{name}'; available: {known}. {}Start `hob mcp` with one of these, or with `all`",
        suggestion(name, known)
    )]
    UnknownToolset {
        /// The requested name.
        name: String,
        /// The available names.
        known: String,
    },
    /// The profile is unknown.
    #[error(
        "unknown profile '{name}'; available: {known}. {}Start `hob mcp` without --profile for hob's own tools",
        suggestion(name, known)
    )]
    UnknownProfile {
        /// The requested name.
        name: String,
        /// The available names.
        known: String,
    },
    /// Both were named.
    #[error("a profile has fixed tools and cannot be combined with toolsets; leave out --profile or the toolsets")]
    Both,
}

/// Suggests a similar name, as a sentence.
pub(crate) fn suggestion(name: &str, known: &str) -> String {
    nearest(name, known.split(", ")).map_or_else(String::new, |near| format!("Did you mean '{near}'? "))
}

/// The name that requests all toolsets.
const EVERYTHING: &str = "all";

/// Returns an error for the first unknown toolset among these.
pub(crate) fn unknown(wanted: &[String], known: &[&str]) -> Option<ChoiceError> {
    let name = wanted.iter().find(|name| *name != EVERYTHING && !known.contains(&name.as_str()))?;
    Some(ChoiceError::UnknownToolset { name: name.clone(), known: known.join(", ") })
}

impl Catalog {
    /// Builds the catalog of the toolset and the profiles of each part. `live` is the index of the part to whose toolset
    /// each worktree adds its own tools. `enabled` are the toolsets for connections that name none; `None` for the cores of
    /// the default ones, an empty list for all.
    pub(crate) fn from_parts(
        parts: impl Iterator<Item = (Toolset, Vec<Toolset>)>,
        live: Option<usize>,
        enabled: Option<Vec<String>>,
    ) -> Result<Catalog, ChoiceError> {
        let (mut toolsets, mut profiles) = (Vec::new(), Vec::new());
        for (part, (toolset, of_part)) in parts.enumerate() {
            if toolset.has_tools() {
                toolsets.push(PartToolset { toolset, part, is_live: live == Some(part) });
            }
            profiles.extend(of_part.into_iter().map(|toolset| PartToolset { toolset, part, is_live: false }));
        }
        Catalog::new(toolsets, profiles, enabled)
    }

    fn new(
        toolsets: Vec<PartToolset>,
        profiles: Vec<PartToolset>,
        enabled: Option<Vec<String>>,
    ) -> Result<Catalog, ChoiceError> {
        let catalog = Catalog { toolsets, profiles, enabled, registries: Mutex::default() };
        // An invalid name in the configuration is reported at the start, not at the first connection.
        catalog.choose(&[], None)?;
        Ok(catalog)
    }

    /// Returns the tools for a connection that names these toolsets or this profile.
    pub(crate) fn choose(&self, toolsets: &[String], profile: Option<&str>) -> Result<Chosen, ChoiceError> {
        let choice = self.choice(toolsets, profile)?;
        let is_chosen = |entry: &&PartToolset| match &choice {
            Choice::Cores => entry.toolset.is_default,
            Choice::Toolsets(names) => names.contains(&entry.toolset.name),
            Choice::Profile(name) => *name == entry.toolset.name,
        };
        let source = if matches!(choice, Choice::Profile(_)) { &self.profiles } else { &self.toolsets };
        let chosen: Vec<&PartToolset> = source.iter().filter(is_chosen).collect();
        // The default listing includes a live toolset, which lists nothing until a worktree adds tools.
        let is_default = choice == Choice::Cores;
        let is_live =
            |entry: &&PartToolset| entry.is_live && (is_default || chosen.iter().any(|one| one.part == entry.part));
        let live = self.toolsets.iter().find(is_live).filter(|_| !matches!(choice, Choice::Profile(_)));
        let live = live.map(|PartToolset { toolset, part, .. }| LiveChoice {
            part: *part,
            name: toolset.name,
            core: if is_default {
                toolset.core.iter().chain(&mcp::server::JOB_TOOLS).copied().collect()
            } else {
                Vec::new()
            },
            instructions: if is_default { toolset.instructions } else { "" },
        });
        let instructions: Vec<&str> = chosen.iter().map(|entry| entry.toolset.instructions).collect();
        let mut registries = self.registries.lock();
        Ok(Chosen {
            instructions: instructions.join(" "),
            extras: chosen.iter().filter(|entry| entry.toolset.extras).map(|entry| entry.part).collect(),
            live,
            registry: registries.entry(choice.clone()).or_insert_with(|| self.registry(&choice, &chosen)).clone(),
        })
    }

    fn registry(&self, choice: &Choice, chosen: &[&PartToolset]) -> Arc<Registry> {
        let tools = |entries: &[&PartToolset]| {
            entries.iter().flat_map(|entry| entry.toolset.tools.iter().cloned()).collect::<Vec<_>>()
        };
        if *choice != Choice::Cores {
            return Arc::new(Registry::new(tools(chosen)));
        }
        let all: Vec<&PartToolset> = self.toolsets.iter().collect();
        let toolsets: Vec<&Toolset> = self.toolsets().collect();
        let more = more_tools::more_tools(&toolsets);
        let registry = Registry::new(tools(&all).into_iter().chain([more]));
        for set in toolsets {
            registry.unlist(set.name, set.rest().map(|tool| tool.declaration().name.clone()));
        }
        Arc::new(registry)
    }

    /// Returns the names of all tools, of every toolset and profile, and of their accompanying tools.
    pub(crate) fn tool_names(&self) -> BTreeSet<String> {
        let tools = self.toolsets().chain(self.profiles()).flat_map(|set| &set.tools);
        let names = tools.map(|tool| tool.declaration().name.clone());
        names.chain([more_tools::NAME].into_iter().chain(mcp::server::JOB_TOOLS).map(str::to_owned)).collect()
    }

    /// Returns the toolsets, for a listing.
    pub(crate) fn toolsets(&self) -> impl Iterator<Item = &Toolset> {
        self.toolsets.iter().map(|entry| &entry.toolset)
    }

    /// Returns the profiles, for a listing.
    pub(crate) fn profiles(&self) -> impl Iterator<Item = &Toolset> {
        self.profiles.iter().map(|entry| &entry.toolset)
    }

    fn choice(&self, toolsets: &[String], profile: Option<&str>) -> Result<Choice, ChoiceError> {
        let names = |sets: &[PartToolset]| {
            let mut names: Vec<&'static str> = sets.iter().map(|set| set.toolset.name).collect();
            // Several parts may add tools to one profile.
            let mut known = HashSet::new();
            names.retain(|name| known.insert(*name));
            names
        };
        if let Some(name) = profile {
            if !toolsets.is_empty() {
                return Err(ChoiceError::Both);
            }
            let profiles = names(&self.profiles);
            let found = profiles.iter().find(|profile| **profile == name);
            return found
                .map(|profile| Choice::Profile(profile))
                .ok_or_else(|| ChoiceError::UnknownProfile { name: name.to_owned(), known: profiles.join(", ") });
        }
        let wanted = match (&self.enabled, toolsets) {
            (None, []) => return Ok(Choice::Cores),
            (Some(enabled), []) => &enabled[..],
            (_, named) => named,
        };
        let all = names(&self.toolsets);
        if wanted.is_empty() || wanted.iter().any(|name| name == EVERYTHING) {
            return Ok(Choice::Toolsets(all));
        }
        if let Some(error) = unknown(wanted, &all) {
            return Err(error);
        }
        Ok(Choice::Toolsets(all.into_iter().filter(|name| wanted.iter().any(|one| one == name)).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn catalog(enabled: &[&str]) -> Result<Catalog, ChoiceError> {
        let set = |name, instructions| PartToolset {
            toolset: Toolset {
                name,
                about: "",
                instructions,
                tools: Vec::new(),
                core: &[],
                is_default: false,
                extras: false,
            },
            part: 0,
            is_live: false,
        };
        let enabled = enabled.iter().map(|name| (*name).to_owned()).collect();
        Catalog::new(
            vec![set("repl", "Evaluates."), set("mail", "Sends.")],
            vec![set("ghc-mcp", "Starts.")],
            Some(enabled),
        )
    }

    fn registry(catalog: &Catalog, toolsets: &[&str]) -> Arc<Registry> {
        let toolsets: Vec<String> = toolsets.iter().map(|name| (*name).to_owned()).collect();
        catalog.choose(&toolsets, None).expect("known").registry
    }

    #[test]
    fn a_model_is_told_of_what_it_has() {
        let catalog = catalog(&["mail"]).expect("valid");
        let told = |toolsets: &[&str], profile| {
            let toolsets: Vec<String> = toolsets.iter().map(|name| (*name).to_owned()).collect();
            catalog.choose(&toolsets, profile).expect("known").instructions
        };
        assert_eq!(told(&[], None), "Sends.");
        assert_eq!(told(&["mail", "repl"], None), "Evaluates. Sends.");
        assert_eq!(told(&["all"], None), "Evaluates. Sends.");
        assert_eq!(told(&[], Some("ghc-mcp")), "Starts.");
    }

    #[test]
    fn equal_choices_share_a_registry() {
        let every = catalog(&[]).expect("valid");
        let all = registry(&every, &[]);
        let named = registry(&every, &["mail", "repl", "mail"]);
        assert!(!Arc::ptr_eq(&all, &registry(&every, &["mail"])));
        assert!(Arc::ptr_eq(&named, &registry(&every, &["repl", "mail"])));
        let some = catalog(&["mail"]).expect("valid");
        assert!(!Arc::ptr_eq(&registry(&some, &[]), &registry(&some, &["all"])));
    }

    #[test]
    fn a_wrong_name_says_what_there_is() {
        let catalog = catalog(&[]).expect("valid");
        let errors = [
            catalog.choose(&["rpl".into()], None).err(),
            catalog.choose(&[], Some("thrum")).err(),
            catalog.choose(&["repl".into()], Some("ghc-mcp")).err(),
            super::tests::catalog(&["code"]).err(),
        ];
        let texts: Vec<String> = errors.into_iter().map(|error| error.expect("refused").to_string()).collect();
        expect![[r#"
            unknown toolset 'rpl'; available: repl, mail. Did you mean 'repl'? Start `hob mcp` with one of these, or with `all`
            unknown profile 'thrum'; available: ghc-mcp. Start `hob mcp` without --profile for hob's own tools
            a profile has fixed tools and cannot be combined with toolsets; leave out --profile or the toolsets
            unknown toolset 'code'; available: repl, mail. Start `hob mcp` with one of these, or with `all`"#]]
        .assert_eq(&texts.join("\n"));
    }
}
