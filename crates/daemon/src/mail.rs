//! What the configuration means for the mail: its space, its store, who hears of what happens.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ::mail::desk::{Desk, DeskOptions, away};
use ::mail::identity::Identities;
use ::mail::service::{Mail, MailOptions};
use ::mail::spool::Spool;
use ::mail::store::Store;
use ::mail::store::postgres::{PostgresOptions, PostgresStore};
use ::mail::store::sqlite::{self, SqliteOptions, SqliteStore};
use ::mail::{IsHere, Limits, MailError, Space, StoreError};
use project::config::MailConfig;
use project::{Config, Project};

use crate::connections::Connections;
use crate::journal::Journal;

/// Between two attempts to open a store that is away, while messages are queued for it.
const OPEN_AGAIN: Duration = Duration::from_secs(2);

/// The desk of a project. The store is opened when mail is first needed.
pub(crate) fn desk(
    project: &Project,
    config: &Config,
    journal: &Arc<Journal>,
    connections: Option<Arc<Connections>>,
) -> Arc<Desk> {
    let space = match (&config.mail.space, project.origin()) {
        (Some(name), _) => Space::named(name),
        (None, Some(origin)) => Space::of_origin(&origin),
        (None, None) => Space::of_path(project.root()),
    };
    let limits =
        Limits { broadcast_max: usize::try_from(config.mail.broadcast_max).unwrap_or(usize::MAX), ..Limits::default() };
    let is_here = connections.map(|connections| is_here(project, connections));
    let open = {
        let (journal, project, space) = (journal.clone(), project.clone(), space.clone());
        let mail = config.mail.clone();
        move || {
            let (journal, limits, project) = (journal.clone(), limits.clone(), project.clone());
            let (space, mail, is_here) = (space.clone(), mail.clone(), is_here.clone());
            Box::pin(async move {
                let spool = spool(&project, &mail, &space)?;
                let store = store(&project, &mail, space, limits.clone()).await?;
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
        identities: kept_in(project).join("identities"),
        tokens: project.private_dir().join("agent-tokens"),
        space: space.to_string(),
        host: host(),
    });
    if spool_path(project).exists() {
        open_early(&desk);
    }
    desk
}

/// An agent is here when its program is connected from the worktree that its name is bound to.
fn is_here(project: &Project, connections: Arc<Connections>) -> IsHere {
    let identities = Identities::new(kept_in(project).join("identities"));
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
    project.hob_dir().join("mail-spool.db")
}

/// Where sends wait while a database is away, if that is wanted, or something waits there still.
fn spool(project: &Project, mail: &MailConfig, space: &Space) -> Result<Option<Arc<Spool>>, MailError> {
    let path = spool_path(project);
    let is_wanted = mail.spool > 0 && mail.database(project).map_err(away)?.is_some();
    if !is_wanted && !path.exists() {
        return Ok(None);
    }
    project.create_hob_dir().map_err(away)?;
    Ok(Some(Arc::new(Spool::open(&path, space, if is_wanted { mail.spool } else { 0 })?)))
}

/// The store: the database where one is configured, else a file of the project's.
async fn store(
    project: &Project,
    mail: &MailConfig,
    space: Space,
    limits: Limits,
) -> Result<Arc<dyn Store>, MailError> {
    if let Some(url) = mail.database(project).map_err(away)? {
        // The same in each life of this project's daemon, and no other daemon's.
        let owner = format!("{}:{}", host(), project.hash());
        let options = PostgresOptions { url, space, owner, limits, clock: None };
        // On a thread of its own: the future of connecting cannot move between threads.
        let runtime = tokio::runtime::Handle::current();
        let connected = tokio::task::spawn_blocking(move || runtime.block_on(PostgresStore::connect(options))).await;
        let connected = connected.unwrap_or_else(|error| Err(StoreError::Failed { reason: error.to_string() }))?;
        return Ok(Arc::new(connected));
    }
    let kept_in = kept_in(project);
    if kept_in == project.hob_dir() {
        project.create_hob_dir().map_err(away)?;
    }
    let options = SqliteOptions { limits, ..SqliteOptions::new(kept_in.join("mail.db"), space) };
    let opened = tokio::task::spawn_blocking(move || SqliteStore::open(options)).await;
    let opened = opened.unwrap_or_else(|error| Err(StoreError::Failed { reason: error.to_string() }))?;
    Ok(Arc::new(opened))
}

/// Where the project's mail is. A project that can be written to no more has it where it was, and every call says so: an
/// empty mailbox elsewhere would pass for all there is.
fn kept_in(project: &Project) -> PathBuf {
    let inside = project.root().join(".hob");
    match project.is_read_only() && inside.join("mail.db").exists() {
        true => inside,
        false => project.hob_dir().to_owned(),
    }
}

/// What is wrong with the files in which the mail is kept: each file, and what to do about it. Looks, and changes nothing.
pub fn mail_faults(project: &Project, config: &Config) -> Vec<(PathBuf, String)> {
    let mut faults = Vec::new();
    let mut look = |path: PathBuf, examine: fn(&Path) -> Result<(), StoreError>| {
        if path.exists()
            && let Err(error) = examine(&path)
        {
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
        look(kept_in(project).join("mail.db"), sqlite::examine);
    }
    look(spool_path(project), sqlite::examine_spool);
    for (path, why) in Identities::new(kept_in(project).join("identities")).broken() {
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
