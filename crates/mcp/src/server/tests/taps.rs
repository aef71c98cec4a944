//! The output of a wire tap.

use std::os::unix::fs::PermissionsExt;

use super::{ConnectionOptions, everything, serve_pieces};
use crate::server::{Limits, Tap};

/// The tap's file after this input was served, without the times.
async fn tapped(name: &str, input: &str, limit: u64) -> String {
    let path = std::env::temp_dir().join(format!("mcp-tap-{name}-{}", std::process::id()));
    let tap = Tap::open(&path, limit).expect("a writable directory");
    let limits = Limits { line: 100, ..Limits::default() };
    let options = ConnectionOptions { tap: Some(tap), limits, ..ConnectionOptions::default() };
    // In small pieces, so that the tap has to assemble lines.
    let pieces = input.as_bytes().chunks(7).map(<[u8]>::to_vec).collect();
    serve_pieces(&everything(), pieces, options).await;
    let text = std::fs::read_to_string(&path).expect("the tap wrote it");
    let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
    std::fs::remove_file(&path).expect("it is ours");
    assert_eq!(mode & 0o777, 0o600);
    let timeless = |line: &str| line.split_once(' ').map_or(String::new(), |(_, rest)| format!("{rest}\n"));
    text.lines().map(timeless).collect()
}

#[tokio::test(start_paused = true)]
async fn a_tap_shows_both_sides() {
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let input = format!("{ping}\nnoise\n{}\n", "x".repeat(200));
    let said = format!("> {ping}\n< {}\n> noise\n> (a line of 200 bytes)\n", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert_eq!(tapped("both", &input, 10_000).await, said);
}

#[tokio::test(start_paused = true)]
async fn a_tap_is_bounded() {
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    let said = tapped("bounded", &ping.repeat(100), 120).await;
    assert!(said.len() < 200 && said.ends_with("limit is reached: the rest is left out\n"), "{said}");
}
