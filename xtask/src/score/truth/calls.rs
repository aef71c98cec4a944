//! Calls by rustc's own middle form (MIR): each body ends its blocks with the calls that it makes, with their places. The calls of
//! functions whose name is the only one of its kind are compared with what `find_callers` confirms.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::judged::{Site, answer, sites, why};
use crate::agent::Agent;

/// How the answers about the callers of a crate's functions are.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pub(super) functions: usize,
    pub(super) finals: usize,
    /// Calls in the middle form, and how many of them are confirmed; those that macros write are counted apart.
    pub(super) calls: usize,
    pub(super) found: usize,
    pub(super) by_macro: usize,
    /// What is confirmed as a call outside of tests, and how much of it the middle form has.
    pub(super) confirmed: usize,
    pub(super) right: usize,
    pub(super) differences: Vec<String>,
}

/// A call in the middle form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MirCall {
    /// What is called, without the types that it is given.
    called: String,
    /// The last name of that.
    name: String,
    file: String,
    first: (usize, usize),
    last: (usize, usize),
}

/// The calls of a crate, by compiling it with the middle form written out.
pub(super) fn mir(copy: &Path) -> Result<BTreeSet<MirCall>> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let output = cargo
        .args(["rustc", "--lib", "--all-features", "--quiet", "--", "--emit=mir", "--cap-lints", "allow"])
        .args(["-Zmir-include-spans=on", "-Zmir-opt-level=0"])
        .current_dir(copy)
        // Places in the middle form are not stable; they serve here for looking only.
        .env("RUSTC_BOOTSTRAP", "1")
        .env_remove("CARGO_TARGET_DIR")
        .stdin(Stdio::null())
        .output()
        .context("could not run cargo")?;
    if !output.status.success() {
        bail!("rustc wrote no middle form: {}", String::from_utf8_lossy(&output.stderr));
    }
    let folder = copy.join("target/debug/deps");
    let mut calls = BTreeSet::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("could not list {folder:?}"))? {
        let path = entry.context("could not list the build's folder")?.path();
        if path.extension().is_some_and(|end| end == "mir") {
            let text = std::fs::read_to_string(&path).with_context(|| format!("could not read {path:?}"))?;
            calls.extend(text.lines().filter_map(call));
        }
    }
    Ok(calls)
}

/// `_2 = S::area(move _3) -> [return: bb1, unwind continue]; // scope 0 at src/lib.rs:4:33: 4:41`.
fn call(line: &str) -> Option<MirCall> {
    let (said, place) = line.trim().split_once("; // scope ")?;
    let (said, _) = said.rsplit_once(" -> ")?;
    let (_, called) = said.split_once(" = ")?;
    let called = callee(called)?;
    let name = called.rsplit("::").next()?.to_owned();
    let (_, place) = place.split_once(" at ")?;
    let (first, last) = place.split_once(": ")?;
    let mut parts = first.rsplitn(3, ':');
    let (column, line) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let file = parts.next()?.to_owned();
    let (last_line, last_column) = last.split_once(':')?;
    let last = (last_line.parse().ok()?, last_column.trim_end_matches(')').parse().ok()?);
    Some(MirCall { called, name, file, first: (line, column), last })
}

