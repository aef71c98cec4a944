//! The target of a go-to-definition request, and the targets that were read before.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use syntax::Kind;

use crate::definition::Definition;

/// The target of a go-to-definition request.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// Relative to the root; absolute for a file outside.
    pub path: Arc<Path>,
    pub line: usize,
    pub at: usize,
    /// The declaration there; `None` for a module, a local variable, or a name that a macro defines.
    pub declares: Option<Definition>,
    /// The kind of a target without a declaration: a module, a macro, or unknown.
    pub stands: Kind,
    /// True if a parameter or a variable is bound there.
    pub is_bound: bool,
    /// True if the declaration refers to another one: an import, a prototype, an embedded field in Go.
    pub leads_on: bool,
}

impl Target {
    /// True if it is in no file of the project.
    pub(crate) fn is_outside(&self) -> bool {
        self.path.is_absolute()
    }
}

/// The targets that were read from texts. Reading one parses its file, which takes longer than the server's answer.
#[derive(Debug, Default)]
pub(crate) struct KnownTargets(Mutex<HashMap<TargetKey, Target>>);

/// A hash of the root, the path and the whole text of a file, the start of a name there, and the name that leads to it.
pub(crate) type TargetKey = (u64, usize, String);

/// The maximum number of stored targets; beyond it all are discarded.
const MOST: usize = 4096;

impl KnownTargets {
    pub(crate) fn get_or_read(&self, key: TargetKey, read: impl FnOnce() -> Option<Target>) -> Option<Target> {
        if let Some(known) = self.0.lock().get(&key) {
            return Some(known.clone());
        }
        let target = read()?;
        let mut known = self.0.lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(key, target.clone());
        Some(target)
    }
}
