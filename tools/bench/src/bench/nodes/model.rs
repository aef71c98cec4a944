//! A local model server: one that answers immediately, and one that delays its answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use serde_json::json;

/// Progress of the requests.
#[derive(Default)]
struct Gate {
    /// Number of requests received.
    came: usize,
    /// Number of requests that may be answered, from the first on.
    answered: usize,
}

/// A server that answers every request with the same value, once it is permitted.
pub(super) struct Model {
    pub(super) url: String,
    gate: Arc<(Mutex<Gate>, Condvar)>,
}

impl Model {
    /// Starts a server that answers immediately.
    pub(super) fn prompt() -> Result<Model> {
        let model = Model::slow()?;
        model.answer_up_to(usize::MAX);
        Ok(model)
    }

    /// Starts a server that answers nothing before [`Model::answer_up_to`].
    pub(super) fn slow() -> Result<Model> {
        let listener = TcpListener::bind("127.0.0.1:0").context("could not listen")?;
        let url = format!("http://{}/v1", listener.local_addr().context("it is bound")?);
        let gate: Arc<(Mutex<Gate>, Condvar)> = Arc::default();
        let of_threads = gate.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let gate = of_threads.clone();
                thread::spawn(move || serve(stream, &gate));
            }
        });
        Ok(Model { url, gate })
    }

    pub(super) fn answer_up_to(&self, number: usize) {
        let mut gate = self.gate.0.lock().unwrap_or_else(PoisonError::into_inner);
        gate.answered = number;
        self.gate.1.notify_all();
    }

    /// Waits until `count` requests have arrived.
    pub(super) fn wait_for(&self, number: usize) {
        let mut gate = self.gate.0.lock().unwrap_or_else(PoisonError::into_inner);
        while gate.came < number {
            gate = self.gate.1.wait(gate).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Answers the requests of a connection in order.
fn serve(stream: TcpStream, (gate, changed): &(Mutex<Gate>, Condvar)) {
    let message = json!({"role": "assistant", "content": "{\"reason\":\"It is about the weather.\",\"score\":2}"});
    let body = json!({
        "choices": [{"message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 90, "completion_tokens": 12},
    })
    .to_string();
    let answer =
        format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let mut reader = BufReader::new(stream);
    while read_request(&mut reader).is_some() {
        let mut state = gate.lock().unwrap_or_else(PoisonError::into_inner);
        let number = state.came;
        state.came += 1;
        changed.notify_all();
        while state.answered <= number {
            state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        if reader.get_mut().write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// Reads one complete request.
fn read_request(reader: &mut BufReader<TcpStream>) -> Option<()> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length]).ok()
}
