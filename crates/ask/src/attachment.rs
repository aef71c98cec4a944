//! Attachments of a question: texts and diffs, which are stored with it, and pictures. Pictures are copied when the question is
//! asked, so that later changes of the file have no effect.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use project::visible::cause;
use project::{private, regular, visible};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::form::LABEL_MAX;

/// The maximum number of attachments of a question. The next constants limit a text and a picture in bytes.
pub(crate) const ATTACHMENTS_MAX: usize = 3;
const TEXT_MAX: usize = 64 * 1024;
const PICTURE_MAX: u64 = 4 * 1024 * 1024;

/// The directory of the pictures, in the directory of the questions' file.
const FOLDER: &str = "ask-pictures";

/// An attachment in a tool's arguments.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct GivenAttachment {
    pub kind: AttachmentKind,
    #[serde(default)]
    pub label: String,
    /// Content of a text or a diff.
    #[serde(default)]
    pub text: String,
    /// Path of a picture (PNG, JPEG or WebP) in the worktree.
    #[serde(default)]
    pub path: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum AttachmentKind {
    Text,
    Diff,
    Picture,
}

/// An attachment of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    pub kind: AttachmentKind,
    pub label: String,
    /// The content of a text or a diff.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The file name of a picture's copy, which is derived from its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// An attachment, with the bytes of a picture that is not copied yet.
#[derive(Debug)]
pub(crate) struct Attached {
    pub attachment: Attachment,
    bytes: Vec<u8>,
}

/// Reads the attachments of an agent below its worktree. Blocks.
///
/// # Errors
/// An error text for the agent, if an attachment cannot be shown.
pub(crate) fn read(given: Vec<GivenAttachment>, worktree: &Path) -> Result<Vec<Attached>, String> {
    if given.len() > ATTACHMENTS_MAX {
        return Err(format!("too many attachments: {}; the limit is {ATTACHMENTS_MAX}", given.len()));
    }
    let named = |(at, given): (usize, GivenAttachment)| {
        read_one(given, worktree).map_err(|why| format!("attachment {}: {why}", at + 1))
    };
    given.into_iter().enumerate().map(named).collect()
}

fn read_one(given: GivenAttachment, worktree: &Path) -> Result<Attached, String> {
    let GivenAttachment { kind, label, text, path } = given;
    if label.chars().count() > LABEL_MAX {
        return Err(format!("a label has at most {LABEL_MAX} characters"));
    }
    if kind != AttachmentKind::Picture {
        if !path.is_empty() || text.trim().is_empty() {
            return Err("a text or a diff must be in `text`, without `path`".to_owned());
        }
        if text.len() > TEXT_MAX {
            return Err(format!("it is too large: {} bytes; the limit is {TEXT_MAX}", text.len()));
        }
        return Ok(Attached { attachment: Attachment { kind, label, text, file: None }, bytes: Vec::new() });
    }
    if path.is_empty() || !text.is_empty() {
        return Err("a picture must be in `path`, without `text`".to_owned());
    }
    let failed = |error: std::io::Error| format!("cannot read {}: {}", visible(&path), cause(&error));
    let root = worktree.canonicalize().map_err(failed)?;
    let whole = root.join(&path).canonicalize().map_err(failed)?;
    if !whole.starts_with(&root) {
        return Err(format!("{} is not in the worktree", visible(&path)));
    }
    let mut bytes = Vec::new();
    regular::open(&whole).and_then(|file| file.take(PICTURE_MAX + 1).read_to_end(&mut bytes)).map_err(failed)?;
    if bytes.len() as u64 > PICTURE_MAX {
        return Err(format!("{} exceeds the limit of 4 MiB", visible(&path)));
    }
    let Some(ending) = ending(&bytes) else {
        return Err(format!("{} is not a PNG, JPEG or WebP", visible(&path)));
    };
    let file = Some(format!("{}.{ending}", hex::encode(&Sha256::digest(&bytes)[..12])));
    let label = if label.is_empty() { path } else { label };
    Ok(Attached { attachment: Attachment { kind, label, text, file }, bytes })
}

