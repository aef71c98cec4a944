//! The result of a call: structured for programs, lines for models. A person's words are quoted as JSON.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer;
use crate::fixed_texts;
use crate::question::{Question, QuestionState, Via, rfc3339};

/// Status of the question for this call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Status {
    Answered,
    Declined,
    Cancelled,
    Asked,
    TimedOut,
    Unavailable,
    /// Another run asked, and gets the answer.
    AnotherRun,
    /// Another call of this run has the answer.
    AnotherCall,
}

/// The reason why a call does not get the answer of a closed question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Withheld {
    /// Another run asked the question.
    AnotherRun,
    /// Another call of this run has the answer.
    AnotherCall,
}

/// Author, way and time of the answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct AnswerSource {
    pub by: String,
    pub via: Via,
    pub at: String,
}

/// The common part of all results.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Common {
    pub status: Status,
    /// Id of the question.
    pub question: String,
    /// True if an answer may still arrive.
    pub open: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<AnswerSource>,
    /// Note of the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub waited_s: u64,
    /// True if an earlier result may have contained this answer.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub redelivered: bool,
    /// The user's answer to another run or call, as history. It does not answer this call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<String>,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// The outcome of a call.
pub(crate) struct Reply {
    pub question: Question,
    /// The status for an open question.
    pub open_as: Status,
    pub waited_s: u64,
    pub redelivered: bool,
    /// True if a person can see the question now.
    pub is_seen: bool,
    /// True if the program accepted its dialog without an answer.
    pub is_undrawn: bool,
    /// The reason why this call does not get the answer.
    pub withheld: Option<Withheld>,
    /// A person's answer to the same question of another run.
    pub earlier: Option<String>,
}

impl Reply {
    /// Returns the question if this call gets its answer.
    pub(crate) fn disclosed(&self) -> Option<&Question> {
        self.withheld.is_none().then_some(&self.question)
    }

    /// Returns the answer in lines if this call gets it.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.disclosed().map(answer::result_lines).unwrap_or_default()
    }

    pub(crate) fn common(&self) -> Common {
        let question = &self.question;
        if let Some(withheld) = self.withheld {
            let (status, asker, advice) = match withheld {
                Withheld::AnotherRun => (Status::AnotherRun, "an earlier run", fixed_texts::ANOTHER_RUN),
                Withheld::AnotherCall => (Status::AnotherCall, "this run", fixed_texts::ANOTHER_CALL),
            };
            return Common {
                status,
                question: question.id.clone(),
                open: false,
                answered: None,
                note: None,
                waited_s: self.waited_s,
                redelivered: false,
                earlier: Some(fixed_texts::earlier(question, asker)),
                advice: Some(advice.to_owned()),
            };
        }
        let (status, advice) = match &question.standing {
            QuestionState::Answered { .. } => (Status::Answered, None),
            QuestionState::Declined { .. } => (Status::Declined, Some(fixed_texts::DECLINED.to_owned())),
            QuestionState::Dismissed { .. } => (Status::Cancelled, Some(fixed_texts::DISMISSED.to_owned())),
            QuestionState::Withdrawn { .. } => (Status::Cancelled, None),
            QuestionState::Expired { .. } => (Status::TimedOut, Some(fixed_texts::EXPIRED.to_owned())),
            QuestionState::Open => {
                let advice = match self.open_as {
                    Status::Asked => fixed_texts::stored(&question.id, self.is_seen, question.asker.calls_back),
                    Status::Unavailable if self.is_undrawn => fixed_texts::undrawn_dialog_advice(&question.id),
                    Status::Unavailable => fixed_texts::unavailable(&question.id),
                    _ if question.asker.calls_back => fixed_texts::timed_out_for_script(&question.id),
                    _ => fixed_texts::TIMED_OUT.to_owned(),
                };
                (self.open_as, Some(advice))
            }
        };
        let said = question.response();
        Common {
            status,
            question: question.id.clone(),
            open: question.is_open(),
            answered: said.map(|said| AnswerSource { by: said.by.clone(), via: said.via, at: rfc3339(said.at_ms) }),
            note: said.and_then(|said| said.note.clone()),
            waited_s: self.waited_s,
            redelivered: self.redelivered,
            earlier: self.earlier.clone(),
            advice,
        }
    }
}

/// Returns the text of a result for a model.
pub(crate) fn text(common: &Common, lines: &[String]) -> String {
    let id = &common.question;
    let mut text = match (common.status, &common.answered) {
        (Status::Answered, Some(AnswerSource { by, via, at })) => {
            format!("answered by {by} {} ({at}): {id}", via.way())
        }
        (Status::Declined, _) => format!("declined: {id}"),
        (Status::Cancelled, _) => format!("cancelled: {id}"),
        (Status::Asked, _) => format!("asked: {id}"),
        (Status::TimedOut, _) if common.open => {
            format!("timed_out: {id}, no answer after {} s; it stays open", common.waited_s)
        }
        (Status::TimedOut, _) => format!("timed_out: {id} expired"),
        (Status::AnotherRun, _) => format!("another_run: an earlier run asked {id} or received its answer"),
        (Status::AnotherCall, _) => format!("another_call: another call has the answer to {id}"),
        (Status::Unavailable | Status::Answered, _) => format!("unavailable: {id} is stored and open"),
    };
    if common.redelivered {
        text.push_str(", redelivered: you may have seen this answer before");
    }
    for line in lines {
        text.push_str(&format!("\n{}", project::visible::visible(line)));
    }
    if let Some(earlier) = &common.earlier {
        text.push_str(&format!("\n{}", project::visible::visible(earlier)));
    }
    if let Some(advice) = &common.advice {
        text.push_str(&format!("\n{advice}"));
    }
    text
}
