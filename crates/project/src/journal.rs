//! The journal: what happened, as typed records. Faces show it and tests wait on it; logs are another thing.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A record with its place in the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Counts from 1 in each life of the daemon, without gaps.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    #[serde(flatten)]
    pub record: Record,
}

impl Entry {
    /// An entry of now.
    pub fn now(seq: u64, record: Record) -> Entry {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Entry { seq, at_ms: u64::try_from(at.as_millis()).unwrap_or(u64::MAX), record }
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// With a result.
    Done,
    /// With a result that says what the caller should do differently.
    Error,
    /// By a fault of ours.
    Internal,
    /// Its caller cancelled it or went away.
    Cancelled,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A daemon serves.
    DaemonStarted {
        /// Its process id.
        pid: u32,
        version: String,
        /// Names this life.
        life: String,
    },
    /// The daemon ends.
    DaemonStopping { reason: String },
    /// A connection stands.
    ConnectionOpened {
        connection: u64,
        /// What it is for.
        role: crate::Role,
        /// The process at its other end.
        pid: u32,
        /// The name that its agent goes by.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// A connection ended.
    ConnectionClosed { connection: u64, reason: String },
    /// A tool call was answered.
    CallFinished {
        connection: u64,
        tool: String,
        outcome: CallOutcome,
        /// From its arrival to its answer.
        duration_ms: u64,
    },
    /// A session's program was started.
    SessionStarted {
        session: String,
        /// The worktree that its name belongs to.
        worktree: PathBuf,
        profile: String,
        /// The program's process id.
        pid: u32,
    },
    /// A session takes evaluations.
    SessionReady {
        session: String,
        /// The worktree that its name belongs to.
        worktree: PathBuf,
        /// From its start.
        duration_ms: u64,
    },
    /// A session's program ended.
    SessionEnded {
        session: String,
        /// The worktree that its name belongs to.
        worktree: PathBuf,
        /// How: stopped, exited, crashed, killed, idle.
        status: String,
        /// Details: the exit code, the signal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// An evaluation was handed to the program.
    EvaluationStarted {
        session: String,
        /// The worktree that its name belongs to.
        worktree: PathBuf,
        /// The evaluation's number in its session.
        eval: u64,
    },
    /// An evaluation ended.
    EvaluationFinished {
        session: String,
        /// The worktree that its name belongs to.
        worktree: PathBuf,
        /// The evaluation's number in its session.
        eval: u64,
        /// How: done, error, interrupted, exited, …
        status: String,
        /// How long it ran.
        duration_ms: u64,
    },
    /// Somebody interrupted a session.
    SessionInterrupted {
        session: String,
        /// The worktree that its name belongs to.
        worktree: PathBuf,
        /// What came of it.
        outcome: String,
    },
    /// A message is on disk.
    MailStored {
        message: String,
        /// Who wrote it.
        from: String,
        /// In how many mailboxes it is.
        recipients: u64,
    },
    /// A message waits on this machine's disk for a store that is away.
    MailQueued {
        message: String,
        /// Who wrote it.
        from: String,
    },
    /// A message was handed to an agent.
    MailHandedOut {
        message: String,
        /// To whom.
        agent: String,
        /// 1 the first time.
        attempt: u32,
    },
    /// An agent says what became of a message.
    MailSettled {
        message: String,
        /// Who says it.
        agent: String,
        /// How: acked, rejected.
        state: String,
    },
    /// A message was handed out too often without a confirmation.
    MailDead {
        message: String,
        /// To whom.
        agent: String,
    },
    /// Mail that was handled long ago was deleted.
    MailPurged {
        /// How many messages.
        messages: u64,
        /// All of it was handled before this, in milliseconds since 1970.
        before_ms: u64,
    },
    /// An agent is new.
    MailAgentRegistered { agent: String },
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_line_each() {
        let record = Record::EvaluationFinished {
            session: "main".into(),
            worktree: "/p".into(),
            eval: 3,
            status: "done".into(),
            duration_ms: 12,
        };
        let text = serde_json::to_string(&Entry { seq: 7, at_ms: 1, record: record.clone() }).unwrap();
        expect![[r#"{"seq":7,"at_ms":1,"record":"evaluation_finished","session":"main","worktree":"/p","eval":3,"status":"done","duration_ms":12}"#]]
        .assert_eq(&text);
        assert_eq!(serde_json::from_str::<Entry>(&text).unwrap().record, record);
        assert!(Entry::now(1, record).at_ms > 1_700_000_000_000);
    }
}
