//! A question that is answered in four ways at once: by two commands, by the agent's dialog, and by the asker who withdraws it.
//! One wins, and the others are told which one came first, and when.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{McpPeer, TestProject, until};

use super::agent_with_dialogs;
use crate::fresh;

const RACES: usize = 200;

/// A person's connection to the daemon, like the command line's.
pub(super) struct Person {
    stream: BufReader<UnixStream>,
    last: u64,
}

impl Person {
    /// Connects; `None` while no daemon runs.
    pub(super) fn connect(project: &TestProject) -> Option<Person> {
        Person::connect_as(project, "control")
    }

    /// Connects to the daemon's socket with this role.
    pub(super) fn connect_as(project: &TestProject, role: &str) -> Option<Person> {
        let status: Value = serde_json::from_str(&project.run(["status", "--json"]).stdout).ok()?;
        let stream = UnixStream::connect(status["daemon"]["socket"].as_str()?).ok()?;
        let mut person = Person { stream: BufReader::new(stream), last: 0 };
        let root = project.root();
        let hello = json!({"hob": 1, "role": role, "cwd": root, "worktree": root, "version": "test"});
        let answer = person.exchange(&hello)?;
        assert_eq!(answer["ok"], true, "{answer}");
        Some(person)
    }

    /// Sends a request and returns its response; `None` if the daemon is gone.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Option<Value> {
        self.last += 1;
        let id = self.last;
        let mut came = self.exchange(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        while came["id"] != id {
            came = self.read()?;
        }
        Some(came)
    }

    /// Sends a message without waiting for a response.
    pub(super) fn send(&mut self, message: &Value) {
        self.stream.get_mut().write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn exchange(&mut self, message: &Value) -> Option<Value> {
        self.stream.get_mut().write_all(format!("{message}\n").as_bytes()).ok()?;
        self.read()
    }

    /// Waits briefly for news about a question; `None` if the daemon is gone.
    pub(super) fn read_notice(&mut self) -> Option<()> {
        self.stream.get_ref().set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let heard = self.stream.fill_buf().map(<[u8]>::is_empty);
        self.stream.get_ref().set_read_timeout(None).unwrap();
        match heard {
            Ok(true) => None,
            Ok(false) => self.read().map(drop),
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut).then_some(()),
        }
    }

    pub(super) fn read(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.stream.read_line(&mut line).ok().filter(|count| *count > 0)?;
        serde_json::from_str(&line).ok()
    }
}

/// Returns the message of a refusal; `None` if the request succeeded.
fn refused(message: &Value) -> Option<&str> {
    message["error"]["message"].as_str()
}

#[test]
fn of_four_ways_to_a_question_one_wins_and_the_others_are_told() {
    let project = fresh();
    let mut agent = agent_with_dialogs(&project);
    let mut people = [Person::connect(&project).unwrap(), Person::connect(&project).unwrap()];
    let mut won = [0; 4];
    for race in 0..RACES {
        let call = agent.start_call("confirm_action", json!({"action": format!("Go on, {race}?"), "wait_s": 60}));
        let dialog = agent.wait_for("the dialog", |message| message["method"] == "elicitation/create")["id"].clone();
        let list = people[0].request("ask/list", json!({})).unwrap();
        let id = list["result"]["questions"][0]["question"].as_str().unwrap().to_owned();
        let (said, back) = at_once(&mut agent, &mut people, race, &dialog, &id);
        let back = agent.answer(back);
        let result = agent.answer(call).structured;
        let is_told = |message: &&str| {
            let by = message.contains("already: by tester (") || message.contains("already: withdrawn by its asker, ");
            by && message.contains("T") && message.ends_with('Z')
        };
        let mut winners: Vec<usize> = (0..2).filter(|way| refused(&said[*way]).is_none()).collect();
        let losers: Vec<&str> = said.iter().filter_map(refused).collect();
        assert!(losers.iter().all(is_told), "{losers:?}");
        match (result["status"].as_str(), result["note"].as_str()) {
            (Some("cancelled"), _) => winners.push(3),
            (Some("answered"), Some("dialog")) => winners.push(2),
            (Some("answered"), Some(note)) => {
                assert_eq!(winners, [note.parse::<usize>().unwrap()], "{result}");
                assert_eq!(result["answered"]["by"], "tester", "{result}");
            }
            _ => panic!("{result}"),
        }
        assert_eq!(winners.len(), 1, "{said:?} {result}");
        let is_back = winners == [3];
        assert_eq!((back.structured["status"] == "cancelled", result["confirmed"] == true), (is_back, !is_back));
        won[winners[0]] += 1;
    }
    eprintln!("{RACES} races, won by two commands, the dialog and ask_cancel: {won:?}");
}

