//! Addresses: their syntax, and which agents they reach in a space. The sending transaction resolves them, with the
//! agents and groups that are in the store at that time.

use std::collections::{BTreeMap, BTreeSet};

use super::group::{Member, MemberKind};
use super::ids::{AgentName, EVERYONE};
use super::message::{Resolution, ResolvedKind};

/// A parsed address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The address as written, cut to a readable length.
    pub written: String,
    /// The kind that the address forces, if any.
    pub kind: Option<ResolvedKind>,
    pub name: String,
    /// The role in an imported id (`agent:role:hash`).
    pub alias_role: Option<String>,
}

/// An invalid address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid address {written:?}")]
pub struct AddressError {
    /// The text as given, cut to a readable length.
    pub written: String,
}

impl Address {
    /// Parses `@planner`, `planner`, `agent:x`, `group:x`, `role:x`, `agent:role:hash`.
    pub fn parse(text: &str) -> Result<Address, AddressError> {
        let written: String = text.trim().chars().take(200).collect();
        let bare = written.strip_prefix('@').unwrap_or(&written).to_owned();
        let bad = || AddressError { written: written.clone() };
        let parts: Vec<&str> = bare.split(':').collect();
        let (kind, name, alias_role) = match parts[..] {
            [name] => (None, name, None),
            ["agent", name] => (Some(ResolvedKind::Agent), name, None),
            ["group", name] => (Some(ResolvedKind::Group), name, None),
            ["role", name] => (Some(ResolvedKind::Role), name, None),
            ["agent", role, _] => (None, &bare[..], Some(role.to_owned())),
            _ => return Err(bad()),
        };
        if name.is_empty()
            || bare.chars().any(char::is_control)
            || text.trim().len() > 200
            || alias_role.as_deref() == Some("")
        {
            return Err(bad());
        }
        // `@everyone` and `@all` are the same group.
        let name = if kind != Some(ResolvedKind::Agent) && name == "all" { EVERYONE } else { name };
        Ok(Address { name: name.to_owned(), kind, alias_role, written })
    }

    /// Returns the group of all agents.
    pub fn everyone() -> Address {
        Address {
            written: format!("@{EVERYONE}"),
            kind: Some(ResolvedKind::Group),
            name: EVERYONE.to_owned(),
            alias_role: None,
        }
    }

    pub fn agent(name: &AgentName) -> Address {
        Address { written: name.to_string(), kind: Some(ResolvedKind::Agent), name: name.to_string(), alias_role: None }
    }

    /// Returns the names of agents, roles, imported ids and groups that a store must look up to resolve the address.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.alias_role.as_deref())
    }
}

/// The agents and groups of some names, from a store.
#[derive(Debug, Default)]
pub struct Directory {
    /// The named agents and those of named roles and groups, with their roles.
    pub agents: BTreeMap<AgentName, String>,
    /// Imported ids with their agents.
    pub aliases: BTreeMap<String, AgentName>,
    /// The named groups with their members. `everyone` has no entry, but needs all agents above.
    pub groups: BTreeMap<String, Vec<Member>>,
}

impl Directory {
    fn of_role<'a>(&'a self, role: &'a str) -> impl Iterator<Item = &'a AgentName> {
        self.agents.iter().filter(move |(_, of)| *of == role).map(|(name, _)| name)
    }

    fn agent(&self, name: &str) -> Option<&AgentName> {
        self.agents.keys().find(|agent| agent.as_str() == name)
    }
}

/// Resolves an address: its meaning, and the agents that it reaches. `None` if the name is unknown.
pub fn resolve(
    address: &Address,
    directory: &Directory,
    sender: &AgentName,
) -> Option<(Resolution, BTreeSet<AgentName>)> {
    if let Some(role) = &address.alias_role {
        return match directory.aliases.get(&address.name) {
            Some(agent) => Some(understood(address, ResolvedKind::Agent, agent.as_str(), [agent.clone()], vec![])),
            None => {
                let members: Vec<_> = directory.of_role(role).cloned().collect();
                let others = members.iter().filter(|agent| *agent != sender).cloned();
                (!members.is_empty()).then(|| understood(address, ResolvedKind::Role, role, others, vec![]))
            }
        };
    }
    let name = address.name.as_str();
    let kinds = [ResolvedKind::Agent, ResolvedKind::Group, ResolvedKind::Role];
    let is_there = |kind: ResolvedKind| match kind {
        ResolvedKind::Agent => directory.agent(name).is_some(),
        ResolvedKind::Group => name == EVERYONE || directory.groups.contains_key(name),
        ResolvedKind::Role => directory.of_role(name).next().is_some(),
    };
    let mut meant = kinds.into_iter().filter(|kind| address.kind.is_none_or(|forced| forced == *kind));
    let kind = meant.find(|kind| is_there(*kind))?;
    let reach = |kind: ResolvedKind| -> BTreeSet<AgentName> {
        match kind {
            ResolvedKind::Agent => directory.agent(name).cloned().into_iter().collect(),
            ResolvedKind::Role => directory.of_role(name).filter(|agent| *agent != sender).cloned().collect(),
            ResolvedKind::Group if name == EVERYONE => {
                directory.agents.keys().filter(|agent| *agent != sender && !agent.is_user()).cloned().collect()
            }
            ResolvedKind::Group => {
                let members = directory.groups.get(name).map(Vec::as_slice).unwrap_or_default();
                let reached = members.iter().flat_map(|member| -> Vec<AgentName> {
                    match member.kind {
                        MemberKind::Agent => directory.agent(&member.id).cloned().into_iter().collect(),
                        MemberKind::Role => directory.of_role(&member.id).cloned().collect(),
                    }
                });
                reached.filter(|agent| agent != sender).collect()
            }
        }
    };
    let reached = reach(kind);
    let also = match address.kind {
        Some(_) => vec![],
        None => {
            // A role whose only agent has its name means nobody else.
            let differs = |other: &ResolvedKind| *other != kind && is_there(*other) && reach(*other) != reached;
            kinds.into_iter().filter(differs).map(|other| format!("{}:{name}", other.as_str())).collect()
        }
    };
    Some(understood(address, kind, name, reached, also))
}

