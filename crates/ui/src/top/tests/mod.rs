//! `hob top` without a terminal: keys and states in, actions and pictures out.

use expect_test::{Expect, expect};
use project::dashboard::*;
use serde_json::{Value, json};

use super::draw::{Palette, draw};
use super::picture;
use super::state::{Action, Event, Mode, State, update};
use crate::form::tests::Chance;
use crate::terminal::{Key, draw_lines};

mod tasks;

const NOW: u64 = 10_000_000;

fn row<R: serde::de::DeserializeOwned>(row: Value) -> R {
    serde_json::from_value(row).unwrap()
}

fn agent(name: &str, state: &str, doing: &str) -> AgentRow {
    row(json!({
        "id": name, "name": name, "role": "builder", "worktree": "/home/me/shop", "program": "claude-code",
        "state": state, "since": NOW - 90_000, "doing": doing, "has_mailbox": true,
        "strip": (0..15).map(|minute| if minute % 3 == 0 { "working" } else { "quiet" }).collect::<Vec<_>>(),
    }))
}

fn rooms() -> Rooms {
    row(json!({
        "now": [
            {"urgency": "high", "room": "questions", "id": "q_1", "since": NOW - 30_000, "text": "ann asks: Delete the branch?", "action": "answer"},
            {"urgency": "normal", "room": "sessions", "id": "s1", "since": NOW - 400_000,
                "text": "main: no output for 5 minutes, and no processor time", "action": "interrupt"},
        ],
        "events": [{"number": 3, "at": NOW - 9_000, "text": "ann asked q_1"}],
        "agents": [
            agent("ann", "waiting_for_you", "confirm_action {\"action\":\"Delete the branch?\"}"),
            agent("bob", "working", "repl_eval {\"code\":\"main\"}"),
        ],
        "sessions": [{
            "id": "s1", "name": "main", "worktree": "/home/me/shop", "profile": "ghci", "state": "running", "owner": "bob",
            "eval": 7, "code": "forever (pure ())", "running_since": NOW - 400_000, "memory_mib": 212,
        }],
        "questions": [{
            "id": "q_1", "agent": "ann", "title": "Delete the branch?", "danger": "normal",
            "asked_at": NOW - 30_000, "expires_at": NOW + 600_000,
        }],
        "mail": [{
            "id": "m1", "thread": "m1", "from": "bob", "to": [{"name": "ann", "state": "waiting"}], "priority": "high",
            "sent": NOW - 5_000, "text": "The tests pass.\nMerge?",
        }],
    }))
}

fn state(rooms: Rooms) -> State {
    let mut state = State::new(Room::Now);
    update(&mut state, Event::Clock(NOW));
    update(&mut state, snapshot(rooms));
    state
}

fn press(state: &mut State, keys: &str) -> Vec<Action> {
    keys.split(' ').flat_map(|word| update(state, Event::Key(key(word)))).collect()
}

fn key(word: &str) -> Key {
    match word {
        "Enter" => Key::Enter,
        "Esc" => Key::Escape,
        "Tab" => Key::Tab,
        "Home" => Key::Home,
        "Down" | "↓" => Key::Down,
        "Up" => Key::Up,
        "←" => Key::Left,
        word => match (word.strip_prefix("Ctrl-").or(word.strip_prefix('^')), word.chars().next()) {
            (Some(letter), _) => Key::Ctrl(letter.to_lowercase().chars().next().unwrap()),
            (None, first) => Key::Char(first.unwrap()),
        },
    }
}

fn type_text(state: &mut State, text: &str) {
    text.chars().for_each(|c| drop(update(state, Event::Key(Key::Char(c)))));
}

fn check(state: &State, width: u16, expected: &Expect) {
    expected.assert_eq(&picture(state, width, 16));
}

fn snapshot(rooms: Rooms) -> Event {
    Event::Snapshot(Box::new(Snapshot { rooms, ..Snapshot::default() }))
}

