//! Renders mail for a person at a terminal: sender, age, indented text. In a pipe, where an agent may read, mail keeps the
//! frame that the tools give it.

use std::io::IsTerminal as _;

use jiff::Timestamp;
use serde_json::Value;

use crate::terminal::{self, Style, paint};

/// True if stdout is a terminal.
pub(super) fn reads() -> bool {
    std::io::stdout().is_terminal()
}

/// Renders the messages of a mailbox. `next` says what can be done with them.
pub(super) fn mailbox(shown: &Value, next: &str) {
    let messages = list(shown, "messages");
    if messages.is_empty() {
        terminal::line("No messages.");
    }
    messages.iter().for_each(message);
    if let Some(more) = shown["remaining"].as_u64().filter(|more| *more > 0) {
        terminal::line(format!("{more} more unread messages."));
    }
    if !messages.is_empty() {
        terminal::line(paint(next, Style::Dim));
    }
}

/// Renders a conversation, oldest message first.
pub(super) fn thread(shown: &Value) {
    if let Some(omitted) = shown["omitted"].as_u64().filter(|omitted| *omitted > 0) {
        terminal::line(format!("{omitted} earlier messages omitted: see `hob call get_thread --help`."));
    }
    list(shown, "messages").iter().for_each(message);
}

/// Renders the results of a search.
pub(super) fn search_results(shown: &Value) {
    let hits = list(shown, "hits");
    if hits.is_empty() {
        terminal::line("No message contains these words.");
        return;
    }
    for hit in hits {
        head(hit);
        body(text(hit, "snippet"));
    }
    terminal::line(paint("`hob thread ID` shows the whole conversation.", Style::Dim));
}

/// Renders the agents, one per line.
pub(super) fn agents(shown: &Value) {
    let agents = list(shown, "agents");
    if agents.is_empty() {
        terminal::line("No agents. `hob quickstart --name NAME --role ROLE` registers one for this worktree.");
    }
    let you = shown["you"].as_str().unwrap_or_default();
    for agent in agents {
        let name = text(agent, "name");
        let mut words = vec![format!("{} ({})", paint(&one_line(name), Style::Bold), one_line(text(agent, "role")))];
        words.push(match text(agent, "status") {
            "active" => paint("active", Style::Green),
            other => format!("{}, seen {}", one_line(other), ago(text(agent, "last_seen_at"), Timestamp::now())),
        });
        if let Some(unread) = agent["unread"].as_u64().filter(|unread| *unread > 0) {
            words.push(paint(&format!("{unread} unread"), Style::Yellow));
        }
        for field in ["branch", "module", "intent"] {
            if !text(agent, field).is_empty() {
                words.push(one_line(text(agent, field)));
            }
        }
        let this = if name == you { paint("  this worktree", Style::Dim) } else { String::new() };
        terminal::line(format!("{}{this}", words.join("  ")));
    }
}

fn message(message: &Value) {
    head(message);
    body(text(message, "content"));
}

/// Renders sender, recipients, age and id of a message.
fn head(message: &Value) {
    let to: Vec<String> = list(message, "to").iter().filter_map(Value::as_str).map(one_line).collect();
    let mut line = paint(&one_line(text(message, "from")), Style::Bold);
    if !to.is_empty() {
        line.push_str(&format!(" to {}", to.join(", ")));
    }
    match text(message, "priority") {
        "normal" | "" => {}
        "critical" => line.push_str(&format!(", {}", paint("critical", Style::Red))),
        "high" => line.push_str(&format!(", {}", paint("high", Style::Yellow))),
        other => line.push_str(&format!(", {}", one_line(other))),
    }
    line.push_str(&format!(", {}", ago(text(message, "timestamp"), Timestamp::now())));
    if message["redelivered"] == true {
        line.push_str(", shown before");
    }
    terminal::line(format!("{line}  {}", paint(&one_line(text(message, "message_id")), Style::Dim)));
}

/// Renders the text indented, so that no line of it looks like one of hob's.
fn body(text: &str) {
    // hob's own colour codes in the text would be interpreted.
    project::visible::escaped(text).lines().for_each(|line| terminal::line(format!("    {line}")));
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// Renders a field of an agent on one line.
fn one_line(text: &str) -> String {
    project::visible(text)
}

/// Renders the age of a timestamp; an invalid one is returned unchanged.
fn ago(timestamp: &str, now: Timestamp) -> String {
    let Ok(at) = timestamp.parse::<Timestamp>() else { return one_line(timestamp) };
    let seconds = now.as_second() - at.as_second();
    match seconds {
        // Another machine's clock may be ahead.
        ..5 => "just now".to_owned(),
        5..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        86_400..172_800 => "yesterday".to_owned(),
        172_800..2_592_000 => format!("{} days ago", seconds / 86_400),
        _ => format!("on {}", at.strftime("%F")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_relative() {
        let now: Timestamp = "2026-11-25T12:00:00Z".parse().unwrap();
        for (at, said) in [
            ("2026-11-25T12:00:09.000Z", "just now"),
            ("2026-11-25T11:59:58.500Z", "just now"),
            ("2026-11-25T11:59:20.000Z", "40 s ago"),
            ("2026-11-25T11:15:00.000Z", "45 min ago"),
            ("2026-11-25T01:30:00.000Z", "10 h ago"),
            ("2026-11-24T01:30:00.000Z", "yesterday"),
            ("2026-11-20T01:30:00.000Z", "5 days ago"),
            ("2025-01-02T01:30:00.000Z", "on 2025-01-02"),
            ("soon\n", "soon\\n"),
        ] {
            assert_eq!(ago(at, now), said);
        }
    }
}
