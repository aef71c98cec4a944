//! The server through its boundary: raw bytes in, raw bytes out.

mod bounds;
mod call_observer;
mod client;
mod client_names;
mod client_questions;
mod description;
#[path = "../../../examples/everything/all.rs"]
mod everything;
mod faults;
mod jobs;
mod listing;
mod load;
mod logs;
mod named_asks;
mod process;
mod random_input;
mod resource_methods;
mod result_meta;
mod result_prefix;
mod siblings;
mod sockets;
mod streams;
mod taps;
mod timeouts;
mod waits;
mod who_is_asked;
pub(crate) mod wire_table;

use super::{ConnectionOptions, Server};
pub(crate) use everything::server as everything;
#[cfg(feature = "http")]
pub(crate) use faults::made_job;

/// Serves this input, piece by piece, and returns the output.
async fn serve_pieces(server: &Server, pieces: Vec<Vec<u8>>, options: ConnectionOptions) -> String {
    let (writer, written) = streams::collector();
    server.serve(streams::Pieces::new(pieces), writer, options).await;
    written.text()
}

/// Returns the path of an example, which cargo builds along with the tests.
fn example(name: &str) -> std::path::PathBuf {
    let tests = std::env::current_exe().expect("a test has a path");
    let path = tests.parent().and_then(std::path::Path::parent).expect("target/debug/deps").join("examples").join(name);
    assert!(path.exists(), "build the examples first: cargo build -p mcp --examples");
    path
}
