//! Slows endless conversations in which two agents answer each other immediately. The sender's call takes longer with
//! each further message, so that a person can notice and stop it. No message is refused or lost.
//!
//! The sent messages of the last minutes are kept in this daemon's memory. Start with [`Mail::slow_down`].

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::Mail;
use super::send::SentMessage;
use crate::journal::Record;
use crate::model::{AgentName, MessageId, Session};

/// The time in which messages are counted.
const WINDOW: Duration = Duration::from_secs(300);
/// The additional delay of each further exchange.
const STEP: Duration = Duration::from_secs(5);
/// The longest delay. Many clients give a call up after a minute.
const LONGEST: Duration = Duration::from_secs(45);
/// The maximum number of messages of a thread, and threads, that are remembered.
const MESSAGES_MAX: usize = 200;
const THREADS_MAX: usize = 2_000;

/// A conversation that is slowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slowed {
    pub thread: MessageId,
    /// The two agents: the sender and the other one.
    pub agents: [AgentName; 2],
    /// The number of messages that they exchanged in [`WINDOW`].
    pub count: u64,
    pub delay: Duration,
}

impl Slowed {
    /// Returns a sentence about it.
    pub fn sentence(&self) -> String {
        let [one, other] = &self.agents;
        let (count, minutes) = (self.count, WINDOW.as_secs() / 60);
        format!(
            "{one} and {other} wrote {count} messages to each other within {minutes} minutes in thread {}",
            self.thread
        )
    }
}

/// The recently sent messages, by thread.
#[derive(Default)]
pub(super) struct Pace(Mutex<Threads>);

#[derive(Default)]
struct Threads {
    by_id: HashMap<MessageId, Thread>,
    /// The thread of each remembered message.
    of_message: HashMap<MessageId, MessageId>,
}

#[derive(Default)]
struct Thread {
    sent: VecDeque<Line>,
    /// The conversation while it is slowed.
    slowed: Option<Slowed>,
}

struct Line {
    id: MessageId,
    from: AgentName,
    to: Vec<AgentName>,
    at: Instant,
}

/// Returns the number of messages that two agents exchanged: all of them, and those that the other one matched.
fn exchanged<'a>(
    sent: impl Iterator<Item = (&'a AgentName, &'a [AgentName])>,
    one: &AgentName,
    other: &AgentName,
) -> (u64, u64) {
    let (mut there, mut back) = (0, 0);
    for (from, to) in sent {
        there += u64::from(from == one && to.contains(other));
        back += u64::from(from == other && to.contains(one));
    }
    (there + back, 2 * u64::min(there, back))
}

/// Returns the delay of a further message after this number of exchanges; `most` are free.
fn delay(matched: u64, most: u64) -> Duration {
    if most == 0 || matched < most {
        return Duration::ZERO;
    }
    let steps = u32::try_from((matched - most) / 2 + 1).unwrap_or(u32::MAX);
    STEP.saturating_mul(steps).min(LONGEST)
}

impl Threads {
    fn add(&mut self, thread: &MessageId, line: Line) {
        self.forget_before(line.at, thread);
        self.of_message.insert(line.id.clone(), thread.clone());
        let sent = &mut self.by_id.entry(thread.clone()).or_default().sent;
        sent.push_back(line);
        if sent.len() > MESSAGES_MAX
            && let Some(oldest) = sent.pop_front()
        {
            self.of_message.remove(&oldest.id);
        }
    }

    /// Forgets entries that are too old in this thread, or in all threads if there are many.
    fn forget_before(&mut self, now: Instant, thread: &MessageId) {
        let is_crowded = self.by_id.len() >= THREADS_MAX;
        let of_message = &mut self.of_message;
        let mut forget = |thread: &mut Thread| {
            while let Some(oldest) = thread.sent.front().filter(|line| now.duration_since(line.at) > WINDOW) {
                of_message.remove(&oldest.id);
                thread.sent.pop_front();
            }
            !thread.sent.is_empty()
        };
        if is_crowded {
            self.by_id.retain(|_, thread| forget(thread));
        } else if let Some(thread) = self.by_id.get_mut(thread) {
            forget(thread);
        }
        if self.by_id.len() >= THREADS_MAX {
            self.by_id.clear();
            self.of_message.clear();
        }
    }

    /// Returns the slowed conversation of this agent's answer, if any, and whether it is new.
    fn slow(&mut self, from: &AgentName, answers: &MessageId, most: u64, now: Instant) -> Option<(Slowed, bool)> {
        let id = self.of_message.get(answers)?.clone();
        self.forget_before(now, &id);
        let thread = self.by_id.get_mut(&id)?;
        let lines = || thread.sent.iter().map(|line| (&line.from, &line.to[..]));
        let others = thread.sent.iter().map(|line| &line.from).filter(|other| *other != from);
        let counted = others.map(|other| (exchanged(lines(), from, other), other));
        let ((count, matched), other) = counted.max_by_key(|((_, matched), _)| *matched)?;
        let slowed = match delay(matched, most) {
            Duration::ZERO => None,
            delay => Some(Slowed { thread: id, agents: [from.clone(), other.clone()], count, delay }),
        };
        let was_slowed = std::mem::replace(&mut thread.slowed, slowed.clone()).is_some();
        slowed.map(|slowed| (slowed, !was_slowed))
    }
}

