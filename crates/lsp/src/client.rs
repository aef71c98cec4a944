//! A connection to one server: requests, notifications, and its end.
//!
//! Two tasks read and write; each ends with its stream. A dropped request is cancelled on the server. No answer is ever
//! made up: a missing one is a [`Failure`].

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::locations::Range;
use super::{Answering, framing};

/// Reason why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error("the server has ended")]
    Closed,
    #[error("no answer to {method} within {after:?}")]
    TimedOut { method: &'static str, after: Duration },
    #[error("{method}: {message} ({code})")]
    Refused { method: &'static str, code: i64, message: String },
    #[error("{method}: malformed response")]
    Odd { method: &'static str },
}

/// A message from the server that is not an answer, reduced to the relevant cases.
#[derive(Debug)]
pub enum Event {
    Notification {
        method: String,
        params: Value,
    },
    /// The stream ended or became invalid.
    Closed,
}

/// A handle. Dropping the last one closes the connection.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    out: mpsc::Sender<Vec<u8>>,
    waiting: Arc<Waiting>,
    next: AtomicI64,
    slots: Semaphore,
}

/// The requests in flight.
#[derive(Default)]
struct Waiting {
    requests: Mutex<Requests>,
    /// Parts of open files that are not compiled, as last reported. The server reports them before it answers questions.
    inactive: Mutex<HashMap<PathBuf, Vec<Range>>>,
}

#[derive(Default)]
struct Requests {
    open: HashMap<i64, oneshot::Sender<Result<Value, Refusal>>>,
    is_closed: bool,
    /// Time since which an answer is outstanding. A cancelled request still counts, because a server answers cancelled
    /// requests too.
    owed_since: Option<Instant>,
}

struct Refusal {
    code: i64,
    message: String,
}

/// Maximum number of concurrent requests to a server.
const AT_ONCE: usize = 8;
/// Capacity of the output queue. A server that does not read gets no further messages.
const UNWRITTEN: usize = 1024;
/// Errors for content that was modified during a request and for cancellation by the server: retry (LSP 3.17, "ErrorCodes").
const AGAIN: [i64; 2] = [-32801, -32802];
/// Delay before a retry; doubled each time.
const PAUSE: Duration = Duration::from_millis(20);

/// Notifications about the server's status.
const HEARD: [&str; 3] = ["$/progress", "experimental/serverStatus", "language/status"];

impl Client {
    /// Connects to a server through its input and output. The last event is [`Event::Closed`].
    pub fn new(
        input: impl AsyncWrite + Unpin + Send + 'static,
        output: impl AsyncRead + Unpin + Send + 'static,
        answering: Answering,
    ) -> (Client, mpsc::Receiver<Event>) {
        let (out, unwritten) = mpsc::channel(UNWRITTEN);
        let (events, heard) = mpsc::channel(UNWRITTEN);
        let waiting = Arc::new(Waiting::default());
        tokio::spawn(write(input, unwritten));
        let answers = out.downgrade();
        let reading = waiting.clone();
        tokio::spawn(async move {
            read(output, &reading, &answers, &events, &answering).await;
            reading.close();
            let _ = events.send(Event::Closed).await;
        });
        let slots = Semaphore::new(AT_ONCE);
        (Client(Arc::new(Inner { out, waiting, next: AtomicI64::new(1), slots })), heard)
    }

    /// Sends a request, and retries while the content changes meanwhile. Dropping the future cancels the request.
    pub async fn request(&self, method: &'static str, params: &Value, within: Duration) -> Result<Value, Failure> {
        let asked = async {
            let mut pause = PAUSE;
            loop {
                match self.request_once(method, params).await {
                    Err(Failure::Refused { code, .. }) if AGAIN.contains(&code) => {
                        tokio::time::sleep(pause).await;
                        pause = (pause * 2).min(Duration::from_secs(1));
                    }
                    answer => return answer,
                }
            }
        };
        tokio::time::timeout(within, asked).await.unwrap_or(Err(Failure::TimedOut { method, after: within }))
    }

    async fn request_once(&self, method: &'static str, params: &Value) -> Result<Value, Failure> {
        let _slot = self.0.slots.acquire().await.map_err(|_| Failure::Closed)?;
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        if !self.0.waiting.add(id, answer) {
            return Err(Failure::Closed);
        }
        let asked = PendingRequest { client: &self.0, id };
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.0.out.send(framing::framed(&request)).await.map_err(|_| Failure::Closed)?;
        let answered = answered.await;
        drop(asked);
        match answered {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(Refusal { code, message })) => Err(Failure::Refused { method, code, message }),
            Err(_) => Err(Failure::Closed),
        }
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Value) -> Result<(), Failure> {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.0.out.send(framing::framed(&message)).await.map_err(|_| Failure::Closed)
    }

    /// True if the server reported the line of an open file as not compiled.
    pub fn is_inactive(&self, path: &Path, line: u32) -> bool {
        let inactive = self.0.waiting.inactive.lock();
        inactive.get(path).is_some_and(|regions| {
            // A region ends at the end of its last line, or at the beginning of the next one.
            let is_in = |one: &Range| one.start.line <= line && (line, 0) < (one.end.line, one.end.character);
            regions.iter().any(is_in)
        })
    }

    /// Returns the time since which an answer is outstanding.
    pub fn silent_since(&self) -> Option<Instant> {
        self.0.waiting.requests.lock().owed_since
    }
}

