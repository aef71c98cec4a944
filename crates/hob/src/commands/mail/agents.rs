//! `hob agents`: who there is; `hob agents token`: by what an agent is known over HTTP.

use clap::{Args, Subcommand};
use project::Project;
use serde_json::json;

use super::Who;
use crate::commands::call::control_failure;
use crate::exit::{Exit, Failure};
use crate::terminal;

/// List the agents: what they do, whether they are there, what waits for them
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Agents {
    /// Only those that are there
    #[arg(long)]
    active: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: Who,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print the token by which a client over HTTP is this worktree's agent; it is a secret
    Token(Token),
}

#[derive(Debug, Args)]
struct Token {
    /// The agent [default: HOB_AGENT, or the one that belongs to this worktree]
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Make another one; the former is worth nothing then
    #[arg(long)]
    renew: bool,
    /// Make it worth nothing
    #[arg(long, conflicts_with = "renew")]
    revoke: bool,
}

impl Agents {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        match self.what {
            None => self.who.call(project, "list_agents", json!({"include_offline": !self.active}), self.json),
            Some(What::Token(token)) => token.run(project),
        }
    }
}

impl Token {
    fn run(self, project: &Project) -> Result<Exit, Failure> {
        let mut control = Who { name: self.name, takeover: false }.connect(project)?;
        let asked = json!({"renew": self.renew, "revoke": self.revoke});
        let done = control.request("mail/token", asked, |_, _| {}).map_err(control_failure)?;
        let agent = done["agent"].as_str().unwrap_or_default();
        match done["token"].as_str() {
            // Alone on stdout, for $(hob agents token).
            Some(token) => terminal::line(token),
            None if done["revoked"] == true => {
                terminal::note(format!("The token of {agent} is worth nothing any more."))
            }
            None => terminal::note(format!("{agent} has no token.")),
        }
        Ok(Exit::Done)
    }
}