/// Returns the picture format according to the first bytes.
fn ending(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("png"),
        [0xff, 0xd8, 0xff, ..] => Some("jpg"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("webp"),
        _ => None,
    }
}

/// Returns the path of a picture's copy, next to the file of the questions.
pub(crate) fn copy_of(store: &Path, file: &str) -> std::path::PathBuf {
    store.with_file_name(FOLDER).join(file)
}

/// Copies the pictures and flushes them to disk. Blocks.
pub(crate) fn keep(store: &Path, read: &[Attached]) -> std::io::Result<()> {
    for read in read {
        let Some(file) = &read.attachment.file else { continue };
        let copy = copy_of(store, file);
        if private::read(&copy, PICTURE_MAX).ok().flatten().as_deref() != Some(&read.bytes) {
            private::replace(&copy, &read.bytes)?;
        }
    }
    Ok(())
}

/// Deletes the copies that no question uses. Blocks.
pub(crate) fn forget(store: &Path, is_used: impl Fn(&str) -> bool) {
    let Ok(entries) = fs::read_dir(store.with_file_name(FOLDER)) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_str().is_some_and(&is_used)
            && let Err(error) = fs::remove_file(entry.path())
        {
            tracing::info!(%error, picture = ?entry.path(), "a picture of a former question stays");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use std::os::unix::fs::symlink;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\nand so on";

    fn attachment(kind: AttachmentKind, text: &str, path: &str) -> GivenAttachment {
        GivenAttachment { kind, label: String::new(), text: text.to_owned(), path: path.to_owned() }
    }

    #[test]
    fn invalid_attachments_report_the_reason() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("tree");
        fs::create_dir(&root).unwrap();
        fs::write(temp.path().join("secret.png"), PNG).unwrap();
        fs::write(root.join("a.gif"), "GIF89a").unwrap();
        fs::write(root.join("huge.png"), [PNG, &vec![0; 4 << 20]].concat()).unwrap();
        symlink("../secret.png", root.join("link.png")).unwrap();
        use AttachmentKind::{Diff, Picture, Text};
        let wrong = [
            vec![attachment(Text, "", "")],
            vec![attachment(Diff, "-a\n+b", "a.diff")],
            vec![attachment(Text, &"x".repeat(70_000), "")],
            vec![attachment(Picture, "", "absent.png")],
            vec![attachment(Picture, "", "../secret.png")],
            vec![attachment(Picture, "", "link.png")],
            vec![attachment(Picture, "", "a.gif")],
            vec![attachment(Picture, "", "huge.png")],
            vec![attachment(Picture, "", ".")],
            vec![attachment(Text, "x", ""); 4],
        ];
        let why: Vec<String> = wrong.into_iter().map(|given| read(given, &root).unwrap_err()).collect();
        expect![[r#"
            attachment 1: a text or a diff must be in `text`, without `path`
            attachment 1: a text or a diff must be in `text`, without `path`
            attachment 1: it is too large: 70000 bytes; the limit is 65536
            attachment 1: cannot read absent.png: No such file or directory
            attachment 1: ../secret.png is not in the worktree
            attachment 1: link.png is not in the worktree
            attachment 1: a.gif is not a PNG, JPEG or WebP
            attachment 1: huge.png exceeds the limit of 4 MiB
            attachment 1: cannot read .: it is not a regular file
            too many attachments: 4; the limit is 3"#]]
        .assert_eq(&why.join("\n"));
    }

    #[test]
    fn a_picture_is_kept_as_it_was_while_a_question_has_it() {
        let temp = tempfile::tempdir().unwrap();
        let store = temp.path().join("ask.db");
        fs::write(temp.path().join("shot.png"), PNG).unwrap();
        let read = read(vec![attachment(AttachmentKind::Picture, "", "shot.png")], temp.path()).unwrap();
        keep(&store, &read).unwrap();
        fs::write(temp.path().join("shot.png"), "another").unwrap();
        let file = read[0].attachment.file.clone().unwrap();
        assert_eq!(fs::read(copy_of(&store, &file)).unwrap(), PNG);
        forget(&store, |name| name == file);
        assert!(copy_of(&store, &file).exists());
        forget(&store, |_| false);
        assert!(!copy_of(&store, &file).exists());
    }
}
