//! `hob agents`: lists agents; `hob agents rename` and `hob agents forget` change or remove a name; `hob agents token` prints
//! the token that identifies an agent over HTTP.

use clap::{Args, Subcommand};
use project::Project;
use serde_json::{Value, json};

use super::{Identity, refused, terminal_format};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// List the agents: their work, whether they are running, and their unread mail
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Agents {
    /// Only agents that are running
    #[arg(long)]
    active: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: Lister,
    #[command(subcommand)]
    what: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Rename an agent; it keeps its mail and its groups
    Rename(Rename),
    /// Remove an agent that is not running; senders of undelivered messages get a report
    Forget(Forget),
    /// Print the token that identifies a client over HTTP as this worktree's agent; it is a secret
    Token(Token),
}

/// The options of [`Identity`] for the list alone: each subcommand names its agent itself.
#[derive(Debug, Args)]
struct Lister {
    /// The name to act as [default: HOB_AGENT, or the one that belongs to this worktree]
    #[arg(id = "as", long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Take the name over from the process that uses it elsewhere
    #[arg(long)]
    takeover: bool,
}

#[derive(Debug, Args)]
struct Token {
    /// The agent [default: HOB_AGENT, or the one that belongs to this worktree]
    #[arg(value_name = "NAME", conflicts_with = "as")]
    name: Option<String>,
    #[command(flatten)]
    who: Identity,
    /// Create a new token and revoke the old one
    #[arg(long)]
    renew: bool,
    /// Revoke the token
    #[arg(long, conflicts_with = "renew")]
    revoke: bool,
}

#[derive(Debug, Args)]
struct Rename {
    /// The current name
    #[arg(value_name = "OLD")]
    from: String,
    /// The new name, not yet in use: a-z, 0-9, _ and -
    #[arg(value_name = "NEW")]
    to: String,
    /// Rename it even if the name belongs to another worktree
    #[arg(long)]
    takeover: bool,
}

#[derive(Debug, Args)]
struct Forget {
    /// The name of the agent
    #[arg(value_name = "NAME")]
    name: String,
    /// Remove it even if the name belongs to another worktree or a running process uses it
    #[arg(long)]
    takeover: bool,
}

impl Agents {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        match self.what {
            Some(Action::Rename(rename)) => {
                let asked = json!({"from": rename.from, "to": rename.to});
                change(project, rename.takeover, "mail/rename", asked)
            }
            Some(Action::Forget(forget)) => {
                change(project, forget.takeover, "mail/forget", json!({"name": forget.name}))
            }
            None => {
                let asked = json!({"include_offline": !self.active});
                let who = Identity { name: self.who.name, takeover: self.who.takeover };
                who.show(project, "list_agents", asked, (self.json, terminal_format::agents))
            }
            Some(Action::Token(token)) => token.run(project),
        }
    }
}

/// Changes or removes a name, and reports what happened to its mail.
fn change(project: &Project, takeover: bool, method: &str, asked: Value) -> Result<Exit, Failure> {
    let mut control = Identity { name: None, takeover }.connect(project)?;
    let done = control.request(method, asked, |_, _| {}).map_err(refused)?;
    terminal::line(done["text"].as_str().unwrap_or_default());
    Ok(Exit::Done)
}

impl Token {
    fn run(self, project: &Project) -> Result<Exit, Failure> {
        let who = Identity { name: self.name.or(self.who.name), takeover: self.who.takeover };
        let mut control = who.connect(project)?;
        let asked = json!({"renew": self.renew, "revoke": self.revoke});
        let done = control.request("mail/token", asked, |_, _| {}).map_err(refused)?;
        let agent = done["agent"].as_str().unwrap_or_default();
        match done["token"].as_str() {
            // Print only the token, for $(hob agents token).
            Some(token) => terminal::line(token),
            None if done["revoked"] == true => terminal::note(format!("The token of {agent} was revoked.")),
            None => terminal::note(format!("{agent} has no token.")),
        }
        Ok(Exit::Done)
    }
}
