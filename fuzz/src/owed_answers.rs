//! Computes, without the server, the answers that it owes a client, and checks that it gave them.

use std::collections::HashMap;

use mcp::wire::{Envelope, Frame, Framer, Json, Message, TooLong};

/// The answers that a client's messages call for.
#[derive(Default)]
pub(crate) struct OwedAnswers {
    /// By id: how many requests have it, and so how many answers.
    by_id: HashMap<String, usize>,
    /// How many answers there may be with the id `null`.
    without_id: usize,
    /// A batch may be refused as a whole, so its requests may stay without answers.
    has_batch: bool,
    /// Cancelled requests, which may stay without answers.
    cancelled: Vec<String>,
}

impl OwedAnswers {
    pub(crate) fn compute(input: &[u8], limit: usize) -> OwedAnswers {
        let mut owed = OwedAnswers::default();
        let mut framer = Framer::new(limit);
        framer.push(input);
        while let Some(frame) = framer.next_frame() {
            owed.frame(&frame);
        }
        if let Some(frame) = framer.finish() {
            owed.frame(&frame);
        }
        owed
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        match frame {
            Frame::TooLong(TooLong { id: Some(id), method: true, .. }) => self.owe(id.as_json()),
            Frame::TooLong(_) => {}
            Frame::Line(line) => self.line(line),
        }
    }

    fn line(&mut self, line: &[u8]) {
        match Envelope::classify(line) {
            Ok(Message::Request { id, .. } | Message::Invalid { id: Some(id), .. }) => self.owe(id.as_json()),
            Ok(Message::Invalid { id: None, .. }) => self.without_id += 1,
            Ok(Message::Notification { method, params }) if method == "notifications/cancelled" => {
                let id = params.and_then(|params| params.member("requestId"));
                self.cancelled.extend(id.map(|id| id.get().to_owned()));
            }
            Ok(Message::Batch(items)) => {
                self.has_batch = true;
                self.without_id += 1;
                items.iter().map(|item: &Json<'_>| item.get().as_bytes()).for_each(|item| self.line(item));
            }
            Ok(Message::Notification { .. } | Message::Response { .. }) | Err(_) => {}
        }
    }

    fn owe(&mut self, id: &str) {
        *self.by_id.entry(id.to_owned()).or_default() += 1;
    }

    /// Panics unless the output answers as owed.
    pub(crate) fn check(mut self, output: &[u8]) {
        assert!(output.is_empty() || output.ends_with(b"\n"), "the last line is torn");
        for line in output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let text = std::str::from_utf8(line).expect("output is UTF-8");
            let json = Json::check(text).unwrap_or_else(|| panic!("no JSON: {text}"));
            match json.get().starts_with('[') {
                true => json.items().for_each(|item| self.answer(item)),
                false => self.answer(json),
            }
        }
        let left: Vec<_> =
            self.by_id.iter().filter(|(id, count)| **count > 0 && !self.cancelled.contains(id)).collect();
        assert!(self.has_batch || left.is_empty(), "never answered: {left:?}");
    }

    fn answer(&mut self, message: Json<'_>) {
        assert_eq!(message.member("jsonrpc").map(Json::get), Some("\"2.0\""), "{message}");
        if message.member("method").is_some() {
            return;
        }
        let (result, error) = (message.member("result"), message.member("error"));
        assert!(result.is_some() != error.is_some(), "{message}");
        match message.member("id").map(Json::get) {
            None => panic!("an answer without an id: {message}"),
            Some("null") => {
                assert!(self.without_id > 0, "nothing asked for {message}");
                self.without_id -= 1;
            }
            Some(id) => {
                let owed = self.by_id.get_mut(id).unwrap_or_else(|| panic!("nobody asked for {message}"));
                assert!(*owed > 0, "answered twice: {message}");
                *owed -= 1;
            }
        }
    }
}
