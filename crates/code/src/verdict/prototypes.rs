//! Prototypes of C and C++, the functions that they declare, and which of several linked functions is used.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::answer::{Candidates, Site};
use crate::definition::Definition;
use crate::inquiry::Spot;
use crate::syntax::{Class, Kind, Language};

/// True if clangd has an index of the project.
pub(super) fn has_compile_commands(root: &Path) -> bool {
    ["", "build"].iter().any(|folder| root.join(folder).join("compile_commands.json").exists())
}

pub(super) struct Prototypes {
    has_index: bool,
    /// The functions declared by prototypes among the definitions, with the index of the definition.
    bodies: BTreeMap<(PathBuf, usize), usize>,
}

impl Prototypes {
    pub(super) fn new(root: &Path) -> Prototypes {
        Prototypes { has_index: has_compile_commands(root), bodies: BTreeMap::new() }
    }

    pub(super) fn add_body(&mut self, body: &Spot, number: usize) {
        self.bodies.insert((body.path.clone(), body.start), number);
    }

    /// Returns the index of the definition that is a prototype of the function at a spot.
    pub(super) fn announced(&self, spot: &Spot) -> Option<usize> {
        self.bodies.get(&(spot.path.clone(), spot.start)).copied()
    }

    /// True if a prototype may declare one of the definitions: both are in the same class or namespace. clangd cannot tell
    /// without an index.
    pub(super) fn may_announce(&self, found: &Candidates, prototype: &Site) -> bool {
        let around = prototype.enclosing.rsplit("::").next().filter(|around| !around.is_empty());
        let mut ours = found.definitions.iter().filter(|one| !is_static(found, &one.path, one.at));
        !self.has_index
            && ours.any(|one| match (around, one.inside.last()) {
                (Some(around), Some(names)) => names.iter().any(|name| name == around),
                (around, names) => around.is_none() && names.is_none(),
            })
    }
}

/// True if a C function and one of the definitions are alternatives for the same linker symbol.
pub(super) fn is_linked_alternative(found: &Candidates, other: &Site) -> bool {
    let is_external = |path: &Path, at: usize| !is_static(found, path, at);
    let is_alternative = |one: &Definition| {
        (one.language, one.kind) == (Language::C, Kind::Function)
            && one.path != other.path
            && is_external(&one.path, one.at)
    };
    let is_function = other.language == Language::C && other.class == Class::Binding && other.enclosing.is_empty();
    is_function && is_external(&other.path, other.at) && found.definitions.iter().any(is_alternative)
}

/// True if a C function is `static` and thus private to its file.
fn is_static(found: &Candidates, path: &Path, at: usize) -> bool {
    let before = found.text_before(path, at);
    let start = before.iter().rposition(|byte| b";}#".contains(byte)).map_or(0, |at| at + 1);
    memchr::memmem::find(&before[start..], b"static").is_some()
}
