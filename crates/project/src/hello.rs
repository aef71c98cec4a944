//! The first line of a connection and its answer: one JSON object each, before any other message.
//!
//! Only the number in `hob` decides whether two programs understand each other: version N also speaks N−1. The fields
//! `hob`, `role`, `make_room`, `ok`, `error`, `busy` and `making_room` keep their meaning in every version, so that
//! programs that do not understand each other can still say so.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Environment, Project, Results, VERSION};

/// The protocol number of this program.
pub const PROTOCOL: u32 = 1;

/// The length limit of a first line, in bytes.
pub const LINE_MAX: usize = 1024 * 1024;

/// Returns the highest protocol number that programs supporting up to `ours` and up to `theirs` have in common, if any.
pub fn agree(ours: u32, theirs: u32) -> Option<u32> {
    (ours.abs_diff(theirs) <= 1).then_some(ours.min(theirs))
}

/// The purpose of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// An agent: MCP follows.
    Mcp,
    /// The command line, hooks and user interfaces: hob's own JSON-RPC follows.
    Control,
}

/// The first line from the side that connects. Unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The highest protocol number of the sender.
    pub hob: u32,
    /// The purpose of the connection.
    pub role: Role,
    /// The session that tools use by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The worktree around it; names default to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<PathBuf>,
    /// The system whose tools are imitated (`ghc-mcp`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The requested toolsets; empty for the ones that the project enables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub toolsets: Vec<String>,
    /// The form of tool results; by default it depends on the client's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Results>,
    /// The agent's name.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// True to take that name from its holder elsewhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takeover: bool,
    /// The id of this run of the agent: created by its front-end, the same over all its connections, and new after a
    /// restart. Items delivered to an earlier run are delivered again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// True if answers that deliver something were lost with the previous connection: it is delivered again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answers_lost: bool,
    /// The receipt in the last such answer that arrived ([`Repeat::HandsOut`]). If the agent has not gone on from
    /// there, the lost call had no effect.
    #[serde(default, rename = "last_message", skip_serializing_if = "Option::is_none")]
    pub last_receipt: Option<String>,
    /// The environment of processes started on this connection's behalf: the allowed variables only.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Additional variables, for short-lived programs run on this connection's behalf. Sessions do not get them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub asked_env: BTreeMap<String, String>,
    /// The version, for people.
    #[serde(default)]
    pub version: String,
    /// Asks an idle daemon that does not support this `hob` number to stop, so that a newer one can start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub make_room: bool,
    /// True if the connection is for one request, of which there are many: it has no environment and no journal record.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brief: bool,
}

impl Hello {
    /// Creates a hello of role `control` for one request. It carries no environment: nothing is started on its behalf.
    pub fn brief(project: &Project, cwd: &Path) -> Hello {
        Hello { brief: true, ..Hello::with(Role::Control, project, cwd) }
    }

    /// Creates a hello from this process for `cwd`, with the allowed part of its environment.
    pub fn new(role: Role, project: &Project, cwd: &Path) -> Hello {
        let (env, asked_env) = (Environment::of_this_process(), Environment::for_questions());
        Hello { env, asked_env, ..Hello::with(role, project, cwd) }
    }

    fn with(role: Role, project: &Project, cwd: &Path) -> Hello {
        Hello {
            hob: PROTOCOL,
            role,
            session: None,
            cwd: utf8(cwd),
            worktree: Some(utf8(&project.worktree(cwd))),
            profile: None,
            toolsets: Vec::new(),
            results: None,
            name: agent_name(),
            takeover: false,
            run: None,
            answers_lost: false,
            last_receipt: None,
            env: BTreeMap::new(),
            asked_env: BTreeMap::new(),
            version: VERSION.to_owned(),
            make_room: false,
            brief: false,
        }
    }

    /// Returns the line, with its newline.
    pub fn to_line(&self) -> Vec<u8> {
        line(self)
    }
}

