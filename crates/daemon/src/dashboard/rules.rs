//! The rules that mark rows as stuck and list the needs of a person: pure functions of the rows and the time.

use std::collections::HashMap;

use project::dashboard::{AgentState, Minute, Need, Room, Rooms, USER, Urgency};

use super::calls::MINUTE;

/// A call is stuck if it is open for this long and its agent made no other call meanwhile.
const SILENT_CALL: u64 = 10 * MINUTE;
/// Critical mail is stuck if it is unread for this long.
const UNREAD: u64 = 2 * MINUTE;

/// Marks the rows of calls, agents and mail that are stuck. `kinds` has the kind of each open call by its number.
/// Sessions are marked by their part, which knows their output.
pub(crate) fn mark_stuck(rooms: &mut Rooms, kinds: &HashMap<u64, Minute>, now: u64) {
    let latest: HashMap<String, u64> =
        rooms.activity.iter().rev().map(|call| (call.agent.clone(), call.number)).collect();
    for call in rooms.activity.iter_mut().filter(|call| call.ended.is_none()) {
        let is_work = kinds.get(&call.number) == Some(&Minute::Working);
        if is_work && call.started + SILENT_CALL <= now && latest.get(&call.agent) == Some(&call.number) {
            call.stuck = Some("open for 10 minutes, and nothing was heard since".to_owned());
        }
    }
    for agent in &mut rooms.agents {
        let mut calls = rooms.activity.iter().filter(|call| call.agent == agent.id);
        agent.stuck = calls.find_map(|call| call.stuck.as_ref().map(|why| format!("{} is {why}", call.tool)));
    }
    for message in
        rooms.mail.iter_mut().filter(|message| message.priority == "critical" && message.sent + UNREAD <= now)
    {
        let unread = message.to.iter().filter(|to| to.state == "waiting" && to.name != USER);
        let unread: Vec<&str> = unread.map(|to| to.name.as_str()).collect();
        if !unread.is_empty() {
            message.stuck = Some(format!("critical, and unread for 2 minutes by {}", unread.join(", ")));
        }
    }
}