/// Sends all four at once; the order of the agent's two ways varies.
fn at_once(agent: &mut McpPeer, people: &mut [Person; 2], race: usize, dialog: &Value, id: &str) -> ([Value; 2], i64) {
    let content = json!({"action": "accept", "content": {"confirm": "yes", "note": "dialog"}});
    let filled = json!({"jsonrpc": "2.0", "id": dialog, "result": content});
    let back = json!({"question": id, "reason": "raced"});
    let barrier = std::sync::Barrier::new(3);
    let [one, two] = people;
    std::thread::scope(|scope| {
        let (barrier, give) = (&barrier, |person: &mut Person, note: &str| {
            barrier.wait();
            person.request("ask/answer", json!({"question": id, "yes": true, "note": note})).unwrap()
        });
        let (one, two) = (scope.spawn(move || give(one, "0")), scope.spawn(move || give(two, "1")));
        // A dialog's answer takes the longest route.
        let is_early = race.is_multiple_of(4);
        if is_early {
            agent.send(&filled);
        }
        barrier.wait();
        // Delays the people's requests, because the agent's are already under way.
        (0..race % 8 * 2000).for_each(|_| std::hint::spin_loop());
        let back = agent.start_call("ask_cancel", back);
        if !is_early {
            agent.send(&filled);
        }
        ([one.join().unwrap(), two.join().unwrap()], back)
    })
}

#[test]
fn two_questions_of_two_agents_get_their_own_answers() {
    let project = fresh();
    let mut agents = [agent_with_dialogs(&project), agent_with_dialogs(&project)];
    let mut people = [Person::connect(&project).unwrap(), Person::connect(&project).unwrap()];
    let mut won = [0; 2];
    for race in 0..RACES / 2 {
        let title = |asker: usize| format!("Agent {asker}, race {race}?");
        let asked = |asker: usize, agent: &mut McpPeer| {
            let call = agent.start_call("confirm_action", json!({"action": title(asker), "wait_s": 60}));
            let dialog =
                agent.wait_for("the dialog", |message| message["method"] == "elicitation/create")["id"].clone();
            (call, dialog)
        };
        let [one, two] = &mut agents;
        let calls = [asked(0, one), asked(1, two)];
        let list = people[0].request("ask/list", json!({})).unwrap();
        let listed = list["result"]["questions"].as_array().unwrap();
        let id = |asker: usize| {
            let of = listed.iter().find(|question| question["title"] == title(asker)).unwrap();
            of["question"].as_str().unwrap().to_owned()
        };
        let ids = [id(0), id(1)];
        // Both people and both dialogs at once; every second time, each person answers the other's question first.
        let barrier = std::sync::Barrier::new(3);
        std::thread::scope(|scope| {
            for (at, person) in people.iter_mut().enumerate() {
                let (asker, ids, barrier) = ((at + race) % 2, &ids, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let note = format!("command {asker}");
                    let answer = json!({"question": ids[asker], "yes": asker == 0, "note": note});
                    person.request("ask/answer", answer).unwrap();
                });
            }
            barrier.wait();
            (0..race % 8 * 2000).for_each(|_| std::hint::spin_loop());
            for (asker, agent) in agents.iter_mut().enumerate() {
                let confirm = if asker == 0 { "yes" } else { "no" };
                let content = json!({"confirm": confirm, "note": format!("dialog {asker}")});
                let filled = json!({"action": "accept", "content": content});
                agent.send(&json!({"jsonrpc": "2.0", "id": calls[asker].1, "result": filled}));
            }
        });
        for (asker, agent) in agents.iter_mut().enumerate() {
            let result = agent.answer(calls[asker].0).structured;
            assert_eq!(
                (&result["question"], &result["confirmed"]),
                (&json!(ids[asker]), &json!(asker == 0)),
                "{result}"
            );
            let (way, whose) = result["note"].as_str().unwrap().split_once(' ').unwrap();
            assert_eq!(whose, asker.to_string(), "{result}");
            won[usize::from(way == "dialog")] += 1;
        }
    }
    assert_eq!(won[0] + won[1], RACES);
    eprintln!("{} races for two questions each, won by commands and dialogs: {won:?}", RACES / 2);
}

