//! The integration-test binary: the real hob, in separate projects and homes, with real programs.
//!
//! Start with `transcripts/`: a user's view, as executable Markdown. The other modules test cases that a transcript cannot
//! show.

#![expect(clippy::unwrap_used, reason = "the lints' exception for tests leaves out their helpers")]

mod another_user;
mod ask;
mod attach;
mod brief;
mod cancelled;
mod checkouts;
mod code_trust;
mod completing;
mod cure;
mod daemon;
mod day;
mod doctor;
mod editors;
mod eval_program;
mod explore;
mod explore_models;
mod ghc_mcp;
mod guides;
mod hooks;
mod http;
mod init;
mod init_errors;
mod judges;
mod leftovers;
mod limits;
mod listing;
mod mail;
mod moved;
mod newcomer;
mod nodes;
mod page;
mod parents;
mod repl_check;
mod resources;
mod roots;
mod sandbox;
mod schemas;
mod survival;
mod terminal;
mod top;
mod transcripts;
mod websocket;
mod whole_set;
mod work;
mod worktrees;
mod wrong_use;

use testkit::TestProject;

/// Creates a fresh project with the binary under test.
fn fresh() -> TestProject {
    TestProject::new(env!("CARGO_BIN_EXE_hob"))
}
