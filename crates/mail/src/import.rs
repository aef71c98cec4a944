//! What a `.thrum` directory holds: agents, groups and messages, read from its log of events (`events.jsonl`, and one
//! file of messages an agent). Only reads and understands; [`crate::Mail`] takes it in.
//!
//! The log is merged from several machines, so that an event may stand in it twice and in any order: events count once
//! by their id, and are applied by time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::Deserialize;

use crate::time;
use project::visible::path as shown;

/// The longest line that is read, in bytes.
const LINE_MAX: u64 = 8 << 20;
/// How long a log may be, all files of it together, in bytes.
const LOG_MAX: u64 = 512 << 20;
/// The longest path that one may be redirected to, in bytes.
const PATH_MAX: u64 = 4096;

/// Everything that was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// By name.
    pub agents: Vec<FoundAgent>,
    /// By name; without `everyone`.
    pub groups: Vec<FoundGroup>,
    /// By time.
    pub messages: Vec<FoundMessage>,
    /// Lines that are no events, or events of another shape.
    pub unreadable: u64,
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundAgent {
    /// Its id there: a name, or `agent:role:hash`, or `role_hash`.
    pub id: String,
    /// The name it goes by here: legal, and made from the id where that is not.
    pub name: String,
    /// What it is for.
    pub role: String,
    /// What it works on.
    pub module: String,
}

/// A group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundGroup {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Who made it, by the name here.
    pub created_by: String,
    /// `agent` or `role`, and the name here.
    pub members: BTreeSet<(String, String)>,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundMessage {
    /// Its id.
    pub id: String,
    /// Who wrote it, by the name here.
    pub from: String,
    /// Whom it names: agents, roles and groups, as addresses.
    pub to: Vec<String>,
    /// Its text.
    pub content: String,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// What it answers.
    pub reply_to: Option<String>,
}

/// Why nothing was read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum ImportError {
    #[error(
        "{} holds no log of Thrum (events.jsonl); name the .thrum directory, or the directory of the log's branch \
         (.git/thrum-sync/a-sync)",
        shown(path)
    )]
    NoLog { path: PathBuf },
    #[error("read {}: {source}", shown(path))]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "the log in {} has more than {LOG_MAX} bytes; look whether its files are logs, and take out what need not be imported",
        shown(path)
    )]
    TooLong { path: PathBuf },
}

/// Reads the log of a `.thrum` directory, or of the repository around it.
pub fn read(dir: &Path) -> Result<Found, ImportError> {
    let log = log_dir(dir).ok_or_else(|| ImportError::NoLog { path: dir.to_owned() })?;
    let mut events = BTreeMap::new();
    let mut found = Found::default();
    let mut files = vec![log.join("events.jsonl"), log.join("messages.jsonl")];
    let messages = fs::read_dir(log.join("messages")).into_iter().flatten().flatten().map(|entry| entry.path());
    files.extend(messages.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")));
    files.sort();
    files.retain(|path| path.is_file());
    let length: u64 =
        files.iter().filter_map(|path| path.metadata().ok()).map(|data| data.len()).fold(0, u64::saturating_add);
    if length > LOG_MAX {
        return Err(ImportError::TooLong { path: log });
    }
    for path in files {
        read_file(&path, &mut events, &mut found.unreadable)
            .map_err(|source| ImportError::Read { path: path.clone(), source })?;
    }
    Picture::of(events.into_values()).into_found(found)
}

/// Where the log is: in the directory itself, in its `sync`, or in the repository's worktree for it.
fn log_dir(dir: &Path) -> Option<PathBuf> {
    let redirect = redirect(&dir.join("redirect")).map(|text| PathBuf::from(text.trim()));
    let dir = redirect.unwrap_or_else(|| dir.to_owned());
    let above = dir.parent().map(|above| above.join(".git/thrum-sync/a-sync"));
    let places = [Some(dir.clone()), Some(dir.join("sync")), Some(dir.join(".git/thrum-sync/a-sync")), above];
    places.into_iter().flatten().find(|place| place.join("events.jsonl").is_file())
}

/// What a file of one path holds.
fn redirect(path: &Path) -> Option<String> {
    let mut text = String::new();
    open(path).ok()?.take(PATH_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Opens a file to be read. Never waits, as a pipe in the place of one would make whoever opens it.
fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file")),
    }
}

/// One event, as much of it as matters here.
#[derive(Debug, Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    timestamp: String,
    #[serde(default)]
    event_id: String,
    #[serde(default)]
    message_id: String,
    #[serde(default)]
    agent_id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    role: String,
    #[serde(default)]
    module: String,
    #[serde(default)]
    group_id: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    created_by: String,
    #[serde(default)]
    member_type: String,
    #[serde(default)]
    member_value: String,
    #[serde(default)]
    body: Body,
    #[serde(default)]
    scopes: Vec<Pair>,
    #[serde(default)]
    refs: Vec<Pair>,
    #[serde(default)]
    fields: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
struct Body {
    #[serde(default)]
    content: String,
}

#[derive(Debug, Deserialize)]
struct Pair {
    #[serde(rename = "type")]
    kind: String,
    value: String,
}

/// Events by time, then id.
type Events = BTreeMap<(u64, String), Event>;

fn read_file(path: &Path, events: &mut Events, unreadable: &mut u64) -> io::Result<()> {
    let mut reader = BufReader::new(open(path)?);
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        if reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Event>(&line) {
            Ok(event) => {
                let at = time::parse(&event.timestamp).unwrap_or_default();
                let id = match event.event_id.is_empty() {
                    true => format!("{}:{number}", path.display()),
                    false => event.event_id.clone(),
                };
                events.entry((at, id)).or_insert(event);
            }
            Err(_) => *unreadable += 1,
        }
        // The rest of a line that is longer than any event.
        while line.last() != Some(&b'\n') && line.len() as u64 == LINE_MAX {
            line.clear();
            reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)?;
        }
    }
}

