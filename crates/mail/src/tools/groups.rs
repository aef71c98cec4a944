//! `groups`: everything about groups, in one tool of the toolset. The profile `thrum` has a tool for each action, which
//! this one calls.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::add_group_member::AddGroupMember;
use super::create_group::CreateGroup;
use super::delete_group::DeleteGroup;
use super::get_group::GetGroup;
use super::list_groups::ListGroups;
use super::remove_group_member::RemoveGroupMember;
use super::{add_group_member, create_group, delete_group, get_group, list_groups, remove_group_member};
use crate::callers::Callers;
use crate::membership::{self, MemberType, Membership};
use crate::model::MemberKind;
use crate::service::agents::Expanded;

/// List and change groups: named sets of agents and roles that messages can be sent to, as group:X. One agent or one
/// role needs no group.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// list; show, create or delete a group; add or remove a member.
    pub action: Action,
    /// The group: a-z, 0-9, _ and -. All actions but list need it.
    #[serde(alias = "name", alias = "group_name")]
    pub group: Option<String>,
    /// An agent's name, or role:X, for add and remove.
    #[serde(alias = "member_id", alias = "agent")]
    pub member: Option<String>,
    /// The purpose of the group, for create.
    pub description: Option<String>,
    /// Not listed: the kind of the member, as the tools of Thrum take it.
    #[schemars(skip)]
    pub member_type: Option<MemberType>,
}

/// The action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Action {
    List,
    #[serde(alias = "get")]
    Show,
    Create,
    Delete,
    #[serde(alias = "add_member")]
    Add,
    #[serde(alias = "remove_member")]
    Remove,
}

/// The result of the action.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Output {
    /// listed, shown, created, deleted, added or removed.
    pub status: String,
    /// The groups: `everyone` first, then by name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub groups: Option<Vec<list_groups::Item>>,
    /// The group that was to be shown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group: Option<get_group::Output>,
    /// The member that was added or removed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub membership: Option<membership::Output>,
    /// The name of the group that was created or deleted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
}

impl Output {
    fn new(status: impl Into<String>) -> Output {
        Output { status: status.into(), ..Output::default() }
    }
}

pub(super) struct Groups(pub(super) Arc<Callers>);

impl Tool for Groups {
    const NAME: &'static str = "groups";
    const TITLE: &'static str = "Groups of agents";
    const EFFECT: Effect = Effect::DESTRUCTIVE;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let callers = self.0.clone();
        match args.action {
            Action::List => {
                let listed = ListGroups(callers).call(cx, list_groups::Args {}).await?;
                Ok(Output { groups: Some(listed.groups), ..Output::new("listed") })
            }
            Action::Show => {
                let shown = get_group::Args { name: args.group()?, expand: true };
                Ok(Output { group: Some(GetGroup(callers).call(cx, shown).await?), ..Output::new("shown") })
            }
            Action::Create => {
                let name = args.group()?;
                let made = create_group::Args { name, description: args.description.unwrap_or_default() };
                let made = CreateGroup(callers).call(cx, made).await?;
                Ok(Output { name: Some(made.name), ..Output::new(made.status) })
            }
            Action::Delete => {
                let deleted = DeleteGroup(callers).call(cx, delete_group::Args { name: args.group()? }).await?;
                Ok(Output { name: Some(deleted.name), ..Output::new(deleted.status) })
            }
            Action::Add => {
                let added = add_group_member::Args(args.membership()?);
                let added = AddGroupMember(callers).call(cx, added).await?;
                Ok(Output { membership: Some(added), ..Output::new("added") })
            }
            Action::Remove => {
                let membership = args.membership()?;
                let (group, member, kind) =
                    (membership.group.clone(), membership.member_id.clone(), membership.member_type);
                let removed =
                    RemoveGroupMember(callers.clone()).call(cx, remove_group_member::Args(membership)).await?;
                if removed.unchanged && kind == MemberType::Agent {
                    refuse_if_reached(&callers, &group, &member).await?;
                }
                Ok(Output { membership: Some(removed), ..Output::new("removed") })
            }
        }
    }

    fn text(output: &Output) -> String {
        match output {
            Output { groups: Some(groups), .. } => list_groups::text(groups),
            Output { group: Some(group), .. } => GetGroup::text(group),
            Output { membership: Some(membership), .. } => membership.text(),
            Output { status, name, .. } => format!("{status}: {}", name.as_deref().unwrap_or_default()),
        }
    }

    fn examples() -> Vec<Example> {
        vec![
            Example {
                title: "A group",
                arguments: json!({"action": "create", "group": "backend", "description": "who works on the server"}),
                text: Some("created: backend"),
            },
            Example {
                title: "A whole role as a member",
                arguments: json!({"action": "add", "group": "backend", "member": "role:dev"}),
                text: Some("added: role dev, group backend"),
            },
        ]
    }
}

