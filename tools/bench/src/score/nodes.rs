//! `cargo xtask score nodes`: generated schemas on the offline engine, a real model server that returns the shortest
//! answers that its decoder permits. Python's `jsonschema`, an independent validator, checks each value. The test that
//! runs fewer schemas in CI prints the figures; this file writes them to a page.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result, ensure};
use taskkit::setup;
use taskkit::workspace::{cargo, read, write_page};

const PAGE: &str = "docs/generated/score-nodes.md";
const TEST: &str = "engine::valid::nothing_invalid_gets_out";
const SCHEMAS: usize = 2_000;
/// Reason why a call gave no value, in the test's terms.
const CLASSES: &[(&str, &str)] = &[
    ("Invalid", "let through by the decoder, refused here"),
    ("Truncated", "cut at the limit of tokens"),
    ("Rejected", "refused by the server"),
    ("Busy", "failed in the server"),
    ("Empty", "nothing said"),
    ("Unparseable", "no JSON"),
];

pub(super) fn run(is_quick: bool) -> Result<()> {
    setup::engine()?;
    let schemas = if is_quick { 200 } else { SCHEMAS };
    let mut command = cargo();
    command.args(["test", "--quiet", "-p", "nodes", "--test", "it", "--", "--exact", TEST, "--nocapture"]);
    // A missing program is an error here, where a test would be skipped.
    let said = read(command.env("HOB_NODE_SCHEMAS", schemas.to_string()).env("CI", "1"))?;
    let figures: BTreeMap<&str, usize> = said
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .filter_map(|(name, value)| Some((name, value.trim().parse().ok()?)))
        .collect();
    let page = page(&figures)?;
    println!("{page}");
    if is_quick { Ok(()) } else { write_page(PAGE, &page) }
}

fn page(figures: &BTreeMap<&str, usize>) -> Result<String> {
    let get = |name: &str| figures.get(name).copied().with_context(|| format!("{name} was not counted"));
    let forms = ["as it is", "strict subset"];
    let mut page = format!(
        "# Whether anything invalid gets out of a node\n\nWritten by `cargo xtask score nodes`. {} generated schemas (nested, recursive, \
         unions, bounds, patterns, formats, `not`, `if`) run on llama.cpp's own server, whose model says the shortest answer that the \
         decoder lets through: once with the schema as it is, once with what OpenAI's strict subset says of it. Every value that a node \
         returned passed Python's `jsonschema` against the node's schema, and in its result against the tool's `outputSchema`. Every \
         other call was an error whose class is what the server's own answer shows; {} values that were refused here were shown to \
         Python too, and it refused each.\n\n| | {} |\n|---|{}\n",
        get("schemas")?,
        get("refuted")?,
        forms.join(" | "),
        "---|".repeat(forms.len())
    );
    let mut row = |what: &str, counts: Vec<usize>| {
        let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
        let _ = writeln!(page, "| {what} | {} |", counts.join(" | "));
    };
    let count = |form: &str, what: &str| figures.get(format!("{form}: {what}").as_str()).copied().unwrap_or_default();
    row("values returned, all valid", forms.map(|form| count(form, "returned")).to_vec());
    for (class, words) in CLASSES {
        row(words, forms.map(|form| count(form, class)).to_vec());
    }
    for form in forms {
        let all: usize = CLASSES.iter().map(|(class, _)| count(form, class)).sum::<usize>() + count(form, "returned");
        ensure!(all == get("schemas")?, "{form}: {all} calls are accounted for");
        ensure!(count(form, "Invalid") > 0, "{form}: the decoder let nothing invalid through, so nothing is shown");
    }
    let _ = writeln!(page, "\n- hob: {}", env!("CARGO_PKG_VERSION"));
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_accounted_for() {
        let mut figures = BTreeMap::from([
            ("schemas", 5),
            ("refuted", 2),
            ("as it is: returned", 3),
            ("as it is: Invalid", 2),
            ("strict subset: returned", 4),
            ("strict subset: Invalid", 1),
        ]);
        assert!(page(&figures).expect("a page").contains("| values returned, all valid | 3 | 4 |\n"));
        figures.insert("schemas", 6);
        assert_eq!(page(&figures).unwrap_err().to_string(), "as it is: 5 calls are accounted for");
    }
}