/// What the events amount to.
#[derive(Default)]
struct Picture {
    agents: BTreeMap<String, FoundAgent>,
    groups: BTreeMap<String, FoundGroup>,
    messages: BTreeMap<String, FoundMessage>,
    /// Groups by their ids, under which members come and go.
    group_names: BTreeMap<String, String>,
}

impl Picture {
    fn of(events: impl Iterator<Item = Event>) -> Picture {
        let mut picture = Picture::default();
        let mut deleted = BTreeSet::new();
        for event in events {
            let at = time::parse(&event.timestamp).unwrap_or_default();
            match event.kind.as_str() {
                "agent.register" => picture.registered(event),
                "agent.cleanup" => _ = picture.agents.remove(&event.agent_id),
                "message.create" => picture.written(event, at),
                "message.edit" => {
                    if let Some(message) = picture.messages.get_mut(&event.message_id) {
                        message.content = event.body.content;
                    }
                }
                "message.delete" => _ = deleted.insert(event.message_id),
                kind if kind.starts_with("group.") => picture.grouped(event),
                _ => {}
            }
        }
        // A deletion counts even where the clocks of two machines put it before the message.
        picture.messages.retain(|id, _| !deleted.contains(id));
        picture
    }

    fn registered(&mut self, event: Event) {
        let id = if event.agent_id.is_empty() { event.name.clone() } else { event.agent_id };
        let name = legal(if event.name.is_empty() { &id } else { &event.name });
        let role = if event.role.is_empty() { "agent".to_owned() } else { legal(&event.role) };
        self.agents.insert(id.clone(), FoundAgent { id, name, role, module: event.module });
    }

    fn written(&mut self, event: Event, at: u64) {
        let group = |scope: &&Pair| scope.kind == "group";
        let mention = |pair: &&Pair| pair.kind == "mention";
        let mut to: Vec<String> = event
            .scopes
            .iter()
            .chain(&event.refs)
            .filter(group)
            .map(|group| format!("group:{}", legal(&group.value)))
            .collect();
        to.extend(event.refs.iter().filter(mention).map(|who| who.value.trim_start_matches('@').to_owned()));
        to.dedup();
        let reply_to = event.refs.iter().find(|pair| pair.kind == "reply_to").map(|pair| pair.value.clone());
        let message = FoundMessage {
            id: event.message_id.clone(),
            from: event.agent_id,
            to,
            content: event.body.content,
            at,
            reply_to,
        };
        self.messages.entry(event.message_id).or_insert(message);
    }

