//! Finds the id of a message that is too long to keep, in one pass and bounded memory, at any position.

use super::{Id, Json, MAX_ID};

/// Follows one JSON object byte by byte and keeps the value of `id` at its top level.
#[derive(Debug, Default)]
pub(super) struct TopLevel {
    depth: u64,
    in_string: bool,
    escaped: bool,
    /// The current top-level token, a key or a scalar value, cut at the limit.
    token: Vec<u8>,
    key: Key,
    after_colon: bool,
    ids: u32,
    id: Option<Id>,
    method: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Key {
    Id,
    Method,
    #[default]
    Other,
}

impl TopLevel {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(&byte) = rest.first() {
            // Inside strings below the top level only quotes and backslashes matter: memchr skips to them.
            let skip = match (self.in_string && !self.escaped, self.depth > 1) {
                (true, true) => memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len()),
                _ => 0,
            };
            if skip > 0 {
                rest = &rest[skip..];
                continue;
            }
            self.step(byte);
            rest = &rest[1..];
        }
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.keep(byte);
            match (self.escaped, byte) {
                (true, _) => self.escaped = false,
                (false, b'\\') => self.escaped = true,
                (false, b'"') => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.keep(byte);
                self.depth += 1;
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_member();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => {
                self.key = match self.token.as_slice() {
                    b"\"id\"" => Key::Id,
                    b"\"method\"" => Key::Method,
                    _ => Key::Other,
                };
                self.token.clear();
                self.after_colon = true;
            }
            b',' if self.depth == 1 => self.end_member(),
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        // One byte over the limit is kept, so that a cut token cannot pass for a whole one.
        if self.depth == 1 && self.token.len() <= MAX_ID {
            self.token.push(byte);
        }
    }

    fn end_member(&mut self) {
        if self.after_colon {
            match self.key {
                Key::Id => {
                    self.ids += 1;
                    let text = std::str::from_utf8(&self.token).ok().filter(|text| Json::check(text).is_some());
                    self.id = text.and_then(Id::from_json);
                }
                Key::Method => self.method = true,
                Key::Other => {}
            }
        }
        self.token.clear();
        self.after_colon = false;
    }

    /// Returns the id, if there is exactly one and it is legal, and whether the message names a method.
    pub(super) fn finish(self) -> (Option<Id>, bool) {
        (self.id.filter(|_| self.ids == 1), self.method)
    }
}
