//! Registers hob with one agent, in its configuration file.

use super::mail::Change;
use super::paths::InitPaths;
use crate::agents::{Added, Agent, Edits, Entry};
use crate::exit::Failure;
use crate::terminal;

/// Registers, and prints a message. Returns the resulting entry.
pub(super) fn register(
    place: &InitPaths,
    agent: &Agent,
    entry: &Entry,
    change: Option<&Change>,
    edits: &mut Edits,
) -> Result<Entry, Failure> {
    let file = place.file(agent);
    let shown = place.show(&file);
    let text = edits.read(&file)?.unwrap_or_default();
    let left_alone = |error| {
        Failure::new(format_args!("{}: {shown} was not changed: {error}", agent.title))
            .hint(format_args!("Repair {shown}, then run `hob init` again."))
    };
    let format = agent.format(place.scope);
    match format.add(&text, entry, place.scope).map_err(left_alone)? {
        Added::Already(present) if change.is_some_and(|change| change.concerns(&present)) => {
            let entry = Entry { args: entry.args.clone(), ..present };
            let text = format.set_args(&text, &entry).map_err(left_alone)?;
            edits.write(&file, agent.name, &text)?;
            terminal::line(format!("{}: registered again in {shown}, as {entry}.", agent.title));
            Ok(entry)
        }
        Added::Already(present) => {
            let differs = if present.args == entry.args { String::new() } else { format!(", as {present}") };
            terminal::line(format!("{}: already registered in {shown}{differs}.", agent.title));
            Ok(present)
        }
        Added::Taken(present) => Err(Failure::new(format_args!(
            "{}: {shown} already has a server named hob that starts {present}, which is not what `hob init` writes",
            agent.title
        ))
        .hint("Inspect that entry; rename or remove it, then run `hob init` again.")),
        Added::Text(text) => {
            edits.write(&file, agent.name, &text)?;
            terminal::line(format!("{}: registered in {shown}.", agent.title));
            Ok(entry.clone())
        }
    }
}
