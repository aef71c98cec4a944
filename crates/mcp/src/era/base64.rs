//! Base64 (RFC 4648, section 4), as the protocol writes bytes in JSON.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends these bytes, encoded and padded.
pub(crate) fn push(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * place)) as usize & 63];
            out.push(if place <= chunk.len() { digit } else { b'=' });
        }
    }
}

/// These bytes, encoded and padded.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    push(&mut out, bytes);
    String::from_utf8(out).unwrap_or_default()
}

/// The bytes that are written like this and in no other way.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in text.trim_end_matches('=').as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for byte in chunk {
            bits = bits << 6 | u32::try_from(ALPHABET.iter().position(|digit| digit == byte)?).ok()?;
        }
        bits <<= 6 * (4 - chunk.len());
        bytes.extend_from_slice(bits.to_be_bytes().get(1..chunk.len())?);
    }
    // Whatever differs in padding or in unused bits is not what was written.
    (encode(&bytes) == text).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        // RFC 4648, section 10.
        let vectors = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (length, encoded) in vectors.into_iter().enumerate() {
            let bytes = &b"foobar"[..length];
            assert_eq!(encode(bytes), encoded);
            assert_eq!(decode(encoded).as_deref(), Some(bytes));
        }
        assert_eq!(encode(&[0xfb, 0xff, 0xfe]), "+//+");
        for wrong in ["Z", "Zg", "Zg=", "Zh==", "Zg==Zg==", "Z g=", "====", "Zm9v="] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
