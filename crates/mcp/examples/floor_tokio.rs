//! The floor of a server on tokio, for `cargo xtask bench mcp`: one task that reads, parses each call with serde, and
//! writes all answers to one read at once. It knows one tool, and neither limits, cancellation, tasks nor odd input.

use std::os::fd::AsFd;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: &'a str,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call {
    arguments: Arguments,
}

#[derive(Deserialize)]
struct Arguments {
    text: String,
}

#[derive(Serialize)]
struct Response<'a, T> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: T,
}

#[derive(Serialize)]
struct Echoed {
    content: [Text; 1],
}

#[derive(Serialize)]
struct Text {
    #[serde(rename = "type")]
    kind: &'static str,
    text: String,
}

const HELLO: &str =
    r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"floor","version":"1"}}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let mut input = pipe::Receiver::from_owned_fd(std::io::stdin().as_fd().try_clone_to_owned()?)?;
    let mut output = pipe::Sender::from_owned_fd(std::io::stdout().as_fd().try_clone_to_owned()?)?;
    let (mut read, mut out) = (Vec::with_capacity(128 << 10), Vec::new());
    while input.read_buf(&mut read).await? > 0 {
        let mut rest = read.as_slice();
        while let Some(end) = memchr::memchr(b'\n', rest) {
            answer(&rest[..end], &mut out)?;
            rest = &rest[end + 1..];
        }
        let done = read.len() - rest.len();
        read.drain(..done);
        read.reserve(64 << 10);
        output.write_all(&out).await?;
        out.clear();
    }
    Ok(())
}

fn answer(line: &[u8], out: &mut Vec<u8>) -> std::io::Result<()> {
    let request: Request<'_> = serde_json::from_slice(line)?;
    let Some(id) = request.id else { return Ok(()) };
    match request.params.filter(|_| request.method == "tools/call") {
        Some(params) => {
            let call: Call = serde_json::from_str(params.get())?;
            let result = Echoed { content: [Text { kind: "text", text: call.arguments.text }] };
            serde_json::to_writer(&mut *out, &Response { jsonrpc: "2.0", id, result })?;
        }
        None => {
            let result: &RawValue = serde_json::from_str(HELLO)?;
            serde_json::to_writer(&mut *out, &Response { jsonrpc: "2.0", id, result })?;
        }
    }
    out.push(b'\n');
    Ok(())
}