/// A request that is cancelled when dropped.
struct PendingRequest<'a> {
    client: &'a Inner,
    id: i64,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        if self.client.waiting.requests.lock().open.remove(&self.id).is_some() {
            let cancel = json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": self.id}});
            // A server that does not read its input does not compute either.
            let _ = self.client.out.try_send(framing::framed(&cancel));
        }
    }
}

impl Waiting {
    fn add(&self, id: i64, answer: oneshot::Sender<Result<Value, Refusal>>) -> bool {
        let mut requests = self.requests.lock();
        if !requests.is_closed {
            requests.open.insert(id, answer);
            requests.owed_since.get_or_insert_with(Instant::now);
        }
        !requests.is_closed
    }

    fn close(&self) {
        let mut requests = self.requests.lock();
        requests.is_closed = true;
        // The dropped senders notify the waiting callers.
        requests.open.clear();
    }

    /// Reads clangd's message about a file (`textDocument/inactiveRegions`, an extension).
    fn hear_inactive(&self, mut params: Value) {
        let path = params["textDocument"]["uri"].as_str().and_then(super::to_path);
        let regions = serde_json::from_value::<Vec<Range>>(params["regions"].take());
        if let (Some(path), Ok(regions)) = (path, regions) {
            self.inactive.lock().insert(path, regions);
        }
    }

    fn answer(&self, message: &mut Value) {
        let Some(id) = message["id"].as_i64() else { return };
        let mut requests = self.requests.lock();
        let answer = requests.open.remove(&id);
        requests.owed_since = (!requests.open.is_empty()).then(Instant::now);
        let Some(answer) = answer else { return };
        let error = message["error"].take();
        let _ = answer.send(match error {
            Value::Null => Ok(message["result"].take()),
            error => Err(Refusal {
                code: error["code"].as_i64().unwrap_or_default(),
                message: error["message"].as_str().unwrap_or_default().to_owned(),
            }),
        });
    }
}

async fn write(mut input: impl AsyncWrite + Unpin, mut unwritten: mpsc::Receiver<Vec<u8>>) {
    while let Some(frame) = unwritten.recv().await {
        if input.write_all(&frame).await.is_err() {
            // The reader notices the end.
            return;
        }
    }
}

