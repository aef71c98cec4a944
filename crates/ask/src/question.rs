//! A question and its states. [`Question::apply`] is a pure function of question and event. Its callers perform the returned
//! actions.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::attachment::Attachment;
use crate::form::Form;
use crate::journal::Record;
pub use crate::journal::Via;

/// The time by which a claim delays the expiry of a question.
pub const CLAIM_MS: u64 = 2 * 60 * 1000;

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The id: `q_` and a few characters.
    pub id: String,
    /// The sequence number.
    pub seq: u64,
    pub kind: Kind,
    pub asker: Asker,
    /// The question in one line.
    pub title: String,
    /// Details; may be empty.
    pub message: String,
    pub form: Form,
    /// Attachments for the person to look at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    pub danger: Danger,
    pub urgent: bool,
    /// The hash of the tool and its arguments, or of the key. Equal calls have the same hash.
    pub digest: String,
    pub asked_ms: u64,
    pub expires_ms: u64,
    pub standing: QuestionState,
    pub handed: Delivery,
}

/// The tool that asked, which determines the format of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Confirm,
    Select,
    Guide,
    Form,
}

impl Kind {
    /// Returns the name of the tool.
    pub fn tool(self) -> &'static str {
        match self {
            Kind::Confirm => "confirm_action",
            Kind::Select => "select_option",
            Kind::Guide => "request_guidance",
            Kind::Form => "ask_form",
        }
    }
}

/// The asker of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asker {
    /// The agent's name, if any.
    pub agent: Option<String>,
    /// The program's own name for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The run of the agent, the connection of a caller without one, or the invocation of a script.
    pub run: String,
    /// The process id of the peer according to the kernel; 0 without one.
    #[serde(default)]
    pub pid: u32,
    pub worktree: PathBuf,
    /// True if the answer is delivered only to a call that asks for it: for a script, or a caller with a shared token.
    pub calls_back: bool,
    /// True for a caller with a shared token that is not a script.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shares_token: bool,
    /// True for an agent's hook, which takes the answer itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_hook: bool,
}

impl Asker {
    /// Returns true if both are the same run. Names are not compared, because a run may register one later.
    pub fn is_same_run(&self, other: &Asker) -> bool {
        (&self.run, self.pid, self.calls_back, self.is_hook) == (&other.run, other.pid, other.calls_back, other.is_hook)
    }

    /// Returns true if this caller may take an undelivered answer by the question's id. A script may take over from another script.
    /// Callers with a shared token are indistinguishable, and may take over from each other.
    pub fn may_continue(&self, former: &Asker) -> bool {
        let is_same_kind = self.shares_token == former.shares_token;
        self.calls_back && former.calls_back && is_same_kind && !former.is_hook && self.worktree == former.worktree
    }

    /// Returns true if this caller may read the answer to a question of another run as history.
    pub fn may_read(&self, former: &Asker) -> bool {
        let is_other = |one: &Option<String>, other: &Option<String>| one.is_some() && other.is_some() && one != other;
        !former.is_hook && self.worktree == former.worktree && !is_other(&self.agent, &former.agent)
    }
}

/// The danger of the action in question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Danger {
    Low,
    #[default]
    Normal,
    High,
}

impl Danger {
    pub fn as_str(self) -> &'static str {
        match self {
            Danger::Low => "low",
            Danger::Normal => "normal",
            Danger::High => "high",
        }
    }
}

/// The state of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum QuestionState {
    Open,
    /// A person answered it.
    Answered {
        values: Map<String, Value>,
        said: Response,
    },
    /// A person refused to answer it.
    Declined {
        said: Response,
    },
    /// A person dismissed it.
    Dismissed {
        said: Response,
    },
    /// Its asker withdrew it.
    Withdrawn {
        reason: String,
        at_ms: u64,
    },
    /// It expired.
    Expired {
        at_ms: u64,
    },
}

/// The author, way and time of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response {
    pub by: String,
    pub via: Via,
    pub at_ms: u64,
    /// The note of the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The delivery state of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// It is undelivered, after this number of failed deliveries.
    Waiting { attempts: u32 },
    /// It is being delivered, with this number of attempts.
    Out { attempts: u32 },
    /// It was delivered, or is no longer needed.
    Settled,
}

/// An event of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Answer {
        values: Map<String, Value>,
        said: Response,
    },
    Decline(Response),
    Dismiss(Response),
    /// Its asker withdraws it.
    Withdraw {
        reason: String,
        at_ms: u64,
    },
    /// A person begins to answer.
    Claim {
        via: Via,
        at_ms: u64,
    },
    /// The current time.
    Tick {
        at_ms: u64,
    },
    /// The answer is sent to its asker.
    HandOut,
    /// The asker received the answer.
    Confirm,
    /// The call or connection ended while the answer was being delivered.
    GiveUp,
    /// Its asker is gone and cannot receive the answer.
    Abandon,
}

/// An action after an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Store the question. If `durably`, it must be on disk before the other actions.
    Store {
        durably: bool,
    },
    /// Wake the waiting calls.
    Wake,
    /// Notify the faces.
    Show,
    Record(Record),
}