impl Mail {
    /// Returns the slowed conversation of an answer to this message, if any. The caller waits for the delay before it
    /// sends. A conversation that becomes slow is reported once to the person, in the journal, and is listed in `hob
    /// status`.
    pub fn slow_down(&self, session: &Session, answers: &str) -> Option<Slowed> {
        let answers = MessageId::new(answers).ok()?;
        let most = self.limits.thread_max;
        let (slowed, is_new) = self.pace.0.lock().slow(&session.agent, &answers, most, Instant::now())?;
        if is_new {
            tracing::warn!(thread = %slowed.thread, "{}; delivery is slowed", slowed.sentence());
            self.record(|| Record::MailThreadSlowed {
                thread: slowed.thread.to_string(),
                agents: slowed.agents.iter().map(ToString::to_string).collect(),
                messages: slowed.count,
            });
        }
        Some(slowed)
    }

    /// Returns the conversations that are slowed now.
    pub fn slowed(&self) -> Vec<Slowed> {
        let now = Instant::now();
        let threads = self.pace.0.lock();
        let is_recent = |thread: &&Thread| thread.sent.back().is_some_and(|last| now.duration_since(last.at) <= WINDOW);
        threads.by_id.values().filter(is_recent).filter_map(|thread| thread.slowed.clone()).collect()
    }

    /// Remembers a sent message.
    pub(super) fn note_pace(&self, from: AgentName, sent: &SentMessage) {
        let to = sent.recipients.iter().map(|to| to.agent.clone()).collect();
        let line = Line { id: sent.id.clone(), from, to, at: Instant::now() };
        self.pace.0.lock().add(&sent.thread, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::fixture::{enter, mail};
    use crate::service::send::SendRequest;

    #[test]
    fn the_delay_grows_with_what_both_exchanged() {
        let delays: Vec<u64> = [0, 19, 20, 22, 30, 36, 38, 1000].map(|matched| delay(matched, 20).as_secs()).to_vec();
        assert_eq!(delays, [0, 0, 5, 10, 30, 45, 45, 45]);
        assert_eq!(delay(1000, 0), Duration::ZERO, "without a bound");
    }

    #[test]
    fn only_messages_that_the_other_matched_count() {
        let [ann, bob, cat] = ["ann", "bob", "cat"].map(|name| AgentName::new(name).unwrap());
        let sent = [(&ann, vec![bob.clone()]), (&ann, vec![bob.clone(), cat.clone()]), (&cat, vec![ann.clone()])];
        let lines = || sent.iter().map(|(from, to)| (*from, &to[..]));
        assert_eq!(exchanged(lines(), &ann, &bob), (2, 0), "reports that nobody answers");
        assert_eq!(exchanged(lines(), &cat, &ann), (2, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_conversation_without_end_is_slowed_and_told_once() {
        let mail = mail().await;
        let (ann, bob) = (enter(&mail, "ann").await, enter(&mail, "bob").await);
        let answer = async |from: &Session, to: &str, reply_to: Option<String>| {
            let to = reply_to.is_none().then(|| to.to_owned()).into_iter().collect();
            let request = SendRequest { to, content: "x".into(), reply_to, ..SendRequest::default() };
            mail.send(from, request).await.unwrap().id.to_string()
        };
        let mut last = answer(&ann, "bob", None).await;
        let mut delays = Vec::new();
        for round in 0..26 {
            let from = if round % 2 == 0 { &bob } else { &ann };
            let slowed = mail.slow_down(from, &last);
            delays.push(slowed.map_or(0, |slowed| slowed.delay.as_secs()));
            last = answer(from, "", Some(last)).await;
        }
        assert_eq!(delays[..19], [0; 19]);
        assert_eq!(delays[19..], [5, 5, 10, 10, 15, 15, 20]);
        let slowed = mail.slowed();
        assert_eq!(slowed.len(), 1);
        assert!(slowed[0].sentence().starts_with("ann and bob wrote 26 messages"), "{}", slowed[0].sentence());
        // A separate conversation, and one that rested.
        let other = answer(&ann, "bob", None).await;
        assert_eq!(mail.slow_down(&bob, &other), None);
        tokio::time::advance(WINDOW + STEP).await;
        assert_eq!((mail.slow_down(&bob, &last), mail.slowed()), (None, vec![]));
    }
}
