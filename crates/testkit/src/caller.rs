//! A caller for tests of tools without a daemon.

use std::path::Path;

use project::{Caller, Identification, Role};

/// Returns a caller on connection 1 with this name. According to the kernel, it runs in this worktree.
pub fn caller(worktree: &Path, name: &str) -> Caller {
    Caller {
        connection: 1,
        role: Role::Mcp,
        pid: 0,
        cwd: worktree.to_owned(),
        worktree: worktree.to_owned(),
        env: Default::default(),
        asked_env: Default::default(),
        session: None,
        name: Some(name.to_owned()),
        takeover: false,
        run: None,
        answers_lost: false,
        last_receipt: None,
        stands_in: Some(worktree.to_owned()),
        profile: None,
        known: Identification::ByProcess,
        by_requests: false,
        brief: false,
    }
}
