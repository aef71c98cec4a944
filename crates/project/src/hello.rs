//! The first line of a connection and its answer: one JSON object each, before anything else is spoken.
//!
//! Only the number in `hob` decides whether two programs understand each other: version N also speaks N−1. The fields
//! `hob`, `role`, `make_room`, `ok`, `error`, `busy` and `making_room` keep their meaning in every version, so that
//! programs that do not understand each other can still say so.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Environment, Project, Results, VERSION};

/// What this program speaks.
pub const PROTOCOL: u32 = 1;

/// The longest first line either side reads, in bytes.
pub const LINE_MAX: usize = 1024 * 1024;

/// Returns the number that a program speaking up to `ours` and one speaking up to `theirs` have in common, if any.
pub fn agree(ours: u32, theirs: u32) -> Option<u32> {
    (ours.abs_diff(theirs) <= 1).then_some(ours.min(theirs))
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// An agent: MCP follows.
    Mcp,
    /// The command line, hooks and faces: JSON-RPC of hob's own follows.
    Control,
}

/// The first line from the side that connects. Unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The highest protocol number it speaks.
    pub hob: u32,
    /// What the connection is for.
    pub role: Role,
    /// The session that tools mean when they are not told another.
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
    /// The toolsets asked for; empty for what the project enables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub toolsets: Vec<String>,
    /// The form of tool results; by default it depends on the client's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Results>,
    /// The name the agent goes by.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// True if to take that name from its holder elsewhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takeover: bool,
    /// This run of the agent: made by its front-end, the same over all its connections, another one when it is started
    /// again. What was handed out to a run that has ended is handed out again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Answers that hand something out were lost with the connection before: it is handed out again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answers_lost: bool,
    /// What the last such answer that did come named as its receipt ([`Repeat::HandsOut`]). While the agent has not gone on
    /// from there, the lost call had no effect.
    #[serde(default, rename = "last_message", skip_serializing_if = "Option::is_none")]
    pub last_receipt: Option<String>,
    /// The environment for what is started on this connection's behalf: the allowed variables only.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// More variables, for programs that are asked something on this connection's behalf and end. Sessions do not get them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub asked_env: BTreeMap<String, String>,
    /// The version, for people.
    #[serde(default)]
    pub version: String,
    /// Asks an idle daemon that does not understand this `hob` number to end, so that a newer one can start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub make_room: bool,
    /// The connection is for one request, of which there are many: it has no environment and no place in the journal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brief: bool,
}

impl Hello {
    /// Returns a hello of role `control` for one request. It carries no environment: nothing is started on its behalf.
    pub fn brief(project: &Project, cwd: &Path) -> Hello {
        Hello { brief: true, ..Hello::with(Role::Control, project, cwd) }
    }

    /// Returns a hello from this process, standing in `cwd`, with the allowed part of its environment.
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
    /// The number that will be spoken; when refused for its number, the highest the daemon speaks.
    pub hob: u32,
    /// True if the connection stands.
    pub ok: bool,
    /// The daemon's version, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The daemon's process id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Names this life of the daemon: another value means that sessions of before are gone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub life: String,
    /// Names the list of tools on this connection: another value, another list.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub listing: String,
    /// The tools of it that only read: a call of them that was lost may be made again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_only: Vec<String>,
    /// How lost calls of the other tools may be made again; `None` from a daemon that does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Vec<RepeatRule>>,
    /// Why not, and what to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What keeps a daemon of another protocol from making room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<String>,
    /// The daemon ends now, as it was asked to: connect again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub making_room: bool,
}

impl HelloAck {
    /// Returns the connection stands; `hob` is the number [`agree`] gave.
    pub fn accepted(hob: u32, life: &str) -> HelloAck {
        HelloAck { hob, ok: true, error: None, busy: None, making_room: false, ..HelloAck::refused("", life) }
    }

    /// Returns the connection does not stand: `error` says why and what to do next.
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

    /// Returns a daemon's answer to a hello whose number it does not share. `busy` is what keeps the daemon here, if
    /// anything does; when the result says `making_room`, the daemon has to end after sending it.
    pub fn incompatible(hello: &Hello, busy: Option<String>, life: &str) -> HelloAck {
        let theirs = hello.hob;
        let making_room = hello.make_room && busy.is_none() && theirs > PROTOCOL;
        let error = format!(
            "this daemon (hob {VERSION}, pid {}) speaks protocol {PROTOCOL} and the caller {theirs}; {}",
            std::process::id(),
            match (theirs > PROTOCOL, &busy) {
                (false, _) => "install the newer hob for the caller too, then start the agent anew".to_owned(),
                (true, Some(busy)) => format!("it is kept by {busy}; end it with `hob stop` when that may be lost"),
                (true, None) => "nothing keeps it; end it with `hob stop`".to_owned(),
            }
        );
        HelloAck { busy, making_room, ..HelloAck::refused(error, life) }
    }

    /// Returns the line, with its newline.
    pub fn to_line(&self) -> Vec<u8> {
        line(self)
    }
}

/// How a call of some tools may be made again that was lost with its daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatRule {
    pub tools: Vec<String>,
    #[serde(flatten)]
    pub how: Repeat,
}

/// As its tool declares it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Repeat {
    /// Running it twice may do harm. What to tell of where things stand: with a new daemon, and with the same one.
    Unsafe { restarted: String, reconnected: String },
    /// The same; the advice says how to see whether it ran.
    Visible { advice: String },
    /// With a text in this argument it may be made again. The advice is for one without, and for one with it.
    Keyed { argument: String, advice: String, keyed_advice: String },
    /// It hands something out, and does so again. The field of the answer that names what it was.
    HandsOut { receipt: String },
    /// It changes what its connection is given, and has no other effect: it is made again on the next one.
    Lasting,
    /// What a newer daemon says.
    #[serde(other)]
    Unknown,
}

/// What `hob serve --background` says on its standard output, once: one line when it serves or when it cannot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readiness {
    /// The daemon serves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ready: bool,
    /// Why it does not, and what to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Readiness {
    /// It serves.
    pub fn ready() -> Readiness {
        Readiness { ready: true, error: None }
    }

    /// It does not.
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

/// JSON has no other strings; a directory of another name is still a directory, so it is written with marks.
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
        assert!(busy.error.unwrap().contains("kept by 2 sessions (main, test); end it with `hob stop`"));
    }
}
