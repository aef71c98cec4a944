//! What the configuration means for the mail: its space, its store, who hears of what happens.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ::mail::desk::{Desk, DeskOptions, away};
use ::mail::home::{Home, HomeOptions};
use ::mail::identity::Identities;
use ::mail::service::{Mail, MailOptions};
use ::mail::spool::Spool;
use ::mail::store::sqlite;
use ::mail::{IsHere, Limits, MailError, Space, StoreError};
use project::config::MailConfig;
use project::{Config, Project, visible};

use crate::connections::Connections;
use crate::journal::Journal;

/// Between two attempts to open a store that is away, while messages are queued for it.
const OPEN_AGAIN: Duration = Duration::from_secs(2);

/// The desk of a project, and where its mail is. The store is opened when mail is first needed.
pub(crate) fn desk(
    project: &Project,
    config: &Config,
    journal: &Arc<Journal>,
    connections: Option<Arc<Connections>>,
) -> (Arc<Desk>, Arc<Home>) {
    let (space, _) = space(project, config);
    let limits = limits(config);
    let home = Arc::new(mail_home(project, config));
    let is_here = connections.map(|connections| is_here(project, connections));
    let open = {
        let (journal, project, space) = (journal.clone(), project.clone(), space.clone());
        let (mail, home) = (config.mail.clone(), home.clone());
        move || {
            let (journal, limits, project) = (journal.clone(), limits.clone(), project.clone());
            let (space, mail, is_here, home) = (space.clone(), mail.clone(), is_here.clone(), home.clone());
            Box::pin(async move {
                project.create_state_dir().map_err(away)?;
                let store = home.open().await?;
                let spool = spool(&project, &mail, &space)?;
                Mail::open(MailOptions {
                    limits,
                    spool,
                    is_here,
                    journal: Some(Arc::new(move |record| journal.record(record))),
                    ..MailOptions::new(store)
                })
                .await
            }) as std::pin::Pin<Box<dyn Future<Output = Result<Arc<Mail>, MailError>> + Send>>
        }
    };
    let desk = Desk::new(DeskOptions {
        open: Box::new(open),
        identities: project.state_dir().join("identities"),
        tokens: project.state_dir().join("agent-tokens"),
        space: space.to_string(),
        host: host(),
    });
    if spool_path(project).symlink_metadata().is_ok() {
        open_early(&desk);
    }
    (desk, home)
}

/// The space that the project's name stands for now, and what that is for people.
fn space(project: &Project, config: &Config) -> (Space, String) {
    match (&config.mail.space, project.origin()) {
        (Some(name), _) => (Space::named(name), format!("the name {name:?}")),
        (None, Some(origin)) => (Space::of_origin(&origin), format!("the clones of {}", visible(&origin))),
        (None, None) => (Space::of_path(&host(), project.root()), format!("{} alone", visible::path(project.root()))),
    }
}

fn limits(config: &Config) -> Limits {
    Limits { broadcast_max: usize::try_from(config.mail.broadcast_max).unwrap_or(usize::MAX), ..Limits::default() }
}

/// Where the project's mail is.
pub fn mail_home(project: &Project, config: &Config) -> Home {
    let (space, called) = space(project, config);
    let database = {
        let (project, mail) = (project.clone(), config.mail.clone());
        move || mail.database(&project).map_err(|error| StoreError::Away { reason: error.to_string() })
    };
    Home::new(HomeOptions {
        dir: project.state_dir().to_owned(),
        host: host(),
        // The same in each life of this project's daemon, and no other daemon's.
        owner: format!("{}:{}", host(), project.hash()),
        space,
        called,
        before: vec![Space::of_path_alone(project.root())],
        limits: limits(config),
        database: Box::new(database),
        address_file: project.state_dir().join("mail-database"),
    })
}

/// An agent is here when its program is connected from the worktree that its name is bound to.
fn is_here(project: &Project, connections: Arc<Connections>) -> IsHere {
    let identities = Identities::new(project.state_dir().join("identities"));
    Arc::new(move |agent| {
        let bound = identities.get(agent).and_then(|identity| identity.worktree);
        bound.is_some_and(|worktree| connections.has_agent(agent.as_str(), &worktree))
    })
}

/// Messages may be queued from a former life: they are sent without anybody asking for mail.
fn open_early(desk: &Arc<Desk>) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    let desk = Arc::downgrade(desk);
    runtime.spawn(async move {
        loop {
            match desk.upgrade() {
                Some(desk) if desk.mail().await.is_err() => {}
                _ => return,
            }
            tokio::time::sleep(OPEN_AGAIN).await;
        }
    });
}

fn spool_path(project: &Project) -> PathBuf {
    project.state_dir().join("mail-spool.db")
}

/// Where sends wait while a database is away, if that is wanted, or something waits there still.
fn spool(project: &Project, mail: &MailConfig, space: &Space) -> Result<Option<Arc<Spool>>, MailError> {
    let path = spool_path(project);
    let is_wanted = mail.spool > 0 && mail.database(project).map_err(away)?.is_some();
    if !is_wanted && path.symlink_metadata().is_err() {
        return Ok(None);
    }
    project.create_state_dir().map_err(away)?;
    Ok(Some(Arc::new(Spool::open(&path, space, if is_wanted { mail.spool } else { 0 })?)))
}

/// What is wrong with the files in which the mail is kept: each file, and what to do about it. Looks, and changes nothing.
pub fn mail_faults(project: &Project, config: &Config) -> Vec<(PathBuf, String)> {
    let mut faults = Vec::new();
    let mut look = |path: PathBuf, examine: fn(&Path) -> Result<(), StoreError>| {
        if let Err(error) = examine(&path) {
            let next = match (&error, path.ends_with("mail-spool.db")) {
                (StoreError::Corrupt { .. }, true) => {
                    "Move it aside, with its -wal and -shm files; what waited in it was not sent.".to_owned()
                }
                _ => error.hints().join(" "),
            };
            faults.push((path, format!("{error}. {next}")));
        }
    };
    // A database that is configured holds the mail instead; a file from before is nobody's business then.
    if matches!(config.mail.database(project), Ok(None)) {
        look(project.state_dir().join("mail.db"), sqlite::examine);
    }
    look(spool_path(project), sqlite::examine_spool);
    for (path, why) in Identities::new(project.state_dir().join("identities")).broken() {
        let next = "It is passed over. Repair it, or delete it and run `hob quickstart --name NAME --role ROLE` in its \
                    agent's worktree.";
        faults.push((path, format!("{why}. {next}")));
    }
    faults
}

/// The name of this machine.
fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().chars().take(100).collect()
}
