//! The tasks of a person (`docs/reference/faces.md`): each is done by the keys in the table.

use project::dashboard::*;
use serde_json::{Value, json};

use super::{NOW, agent, key, picture, rooms, row, state};
use crate::form::Answer;
use crate::form::tests::confirm;
use crate::terminal::Key;
use crate::top::state::{Action, Event, update};

const PAGE: &str = include_str!("../../../../../docs/reference/faces.md");
/// The most keys of a task. Typed text does not count.
const MOST: usize = 4;

/// What keys have led to.
#[derive(Default)]
struct Played {
    actions: Vec<Action>,
    answer: Option<Answer>,
    screen: String,
}

/// Returns the keys of a cell, and their number without those of typed text.
fn keys(cell: &str) -> (Vec<Key>, usize) {
    let (mut keys, mut count) = (Vec::new(), 0);
    for word in cell.split_whitespace() {
        if let Some(text) = word.strip_prefix('*').and_then(|word| word.strip_suffix('*')) {
            keys.extend(text.chars().map(Key::Char));
            continue;
        }
        count += 1;
        let name = word.strip_prefix('`').and_then(|word| word.strip_suffix('`')).expect("a key in backquotes");
        keys.push(key(name));
    }
    (keys, count)
}

/// A project at work.
fn project(danger: &str) -> Rooms {
    let mut rooms = rooms();
    rooms.questions[0].danger = danger.to_owned();
    let to = vec![Recipient { name: USER.to_owned(), state: "waiting".to_owned() }];
    let message = MailRow { to, id: "m2".to_owned(), thread: "m2".to_owned(), ..rooms.mail[0].clone() };
    rooms.mail.insert(0, message);
    rooms.sessions.extend([
        row(json!({"id": "probe", "name": "probe", "state": "crashed"})),
        row::<SessionRow>(json!({
            "id": "rust-analyzer", "name": "rust-analyzer", "state": "loading", "code": "43 % loaded", "is_server": true,
        })),
    ]);
    let event = |number: u64| EventRow { number, at: NOW - number * 600_000, text: format!("event {number}") };
    rooms.events = (1..13).map(event).collect();
    let call = |number: u64, agent: &str, tool: &str, outcome: Value| {
        row(
            json!({"number": number, "agent": agent, "tool": tool, "started": NOW - 1_000 * number, "outcome": outcome}),
        )
    };
    rooms.activity = vec![
        call(1, "ann", "hook PreToolUse", json!("deny (no-push)")),
        call(2, "bob", "find_uses", Value::Null),
        call(3, "bob", "migrate", json!("done")),
    ];
    rooms.work = vec![
        row(json!({"worktree": "/home/me/shop", "agents": ["ann"]})),
        row(json!({"worktree": "/home/me/shop-login", "agents": ["bob"]})),
    ];
    rooms.nodes = vec![row(json!({"name": "classify", "calls": 9, "failures": 2}))];
    rooms.agents.push(agent("cara", "idle", ""));
    rooms
}

/// Presses keys. Those after a question was opened go to its form.
fn play(danger: &str, keys: &[Key]) -> Played {
    let mut state = state(project(danger));
    let mut played = Played::default();
    for (at, key) in keys.iter().enumerate() {
        let actions = update(&mut state, Event::Key(key.clone()));
        if let [Action::Answer { .. }] = actions[..] {
            played.answer = confirm(danger, &keys[at + 1..]);
            break;
        }
        if let [Action::Read { id, .. }] = &actions[..] {
            let text = format!("the first byte of {id}\n{}the last line\n", "more\n".repeat(100));
            update(&mut state, Event::Output { session: id.clone(), text, cursor: 9 });
        }
        played.actions.extend(actions);
    }
    played.screen = picture(&state, 110, 24);
    played
}

#[test]
fn each_task_of_a_person_is_done_by_its_keys() {
    let rows = PAGE.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| task"));
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [task, on_terminal, on_page] = cells[..] else { panic!("{row}") };
        let (keys, pressed) = keys(on_terminal);
        assert!(pressed <= MOST && !on_page.is_empty(), "{row}");
        let danger = if task.contains("dangerous") { "high" } else { "normal" };
        let played = play(danger, &keys);
        let is_confirmed = |yes: bool| match &played.answer {
            Some(Answer::Values { values, .. }) => values["confirm"] == yes,
            _ => false,
        };
        let last = played.actions.last();
        let writes = |to: &str, priority: &str, is_reply: bool| match last {
            Some(Action::Write(letter)) => {
                (&*letter.to, &*letter.text, &*letter.priority, letter.reply_to.is_some())
                    == (to, "text", priority, is_reply)
            }
            _ => false,
        };
        let calls = |tool: &str, arguments: Value| match last {
            Some(Action::Call { tool: called, arguments: given, .. }) => (*called, given) == (tool, &arguments),
            _ => false,
        };
        let shows = |texts: &[&str]| texts.iter().all(|text| played.screen.contains(text));
        let is_done = match task {
            "Find the agent that waits for you, and answer it" | "Answer a dangerous question" => is_confirmed(true),
            "Decline a question" => played.answer == Some(Answer::Decline { note: None }),
            "Read a message that an agent wrote to you, and reply" => {
                played.actions.contains(&Action::See { ids: vec!["m2".to_owned()] }) && writes("bob", "normal", true)
            }
            "Tell one agent something" => writes("ann", "normal", false),
            "Tell all agents to stop" => writes("everyone", "high", false),
            "Join a conversation between two agents" => writes("bob", "normal", false),
            "See whether a message was read" => shows(&["ann (waiting)"]),
            "Stop a runaway evaluation" => calls("repl_interrupt", json!({"session": "main", "eval": 7})),
            "Restart a session" => calls("repl_restart", json!({"session": "main"})),
            "End a session" => calls("repl_stop", json!({"session": "main"})),
            "Read what crashed a session, from its first byte" => {
                shows(&["probe ·  · crashed", "the first byte of probe"])
            }
            "Follow the output of an evaluation" => shows(&["the last line"]),
            "Cancel a call that does not end" => last == Some(&Action::StopCall { number: 2, started: NOW - 2_000 }),
            "See what happened since lunch" => shows(&["10 min ago", "2 h ago", "event 12"]),
            "See who works in which worktree" => shows(&["shop-login", "bob"]),
            "See which language server is loading" => shows(&["rust-analyzer", "loading", "43 % loaded"]),
            "See the last calls of an agent" => shows(&["find_uses", "open", "migrate"]),
            "See today's denials" => shows(&["deny (no-push)"]) && !shows(&["find_uses"]),
            "Find everything that mentions a word" => shows(&["Activity", "bob  migrate"]),
            "See which node fails" => shows(&["classify", "2"]),
            unknown => panic!("no expectation for {unknown}"),
        };
        assert!(is_done, "{task}: {:?} {:?}\n{}", played.actions, played.answer, played.screen);
        count += 1;
    }
    assert!(count >= 20, "{count} tasks");
}
