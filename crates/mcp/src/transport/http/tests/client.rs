//! Fixture: a client of raw bytes over real sockets, and a server on a separate port.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::super::{HttpOptions, serve};
use crate::server::Server;

/// A server on a separate port.
pub(super) struct Served {
    pub port: u16,
    end: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Served {
    pub(super) async fn new(server: Server, options: HttpOptions) -> Served {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let (end, ended) = oneshot::channel::<()>();
        let task = tokio::spawn(serve(listener, server, options, async move {
            let _ = ended.await;
        }));
        Served { port, end, task }
    }

    pub(super) async fn connect(&self) -> Client {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await.expect("it listens");
        Client { stream, read: Vec::new(), port: self.port }
    }

    /// Sends one request on a new connection.
    pub(super) async fn send(&self, request: &Request) -> Response {
        self.connect().await.send(request).await
    }

    pub(super) async fn end(self) {
        self.end.send(()).expect("it serves");
        self.task.await.expect("no panic").expect("no error");
    }
}

/// A request to be built and sent.
#[derive(Clone)]
pub(super) struct Request {
    method: &'static str,
    path: String,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    pub(super) fn new(method: &'static str) -> Request {
        Request { method, path: "/mcp".to_owned(), fields: Vec::new(), body: Vec::new() }
    }

    /// Returns a message of a client that names no revision.
    pub(super) fn post(body: impl Into<Vec<u8>>) -> Request {
        let mut request = Request::new("POST").field("accept", "application/json, text/event-stream");
        request.body = body.into();
        request.field("content-type", "application/json")
    }

    /// Returns a request of 2026-07-28, with the fields that mirror it.
    pub(super) fn modern(id: u64, method: &str, mut params: Value) -> Request {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        });
        let given = params.get("_meta").cloned().unwrap_or(json!({}));
        params["_meta"] = meta;
        given.as_object().expect("an object").iter().for_each(|(name, value)| params["_meta"][name] = value.clone());
        let named = params.get("name").or(params.get("uri")).and_then(Value::as_str).map(ToOwned::to_owned);
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let request = Request::post(body.to_string());
        let request = request.field("mcp-protocol-version", "2026-07-28").field("mcp-method", method);
        match named {
            Some(name) => request.field("mcp-name", &name),
            None => request,
        }
    }

    pub(super) fn field(mut self, name: &str, value: &str) -> Request {
        self.fields.retain(|(known, _)| known != name);
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn without(mut self, name: &str) -> Request {
        self.fields.retain(|(known, _)| known != name);
        self
    }

    pub(super) fn path(mut self, path: &str) -> Request {
        path.clone_into(&mut self.path);
        self
    }

    /// Returns the same request with another body.
    pub(super) fn body(mut self, body: impl Into<Vec<u8>>) -> Request {
        self.body = body.into();
        self
    }

    /// Returns the body.
    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("UTF-8")
    }

    fn bytes(&self, port: u16) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        if !self.fields.iter().any(|(name, _)| name == "host") {
            head.push_str(&format!("host: 127.0.0.1:{port}\r\n"));
        }
        self.fields.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        if self.method == "POST" {
            head.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        head.push_str("\r\n");
        [head.into_bytes(), self.body.clone()].concat()
    }
}

/// An open connection.
pub(super) struct Client {
    stream: TcpStream,
    read: Vec<u8>,
    port: u16,
}

/// A whole answer.
#[derive(Debug)]
pub(super) struct Response {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Response {
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        field(&self.head, name)
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// Returns the messages of either kind of answer, JSON or a stream.
    pub(super) fn messages(&self) -> Vec<Value> {
        match self.field("content-type") {
            Some("text/event-stream") => {
                let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
                data.filter(|data| !data.is_empty()).map(|data| serde_json::from_str(data).expect("JSON")).collect()
            }
            _ => vec![self.json()],
        }
    }

    /// Returns the code of the error; 0 without one.
    pub(super) fn code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().unwrap_or_default()
    }
}

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (known, value) = line.split_once(": ")?;
        known.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

impl Client {
    pub(super) async fn send(&mut self, request: &Request) -> Response {
        self.begin(request).await;
        self.response().await
    }

    /// Sends a request and does not wait.
    pub(super) async fn begin(&mut self, request: &Request) {
        let bytes = request.bytes(self.port);
        self.write(&bytes).await;
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) {
        // A server that refuses a request need not read it to its end.
        let _ = self.stream.write_all(bytes).await;
    }

    /// Returns the head of an answer.
    pub(super) async fn head(&mut self) -> (u16, String) {
        let head = self.until(b"\r\n\r\n").await;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.unwrap_or_else(|| panic!("no status: {head}")), head)
    }

    pub(super) async fn response(&mut self) -> Response {
        let (status, head) = self.head().await;
        let mut body = String::new();
        if let Some(length) = field(&head, "content-length") {
            body = self.exactly(length.parse().expect("a number")).await;
        } else if field(&head, "transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk().await {
                body.push_str(&chunk);
            }
        }
        Response { status, head, body }
    }

    /// Returns the status of the next answer, whose body is skipped; `None` if the connection ends first.
    pub(super) async fn next_status(&mut self) -> Option<u16> {
        while memchr::memmem::find(&self.read, b"\r\n\r\n").is_none() {
            if self.stream.read_buf(&mut self.read).await.unwrap_or_default() == 0 {
                return None;
            }
        }
        Some(self.response().await.status)
    }

    /// Returns the next piece of a stream; `None` at its end.
    pub(super) async fn chunk(&mut self) -> Option<String> {
        let size = self.until(b"\r\n").await;
        let size = usize::from_str_radix(size.trim(), 16).expect("a size");
        let chunk = self.exactly(size).await;
        self.exactly(2).await;
        (size > 0).then_some(chunk)
    }

    /// Returns the next message of a stream.
    pub(super) async fn event(&mut self) -> Value {
        loop {
            let chunk = self.chunk().await.expect("the stream goes on");
            let data = chunk.lines().filter_map(|line| line.strip_prefix("data: ")).find(|data| !data.is_empty());
            if let Some(data) = data {
                return serde_json::from_str(data).expect("JSON");
            }
        }
    }

    /// Returns true if the server has closed the connection, without another byte.
    pub(super) async fn is_closed(&mut self) -> bool {
        self.read.is_empty() && matches!(self.stream.read(&mut [0; 1]).await, Ok(0) | Err(_))
    }

    async fn exactly(&mut self, count: usize) -> String {
        while self.read.len() < count {
            self.more().await;
        }
        String::from_utf8(self.read.drain(..count).collect()).expect("UTF-8")
    }

    async fn until(&mut self, end: &[u8]) -> String {
        loop {
            if let Some(at) = memchr::memmem::find(&self.read, end) {
                return self.exactly(at + end.len()).await;
            }
            self.more().await;
        }
    }

    async fn more(&mut self) {
        let count = self.stream.read_buf(&mut self.read).await.expect("the connection stands");
        assert!(count > 0, "the connection ended in {:?}", String::from_utf8_lossy(&self.read));
    }
}
