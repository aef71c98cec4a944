//! The corpus of broken modules: its messages as GHC 9.0.2 printed them, the same modules through the installed GHC
//! (its text against its own machine form), and samples of newer text forms.

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use expect_test::{Expect, expect, expect_file};

use super::*;

const MODULES: &str = include_str!("../corpus/modules.txt");
const GHC_9_0_2: &str = include_str!("../corpus/ghc-9.0.2.stderr.txt");

fn list(diagnostics: &[Diagnostic]) -> String {
    let mut text = String::new();
    for d in diagnostics {
        let number = |n: Option<u32>| n.map_or("-".to_owned(), |n| n.to_string());
        let _ = writeln!(
            text,
            "{} {}:{}-{}:{} {:?} {} {} {:?}",
            d.file.as_deref().unwrap_or(if d.source == Source::Interactive { "(prompt)" } else { "-" }),
            number(d.line),
            number(d.column),
            number(d.end_line),
            number(d.end_column),
            d.severity,
            d.code.as_deref().unwrap_or("-"),
            d.flag.as_deref().unwrap_or("-"),
            d.message,
        );
        for hint in &d.hints {
            let _ = writeln!(text, "  hint {hint:?}");
        }
    }
    text
}

fn check(stderr: &str, expected: Expect) {
    let parsed = parse(stderr);
    let mut text = list(&parsed.diagnostics);
    let _ = writeln!(text, "exception {:?} rest {:?}", parsed.exception, parsed.rest);
    expected.assert_eq(&text);
}

/// Returns the sections below `==== NAME`.
fn sections(text: &str) -> Vec<(&str, &str)> {
    text.split("==== ").skip(1).filter_map(|section| section.split_once('\n')).collect()
}

#[test]
fn the_corpus_as_ghc_9_0_2_printed_it() {
    let mut text = String::new();
    for (name, stderr) in sections(GHC_9_0_2) {
        let parsed = parse(stderr);
        assert_eq!((parsed.rest.as_str(), &parsed.exception), ("", &None), "{name}");
        let _ = writeln!(text, "==== {name}\n{}", list(&parsed.diagnostics));
    }
    expect_file!["../corpus/ghc-9.0.2.list.txt"].assert_eq(&text);
}

/// Loads every module of the corpus in one GHCi: standard output and standard error, cut per module.
fn load_all(dir: &std::path::Path, flags: &[&str]) -> [Vec<String>; 2] {
    let mut script = String::new();
    for (name, _) in sections(MODULES) {
        let mark = format!("==== {name}");
        let _ = writeln!(script, "System.IO.putStrLn {mark:?}\nSystem.IO.hPutStrLn System.IO.stderr {mark:?}");
        let _ = writeln!(script, ":load {name}");
    }
    let script_file = dir.join("all.ghci");
    std::fs::write(&script_file, script).expect("written");
    let out = Command::new("ghci")
        .args(["-v1", "-ignore-dot-ghci", "-ferror-spans"])
        .args(flags)
        .current_dir(dir)
        .env("LC_ALL", "C.UTF-8")
        .env("TERM", "dumb")
        .stdin(Stdio::from(std::fs::File::open(&script_file).expect("there")))
        .output()
        .expect("ghci runs");
    [out.stdout, out.stderr].map(|stream| {
        let text = String::from_utf8(stream).expect("UTF-8");
        sections(&text).into_iter().map(|(_, section)| section.to_owned()).collect()
    })
}

/// GHC up to 9.8 has another machine form, used here only to verify the text parser.
fn dumped(line: &str) -> Option<Diagnostic> {
    // A prompt may precede it.
    let value: serde_json::Value = serde_json::from_str(&line[line.find('{')?..]).ok()?;
    // `"severity"` up to 9.2, then words in `"messageClass"`, the last of which may be the code.
    let words: Vec<&str> = value["severity"].as_str().or(value["messageClass"].as_str())?.split(' ').collect();
    let severity = match words[..] {
        ["SevError" | "SevFatal" | "MCFatal"] | ["MCDiagnostic", "SevError", ..] => Severity::Error,
        ["SevWarning"] | ["MCDiagnostic", "SevWarning", ..] => Severity::Warning,
        _ => return None,
    };
    let span = &value["span"];
    let number = |key: &str| span[key].as_u64().and_then(|n| u32::try_from(n).ok());
    // The end is exclusive, and an empty span is one character in the text form.
    let end_column = number("endCol").map(|end| match (span["startLine"] == span["endLine"], number("startCol")) {
        (true, Some(start)) => start.max(end - 1),
        _ => end - 1,
    });
    let doc = value["doc"].as_str()?.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    let (message, hints) = split_hints(&doc);
    Some(Diagnostic {
        file: span["file"].as_str().map(str::to_owned),
        line: number("startLine"),
        column: number("startCol"),
        end_line: number("endLine"),
        end_column,
        code: words.last().filter(|word| word.starts_with("GHC-")).map(|code| (*code).to_owned()),
        message,
        hints,
        ..without_location(severity)
    })
}