async fn read(
    output: impl AsyncRead + Unpin,
    waiting: &Waiting,
    answers: &mpsc::WeakSender<Vec<u8>>,
    events: &mpsc::Sender<Event>,
    answering: &Answering,
) {
    let mut output = BufReader::with_capacity(64 << 10, output);
    loop {
        let body = match framing::read(&mut output).await {
            Ok(Some(body)) => body,
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, "a language server's output is malformed");
                return;
            }
        };
        let Ok(mut message) = serde_json::from_slice::<Value>(&body) else {
            tracing::warn!("a language server sent invalid JSON");
            return;
        };
        let Some(method) = message["method"].as_str().map(str::to_owned) else {
            waiting.answer(&mut message);
            continue;
        };
        if let Some(id) = message.get("id") {
            let answer = framing::framed(&answering.answer(id, &method, &message["params"]));
            // A server that sends thousands of requests without reading the answers is faulty.
            let Some(out) = answers.upgrade() else { return };
            if out.try_send(answer).is_err() {
                return;
            }
        } else if method == "textDocument/inactiveRegions" {
            waiting.hear_inactive(message["params"].take());
        } else if HEARD.contains(&&*method) {
            let said = Event::Notification { method, params: message["params"].take() };
            if events.send(said).await.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::DuplexStream;

    const SOON: Duration = Duration::from_secs(5);

    /// A server simulated by a test.
    struct Played {
        input: BufReader<DuplexStream>,
        output: DuplexStream,
    }

    impl Played {
        async fn next(&mut self) -> Value {
            serde_json::from_slice(&framing::read(&mut self.input).await.unwrap().unwrap()).unwrap()
        }

        async fn write_message(&mut self, message: Value) {
            self.output.write_all(&framing::framed(&message)).await.unwrap();
        }
    }

    fn connected() -> (Client, mpsc::Receiver<Event>, Played) {
        let (input, theirs) = tokio::io::duplex(1 << 16);
        let (output, ours) = tokio::io::duplex(1 << 16);
        let (client, events) = Client::new(input, ours, Answering::default());
        (client, events, Played { input: BufReader::new(theirs), output })
    }

    #[tokio::test]
    async fn answers_find_their_requests_in_any_order() {
        let (client, _events, mut server) = connected();
        let params = (json!(1), json!(2));
        let asked =
            async { tokio::join!(client.request("first", &params.0, SOON), client.request("second", &params.1, SOON)) };
        let played = async {
            let (one, two) = (server.next().await, server.next().await);
            server.write_message(json!({"id": two["id"], "result": "second"})).await;
            server.write_message(json!({"id": one["id"], "error": {"code": 5, "message": "no"}})).await;
        };
        let ((first, second), ()) = tokio::join!(asked, played);
        assert_eq!(second, Ok(json!("second")));
        assert_eq!(first, Err(Failure::Refused { method: "first", code: 5, message: "no".to_owned() }));
    }

    #[tokio::test]
    async fn a_request_that_is_given_up_is_cancelled() {
        let (client, _events, mut server) = connected();
        let given_up = client.request("slow", &Value::Null, Duration::from_millis(20)).await;
        assert!(matches!(given_up, Err(Failure::TimedOut { method: "slow", .. })));
        let asked = server.next().await;
        let cancelled = server.next().await;
        assert_eq!((&cancelled["method"], &cancelled["params"]["id"]), (&json!("$/cancelRequest"), &asked["id"]));
        // The answer is still outstanding.
        assert!(client.silent_since().is_some() && client.0.waiting.requests.lock().open.is_empty());
    }

    #[tokio::test]
    async fn modified_content_is_asked_for_again() {
        let (client, _events, mut server) = connected();
        let played = async {
            for answer in [json!({"error": {"code": -32801, "message": "content modified"}}), json!({"result": 3})] {
                let mut answer = answer;
                answer["id"] = server.next().await["id"].clone();
                server.write_message(answer).await;
            }
        };
        let (answer, ()) = tokio::join!(client.request("x", &Value::Null, SOON), played);
        assert_eq!(answer, Ok(json!(3)));
    }

    #[tokio::test]
    async fn no_more_than_eight_are_in_flight() {
        let (client, _events, mut server) = connected();
        let asking = (0..20).map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.request("x", &Value::Null, SOON).await })
        });
        let asking: Vec<_> = asking.collect();
        for _ in 0..20 {
            let asked = server.next().await;
            assert!(client.0.waiting.requests.lock().open.len() <= AT_ONCE);
            server.write_message(json!({"id": asked["id"], "result": null})).await;
        }
        for one in asking {
            assert_eq!(one.await.unwrap(), Ok(Value::Null));
        }
    }

    #[tokio::test]
    async fn the_end_of_a_server_is_an_error_of_all_that_waits() {
        let (client, mut events, mut server) = connected();
        let played = async {
            server.next().await;
            server.output.write_all(b"Content-Length: 100\r\n\r\n{\"id").await.unwrap();
            drop(server);
        };
        let (answer, ()) = tokio::join!(client.request("x", &Value::Null, SOON), played);
        assert_eq!(answer, Err(Failure::Closed));
        assert!(matches!(events.recv().await, Some(Event::Closed)));
        assert_eq!(client.request("y", &Value::Null, SOON).await, Err(Failure::Closed));
    }

    #[tokio::test]
    async fn what_a_server_asks_is_answered_and_what_it_says_is_heard() {
        let (_client, mut events, mut server) = connected();
        server.write_message(json!({"id": "a", "method": "client/registerCapability", "params": {}})).await;
        assert_eq!(server.next().await, json!({"jsonrpc": "2.0", "id": "a", "result": null}));
        server.write_message(json!({"method": "textDocument/publishDiagnostics", "params": {}})).await;
        server.write_message(json!({"method": "$/progress", "params": {"token": 1}})).await;
        let Some(Event::Notification { method, params }) = events.recv().await else { panic!("nothing is heard") };
        assert_eq!((&*method, &params["token"]), ("$/progress", &json!(1)));
    }
}
