//! The token count of a text.

use tiktoken_rs::o200k_base_singleton;

/// Returns the number of tokens in the encoding `o200k_base`. Other models differ by a few per cent.
pub fn count(text: &str) -> usize {
    o200k_base_singleton().encode_ordinary(text).len()
}
