//! Import of a `.thrum` directory: agents, groups and messages, read from its log of events (`events.jsonl`, and one
//! file of messages per agent). [`crate::Mail`] stores them.
//!
//! The log is merged from several machines, so an event may occur twice and out of order. Events count once by their id
//! and are applied by time. Other kinds of event are dropped while reading.

mod thrum_directory;

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use project::regular;
use project::visible::{cause, path as shown};
use serde::Deserialize;

use self::thrum_directory::Log;
use crate::time;

/// The longest line, in bytes.
const LINE_MAX: u64 = 8 << 20;
/// The longest log, all files together, in bytes.
const LOG_MAX: u64 = 512 << 20;
/// The maximum number of events of one import, and the longest their lines may be together, in bytes: they are in memory until all
/// are read.
const EVENTS_MAX: usize = 200_000;
const EVENTS_BYTES_MAX: usize = 128 << 20;

/// The contents of a log.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LogContents {
    /// By name.
    pub agents: Vec<FoundAgent>,
    /// By name; without `everyone`.
    pub groups: Vec<FoundGroup>,
    /// By time.
    pub messages: Vec<FoundMessage>,
    /// Lines that are not events, or events of an unknown shape.
    pub unreadable: u64,
    /// The file and line of the first of them.
    pub first_unreadable: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundAgent {
    /// The id in the log: a name, or `agent:role:hash`, or `role_hash`.
    pub id: String,
    /// The name in hob: the id if that is a legal name, otherwise a name made from it.
    pub name: String,
    pub role: String,
    pub module: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundGroup {
    pub name: String,
    pub description: String,
    /// The creator's name in hob.
    pub created_by: String,
    /// `agent` or `role`, and the name in hob.
    pub members: BTreeSet<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundMessage {
    pub id: String,
    /// The author's name in hob.
    pub from: String,
    /// The recipients, as addresses.
    pub to: Vec<String>,
    pub content: String,
    /// Milliseconds since 1970.
    pub at: u64,
    /// The message that this one answers.
    pub reply_to: Option<String>,
}

/// Why nothing was read.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("{} does not exist; name the .thrum directory", shown(path))]
    Missing { path: PathBuf },
    #[error(
        "{} contains no Thrum log (events.jsonl); name the .thrum directory, or the directory of the log's branch \
         (.git/thrum-sync/a-sync)",
        shown(path)
    )]
    NoLog { path: PathBuf },
    #[error("cannot read {}: {}", shown(path), cause(source))]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "the log in {} has more than {LOG_MAX} bytes; check that its files are logs, and remove what you do not need",
        shown(path)
    )]
    TooLong { path: PathBuf },
    #[error(
        "the log in {} exceeds the limit of one import ({EVENTS_MAX} events, {} MiB); import it in parts: copy \
         events.jsonl and some files of messages into a separate directory, and name that",
        shown(path),
        EVENTS_BYTES_MAX >> 20
    )]
    TooMuch { path: PathBuf },
    #[error(
        "{} is a link out of {}, to {}; check whose log that is, then give that path to `hob import thrum`",
        shown(path),
        shown(home),
        shown(to)
    )]
    LeadsOut { path: PathBuf, to: PathBuf, home: PathBuf },
}

/// Reads the log of a `.thrum` directory, or of the repository around it, for the project at `root` (a path without
/// links). Links and redirects inside the project are followed only within the repository.
pub fn read(dir: &Path, root: &Path) -> Result<LogContents, ImportError> {
    let place = Log::find(dir, root)?;
    let log = place.dir.clone();
    let mut events = Events::default();
    let mut found = LogContents::default();
    let mut files = vec![log.join("events.jsonl"), log.join("messages.jsonl")];
    place.check(&log.join("messages"))?;
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
        place.check(&path)?;
        let is_all = read_file(&path, &mut events, &mut found)
            .map_err(|source| ImportError::Read { path: path.clone(), source })?;
        if !is_all {
            return Err(ImportError::TooMuch { path: log });
        }
    }
    Picture::from_events(events.by_time).into_found(found)
}

/// The kinds of event that are imported. Any other kind may have any shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum Kind {
    #[serde(rename = "agent.register")]
    Register,
    #[serde(rename = "agent.cleanup")]
    CleanUp,
    #[serde(rename = "message.create")]
    Write,
    #[serde(rename = "message.edit")]
    Edit,
    #[serde(rename = "message.delete")]
    Delete,
    #[serde(rename = "group.create")]
    CreateGroup,
    #[serde(rename = "group.delete")]
    DeleteGroup,
    #[serde(rename = "group.update")]
    UpdateGroup,
    #[serde(rename = "group.member.add")]
    AddMember,
    #[serde(rename = "group.member.remove")]
    RemoveMember,
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct Typed {
    #[serde(rename = "type")]
    kind: Kind,
}

