//! macOS: no sandbox. A program that asks for one is refused. Type-checked only: it has never run.

use std::io;

use super::Sandbox;

/// The restrictions that the kernel can enforce: none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Support;

impl Support {
    /// Reports that the sandbox is unavailable.
    pub fn ask() -> Support {
        Support
    }

    /// Returns false: nothing can be enforced.
    pub fn is_any(self) -> bool {
        false
    }

    /// Returns what cannot be enforced, as clauses.
    pub fn gaps(self) -> Vec<&'static str> {
        vec!["it is not available on macOS"]
    }

    /// Returns 0, because macOS has no Landlock.
    pub fn abi(self) -> u32 {
        0
    }
}

/// A sandbox that is ready to be applied in a child. None exists.
#[derive(Debug)]
pub(crate) enum Rules {}

impl Sandbox {
    pub(crate) fn rules(&self) -> io::Result<Option<Rules>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "the sandbox is not available on macOS"))
    }
}

impl Rules {
    /// Never called.
    pub(crate) fn apply(&self) -> io::Result<()> {
        match *self {}
    }
}
