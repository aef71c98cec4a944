//! Notable events of the journal in words, and its decisions on hook events as rows of the activity.

use std::collections::VecDeque;

use project::dashboard::{CallRow, EventRow};
use project::journal::Entry;
use serde_json::Value;

use crate::journal::Journal;

/// The number of events that are listed.
const KEPT: usize = 100;
/// The duration from which the end of an evaluation is notable.
const LONG: u64 = 10_000;

/// The notable part of the journal so far.
#[derive(Default)]
pub(crate) struct Events {
    /// The number of the last entry that was read.
    last: u64,
    events: VecDeque<EventRow>,
    decisions: VecDeque<CallRow>,
}

impl Events {
    /// Reads the new entries. Those that the journal no longer keeps are missed.
    /// `describe` has the words of the parts for their own entries.
    pub(crate) fn read(&mut self, journal: &Journal, describe: &dyn Fn(&Entry) -> Option<String>) {
        for entry in journal.since(self.last) {
            self.last = entry.seq;
            let Some(entry) = entry.json().ok().and_then(|json| serde_json::from_str::<Entry>(json.get()).ok()) else {
                continue;
            };
            if let Some(text) = text(&entry).or_else(|| describe(&entry)) {
                push(&mut self.events, EventRow { number: entry.seq, at: entry.at_ms, text });
            }
            if let Some(row) = decision(&entry) {
                push(&mut self.decisions, row);
            }
        }
    }

    /// Returns the events, newest first.
    pub(crate) fn rows(&self) -> Vec<EventRow> {
        self.events.iter().rev().cloned().collect()
    }

    /// Returns the decisions on hook events.
    pub(crate) fn decisions(&self) -> impl Iterator<Item = CallRow> {
        self.decisions.iter().cloned()
    }
}

fn push<T>(rows: &mut VecDeque<T>, row: T) {
    if rows.len() == KEPT {
        rows.pop_front();
    }
    rows.push_back(row);
}

/// Describes a notable entry.
fn text(entry: &Entry) -> Option<String> {
    let field = |name: &str| match entry.fields.get(name) {
        Some(Value::String(text)) => super::calls::cut(text, 120),
        Some(Value::Null) | None => String::new(),
        Some(other) => super::calls::cut(&other.to_string(), 120),
    };
    let number = |name: &str| entry.fields.get(name).and_then(Value::as_u64).unwrap_or_default();
    Some(match entry.record.as_str() {
        "daemon_started" => "the daemon started; earlier sessions ended".to_owned(),
        "session_started" => format!("session {} started ({})", field("session"), field("profile")),
        "session_ended" => {
            let detail = Some(field("detail")).filter(|detail| !detail.is_empty());
            let detail = detail.map(|detail| format!(": {detail}")).unwrap_or_default();
            format!("session {} {}{detail}", field("session"), field("status"))
        }
        "evaluation_finished" if field("status") != "done" || number("duration_ms") >= LONG => format!(
            "evaluation {} in {} {} after {} s",
            field("eval"),
            field("session"),
            field("status"),
            number("duration_ms") / 1000
        ),
        "question_asked" => match field("agent") {
            agent if agent.is_empty() => format!("{} was asked", field("question")),
            agent => format!("{agent} asked {}", field("question")),
        },
        "question_answered" | "question_closed" => format!("{} is {}", field("question"), field("status")),
        "faces_closed" => "you stopped looking: no hob top or page was open".to_owned(),
        "node_invalid" => format!("node {} is invalid: {}", field("node"), field("error")),
        "agent_session_began" => format!("{} began a session", field("agent")),
        "agent_session_ended" => format!("{} ended its session", field("agent")),
        "permission_prompted" => {
            format!("{} asks for a permission in its own window: {}", field("agent"), field("tool"))
        }
        "hook_answered" if field("verdict") == "deny" => {
            format!("{}: {} was denied by the rule {}", field("agent"), field("event"), field("rule"))
        }
        _ => return None,
    })
}

/// Returns the row of a decision on a hook event; `None` for other entries, and where no rule decided.
fn decision(entry: &Entry) -> Option<CallRow> {
    let field = |name: &str| entry.fields.get(name).and_then(Value::as_str).unwrap_or_default();
    if entry.record != "hook_answered" || field("verdict") == "pass" {
        return None;
    }
    Some(CallRow {
        agent: field("agent").to_owned(),
        tool: format!("hook {}", field("event")),
        arguments: super::calls::cut(field("by"), 400),
        started: entry.at_ms,
        ended: Some(entry.at_ms),
        outcome: Some(format!("{} ({})", field("verdict"), field("rule"))),
        ..CallRow::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use project::journal::Record;

    #[test]
    fn only_notable_entries_are_listed_and_each_once() {
        let journal = Journal::in_memory();
        let mut events = Events::default();
        for number in 0..3 {
            journal.record(Record::DaemonStopping { reason: "x".to_owned() });
            let started = Record::DaemonStarted { pid: number, version: "1".to_owned(), life: "l".to_owned() };
            journal.record(started);
            events.read(&journal, &|_| None);
        }
        let rows: Vec<(u64, String)> = events.rows().into_iter().map(|row| (row.number, row.text)).collect();
        let text = "the daemon started; earlier sessions ended".to_owned();
        assert_eq!(rows, [(6, text.clone()), (4, text.clone()), (2, text)]);
        for _ in 0..2 * KEPT {
            journal.record(Record::DaemonStarted { pid: 1, version: "1".to_owned(), life: "l".to_owned() });
        }
        events.read(&journal, &|_| None);
        assert_eq!(events.rows().len(), KEPT);
    }

    #[test]
    fn a_decision_names_its_rule() {
        let line = r#"{"seq":1,"at_ms":5,"record":"hook_answered","hook":1,"agent":"claude","event":"PreToolUse",
            "verdict":"deny","rule":"no-push","by":"git push","micros":3}"#;
        let entry: Entry = serde_json::from_str(line).unwrap();
        let row = decision(&entry).unwrap();
        assert_eq!(
            (&*row.tool, &*row.arguments, row.outcome.as_deref()),
            ("hook PreToolUse", "git push", Some("deny (no-push)"))
        );
        assert_eq!(text(&entry).unwrap(), "claude: PreToolUse was denied by the rule no-push");
        let passed: Entry = serde_json::from_str(&line.replace("deny", "pass")).unwrap();
        assert!(decision(&passed).is_none() && text(&passed).is_none());
    }
}