/// The fields of an event that the import uses.
#[derive(Debug, Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: Kind,
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
    fields: Fields,
}

#[derive(Debug, Default, Deserialize)]
struct Body {
    #[serde(default)]
    content: String,
}

#[derive(Debug, Default, Deserialize)]
struct Fields {
    description: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Pair {
    #[serde(rename = "type")]
    kind: PairKind,
    value: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PairKind {
    Group,
    Mention,
    ReplyTo,
    #[serde(other)]
    Other,
}

/// Events to import.
#[derive(Default)]
struct Events {
    by_time: BTreeMap<(u64, String), Event>,
    /// The length of their lines together.
    bytes: usize,
}

impl Events {
    /// Keeps an event; returns false if the limit is reached.
    fn keep(&mut self, mut event: Event, length: usize, otherwise: impl FnOnce() -> String) -> bool {
        let at = time::parse(&std::mem::take(&mut event.timestamp)).unwrap_or_default();
        let id = if event.event_id.is_empty() { otherwise() } else { std::mem::take(&mut event.event_id) };
        for pairs in [&mut event.scopes, &mut event.refs] {
            pairs.retain(|pair| pair.kind != PairKind::Other);
            pairs.shrink_to_fit();
        }
        if let Entry::Vacant(place) = self.by_time.entry((at, id)) {
            place.insert(event);
            self.bytes += length;
        }
        self.by_time.len() <= EVENTS_MAX && self.bytes <= EVENTS_BYTES_MAX
    }
}

/// Reads one file; false if there was no room for everything.
fn read_file(path: &Path, events: &mut Events, found: &mut LogContents) -> io::Result<bool> {
    let mut reader = BufReader::new(regular::open(path)?);
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        if reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(true);
        }
        number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let place = || format!("{}:{number}", path.display());
        let event = match serde_json::from_slice::<Typed>(&line).map(|typed| typed.kind) {
            Ok(Kind::Other) => Ok(None),
            Ok(_) => serde_json::from_slice(&line).map(Some),
            Err(error) => Err(error),
        };
        match event {
            Ok(None) => {}
            Ok(Some(event)) => {
                if !events.keep(event, line.len(), place) {
                    return Ok(false);
                }
            }
            Err(_) => {
                found.unreadable += 1;
                found.first_unreadable.get_or_insert_with(place);
            }
        }
        // Skips the rest of a line that is longer than any event may be.
        while line.last() != Some(&b'\n') && line.len() as u64 == LINE_MAX {
            line.clear();
            reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)?;
        }
    }
}

/// The result of applying the events.
#[derive(Default)]
struct Picture {
    agents: BTreeMap<String, FoundAgent>,
    groups: BTreeMap<String, FoundGroup>,
    messages: BTreeMap<String, FoundMessage>,
    /// Groups by id, which memberships refer to.
    group_names: BTreeMap<String, String>,
}

impl Picture {
    fn from_events(events: BTreeMap<(u64, String), Event>) -> Picture {
        let mut picture = Picture::default();
        let mut deleted = BTreeSet::new();
        for ((at, _), event) in events {
            match event.kind {
                Kind::Register => picture.registered(event),
                Kind::CleanUp => _ = picture.agents.remove(&event.agent_id),
                Kind::Write => picture.written(event, at),
                Kind::Edit => {
                    if let Some(message) = picture.messages.get_mut(&event.message_id) {
                        message.content = event.body.content;
                    }
                }
                Kind::Delete => _ = deleted.insert(event.message_id),
                _ => picture.grouped(event),
            }
        }
        // A deletion counts even if the clocks of two machines put it before its message.
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
        let group = |scope: &&Pair| scope.kind == PairKind::Group;
        let mention = |pair: &&Pair| pair.kind == PairKind::Mention;
        let mut to: Vec<String> = event
            .scopes
            .iter()
            .chain(&event.refs)
            .filter(group)
            .map(|group| format!("group:{}", legal(&group.value)))
            .collect();
        to.extend(event.refs.iter().filter(mention).map(|who| who.value.trim_start_matches('@').to_owned()));
        to.dedup();
        let reply_to = event.refs.iter().find(|pair| pair.kind == PairKind::ReplyTo).map(|pair| pair.value.clone());
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
        match event.kind {
            Kind::CreateGroup => {
                self.group_names.insert(event.group_id, name.clone());
                let (description, created_by) = (event.description, event.created_by);
                let group = FoundGroup { name: name.clone(), description, created_by, members: BTreeSet::new() };
                self.groups.entry(name).or_insert(group);
            }
            Kind::DeleteGroup => _ = self.groups.remove(&name),
            kind => {
                let Some(group) = self.groups.get_mut(&name) else { return };
                match kind {
                    Kind::AddMember => _ = group.members.insert(member),
                    Kind::RemoveMember => _ = group.members.remove(&member),
                    _ => group.description = event.fields.description.unwrap_or(std::mem::take(&mut group.description)),
                }
            }
        }
    }

