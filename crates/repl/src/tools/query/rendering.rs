//! Renders the short form of an answer: GHCi's own text, if it is short.

use super::Output;
use crate::query::{Completions, Hole, Instance, Location};

pub(super) fn text(output: &Output) -> String {
    let mut lines: Vec<String> = Vec::new();
    if let Some(type_) = &output.type_ {
        lines.push(format!("{} :: {type_}", output.target));
    }
    lines.extend(output.normal_form.iter().map(|normal| format!("= {normal}")));
    let declared = |entry: &Instance| match &entry.defined {
        Some(defined) => format!("{}  -- {defined}", entry.declaration),
        None => entry.declaration.clone(),
    };
    if let Some(info) = &output.info {
        lines.extend(info.declarations.iter().chain(&info.instances).map(declared));
        lines.extend(info.fixity.clone());
    }
    lines.extend(output.doc.clone());
    lines.extend(output.items.iter().flatten().map(|item| item.declaration.clone()));
    if let Some(instances) = &output.instances {
        if instances.is_empty() {
            lines.push(format!("{} has no instances in scope.", output.target))
        } else {
            lines.extend(instances.iter().map(declared))
        }
    }
    if let Some(completions) = &output.completions {
        let Completions { prefix, total, candidates } = completions;
        lines.push(match *total {
            0 => format!("Nothing completes {:?}.", output.target),
            _ => candidates.iter().map(|word| format!("{prefix}{word}")).collect::<Vec<_>>().join(" "),
        });
        if *total > candidates.len() {
            lines.push(format!("[{} of {total}]", candidates.len()));
        }
    }
    lines.extend(output.locations.iter().flatten().map(Location::text));
    if let Some(holes) = &output.holes {
        if holes.is_empty() {
            lines.push(format!("No holes in {}.", output.target));
        }
        lines.extend(holes.iter().map(Hole::text));
    }
    lines.extend(output.notes.iter().cloned());
    lines.join("\n")
}
