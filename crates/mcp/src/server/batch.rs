//! JSON-RPC batches, which only 2025-03-26 has: several messages in one array, and their answers in one.

use super::connection_state::ConnectionState;
use crate::wire::build::RpcError;
use crate::wire::{Envelope, Json, code};

#[derive(Default)]
pub(super) struct Batch {
    /// Requests that are not answered yet.
    pub open: usize,
    /// The answers so far, separated by commas.
    pub body: Vec<u8>,
}

impl ConnectionState {
    pub(super) fn take_batch(&mut self, items: &[Json<'_>]) {
        if !self.era.revision().batches {
            let message = format!("protocol {} has no batches: send one message per line", self.era);
            return self.refuse(None, None, &RpcError::new(code::INVALID_REQUEST, message));
        }
        if items.is_empty() {
            return self.refuse(None, None, &RpcError::new(code::INVALID_REQUEST, "the batch is empty"));
        }
        let limit = self.limits.batch;
        if items.len() > limit {
            let message = format!("the batch has {} messages, more than the limit of {limit}", items.len());
            return self.refuse(None, None, &RpcError::new(code::INVALID_REQUEST, message));
        }
        let batch = self.new_key().0;
        // One more than its requests, so that the batch is not complete before it is read.
        self.batches.insert(batch, Batch { open: 1, body: Vec::new() });
        for item in items {
            // A part of valid JSON is valid JSON.
            if let Ok(message) = Envelope::classify(item.get().as_bytes()) {
                self.take_message(message, Some(batch));
            }
        }
        self.batch_answered(Some(batch));
    }

    /// The batch owes another answer.
    pub(super) fn batch_joined(&mut self, batch: Option<u64>) {
        if let Some(batch) = batch.and_then(|batch| self.batches.get_mut(&batch)) {
            batch.open += 1;
        }
    }

    /// One of the batch's requests is done; the last one sends the batch.
    pub(super) fn batch_answered(&mut self, batch: Option<u64>) {
        let Some(key) = batch else { return };
        let Some(open) = self.batches.get_mut(&key) else { return };
        open.open -= 1;
        if open.open == 0
            && let Some(done) = self.batches.remove(&key)
            && !done.body.is_empty()
        {
            let out = self.out.bytes();
            out.push(b'[');
            out.extend_from_slice(&done.body);
            out.extend_from_slice(b"]\n");
        }
    }
}
