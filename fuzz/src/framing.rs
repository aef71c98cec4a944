//! Bytes into lines, and lines into messages.

use mcp::wire::{Envelope, Frame, Framer, Json, Message, TooLong, build};
use serde::de::IgnoredAny;

/// The longest line, short enough to be passed often.
const LIMIT: usize = 200;

/// However the input is cut, the same lines come out, nothing beyond the limit is kept, and what a line is said to be
/// agrees with what serde_json says of it.
pub fn framing(data: &[u8]) {
    let pieces = super::pieces(data);
    let whole: Vec<u8> = pieces.iter().flat_map(|(_, piece)| piece).copied().collect();
    let mut framer = Framer::new(LIMIT);
    framer.push(&whole);
    let mut lines = Vec::new();
    while let Some(frame) = framer.next_frame() {
        lines.push(shown(&frame));
    }
    lines.extend(framer.finish().map(|frame| shown(&frame)));

    let mut framer = Framer::new(LIMIT);
    let mut again = Vec::new();
    for (_, piece) in &pieces {
        framer.push(piece);
        while let Some(frame) = framer.next_frame() {
            again.push(shown(&frame));
        }
        assert!(framer.pending() <= LIMIT, "{} bytes are kept", framer.pending());
    }
    again.extend(framer.finish().map(|frame| shown(&frame)));
    assert_eq!(lines, again, "cut otherwise");
}

/// The line, judged.
fn shown(frame: &Frame<'_>) -> Vec<u8> {
    match frame {
        Frame::Line(line) => {
            judge(line);
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

fn judge(line: &[u8]) {
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
                assert!(serde_json::from_slice::<IgnoredAny>(&answer).is_ok(), "{:?}", String::from_utf8_lossy(&answer));
            }
        }
    }
}

/// A name may be JSON and yet no text.
fn has_half_a_pair(line: &[u8]) -> bool {
    line.windows(3).any(|part| part[..2] == *b"\\u" && matches!(part[2], b'd' | b'D'))
}
