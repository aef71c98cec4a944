//! Where a project's mail is: in the project's own file, or in a space of a database that several machines share.
//!
//! The configured location may change unnoticed: the origin changes, a setting changes, or a daemon starts without the
//! database's address in its environment. So [`note`] records the used location, next to the identities. Mail moves to
//! the configured location if that is safe ([`crate::store::postgres`] has the rules). Otherwise every call fails until
//! a person decides; the error names the mail's location and how to continue.
//!
//! Start with [`Home::open`]. [`Home::report_location`] reports the place without opening it; [`Home::choose`] takes the decision.

#[cfg(feature = "postgres")]
mod database;
pub mod note;

use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::note::{Kind, Location, Note};
use crate::error::StoreError;
use crate::identity::Identities;
use crate::model::{Limits, Space};
use crate::store::Store;
use crate::store::sqlite::{self, SqliteOptions, SqliteStore};

/// Returns the database's address, if one is configured.
pub type Database = Box<dyn Fn() -> Result<Option<String>, StoreError> + Send + Sync>;

/// The options of a [`Home`].
pub struct HomeOptions {
    /// The directory of the project's own file, its identities and the record.
    pub dir: PathBuf,
    /// The name of this machine.
    pub host: String,
    /// The daemon's name in the database.
    pub owner: String,
    /// The space under the project's current name.
    pub space: Space,
    /// The space's name for people: `the clones of https://example.org/tool`.
    pub called: String,
    pub limits: Limits,
    pub database: Database,
    /// The file for the database's address, named in hints.
    pub address_file: PathBuf,
}

/// Where a project's mail is.
pub struct Home {
    options: HomeOptions,
    /// Why the last opening failed.
    refused: Mutex<Option<StoreError>>,
}

/// The answer of [`Home::report_location`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The location of the mail, determined without opening it.
    pub place: String,
    /// The reason why calls fail, and the sentences that tell how to solve it.
    pub problem: Option<(String, Vec<String>)>,
    /// A remark that is not a problem.
    pub remark: Option<String>,
}

/// The choice between the former place and the configured one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Mail stays in the former place.
    Keep,
    /// Mail continues in the configured location; other mail stays where it is.
    Switch,
}

impl Home {
    /// Opens nothing yet.
    pub fn new(options: HomeOptions) -> Home {
        Home { options, refused: Mutex::default() }
    }

