//! Random operations, compared after every step with a plain model of a mailbox.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mail::{CheckRequest, Limits, Outcome, Priority, Session, member};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::fixture::{StoreFixture, limits, next_session};

const AGENTS: usize = 3;
const LIVES: usize = 2;
const FULL: usize = 6;

#[derive(Debug, Clone)]
enum Op {
    Send { from: usize, to: To, priority: u8 },
    Check { who: usize, life: usize, limit: usize },
    Ack { who: usize, life: usize, nth: usize },
    End { who: usize, life: usize },
    Join { who: usize, member: usize },
    Leave { who: usize, member: usize },
    Pass { minutes: u64 },
}

#[derive(Debug, Clone)]
enum To {
    Agent(usize),
    Group,
    Everyone,
}

fn op() -> impl Strategy<Value = Op> {
    let (who, life) = (0..AGENTS, 0..LIVES);
    let to = prop_oneof![4 => (0..AGENTS).prop_map(To::Agent), 1 => Just(To::Group), 1 => Just(To::Everyone)];
    prop_oneof![
        8 => (who.clone(), to, 0..4u8).prop_map(|(from, to, priority)| Op::Send { from, to, priority }),
        6 => (who.clone(), life.clone(), 1..5usize).prop_map(|(who, life, limit)| Op::Check { who, life, limit }),
        2 => (who.clone(), life.clone(), 0..20usize).prop_map(|(who, life, nth)| Op::Ack { who, life, nth }),
        3 => (who.clone(), life).prop_map(|(who, life)| Op::End { who, life }),
        1 => (who.clone(), 0..AGENTS).prop_map(|(who, member)| Op::Join { who, member }),
        1 => (who, 0..AGENTS).prop_map(|(who, member)| Op::Leave { who, member }),
        1 => (1..15u64).prop_map(|minutes| Op::Pass { minutes }),
    ]
}

/// A message in a mailbox.
#[derive(Debug, Clone)]
struct Letter {
    text: String,
    from: Option<usize>,
    priority: u8,
    at: u64,
    state: State,
    attempts: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Free,
    InHand(u64),
    /// In hand, and listed by a later check.
    Listed(u64),
    Read,
    Gone,
}

#[derive(Default)]
struct Model {
    boxes: [Vec<Letter>; AGENTS],
    group: BTreeSet<usize>,
    minutes: u64,
}

impl Model {
    fn waiting(&self, who: usize) -> usize {
        self.boxes[who]
            .iter()
            .filter(|one| matches!(one.state, State::Free | State::InHand(_) | State::Listed(_)))
            .count()
    }

    /// Returns the recipients; empty when refused.
    fn send(&mut self, from: usize, to: &To, priority: u8, text: &str) -> BTreeSet<usize> {
        let mut whom: BTreeSet<usize> = match to {
            To::Agent(one) => [*one].into(),
            To::Group => self.group.iter().copied().filter(|one| *one != from).collect(),
            To::Everyone => (0..AGENTS).filter(|one| *one != from).collect(),
        };
        whom.retain(|one| self.waiting(*one) < FULL);
        for one in &whom {
            let (text, from, at) = (text.to_owned(), Some(from), self.minutes);
            self.boxes[*one].push(Letter { text, from, priority, at, state: State::Free, attempts: 0 });
        }
        whom
    }

    fn confirm(&mut self, who: usize, session: u64) {
        for one in &mut self.boxes[who] {
            if [State::InHand(session), State::Listed(session)].contains(&one.state) {
                one.state = State::Read;
            }
        }
    }

    /// Returns the messages that are listed once, before they count as read.
    fn list(&mut self, who: usize, session: u64) -> BTreeSet<String> {
        let mut listed = BTreeSet::new();
        for one in &mut self.boxes[who] {
            if one.state == State::Listed(session) {
                one.state = State::Read;
            } else if one.state == State::InHand(session) {
                one.state = State::Listed(session);
                listed.insert(one.text.clone());
            }
        }
        listed
    }

