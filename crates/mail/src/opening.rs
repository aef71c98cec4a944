//! The mail of a project, by its configuration: its space, its location, its callers, and the faults in its files.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use project::{Config, Project, visible};

use crate::callers::{Callers, CallersOptions, unavailable_error};
use crate::home::{Home, HomeOptions};
use crate::identity::Identities;
use crate::service::{IsHere, Journal, Mail, MailOptions};
use crate::spool::Spool;
use crate::store::sqlite;
use crate::{Limits, MailError, MailSettings, Space, StoreError};

/// The pause between attempts to open an unavailable store while messages are queued for it.
const OPEN_AGAIN: Duration = Duration::from_secs(2);

/// Returns the callers of a project, and the location of its mail. The store is opened when mail is first needed.
/// `is_here` returns true for an agent whose program is connected; `None` without a daemon.
pub fn callers(
    project: &Project,
    config: &Config,
    journal: Journal,
    is_here: Option<IsHere>,
) -> (Arc<Callers>, Arc<Home>) {
    let (space, _) = space(project, config);
    let limits = limits(config);
    let home = Arc::new(home(project, config));
    let open = {
        let (journal, project, space) = (journal.clone(), project.clone(), space.clone());
        let (mail, home) = (config.settings::<MailSettings>(), home.clone());
        move || {
            let (journal, limits, project) = (journal.clone(), limits.clone(), project.clone());
            let (space, mail, is_here, home) = (space.clone(), mail.clone(), is_here.clone(), home.clone());
            Box::pin(async move {
                project.create_state_dir().map_err(unavailable_error)?;
                let store = home.open().await?;
                let spool = spool(&project, &mail, &space)?;
                Mail::open(MailOptions { limits, spool, is_here, journal: Some(journal), ..MailOptions::new(store) })
                    .await
            }) as std::pin::Pin<Box<dyn Future<Output = Result<Arc<Mail>, MailError>> + Send>>
        }
    };
    let callers = Callers::new(CallersOptions {
        open: Box::new(open),
        identities: project.state_dir().join("identities"),
        tokens: project.state_dir().join("agent-tokens"),
        space: space.to_string(),
        host: host(),
    });
    if spool_path(project).symlink_metadata().is_ok() {
        open_early(&callers);
    }
    (callers, home)
}

/// Returns the space that the project's name currently refers to, and its description for people.
fn space(project: &Project, config: &Config) -> (Space, String) {
    match (config.settings::<MailSettings>().space, project.origin()) {
        (Some(name), _) => (Space::named(&name), format!("the name {name:?}")),
        (None, Some(origin)) => (Space::of_origin(&origin), format!("the clones of {}", visible(&origin))),
        (None, None) => (Space::of_path(&host(), project.root()), format!("{} alone", visible::path(project.root()))),
    }
}

fn limits(config: &Config) -> Limits {
    Limits {
        broadcast_max: usize::try_from(config.settings::<MailSettings>().broadcast_max).unwrap_or(usize::MAX),
        thread_max: config.settings::<MailSettings>().thread_max,
        ..Limits::default()
    }
}

/// Returns the location of the project's mail.
pub fn home(project: &Project, config: &Config) -> Home {
    let (space, called) = space(project, config);
    let database = {
        let (project, mail) = (project.clone(), config.settings::<MailSettings>());
        move || mail.database(&project).map_err(|error| StoreError::Away { reason: error.to_string() })
    };
    Home::new(HomeOptions {
        dir: project.state_dir().to_owned(),
        host: host(),
        // Constant over this daemon's restarts, and different from every other daemon's.
        owner: format!("{}:{}", host(), project.hash()),
        space,
        called,
        limits: limits(config),
        database: Box::new(database),
        address_file: project.state_dir().join("mail-database"),
    })
}

/// Opens the mail immediately, to send messages that were queued before a restart.
fn open_early(callers: &Arc<Callers>) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    let callers = Arc::downgrade(callers);
    runtime.spawn(async move {
        loop {
            match callers.upgrade() {
                Some(callers) if callers.mail().await.is_err() => {}
                _ => return,
            }
            tokio::time::sleep(OPEN_AGAIN).await;
        }
    });
}

fn spool_path(project: &Project) -> PathBuf {
    project.state_dir().join("mail-spool.db")
}

/// Returns the queue for messages while the database is unavailable, if it is enabled or still has messages.
fn spool(project: &Project, mail: &MailSettings, space: &Space) -> Result<Option<Arc<Spool>>, MailError> {
    let path = spool_path(project);
    let is_wanted = mail.spool > 0 && mail.database(project).map_err(unavailable_error)?.is_some();
    if !is_wanted && path.symlink_metadata().is_err() {
        return Ok(None);
    }
    project.create_state_dir().map_err(unavailable_error)?;
    Ok(Some(Arc::new(Spool::open(&path, space, if is_wanted { mail.spool } else { 0 })?)))
}

/// Returns faults in the mail's files: each file with a fix. Changes nothing.
pub fn faults(project: &Project, config: &Config) -> Vec<(PathBuf, String)> {
    let mut faults = Vec::new();
    let mut look = |path: PathBuf, examine: fn(&Path) -> Result<(), StoreError>| {
        if let Err(error) = examine(&path) {
            let next = match (&error, path.ends_with("mail-spool.db")) {
                (StoreError::Corrupt { .. }, true) => {
                    "Move it aside, with its -wal and -shm files; its queued messages were not sent.".to_owned()
                }
                _ => error.hints().join(" "),
            };
            faults.push((path, format!("{error}. {next}")));
        }
    };
    // If a database is configured, the earlier file is not used.
    if matches!(config.settings::<MailSettings>().database(project), Ok(None)) {
        look(project.state_dir().join("mail.db"), sqlite::examine);
    }
    look(spool_path(project), sqlite::examine_spool);
    for (path, why) in Identities::new(project.state_dir().join("identities")).broken() {
        let next = "It is ignored. Repair it, or delete it and run `hob quickstart --name NAME --role ROLE` in its \
                    agent's worktree.";
        faults.push((path, format!("{why}. {next}")));
    }
    faults
}

/// Returns the name of this machine.
fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().chars().take(100).collect()
}
