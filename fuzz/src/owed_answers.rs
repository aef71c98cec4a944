//! Which answers are owed, kept apart from the server that owes them.

use std::collections::HashMap;

use mcp::wire::{Envelope, Frame, Framer, Json, Message, TooLong};

/// What a client said, as far as it is owed answers.
#[derive(Default)]
pub(crate) struct Account {
    /// By id: how many answers there must be, as many as requests under it.
    owed: HashMap<String, usize>,
    /// Answers without an id, at most.
    nameless: usize,
    /// A batch may be refused as one, or its requests answered: then at most what is owed.
    batched: bool,
    /// Requests that were taken back, and may go without.
    taken_back: Vec<String>,
}

impl Account {
    pub(crate) fn of(said: &[u8], limit: usize) -> Account {
        let mut account = Account::default();
        let mut framer = Framer::new(limit);
        framer.push(said);
        while let Some(frame) = framer.next_frame() {
            account.take(&frame);
        }
        if let Some(frame) = framer.finish() {
            account.take(&frame);
        }
        account
    }

    fn take(&mut self, frame: &Frame<'_>) {
        match frame {
            Frame::TooLong(TooLong { id: Some(id), method: true, .. }) => self.owe(id.as_json()),
            Frame::TooLong(_) => {}
            Frame::Line(line) => self.line(line),
        }
    }

    fn line(&mut self, line: &[u8]) {
        match Envelope::classify(line) {
            Ok(Message::Request { id, .. } | Message::Invalid { id: Some(id), .. }) => self.owe(id.as_json()),
            Ok(Message::Invalid { id: None, .. }) => self.nameless += 1,
            Ok(Message::Notification { method, params }) if method == "notifications/cancelled" => {
                let id = params.and_then(|params| params.member("requestId"));
                self.taken_back.extend(id.map(|id| id.get().to_owned()));
            }
            Ok(Message::Batch(items)) => {
                self.batched = true;
                self.nameless += 1;
                items.iter().map(|item: &Json<'_>| item.get().as_bytes()).for_each(|item| self.line(item));
            }
            Ok(Message::Notification { .. } | Message::Response { .. }) | Err(_) => {}
        }
    }

    fn owe(&mut self, id: &str) {
        *self.owed.entry(id.to_owned()).or_default() += 1;
    }

    /// Whether that is what came.
    pub(crate) fn check(mut self, output: &[u8]) {
        assert!(output.is_empty() || output.ends_with(b"\n"), "the last line is torn");
        for line in output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let text = std::str::from_utf8(line).expect("output is UTF-8");
            let json = Json::check(text).unwrap_or_else(|| panic!("no JSON: {text}"));
            match json.get().starts_with('[') {
                true => json.items().for_each(|item| self.came(item)),
                false => self.came(json),
            }
        }
        let left: Vec<_> = self.owed.iter().filter(|(id, count)| **count > 0 && !self.taken_back.contains(id)).collect();
        assert!(self.batched || left.is_empty(), "never answered: {left:?}");
    }

    fn came(&mut self, message: Json<'_>) {
        assert_eq!(message.member("jsonrpc").map(Json::get), Some("\"2.0\""), "{message}");
        if message.member("method").is_some() {
            return;
        }
        let (result, error) = (message.member("result"), message.member("error"));
        assert!(result.is_some() != error.is_some(), "{message}");
        match message.member("id").map(Json::get) {
            None => panic!("an answer without an id: {message}"),
            Some("null") => {
                assert!(self.nameless > 0, "nothing asked for {message}");
                self.nameless -= 1;
            }
            Some(id) => {
                let owed = self.owed.get_mut(id).unwrap_or_else(|| panic!("nobody asked for {message}"));
                assert!(*owed > 0, "answered twice: {message}");
                *owed -= 1;
            }
        }
    }
}
