//! The floor of `cargo xtask bench mcp`: a hand-written loop that answers `initialize` and one `echo` tool on standard
//! streams, and knows nothing else.

use std::io::{BufRead, Write};

use mcp::wire::{Envelope, build};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    arguments: Arguments<'a>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: &'a RawValue,
}

fn main() -> std::io::Result<()> {
    let mut input = std::io::BufReader::with_capacity(64 << 10, std::io::stdin().lock());
    let mut output = std::io::stdout().lock();
    let (mut line, mut out) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return output.write_all(&out);
        }
        let Some(envelope) = Envelope::peek(line.trim_ascii()) else { continue };
        let Some(id) = envelope.id() else { continue };
        let call = envelope.params().and_then(|params| serde_json::from_str::<Call>(params.get()).ok());
        build::result_with(&mut out, &id, |out| match call {
            Some(call) => {
                out.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":");
                build::push_json(out, call.arguments.text.get());
                out.extend_from_slice(b"}]}");
            }
            None => out.extend_from_slice(
                b"{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\
                  \"serverInfo\":{\"name\":\"floor\",\"version\":\"1\"}}",
            ),
        });
        if input.buffer().is_empty() || out.len() > 64 << 10 {
            output.write_all(&out)?;
            output.flush()?;
            out.clear();
        }
    }
}
