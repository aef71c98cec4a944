//! `hob init`: a commented `hob.toml`, and hob registered with the agents found here.
//! Twice is the same as once; `--undo` puts every byte back.

mod http;
mod mail;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use project::{Config, Project, visible};

use crate::agents::{AGENTS, Added, Agent, Edits, Entry, Scope, Undone, find_program, missing_dirs};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Set this project up: write `hob.toml`, register hob with the agents found
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Put back every file as it was before
    #[arg(long)]
    undo: bool,
    /// Register in your own configuration, for all projects, and write nothing into this one
    #[arg(long)]
    user: bool,
    /// Register with this agent even if there is no trace of it; may be repeated
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(AGENTS.iter().map(|agent| agent.name)))]
    agent: Vec<String>,
    /// Show how to connect over HTTP instead
    #[arg(long, conflicts_with_all = ["undo", "user", "agent"])]
    http: bool,
}

/// The frame of `hob.toml`: what belongs to no part.
const HEAD: &str = include_str!("hob.toml");
const LIMITS: &str = include_str!("limits.toml");

/// Every setting, commented out.
fn template() -> String {
    let parts = daemon::sections().into_iter().map(|part| format!("[{}]\n{}\n", part.name, part.template));
    format!("{HEAD}{}{LIMITS}", parts.collect::<String>())
}

/// The owner of the edit of `hob.toml`, which belongs to no agent.
const CONFIG: &str = "hob.toml";

impl Init {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        if self.http {
            return http::show(project);
        }
        let again = "Check that the directory is yours and its disk not full, then run it again.";
        self.change(project).map_err(|failure| match failure.hints.is_empty() {
            true => failure.hint(again),
            false => failure,
        })
    }

    fn change(&self, project: &Project) -> Result<Exit, Failure> {
        let place = Place::new(if self.user { Scope::User } else { Scope::Project }, project)?;
        let edits = Edits::open(&place.base, &place.record, place.scope.links(), place.made.clone())?;
        match self.undo {
            true => undo(&place, edits),
            false => self.set_up(project, &place, edits),
        }
    }

    fn set_up(&self, project: &Project, place: &Place, mut edits: Edits) -> Result<Exit, Failure> {
        if place.scope == Scope::Project {
            let config = place.base.join("hob.toml");
            match edits.read(&config)? {
                Some(_) => terminal::line("hob.toml is already there."),
                None => {
                    edits.write(&config, CONFIG, &template())?;
                    terminal::line("Wrote hob.toml, with every setting commented out.");
                }
            }
        }
        // An unreadable configuration does not prevent this; its next reader reports the error.
        let mail = Config::load(project, &daemon::sections())
            .map_or(true, |config| daemon::enabled(&config).iter().any(|name| name == "mail"));
        let entry = place.entry();
        let mut found = false;
        let mut exit = Exit::Done;
        for agent in AGENTS {
            let wanted = self.agent.iter().any(|name| name == agent.name);
            if !wanted && (!self.agent.is_empty() || !place.uses(agent)) {
                continue;
            }
            found = true;
            match register(place, agent, &entry, &mut edits) {
                Ok(said) => {
                    terminal::line(said);
                    if mail && agent.name == "claude" && place.scope == Scope::Project {
                        match mail::set_up(&place.base, &mut edits) {
                            Ok(said) => said.iter().for_each(terminal::line),
                            Err(error) => {
                                terminal::report(&Failure::from(error));
                                exit = Exit::Failed;
                            }
                        }
                    }
                }
                Err(failure) => {
                    // One broken file must not exclude the other agents.
                    terminal::report(&failure);
                    exit = failure.exit;
                }
            }
        }
        if !found {
            terminal::line(
                "No agent found to register with. `hob init --agent claude` (or codex, cursor, vscode, gemini) registers anyway.",
            );
        } else if entry.command != "hob" {
            terminal::line(format!("`hob` is not on PATH, so agents are told to start {}.", entry.command));
        }
        let undo = if self.user { "hob init --user --undo" } else { "hob init --undo" };
        match (exit, found) {
            (Exit::Done, true) => terminal::line(format!(
                "Next: restart the agent, then `hob doctor` checks everything. `{undo}` takes it back."
            )),
            (Exit::Done, false) if !self.user => terminal::line(format!("`{undo}` takes it back.")),
            _ => {}
        }
        Ok(exit)
    }
}

