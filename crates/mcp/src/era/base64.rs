//! Base64 as the protocol writes bytes in JSON: the standard alphabet, padded (RFC 4648, section 4).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Appends these bytes, encoded and padded.
pub(crate) fn push(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(STANDARD.encode(bytes).as_bytes());
}

/// These bytes, encoded and padded.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes text. Only the canonical form is accepted: its padding whole, its unused bits zero.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
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