/// The question after an event, with the actions to perform.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub question: Question,
    pub actions: Vec<Action>,
}

impl Question {
    /// Applies an event. `Err` if the question is closed and the event needs an open one; `Ok(None)` if nothing changes.
    pub fn apply(&self, event: Event) -> Result<Option<Step>, Closed> {
        let mut next = self.clone();
        let answered = |question: &Question, via| {
            let status = question.status();
            let record = Record::QuestionAnswered { question: question.id.clone(), status, via };
            vec![Action::Store { durably: true }, Action::Wake, Action::Show, Action::Record(record)]
        };
        let closed = |question: &Question| {
            let record = Record::QuestionClosed { question: question.id.clone(), status: question.status() };
            vec![Action::Store { durably: true }, Action::Wake, Action::Show, Action::Record(record)]
        };
        let actions = match (event, &self.standing, self.handed) {
            (Event::Answer { values, said }, QuestionState::Open, _) => {
                let via = said.via;
                next.standing = QuestionState::Answered { values, said };
                answered(&next, via)
            }
            (Event::Decline(said), QuestionState::Open, _) => {
                let via = said.via;
                next.standing = QuestionState::Declined { said };
                answered(&next, via)
            }
            (Event::Dismiss(said), QuestionState::Open, _) => {
                let via = said.via;
                next.standing = QuestionState::Dismissed { said };
                answered(&next, via)
            }
            (Event::Withdraw { reason, at_ms }, QuestionState::Open, _) => {
                next.standing = QuestionState::Withdrawn { reason, at_ms };
                next.handed = Delivery::Settled;
                closed(&next)
            }
            (Event::Claim { via, at_ms }, QuestionState::Open, _) => {
                next.expires_ms = next.expires_ms.max(at_ms.saturating_add(CLAIM_MS));
                let record = Record::QuestionClaimed { question: next.id.clone(), via };
                vec![Action::Store { durably: false }, Action::Show, Action::Record(record)]
            }
            (Event::Tick { at_ms }, QuestionState::Open, _) if at_ms >= self.expires_ms => {
                next.standing = QuestionState::Expired { at_ms };
                next.handed = Delivery::Settled;
                closed(&next)
            }
            (Event::HandOut, standing, Delivery::Waiting { attempts }) if *standing != QuestionState::Open => {
                let attempt = attempts + 1;
                next.handed = Delivery::Out { attempts: attempt };
                let record = Record::AnswerHanded { question: next.id.clone(), attempt };
                vec![Action::Store { durably: false }, Action::Record(record)]
            }
            (Event::GiveUp, _, Delivery::Out { attempts }) => {
                next.handed = Delivery::Waiting { attempts };
                vec![Action::Store { durably: false }]
            }
            (Event::Abandon, standing, Delivery::Waiting { .. } | Delivery::Out { .. })
                if *standing != QuestionState::Open =>
            {
                next.handed = Delivery::Settled;
                vec![Action::Store { durably: false }]
            }
            (Event::Confirm, _, Delivery::Out { .. }) => {
                next.handed = Delivery::Settled;
                vec![Action::Store { durably: false }]
            }
            (Event::Tick { .. } | Event::HandOut | Event::GiveUp | Event::Confirm | Event::Abandon, ..) => {
                return Ok(None);
            }
            _ => return Err(Closed(Box::new(self.clone()))),
        };
        Ok(Some(Step { question: next, actions }))
    }

    pub fn is_open(&self) -> bool {
        self.standing == QuestionState::Open
    }

    /// Returns true if its answer is undelivered.
    pub fn waits_for_hand_out(&self) -> bool {
        !self.is_open() && matches!(self.handed, Delivery::Waiting { .. })
    }

    /// Returns true if an earlier delivery of its answer failed.
    pub fn is_redelivered(&self) -> bool {
        matches!(self.handed, Delivery::Waiting { attempts: 1.. } | Delivery::Out { attempts: 2.. })
    }

    /// Returns true if no further event can change it.
    pub fn is_settled(&self) -> bool {
        self.handed == Delivery::Settled
    }

    /// Returns the word for its state.
    pub fn status(&self) -> &'static str {
        match self.standing {
            QuestionState::Open => "open",
            QuestionState::Answered { .. } => "answered",
            QuestionState::Declined { .. } => "declined",
            QuestionState::Dismissed { .. } | QuestionState::Withdrawn { .. } => "cancelled",
            QuestionState::Expired { .. } => "expired",
        }
    }

    /// Returns the author of the answer or refusal, if a person closed it.
    pub fn response(&self) -> Option<&Response> {
        match &self.standing {
            QuestionState::Answered { said, .. }
            | QuestionState::Declined { said }
            | QuestionState::Dismissed { said } => Some(said),
            QuestionState::Open | QuestionState::Withdrawn { .. } | QuestionState::Expired { .. } => None,
        }
    }

    /// Returns the answer, if there is one.
    pub fn values(&self) -> Option<&Map<String, Value>> {
        match &self.standing {
            QuestionState::Answered { values, .. } => Some(values),
            _ => None,
        }
    }
}

