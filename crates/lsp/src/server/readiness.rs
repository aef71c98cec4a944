//! Readiness probes: definitions with uses that are certain. A server that does not name all of these uses has not read the whole
//! project.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;

use super::{Canary, Document};
use crate::{Client, Encoding, Location, Positions, locations, of_path};

/// A definition whose uses are certain.
#[derive(Debug, Clone)]
pub struct Probe {
    pub name: String,
    /// The definition's document, then the documents of the uses.
    pub documents: Vec<Document>,
    /// Offset of the definition's name.
    pub at: usize,
    /// The uses: index of the document, and offset.
    pub uses: Vec<(usize, usize)>,
}

#[derive(Debug, Default)]
pub struct Chosen {
    /// Empty if no use is certain.
    pub probes: Vec<Probe>,
    /// Any document to open, for servers that load nothing before the first one (clangd).
    pub any: Option<Document>,
}

/// Asks the server for the uses of the probes.
pub(super) async fn ask(client: &Client, encoding: Encoding, probes: &[Probe], within: Duration) -> Canary {
    for probe in probes {
        let Some(document) = probe.documents.first() else { continue };
        let at = Positions::new(&document.text, encoding).at(probe.at);
        let params = json!({
            "textDocument": {"uri": of_path(&document.path)},
            "position": at,
            "context": {"includeDeclaration": false},
        });
        let answer = match client.request("textDocument/references", &params, within).await {
            Ok(answer) => locations(answer).unwrap_or_default(),
            Err(problem) => return Canary::Lacks(format!("an answer for {}: {problem}", probe.name)),
        };
        for (number, offset) in &probe.uses {
            let document = &probe.documents[*number];
            let positions = Positions::new(&document.text, encoding);
            let is_there =
                |place: &Location| place.path == document.path && positions.offset(place.range.start) == Some(*offset);
            if !answer.iter().any(is_there) {
                let file = document.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                return Canary::Lacks(format!("a use of {} in {}", probe.name, project::visible(&file)));
            }
        }
    }
    agrees(probes)
}

/// Returns agreement, with the names of the probes. A C function that is declared and defined in two files is listed once.
fn agrees(probes: &[Probe]) -> Canary {
    let names: BTreeSet<&String> = probes.iter().map(|probe| &probe.name).collect();
    Canary::Agrees(names.into_iter().cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_said_once() {
        let probe = |name: &str| Probe { name: name.to_owned(), documents: Vec::new(), at: 0, uses: Vec::new() };
        let probes = [probe("surface"), probe("twin"), probe("surface")];
        assert_eq!(agrees(&probes).describe(), "agrees: surface, twin");
    }
}
