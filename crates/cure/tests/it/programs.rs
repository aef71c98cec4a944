//! The table of programs: each is accepted, rejected or run as its row says.

use cure::diagnostic::{Diagnostic, Lines};
use cure::{Limits, NoSources, beam, compile};

struct Program {
    name: &'static str,
    verdict: &'static str,
    text: String,
}

fn programs() -> Vec<Program> {
    let table = include_str!("../data/programs.tsv");
    let rows = table.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    rows.map(|row| Program { name: row[0], verdict: row[2], text: row[3].replace("\\n", "\n") }).collect()
}

/// The difference from the expected outcome of a program, if any.
fn wrong(program: &Program) -> Option<String> {
    let compiled = compile(&program.text, &NoSources);
    let lines = Lines::new(&program.text);
    let said: Vec<_> = compiled.diagnostics.iter().map(|one| one.line(&lines)).collect();
    let said = said.join("\n    ");
    let stage = compiled.diagnostics.iter().find(|one| one.is_error()).map(|one| one.code.stage().name());
    let verdict = program.verdict;
    if let Some(wanted) = verdict.strip_prefix("reject:") {
        return (stage != Some(wanted)).then(|| format!("wanted {wanted}, got {stage:?}\n    {said}"));
    }
    if !compiled.is_ok() {
        return Some(format!("refused\n    {said}"));
    }
    if let Some(warning) = verdict.strip_prefix("accept:warning ") {
        let found = compiled.diagnostics.iter().filter(|one| !one.is_error()).any(|one| matches(one, warning));
        return (!found).then(|| format!("no warning {warning:?}\n    {said}"));
    }
    let Some(wanted) = verdict.strip_prefix("accept:run ") else {
        return (!said.is_empty()).then(|| format!("accepted, but\n    {said}"));
    };
    let run = compiled.run("main", Limits::default())?;
    match run.result {
        Ok(value) if value == wanted => None,
        other => Some(format!("wanted {wanted}, got {other:?}")),
    }
}

fn matches(warning: &Diagnostic, wanted: &str) -> bool {
    match wanted {
        "unreachable clause" => warning.message.contains("never reached") && warning.message.contains("clause"),
        "deadlock in B" => warning.message.contains("state B") && warning.message.contains("no exit"),
        "C unreachable" => warning.message.contains("state C") && warning.message.contains("never reached"),
        _ => false,
    }
}

#[test]
fn every_program_does_what_its_line_says() {
    let all = programs();
    let faults: Vec<_> =
        all.iter().filter_map(|program| Some(format!("{}: {}", program.name, wrong(program)?))).collect();
    assert!(faults.is_empty(), "{} of {} hold\n{}", all.len() - faults.len(), all.len(), faults.join("\n"));
}

/// Programs with their outcomes: `=== title: refused C0301@2`, `accepted` or `gives VALUE`, followed by the program. An
/// indented program is the body of a module. Lines count from the first of the module.
pub(crate) struct Block<'a> {
    pub title: &'a str,
    pub outcome: &'a str,
    pub text: String,
}

pub(crate) fn blocks(table: &str) -> Vec<Block<'_>> {
    let one = |block| {
        let (head, body): (&str, &str) = str::split_once(block, '\n')?;
        let (title, outcome) = head.split_once(": ")?;
        let body = body.trim_matches('\n');
        let whole = body.starts_with("module") || body.starts_with("def") || body.starts_with('#');
        let text = if whole { format!("{body}\n") } else { format!("module T do\n{body}\nend\n") };
        Some(Block { title, outcome, text })
    };
    table.split("\n=== ").filter_map(|block| one(block.trim_start_matches("=== "))).collect()
}

/// The outcome of a program, in the words of a block's head.
pub(crate) fn outcome(text: &str) -> String {
    let compiled = compile(text, &NoSources);
    let lines = Lines::new(text);
    let said = compiled.diagnostics.iter().map(|one| {
        let severity = if one.is_error() { "" } else { "warning " };
        format!("{severity}{}@{}", one.code, lines.line_column(one.span.start).0)
    });
    let said: Vec<_> = said.collect();
    if !compiled.is_ok() {
        return format!("refused {}", said.join(" "));
    }
    let ran = match compiled.run("main", Limits::default()) {
        Some(run) => match run.result {
            Ok(value) => format!("gives {value}"),
            Err(failure) => format!("fails: {failure}"),
        },
        None => "accepted".to_owned(),
    };
    if said.is_empty() { ran } else { format!("{ran}, {}", said.join(" ")) }
}

/// Why a valid program cannot become a BEAM file.
fn unwritten(text: &str) -> String {
    assert_eq!(outcome(text), "accepted", "{text}");
    let error =
        beam::program(&compile(text, &NoSources).forms(), &|_| None).expect_err("it cannot be written").diagnostic();
    format!("not written {}@{}", error.code, Lines::new(text).line_column(error.span.start).0)
}

