//! Where the work stands, in the daemon.

use ::work::tools;

use super::{Part, Setup, Toolset};

const INSTRUCTIONS: &str =
    "Where the work stands: work_status has branch, base, unfinished operations and changed files in one call.";

/// The state of the work in the callers' worktrees.
pub(crate) struct WorkPart;

impl Part for WorkPart {
    fn open(_: &Setup<'_>) -> WorkPart {
        WorkPart
    }

    fn declared() -> WorkPart {
        WorkPart
    }

    fn toolset(&self) -> Toolset {
        Toolset {
            name: "work",
            about: "what git says of a worktree",
            instructions: INSTRUCTIONS,
            core: tools::CORE,
            tools: tools::tools(),
            // An agent that wants no more than git has its shell; this is for who asks for it.
            is_default: false,
            extras: true,
        }
    }
}
