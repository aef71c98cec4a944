//! A home in a PostgreSQL database: connects, and takes the mail along if that is safe.

use std::path::Path;
use std::sync::Arc;

use super::note::{Location, Note};
use super::{Home, HomeOptions, KEEP_OR_SWITCH, describe_database, to_former};
use crate::error::StoreError;
use crate::model::Space;
use crate::store::Store;
use crate::store::postgres::{self, Former, Noted, Own, PostgresOptions, PostgresStore, Why};

/// Returns an address without its password.
pub(super) fn without_password(url: &str) -> Result<String, StoreError> {
    postgres::without_password(url).ok_or(StoreError::Address)
}

impl Home {
    /// Connects to the database and records the place.
    pub(super) async fn connect(
        &self,
        url: String,
        now: Location,
        noted: Option<Location>,
        stays: bool,
    ) -> Result<Arc<dyn Store>, StoreError> {
        let refuse = {
            let (now, noted) = (now.clone(), noted.clone());
            let file = self.options.address_file.clone();
            move |why: Why| cannot_move_error(why, noted.as_ref().unwrap_or(&now), &now, &file)
        };
        let former = Former {
            noted: noted.as_ref().map(|noted| Noted {
                store: noted.id.clone(),
                space: Space::stored(&*noted.space),
                stays,
            }),
            own: self.own_agents(),
            refuse: Some(Arc::new(refuse)),
        };
        // A database without an id is identified by its address.
        if let Some(noted) = noted.as_ref().filter(|noted| noted.id.is_none() && noted.address != now.address) {
            return Err(self.moved_error(noted, None, &now));
        }
        let HomeOptions { space, owner, limits, .. } = &self.options;
        let options = PostgresOptions {
            url,
            space: space.clone(),
            owner: owner.clone(),
            former,
            limits: limits.clone(),
            clock: None,
        };
        // A separate thread, since the future of connecting is not `Send`.
        let runtime = tokio::runtime::Handle::current();
        let connected = tokio::task::spawn_blocking(move || runtime.block_on(PostgresStore::connect(options))).await;
        let connected = connected.unwrap_or_else(|error| Err(StoreError::Failed { reason: error.to_string() }))?;
        if !stays {
            let settled = connected.settled();
            let (id, space) = (Some(settled.store.clone()), settled.space.to_string());
            let called = match (&noted, space == now.space) {
                (Some(noted), false) => noted.called.clone(),
                _ => now.called.clone(),
            };
            let place = Location { id, space, called, ..now };
            // The place is recorded before anything is delivered there.
            if self.note()?.is_none_or(|note| note.place != place || note.instead_of.is_some()) {
                self.write(&Note { place, instead_of: None })?;
            }
        }
        Ok(Arc::new(connected))
    }

    fn own_agents(&self) -> Own {
        let own = self.identities().all().into_iter();
        let own = own.map(|one| (one.name, one.worktree.map(|worktree| worktree.display().to_string())));
        Own { host: self.options.host.clone(), agents: own.collect() }
    }
}

/// Returns the error when the mail cannot be moved.
fn cannot_move_error(why: Why, former: &Location, now: &Location, file: &Path) -> StoreError {
    let next = match why {
        Why::AnotherDatabase => to_former(former, file),
        Why::Others { names, waiting } => {
            let waits = match waiting {
                0 => "no messages wait there for this project's agents".to_owned(),
                1 => "1 message waits there for this project's agents".to_owned(),
                more => format!("{more} messages wait there for this project's agents"),
            };
            let with = format!(
                "It cannot be moved: the database has agents of other projects, or with the same names ({}); {waits}.",
                names.join(", ")
            );
            vec![with, KEEP_OR_SWITCH.to_owned()]
        }
    };
    StoreError::Elsewhere { former: describe_database(former), now: describe_database(now), next }
}
