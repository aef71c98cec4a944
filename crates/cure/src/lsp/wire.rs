//! The framing of the Language Server Protocol: headers, an empty line, and as many bytes as `Content-Length` says.
//! Garbage between messages is ignored; oversized messages are skipped and reported.

use std::io::{self, BufRead, Read, Write};

/// Maximum size of a message in bytes: the largest text that is compiled, escaped.
const MOST_BYTES: u64 = 128 << 20;
/// Maximum length of a header in bytes.
const LONGEST_HEADER: u64 = 8 << 10;

/// Result of reading a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// The bytes of a message.
    Message(Vec<u8>),
    /// Why a message was skipped.
    Bad(String),
    /// The input has ended.
    End,
}

/// Reads the next message.
pub(super) fn read(input: &mut impl BufRead) -> io::Result<Frame> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        if input.by_ref().take(LONGEST_HEADER).read_until(b'\n', &mut line)? == 0 {
            return Ok(Frame::End);
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if !text.is_empty() {
            length = content_length(text).or(length);
            continue;
        }
        match length.take() {
            Some(Ok(bytes)) => return body(input, bytes),
            Some(Err(said)) => return Ok(Frame::Bad(said)),
            // An empty line between messages.
            None => {}
        }
    }
}

/// The value of the header, if the line holds it; garbage may stand before it.
fn content_length(line: &str) -> Option<Result<u64, String>> {
    const NAME: &str = "content-length:";
    let at = line.to_ascii_lowercase().find(NAME)?;
    let value = line[at + NAME.len()..].trim();
    Some(value.parse().map_err(|_| format!("Content-Length is {value:?}, not a number of bytes")))
}

fn body(input: &mut impl BufRead, bytes: u64) -> io::Result<Frame> {
    if bytes > MOST_BYTES {
        io::copy(&mut input.by_ref().take(bytes), &mut io::sink())?;
        return Ok(Frame::Bad(format!("the message is too large: {bytes} bytes; the limit is {MOST_BYTES}")));
    }
    let mut message = Vec::new();
    let read = input.by_ref().take(bytes).read_to_end(&mut message)?;
    Ok(if (read as u64) < bytes { Frame::End } else { Frame::Message(message) })
}

/// Writes a message.
pub(super) fn write(output: &mut impl Write, message: &[u8]) -> io::Result<()> {
    let head = format!("Content-Length: {}\r\n\r\n", message.len());
    output.write_all(&[head.as_bytes(), message].concat())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8], piece: usize) -> Vec<Frame> {
        let mut input = io::BufReader::with_capacity(piece, bytes);
        let mut frames = Vec::new();
        loop {
            match read(&mut input).unwrap() {
                Frame::End => return frames,
                frame => frames.push(frame),
            }
        }
    }

    #[test]
    fn messages_are_found_between_garbage_however_they_arrive() {
        let message = |text: &str| Frame::Message(text.as_bytes().to_vec());
        let bytes = b"Content-Length: 2\r\n\r\n{}content-length:3\nContent-Type: x\n\n[1]\xff\xfegarbage\r\n\r\n\r\nmoreContent-Length: 1\r\n\r\n7Content-Length: x\r\n\r\nContent-Length: 9\r\n\r\nshort";
        for piece in 1..40 {
            let frames = all(bytes, piece);
            assert_eq!(frames[..3], [message("{}"), message("[1]"), message("7")], "{piece}");
            assert!(matches!(&frames[3..], [Frame::Bad(said)] if said.contains("\"x\"")), "{piece}: {frames:?}");
        }
        let mut written = Vec::new();
        write(&mut written, b"{}").unwrap();
        assert_eq!(written, b"Content-Length: 2\r\n\r\n{}");
    }

    #[test]
    fn what_is_too_large_is_skipped() {
        let huge = MOST_BYTES + 1;
        let head = format!("Content-Length: {huge}\r\n\r\n");
        let rest = io::repeat(b'x').take(huge);
        let mut input = io::BufReader::new(head.as_bytes().chain(rest).chain(&b"Content-Length: 2\r\n\r\n{}"[..]));
        assert!(matches!(read(&mut input).unwrap(), Frame::Bad(said) if said.contains("the limit is")));
        assert_eq!(read(&mut input).unwrap(), Frame::Message(b"{}".to_vec()));
        // A header without an end does not fill the memory.
        let mut endless = io::BufReader::new(io::repeat(b'x').take(10 << 20));
        assert_eq!(read(&mut endless).unwrap(), Frame::End);
    }
}