fn understood(
    address: &Address,
    kind: ResolvedKind,
    name: &str,
    reached: impl IntoIterator<Item = AgentName>,
    also: Vec<String>,
) -> (Resolution, BTreeSet<AgentName>) {
    let resolution = Resolution { address: address.written.clone(), kind, name: name.to_owned(), also };
    (resolution, reached.into_iter().collect())
}

/// Returns the names closest to a misspelt one: at most three, nearest first.
pub fn nearest(wanted: &str, names: impl IntoIterator<Item = String>) -> Vec<String> {
    let wanted: String = wanted.trim_start_matches('@').chars().take(64).collect();
    let letters = wanted.chars().count();
    let allowed = (letters / 4).clamp(1, 3);
    let mut near: Vec<(usize, String)> = names
        .into_iter()
        .map(|name| {
            let starts = name.starts_with(&wanted) && letters >= 2;
            (if starts { 1 } else { strsim::levenshtein(&wanted, &name) }, name)
        })
        .filter(|(far, _)| *far <= allowed)
        .collect();
    near.sort();
    near.dedup();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> Directory {
        let agents = [("ann", "dev"), ("bob", "dev"), ("dev", "lead"), ("eve", "ops"), ("user", "user")];
        Directory {
            agents: agents.into_iter().map(|(name, role)| (AgentName::stored(name), role.to_owned())).collect(),
            aliases: [("agent:ops:1a2b".to_owned(), AgentName::new("eve").unwrap())].into(),
            groups: [(
                "ops".to_owned(),
                vec![
                    Member { kind: MemberKind::Role, id: "dev".into() },
                    Member { kind: MemberKind::Agent, id: "eve".into() },
                    Member { kind: MemberKind::Agent, id: "gone".into() },
                ],
            )]
            .into(),
        }
    }

    fn meaning(text: &str) -> String {
        let Ok(address) = Address::parse(text) else { return "no address".into() };
        match resolve(&address, &directory(), &AgentName::new("ann").unwrap()) {
            None => "unknown".into(),
            Some((how, whom)) => {
                let whom: Vec<_> = whom.iter().map(AgentName::as_str).collect();
                format!("{}:{} → {} (also {})", how.kind.as_str(), how.name, whom.join(","), how.also.join(","))
            }
        }
    }

    #[test]
    fn an_agent_else_a_group_else_a_role() {
        assert_eq!(meaning("dev"), "agent:dev → dev (also role:dev)");
        assert_eq!(meaning("@role"), "unknown");
        assert_eq!(meaning("@ops"), "group:ops → bob,eve (also role:ops)");
        assert_eq!(meaning("role:dev"), "role:dev → bob (also )");
        assert_eq!(meaning("@role:ops"), "role:ops → eve (also )");
        assert_eq!(meaning("group:dev"), "unknown");
        assert_eq!(meaning("user"), "agent:user → user (also )");
        assert_eq!(meaning("everyone"), "group:everyone → bob,dev,eve (also )");
        assert_eq!(meaning("@all"), "group:everyone → bob,dev,eve (also )");
        assert_eq!(meaning("ann"), "agent:ann → ann (also )");
        assert_eq!(meaning("agent:ops:1a2b"), "agent:eve → eve (also )");
        assert_eq!(meaning("agent:dev:zzzz"), "role:dev → bob (also )");
        assert_eq!(meaning("agent:nope:zzzz"), "unknown");
        for bad in ["", "@", "a:b", "role:", "a:b:c:d", "a\0b", &"x".repeat(300)] {
            assert_eq!(meaning(bad), "no address", "{bad}");
        }
    }

    #[test]
    fn misspelt_names_have_neighbours() {
        let names = || ["planner", "reviewer", "ops", "plan-b"].map(str::to_owned);
        assert_eq!(nearest("plannr", names()), ["planner"]);
        assert_eq!(nearest("@pl", names()), ["plan-b", "planner"]);
        assert_eq!(nearest("zzz", names()), Vec::<String>::new());
    }
}
