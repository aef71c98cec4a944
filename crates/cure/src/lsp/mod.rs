//! A language server for Cure: what an editor shows while one types, over the Language Server Protocol (3.17) on a pair of
//! pipes. No daemon and no runtime: one thread reads, one answers.
//!
//! [`serve`] is the entry point. [`wire`] splits messages, [`messages`] defines them, [`server`] handles them in order;
//! [`documents`] are the open texts and [`projects`] the files around them. Each request has its file: [`diagnostics`],
//! [`hover`], [`definition`], [`formatting`], [`completion`]. They use [`analysis`], which knows a text's definitions
//! ([`outline`]) and the meaning of a position ([`name_at_position`]).

mod analysis;
mod completion;
mod definition;
mod diagnostics;
mod documents;
mod formatting;
mod hover;
mod messages;
mod name_at_position;
mod outline;
mod positions;
mod projects;
mod server;
#[cfg(test)]
mod tests;
mod wire;

use std::collections::HashSet;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

use parking_lot::Mutex;
use serde_json::Value;

use messages::{CancelParams, Failure, INVALID_REQUEST, Id, Incoming, PARSE_ERROR};
use server::Server;
use wire::Frame;

/// Maximum number of messages that wait.
const QUEUE: usize = 256;

/// A directory with modules.
#[derive(Debug, Clone)]
pub struct Folder {
    /// Everything below it belongs together.
    pub worktree: PathBuf,
    /// The directories where its modules are found.
    pub roots: Vec<PathBuf>,
}

/// Serves one editor until it says `exit` or its input ends. `find` tells the directory with modules that a directory of
/// the editor belongs to. Gives whether the editor said `shutdown` before.
pub fn serve(
    input: impl Read + Send + 'static,
    output: &mut dyn Write,
    find: &dyn Fn(&Path) -> Folder,
) -> io::Result<bool> {
    let cancelled = Cancelled::default();
    let (sender, queue) = sync_channel(QUEUE);
    let seen = cancelled.clone();
    let reader = std::thread::Builder::new().name("cure-lsp-reader".to_owned());
    reader.spawn(move || read(input, &sender, &seen))?;
    let mut server = Server::new(output, find, cancelled);
    loop {
        let event = match queue.try_recv() {
            Ok(event) => event,
            // Diagnostics are made while the editor is silent, so that they are of the newest text.
            Err(TryRecvError::Empty) if server.has_work() => {
                server.work()?;
                continue;
            }
            Err(_) => next(&queue),
        };
        match event {
            Event::Message(message) => server.message(message)?,
            Event::Refused(failure) => server.refuse(failure)?,
            Event::End => return Ok(server.is_down()),
        }
        if server.is_over() {
            return Ok(server.is_down());
        }
    }
}

/// An event from the reader.
enum Event {
    Message(Incoming),
    /// A message that cannot be read, and why.
    Refused(Failure),
    End,
}

fn next(queue: &Receiver<Event>) -> Event {
    queue.recv().unwrap_or(Event::End)
}

/// The requests that were cancelled before they were handled.
#[derive(Debug, Clone, Default)]
struct Cancelled(Arc<Mutex<HashSet<Id>>>);

impl Cancelled {
    fn add(&self, id: Id) {
        self.0.lock().insert(id);
    }

    /// True if a request was cancelled; it is forgotten then.
    fn take(&self, id: &Id) -> bool {
        self.0.lock().remove(id)
    }
}

fn read(input: impl Read, queue: &SyncSender<Event>, cancelled: &Cancelled) {
    let mut input = BufReader::new(input);
    loop {
        let event = match wire::read(&mut input) {
            Ok(Frame::Message(bytes)) => parsed(&bytes),
            Ok(Frame::Bad(said)) => Event::Refused(Failure::new(PARSE_ERROR, said)),
            Ok(Frame::End) | Err(_) => Event::End,
        };
        // A cancellation overtakes the requests that wait.
        if let Event::Message(Incoming { method: Some(method), params, .. }) = &event
            && method == "$/cancelRequest"
            && let Ok(CancelParams { id }) = serde_json::from_value(params.clone())
        {
            cancelled.add(id);
        }
        let is_end = matches!(event, Event::End);
        if queue.send(event).is_err() || is_end {
            return;
        }
    }
}

fn parsed(bytes: &[u8]) -> Event {
    let value: Value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(error) => return Event::Refused(Failure::new(PARSE_ERROR, format!("invalid JSON: {error}"))),
    };
    match serde_json::from_value(value) {
        Ok(message) => Event::Message(message),
        Err(error) => Event::Refused(Failure::new(INVALID_REQUEST, format!("invalid message: {error}"))),
    }
}
