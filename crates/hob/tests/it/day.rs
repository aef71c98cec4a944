//! A day of three agents, with `hob top` in a terminal and the page in a browser open throughout: after each step the rows of
//! both are those of `hob status --json`.

use project::dashboard::Room;
use serde_json::{Value, json};
use testkit::{Screen, TestProject, has_program, kill_hard, until};

use crate::page::{Browser, change};
use crate::{ask, fresh};

/// The rooms that are compared, with the key that opens each in `hob top`.
const ROOMS: [(&str, &str); 6] =
    [("now", "1"), ("agents", "2"), ("sessions", "3"), ("mail", "4"), ("questions", "5"), ("activity", "6")];

struct Day<'a> {
    project: &'a TestProject,
    screen: Screen<'a>,
    browser: Browser,
}

impl Day<'_> {
    /// Waits until both faces have the rows of the status, in every room.
    fn agree(&self, step: &str) {
        for (room, key) in ROOMS {
            let mut last = String::new();
            let agrees = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                until("the faces agree", || {
                    // A key directly after Escape is dropped, so it is pressed again.
                    self.screen.press(&[key]);
                    let status: Value = serde_json::from_str(&self.project.run(["status", "--json"]).ok()).unwrap();
                    let wanted = expected_rows(&status["rooms"], room);
                    let on_screen = rows_on_screen(&self.screen.text(), room);
                    let on_page = rows_on_page(&self.browser.get(room), room);
                    last = format!("{step}: {room}: {wanted:#?}\nscreen: {on_screen:#?}\npage: {on_page:#?}");
                    (has_rows(&on_screen, &wanted, 11) && has_rows(&on_page, &wanted, 200)).then_some(())
                });
            }));
            assert!(agrees.is_ok(), "{last}");
        }
    }
}

/// Returns the cells of each row that every face must show.
fn expected_rows(rooms: &Value, room: &str) -> Vec<Vec<String>> {
    let fields: &[&str] = match room {
        "now" => &["text"],
        "agents" | "sessions" => &["name", "state"],
        "mail" => &["from", "text"],
        "questions" => &["title", "agent"],
        _ => &["agent", "tool"],
    };
    let word = |row: &Value, field: &str| match row[field].as_str().unwrap_or_default() {
        "waiting_for_you" => "waits for you".to_owned(),
        "waiting_for_mail" => "waits for mail".to_owned(),
        text if field == "state" => text.replace('_', " "),
        text => text.to_owned(),
    };
    let rows = rooms[room].as_array().unwrap().iter();
    rows.map(|row| fields.iter().map(|field| word(row, field)).collect()).collect()
}

/// Returns true if these are the rows, in this order. Cells are compared up to a length.
fn has_rows(drawn: &[String], wanted: &[Vec<String>], length: usize) -> bool {
    let has = |(row, cells): (&String, &Vec<String>)| {
        cells.iter().all(|cell| row.contains(&cell.chars().take(length).collect::<String>()))
    };
    drawn.len() == wanted.len() && drawn.iter().zip(wanted).all(has)
}

fn rows_on_screen(text: &str, room: &str) -> Vec<String> {
    let rows = text.lines().skip(2).take_while(|line| !line.trim().is_empty());
    let when_empty: String = Room::from_name(room).unwrap().when_empty().chars().take(60).collect();
    rows.filter(|line| !line.starts_with(&when_empty)).map(str::to_owned).collect()
}

fn rows_on_page(page: &str, room: &str) -> Vec<String> {
    let (rows, mark) = match room {
        "now" => (page.split_once("id=\"needs\"").unwrap().1.split_once("</section>").unwrap().0, "<li>"),
        _ => (
            page.split_once("<tbody").map_or("", |(_, rows)| rows.split_once("</tbody>").unwrap().0),
            "<tr role=\"row\">",
        ),
    };
    let text = |row: &str| row.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect();
    rows.split(mark).skip(1).map(text).collect()
}