/// The first diagnostic of each program with errors or warnings, and the line where a person would look for the
/// mistake.
#[test]
fn what_is_said_first_stands_in_the_right_line() {
    let table = include_str!("../data/programs-lines.tsv");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
    let mut faults = Vec::new();
    for program in programs() {
        let compiled = compile(&program.text, &NoSources);
        let lines = Lines::new(&program.text);
        let said = &compiled.diagnostics;
        let first = said.iter().find(|one| one.is_error()).or(said.first());
        let found = first.map(|one| (one.code.to_string(), lines.line_column(one.span.start).0.to_string()));
        let row = rows.iter().find(|row| row[0] == program.name);
        let wanted = row.map(|row| (row[1].to_owned(), row[2].to_owned()));
        if found != wanted {
            faults.push(format!("{}: wanted {wanted:?}, got {found:?}", program.name));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_is_ill_typed_is_refused_and_its_sound_neighbours_are_not() {
    let table = include_str!("../data/soundness.txt");
    let blocks = blocks(table);
    assert!(blocks.len() >= 60, "{}", blocks.len());
    let faults =
        blocks.iter().map(|block| (block, outcome(&block.text))).filter(|(block, found)| found != block.outcome);
    let faults: Vec<_> = faults.map(|(block, found)| format!("{}: is {found}\n{}", block.title, block.text)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_standard_library_is_without_fault() {
    for name in cure::standard::names() {
        let text = cure::standard::source(name).unwrap_or("");
        let compiled = compile(text, &NoSources);
        let lines = Lines::new(text);
        let said: Vec<_> = compiled.diagnostics.iter().map(|one| one.line(&lines)).collect();
        assert!(said.is_empty(), "{name}:\n{}", said.join("\n"));
    }
}

/// A line `> …` in a comment of the library is an equation that holds.
#[test]
fn what_the_library_says_of_itself_is_true() {
    let mut count = 0;
    let mut faults = Vec::new();
    for name in cure::standard::names() {
        let text = cure::standard::source(name).unwrap_or("");
        let equations: Vec<_> = text.lines().filter_map(|line| line.trim_start().strip_prefix("# > ")).collect();
        for equation in &equations {
            count += 1;
            let program = format!("module T do\n  import {name}\n  def main(): Bool = {equation}\nend\n");
            let outcome = outcome(&program);
            if outcome != "gives true" {
                faults.push(format!("{name}: {equation}: {outcome}"));
            }
        }
    }
    assert!(faults.is_empty() && count >= 70, "{count}\n{}", faults.join("\n"));
}

/// Each row of the dialect document has a program and its result.
#[test]
fn every_row_of_the_dialect_document_is_true() {
    let document = include_str!("../../../../docs/reference/cure-dialect.md");
    let mut faults = Vec::new();
    let rows: Vec<_> = document.split("\n### ").skip(1).collect();
    for (at, row) in rows.iter().enumerate() {
        let number = row.split_once(". ").map(|(number, _)| number);
        assert_eq!(number, Some(&*(at + 1).to_string()), "rows are numbered: {row}");
        assert!(row.contains("\nOriginal: "), "a row says what the original did: {row}");
        let said = row.split_once("\nHere: **").and_then(|(_, rest)| rest.split_once("** — "));
        let program = row.split_once("```cure\n").and_then(|(_, rest)| rest.split_once("```"));
        let (Some((said, _)), Some((program, _))) = (said, program) else { panic!("a row is incomplete: {row}") };
        let found = outcome(program);
        if found != said {
            faults.push(format!("row {}: says {said}, is {found}", at + 1));
        }
    }
    assert!(faults.is_empty() && rows.len() >= 60, "{} rows\n{}", rows.len(), faults.join("\n"));
}

/// Each code has a program that triggers it, at the line of the mistake. Too much text (C0004) needs no table; too many
/// errors (C0005) and too much work (C0007) have their own tests.
#[test]
fn every_code_has_a_program_that_provokes_it() {
    let blocks = blocks(include_str!("../data/codes.txt"));
    for block in &blocks {
        let found =
            if block.outcome.starts_with("not written") { unwritten(&block.text) } else { outcome(&block.text) };
        assert_eq!(found, block.outcome, "{}\n{}", block.title, block.text);
        assert!(block.outcome.contains(block.title), "{}: {}", block.title, block.outcome);
    }
    for (code, meaning) in cure::diagnostic::code::ALL {
        let there = blocks.iter().any(|block| block.title == code.to_string());
        let elsewhere = [4, 5, 7].contains(&code.0);
        assert!(there || elsewhere, "{code} has no program: {meaning}");
    }
    let large = compile(&" ".repeat(cure::syntax::MAX_SOURCE + 1), &NoSources);
    assert_eq!(large.diagnostics[0].code, cure::diagnostic::code::TOO_LARGE);
}
