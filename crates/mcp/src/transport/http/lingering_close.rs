//! The lingering close of a connection whose client may still be sending. If it were just closed, further input would
//! be answered by a reset, which destroys the answer that the client has not read yet (RFC 9112, 9.6). So the stream is
//! reclaimed from hyper, and input is read and discarded for a while.

use parking_lot::Mutex;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

/// The time for which input is discarded.
const LINGER_TIME: Duration = Duration::from_secs(2);

/// Bytes of input that are discarded at most.
const LINGER_BYTES: u64 = 256 << 20;

/// The place to which a [`ReclaimOnDrop`] returns its stream.
#[derive(Clone, Default)]
pub(super) struct Reclaimed(Arc<Mutex<Option<TcpStream>>>);

/// A stream that returns to its [`Reclaimed`] when it is dropped.
pub(super) struct ReclaimOnDrop {
    /// `Some` until the drop.
    stream: Option<TcpStream>,
    to: Reclaimed,
}

impl Reclaimed {
    /// Lends a stream, to be reclaimed later.
    pub(super) fn lend(&self, stream: TcpStream) -> ReclaimOnDrop {
        ReclaimOnDrop { stream: Some(stream), to: self.clone() }
    }

    /// Discards input until the client is done, for a while. A stream that was not returned, because it was upgraded,
    /// is left alone.
    pub(super) async fn linger(self) {
        let stream = self.0.lock().take();
        let Some(mut stream) = stream else { return };
        let drained = async {
            stream.shutdown().await?;
            tokio::io::copy(&mut stream.take(LINGER_BYTES), &mut tokio::io::sink()).await
        };
        // Best effort: a client that sends for longer, or has disconnected, gets no answer.
        let _ = tokio::time::timeout(LINGER_TIME, drained).await;
    }
}

impl Drop for ReclaimOnDrop {
    fn drop(&mut self) {
        *self.to.0.lock() = self.stream.take();
    }
}

impl ReclaimOnDrop {
    fn stream(self: Pin<&mut Self>) -> Pin<&mut TcpStream> {
        Pin::new(self.get_mut().stream.as_mut().expect("it is lent until it is dropped"))
    }
}

impl AsyncRead for ReclaimOnDrop {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_read(cx, buf)
    }
}

impl AsyncWrite for ReclaimOnDrop {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.stream().poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream().poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }
}
