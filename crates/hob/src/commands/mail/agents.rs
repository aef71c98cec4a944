//! `hob agents`: who there is; `hob agents rename` and `hob agents forget`: a name that was mistyped or is not needed;
//! `hob agents token`: by what an agent is known over HTTP.

use clap::{Args, Subcommand};
use project::Project;
use serde_json::{Value, json};

use super::{Who, person, refused};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// List the agents: what they do, whether a process of theirs lives, what waits for them
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Agents {
    /// Only those whose process lives
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
    /// Give an agent another name; its mail and its groups come along
    Rename(Rename),
    /// Remove an agent that no process goes by; who wrote to it in vain gets a report
    Forget(Forget),
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

#[derive(Debug, Args)]
struct Rename {
    /// Its name now
    #[arg(value_name = "OLD")]
    from: String,
    /// A name that nobody has: a-z, 0-9, _ and -
    #[arg(value_name = "NEW")]
    to: String,
    /// Also if the name belongs to another worktree
    #[arg(long)]
    takeover: bool,
}

#[derive(Debug, Args)]
struct Forget {
    /// The agent
    #[arg(value_name = "NAME")]
    name: String,
    /// Also if the name belongs to another worktree, or a process goes by it
    #[arg(long)]
    takeover: bool,
}

impl Agents {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        match self.what {
            Some(What::Rename(rename)) => {
                let asked = json!({"from": rename.from, "to": rename.to});
                change(project, rename.takeover, "mail/rename", asked)
            }
            Some(What::Forget(forget)) => change(project, forget.takeover, "mail/forget", json!({"name": forget.name})),
            None => {
                let asked = json!({"include_offline": !self.active});
                self.who.show(project, "list_agents", asked, (self.json, person::agents))
            }
            Some(What::Token(token)) => token.run(project),
        }
    }
}

/// Changes or removes a name, and says what became of its mail.
fn change(project: &Project, takeover: bool, method: &str, asked: Value) -> Result<Exit, Failure> {
    let mut control = Who { name: None, takeover }.connect(project)?;
    let done = control.request(method, asked, |_, _| {}).map_err(refused)?;
    terminal::line(done["text"].as_str().unwrap_or_default());
    Ok(Exit::Done)
}

impl Token {
    fn run(self, project: &Project) -> Result<Exit, Failure> {
        let mut control = Who { name: self.name, takeover: false }.connect(project)?;
        let asked = json!({"renew": self.renew, "revoke": self.revoke});
        let done = control.request("mail/token", asked, |_, _| {}).map_err(refused)?;
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
