//! A minimal HTTP/1.1 server for agents: one request per connection, with a length or in chunks, of limited size.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::patience;

/// Limit in bytes for the request line with all headers, and for one chunk's line.
const HEAD: u64 = 256 * 1024;
/// Limit in bytes for a request's body. Agents send their whole conversation each time.
const BODY: u64 = 64 * 1024 * 1024;

pub(super) struct Incoming {
    pub(super) method: String,
    /// Includes the query.
    pub(super) path: String,
    pub(super) body: Vec<u8>,
}

pub(super) struct Response {
    status: u16,
    content_type: &'static str,
    body: String,
}

impl Response {
    pub(super) fn json(body: &Value) -> Self {
        Self { status: 200, content_type: "application/json", body: body.to_string() }
    }

    /// A stream of events; the body contains them as they are sent.
    pub(super) fn events(body: String) -> Self {
        Self { status: 200, content_type: "text/event-stream", body }
    }

    /// Returns an error in the form that every provider's SDK parses.
    pub(super) fn error(status: u16, message: &str) -> Self {
        let body = json!({ "type": "error", "error": { "type": "invalid_request_error", "code": status, "message": message } });
        Self { status, content_type: "application/json", body: body.to_string() }
    }
}

/// Reads one request, answers it and closes the connection.
pub(super) fn exchange(stream: &TcpStream, answer: impl FnOnce(Incoming) -> Response) -> io::Result<()> {
    stream.set_read_timeout(Some(patience()))?;
    stream.set_write_timeout(Some(patience()))?;
    let mut is_head = false;
    let response = match read(stream) {
        Ok(incoming) => {
            is_head = incoming.method == "HEAD";
            answer(incoming)
        }
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Response::error(400, &error.to_string()),
        Err(error) => return Err(error),
    };
    let reason = if response.status == 200 { "OK" } else { "Refused" };
    let mut text = format!(
        "HTTP/1.1 {} {reason}\r\ncontent-type: {}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        response.status,
        response.content_type,
        response.body.len(),
    );
    if !is_head {
        text.push_str(&response.body);
    }
    (&*stream).write_all(text.as_bytes())
}

fn read(stream: &TcpStream) -> io::Result<Incoming> {
    let mut reader = BufReader::new(stream);
    let mut left = HEAD;
    let first = line(&mut reader, &mut left)?;
    let mut words = first.split(' ');
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Err(invalid("no request line")) };
    let (mut length, mut is_chunked, mut waits) = (0, false, false);
    loop {
        let header = line(&mut reader, &mut left)?;
        if header.is_empty() {
            break;
        }
        let Some((name, value)) = header.split_once(':') else { return Err(invalid("a header without a colon")) };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().map_err(|_| invalid("content-length is no number"))?,
            "transfer-encoding" => is_chunked = value.eq_ignore_ascii_case("chunked"),
            "expect" => waits = value.eq_ignore_ascii_case("100-continue"),
            "content-encoding" if value != "identity" => return Err(invalid("the body is compressed")),
            _ => {}
        }
    }
    if waits {
        (&*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let mut body = Vec::new();
    if is_chunked {
        while let size @ 1.. = chunk_size(&line(&mut reader, &mut HEAD.clone())?)? {
            append(&mut reader, &mut body, size)?;
            line(&mut reader, &mut HEAD.clone())?;
        }
    } else {
        append(&mut reader, &mut body, length)?;
    }
    Ok(Incoming { method: method.to_owned(), path: path.to_owned(), body })
}

fn chunk_size(line: &str) -> io::Result<u64> {
    let digits = line.split(';').next().unwrap_or_default().trim();
    u64::from_str_radix(digits, 16).map_err(|_| invalid("a chunk's size is no number"))
}

fn append(reader: &mut impl Read, body: &mut Vec<u8>, size: u64) -> io::Result<()> {
    if size > BODY.saturating_sub(body.len() as u64) {
        return Err(invalid("the body has more than 64 MiB"));
    }
    let count = reader.take(size).read_to_end(body)?;
    if count as u64 == size { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Returns the next line without its line end; `left` is the number of bytes that the rest of the head may have.
fn line(reader: &mut impl BufRead, left: &mut u64) -> io::Result<String> {
    let mut line = Vec::new();
    *left -= reader.take(*left).read_until(b'\n', &mut line)? as u64;
    if line.pop() != Some(b'\n') {
        return Err(if *left == 0 {
            invalid("the head has more than 256 KiB")
        } else {
            io::ErrorKind::UnexpectedEof.into()
        });
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).map_err(|_| invalid("the head is no UTF-8"))
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
