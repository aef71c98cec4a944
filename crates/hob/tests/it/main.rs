//! The integration-test binary: the real hob, in separate projects and homes, with real programs.
//!
//! Start with `transcripts/`: a user's view, as executable Markdown. The other modules test cases that a transcript cannot
//! show.

#![expect(clippy::unwrap_used, reason = "the lints' exception for tests leaves out their helpers")]

mod another_user;
mod ask;
mod attach;
mod brief;
mod checkouts;
mod completing;
mod cure;
mod daemon;
mod day;
mod doctor;
mod editors;
mod eval_program;
mod explore;
mod ghc_mcp;
mod guides;
mod hooks;
mod http;
mod init;
mod judges;
mod leftovers;
mod listing;
mod mail;
mod moved;
mod nodes;
mod page;
mod parents;
mod repl_check;
mod resources;
mod roots;
mod sandbox;
mod survival;
mod terminal;
mod top;
mod transcripts;
mod websocket;
mod whole_set;
mod work;
mod wrong_use;

use serde_json::Value;
use testkit::TestProject;

/// Creates a fresh project with the binary under test.
fn fresh() -> TestProject {
    TestProject::new(env!("CARGO_BIN_EXE_hob"))
}

/// Runs a command with `--json`, and returns its output.
fn json_of(project: &TestProject, args: &[&str]) -> Value {
    let ran = project.run([args, &["--json"]].concat());
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"))
}

/// Checks that a text has all of these parts.
#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}
