//! The model of the offline engine: a GGUF file with one layer, whose logits are a fixed preference for any prompt. Under a
//! schema it always outputs the shortest value that the decoder allows. Without a schema it outputs nothing.
//!
//! All embeddings are the same vector and all layers are zero, so that the logits are those of the output matrix.

/// The vector length, and the number of heads.
const WIDTH: u32 = 32;
const HEADS: u32 = 4;
const CONTEXT: u32 = 8192;
/// The characters by preference, the most preferred first. The end of the text precedes them all.
const PREFERRED: &str = "\"}],1e:{[truefalsn";
const TEMPLATE: &str = "{% for m in messages %}<{{m.role}}>{{m.content}}\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

/// The SHA-256 of the file.
pub const SHA256: &str = "e8301502e8f0cf64e0f925f7fecd56e848a1c8c81f4d40372c5fc9caea4a78ae";

/// Returns the bytes of the file.
pub fn gguf() -> Vec<u8> {
    let tokens = tokens();
    let metadata = metadata(&tokens);
    let (mut info, mut data) = (Vec::new(), Vec::new());
    let tensors = tensors(&tokens);
    for (name, shape, values) in &tensors {
        text(&mut info, name);
        info.extend(u32_of(shape.len()).to_le_bytes());
        shape.iter().for_each(|length| info.extend(u64::from(*length).to_le_bytes()));
        // 32-bit floats.
        info.extend(0_u32.to_le_bytes());
        info.extend((data.len() as u64).to_le_bytes());
        values.iter().for_each(|value| data.extend(value.to_le_bytes()));
        pad(&mut data);
    }
    let mut file = b"GGUF".to_vec();
    file.extend(3_u32.to_le_bytes());
    file.extend((tensors.len() as u64).to_le_bytes());
    file.extend(metadata.0.to_le_bytes());
    file.extend(metadata.1);
    file.extend(info);
    pad(&mut file);
    file.extend(data);
    file
}

/// Returns the tokens: three of the engine's, every byte, a space and every printable character.
fn tokens() -> Vec<String> {
    let mut tokens: Vec<String> = ["<unk>", "<s>", "</s>"].map(str::to_owned).into();
    tokens.extend((0..=255).map(|byte: u8| format!("<0x{byte:02X}>")));
    tokens.push('\u{2581}'.to_string());
    tokens.extend((33..127_u8).map(|byte| char::from(byte).to_string()));
    tokens
}

fn logits(tokens: &[String]) -> Vec<f32> {
    let mut logits = vec![-20.0; tokens.len()];
    // The end of the text, wherever the schema allows it.
    logits[2] = 30.0;
    // For a repeated character, the last position counts.
    for (place, preferred) in PREFERRED.chars().enumerate() {
        if let Some(at) = tokens.iter().position(|token| token.chars().eq([preferred])) {
            logits[at] = 20.0 - place as f32 / 2.0;
        }
    }
    logits
}

type Tensor = (String, Vec<u32>, Vec<f32>);

fn tensors(tokens: &[String]) -> Vec<Tensor> {
    let count = u32_of(tokens.len());
    let filled = |name: &str, shape: &[u32], value: f32| {
        let length: u32 = shape.iter().product();
        (name.to_owned(), shape.to_vec(), vec![value; length as usize])
    };
    let output = logits(tokens).into_iter().flat_map(|logit| vec![logit / WIDTH as f32; WIDTH as usize]);
    let mut tensors = vec![
        filled("token_embd.weight", &[WIDTH, count], 1.0),
        filled("output_norm.weight", &[WIDTH], 1.0),
        ("output.weight".to_owned(), vec![WIDTH, count], output.collect()),
        filled("blk.0.attn_norm.weight", &[WIDTH], 1.0),
        filled("blk.0.ffn_norm.weight", &[WIDTH], 1.0),
    ];
    for name in ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"] {
        tensors.push(filled(&format!("blk.0.{name}.weight"), &[WIDTH, WIDTH], 0.0));
    }
    tensors
}

/// Returns the number of entries, and their bytes.
fn metadata(tokens: &[String]) -> (u64, Vec<u8>) {
    let mut entries = Entries::default();
    entries.text("general.architecture", "llama");
    entries.text("general.name", "fixed-preference");
    entries.number("llama.context_length", CONTEXT);
    entries.number("llama.embedding_length", WIDTH);
    entries.number("llama.block_count", 1);
    entries.number("llama.feed_forward_length", WIDTH);
    entries.number("llama.attention.head_count", HEADS);
    entries.number("llama.attention.head_count_kv", HEADS);
    entries.number("llama.rope.dimension_count", WIDTH / HEADS);
    entries.entry("llama.attention.layer_norm_rms_epsilon", 6, &1e-5_f32.to_le_bytes());
    entries.number("llama.vocab_size", u32_of(tokens.len()));
    entries.text("tokenizer.ggml.model", "llama");
    entries.array(
        "tokenizer.ggml.tokens",
        8,
        tokens.iter().map(|token| {
            let mut bytes = Vec::new();
            text(&mut bytes, token);
            bytes
        }),
    );
    let scores = (0..tokens.len()).map(|place| (-(place as f32)).to_le_bytes().to_vec());
    entries.array("tokenizer.ggml.scores", 6, scores);
    // Token types: unknown, two control tokens, bytes, and normal ones.
    let kinds = [2, 3, 3].into_iter().chain([6; 256]).chain([1; 95]);
    entries.array("tokenizer.ggml.token_type", 5, kinds.map(|kind: i32| kind.to_le_bytes().to_vec()));
    entries.number("tokenizer.ggml.bos_token_id", 1);
    entries.number("tokenizer.ggml.eos_token_id", 2);
    entries.number("tokenizer.ggml.unknown_token_id", 0);
    entries.text("tokenizer.chat_template", TEMPLATE);
    (entries.count, entries.bytes)
}

#[derive(Default)]
struct Entries {
    count: u64,
    bytes: Vec<u8>,
}

impl Entries {
    fn entry(&mut self, key: &str, kind: u32, value: &[u8]) {
        self.count += 1;
        text(&mut self.bytes, key);
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend(value);
    }

    fn number(&mut self, key: &str, value: u32) {
        self.entry(key, 4, &value.to_le_bytes());
    }

    fn text(&mut self, key: &str, value: &str) {
        let mut bytes = Vec::new();
        text(&mut bytes, value);
        self.entry(key, 8, &bytes);
    }

    fn array(&mut self, key: &str, kind: u32, items: impl Iterator<Item = Vec<u8>>) {
        let items: Vec<Vec<u8>> = items.collect();
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend((items.len() as u64).to_le_bytes());
        bytes.extend(items.concat());
        self.entry(key, 9, &bytes);
    }
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

/// Pads to the next multiple of 32.
fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(32), 0);
}

fn u32_of(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_file_is_always_the_same() {
        let file = gguf();
        assert_eq!(file.len(), 128_640);
        assert_eq!(hex::encode(Sha256::digest(&file)), SHA256);
    }
}
