//! `hob group`: named sets of agents and roles.

use clap::{Args, Subcommand};
use project::Project;
use serde_json::{Value, json};

use super::Identity;
use crate::exit::{Exit, Failure};

/// List, create and change groups of agents
#[derive(Debug, Args)]
pub(crate) struct GroupCommand {
    #[command(subcommand)]
    what: Action,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    who: Identity,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all groups
    List,
    /// Show a group and its members
    Show {
        /// The name of the group
        name: String,
    },
    /// Create a group
    Create {
        /// The name of the group
        name: String,
        /// A description of its purpose
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
    },
    /// Delete a group; messages sent to it are kept
    Delete {
        /// The name of the group
        name: String,
    },
    /// Add an agent, or with --role all agents with a role
    Add(Member),
    /// Remove an agent, or with --role a role
    Remove(Member),
}

#[derive(Debug, Args)]
struct Member {
    /// The name of the group
    group: String,
    /// The agent, or role:X
    member: String,
    /// MEMBER is a role
    #[arg(long)]
    role: bool,
}

impl Member {
    fn arguments(&self, action: &str) -> Value {
        // Without a kind, the prefix `role:` or `agent:` determines it.
        let kind = self.role.then_some("role");
        let member = if self.role { self.member.trim_start_matches("role:") } else { &self.member };
        json!({"action": action, "group": self.group, "member_type": kind, "member": member})
    }
}

impl GroupCommand {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let arguments = match self.what {
            Action::List => json!({"action": "list"}),
            Action::Show { name } => json!({"action": "show", "group": name}),
            Action::Create { name, description } => {
                json!({"action": "create", "group": name, "description": description})
            }
            Action::Delete { name } => json!({"action": "delete", "group": name}),
            Action::Add(member) => member.arguments("add"),
            Action::Remove(member) => member.arguments("remove"),
        };
        self.who.call(project, "groups", arguments, self.json)
    }
}
