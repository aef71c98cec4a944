//! The one space of a file. A file belongs to one project, so the space takes the project's current name.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::explain;
use crate::error::StoreError;

/// Returns the number of the space, which takes this name.
pub(super) fn settle(db: &Connection, name: &str) -> Result<i64, StoreError> {
    if let Some((id, known)) = read(db).map_err(explain)?
        && known == name
    {
        return Ok(id);
    }
    let settle = || -> rusqlite::Result<i64> {
        let transaction = rusqlite::Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
        // Another process may have done it already.
        let id = match read(&transaction)? {
            Some((id, _)) => {
                transaction.execute("UPDATE space SET name = ?2 WHERE id = ?1", params![id, name])?;
                id
            }
            None => {
                transaction.execute("INSERT INTO space (name) VALUES (?1)", [name])?;
                transaction.last_insert_rowid()
            }
        };
        transaction.commit()?;
        Ok(id)
    };
    settle().map_err(explain)
}

/// Returns the number of the space, if it was made.
pub(super) fn find(db: &Connection) -> Result<Option<i64>, StoreError> {
    Ok(read(db).map_err(explain)?.map(|(id, _)| id))
}

fn read(db: &Connection) -> rusqlite::Result<Option<(i64, String)>> {
    db.query_row("SELECT id, name FROM space", [], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}
