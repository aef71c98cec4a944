//! Programs as a user writes them from the documentation alone, in `natural_library/`: each compiles as it was written and
//! does what its last lines say.

use std::fs;
use std::path::Path;

use cure::diagnostic::Lines;
use cure::{Limits, NoSources, beam, compile};
use expect_test::expect;
use testkit::otp::{Job, Otp};

/// Returns the error in a program.
fn wrong(text: &str) -> Option<String> {
    let wanted = text.lines().find_map(|line| line.strip_prefix("# gives ")).expect("a program says what it gives");
    let compiled = compile(text, &NoSources);
    let lines = Lines::new(text);
    let errors = compiled.diagnostics.iter().filter(|one| one.is_error());
    let errors: Vec<String> = errors.map(|one| one.line(&lines)).collect();
    if !errors.is_empty() {
        return Some(errors.join("; "));
    }
    let run = compiled.run("main", Limits::default())?;
    match run.result {
        Ok(value) if value != wanted => Some(format!("gives {value}, not {wanted}")),
        Err(failure) => Some(format!("fails: {failure:?}")),
        Ok(_) => {
            let printed = text.lines().filter_map(|line| line.strip_prefix("# prints "));
            let printed: String = printed.map(|line| format!("{line}\n")).collect();
            (run.output != printed).then(|| format!("prints {:?}, not {printed:?}", run.output))
        }
    }
}

/// The programs that were refused as they were written, and what in the compiler was mended for them. The programs stand
/// as they were written.
const MENDED: &[(&str, &str)] = &[
    ("35_quadratic", "twice what is not zero is not zero"),
    ("51_fibonacci", "literals of a list are what a function takes"),
    ("54_histogram", "literals of a list in a `let` are what a function takes"),
    ("73_json", "patterns of functions without a name"),
    ("80_vector_average", "`n` of a `Vector(T, n + 1)` is a number in the body"),
    ("86_order_workflow", "a machine computes with `event_data`"),
];

/// Prefix of the error message for a program that did not compile as first written.
const ONE_TRY: &str = "# one try: ";

/// `cargo nextest run -p cure --no-capture -E 'test(natural_programs)'` prints the counts.
#[test]
fn natural_programs_compile_as_written_and_do_what_they_say() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/natural_library");
    let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut said = String::new();
    let (mut right, mut refused, mut tried) = (0, 0, 0);
    for file in &files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        refused += usize::from(MENDED.iter().any(|(mended, _)| *mended == name));
        let text = fs::read_to_string(file).unwrap();
        tried += usize::from(text.lines().any(|line| line.starts_with(ONE_TRY)));
        match wrong(&text) {
            None => right += 1,
            Some(why) => said.push_str(&format!("{name}: {why}\n")),
        }
    }
    let all = files.len();
    said.push_str(&format!(
        "{right} of {all} do: {} as they were written at first, {tried} mended in one try",
        all - refused - tried
    ));
    said.push_str(&format!(" by the message alone, {refused} since the compiler was mended"));
    println!("{said}");
    for (name, what) in MENDED {
        println!("  {name}: mended: {what}");
    }
    expect!["179 of 179 do: 162 as they were written at first, 11 mended in one try by the message alone, 6 since the compiler was mended"].assert_eq(&said);
}

/// The same programs on Erlang give and print the same.
#[test]
fn natural_programs_do_the_same_on_erlang() {
    let Some(otp) = Otp::start() else { return };
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/natural_library");
    let mut faults = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let file = entry.unwrap().path();
        let compiled = compile(&fs::read_to_string(&file).unwrap(), &NoSources);
        let Some(run) = compiled.run("main", Limits::default()) else { continue };
        let files = beam::program(&compiled.forms(), &|_| None).unwrap();
        let module = compiled.syntax()[0].name.name.clone();
        let job = Job { modules: &files, module: &module, function: "main", input: "" };
        let there = otp.run_all(&[job]).remove(0);
        let (here, given) = (format!("{:?}", run.result), format!("{:?}", there.result));
        if here != given || run.output != there.output {
            faults.push(format!("{}: {here} {:?}, on Erlang {given} {:?}", file.display(), run.output, there.output));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
