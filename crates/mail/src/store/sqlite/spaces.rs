//! The one space of a file. A file belongs to one project, so the space takes the project's current name. Earlier
//! versions began another space for each name and no longer showed the former ones. Those spaces are joined here,
//! mailbox by mailbox.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::explain;
use crate::error::StoreError;

/// Returns the number of the space, which takes this name.
pub(super) fn settle(db: &Connection, name: &str) -> Result<i64, StoreError> {
    if let [(id, known)] = &all(db).map_err(explain)?[..]
        && known == name
    {
        return Ok(*id);
    }
    let settle = || -> rusqlite::Result<i64> {
        let transaction = rusqlite::Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
        // Another process may have done it already.
        let mut spaces = all(&transaction)?.into_iter();
        let id = match spaces.next() {
            Some((id, _)) => id,
            None => {
                transaction.execute("INSERT INTO space (name) VALUES (?1)", [name])?;
                transaction.last_insert_rowid()
            }
        };
        for (other, _) in spaces {
            join(&transaction, id, other)?;
        }
        transaction.execute("UPDATE space SET name = ?2 WHERE id = ?1", params![id, name])?;
        transaction.commit()?;
        Ok(id)
    };
    settle().map_err(explain)
}

/// Returns the number of the space in a read-only file. `None` if the file has several spaces, or none.
pub(super) fn only(db: &Connection) -> Result<Option<i64>, StoreError> {
    match all(db).map_err(explain)?[..] {
        [(id, _)] => Ok(Some(id)),
        _ => Ok(None),
    }
}

/// Returns all spaces. The most recently used comes first: its agents have its cursors.
fn all(db: &Connection) -> rusqlite::Result<Vec<(i64, String)>> {
    let sql = "SELECT s.id, s.name FROM space s LEFT JOIN agent a ON a.space = s.id GROUP BY s.id \
               ORDER BY max(a.seen_at) DESC NULLS LAST, s.id";
    db.prepare(sql)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// Moves everything from one space into another, and removes the former space.
fn join(db: &Connection, into: i64, from: i64) -> rusqlite::Result<()> {
    let both = params![into, from];
    let agents: Vec<(i64, Option<i64>)> = db
        .prepare(
            "SELECT o.id, t.id FROM agent o LEFT JOIN agent t ON t.space = ?1 AND t.name = o.name WHERE o.space = ?2",
        )?
        .query_map(both, |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    // An imported id or a key means one thing; the most recently used space keeps it.
    db.execute(
        "UPDATE agent SET alias = NULL WHERE space = ?2 AND alias IN (SELECT alias FROM agent WHERE space = ?1)",
        both,
    )?;
    for (agent, same) in agents {
        match same {
            None => _ = db.execute("UPDATE agent SET space = ?1 WHERE id = ?2", [into, agent])?,
            Some(same) => join_agent(db, same, agent)?,
        }
    }
    let groups: Vec<(i64, Option<i64>)> = db
        .prepare(
            "SELECT o.id, t.id FROM groups o LEFT JOIN groups t ON t.space = ?1 AND t.name = o.name WHERE o.space = ?2",
        )?
        .query_map(both, |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (group, same) in groups {
        match same {
            None => _ = db.execute("UPDATE groups SET space = ?1 WHERE id = ?2", [into, group])?,
            Some(same) => {
                let sql = "INSERT OR IGNORE INTO member SELECT ?1, kind, name FROM member WHERE grouping = ?2";
                db.execute(sql, [same, group])?;
                db.execute("DELETE FROM member WHERE grouping = ?1", [group])?;
                db.execute("DELETE FROM groups WHERE id = ?1", [group])?;
            }
        }
    }
    for table in ["message", "tomb"] {
        db.execute(
            &format!(
                "UPDATE {table} SET key = NULL, hash = NULL WHERE space = ?2 AND key IS NOT NULL AND EXISTS \
                 (SELECT 1 FROM {table} t WHERE t.space = ?1 AND t.sender = {table}.sender AND t.key = {table}.key)"
            ),
            both,
        )?;
        db.execute(&format!("UPDATE {table} SET space = ?1 WHERE space = ?2"), both)?;
    }
    db.execute("UPDATE purge SET space = ?1 WHERE space = ?2", both)?;
    db.execute("DELETE FROM space WHERE id = ?1", [from])?;
    Ok(())
}

/// Appends one of an agent's mailboxes to its other one.
fn join_agent(db: &Connection, into: i64, from: i64) -> rusqlite::Result<()> {
    let both = params![into, from];
    let seq = db.query_row("SELECT seq FROM mailbox WHERE agent = ?1", [into], |row| row.get::<_, i64>(0));
    let seq = seq.optional()?.unwrap_or_default();
    db.execute("UPDATE delivery SET agent = ?1, seq = seq + ?3 WHERE agent = ?2", params![into, from, seq])?;
    db.execute("UPDATE hint SET agent = ?1 WHERE agent = ?2", both)?;
    db.execute(
        "UPDATE mailbox AS m SET seq = m.seq + o.seq, tip = m.tip + o.tip, bytes = m.bytes + o.bytes, \
         free0 = m.free0 + o.free0, free1 = m.free1 + o.free1, free2 = m.free2 + o.free2, free3 = m.free3 + o.free3, \
         leased = m.leased + o.leased FROM mailbox o WHERE m.agent = ?1 AND o.agent = ?2",
        both,
    )?;
    db.execute("DELETE FROM mailbox WHERE agent = ?1", [from])?;
    db.execute(
        "UPDATE agent AS a SET fence = max(a.fence, o.fence), registered_at = min(a.registered_at, o.registered_at), \
         alias = coalesce(a.alias, o.alias) FROM agent o WHERE a.id = ?1 AND o.id = ?2",
        both,
    )?;
    db.execute("DELETE FROM agent WHERE id = ?1", [from]).map(drop)
}
