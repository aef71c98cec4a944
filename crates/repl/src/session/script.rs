//! Files for code that is too long for a pipe, and for the input of code: at most one at a time, private to the user,
//! removed when the evaluation has ended.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use crate::adapter::{Adapter, SCRIPT_PATH};

/// The path for a session's script.
#[derive(Debug)]
pub(super) struct Scripts {
    path: PathBuf,
    written: bool,
}

impl Scripts {
    /// `name` must be unguessable and unique.
    pub(super) fn new(name: &str) -> Scripts {
        Scripts { path: project::temporary().join(format!("hob-{name}.script")), written: false }
    }

    /// Writes the script, if there is one, and inserts its path into the code.
    pub(super) fn write_script(
        &mut self,
        bytes: Vec<u8>,
        script: Option<Vec<u8>>,
        adapter: &dyn Adapter,
    ) -> io::Result<Vec<u8>> {
        self.clear();
        let Some(script) = script else { return Ok(bytes) };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.path)?;
        self.written = true;
        file.write_all(&script)?;
        let code = String::from_utf8_lossy(&bytes);
        // The code itself may contain the placeholder, too.
        Ok(code.replacen(SCRIPT_PATH, &adapter.path_word(&self.path.to_string_lossy()), 1).into_bytes())
    }

    /// Removes the file. A program that has it open can still read it.
    pub(super) fn clear(&mut self) {
        if self.written {
            self.written = false;
            if let Err(error) = std::fs::remove_file(&self.path) {
                tracing::warn!(path = %self.path.display(), %error, "remove a session's script");
            }
        }
    }
}

impl Drop for Scripts {
    fn drop(&mut self) {
        self.clear();
    }
}
