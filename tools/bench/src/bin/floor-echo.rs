//! The floor for a round trip: the minimum work to answer JSON-RPC lines, one at a time and without parsing them.
//!
//! Without an argument it serves its standard streams; with a path, one connection on a Unix socket there.

use std::io::{BufRead, BufReader, Read, Result, Write};
use std::os::unix::net::UnixListener;

fn main() -> Result<()> {
    let Some(path) = std::env::args_os().nth(1) else {
        return serve(std::io::stdin().lock(), std::io::stdout().lock());
    };
    let (connection, _) = UnixListener::bind(path)?.accept()?;
    serve(connection.try_clone()?, connection)
}

fn serve(input: impl Read, mut output: impl Write) -> Result<()> {
    let mut input = BufReader::new(input);
    let (mut line, mut answer) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        answer.clear();
        answer.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        answer.extend_from_slice(id(&line));
        answer.extend_from_slice(b",\"result\":{}}\n");
        output.write_all(&answer)?;
        output.flush()?;
    }
}

/// The digits after `"id":`.
fn id(line: &[u8]) -> &[u8] {
    const KEY: &[u8] = b"\"id\":";
    let Some(at) = line.windows(KEY.len()).position(|window| window == KEY) else { return b"null" };
    let rest = &line[at + KEY.len()..];
    let end = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
    &rest[..end]
}
