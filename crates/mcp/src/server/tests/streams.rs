//! Fixture: a reader that gives chosen pieces, and a writer that records its writes.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A reader that gives one piece per read, then ends.
pub(super) struct Pieces(VecDeque<Vec<u8>>);

impl Pieces {
    pub(super) fn new(pieces: Vec<Vec<u8>>) -> Pieces {
        Pieces(pieces.into_iter().filter(|piece| !piece.is_empty()).collect())
    }
}

impl AsyncRead for Pieces {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Some(piece) = self.0.front_mut() {
            let count = piece.len().min(buf.remaining());
            buf.put_slice(&piece[..count]);
            piece.drain(..count);
            if piece.is_empty() {
                self.0.pop_front();
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// Returns a writer that records its input, one entry per write.
pub(super) fn collector() -> (Collector, Output) {
    let written = Arc::default();
    (Collector(Arc::clone(&written)), Output(written))
}

pub(super) struct Collector(Arc<Mutex<Vec<Vec<u8>>>>);

pub(super) struct Output(Arc<Mutex<Vec<Vec<u8>>>>);

impl Output {
    pub(super) fn text(&self) -> String {
        let bytes = self.0.lock().expect("no test panics in it").concat();
        String::from_utf8(bytes).expect("output is UTF-8")
    }
}

impl AsyncWrite for Collector {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.lock().expect("no test panics in it").push(bytes.to_vec());
        Poll::Ready(Ok(bytes.len()))
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
