//! Answers about code in the daemon.

use std::sync::Arc;

use ::code::tools::{self, Questions};

use super::{Part, Setup, Toolset};

const INSTRUCTIONS: &str = "Code: find_callers, find_uses, show_definition, show_fields, show_constructors and outline take \
names. An answer that is not final proves no absence.";

const TIDEPOOL_INSTRUCTIONS: &str = "Code: find_callers, show_fields and show_constructors take names. While `warning` is not \
null, no absence is proven.";

/// What the questions about code share.
pub(crate) struct CodePart {
    questions: Arc<Questions>,
}

impl Part for CodePart {
    fn open(_: &Setup<'_>) -> CodePart {
        CodePart { questions: Questions::new() }
    }

    fn declared() -> CodePart {
        CodePart { questions: Questions::new() }
    }

    fn toolset(&self) -> Toolset {
        Toolset {
            name: "code",
            about: "who calls and uses a name, what a type holds, and how sure that is",
            instructions: INSTRUCTIONS,
            core: tools::CORE,
            tools: tools::tools(&self.questions),
            is_default: true,
            extras: true,
        }
    }

    fn profiles(&self) -> Vec<Toolset> {
        vec![Toolset::tidepool(TIDEPOOL_INSTRUCTIONS, tools::tidepool(&self.questions))]
    }
}