fn register(place: &Place, agent: &Agent, entry: &Entry, edits: &mut Edits) -> Result<String, Failure> {
    let file = place.file(agent);
    let shown = place.show(&file);
    let text = edits.read(&file)?.unwrap_or_default();
    let added = agent.format.add(&text, entry, place.scope).map_err(|error| {
        Failure::new(format_args!("{}: {shown} was left alone: {error}", agent.title))
            .hint(format_args!("Repair {shown}, then run `hob init` again."))
    })?;
    match added {
        Added::Already => Ok(format!("{}: already registered in {shown}.", agent.title)),
        Added::Taken(present) => Err(Failure::new(format_args!(
            "{}: {shown} already has a server named hob that starts {present}, which is not what `hob init` writes",
            agent.title
        ))
        .hint("See what it is; rename or remove that entry, then run `hob init` again.")),
        Added::Text(text) => {
            edits.write(&file, agent.name, &text)?;
            Ok(format!("{}: registered in {shown}.", agent.title))
        }
    }
}

fn undo(place: &Place, edits: Edits) -> Result<Exit, Failure> {
    if edits.is_empty() {
        terminal::line(format!("Nothing to undo: {} has no record of `hob init`.", place.show(&place.record)));
        return Ok(Exit::Done);
    }
    let without_entry = |owner: &str, text: &str| {
        if owner == mail::CLAUDE_MD {
            return mail::without_block(text);
        }
        let agent = AGENTS.iter().find(|agent| agent.name == owner)?;
        agent.format.remove(text).ok().flatten()
    };
    for (path, undone) in edits.undo(without_entry)? {
        let shown = place.show(&path);
        terminal::line(match undone {
            Undone::Restored => format!("{shown}: as it was before."),
            Undone::Removed => format!("{shown}: removed, as it did not exist before."),
            Undone::EntryRemoved => format!("{shown}: changed since, so only hob's entry was removed."),
            Undone::Left => format!("{shown}: changed since, so it was left as it is."),
        });
    }
    Ok(Exit::Done)
}

/// Where this run looks and writes.
struct Place {
    scope: Scope,
    /// Every file written is below this.
    base: PathBuf,
    record: PathBuf,
    /// The directories that were created for the record.
    made: Vec<PathBuf>,
    home: PathBuf,
    search: OsString,
}

impl Place {
    fn new(scope: Scope, project: &Project) -> Result<Place, Failure> {
        let home = crate::home()?;
        let search = std::env::var_os("PATH").unwrap_or_default();
        let mut made = Vec::new();
        let (base, record) = match scope {
            Scope::Project => {
                let record = project.state_dir().join("init.json");
                made = missing_dirs(project.root(), &record);
                project.create_state_dir().map_err(Failure::new)?;
                (project.root().to_owned(), record)
            }
            Scope::User => {
                let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
                (home.clone(), state.unwrap_or_else(|| home.join(".local/state")).join("hob/init.json"))
            }
        };
        Ok(Place { scope, base, record, made, home, search })
    }

    fn file(&self, agent: &Agent) -> PathBuf {
        agent.file(self.scope, &self.base, &self.home)
    }

    fn uses(&self, agent: &Agent) -> bool {
        agent.is_used(self.scope, &self.base, &self.home, &self.search)
    }

    /// The command for agents: the bare name if it refers to this program, since project files are shared.
    fn entry(&self) -> Entry {
        let ours = std::env::current_exe().and_then(|path| path.canonicalize()).ok();
        let by_name = find_program("hob", &self.search).and_then(|path| path.canonicalize().ok());
        let command = match ours {
            Some(ours) if by_name.as_ref() != Some(&ours) => ours.to_string_lossy().into_owned(),
            _ => "hob".to_owned(),
        };
        Entry::new(command)
    }

    fn show(&self, path: &Path) -> String {
        match (self.scope, path.strip_prefix(&self.base)) {
            (Scope::Project, Ok(relative)) => visible::path(relative),
            (Scope::User, Ok(relative)) => format!("~/{}", visible::path(relative)),
            _ => visible::path(path),
        }
    }
}