    fn grouped(&mut self, event: Event) {
        let known = self.group_names.get(&event.group_id).cloned();
        let name = if event.name.is_empty() { known.unwrap_or_default() } else { legal(&event.name) };
        if name.is_empty() || name == "everyone" {
            return;
        }
        let member = (event.member_type, event.member_value);
        match event.kind.as_str() {
            "group.create" => {
                self.group_names.insert(event.group_id, name.clone());
                let (description, created_by) = (event.description, event.created_by);
                let group = FoundGroup { name: name.clone(), description, created_by, members: BTreeSet::new() };
                self.groups.entry(name).or_insert(group);
            }
            "group.delete" => _ = self.groups.remove(&name),
            kind => {
                let Some(group) = self.groups.get_mut(&name) else { return };
                match kind {
                    "group.member.add" => _ = group.members.insert(member),
                    "group.member.remove" => _ = group.members.remove(&member),
                    "group.update" => {
                        if let Some(description) = event.fields.get("description") {
                            group.description.clone_from(description);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// With names of here in place of ids of there.
    fn into_found(self, mut found: Found) -> Result<Found, ImportError> {
        let names: BTreeMap<String, String> =
            self.agents.values().map(|agent| (agent.id.clone(), agent.name.clone())).collect();
        let name_of = |id: &str| names.get(id).cloned().unwrap_or_else(|| legal(id));
        found.groups = self.groups.into_values().collect();
        for group in &mut found.groups {
            group.created_by = name_of(&group.created_by);
            let members = std::mem::take(&mut group.members).into_iter();
            // Groups hold no groups here.
            group.members = members
                .filter(|(kind, _)| kind == "agent" || kind == "role")
                .map(|(kind, id)| if kind == "agent" { (kind, name_of(&id)) } else { (kind, legal(&id)) })
                .collect();
        }
        found.messages = self.messages.into_values().collect();
        for message in &mut found.messages {
            message.from = name_of(&message.from);
            for to in message.to.iter_mut().filter(|to| !to.starts_with("group:")) {
                *to = name_of(to);
            }
        }
        found.messages.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
        found.agents = self.agents.into_values().collect();
        found.agents.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }
}

/// A name of here from one of there: `agent:dev:1A2B` becomes `agent-dev-1a2b`.
fn legal(name: &str) -> String {
    let letters = name.trim_start_matches('@').chars().map(|c| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '_' | '-') => c,
        _ => '-',
    });
    letters.take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    const EVENTS: &str = r#"{"type":"agent.register","timestamp":"2026-02-13T10:00:00Z","event_id":"evt_1","v":1,"agent_id":"planner","kind":"agent","name":"planner","role":"planner","module":"all"}
{"type":"agent.register","timestamp":"2026-02-13T10:00:01Z","event_id":"evt_2","v":1,"agent_id":"agent:dev:1A2B","kind":"agent","role":"dev","module":"auth"}
{"type":"agent.register","timestamp":"2026-02-13T10:00:02Z","event_id":"evt_3","v":1,"agent_id":"gone","kind":"agent","name":"gone","role":"dev","module":""}
{"type":"agent.cleanup","timestamp":"2026-02-13T10:00:03Z","event_id":"evt_4","v":1,"agent_id":"gone"}
{"type":"agent.session.start","timestamp":"2026-02-13T10:00:03Z","event_id":"evt_5","v":1,"session_id":"ses_1","agent_id":"planner"}
{"type":"group.create","timestamp":"2026-02-13T10:01:00Z","event_id":"evt_6","v":1,"group_id":"grp_1","name":"backend","description":"those who\nship","created_by":"planner"}
{"type":"group.member.add","timestamp":"2026-02-13T10:01:01Z","event_id":"evt_7","v":1,"group_id":"grp_1","member_type":"role","member_value":"dev","added_by":"planner"}
{"type":"group.member.add","timestamp":"2026-02-13T10:01:02Z","event_id":"evt_8","v":1,"group_id":"grp_1","member_type":"agent","member_value":"planner","added_by":"planner"}
{"type":"group.member.remove","timestamp":"2026-02-13T10:01:03Z","event_id":"evt_9","v":1,"group_id":"grp_1","member_type":"agent","member_value":"planner","removed_by":"planner"}
rubbish
{"type":"agent.register","timestamp":"2026-02-13T10:00:00Z","event_id":"evt_1","v":1,"agent_id":"planner","kind":"agent","name":"planner","role":"planner","module":"all"}
"#;
    const MESSAGES: &str = r#"{"type":"message.create","timestamp":"2026-02-13T10:02:00Z","event_id":"evt_10","v":1,"message_id":"msg_A","agent_id":"planner","session_id":"ses_1","body":{"format":"markdown","content":"frist"},"refs":[{"type":"mention","value":"agent:dev:1A2B"}]}
{"type":"message.edit","timestamp":"2026-02-13T10:02:30Z","event_id":"evt_11","v":1,"message_id":"msg_A","body":{"format":"markdown","content":"first"}}
{"type":"message.create","timestamp":"2026-02-13T10:03:00Z","event_id":"evt_12","v":1,"message_id":"msg_B","agent_id":"agent:dev:1A2B","session_id":"ses_2","body":{"format":"markdown","content":"second"},"scopes":[{"type":"group","value":"backend"}],"refs":[{"type":"reply_to","value":"msg_A"}]}
{"type":"message.create","timestamp":"2026-02-13T10:04:00Z","event_id":"evt_13","v":1,"message_id":"msg_C","agent_id":"planner","session_id":"ses_1","body":{"format":"plain","content":"regretted"}}
{"type":"message.delete","timestamp":"2026-02-13T10:04:01Z","event_id":"evt_14","v":1,"message_id":"msg_C","reason":"oops"}
"#;

    #[test]
    fn what_is_no_log_keeps_nobody_waiting() {
        use rustix::fs::{CWD, Mode, mkfifoat};
        let temp = tempfile::tempdir().unwrap();
        let file = |name: &str| temp.path().join(name);
        mkfifoat(CWD, file("redirect"), Mode::RWXU).unwrap();
        assert!(matches!(read(temp.path()), Err(ImportError::NoLog { .. })));
        fs::write(file("events.jsonl"), EVENTS).unwrap();
        fs::create_dir(file("messages")).unwrap();
        mkfifoat(CWD, file("messages/a.jsonl"), Mode::RWXU).unwrap();
        std::os::unix::fs::symlink("/dev/zero", file("messages/b.jsonl")).unwrap();
        assert_eq!(read(temp.path()).unwrap().agents.len(), 2);
        File::create(file("messages/c.jsonl")).unwrap().set_len(1 << 40).unwrap();
        assert!(matches!(read(temp.path()), Err(ImportError::TooLong { .. })));
        fs::remove_file(file("messages/c.jsonl")).unwrap();
        fs::remove_file(file("redirect")).unwrap();
        File::create(file("redirect")).unwrap().set_len(1 << 40).unwrap();
        assert!(read(temp.path()).is_err(), "a path of NULs leads nowhere");
    }

    #[test]
    fn a_log_is_understood() {
        let temp = tempfile::tempdir().unwrap();
        let log = temp.path().join(".git/thrum-sync/a-sync");
        fs::create_dir_all(log.join("messages")).unwrap();
        fs::create_dir(temp.path().join(".thrum")).unwrap();
        assert!(matches!(read(&temp.path().join(".thrum")), Err(ImportError::NoLog { .. })));
        fs::write(log.join("events.jsonl"), EVENTS).unwrap();
        fs::write(log.join("messages/planner.jsonl"), MESSAGES).unwrap();
        let found = read(&temp.path().join(".thrum")).unwrap();
        assert_eq!(read(temp.path()).unwrap(), found, "the repository may be named too");
        let agents: Vec<String> =
            found.agents.iter().map(|a| format!("{} = {} ({}, {:?})", a.id, a.name, a.role, a.module)).collect();
        let groups: Vec<String> =
            found.groups.iter().map(|g| format!("{} {:?}: {:?}", g.name, g.description, g.members)).collect();
        let messages: Vec<String> = found
            .messages
            .iter()
            .map(|m| format!("{} {} → {:?} {:?} ({:?})", m.id, m.from, m.to, m.content, m.reply_to))
            .collect();
        expect![[r#"
            agent:dev:1A2B = agent-dev-1a2b (dev, "auth")
            planner = planner (planner, "all")
            backend "those who\nship": {("role", "dev")}
            msg_A planner → ["agent-dev-1a2b"] "first" (None)
            msg_B agent-dev-1a2b → ["group:backend"] "second" (Some("msg_A"))
            1 unreadable"#]]
        .assert_eq(&[agents, groups, messages, vec![format!("{} unreadable", found.unreadable)]].concat().join("\n"));
    }
}