#[test]
fn text_and_machine_form_of_the_real_compiler_agree() {
    let Ok(version) = Command::new("ghc").arg("--numeric-version").output() else {
        eprintln!("skipped: ghc is not installed");
        return;
    };
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    let newer = version.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok()).is_some_and(|minor| minor >= 10);
    let dir = tempfile::tempdir().expect("a directory");
    for (name, source) in sections(MODULES) {
        std::fs::write(dir.path().join(name), source).expect("written");
    }
    let [_, texts] = load_all(dir.path(), &[]);
    let machine: Vec<String> = match newer {
        true => load_all(dir.path(), &["-fdiagnostics-as-json"])[1].clone(),
        // Fatal errors go to standard error even in that form.
        false => {
            let [stdout, stderr] = load_all(dir.path(), &["-ddump-json"]);
            stdout.into_iter().zip(stderr).map(|(out, err)| out + &err).collect()
        }
    };
    assert_eq!((texts.len(), machine.len()), (sections(MODULES).len(), sections(MODULES).len()));
    let mut compared = 0;
    for ((name, _), (text, machine)) in sections(MODULES).into_iter().zip(texts.iter().zip(&machine)) {
        let mut from_text = parse(text);
        assert_eq!(from_text.rest, "", "{name}");
        let mut from_machine: Vec<Diagnostic> =
            if newer { parse(machine).diagnostics } else { machine.lines().filter_map(dumped).collect() };
        compared += from_text.diagnostics.len();
        // The older form names flags by the compiler's own constructor; an error made from a warning has no flag.
        for diagnostic in from_text.diagnostics.iter_mut().chain(&mut from_machine) {
            diagnostic.flag = None;
        }
        // The newer form quotes differently, writes `Type` for `*`, and breaks lines elsewhere.
        let plain = |diagnostics: &[Diagnostic]| {
            let words = list(diagnostics).replace(['‘', '’', '`', '\''], "").replace("\\n", " ").replace("Type", "*");
            words.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let (text, machine) = if newer {
            (plain(&from_text.diagnostics), plain(&from_machine))
        } else {
            (list(&from_text.diagnostics), list(&from_machine))
        };
        assert_eq!(text, machine, "{name}, GHC {version}");
    }
    assert!(compared > 60, "{compared} messages");
}

