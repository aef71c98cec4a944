//! A client that speaks raw lines, over a connection within the process.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;

use crate::server::{ConnectionOptions, End, Server};
use crate::transport::memory;

pub(super) struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    served: JoinHandle<End>,
}

impl Client {
    pub(super) fn connect(server: &Server, options: ConnectionOptions) -> Client {
        let (stream, served) = memory::connect(server, options);
        let (reader, writer) = tokio::io::split(stream);
        Client { lines: BufReader::new(reader).lines(), writer, served }
    }

    pub(super) async fn send(&mut self, message: Value) {
        self.write(&format!("{message}\n")).await;
    }

    pub(super) async fn write(&mut self, text: &str) {
        self.writer.write_all(text.as_bytes()).await.expect("the server reads");
    }

    pub(super) async fn next(&mut self) -> Value {
        let line = self.lines.next_line().await.expect("output is UTF-8").expect("the server still writes");
        serde_json::from_str(&line).expect("output is JSON")
    }

    pub(super) async fn call(&mut self, id: u64, tool: &str, arguments: Value) {
        let params = json!({"name": tool, "arguments": arguments});
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).await;
    }

    pub(super) async fn call_with_token(&mut self, id: u64, tool: &str, arguments: Value) {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}});
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).await;
    }

    /// Ends the input, and returns the remaining output and how the connection ended.
    pub(super) async fn finish(self) -> (Vec<Value>, End) {
        let Client { mut lines, mut writer, served } = self;
        writer.shutdown().await.expect("the server lives");
        let mut rest = Vec::new();
        while let Some(line) = lines.next_line().await.expect("output is UTF-8") {
            rest.push(serde_json::from_str(&line).expect("output is JSON"));
        }
        (rest, served.await.expect("serving never panics"))
    }

    /// Ends the input and stops reading, but keeps the connection.
    pub(super) async fn fall_silent(self) -> End {
        let Client { lines: _lines, mut writer, served } = self;
        writer.shutdown().await.expect("the server lives");
        served.await.expect("serving never panics")
    }

    /// Drops the connection.
    pub(super) async fn vanish(self) -> End {
        let Client { lines, writer, served } = self;
        drop((lines, writer));
        served.await.expect("serving never panics")
    }
}

/// Returns the text of a tool's result.
pub(super) fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("not a tool's result: {answer}"))
}
