//! Keys that choose an answer, keys that send it, and keys that do neither.

use expect_test::expect;
use serde_json::{Map, json};

use super::super::Answer;
use super::super::state::{Focus, State, Step};
use super::{check_picture, confirmation, every_kind, press, state, values};
use crate::terminal::Key;

#[test]
fn a_dangerous_confirmation_takes_a_whole_word() {
    let mut yes = state(confirmation());
    assert_eq!(press(&mut yes, "yes⏎"), Step::Stay);
    check_picture(
        &yes,
        (60, 14),
        &expect![[r#"
        DANGEROUS
        Delete the branch release-1?
        q_7k2mx  12 s ago, 24 h left, from alice in /src/shop
        │ It has 3 commits that main lacks.

          Do it?
          ▏yes

          Note (optional)

        ▸ [ Send: yes ]

        Enter sends
        Tab next · Ctrl-S to Send · Ctrl-D refuse · Esc leave"#]],
    );
    assert_eq!(values(press(&mut yes, "⏎")), (json!({"confirm": true}), None));
    // A letter, an arrow key or a word within a sentence is not an answer.
    for keys in ["y", "n", "Y", "←", "→", " ", "why everything?", "clear; no", "yesno", "nope", "no way"] {
        let mut state = state(confirmation());
        assert_eq!(press(&mut state, &format!("{keys}⏎⏎⏎")), Step::Stay, "{keys}");
        assert_eq!(state.focus, Focus::Field(0), "{keys}");
    }
    let mut agreeing = confirmation();
    agreeing["fields"][0]["default"] = true.into();
    assert!(state(agreeing).values().is_empty(), "a dangerous yes is not filled in beforehand");
    let mut no = state(confirmation());
    // A note is one Tab away.
    assert_eq!(values(press(&mut no, "no⏎⇤not today⏎⏎")), (json!({"confirm": false}), Some("not today".to_owned())));
}

#[test]
fn a_harmless_confirmation_takes_an_arrow_or_a_whole_word() {
    let mut question = confirmation();
    question["danger"] = "normal".into();
    for (keys, expected) in [("←⏎⏎", true), ("→⏎⏎", false), ("yes⏎⏎", true), ("No⏎⏎", false), ("→yes⏎⏎", true)]
    {
        assert_eq!(values(press(&mut state(question.clone()), keys)), (json!({"confirm": expected}), None), "{keys}");
    }
    for keys in ["y⏎⏎", "n⏎⏎", "x⏎⏎", " ⏎⏎", "clear; no⏎⏎", "←nothing⏎⏎"] {
        let mut state = state(question.clone());
        assert_eq!(press(&mut state, keys), Step::Stay, "{keys}");
        assert_eq!(state.focus, Focus::Field(0), "{keys}");
    }
    let mut half = state(question);
    press(&mut half, "→clear; n⏎");
    check_picture(
        &half,
        (60, 13),
        &expect![[r#"
        Delete the branch release-1?
        q_7k2mx  12 s ago, 24 h left, from alice in /src/shop
        │ It has 3 commits that main lacks.

        ▸ Do it?
          ( ) yes   ( ) no
          ▏clear; n
          type yes or no in full

          Note (optional)

        Do it?: type yes or no in full
        Tab next · Ctrl-S to Send · Ctrl-D refuse · Esc leave"#]],
    );
}

#[test]
fn what_is_typed_on_a_list_is_another_text() {
    let question = |other: bool| {
        json!({"question": "q_3", "title": "Which?", "fields": [
            {"id": "choice", "kind": "choice", "options": [{"id": "a"}, {"id": "2"}], "other": other}
        ]})
    };
    let mut typed = state(question(true));
    assert_eq!(press(&mut typed, "mend the 2 tests⏎"), Step::Stay);
    check_picture(
        &typed,
        (60, 13),
        &expect![[r#"
        Which?

          choice
          ( ) a
          ( ) 2
          (•) another:
          ▏mend the 2 tests

          Note (optional)

        ▸ [ Send: mend the 2 tests ]
        Enter sends  ↑ more: PgUp
        Tab next · Ctrl-S to Send · Ctrl-D refuse · Esc leave"#]],
    );
    assert_eq!(values(press(&mut typed, "⏎")).0, json!({"choice": "mend the 2 tests"}));
    // A choice takes the place of another text, and the reverse.
    for (keys, expected) in [("↓⏎⏎", "2"), ("↓↓x↑⏎⏎", "2"), ("⏎⇤⇤↓↓neither 1⏎⏎", "neither 1")]
    {
        assert_eq!(values(press(&mut state(question(true)), keys)).0, json!({"choice": expected}), "{keys}");
    }
    let mut pasted = state(question(true));
    pasted.press(Key::Paste("clear\n".to_owned()));
    assert_eq!(press(&mut pasted, "⏎"), Step::Stay);
    assert_eq!(values(press(&mut pasted, "⏎")).0, json!({"choice": "clear"}));
    // Without a free-text row, letters, digits and spaces choose nothing.
    let mut none = state(question(false));
    assert_eq!(press(&mut none, "2 clear "), Step::Stay);
    none.press(Key::Paste("2".to_owned()));
    assert!(none.values().is_empty());
    // Characters typed on the button become a note, so a line meant for a shell sends nothing.
    let mut shell = state(question(true));
    assert_eq!(press(&mut shell, "clear; ls⏎git status⏎make⏎"), Step::Stay);
    assert_eq!(values(press(&mut shell, "⏎")), (json!({"choice": "clear; ls"}), Some("git statusmake".to_owned())));
}

#[test]
fn a_refusal_is_confirmed_and_leaving_is_not() {
    let mut declining = state(confirmation());
    assert_eq!(press(&mut declining, "^d"), Step::Stay);
    assert_eq!(press(&mut declining, "y^d"), Step::Stay, "another key takes it back");
    assert_eq!(press(&mut declining, "^d"), Step::Give(Answer::Decline { note: None }));
    for keys in ["⎋", "x⎋", "yes⏎⎋", "^c"] {
        assert_eq!(press(&mut state(confirmation()), keys), Step::Leave, "{keys}");
    }
}

#[test]
fn a_draft_begins_the_form_again() {
    let mut left = state(every_kind());
    assert_eq!(left.draft(), None);
    press(&mut left, "hob⇥first⏎second⇥⌫4⇥⇥←⏎mars⇥↓ ⇥2026⇥later⎋");
    let draft = left.draft().expect("a draft");
    let again = State::new(left.question.clone(), "", &draft);
    assert_eq!((again.values(), again.note.text()), (left.values(), "later"));
    // A draft is restored only for existing fields, and a yes to a dangerous question must be typed again.
    assert_eq!(State::new(state(confirmation()).question, "", &draft).values(), Map::new());
    let mut dangerous = state(confirmation());
    press(&mut dangerous, "yes⎋");
    assert_eq!(dangerous.draft(), None);
    let draft = serde_json::from_value(json!({"fields": {"confirm": {"text": "yes"}}})).expect("a draft");
    assert_eq!(State::new(dangerous.question.clone(), "", &draft).values(), Map::new());
}