/// The answer to a [`Hello`]. Unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelloAck {
    /// The agreed protocol number; when refused for its number, the highest that the daemon supports.
    pub hob: u32,
    /// True if the connection is accepted.
    pub ok: bool,
    /// The daemon's version, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The daemon's process id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The id of this daemon process: another value means that earlier sessions are gone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub life: String,
    /// The hash of the connection's tool list.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub listing: String,
    /// The read-only tools in it: a lost call of these may be repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_only: Vec<String>,
    /// How lost calls of the other tools may be repeated; `None` from a daemon without this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Vec<RepeatRule>>,
    /// The reason for a refusal, with the next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The activity that keeps a daemon of another protocol from stopping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<String>,
    /// True if the daemon stops now, as requested: connect again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub making_room: bool,
}

impl HelloAck {
    /// Accepts the connection; `hob` is the number from [`agree`].
    pub fn accepted(hob: u32, life: &str) -> HelloAck {
        HelloAck { hob, ok: true, error: None, busy: None, making_room: false, ..HelloAck::refused("", life) }
    }

    /// Refuses the connection: `error` gives the reason and the next step.
    pub fn refused(error: impl Into<String>, life: &str) -> HelloAck {
        HelloAck {
            hob: PROTOCOL,
            ok: false,
            version: VERSION.to_owned(),
            pid: Some(std::process::id()),
            life: life.to_owned(),
            listing: String::new(),
            read_only: Vec::new(),
            repeat: None,
            error: Some(error.into()),
            busy: None,
            making_room: false,
        }
    }

    /// Returns a daemon's answer to a hello without a common number. `busy` describes the activity that keeps the
    /// daemon running, if any; if the result says `making_room`, the daemon must stop after sending it.
    pub fn incompatible(hello: &Hello, busy: Option<String>, life: &str) -> HelloAck {
        let theirs = hello.hob;
        let making_room = hello.make_room && busy.is_none() && theirs > PROTOCOL;
        let error = format!(
            "this daemon (hob {VERSION}, pid {}) speaks protocol {PROTOCOL} and the caller {theirs}; {}",
            std::process::id(),
            match (theirs > PROTOCOL, &busy) {
                (false, _) => "install the newer hob for the caller too, then restart the agent".to_owned(),
                (true, Some(busy)) => format!("it still runs {busy}; when that may be lost, end it with `hob stop`"),
                (true, None) => "it is idle; end it with `hob stop`".to_owned(),
            }
        );
        HelloAck { busy, making_room, ..HelloAck::refused(error, life) }
    }

    /// Returns the line, with its newline.
    pub fn to_line(&self) -> Vec<u8> {
        line(self)
    }
}

/// How a call of some tools that was lost with its daemon may be repeated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatRule {
    pub tools: Vec<String>,
    #[serde(flatten)]
    pub how: Repeat,
}

/// The repeat rule that a tool declares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Repeat {
    /// Running it twice may do harm. Holds the advice with a new daemon, and with the same one.
    Unsafe { restarted: String, reconnected: String },
    /// Running it twice may do harm; the advice explains how to check if it ran.
    Visible { advice: String },
    /// It may be repeated if this argument has a text. Holds the advice without one, and with one.
    Keyed { argument: String, advice: String, keyed_advice: String },
    /// It delivers something, and does so again. Holds the field of the answer that identifies the delivery.
    HandsOut { receipt: String },
    /// It only changes its connection: it is repeated on the next one.
    Lasting,
    /// A rule from a newer daemon.
    #[serde(other)]
    Unknown,
}

/// The one line that `hob serve --background` prints on standard output: when it serves, or when it cannot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readiness {
    /// True if the daemon serves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ready: bool,
    /// The reason for a failure, with the next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Readiness {
    /// Reports that it serves.
    pub fn ready() -> Readiness {
        Readiness { ready: true, error: None }
    }

    /// Reports a failure.
    pub fn failed(error: impl Into<String>) -> Readiness {
        Readiness { ready: false, error: Some(error.into()) }
    }

    /// Returns the line, with its newline.
    pub fn to_line(&self) -> Vec<u8> {
        line(self)
    }
}

fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("strings, numbers and UTF-8 paths serialize");
    line.push(b'\n');
    line
}

/// Returns the agent's name from the environment: `HOB_AGENT`, else `THRUM_NAME`.
fn agent_name() -> Option<String> {
    ["HOB_AGENT", "THRUM_NAME"].iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

/// Converts a path to UTF-8, since JSON has no other strings; invalid bytes are replaced.
fn utf8(path: &Path) -> PathBuf {
    PathBuf::from(path.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn rules_that_a_newer_daemon_has_are_passed_over() {
        let rules = r#"[{"tools":["a"],"how":"hands_out","receipt":"id"},{"tools":["b"],"how":"some_day","of":3}]"#;
        let line = format!(r#"{{"hob":1,"ok":true,"repeat":{rules}}}"#);
        let repeat = serde_json::from_str::<HelloAck>(&line).unwrap().repeat.unwrap();
        let hows: Vec<_> = repeat.into_iter().map(|rule| rule.how).collect();
        assert_eq!(hows, [Repeat::HandsOut { receipt: "id".to_owned() }, Repeat::Unknown]);
        assert_eq!(serde_json::from_str::<HelloAck>(r#"{"hob":1,"ok":true}"#).unwrap().repeat, None);
    }

    #[test]
    fn neighbours_agree() {
        let table: Vec<_> = [(1, 1), (2, 1), (1, 2), (3, 1), (7, 9)].map(|(a, b)| agree(a, b)).into();
        assert_eq!(table, [Some(1), Some(1), Some(1), None, None]);
    }

    #[test]
    fn the_lines() {
        let mut hello = Hello {
            hob: PROTOCOL,
            role: Role::Mcp,
            session: None,
            cwd: "/p/src".into(),
            worktree: Some("/p".into()),
            profile: Some("ghc-mcp".into()),
            toolsets: vec!["repl".into()],
            results: None,
            name: Some("anna".into()),
            takeover: false,
            run: None,
            answers_lost: false,
            last_receipt: None,
            env: BTreeMap::from([("PATH".into(), "/bin".into())]),
            asked_env: BTreeMap::new(),
            version: "0.1.0".into(),
            make_room: false,
            brief: false,
        };
        let text = String::from_utf8(hello.to_line()).unwrap();
        expect![[r#"
            {"hob":1,"role":"mcp","cwd":"/p/src","worktree":"/p","profile":"ghc-mcp","toolsets":["repl"],"as":"anna","env":{"PATH":"/bin"},"version":"0.1.0"}
        "#]]
        .assert_eq(&text);
        assert_eq!(serde_json::from_str::<Hello>(&text).unwrap(), hello);
        let short: Hello = serde_json::from_str(r#"{"hob":1,"role":"control","cwd":"/","later":1}"#).unwrap();
        assert_eq!((short.role, short.make_room), (Role::Control, false));

        let ack = HelloAck { version: "0.1.0".into(), pid: Some(7), ..HelloAck::accepted(1, "a1") };
        expect![[r#"
            {"hob":1,"ok":true,"version":"0.1.0","pid":7,"life":"a1"}
        "#]]
        .assert_eq(&String::from_utf8(ack.to_line()).unwrap());

        hello.hob = 9;
        hello.make_room = true;
        assert!(HelloAck::incompatible(&hello, None, "a1").making_room);
        let busy = HelloAck::incompatible(&hello, Some("2 sessions (main, test)".into()), "a1");
        assert!(!busy.making_room);
        assert!(
            busy.error
                .unwrap()
                .contains("still runs 2 sessions (main, test); when that may be lost, end it with `hob stop`")
        );
    }
}
