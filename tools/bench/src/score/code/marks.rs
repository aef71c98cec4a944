//! Truth by deprecation: definitions in a copy are marked deprecated, and each compiler warning is a use.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use taskkit::setup;

use super::truth::{Definition, Location, is_word, word_before, word_from};
use crate::dependencies::files;

/// How a language marks definitions.
pub(super) struct Marks {
    /// Its name in ctags.
    pub(super) language: &'static str,
    /// The ctags letters of the kinds to mark.
    pub(super) kinds: &'static str,
    /// The line before a definition, with `ID` for its number.
    line: &'static str,
    /// The first line of a file with marks.
    first: Option<&'static str>,
    /// The compiler is silent inside a deprecated definition, so definitions are marked one at a time.
    pub(super) is_silent_inside: bool,
    compile: fn(&Path) -> Result<Vec<Message>>,
}

pub(super) const RUSTC: Marks = Marks {
    language: "Rust",
    kinds: "fPm",
    line: "#[deprecated = \"hob-truth-ID\"]",
    first: None,
    is_silent_inside: true,
    compile: rustc,
};

pub(super) const GCC: Marks = Marks {
    language: "C++",
    kinds: "fpm",
    line: "[[deprecated(\"hob-truth-ID\")]]",
    first: None,
    is_silent_inside: false,
    compile: gcc,
};

pub(super) const PYRIGHT: Marks = Marks {
    language: "Python",
    kinds: "cfm",
    line: "@hob_truth.deprecated(\"hob-truth-ID\")",
    first: Some("import warnings as hob_truth"),
    is_silent_inside: false,
    compile: pyright,
};

const NOTE: &str = "hob-truth-";

/// A message of a compiler.
#[derive(Debug, PartialEq, Eq)]
struct Message {
    is_error: bool,
    text: String,
    /// Location in the marked copy.
    place: Location,
}

/// Lines inserted into a file, as numbers of the following lines of the original.
type Inserted = BTreeMap<String, Vec<usize>>;

/// Marks definitions in the copy, compiles it, and removes the marks. Empty for definitions that cannot be marked.
pub(super) fn mark_and_compile(copy: &Path, marks: &Marks, some: &[Definition]) -> Result<Vec<Option<Vec<Location>>>> {
    let mut found: Vec<Option<Vec<Location>>> = vec![Some(Vec::new()); some.len()];
    // Some definitions cannot be marked, such as those inside a macro's arguments. The compiler names their lines.
    for _ in 0..4 {
        let (before, inserted) = mark(copy, marks, some, &found)?;
        let said = (marks.compile)(copy);
        before.into_iter().try_for_each(|(file, text)| std::fs::write(copy.join(file), text))?;
        let mut said = said?;
        said.iter_mut().for_each(|one| restore(&mut one.place, &inserted));
        let errors: Vec<&Message> = said.iter().filter(|one| one.is_error).collect();
        if errors.is_empty() {
            for one in said {
                let Some((words, id)) = one.text.split_once(NOTE) else { continue };
                let id: String = id.chars().take_while(char::is_ascii_digit).collect();
                let id: usize = id.parse().context("a note without number")?;
                // The fields of a variant are deprecated with it, and derived code is located at the definition.
                let is_own = one.place.file == some[id].file && one.place.first.0 == some[id].line;
                if words.split(|c| !is_word(c)).any(|word| word == some[id].name) && !is_own {
                    found[id].get_or_insert_default().push(one.place);
                }
            }
            for all in found.iter_mut().flatten() {
                all.sort();
                all.dedup();
            }
            return Ok(found);
        }
        let is_named = |one: &Definition| {
            errors
                .iter()
                .any(|error| error.place.file == one.file && (one.line - 1..=one.line).contains(&error.place.first.0))
        };
        let mut is_less = false;
        for (one, all) in some.iter().zip(&mut found).filter(|(one, _)| is_named(one)) {
            is_less |= all.take().is_some();
            println!("score: {}:{}: {} cannot be marked", one.file, one.line, one.name);
        }
        if !is_less {
            bail!("the marked copy does not compile, at {errors:?}");
        }
    }
    bail!("the marked copy does not compile after leaving out what the compiler names")
}

/// Files with their texts.
type Texts = BTreeMap<String, String>;