    /// Opens the store.
    ///
    /// # Errors
    /// When the store is unavailable or broken; [`StoreError::Elsewhere`] when the mail cannot be moved here.
    pub async fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        let opened = self.try_open().await;
        let refused = opened.as_ref().err().filter(|error| matches!(error, StoreError::Elsewhere { .. }));
        *self.refused.lock() = refused.cloned();
        opened
    }

    async fn try_open(&self) -> Result<Arc<dyn Store>, StoreError> {
        let (now, address) = self.now()?;
        let note = self.note()?;
        match (&note, address) {
            (Some(note), Some(address)) if note.is_kept_from(&now) && note.place.store == Kind::Database => {
                self.connect(address, now, Some(note.place.clone()), true).await
            }
            (Some(note), _) if note.is_kept_from(&now) => self.open_file().await,
            (Some(note), None) if note.place.store == Kind::Database => Err(self.moved_error(&note.place, None, &now)),
            (note, None) => {
                self.is_not_gone(note.as_ref())?;
                self.open_file().await
            }
            (Some(note), Some(address)) if note.place.store == Kind::Database => {
                self.connect(address, now, Some(note.place.clone()), false).await
            }
            (note, Some(address)) => {
                let file = self.file();
                let held = tokio::task::spawn_blocking(move || sqlite::count(&file)).await;
                let held = held.unwrap_or_else(|error| Err(StoreError::Failed { reason: error.to_string() }))?;
                if held.messages > 0 {
                    let former = note.as_ref().map_or_else(|| self.own_file(), |note| note.place.clone());
                    return Err(self.moved_error(&former, Some(held), &now));
                }
                self.connect(address, now, None, false).await
            }
        }
    }

    async fn open_file(&self) -> Result<Arc<dyn Store>, StoreError> {
        let HomeOptions { space, limits, .. } = &self.options;
        let options = SqliteOptions { limits: limits.clone(), ..SqliteOptions::new(self.file(), space.clone()) };
        let opened = tokio::task::spawn_blocking(move || SqliteStore::open(options)).await;
        let opened = opened.unwrap_or_else(|error| Err(StoreError::Failed { reason: error.to_string() }))?;
        Ok(Arc::new(opened))
    }

    /// Reports where the mail is. Reads only small files, and blocks while it does.
    pub fn report_location(&self) -> Look {
        let looked = self.now().and_then(|(now, _)| Ok((now, self.note()?)));
        let (now, note) = match looked {
            Ok(looked) => looked,
            Err(error) => {
                let hints = error.hints();
                return Look { place: "not known".to_owned(), problem: Some((error.to_string(), hints)), remark: None };
            }
        };
        if let (Some(error), Some(note)) = (&*self.refused.lock(), &note)
            && !note.is_kept_from(&now)
            && note.place.space != now.space
        {
            let problem = Some((error.to_string(), error.hints()));
            return Look { place: self.describe(&note.place, None), problem, remark: None };
        }
        let at = |place: &Location, remark| Look { place: self.describe(place, None), problem: None, remark };
        let refused = |error: StoreError, former: &Location| {
            let hints = error.hints();
            Look { place: self.describe(former, None), problem: Some((error.to_string(), hints)), remark: None }
        };
        match note {
            Some(note) if note.is_kept_from(&now) => {
                let remark = format!("kept there, though {} is configured", self.describe(&now, None));
                at(&note.place, Some(remark))
            }
            Some(note) if note.place.store == Kind::Database && now.store == Kind::File => {
                refused(self.moved_error(&note.place, None, &now), &note.place)
            }
            Some(note) if note.place.store == Kind::Database => {
                let is_other = note.place.id.is_none() && note.place.address != now.address;
                let remark = match (note.place.address == now.address, note.place.space == now.space) {
                    _ if is_other => return refused(self.moved_error(&note.place, None, &now), &note.place),
                    (true, true) => None,
                    (false, _) => Some(format!(
                        "{} is configured: the next call uses it if it is the same database, and is refused otherwise",
                        self.describe(&now, None)
                    )),
                    (true, false) if Space::stored(&*note.place.space).is_of_path() && is_of_path(&now) => None,
                    (true, false) => Some(format!(
                        "{} is configured: the next call moves the mail there if it has no other project's mail, and \
                         is refused otherwise",
                        self.describe(&now, None)
                    )),
                };
                at(&note.place, remark)
            }
            note if now.store == Kind::Database => match sqlite::count(&self.file()) {
                Ok(held) if held.messages > 0 => {
                    let former = note.map_or_else(|| self.own_file(), |note| note.place);
                    refused(self.moved_error(&former, Some(held), &now), &former)
                }
                _ => at(&now, None),
            },
            note => match self.is_not_gone(note.as_ref()) {
                Ok(()) => at(&now, None),
                Err(error) => refused(error, &now),
            },
        }
    }

    /// Fails when the file is missing although agents are registered. Only a new project or a decision starts an empty
    /// file.
    fn is_not_gone(&self, note: Option<&Note>) -> Result<(), StoreError> {
        let file = self.file();
        let has_agents = || self.identities().all().iter().any(|identity| !identity.repo_id.is_empty());
        if note.is_some() || file.symlink_metadata().is_ok() || !has_agents() {
            return Ok(());
        }
        let next = "Agents were registered in it. Put it back, with its -wal file if there is one; or, if the mail is in a \
                    database, give its address as HOB_MAIL_DATABASE and `hob stop`. `hob mail switch` creates an empty one.";
        Err(StoreError::Strange { path: file, what: "no longer exists", next: next.to_owned() })
    }

    /// Applies a decision and describes the result.
    ///
    /// # Errors
    /// When there is nothing to decide, or when the choice needs more than a decision.
    pub fn choose(&self, choice: Choice) -> Result<String, StoreError> {
        let (now, _) = self.now()?;
        let note = self.note()?;
        let look = self.report_location();
        let former = note.as_ref().map_or_else(|| self.own_file(), |note| note.place.clone());
        if look.problem.is_none() && look.remark.is_none() {
            return Ok(format!("Nothing to change: the mail is in {}.", look.place));
        }
        let is_gone = former.store == Kind::File && now.store == Kind::File;
        match choice {
            Choice::Switch if is_gone => {
                self.write(&Note { place: now.clone(), instead_of: None })?;
                Ok(format!("The mail starts empty in {}.", self.describe(&now, None)))
            }
            Choice::Keep if is_gone => self.is_not_gone(note.as_ref()).map(|()| String::new()),
            Choice::Switch => {
                let is_same = former.store == Kind::Database && former.address == now.address;
                let place = Location { id: former.id.clone().filter(|_| is_same), ..now };
                let text = format!(
                    "From now on the mail is in {}. Mail in {} stays there and is not shown.",
                    self.describe(&place, None),
                    self.describe(&former, None)
                );
                self.write(&Note { place, instead_of: None })?;
                Ok(text)
            }
            Choice::Keep if former.store == Kind::Database && former.address != now.address => {
                Err(self.moved_error(&former, None, &now))
            }
            Choice::Keep => {
                let text = format!(
                    "The mail stays in {}, though {} is configured. `hob mail switch` reverts this.",
                    self.describe(&former, None),
                    self.describe(&now, None)
                );
                self.write(&Note { place: former, instead_of: Some(now) })?;
                Ok(text)
            }
        }
    }

    /// Returns the configured place and its address.
    fn now(&self) -> Result<(Location, Option<String>), StoreError> {
        let HomeOptions { space, called, .. } = &self.options;
        let Some(url) = (self.options.database)()? else { return Ok((self.own_file(), None)) };
        let address = database::without_password(&url)?;
        let place = Location {
            store: Kind::Database,
            address: Some(address),
            id: None,
            space: space.to_string(),
            called: called.clone(),
        };
        Ok((place, Some(url)))
    }

    fn own_file(&self) -> Location {
        Location { store: Kind::File, address: None, id: None, space: String::new(), called: String::new() }
    }

    fn file(&self) -> PathBuf {
        self.options.dir.join("mail.db")
    }

    fn note(&self) -> Result<Option<Note>, StoreError> {
        note::read(&self.options.dir)
    }

    fn write(&self, note: &Note) -> Result<(), StoreError> {
        note::write(&self.options.dir, note)
    }

    fn identities(&self) -> Identities {
        Identities::new(self.options.dir.join("identities"))
    }

    fn describe(&self, place: &Location, held: Option<sqlite::MailCount>) -> String {
        match (place.store, held) {
            (Kind::File, None) => format!("its own file {}", self.file().display()),
            (Kind::File, Some(held)) => format!(
                "its own file {} ({} of which {} to be read)",
                self.file().display(),
                crate::framing::counted(held.messages, "message") + ",",
                if held.waiting == 1 { "1 is".to_owned() } else { format!("{} are", held.waiting) },
            ),
            (Kind::Database, _) => describe_database(place),
        }
    }

    fn moved_error(&self, former: &Location, held: Option<sqlite::MailCount>, now: &Location) -> StoreError {
        let next = match former.store {
            Kind::File => vec![KEEP_OR_SWITCH.to_owned()],
            Kind::Database => to_former(former, &self.options.address_file),
        };
        StoreError::Elsewhere { former: self.describe(former, held), now: self.describe(now, None), next }
    }
}

