//! Chooses the space of a database for a project's mail. When the project's name has changed (another origin, another
//! name in its settings), its mail moves from the former space into the new one, if all agents there are the project's
//! own. Otherwise nothing is moved or opened, and the error names the decision to make.

use std::fmt;
use std::sync::Arc;

use sqlx::{Connection, PgConnection, Row};

use super::{explain, schema};
use crate::error::StoreError;
use crate::model::Space;

#[derive(Clone, Default)]
pub struct Former {
    /// The place on record.
    pub noted: Option<Noted>,
    /// The agents that are the project's own.
    pub own: Own,
    /// Makes the error when the mail cannot be moved.
    pub refuse: Option<Refuse>,
}

pub type Refuse = Arc<dyn Fn(Why) -> StoreError + Send + Sync>;

#[derive(Debug, Clone)]
pub struct Noted {
    pub store: Option<String>,
    pub space: Space,
    /// True if a person decided that the mail stays there under any name of the project.
    pub stays: bool,
}

/// A project's agents, recognized by the holders in the store.
#[derive(Debug, Clone, Default)]
pub struct Own {
    /// This machine's name.
    pub host: String,
    /// Names, and the worktrees that they are bound to; `None` means any worktree.
    pub agents: Vec<(String, Option<String>)>,
}

/// Why the mail cannot be moved.
#[derive(Debug, Clone)]
pub enum Why {
    /// The database is not the one on record.
    AnotherDatabase,
    /// Other projects have agents in the former space or in the new one.
    Others {
        /// Some of their names.
        names: Vec<String>,
        /// The number of messages that wait there for the project's own agents.
        waiting: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettledSpace {
    /// The database's id.
    pub store: String,
    pub space: Space,
}

impl fmt::Debug for Former {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Former { noted, own, refuse: _ } = self;
        f.debug_struct("Former").field("noted", noted).field("own", own).finish()
    }
}

pub(super) async fn settle(
    db: &mut PgConnection,
    store: String,
    wanted: &Space,
    former: &Former,
) -> Result<(i64, SettledSpace), StoreError> {
    let mut transaction = db.begin().await.map_err(explain)?;
    let mut settling = Settling { db: &mut transaction, store: &store, former };
    let (id, space) = settling.settle(wanted).await?;
    transaction.commit().await.map_err(explain)?;
    Ok((id, SettledSpace { store, space }))
}

struct Settling<'a> {
    db: &'a mut PgConnection,
    store: &'a str,
    former: &'a Former,
}

impl Settling<'_> {
    async fn settle(&mut self, wanted: &Space) -> Result<(i64, Space), StoreError> {
        schema::lock(self.db).await.map_err(explain)?;
        let former = match &self.former.noted {
            Some(Noted { store: Some(store), .. }) if store != self.store => {
                return Err(self.refuse(Why::AnotherDatabase));
            }
            Some(noted) if noted.stays || (noted.space.is_of_path() && wanted.is_of_path()) => {
                return self.ensure_space(&noted.space).await;
            }
            noted => noted.as_ref().map(|noted| noted.space.clone()),
        };
        if let Some(former) = former.filter(|space| space != wanted)
            && let Some(from) = self.find(&former).await.map_err(explain)?
        {
            self.carry(from, wanted).await?;
        }
        self.ensure_space(wanted).await
    }

    /// Returns the number of a space, which is made if absent.
    async fn ensure_space(&mut self, space: &Space) -> Result<(i64, Space), StoreError> {
        let sql = "INSERT INTO space (name) VALUES ($1) ON CONFLICT DO NOTHING";
        sqlx::query(sql).bind(space.as_str()).execute(&mut *self.db).await.map_err(explain)?;
        let id = self.find(space).await.map_err(explain)?;
        let id = id.ok_or_else(|| StoreError::Failed { reason: "the space was not made".to_owned() })?;
        Ok((id, space.clone()))
    }

    async fn find(&mut self, space: &Space) -> Result<Option<i64>, sqlx::Error> {
        let query = sqlx::query("SELECT id FROM space WHERE name = $1").bind(space.as_str());
        query.fetch_optional(&mut *self.db).await?.map(|row| row.try_get(0)).transpose()
    }

    /// Moves one space into another if all agents there are the project's own.
    async fn carry(&mut self, from: i64, wanted: &Space) -> Result<(), StoreError> {
        // Prevents registrations until the move is done.
        let lock = "LOCK TABLE agent IN SHARE ROW EXCLUSIVE MODE";
        sqlx::query(lock).execute(&mut *self.db).await.map_err(explain)?;
        let into = self.find(wanted).await.map_err(explain)?;
        // Agents without a holder, as an import leaves them, do not block a move.
        let others = format!("a.host IS NOT NULL AND NOT {OWN}");
        let mut names = self.names(from, &others).await.map_err(explain)?;
        if let Some(into) = into {
            let same = "EXISTS (SELECT 1 FROM agent f WHERE f.space = $4 AND f.name = a.name)";
            names.extend(self.names_beside(into, &format!("{others} AND {same}"), from).await.map_err(explain)?);
        }
        if !names.is_empty() {
            let waiting = self.count_waiting(from).await.map_err(explain)?;
            return Err(self.refuse(Why::Others { names, waiting }));
        }
        let carried = match into {
            None => {
                let sql = "UPDATE space SET name = $2 WHERE id = $1";
                sqlx::query(sql).bind(from).bind(wanted.as_str()).execute(&mut *self.db).await.map(drop)
            }
            Some(into) => self.join(into, from).await,
        };
        carried.map_err(explain)
    }

    fn refuse(&self, why: Why) -> StoreError {
        match &self.former.refuse {
            Some(refuse) => refuse(why),
            None => StoreError::Failed { reason: format!("the mail is elsewhere: {why:?}") },
        }
    }

    fn own_columns(&self) -> (Vec<String>, Vec<Option<String>>, String) {
        let (names, worktrees) = self.former.own.agents.iter().cloned().unzip();
        (names, worktrees, self.former.own.host.clone())
    }

    async fn names(&mut self, space: i64, which: &str) -> Result<Vec<String>, sqlx::Error> {
        self.names_beside(space, which, 0).await
    }

    async fn names_beside(&mut self, space: i64, which: &str, beside: i64) -> Result<Vec<String>, sqlx::Error> {
        let (names, worktrees, host) = self.own_columns();
        let sql = format!("SELECT a.name FROM agent a WHERE a.space = $5 AND {which} ORDER BY a.name LIMIT 5");
        let query = sqlx::query(&sql).bind(names).bind(worktrees).bind(host).bind(beside).bind(space);
        query.fetch_all(&mut *self.db).await?.iter().map(|row| row.try_get(0)).collect()
    }

    /// Returns the number of messages that wait for the project's own agents.
    async fn count_waiting(&mut self, space: i64) -> Result<u64, sqlx::Error> {
        let (names, worktrees, host) = self.own_columns();
        let sql = format!(
            "SELECT coalesce(sum(b.free[1] + b.free[2] + b.free[3] + b.free[4] + b.leased), 0)::bigint \
             FROM agent a JOIN mailbox b ON b.agent = a.id WHERE a.space = $5 AND {OWN}"
        );
        let query = sqlx::query(&sql).bind(names).bind(worktrees).bind(host).bind(0_i64).bind(space);
        Ok(query.fetch_one(&mut *self.db).await?.try_get::<i64, _>(0)?.max(0) as u64)
    }

    /// Moves everything from one space into another, joins each agent's mailboxes, and removes the former space.
    async fn join(&mut self, into: i64, from: i64) -> Result<(), sqlx::Error> {
        for sql in JOIN {
            sqlx::query(sql).bind(into).bind(from).execute(&mut *self.db).await?;
        }
        Ok(())
    }
}

