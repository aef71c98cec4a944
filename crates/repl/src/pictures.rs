//! The pictures of an evaluation as content for a model.

use std::io::{self, Read};
use std::path::Path;

use mcp::tool::Content;

use crate::result::EvalResult;

/// The maximum size of a picture in bytes. A larger one is only named.
const BYTES_MAX: u64 = 3 * 1024 * 1024;

/// The first bytes of a PNG file (PNG specification, 5.2).
const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Returns a text, followed by the evaluation's pictures.
pub(crate) fn content(text: String, result: &EvalResult) -> Vec<Content> {
    let pictures = result.pictures.iter().filter_map(|path| read(Path::new(path)).ok());
    let pictures = pictures.filter(|bytes| bytes.starts_with(SIGNATURE) && bytes.len() as u64 <= BYTES_MAX);
    std::iter::once(Content::Text(text)).chain(pictures.map(|bytes| Content::image(bytes, "image/png"))).collect()
}

/// Reads one byte more than the limit at most.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    project::regular::open(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_readable_pictures_follow_the_text() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        write("dot.png", &[SIGNATURE, b"dot"].concat());
        write("text.png", b"text");
        write("huge.png", &[SIGNATURE, &vec![0; 3 << 20]].concat());
        let fifo = folder.path().join("fifo.png");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        let paths = ["text", "fifo", "absent", "dot", "huge"].map(|name| folder.path().join(format!("{name}.png")));
        let result: EvalResult = serde_json::from_value(json!({
            "session": "main", "eval": 1, "status": "done", "completion": "exact", "stdout": "", "stderr": "",
            "duration_ms": 1.0, "cursor": 0, "queue_depth": 0, "pictures": paths,
        }))
        .unwrap();
        let dot = Content::image([SIGNATURE, b"dot"].concat(), "image/png");
        assert_eq!(content("[done]".to_owned(), &result), [Content::Text("[done]".to_owned()), dot]);
    }
}