/// The hint when both places are available.
const KEEP_OR_SWITCH: &str = "Nothing was sent or read. `hob mail keep` keeps the current store; `hob mail switch` \
                              uses the configured one and leaves the old mail in place.";

fn describe_database(place: &Location) -> String {
    format!("{}, in the space of {} ({})", place.address.as_deref().unwrap_or_default(), place.called, place.space)
}

fn is_of_path(place: &Location) -> bool {
    Space::stored(&*place.space).is_of_path()
}

/// Returns the hint for a database whose address is no longer configured.
fn to_former(former: &Location, file: &Path) -> Vec<String> {
    vec![
        format!(
            "Nothing was sent or read. To continue there, give its address with the password ({}) as \
             HOB_MAIL_DATABASE, or in {} (chmod 600), then `hob stop`.",
            former.address.as_deref().unwrap_or_default(),
            file.display()
        ),
        "`hob mail switch` uses the configured one and leaves the old mail in place.".to_owned(),
    ]
}

/// Stands for the module of databases in a build without PostgreSQL: no address is accepted.
#[cfg(not(feature = "postgres"))]
mod database {
    use std::sync::Arc;

    use super::note::Location;
    use crate::error::StoreError;
    use crate::store::Store;

    pub(super) fn without_password(_url: &str) -> Result<String, StoreError> {
        Err(StoreError::NoPostgres)
    }

    impl super::Home {
        pub(super) async fn connect(
            &self,
            _url: String,
            _now: Location,
            _noted: Option<Location>,
            _stays: bool,
        ) -> Result<Arc<dyn Store>, StoreError> {
            Err(StoreError::NoPostgres)
        }
    }
}
