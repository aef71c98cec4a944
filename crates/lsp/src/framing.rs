//! Messages on a stream: a header with the length, then JSON (LSP 3.17, "Base Protocol").

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt};

/// Maximum size of a message in bytes.
const MAX_MESSAGE: usize = 256 << 20;
/// Maximum size of a header in bytes.
const MAX_HEADER: usize = 8 << 10;

pub(crate) fn framed(message: &serde_json::Value) -> Vec<u8> {
    let body = message.to_string();
    let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    frame.extend_from_slice(body.as_bytes());
    frame
}

/// Reads the next message; `None` at the end of the stream.
///
/// # Errors
/// Fails for a header with a missing or invalid length, and for an incomplete message. The stream is unusable then.
pub(crate) async fn read(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut length = None;
    let mut taken = 0;
    loop {
        let mut line = Vec::new();
        let left = (MAX_HEADER - taken) as u64;
        taken += AsyncBufReadExt::read_until(&mut AsyncReadExt::take(&mut *stream, left), b'\n', &mut line).await?;
        if line.is_empty() && taken == 0 {
            return Ok(None);
        }
        let Some(line) = line.strip_suffix(b"\n") else {
            return Err(invalid_data("a header that does not end"));
        };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            break;
        }
        let text = std::str::from_utf8(line).map_err(|_| invalid_data("a header that is not UTF-8"))?;
        let (name, value) = text.split_once(':').ok_or_else(|| invalid_data("a header without a colon"))?;
        if name.eq_ignore_ascii_case("content-length") {
            let bytes: usize = value.trim().parse().map_err(|_| invalid_data("an invalid content length"))?;
            length = Some(bytes);
        }
    }
    let length = length.ok_or_else(|| invalid_data("a header without a length"))?;
    if length > MAX_MESSAGE {
        return Err(invalid_data("a message of more than 256 MiB"));
    }
    // The claimed length is not allocated before the bytes arrive.
    let mut body = Vec::new();
    take(stream, length, &mut body).await?;
    Ok(Some(body))
}

async fn take(stream: &mut (impl AsyncRead + Unpin), length: usize, into: &mut Vec<u8>) -> io::Result<()> {
    let read = stream.take(length as u64).read_to_end(into).await?;
    if read < length { Err(invalid_data("a message that is cut off")) } else { Ok(()) }
}

fn invalid_data(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use tokio::io::BufReader;

    use super::*;

    /// Returns a stream that yields its bytes in pieces of this size.
    fn pieces(bytes: &[u8], size: usize) -> impl AsyncBufRead + Unpin {
        BufReader::with_capacity(size, std::io::Cursor::new(bytes.to_vec()))
    }

    #[tokio::test]
    async fn messages_come_whole_however_they_arrive() {
        let first = serde_json::json!({"a": "🦀"});
        let mut bytes = framed(&first);
        bytes.extend(b"content-length:2\nContent-Type: x\r\n\r\n{}".iter());
        for size in 1..bytes.len() {
            let mut stream = pieces(&bytes, size);
            assert_eq!(read(&mut stream).await.unwrap().unwrap(), first.to_string().as_bytes());
            assert_eq!(read(&mut stream).await.unwrap().unwrap(), b"{}");
            assert!(read(&mut stream).await.unwrap().is_none());
        }
    }

    #[tokio::test]
    async fn what_is_no_message_is_an_error() {
        for text in [
            "Content-Length: 5\r\n\r\n{}",
            "Content-Length: x\r\n\r\n{}",
            "Content-Type: x\r\n\r\n{}",
            "Content-Length: 999999999999\r\n\r\n",
            "no colon\r\n\r\n",
            "Content-Length: 2",
            &"x: ".repeat(MAX_HEADER),
        ] {
            assert!(read(&mut pieces(text.as_bytes(), 4)).await.is_err(), "{text:.40}");
        }
    }
}
