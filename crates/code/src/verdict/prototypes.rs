//! Prototypes of C and C++, the functions that they declare, and which of several linked functions is used.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syntax::{C_AND_CPP, Class, Kind, Language, family};

use crate::answer::{Candidates, Site};
use crate::definition::Definition;
use crate::inquiry::{Inquiry, Spot};

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

impl Inquiry<'_> {
    /// Requests the functions of C and C++ prototypes among the definitions.
    pub(super) async fn prototypes(&mut self) -> Prototypes {
        let has_index = has_compile_commands(self.sheets.root());
        let mut bodies = BTreeMap::new();
        for (number, one) in self.found.definitions.iter().enumerate() {
            let text = self.found.text_before(&one.path, one.at);
            let statement = text.rsplit(|byte| b";}\n".contains(byte)).next().unwrap_or_default();
            let is_extern = one.kind == Kind::Variable && statement.trim_ascii().starts_with(b"extern");
            if family(one.language) == C_AND_CPP && (one.is_signature || is_extern) {
                let own = Spot::at(self.sheets.path(&one.path), one.at);
                let all = self.defined(&own).await.unwrap_or_default();
                bodies.extend(all.into_iter().map(|body| ((body.path, body.start), number)));
            }
        }
        Prototypes { has_index, bodies }
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