/// Refuses to remove an agent that is not a member itself but is still reached by a role. Also refuses a role that was
/// named as an agent.
async fn refuse_if_reached(callers: &Callers, group: &str, member: &str) -> Result<(), ToolError> {
    let mail = callers.mail().await?;
    let Ok(Expanded { group, agents }) = mail.group(group).await else { return Ok(()) };
    let name = member.trim_start_matches('@');
    let roles = group.members.iter().filter(|member| member.kind == MemberKind::Role);
    let mut roles: Vec<&str> = roles.map(|member| &*member.id).collect();
    let remove = |role: &str| format!("groups (action remove) with role:{role} as the member removes the whole role.");
    if roles.contains(&name) {
        return Err(ToolError::user(format!("In {}, {name} is a role, not an agent.", group.name)).hint(remove(name)));
    }
    if !agents.iter().any(|agent| agent.as_str() == name) {
        return Ok(());
    }
    let role = mail.agent(name).await.map(|agent| agent.role.to_string()).unwrap_or_default();
    roles.retain(|known| *known == role);
    let by = roles.first().map_or(String::new(), |role| format!(" by its role {role}"));
    let error = ToolError::user(format!("{name} is not a direct member of {}: it is reached{by}.", group.name));
    Err(roles.first().iter().fold(error, |error, role| error.hint(remove(role))))
}

impl Args {
    fn group(&self) -> Result<String, ToolError> {
        self.group.clone().ok_or_else(|| self.incomplete())
    }

    /// Returns the member, by its kind: `role:X`, else an agent.
    fn membership(&self) -> Result<Membership, ToolError> {
        let (Some(group), Some(member)) = (self.group.clone(), self.member.as_deref()) else {
            return Err(self.incomplete());
        };
        let (kind, id) = match (self.member_type, member.split_once(':')) {
            (Some(kind), _) => (kind, member),
            (None, Some(("role", id))) => (MemberType::Role, id),
            (None, Some(("agent", id))) => (MemberType::Agent, id),
            (None, _) => (MemberType::Agent, member),
        };
        Ok(Membership { group, member_type: kind, member_id: id.to_owned() })
    }

    /// Returns the error for missing arguments of the action.
    fn incomplete(&self) -> ToolError {
        let (action, needs, example) = match self.action {
            Action::List => ("list", "nothing else", json!({"action": "list"})),
            Action::Show => ("show", "`group`", json!({"action": "show", "group": "backend"})),
            Action::Create => ("create", "`group`", json!({"action": "create", "group": "backend"})),
            Action::Delete => ("delete", "`group`", json!({"action": "delete", "group": "backend"})),
            Action::Add => {
                let example = json!({"action": "add", "group": "backend", "member": "role:dev"});
                ("add", "`group` and `member`", example)
            }
            Action::Remove => {
                let example = json!({"action": "remove", "group": "backend", "member": "planner"});
                ("remove", "`group` and `member`", example)
            }
        };
        ToolError::user(format!("The action {action} needs {needs}.")).hint(format!("For example: {example}"))
    }
}
