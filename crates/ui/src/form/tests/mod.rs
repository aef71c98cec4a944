//! Forms driven by keys, and the resulting screens.

mod any_keys;
mod choosing;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::draw::draw;
use super::question::Question;
use super::state::{Focus, State, Step};
use super::{Answer, Draft, Problem};
use crate::terminal::{Key, draw_lines};

fn state(question: Value) -> State {
    State::new(serde_json::from_value::<Question>(question).expect("a question"), "", &Draft::default())
}

/// Presses keys and draws the form after each. Letters stand for themselves, `⏎ ⇥ ⇤ ↑ ↓ ← → ⌫ ⎋` for those keys, `^x`
/// for Ctrl-x.
fn press(state: &mut State, keys: &str) -> Step {
    let mut step = Step::Stay;
    let mut keys = keys.chars();
    while let Some(c) = keys.next() {
        let key = match c {
            '⏎' => Key::Enter,
            '⇥' => Key::Tab,
            '⇤' => Key::BackTab,
            '↑' => Key::Up,
            '↓' => Key::Down,
            '←' => Key::Left,
            '→' => Key::Right,
            '⌫' => Key::Backspace,
            '⎋' => Key::Escape,
            '⇟' => Key::PageDown,
            '^' => Key::Ctrl(keys.next().expect("a letter")),
            c => Key::Char(c),
        };
        step = state.press(key);
        state.is_settled = true;
        picture(state, (80, 24));
    }
    step
}

/// Returns the answer that these keys send to a confirmation.
pub(crate) fn confirm(danger: &str, keys: &[Key]) -> Option<Answer> {
    let mut question = confirmation();
    question["danger"] = danger.into();
    let mut state = state(question);
    let mut last = Step::Stay;
    for key in keys {
        state.is_settled = true;
        picture(&state, (80, 24));
        last = state.press(key.clone());
    }
    if let Step::Give(answer) = last { Some(answer) } else { None }
}

/// Draws the form and returns the text of the screen.
fn picture(state: &State, size: (u16, u16)) -> String {
    draw_lines(size, |frame| draw(frame, state)).join("\n")
}

/// Random numbers from a seed.
pub(crate) struct Chance(pub u64);

impl Chance {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    pub(crate) fn one_of<T: Copy>(&mut self, some: &[T]) -> T {
        some[self.below(some.len())]
    }
}

fn values(step: Step) -> (Value, Option<String>) {
    match step {
        Step::Give(Answer::Values { values, note }) => (values.into(), note),
        other => panic!("no values: {other:?}"),
    }
}

fn check_picture(state: &State, size: (u16, u16), expected: &Expect) {
    expected.assert_eq(&picture(state, size));
}

fn confirmation() -> Value {
    json!({
        "question": "q_7k2mx", "title": "Delete the branch release-1?", "message": "It has 3 commits that main lacks.",
        "agent": "alice", "worktree": "/src/shop", "danger": "high", "age_s": 12, "left_s": 86_000,
        "fields": [{"id": "confirm", "kind": "boolean", "label": "Do it?", "required": true}]
    })
}

fn every_kind() -> Value {
    json!({
        "question": "q_2", "title": "The release", "worktree": "/src/shop", "age_s": 200, "left_s": 600_000,
        "fields": [
            {"id": "about", "kind": "note", "label": "Read this first.", "help": "It is long."},
            {"id": "name", "kind": "text", "required": true},
            {"id": "why", "kind": "multiline", "help": "For the log."},
            {"id": "copies", "kind": "integer", "default": 3},
            {"id": "share", "kind": "number"},
            {"id": "ship", "kind": "boolean"},
            {"id": "where", "kind": "choice", "options": [{"id": "eu", "label": "Europe"}, {"id": "us", "help": "Slow."}], "other": true},
            {"id": "with", "kind": "multichoice", "options": [{"id": "docs"}, {"id": "source"}], "default": ["docs"]},
            {"id": "when", "kind": "date", "show_if": {"field": "ship", "equals": true}}
        ]
    })
}

