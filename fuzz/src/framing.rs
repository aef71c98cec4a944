//! Framing: bytes are cut into lines, and lines are classified as messages.

use mcp::wire::{Envelope, Frame, Framer, Json, Message, TooLong, build};
use serde::de::IgnoredAny;

/// The longest line, short enough to be exceeded often.
const LIMIT: usize = 200;

/// However the input is cut, the framer yields the same lines and buffers no more than the limit; and the
/// classification of a line agrees with serde_json.
pub fn framing(data: &[u8]) {
    let pieces = super::pieces(data);
    let whole: Vec<u8> = pieces.iter().flat_map(|(_, piece)| piece).copied().collect();
    let mut framer = Framer::new(LIMIT);
    framer.push(&whole);
    let mut lines = Vec::new();
    while let Some(frame) = framer.next_frame() {
        lines.push(checked(&frame));
    }
    lines.extend(framer.finish().map(|frame| checked(&frame)));

    let mut framer = Framer::new(LIMIT);
    let mut again = Vec::new();
    for (_, piece) in &pieces {
        framer.push(piece);
        while let Some(frame) = framer.next_frame() {
            again.push(checked(&frame));
        }
        assert!(framer.pending() <= LIMIT, "{} bytes are kept", framer.pending());
    }
    again.extend(framer.finish().map(|frame| checked(&frame)));
    assert_eq!(lines, again, "cut otherwise");
}

/// Checks a line, and returns it for comparison.
fn checked(frame: &Frame<'_>) -> Vec<u8> {
    match frame {
        Frame::Line(line) => {
            check(line);
            line.to_vec()
        }
        Frame::TooLong(TooLong { bytes, id, method }) => {
            if let Some(id) = id {
                assert!(serde_json::from_str::<IgnoredAny>(id.as_json()).is_ok(), "an id that is no JSON: {id}");
            }
            format!("{bytes} {id:?} {method}").into_bytes()
        }
    }
}

fn check(line: &[u8]) {
    let text = std::str::from_utf8(line);
    let is_json = text.is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
    if let Ok(text) = text {
        assert_eq!(Json::check(text).is_some(), is_json, "{text:?}");
    }
    match Envelope::classify(line) {
        Err(_) => assert!(!is_json || has_half_a_pair(line), "{:?}", String::from_utf8_lossy(line)),
        Ok(message) => {
            assert!(is_json, "{:?}", String::from_utf8_lossy(line));
            if let Message::Request { id, params, .. } = message {
                let mut answer = Vec::new();
                build::result(&mut answer, &id, params.map_or("{}", Json::get));
                assert!(answer.ends_with(b"\n") && !answer[..answer.len() - 1].contains(&b'\n'));
                assert!(
                    serde_json::from_slice::<IgnoredAny>(&answer).is_ok(),
                    "{:?}",
                    String::from_utf8_lossy(&answer)
                );
            }
        }
    }
}

/// Whether the line may have half of a surrogate pair, which is JSON but not valid Unicode.
fn has_half_a_pair(line: &[u8]) -> bool {
    line.windows(3).any(|part| part[..2] == *b"\\u" && matches!(part[2], b'd' | b'D'))
}