/// Writes the marks. Returns the original files, and the positions of the inserted lines.
fn mark(copy: &Path, marks: &Marks, some: &[Definition], found: &[Option<Vec<Location>>]) -> Result<(Texts, Inserted)> {
    let mut before = Texts::new();
    let mut inserted = Inserted::new();
    for (one, _) in some.iter().zip(found).filter(|(_, all)| all.is_some()) {
        let path = copy.join(&one.file);
        let text = std::fs::read_to_string(&path).with_context(|| format!("could not read {path:?}"))?;
        before.entry(one.file.clone()).or_insert(text);
        inserted.entry(one.file.clone()).or_default().push(one.line);
    }
    for (file, text) in &before {
        let mut marked = String::new();
        if let Some(first) = marks.first {
            marked = format!("{first}\n");
            inserted.entry(file.clone()).or_default().push(1);
        }
        for (number, line) in text.split_inclusive('\n').enumerate() {
            let here =
                |(id, one): &(usize, &Definition)| found[*id].is_some() && one.file == *file && one.line == number + 1;
            if let Some((id, _)) = some.iter().enumerate().find(here) {
                let indentation = &line[..line.len() - line.trim_start().len()];
                marked.push_str(&format!("{indentation}{}\n", marks.line.replace("ID", &id.to_string())));
            }
            marked.push_str(line);
        }
        std::fs::write(copy.join(file), marked).with_context(|| format!("could not write {file}"))?;
    }
    inserted.values_mut().for_each(|lines| lines.sort_unstable());
    Ok((before, inserted))
}

/// Converts a location in the marked copy into one of the original.
fn restore(place: &mut Location, inserted: &Inserted) {
    let original = |line: usize| {
        let lines = inserted.get(&place.file).map_or(&[][..], Vec::as_slice);
        line - lines.iter().enumerate().take_while(|(count, before)| line > *before + count).count()
    };
    (place.first.0, place.last.0) = (original(place.first.0), original(place.last.0));
}

/// Returns the compiler's output, whether or not it succeeds. Errors are in its messages.
fn output_of(command: &mut Command) -> Result<(String, String)> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("could not run {command:?}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((text(&output.stdout), text(&output.stderr)))
}

fn number(value: &Value, field: &str) -> usize {
    value[field].as_u64().unwrap_or_default() as usize
}

fn rustc(copy: &Path) -> Result<Vec<Message>> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["check", "--lib", "--all-features", "--quiet", "--message-format", "json"]).current_dir(copy);
    cargo.env("RUSTFLAGS", "--force-warn deprecated --cap-lints warn").env_remove("CARGO_TARGET_DIR");
    let (records, errors) = output_of(&mut cargo)?;
    if records.is_empty() {
        bail!("cargo check failed: {errors}");
    }
    records.lines().filter_map(|line| read_rustc(line).transpose()).collect()
}

fn read_rustc(line: &str) -> Result<Option<Message>> {
    let record: Value = serde_json::from_str(line).with_context(|| format!("no message of cargo: {line}"))?;
    let message = &record["message"];
    let mut spans = message["spans"].as_array().into_iter().flatten();
    let Some(mut span) = spans.find(|span| span["is_primary"] == true) else { return Ok(None) };
    // Code from a macro of another crate is located where that macro is called.
    while span["file_name"].as_str().is_none_or(|file| !file.starts_with("src")) && !span["expansion"].is_null() {
        span = &span["expansion"]["span"];
    }
    let at = |line: &str, column: &str| (number(span, line), number(span, column));
    Ok(Some(Message {
        // rustc warns about a mark without an effect.
        is_error: message["level"] == "error" || message["code"]["code"] == "useless_deprecated",
        text: message["message"].as_str().unwrap_or_default().to_owned(),
        place: Location {
            file: span["file_name"].as_str().unwrap_or_default().to_owned(),
            first: at("line_start", "column_start"),
            last: at("line_end", "column_end"),
        },
    }))
}

fn gcc(copy: &Path) -> Result<Vec<Message>> {
    // Fuzz targets need packages that are missing here.
    let sources = files(copy, &["cc"])?;
    let sources = sources.iter().filter(|path| !path.to_string_lossy().contains("fuzz"));
    let mut gcc = Command::new("g++");
    gcc.args(["-std=c++17", "-I.", "-fsyntax-only", "-fdiagnostics-format=json"]);
    let (_, records) = output_of(gcc.args(sources).current_dir(copy).env("LC_ALL", "C.UTF-8"))?;
    let mut messages = Vec::new();
    for line in records.lines() {
        let all: Vec<Value> = serde_json::from_str(line).with_context(|| format!("no messages of g++: {line}"))?;
        for one in all {
            messages.extend(read_gcc(copy, &one)?);
        }
    }
    Ok(messages)
}