/// Returns what needs a person, most urgent first, and the oldest first among equals. `withheld` are the settings that
/// wait for a grant.
pub(crate) fn needs(rooms: &Rooms, withheld: &[String]) -> Vec<Need> {
    let mut needs = Vec::new();
    let mut need = |urgency, room, id: &str, since, text: String, action: &str| {
        needs.push(Need { urgency, room, id: id.to_owned(), since, text, action: action.to_owned() });
    };
    for question in &rooms.questions {
        let is_critical = question.urgent || question.danger == "high";
        let urgency = if is_critical { Urgency::Critical } else { Urgency::High };
        let text = format!("{} asks: {}", question.agent, question.title);
        need(urgency, Room::Questions, &question.id, question.asked_at, text, "answer");
    }
    for message in &rooms.mail {
        if message.is_unread_by_user() {
            let urgency = match message.priority.as_str() {
                "critical" => Urgency::Critical,
                "high" => Urgency::High,
                _ => Urgency::Low,
            };
            let text = format!("{} writes: {}", message.from, message.text.lines().next().unwrap_or_default());
            need(urgency, Room::Mail, &message.id, message.sent, text, "read");
        } else if let Some(why) = &message.stuck {
            let text = format!("mail from {}: {why}", message.from);
            need(Urgency::Normal, Room::Mail, &message.id, message.sent, text, "open");
        }
    }
    for session in &rooms.sessions {
        let began = session.running_since.unwrap_or(session.since);
        if let Some(why) = &session.stuck {
            need(Urgency::Normal, Room::Sessions, &session.id, began, format!("{}: {why}", session.name), "interrupt");
        } else if ["crashed", "killed", "uninterruptible", "waiting_for_input"].contains(&session.state.as_str()) {
            let text = match &session.reason {
                Some(why) => format!("{}: {why}", session.name),
                None => format!("{} is {}", session.name, session.state.replace('_', " ")),
            };
            need(Urgency::Normal, Room::Sessions, &session.id, began, text, "open");
        }
    }
    // The stuck call of an evaluation is the session's need.
    for agent in rooms.agents.iter().filter(|agent| agent.state != AgentState::Gone) {
        if let Some(why) = &agent.stuck {
            need(Urgency::Normal, Room::Agents, &agent.id, agent.since, format!("{}: {why}", agent.name), "open");
        }
    }
    for setting in withheld {
        need(Urgency::Low, Room::Now, setting, 0, format!("hob.toml asks for a grant: {setting}"), "run `hob trust`");
    }
    needs.sort_by_key(|one| (one.urgency, one.since));
    needs
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use project::dashboard::{AgentRow, CallRow, MailRow, QuestionRow, Recipient, SessionRow};

    const NOW: u64 = 100 * MINUTE;

    fn call(number: u64, started: u64) -> CallRow {
        CallRow { number, agent: "ann".to_owned(), tool: "repl_eval".to_owned(), started, ..CallRow::default() }
    }

    #[test]
    fn a_call_is_stuck_after_ten_silent_minutes() {
        let stuck = |calls: Vec<CallRow>, kind: Minute| {
            let kinds = calls.iter().map(|call| (call.number, kind)).collect();
            let agents = vec![AgentRow { id: "ann".to_owned(), ..AgentRow::default() }];
            let mut rooms = Rooms { activity: calls, agents, ..Rooms::default() };
            mark_stuck(&mut rooms, &kinds, NOW);
            rooms.agents[0].stuck.is_some()
        };
        assert!(stuck(vec![call(1, NOW - SILENT_CALL)], Minute::Working));
        assert!(!stuck(vec![call(1, NOW - SILENT_CALL + 1)], Minute::Working));
        assert!(!stuck(vec![call(1, 0)], Minute::WaitingForMail), "it waits for mail");
        let ended = CallRow { ended: Some(9), ..call(2, NOW - 5) };
        assert!(!stuck(vec![ended, call(1, 0)], Minute::Working), "the agent was heard since");
        assert!(!stuck(vec![CallRow { ended: Some(9), ..call(1, 0) }], Minute::Working));
    }

    fn message(id: &str, to: &str, priority: &str, sent: u64, state: &str) -> MailRow {
        MailRow {
            id: id.to_owned(),
            from: "bob".to_owned(),
            to: vec![Recipient { name: to.to_owned(), state: state.to_owned() }],
            priority: priority.to_owned(),
            sent,
            text: "first line\nsecond".to_owned(),
            ..MailRow::default()
        }
    }

    fn check(mut rooms: Rooms, expected: &Expect) {
        mark_stuck(&mut rooms, &HashMap::new(), NOW);
        let needs = needs(&rooms, &["toolsets".to_owned()]);
        let line = |need: &Need| format!("{:?} {:?} {} ({})\n", need.urgency, need.room, need.text, need.action);
        expected.assert_eq(&needs.iter().map(line).collect::<String>());
    }

    #[test]
    fn the_most_urgent_need_comes_first() {
        let question = |id: &str, danger: &str, asked_at| QuestionRow {
            id: id.to_owned(),
            agent: "ann".to_owned(),
            title: format!("Question {id}?"),
            danger: danger.to_owned(),
            asked_at,
            ..QuestionRow::default()
        };
        let session = |name: &str, state: &str, stuck: Option<&str>| SessionRow {
            id: name.to_owned(),
            name: name.to_owned(),
            state: state.to_owned(),
            since: 7,
            stuck: stuck.map(str::to_owned),
            ..SessionRow::default()
        };
        let rooms = Rooms {
            questions: vec![question("late", "normal", 9), question("early", "low", 3), question("risky", "high", 20)],
            mail: vec![
                message("m1", USER, "normal", 5, "waiting"),
                message("m2", USER, "normal", 5, "read"),
                message("m3", "ann", "critical", NOW - UNREAD, "waiting"),
                message("m4", "ann", "critical", NOW - UNREAD + 1, "waiting"),
                message("m5", "ann", "high", 0, "waiting"),
            ],
            sessions: vec![
                session("main", "crashed", None),
                session("loop", "running", Some("no output for 5 minutes")),
                session("fine", "idle", None),
            ],
            ..Rooms::default()
        };
        check(
            rooms,
            &expect![[r#"
                Critical Questions ann asks: Question risky? (answer)
                High Questions ann asks: Question early? (answer)
                High Questions ann asks: Question late? (answer)
                Normal Sessions main is crashed (open)
                Normal Sessions loop: no output for 5 minutes (interrupt)
                Normal Mail mail from bob: critical, and unread for 2 minutes by ann (open)
                Low Now hob.toml asks for a grant: toolsets (run `hob trust`)
                Low Mail bob writes: first line (read)
            "#]],
        );
    }
}
