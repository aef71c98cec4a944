//! `hob trust`: shows and grants the requests of the project's `hob.toml` beyond the safe settings, the pending parts of its
//! hook policy, and the permission for language servers to run code of the project.

use std::io::{BufRead, IsTerminal};

use clap::Args;
use hooks::policy::Policy;
use project::{CodeTrust, Config, Project, Trust};

use crate::commands::current_project;
use crate::exit::{Exit, Failure};
use crate::terminal::{self, Style, paint};

/// Grant what hob.toml and hob-policy.toml request, and let language servers run this project's code
#[derive(Debug, Args)]
pub(crate) struct TrustCommand {
    /// Grant without asking
    #[arg(long, conflicts_with = "revoke")]
    yes: bool,
    /// Revoke all grants
    #[arg(long)]
    revoke: bool,
}

impl TrustCommand {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let shown = project::visible::path(&project.config_path());
        if self.revoke {
            let revoked = Trust::revoke(project).map_err(Failure::new)?;
            terminal::line(if revoked {
                format!("Revoked everything granted to this project and {shown}.")
            } else {
                "Nothing was granted to this project.".to_owned()
            });
            if revoked {
                running(project);
            }
            return Ok(Exit::Done);
        }
        let requests = Config::requests(project, &daemon::sections()).map_err(Failure::new)?;
        let policy = match WaitingPolicy::find(project) {
            Err(failure) if !requests.is_empty() => {
                terminal::line(format!("{}. It is not granted.", failure.message));
                None
            }
            found => found?,
        };
        let config = Config::load(project, &daemon::sections()).map_err(Failure::new)?;
        nodes::Models::from_config(&config).ignored().iter().for_each(terminal::line);
        let code = CodeTrust::lookup(project, project.root());
        if requests.is_empty() && policy.is_none() {
            terminal::line(if project.config_path().exists() {
                format!("{shown} requests nothing that needs a grant.")
            } else {
                format!("There is no {shown}, so nothing needs a grant.")
            });
        }
        if let Some(trust) = code {
            terminal::line(format!("Language servers may run code of this project: {trust}."));
        }
        let is_granted = config.withheld.is_empty();
        if !requests.is_empty() {
            terminal::line(if is_granted {
                format!("The requests of {shown} are granted in their current form:")
            } else {
                format!("{shown} requests settings that need a grant:")
            });
        }
        for request in &requests {
            let place = paint(&format!("line {}", request.line), Style::Dim);
            terminal::line(format!("  {} ({place}): {}", paint(&request.key, Style::Bold), request.asks));
        }
        if let Some(policy) = &policy {
            policy.show(project);
        }
        if code.is_none() && !self.yes {
            terminal::line("Language servers may not yet run code of this project, such as build scripts and macros.");
        }
        if is_granted && policy.is_none() && code.is_some() {
            return Ok(Exit::Done);
        }
        if let Some(why) = super::ask::refusal(current_project::connect(project).ok().flatten().as_mut()) {
            return Err(Failure::new(format_args!("nothing was granted: {why}")));
        }
        if !self.yes && !confirmed()? {
            terminal::line("Nothing granted.");
            return Ok(Exit::Failed);
        }
        if let Some(policy) = &policy {
            policy.grant(project)?;
        }
        if code.is_none() {
            Trust::grant_code(project).map_err(Failure::new)?;
            terminal::line("Language servers may run code of this project, such as build scripts and macros.");
        }
        if !is_granted {
            Config::grant(project, &daemon::sections(), &requests).map_err(Failure::new)?;
            terminal::line("Granted, until hob.toml changes.");
            running(project);
        }
        terminal::line("`hob trust --revoke` revokes this.");
        Ok(Exit::Done)
    }
}

/// A hook policy of which a part is not granted yet.
struct WaitingPolicy {
    /// The text; `None` if the file was deleted, so that its granted rules are to be dropped.
    text: Option<String>,
    pending: Vec<String>,
}

impl WaitingPolicy {
    fn find(project: &Project) -> Result<Option<WaitingPolicy>, Failure> {
        let named = |why: String| Failure::new(format_args!("{}: {why}", hooks::policy::FILE));
        let mend = "Fix the file, check it with `hob policy check`, and run `hob trust` again.";
        let text = hooks::files::project_text(project).map_err(|why| named(why).hint(mend))?;
        if let Err(error) = Policy::parse(text.as_deref().unwrap_or_default()) {
            return Err(named(error.to_string()).hint(mend));
        }
        let pending = hooks::files::Files::new(project).active(false).pending.clone();
        // The user grants the text that was shown.
        if hooks::files::project_text(project).as_ref() != Ok(&text) {
            let changed = Failure::new("hob-policy.toml changed while you were reading it");
            return Err(changed.hint("Run `hob trust` to see it again."));
        }
        Ok((!pending.is_empty()).then_some(WaitingPolicy { text, pending }))
    }

    fn show(&self, project: &Project) {
        let file = project::visible::path(&project.root().join(hooks::policy::FILE));
        terminal::line(match &self.text {
            Some(_) => format!("{file} contains rules that need your grant:"),
            None => format!("{file} does not exist any more; granting drops its former rules:"),
        });
        for what in &self.pending {
            terminal::line(format!("  {}", project::visible(what)));
        }
    }

    fn grant(&self, project: &Project) -> Result<(), Failure> {
        let text = self.text.as_deref().unwrap_or_default();
        hooks::files::put_damaged_record_aside(project).map_err(Failure::new)?;
        Trust::grant_file(project, hooks::policy::FILE, text).map_err(Failure::new)?;
        terminal::line(match &self.text {
            Some(_) => "Granted, until hob-policy.toml changes. It applies from the next event.",
            None => "Granted: the project has no policy, and the rules above no longer apply from the next event.",
        });
        Ok(())
    }
}

/// Warns that a running daemon still has the configuration of its start.
fn running(project: &Project) {
    // A daemon that does not answer does not matter here.
    if let Ok(Some(_)) = current_project::connect(project) {
        terminal::line(
            "The running daemon does not have that yet: run `hob stop`; the next call starts one that does.",
        );
    }
}

fn confirmed() -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::new("granting needs a confirmation, and stdin is not a terminal")
            .hint("Review the list above; if you agree, run `hob trust --yes`."));
    }
    terminal::print("Grant this? [y/N] ");
    let mut answer = String::new();
    let _ = std::io::stdin().lock().read_line(&mut answer);
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
