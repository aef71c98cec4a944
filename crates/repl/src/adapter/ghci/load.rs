//! Parses the standard output of `:load`, `:reload` and `:add`: the modules that were compiled and the outcome. The
//! wording differs by version, so only the first word of the summary is used.

use crate::load::LoadRecord;
use diagnostics::{Diagnostic, Source};

/// Returns the load that a piece of output ends, taken alone; `None` if none ended there. `code` is the code that ran;
/// the start of a session has no code and counts as a fresh load.
pub(super) fn outcome(code: &str, stdout: &str, diagnostics: &[Diagnostic]) -> Option<LoadRecord> {
    let start = code.trim().is_empty();
    if !start && !loads(code) {
        return None;
    }
    let mut ended = None;
    let mut compiled = Vec::new();
    for line in stdout.lines() {
        if let Some(file) = compiling(line) {
            compiled.push(file.to_owned());
        } else if line.starts_with("Ok, ") || line.starts_with("Failed, ") {
            ended = Some((line.starts_with("Ok, "), line.to_owned()));
        }
    }
    let (ok, summary) = ended?;
    let of_files = diagnostics.iter().filter(|diagnostic| diagnostic.source == Source::File);
    Some(LoadRecord {
        ok,
        summary,
        diagnostics: of_files.cloned().collect(),
        compiled,
        fresh: start || code.lines().any(is_fresh_load),
        ..LoadRecord::default()
    })
}

/// Returns true if code makes GHCi load something.
pub(super) fn loads(code: &str) -> bool {
    code.lines().any(is_load_command)
}

/// Returns true if a line typed at the prompt makes GHCi load something.
fn is_load_command(code: &str) -> bool {
    // GHCi accepts any prefix. A single letter has its documented meaning; `:u` is `:undef`.
    command(code).is_some_and(|word| {
        word != "u" && ["load", "reload", "add", "unadd"].iter().any(|command| command.starts_with(word))
    })
}

fn is_fresh_load(code: &str) -> bool {
    command(code).is_some_and(|word| "load".starts_with(word))
}

fn command(code: &str) -> Option<&str> {
    let word = code.trim_start().strip_prefix(':')?.split_whitespace().next()?;
    Some(word.trim_end_matches('!')).filter(|word| !word.is_empty())
}

/// Returns true for GHCi's answer to an unknown command. It is on standard output, from about 9.4 on standard error.
pub(super) fn is_unknown_command(stdout: &str) -> bool {
    stdout.starts_with("unknown command '") && stdout.contains("\nuse :? for help.")
}

/// Returns true if GHCi reports on standard error, without calling it an error, that it did not carry out one of its
/// own commands. Use it only for code that ends with a command: a program may print the same.
pub(super) fn is_refused_command(code: &str, stderr: &str) -> bool {
    let last = code.lines().map(str::trim).rfind(|line| !line.is_empty());
    last.is_some_and(|line| command(line).is_some())
        && stderr.lines().any(|line| {
            (line.starts_with("target ‘") && line.ends_with("’ is not a module name or a source file"))
                || line.starts_with("Some flags have not been recognized: ")
                || line.starts_with("IO error: ")
        })
}

/// `[1 of 2] Compiling Data.A          ( src/Data/A.hs, interpreted ) [Source file changed]` → the file
fn compiling(line: &str) -> Option<&str> {
    let (counter, rest) = line.strip_prefix('[')?.split_once("] Compiling ")?;
    counter.trim().split_once(" of ").filter(|(n, _)| n.trim().bytes().all(|byte| byte.is_ascii_digit()))?;
    in_parentheses(rest)
}

/// `( A.hs, interpreted )`, `( A.hs, A.o )`, newer ones `( A.hs, A.o, A.dyn_o )`
fn in_parentheses(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("( ")?;
    let (inside, _) = rest.rsplit_once(" )")?;
    Some(inside.split_once(", ").map_or(inside, |(file, _)| file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn commands_that_are_not_carried_out() {
        assert!(is_refused_command(":l nofile", "target ‘nofile’ is not a module name or a source file\n"));
        assert!(is_refused_command("x = 1\n:set -foo\n", "Some flags have not been recognized: -foo\n"));
        assert!(is_refused_command(":script nope", "IO error:  \"nope\" does not exist\n"));
        assert!(!is_refused_command("hPutStrLn stderr msg", "IO error: this is only text\n"));
        assert!(!is_refused_command(":main", "all is well\n"));
    }

    #[test]
    fn loads_of_several_versions() {
        let old = "[1 of 2] Compiling B                ( B.hs, interpreted )\n\
                   [2 of 2] Compiling Data.A           ( src/Data/A.hs, interpreted )\nFailed, one module loaded.\n";
        let new = "[1 of 2] Compiling B ( B.hs, interpreted ) [Source file changed]\nFailed, unloaded all modules.";
        let object = "[1 of 1] Compiling B ( B.hs, B.o, B.dyn_o )\nOk, one module reloaded.";
        let show = |(code, stdout): (&str, &str)| match outcome(code, stdout, &[]) {
            Some(load) => format!("{} fresh {} {:?} {:?}", load.ok, load.fresh, load.summary, load.compiled),
            None => "no load".to_owned(),
        };
        expect![[r#"
            false fresh true "Failed, one module loaded." ["B.hs", "src/Data/A.hs"]
            false fresh false "Failed, unloaded all modules." ["B.hs"]
            true fresh true "Ok, one module reloaded." ["B.hs"]
            no load
            no load"#]]
        .assert_eq(
            &[(":cd x\n:l A", old), (":r", new), ("", object), (":r", "Ok then\n5\n"), ("putStrLn \"Ok, x\"", "Ok, x")]
                .map(show)
                .join("\n"),
        );
    }

    #[test]
    fn commands_that_load() {
        let load: Vec<&str> = [":l", ":load A", " :r", ":reload!", ":add B", ":t x", "x", ":", ":list", ":unadd X"]
            .into_iter()
            .filter(|code| is_load_command(code))
            .collect();
        assert_eq!(load, [":l", ":load A", " :r", ":reload!", ":add B", ":unadd X"]);
        assert!(is_fresh_load(":l A") && !is_fresh_load(":r") && !is_fresh_load(":a X"));
    }
}
