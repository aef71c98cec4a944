//! Random configurations with hob's hooks (`HOB_HOOK_FILES` sets their number, `HOB_HOOK_SEED` the seed): installing is
//! idempotent, removing restores every byte, and edits made in between are kept.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ::hooks::{Fail, Version};
use serde_json::Map;
use testkit::Random;

use super::*;
use crate::agents::Links;

/// The number of configurations per agent in an ordinary run.
const FILES: u64 = 40;

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
}

/// Creates a directory on a file system where syncing is cheap: each case writes a dozen files.
fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn site(base: &Path) -> Site {
    Site { top: base.to_owned(), main: base.to_owned(), home: base.to_owned() }
}

fn edits(base: &Path) -> Edits {
    Edits::open(base, &base.join("state/init.json"), Links::Follow, Vec::new()).unwrap()
}

fn plan(agent: Agent, random: &mut Random) -> Plan {
    let fail = *random.pick(&[Fail::Open, Fail::Ask, Fail::Closed]);
    let version = *random.pick(&[Some(Version([2, 1, 331])), Some(Version([2, 1, 197])), None]);
    Plan::new(agent, "/opt/hob".to_owned(), version, fail, &[], random.chance(15))
}

/// A writer of random configurations, with comments if the agent accepts them.
struct Writer<'r> {
    random: &'r mut Random,
    allows: Allows,
    indent: &'static str,
    newline: &'static str,
    comments: usize,
}

impl Writer<'_> {
    fn comment(&mut self) -> String {
        if self.allows == Allows::Nothing || !self.random.chance(20) {
            return String::new();
        }
        self.comments += 1;
        if self.random.chance(50) {
            format!("// note {}.{}", self.comments, self.newline)
        } else {
            format!("/* note {}. */ ", self.comments)
        }
    }

    fn value(&mut self, value: &Value, depth: usize) -> String {
        let (open, close, members): (char, char, Vec<(Option<&String>, &Value)>) = match value {
            Value::Object(fields) => ('{', '}', fields.iter().map(|(name, value)| (Some(name), value)).collect()),
            Value::Array(list) => ('[', ']', list.iter().map(|value| (None, value)).collect()),
            other => return other.to_string(),
        };
        if members.is_empty() {
            return format!("{open}{close}");
        }
        let is_flat = depth > 1 && self.random.chance(40);
        let mut text = String::from(open);
        let count = members.len();
        for (at, (name, value)) in members.into_iter().enumerate() {
            if !is_flat {
                let _ = write!(text, "{}{}", self.newline, self.indent.repeat(depth + 1));
            }
            text.push_str(&self.comment());
            if let Some(name) = name {
                let space = if self.random.chance(80) { " " } else { "" };
                let _ = write!(text, "{}:{space}", json!(name));
            }
            text.push_str(&self.value(value, depth + 1));
            let trails = self.allows == Allows::CommentsAndTrailingCommas && self.random.chance(30);
            if at + 1 < count || trails {
                text.push(',');
                if is_flat {
                    text.push(' ');
                }
            }
        }
        if !is_flat {
            let _ = write!(text, "{}{}", self.newline, self.indent.repeat(depth));
        }
        text.push(close);
        text
    }
}

/// Generates a handler that is not hob's; some look similar.
fn foreign(agent: Agent, random: &mut Random) -> Value {
    let commands =
        ["lint.sh", "hobble hook x --agent claude", "echo hob hook", "npx guard 'a b' || true", "/usr/bin/true"];
    let command = *random.pick(&commands);
    match agent {
        Agent::Copilot => json!({"type": "command", "bash": command, "timeoutSec": random.below(60)}),
        Agent::Cursor => json!({"command": command}),
        _ => json!({"type": "command", "command": command, "timeout": random.below(600)}),
    }
}

fn configuration(agent: Agent, random: &mut Random) -> Value {
    let mut fields = vec![
        ("theme".to_owned(), json!("dark")),
        ("permissions".to_owned(), json!({"allow": ["Bash(ls)"], "deny": []})),
        ("mcpServers".to_owned(), json!({"other": {"command": "x", "args": ["a", 1, null]}})),
        ("env".to_owned(), json!({})),
    ];
    fields.retain(|_| random.chance(60));
    if random.chance(70) {
        let mut events = Map::new();
        for row in agent.rows().iter().take(12) {
            if random.chance(30) {
                let list = (0..random.below(4)).map(|_| {
                    let handler = foreign(agent, random);
                    match agent.layout() {
                        Layout::Groups if random.chance(15) => json!({"matcher": "Bash", "hooks": []}),
                        Layout::Groups if random.chance(50) => json!({"matcher": "Bash|Edit", "hooks": [handler]}),
                        Layout::Groups => json!({"hooks": [handler, foreign(agent, random)]}),
                        _ => handler,
                    }
                });
                events.insert(row.name.to_owned(), list.collect());
            }
        }
        fields.push(("hooks".to_owned(), events.into()));
    }
    if agent.layout() == Layout::Handlers && random.chance(70) {
        fields.push(("version".to_owned(), json!(1)));
    }
    random.shuffle(&mut fields);
    Map::from_iter(fields).into()
}

