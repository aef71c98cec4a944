//! Reads a store when the disk has no room to open it for writing. SQLite keeps the index of the log in a separate
//! file, which cannot be made then; a connection in exclusive mode keeps that index in memory.

use parking_lot::Mutex;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::{OpenFile, SqliteOptions, connect, explain, queries, schema};
use crate::error::StoreError;
use crate::store::query::{Query, QueryResult};

pub(super) struct Sole {
    db: Mutex<Connection>,
    space: i64,
    file: OpenFile,
    options: SqliteOptions,
}

impl Sole {
    /// Opens the store for reading. No other process can open it meanwhile.
    pub(super) fn open(options: &SqliteOptions) -> Result<Sole, StoreError> {
        let db = connect(options).map_err(explain)?;
        let alone = || -> rusqlite::Result<()> {
            db.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
            db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            Ok(())
        };
        alone().map_err(explain)?;
        let space = schema::find(&db)?;
        let file = OpenFile::new(&options.path)?;
        Ok(Sole { db: Mutex::new(db), space, file, options: options.clone() })
    }

    pub(super) fn read(&self, query: Query) -> Result<QueryResult, StoreError> {
        if !self.file.is_there() {
            return Err(StoreError::Gone);
        }
        let db = self.db.lock();
        queries::answer(&db, self.space, self.options.clock.now(), query).map_err(explain)
    }
}
