//! The results of the matrix, as a page and as complaints.

use std::fmt::Write as _;

use super::expectations::{CAPABILITIES, Cell};
use super::{Race, Row};

pub(super) fn page(rows: &[Row], races: &[Race]) -> String {
    let mut notes: Vec<&str> = Vec::new();
    let mut page = String::from(
        "# Independent clients\n\nWritten by `cargo xtask clients`: clients that no one here wrote, against the example \
         `everything` of `crates/mcp`. Tools: list,\ncall, structured content, an error. Progress: all of it, in \
         order. Cancel: the call hears of it. Ask: the person is asked\nin the middle of a call, whichever way the \
         revision has. Resources: read, by template, absent, watched. Prompts: get,\ncomplete.\n\n| client | transport \
         | asks for | settles on |",
    );
    for name in CAPABILITIES {
        let _ = write!(page, " {name} |");
    }
    page += "\n|---|---|---|---|";
    page += &"---|".repeat(CAPABILITIES.len());
    for row in rows {
        let _ = write!(page, "\n| {} | {} | {} | {} |", row.client, row.transport, row.mode, row.version);
        for cell in &row.cells {
            let said = match cell {
                Cell::Passed => "ok".to_owned(),
                Cell::Partial(reason) => format!("ok [{}]", note(&mut notes, reason)),
                Cell::Unsupported(reason) => format!("– [{}]", note(&mut notes, reason)),
                Cell::Failed(_) => "**WRONG**".to_owned(),
            };
            let _ = write!(page, " {said} |");
        }
    }
    page.push('\n');
    for (number, reason) in notes.iter().enumerate() {
        let _ = write!(page, "\n[{}] {reason}\n", number + 1);
    }
    page += "\n## A report and its answer\n\nA thousand calls that report progress and are done at once. A client that \
             reads both at once loses the report: the control\nis a server that writes them so.\n\n| client | server | \
             transport | asks for | reports seen | complaints of the client |\n|---|---|---|---|---|---|\n";
    for race in races {
        let Race { client, server, transport, mode, outcome, .. } = race;
        let (seen, surprises) = match outcome {
            Ok((seen, 0)) => (format!("{seen} of 1000"), "none"),
            Ok((seen, _)) => (format!("{seen} of 1000"), "unknown token"),
            Err(_) => ("**WRONG**".to_owned(), ""),
        };
        let _ = writeln!(page, "| {client} | {server} | {transport} | {mode} | {seen} | {surprises} |");
    }
    page
}

/// The number of a note; equal texts share one.
fn note<'a>(notes: &mut Vec<&'a str>, reason: &'a str) -> usize {
    let at = notes.iter().position(|known| *known == reason).unwrap_or_else(|| {
        notes.push(reason);
        notes.len() - 1
    });
    at + 1
}

pub(super) fn complaints(rows: &[Row], races: &[Race]) -> Vec<String> {
    let mut complaints = Vec::new();
    for row in rows {
        for (name, cell) in CAPABILITIES.iter().zip(&row.cells) {
            if let Cell::Failed(why) = cell {
                complaints.push(format!("{}, {}, {}: {name}: {why}", row.client, row.transport, row.mode));
            }
        }
    }
    for race in races {
        let why = match &race.outcome {
            Ok((seen, surprises)) if *seen == race.expected && (*surprises == 0) == (race.expected > 0) => continue,
            Ok((seen, surprises)) => format!("{seen} reports were seen and {surprises} surprises"),
            Err(e) => format!("{e:#}"),
        };
        let Race { client, server, transport, mode, .. } = race;
        complaints.push(format!("{client}, {transport}, {mode}: a report and its answer ({server}): {why}"));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_rows_and_races_are_complaints() {
        let cells = vec![Cell::Passed, Cell::Unsupported("no way".to_owned()), Cell::Failed("saw nothing".to_owned())];
        let row = Row { client: "a", transport: "stdio", mode: "auto", version: "2026-07-28", cells };
        let race = |expected, seen, surprises| Race {
            client: "b",
            server: "s",
            transport: "http",
            mode: "auto",
            outcome: Ok((seen, surprises)),
            expected,
        };
        let races = [race(1000, 1000, 0), race(0, 0, 5), race(1000, 999, 0), race(0, 1, 1)];
        assert_eq!(
            complaints(&[row], &races),
            [
                "a, stdio, auto: cancel: saw nothing",
                "b, http, auto: a report and its answer (s): 999 reports were seen and 0 surprises",
                "b, http, auto: a report and its answer (s): 1 reports were seen and 1 surprises",
            ]
        );
    }
}
