//! What a text costs a model.

use tiktoken_rs::o200k_base_singleton;

/// The tokens of a text, by the encoding `o200k_base`. Those of other models differ by some per cent.
pub fn count(text: &str) -> usize {
    o200k_base_singleton().encode_ordinary(text).len()
}
