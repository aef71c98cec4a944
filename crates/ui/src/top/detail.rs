//! The text of an open row.

use project::rooms::Room;
use project::span;

use super::state::{Detail, State};
use crate::rows::call_id;

/// Returns everything about the row, in lines. Texts of agents are escaped when they are drawn.
pub(super) fn text(state: &State, open: &Detail) -> String {
    let rooms = &state.snapshot.rooms;
    let ago = |at: u64| format!("{} ago", span(state.now.saturating_sub(at) / 1000));
    let mut text = Vec::new();
    match open.room {
        Room::Agents => {
            let Some(agent) = rooms.agents.iter().find(|agent| agent.id == open.id) else { return gone() };
            text.push(format!("{} · {} since {}", agent.name, agent.state.name(), ago(agent.since)));
            for (name, value) in [("role", &agent.role), ("program", &agent.program), ("worktree", &agent.worktree)] {
                text.push(format!("{name}: {value}"));
            }
            text.extend(agent.doing.iter().map(|doing| format!("doing: {doing}")));
            text.extend(agent.stuck.iter().map(|why| format!("stuck: {why}")));
            let asks = rooms.questions.iter().filter(|question| agent.pids.contains(&question.pid));
            text.extend(asks.map(|question| format!("asks you: {}", question.title)));
            text.push("\ncalls".to_owned());
            let calls = rooms.activity.iter().filter(|call| call.agent == agent.id);
            text.extend(calls.take(50).map(|call| {
                let outcome = call.outcome.as_deref().unwrap_or("open");
                format!("{}  {}  {outcome}  {}", ago(call.started), call.tool, call.arguments)
            }));
            text.push("\nmail".to_owned());
            let is_of_it = |name: &String| *name == agent.name;
            let mail =
                rooms.mail.iter().filter(|mail| is_of_it(&mail.from) || mail.to.iter().any(|to| is_of_it(&to.name)));
            text.extend(mail.take(20).map(|mail| format!("{}  from {}: {}", ago(mail.sent), mail.from, mail.text)));
        }
        Room::Sessions => {
            let Some(session) = state.session(&open.id) else { return gone() };
            text.push(format!("{} · {} · {}", session.name, session.profile, session.state.replace('_', " ")));
            text.extend(session.reason.iter().cloned());
            text.push(open.output.clone());
        }
        Room::Mail => {
            let Some(message) = rooms.mail.iter().find(|message| message.id == open.id) else { return gone() };
            let mut thread: Vec<_> = rooms.mail.iter().filter(|other| other.thread == message.thread).collect();
            thread.sort_by_key(|message| message.sent);
            for message in thread {
                let to: Vec<String> = message.to.iter().map(|to| format!("{} ({})", to.name, to.state)).collect();
                text.push(format!(
                    "{} to {}, {}, {}",
                    message.from,
                    to.join(", "),
                    message.priority,
                    ago(message.sent)
                ));
                text.extend(message.text.lines().map(|line| format!("│ {line}")));
                text.push(String::new());
            }
        }
        Room::Activity => {
            let Some(call) = rooms.activity.iter().find(|call| call_id(call) == open.id) else { return gone() };
            text.push(format!("{} called {} {}", call.agent, call.tool, ago(call.started)));
            text.push(match (&call.outcome, call.ended) {
                (Some(outcome), Some(ended)) => format!("{outcome} after {} ms", ended.saturating_sub(call.started)),
                _ => "it is open".to_owned(),
            });
            text.extend(call.stuck.iter().map(|why| format!("stuck: {why}")));
            text.push(format!("\n{}", call.arguments));
        }
        Room::Work => {
            let Some(work) = rooms.work.iter().find(|work| work.worktree == open.id) else { return gone() };
            text.push(work.worktree.clone());
            text.push(format!("branch: {}", work.branch));
            text.push(format!("agents: {}", work.agents.join(", ")));
            text.push(format!("unfinished: {}", if work.unfinished.is_empty() { "nothing" } else { &work.unfinished }));
            text.extend(work.checks.iter().map(|checks| format!("checks: {checks}")));
            text.extend(work.issue.iter().map(|issue| format!("issue: {issue}")));
            text.push("\n`hob brief` there has more.".to_owned());
        }
        Room::Nodes => {
            let of = |node: &&project::rooms::NodeRow| format!("{} {}", node.worktree, node.name) == open.id;
            let Some(node) = rooms.nodes.iter().find(of) else { return gone() };
            text.push(format!("{} in {}", node.name, node.worktree));
            text.push(format!("models: {}", node.model));
            text.push(format!("{} calls, {} tokens, {} failed", node.calls, node.tokens, node.failures));
            text.extend(node.last.iter().map(|last| format!("last: {last}")));
            text.push(format!("\n`hob node run {}` runs it.", node.name));
        }
        Room::Now => {
            text.push("what happened, newest first".to_owned());
            text.extend(rooms.events.iter().map(|event| format!("{:<12} {}", ago(event.at), event.text)));
        }
        Room::Questions => return gone(),
    }
    text.join("\n")
}

fn gone() -> String {
    "This row is gone. Esc goes back.".to_owned()
}