    fn check(&mut self, who: usize, session: u64, limit: usize) -> Vec<String> {
        let minutes = self.minutes;
        let letters = &mut self.boxes[who];
        let mut order: Vec<usize> = (0..letters.len()).filter(|at| letters[*at].state == State::Free).collect();
        order.sort_by_key(|at| {
            let risen = u64::from(letters[*at].priority) + (minutes - letters[*at].at) / 10;
            (std::cmp::Reverse(risen.min(3)), *at)
        });
        order.truncate(limit);
        let mut texts = Vec::new();
        for at in order {
            let one = &mut letters[at];
            one.state = State::InHand(session);
            one.attempts += 1;
            texts.push(format!("{} #{}", one.text, one.attempts));
        }
        texts
    }

    fn end(&mut self, who: usize, session: u64) {
        let mut reports = Vec::new();
        for one in &mut self.boxes[who] {
            if one.state == State::Listed(session) {
                one.state = State::Read;
            }
            if one.state != State::InHand(session) {
                continue;
            }
            if one.attempts < 5 {
                one.state = State::Free;
            } else {
                one.state = State::Gone;
                reports.extend(one.from);
            }
        }
        for to in reports {
            let (text, at) = ("report".to_owned(), self.minutes);
            self.boxes[to].push(Letter { text, from: None, priority: 1, at, state: State::Free, attempts: 0 });
        }
    }
}

/// The store, with the parts that the model does not know: sessions and ids.
struct Run {
    fixture: StoreFixture,
    model: Model,
    sessions: Vec<Vec<(Session, u64)>>,
    lives: u64,
    sent: u64,
    ids: BTreeMap<String, String>,
}

impl Run {
    async fn new(fixture: StoreFixture) -> Run {
        let mut run =
            Run { fixture, model: Model::default(), sessions: Vec::new(), lives: 0, sent: 0, ids: BTreeMap::new() };
        for who in 0..AGENTS {
            let session = run.fixture.agent(&format!("a{who}"), "dev").await;
            let mut lives = Vec::new();
            for _ in 0..LIVES {
                run.lives += 1;
                lives.push((next_session(&session), run.lives));
            }
            run.sessions.push(lives);
        }
        run.fixture.mail.create_group(&run.sessions[0][0].0, "crew", "").await.unwrap();
        run
    }