fn written(agent: Agent, random: &mut Random) -> String {
    let value = configuration(agent, random);
    let indent = *random.pick(&["  ", "    ", "\t", ""]);
    let newline = *random.pick(&["\n", "\n", "\r\n"]);
    let begin = *random.pick(&["", "", "\u{feff}"]);
    let end = *random.pick(&["", "\n", "\n\n"]);
    let mut writer = Writer { random, allows: allows(agent), indent, newline, comments: 0 };
    let comment = writer.comment();
    format!("{begin}{comment}{}{end}", writer.value(&value, 0))
}

/// Applies a user's edit between installing and removing, in the same way to any text.
fn edit(agent: Agent, which: usize, text: &str) -> String {
    let allows = allows(agent);
    let text = if text.is_empty() { "{}\n" } else { text };
    match which {
        0 => jsonc::set(text, &["mine".to_owned()], jsonc::input(&json!({"a": [1]})), allows).unwrap(),
        1 => {
            let gate = agent.rows().iter().find(|row| row.kind == ::hooks::Kind::ToolBefore).unwrap();
            let handler = match agent {
                Agent::Copilot => json!({"type": "command", "bash": "added"}),
                Agent::Cursor => json!({"command": "added"}),
                _ => json!({"hooks": [{"type": "command", "command": "added"}]}),
            };
            jsonc::push(text, &["hooks".to_owned(), gate.name.to_owned()], jsonc::input(&handler), allows).unwrap()
        }
        2 => text.replace("lint.sh", "lint2.sh"),
        _ => format!("{text} \n"),
    }
}

/// Removes empty lists and groups of hooks, which may disappear together with hob's last entry.
fn pruned(agent: Agent, mut value: Value) -> Value {
    if let Some(events) = value["hooks"].as_object_mut() {
        for list in events.values_mut().filter_map(Value::as_array_mut) {
            list.retain(|element| element["hooks"] != json!([]));
        }
        events.retain(|_, list| *list != json!([]));
        if events.is_empty()
            && let Some(fields) = value.as_object_mut()
        {
            fields.shift_remove("hooks");
        }
    }
    if let Some(fields) = value.as_object_mut() {
        // Looking up a missing field inserted `null`.
        fields.retain(|_, value| !value.is_null());
        if agent.layout() == Layout::Handlers {
            fields.shift_remove("version");
        }
    }
    value
}

fn notes(text: &str) -> Vec<String> {
    (1..60).map(|number| format!("note {number}.")).filter(|note| text.contains(note)).collect()
}

#[test]
fn twice_is_once_taking_back_restores_every_byte_and_edits_in_between_stay() {
    let (count, seed) = (number("HOB_HOOK_FILES", FILES), number("HOB_HOOK_SEED", 1));
    for agent in Agent::ALL.into_iter().filter(|agent| agent.layout() != Layout::Plugin) {
        for case in 0..count {
            let random = &mut Random::new(seed.wrapping_mul(1_000_003) + case);
            let temp = in_memory();
            let base = temp.path();
            let file = HookFile::for_scope(agent, HookScope::User, &site(base));
            let before = (!random.chance(10)).then(|| written(agent, random));
            fs::create_dir_all(file.path.parent().unwrap()).unwrap();
            if let Some(text) = &before {
                fs::write(&file.path, text).unwrap();
            }
            let told = format!("{agent:?} case {case}: {before:?}");
            let now = || fs::read_to_string(&file.path).ok();
            let first = plan(agent, random);
            assert_eq!(file.put(&mut edits(base), &first).unwrap(), WriteOutcome::Written, "{told}");
            let once = now().unwrap();
            assert_eq!(file.put(&mut edits(base), &first).unwrap(), WriteOutcome::Already, "{told}");
            assert_eq!(now().unwrap(), once, "{told}");
            assert_eq!(file.entries(&once).unwrap().len(), first.events.len(), "{told}\n{once}");
            assert_eq!(notes(&once), notes(before.as_deref().unwrap_or_default()), "{told}\n{once}");
            // Another plan replaces the first one.
            let second = plan(agent, random);
            file.put(&mut edits(base), &second).unwrap();
            assert_eq!(file.entries(&now().unwrap()).unwrap().len(), second.events.len(), "{told}");
            assert!(file.take_back(&mut edits(base)).unwrap().is_some(), "{told}");
            assert_eq!(now(), before, "{told}");
            assert!(!base.join("state").exists(), "{told}");
            assert_eq!(file.take_back(&mut edits(base)).unwrap(), None);

            // The user edits the file in between, and the entries are also written again.
            file.put(&mut edits(base), &first).unwrap();
            let which = random.below(4);
            fs::write(&file.path, edit(agent, which, &now().unwrap())).unwrap();
            if random.chance(50) {
                file.put(&mut edits(base), &plan(agent, random)).unwrap();
            }
            file.take_back(&mut edits(base)).unwrap();
            let wanted = edit(agent, which, before.as_deref().unwrap_or_default());
            let after = now().unwrap_or_else(|| "{}".to_owned());
            let of = |text: &str| pruned(agent, value(agent, text).unwrap());
            assert_eq!(of(&after), of(&wanted), "{told}, edit {which}:\n{after}");
            assert_eq!(notes(&after), notes(&wanted), "{told}, edit {which}:\n{after}");
        }
    }
}

