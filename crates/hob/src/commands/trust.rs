//! `hob trust`: shows what the project's `hob.toml` asks for beyond the safe set, and grants exactly that text.

use std::io::{BufRead, IsTerminal};

use clap::Args;
use project::{Config, Project, Trust};

use crate::exit::{Exit, Failure};
use crate::terminal::{self, Style, paint};

/// Show what hob.toml asks for beyond what is always allowed, and grant it
#[derive(Debug, Args)]
pub(crate) struct TrustCommand {
    /// Grant without asking
    #[arg(long, conflicts_with = "revoke")]
    yes: bool,
    /// Withdraw what was granted
    #[arg(long)]
    revoke: bool,
}

impl TrustCommand {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let shown = project::visible::path(&project.config_path());
        if self.revoke {
            let revoked = Trust::revoke(project).map_err(Failure::new)?;
            terminal::line(match revoked {
                true => format!("Withdrew what was granted to {shown}."),
                false => format!("Nothing was granted to {shown}."),
            });
            if revoked {
                running(project);
            }
            return Ok(Exit::Done);
        }
        let requests = Config::requests(project, &daemon::sections()).map_err(Failure::new)?;
        if requests.is_empty() {
            terminal::line(format!("{shown} asks for nothing that needs to be granted."));
            return Ok(Exit::Done);
        }
        if Config::load(project, &daemon::sections()).map_err(Failure::new)?.withheld.is_empty() {
            terminal::line(format!("{shown} is granted what it asks for, as it reads now:"));
        } else {
            terminal::line(format!("{shown} asks for more than is always allowed:"));
        }
        for request in &requests {
            let place = paint(&format!("line {}", request.line), Style::Dim);
            terminal::line(format!("  {} ({place}): {}", paint(&request.key, Style::Bold), request.asks));
        }
        if Config::load(project, &daemon::sections()).map_err(Failure::new)?.withheld.is_empty() {
            return Ok(Exit::Done);
        }
        if let Some(why) = super::ask::refusal(super::connect(project).ok().flatten().as_mut()) {
            return Err(Failure::new(format_args!("nothing was granted: {why}")));
        }
        if !self.yes && !confirmed()? {
            terminal::line("Nothing granted.");
            return Ok(Exit::Failed);
        }
        Config::grant(project, &daemon::sections(), &requests).map_err(Failure::new)?;
        terminal::line("Granted, until hob.toml changes. `hob trust --revoke` withdraws it.");
        running(project);
        Ok(Exit::Done)
    }
}

/// A daemon reads the configuration once, at its start.
fn running(project: &Project) {
    // A daemon that does not answer does not matter here.
    if let Ok(Some(_)) = super::connect(project) {
        terminal::line(
            "The running daemon does not know that yet: `hob stop`, and the next call starts one that does.",
        );
    }
}

fn confirmed() -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::new("granting needs an answer, and stdin is not a terminal")
            .hint("Read the list above; if it is what you want, run `hob trust --yes`."));
    }
    terminal::print("Grant this? [y/N] ");
    let mut answer = String::new();
    let _ = std::io::stdin().lock().read_line(&mut answer);
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
