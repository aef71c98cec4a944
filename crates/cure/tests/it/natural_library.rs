//! Programs as a user writes them from the documentation alone, in `natural_library/`: each compiles as it was written, or as
//! its first message said (`# one try: `), and does what its last lines say.

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
    let (mut said, mut right, mut mended) = (String::new(), 0, 0);
    for file in &files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(file).unwrap();
        match wrong(&text) {
            // As it was written it did not compile, and this is what the message brought.
            None if text.lines().any(|line| line.starts_with("# one try: ")) => mended += 1,
            None => right += 1,
            Some(why) => said.push_str(&format!("{name}: {why}\n")),
        }
    }
    let all = files.len();
    said.push_str(&format!("of {all}, {right} as written, {mended} mended in one try"));
    println!("{said}");
    expect!["of 120, 108 as written, 12 mended in one try"].assert_eq(&said);
}
