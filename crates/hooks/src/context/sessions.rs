//! The state of the agents' sessions between events: text for the next event that takes context, whether the agent lost its
//! memory, and how often it was kept from stopping.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::stop_limit::{Bounds, Breaker};
use super::{At, Memory, Moment};
use crate::event::{Event, Kind};

/// The maximum number of sessions, and the maximum number of texts and characters that are stored for one.
const SESSIONS_MAX: usize = 500;
const TEXTS_MAX: usize = 20;
const CHARACTERS_MAX: usize = 9000;

/// The sessions since the daemon's start.
#[derive(Debug, Default)]
pub struct Sessions(Mutex<HashMap<String, Session>>);

#[derive(Debug, Default)]
struct Session {
    kept: Vec<String>,
    is_compacted: bool,
    breaker: Breaker,
    /// The time of the last event.
    last: Option<Instant>,
}

/// The decision about an agent that is about to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// It must continue.
    Held,
    /// It would have to continue, but may stop for this reason.
    LetGo(String),
}

impl Sessions {
    /// Records an event, and returns the moment with the state of the agent's memory.
    pub fn record_event(&self, key: &str, event: &Event, moment: Option<Moment>) -> Option<At> {
        let mut sessions = self.lock_with(key);
        let session = sessions.get_mut(key)?;
        match event.kind {
            Kind::CompactBefore | Kind::CompactAfter if event.subagent.is_none() => session.is_compacted = true,
            Kind::Prompt => session.breaker.turn(),
            Kind::SessionEnd => {
                sessions.remove(key);
                return None;
            }
            _ => {}
        }
        let moment = moment?;
        // At a turn's end, the agent would be held for text that can wait for its next prompt.
        let is_compacted = moment != Moment::TurnEnd && std::mem::take(&mut session.is_compacted);
        let begins_anew = event.kind == Kind::SessionStart
            && event.reason.as_deref().is_some_and(|why| ["compact", "clear"].contains(&why));
        let memory = match (moment, is_compacted || begins_anew) {
            (_, true) => Memory::Lost,
            (Moment::SessionStart, false) => Memory::Begins,
            _ => Memory::Whole,
        };
        Some(At { moment, memory })
    }

    /// Stores a text for the next event that takes context. If there is too much text, the latest is dropped.
    pub fn keep(&self, key: &str, text: String) {
        let mut sessions = self.lock_with(key);
        let Some(session) = sessions.get_mut(key) else { return };
        let length: usize = session.kept.iter().map(|kept| kept.chars().count()).sum();
        let has_room = session.kept.len() < TEXTS_MAX && length + text.chars().count() <= CHARACTERS_MAX;
        if has_room && !session.kept.contains(&text) {
            session.kept.push(text);
        }
    }

    /// Removes and returns the stored texts.
    pub fn take(&self, key: &str) -> Vec<String> {
        let mut sessions = self.lock();
        sessions.get_mut(key).map(|session| std::mem::take(&mut session.kept)).unwrap_or_default()
    }

    /// Records again that the agent's memory was lost, because the answer that should have restored it was lost too.
    pub fn record_lost_memory(&self, key: &str) {
        if let Some(session) = self.lock().get_mut(key) {
            session.is_compacted = true;
        }
    }

    /// Decides whether an agent that is about to stop must continue.
    pub fn hold(&self, key: &str, bounds: Bounds, is_held: bool) -> TurnEnd {
        let mut sessions = self.lock_with(key);
        let Some(session) = sessions.get_mut(key) else { return TurnEnd::LetGo("it is not known".to_owned()) };
        match session.breaker.may_hold(bounds, is_held, Instant::now()) {
            Ok(()) => TurnEnd::Held,
            Err(why) => TurnEnd::LetGo(why),
        }
    }

    /// Locks the sessions, after adding this one if it is missing.
    fn lock_with(&self, key: &str) -> MutexGuard<'_, HashMap<String, Session>> {
        let mut sessions = self.lock();
        if !sessions.contains_key(key) && sessions.len() >= SESSIONS_MAX {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.last).map(|(key, _)| key.clone());
            oldest.map(|oldest| sessions.remove(&oldest));
        }
        sessions.entry(key.to_owned()).or_default().last = Some(Instant::now());
        sessions
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::Agent;
    use crate::context::moment;

    fn record_in_test(sessions: &Sessions, name: &str, more: &str) -> Option<Memory> {
        let event = crate::read(Agent::Claude, name, format!("{{{more}}}").as_bytes());
        let moment = moment(&event, Agent::Claude.row(&event.name));
        sessions.record_event("s", &event, moment).map(|at| at.memory)
    }

    #[test]
    fn memory_is_lost_by_compaction_and_told_once() {
        let sessions = Sessions::default();
        assert_eq!(record_in_test(&sessions, "SessionStart", "\"source\":\"startup\""), Some(Memory::Begins));
        assert_eq!(record_in_test(&sessions, "UserPromptSubmit", ""), Some(Memory::Whole));
        assert_eq!(record_in_test(&sessions, "PreCompact", ""), None);
        assert_eq!(record_in_test(&sessions, "Stop", ""), Some(Memory::Whole));
        assert_eq!(record_in_test(&sessions, "SessionStart", "\"source\":\"compact\""), Some(Memory::Lost));
        assert_eq!(record_in_test(&sessions, "PreToolUse", ""), Some(Memory::Whole));
        assert_eq!(record_in_test(&sessions, "PostCompact", ""), None);
        assert_eq!(record_in_test(&sessions, "PostToolUse", ""), Some(Memory::Lost));
        assert_eq!(record_in_test(&sessions, "PostToolUse", ""), Some(Memory::Whole));
    }

    #[test]
    fn stored_texts_are_bounded_and_delivered_once() {
        let sessions = Sessions::default();
        sessions.keep("s", "a".to_owned());
        sessions.keep("s", "a".to_owned());
        sessions.keep("s", "b".repeat(CHARACTERS_MAX));
        sessions.keep("other", "c".to_owned());
        assert_eq!(sessions.take("s"), ["a"]);
        assert_eq!(sessions.take("s"), Vec::<String>::new());
        for number in 0..600 {
            sessions.keep(&format!("s{number}"), "a".to_owned());
        }
        assert_eq!(sessions.lock().len(), SESSIONS_MAX);
        assert_eq!(sessions.take("other"), Vec::<String>::new());
        assert_eq!(sessions.take("s599"), ["a"]);
    }
}
