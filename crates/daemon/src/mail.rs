//! What the configuration means for the mail: its space, its store, who hears of what happens.

use std::sync::Arc;

use ::mail::desk::{Desk, DeskOptions};
use ::mail::service::{Mail, MailOptions};
use ::mail::store::Store;
use ::mail::store::memory::MemoryStore;
use ::mail::{Clock, Limits, MailError, Space};
use project::{Config, Project};

use crate::journal::Journal;

/// The desk of a project. The store is opened when mail is first needed.
pub(crate) fn desk(project: &Project, config: &Config, journal: &Arc<Journal>) -> Arc<Desk> {
    let space = match (&config.mail.space, project.origin()) {
        (Some(name), _) => Space::named(name),
        (None, Some(origin)) => Space::of_origin(&origin),
        (None, None) => Space::of_path(project.root()),
    };
    let limits =
        Limits { broadcast_max: usize::try_from(config.mail.broadcast_max).unwrap_or(usize::MAX), ..Limits::default() };
    let open = {
        let (journal, limits) = (journal.clone(), limits.clone());
        move || {
            let (journal, limits) = (journal.clone(), limits.clone());
            Box::pin(async move {
                let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Clock::system(), limits.clone()));
                Mail::open(MailOptions {
                    limits,
                    journal: Some(Arc::new(move |record| journal.record(record))),
                    ..MailOptions::new(store)
                })
                .await
            }) as std::pin::Pin<Box<dyn Future<Output = Result<Arc<Mail>, MailError>> + Send>>
        }
    };
    Desk::new(DeskOptions {
        open: Box::new(open),
        identities: project.identities_dir(),
        space: space.to_string(),
        host: host(),
    })
}

/// The name of this machine.
fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().chars().take(100).collect()
}