/// SQL condition: the agent `a` is the project's own.
const OWN: &str = "(a.host = $3 AND $4::bigint IS NOT NULL AND EXISTS (SELECT 1 FROM \
                   unnest($1::text[], $2::text[]) AS own(name, worktree) \
                   WHERE own.name = a.name AND (own.worktree IS NULL OR own.worktree = a.worktree)))";

/// Moves the space `$2` into `$1`. An imported id or a key means one thing: the space `$1` keeps it.
const JOIN: &[&str] = &[
    "UPDATE agent SET alias = NULL WHERE space = $2 AND alias IN (SELECT alias FROM agent WHERE space = $1)",
    "UPDATE delivery d SET agent = t.id, seq = d.seq + b.seq FROM agent o, agent t, mailbox b \
     WHERE d.agent = o.id AND o.space = $2 AND t.space = $1 AND t.name = o.name AND b.agent = t.id",
    "UPDATE hint h SET agent = t.id FROM agent o, agent t \
     WHERE h.agent = o.id AND o.space = $2 AND t.space = $1 AND t.name = o.name",
    "UPDATE mailbox b SET seq = b.seq + f.seq, tip = b.tip + f.tip, bytes = b.bytes + f.bytes, leased = b.leased + f.leased, \
     free = ARRAY[b.free[1] + f.free[1], b.free[2] + f.free[2], b.free[3] + f.free[3], b.free[4] + f.free[4]] \
     FROM mailbox f, agent o, agent t \
     WHERE f.agent = o.id AND o.space = $2 AND t.space = $1 AND t.name = o.name AND b.agent = t.id",
    "DELETE FROM mailbox b USING agent o, agent t \
     WHERE b.agent = o.id AND o.space = $2 AND t.space = $1 AND t.name = o.name",
    "UPDATE agent t SET fence = greatest(t.fence, o.fence), registered_at = least(t.registered_at, o.registered_at) \
     FROM agent o WHERE o.space = $2 AND t.space = $1 AND t.name = o.name",
    "DELETE FROM agent o USING agent t WHERE o.space = $2 AND t.space = $1 AND t.name = o.name",
    "UPDATE agent SET space = $1 WHERE space = $2",
    "INSERT INTO member SELECT t.id, m.kind, m.name FROM member m JOIN groups o ON o.id = m.grouping_id \
     JOIN groups t ON t.space = $1 AND t.name = o.name WHERE o.space = $2 ON CONFLICT DO NOTHING",
    "DELETE FROM member m USING groups o, groups t \
     WHERE m.grouping_id = o.id AND o.space = $2 AND t.space = $1 AND t.name = o.name",
    "DELETE FROM groups o USING groups t WHERE o.space = $2 AND t.space = $1 AND t.name = o.name",
    "UPDATE groups SET space = $1 WHERE space = $2",
    "UPDATE message m SET key = NULL, hash = NULL WHERE space = $2 AND key IS NOT NULL AND EXISTS \
     (SELECT 1 FROM message t WHERE t.space = $1 AND t.sender = m.sender AND t.key = m.key)",
    "UPDATE message SET space = $1 WHERE space = $2",
    "UPDATE tomb m SET key = NULL, hash = NULL WHERE space = $2 AND key IS NOT NULL AND EXISTS \
     (SELECT 1 FROM tomb t WHERE t.space = $1 AND t.sender = m.sender AND t.key = m.key)",
    "UPDATE tomb SET space = $1 WHERE space = $2",
    "UPDATE purge SET space = $1 WHERE space = $2",
    "DELETE FROM space WHERE id = $2 AND $1::bigint IS NOT NULL",
];