/// A call is reported at its parenthesis; the name precedes it.
fn read_gcc(copy: &Path, one: &Value) -> Result<Option<Message>> {
    let caret = &one["locations"][0]["caret"];
    let Some(named) = caret["file"].as_str().map(Path::new) else { return Ok(None) };
    // A header that is included by `-I.` is named `./HEADER`.
    let below = [copy, Path::new(".")].into_iter().find_map(|folder| named.strip_prefix(folder).ok());
    let file = below.unwrap_or(named).to_string_lossy().into_owned();
    let (line, column) = (number(caret, "line"), number(caret, "column"));
    let message = one["message"].as_str().unwrap_or_default();
    let is_error = one["kind"] == "error" || one["kind"] == "fatal error";
    // `‘int A::area() const’ is deprecated: …`.
    let declared = message.split(['‘', '’']).nth(1).unwrap_or_default();
    let name = declared.split(['(', '[']).next().unwrap_or_default().rsplit([':', ' ']).next().unwrap_or_default();
    let text = std::fs::read_to_string(copy.join(&file)).unwrap_or_default();
    let source = text.lines().nth(line.wrapping_sub(1)).unwrap_or_default();
    let is_here = word_from(source, name, column) == Some(column);
    let named = if is_here { Some(column) } else { word_before(source, name, column) };
    // For example, a constructor initializes a member without naming it.
    let Some(column) = named.or(is_error.then_some(column)) else { return Ok(None) };
    Ok(Some(Message { is_error, text: message.to_owned(), place: Location::at(&file, line, column) }))
}

fn pyright(copy: &Path) -> Result<Vec<Message>> {
    let settings = r#"{"reportDeprecated": "warning", "pythonVersion": "3.13", "typeCheckingMode": "off",
        "enableTypeIgnoreComments": false}"#;
    std::fs::write(copy.join("pyrightconfig.json"), settings)?;
    let program = setup::checkers()?.join("node_modules/pyright/index.js");
    let (records, errors) = output_of(Command::new("node").arg(program).arg("--outputjson").current_dir(copy))?;
    let records: Value = serde_json::from_str(&records).with_context(|| format!("pyright failed: {errors}"))?;
    let all = records["generalDiagnostics"].as_array().context("pyright printed no diagnostics")?;
    let here = copy.canonicalize()?;
    let message = |one: &Value| {
        let file = Path::new(one["file"].as_str()?).strip_prefix(&here).ok()?.to_string_lossy().into_owned();
        let at = |end: &str| (number(&one["range"][end], "line") + 1, number(&one["range"][end], "character") + 1);
        let text = one["message"].as_str()?.to_owned();
        Some(Message { is_error: false, text, place: Location { file, first: at("start"), last: at("end") } })
    };
    Ok(all.iter().filter(|one| one["rule"] == "reportDeprecated").filter_map(message).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserted_lines_are_taken_out_of_places() {
        let inserted = Inserted::from([("a".to_owned(), vec![1, 3])]);
        let restored = |line: usize| {
            let mut place = Location::at("a", line, 1);
            restore(&mut place, &inserted);
            place.first.0
        };
        // `first`, 1, 2, a mark, 3, 4.
        assert_eq!([2, 3, 5, 6].map(restored), [1, 2, 3, 4]);
    }

    #[test]
    fn messages_of_rustc_have_their_places() {
        let said = concat!(
            r#"{"reason":"compiler-message","message":{"level":"warning","code":{"code":"deprecated"},"#,
            r#""message":"use of deprecated function `area`: hob-truth-12","spans":[{"is_primary":true,"#,
            r#""file_name":"src/a.rs","line_start":3,"line_end":3,"column_start":5,"column_end":9,"expansion":null}]}}"#,
        );
        let place = Location { file: "src/a.rs".to_owned(), first: (3, 5), last: (3, 9) };
        let text = "use of deprecated function `area`: hob-truth-12".to_owned();
        assert_eq!(read_rustc(said).unwrap(), Some(Message { is_error: false, text, place }));
        assert_eq!(read_rustc(r#"{"reason":"compiler-artifact"}"#).unwrap(), None);
    }

    #[test]
    fn calls_of_gcc_have_the_place_of_their_name() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.cc"), "int y = a.area(b.area());\n").unwrap();
        let place = |file: &str, caret: usize| {
            let one = serde_json::json!({
                "kind": "warning", "message": "‘int A::area() const’ is deprecated: hob-truth-1",
                "locations": [{"caret": {"file": file, "line": 1, "column": caret}}],
            });
            read_gcc(folder.path(), &one).unwrap().unwrap().place
        };
        assert_eq!([11, 15, 18, 22].map(|caret| place("a.cc", caret).first.1), [11, 11, 18, 18]);
        assert_eq!(place("./a.cc", 15).file, "a.cc");
        assert_eq!(place(folder.path().join("a.cc").to_str().unwrap(), 15).file, "a.cc");
    }
}