#[test]
fn every_kind_of_field_is_filled_in_by_keys() {
    let mut state = state(every_kind());
    // The date is asked for once `ship` is yes.
    let step = press(&mut state, "hob⏎because\u{b}⏎of it⇥⌫4⏎0.5⏎←⏎↓⏎→⏎2026-11-25⏎⏎");
    assert_eq!(
        values(step),
        (
            json!({
                "name": "hob", "why": "because\nof it", "copies": 4, "share": 0.5, "ship": true, "where": "us",
                "with": ["docs"], "when": "2026-11-25"
            }),
            None
        )
    );
    check_picture(
        &state,
        (60, 40),
        &expect![[r#"
            The release
              ▏because
              ▏of it

              copies (a whole number)
              ▏4

              share (a number)
              ▏0.5

              ship
              (•) yes   ( ) no

              where
              ( ) Europe
              (•) us
                  Slow.
              ( ) another:

              with
              [x] docs
              [ ] source

              when (YYYY-MM-DD)
              ▏2026-11-25

              Note (optional)

            These are your answers:
              name: hob
              why: because\nof it
              copies: 4
              share: 0.5
              ship: yes
              where: us
              with: docs
              when: 2026-11-25
            ▸ [ Send ]
            Enter sends  ↑ more: PgUp
            Tab next · Ctrl-S to Send · Ctrl-D refuse · Esc leave"#]],
    );
}

#[test]
fn an_answer_that_was_not_taken_stays_and_says_why() {
    let mut state = state(every_kind());
    press(&mut state, "hob⇥⇥⌫many^s⏎");
    state.refuse(Problem { field: Some("copies".to_owned()), why: "a whole number is needed".to_owned() });
    assert_eq!(state.focus, Focus::Field(3));
    assert_eq!(values(press(&mut state, "⌫⌫⌫⌫5^s⏎")).0["copies"], json!(5));
    state.refuse(Problem { field: None, why: "the disk is full".to_owned() });
    state.focus = Focus::Send;
    check_picture(
        &state,
        (50, 8),
        &expect![[r#"
            The release
              share: nothing
              ship: nothing
              where: nothing
              with: docs
            ▸ [ Send ]
            the disk is full
            Tab · ^S to Send · ^D refuse · Esc"#]],
    );
}

#[test]
fn a_long_question_is_read_from_its_top_and_never_loses_its_title() {
    let mut question = confirmation();
    // Texts of agents are shown, and not obeyed.
    question["title"] = "Clear\u{1b}[2J the \u{202e}screen?".into();
    question["message"] = (1..=20).map(|n| format!("\u{7}line {n}\n")).collect::<String>().into();
    let mut state = state(question);
    check_picture(
        &state,
        (60, 10),
        &expect![[r#"
            DANGEROUS
            Clear\x1b[2J the \u{202e}screen?
            q_7k2mx  12 s ago, 24 h left, from alice in /src/shop
            │ \x07line 1
            │ \x07line 2
            │ \x07line 3
            │ \x07line 4
            │ \x07line 5
            Type yes or no, then Enter  ↓ more: PgDn
            Tab next · Ctrl-S to Send · Ctrl-D refuse · Esc leave"#]],
    );
    press(&mut state, "⇟⇟");
    check_picture(
        &state,
        (60, 10),
        &expect![[r#"
            DANGEROUS
            Clear\x1b[2J the \u{202e}screen?
            │ \x07line 8
            │ \x07line 9
            │ \x07line 10
            │ \x07line 11
            │ \x07line 12
            │ \x07line 13
            Type yes or no, then Enter  ↑↓ more: PgUp, PgDn
            Tab next · Ctrl-S to Send · Ctrl-D refuse · Esc leave"#]],
    );
    press(&mut state, "y");
    check_picture(
        &state,
        (60, 10),
        &expect![[r#"
            DANGEROUS
            Clear\x1b[2J the \u{202e}screen?
            │ \x07line 18
            │ \x07line 19
            │ \x07line 20

            ▸ Do it?
              ▏y
            Type yes or no, then Enter  ↑↓ more: PgUp, PgDn
            Tab next · Ctrl-S to Send · Ctrl-D refuse · Esc leave"#]],
    );
}

#[test]
fn the_row_under_the_cursor_is_seen() {
    let options: Vec<Value> = (1..=40).map(|n| json!({"id": n.to_string()})).collect();
    let mut state = state(json!({"question": "q_4", "title": "Which?", "fields": [
        {"id": "choice", "kind": "choice", "options": options}
    ]}));
    press(&mut state, &"↓".repeat(12));
    check_picture(
        &state,
        (40, 8),
        &expect![[r#"
            Which?
              ( ) 9
              ( ) 10
              ( ) 11
              ( ) 12
            › ( ) 13
            ↑↓ more: PgUp, PgDn
            Tab · ^S to Send · ^D refuse · Esc"#]],
    );
}