#[test]
fn both_faces_show_a_day_as_the_status_does() {
    if !has_program("tmux") {
        return;
    }
    let project = fresh();
    assert_eq!(project.run(["status", "--line"]).ok(), "hob is not running\n");
    let [mut ann, mut bob, mut cara] = ["ann", "bob", "cara"].map(|name| {
        let mut agent = ask::agent_as(&project, &["repl,mail,ask"]);
        agent.call("register_agent", json!({"name": name, "role": "builder"}));
        agent
    });
    assert_eq!(project.run(["status", "--line"]).ok(), "3 working\n");
    let screen = Screen::run(&project, "hob top");
    let mut day = Day { project: &project, screen, browser: Browser::open(&project) };
    let mut changes = day.browser.follow("sessions");
    day.agree("three agents");
    assert!(project.run(["top", "--once", "work"]).ok().contains("ann, bob, cara"), "they are in one worktree");

    // An evaluation is seen from its first byte, and interrupted by a key.
    ann.call("repl_start", json!({"profile": "bash", "session": "long"}));
    let call = ann.start_call("repl_eval", json!({"session": "long", "code": "echo begun; sleep 600"}));
    day.screen.press(&["3"]);
    day.screen.until("#1 echo begun; sleep 600");
    day.agree("an evaluation");
    day.screen.press(&["3", "Enter"]);
    day.screen.until("begun");
    day.screen.press(&["i"]);
    let answer = ann.answer(call);
    assert!(answer.text.contains("interrupted"), "{}", answer.text);
    day.screen.press(&["Escape"]);
    day.agree("an interrupt");

    bob.call("send_message", json!({"to": "cara", "content": "Please review."}));
    bob.call("send_message", json!({"to": "user", "content": "Shall I merge?", "priority": "high"}));
    day.agree("mail");
    day.screen.press(&["1", "Enter"]);
    day.screen.until("│ Shall I merge?");
    day.screen.press(&["r"]);
    day.screen.type_text("Yes.");
    day.screen.press(&["C-s"]);
    day.screen.until("Sent to bob.");
    day.screen.press(&["Escape"]);
    assert!(bob.call("check_messages", json!({})).text.contains("was written to you by your user"));
    assert!(cara.call("check_messages", json!({})).text.contains("Please review."));
    day.agree("an answer to mail");

    cara.call("confirm_action", json!({"action": "Delete the branch", "wait_s": 0}));
    day.agree("a question");
    let questions = day.browser.get("questions");
    let (_, link) = questions.split_once("href=\"question?id=").unwrap();
    let form = day.browser.get(&format!("question?id={}", link.split_once('#').unwrap().0));
    let sent = day.browser.post(&form, &[("f0", "no"), ("action", "send")]);
    assert_eq!(sent.status, 303, "{}", sent.body);
    assert_eq!(cara.call("ask_wait", json!({})).structured["confirmed"], false);
    day.agree("an answer");

    bob.call(
        "repl_eval",
        json!({"profile": "bash", "session": "probe", "code": "echo from the first byte; kill -SEGV $$"}),
    );
    day.screen.press(&["1"]);
    day.screen.until("probe: it crashed");
    day.agree("a crashed session");
    let once = project.run(["top", "--once", "sessions"]).ok();
    assert!(once.contains("probe") && once.contains("crashed"), "{once}");

    kill_hard(project.daemon_pid().unwrap());
    day.screen.until("not connected");
    change(&mut changes, "No daemon is running");
    assert!(day.browser.get("sessions").contains("No daemon is running"));
    ann.call("repl_eval", json!({"profile": "bash", "session": "again", "code": "true"}));
    let back = change(&mut changes, "again");
    assert_eq!(back["parts"]["state"], "");
    until("the screen returns", || (!day.screen.text().contains("not connected")).then_some(()));
    day.agree("another daemon");
    day.screen.press(&["1"]);
    day.screen.until("the daemon started");

    assert_eq!(day.browser.end(), Some(0), "the page ends when told");
    day.screen.press(&["q"]);
    day.screen.until("ended with 0");
    until("the end of looking is an event", || {
        project.run(["top", "--once", "now"]).stdout.contains("you stopped looking").then_some(())
    });
    assert!(project.daemon_pid().is_some());
}
