//! Directories for the temporary files of a server, one per life. A killed server would leave such files behind: clangd
//! preambles, rust-analyzer copies of macros, gopls build folders.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use process::Nonce;

/// Temporary directory of one life.
pub(super) struct Scratch(PathBuf);

/// Parent of all such directories, in the directory of all servers.
const ALL: &str = "tmp";
/// Number of digits of the session's nonce in the directory name. Socket paths must be short.
const DIGITS: usize = 8;

impl Scratch {
    /// Creates the directory of a session.
    pub(super) fn make(servers: &Path, nonce: &Nonce) -> io::Result<Scratch> {
        let path = servers.join(ALL).join(&nonce.as_str()[..DIGITS]);
        DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        Ok(Scratch(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Removes the directory after the session has ended.
    pub(super) async fn remove(self) {
        let path = self.0;
        // A directory that cannot be removed now is removed when the next daemon starts.
        let _ = tokio::task::spawn_blocking(move || remove(&path)).await;
    }
}

/// Removes the directories of earlier sessions, except those with a record in `records`. Called at the start of a
/// daemon, after [`process::records::sweep`]. Blocks.
pub fn sweep_scratch(servers: &Path, records: &Path) {
    let names = |directory: &Path| {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect::<Vec<String>>()
    };
    let running = names(records);
    for name in names(&servers.join(ALL)) {
        if !running.iter().any(|record| record.starts_with(&name)) {
            remove(&servers.join(ALL).join(&name));
        }
    }
}

fn remove(path: &Path) {
    if let Err(error) = std::fs::remove_dir_all(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "the temporary files of a language server are not removed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_of_former_lives_go_and_those_of_running_sessions_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (servers, records) = (folder.path().join("servers"), folder.path().join("records"));
        std::fs::create_dir_all(&records).unwrap();
        let (gone, running) = (Nonce::random(), Nonce::random());
        let [gone, running] = [gone, running].map(|nonce| {
            std::fs::write(records.join(format!("{nonce}.json")), "{}").unwrap();
            let scratch = Scratch::make(&servers, &nonce).unwrap();
            std::fs::write(scratch.path().join("preamble-1.pch"), "x").unwrap();
            (records.join(format!("{nonce}.json")), scratch)
        });
        std::fs::remove_file(gone.0).unwrap();
        sweep_scratch(&servers, &records);
        assert!(!gone.1.path().exists() && running.1.path().exists());
        // A missing directory is not an error.
        sweep_scratch(&folder.path().join("none"), &records);
    }
}
