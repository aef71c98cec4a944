//! A model server on loopback whose answers a test decides.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// The behaviour of the server.
#[derive(Clone)]
pub(crate) enum Behaviour {
    /// Answers with the value that this function makes of the prompt, with a finish reason.
    Answers(fn(&str) -> String, &'static str),
    /// Answers as soon as this many requests wait at the same time, or half a second later.
    Together(usize, fn(&str) -> String),
    /// Answers with this status.
    Fails(u16),
    /// Accepts requests and never answers.
    Hangs,
    /// Closes each connection, as a killed server does.
    Closes,
}

pub(crate) struct Server {
    pub url: String,
    state: Arc<State>,
}

struct State {
    behaviour: Mutex<Behaviour>,
    requests: Mutex<Vec<Value>>,
    waiting: Mutex<usize>,
    arrived: Condvar,
    most_at_once: AtomicUsize,
}

impl Server {
    pub(crate) fn start(behaviour: Behaviour) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(State {
            behaviour: Mutex::new(behaviour),
            requests: Mutex::default(),
            waiting: Mutex::default(),
            arrived: Condvar::new(),
            most_at_once: AtomicUsize::new(0),
        });
        let serving = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = serving.clone();
                std::thread::spawn(move || state.serve(stream));
            }
        });
        Server { url, state }
    }

    pub(crate) fn behave(&self, behaviour: Behaviour) {
        *self.state.behaviour.lock().unwrap() = behaviour;
        self.state.requests.lock().unwrap().clear();
    }

    /// Returns the requests since the last change of behaviour.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.state.requests.lock().unwrap().clone()
    }

    /// Returns the maximum number of requests that waited at the same time.
    pub(crate) fn most_at_once(&self) -> usize {
        self.state.most_at_once.load(Ordering::SeqCst)
    }
}

impl State {
    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        while let Some(request) = read(&mut reader) {
            let prompt =
                request["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
            self.requests.lock().unwrap().push(request);
            let behaviour = self.behaviour.lock().unwrap().clone();
            let (status, text, finish) = match behaviour {
                Behaviour::Answers(answer, finish) => (200, answer(&prompt), finish),
                Behaviour::Together(wanted, answer) => {
                    self.wait_for(wanted);
                    (200, answer(&prompt), "stop")
                }
                Behaviour::Fails(status) => (status, String::new(), "stop"),
                Behaviour::Hangs => {
                    // Until the client gives up and closes the connection.
                    let _ = reader.read(&mut [0]);
                    return;
                }
                Behaviour::Closes => return,
            };
            let choice = json!({"message": {"role": "assistant", "content": text}, "finish_reason": finish});
            let body =
                json!({"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 20}}).to_string();
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            if reader.get_mut().write_all((head + &body).as_bytes()).is_err() {
                return;
            }
        }
    }

    fn wait_for(&self, wanted: usize) {
        let mut waiting = self.waiting.lock().unwrap();
        *waiting += 1;
        self.most_at_once.fetch_max(*waiting, Ordering::SeqCst);
        self.arrived.notify_all();
        let (mut waiting, _) =
            self.arrived.wait_timeout_while(waiting, Duration::from_millis(500), |waiting| *waiting < wanted).unwrap();
        *waiting -= 1;
    }
}

/// Reads the body of a request; `None` at the end of the connection.
fn read(reader: &mut BufReader<TcpStream>) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or_default() == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
