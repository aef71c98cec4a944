//! Programs as a user writes them from the documentation alone, in `natural_library/`: each compiles as it was written and
//! does what its last lines say.

use std::fs;
use std::path::Path;

use cure::diagnostic::Lines;
use cure::{Limits, NoSources, compile};
use expect_test::expect;

/// What is wrong with a program, if anything.
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

#[test]
fn natural_programs_compile_as_written_and_do_what_they_say() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/natural_library");
    let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut said = String::new();
    let mut right = 0;
    for file in &files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        match wrong(&fs::read_to_string(file).unwrap()) {
            None => right += 1,
            Some(why) => said.push_str(&format!("{name}: {why}\n")),
        }
    }
    said.push_str(&format!("{right} of {} do", files.len()));
    expect![[r#"
        35_quadratic: 10:36 error C0403: could not prove that the divisor `2.0 * a` is never zero; name it with `let`, and test that name: `if d != 0.0 then … / d else …`; 11:31 error C0403: could not prove that the divisor `2.0 * a` is never zero; name it with `let`, and test that name: `if d != 0.0 then … / d else …`; 11:59 error C0403: could not prove that the divisor `2.0 * a` is never zero; name it with `let`, and test that name: `if d != 0.0 then … / d else …`
        51_fibonacci: 8:45 error C0402: could not prove that the value fits Nat; the type of what holds this value says too little of it: refine that type, or build the whole anew from parts that are tested
        54_histogram: 12:34 error C0402: could not prove that the value fits Nat; the type of what holds this value says too little of it: refine that type, or build the whole anew from parts that are tested
        57 of 60 do"#]].assert_eq(&said);
}
