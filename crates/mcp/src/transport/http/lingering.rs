//! The end of a connection whose client may still be sending. If it were just closed, what the client sends then would be
//! answered by a reset, which takes the answer away that the client has not read yet (RFC 9112, 9.6). So the stream comes
//! back from whoever used it, and what arrives is read for a while and thrown away.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

/// How long a client may take to be done with sending.
const LINGER_TIME: Duration = Duration::from_secs(2);

/// How much is thrown away at most.
const LINGER_BYTES: u64 = 256 << 20;

/// Where a stream is put that is not used any more.
#[derive(Clone, Default)]
pub(super) struct Reclaimed(Arc<Mutex<Option<TcpStream>>>);

/// A stream that goes where it is told to when it is dropped.
pub(super) struct ReclaimOnDrop {
    /// There until it is dropped.
    stream: Option<TcpStream>,
    to: Reclaimed,
}

impl Reclaimed {
    /// Lends a stream.
    pub(super) fn lend(&self, stream: TcpStream) -> ReclaimOnDrop {
        ReclaimOnDrop { stream: Some(stream), to: self.clone() }
    }

    /// Reads what arrives until the client is done, for a while. Nothing is to be done for a stream that is used elsewhere.
    pub(super) async fn linger(self) {
        let stream = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut stream) = stream else { return };
        let drained = async {
            stream.shutdown().await?;
            tokio::io::copy(&mut stream.take(LINGER_BYTES), &mut tokio::io::sink()).await
        };
        // Best effort: nothing is owed to a client that goes on for longer, or is gone.
        let _ = tokio::time::timeout(LINGER_TIME, drained).await;
    }
}

impl Drop for ReclaimOnDrop {
    fn drop(&mut self) {
        *self.to.0.lock().unwrap_or_else(PoisonError::into_inner) = self.stream.take();
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