/// Returns the exit codes of scripts: one that asks, and others that wait for its question by id.
fn codes_of_scripts(
    project: &TestProject,
    person: &mut Person,
    title: &str,
    owner_waits: bool,
) -> (Option<i32>, usize) {
    let start = |args: &[&str]| {
        let mut script = project.hob(["ask"].iter().chain(args));
        script.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null()).spawn().unwrap()
    };
    let mut owner = start(&["confirm", title, "--wait", if owner_waits { "60" } else { "0" }]);
    let id = until("the question", || {
        let list = person.request("ask/list", json!({})).unwrap();
        let listed = list["result"]["questions"].as_array().unwrap();
        let of = listed.iter().find(|question| question["title"] == title)?;
        Some(of["question"].as_str().unwrap().to_owned())
    });
    if !owner_waits {
        owner.wait().unwrap();
    }
    let mut others: Vec<_> = (0..4).map(|_| start(&["wait", &id, "--wait", "60"])).collect();
    std::thread::sleep(Duration::from_millis(150)); // sleeps: some wait by then, and some come later
    person.request("ask/answer", json!({"question": id, "yes": true})).unwrap();
    let others = others.iter_mut().filter_map(|other| other.wait().unwrap().code().filter(|code| *code == 0));
    let others = others.count();
    (owner.wait().unwrap().code(), others)
}

#[test]
fn one_yes_lets_one_script_run() {
    let project = fresh();
    // This starts the daemon.
    drop(super::agent(&project));
    let mut watch = project.hob(["questions", "--watch"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the face is known", || (super::watching(&project) == 1).then_some(()));
    let mut person = Person::connect(&project).unwrap();
    for round in 0..8 {
        let codes = codes_of_scripts(&project, &mut person, &format!("Race {round}?"), true);
        assert_eq!(codes, (Some(0), 0), "the script that waits itself gets it");
        let codes = codes_of_scripts(&project, &mut person, &format!("Left {round}?"), false);
        assert_eq!(codes, (Some(6), 1), "one of those that continue it gets it");
    }
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn one_yes_confirms_one_of_many_calls_at_once() {
    let project = fresh();
    let mut agent = super::agent(&project);
    let mut person = Person::connect(&project).unwrap();
    for round in 0..8 {
        let again = json!({"action": format!("Go on, {round}?"), "wait_s": 0});
        let id = agent.call("confirm_action", again.clone()).structured["question"].as_str().unwrap().to_owned();
        person.request("ask/answer", json!({"question": id, "yes": true})).unwrap();
        let wait = json!({"question": id, "wait_s": 1});
        let (tool, arguments) = if round % 2 == 0 { ("confirm_action", again) } else { ("ask_wait", wait) };
        let calls: Vec<i64> = (0..10).map(|_| agent.start_call(tool, arguments.clone())).collect();
        let results: Vec<_> = calls.into_iter().map(|call| agent.answer(call)).collect();
        let confirmed = results.iter().filter(|result| result.structured["confirmed"] == true).count();
        let told: usize = results.iter().map(|result| result.text.matches("confirmed: true").count()).sum();
        assert_eq!((confirmed, told), (1, 1), "{tool}: {results:?}");
    }
}
