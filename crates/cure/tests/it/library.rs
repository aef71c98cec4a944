//! The library compared with the original's: each function has a row that states whether it behaves the same, its calls
//! return the values in the row, and the page `docs/generated/cure-library.md` is generated from these rows.

use std::collections::BTreeMap;

use cure::syntax::ast::Item;
use cure::{Failure, Limits, NoSources, compile, standard};

/// A function, how it stands to the original's, and calls.
struct Row<'a> {
    name: &'a str,
    verdict: &'a str,
    why: &'a str,
    calls: Vec<Call<'a>>,
}

struct Call<'a> {
    text: &'a str,
    here: &'a str,
    /// The original's result, if it differs.
    there: Option<&'a str>,
}

fn rows() -> Vec<Row<'static>> {
    let table = include_str!("../data/library.txt");
    let block = |block: &'static str| {
        let mut lines = block.lines();
        let head = lines.next().unwrap_or("");
        let (name, rest) = head.split_once(' ').unwrap();
        let (verdict, why) = rest.split_once(": ").unwrap_or((rest, ""));
        let call = |line: &'static str| {
            let (text, given) = line.rsplit_once(" = ").unwrap_or_else(|| panic!("{name}: {line}"));
            let (here, there) = given.split_once(" | ").map_or((given, None), |(here, there)| (here, Some(there)));
            Call { text, here, there }
        };
        let calls = lines.filter(|line| !line.is_empty()).map(call).collect();
        Row { name, verdict, why, calls }
    };
    table.split("\n== ").skip(1).map(block).collect()
}

/// The exported functions and methods of the library, with their heads.
fn functions() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for module in standard::names() {
        let text = standard::source(module).unwrap();
        let compiled = compile(text, &NoSources);
        let signatures = compiled.signatures();
        let named = |name: &str, arity: usize, head: String| (format!("{module}.{name}/{arity}"), head);
        let function = |name: &str, arity: usize| {
            let start = format!("{module}.{name}(");
            let head = signatures.iter().find(|line| line.starts_with(&start) && parameters(line) == arity);
            let head = head.map_or_else(|| name.to_owned(), |head| head[module.len() + 1..].to_owned());
            compiled.exports(module, name, arity as u32).then(|| named(name, arity, head))
        };
        for item in &compiled.syntax()[0].items {
            match item {
                Item::Def(def) => found.extend(function(&def.name.name, def.params.len())),
                Item::Curify(foreign) => found.extend(function(&foreign.head.name.name, foreign.head.params.len())),
                Item::Class(class) => found.extend(class.methods.iter().map(|one| {
                    let head = text[one.name.span.start as usize..].lines().next().unwrap_or("").to_owned();
                    named(&one.name.name, one.params.len(), head)
                })),
                _ => {}
            }
        }
    }
    found
}

/// The number of parameters in a signature.
fn parameters(signature: &str) -> usize {
    let inner = signature.split_once('(').map_or("", |(_, inner)| inner);
    let (mut depth, mut count, mut any) = (0, 1, false);
    for c in inner.chars() {
        match c {
            '(' | '{' => depth += 1,
            ')' if depth == 0 => break,
            ')' | '}' => depth -= 1,
            ',' if depth == 0 => count += 1,
            _ => {}
        }
        any = true;
    }
    if any { count } else { 0 }
}

#[test]
fn every_function_has_a_row_and_every_row_is_true() {
    let (functions, rows) = (functions(), rows());
    let mut faults = Vec::new();
    for name in functions.keys() {
        let count = rows.iter().filter(|row| row.name == *name).count();
        if count != 1 {
            faults.push(format!("{name} has {count} rows"));
        }
    }
    for row in &rows {
        let Row { name, verdict, why, calls } = row;
        if !functions.contains_key(*name) {
            faults.push(format!("{name} is no function of the library"));
        }
        let complete = match *verdict {
            "same" => !calls.is_empty() && (!why.is_empty() || calls.iter().all(|call| call.there.is_none())),
            "differs" => !why.is_empty() && !calls.is_empty(),
            "new" => why.is_empty() && calls.iter().all(|call| call.there.is_none()),
            _ => false,
        };
        if !complete {
            faults.push(format!("{name}: `{verdict}` does not fit what stands below"));
        }
        let module = name.rsplit_once('.').map_or("", |(module, _)| module);
        for call in calls {
            let program = format!(
                "module T do\n  import {module}\n  fsm Lamp do\n    Off --> |press| On\n    On --> |press| Off\n  end\n  \
                 def main(): Any = {}\nend\n",
                call.text
            );
            let compiled = compile(&program, &NoSources);
            let given = match compiled.run("main", Limits::default()) {
                Some(run) => run.result.unwrap_or_else(|failure| match failure {
                    Failure::Raised { reason, .. } => reason,
                    other => other.to_string(),
                }),
                None => format!("refused: {}", compiled.diagnostics[0].message),
            };
            if given != call.here {
                faults.push(format!("{name}: {} gives {given}, not {}", call.text, call.here));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_page_of_the_library_is_fresh() {
    let functions = functions();
    let mut page = "# Cure's library compared with the original's\n\nEvery function of Cure's library, compared with the function of \
                    the same name in the original. *same*: arguments,\ntheir order and results have the same meaning. *differs*: \
                    the row says how, and why. *new*: the original has no function of that\nname. Results of the original were \
                    recorded by running its own text if it runs as Cure, and otherwise read from that text. A test\nchecks each \
                    row, and writes this page from `crates/cure/tests/data/library.txt`. `hob call get_stdlib_docs` describes each \
                    function.\n"
        .to_owned();
    let mut last = "";
    for row in rows() {
        let module = row.name.rsplit_once('.').map_or("", |(module, _)| module);
        if module != last {
            page.push_str(&format!("\n## {module}\n\n| function | | differs, why |\n|---|---|---|\n"));
            last = module;
        }
        let escaped = |text: &str| text.replace('|', "\\|");
        let differing = row.calls.iter().filter(|call| call.there.is_some());
        let mut why = escaped(row.why);
        for Call { text, here, there } in differing.filter(|_| row.verdict == "differs") {
            let there = there.unwrap_or("");
            let there = if there.contains(' ') && !there.contains(['<', '[', '{']) {
                there.to_owned()
            } else {
                format!("`{there}`")
            };
            why.push_str(&format!("; `{}` gives `{}`, there {}", escaped(text), escaped(here), escaped(&there)));
        }
        let head = functions.get(row.name).map_or(row.name, String::as_str);
        page.push_str(&format!("| `{}` | {} | {why} |\n", escaped(head), row.verdict));
    }
    expect_test::expect_file!["../../../../docs/generated/cure-library.md"].assert_eq(&page);
}

/// The list of the library in the document of the language names each function once, and nothing else.
#[test]
fn the_list_of_the_library_is_complete() {
    let document = include_str!("../../../../docs/reference/cure.md");
    let listed = |module: &str| {
        let row = document.lines().find_map(|line| line.strip_prefix("| ")?.strip_prefix(module)?.strip_prefix(" | "));
        let names = row.unwrap_or("").trim_end_matches(" |").split(' ');
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let functions = functions();
    for module in standard::names() {
        let mut there = listed(module);
        let count = there.len();
        there.sort();
        there.dedup();
        assert_eq!(there.len(), count, "{module} names something twice");
        let own = functions.keys().filter_map(|name| name.strip_prefix(module)?.strip_prefix('.'));
        let mut own: Vec<_> = own.filter_map(|name| Some(name.split_once('/')?.0.to_owned())).collect();
        own.sort();
        own.dedup();
        assert_eq!(there, own, "{module}");
    }
}