    /// Replaces the log's ids with hob's names.
    fn into_found(self, mut found: LogContents) -> Result<LogContents, ImportError> {
        let names: BTreeMap<String, String> =
            self.agents.values().map(|agent| (agent.id.clone(), agent.name.clone())).collect();
        let name_of = |id: &str| names.get(id).cloned().unwrap_or_else(|| legal(id));
        found.groups = self.groups.into_values().collect();
        for group in &mut found.groups {
            group.created_by = name_of(&group.created_by);
            let members = std::mem::take(&mut group.members).into_iter();
            // A group in hob cannot contain groups.
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

/// Returns a legal name made from an id of the log: `agent:dev:1A2B` becomes `agent-dev-1a2b`.
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
    use std::fs::File;

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
        assert!(matches!(read(temp.path(), temp.path()), Err(ImportError::NoLog { .. })));
        fs::write(file("events.jsonl"), EVENTS).unwrap();
        fs::create_dir(file("messages")).unwrap();
        mkfifoat(CWD, file("messages/a.jsonl"), Mode::RWXU).unwrap();
        std::os::unix::fs::symlink("/dev/zero", file("messages/b.jsonl")).unwrap();
        assert_eq!(read(temp.path(), temp.path()).unwrap().agents.len(), 2);
        File::create(file("messages/c.jsonl")).unwrap().set_len(1 << 40).unwrap();
        assert!(matches!(read(temp.path(), temp.path()), Err(ImportError::TooLong { .. })));
        fs::remove_file(file("messages/c.jsonl")).unwrap();
        fs::remove_file(file("redirect")).unwrap();
        File::create(file("redirect")).unwrap().set_len(1 << 40).unwrap();
        assert!(read(temp.path(), temp.path()).is_err(), "a path of NULs leads nowhere");
    }

    #[test]
    fn what_is_not_imported_takes_no_room_and_what_is_has_a_limit() {
        let temp = tempfile::tempdir().unwrap();
        let write = |line: &str, times: usize| {
            fs::write(temp.path().join("events.jsonl"), format!("{EVENTS}{}", line.repeat(times))).unwrap();
            read(temp.path(), temp.path())
        };
        let few = write("", 0).unwrap();
        assert_eq!(write("{\"type\":\"\"}\n", EVENTS_MAX + 1).unwrap(), few);
        assert_eq!(write("{\"type\":\"group.x\",\"name\":7}\n", 3).unwrap(), few, "of whatever shape");
        // A repeated event counts once.
        assert_eq!(write("{\"type\":\"message.delete\",\"event_id\":\"x\"}\n", EVENTS_MAX + 1).unwrap(), few);
        let error = write("{\"type\":\"message.delete\"}\n", EVENTS_MAX).unwrap_err().to_string();
        assert!(error.contains("exceeds the limit of one import (200000 events, 128 MiB)"), "{error}");
        let long = format!("{{\"type\":\"message.edit\",\"message_id\":\"{}\"}}\n", "x".repeat(4 << 20));
        assert!(matches!(write(&long, 33), Err(ImportError::TooMuch { .. })));
    }

    #[test]
    fn a_log_is_understood() {
        let temp = tempfile::tempdir().unwrap();
        let log = temp.path().join(".git/thrum-sync/a-sync");
        fs::create_dir_all(log.join("messages")).unwrap();
        fs::create_dir(temp.path().join(".thrum")).unwrap();
        assert!(matches!(read(&temp.path().join(".thrum"), Path::new("/nowhere")), Err(ImportError::NoLog { .. })));
        fs::write(log.join("events.jsonl"), EVENTS).unwrap();
        fs::write(log.join("messages/planner.jsonl"), MESSAGES).unwrap();
        let found = read(&temp.path().join(".thrum"), Path::new("/nowhere")).unwrap();
        assert_eq!(read(temp.path(), temp.path()).unwrap(), found, "the repository may be named too");
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