/// The error for a question that is already closed: the first answer wins.
#[derive(Debug, Clone, PartialEq)]
pub struct Closed(pub Box<Question>);

/// Formats a time.
pub fn rfc3339(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    format!("{:.3}", at.unwrap_or_default())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn question(id: &str, seq: u64) -> Question {
        Question {
            id: id.to_owned(),
            seq,
            kind: Kind::Confirm,
            asker: Asker {
                agent: None,
                client: None,
                run: "r".to_owned(),
                pid: 1,
                worktree: "/w".into(),
                calls_back: false,
                shares_token: false,
                is_hook: false,
            },
            title: "Delete the branch?".to_owned(),
            message: String::new(),
            attachments: Vec::new(),
            form: Form::confirm(),
            danger: Danger::Normal,
            urgent: false,
            digest: "d".to_owned(),
            asked_ms: 0,
            expires_ms: 1_000_000,
            standing: QuestionState::Open,
            handed: Delivery::Waiting { attempts: 0 },
        }
    }

    fn response(by: u64) -> Response {
        Response { by: by.to_string(), via: Via::Command, at_ms: by, note: None }
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            any::<u64>().prop_map(|by| Event::Answer { values: Map::new(), said: response(by) }),
            any::<u64>().prop_map(|by| Event::Decline(response(by))),
            any::<u64>().prop_map(|by| Event::Dismiss(response(by))),
            (0..2_000_000u64).prop_map(|at_ms| Event::Tick { at_ms }),
            (0..2_000_000u64).prop_map(|at_ms| Event::Claim { via: Via::Terminal, at_ms }),
            Just(Event::Withdraw { reason: String::new(), at_ms: 1 }),
            Just(Event::HandOut),
            Just(Event::Confirm),
            Just(Event::GiveUp),
            Just(Event::Abandon),
        ]
    }

    proptest! {
        /// The model: the first event that closes it wins. An answer is being delivered at most once at a time. A confirmed answer is
        /// never delivered again.
        #[test]
        fn one_winner_and_one_delivery(events in proptest::collection::vec(event(), 0..40)) {
            let mut question = question("q_1", 1);
            let mut closed_by: Option<QuestionState> = None;
            let (mut out, mut confirmed) = (false, false);
            for event in events {
                let wants_open = !matches!(
                    event,
                    Event::Tick { .. } | Event::HandOut | Event::Confirm | Event::GiveUp | Event::Abandon
                );
                let abandoning = event == Event::Abandon;
                let handing = event == Event::HandOut;
                let confirming = event == Event::Confirm;
                let giving_up = event == Event::GiveUp;
                match question.apply(event) {
                    Err(Closed(before)) => {
                        prop_assert!(wants_open && closed_by.as_ref() == Some(&before.standing));
                    }
                    Ok(None) => prop_assert!(!wants_open),
                    Ok(Some(step)) => {
                        let durably = step.actions.contains(&Action::Store { durably: true });
                        prop_assert_eq!(durably, question.is_open() && !step.question.is_open());
                        question = step.question;
                        if handing {
                            prop_assert!(closed_by.is_some() && !out && !confirmed);
                            out = true;
                        }
                        if confirming {
                            prop_assert!(out);
                            (out, confirmed) = (false, true);
                        }
                        if giving_up {
                            prop_assert!(out);
                            out = false;
                        }
                        if abandoning {
                            prop_assert!(closed_by.is_some() && !confirmed);
                            (out, confirmed) = (false, true);
                        }
                    }
                }
                match (&closed_by, question.is_open()) {
                    (Some(standing), _) => prop_assert_eq!(standing, &question.standing),
                    (None, false) => closed_by = Some(question.standing.clone()),
                    (None, true) => {}
                }
            }
        }
    }

    #[test]
    fn a_second_hand_out_is_marked() {
        let step = |question: &Question, event| question.apply(event).unwrap().unwrap().question;
        let answered = step(&question("q_1", 1), Event::Answer { values: Map::new(), said: response(1) });
        assert!(answered.waits_for_hand_out() && !answered.is_redelivered());
        let out = step(&answered, Event::HandOut);
        assert!(!out.is_redelivered() && !out.waits_for_hand_out());
        let given_up = step(&out, Event::GiveUp);
        assert!(given_up.waits_for_hand_out() && given_up.is_redelivered());
        assert!(step(&given_up, Event::HandOut).is_redelivered());
    }

    #[test]
    fn a_claim_keeps_it_from_expiring() {
        let claimed = question("q_1", 1).apply(Event::Claim { via: Via::Terminal, at_ms: 999_999 }).unwrap().unwrap();
        assert_eq!(claimed.question.apply(Event::Tick { at_ms: 1_000_000 }), Ok(None));
        assert_eq!(rfc3339(1_795_575_600_123), "2026-11-25T03:00:00.123Z");
    }
}
