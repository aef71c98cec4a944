//! The journal's records of questions.

use project::journal::Event;
use serde::{Deserialize, Serialize};

/// What happened to a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A question is on disk.
    QuestionAsked {
        question: String,
        /// The tool that asked.
        tool: &'static str,
        /// The agent's name, if it has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// Somebody began to answer it.
    QuestionClaimed { question: String, via: Via },
    /// A person answered it, or refused to.
    QuestionAnswered {
        question: String,
        /// `answered`, `declined` or `cancelled`.
        status: &'static str,
        via: Via,
    },
    /// It ended without a person: it expired, or its asker took it back.
    QuestionClosed { question: String, status: &'static str },
    /// The answer was handed to its asker.
    AnswerHanded {
        question: String,
        /// 1 the first time.
        attempt: u32,
    },
}

impl Event for Record {}

/// The way by which an answer came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Via {
    Dialog,
    Terminal,
    Page,
    Command,
}

impl Via {
    /// Returns the way in words for a model: who answered is known by nothing else.
    pub fn way(self) -> &'static str {
        match self {
            Via::Dialog => "in this program's own dialog",
            Via::Terminal | Via::Command => "with `hob answer`",
            Via::Page => "on a page",
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Via::Dialog => "dialog",
            Via::Terminal => "terminal",
            Via::Page => "page",
            Via::Command => "command",
        }
    }
}
