//! The journal records of questions.

use project::journal::Event;
use serde::{Deserialize, Serialize};

/// An event of a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A question was stored.
    QuestionAsked {
        question: String,
        /// The tool that asked.
        tool: &'static str,
        /// The agent's name, if any.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// A person began to answer it.
    QuestionClaimed { question: String, via: Via },
    /// A person answered it or refused to.
    QuestionAnswered {
        question: String,
        /// The status: `answered`, `declined` or `cancelled`.
        status: &'static str,
        via: Via,
    },
    /// It expired, or its asker withdrew it.
    QuestionClosed { question: String, status: &'static str },
    /// The answer was handed to its asker.
    AnswerHanded {
        question: String,
        /// The number of the attempt, from 1.
        attempt: u32,
    },
    /// The last face was closed.
    FacesClosed,
}

impl Event for Record {}

/// The way by which an answer arrived.
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
    /// Describes the way for a model. It is the only evidence of the answer's origin.
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