#[test]
fn now_shows_needs_and_what_happened() {
    check(
        &state(rooms()),
        80,
        &expect![[r#"
             Now 2  Agents 2  Sessions 1  Mail 1  Questions 1  Activity  Work  Nodes
              needs you                                                 since   action
            ? ann asks: Delete the branch?                              30 s    answer
            × main: no output for 5 minutes, and no processor time      7 min   interrupt

            lately (e shows all)
            9 s     ann asked q_1

            1 working · 1 waits for you · 1 stuck or crashed
        "#]],
    );
    check(
        &state(Rooms::default()),
        60,
        &expect![[r#"
             Now  Agent  Sessi  Mail  Quest  Activ  Work  Nodes
              needs you                             since   action
            Nothing waits for you.

            lately (e shows all)

            quiet
        "#]],
    );
}

#[test]
fn a_narrow_screen_leaves_out_the_less_telling_columns() {
    let mut state = state(rooms());
    press(&mut state, "2");
    check(
        &state,
        60,
        &expect![[r#"
         Now  Agents  Sess  Mail  Ques  Acti  Work  Node
        agent          state          for     doing
        ann            waits for you  90 s    confirm_action {"acti…
        bob            working        90 s    repl_eval {"code":"ma…

        1 working · 1 waits for you · 1 stuck or crashed
    "#]],
    );
    check(
        &state,
        130,
        &expect![[r#"
         Now 2  Agents 2  Sessions 1  Mail 1  Questions 1  Activity  Work  Nodes
        agent          state          for     doing                             last 15 min     role       program      worktree
        ann            waits for you  90 s    confirm_action {"action":"Delete… █··█··█··█··█·· builder    claude-code  shop
        bob            working        90 s    repl_eval {"code":"main"}         █··█··█··█··█·· builder    claude-code  shop

        1 working · 1 waits for you · 1 stuck or crashed
    "#]],
    );
}

#[test]
fn one_key_acts_on_the_chosen_row() {
    let mut state = state(rooms());
    assert_eq!(press(&mut state, "Enter"), [Action::Answer { question: "q_1".to_owned() }]);
    let call =
        |tool: &'static str, arguments: Value| Action::Call { worktree: "/home/me/shop".to_owned(), tool, arguments };
    let interrupt = call("repl_interrupt", json!({"session": "main", "eval": 7}));
    assert_eq!(press(&mut state, "Down i"), std::slice::from_ref(&interrupt));
    assert_eq!(press(&mut state, "3 i"), std::slice::from_ref(&interrupt));
    assert_eq!(press(&mut state, "2 i"), [interrupt], "the only evaluation in the agent's worktree");
    // Stopping loses definitions, so it takes two keys.
    assert_eq!(press(&mut state, "3 x n"), []);
    assert_eq!(press(&mut state, "x y"), [call("repl_stop", json!({"session": "main"}))]);
    assert_eq!(press(&mut state, "x r"), [call("repl_restart", json!({"session": "main"}))]);
    assert_eq!(press(&mut state, "2 x y"), [], "no call of the agent is open");
    assert_eq!(press(&mut state, "q"), [Action::Quit]);
}

#[test]
fn a_face_that_an_agent_started_does_not_answer() {
    let mut state = state(rooms());
    update(&mut state, Event::Refusal(Some("this was started by Claude Code".to_owned())));
    assert_eq!(press(&mut state, "Enter 5 a Enter 2 w Enter 4 r Enter"), []);
    assert!(matches!(state.mode, Mode::Detail(_) | Mode::List), "{:?}", state.mode);
    press(&mut state, "Esc 5 a");
    assert_eq!(state.notice.as_deref(), Some("this was started by Claude Code"));
}

#[test]
fn at_the_top_of_the_calls_new_ones_are_followed() {
    let with = |numbers: &[u64]| {
        let call = |number: &u64| CallRow { number: *number, tool: format!("t{number}"), ..CallRow::default() };
        snapshot(Rooms { activity: numbers.iter().map(call).collect(), ..Rooms::default() })
    };
    let mut state = state(Rooms::default());
    press(&mut state, "6");
    let chosen = |state: &State| state.rows()[state.chosen_index(&state.rows())].cells[1].text.clone();
    update(&mut state, with(&[2, 1]));
    update(&mut state, with(&[3, 2, 1]));
    assert_eq!(chosen(&state), "t3");
    press(&mut state, "Down");
    update(&mut state, with(&[4, 3, 2, 1]));
    assert_eq!(chosen(&state), "t2", "a row that was chosen stays chosen");
}

#[test]
fn opening_a_conversation_reads_it_once() {
    let mut mine = rooms();
    mine.mail[0].to[0].name = USER.to_owned();
    let mut state = state(mine.clone());
    assert_eq!(press(&mut state, "4 Enter"), [Action::See { ids: vec!["m1".to_owned()] }]);
    assert_eq!(update(&mut state, snapshot(mine)), []);
    press(&mut state, "r");
    let Mode::Write(writing) = &state.mode else { panic!("{:?}", state.mode) };
    assert!(writing.letter.reply_to.is_some());
}

#[test]
fn a_message_that_is_left_is_kept() {
    let mut state = state(rooms());
    // Without an agent as the chosen row it goes to all.
    press(&mut state, "w");
    type_text(&mut state, "Stop, all.");
    press(&mut state, "Esc");
    assert!(state.notice.as_deref().is_some_and(|notice| notice.starts_with("not sent")), "{:?}", state.notice);
    press(&mut state, "w");
    let shown = picture(&state, 80, 24);
    assert!(shown.contains("To: everyone") && shown.contains("Stop, all."), "{shown}");
}

#[test]
fn a_row_is_found_by_its_text_and_stays_chosen_when_others_come() {
    let mut state = state(rooms());
    press(&mut state, "2 /");
    type_text(&mut state, "bo");
    assert_eq!(state.rows().len(), 1);
    press(&mut state, "Enter Esc Down");
    let mut more = rooms();
    more.agents.insert(0, agent("aaa", "idle", ""));
    update(&mut state, snapshot(more));
    assert_eq!(state.rows()[state.chosen_index(&state.rows())].id, "bob");
    press(&mut state, "1 ^K");
    type_text(&mut state, "forever");
    press(&mut state, "Enter");
    assert_eq!((state.room, state.chosen[&Room::Sessions].0.as_str()), (Room::Sessions, "s1"));
}

#[test]
fn an_open_session_shows_its_output_from_the_first_byte() {
    let mut state = state(rooms());
    let read = press(&mut state, "3 Enter");
    let [Action::Read { id, worktree, session, cursor: 0 }] = &read[..] else { panic!("{read:?}") };
    assert_eq!([id, worktree, session], ["s1", "/home/me/shop", "main"]);
    let output =
        |session: &str, text: &str, cursor| Event::Output { session: session.into(), text: text.into(), cursor };
    update(&mut state, output("s1", "first\n\u{1b}[31mred\n", 16));
    // Output of another session, and an old answer, change nothing.
    update(&mut state, output("s2", "other", 99));
    update(&mut state, output("s1", "old", 3));
    check(
        &state,
        60,
        &expect![[r#"
         Now  Agen  Sessions  Mail  Ques  Acti  Work  Node
        main · ghci · running
        first
        \x1b[31mred

        1 working · 1 waits for you · 1 stuck or crashed
    "#]],
    );
    // A longer output scrolls at once, also from its beginning.
    update(&mut state, output("s1", &"more\n".repeat(30), 200));
    picture(&state, 60, 16);
    press(&mut state, "Home");
    let beginning = picture(&state, 60, 16);
    assert!(beginning.contains("running\nfirst\n"), "{beginning}");
    press(&mut state, "Down");
    assert!(!picture(&state, 60, 16).contains("first"));
}

/// Random keys in any order: an answer is never part of an action, and only the chosen question's form is opened.
#[test]
fn no_keys_answer_a_question() {
    let words = ["Enter", "Esc", "Tab", "Down", "Up", "^K", "a", "i", "x", "y", "w", "r", "/", "1", "5", "?", "n", "o"];
    let mut chance = Chance(0x2545_f491_4f6c_dd1d);
    let mut opened = 0;
    for _ in 0..80 {
        let mut state = state(rooms());
        for _ in 0..30 {
            let word = chance.one_of(&words);
            let is_list = matches!(state.mode, Mode::List);
            let rows = state.rows();
            let chosen = rows.get(state.chosen_index(&rows)).map(|row| row.id.clone());
            let pasted = chance.below(10) == 0;
            let event = if pasted { Key::Paste("yes\na\n".to_owned()) } else { key(word) };
            for action in update(&mut state, Event::Key(event)) {
                assert!(!matches!(action, Action::Write(_)), "{word}");
                if let Action::Answer { question } = action {
                    assert!(is_list && !pasted && ["Enter", "a"].contains(&word), "{word}");
                    assert_eq!(chosen.as_deref(), Some(question.as_str()));
                    opened += 1;
                }
            }
            draw_lines((60, 16), |frame| draw(frame, &state, Palette::Colours));
        }
    }
    assert!(opened > 20, "{opened}");
}

#[test]
fn every_size_and_hostile_text_can_be_drawn() {
    let mut hostile = rooms();
    let text = format!("\u{1b}]52;c;x\u{7}\u{202e}{}\n<script>", "漢x".repeat(400_000));
    hostile.agents[0].name = text.clone();
    hostile.agents[0].doing = Some(text.clone());
    hostile.questions[0].title = text.clone();
    hostile.now[0].text = text.clone();
    hostile.mail[0].text = text.chars().take(2_000).collect();
    hostile.sessions[0].code = text.clone();
    hostile.events[0].text = text;
    let mut state = state(hostile);
    for keys in ["1", "2", "3", "4", "5", "6", "7", "8", "?", "Esc", "4 Enter", "r x", "Esc Esc ^K x", "Esc 2 /"] {
        press(&mut state, keys);
        for (width, height) in [(300, 100), (60, 16), (61, 17), (59, 16), (1, 1), (200, 3)] {
            let shown = draw_lines((width, height), |frame| draw(frame, &state, Palette::Plain)).concat();
            assert!(!shown.chars().any(|c| c.is_control() || c == '\u{202e}'), "{keys} at {width} × {height}");
        }
    }
}