/// `<A as B<C>>::find` of `<A as B<C>>::find::<D>(move _1)`; nothing for a pointer to a function.
fn callee(said: &str) -> Option<String> {
    if ["move ", "copy ", "const "].iter().any(|start| said.starts_with(start)) {
        return None;
    }
    let mut depth = 0usize;
    let mut before = ' ';
    let mut end = said.len();
    for (at, c) in said.char_indices() {
        match c {
            '<' | '{' | '[' => depth += 1,
            // The arrow of a function's type closes nothing.
            '>' if before == '-' => {}
            '>' | '}' | ']' => depth = depth.saturating_sub(1),
            '(' if depth == 0 => {
                end = at;
                break;
            }
            _ => {}
        }
        before = c;
    }
    let mut path = &said[..end];
    // The types of the call itself.
    if path.ends_with('>') {
        let mut depth = 0usize;
        let open = path.char_indices().rev().find(|(at, c)| {
            let is_arrow = *c == '>' && path[..*at].ends_with('-');
            match c {
                '>' if !is_arrow => depth += 1,
                '<' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        path = path[..open?.0].trim_end_matches("::");
    }
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    path.ends_with(is_name).then(|| path.to_owned())
}

/// A function whose name nothing else in the crate has.
pub(super) struct Function {
    pub(super) name: String,
    /// Its file and line.
    pub(super) at: String,
    /// The type and the trait that it is a method of.
    pub(super) of: Vec<String>,
}

impl Function {
    /// Whether a call is one of it: others outside of the crate may have its name.
    fn is_called(&self, call: &MirCall) -> bool {
        let Some((before, last)) = call.called.rsplit_once("::").or(Some(("", &call.called))) else { return false };
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let mut words = before.split(|c| !is_word(c)).filter(|word| !word.is_empty());
        let is_outside = ["std", "core", "alloc"].iter().any(|krate| before.starts_with(krate));
        last == self.name
            && !is_outside
            && match self.of.is_empty() {
                // Modules alone stand before a function.
                true => !before.contains('<') && words.all(|word| !word.starts_with(char::is_uppercase)),
                false => words.any(|word| self.of.iter().any(|of| of == word)),
            }
    }
}

/// Asks who calls a function, and compares.
pub(super) fn ask(
    agent: &mut Agent,
    folder: &Path,
    function: &Function,
    calls: &BTreeSet<MirCall>,
    score: &mut Calls,
) -> Result<()> {
    let content = answer(agent, "find_callers", &function.at)?;
    score.functions += 1;
    let what = format!("{} ({})", function.name, function.at);
    if content["head"]["complete"] != true {
        score.differences.push(format!("{what}: not final: {}", why(&content)));
        return Ok(());
    }
    score.finals += 1;
    let confirmed: Vec<Site> =
        sites(&content, "callers").into_iter().filter(|site| site.is_confirmed && site.class == "call").collect();
    let holds =
        |call: &MirCall, site: &Site| call.file == site.file && call.first <= site.place && site.place < call.last;
    let own: Vec<&MirCall> = calls.iter().filter(|call| function.is_called(call)).collect();
    for call in &own {
        if confirmed.iter().any(|site| holds(call, site)) {
            (score.calls, score.found) = (score.calls + 1, score.found + 1);
        } else if !says(folder, call) {
            // Its place holds a macro, which writes the call.
            score.by_macro += 1;
            let place = format!("{}:{}:{}", call.file, call.first.0, call.first.1);
            score.differences.push(format!("{what}: {place} is a macro that calls it"));
        } else {
            score.calls += 1;
            let place = format!("{}:{}:{}", call.file, call.first.0, call.first.1);
            score.differences.push(format!("{what}: {place} calls it, and is not confirmed"));
        }
    }
    for site in confirmed.iter().filter(|site| !site.in_test) {
        let is_right = own.iter().any(|call| holds(call, site));
        score.confirmed += 1;
        score.right += usize::from(is_right);
        if !is_right {
            let place = format!("{}:{}:{}", site.file, site.place.0, site.place.1);
            score.differences.push(format!("{what}: {place} is confirmed, and the middle form has no call there"));
        }
    }
    Ok(())
}

/// Whether the place of a call has its name.
fn says(folder: &Path, call: &MirCall) -> bool {
    let text = std::fs::read_to_string(folder.join(&call.file)).unwrap_or_default();
    let lines = text.lines().skip(call.first.0 - 1).take(call.last.0 + 1 - call.first.0);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    lines.flat_map(|line| line.split(move |c| !is_word(c))).any(|word| word == call.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_with_their_places() {
        let read = |line: &str| call(line).map(|one| (one.called, one.file, one.first, one.last));
        let at = " -> [return: bb2, unwind continue]; // scope 0 at src/lib.rs:4:44: 5:13";
        let wanted = |name: &str| Some((name.to_owned(), "src/lib.rs".to_owned(), (4, 44), (5, 13)));
        assert_eq!(read(&format!("        _4 = S::make::<u8>(const 3_u8){at}")), wanted("S::make"));
        assert_eq!(read(&format!("_4 = twice(move _7){at}")), wanted("twice"));
        assert_eq!(
            read(&format!("_4 = <(A, B) as T<fn(u8) -> u8>>::f::<(C, {{closure@a.rs:1:2: 3:4}})>(move _1){at}")),
            wanted("<(A, B) as T<fn(u8) -> u8>>::f")
        );
        assert_eq!(
            read(&format!("_4 = core::slice::<impl [S]>::iter(move _31){at}")),
            wanted("core::slice::<impl [S]>::iter")
        );
        assert_eq!(read(&format!("_41 = move _42(move _43){at}")), None);
        assert_eq!(read("drop(_1) -> [return: bb15]; // scope 0 at src/lib.rs:12:1: 12:2"), None);
        assert_eq!(read("_0 = const 5_u8; // scope 0 at src/lib.rs:12:1: 12:2"), None);
    }

    #[test]
    fn others_of_the_name_are_told_by_what_stands_before_it() {
        let is_called = |of: &[&str], called: &str| {
            let of = of.iter().map(|one| (*one).to_owned()).collect();
            let function = Function { name: "min".to_owned(), at: String::new(), of };
            let place = (1, 1);
            function.is_called(&MirCall {
                called: called.to_owned(),
                name: "min".to_owned(),
                file: String::new(),
                first: place,
                last: place,
            })
        };
        for own in ["min", "filters::min"] {
            assert!(is_called(&[], own), "{own}");
        }
        for other in ["<usize as Ord>::min", "std::cmp::min", "Span::min", "max"] {
            assert!(!is_called(&[], other), "{other}");
        }
        assert!(is_called(&["Span", "Range"], "Span::min") && is_called(&["Range"], "<T as Range>::min"));
        assert!(!is_called(&["Span"], "<usize as Ord>::min"));
    }
}
