//! `hob group`: named sets of agents and roles.

use clap::{Args, Subcommand};
use project::Project;
use serde_json::{Value, json};

use super::Who;
use crate::exit::{Exit, Failure};

/// List, make and change groups of agents
#[derive(Debug, Args)]
pub(crate) struct GroupCommand {
    #[command(subcommand)]
    what: What,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    who: Who,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List all groups
    List,
    /// Show a group and whom it reaches
    Show {
        /// The group
        name: String,
    },
    /// Make a group
    Create {
        /// Its name
        name: String,
        /// What it is for
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
    },
    /// Delete a group; messages sent to it stay
    Delete {
        /// The group
        name: String,
    },
    /// Add an agent, or with --role everybody of a role
    Add(Member),
    /// Remove an agent, or with --role a role
    Remove(Member),
}

#[derive(Debug, Args)]
struct Member {
    /// The group
    group: String,
    /// The agent or role
    member: String,
    /// MEMBER is a role
    #[arg(long)]
    role: bool,
}

impl Member {
    fn arguments(&self) -> Value {
        let kind = if self.role { "role" } else { "agent" };
        json!({"group": self.group, "member_type": kind, "member_id": self.member})
    }
}

impl GroupCommand {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let (tool, arguments) = match self.what {
            What::List => ("list_groups", json!({})),
            What::Show { name } => ("get_group", json!({"name": name, "expand": true})),
            What::Create { name, description } => ("create_group", json!({"name": name, "description": description})),
            What::Delete { name } => ("delete_group", json!({"name": name})),
            What::Add(member) => ("add_group_member", member.arguments()),
            What::Remove(member) => ("remove_group_member", member.arguments()),
        };
        self.who.call(project, tool, arguments, self.json)
    }
}
