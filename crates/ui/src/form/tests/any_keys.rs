//! Random keys in random order: an answer is sent only if the screen showed it, chosen, with the focus on Send.

use serde_json::{Value, json};

use super::super::question::Question;
use super::super::state::{Focus, State, Step};
use super::super::{Answer, Draft};
use super::{Chance, picture};
use crate::terminal::Key;

/// Returns keys as typed by a person, pasted, or meant for a shell.
fn keys(chance: &mut Chance) -> Vec<Key> {
    let typed =
        |text: &str| text.chars().map(|c| if c == '\n' { Key::Enter } else { Key::Char(c) }).collect::<Vec<_>>();
    match chance.below(9) {
        0..=3 => typed(chance.one_of(&["y", "n", " ", "a", "1", "yes", "no", "\n", "\n\n"])),
        4 => typed(chance.one_of(&["clear; ls\n", "no\n", "git push --force\n", "yes | rm -r x\n"])),
        5 => vec![Key::Paste(chance.one_of(&["yes\n", "no\ny\n", "a\n\n\n", "clear; yes\n"]).to_owned())],
        6 => vec![Key::Ctrl(chance.one_of(&['s', 'd', 'u'])); 2],
        7 => vec![Key::Escape],
        _ => {
            let moves =
                [Key::Up, Key::Down, Key::Left, Key::Right, Key::Tab, Key::BackTab, Key::Backspace, Key::PageUp];
            vec![moves[chance.below(moves.len())].clone()]
        }
    }
}

fn questions() -> Vec<Question> {
    let boolean = json!([{"id": "confirm", "kind": "boolean", "label": "Do it?", "required": true}]);
    let list = |kind: &str, other: bool| json!([{"id": "choice", "kind": kind, "options": [{"id": "a"}, {"id": "yes"}, {"id": "1"}], "other": other}]);
    let form = json!([
        {"id": "ship", "kind": "boolean", "default": true}, {"id": "when", "kind": "date"},
        {"id": "with", "kind": "multichoice", "options": [{"id": "a"}, {"id": "b"}]}, {"id": "why", "kind": "multiline"},
    ]);
    let all = [
        ("high", boolean.clone()),
        ("normal", boolean),
        ("normal", list("choice", true)),
        ("normal", list("choice", false)),
        ("normal", list("multichoice", true)),
        ("normal", form),
    ];
    let question = |(danger, fields): &(&str, Value)| {
        let question = json!({"question": "q_1", "title": "Which?", "danger": danger, "fields": fields});
        serde_json::from_value(question).expect("a question")
    };
    all.iter().map(question).collect()
}

#[test]
fn no_order_of_keys_sends_what_the_screen_did_not_show() {
    let mut chance = Chance(0x2545_f491_4f6c_dd1d);
    let (mut sent, mut refused, mut left) = (0, 0, 0);
    for number in 0..240 {
        let question = questions()[number % 6].clone();
        let mut state = State::new(question.clone(), "", &Draft::default());
        let mut size = (60, 24);
        state.is_settled = true;
        // The screen as drawn since the last key, if it was.
        let mut screen = Some(picture(&state, size));
        'form: for _ in 0..80 {
            for key in keys(&mut chance) {
                let was_on_send = state.focus == Focus::Send;
                match state.press(key.clone()) {
                    Step::Stay => {}
                    // The rest belongs to the shell.
                    Step::Leave => {
                        left += 1;
                        assert_eq!(key, Key::Escape);
                        break 'form;
                    }
                    Step::Give(answer) => {
                        let screen = screen.expect("the screen showed the form since the last key");
                        assert!(size.0 >= 20, "a narrow screen cuts the answer");
                        check(&question, &answer, &key, was_on_send, &screen);
                        match answer {
                            Answer::Values { .. } => sent += 1,
                            Answer::Decline { .. } => refused += 1,
                        }
                        break 'form;
                    }
                }
                // Several keys may arrive before the next drawing, and the terminal may have a new size then.
                screen = None;
                if chance.below(3) > 0 {
                    size = chance.one_of(&[(60, 4), (60, 9), (60, 24), (60, 24), (60, 24), (60, 2), (19, 24)]);
                    state.is_settled = chance.below(4) > 0;
                    let drawn = picture(&state, size);
                    screen = state.is_settled.then_some(drawn);
                }
            }
        }
    }
    assert!(sent > 20 && refused > 2 && left > 20, "{sent} sent, {refused} refused, {left} left");
}

fn check(question: &Question, answer: &Answer, key: &Key, was_on_send: bool, screen: &str) {
    let Answer::Values { values, .. } = answer else {
        assert!(*key == Key::Ctrl('d') && screen.contains("Ctrl-D again refuses"), "{screen}");
        return;
    };
    assert!(*key == Key::Enter && was_on_send, "{key:?}: {values:?}");
    let button = screen.lines().find(|line| line.starts_with("▸ [ Send")).expect("the button has the focus");
    let in_words = |value: &Value| match value {
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Value::Array(several) => several.iter().map(|one| one.as_str().expect("an id")).collect::<Vec<_>>().join(", "),
        other => other.as_str().expect("a text").replace('\n', "\\n"),
    };
    if let [only] = question.fields.as_slice() {
        let words = values.get(&only.id).map_or_else(|| "nothing".to_owned(), in_words);
        // Long texts are truncated.
        let begin: String = words.chars().take(40).collect();
        assert!(button.starts_with(&format!("▸ [ Send: {begin}")), "{button}: {words}");
    } else if screen.lines().count() >= 20 {
        for (field, value) in values {
            let words: String = in_words(value).chars().take(40).collect();
            assert!(screen.contains(format!("  {field}: {words}").trim_end()), "{field}: {words}\n{screen}");
        }
    }
}