    async fn step(&mut self, op: &Op) {
        let mail = self.fixture.mail.clone();
        match op {
            Op::Send { from, to, priority } => {
                self.sent += 1;
                let text = format!("m{}", self.sent);
                let expected = self.model.send(*from, to, *priority, &text);
                let address = match to {
                    To::Agent(one) => format!("a{one}"),
                    To::Group => "crew".to_owned(),
                    To::Everyone => "@everyone".to_owned(),
                };
                let session = &self.sessions[*from][0].0;
                let sent = self.fixture.send_with(session, &address, &text, Priority::from_level(*priority)).await;
                let reached: BTreeSet<usize> = match sent {
                    Ok(sent) => {
                        self.ids.insert(text, sent.id.to_string());
                        sent.recipients.iter().map(|to| to.agent.as_str()[1..].parse().unwrap()).collect()
                    }
                    Err(mail::MailError::Refused(_)) => BTreeSet::new(),
                    Err(error) => panic!("{error}"),
                };
                assert_eq!(reached, expected);
            }
            Op::Check { who, life, limit } => {
                let (session, number) = self.sessions[*who][*life].clone();
                let listed = self.model.list(*who, number);
                let expected = self.model.check(*who, number, *limit);
                let request = CheckRequest { limit: *limit, ..CheckRequest::default() };
                let checked = mail.check(&session, request).await.unwrap();
                let text = |one: &mail::HandedOut| {
                    if one.message.from.is_system() {
                        format!("report #{}", one.attempt)
                    } else {
                        format!("{} #{}", one.message.content, one.attempt)
                    }
                };
                assert_eq!(checked.messages.iter().map(text).collect::<Vec<_>>(), expected);
                let line =
                    |one: &mail::Reminder| if one.from.is_system() { "report".to_owned() } else { one.begins.clone() };
                assert_eq!(checked.reminders.iter().map(line).collect::<BTreeSet<_>>(), listed);
                let free = self.model.boxes[*who].iter().filter(|one| one.state == State::Free).count();
                assert_eq!(checked.remaining, free as u64);
            }
            Op::Ack { who, life, nth } => {
                let (session, number) = self.sessions[*who][*life].clone();
                let text = self.model.boxes[*who].get(*nth).map(|letter| letter.text.clone());
                let Some(id) = text.and_then(|text| self.ids.get(&text)) else {
                    // A command that has printed its messages.
                    self.model.confirm(*who, number);
                    mail.confirm(&session).await.unwrap();
                    return;
                };
                self.model.boxes[*who][*nth].state = State::Gone;
                let settled = mail.ack(&session, std::slice::from_ref(id), Outcome::Acked, None).await.unwrap();
                assert!(settled[0].state.is_some_and(|state| !state.is_waiting()));
            }
            Op::End { who, life } => {
                let (session, number) = self.sessions[*who][*life].clone();
                self.model.end(*who, number);
                mail.end_session(&session.id).await;
                self.lives += 1;
                self.sessions[*who][*life] = (next_session(&session), self.lives);
            }
            Op::Join { who, member: one } => {
                let of = member("agent", &format!("a{one}")).unwrap();
                let is_new = mail.add_member(&self.sessions[*who][0].0, "crew", of).await.unwrap();
                assert_eq!(is_new, self.model.group.insert(*one));
            }
            Op::Leave { who, member: one } => {
                let of = member("agent", &format!("a{one}")).unwrap();
                let was_there = mail.remove_member(&self.sessions[*who][0].0, "crew", of).await.unwrap();
                assert_eq!(was_there, self.model.group.remove(one));
            }
            Op::Pass { minutes } => {
                self.model.minutes += minutes;
                self.fixture.pass(Duration::from_secs(60 * minutes));
            }
        }
    }

    async fn compare(&self) {
        for who in 0..AGENTS {
            let counts = self.fixture.mail.inbox(&self.sessions[who][0].0.agent).await.unwrap();
            let letters = &self.model.boxes[who];
            let free = |level| letters.iter().filter(|one| one.state == State::Free && one.priority == level).count();
            let leased = letters.iter().filter(|one| matches!(one.state, State::InHand(_) | State::Listed(_))).count();
            assert_eq!(counts.free, [0, 1, 2, 3].map(|level| free(level) as u64), "a{who}");
            assert_eq!((counts.leased, counts.latest_seq), (leased as u64, letters.len() as u64), "a{who}");
        }
    }
}

fn few() -> Limits {
    Limits { mailbox_messages: FULL as u64, ..limits() }
}

/// Runs random operations. A failure is shrunk to the shortest failing sequence.
fn agrees(cases: u32, fixture: impl Fn(&tokio::runtime::Runtime) -> StoreFixture) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let operations = proptest::collection::vec(op(), 1..60);
    let result = runner.run(&operations, |operations| {
        let fixture = fixture(&runtime);
        runtime.block_on(async {
            let mut run = Run::new(fixture).await;
            for op in &operations {
                run.step(op).await;
                run.compare().await;
            }
        });
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn memory_agrees_with_the_model() {
    agrees(200, |runtime| runtime.block_on(StoreFixture::memory(few())));
}

#[test]
fn sqlite_agrees_with_the_model_long_run() {
    agrees(40, |runtime| runtime.block_on(StoreFixture::sqlite(few())));
}

#[test]
fn postgresql_agrees_with_the_model_long_run() {
    let Some(server) = crate::postgres::Server::start() else { return };
    let spaces = std::sync::atomic::AtomicU64::new(0);
    agrees(12, |runtime| {
        let space = spaces.fetch_add(1, std::sync::atomic::Ordering::SeqCst).to_string();
        runtime.block_on(StoreFixture::postgres(&server, &space, few()))
    });
}