#[test]
fn the_prompt() {
    check(
        "\n<interactive>:2:1-6: error:\n    • Variable not in scope: lenght\n    • Perhaps you meant ‘length’ (imported from \
         Prelude)\n\n<interactive>:1:5-7: error: Variable not in scope: bar\n",
        expect![[r#"
            (prompt) 2:1-2:6 Error - - "Variable not in scope: lenght"
              hint "Perhaps you meant ‘length’ (imported from Prelude)"
            (prompt) 1:5-1:7 Error - - "Variable not in scope: bar"
            exception None rest ""
        "#]],
    );
    check(
        "\n<no location info>: error: module ‘Nope’ cannot be found locally\n",
        expect![[r#"
            - -:---:- Error - - "module ‘Nope’ cannot be found locally"
            exception None rest ""
        "#]],
    );
}

#[test]
fn exceptions_and_a_programs_own_text() {
    check(
        "about to fail\n*** Exception: boom\nbang\nCallStack (from HasCallStack):\n  error, called at <interactive>:14:1 \
         in interactive:Ghci1\n",
        expect![[r#"
            exception Some("boom\nbang\nCallStack (from HasCallStack):\n  error, called at <interactive>:14:1 in interactive:Ghci1") rest "about to fail"
        "#]],
    );
    check(
        "no newline*** Exception: T.hs:4:7-11: error:\n    • Couldn't match type ‘Int’ with ‘[Char]’\n(deferred type error)\n",
        expect![[r#"
            exception Some("T.hs:4:7-11: error:\n    • Couldn't match type ‘Int’ with ‘[Char]’\n(deferred type error)") rest "no newline"
        "#]],
    );
    check(
        "warning: low disk\nmy.log:12: error: not a span\n  indented\nerror: x\n",
        expect![[r#"
            exception None rest "warning: low disk\nmy.log:12: error: not a span\n  indented\nerror: x"
        "#]],
    );
}

#[test]
fn newer_forms() {
    // 9.4
    check(
        "\nsrc/A.hs:5:3-8: error:\n    Variable not in scope: lenght :: [a0] -> t\n    Suggested fix: Perhaps use \
         ‘length’ (imported from Prelude)\n  |\n5 |   lenght [1]\n  |   ^^^^^^\n",
        expect![[r#"
            src/A.hs 5:3-5:8 Error - - "Variable not in scope: lenght :: [a0] -> t"
              hint "Perhaps use ‘length’ (imported from Prelude)"
            exception None rest ""
        "#]],
    );
    // 9.6 and 9.8: codes, and fixes as a list
    check(
        "\nFoo.hs:2:7-10: error: [GHC-88464]\n    Variable not in scope: fold\n    Suggested fixes:\n      • Perhaps use \
         one of these:\n          ‘foldl’ (imported from Prelude), ‘foldr’ (imported from Prelude)\n      • Add ‘fold’ to \
         the import list\n        in the import of ‘Data.Foldable’ (at Foo.hs:1:1-16)\n  |\n2 | foo = fold\n  |       \
         ^^^^\n\nFoo.hs:3:1-17: warning: [GHC-66111] [-Wunused-imports (in -Wextra)]\n    The import of ‘Data.Maybe’ is \
         redundant\n  |\n3 | import Data.Maybe\n  | ^^^^^^^^^^^^^^^^^\n",
        expect![[r#"
            Foo.hs 2:7-2:10 Error GHC-88464 - "Variable not in scope: fold"
              hint "Perhaps use one of these:\n  ‘foldl’ (imported from Prelude), ‘foldr’ (imported from Prelude)"
              hint "Add ‘fold’ to the import list\nin the import of ‘Data.Foldable’ (at Foo.hs:1:1-16)"
            Foo.hs 3:1-3:17 Warning GHC-66111 -Wunused-imports "The import of ‘Data.Maybe’ is redundant"
            exception None rest ""
        "#]],
    );
    // 9.6: a cycle has a head now; an error from a warning; a span over lines
    check(
        "<no location info>: error: [GHC-92213]\n    Module graph contains a cycle:\n                 module ‘CycA’ \
         (CycA.hs)\n            imports module ‘CycB’ (CycB.hs)\n      which imports module ‘CycA’ \
         (CycA.hs)\n\nA.hs:(5,7)-(6,13): error: [GHC-62161] [-Wincomplete-patterns, -Werror=incomplete-patterns]\n    \
         Pattern match(es) are non-exhaustive\n  |\n5 | k x = case x of\n  |       ^^^^^^^^^...\n",
        expect![[r#"
            - -:---:- Error GHC-92213 - "Module graph contains a cycle:\n             module ‘CycA’ (CycA.hs)\n        imports module ‘CycB’ (CycB.hs)\n  which imports module ‘CycA’ (CycA.hs)"
            A.hs 5:7-6:13 Error GHC-62161 -Wincomplete-patterns "Pattern match(es) are non-exhaustive"
            exception None rest ""
        "#]],
    );
}

#[test]
fn odd_input_is_never_a_fault() {
    for text in
        ["", "\n\n", ":", ": error:", "<: error:", "<>: error: [", "a:(: error:", "a:(1,2)-(: error:", "é:1:2: error:"]
    {
        let _ = parse(text);
    }
    let huge = "A.hs:99999999999999999999:1: error: x\nA.hs:(4294967295,4294967295)-(4294967295,4294967295): error: y";
    assert_eq!(parse(huge).diagnostics.len(), 1);
}

proptest::proptest! {
    #[test]
    fn no_text_breaks_the_parser(text in "([a-z:(),0-9 |<>\\[\\]-]|\n| error:|warning|    |\\*\\*\\* Exception:|é){0,80}") {
        let _ = parse(&text);
    }
}
