//! Reads files of a project. Anything may be in their place: a pipe without a writer, an endless device, a link to
//! either. Only regular files are read, up to a maximum length.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a file for reading, without waiting for a writer.
///
/// # Errors
/// If it is absent, not a regular file, or unreadable.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file: File = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

/// Returns the text of a file of at most `most` bytes. Does not wait for a writer.
///
/// # Errors
/// If it is absent, not a regular file, too long, not UTF-8, or unreadable.
pub fn read(path: &Path, most: u64) -> io::Result<String> {
    text(open(path)?, most)
}

/// Returns the text of an open file of at most `most` bytes.
///
/// # Errors
/// If it is too long, not UTF-8, or unreadable.
pub fn text(file: File, most: u64) -> io::Result<String> {
    // The reported length of a file below /proc is unreliable; it is only a capacity hint.
    let room = file.metadata().map_or(0, |metadata| metadata.len().min(most)) + 1;
    let mut bytes = Vec::with_capacity(usize::try_from(room).unwrap_or_default());
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than {most} bytes")));
    }
    let no_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not valid UTF-8; save it as UTF-8");
    String::from_utf8(bytes).map_err(no_text)
}

/// Returns true if the error means that the file does not exist.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn regular_files_of_bounded_length_only() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        std::fs::write(at("text"), "twelve bytes").unwrap();
        symlink(at("text"), at("link")).unwrap();
        assert_eq!(read(&at("link"), 12).unwrap(), "twelve bytes");
        assert_eq!(read(&at("text"), 11).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        symlink("/proc/self/pagemap", at("pages")).unwrap();
        for name in ["pipe", "zero", ".", "pages"] {
            read(&at(name), 1000).unwrap_err();
        }
        // The error for a file that is too long is not about the character that the limit cuts.
        std::fs::write(at("umlauts"), "ää").unwrap();
        assert_eq!(read(&at("umlauts"), 2).unwrap_err().to_string(), "it is longer than 2 bytes");
        std::fs::write(at("latin"), b"a\xe4").unwrap();
        assert_eq!(read(&at("latin"), 2).unwrap_err().to_string(), "it is not valid UTF-8; save it as UTF-8");
        assert_eq!(read(&at("absent"), 1).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