#[test]
fn a_plugin_is_a_file_of_its_own() {
    let temp = tempfile::tempdir().unwrap();
    let base = temp.path();
    let file = HookFile::for_scope(Agent::Opencode, HookScope::Project, &site(base));
    let random = &mut Random::new(7);
    let (one, mut other) = (plan(Agent::Opencode, random), plan(Agent::Opencode, random));
    other.program = "/elsewhere/hob".to_owned();
    assert_eq!(file.put(&mut edits(base), &one).unwrap(), WriteOutcome::Written);
    assert_eq!(file.put(&mut edits(base), &one).unwrap(), WriteOutcome::Already);
    assert_eq!(file.put(&mut edits(base), &other).unwrap(), WriteOutcome::Written);
    assert_eq!(file.entries(&fs::read_to_string(&file.path).unwrap()).unwrap().len(), other.events.len());
    assert_eq!(file.take_back(&mut edits(base)).unwrap(), Some(Undone::Removed));
    assert!(!base.join(".opencode").exists());
    // A file of that name by another author is refused and kept.
    fs::create_dir_all(file.path.parent().unwrap()).unwrap();
    fs::write(&file.path, "export const Theirs = 1\n").unwrap();
    let refused = file.put(&mut edits(base), &one).unwrap_err();
    assert_eq!(refused.to_string(), Broken::Foreign.to_string());
    assert_eq!(fs::read_to_string(&file.path).unwrap(), "export const Theirs = 1\n");
}

#[test]
fn a_file_that_is_no_configuration_is_left_alone() {
    for (agent, text) in
        [(Agent::Claude, "{\"hooks\": ["), (Agent::Claude, "{\"hooks\": {\"PreToolUse\": {}}}"), (Agent::Cursor, "[]")]
    {
        let temp = in_memory();
        let file = HookFile::for_scope(agent, HookScope::Project, &site(temp.path()));
        fs::create_dir_all(file.path.parent().unwrap()).unwrap();
        fs::write(&file.path, text).unwrap();
        file.put(&mut edits(temp.path()), &plan(agent, &mut Random::new(1))).unwrap_err();
        assert_eq!(fs::read_to_string(&file.path).unwrap(), text);
    }
}

#[test]
fn hooks_and_a_server_in_one_file_go_each_by_itself() {
    use crate::agents::{Added, Entry};
    let known = super::super::Agent::of_hooks(Agent::Gemini).unwrap();
    let server = |text: &str| match known.format(Scope::User).add(text, &Entry::new("hob".to_owned(), &[]), Scope::User)
    {
        Ok(Added::Text(text)) => text,
        other => panic!("{other:?}"),
    };
    let undo = |owner: &str, text: &str| {
        without_hooks(owner, text).or_else(|| known.format(Scope::User).remove(text).ok().flatten())
    };
    let original = "{\n  // mine\n  \"theme\": \"dark\"\n}\n";
    for server_first in [true, false] {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path();
        let file = HookFile::for_scope(Agent::Gemini, HookScope::User, &site(base));
        fs::create_dir_all(file.path.parent().unwrap()).unwrap();
        fs::write(&file.path, original).unwrap();
        let now = || fs::read_to_string(&file.path).unwrap();
        let plan = plan(Agent::Gemini, &mut Random::new(3));
        let register = || edits(base).write(&file.path, "gemini", &server(&now())).unwrap();
        if server_first {
            register();
        }
        let with_server = now();
        file.put(&mut edits(base), &plan).unwrap();
        if !server_first {
            register();
        }
        // Remove the hooks only.
        file.take_back(&mut edits(base)).unwrap();
        if server_first {
            assert_eq!(now(), with_server)
        } else {
            assert_eq!(now(), server(original))
        }
        edits(base).undo(undo).unwrap();
        assert_eq!(now(), original);
        // Undo everything at once.
        register();
        file.put(&mut edits(base), &plan).unwrap();
        edits(base).undo(undo).unwrap();
        assert_eq!(now(), original);
    }
}
